"""Part of an audit on the log: what it holds, who judged, and what in it stands out."""

from typing import Any

import numpy as np

from dcglearn.audits.inputs import Inputs
from dcglearn.audits.section import Section
from dcglearn.foundation.finding import Finding
from dcglearn.foundation.plain_text import left_out
from dcglearn.foundation.progress import stage
from dcglearn.foundation.validation import Fields
from dcglearn.learning.fit import Fit, cautions_of
from dcglearn.learning.usable_pairs import REASON, one_sided_raters
from dcglearn.logs.contents import contents
from dcglearn.logs.unique_rows import list_numbers
from dcglearn.raters.rater_agreement import RaterAgreement, rater_agreement
from dcglearn.raters.repeats import contradiction
from dcglearn.trust.coins import NO_SIGNAL
from dcglearn.trust.influence import influence_of_raters

MOST_ERRORS = 200_000
"""Pairs of the longest log whose raters' errors are fitted."""


def log_parts(inputs: Inputs) -> dict[str, Finding]:
    """Return the contents of a log with what stands out, and its raters' agreement and errors."""
    log, rated, bands = inputs.log, inputs.log.ratings is not None, inputs.bands
    coins = inputs.tells_nothing
    fit = inputs.fit if isinstance(inputs.fit, Fit) and not coins else None

    # agreement of raters, and the influence of each; errors take seconds on a large log
    with stage("raters"):
        errors = fit is not None and not rated and len(log) <= MOST_ERRORS
        agreement = rater_agreement(log, fit, errors=errors, random_state=inputs.random_state)
        moves = {} if fit is None else influence_of_raters(inputs.pairs, fit)
    width: Any = np.inf
    if bands is not None:
        width = np.ptp(np.concatenate([bands.gain_band, bands.discount_band], axis=1), axis=0)
    much = any((np.abs(move) > width / 2 + 1e-9).any() for move in [*moves.values()][:1])

    # lists that recur
    sides = list_numbers(log.preferred, log.other)
    times = np.bincount(np.concatenate(sides))
    often = np.stack([times[lists] > 1 for lists in sides])

    numbers: Fields = {
        "rated": rated,
        "judgements": len(log),
        "contradicted": log.n_contradicted(),
        "lists": len(times),
        "recurring": float(often.all(axis=0).mean()),
        # who judged
        "error_rate": 0.0 if fit is None else fit.error_rate,
        "influence": {rater: float(np.abs(move).max()) for rater, move in moves.items()},
        "much": much,
        "one_sided": one_sided_raters(log).tolist(),
        "left_out": int(log.differing.sum()) - len(inputs.pairs),
        "no_signal": NO_SIGNAL if coins else "",
        "as_read": [contradiction(log), *_left_out(inputs)],
        "cautions": cautions_of(log, inputs.fit),
    }

    # the sentence counts, and names what stands out most
    striking, notes, asks = _said(agreement, numbers)
    about = striking[0] if striking else "nothing in them stands out"
    about = "; ".join([about, *filter(None, numbers["as_read"])])
    no_raters = rated or (log.rater is None and log.swapped is None)
    section = Section(
        f"{contents(log)}: {about}",
        [*striking[1:], *notes],
        asks,
        numbers,
        caption="Largest move of a gain or discount without a rater",
        rows=[{"rater": rater, "move": move} for rater, move in numbers["influence"].items()],
    )
    return {"log": section} if no_raters else {"log": section, "raters": agreement}


def _said(agreement: RaterAgreement, numbers: Fields) -> tuple[list[str], list[str], list[str]]:
    """Return what stands out in a log, further notes, and what would tell more."""
    striking: list[str] = []
    notes: list[str] = []
    asks: list[str] = []
    if numbers["one_sided"]:
        names = numbers["one_sided"]
        striking.append(
            f"{numbers['left_out']} verdicts are left out: {', '.join(names)} always "
            f"{'names' if len(names) == 1 else 'name'} one side"
        )

    # who errs, and who favours a side
    if numbers["no_signal"]:
        striking.append(numbers["no_signal"])
    elif not numbers["rated"]:
        if agreement.named and agreement.n_units < 10:
            asks.append(
                "let raters judge the same pairs, to know how far they agree "
                f"(pairs judged twice: {agreement.n_units})"
            )
        striking += _of_raters(agreement, numbers["error_rate"])
        if "bias" not in agreement.known:
            asks.append(
                "add the column swapped, or shown_left: it tells whether judges favour a side"
            )
    striking += numbers["cautions"]

    # whether one rater decides too much
    if not numbers["no_signal"]:
        most = next(iter(numbers["influence"].items()), None)
        if most is None:
            asks.append(
                "add the column rater: it tells who errs, and whether one rater decides too much"
            )
        else:
            (striking if numbers["much"] else notes).append(
                f"{'one rater is' if numbers['much'] else 'no rater is'} shown to decide too much: "
                f"without {most[0]}, who matters most, no gain or discount changes by more than "
                f"{most[1]:.2g} (the best gain and the first discount are 1)"
            )

    # which lists recur
    recurring = "no pair is"
    if numbers["recurring"]:
        recurring = f"{100 * numbers['recurring']:.0f}% of the pairs are"
    notes.append(
        f"{numbers['lists']:,} different lists were compared; {recurring} between two that each "
        "occur in several pairs"
    )
    return striking, notes, asks


def _of_raters(agreement: RaterAgreement, error_rate: float) -> list[str]:
    """Return the raters who err far more often than judges do, and those who favour a side."""
    # beyond twice the judges' error rate, and 5%
    striking = []
    for rater in agreement.table.iter_rows(named=True):
        if rater.get("error_low", 0.0) > max(2 * error_rate, 0.05):
            striking.append(
                f"one rater errs far more often: {rater['rater']} "
                f"({100 * rater['error_low']:.0f}% to {100 * rater['error_high']:.0f}%)"
            )

    # whatever the lists
    for side in ("first", "second"):
        for rater in agreement.favouring(side).iter_rows(named=True):
            striking.append(
                f"one side is favoured, that shown {side}, by rater: {rater['rater']} "
                f"(log-odds {rater['bias']:+.2f})"
            )
    return striking


def _left_out(inputs: Inputs) -> list[str]:
    """Return lines on what was left out, but of single lines, and of raters named elsewhere."""
    dropped = {**inputs.log.dropped, **inputs.fit.dropped, REASON: 0}
    return left_out({reason: n for reason, n in dropped.items() if ": " not in reason})
