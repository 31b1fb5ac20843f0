"""Boosting of single features for a metric: AdaRank (`AdaRankRanker`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from dcglearn.foundation.validation import Floats, flag, one_of
from dcglearn.metrics.dcg import DCG
from dcglearn.metrics.reading import MetricLike
from dcglearn.rankers.linear_model import Design, LinearModel
from dcglearn.rankers.queries import Queries
from dcglearn.rankers.ranker import Training
from simulations.letor.measures import precision_by_query

MEASURES = ("ndcg", "map")


@dataclass(eq=False, repr=False)
class AdaRankRanker(LinearModel):
    """Rank by a weighted sum of features, each chosen for the queries that are ranked badly so far.

    In each round a query has weight P, proportional to ``exp(-E)``, where E is the measure of its
    ranking so far. The feature with the best weighted mean E is added with weight ``1/2 ln(sum P (1
    + E) / sum P (1 - E))``. Source: Xu and Li 2007, without their unlimited repetitions if
    `max_in_a_row` is set. Features are divided by their spread within queries, so that their units
    do not change the model. In training, documents of equal score rank worst first: many features
    of text are 0, and the order of a file may reveal the grades.

    Parameters
    ----------
    measure : {"ndcg", "map"}
        E: normalised DCG by `metric`, or average precision (grade 1 or better is relevant). Take
        "map" for two grades.
    metric : DCG, file or name, optional
        The metric of `score`, and of E for ``"ndcg"``; the textbook DCG by default.
    n_rounds, patience : int
        Most rounds; and with a validation set, the rounds without a better value on it after which
        to stop.
    both_signs : bool
        Whether a feature may also have a negative weight. Take False if every feature is made so
        that more is better.
    max_in_a_row : int, optional
        A feature that was chosen this often in a row is left out of the next round; 3 or 1 suit
        features that are alike. Without a limit one good feature is often chosen always, since
        ``exp(-E)`` ranges from ``1/e`` to 1 only.

    Attributes
    ----------
    coef_, intercept_, metric_ : ndarray, shape (d,); float; DCG
    chosen_ : list of int
        The feature of each round.
    history_ : list of dict
        Of each round: the feature, its weight, and the mean measure on the training and the
        validation set.
    n_rounds_ : int
        Rounds that are used: with a validation set, up to the best value on it.

    See Also
    --------
    LinearRanker : One weight a feature, on any loss.
    letor_experiment : Compare the papers' methods under one protocol.

    Examples
    --------
    >>> import dcglearn as dl
    >>> queries = dl.simulate.letor_queries(20, random_state=0)
    >>> AdaRankRanker(n_rounds=20).fit(queries).score(queries) > 0.4
    True
    """

    measure: str = "ndcg"
    metric: MetricLike | None = None
    n_rounds: int = 200
    both_signs: bool = True
    patience: int | None = None
    max_in_a_row: int | None = None

    def fit(
        self, X: Any, y: ArrayLike | None = None, qid: ArrayLike | None = None, eval_set: Any = None
    ) -> Self:
        """Learn as `RidgeRanker.fit`; the round that is best on a validation set is used."""
        return self._train(X, y, qid, eval_set)

    def _check_parameters(self) -> None:
        one_of(self.measure, "measure", MEASURES)
        flag(self.both_signs, "both_signs")
        self._check_whole("n_rounds", "patience", "max_in_a_row")

    def _taught_dcg(self, loss: Any) -> DCG | None:
        return self.metric_ if self.measure == "ndcg" else None

    def value_by_query(self, queries: Queries, scores: Floats) -> Floats:
        """Return the measure of each query's ranking, shape (m,), equal scores worst first."""
        if self.measure == "map":
            return precision_by_query(scores, queries.grades, queries.offsets, ties="worst")[:, -1]
        return queries.evaluate(scores, self.metric_, ties="worst")

    def _solve(self, design: Design, training: Training) -> tuple[Floats, float]:
        """Add a feature in each round, and return the scaled coefficients of the round kept.

        There are `n_rounds` rounds, or fewer if patience ends before. The second value returned is
        the intercept, 0.
        """
        queries, valid, n_features = training.queries, training.valid, self.n_features_in_
        signs = (1.0, -1.0) if self.both_signs else (1.0,)
        columns = design.scaled()
        columns = columns.toarray() if hasattr(columns, "tocsr") else columns
        table = np.array(
            [
                self.value_by_query(queries, s * columns[:, k])
                for s in signs
                for k in range(n_features)
            ]
        )
        v, scores = np.zeros(n_features), np.zeros(len(columns))
        best, best_v = -np.inf, v
        self.chosen_, self.history_, self.n_rounds_ = [], [], 0
        share = np.full(len(queries), 1 / len(queries))
        for step in range(1, self.n_rounds + 1):
            row = self._next(table @ share, n_features)
            feature, sign = row % n_features, signs[row // n_features]
            mean = float(share @ table[row])
            weight = 0.5 * float(
                np.log((1 + mean) / max(1 - mean, 1e-12))
            )  # finite if the feature is perfect
            v = v.copy()
            v[feature] += sign * weight
            scores = scores + sign * weight * columns[:, feature]
            value = self.value_by_query(queries, scores)
            record = {"feature": feature, "weight": sign * weight, "train": float(value.mean())}
            self.chosen_.append(feature)
            if valid is None:
                best_v, self.n_rounds_ = v, step
            else:
                record["valid"] = float(
                    self.value_by_query(valid, valid.features @ (v / design.spread)).mean()
                )
                if record["valid"] > best:
                    best, best_v, self.n_rounds_ = record["valid"], v, step
            self.history_.append(record)
            share = np.exp(-value)
            share /= share.sum()
            if (
                self.patience is not None
                and valid is not None
                and step - self.n_rounds_ >= self.patience
            ):
                break
        return best_v, 0.0

    def _next(self, means: Floats, n_features: int) -> int:
        """Return the row (feature and sign) of the largest mean, of those that may be chosen."""
        last = self.chosen_[-self.max_in_a_row :] if self.max_in_a_row is not None else []
        if len(last) == self.max_in_a_row and len(set(last)) == 1 and n_features > 1:
            means[last[0] :: n_features] = -np.inf
        return int(np.argmax(means))
