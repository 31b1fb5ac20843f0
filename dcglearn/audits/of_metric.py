"""Sections of an audit on the metric: gains and discounts, held-out judgements, and where two metrics disagree."""

from dataclasses import replace
from typing import Any

import numpy as np

from dcglearn.audits.known import LEARNED, Finding, Known, said
from dcglearn.foundation.intervals import LEVEL, normal_quantile
from dcglearn.foundation.progress import stage
from dcglearn.foundation.validation import Grades, InputError
from dcglearn.logs.unique_rows import list_numbers, pair_numbers
from dcglearn.metric.dcg import as_curves
from dcglearn.metric_coherence.coherence import coherence
from dcglearn.metric_coherence.disagreement import disagreement_matrix
from dcglearn.readers.preferences import Preferences
from dcglearn.trust.held_out import compare_learners
from dcglearn.trust.lack_of_fit import lack_of_fit
from dcglearn.trust.resampling import mean_and_error, unit_of

SECONDS, WITNESSES, FEWEST = 20.0, 3, 10
"""Time limit of each search for a disagreement; pairs of lists that are drawn; least judgements to say who is right."""


def curves_finding(known: Known) -> Finding:
    """Return the learned gains and discounts with their bands, beside those of the metric in use."""
    learned, bands = known.fit.dcg, known.bands
    in_use = np.concatenate([known.current.gains, known.current.discounts]).tolist()
    rows = [{**row, "in_use": x} for row, x in zip(bands.table(), in_use, strict=True)] if bands is not None else []
    rows = [row for row in rows if row["all_low"] < row["all_high"]]
    beyond = [max(row["all_low"] - row["in_use"], row["in_use"] - row["all_high"]) for row in rows]
    return said(
        "curves",
        no_bands=known.no_bands,
        in_use={"name": known.name, **known.current.to_dict()},
        learned=learned.to_dict(),
        bands=None if bands is None else bands.to_dict(),
        free=len(rows),
        outside=sum(distance > 0 for distance in beyond),
        furthest=rows[int(np.argmax(beyond))] if rows else None,
        curves=as_curves({"learned": learned, known.name: known.current}, bands),
    )


def held_out_finding(known: Known) -> Finding:
    """Return the shares of held-out judgements that metrics respect, the noise ceiling, and whether a DCG is enough."""
    log = known.log
    by = "pair" if log.ratings is None else "list" if log.rater is None else "rater"
    try:
        with stage("held out"):
            parts = known.pairs.split(0.7, seed=known.seed, by=by)
            comparison = compare_learners(*parts, known.fit, current=known.given, seed=known.seed)
        if comparison.below_ceiling:
            comparison = replace(comparison, lack_of_fit=lack_of_fit(log, learner=known.fit, seed=known.seed))
    except InputError as error:
        return said("held_out", held_out=None, reason=str(error))
    ceiling, reached = comparison.ceiling, comparison.reached
    drawn = {name: comparison[name] for name in (comparison.current, comparison.textbook)}
    rows: list[Any] = [(f"{name}: {row.share:.1%}", row.difference, row.low, row.high) for name, row in drawn.items()]
    if ceiling is not None and reached is not None:
        name = f"noise ceiling, where lists recur: {ceiling.share:.1%}"
        rows.append((name, reached - ceiling.share, *(reached - end for end in ceiling.interval[::-1])))
    values = {"held_out": comparison.to_dict(), "share": drawn[comparison.current].share, "intervals": rows}
    return said("held_out", **values, about="" if ceiling is None else ceiling.about, room=comparison.room)


def disagreement_finding(known: Known) -> Finding:
    """Return whether and how often two metrics disagree, whom judges follow there, and pairs that show it."""
    metrics, log = {LEARNED: known.fit.dcg, known.name: known.current}, known.pairs
    with stage("coherence"):
        proof = coherence(known.fit.dcg, known.current, time_limit=SECONDS, names=(LEARNED, known.name))
        share = float(disagreement_matrix(metrics, seed=known.seed).share[0, 1])
    apart, pairs = disputed(log, *map(log.verdicts, metrics.values()))
    mean, clear = None, False
    if len(apart):
        respected = (apart.verdicts(known.fit.dcg) > 0)[None].astype(np.float64)
        weight = np.ones(len(apart)) if apart.weight is None else apart.weight
        mean, error = (x.item() for x in mean_and_error(respected, weight, apart.clusters(unit_of(apart))))
        clear = len(apart) >= FEWEST and abs(mean - 0.5) > normal_quantile(LEVEL) * error
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
        judgements=len(apart),
        with_learned=mean,
        clear=clear,
        pairs=pairs,
        proof=str(proof),
    )


def disputed(log: Preferences, mine: Grades, theirs: Grades) -> tuple[Preferences, list[dict[str, Any]]]:
    """Return the decided judgements on which two metrics differ, and a few pairs, those alike at most positions first.

    `mine` and `theirs` are the metrics' verdicts on the pairs of the log, shape (n,). The `lists` of a pair have the
    choice of the first metric first; `verdicts` is the weight of those for the first, for neither, for the second.
    """
    first, second = list_numbers(log.preferred, log.other)
    number, rows = pair_numbers(first, second), np.flatnonzero(mine * theirs == -1)
    weight = np.ones(len(log)) if log.weight is None else log.weight
    tie = np.zeros(len(log), dtype=bool) if log.tie is None else log.tie
    once = rows[np.unique(number[rows], return_index=True)[1]]
    differing = (log.preferred[once] != log.other[once]).sum(axis=1)
    pairs = []
    for row in once[np.lexsort((-np.bincount(number)[number[once]], differing))][:WITNESSES]:
        best, lists = (first, (log.preferred, log.other)) if mine[row] > 0 else (second, (log.other, log.preferred))
        of, ahead = number == number[row], first == best[row]
        weights = [float(weight[of & kind].sum()) for kind in (~tie & ahead, tie, ~tie & ~ahead)]
        pairs.append({"lists": np.stack([side[row] for side in lists]), "verdicts": weights})
    return log[rows[~tie[rows]]], pairs
