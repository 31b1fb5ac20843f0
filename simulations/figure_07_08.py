"""Zhou et al., figures 7 and 8: precision and similarity fall with more wrong grades.

The wrong grades are those of training and validation documents.
"""

import dcglearn as dl
from simulations.claims import Claim, headline
from simulations.run import TRUTHS, draw_measures, recovery, repeated, validated, wrong_grades

STEM, REPEATS, PANELS, FIGSIZE = "figure_07_08", 50, 3, (9.5, 3.2)
DOCUMENTS = (0, 100, 200, 400, 600, 800, 1000)


def trial(rng, truth, n, n_documents, n_test):
    """Learn from n pairs with `n_documents` wrong grades.

    C is chosen on a validation set with as many wrong grades.
    """
    true = dl.simulate.ground_truth(truth)
    test = dl.simulate.preference_pairs(true, n_test, random_state=rng)
    clean = [dl.simulate.preference_pairs(true, n, random_state=rng) for _ in range(2)]
    train, validation = (wrong_grades(log, rng, n_documents=n_documents) for log in clean)
    return recovery(validated(train, validation), true, test)


def simulate(seed, repeats, quick, jobs):
    """Yield one record per true DCG, number of wrong grades and repeat."""
    documents, n_test = ((0, 1000), 1000) if quick else (DOCUMENTS, 5000)
    settings = [
        {"truth": t, "n": 200, "n_documents": d, "n_test": n_test}
        for t in TRUTHS
        for d in documents
    ]
    yield from repeated(trial, settings, repeats=repeats, seed=seed, jobs=jobs)


def plot(table, axes):
    """Draw the paper's two measures and the identifiable similarity."""
    claimed = list(claims(table))
    titles = (
        headline(claimed, "Precision falls", "Precision", "precision falls") + " (figure 7)",
        headline(claimed, "Similarity falls", "Similarity", "similarity falls") + " (figure 8)",
        "Identifiable similarity (ours)",
    )
    draw_measures(table, axes, "n_documents", "wrong grades among 4,000", titles)


def claims(table):
    """Yield the paper's claims, on both true DCGs together."""
    most = table["n_documents"].max()
    clean, noisy = {"n_documents": 0}, {"n_documents": most}
    for figure, measure in (("figure 7", "precision"), ("figure 8", "similarity")):
        text = f"{measure} falls from 0 to {most:,} wrong grades among 4,000"
        yield Claim(table, "zhou", figure, text, measure, clean, noisy, low=0.0)
