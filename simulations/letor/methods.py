"""Methods of the five papers by name, with grids of candidates: ours, and the papers' own."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import product
from typing import Any

import numpy as np

from dcglearn import losses
from dcglearn.foundation.validation import InputError
from dcglearn.metrics.dcg import DCG
from dcglearn.rankers.linear import LinearRanker
from dcglearn.rankers.linear_model import RankSVMRanker, RidgeRanker
from dcglearn.rankers.queries import Queries
from dcglearn.rankers.sparse import SparseRanker
from dcglearn.rankers.trees import BoostedRanker
from simulations.letor.adarank import AdaRankRanker


@dataclass(frozen=True)
class Candidate:
    """A point of a grid: its settings as shown, and an unfitted ranker.

    `validated` says whether the ranker's training uses the validation set.
    """

    label: str
    ranker: Any
    validated: bool = False

    def fit(self, train: Queries, vali: Queries) -> Any:
        """Return the fitted ranker."""
        return self.ranker.fit(train, eval_set=vali) if self.validated else self.ranker.fit(train)


@dataclass(frozen=True, eq=False)
class Setting:
    """The data, metric, grid and seed that the candidates of one fold share.

    `vali` chooses the penalties of the starts; they are 1 without it, or if the grid is quick.
    """

    train: Queries
    dcg: DCG
    grid: str = "default"
    seed: int = 0
    vali: Queries | None = None

    @property
    def quick(self) -> bool:
        """Whether the grid is the small one."""
        return self.grid == "quick"

    @cached_property
    def starts(self) -> dict[str, Any]:
        """Least squares and RankSVM, fitted, from which other methods start.

        Each has the best penalty on the validation set.
        """
        penalties = (1.0,) if self.quick or self.vali is None else (1.0, 10.0, 100.0)
        return {
            "RankSVM": self._best(
                [RankSVMRanker(C=1 / penalty, metric=self.dcg) for penalty in penalties]
            ),
            "ridge": self._best([RidgeRanker(self.dcg, l2=penalty) for penalty in penalties]),
        }

    def _best(self, rankers: list[Any]) -> Any:
        """Return the fitted ranker with the best value on the validation set."""
        fitted = [ranker.fit(self.train) for ranker in rankers]
        return (
            fitted[0]
            if len(fitted) == 1
            else max(fitted, key=lambda ranker: ranker.score(self.vali))
        )

    def start_candidates(self) -> Iterator[Candidate]:
        """Yield the starts themselves as candidates.

        They are the limits of methods whose penalty is infinite, or that use no tree.
        """
        for name, ranker in self.starts.items():
            yield Candidate(f"start {name}, as it is", ranker)


@dataclass(frozen=True)
class Method:
    """A method of training, of the paper `source`; `grid` yields the candidates for a `Setting`.

    `aim` is the measure of training and validation, `cost` the rough time relative to others: the
    longest begin first.
    """

    name: str
    source: str
    model: str
    grid: Callable[[Setting], Iterator[Candidate]] = field(repr=False)
    aim: str = "NDCG"
    cost: float = 1.0

    def candidates(self, setting: Setting) -> Iterator[Candidate]:
        """Yield the candidates of the method's grid.

        That is the paper's own grid if `setting` asks for it and the paper states one.
        """
        grid = PAPER_GRIDS.get(self.name) if setting.grid == "papers" else None
        return (grid or self.grid)(setting)


def linear(
    setting: Setting,
    loss: str,
    depths: Sequence[Any] = ("dcg", None),
    annealings: Sequence[Any] = ((1.0, 2.5), (2.5, 5.0, 10.0)),  # stopped early, and complete
    penalties: Sequence[float] = (0.03, 0.1, 0.3),
    max_iter: int = 30,
) -> Iterator[Candidate]:
    """Yield linear models that maximise a loss, by start, training depth, penalty and annealing."""
    kind = getattr(losses, loss)
    if setting.quick:
        depths, annealings, penalties, max_iter = (
            depths[:1],
            annealings[-1:],
            penalties[-2:][:1],
            max_iter // 2,
        )
    for (start, coefficients), k, l2, annealing in product(
        setting.starts.items(), depths, penalties, annealings
    ):
        loss_options = {} if k == "dcg" else {"depth": k}
        options = {
            "annealing": annealing,
            "start": coefficients,
            "l2": l2,
            "max_iter": max_iter,
            "random_state": setting.seed,
        }
        label = f"start {start}, l2 {l2:g}"
        label += "" if annealing is None else ", annealing " + " ".join(f"{a:g}" for a in annealing)
        label += f", k {'all' if k is None else k}" if len(depths) > 1 else ""
        ranker = LinearRanker(
            _loss(kind, setting.dcg, **loss_options), metric=setting.dcg, **options
        )
        yield Candidate(label, ranker)
    yield from setting.start_candidates()


def _loss(kind: Any, dcg: DCG, **options: Any) -> Any:
    """Return a loss of a class, of the DCG if it has one."""
    return kind(dcg, **options) if "dcg" in kind.__dataclass_fields__ else kind(**options)


SHAPES = ((4, 0.1, 0.01), (8, 0.05, 0.02), (4, 0.03, 0.03))
"""Leaves of a tree, learning rate, and the smallest share of all documents in a leaf."""


def boosted(setting: Setting, loss: str, with_start: bool = True) -> Iterator[Candidate]:
    """Yield boosted trees that maximise a loss, by shape and start.

    A start is the linear model to whose scores the trees add, if any.
    """
    starts: dict[str, Any] = setting.starts if with_start else {}
    starts = starts if setting.quick and starts else {"none": None, **starts}
    shapes, n_trees = (SHAPES[:1], 50) if setting.quick else (SHAPES, 250)
    for (start, coefficients), (leaves, rate, share) in product(starts.items(), shapes):
        follow = (
            "lambdas" if loss in ("GBRank", "Regression") else "gradient"
        )  # some 60 queries: small steps
        options: dict[str, Any] = {"n_trees": n_trees, "follow": follow, "start": coefficients}
        options |= {
            "min_data_in_leaf": max(round(share * setting.train.shape[0]), 1),
            "feature_fraction": 0.3,
        }
        ranker = _trees(
            setting, loss, leaves, rate, bagging_fraction=0.7, bagging_freq=1, **options
        )
        label = f"start {start}, {leaves} leaves, rate {rate:g}, {share:.0%} of documents in a leaf"
        yield Candidate(label, ranker, True)


def _trees(setting: Setting, loss: str, leaves: int, rate: float, **options: Any) -> BoostedRanker:
    """Return unfitted trees that maximise a loss, in one thread."""
    options |= {"metric": setting.dcg, "random_state": setting.seed, "num_threads": 1}
    kind = getattr(losses, loss)
    return BoostedRanker(_loss(kind, setting.dcg), num_leaves=leaves, learning_rate=rate, **options)


def sparse(setting: Setting) -> Iterator[Candidate]:
    """Yield RSRank: paths to fewer features, and linear models.

    The linear models have a penalty on the distance from their start.
    """
    n_points = 8 if setting.quick else 25
    for tolerance in (0.0,) if setting.quick else (0.0, 0.02):
        ranker = SparseRanker(setting.dcg, slack=tolerance, n_points=n_points, max_iter=100)
        yield Candidate(f"path, tolerance {tolerance:g}", ranker, True)
    yield from linear(setting, "RSRank", depths=(None,), annealings=((0.3,), (1.0,)))


def softrank(setting: Setting) -> Iterator[Candidate]:
    """Yield SoftRank with few and sharp stages, sharper for long queries.

    Its time is cubic in the number of overlapping scores, and sharper stages overlap less.
    """
    factor = max(1.0, float(setting.train.sizes.max()) / 320)
    annealing = (10.0 * factor,) if setting.quick else (5.0 * factor, 10.0 * factor)
    for candidate in linear(
        setting, "SoftRankNDCG", ("dcg",), (annealing,), penalties=(0.1,), max_iter=8
    ):
        if not (setting.quick and candidate.label.startswith("start ridge, l2")):
            yield candidate


def svm(setting: Setting) -> Iterator[Candidate]:
    """Yield RankSVM by the weight of its pairs."""
    for C in (1.0, 10.0) if setting.quick else (0.01, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0):
        yield Candidate(f"C {C:g}", RankSVMRanker(C=C, metric=setting.dcg))


def ridge(setting: Setting) -> Iterator[Candidate]:
    """Yield least squares by penalty, with and without reweighting.

    Reweighting gives relevant documents and the others equal total weight.
    """
    for l2, reweighted in product(
        (0.1, 1.0) if setting.quick else (0.01, 0.1, 0.3, 1.0, 3.0, 10.0), (True, False)
    ):
        label = f"l2 {l2:g}{', reweighted' if reweighted else ''}"
        yield Candidate(label, RidgeRanker(setting.dcg, l2=l2, reweighted=reweighted))


def adarank(setting: Setting, measure: str) -> Iterator[Candidate]:
    """Yield AdaRank: the number of rounds chosen by validation, or fixed."""
    for both_signs, in_a_row in product((True, False), (None, 1, 3)):
        options: dict[str, Any] = {"both_signs": both_signs, "max_in_a_row": in_a_row}
        label = "" if both_signs else ", features upwards only"
        label += "" if in_a_row is None else f", at most {in_a_row} in a row"
        ranker = AdaRankRanker(
            measure, setting.dcg, n_rounds=50 if setting.quick else 300, **options
        )
        yield Candidate(f"rounds by validation{label}", ranker, True)
        if not setting.quick:
            yield Candidate(
                f"100 rounds{label}", AdaRankRanker(measure, setting.dcg, n_rounds=100, **options)
            )


def qin(setting: Setting) -> Iterator[Candidate]:
    """Yield ApproxNDCG by alpha and beta (Qin et al. 2010, algorithm 1).

    Training takes stochastic gradients, with ten random restarts.
    """
    options: dict[str, Any] = {
        "solver": "sgd",
        "start": "random",
        "annealing": None,
        "l2": 0.0,
        "tol": 1e-3,
    }
    options |= {"n_restarts": 10, "max_iter": 30, "learning_rate": 0.01}
    for alpha, beta in product(
        (50.0, 100.0, 150.0, 200.0, 250.0, 300.0), (1.0, 10.0, 20.0, 50.0, 100.0)
    ):
        loss = losses.ApproxNDCG(setting.dcg, alpha=alpha, beta=beta)
        ranker = LinearRanker(loss, metric=setting.dcg, random_state=setting.seed, **options)
        yield Candidate(f"alpha {alpha:g}, beta {beta:g}", ranker)


def chapelle(setting: Setting) -> Iterator[Candidate]:
    """Yield SmoothNDCG by lambda (Chapelle and Wu 2010, algorithm 1).

    Training starts from least squares and halves s from 2^6 to 2^-6.
    """
    sharpness = [float(s) ** -0.5 for s in 2.0 ** np.arange(6, -7, -1)]
    for power in range(-6, 4):
        loss = losses.SmoothNDCG(setting.dcg, depth=50)
        ranker = LinearRanker(
            loss, annealing=sharpness, l2=10.0**power, metric=setting.dcg, max_iter=50
        )
        yield Candidate(f"lambda 1e{power}", ranker)


def wu(setting: Setting, loss: str) -> Iterator[Candidate]:
    """Yield boosted trees that add to no linear model (Wu et al. 2009).

    There are 250 trees, or fewer if fewer do better in validation.
    """
    for leaves, rate in product((4, 8, 16), (0.05, 0.1)):
        yield Candidate(
            f"{leaves} leaves, rate {rate:g}",
            _trees(setting, loss, leaves, rate, n_trees=250),
            True,
        )


def sun(setting: Setting) -> Iterator[Candidate]:
    """Yield RSRank's path (Sun et al. 2009): its best point, and its smallest within 3.5% of it."""
    for tolerance in (0.0, 0.035):
        yield Candidate(
            f"path, tolerance {tolerance:g}", SparseRanker(setting.dcg, slack=tolerance), True
        )


