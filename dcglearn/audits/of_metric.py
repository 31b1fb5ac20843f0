"""Sections of an audit on the metric: the verdict, gains and discounts, held-out judgements, where
metrics disagree.
"""

import contextlib
import os
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import numpy as np

from dcglearn.audits.known import LEARNED, Finding, Known, said
from dcglearn.foundation.progress import stage
from dcglearn.foundation.validation import Grades, InputError
from dcglearn.logs.unique_rows import list_numbers, pair_numbers
from dcglearn.metric.dcg import as_curves
from dcglearn.metric_coherence.coherence import coherence
from dcglearn.metric_coherence.disagreement import disagreement_matrix
from dcglearn.parts.coin_test import NO_SIGNAL
from dcglearn.readers.preferences import Preferences
from dcglearn.trust.lack_of_fit import lack_of_fit

SECONDS, WITNESSES = 20.0, 3
"""Time limit of each search for a disagreement, in seconds; pairs of lists that are drawn."""

LITTLE = 0.01
"""The metric in use is kept if the learned one is ahead by less than this share of the judgements,
at most.
"""


def verdict_finding(known: Known) -> Finding:
    """Return what to do: keep the metric in use, change it, or judge more; with the dates of audit
    and judgements.
    """
    found = known.comparison
    row = None if isinstance(found, str) else found[found.current]
    verdict = "judge more"
    if known.followed == "learned":
        verdict = "change"
    elif known.followed == "in use" or (
        row is not None and row.high < LITTLE and not known.tells_nothing
    ):
        verdict = "keep"
    return said(
        "verdict",
        verdict=verdict,
        name=known.name,
        no_signal=NO_SIGNAL if known.tells_nothing else "",
        followed=known.followed,
        row=None if row is None else vars(row),
        why=_followed(known),
        date=_today(),
        last=None if known.log.time is None else max(known.log.time)[:10],
    )


def _followed(known: Known) -> str:
    """Return in a sentence whom people follow where the two metrics differ."""
    found = known.comparison
    if isinstance(found, str):
        return f"not known which metric people follow: {found}"
    if not found.apart:
        return f"on the {found.n_held_out:,} held-out judgements {LEARNED} and {known.name} never choose different lists"
    if known.tells_nothing:
        return "people are not shown to follow either: no metric orders the judgements better than a coin"
    counts = (
        f"{found.with_learned:.0%} of {found.apart:,} held-out judgements are as {LEARNED} says"
    )
    p_value = "p < .001" if found.p_value < 0.001 else f"p = {found.p_value:.3f}"
    test = f"{p_value}, an exact test against a half"
    if not known.followed:
        return f"where the two metrics differ, people are not shown to follow either ({counts}; {test})"
    which = LEARNED if known.followed == "learned" else known.name
    return f"where the two metrics differ, people follow {which} ({counts}; {test})"


def _today() -> str:
    """Return the date of the audit, or that of SOURCE_DATE_EPOCH, by which a page is made again to
    the same bytes.
    """
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    now = datetime.fromtimestamp(int(epoch), UTC) if epoch.isdigit() else datetime.now(UTC)
    return f"{now:%Y-%m-%d}"


def curves_finding(known: Known) -> Finding:
    """Return the learned gains and discounts with their bands, beside those of the metric in
    use.
    """
    learned, bands = known.fit.dcg, known.bands
    in_use = np.concatenate([known.current.gains, known.current.discounts]).tolist()
    rows = (
        [{**row, "in_use": x} for row, x in zip(bands.table(), in_use, strict=True)]
        if bands is not None
        else []
    )
    rows = [row for row in rows if row["all_low"] < row["all_high"]]
    outside = [row for row in rows if not row["all_low"] <= row["in_use"] <= row["all_high"]]

    # where they lie, in words, and the one that lies furthest out
    names = [str(row["parameter"]).rpartition(" ") for row in outside]
    kinds = {
        name: [place for kind, _, place in names if kind == name]
        for name in ("gain of grade", "discount at")
    }
    where = " and ".join(
        f"the {name} {', '.join(places)}" for name, places in kinds.items() if places
    )
    furthest = max(
        outside,
        key=lambda row: abs(
            row["in_use"] - np.clip(row["in_use"], row["all_low"], row["all_high"])
        ),
        default=None,
    )
    return said(
        "curves",
        no_bands=known.no_bands,
        no_signal=known.tells_nothing,
        in_use={"name": known.name, **known.current.to_dict()},
        learned=learned.to_dict(),
        bands=None if bands is None else bands.to_dict(),
        free=len(rows),
        outside=outside,
        where=where,
        furthest=furthest,
        curves=as_curves({"learned": learned, known.name: known.current}, bands),
    )


