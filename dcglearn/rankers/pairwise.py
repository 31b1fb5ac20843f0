"""Ranking by a classifier of pairs: the reductions NDCG-Train and NDCG-Test."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.base import clone

from dcglearn.foundation.validation import Fields, Floats, InputError
from dcglearn.metrics.dcg import DCG
from dcglearn.metrics.reading import MetricLike
from dcglearn.rankers.linear_model import RidgeRanker
from dcglearn.rankers.queries import Queries
from dcglearn.rankers.ranker import Ranker, Training


@dataclass(eq=False, repr=False)
class PairwiseRanker(Ranker):
    """Rank with any classifier that decides between two documents.

    NDCG-Train fits the classifier to the differences of documents' features, in `n_rounds` rounds.
    A pair's weight is the value of its order at the positions that the last round's classifier
    gives the two: ``|(a_i - a_j)(D(r_i) - D(r_j))|`` over the ideal value. NDCG-Test ranks a
    query's documents by how many others beat them. Source: Sun, Qin, Tao and Wang 2009, procedures
    1 and 2, where label and decision do not fit together: here ``1`` means that the first document
    ranks before the second. The first round's positions are those of a ridge regression on gains.

    Parameters
    ----------
    learner : classifier, optional
        Any scikit-learn classifier whose `fit` takes `sample_weight`; logistic regression by
        default.
    metric : DCG, file or name, optional
        Gains and discounts, and the metric of `score`; the textbook DCG by default.
    n_rounds : int
        The paper's T.

    Attributes
    ----------
    learner_, metric_ : classifier, DCG

    See Also
    --------
    rankers.RankSVMRanker : A linear classifier of pairs, solved directly.

    Examples
    --------
    >>> queries = dl.simulate.letor_queries(20, sizes=(20, 40), random_state=0)
    >>> PairwiseRanker(n_rounds=2).fit(queries).score(queries) > 0.4
    True
    """

    learner: Any = None
    metric: MetricLike | None = None
    n_rounds: int = 3

    def _check_parameters(self) -> None:
        learner = self.learner
        if learner is not None and (isinstance(learner, type) or not hasattr(learner, "fit")):
            raise InputError(
                f"learner={learner!r} is no classifier: give one of scikit-learn, or None"
            )
        self._check_whole("n_rounds")

    def _fit(self, training: Training) -> None:
        """Train by NDCG-Train."""
        from sklearn.linear_model import LogisticRegression

        learner = self.learner
        if learner is None:
            learner = LogisticRegression(fit_intercept=False, max_iter=1000)

        # positions of the first round
        queries = training.queries
        scores = RidgeRanker(self.metric_, reweighted=False).fit(queries).predict(queries)

        for _ in range(self.n_rounds):
            # pairs, weighed by the last positions
            pairs = [weighted_pairs(queries, q, scores, self.metric_) for q in range(len(queries))]
            better, worse, weight = (np.concatenate(column) for column in zip(*pairs, strict=True))
            if not weight.any():
                raise InputError(
                    "to this DCG, the order of no pair of documents matters; are the discounts all "
                    "equal?"
                )

            # every second one in the other order, so that both labels occur
            swap = np.arange(len(weight)) % 2 == 0
            first, second = np.where(swap, [worse, better], [better, worse])
            features = queries.features[first] - queries.features[second]
            weight /= weight.mean()
            self.learner_ = clone(learner).fit(features, ~swap, sample_weight=weight)
            scores = self.predict(queries)

    def predict(self, X: Any) -> Floats:
        """Return minus the position of each document in its query (NDCG-Test), shape (n,).

        X is `Queries`, or the documents of one query.
        """
        features = self._checked_features(X)
        offsets = X.offsets if isinstance(X, Queries) else np.array([0, features.shape[0]])
        scores = np.empty(features.shape[0])
        for start, stop in pairwise(offsets):
            # decide on each pair both ways, 1/2 where the two decisions contradict each other
            size, rows = stop - start, features[start:stop]
            first, second = np.nonzero(~np.eye(size, dtype=bool))
            before = np.zeros((size, size))
            if size > 1:
                before[first, second] = self.learner_.predict(rows[first] - rows[second])
            beaten = (before.sum(axis=0) + size - 1 - before.sum(axis=1)) / 2
            scores[start:stop] = -1 - beaten
        return scores

    def _numbers(self) -> Fields:
        raise InputError(
            "a PairwiseRanker's learner is another library's: no file without pickle; keep it "
            "yourself"
        )


def weighted_pairs(queries: Queries, q: int, scores: Floats, dcg: DCG) -> tuple[Any, Any, Floats]:
    """Return better and worse document of each pair of query q, and their order's weight.

    Source: Sun et al. 2009, equation 3.
    """
    # gains, and discounts at the ranks of the scores
    start, stop = queries.offsets[q], queries.offsets[q + 1]
    grades = queries.grades[start:stop]
    rank = np.argsort(np.argsort(-scores[start:stop], kind="stable"))
    discount = np.append(dcg.discounts, 0.0)[np.minimum(rank, dcg.depth)]
    gain = dcg.gains[grades]

    # value of each order, over the ideal value
    better, worse = np.nonzero(grades[:, None] > grades[None, :])
    weight = np.abs((gain[better] - gain[worse]) * (discount[better] - discount[worse]))
    kept = weight > 0
    return better[kept] + start, worse[kept] + start, weight[kept] / (dcg.ideal(grades) or 1.0)
