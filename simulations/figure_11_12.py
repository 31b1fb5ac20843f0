"""Zhou et al., figures 11 and 12: the Hamming margin is no better than a unit margin.

The paper finds no significant difference in similarity or precision.
"""

import dcglearn as dl
from simulations.claims import NEGLIGIBLE, Claim
from simulations.run import (
    TRUTHS,
    against,
    curves,
    grid,
    legend,
    logs,
    recovery,
    share_scale,
    zero_line,
)

REPEATS, PANELS, FIGSIZE = 50, 2, (7.5, 3.2)
SIZES = tuple(range(20, 201, 20))
MARGINS = ("unit", "hamming")


def trial(rng, truth, n, n_test):
    """Learn from the same pairs with both margins; return one record per margin."""
    true = dl.simulate.ground_truth(truth)
    test, train = logs(true, rng, n_test, n)
    learners = {margin: dl.UtilityLearner(C=1.0, margin=margin).fit(train) for margin in MARGINS}
    return [
        {"margin": margin, **recovery(learner, true, test)} for margin, learner in learners.items()
    ]


def settings(quick):
    """Return a setting for each true DCG and number of pairs."""
    sizes, n_test = ((20, 100, 200), 1000) if quick else (SIZES, 5000)
    return grid(truth=TRUTHS, n=sizes, n_test=n_test)


def plot(table, axes, headline):
    """Draw the difference of both measures between the margins against the number of pairs."""
    for ax, measure, number in zip(axes, ("similarity", "precision"), (11, 12), strict=True):
        name, part = measure.capitalize(), f"does not improve {measure}"
        words = headline(f"{name} is no better", name, part)
        curves(against(table, measure, "margin", "unit", ["truth", "n"]), ax, "n", "difference")
        zero_line(ax)
        ax.set(
            xlabel="number of training pairs",
            ylabel=f"{measure}: Hamming minus unit margin",
            title=f"{words} (figure {number})",
        )
    share_scale(axes)
    legend(axes[1], "true DCG")


def claims(table):
    """Yield the paper's claims, on both true DCGs together."""
    sizes = tuple(n for n in sorted(table["n"].unique()) if n >= 100)
    rows, minus = ({"margin": margin, "n": sizes} for margin in ("hamming", "unit"))
    for figure, measure in (("figure 11", "similarity"), ("figure 12", "precision")):
        text = f"the Hamming margin does not improve {measure}, 100 to {sizes[-1]} pairs"
        yield Claim(table, "zhou", figure, text, measure, rows, minus, high=NEGLIGIBLE)
