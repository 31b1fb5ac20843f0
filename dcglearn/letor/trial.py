"""One method on one fold: train its grid, choose on the validation file, measure on the test file (`run_trial`)."""

from __future__ import annotations

import hashlib
import json
import time
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dcglearn.foundation.arrays import Floats
from dcglearn.foundation.threads import one_blas_thread
from dcglearn.foundation.validation import InputError
from dcglearn.foundation.version import __version__
from dcglearn.letor.candidates import CHOICES, Setting
from dcglearn.letor.measures import MEASURES, Convention
from dcglearn.letor.methods import method_named
from dcglearn.rankers.linear_model import spread_of_scores

if TYPE_CHECKING:
    from dcglearn.letor.folds import Fold


FORMAT, VERSION = "dcglearn.letor", 1
"""Format of a saved trial, and its version."""


@dataclass(frozen=True, eq=False)
class Trial:
    """The results of a method on the test queries of a fold.

    `fingerprint` is the digest of data and settings. `measures` has shape (m, 21) for each of `CHOICES`, NaN where a
    query does not count. `candidates`, best first, are labels, values on the validation file, and whether blended.
    """

    fold: str
    method: str
    fingerprint: str
    queries: list[str]
    measures: dict[str, Floats]
    candidates: list[tuple[str, float, bool]]
    seconds: float

    @property
    def chosen(self) -> list[tuple[str, float]]:
        """Labels and values of the candidates that are blended, best first."""
        return [(label, value) for label, value, blended in self.candidates if blended]

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python values, for JSON."""
        tables = {
            name: [[None if np.isnan(x) else x for x in row] for row in table.tolist()]
            for name, table in self.measures.items()
        }
        head: dict[str, Any] = {"format": FORMAT, "version": VERSION, "mark": self.fingerprint}
        head |= {"fold": self.fold, "method": self.method, "seconds": self.seconds, "columns": list(MEASURES)}
        values = head | {"candidates": [list(row) for row in self.candidates], "queries": self.queries} | tables
        return values | {"sha256": _checksum(values)}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Trial:
        """Build from what `to_dict` returns; values of another kind or version are refused."""
        if (values.get("format"), values.get("version")) != (FORMAT, VERSION):
            kind = f'"format" {values.get("format")!r}, "version" {values.get("version")!r}'
            raise InputError(f"not a result of this version, which reads {VERSION} ({kind})")
        if values.get("sha256") != _checksum(values):
            raise InputError("the result is damaged or was changed: it has another SHA-256")
        try:
            tables = {
                name: np.array([[np.nan if x is None else x for x in row] for row in values[name]]) for name in CHOICES
            }
            trial = cls(
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
        if any(table.shape != (len(trial.queries), len(MEASURES)) for table in trial.measures.values()):
            raise InputError("the result is damaged: not a row a query")
        if any((table < 0).any() or (table > 1).any() for table in trial.measures.values()):
            raise InputError("the result is damaged: a measure outside 0..1")
        return trial


def _checksum(values: dict[str, Any]) -> str:
    """Return the SHA-256 of a trial's values, without that of the checksum."""
    rest = {name: value for name, value in values.items() if name != "sha256"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def fingerprint_of(data: str, method: str, convention: Convention, grid: str, seed: int) -> str:
    """Return the digest of all that a trial's numbers depend on; `data` is the fingerprint of the fold's files."""
    settings = [data, method, grid, seed, __version__, convention.counts_empty, repr(convention.dcg.to_dict())]
    return hashlib.sha256(repr(settings).encode()).hexdigest()


def run_trial(fold: Fold, name: str, convention: Convention, grid: str, seed: int, fingerprint: str = "") -> Trial:
    """Train a method's grid on a fold, choose on its validation queries, measure on its test queries.

    Candidates are ranked by validation NDCG@10, or by MAP if the method aims at MAP. There are two choices, since the
    best of many candidates is a noisy one: ``best``, and ``blend``, the mean of the scores of all `within_error` of it,
    each in units of its spread within validation queries. Test queries serve the final measures alone.
    """
    method = method_named(name)
    started = time.process_time()
    setting = Setting(fold.train, convention.dcg, grid, seed, fold.vali)
    column = MEASURES.index("NDCG@10" if method.aim == "NDCG" else "MAP")
    labels: list[str] = []
    valid: list[Floats] = []
    scores: list[Floats] = []
    with one_blas_thread(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="no leaf can be split")  # validation rejects these
        for candidate in method.candidates(setting):
            ranker = candidate.fit(fold.train, fold.vali)
            labels.append(candidate.label)
            vali_scores = ranker.predict(fold.vali)
            valid.append(convention.measures(fold.vali, vali_scores)[:, column])
            scores.append(ranker.predict(fold.test) / (spread_of_scores(vali_scores, fold.vali.offsets) or 1.0))
    means, used = within_error(np.array(valid))
    order = np.argsort(-means, kind="stable")  # of equal means, the first of the grid
    chosen = {"blend": sum(scores[i] for i in order if used[i]), "best": scores[order[0]]}
    return Trial(
        fold.name,
        method.name,
        fingerprint,
        [str(query) for query in fold.test.names],
        {choice: convention.measures(fold.test, np.asarray(blend)) for choice, blend in chosen.items()},
        [(labels[i], float(means[i]), bool(used[i])) for i in order],
        time.process_time() - started,
    )


def within_error(values: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the mean of each candidate, and whether it is within one standard error of the best, (candidates,) each.

    `values` has shape (candidates, queries), NaN for queries that do not count. The error is that of the mean
    difference to the best over queries, so queries that are hard for all candidates do not enlarge it.

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
