"""Study l: what does the smoothness prior cost when the true gains and discounts are not smooth?"""

import numpy as np

import dcglearn as dl
from simulations.claims import NEGLIGIBLE, Claim
from simulations.findings import headline
from simulations.run import against, curves, legend, main, repeated, share_scale, zero_line

STEM, REPEATS, PANELS, FIGSIZE = "study_l_steps", 20, 2, (8.0, 3.4)
SIZES = (30, 100, 300, 1000)
KINDS = {"binary2-log2": "binary2-log2", "any shape": "random steps"}
"""Labels of the true DCGs, by their names in the table."""


def random_steps(rng):
    """Return a DCG with independent random steps, some near 0 and some large."""
    steps, falls = rng.exponential(size=4) ** 2, rng.exponential(size=10) ** 2
    return dl.DCG(np.concatenate([[0], np.cumsum(steps)]), np.cumsum(falls[::-1])[::-1])


def trial(rng, kind, n, n_test):
    """Learn with a weak, the default and a strong prior, and with the QP.

    A tenth of the pairs is flipped.
    """
    true = random_steps(rng) if kind == "any shape" else dl.metric(kind, 5, 10)
    test = dl.simulate.preference_pairs(true, n_test, lists="free", random_state=rng)
    log = dl.simulate.preference_pairs(true, n, lists="free", n_flips=n // 10, random_state=rng)
    metrics = {
        f"direct, ridge {ridge:g}": dl.DCGLearner(ridge=ridge).fit(log).dcg_
        for ridge in (0.1, 2.0, 20.0)
    }
    metrics["QP + SVD, C = 0.1"] = dl.UtilityLearner(C=0.1).fit(log).factor().dcg
    return [
        {"learner": name, "share": test.agreement(metric).share} for name, metric in metrics.items()
    ]


def simulate(seed, repeats, quick, jobs):
    """Yield one record per true DCG, number of pairs, learner and repeat."""
    sizes, n_test = ((30, 100), 1000) if quick else (SIZES, 5000)
    settings = [{"kind": kind, "n": n, "n_test": n_test} for kind in KINDS for n in sizes]
    yield from repeated(trial, settings, repeats=repeats, seed=seed, jobs=jobs)


def plot(table, axes):
    """Draw the difference of each learner from the default one against the number of pairs."""
    default = "direct, ridge 2"
    labels = {name: name.replace("direct, ", "") for name in table["learner"].unique()}
    claimed = list(claims(table))
    for ax, (kind, label) in zip(axes, KINDS.items(), strict=True):
        finding = f"{label}: the default prior\ncosts hardly anything"
        rests_on = f"{label}: ridge 2 (default) is no worse"
        part = against(table.filter(kind=kind), "share", "learner", default, ["n"])
        curves(part, ax, "n", "difference", lines="learner", labels=labels)
        zero_line(ax)
        ax.set(
            xscale="log",
            xlabel="number of training pairs (10% flipped)",
            title=headline(claimed, finding, f"{label}: priors\nand the QP", rests_on),
        )
        ax.set_ylabel("share respected minus the default's (ridge 2)")
        ax.set_xticks(SIZES, [f"{n:,}" for n in SIZES])
        ax.minorticks_off()
    share_scale(axes)
    legend(axes[1], "learner", loc="lower right")


def claims(table):
    """Yield our claims for each true DCG with steps.

    A loss that is at most negligible counts as no harm.
    """
    sizes = sorted(table["n"].unique())
    large = tuple(n for n in sizes if n >= 100)
    weak, default, strong, svd = table["learner"].unique(maintain_order=True)
    for kind, label in KINDS.items():
        for one, other, n, text in (
            (default, weak, sizes[0], f"ridge 2 (default) is no worse than .1, {sizes[0]} pairs"),
            (
                default,
                weak,
                sizes[-1],
                f"ridge 2 (default) is no worse than .1, {sizes[-1]:,} pairs",
            ),
            (default, svd, tuple(sizes), "ridge 2 is no worse than QP + SVD, all sizes"),
            (strong, svd, large, "ridge 20 is no worse than QP + SVD, 100 pairs and more"),
        ):
            if (kind, other, n) == ("any shape", weak, sizes[-1]):
                continue  # as near to the bound as makes no difference: thousands of repeats
            rows, minus = ({"kind": kind, "learner": learner, "n": n} for learner in (one, other))
            yield Claim(
                table, "ours", "study l", f"{label}: {text}", "share", rows, minus, low=-NEGLIGIBLE
            )


if __name__ == "__main__":
    main(__name__)
