"""What does the prior for smooth curves cost where the truth has steps, or no shape at all?"""

import sys

import numpy as np

import dcglearn as dl
from simulations.run import Claim, at, curves, legend, main, repeated, shown

STEM, REPEATS, PANELS, FIGSIZE = "study_l_steps", 20, 2, (8.5, 3.4)
SIZES = (30, 100, 300, 1000)
KINDS = ("binary2-log2", "any shape")


def shapeless(rng):
    """Return a DCG whose steps are drawn independently, some near 0, some large."""
    steps, falls = rng.exponential(size=4) ** 2, rng.exponential(size=10) ** 2
    return dl.DCG(np.concatenate([[0], np.cumsum(steps)]), np.cumsum(falls[::-1])[::-1])


def one(rng, kind, n, n_test):
    """Learn with a weak, the default and a strong prior, and by the QP, from pairs of which 10% are flipped."""
    true = shapeless(rng) if kind == "any shape" else dl.DCG.from_name(kind, 5)
    test = dl.simulate.preference_pairs(true, n_test, lists="free", seed=rng)
    log = dl.simulate.preference_pairs(true, n, lists="free", n_flips=n // 10, seed=rng)
    found = {f"direct, ridge {ridge:g}": dl.DCGLearner(ridge=ridge).fit(log).dcg_ for ridge in (0.1, 2.0, 20.0)}
    found["QP + SVD, C = 0.1"] = dl.UtilityLearner(C=0.1).fit(log).factor().dcg
    return [{"learner": name, "share": test.agreement(metric).share} for name, metric in found.items()]


def simulate(seed, repeats, quick, jobs, progress):
    """Yield a record a kind of truth, number of pairs, learner and repeat."""
    sizes, n_test = ((30, 100), 1000) if quick else (SIZES, 5000)
    settings = [{"kind": kind, "n": n, "n_test": n_test} for kind in KINDS for n in sizes]
    yield from repeated(one, settings, repeats=repeats, seed=seed, jobs=jobs, progress=progress)


def plot(table, axes):
    """Draw the share respected against the number of pairs, a line a learner."""
    for ax, kind in zip(axes, KINDS, strict=True):
        curves(table.filter(kind=kind), ax, "n", "share", lines="learner")
        ax.set(
            xscale="log",
            xlabel="training pairs, 10% flipped",
            ylabel="share of unseen clean pairs",
            title=f"truth: {kind}",
        )
    legend(axes[1], "learner", loc="lower right")


def claims(table):
    """Return what the table says."""
    sizes = sorted(table["n"].unique())
    for kind in KINDS:
        found = {
            (name, n): at(table, "share", kind=kind, learner=name, n=n)
            for name in table["learner"].unique(maintain_order=True)
            for n in sizes
        }
        ahead = all(found["direct, ridge 2", n][0] > found["QP + SVD, C = 0.1", n][0] for n in sizes)
        yield Claim(
            "l",
            f"the prior for smooth curves does no harm on a truth with steps: {kind}",
            "; ".join(
                f"{n} pairs: " + ", ".join(f"{name} {shown(value)}" for (name, m), value in found.items() if m == n)
                for n in (sizes[0], sizes[-1])
            ),
            "holds" if ahead else "holds with a condition",
            "Against the QP's factors; bends are charged by a Huber loss, so a few sharp ones are cheap.",
        )


if __name__ == "__main__":
    main(sys.modules[__name__])
