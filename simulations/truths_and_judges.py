"""True DCGs of five kinds, and four kinds of judges of whose verdicts 15% are wrong.

The curves have other formulas than the textbooks and than the prior of the learner, which was set
on logs of other curves.
"""

from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

import dcglearn as dl

WRONG = 0.15
"""Share of the verdicts that name the worse list, for every judge."""

KINDS = ("flat", "steep", "random", "smooth", "textbook")
"""What the discounts of a truth are."""

JUDGES = ("careless", "graded", "one-sided", "mixed")
"""Judges who err on any pair, on close pairs, by always naming the left list, or by a third each.
"""

OF_CURVES = {
    "flat": (
        lambda x, r, a: 1 - 0.25 * a * x**2,
        lambda x, r, a: np.cos((0.2 + 0.5 * a) * x),
        lambda x, r, a: (1 + 0.3 * a * r) / (1 + 0.3 * a * r + 0.15 * (r - 1)),
    ),
    "steep": (
        lambda x, r, a: np.exp(-(1 + a) * (r - 1) ** 0.8),
        lambda x, r, a: 1 / (1 + (1 + 2 * a) * (r - 1) ** 2),
        lambda x, r, a: (1 - x) ** (3 + 2 * a) + 0.01,
    ),
    "smooth": (
        lambda x, r, a: 1 / (1 + (0.2 + 0.5 * a) * (r - 1)),
        lambda x, r, a: 1 / (1 + np.exp(6 * (x - 0.3 - 0.4 * a))),
        lambda x, r, a: 0.1 + 0.9 * np.exp(-(1 + 3 * a) * x),
    ),
}
"""Discounts by kind, of places x from 0 to 1, ranks r, and a number a from 0 to 1."""


def truth_of(kind: str, rng: np.random.Generator) -> dl.DCG:
    """Return a DCG whose discounts are of a kind, with 3 to 5 grades and 5 to 10 positions.

    Those of the kind "textbook" are D1 and D2.
    """
    if kind == "textbook":
        return dl.simulate.ground_truth(f"D{rng.integers(1, 3)}").normalised()
    n_grades, depth = int(rng.integers(3, 6)), int(rng.integers(5, 11))

    # the discounts
    if kind == "random":
        discounts = np.cumsum(rng.dirichlet(np.full(depth, 0.7)))[::-1]
    else:
        of_curve = OF_CURVES[kind][rng.integers(3)]
        ranks = np.arange(1.0, depth + 1)
        discounts = of_curve((ranks - 1) / (depth - 1), ranks, rng.random())

    # the gains: random or bent
    if rng.random() < 0.5:
        gains = np.append(0, np.sort(rng.random(n_grades - 1)))
    else:
        gains = np.sinh(rng.uniform(0.1, 3) * np.arange(n_grades) / (n_grades - 1))
    return dl.DCG(gains / gains[-1], discounts / discounts[0])


def pairs_of(truth: dl.DCG, n: int, skewed: bool, rng: np.random.Generator) -> np.ndarray:
    """Return n pairs of lists that the truth tells apart, shape (2, n, K).

    Grades are uniform, or each half as frequent as the one below.
    """
    chance = 0.5 ** np.arange(truth.n_grades) if skewed else np.ones(truth.n_grades)
    lists = rng.choice(
        truth.n_grades, (2, 2 * n + 50, truth.depth), p=chance / chance.sum()
    ).astype(np.int8)
    apart = np.abs(truth.score(lists[0]) - truth.score(lists[1])) > 1e-9
    return lists[:, np.flatnonzero(apart)[:n]]


def noise_of(z: np.ndarray, wrong: float) -> float:
    """Return the noise of graded judges who err on a share of pairs with differences z, (n,)."""
    close = np.sort(np.abs(z))
    return float(np.exp(brentq(lambda log: expit(-close / np.exp(log)).mean() - wrong, -15, 10)))


def named(
    lists: np.ndarray, first: np.ndarray, n_grades: int = 5, **columns: Any
) -> dl.Preferences:
    """Return a log of pairs of lists, shape (2, n, K), of which the first or the other won."""
    sides = np.where(first[:, None], lists, lists[::-1])
    return dl.Preferences(*sides, n_grades=n_grades, **columns)


def judged(
    truth: dl.DCG,
    lists: np.ndarray,
    judge: str,
    rng: np.random.Generator,
    usual: np.ndarray | None = None,
) -> dl.Preferences:
    """Return the verdicts of a judge on pairs of lists; the log tells which was shown first.

    A judge who errs on close pairs is wrong on the share asked for of `usual` pairs, by default
    these, and more often where pairs are closer.
    """
    n = lists.shape[1]
    z, of_usual = (
        truth.score(pairs[0]) - truth.score(pairs[1])
        for pairs in (lists, lists if usual is None else usual)
    )
    part = WRONG / 3 if judge == "mixed" else WRONG

    # who errs on close pairs
    first = z > 0
    if judge in ("graded", "mixed"):
        first = rng.random(n) < expit(z / noise_of(of_usual, part))

    # on any pair; or by always naming the first list, right on half of the pairs
    if judge in ("careless", "mixed"):
        first = first ^ (rng.random(n) < part)
    if judge in ("one-sided", "mixed"):
        first = first | (rng.random(n) < 2 * part)
    return named(lists, first, truth.n_grades, swapped=~first)
