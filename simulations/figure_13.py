"""Zhou et al., figure 13: the utility is learned without grades, from documents' identities."""

from functools import partial

import numpy as np

import dcglearn as dl
from simulations.claims import CLOSE, Claim
from simulations.run import MEASURES, TRUTHS, curves, grid, legend

REPEATS, PANELS, FIGSIZE = 50, 1, (4.4, 3.4)
SIZES = (20, 60, 100, 200, 400, 700, 1000, 2000)


def trial(rng, truth, n, n_test):
    """Learn a K x K utility from n pairs of rankings of ten documents whose grades are hidden."""
    true = dl.simulate.ground_truth(truth)
    test = dl.simulate.ungraded_pairs(true, n_test, random_state=rng)
    train = dl.simulate.ungraded_pairs(true, n, random_state=rng)
    learner = dl.UtilityLearner(C=1.0).fit(train)
    learned, grades = learner.utility_, np.array(dl.simulate.PAPER_LIST)
    hidden = dl.Utility(true.utility.weights[:, grades])
    return {
        "precision": test.agreement(learned).precision,
        "gauge_free": dl.trust.identifiable_similarity(learned, hidden, test.visible()),
        "relevance": float(np.corrcoef(learner.factor().dcg.gains, true.gains[grades])[0, 1]),
    }


def settings(quick):
    """Return a setting for each true DCG and number of pairs."""
    sizes, n_test = ((20, 200, 1000), 1000) if quick else (SIZES, 5000)
    return grid(truth=TRUTHS, n=sizes, n_test=n_test)


def plot(table, axes, headline):
    """Draw precision against the number of pairs."""
    curves(table, axes, "n", "precision")
    axes.set(xlabel="number of training pairs", ylabel=MEASURES["precision"], xscale="log")
    axes.set_xticks([20, 100, 1000], ["20", "100", "1,000"])
    finding = "Weights are learned without grades, from\nmore pairs"
    words = headline(finding, "Weights without\ngrades", "without grades, precision")
    axes.set_title(f"{words} (Zhou et al., figure 13)")
    legend(axes, "true DCG")


def claims(table):
    """Yield the paper's claims, on both true DCGs together."""
    claim, near = partial(Claim, table, "zhou"), 0.95 - CLOSE
    text = "without grades, precision comes close to .95"
    few, many = {"n": 200}, {"n": 1000}
    yield claim(
        "figure 13",
        text,
        "precision",
        many,
        low=near,
        condition="if there are 1,000 pairs, not 200 as with grades",
        otherwise=(few, None),
    )

    text = (
        "learned weights can be read as relevance: "
        "correlation with the true gains above .95, 1,000 pairs"
    )
    yield claim("section 8", text, "relevance", many, low=0.95)
