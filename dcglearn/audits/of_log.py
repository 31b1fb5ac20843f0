"""Part of an audit on the log: what it holds, who judged, and what in it stands out."""

from typing import Any

import numpy as np

from dcglearn.audits.inputs import Inputs
from dcglearn.audits.section import Section, worded
from dcglearn.foundation.finding import Finding
from dcglearn.foundation.plain_text import left_out
from dcglearn.foundation.progress import stage
from dcglearn.foundation.validation import Fields
from dcglearn.learning.descriptions import cautions_of
from dcglearn.logs.triads import intransitive_triads
from dcglearn.logs.unique_rows import list_numbers
from dcglearn.parts.parted_log import contents, differing_pairs
from dcglearn.parts.usable_pairs import NO_SIGNAL, REASON, one_sided_raters
from dcglearn.raters.influence import influence_of_raters
from dcglearn.raters.rater_agreement import rater_agreement
from dcglearn.readers.preferences import Preferences


def log_parts(inputs: Inputs) -> dict[str, Finding]:
    """Return the contents of a log with what stands out, and its raters' agreement and errors."""
    log, rated, bands = inputs.log, inputs.log.ratings is not None, inputs.bands
    coins = inputs.tells_nothing

    # agreement of raters, and the influence of each
    with stage("raters"):
        agreement = rater_agreement(
            log, inputs.fit, errors=not (rated or coins), random_state=inputs.random_state
        )
        moves = {} if coins else influence_of_raters(inputs.pairs, inputs.fit)
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
        "error_rate": inputs.fit.error_rate,
        "influence": {rater: float(np.abs(move).max()) for rater, move in moves.items()},
        "much": much,
        "over_time": _over_time(log),
        "one_sided": one_sided_raters(log).tolist(),
        "left_out": len(differing_pairs(log)) - len(inputs.pairs),
        "no_signal": NO_SIGNAL if coins else "",
        "as_read": [log.contradiction, *_left_out(inputs)],
        "cautions": cautions_of(log, inputs.fit),
    }

    # the sentence counts, and names what stands out
    first, further, asks = worded(
        "log", agreement=agreement.to_dict(), named=agreement.named, **numbers
    )
    notes = [note for note in (first, *further) if note]
    striking = [note for note in notes if note.startswith("! ")][:1]
    about = striking[0][2:] if striking else "nothing in them stands out"
    others = [note.removeprefix("! ") for note in notes if note not in striking]
    no_raters = rated or (log.rater is None and log.swapped is None)
    section = Section(
        f"{contents(log)}: {about}",
        others,
        asks,
        numbers,
        caption="Largest move of a gain or discount without a rater",
        rows=[{"rater": rater, "move": move} for rater, move in numbers["influence"].items()],
        pictures=_over_time_drawn(numbers["over_time"]),
    )
    return {"log": section} if no_raters else {"log": section, "raters": agreement}


def _left_out(inputs: Inputs) -> list[str]:
    """Return lines on what was left out, but of single lines, and of raters named elsewhere."""
    dropped = {**inputs.log.dropped, **inputs.fit.dropped, REASON: 0}
    return left_out({reason: n for reason, n in dropped.items() if ": " not in reason})


def _over_time_drawn(over_time: Fields | None) -> list[Fields]:
    """Return the picture of the judgements over time."""
    if over_time is None:
        return []
    lines = {"judgements": over_time["judgements"]}
    return [{"title": "judgements over time", "ticks": over_time["days"], "lines": lines}]


def _over_time(log: Preferences) -> Fields | None:
    """Return the verdicts per day of a log with times, or per month beyond 24 days."""
    if log.time is None:
        return None
    days, n = np.unique([time[:10] for time in log.time], return_counts=True)
    if len(days) > 24:
        days, n = np.unique([time[:7] for time in log.time], return_counts=True)
    return {"days": days.tolist(), "judgements": n.tolist()}
