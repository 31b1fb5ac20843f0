"""Part of an audit on the log: what it holds, who judged, and what in it stands out."""

from typing import Any

import numpy as np

from dcglearn.audits.known import Finding, Known, said
from dcglearn.foundation.plain_text import number_of
from dcglearn.foundation.progress import stage
from dcglearn.logs.triads import intransitive_triads
from dcglearn.logs.unique_rows import list_numbers
from dcglearn.parts.coin_test import NO_SIGNAL
from dcglearn.parts.parts import differing_pairs
from dcglearn.parts.telling_pairs import one_sided_raters
from dcglearn.raters.influence import influence_of_raters
from dcglearn.raters.rater_agreement import rater_agreement
from dcglearn.readers.preferences import Preferences


def log_finding(known: Known) -> Finding:
    """Return what a log holds, the agreement and errors of its raters, and the influence of
    each.
    """
    log, rated, bands = known.log, known.log.ratings is not None, known.bands
    with stage("raters"):
        agreement = rater_agreement(log, known.fit, errors=not rated, seed=known.seed)
        moves = influence_of_raters(known.pairs, known.fit)
    of_bands = (
        ()
        if bands is None
        else (np.ptp(band, axis=0) for band in (bands.gain_band, bands.discount_band))
    )
    width = np.concatenate([*of_bands, []]) if bands else np.inf
    times = np.bincount(np.concatenate(list_numbers(log.preferred, log.other)))
    often = np.stack([times[lists] > 1 for lists in list_numbers(log.preferred, log.other)])
    circles = (0, 0) if rated else intransitive_triads(log)  # ratings are numbers, which have an order
    finding = said(
        "log",
        rated=rated,
        judgements=len(log),
        contradicted=log.n_contradicted(),
        lists=len(times),
        recurring=float(often.all(axis=0).mean()),
        circles=dict(zip(("circular", "triples"), circles, strict=True)),
        agreement=agreement.to_dict(),
        error_rate=known.fit.error_rate,
        influence={rater: float(np.abs(move).max()) for rater, move in moves.items()},
        much=any((np.abs(move) > width / 2 + 1e-9).any() for move in [*moves.values()][:1]),
        over_time=_over_time(log),
        one_sided=one_sided_raters(log).tolist(),
        left_out=len(differing_pairs(log)) - len(known.pairs),
        no_signal=NO_SIGNAL if known.tells_nothing else "",
    )
    labels = {"raters": log.rater, "queries": log.query}
    counts = [number_of(len(log), "pairs of rated lists" if rated else "judgements", ",")]
    counts += [
        number_of(len(np.unique(x)), name, ",") for name, x in labels.items() if x is not None
    ]
    counts += [] if log.tie is None else [number_of(int(log.tie.sum()), "ties", ",")]
    notes = [note for note in (finding["finding"], *finding["notes"]) if note]
    striking = [note for note in notes if note.startswith("! ")][:1]
    head = f"{', '.join(counts)}: {striking[0][2:] if striking else 'nothing in them stands out'}"
    return {
        **finding,
        "finding": head,
        "notes": [note.removeprefix("! ") for note in notes if note not in striking],
    }


def _over_time(log: Preferences) -> dict[str, Any] | None:
    """Return how many verdicts were given on each day of a log with times, or in each month beyond
    24 days.
    """
    if log.time is None:
        return None
    days, n = np.unique([time[:10] for time in log.time], return_counts=True)
    if len(days) > 24:
        days, n = np.unique([time[:7] for time in log.time], return_counts=True)
    return {"days": days.tolist(), "judgements": n.tolist()}
