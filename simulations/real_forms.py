"""Compare the forms beyond the DCG on held-out judgements of real logs.

The program measures orders, likelihoods and probabilities.
"""

import sys
import warnings
from itertools import pairwise

import numpy as np
import polars as pl
from tqdm import tqdm

import dcglearn as dl
from simulations.run import paired

EDGES = np.linspace(0.5, 1, 6)
"""Ends of the ranges of the probability that a metric gives to its own order."""


def unit_of(log: dl.Preferences) -> str:
    """Return what is held out whole: raters, else queries, else lists."""
    return "rater" if log.rater is not None else "query" if log.query is not None else "list"


def measured(learner: dl.DCGLearner, held_out: dl.Preferences) -> dict[str, float]:
    """Return how a learner orders and predicts the judgements on pairs of two different lists.

    The log likelihood is the mean of preferences and ties. The other measures are of preferences
    alone, and so are the probabilities: with `wide_I` the share of the pairs where the probability
    of the learner's own order lies in the I-th range of `EDGES`, with `said_I` its mean there, and
    with `right_I` the share of these pairs in this order.
    """
    log = held_out[held_out.differing]
    chances, weight = (
        learner.predict_proba(log),
        np.ones(len(log)) if log.weight is None else log.weight,
    )
    tie = np.zeros(len(log), dtype=bool) if log.tie is None else log.tie
    of_verdict = np.maximum(np.where(tie, chances[:, 1], chances[:, 0]), 1e-9)
    first, part = (
        chances[~tie, 0] / (chances[~tie, 0] + chances[~tie, 2]),
        weight[~tie] / weight[~tie].sum(),
    )
    said, right = np.maximum(first, 1 - first), 0.5 * (1 + np.sign(first - 0.5))
    place = np.clip(np.searchsorted(EDGES, said, side="right") - 1, 0, len(EDGES) - 2)
    ranges = {}
    for i in range(len(EDGES) - 1):
        wide = float(part[place == i].sum())
        ranges[f"wide_{i}"] = wide
        for name, values in (("said", said), ("right", right)):
            ranges[f"{name}_{i}"] = (
                float((part * values)[place == i].sum()) / wide if wide else np.nan
            )
    return {
        "share": held_out.agreement(learner.metric_).share,
        "log_likelihood": float(np.log(of_verdict) @ weight / weight.sum()),
        "brier": float((1 - first) ** 2 @ part),
        **ranges,
    }


def learners_of(train: dl.Preferences) -> dict[str, dl.DCGLearner]:
    """Return fitted learners by name: one of each form, "auto", and the default "blend".

    All but the default learner use the robust loss; "auto" chooses its form.
    """
    dcg = dl.DCGLearner("robust").fit(train)
    others = {
        form: dl.DCGLearner("robust", form=form).fit(train, start=dcg)
        for form in ("saturation", "best")
    }
    chosen = dl.DCGLearner("robust", form="auto").fit(train)
    return {"dcg": dcg, **others, "auto": chosen, "blend": dl.DCGLearner().fit(train)}


def of_split(log: dl.Preferences, share: float, seed: int) -> list[dict[str, object]]:
    """Return one record per form, learned from a part of the log and measured on the other."""
    train, held_out = log.split(share, random_state=seed, by=unit_of(log))
    learners = learners_of(train)
    return [
        {
            "split": seed,
            "form": form,
            "chosen": learner.form_,
            "gain": None if form == "blend" else learners["dcg"].objective_ - learner.objective_,
            **measured(learner, held_out),
        }
        for form, learner in learners.items()
    ]


def measure(logs: dict[str, dl.Preferences], share: float, splits: int, seed: int) -> pl.DataFrame:
    """Return one row per log, split and form."""
    records = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for name, log in logs.items():
            for i in tqdm(range(splits), desc=name, disable=not sys.stderr.isatty()):
                records += [{"log": name, **record} for record in of_split(log, share, seed + i)]
    return pl.DataFrame(records, infer_schema_length=None)


def chosen_rows(table: pl.DataFrame, share: float) -> list[str]:
    """Return one line per log: the forms that `form="auto"` chose, and its lead over the DCG."""
    lines = [f"{'log':<14}{'chosen by form=auto':<34}{'share':>7}   ahead of the DCG"]
    for name in table["log"].unique(maintain_order=True):
        log = table.filter(log=name)
        dcg, auto = log.filter(form="dcg"), log.filter(form="auto")
        counts = auto["chosen"].value_counts(sort=True).iter_rows()
        forms = ", ".join(f"{form} {n}" for form, n in counts)
        lead, error = paired(auto["share"], dcg["share"], share)
        lines.append(
            f"{name:<14}{forms:<34}{auto['share'].mean():>7.4f}   {lead:+.4f} ± {error:.4f}"
        )
    return lines


def form_rows(table: pl.DataFrame, share: float) -> list[str]:
    """Return one line per log and form, with its gain and its held-out measures.

    The measures are the share, the log likelihood and the Brier score.
    """
    ahead = "ahead of the DCG"
    lines = [
        f"{'log':<14}{'form':<12}{'gain':>13}{'share':>8}   {ahead:<19}"
        f"{'log likelihood':>14}   {ahead:<19}{'Brier':>6}"
    ]
    for (name, form), part in table.group_by("log", "form", maintain_order=True):
        dcg = table.filter(log=name, form="dcg")
        of_share, of_likelihood = (
            "{:+.4f} ± {:.4f}".format(*paired(part[column], dcg[column], share))
            for column in ("share", "log_likelihood")
        )
        gain = (
            ""
            if part["gain"].has_nulls()
            else f"{part['gain'].min():.1f} to {part['gain'].max():.1f}"
        )
        lines.append(
            f"{name:<14}{form:<12}{gain:>13}{part['share'].mean():>8.4f}   {of_share:<19}"
            f"{part['log_likelihood'].mean():>14.4f}   {of_likelihood:<19}"
            f"{part['brier'].mean():>6.4f}"
        )
    return lines


def probability_rows(table: pl.DataFrame) -> list[str]:
    """Return three lines per log and form, by the probability of the form's own order.

    Each range of the probability is a column.
    """
    head = "".join(f"{f'{low:.1f} to {high:.1f}':>12}" for low, high in pairwise(EDGES))
    lines = [f"{'log':<14}{'form':<12}{'probability':<20}{head}"]
    for (name, form), part in table.group_by("log", "form", maintain_order=True):
        wide = np.array([part[f"wide_{i}"].to_numpy() for i in range(len(EDGES) - 1)])
        rows = {"share of the pairs": wide.mean(axis=1)}
        for key, word in (("said", "mean probability"), ("right", "right")):
            values = np.array([part[f"{key}_{i}"].to_numpy() for i in range(len(EDGES) - 1)])
            with np.errstate(invalid="ignore"):
                rows[word] = np.nansum(wide * values, axis=1) / wide.sum(axis=1)
        for word, values in rows.items():
            cells = "".join(f"{'' if np.isnan(value) else f'{value:.1%}':>12}" for value in values)
            lines.append(f"{name:<14}{form:<12}{word:<20}{cells}".rstrip())
    return lines
