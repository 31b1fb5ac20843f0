"""Active choice of the pairs of lists to judge next.

Each choice maximises ``sqrt(d' H^-1 d) / (|difference| + near)``: a pair in a direction explored
little so far, and near a tie under the present metric. ``H`` sums ``d d'`` over the log and the
pairs already chosen. For a DCG, d says which grades differ at which positions; for a list utility
it is the slope of the difference in its parameters. Where a fit has a machine beside people, pairs
that the two order differently come first.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dcglearn.foundation.files import refuse_unwritable
from dcglearn.foundation.finding import FORMS, Finding, table_of
from dcglearn.foundation.plain_text import number_of
from dcglearn.foundation.sources import WRITTEN
from dcglearn.foundation.threads import one_blas_thread
from dcglearn.foundation.validation import (
    EMPTY,
    UNKNOWN,
    Floats,
    Grades,
    InputError,
    PathLike,
    PolarsFrame,
    graded_lists,
    suffix_among,
    whole_number,
)
from dcglearn.learning.fit import Fit, fit_of
from dcglearn.learning.options import DCGOptions, Learner
from dcglearn.logs.unique_rows import list_numbers, pair_numbers
from dcglearn.logs.visibility import encode, gram_matrix, n_weights
from dcglearn.metrics.dcg import DCG
from dcglearn.reading.in_memory import as_preferences
from dcglearn.reading.preferences import Preferences
from dcglearn.trust.fit_learner import fit_learner

MOST_PAIRS = 20_000
"""Maximum number of candidate pairs; if the lists make more, this many are drawn at random."""

PRIOR = 0.1
"""Information on every parameter before any judgement."""


@dataclass(frozen=True, eq=False)
class Questions(Finding):
    """Pairs of lists to judge next, the most informative first.

    `pairs`, shape (n, 2, K), holds the two lists of each pair, `difference`, shape (n,), the score
    of the first minus that of the second under the present metric (gains from 0 to 1, first
    discount 1), and `value`, shape (n,), the uncertainty of that difference over its size, by which
    pairs are chosen; a thousandth where a machine agrees.
    """

    pairs: Grades = field(repr=False)
    difference: Floats = field(repr=False)
    value: Floats = field(repr=False)

    _formats: ClassVar = {"difference": "+.4f", "value": ".2f"}

    def __len__(self) -> int:
        return len(self.pairs)

    @property
    def sentence(self) -> str:
        """How many pairs are asked about."""
        return f"{number_of(len(self), 'pairs of lists')} to judge next, the most informative first"

    @property
    def table(self) -> PolarsFrame:
        """A row for each pair."""
        return table_of(
            {"a": list_text(a), "b": list_text(b), "difference": lead, "value": value}
            for (a, b), lead, value in zip(self.pairs, self.difference, self.value, strict=True)
        )

    @property
    def notes(self) -> list[str]:
        """What the numbers are, and how to go on."""
        return [
            "difference: of a minus b by the present metric, where the best gain and the first "
            "discount are 1",
            "value: how uncertain the difference is, over its size",
            "saved as .jsonl or .parquet, they are a log: replace each winner, open, with a, b or "
            "tie",
        ]

    def to_polars(self) -> PolarsFrame:
        """Return a table of the pairs whose `winner` is ``open``.

        With each ``open`` replaced by a, b or tie, the table is a log to learn from.
        """
        import polars as pl

        grades = pl.List(pl.Int64)
        first, second = (pl.Series(self.pairs[:, i].tolist(), dtype=grades) for i in (0, 1))
        winner = pl.Series(["open"] * len(self), dtype=pl.String)
        return pl.DataFrame({"a": first, "b": second, "winner": winner})

    def save(self, path: PathLike, *, force: bool = False) -> None:
        """Write the questions as a log, as `Preferences.save` does, or in the forms of a finding.

        Unless `force`, an existing file, which may hold answers, is refused.
        """
        suffix = suffix_among(path, {**FORMS, **dict.fromkeys(WRITTEN)}, "findings")
        refuse_unwritable(path, force=force)
        if suffix in FORMS and suffix != ".jsonl":
            super().save(path)
        else:
            from dcglearn.reading.tables import write_frame

            write_frame(self.to_polars(), path)


def suggest_pairs(
    log: Preferences | ArrayLike | None,
    candidates: Preferences | ArrayLike,
    n: int = 5,
    learner: Learner | None = None,
    *,
    n_grades: int | None = None,
    random_state: int = 0,
) -> Questions:
    """Choose the pairs of lists whose verdicts would be most informative.

    Raises InputError if the candidates have another depth than the log, or all are judged or pairs
    of equal lists, or the fitted learner has fewer grades or another depth.

    Parameters
    ----------
    log : Preferences, array_like of shape (m, 2, K), or None
        The judgements so far; None before the first.
    candidates : Preferences, or array_like of int, shape (m, 2, K) or (m, K)
        Pairs that could be shown, or lists any two of which could be shown.
    n : int
        Number of pairs, each chosen as if those before it were answered. Small batches teach more.
        Fewer, with a warning, where fewer candidates are left.
    learner : DCGLearner, optional
        A fitted learner, whose metric is used; or one to fit to `log`, by default ``DCGLearner()``.
        After a fit with `llm`, pairs come first that the machine and the fit to people's
        verdicts order differently.
    n_grades, random_state : int, optional
        L where log and candidates may lack the top grade; seed of the pairs drawn from many
        candidate lists.

    See Also
    --------
    io.read_questions : Read candidates from a file.

    Examples
    --------
    >>> log = dl.simulate.preference_pairs(dl.simulate.ground_truth("D1"), 30, random_state=0)
    >>> lists = dl.simulate.permutations(dl.simulate.PAPER_LIST, 100, random_state=1)
    >>> suggest_pairs(log, lists, 3).pairs.shape
    (3, 2, 10)
    """
    # the pairs that are open
    whole_number(n, "n", 1)
    judged = None if log is None else as_preferences(log, n_grades)
    pairs = _candidate_pairs(candidates, random_state)
    top = int(pairs.max(initial=0)) + 1
    n_grades = max(top, n_grades or 0, 2 if judged is None else judged.n_grades)
    pairs = _open(pairs, _asked(judged, pairs))

    # choose one after the other
    metric, chosen, value = most_informative(judged, pairs, n, learner, n_grades)
    if len(pairs) < n:
        left = number_of(len(pairs), "pairs")
        warnings.warn(f"only {left} left to ask, of the {n} wanted", UserWarning, stacklevel=2)
    best = pairs[chosen]
    return Questions(best, metric.score(best[:, 0]) - metric.score(best[:, 1]), value)


def most_informative(
    log: Preferences | None, pairs: Grades, n: int, learner: Learner | None, n_grades: int
) -> tuple[DCG, list[int], Floats]:
    """Return the present metric, and the numbers and values of n pairs, the first to ask first.

    `pairs` has shape (m, 2, K); fewer are returned if m is less than n. Each pair is chosen as if
    those before it were answered. Raises InputError as `suggest_pairs` does.
    """
    asked = _asked(log, pairs)
    metric = _present_metric(log, learner, n_grades, pairs.shape[2])
    with one_blas_thread():
        directions = _directions(pairs, asked, metric)
        doubt = _doubt(pairs, fit_of(learner))
        return metric, *_greedy(*directions, doubt, min(n, len(pairs)))


def _candidate_pairs(candidates: Preferences | ArrayLike, random_state: int) -> Grades:
    """Return candidates, or the pairs of a log, as pairs of lists, shape (m, 2, K)."""
    if isinstance(candidates, Preferences):
        return np.stack([candidates.preferred, candidates.other], axis=1)

    # pairs
    array = np.asarray(candidates)
    if array.ndim == 3 and array.shape[1] == 2:
        lists = graded_lists(array.reshape(-1, array.shape[2]), "candidates", empty=True)
        return lists.reshape(array.shape)

    # lists, of which any two make a pair
    lists = graded_lists(array, "candidates", empty=True)
    if lists.ndim != 2 or len(lists) < 2:
        raise InputError(
            f"candidates have shape {array.shape}; give pairs, (m, 2, K), or at least two lists, "
            "(m, K)"
        )

    # all pairs, or as many as allowed
    m = len(lists)
    if m * (m - 1) // 2 <= MOST_PAIRS:
        first, second = np.triu_indices(m, 1)
    else:
        first, second = np.random.default_rng(random_state).integers(0, m, (2, MOST_PAIRS))
    return np.stack([lists[first], lists[second]], axis=1)


def _asked(log: Preferences | None, pairs: Grades) -> Grades:
    """Return the pairs of a log, shape (n, 2, K), none without one; refuse those of other depth."""
    if log is None:
        return pairs[:0]
    if log.depth != pairs.shape[2]:
        raise InputError(
            f"candidates have {pairs.shape[2]} positions, the log {log.depth}: cut or pad by depth="
        )
    return np.stack([log.preferred, log.other], axis=1)


def _open(pairs: Grades, asked: Grades) -> Grades:
    """Return the distinct pairs of different lists, but for those asked in either order.

    Raise InputError if none is left.
    """
    # the first occurrence of each pair, after those asked
    both = np.concatenate([asked, pairs])
    numbers = pair_numbers(*list_numbers(both[:, 0], both[:, 1]))
    new = np.zeros(len(both), dtype=bool)
    new[np.unique(numbers, return_index=True)[1]] = True

    # of those, the candidates of different lists
    equal = (pairs[:, 0] == pairs[:, 1]).all(axis=1)
    still_open = new[len(asked) :] & ~equal
    if not still_open.any():
        raise InputError(
            f"nothing is left to ask: of {len(pairs)} candidate pairs {int(equal.sum())} hold two "
            "equal lists and the others are judged already; give other candidates"
        )
    return np.ascontiguousarray(pairs[still_open])


def _present_metric(
    log: Preferences | None, learner: Learner | None, n_grades: int, depth: int
) -> DCG:
    """Return the present metric: the learner's, the log's, or the prior's.

    If the learner is not fitted, it is fitted to the log; before any verdict, its prior stands in.
    Raise InputError if the metric has fewer grades than the lists, or another depth.
    """
    options = DCGOptions.of(learner)
    fit = fit_of(learner)
    if fit is not None:
        metric = fit.dcg
    elif log is None or not len(log.decided):
        prior = options.plain.metric("prior", n_grades, depth)
        metric = prior or DCG.standard(n_grades, depth).normalised()
    else:
        metric = fit_learner(log, replace(options, n_grades=n_grades)).dcg

    # a fitted one may not suit the lists
    if metric.n_grades < n_grades or metric.depth != depth:
        raise InputError(
            f"the learner has {metric.n_grades} grades and {metric.depth} positions, log and "
            f"candidates {n_grades} and {depth}: fit it to lists of that depth, with "
            f"n_grades={n_grades}"
        )
    return metric


def _directions(
    pairs: Grades, asked: Grades, metric: DCG
) -> tuple[NDArray[np.float32], Floats, Floats]:
    """Return the rows of all pairs, the information of those asked, and the parameters.

    A row d, of the (m, p), is the slope of a pair's difference in the p parameters; the rows are
    float32, since products of many of them take most of the time. The information H, (p, p), sums
    ``d d'`` over the pairs asked, and the parameters, (p,), are those of the present metric.
    """
    n_weights(metric.depth, metric.n_grades)

    # the parameters are the weights: d says which grades differ at which positions
    ahead, behind = (
        encode(pairs[:, side], metric.n_grades) * metric.factors(pairs[:, side])[:, None, None]
        for side in (0, 1)
    )
    rows = (ahead - behind).reshape(len(pairs), -1).astype(np.float32)
    information = PRIOR * np.eye(rows.shape[1])
    if len(asked):
        first, second = np.ascontiguousarray(asked.transpose(1, 0, 2))
        information += gram_matrix(first, second, metric.n_grades)
    return rows, information, metric.utility.weights.ravel()


def _doubt(pairs: Grades, fit: Fit | None) -> Floats:
    """Return the factor of each pair's value, shape (m,).

    It is less than 1 where the machine of a fit agrees with people.
    """
    if fit is None or fit.llm is None:
        return np.ones(len(pairs))
    dcgs = fit.free, fit.llm
    people, machine = (np.sign(dcg.score(pairs[:, 0]) - dcg.score(pairs[:, 1])) for dcg in dcgs)
    return np.where(people == machine, 1e-3, 1.0)


def _greedy(
    rows: NDArray[np.float32], information: Floats, weights: Floats, doubt: Floats, n: int
) -> tuple[list[int], Floats]:
    """Return the indices of n chosen pairs and their values.

    Each is the best that is left once those before it are answered, whatever the answers are.
    """
    # the uncertainty and the size of each difference, before any pair is chosen
    inverse = np.linalg.inv(information)
    difference = np.abs(rows @ weights.astype(np.float32))
    variance = np.einsum("ij,ij->i", rows @ inverse.astype(np.float32), rows)
    chosen: list[int] = []
    values = np.empty(n)
    for i in range(n):
        # the best pair that is left: the chosen ones come last
        value = _values(variance, difference) * doubt
        value[chosen] = -1.0
        best = int(np.argmax(value))
        chosen.append(best)
        values[i] = value[best]

        # as if it were answered: H grows by d d', and its inverse by Sherman and Morrison's formula
        step = inverse @ rows[best] / np.sqrt(1.0 + variance[best])
        inverse -= np.outer(step, step)
        variance -= (rows @ step.astype(np.float32)) ** 2
    return chosen, values


def _values(variance: Floats, difference: Floats) -> Floats:
    """Return the uncertainty of differences over their size."""
    # differences well below a typical one are about equally near a tie: pairs nearer it would tell
    # more if the present metric were right, but early it is not
    typical = max(float(np.sqrt(np.mean(difference**2))), 1e-12)
    return np.sqrt(np.maximum(variance, 0.0)) / (difference + typical)


def list_text(grades: Grades) -> str:
    """Return a list as text: unknown grades as ?, without the empty places behind it."""
    known = ["?" if grade == UNKNOWN else str(grade) for grade in grades if grade != EMPTY]
    return " ".join(known)
