"""Krippendorff's alpha of verdicts between two lists, with a bootstrap interval."""

import numpy as np

from dcglearn.foundation.intervals import fewest_of_one_sign, percentile_interval
from dcglearn.foundation.validation import Indices, Integers
from dcglearn.logs.unique_rows import unique_rows
from dcglearn.trust.resampling import bootstrap_counts


def krippendorff_alpha(
    unit: Indices, verdict: Integers, rater: Indices, level: float
) -> tuple[float, float, float, int]:
    """Return alpha with the ends of its interval, and the number of units that it is about.

    Of n verdicts, t of them ties, and ``o`` pairs that agree, each of a unit with m verdicts
    counted ``1 / (m - 1)`` times, ``alpha = 1 - (n - 1) (n - o) / (n^2 - 2 h^2 - t^2)``, where ``h
    = (n - t) / 2`` verdicts name either list by chance (Krippendorff 2011, "Computing
    Krippendorff's Alpha-Reliability", with margins pooled over the two lists of a unit). 1 is
    perfect agreement, 0 the agreement by chance. Alpha is NaN where no unit has two verdicts, or
    all are ties.

    Parameters
    ----------
    unit, verdict, rater : array_like, shape (n,)
        What was judged, 1 or -1 for one of its lists and 0 for a tie, and who judged it. If -1 is
        written for 1 in all rows of a unit, nothing changes. A rater who judged a unit several
        times counts once, with the verdict that prevails, a tie where neither list does.
    level : float
        Level of the interval, by 2,000 bootstrap samples of units. Of fewer units than can show
        that raters agree (6 at .95: 2^-5 > .025) there is no interval.
    """
    # one verdict of each rater on a unit
    answers, _, answer = unique_rows(np.column_stack([unit, rater]))
    majority = np.sign(np.bincount(answer, verdict)).astype(np.intp)

    # units of several raters, by their numbers of verdicts; no list is the first
    counts = np.zeros((len(answers), 3))
    np.add.at(counts, (answers[:, 0], majority + 1), 1)
    counts[:, ::2].sort(axis=1)
    kinds, times = np.unique(counts[counts.sum(axis=1) > 1], axis=0, return_counts=True)
    n_units = int(times.sum())
    if not n_units:
        return np.nan, np.nan, np.nan, 0

    # verdicts, ties and agreeing pairs, of the units as they are and of samples
    n = kinds.sum(axis=1)
    agreeing = (kinds * (kinds - 1)).sum(axis=1) / (n - 1)
    n, ties, agreeing = np.array([n, kinds[:, 1], agreeing]) @ bootstrap_counts(times, 2000, 0).T

    # alpha of each
    expected = n**2 - (n - ties) ** 2 / 2 - ties**2
    alpha = 1 - (n - 1) * (n - agreeing) / np.where(expected > 0, expected, np.nan)
    low = high = np.nan
    if expected[0] > 0 and n_units >= fewest_of_one_sign(level):
        low, high = percentile_interval(alpha[1:], level).tolist()
    return float(alpha[0]), low, high, n_units
