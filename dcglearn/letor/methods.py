"""The methods of the five papers by name: what each trains, and the grid that a validation set chooses from."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

from dcglearn.foundation.validation import InputError
from dcglearn.letor import paper_grids
from dcglearn.letor.candidates import Candidate, Setting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dcglearn.metric.dcg import DCG


@dataclass(frozen=True)
class Method:
    """A way to train that a paper proposes or compares with.

    Attributes
    ----------
    name : str
    source : str
        The paper that it is from.
    model : {"linear", "trees"}
    aim : {"NDCG", "MAP"}
        What it is trained and chosen for.
    cost : float
        About how long it takes against the others; the longest begin first.
    """

    name: str
    source: str
    model: str
    grid: Callable[[Setting], Iterator[Candidate]] = field(repr=False)
    aim: str = "NDCG"
    cost: float = 1.0

    def candidates(self, setting: Setting) -> Iterator[Candidate]:
        """Yield the points of the grid: the paper's where that is asked for and the paper tells one."""
        grid = PAPER_GRIDS.get(self.name) if setting.grid == "papers" else None
        return (grid or self.grid)(setting)


ANNEALINGS = ((1.0, 2.5), (2.5, 5.0, 10.0))
"""Sharpness of the stages per unit of the spread of scores: stopped early, and gone through."""
PULLS = (0.03, 0.1, 0.3)
"""How strongly a model is pulled to its start."""


def climbed(
    setting: Setting,
    loss: str,
    depths: Sequence[Any] = ("depth", None),
    annealings: Sequence[Any] = ANNEALINGS,
    pulls: Sequence[float] = PULLS,
    max_iter: int = 30,
) -> Iterator[Candidate]:
    """Yield linear models that climb a loss: by start, pull, annealing, and how many positions count in training."""
    from dcglearn import losses
    from dcglearn.rankers.linear import LinearRanker

    kind = getattr(losses, loss)
    if setting.quick:
        depths, annealings, pulls, max_iter = depths[:1], annealings[-1:], pulls[-2:][:1], max_iter // 2
    for (start, coefficients), k, l2, annealing in product(setting.starts.items(), depths, pulls, annealings):
        options = {} if k == "depth" else {"k": k}
        climb = {"annealing": annealing, "start": coefficients, "l2": l2, "max_iter": max_iter}
        words = [f"start {start}", f"l2 {l2:g}"]
        words += [] if annealing is None else ["annealing " + " ".join(f"{a:g}" for a in annealing)]
        words += [f"k {'all' if k is None else k}"] if len(depths) > 1 else []
        ranker = LinearRanker(_loss(kind, setting.dcg, options), metric=setting.dcg, seed=setting.seed, **climb)
        yield Candidate(", ".join(words), ranker)
    yield from setting.start_candidates()


def _loss(kind: Any, dcg: DCG, options: dict[str, Any]) -> Any:
    return kind(dcg, **options) if "dcg" in kind.__dataclass_fields__ else kind(**options)


SHAPES = ((4, 0.1, 0.01), (8, 0.05, 0.02), (4, 0.03, 0.03))
"""Leaves of a tree, learning rate, and the least share of all documents in a leaf."""


def boosted(setting: Setting, loss: str, with_start: bool = True) -> Iterator[Candidate]:
    """Yield boosted trees against a loss: by shape, and whether they add to a linear model's scores."""
    from dcglearn import losses
    from dcglearn.rankers.trees import BoostedRanker

    kind = getattr(losses, loss)
    starts: dict[str, Any] = setting.starts if with_start else {}
    starts = starts if setting.quick and starts else {"none": None, **starts}
    shapes, n_trees = (SHAPES[:1], 50) if setting.quick else (SHAPES, 250)
    for (start, coefficients), (leaves, rate, share) in product(starts.items(), shapes):
        least = max(round(share * setting.train.shape[0]), 1)
        drawn: dict[str, Any] = {"feature_fraction": 0.3, "bagging_fraction": 0.7, "bagging_freq": 1, "num_threads": 1}
        shape: dict[str, Any] = {
            "num_leaves": leaves,
            "learning_rate": rate,
            "min_data_in_leaf": least,
            "n_trees": n_trees,
        }
        ranker = BoostedRanker(
            _loss(kind, setting.dcg, {}),
            metric=setting.dcg,
            follow="lambdas" if loss in ("GBRank", "Regression") else "gradient",  # some 60 queries: small steps
            seed=setting.seed,
            start=coefficients,
            **shape,
            **drawn,
        )
        yield Candidate(
            f"start {start}, {leaves} leaves, rate {rate:g}, {share:.0%} of documents in a leaf", ranker, True
        )


def sparse(setting: Setting) -> Iterator[Candidate]:
    """Yield RSRank: paths to fewer features, and linear models pulled to their start."""
    from dcglearn.rankers.sparse import SparseRanker

    n_points = 8 if setting.quick else 25
    for tolerance in (0.0,) if setting.quick else (0.0, 0.02):
        ranker = SparseRanker(setting.dcg, tolerance=tolerance, n_points=n_points, max_iter=100)
        yield Candidate(f"path, tolerance {tolerance:g}", ranker, True)
    yield from climbed(setting, "RSRank", depths=(None,), annealings=((0.3,), (1.0,)))


def softrank(setting: Setting) -> Iterator[Candidate]:
    """Yield SoftRank: few and sharp stages, sharper for long queries, since time takes the cube of what overlaps."""
    factor = max(1.0, float(setting.train.sizes.max()) / 320)
    annealing = (10.0 * factor,) if setting.quick else (5.0 * factor, 10.0 * factor)
    for candidate in climbed(setting, "SoftRankNDCG", ("depth",), (annealing,), pulls=(0.1,), max_iter=8):
        if not (setting.quick and candidate.label.startswith("start ridge, l2")):
            yield candidate


