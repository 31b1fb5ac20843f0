"""Section of an audit on the log: what it holds, who judged, and what in it stands out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from dcglearn.foundation.plain_text import number_of
from dcglearn.foundation.progress import stage
from dcglearn.logs.circles import circular_triples
from dcglearn.logs.unique_rows import list_numbers
from dcglearn.raters.influence import influence_of_raters
from dcglearn.raters.rater_agreement import rater_agreement

if TYPE_CHECKING:
    from dcglearn.audits.known import Finding, Known
    from dcglearn.foundation.validation import Floats
    from dcglearn.raters.rater_agreement import RaterAgreement

BY_CHANCE = 0.25
"""Share of triples that go in a circle if verdicts are drawn by chance; from half of it on, circles stand out."""

FEWEST_UNITS, CARELESS = 10, 0.05
"""Fewest pairs judged twice that tell of agreement; least error rate of a rater that stands out."""

Words = Iterator[tuple[bool, str]]
"""What there is to say, and whether it stands out."""


def log_finding(known: Known) -> Finding:
    """Return what a log holds, the agreement and errors of its raters, and the influence of each."""
    log, rated = known.log, known.log.ratings is not None
    with stage("raters"):
        agreement = rater_agreement(log, known.fit, errors=not rated, seed=known.seed)
        moves = influence_of_raters(log, known.fit)
    circles = (0, 0) if rated else circular_triples(log)  # ratings are numbers, which have an order
    labels = {"raters": log.rater, "queries": log.query}
    counts = [number_of(len(log), "pairs of rated lists" if rated else "judgements", ",")]
    counts += [number_of(len(np.unique(x)), name, ",") for name, x in labels.items() if x is not None]
    counts += [] if log.tie is None else [number_of(int(log.tie.sum()), "ties", ",")]
    said = [] if rated else list(on_raters(agreement, known.fit.error_rate))
    said += [*_on_influence(known, moves), *_on_lists(known, *circles)]
    striking = [words for strikes, words in said if strikes]
    return {
        "finding": f"{', '.join(counts)}: {striking[0] if striking else 'nothing in them stands out'}",
        "notes": [words for _, words in said if words not in striking[:1]],
        "judgements": len(log),
        "contradicted": log.n_contradicted(),
        "circles": dict(zip(("circular", "triples"), circles, strict=True)),
        "agreement": None if rated else agreement.to_dict(),
        "influence": {rater: float(np.abs(move).max()) for rater, move in moves.items()},
    }


def on_raters(agreement: RaterAgreement, error_rate: float) -> Words:
    """Yield how far raters agree, who errs often, who favours a side; `error_rate` is that of all."""
    alpha, n = agreement.ordinal, agreement.n_units
    ends = f"alpha {alpha.value:.2f}, {alpha.low:.2f} to {alpha.high:.2f}, on {n:,} pairs"
    if n < FEWEST_UNITS or np.isnan(alpha.low):
        yield False, f"pairs judged twice: {n}; let raters judge the same pairs to know how far they agree"
    else:
        yield alpha.low <= 0, f"raters {'agree' if alpha.low > 0 else 'are not shown to agree'} beyond chance ({ends})"
    yield False, f"judges name the wrong list of a clear pair about {error_rate:.1%} of the time"
    for r in agreement.raters:
        if r.error.low > max(2 * error_rate, CARELESS):
            yield True, f"one rater errs far more often: {r.rater} ({r.error.low:.0%} to {r.error.high:.0%})"
        if r.bias.low > 0 or r.bias.high < 0:
            side = "first" if r.bias.value > 0 else "second"
            yield True, f"one side is favoured, that shown {side}, by rater: {r.rater} (log-odds {r.bias.value:+.2f})"
    if all(np.isnan(r.bias.value) for r in agreement.raters):
        yield False, "add the column swapped, or shown_left: it tells whether judges favour a side"


def _on_influence(known: Known, moves: dict[str, Floats]) -> Words:
    if not moves:
        yield False, "add the column rater: it tells who errs, and whether one rater decides too much"
    for rater, move in [*moves.items()][:1]:
        much, bands = False, known.bands
        if bands is not None:
            widths = np.concatenate([np.ptp(band, axis=0) for band in (bands.gain_band, bands.discount_band)])
            much = bool((np.abs(move) > widths / 2 + 1e-9).any())
        decides = f"{'one' if much else 'no'} rater is shown to decide too much"
        yield much, f"{decides}: without {rater} a gain or discount moves by {np.abs(move).max():.2f}"


def _on_lists(known: Known, circular: int, triples: int) -> Words:
    first, second = list_numbers(known.log.preferred, known.log.other)
    times = np.bincount(np.concatenate([first, second]))
    recurring = float(((times[first] > 1) & (times[second] > 1)).mean())
    yield False, f"{recurring:.0%} of the pairs are between lists that recur (there are {len(times):,} lists)"
    if triples:
        share = f"{circular / triples:.1%} of {triples:,} triples of lists go in a circle"
        yield circular > BY_CHANCE / 2 * triples, f"{share}, a over b, b over c, c over a ({BY_CHANCE:.0%} by chance)"
