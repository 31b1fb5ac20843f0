"""Linear rankers that climb any loss: annealed, restarted, regularised to their start (`LinearRanker`)."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from tqdm import tqdm

from dcglearn.foundation.checkpoints import read_state, write_state
from dcglearn.foundation.threads import one_blas_thread
from dcglearn.foundation.validation import InputError, whole_number
from dcglearn.metric.dcg import DCG
from dcglearn.rankers.ranker import Design, Ranker, as_eval_set, as_queries, check_scale, check_training

if TYPE_CHECKING:
    import os

    from numpy.typing import ArrayLike

    from dcglearn.foundation.arrays import Floats
    from dcglearn.rankers.queries import Queries


SOLVERS = ("lbfgs", "cg", "sgd")
STARTS = ("ridge", "ranksvm", "random")
STAGES = (2.5, 5.0, 10.0)
"""Sharpness of the stages of smooth metrics: blunter ones reward outliers, sharper ones learn the training queries."""


class LinearRanker(Ranker):
    """Rank by a linear model that climbs a smooth metric, or any loss of `dcglearn.losses`.

    Maximises the mean of the loss over queries less ``l2 |v - v0|^2``, where v are the coefficients of the features in
    units of their spread within queries, and v0 the start.

    Parameters
    ----------
    loss : loss, optional
        Higher is better; ``ApproxNDCG`` of the textbook DCG by default.
    solver : {"cg", "lbfgs", "sgd"}
        Nonlinear conjugate gradients (Chapelle and Wu), limited-memory BFGS, or stochastic gradients over shuffled
        queries (Qin et al.).
    annealing : "auto", sequence of float, or None
        Sharpness at each stage, blunt to sharp, per unit of the spread of scores within queries, which is measured
        anew at each stage: rescaling a model or a feature changes nothing. A sharpness of a stands for ``alpha = a``,
        SoftRank's ``sigma = 1/a``, and SmoothNDCG's ``sigma = 1/a^2``, whatever the loss was given. "auto" is
        2.5, 5, 10 for smooth metrics and 1 for losses of pairs. None takes the loss with its own sharpness, on the
        scores of the start as they are. Losses that do not sharpen have one stage.
    start : {"ridge", "ranksvm", "random"}, array_like or Ranker
        Least squares on gains (Chapelle and Wu's), `RankSVMRanker`, a random direction, coefficients of shape (d,),
        or a fitted linear ranker.
    n_restarts : int
        How many starts are tried, those after the first at random; the best on the validation set, or by the
        objective where there is none, is kept.
    l2 : float
        Weight of the squared distance from the start.
    max_iter : int
        Iterations a stage; passes over the queries for ``"sgd"``.
    tol : float
        A stage ends when the largest derivative ("cg", "lbfgs"), or the change of v over a pass ("sgd"), is less.
    learning_rate : float
        Step of ``"sgd"``.
    metric : DCG, optional
        The judge in `score` and of the validation set; by default the DCG of the loss.
    patience : int, optional
        With a validation set, the annealing ends after so many stages without a better value; None goes through all.
    seed : int
        Of random starts and shuffles.

    Attributes
    ----------
    coef_ : ndarray, shape (d,)
    intercept_ : float
    metric_ : DCG
    history_ : list of dict
        A record a stage: restart, stage, sharpness, iterations, objective, and normalised DCG on the training and the
        validation set.
    best_ : dict
        The value that chose the model, by which set, at which restart and stage (stage 0 is the start).

    Notes
    -----
    Chapelle and Wu 2010, algorithm 1 (``solver="cg"``); Qin et al. 2010, algorithm 1 (``solver="sgd"``,
    ``start="random"``, ``n_restarts=10``).

    Examples
    --------
    >>> from dcglearn import DCG
    >>> from dcglearn.simulate import letor_queries
    >>> from dcglearn.losses import ApproxNDCG
    >>> queries = letor_queries(40, seed=0)
    >>> train, test = queries[:30], queries[30:]
    >>> mine = DCG(gains=[0, 1, 4], discounts=[1, 0.7, 0.5, 0.3, 0.2])
    >>> ranker = LinearRanker(loss=ApproxNDCG(mine)).fit(train.features, train.grades, train.qid)
    >>> 0.4 < ranker.score(test.features, test.grades, test.qid) < 1
    True
    """

    def __init__(
        self,
        loss: Any = None,
        solver: str = "cg",
        annealing: Any = "auto",
        start: Any = "ridge",
        n_restarts: int = 1,
        l2: float = 0.3,
        max_iter: int = 50,
        tol: float = 1e-5,
        learning_rate: float = 0.01,
        metric: DCG | None = None,
        patience: int | None = None,
        seed: int = 0,
    ) -> None:
        self.loss = loss
        self.solver = solver
        self.annealing = annealing
        self.start = start
        self.n_restarts = n_restarts
        self.l2 = l2
        self.max_iter = max_iter
        self.tol = tol
        self.learning_rate = learning_rate
        self.metric = metric
        self.patience = patience
        self.seed = seed

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        qid: ArrayLike | None = None,
        eval_set: Any = None,
        checkpoint: str | os.PathLike[str] | None = None,
        resume: bool = False,
        progress: bool | None = None,
    ) -> LinearRanker:
        """Learn from documents X with grades y of queries qid, or from `Queries`.

        Parameters
        ----------
        X : array_like or CSR, shape (n, d), or Queries
            Features.
        y, qid : array_like, shape (n,)
            Grades (0 = worst), and the query of each document, equal ones together.
        eval_set : (X, y, qid) or Queries, optional
            A validation set: the model with the best mean normalised DCG on it is kept, of all that were passed by.
        checkpoint : path, optional
            A file that holds the state after each stage.
        resume : bool
            Go on from `checkpoint`, where it is there; the model is the same as without an interruption.
        progress : bool, optional
            Show a bar; by default on a terminal.

        Raises
        ------
        InputError
            If a parameter has no meaning, nothing can be learned from the data, or the checkpoint is of another
            training.
        """
        queries = as_queries(X, y, qid)
        loss = self._checked_loss(queries)
        self.metric_ = self._own_metric(queries)
        check_training(queries, getattr(loss, "dcg", None))
        valid = None if eval_set is None else as_eval_set(eval_set, queries.shape[1], self.metric_)
        with one_blas_thread():
            climb = _Climb(self, loss, queries, valid)
            state = _State(np.zeros(queries.shape[1]))
            if checkpoint is not None:
                identity = climb.identity()
                state = _State.load(checkpoint, identity) if resume else state
            total = self.n_restarts * len(climb.sharpness)
            shown = None if progress is None else not progress
            with tqdm(total=total, initial=state.done(len(climb.sharpness)), disable=shown, leave=False) as bar:
                for _ in climb.stages(state):
                    bar.set_postfix_str(f"{state.history[-1]['objective']:.4f}")
                    bar.update()
                    if checkpoint is not None:
                        state.save(checkpoint, identity)
        climb.design.set_model(self, state.best)
        self.history_, self.best_ = state.history, dict(state.why)
        return self

    def _checked_loss(self, queries: Queries) -> Any:
        """Check all parameters; return the loss, the textbook's where there is none."""
        if self.solver not in SOLVERS:
            raise InputError(f"solver={self.solver!r} is none of {', '.join(SOLVERS)}")
        if isinstance(self.start, str) and self.start not in STARTS:
            raise InputError(f"start={self.start!r} is none of {', '.join(STARTS)}, coefficients, or a fitted ranker")
        for name in ("n_restarts", "max_iter"):
            whole_number(getattr(self, name), name)
        if self.patience is not None:
            whole_number(self.patience, "patience")
        for name, least in (("l2", 0.0), ("tol", 0.0), ("learning_rate", np.nextafter(0, 1))):
            value = getattr(self, name)
            if not (np.isfinite(value) and value >= least):
                raise InputError(f"{name}={value} must be a {'positive' if least else 'non-negative'} finite number")
        loss = self.loss
        if loss is None:
            from dcglearn.losses import ApproxNDCG

            loss = ApproxNDCG(DCG.standard(queries.n_grades or 1, 10))
        if not callable(loss) or not hasattr(loss, "at"):
            raise InputError(f"loss={loss!r} is no loss; give one of dcglearn.losses, such as ApproxNDCG(dcg)")
        if getattr(loss, "dcg", None) is not None:
            check_scale(queries, loss.dcg)
        return loss


def stages_of(annealing: Any, loss: Any) -> list[float | None]:
    """Return the sharpness of each stage, per unit of spread; None, once, for a loss as it is."""
    from dcglearn.losses import LambdaRank, RankHinge

    if isinstance(annealing, str) and annealing == "auto":
        annealing = (1.0,) if isinstance(loss, (LambdaRank, RankHinge)) else STAGES
    if annealing is None or loss.sharpness is None:
        return [None]
    try:
        stages = np.asarray(annealing, dtype=np.float64)
    except (TypeError, ValueError):
        stages = np.zeros(0)
    if stages.ndim != 1 or not len(stages) or not (np.isfinite(stages).all() and (stages > 0).all()):
        raise InputError(f'annealing={annealing!r}: give positive numbers, blunt to sharp, "auto", or None')
    return stages.tolist()


@dataclass
class _State:
    """Where a training stands: all that a checkpoint must hold."""

    v: Floats
    v0: Floats = field(default_factory=lambda: np.zeros(0))
    best: Floats = field(default_factory=lambda: np.zeros(0))
    why: dict[str, Any] = field(default_factory=dict)
    history: list[dict[str, Any]] = field(default_factory=list)
    restart: int = 0
    stage: int = 0
    barren: int = 0

    def done(self, n_stages: int) -> int:
        """Return how many stages are behind."""
        return self.restart * n_stages + self.stage

    def save(self, path: str | os.PathLike[str], identity: dict[str, str]) -> None:
        state = {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in vars(self).items()}
        write_state(path, identity, state)

    @classmethod
    def load(cls, path: str | os.PathLike[str], identity: dict[str, str]) -> _State:
        state = read_state(path, identity)
        return cls(**state | {name: np.array(state[name], dtype=np.float64) for name in ("v", "v0", "best")})


class _Climb:
    """One training: restarts of stages, each a climb of the loss at one sharpness."""

    def __init__(self, ranker: LinearRanker, loss: Any, queries: Queries, valid: Queries | None) -> None:
        self.ranker, self.loss, self.queries, self.valid = ranker, loss, queries, valid
        self.design = Design(queries)
        self.sharpness = stages_of(ranker.annealing, loss)
        self.scaled = self.sharpness != [None]

    def identity(self) -> dict[str, str]:
        """Return what must be equal when a training is resumed: parameters and fingerprints of the data."""
        own = self.ranker
        start = own.start if isinstance(own.start, str) else np.asarray(getattr(own.start, "coef_", own.start)).tolist()
        parameters = {**own.get_params(deep=False), "loss": self.loss, "start": start}
        words = {name: exact_words(value) for name, value in parameters.items()}
        valid = "none" if self.valid is None else _fingerprint(self.valid)
        return {"ranker": "LinearRanker", **words, "data": _fingerprint(self.queries), "validation data": valid}

    def stages(self, state: _State) -> Any:
        """Go through what is left of the training, changing `state`; yield after each stage."""
        own, n_stages = self.ranker, len(self.sharpness)
        while state.restart < own.n_restarts:
            if state.stage == 0:
                state.v = state.v0 = self.start(state.restart)
                state.barren = 0
                self.judge(state, state.v0, 0)
            while state.stage < n_stages:
                self.one_stage(state)
                state.stage += 1
                if own.patience is not None and self.valid is not None and state.barren >= own.patience:
                    state.stage = n_stages
                if state.stage == n_stages:
                    state.restart, state.stage = state.restart + 1, 0
                    yield
                    break
                yield

    def start(self, restart: int) -> Floats:
        """Return the start of a restart, its scores of spread 1 where the loss is tied to their spread."""
        v = self._start(restart)
        size = self.design.spread_of(v)
        if not size > 0:
            raise InputError(
                "the start gives all documents of a query the same score; are the features constant within queries?"
            )
        return v / size if self.scaled else v

    def _start(self, restart: int) -> Floats:
        own, d = self.ranker, self.queries.shape[1]
        if restart > 0 or (isinstance(own.start, str) and own.start == "random"):
            return np.random.default_rng([own.seed, restart]).normal(size=d) / np.sqrt(d)
        if not isinstance(own.start, str):
            coefficients = np.asarray(getattr(own.start, "coef_", own.start), dtype=np.float64)
            if coefficients.shape != (d,) or not np.isfinite(coefficients).all():
                raise InputError(
                    f"start has shape {coefficients.shape}; expected a finite coefficient a feature, ({d},)"
                )
            return coefficients * self.design.spread
        from dcglearn.rankers.baselines import RankSVMRanker, least_squares

        if own.start == "ranksvm":
            return RankSVMRanker().fit(self.queries).coef_ * self.design.spread
        dcg = getattr(self.loss, "dcg", None)
        return least_squares(self.design, self.queries, dcg, 1e-3, reweighted=False)[1:]

    def one_stage(self, state: _State) -> None:
        """Climb at one sharpness from where the state is; note what came of it."""
        sharpness = self.sharpness[state.stage]
        loss = self.loss.at(state.stage + 1, len(self.sharpness))
        v = state.v
        if sharpness is not None:
            v = v / (self.design.spread_of(v) or 1.0)  # the sharpness is per unit of spread
            loss = replace(loss, **{loss.sharpness: sharpness**-loss.sharpness_power})
        before = state.why.get("value", -np.inf)
        climb = self.stochastic if self.ranker.solver == "sgd" else self.deterministic
        state.v, iterations = climb(loss, v, state)
        objective = -self.objective(loss, state.v, state.v0)[0]
        record = {"restart": state.restart, "stage": state.stage + 1, "sharpness": sharpness, "iterations": iterations}
        record |= {"objective": objective, "train": self.value(self.queries, state.v)}
        if self.valid is not None:
            record["valid"] = self.value(self.valid, state.v)
        state.history.append(record)
        last = state.stage + 1 == len(self.sharpness)
        if self.valid is None and last and (state.restart == 0 or objective > state.why["value"]):
            state.best, state.why = state.v.copy(), self.why(objective, "objective", state.restart, state.stage + 1)
        state.barren = 0 if state.why.get("value", -np.inf) > before else state.barren + 1

    def judge(self, state: _State, v: Floats, stage: int) -> None:
        """Keep v if it is the best so far on the validation set."""
        if self.valid is None:
            return
        value = self.value(self.valid, v)
        if not state.why or value > state.why["value"]:
            state.best, state.why = v.copy(), self.why(value, "valid", state.restart, stage)

    @staticmethod
    def why(value: float, by: str, restart: int, stage: int) -> dict[str, Any]:
        """Return the words that go with a choice."""
        return {"value": value, "by": by, "restart": restart, "stage": stage}

    def value(self, queries: Queries, v: Floats) -> float:
        """Return the mean normalised DCG over queries."""
        return float(queries.evaluate(queries.features @ (v / self.design.spread), self.ranker.metric_).mean())

    def objective(self, loss: Any, v: Floats, v0: Floats) -> tuple[float, Floats]:
        """Return what is minimised, and its gradient."""
        queries = self.queries
        value, slope = loss(self.design.scores(v), queries.grades, queries.offsets)
        apart = v - v0
        l2 = self.ranker.l2
        return l2 * float(apart @ apart) - value / len(queries), 2 * l2 * apart - self.design.vjp(slope) / len(queries)

    def deterministic(self, loss: Any, v: Floats, state: _State) -> tuple[Floats, int]:
        """Climb by conjugate gradients or L-BFGS on all queries."""
        from scipy.optimize import minimize

        own, stage = self.ranker, state.stage + 1
        found = minimize(
            lambda x: self.objective(loss, x, state.v0),
            v,
            jac=True,
            method={"cg": "CG", "lbfgs": "L-BFGS-B"}[own.solver],
            callback=lambda x: self.judge(state, x, stage),
            options={"maxiter": own.max_iter, "gtol": own.tol},
        )
        return found.x, int(found.nit)

    def stochastic(self, loss: Any, v: Floats, state: _State) -> tuple[Floats, int]:
        """Climb a query at a time, in an order shuffled in each pass."""
        own, queries, v = self.ranker, self.queries, v.copy()
        rng = np.random.default_rng([own.seed, state.restart, state.stage + 1])
        passes = 0
        while passes < own.max_iter:
            passes += 1
            before = v.copy()
            for q in rng.permutation(len(queries)):
                start, stop = int(queries.offsets[q]), int(queries.offsets[q + 1])
                rows = queries.features[start:stop]
                scores = rows @ (v / self.design.spread)
                _, slope = loss(scores, queries.grades[start:stop], np.array([0, stop - start]))
                pulled = (rows.T @ slope - self.design.mean * slope.sum()) / self.design.spread
                v += own.learning_rate * (pulled - 2 * own.l2 * (v - state.v0))
            self.judge(state, v, state.stage + 1)
            if np.linalg.norm(v - before) <= own.tol:
                break
        return v, passes


def _fingerprint(queries: Queries) -> str:
    features = queries.features
    columns = (features.data, features.indices) if hasattr(features, "tocsr") else (features,)
    digest = hashlib.sha256()
    for array in (*columns, queries.grades, queries.offsets):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def exact_words(thing: Any) -> str:
    """Return a text that tells two losses or DCGs apart to the last bit."""
    if hasattr(thing, "to_dict"):
        return repr(thing.to_dict())
    if hasattr(thing, "__dataclass_fields__"):
        fields = {name: exact_words(getattr(thing, name)) for name in thing.__dataclass_fields__}
        return f"{type(thing).__name__}({fields})"
    return repr(thing)
