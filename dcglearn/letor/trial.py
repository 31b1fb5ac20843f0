"""One method on one fold: its grid trained, chosen from on the validation file, and measured on the test file."""

from __future__ import annotations

import hashlib
import time
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dcglearn.foundation.threads import one_blas_thread
from dcglearn.foundation.validation import InputError
from dcglearn.foundation.version import __version__
from dcglearn.letor.candidates import CHOICES, Setting
from dcglearn.letor.measures import MEASURES, Convention
from dcglearn.letor.methods import method_named
from dcglearn.rankers.ranker import spread_of_scores

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dcglearn.foundation.arrays import Floats
    from dcglearn.letor.folds import Fold


FORMAT, VERSION = "dcglearn.letor", 1


@dataclass(frozen=True, eq=False)
class Trial:
    """What a method reached on a fold.

    Attributes
    ----------
    fold, method : str
    mark : str
        A digest of data and settings: what a kept result must agree with.
    queries : list of str
        The test queries.
    measures : dict of str to ndarray, shape (m, 21)
        By choice: the one candidate that is best on the validation file, or the blend, see `run_trial`. Columns
        are `MEASURES`; NaN where a query does not count.
    candidates : list of (str, float, bool)
        Each point of the grid in words, its value on the validation file, and whether it is blended; best first.
    seconds : float
        Of a processor, for training and judging.
    """

    fold: str
    method: str
    mark: str
    queries: list[str]
    measures: dict[str, Floats]
    candidates: list[tuple[str, float, bool]]
    seconds: float

    @property
    def chosen(self) -> list[tuple[str, float]]:
        """The candidates that are blended, the best first."""
        return [(label, value) for label, value, blended in self.candidates if blended]

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python values, for JSON."""
        tables = {
            name: [[None if np.isnan(x) else x for x in row] for row in table.tolist()]
            for name, table in self.measures.items()
        }
        head: dict[str, Any] = {"format": FORMAT, "version": VERSION, "mark": self.mark}
        head |= {"fold": self.fold, "method": self.method, "seconds": self.seconds, "columns": list(MEASURES)}
        return head | {"candidates": [list(row) for row in self.candidates], "queries": self.queries} | tables

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Trial:
        """Build from what `to_dict` returns.

        Raises
        ------
        InputError
            If it is of another kind or version, or something is missing.
        """
        if values.get("format") != FORMAT or values.get("version") != VERSION:
            raise InputError(f'not a result of this version ("format" {values.get("format")!r})')
        try:
            tables = {
                name: np.array([[np.nan if x is None else x for x in row] for row in values[name]]) for name in CHOICES
            }
            found = cls(
                str(values["fold"]),
                str(values["method"]),
                str(values["mark"]),
                [str(name) for name in values["queries"]],
                tables,
                [(str(label), float(value), bool(used)) for label, value, used in values["candidates"]],
                float(values["seconds"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"the result is damaged ({error!r})") from error
        if any(table.shape != (len(found.queries), len(MEASURES)) for table in found.measures.values()):
            raise InputError("the result is damaged: not a row a query")
        return found


def mark_of(data: str, method: str, convention: Convention, grid: str, seed: int) -> str:
    """Return the digest of all that a trial's numbers depend on; `data` is that of the fold's files."""
    words = [data, method, grid, seed, __version__, convention.counts_empty, repr(convention.dcg.to_dict())]
    return hashlib.sha256(repr(words).encode()).hexdigest()


def run_trial(fold: Fold, name: str, convention: Convention, grid: str, seed: int, mark: str = "") -> Trial:
    """Train a method's grid on a fold, choose on its validation queries, measure on its test queries.

    Candidates are ranked by validation NDCG@10, or MAP for methods that aim at that. NDCG@1 of some twenty queries
    would be a lottery, and so is the best of many candidates: beside it, all whose mean is within one standard error of
    the best's (of the differences by query) are blended: their scores are averaged, each in units of its spread within
    validation queries. No test query is looked at before.

    Raises
    ------
    InputError
        If there is no such method, or nothing can be learned from the training queries.
    """
    method = method_named(name)
    started = time.process_time()
    setting = Setting(fold.train, convention.dcg, grid, seed, fold.vali)
    column = MEASURES.index("NDCG@10" if method.aim == "NDCG" else "MAP")
    labels: list[str] = []
    valid: list[Floats] = []
    scores: list[Floats] = []
    with one_blas_thread(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="no leaf can be split")  # such a shape will not be chosen
        for candidate in method.candidates(setting):
            ranker = candidate.fit(fold.train, fold.vali)
            labels.append(candidate.label)
            found = ranker.predict(fold.vali)
            valid.append(convention.measures(fold.vali, found)[:, column])
            scores.append(ranker.predict(fold.test) / (spread_of_scores(found, fold.vali.offsets) or 1.0))
    means, used = within_error(np.array(valid))
    order = np.argsort(-means, kind="stable")  # of equals, the first of the grid
    chosen = {"blend": sum(scores[i] for i in order if used[i]), "best": scores[order[0]]}
    return Trial(
        fold.name,
        method.name,
        mark,
        [str(query) for query in fold.test.names],
        {choice: convention.measures(fold.test, np.asarray(kept)) for choice, kept in chosen.items()},
        [(labels[i], float(means[i]), bool(used[i])) for i in order],
        time.process_time() - started,
    )


def within_error(values: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the mean of each candidate, and whether it is within one standard error of the best.

    Parameters
    ----------
    values : ndarray, shape (candidates, queries)
        By validation query; NaN, in whole columns, where a query does not count.

    Returns
    -------
    means, used : ndarray, shape (candidates,)
        The error is that of the mean difference over queries, so that what all find hard does not blur it.

    Examples
    --------
    >>> within_error(np.array([[0.5, 0.7, 0.6], [0.6, 0.5, 0.6], [0.2, 0.4, 0.3]]))[1]
    array([ True,  True, False])
    """
    counted = values[:, ~np.isnan(values[0])]
    n = counted.shape[1]
    if n < 2:
        means = counted.mean(axis=1) if n else np.zeros(len(values))
        return means, means == means.max()
    means = counted.mean(axis=1)
    behind = counted[np.argmax(means)] - counted
    return means, behind.mean(axis=1) <= behind.std(axis=1, ddof=1) / np.sqrt(n) + 1e-12
