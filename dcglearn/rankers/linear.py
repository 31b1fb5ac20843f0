"""Linear rankers that maximise any loss: annealed and kept near their start, or of few features."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dcglearn.foundation.progress import counted
from dcglearn.foundation.validation import (
    Fields,
    Floats,
    InputError,
    finite_array,
    one_of,
    whole_number,
    within,
)
from dcglearn.losses import ApproxNDCG, LambdaRank, RankHinge
from dcglearn.losses.objective import positive
from dcglearn.metrics.reading import MetricLike
from dcglearn.rankers.linear_model import (
    Coefficients,
    Design,
    LinearModel,
    RankSVMRanker,
    least_squares,
    start_coefficients,
)
from dcglearn.rankers.queries import Queries
from dcglearn.rankers.ranker import Training, ValidatedRanker
from dcglearn.rankers.truncated_gradient import l1_path, smallest_near_best

_LOG = logging.getLogger(__name__)


@dataclass(eq=False, repr=False)
class LinearRanker(ValidatedRanker, LinearModel):
    """Rank by a linear model that maximises a smooth metric, or any loss of `dcglearn.losses`.

    Maximises the mean of the loss over queries minus ``l2 |v - v0|^2``, where v are the
    coefficients of the features in units of their spread within queries, and v0 the start. Source:
    Chapelle and Wu 2010, algorithm 1 (``solver="cg"``); Qin et al. 2010, algorithm 1
    (``solver="sgd"``, ``start="random"``, ``n_restarts=10``).

    With `l1`, it maximises the mean of the loss minus ``l1 |v|_1`` instead, by gradients that are
    truncated after each step (Sun, Qin, Tao and Wang 2009, algorithm 1), so that few features
    remain. Their RSRank is ``LinearRanker(losses.RSRank(dcg, depth=None), l1="path",
    max_iter=200)``: with weights truncated at the DCG's depth, documents take turns in the first
    positions, and the steps do not converge.

    Parameters
    ----------
    loss : loss, optional
        Higher is better; ``ApproxNDCG`` of the textbook DCG by default. Take ``ApproxNDCG(mine)``
        for your own DCG.
    solver : {"cg", "lbfgs", "sgd"}
        Nonlinear conjugate gradients (Chapelle and Wu), limited-memory BFGS, or stochastic
        gradients over shuffled queries (Qin et al.). Keep "cg"; "sgd" suits many random starts.
    annealing : "auto", sequence of float, or None
        Sharpness at each stage, in increasing order, per unit of the spread of scores within
        queries, measured at each stage. A sharpness of a means ``alpha = a``, SoftRank's
        ``sigma = 1/a``, and SmoothNDCG's ``sigma = 1/a^2``, and replaces the loss's own. "auto" is
        2.5, 5, 10 for smooth metrics and 1 for losses of pairs. None uses the loss's own sharpness,
        on the scores of the start as they are.
    start : {"ridge", "ranksvm", "random"}, array_like or Ranker
        Least squares on gains, `RankSVMRanker`, a random direction, coefficients of shape (d,), or
        a fitted linear ranker. Keep "ridge"; take "ranksvm" where most pairs of grades matter
        alike.
    n_restarts : int
        Number of starts; those after the first are random. The model that is best on the validation
        set (or by the objective, without one) is kept. 20 suit ``start="random"``, since there are
        many local maxima.
    l2 : float
        Weight of the squared distance from the start. Try 1 to 100 for some sixty queries, 0.01 to
        1 for many.
    l1 : float, "path" or None
        Weight of the absolute values of v, for a model of few features. "path" trains with rising
        weights, each from the last, until no feature is left, and keeps the model with the fewest
        features whose normalised DCG (on the validation set, if any) is within 2% of the best. Then
        `solver`, `annealing`, `n_restarts` and `l2` are not used.
    n_points : int
        Points of the path. More find the smallest model more exactly.
    max_iter, tol : int, float
        A stage, or a point of a path, ends after `max_iter` iterations (passes over the queries for
        ``"sgd"``), or when the largest derivative ("cg", "lbfgs"), or the change of v over a pass
        ("sgd") or a step (with `l1`), is less than `tol`.
    learning_rate : float
        Step of ``"sgd"``.
    metric : DCG, file or name, optional
        The metric of `score` and of the validation set; by default the DCG of the loss.
    random_state : int
        The seed of random starts and orders.

    Attributes
    ----------
    coef_, intercept_, metric_ : ndarray, shape (d,); float; DCG
    history_ : list of dict
        Of each stage: restart, stage, sharpness, iterations, objective, normalised DCG on both
        sets. With `l1`, of each point: l1, number of features, coefficients, normalised DCG on both
        sets.
    best_ : dict
        Value of the model that was kept, what it is (validation, training or objective), restart
        and stage (0 is the start), or l1.

    See Also
    --------
    BoostedRanker : Trees.
    load_ranker : Read a saved model.

    Examples
    --------
    >>> data = dl.simulate.letor_queries(40, random_state=0)
    >>> mine = dl.DCG(gains=[0, 1, 4], discounts=[1, 0.7, 0.5, 0.3, 0.2])
    >>> 0.4 < LinearRanker(dl.losses.ApproxNDCG(mine)).fit(data[:30]).score(data[30:]) < 1
    True
    """

    loss: Any = None
    solver: str = "cg"
    annealing: Any = "auto"
    start: Any = "ridge"
    n_restarts: int = 1
    l2: float = 0.3
    l1: float | str | None = None
    n_points: int = 30
    max_iter: int = 50
    tol: float = 1e-5
    learning_rate: float = 0.01
    metric: MetricLike | None = None
    random_state: int = 0

    _default_loss = ApproxNDCG

    def _check_parameters(self) -> None:
        one_of(self.solver, "solver", ("lbfgs", "cg", "sgd"))
        if isinstance(self.start, str):
            starts = "ridge", "ranksvm", "random"
            one_of(self.start, "start", starts, ", coefficients, or a fitted ranker")
        self._check_whole("n_restarts", "n_points", "max_iter")
        whole_number(self.random_state, "random_state", 0)
        within(self.l2, "l2")
        if isinstance(self.l1, str):
            one_of(self.l1, "l1", ("path",), ", a number or None")
        elif self.l1 is not None:
            within(self.l1, "l1", remedy='"path" or None')
        within(self.tol, "tol")
        positive(learning_rate=self.learning_rate)

    def _solve(self, design: Design, training: Training) -> Coefficients:
        stages = Stages(self, design, training)
        if self.l1 is not None:
            return self._sparse(design, training, stages.start(0)), 0.0

        stages.run()
        self.history_, self.best_ = stages.history, stages.best
        return stages.coefficients, 0.0

    def _sparse(self, design: Design, training: Training, v: Floats) -> Floats:
        """Return the coefficients of few features, from a start."""
        self.history_ = list(l1_path(self, design, training, v / design.score_spread(v)))
        by = "train" if training.valid is None else "valid"
        chosen = smallest_near_best(self.history_, by)
        self.best_ = {"value": chosen[by], "by": by, "l1": chosen["l1"]}
        return chosen["coef"] * design.spread


def annealing_stages(annealing: Any, loss: Any) -> list[float | None]:
    """Return the sharpness of each stage per unit of spread; [None] keeps the loss's own."""
    if isinstance(annealing, str) and annealing == "auto":
        # for smooth metrics, lower values reward outliers, and higher ones overfit
        annealing = (1.0,) if isinstance(loss, (LambdaRank, RankHinge)) else (2.5, 5.0, 10.0)
    if annealing is None or loss.sharpness is None:
        return [None]

    stages = finite_array(annealing, "annealing", 1)
    if not len(stages) or (stages <= 0).any():
        allowed = 'positive numbers, in increasing order, "auto", or None'
        raise InputError(f"annealing={annealing!r}: give {allowed}")
    return stages.tolist()


