"""Zhou et al., figure 13: the utility is learned without grades, from the documents' identities alone."""

import numpy as np

import dcglearn as dl
from simulations.run import TRUTHS, Claim, at, curves, legend, main, repeated, shown

STEM, REPEATS, PANELS, FIGSIZE = "figure_13", 50, 1, (4.2, 3.2)
SIZES = (20, 60, 100, 200, 400, 700, 1000, 2000)


def trial(rng, truth, n, n_test):
    """Learn a K x K utility from n pairs of rankings of ten documents whose grades are hidden."""
    true = dl.simulate.ground_truth(truth)
    test = dl.simulate.ungraded_pairs(true, n_test, seed=rng)
    train = dl.simulate.ungraded_pairs(true, n, seed=rng)
    learned = dl.UtilityLearner(C=1.0).fit(train).utility_
    hidden = dl.Utility(true.utility.weights[:, np.array(dl.simulate.PAPER_LIST)])
    return {
        "precision": test.agreement(learned).precision,
        "gauge_free": dl.identifiable_similarity(learned, hidden, test.visible()),
    }


def simulate(seed, repeats, quick, jobs, progress):
    """Yield one record per true DCG, number of pairs and repeat."""
    sizes, n_test = ((20, 200, 1000), 1000) if quick else (SIZES, 5000)
    settings = [{"truth": truth, "n": n, "n_test": n_test} for truth in TRUTHS for n in sizes]
    yield from repeated(trial, settings, repeats=repeats, seed=seed, jobs=jobs, progress=progress)


def plot(table, axes):
    """Draw precision against the number of pairs."""
    curves(table, axes, "n", "precision")
    axes.set(xlabel="number of training pairs", ylabel="precision on test pairs", xscale="log")
    axes.set_xticks([20, 100, 1000], ["20", "100", "1,000"])
    legend(axes, "true DCG")


def claims(table):
    """Yield the paper's claim, with the table's numbers and verdict."""
    precision = {t: [at(table, "precision", truth=t, n=n) for n in (200, 1000)] for t in TRUTHS}
    yield Claim(
        "13",
        "the utility is learned accurately without the documents' grades",
        "; ".join(f"{t}: {shown(low)} at 200 pairs, {shown(high)} at 1,000" for t, (low, high) in precision.items()),
        "holds with a condition" if all(high[0] > 0.9 for _, high in precision.values()) else "does not hold",
        "Several times the pairs of figure 1 are needed, since there are 100 weights and no order of grades restricts "
        "them.",
    )


if __name__ == "__main__":
    main(__name__)
