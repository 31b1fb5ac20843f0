"""How much of the truth can be recovered when up to 45% of the pairs are flipped, with more pairs to make up for it?"""

import sys
from itertools import pairwise

import dcglearn as dl
from simulations.run import Claim, at, curves, legend, main, recovery, repeated, shown, validated

STEM, REPEATS, PANELS, FIGSIZE = "study_b_flips_and_pairs", 20, 2, (7.5, 3.2)
RATES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.45)
SIZES = (200, 1000, 10_000)


def one(rng, truth, n, flip_rate, n_test):
    """Learn from n pairs of which this share is flipped, C chosen on another 1,000 with as many flips."""
    true = dl.simulate.ground_truth(truth)
    test = dl.simulate.preference_pairs(true, n_test, seed=rng)
    sets = (dl.simulate.preference_pairs(true, m, n_flips=round(flip_rate * m), seed=rng) for m in (n, 1000))
    return recovery(validated(*sets), true, test)


def simulate(seed, repeats, quick, jobs, progress):
    """Yield a record a number of pairs, share of flips and repeat."""
    rates, sizes, n_test = ((0.0, 0.4), SIZES[:2], 1000) if quick else (RATES, SIZES, 5000)
    settings = [{"truth": "D1", "n": n, "flip_rate": rate, "n_test": n_test} for n in sizes for rate in rates]
    yield from repeated(one, settings, repeats=repeats, seed=seed, jobs=jobs, progress=progress)


def plot(table, axes):
    """Draw precision and visible similarity against the share of flips, one line a number of pairs."""
    labels = {str(n): f"{n:,} pairs" for n in SIZES}
    for ax, name, label in zip(
        axes, ("precision", "gauge_free"), ("precision on clean pairs", "similarity of the visible part"), strict=True
    ):
        curves(table, ax, "flip_rate", name, lines="n", **labels)
        ax.set(xlabel="share of pairs flipped (D1)", ylabel=label)
    legend(axes[0])


def claims(table):
    """Return what the table says."""
    sizes = sorted(table["n"].unique())
    found = {n: at(table, "precision", n=n, flip_rate=0.4) for n in sizes}
    clean = at(table, "precision", n=sizes[0], flip_rate=0.0)
    grows = all(found[a][0] < found[b][0] for a, b in pairwise(sizes))
    yield Claim(
        "b",
        "more pairs make up for flips",
        "; ".join(f"{n:,} pairs with 40% flips: {shown(value)}" for n, value in found.items())
        + f"; {sizes[0]} clean pairs: {shown(clean)}",
        "holds" if grows else "does not hold",
        "Flips are symmetric noise: they shrink the pull of the pairs by 1 - 2 p, and do not turn it.",
    )


if __name__ == "__main__":
    main(sys.modules[__name__])