def _linear(name: str, source: str, aim: str = "NDCG", cost: float = 1.0, **options: Any) -> Method:
    return Method(name, source, "linear", partial(linear, loss=name, **options), aim, cost)


def _boosted(name: str, source: str, loss: str, cost: float, **options: Any) -> Method:
    return Method(name, source, "trees", partial(boosted, loss=loss, **options), cost=cost)


_TABLE = (
    _linear("ApproxNDCG", "Qin et al. 2010", cost=6),
    _linear("ApproxAP", "Qin et al. 2010", "MAP", 3, depths=("dcg",)),
    _linear("SmoothNDCG", "Chapelle and Wu 2010", cost=6, depths=(50,)),
    _linear("SmoothAP", "Chapelle and Wu 2010", "MAP", 3, depths=("dcg",), max_iter=15),
    _boosted("SDCG", "Wu et al. 2009", "SDCG", 8),
    _boosted("SHF-SDCG", "Wu et al. 2009", "SHFSDCG", 8),
    _boosted("REG-SHF-SDCG", "Wu et al. 2009", "RegSHFSDCG", 8),
    Method("RSRank", "Sun et al. 2009", "linear", sparse, cost=4),
    _linear(
        "ListNet",
        "Cao et al. 2007",
        depths=("dcg",),
        annealings=(None,),
        penalties=(0.01, 0.1, 0.3, 1.0),
    ),
    Method("AdaRank.NDCG", "Xu and Li 2007", "linear", partial(adarank, measure="ndcg"), cost=2),
    Method("AdaRank.MAP", "Xu and Li 2007", "linear", partial(adarank, measure="map"), "MAP", 2),
    _linear(
        "LambdaRank", "Burges et al. 2006", cost=5, depths=(None,), annealings=((0.3,), (1.0,))
    ),
    Method("SoftRank", "Taylor et al. 2008", "linear", softrank, cost=20),
    Method("RankSVM", "Joachims 2002", "linear", svm, cost=0.2),
    Method("ridge", "Chapelle and Wu 2010", "linear", ridge, cost=0.1),
    _boosted("GBRank", "Zheng et al. 2007", "GBRank", 4, with_start=False),
    _boosted("regression trees", "Friedman 2001", "Regression", 3, with_start=False),
)
METHODS = {method.name: method for method in _TABLE}
"""Methods by name, in the order of the tables."""
PAPER_GRIDS: dict[str, Callable[[Setting], Iterator[Candidate]]] = {
    "ApproxNDCG": qin,
    "SmoothNDCG": chapelle,
    "SDCG": partial(wu, loss="SDCG"),
    "SHF-SDCG": partial(wu, loss="SHFSDCG"),
    "REG-SHF-SDCG": partial(wu, loss="RegSHFSDCG"),
    "RSRank": sun,
}
"""Grids that the papers state."""


def method_named(name: str) -> Method:
    """Return a method by its name, or raise InputError if there is none.

    Case, blanks and punctuation of the name do not matter.
    """
    plain, *others = ("".join(filter(str.isalnum, text.lower())) for text in (name, *METHODS))
    if plain not in others:
        raise InputError(f"method {name!r} is none of {', '.join(METHODS)}")
    return _TABLE[others.index(plain)]
