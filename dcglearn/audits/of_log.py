"""Part of an audit on the log: what it holds, who judged, and what in it stands out."""

import numpy as np

from dcglearn.audits.inputs import Inputs
from dcglearn.audits.section import Section
from dcglearn.foundation.finding import Finding
from dcglearn.foundation.plain_text import left_out, number_of
from dcglearn.foundation.progress import stage
from dcglearn.foundation.validation import Floats
from dcglearn.learning.fit import Fit, cautions_of
from dcglearn.learning.usable_pairs import REASON, one_sided_raters
from dcglearn.logs.contents import contents
from dcglearn.logs.preference_pairs import PreferencePairs
from dcglearn.logs.unique_rows import list_numbers
from dcglearn.raters.rater_agreement import RaterAgreement, rater_agreement
from dcglearn.trust.coins import NO_SIGNAL
from dcglearn.trust.influence import influence_of_raters

MOST_ERRORS = 200_000
"""Pairs of the longest log whose raters' errors are fitted."""


def log_parts(inputs: Inputs) -> dict[str, Finding]:
    """Return the contents of a log with what stands out, and its raters' agreement and errors."""
    log, coins, rated = inputs.log, inputs.tells_nothing, inputs.log.ratings is not None
    fit = inputs.fit if isinstance(inputs.fit, Fit) and not coins else None

    # agreement of raters, and the influence of each; errors take seconds on a large log
    with stage("raters"):
        errors = fit is not None and not rated and len(log) <= MOST_ERRORS
        agreement = rater_agreement(log, fit, errors=errors)
        moves = {} if fit is None else influence_of_raters(inputs.pairs, fit)
    largest = {rater: float(np.abs(move).max()) for rater, move in moves.items()}

    # what stands out, and further notes
    striking = _left_out(inputs)
    notes: list[str] = []
    if coins:
        striking.append(NO_SIGNAL)
    elif not rated:
        striking += _of_raters(agreement, 0.0 if fit is None else fit.error_rate)
    striking += cautions_of(log, inputs.fit)
    for rater, move in [*moves.items()][:1]:
        change = f"{largest[rater]:.2g} (the best gain and the first discount are 1)"
        if _is_much(move, inputs):
            striking.append(
                f"one rater is shown to decide too much: without {rater}, a gain or discount "
                f"changes by {change}, more than half the width of its band"
            )
        else:
            notes.append(
                f"no rater is shown to decide too much: without {rater}, who matters most, no "
                f"gain or discount changes by more than {change}"
            )

    # lists that recur
    sides = list_numbers(log.preferred, log.other)
    times = np.bincount(np.concatenate(sides))
    recurring = float(np.all([times[lists] > 1 for lists in sides], axis=0).mean())
    share = f"{100 * recurring:.0f}% of the pairs are" if recurring else "no pair is"
    notes.append(
        f"{len(times):,} different lists were compared; {share} between two that each occur in "
        "several pairs"
    )

    # the sentence counts, and names what stands out most
    first, *others = striking or ["nothing in them stands out"]
    dropped = {**log.dropped, **inputs.fit.dropped, REASON: 0}
    said = left_out({reason: n for reason, n in dropped.items() if ": " not in reason})
    section = Section(
        f"{contents(log)}: {'; '.join([first, *filter(None, [_contradicted(log)]), *said])}",
        [*others, *notes],
        [] if coins else _asks(agreement, rated=rated, moved=bool(moves)),
        {"judgements": len(log), "lists": len(times), "recurring": recurring, "influence": largest},
        caption="Largest move of a gain or discount without a rater",
        rows=[{"rater": rater, "move": move} for rater, move in largest.items()],
    )
    no_raters = rated or (log.rater is None and log.swapped is None)
    return {"log": section} if no_raters else {"log": section, "raters": agreement}


def _contradicted(log: PreferencePairs) -> str:
    """Return how many pairs contradict others, in a sentence; empty if none do."""
    n = log.n_contradicted()
    if not n:
        return ""
    share, say = n / log.decided.total_weight, "says" if n == 1 else "say"
    pairs = f"{number_of(round(n, 1), 'pairs', ',.10g')}, {share:.1%} of those with a winner"
    return f"contradicted: {pairs}, {say} the opposite of another pair"


def _left_out(inputs: Inputs) -> list[str]:
    """Return the verdicts that are left out since their raters always name one side, in words."""
    names = one_sided_raters(inputs.log).tolist()
    if not names:
        return []
    n = int(inputs.log.differing.sum()) - len(inputs.pairs)
    always = f"always {'names' if len(names) == 1 else 'name'} one side"
    return [f"{n} verdicts are left out: {', '.join(names)} {always}"]


def _is_much(move: Floats, inputs: Inputs) -> bool:
    """Return whether a gain or discount moves by more than half the width of its band."""
    if inputs.bands is None:
        return False
    ends = np.concatenate([inputs.bands.gain_band, inputs.bands.discount_band], axis=1)
    return bool((np.abs(move) > np.ptp(ends, axis=0) / 2 + 1e-9).any())


def _asks(agreement: RaterAgreement, *, rated: bool, moved: bool) -> list[str]:
    """Return what a log would have to hold to tell more; `moved` if raters were left out."""
    asks = []
    if not rated and agreement.named and agreement.n_units < 10:
        asks.append(
            "let raters judge the same pairs, to know how far they agree "
            f"(pairs judged twice: {agreement.n_units})"
        )
    if not rated and "bias" not in agreement.table.columns:
        asks.append("add the column swapped, or shown_left: it tells whether judges favour a side")
    if not moved:
        asks.append(
            "add the column rater: it tells who errs, and whether one rater decides too much"
        )
    return asks


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
        for rater in agreement.table.iter_rows(named=True):
            if rater.get("favours") == side:
                striking.append(
                    f"one side is favoured, that shown {side}, by rater: {rater['rater']} "
                    f"(log-odds {rater['bias']:+.2f})"
                )
    return striking
