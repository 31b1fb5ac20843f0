"""Figure 13: without grades, from the documents' identities alone, the utility is learned too."""

import sys

import numpy as np

import dcglearn as dl
from simulations.run import TRUTHS, Claim, at, curves, legend, main, repeated, shown

STEM, REPEATS, PANELS, FIGSIZE = "figure_13", 50, 1, (4.2, 3.2)
SIZES = (20, 60, 100, 200, 400, 700, 1000, 2000)


def one(rng, truth, n, n_test):
    """Learn a K x K utility from n pairs of rankings of ten documents whose grades are hidden."""
    true = dl.simulate.ground_truth(truth)
    test = dl.simulate.ungraded_pairs(true, n_test, seed=rng)
    train = dl.simulate.ungraded_pairs(true, n, seed=rng)
    found = dl.UtilityLearner(C=1.0).fit(train)
    hidden = dl.Utility(true.utility.weights[:, np.array(dl.simulate.PAPER_LIST)])
    return {
        "precision": test.agreement(found.utility_).precision,
        "gauge_free": dl.identifiable_similarity(found.utility_, hidden, test.visible()),
    }


def simulate(seed, repeats, quick, jobs, progress):
    """Yield a record a truth, number of pairs and repeat."""
    sizes, n_test = ((20, 200, 1000), 1000) if quick else (SIZES, 5000)
    settings = [{"truth": truth, "n": n, "n_test": n_test} for truth in TRUTHS for n in sizes]
    yield from repeated(one, settings, repeats=repeats, seed=seed, jobs=jobs, progress=progress)


def plot(table, axes):
    """Draw precision against the number of pairs."""
    curves(table, axes, "n", "precision")
    axes.set(xlabel="training pairs (logarithmic)", ylabel="precision on unseen pairs", xscale="log")
    axes.set_xticks([20, 100, 1000], ["20", "100", "1,000"])
    legend(axes, "truth")


def claims(table):
    """Return what the table says of the paper's claim."""
    found = {t: [at(table, "precision", truth=t, n=n) for n in (200, 1000)] for t in TRUTHS}
    number = "; ".join(f"{t}: {shown(few)} at 200 pairs, {shown(many)} at 1,000" for t, (few, many) in found.items())
    yield Claim(
        "13",
        "the utility is learned precisely without the documents' grades",
        number,
        "holds with a condition" if all(many[0] > 0.9 for _, many in found.values()) else "does not hold",
        "With 100 weights and no order of grades to help, it takes several times the pairs of figure 1.",
    )


if __name__ == "__main__":
    main(sys.modules[__name__])
