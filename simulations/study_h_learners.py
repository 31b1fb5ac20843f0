"""Study h: how many judgements do DCGLearner, the QP and textbook DCGs need?

The study also measures the learner's free curves alone and the factors of the QP.
"""

from functools import partial
from itertools import product

import numpy as np
import polars as pl

import dcglearn as dl
from simulations.claims import NEGLIGIBLE, Claim, in_every_cell
from simulations.run import (
    MEASURES,
    TRUTHS,
    best_textbook,
    curves,
    legend,
    logs,
    share_scale,
    validated,
)

REPEATS, PANELS, FIGSIZE = 20, (2, 2), (8.5, 6.4)
SIZES = (10, 20, 40, 60, 100, 200, 500)
RATES = (0.0, 0.1, 0.2)
GRID = tuple(10.0**power for power in range(-4, 3))
TEXTBOOKS, OTHER = (*TRUTHS, "a textbook"), "another"
"""Kinds of true DCGs: D1 and D2, which order lists as two textbook DCGs do, and any textbook DCG;
and any other.
"""
GOAL = 0.95
FRESH = 2026
"""Added to the seed, so that claims are tested on logs that nobody had seen."""


def truth_of(kind, rng):
    """Return the true DCG of a kind.

    "a textbook" draws a textbook DCG that tells permutations apart; "another" draws random
    steps and falls.
    """
    if kind in TRUTHS:
        return dl.simulate.ground_truth(kind)
    if kind == "a textbook":
        names = [name for name in dl.textbook_dcgs(5, 10) if not name.endswith("-flat")]
        return dl.textbook_dcgs(5, 10)[names[rng.integers(len(names))]]
    steps, falls = rng.dirichlet(np.ones(4)), rng.gamma(0.7, 0.35, 9)
    return dl.DCG(np.append(0, np.cumsum(steps)), np.exp(-np.append(0, np.cumsum(falls))))


def trial(rng, truth, n, flip_rate, n_test):
    """Learn from the same pairs with each learner, and return one record per learner.

    The QP's C is chosen on an equally noisy validation set.
    """
    true = truth_of(truth, rng)
    (test,) = logs(true, rng, n_test)
    train, validation = logs(true, rng, n, n, n_flips=round(flip_rate * n))

    # each learner on the same pairs
    qp = validated(train, validation, GRID)
    learner = dl.DCGLearner().fit(train)
    metrics = {
        "direct": learner.dcg_,
        "free": learner.fit_.free,
        "QP": qp.utility_,
        "QP + SVD": qp.factor().dcg,
        "best textbook": best_textbook(train),
    }
    return [
        {"learner": name, "precision": test.agreement(metric).precision}
        for name, metric in metrics.items()
    ]


def settings(quick):
    """Return a setting for each true DCG, share of flips and number of pairs."""
    sizes, rates, n_test = ((20, 200), (0.0, 0.2), 1000) if quick else (SIZES, RATES, 5000)
    return [
        {"truth": truth, "n": n, "flip_rate": rate, "n_test": n_test}
        for truth in (*TEXTBOOKS, OTHER)
        for rate in rates
        for n in sizes
    ]


def plot(table, axes, headline):
    """Draw precision against the number of pairs, one line per learner.

    Textbook truths stand above, other truths below.
    """
    labels = {
        "direct": "DCGLearner",
        "free": "its free curves alone",
        "best textbook": "best textbook DCG",
    }
    for row, (kinds, truth) in zip(
        axes, ((TEXTBOOKS, "textbook order"), ((OTHER,), "another order")), strict=True
    ):
        for ax, rate in zip(row, (0.0, 0.2), strict=True):
            part = table.filter(pl.col("truth").is_in(kinds), flip_rate=rate)
            curves(part, ax, "n", "precision", lines="learner", labels=labels)

            noise = "no judgement wrong" if rate == 0 else f"{rate:.0%} wrong"
            ax.set(xscale="log", xlabel="number of training pairs", ylabel=MEASURES["precision"])
            ax.set_title(
                f"The truth has a {truth}: {noise}"
                if truth[0] == "t"
                else f"The truth has {truth}: {noise}"
            )
            ax.set_xticks([10, 100, 500], ["10", "100", "500"])
        share_scale(row)
    legend(axes[0][1], "mean over true DCGs", fontsize=7)