class Stages:
    """Stages of one training: from each start, they maximise the loss at a rising sharpness.

    `coefficients` are the best so far, of the features in units of their spread, `best` says by
    what, and `history` what each stage reached.
    """

    def __init__(self, ranker: LinearRanker, design: Design, training: Training) -> None:
        self.ranker, self.design = ranker, design
        self.loss, self.queries, self.valid = training.loss, training.queries, training.valid
        self.sharpness = annealing_stages(ranker.annealing, training.loss)
        self.coefficients = np.zeros(0)
        self.best: Fields = {}
        self.history: list[Fields] = []

    def run(self) -> None:
        """Run all stages."""
        n_stages, n_restarts = len(self.sharpness), self.ranker.n_restarts
        with counted(None, "stages", n_restarts * n_stages) as shown:
            for restart in range(n_restarts):
                v = v0 = self.start(restart)
                self.validate(v, {"restart": restart, "stage": 0})
                for stage in range(1, n_stages + 1):
                    v = self.one_stage({"restart": restart, "stage": stage}, v, v0)
                    shown.set_postfix_str(f"{self.history[-1]['objective']:.4f}")
                    shown.update()

    def start(self, restart: int) -> Floats:
        """Return the start of a restart, with a spread of 1 if sharpness is per unit of spread."""
        # by its name, of a ranker, or at random
        start, d = self.ranker.start, self.queries.shape[1]
        if restart > 0 or (isinstance(start, str) and start == "random"):
            v = np.random.default_rng([self.ranker.random_state, restart]).normal(size=d)
            v /= np.sqrt(d)
        elif not isinstance(start, str):
            v = start_coefficients(start, d) * self.design.spread
        elif start == "ranksvm":
            v = RankSVMRanker().fit(self.queries).coef_ * self.design.spread
        else:
            dcg = getattr(self.loss, "dcg", None)
            v = least_squares(self.design, self.queries, dcg, 1e-3, reweighted=False)[1:]

        spread = self.design.score_spread(v)
        if not spread > 0:
            raise InputError(
                "the start gives all documents of a query the same score; are the features "
                "constant within queries?"
            )
        return v if self.sharpness == [None] else v / spread

    def one_stage(self, place: Fields, v: Floats, v0: Floats) -> Floats:
        """Return the maximum of the loss at one sharpness, from v, and record it."""
        stage, n_stages = place["stage"], len(self.sharpness)
        sharpness, loss = self.sharpness[stage - 1], self.loss.at(stage, n_stages)

        # sharpness is per unit of spread
        if sharpness is not None:
            v = v / (self.design.score_spread(v) or 1.0)
            loss = replace(loss, **{loss.sharpness: sharpness**-loss.sharpness_power})

        maximise = self.stochastic if self.ranker.solver == "sgd" else self.deterministic
        v, iterations = maximise(loss, v, v0, place)

        # record the stage
        objective = -self.penalised(loss, v, v0)[0]
        record = place | {"sharpness": sharpness, "iterations": iterations, "objective": objective}
        record["train"] = self.ndcg(self.queries, v)
        if self.valid is not None:
            record["valid"] = self.ndcg(self.valid, v)
        elif stage == n_stages:
            self.keep_if_better(v, objective, "objective", place)

        self.history.append(record)
        message = "restart %d, stage %d: %d iterations, objective %.6g"
        _LOG.info(message, place["restart"] + 1, stage, iterations, objective)
        return v

    def keep_if_better(self, v: Floats, value: float, by: str, place: Fields) -> None:
        """Keep v as the best model if its value is better."""
        if not self.best or value > self.best["value"]:
            self.coefficients = v.copy()
            self.best = {"value": value, "by": by, **place}

    def validate(self, v: Floats, place: Fields) -> None:
        """Keep v if it is the best so far on the validation set."""
        if self.valid is not None:
            self.keep_if_better(v, self.ndcg(self.valid, v), "valid", place)

    def ndcg(self, queries: Queries, v: Floats) -> float:
        """Return the mean normalised DCG of scaled coefficients."""
        return self.ranker._mean_ndcg(self.design, queries, v)

    def penalised(self, loss: Any, v: Floats, v0: Floats) -> tuple[float, Floats]:
        """Return the penalty minus the mean loss, which is minimised, and its gradient."""
        queries, l2, apart = self.queries, self.ranker.l2, v - v0
        value, slope = loss(self.design.scores(v), queries.grades, queries.offsets)
        gradient = 2 * l2 * apart - self.design.vjp(slope) / len(queries)
        return l2 * float(apart @ apart) - value / len(queries), gradient

    def deterministic(self, loss: Any, v: Floats, v0: Floats, place: Fields) -> tuple[Floats, int]:
        """Return v and the iterations of conjugate gradients or L-BFGS on all queries."""
        from scipy.optimize import minimize

        optimum = minimize(
            lambda x: self.penalised(loss, x, v0),
            v,
            jac=True,
            method={"cg": "CG", "lbfgs": "L-BFGS-B"}[self.ranker.solver],
            callback=lambda x: self.validate(x, place),
            options={"maxiter": self.ranker.max_iter, "gtol": self.ranker.tol},
        )
        return optimum.x, int(optimum.nit)

    def stochastic(self, loss: Any, v: Floats, v0: Floats, place: Fields) -> tuple[Floats, int]:
        """Return v and the passes of stochastic gradients, a query a step, in a random order."""
        ranker, queries, design, v = self.ranker, self.queries, self.design, v.copy()
        rng = np.random.default_rng([ranker.random_state, place["restart"], place["stage"]])
        for n_passes in range(1, ranker.max_iter + 1):
            before = v.copy()
            for q in rng.permutation(len(queries)):
                # the slope of one query
                start, stop = int(queries.offsets[q]), int(queries.offsets[q + 1])
                rows = queries.features[start:stop]
                scores = rows @ (v / design.spread)
                _, slope = loss(scores, queries.grades[start:stop], np.array([0, stop - start]))

                # a step towards it, and the start
                gradient = (rows.T @ slope - design.mean * slope.sum()) / design.spread
                v += ranker.learning_rate * (gradient - 2 * ranker.l2 * (v - v0))
            self.validate(v, place)
            if np.linalg.norm(v - before) <= ranker.tol:
                return v, n_passes
        return v, ranker.max_iter
