"""One method on one fold: train its grid, choose on the validation file, measure on the test file (`run_trial`)."""

from __future__ import annotations

import hashlib
import time
import warnings
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dcglearn.foundation.threads import one_blas_thread
from dcglearn.foundation.validation import Floats
from dcglearn.foundation.version import __version__
from dcglearn.letor.candidates import Setting
from dcglearn.letor.measures import MEASURES, Convention
from dcglearn.letor.methods import method_named
from dcglearn.letor.results import Trial
from dcglearn.rankers.linear_model import spread_of_scores

if TYPE_CHECKING:
    from dcglearn.letor.folds import Fold


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
