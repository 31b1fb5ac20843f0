"""Linear rankers that maximise any loss: annealed, restarted, kept near their start."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from dcglearn.foundation.progress import bar
from dcglearn.foundation.validation import Fields, Floats, InputError, one_of, whole_number, within
from dcglearn.losses import ApproxNDCG, LambdaRank, RankHinge
from dcglearn.losses.objective import positive
from dcglearn.metrics.reading import MetricLike
from dcglearn.rankers.linear_model import (
    Coefficients,
    Design,
    LinearModel,
    RankSVMRanker,
    coefficients_of,
    least_squares,
)
from dcglearn.rankers.queries import Queries
from dcglearn.rankers.ranker import Training

_LOG = logging.getLogger(__name__)


@dataclass(eq=False, repr=False)
class LinearRanker(LinearModel):
    """Rank by a linear model that maximises a smooth metric, or any loss of `dcglearn.losses`.

    Maximises the mean of the loss over queries minus ``l2 |v - v0|^2``, where v are the
    coefficients of the features in units of their spread within queries, and v0 the start. Source:
    Chapelle and Wu 2010, algorithm 1 (``solver="cg"``); Qin et al. 2010, algorithm 1
    (``solver="sgd"``, ``start="random"``, ``n_restarts=10``).

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
    max_iter, tol : int, float
        A stage ends after `max_iter` iterations (passes over the queries for ``"sgd"``), or when
        the largest derivative ("cg", "lbfgs"), or the change of v over a pass ("sgd"), is less than
        `tol`.
    learning_rate : float
        Step of ``"sgd"``.
    metric : DCG, file or name, optional
        The metric of `score` and of the validation set; by default the DCG of the loss.
    patience, random_state : int
        With a validation set, the annealing ends after this many stages without a better value; and
        the seed.

    Attributes
    ----------
    coef_, intercept_, metric_ : ndarray, shape (d,); float; DCG
    history_ : list of dict
        Of each stage: restart, stage, sharpness, iterations, objective, normalised DCG on both
        sets.
    best_ : dict
        Value of the model that was kept, what it is (validation or objective), restart and stage (0
        is the start).

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
    max_iter: int = 50
    tol: float = 1e-5
    learning_rate: float = 0.01
    metric: MetricLike | None = None
    patience: int | None = None
    random_state: int = 0

    _default_loss: ClassVar[type[Any] | None] = ApproxNDCG

    def fit(
        self, X: Any, y: ArrayLike | None = None, qid: ArrayLike | None = None, eval_set: Any = None
    ) -> Self:
        """Learn from documents X with grades y of queries qid, or from `Queries`.

        Raises InputError as `RidgeRanker.fit`.

        Parameters
        ----------
        X, y, qid
            As in `RidgeRanker.fit`.
        eval_set : Queries, or (X, y, qid), optional
            Validation set: the stage that is best on it is used.
        """
        return self._train(X, y, qid, eval_set)

    def _check_parameters(self) -> None:
        one_of(self.solver, "solver", ("lbfgs", "cg", "sgd"))
        if isinstance(self.start, str):
            starts = "ridge", "ranksvm", "random"
            one_of(self.start, "start", starts, ", coefficients, or a fitted ranker")
        self._check_whole("n_restarts", "max_iter", "patience")
        whole_number(self.random_state, "random_state", 0)
        within(self.l2, "l2")
        within(self.tol, "tol")
        positive(learning_rate=self.learning_rate)

    def _solve(self, design: Design, training: Training) -> Coefficients:
        stages, state = _Stages(self, design, training), _State(np.zeros(self.n_features_in_))
        with bar(self.n_restarts * len(stages.sharpness), "stages") as shown:
            for _ in stages.run(state):
                shown.set_postfix_str(f"{state.history[-1]['objective']:.4f}")
                shown.update()

        self.history_, self.best_ = state.history, dict(state.choice)
        return state.best, 0.0


