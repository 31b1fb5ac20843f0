"""Parts of an audit on decisions: order of systems, and what to judge next."""

import contextlib
import warnings
from typing import Any
from urllib.parse import quote

import numpy as np

from dcglearn.audits.inputs import LEARNED, Inputs
from dcglearn.audits.section import Section
from dcglearn.coherence.order_of_systems import SystemOrder, system_order
from dcglearn.evaluation.paired_tests import interval_of_mean
from dcglearn.evaluation.people import People, shares_of_people
from dcglearn.evaluation.run_values import evaluate
from dcglearn.foundation.finding import Finding
from dcglearn.foundation.plain_text import number_of
from dcglearn.foundation.progress import stage
from dcglearn.foundation.validation import Fields, Floats, InputError
from dcglearn.learning.fit import Fit
from dcglearn.metrics.dcg import DCG
from dcglearn.metrics.reading import read_metric
from dcglearn.metrics.scales import ScaleWarning
from dcglearn.reading.judgements import Judgements
from dcglearn.reading.runs import Run, read_both
from dcglearn.trust.band_draws import FEWEST_DRAWN, Bands
from dcglearn.trust.coins import ASSUMED
from dcglearn.trust.next_pairs import generated_lists, suggest_pairs
from dcglearn.trust.resampling import no_more_lists

ENDS = [
    [f"difference_{of}{end}" for end in ("", "_low", "_high")] for of in ("in_use", "when_learned")
]
"""Columns of the differences of systems that swap under each metric, with their intervals."""


def systems_parts(inputs: Inputs, judgements: Any, runs: Any) -> dict[str, Finding]:
    """Return the systems' order under both metrics, what of it survives, and what people take."""
    if judgements is None or runs is None:
        ask = "would the leaderboard change? Give runs and judgements (--run RUN --qrels QRELS)"
        return {"systems": Section("", asks=[f"{ask} to see"])}

    # the order under both metrics
    judged, systems = read_both(judgements, runs)
    if inputs.tells_nothing:
        return {"systems": Section(f"not told: the learned DCG is {ASSUMED}")}
    baseline = read_metric(inputs.metric, max(judged.n_grades or 0, 2), inputs.log.depth)
    metrics = {inputs.name: baseline, LEARNED: inputs.dcg}
    with stage("systems"):
        order = system_order(judged, systems, metrics)
    survival = _survival(inputs, judged, systems, order)
    parts = {"systems": order, "survival": survival}
    people = _people(order, inputs)
    return parts if people is None else {**parts, "people": people}


def _survival(
    inputs: Inputs, judged: Judgements, systems: list[Run], order: SystemOrder
) -> Section:
    """Return how many conclusions survive every DCG of the bands, and the swaps with intervals."""
    # pairs of systems by falling means under the metric in use
    names = order.evaluation.runs
    sentence = "no bands, so nothing is said of other DCGs that the log allows"
    survive = overturned = None
    if inputs.bands is not None:
        ordered = sorted(systems, key=lambda run: names.index(run.name))
        held = _held(judged, ordered, inputs.bands)
        survive, overturned = int((held == 1).sum()), int((held == 0).sum())
        sentence = (
            f"of {number_of(len(held), 'pairs of systems', ',')}, {survive:,} are in the order of "
            f"{inputs.name} under every DCG that these verdicts allow, {overturned:,} in the other "
            f"order; {len(held) - survive - overturned:,} depend on the DCG"
        )

    # at most 20 swaps, those beyond chance first
    rows, drawn = [], []
    values = dict(zip(names, order.evaluation.filled, strict=True))
    for swap in sorted(order.swaps, key=lambda swap: not swap.beyond_chance)[:20]:
        first, second = swap.better_under_metric, swap.better_under_other
        row: Fields = {"better_in_use": first, "better_when_learned": second}
        row["beyond_chance"] = swap.beyond_chance

        # the difference under both metrics, which is drawn where it has an interval
        gaps = values[second] - values[first]
        for metric, ends, gap in zip(("in use", "learned"), ENDS, gaps, strict=True):
            interval = interval_of_mean(gap[~np.isnan(gap)], 0.95)
            numbers = float(np.nanmean(gap)), interval["low"], interval["high"]
            row |= dict(zip(ends, numbers, strict=True))
            if interval["low"] is not None:
                drawn.append((f"{second} – {first}: {metric}", *numbers))
        rows.append(row)
    title = "systems that swap: differences (95% intervals)"
    return Section(
        sentence,
        numbers={"survive": survive, "overturned": overturned},
        caption="Systems that swap",
        rows=rows,
        formats=dict.fromkeys([*ENDS[0], *ENDS[1]], "+.4f"),
        pictures=[{"title": title, "rows": drawn}] if drawn else [],
    )


