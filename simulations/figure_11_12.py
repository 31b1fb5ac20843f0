"""Figures 11 and 12: asking for the Hamming distance as margin, rather than 1, gains nothing significant."""

import sys

import dcglearn as dl
from simulations.run import TRUTHS, Claim, curves, legend, main, paired, recovery, repeated

STEM, REPEATS, PANELS, FIGSIZE = "figure_11_12", 50, 2, (7.5, 3.2)
SIZES = tuple(range(20, 201, 20))
MARGINS = ("unit", "hamming")


def one(rng, truth, n, n_test):
    """Learn from the same pairs with both margins; a record each."""
    true = dl.simulate.ground_truth(truth)
    test = dl.simulate.preference_pairs(true, n_test, seed=rng)
    train = dl.simulate.preference_pairs(true, n, seed=rng)
    learners = {margin: dl.UtilityLearner(C=1.0, margin=margin).fit(train) for margin in MARGINS}
    return [{"margin": margin, **recovery(learner, true, test)} for margin, learner in learners.items()]


def simulate(seed, repeats, quick, jobs, progress):
    """Yield a record a truth, number of pairs, margin and repeat."""
    sizes, n_test = ((20, 100, 200), 1000) if quick else (SIZES, 5000)
    settings = [{"truth": truth, "n": n, "n_test": n_test} for truth in TRUTHS for n in sizes]
    yield from repeated(one, settings, repeats=repeats, seed=seed, jobs=jobs, progress=progress)


def plot(table, axes):
    """Draw both measures against the number of pairs."""
    lines = table.with_columns(line=table["truth"] + ", " + table["margin"].replace("hamming", "Hamming") + " margin")
    for ax, name, label in zip(
        axes, ("similarity", "precision"), ("similarity (the paper's)", "precision"), strict=True
    ):
        curves(lines, ax, "n", name, lines="line")
        ax.set(xlabel="training pairs", ylabel=label)
    legend(axes[1], fontsize=7)


def gain(table, name, truth, n):
    """Return how much the Hamming margin gains over the unit margin, with the error of the paired difference."""
    rows = table.filter(truth=truth, n=n).sort("repeat")
    unit, hamming = (rows.filter(margin=margin)[name] for margin in MARGINS)
    return paired(hamming, unit)


def claims(table):
    """Return what the table says of the paper's claims."""
    sizes = [n for n in sorted(table["n"].unique()) if n >= 100]
    for figure, name in (("11", "similarity"), ("12", "precision")):
        gains = {(t, n): gain(table, name, t, n) for t in TRUTHS for n in sizes}
        number = "; ".join(
            f"{t}, {n} pairs: {gains[t, n][0]:+.4f} ± {gains[t, n][1]:.4f}"
            for t in TRUTHS
            for n in (sizes[0], sizes[-1])
        )
        largest = max(abs(mean) for mean, _ in gains.values())
        none = all(mean <= 2 * error for mean, error in gains.values())
        yield Claim(
            figure,
            f"the Hamming margin gains no significant {name}",
            number,
            "holds" if none else "does not hold",
            f"Hamming less unit margin on the same pairs, C = 1: at most {largest:.3f} in size"
            + (", and where it is more than two errors, Hamming is the worse." if none else "."),
        )


if __name__ == "__main__":
    main(sys.modules[__name__])
