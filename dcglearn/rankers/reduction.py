"""Ranking by any learner of pairs: the reductions NDCG-Train and NDCG-Test."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from dcglearn.foundation.validation import (
    Fields,
    Floats,
    Indices,
    InputError,
    InputTypeError,
    Integers,
    one_of,
    query_offsets,
    whole_number,
)
from dcglearn.metrics.dcg import DCG
from dcglearn.metrics.reading import MetricLike
from dcglearn.rankers.linear_model import RidgeRanker
from dcglearn.rankers.queries import Queries
from dcglearn.rankers.ranker import Ranker, Training


@dataclass(eq=False, repr=False)
class PairwiseRanker(Ranker):
    """Rank with any classifier that decides between two documents.

    NDCG-Train fits the classifier in `n_rounds` rounds. A pair's weight is the value of its order
    at the positions that the last round's classifier gives the two: ``|(a_i - a_j)(D(r_i) -
    D(r_j))|`` over the ideal value. NDCG-Test ranks a query's documents by how many others beat
    them. Source: Sun, Qin, Tao and Wang 2009, procedures 1 and 2, where label and decision do not
    fit together: here ``1`` means that the first document ranks before the second. The first
    round's positions are those of a ridge regression on gains.

    Parameters
    ----------
    learner : classifier, optional
        Any scikit-learn classifier whose `fit` takes `sample_weight`; logistic regression by
        default. A linear one suits "difference", trees suit "both".
    metric : DCG, file or name, optional
        Gains and discounts, and the metric of `score`; the textbook DCG by default.
    pairs : {"difference", "both"}
        The learner's features of a pair: the difference of the documents' features, or both, one
        after the other.
    n_rounds, random_state : int
        The paper's T; and the seed of the order of the documents in a pair, and of the sample.
    max_pairs : int
        Most pairs a round; of more, a sample is drawn in proportion to their weights. More are
        slower and steadier.

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

    __metadata_request__predict: ClassVar[Fields] = {"qid": True}

    learner: Any = None
    metric: MetricLike | None = None
    pairs: str = "difference"
    n_rounds: int = 3
    max_pairs: int = 200_000
    random_state: int = 0

    def _check_parameters(self) -> None:
        learner = self.learner
        if learner is not None and (isinstance(learner, type) or not hasattr(learner, "fit")):
            raise InputTypeError(
                f"learner={learner!r} is no classifier: give one of scikit-learn, or None"
            )
        one_of(self.pairs, "pairs", ("difference", "both"))
        self._check_whole("n_rounds")
        whole_number(self.random_state, "random_state", 0)
        whole_number(self.max_pairs, "max_pairs", 2)

    def _fit(self, training: Training) -> None:
        """Train by NDCG-Train."""
        from sklearn.linear_model import LogisticRegression

        learner = self.learner
        if learner is None:
            learner = LogisticRegression(fit_intercept=False, max_iter=1000)

        # positions of the first round
        queries, rng = training.queries, np.random.default_rng(self.random_state)
        scores = RidgeRanker(self.metric_, reweighted=False).fit(queries).predict(queries)

        # weigh pairs by the last positions, and learn their order
        for _ in range(self.n_rounds):
            first, second, weight = self._sampled(queries, scores, rng)
            label = queries.grades[first] > queries.grades[second]
            pairs = self._pair_features(queries.features, first, second)
            self.learner_ = clone(learner).fit(pairs, label, sample_weight=weight / weight.mean())
            scores = self._positions(queries.features, queries.offsets)

    def predict(self, X: Any, qid: ArrayLike | None = None) -> Floats:
        """Return minus the position of each document in its query (NDCG-Test), shape (n,).

        `qid`, shape (n,), names the query of each document where X is not `Queries`; one query by
        default.
        """
        features = self._features_of(X)
        n = features.shape[0]
        offsets = np.array([0, n])
        if isinstance(X, Queries):
            offsets = X.offsets
        elif qid is not None:
            offsets, _ = query_offsets(qid, n)
        return self._positions(features, offsets)

    def _numbers(self) -> tuple[bytes, Fields]:
        raise InputError(
            "a PairwiseRanker's learner is another library's: no file without pickle; keep it "
            "yourself"
        )

    def _pair_features(self, features: Any, first: Indices, second: Indices) -> Any:
        if self.pairs == "difference":
            return features[first] - features[second]
        if hasattr(features, "tocsr"):
            from scipy.sparse import hstack

            return hstack([features[first], features[second]], format="csr")
        return np.hstack([features[first], features[second]])

    def _positions(self, features: Any, offsets: Integers) -> Floats:
        """Return minus (1 + the number of documents that beat it) for each document."""
        beaten, most = np.zeros(features.shape[0]), 1 << 18  # pairs that are classified at a time
        for start, stop in pairwise(offsets):
            upper = np.triu_indices(stop - start, 1)
            for at in range(0, len(upper[0]), most):
                # classify both ways, 1/2 where the two decisions contradict each other
                i, j = (index[at : at + most] + start for index in upper)
                forth, back = (
                    self.learner_.predict(self._pair_features(features, *pair)).astype(float)
                    for pair in ((i, j), (j, i))
                )
                first = (forth + 1 - back) / 2
                np.add.at(beaten, j, first)
                np.add.at(beaten, i, 1 - first)
        return -1 - beaten

    def _sampled(
        self, queries: Queries, scores: Floats, rng: np.random.Generator
    ) -> tuple[Indices, Indices, Floats]:
        """Return both documents of each pair, in random order, and its weight; or a sample."""
        # pairs whose order matters
        pairs = [weighted_pairs(queries, q, scores, self.metric_) for q in range(len(queries))]
        first, second, weight = (np.concatenate(column) for column in zip(*pairs, strict=True))
        if not weight.any():
            raise InputError(
                "to this DCG, the order of no pair of documents matters; are the discounts all "
                "equal?"
            )

        # draw by weight if there are too many
        if len(weight) > self.max_pairs:
            chosen = rng.choice(len(weight), self.max_pairs, p=weight / weight.sum())
            drawn, counts = np.unique(chosen, return_counts=True)
            first, second, weight = first[drawn], second[drawn], counts.astype(np.float64)

        # swap half, so that both labels occur
        swap = rng.random(len(weight)) < 0.5
        swap[:2] = (True, False)[: len(swap)]
        return np.where(swap, second, first), np.where(swap, first, second), weight


def weighted_pairs(queries: Queries, q: int, scores: Floats, dcg: DCG) -> tuple[Any, Any, Floats]:
    """Return better and worse document of each pair of query q, and their order's weight.

    Source: Sun et al. 2009, equation 3.
    """
    # gains, and discounts at the ranks of the scores
    start, stop = queries.offsets[q], queries.offsets[q + 1]
    grades = queries.grades[start:stop]
    rank = np.empty(stop - start, dtype=np.int64)
    rank[np.argsort(-scores[start:stop], kind="stable")] = np.arange(stop - start)
    discount = np.append(dcg.discounts, 0.0)[np.minimum(rank, dcg.depth)]
    gain = dcg.gains[grades]

    # value of each order, over the ideal value
    ideal = float(dcg.ideal(grades))
    better, worse = np.nonzero(grades[:, None] > grades[None, :])
    weight = np.abs((gain[better] - gain[worse]) * (discount[better] - discount[worse]))
    kept = weight > 0 if ideal > 0 else np.zeros(len(weight), bool)
    return better[kept] + start, worse[kept] + start, weight[kept] / (ideal if ideal > 0 else 1.0)
