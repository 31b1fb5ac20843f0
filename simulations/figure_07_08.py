"""Zhou et al., figures 7 and 8: precision and similarity fall with more wrong grades.

The wrong grades are those of training and validation documents.
"""

import dcglearn as dl
from simulations.claims import Claim
from simulations.run import TRUTHS, draw_falls, grid, logs, recovery, validated, wrong_grades

REPEATS, PANELS, FIGSIZE = 50, 3, (9.5, 3.2)
DOCUMENTS = (0, 100, 200, 400, 600, 800, 1000)


def trial(rng, truth, n, n_documents, n_test):
    """Learn from n pairs with `n_documents` wrong grades.

    C is chosen on a validation set with as many wrong grades.
    """
    true = dl.simulate.ground_truth(truth)
    test, *clean = logs(true, rng, n_test, n, n)
    train, validation = (wrong_grades(log, rng, n_documents=n_documents) for log in clean)
    return recovery(validated(train, validation), true, test)


def settings(quick):
    """Return a setting for each true DCG and number of wrong grades."""
    documents, n_test = ((0, 1000), 1000) if quick else (DOCUMENTS, 5000)
    return grid(truth=TRUTHS, n=200, n_documents=documents, n_test=n_test)


def plot(table, axes, headline):
    """Draw the paper's two measures and the identifiable similarity."""
    draw_falls(table, axes, "n_documents", "wrong grades among 4,000", headline, 7)


def claims(table):
    """Yield the paper's claims, on both true DCGs together."""
    most = table["n_documents"].max()
    clean, noisy = {"n_documents": 0}, {"n_documents": most}
    for figure, measure in (("figure 7", "precision"), ("figure 8", "similarity")):
        text = f"{measure} falls from 0 to {most:,} wrong grades among 4,000"
        yield Claim(table, "zhou", figure, text, measure, clean, noisy, low=0.0)
