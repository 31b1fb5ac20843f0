"""Study m: does the noise ceiling hold under known noise, and how do its ends close in?

Its ends are a lower and an upper value.
"""

import itertools
from functools import partial

import numpy as np
from scipy.special import expit, ndtr

import dcglearn as dl
from simulations.claims import Claim
from simulations.findings import headline
from simulations.run import STYLES, beside, draw_means, legend, main, repeated, summary

STEM, REPEATS, PANELS, FIGSIZE = "study_m_noise_ceiling", 200, 2, (7.0, 3.2)
SIZES = (200, 400, 1000, 3000)
KINDS = ("ratings", "ratings, a fifth careless", "judged pairs")
POOL = np.array(list(itertools.product(range(2), repeat=5)), dtype=np.int8)
OWN = 0.4
"""Standard deviation of what a list is worth beyond the sum over its positions."""

CUTS = np.concatenate([[-np.inf], np.arange(-1.5, 4), [np.inf]])
"""Ends of the ratings -2 .. 4, on the scale of worth."""


def rating_chances(worth, careless):
    """Return P(first list rated above the second | rated differently), shape (L, L).

    An entry is of one pair of the L lists.
    """
    chance = np.diff(ndtr(CUTS[None, :] - worth[:, None]), axis=1)
    chance = careless / chance.shape[1] + (1 - careless) * chance
    above = chance @ (np.cumsum(chance, axis=1) - chance).T
    return above / (above + above.T)


def rated(rng, worth, n, careless):
    """Return a log of n ratings from -2 to 4, of which a share is drawn at random."""
    lists = rng.integers(0, len(POOL), n)
    ratings = np.clip(np.round(worth[lists] + rng.normal(0, 1, n)), -2, 4)
    ratings = np.where(rng.random(n) < careless, rng.integers(-2, 5, n), ratings)
    return dl.Preferences.from_ratings(POOL[lists], ratings)


def judged(rng, chances, n):
    """Return a log of n judged pairs of different lists."""
    first, second = rng.integers(0, len(POOL), (2, n))
    second = np.where(first == second, (first + 1) % len(POOL), second)
    swap = rng.random(n) > chances[first, second]
    return dl.Preferences(POOL[np.where(swap, second, first)], POOL[np.where(swap, first, second)])


def trial(rng, kind, n):
    """Estimate the ceiling of one log, and compute the true one of its covered pairs."""
    worth = POOL @ np.array([1.0, 0.6, 0.5, 0.4, 0.3]) + rng.normal(0, OWN, len(POOL))
    if kind == "judged pairs":
        chances = expit(2 * (worth[:, None] - worth[None, :]))
        log = judged(rng, chances, n)
    else:
        careless = 0.2 if "careless" in kind else 0.0
        chances = rating_chances(worth, careless)
        log = rated(rng, worth, n, careless)
    ceiling = dl.noise_ceiling(log, random_state=int(rng.integers(2**31)))
    first, second = (
        lists @ (2 ** np.arange(4, -1, -1))
        for lists in (ceiling.pairs.preferred, ceiling.pairs.other)
    )
    best = np.maximum(chances, chances.T)[first, second]
    truth = float(np.average(best, weights=ceiling.pairs.weight))
    low, high = ceiling.interval
    return {
        "truth": truth,
        "error": ceiling.share - truth,
        "lower_error": ceiling.lower - truth,
        "upper_error": ceiling.upper - truth,
        "covered": int(low <= truth <= high),
        "width": high - low,
    }


def simulate(seed, repeats, quick, jobs):
    """Yield one record per kind of log, size and repeat."""
    sizes = SIZES[:2] if quick else SIZES
    settings = [{"kind": kind, "n": n} for kind in KINDS for n in sizes]
    yield from repeated(trial, settings, repeats=repeats, seed=seed, jobs=jobs)


def plot(table, axes):
    """Draw the coverage of the interval, and the errors of the three values."""
    left, right = axes
    for i, (style, kind) in enumerate(zip(STYLES, KINDS, strict=False)):
        means = summary(table.filter(kind=kind), ["n"], ["covered"])
        draw_means(left, means, "n", "covered", style, beside(left, i, len(KINDS)), label=kind)
    left.axhspan(0.85, 0.95, color="0.5", alpha=0.15, lw=0)
    left.set(
        xscale="log",
        xlabel="number of ratings or judgements",
        ylabel="coverage of 90% intervals",
        ylim=(0.5, 1.02),
    )
    left.legend(fontsize=8)
    named = {"upper_error": "memorised", "error": "estimate", "lower_error": "held out"}
    for style, (value, name) in zip(STYLES, named.items(), strict=False):
        means = summary(table, ["n"], [value])
        draw_means(right, means, "n", value, style, label=name)
    left.set_title("How often 90% intervals\ncover the ceiling")
    finding = "From 1,000 judgements on, the estimate's\nbias is under half a point"
    right.set_title(headline(claims(table), finding, "Errors of the estimate", "its bias is under"))
    right.axhline(0, color="0.5", lw=0.8, ls=":")
    right.set(
        xscale="log",
        xlabel="number of ratings or judgements",
        ylabel="share minus the true ceiling",
    )
    for panel in axes:
        panel.set_xticks(SIZES, [f"{n:,}" for n in SIZES])
        panel.minorticks_off()
    legend(right)


def claims(table):
    """Yield our claims."""
    claim = partial(Claim, table, "ours", "study m")
    for n in sorted(table["n"].unique()):
        text = f"90% intervals of the noise ceiling cover it in over 85% of logs of {n:,}"
        yield claim(text, "covered", {"n": n}, low=0.85)
    text = "its bias is under half a point from 1,000 judgements on"
    yield claim(text, "error", {"n": (1000, 3000)}, low=-0.005, high=0.005)


if __name__ == "__main__":
    main(__name__)