def held_out_finding(known: Known) -> Finding:
    """Return the shares of held-out judgements that metrics respect, the noise ceiling, and whether
    a DCG is enough.
    """
    comparison = known.comparison
    if isinstance(comparison, str):
        return said("held_out", held_out=None, reason=comparison)
    if comparison.below_ceiling and not known.tells_nothing:
        with contextlib.suppress(InputError):
            lack = lack_of_fit(known.log, learner=known.fit, seed=known.seed)
            comparison = replace(comparison, lack_of_fit=lack)
    ceiling, reached = comparison.ceiling, comparison.reached
    drawn = {name: comparison[name] for name in (comparison.current, comparison.textbook)}
    rows: list[Any] = [
        (f"{name}: {row.share:.1%}", row.difference, row.low, row.high)
        for name, row in drawn.items()
    ]
    if ceiling is not None and reached is not None:
        name = f"noise ceiling, where lists recur: {ceiling.share:.1%}"
        rows.append(
            (name, reached - ceiling.share, *(reached - end for end in ceiling.interval[::-1]))
        )
    return said(
        "held_out",
        held_out=comparison.to_dict(),
        share=drawn[comparison.current].share,
        intervals=rows,
        why=_followed(known),
        textbook=vars(drawn[comparison.textbook])
        if comparison.textbook != comparison.current
        else None,
        about="" if ceiling is None else ceiling.about,
        room="" if known.tells_nothing else comparison.room,
    )


def disagreement_finding(known: Known) -> Finding:
    """Return whether and how often two metrics disagree, whom judges follow there, and pairs that
    show it.
    """
    metrics, log, comparison = (
        {LEARNED: known.fit.dcg, known.name: known.current},
        known.pairs,
        known.comparison,
    )
    with stage("coherence"):
        proof = coherence(
            known.fit.dcg, known.current, time_limit=SECONDS, names=(LEARNED, known.name)
        )
        share = float(disagreement_matrix(metrics, seed=known.seed).share[0, 1])
    pairs = disputed(log, *map(log.verdicts, metrics.values()))
    if not pairs and proof.witness is not None:
        pairs = [{"lists": proof.witness.lists, "verdicts": None}]
    for pair in pairs:
        pair["scores"] = [metric.score(pair["lists"]).tolist() for metric in metrics.values()]
        pair["lists"] = pair["lists"].tolist()
    return said(
        "disagreement",
        name=known.name,
        coherent=proof.coherent,
        disagreement=share,
        judgements=0 if isinstance(comparison, str) else comparison.apart,
        pairs=pairs,
        proof=str(proof),
    )


def disputed(log: Preferences, mine: Grades, theirs: Grades) -> list[dict[str, Any]]:
    """Return a few pairs on which two metrics differ, those alike at most positions first.

    `mine` and `theirs` are the metrics' verdicts on the pairs of the log, shape (n,). The `lists`
    of a pair have the choice of the first metric first; `verdicts` is the weight of those for the
    first, for neither, for the second.
    """
    first, second = list_numbers(log.preferred, log.other)
    number, rows = pair_numbers(first, second), np.flatnonzero(mine * theirs == -1)
    weight = np.ones(len(log)) if log.weight is None else log.weight
    tie = np.zeros(len(log), dtype=bool) if log.tie is None else log.tie
    once = rows[np.unique(number[rows], return_index=True)[1]]
    differing = (log.preferred[once] != log.other[once]).sum(axis=1)
    pairs = []
    for row in once[np.lexsort((-np.bincount(number)[number[once]], differing))][:WITNESSES]:
        best, lists = (
            (first, (log.preferred, log.other))
            if mine[row] > 0
            else (second, (log.other, log.preferred))
        )
        of, ahead = number == number[row], first == best[row]
        weights = [float(weight[of & kind].sum()) for kind in (~tie & ahead, tie, ~tie & ~ahead)]
        pairs.append({"lists": np.stack([side[row] for side in lists]), "verdicts": weights})
    return pairs
