"""Figures 7 and 8: precision and similarity fall as more documents of the training lists get a wrong grade."""

import sys

import numpy as np

import dcglearn as dl
from simulations.run import TRUTHS, Claim, at, curves, legend, main, recovery, repeated, shown, validated

STEM, REPEATS, PANELS, FIGSIZE = "figure_07_08", 50, 3, (9.5, 3.0)
DOCUMENTS = (0, 100, 200, 400, 600, 800, 1000)


def with_noise(log, n_documents, rng):
    """Return the log with so many of its documents' grades wrong; who won stays as it was."""
    pairs = np.stack([log.preferred, log.other], axis=1)
    return dl.Preferences(dl.simulate.noisy_grades(pairs, n_documents, seed=rng), n_grades=5)


def one(rng, truth, n, n_documents, n_test):
    """Learn from n pairs, n_documents of whose 20 n grades are wrong; C chosen on as noisy a set."""
    true = dl.simulate.ground_truth(truth)
    test = dl.simulate.preference_pairs(true, n_test, seed=rng)
    clean = [dl.simulate.preference_pairs(true, n, seed=rng) for _ in range(2)]
    train, validation = (with_noise(log, n_documents, rng) for log in clean)
    return recovery(validated(train, validation), true, test)


def simulate(seed, repeats, quick, jobs, progress):
    """Yield a record a truth, number of wrong grades and repeat."""
    documents, n_test = ((0, 1000), 1000) if quick else (DOCUMENTS, 5000)
    settings = [{"truth": t, "n": 200, "n_documents": d, "n_test": n_test} for t in TRUTHS for d in documents]
    yield from repeated(one, settings, repeats=repeats, seed=seed, jobs=jobs, progress=progress)


def plot(table, axes):
    """Draw the paper's two measures, and the similarity of what the pairs can see."""
    names = ("precision", "similarity", "gauge_free")
    labels = ("precision on unseen clean pairs", "similarity (the paper's)", "similarity of the visible part")
    for ax, name, label in zip(axes, names, labels, strict=True):
        curves(table, ax, "n_documents", name)
        ax.set(xlabel="documents with a wrong grade, of 4,000", ylabel=label)
    legend(axes[0], "truth")


def claims(table):
    """Return what the table says of the paper's claims."""
    most = table["n_documents"].max()
    for figure, name in (("7", "precision"), ("8", "similarity")):
        ends = {t: [at(table, name, truth=t, n_documents=d) for d in (0, most)] for t in TRUTHS}
        number = "; ".join(f"{t}: {shown(a)} clean, {shown(b)} with {most} wrong grades" for t, (a, b) in ends.items())
        falls = all(clean[0] > noisy[0] for clean, noisy in ends.values())
        yield Claim(
            figure,
            f"{name} falls as more documents get a wrong grade",
            number,
            "holds" if falls else "does not hold",
            "A wrong grade is any other grade, drawn for each list and position by itself; tested on clean pairs.",
        )


if __name__ == "__main__":
    main(sys.modules[__name__])
