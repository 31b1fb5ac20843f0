"""A point of a method's grid (`Candidate`), and what all points share on a fold (`Setting`)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, get_args

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dcglearn.metric.dcg import DCG
    from dcglearn.rankers.queries import Queries

Grid = Literal["default", "quick", "papers"]
GRIDS: tuple[str, ...] = get_args(Grid)
Choice = Literal["blend", "best"]
CHOICES: tuple[str, ...] = get_args(Choice)


@dataclass(frozen=True)
class Candidate:
    """One point of a grid.

    Attributes
    ----------
    label : str
        Its settings in words.
    ranker : Ranker
        Not fitted yet.
    validated : bool
        Whether training itself looks at the validation set (to stop).
    """

    label: str
    ranker: Any
    validated: bool = False

    def fit(self, train: Queries, vali: Queries) -> Any:
        """Return the fitted ranker."""
        return self.ranker.fit(train, eval_set=vali) if self.validated else self.ranker.fit(train)


@dataclass(frozen=True, eq=False)
class Setting:
    """What the candidates of one fold share.

    Attributes
    ----------
    train : Queries
        The training queries.
    dcg : DCG
        The metric to train for.
    grid : {"default", "quick", "papers"}
    seed : int
    vali : Queries, optional
        Where the penalties of the starts are chosen; without it, and in the quick grid, they are 1.
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
        """Fitted linear rankers that others start from: least squares and RankSVM, as regularised as serves best."""
        return {name: self._best(rankers) for name, rankers in self._families().items()}

    def _families(self) -> dict[str, list[Any]]:
        from dcglearn.rankers.baselines import RankSVMRanker, RidgeRanker

        strengths = (1.0,) if self.quick or self.vali is None else (1.0, 10.0, 100.0)
        return {
            "RankSVM": [RankSVMRanker(C=1 / strength, metric=self.dcg) for strength in strengths],
            "ridge": [RidgeRanker(self.dcg, l2=strength) for strength in strengths],
        }

    def _best(self, rankers: list[Any]) -> Any:
        fitted = [ranker.fit(self.train) for ranker in rankers]
        if len(fitted) == 1 or self.vali is None:
            return fitted[0]
        return max(fitted, key=lambda ranker: ranker.score(self.vali))

    def start_candidates(self) -> Iterator[Candidate]:
        """Yield the starts themselves: what an endless pull to them gives, and trees none of which is used."""
        for name, ranker in self.starts.items():
            yield Candidate(f"start {name}, as it is", ranker)
