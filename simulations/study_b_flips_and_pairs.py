"""Study b: how well is the true DCG recovered from flipped pairs, and do more pairs help?

Up to 45% of the pairs are flipped.
"""

import dcglearn as dl
from simulations.claims import Claim
from simulations.run import (
    DASHED,
    MEASURES,
    TRUTHS,
    curves,
    grid,
    legend,
    logs,
    recovery,
    share_scale,
    validated,
)

REPEATS, PANELS, FIGSIZE = 20, 2, (8.0, 3.4)
RATES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.45)
SIZES = (200, 1000, 10_000)


def trial(rng, truth, n, flip_rate, n_test):
    """Learn from n pairs with this share of flips; C is chosen on 1,000 equally noisy pairs."""
    true = dl.simulate.ground_truth(truth)
    (test,) = logs(true, rng, n_test)
    (train,) = logs(true, rng, n, n_flips=round(flip_rate * n))
    (validation,) = logs(true, rng, 1000, n_flips=round(flip_rate * 1000))
    return recovery(validated(train, validation), true, test)


def settings(quick):
    """Return a setting for each true DCG, number of pairs and share of flips."""
    rates, sizes, n_test = ((0.0, 0.4), SIZES[:2], 1000) if quick else (RATES, SIZES, 5000)
    return grid(truth=TRUTHS, n=sizes, flip_rate=rates, n_test=n_test)


def plot(table, axes, headline):
    """Draw precision and identifiable similarity against the share of flips.

    Each line is of one true DCG and number of pairs.
    """
    labels = {str(n): f"{n:,} pairs" for n in SIZES}
    finding, part = "More pairs make up for some flips", "flipped pairs teach as much as"
    titles = headline(finding, "Precision", part), "Identifiable similarity"
    for ax, measure, title in zip(axes, ("precision", "gauge_free"), titles, strict=True):
        curves(
            table.sort("n", descending=True), ax, "flip_rate", measure, dashes="n", labels=labels
        )
        ax.set(xlabel="share of flipped training pairs", ylabel=MEASURES[measure], title=title)

    # what clean pairs reach
    clean = table.filter(n=SIZES[0], flip_rate=0.0)["precision"].mean()
    axes[0].axhline(clean, lw=0.8, **DASHED)
    axes[0].text(
        0.45, clean + 0.004, "200 clean pairs", fontsize=7, color="0.3", ha="right", va="bottom"
    )
    share_scale(axes)
    legend(axes[1], fontsize=7)


def claims(table):
    """Yield our claims, on both true DCGs together."""
    sizes = sorted(table["n"].unique())
    clean = {"n": sizes[0], "flip_rate": 0.0}
    few, many, some = (
        {"n": n, "flip_rate": rate}
        for n, rate in ((sizes[0], 0.4), (sizes[-1], 0.4), (sizes[-1], 0.2))
    )

    text = f"{sizes[-1]:,} pairs teach more than {sizes[0]}, 40% flipped"
    yield Claim(table, "ours", "study b", text, "precision", many, few, low=0.0)
    yield Claim(
        table,
        "ours",
        "study b",
        f"{sizes[-1]:,} flipped pairs teach as much as {sizes[0]} clean ones",
        "precision",
        some,
        clean,
        low=0.0,
        condition="if 20% are flipped, not 40%",
        otherwise=(many, clean),
    )