def svm(setting: Setting) -> Iterator[Candidate]:
    """Yield RankSVM by the weight of its pairs."""
    from dcglearn.rankers.baselines import RankSVMRanker

    for C in (1.0, 10.0) if setting.quick else (0.01, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0):
        yield Candidate(f"C {C:g}", RankSVMRanker(C=C, metric=setting.dcg))


def ridge(setting: Setting) -> Iterator[Candidate]:
    """Yield least squares by penalty, and whether relevant documents weigh as much as all others."""
    from dcglearn.rankers.baselines import RidgeRanker

    for l2, reweighted in product((0.1, 1.0) if setting.quick else (0.01, 0.1, 0.3, 1.0, 3.0, 10.0), (True, False)):
        words = f"l2 {l2:g}{', reweighted' if reweighted else ''}"
        yield Candidate(words, RidgeRanker(setting.dcg, l2=l2, reweighted=reweighted))


def adarank(setting: Setting, measure: str) -> Iterator[Candidate]:
    """Yield AdaRank: rounds until the validation set has had enough, or a fixed number of them."""
    from dcglearn.rankers.adarank import AdaRankRanker

    for both_signs, in_a_row in product((True, False), (None, 1, 3)):
        options: dict[str, Any] = {"measure": measure, "metric": setting.dcg, "both_signs": both_signs}
        options["max_in_a_row"] = in_a_row
        words = "" if both_signs else ", features upwards only"
        words += "" if in_a_row is None else f", at most {in_a_row} in a row"
        n_rounds = 50 if setting.quick else 300
        yield Candidate(f"rounds by validation{words}", AdaRankRanker(n_rounds=n_rounds, **options), True)
        if not setting.quick:
            yield Candidate(f"100 rounds{words}", AdaRankRanker(n_rounds=100, **options))


_ALL = (
    Method("ApproxNDCG", "Qin et al. 2010", "linear", partial(climbed, loss="ApproxNDCG"), cost=6),
    Method("ApproxAP", "Qin et al. 2010", "linear", partial(climbed, loss="ApproxAP", depths=("depth",)), "MAP", 3),
    Method("SmoothNDCG", "Chapelle and Wu 2010", "linear", partial(climbed, loss="SmoothNDCG", depths=(50,)), cost=6),
    Method(
        "SmoothAP",
        "Chapelle and Wu 2010",
        "linear",
        partial(climbed, loss="SmoothAP", depths=("depth",), max_iter=15),
        "MAP",
        3,
    ),
    Method("SDCG", "Wu et al. 2009", "trees", partial(boosted, loss="SDCG"), cost=8),
    Method("SHF-SDCG", "Wu et al. 2009", "trees", partial(boosted, loss="SHFSDCG"), cost=8),
    Method("REG-SHF-SDCG", "Wu et al. 2009", "trees", partial(boosted, loss="RegSHFSDCG"), cost=8),
    Method("RSRank", "Sun et al. 2009", "linear", sparse, cost=4),
    Method(
        "ListNet",
        "Cao et al. 2007",
        "linear",
        partial(climbed, loss="ListNet", depths=("depth",), annealings=(None,), pulls=(0.01, 0.1, 0.3, 1.0)),
    ),
    Method("AdaRank.NDCG", "Xu and Li 2007", "linear", partial(adarank, measure="ndcg"), cost=2),
    Method("AdaRank.MAP", "Xu and Li 2007", "linear", partial(adarank, measure="map"), "MAP", 2),
    Method(
        "LambdaRank",
        "Burges et al. 2006",
        "linear",
        partial(climbed, loss="LambdaRank", depths=(None,), annealings=((0.3,), (1.0,))),
        cost=5,
    ),
    Method("SoftRank", "Taylor et al. 2008", "linear", softrank, cost=20),
    Method("RankSVM", "Joachims 2002", "linear", svm, cost=0.2),
    Method("ridge", "Chapelle and Wu 2010", "linear", ridge, cost=0.1),
    Method("GBRank", "Zheng et al. 2007", "trees", partial(boosted, loss="GBRank", with_start=False), cost=4),
    Method("regression trees", "Friedman 2001", "trees", partial(boosted, loss="Regression", with_start=False), cost=3),
)
PAPER_GRIDS: dict[str, Callable[[Setting], Iterator[Candidate]]] = {
    "ApproxNDCG": paper_grids.qin,
    "SmoothNDCG": paper_grids.chapelle,
    "SDCG": partial(paper_grids.wu, loss="SDCG"),
    "SHF-SDCG": partial(paper_grids.wu, loss="SHFSDCG"),
    "REG-SHF-SDCG": partial(paper_grids.wu, loss="RegSHFSDCG"),
    "RSRank": paper_grids.sun,
}
"""What the papers tell of their own grids."""

METHODS = {method.name: method for method in _ALL}
"""Every method by its name, in the order of tables."""


def method_named(name: str) -> Method:
    """Return a method by its name, in any case, ``-`` and ``_`` for a blank or a dot.

    Raises
    ------
    InputError
        If there is none of that name.

    Examples
    --------
    >>> method_named("adarank-ndcg").source
    'Xu and Li 2007'
    """
    known = {_plain(found): found for found in METHODS}
    if _plain(name) not in known:
        raise InputError(f"method {name!r} is none of {', '.join(METHODS)}")
    return METHODS[known[_plain(name)]]


def _plain(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())
