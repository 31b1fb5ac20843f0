"""Cut-offs of grades that are fractions: those under which a DCG fits the judgements best."""

from __future__ import annotations

import math

import numpy as np

from dcglearn.foundation.progress import counted
from dcglearn.foundation.threads import one_blas_thread
from dcglearn.foundation.validation import InputError, whole_number
from dcglearn.learning.descriptions import DirectDescription
from dcglearn.learning.fit_dcg import fit_dcg
from dcglearn.logs.columns import weights_of
from dcglearn.logs.preference_pairs import PreferencePairs
from dcglearn.parts.usable_pairs import learnable

FINE = "20"
"""``--cutoffs learned:N`` chooses among the cut-offs of this many levels of equally many grades."""


def learned_cutoffs(log: PreferencePairs, n_levels: int = 4) -> tuple[float, ...]:
    """Return the cut-offs of the levels that fit best, among those with which the log was read.

    Two neighbouring levels after another are joined: those with which the robust fit of a DCG keeps
    the best objective, where a pair whose lists then are equal counts as a guess. The search is
    greedy. Raises InputError unless the log was read with cut-offs of more than `n_levels` levels,
    and `n_levels` is at least 2.

    Parameters
    ----------
    log : Preferences
        A log that was read with many cut-offs (``cutoffs=20``); of a long one, about 2,000
        judgements are used.
    n_levels : int
        The number of levels that are left.

    See Also
    --------
    read_preferences : Reads grades that are fractions, with cut-offs.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> grades = rng.random((2, 300, 3))  # only 0.6 and more has a gain
    >>> ahead = ((grades >= 0.6) @ [1, 0.6, 0.4])[..., None]
    >>> a, b = np.where(ahead[0] >= ahead[1], grades, grades[::-1])
    >>> records = [{"a": x, "b": y, "winner": "a"} for x, y in zip(a.tolist(), b.tolist())]
    >>> learned_cutoffs(dl.read_preferences(records, cutoffs=".2,.4,.6,.8"), n_levels=2)
    (0.6,)
    """
    # the cut-offs with which the log was read
    names = log.grade_names or ()
    try:
        cutoffs = [float(name.partition("-")[0]) for name in names[1:]]
    except ValueError:
        cutoffs = []

    # more than are wanted
    whole_number(n_levels, "n_levels", 2)
    if len(cutoffs) < n_levels:
        raise InputError(
            f"cut-offs of {n_levels} levels are chosen among those of more: read grades that are "
            "fractions with cutoffs=20 (--cutoffs 20), say; the log has the grades "
            f"{', '.join(names) or range(log.n_grades)}"
        )

    # join two neighbouring levels after another, on about 2,000 judgements
    log, _ = learnable(log.thinned(2_000))
    steps = range(len(cutoffs) + 1, n_levels, -1)
    with one_blas_thread():
        for _ in counted(steps, len(steps), "cut-offs"):
            joined = [_without(log, level) for level in range(len(cutoffs))]
            level = int(np.argmin([_objective(one) for one in joined]))
            log, cutoffs = joined[level], [*cutoffs[:level], *cutoffs[level + 1 :]]
    return tuple(cutoffs)


def _without(log: PreferencePairs, level: int) -> PreferencePairs:
    """Return a log in which a level and the next are one."""
    lists = {
        name: np.where(grades > level, grades - 1, grades).astype(np.int8)
        for name, grades in (("preferred", log.preferred), ("other", log.other))
    }
    n_grades = log.n_grades - 1
    return log.changed(**lists, n_grades=n_grades, grade_names=None, all_differ=False)


def _objective(log: PreferencePairs) -> float:
    """Return the objective of a robust fit; pairs of equal lists count as guesses."""
    weight = weights_of(log)
    guesses = float(weight[~log.differing].sum())
    fit, _ = fit_dcg(log, DirectDescription(loss="robust", n_starts=1), independent=True)
    return fit.objective + math.log(2.0) * guesses
