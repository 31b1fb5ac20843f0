"""Study i: how much faster does learning from actively chosen pairs go than from random pairs?"""

import numpy as np
import polars as pl

import dcglearn as dl
from simulations.claims import Claim
from simulations.run import MEASURES, TRUTHS, curves, legend, main, repeated, share_scale

STEM, REPEATS, PANELS, FIGSIZE = "study_i_active", 20, 2, (8.5, 3.4)
SIZES = (20, 40, 60, 80, 100)
BATCH = 10
RATES = (0.0, 0.1)
CHOICES = {"asked": "actively chosen", "random": "random"}
"""Labels of the ways to choose pairs, by their names in the table."""


def judged(pairs, true, flip_rate, rng):
    """Return the pairs with the preferred list first, without exact ties; the judge errs in a share of them."""
    difference = true.score(pairs[:, 0]) - true.score(pairs[:, 1])
    pairs, difference = pairs[difference != 0], difference[difference != 0]
    swap = (difference < 0) ^ (rng.random(len(pairs)) < flip_rate)
    return np.where(swap[:, None, None], pairs[:, ::-1], pairs)


def trial(rng, truth, how, flip_rate, sizes, n_test):
    """Ask for judgements in batches, and record the precision at each size."""
    true = dl.simulate.ground_truth(truth)
    test = dl.simulate.preference_pairs(true, n_test, seed=rng)

    def candidates(n):
        return dl.simulate.permutations(dl.simulate.PAPER_LIST, 2 * n, seed=rng).reshape(n, 2, 10)

    pairs, records = judged(candidates(BATCH), true, flip_rate, rng), []
    while True:
        log = dl.Preferences(pairs, n_grades=5)
        if len(pairs) in sizes:
            precision = test.agreement(dl.DCGLearner().fit(log).dcg_).precision
            records.append({"n": len(pairs), "precision": precision})
        if len(pairs) >= max(sizes):
            return records
        pool = candidates(300)
        new = dl.suggest_pairs(log, pool, BATCH).pairs if how == "asked" else pool[:BATCH]
        answers = judged(new, true, flip_rate, rng)
        while len(answers) < BATCH:  # replace tied pairs
            answers = np.concatenate([answers, judged(candidates(1), true, flip_rate, rng)])
        pairs = np.concatenate([pairs, answers])


def simulate(seed, repeats, quick, jobs, progress):
    """Yield one record per true DCG, way of choosing, share of wrong judgements, number of pairs and repeat."""
    sizes, n_test = ((20, 40), 1000) if quick else (SIZES, 5000)
    settings = [
        {"truth": t, "how": how, "flip_rate": rate, "sizes": sizes, "n_test": n_test}
        for t in TRUTHS
        for how in CHOICES
        for rate in RATES
    ]
    for record in repeated(trial, settings, repeats=repeats, seed=seed, jobs=jobs, progress=progress):
        yield {name: value for name, value in record.items() if name != "sizes"}


def plot(table, axes):
    """Draw precision against the number of judgements; dash is the way of choosing."""
    titles = ("No judgement wrong: chosen pairs help", "10% wrong: they help more")
    for ax, rate, title in zip(axes, RATES, titles, strict=True):
        curves(table.filter(pl.col("flip_rate") == rate), ax, "n", "precision", dashes="how", labels=CHOICES)
        ax.set(xlabel="number of judgements", ylabel=MEASURES["precision"], title=title)
    share_scale(axes)
    legend(axes[1], "true DCG, pairs")


def claims(table):
    """Yield our claims on the paper's open question, on both true DCGs together."""
    sizes = tuple(n for n in sorted(table["n"].unique()) if n >= 40)
    for rate, noise in zip(RATES, ("no judgement wrong", "10% wrong"), strict=True):
        chosen, random = ({"how": how, "flip_rate": rate, "n": sizes} for how in CHOICES)
        text = f"chosen pairs teach more than random ones, {sizes[0]} to {sizes[-1]} judgements, {noise}"
        yield Claim(table, "zhou", "section 6.5 (open question)", text, "precision", chosen, random, low=0.0)


if __name__ == "__main__":
    main(__name__)