def claims(table):
    """Yield our claims: against the QP, against the textbooks, and against the free curves."""
    sizes = tuple(n for n in sorted(table["n"].unique()) if 20 <= n <= 200)
    claim = partial(Claim, table, "ours", "study h")
    yield from against_the_qp(claim, sizes)
    yield from against_its_parts(table, sizes)

    # how much few judgements teach
    for truth in (*TRUTHS, OTHER):
        rows = {"truth": truth, "flip_rate": 0.1, "n": 40, "learner": "direct"}
        name = "another truth" if truth == OTHER else truth
        text = f"`DCGLearner` has a precision of {GOAL} after 40 pairs of {name}, 10% flipped"
        yield claim(text, "precision", rows, low=GOAL)


def against_the_qp(claim, sizes):
    """Yield the claims against the paper's QP and its factors."""
    for rate, noise in ((0.0, "clean"), (0.2, "20% flipped")):
        direct = {"learner": "direct", "flip_rate": rate, "n": sizes, "truth": TRUTHS}
        for rival in ("QP", "QP + SVD"):
            name = "the paper's QP" if rival == "QP" else rival
            text = f"`DCGLearner` beats {name}, {sizes[0]} to {sizes[-1]} pairs, {noise}"
            yield claim(text, "precision", direct, {**direct, "learner": rival}, low=0.0)
        text = f"`DCGLearner` beats the QP, another truth, {noise}"
        other = {**direct, "truth": OTHER}
        yield claim(text, "precision", other, {**other, "learner": "QP"}, low=0.0)

    # with the fewest pairs and the most
    for n in (sizes[0], sizes[-1]):
        rows = {"learner": "direct", "flip_rate": 0.0, "n": n, "truth": TRUTHS}
        text = f"`DCGLearner` beats the paper's QP, {n} pairs, clean"
        yield claim(text, "precision", rows, {**rows, "learner": "QP"}, low=0.0)


def against_its_parts(table, sizes):
    """Yield the claims against what `DCGLearner` weighs: its free curves and textbook DCGs."""
    key = ["truth", "n", "flip_rate", "repeat"]
    wide = table.pivot("learner", index=key, values="precision").with_columns(
        halved=pl.col("direct") - (pl.col("free") + pl.col("best textbook")) / 2,
        behind=pl.col("direct") - pl.col("best textbook"),
        ahead=pl.col("direct") - pl.col("free"),
    )
    claim = partial(Claim, wide, "ours", "study h")

    # in the cell nearest to failing
    def cells(value, text, kinds, low, fewest=0):
        every = product(sorted(table["n"].unique()), sorted(table["flip_rate"].unique()))
        return in_every_cell(
            [
                claim(
                    f"{text}: {n} pairs, {rate:.0%} flipped",
                    value,
                    {"truth": kinds, "n": n, "flip_rate": rate},
                    low=low,
                )
                for n, rate in every
                if n >= fewest
            ]
        )

    text = "a textbook is the truth: `DCGLearner` loses less than half as much as its free curves"
    yield cells("halved", text, TEXTBOOKS, 0.0)
    text = f"a textbook is the truth: `DCGLearner` is at most {NEGLIGIBLE} behind the best"
    yield cells("behind", text, TEXTBOOKS, -NEGLIGIBLE, fewest=200)
    text = f"no textbook is: `DCGLearner` is at most {NEGLIGIBLE} behind its free curves"
    yield cells("ahead", text, OTHER, -NEGLIGIBLE)

    # by size, noise and kind of truth
    of_free = {"a textbook is the truth": TEXTBOOKS, "no textbook is the truth": OTHER}
    of_textbook = {"D1 and D2": TRUTHS, "another truth": OTHER}
    for value, rival, kinds in (
        ("ahead", "its free curves", of_free),
        ("behind", "the best textbook alone", of_textbook),
    ):
        for rate, (kind, truths) in product((0.1, 0.2), kinds.items()):
            rows = {"truth": truths, "flip_rate": rate, "n": sizes}
            size = f"{sizes[0]} to {sizes[-1]} pairs, {rate:.0%} flipped"
            yield claim(f"{kind}: `DCGLearner` beats {rival}, {size}", value, rows, low=0.0)
