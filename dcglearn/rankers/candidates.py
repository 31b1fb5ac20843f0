"""A point of a method's grid (`Candidate`), and what all points share on a fold (`Setting`)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dcglearn.dcg import DCG
    from dcglearn.queries import Queries

GRIDS = ("default", "quick", "papers")


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
    """

    train: Queries
    dcg: DCG
    grid: str = "default"
    seed: int = 0

    @property
    def quick(self) -> bool:
        """Whether the grid is the small one."""
        return self.grid == "quick"

    @cached_property
    def starts(self) -> dict[str, Any]:
        """Fitted linear rankers that others start from: least squares and RankSVM, both regularised."""
        return {name: ranker.fit(self.train) for name, ranker in self.unfitted().items()}

    def unfitted(self) -> dict[str, Any]:
        """Return the same, not fitted."""
        from dcglearn.rankers.baselines import RankSVMRanker, RidgeRanker

        return {"RankSVM": RankSVMRanker(C=1.0, metric=self.dcg), "ridge": RidgeRanker(self.dcg, l2=1.0)}

    def start_candidates(self) -> Iterator[Candidate]:
        """Yield the starts themselves: what an endless pull to them gives, and trees none of which is used."""
        for name, ranker in self.unfitted().items():
            yield Candidate(f"start {name}, as it is", ranker)
