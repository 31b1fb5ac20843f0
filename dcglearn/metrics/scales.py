"""Scales of grades: comparison of a metric's scale with the data's, and maps between scales."""

from __future__ import annotations

import warnings
from collections.abc import Mapping


class ScaleWarning(UserWarning):
    """A metric has gains for more grades than the data have: the two scales may not be the same.

    See Also
    --------
    DCG.map_grades : Say which grade stands for which.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always", dl.evaluation.ScaleWarning)
    ...     values = dl.evaluate({"q": {"a": 2}}, {"q": {"a": 1.0}}, dl.DCG.standard(5, 3))
    >>> [warning.category.__name__ for warning in caught]
    ['ScaleWarning']
    """


def grades_of(n_grades: int) -> str:
    """Return the grades of a scale in words, ``5 grades (0..4)``."""
    return f"{n_grades} grades (0..{n_grades - 1})" if n_grades > 1 else "one grade (0)"


def warn_of_scale(larger: Mapping[str, int], n_grades: int, data: str) -> None:
    """Warn once, by `ScaleWarning`, of metrics with gains for more grades than the data have.

    `larger` has the number of grades of each such metric, `n_grades` is the number in the data, and
    `data` their name. The warning is of the caller of the function that calls this one.
    """
    if larger:
        sizes = (f"{name} has gains for {grades_of(size)}" for name, size in larger.items())
        message = (
            f"{' and '.join(sizes)}, but {data} has {grades_of(n_grades)}; give DCG.map_grades the "
            "grade of the metric that each grade of the data stands for, or give the data its "
            "n_grades if the scale is the same and its top grade does not occur"
        )
        warnings.warn(message, ScaleWarning, stacklevel=3)
