"""Part of an audit on the log: what it holds, who judged, and what in it stands out."""

from typing import Any

import numpy as np

from dcglearn.audits.inputs import Inputs
from dcglearn.audits.section import Section, cells, interval, worded
from dcglearn.foundation.finding import Cells
from dcglearn.foundation.plain_text import number_of
from dcglearn.foundation.progress import stage
from dcglearn.foundation.validation import Fields
from dcglearn.logs.triads import intransitive_triads
from dcglearn.logs.unique_rows import list_numbers
from dcglearn.parts.parted_log import differing_pairs
from dcglearn.parts.usable_pairs import NO_SIGNAL, one_sided_raters
from dcglearn.raters.influence import influence_of_raters
from dcglearn.raters.rater_agreement import rater_agreement
from dcglearn.readers.preferences import Preferences


def log_section(inputs: Inputs) -> Section:
    """Return the contents of a log, and its raters' agreement, errors and influence."""
    log, rated, bands = inputs.log, inputs.log.ratings is not None, inputs.bands

    # agreement of raters, and the influence of each
    with stage("raters"):
        agreement = rater_agreement(
            log, inputs.fit, errors=not rated, random_state=inputs.random_state
        )
        moves = influence_of_raters(inputs.pairs, inputs.fit)
    width: Any = np.inf
    if bands is not None:
        width = np.ptp(np.concatenate([bands.gain_band, bands.discount_band], axis=1), axis=0)
    much = any((np.abs(move) > width / 2 + 1e-9).any() for move in [*moves.values()][:1])

    # lists that recur, and intransitive triads (ratings are numbers, which have an order)
    sides = list_numbers(log.preferred, log.other)
    times = np.bincount(np.concatenate(sides))
    often = np.stack([times[lists] > 1 for lists in sides])
    circular, triples = (0, 0) if rated else intransitive_triads(log)

    numbers: Fields = {
        "rated": rated,
        "judgements": len(log),
        "contradicted": log.n_contradicted(),
        "lists": len(times),
        "recurring": float(often.all(axis=0).mean()),
        "circles": {"circular": circular, "triples": triples},
        # who judged
        "agreement": agreement.to_dict(),
        "error_rate": inputs.fit.error_rate,
        "wrong_share": inputs.fit.wrong_share,
        "influence": {rater: float(np.abs(move).max()) for rater, move in moves.items()},
        "much": much,
        "over_time": _over_time(log),
        "one_sided": one_sided_raters(log).tolist(),
        "left_out": len(differing_pairs(log)) - len(inputs.pairs),
        "no_signal": NO_SIGNAL if inputs.tells_nothing else "",
    }

    # the sentence counts, and names what stands out
    first, further, asks = worded("log", **numbers)
    notes = [note for note in (first, *further) if note]
    striking = [note for note in notes if note.startswith("! ")][:1]
    about = striking[0][2:] if striking else "nothing in them stands out"
    others = [note.removeprefix("! ") for note in notes if note not in striking]
    raters = [] if rated else numbers["agreement"]["raters"]
    return Section(
        f"{_counts(log)}: {about}",
        others,
        asks,
        numbers,
        caption="Raters",
        cells=_raters_table(raters, numbers["influence"]),
        pictures=_pictures(raters, numbers["over_time"]),
    )


KNOWN = ("error", "wrong", "bias", "consistency")
"""What is estimated of each rater, column by column."""


def _raters_table(raters: list[Fields], influence: dict[str, float]) -> Cells:
    """Return what is known of each rater."""
    head = ["rater", "verdicts", "ties", "errors on clear pairs", "on all pairs"]
    head += ["position bias (log-odds)", "same both ways round"]
    head += ["largest move of a gain or discount without"]
    rows = []
    for rater in raters:
        known = [interval([*rater[name].values()]) for name in KNOWN]
        move = influence.get(rater["rater"])
        counts = [f"{rater[name]:,}" for name in ("judgements", "ties")]
        rows.append([rater["rater"], *counts, *known, "" if move is None else f"{move:.2f}"])
    return cells(head, rows)


def _pictures(raters: list[Fields], over_time: Fields | None) -> list[Fields]:
    """Return the shares of wrong verdicts by rater, and the judgements over time."""
    errors = [(rater["rater"], *rater["wrong"].values()) for rater in raters]
    known = sorted((row for row in errors if row[1] is not None), key=lambda row: -row[1])
    pictures: list[Fields] = []
    if known:
        title = "share of wrong verdicts, worst first (95% intervals)"
        pictures.append({"title": title, "rows": known[:8]})
    if over_time:
        lines = {"judgements": over_time["judgements"]}
        pictures.append(
            {"title": "judgements over time", "ticks": over_time["days"], "lines": lines}
        )
    return pictures


def _counts(log: Preferences) -> str:
    """Return how many judgements, raters, queries and ties a log holds."""
    judgements = "judgements" if log.ratings is None else "pairs of rated lists"
    counts = [number_of(len(log), judgements, ",")]
    for name, labels in (("raters", log.rater), ("queries", log.query)):
        if labels is not None:
            counts.append(number_of(len(np.unique(labels)), name, ","))
    if log.tie is not None:
        counts.append(number_of(int(log.tie.sum()), "ties", ","))
    return ", ".join(counts)


def _over_time(log: Preferences) -> Fields | None:
    """Return the verdicts per day of a log with times, or per month beyond 24 days."""
    if log.time is None:
        return None
    days, n = np.unique([time[:10] for time in log.time], return_counts=True)
    if len(days) > 24:
        days, n = np.unique([time[:7] for time in log.time], return_counts=True)
    return {"days": days.tolist(), "judgements": n.tolist()}