def _people(order: SystemOrder, inputs: Inputs) -> People | None:
    """Return shares of people for the best system under the learned DCG and the best in use.

    Where they are one, the next best under the learned DCG stands for the latter.
    """
    best, *others = np.argsort(order.ranks[:, 1]).tolist()
    in_use = int(np.argmin(order.ranks[:, 0]))
    pair = best, others[0] if in_use == best else in_use
    return shares_of_people(order.evaluation, [pair], 0.95, inputs.random_state)


def _held(judged: Judgements, systems: list[Run], bands: Bands) -> Floats:
    """Return the share of 100 draws of the bands that put each pair's first system ahead."""
    draws = np.linspace(0, len(bands.gains) - 1, 100).astype(int).tolist()
    powers = np.zeros(len(bands.gains)) if bands.powers is None else bands.powers
    dcgs = {str(i): DCG(bands.gains[i], bands.discounts[i], power=powers[i]) for i in draws}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ScaleWarning)  # given for the learned DCG before
        means = evaluate(judged, systems, dcgs).means
    first, second = np.triu_indices(len(systems), 1)
    return (means[first] > means[second]).mean(axis=1)


def next_section(inputs: Inputs) -> Section:
    """Return how many more judgements make bands half as wide, and the pairs to ask next.

    A log that tells nothing is to be checked first.
    """
    if inputs.tells_nothing:
        return Section(
            "check first how winners, ratings and grades were read: more judgements like these "
            "would tell nothing either",
            numbers={"more": None, "questions": []},
        )

    # 20 pairs to ask, of 200 lists with the log's mix of grades
    log, seed = inputs.log, inputs.random_state
    questions, lines = [], ""
    with contextlib.suppress(InputError), warnings.catch_warnings():  # nothing is left to ask
        warnings.simplefilter("ignore", UserWarning)  # fewer pairs than wanted
        lists = generated_lists(log, 200, random_state=seed)
        fit = inputs.fit if isinstance(inputs.fit, Fit) else None
        pairs = suggest_pairs(log, lists, 20, fit, n_grades=log.n_grades, random_state=seed)
        questions, lines = pairs.pairs.tolist(), pairs.to_polars().write_ndjson()

    # four times as many make bands half as wide
    sentence, more = inputs.no_bands, None
    if inputs.bands is not None:
        n_units, by = inputs.bands.n_units, inputs.bands.by
        more = 3 * n_units
        sentence = no_more_lists(log, by, n_units + more, FEWEST_DRAWN) or (
            f"to halve the width of the bands, collect judgements of about {more:,} more "
            f"{'queries' if by == 'query' else f'{by}s'}; this log has {n_units:,} to learn from "
            "(the width falls with the root of their number)"
        )

    # what to do with the questions
    note = "no pair is left to ask among lists made of this log's grades"
    if questions:
        note = (
            f"the {len(questions)} pairs whose verdicts would tell most are listed, and in "
            "questions.jsonl, which a page (.html) holds: fill in the winner (a, b or tie) and "
            "append the lines to the log"
        )

    # they are shown, and linked as a file
    rows = [
        {"pair": i, "first_list": first, "second_list": second}
        for i, (first, second) in enumerate(questions, 1)
    ]
    files = {"questions.jsonl": f"data:application/x-ndjson,{quote(lines)}"}
    return Section(
        sentence,
        [note],
        numbers={"more": more, "questions": questions},
        caption="The pairs, by their grades",
        rows=rows,
        files=files if questions else {},
    )
