"""Clicks on interleaved rankings, by users whose click model is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dcglearn.foundation.validation import (
    Floats,
    InputError,
    Seed,
    finite_array,
    graded_lists,
    one_of,
    whole_number,
    within,
)


@dataclass(frozen=True, eq=False)
class ClickModel:
    """How users click.

    `attraction`, shape (L,), is the probability of a click on an examined document of each grade,
    `examination`, shape (K,), that a position is examined by a user who has not stopped, and `stop`
    that a click ends the session (the cascade model). With 0 this is the position-based model,
    whose expected number of clicks on a list is the DCG with these gains and discounts.

    See Also
    --------
    simulate.click_log : Impressions of such users.

    Examples
    --------
    >>> users = dl.simulate.ClickModel(attraction=[0.1, 0.5, 0.9], examination=[1.0, 0.6, 0.4])
    >>> len(users.examination)
    3
    """

    attraction: Floats
    examination: Floats
    stop: float = 0.0

    def __post_init__(self) -> None:
        for name in ("attraction", "examination"):
            values = finite_array(getattr(self, name), name, 1)
            outside = values[(values < 0) | (values > 1)]
            if outside.size:
                raise InputError(f"{name} holds {outside[0]:g}; give probabilities, 0 to 1")
            object.__setattr__(self, name, values)
        within(self.stop, "stop", 1, "it is a probability")

    def expected_clicks(self, lists: ArrayLike) -> Floats:
        """Return the expected number of clicks on lists that are shown alone, shape (n,)."""
        grades = np.atleast_2d(graded_lists(lists, "lists", len(self.attraction)))
        grades = grades[:, : len(self.examination)]
        chance = np.append(self.attraction, 0.0)[grades] * self.examination[: grades.shape[1]]

        # share of the users who have not stopped above a position
        stays = np.ones_like(chance)
        stays[:, 1:] = np.cumprod(1 - self.stop * chance[:, :-1], axis=1)
        return (chance * stays).sum(axis=1)

    def clicks(self, grades: Sequence[int], random_state: Seed = None) -> list[int]:
        """Return the positions that a user clicks, from 1."""
        positions, rng = [], np.random.default_rng(random_state)
        for position, grade in enumerate(grades[: len(self.examination)]):
            if rng.random() < self.examination[position] * self.attraction[grade]:
                positions.append(position + 1)
                if rng.random() < self.stop:
                    break
        return positions


def click_log(
    model: ClickModel,
    n: int,
    *,
    method: str = "team-draft",
    n_documents: int = 30,
    spread: float = 1.0,
    random_state: Seed = None,
) -> tuple[list[dict[str, Any]], dict[str, dict[str, int]]]:
    """Return impressions for `preferences_from_interleaving`, and judgements of their documents.

    Each impression has a query of its own, whose documents have random grades. Two rankers order
    them by grade plus noise; their top K, K the model's number of positions, are interleaved, and
    the top K of the result is shown. Raises InputError if a setting is impossible.

    Parameters
    ----------
    model : ClickModel
        The user.
    n, n_documents : int
        Number of impressions, and of documents of each query.
    method : {"team-draft", "balanced"}
        How the rankings are interleaved (Radlinski et al. 2008; Joachims 2002).
    spread, random_state : float, int or Generator
        Standard deviation of the noise of the rankers, in grades; same seed, same log.

    See Also
    --------
    io.preferences_from_interleaving : Turn clicks into preferences.

    Examples
    --------
    >>> user = ClickModel([0.1, 0.5, 0.9], [1.0, 0.6, 0.4])
    >>> impressions, judgements = click_log(user, 1, n_documents=5, random_state=0)
    >>> sorted(impressions[0]), len(judgements["q0"])
    (['a', 'b', 'clicks', 'merged', 'query', 'teams'], 5)
    """
    one_of(method, "method", ("team-draft", "balanced"))
    depth, rng = len(model.examination), np.random.default_rng(random_state)
    whole_number(n_documents, "n_documents", depth)
    names = np.array([f"d{number}" for number in range(n_documents)])
    impressions: list[dict[str, Any]] = []
    judgements: dict[str, dict[str, int]] = {}
    for number in range(whole_number(n, "n")):
        # two rankings, and the list that is shown
        grades = rng.integers(0, len(model.attraction), n_documents)
        a, b = (np.argsort(rng.normal(0, spread, n_documents) - grades)[:depth] for _ in range(2))
        interleave = _team_draft if method == "team-draft" else _balanced
        merged, teams = interleave(a.tolist(), b.tolist(), rng)

        # what the user clicks
        query = f"q{number}"
        lists: dict[str, Any] = {"a": a, "b": b, "merged": merged}
        impression = {
            "query": query,
            **{name: names[ranking].tolist() for name, ranking in lists.items()},
            **({"teams": teams} if teams else {}),
            "clicks": model.clicks(grades[merged].tolist(), rng),
        }
        impressions.append(impression)
        judgements[query] = dict(zip(names.tolist(), grades.tolist(), strict=True))
    return impressions, judgements


def _team_draft(
    a: list[int], b: list[int], rng: np.random.Generator
) -> tuple[list[int], list[str]]:
    """Return the list and the teams: in each round, both add their best document left.

    Who adds first is drawn by chance in each round (Radlinski et al. 2008).
    """
    merged: dict[int, str] = {}
    while len(merged) < len(a):
        # who adds first
        order = [("a", a), ("b", b)]
        for team, ranking in order[:: 1 if rng.random() < 0.5 else -1]:
            if len(merged) < len(a):
                merged[next(document for document in ranking if document not in merged)] = team
    return list(merged), list(merged.values())


def _balanced(a: list[int], b: list[int], rng: np.random.Generator) -> tuple[list[int], list[str]]:
    """Return the list: both add their documents in turn, and chance decides which one begins."""
    # one leads throughout (Joachims 2002)
    rankings = [a, b] if rng.random() < 0.5 else [b, a]
    merged = dict.fromkeys(chain.from_iterable(zip(*rankings, strict=True)))
    return list(merged)[: len(a)], []
