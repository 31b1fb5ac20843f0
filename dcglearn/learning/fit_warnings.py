"""What a fit of gains and discounts warns of, and its notes on what the log cannot show."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from sklearn.exceptions import ConvergenceWarning

from dcglearn.foundation.validation import pointer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dcglearn.logs.visibility import Visibility


def warn_of_few_judgements(n_effective: float, n_free: int, stacklevel: int) -> None:
    """Warn if a log counts for fewer judgements than there are gains and discounts to learn."""
    if n_effective < n_free:
        warnings.warn(
            f"the log counts for {n_effective:g} independent judgements, fewer than the {n_free} gains and "
            "discounts to learn: what it does not show is set by the prior " + pointer("too-few"),
            UserWarning,
            stacklevel=stacklevel + 1,
        )


def warn_of_descent(converged: bool, n_iter: int, stacklevel: int) -> None:
    """Warn of a descent that stopped before a stationary point."""
    if not converged:
        warnings.warn(
            f"the descent stopped after {n_iter} iterations, before a stationary point: raise max_iter "
            + pointer("convergence-warning"),
            ConvergenceWarning,
            stacklevel=stacklevel + 1,
        )


def warn_of_contrary_raters(rater_error: Mapping[str, float], stacklevel: int) -> None:
    """Warn of raters who name the wrong list more often than not."""
    contrary = [name for name, error in rater_error.items() if error > 0.5]
    if contrary:
        warnings.warn(
            f"raters who contradict the others more often than not: {', '.join(contrary)}; their verdicts are "
            "counted reversed: check whether they mistook the sides " + pointer("contrary-raters"),
            UserWarning,
            stacklevel=stacklevel + 1,
        )


def notes_of(visible: Visibility) -> tuple[str, ...]:
    """Return notes on the parts of the curves that pairs of such lists cannot show."""
    notes = []
    if visible.unseen_grades:
        names = ", ".join(str(grade) for grade in visible.unseen_grades)
        notes.append(f"grade {names} never occurs in the log; its gain continues the curve of the others")
    if visible.free_columns:
        notes.append(
            "the two lists of a pair never differ in their mix of grades, so the log shows the discounts' differences "
            "only; their level is that of the smoothest curve"
        )
    return tuple(notes)