def stages_of(annealing: Any, loss: Any) -> list[float | None]:
    """Return the sharpness of each stage per unit of spread; [None] keeps the loss's own."""
    if isinstance(annealing, str) and annealing == "auto":
        # for smooth metrics, lower values reward outliers, and higher ones overfit
        annealing = (1.0,) if isinstance(loss, (LambdaRank, RankHinge)) else (2.5, 5.0, 10.0)
    if annealing is None or loss.sharpness is None:
        return [None]

    try:
        stages = np.asarray(annealing, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        stages = np.zeros(0)
    if stages.ndim != 1 or not len(stages) or not ((stages > 0) & (stages < np.inf)).all():
        allowed = 'positive numbers, in increasing order, "auto", or None'
        raise InputError(f"annealing={annealing!r}: give {allowed}")
    return stages.tolist()


@dataclass
class _State:
    """State of a training between stages."""

    v: Floats
    v0: Floats = field(default_factory=lambda: np.zeros(0))
    best: Floats = field(default_factory=lambda: np.zeros(0))
    choice: Fields = field(default_factory=dict)
    """Of `best`: value, by which set, restart and stage."""
    history: list[Fields] = field(default_factory=list)
    restart: int = 0
    stage: int = 0
    stalled: int = 0
    """Stages of this restart since the last better value."""

    def keep_if_better(self, v: Floats, value: float, by: str, stage: int) -> None:
        """Keep v as the best model if its value is better."""
        if not self.choice or value > self.choice["value"]:
            self.best = v.copy()
            self.choice = {"value": value, "by": by, "restart": self.restart, "stage": stage}


class _Stages:
    """One training: restarts of stages, each of which maximises the loss at one sharpness."""

    def __init__(self, ranker: LinearRanker, design: Design, training: Training) -> None:
        self.ranker, self.design = ranker, design
        self.loss, self.queries, self.valid = training.loss, training.queries, training.valid
        self.sharpness = stages_of(ranker.annealing, training.loss)

    def run(self, state: _State) -> Iterator[None]:
        """Run all stages, changing `state`; yield after each."""
        patience = None if self.valid is None else self.ranker.patience
        for restart in range(self.ranker.n_restarts):
            # a new start
            state.restart, state.stalled = restart, 0
            state.v = state.v0 = self.start(restart)
            self.validate(state, state.v0, 0)

            for stage in range(len(self.sharpness)):
                state.stage = stage
                self.one_stage(state)
                yield
                if patience is not None and state.stalled >= patience:
                    break

    def start(self, restart: int) -> Floats:
        """Return the start of a restart, with a spread of 1 if sharpness is per unit of spread."""
        v = self._start(restart)
        spread = self.design.spread_of(v)
        if not spread > 0:
            raise InputError(
                "the start gives all documents of a query the same score; are the features "
                "constant within queries?"
            )
        return v if self.sharpness == [None] else v / spread

    def _start(self, restart: int) -> Floats:
        start, d = self.ranker.start, self.queries.shape[1]
        if restart > 0 or (isinstance(start, str) and start == "random"):
            return np.random.default_rng([self.ranker.random_state, restart]).normal(
                size=d
            ) / np.sqrt(d)
        if not isinstance(start, str):
            return coefficients_of(start, d) * self.design.spread
        if start == "ranksvm":
            return RankSVMRanker().fit(self.queries).coef_ * self.design.spread
        dcg = getattr(self.loss, "dcg", None)
        return least_squares(self.design, self.queries, dcg, 1e-3, reweighted=False)[1:]

    def one_stage(self, state: _State) -> None:
        """Maximise the loss at one sharpness, from `state`, and record the result in it."""
        n_stages, stage = len(self.sharpness), state.stage + 1
        sharpness, loss = self.sharpness[state.stage], self.loss.at(stage, n_stages)

        # sharpness is per unit of spread
        v, before = state.v, state.choice.get("value", -np.inf)
        if sharpness is not None:
            v = v / (self.design.spread_of(v) or 1.0)
            loss = replace(loss, **{loss.sharpness: sharpness**-loss.sharpness_power})

        maximise = self.stochastic if self.ranker.solver == "sgd" else self.deterministic
        state.v, iterations = maximise(loss, v, state)

        # record the stage
        objective = -self.objective(loss, state.v, state.v0)[0]
        record = {"restart": state.restart, "stage": stage, "sharpness": sharpness}
        record |= {"iterations": iterations, "objective": objective}
        record["train"] = self.ndcg(self.queries, state.v)
        if self.valid is not None:
            record["valid"] = self.ndcg(self.valid, state.v)
        elif stage == n_stages:
            state.keep_if_better(state.v, objective, "objective", stage)

        state.history.append(record)
        message = "restart %d, stage %d: %d iterations, objective %.6g"
        _LOG.info(message, state.restart + 1, stage, iterations, objective)

        # count stages without a better value
        improved = state.choice.get("value", -np.inf) > before
        state.stalled = 0 if improved else state.stalled + 1

    def ndcg(self, queries: Queries, v: Floats) -> float:
        """Return the mean normalised DCG of scaled coefficients."""
        return self.ranker._mean_ndcg(self.design, queries, v)

    def validate(self, state: _State, v: Floats, stage: int) -> None:
        """Keep v if it is the best so far on the validation set."""
        if self.valid is not None:
            state.keep_if_better(v, self.ndcg(self.valid, v), "valid", stage)

    def objective(self, loss: Any, v: Floats, v0: Floats) -> tuple[float, Floats]:
        """Return the penalty minus the mean loss, which is minimised, and its gradient."""
        queries, l2, apart = self.queries, self.ranker.l2, v - v0
        value, slope = loss(self.design.scores(v), queries.grades, queries.offsets)
        gradient = 2 * l2 * apart - self.design.vjp(slope) / len(queries)
        return l2 * float(apart @ apart) - value / len(queries), gradient

    def deterministic(self, loss: Any, v: Floats, state: _State) -> tuple[Floats, int]:
        """Return v and the iterations of conjugate gradients or L-BFGS on all queries."""
        from scipy.optimize import minimize

        optimum = minimize(
            lambda x: self.objective(loss, x, state.v0),
            v,
            jac=True,
            method={"cg": "CG", "lbfgs": "L-BFGS-B"}[self.ranker.solver],
            callback=lambda x: self.validate(state, x, state.stage + 1),
            options={"maxiter": self.ranker.max_iter, "gtol": self.ranker.tol},
        )
        return optimum.x, int(optimum.nit)

    def stochastic(self, loss: Any, v: Floats, state: _State) -> tuple[Floats, int]:
        """Return v and the passes of stochastic gradients, a query a step, in a random order."""
        ranker, queries, design, v = self.ranker, self.queries, self.design, v.copy()
        rng = np.random.default_rng([ranker.random_state, state.restart, state.stage + 1])
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
                v += ranker.learning_rate * (gradient - 2 * ranker.l2 * (v - state.v0))
            self.validate(state, v, state.stage + 1)
            if np.linalg.norm(v - before) <= ranker.tol:
                return v, n_passes
        return v, ranker.max_iter
