"""A point of a method's grid (`Candidate`), and what all candidates share on a fold (`Setting`)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, get_args

if TYPE_CHECKING:
    from dcglearn.metric.dcg import DCG
    from dcglearn.rankers.queries import Queries

Grid = Literal["default", "quick", "papers"]
GRIDS: tuple[str, ...] = get_args(Grid)
Choice = Literal["blend", "best"]
CHOICES: tuple[str, ...] = get_args(Choice)


@dataclass(frozen=True)
class Candidate:
    """A point of a grid: settings as shown, an unfitted ranker, and whether its training uses the validation set."""

    label: str
    ranker: Any
    validated: bool = False

    def fit(self, train: Queries, vali: Queries) -> Any:
        """Return the fitted ranker."""
        return self.ranker.fit(train, eval_set=vali) if self.validated else self.ranker.fit(train)


@dataclass(frozen=True, eq=False)
class Setting:
    """What the candidates of one fold share; `vali` chooses the penalties of the starts, 1 without it or if quick."""

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
        """Least squares and RankSVM, fitted, each with the best penalty on the validation set: others start there."""
        from dcglearn.rankers.linear_model import RankSVMRanker, RidgeRanker

        penalties = (1.0,) if self.quick or self.vali is None else (1.0, 10.0, 100.0)
        return {
            "RankSVM": self._best([RankSVMRanker(C=1 / penalty, metric=self.dcg) for penalty in penalties]),
            "ridge": self._best([RidgeRanker(self.dcg, l2=penalty) for penalty in penalties]),
        }

    def _best(self, rankers: list[Any]) -> Any:
        """Return the fitted ranker with the best value on the validation set."""
        fitted = [ranker.fit(self.train) for ranker in rankers]
        return fitted[0] if len(fitted) == 1 else max(fitted, key=lambda ranker: ranker.score(self.vali))

    def start_candidates(self) -> Iterator[Candidate]:
        """Yield the starts themselves: the limits of methods whose penalty is infinite, or that use no tree."""
        for name, ranker in self.starts.items():
            yield Candidate(f"start {name}, as it is", ranker)
