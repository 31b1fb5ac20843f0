"""How much faster does one learn by asking the right questions?"""

import sys

import numpy as np
import polars as pl

import dcglearn as dl
from simulations.run import TRUTHS, Claim, at, curves, legend, main, repeated, shown

STEM, REPEATS, PANELS, FIGSIZE = "study_i_active", 20, 2, (8.5, 3.4)
SIZES = (20, 40, 60, 80, 100)
BATCH = 10
RATES = (0.0, 0.1)


def judged(pairs, true, flip_rate, rng):
    """Return the pairs, the list that the judge prefers first; exact ties are not shown to the judge."""
    difference = true.score(pairs[:, 0]) - true.score(pairs[:, 1])
    pairs, difference = pairs[difference != 0], difference[difference != 0]
    swap = (difference < 0) ^ (rng.random(len(pairs)) < flip_rate)
    return np.where(swap[:, None, None], pairs[:, ::-1], pairs)


def one(rng, truth, how, flip_rate, sizes, n_test):
    """Ask in batches, by chance or by choice, and measure on the way."""
    true = dl.simulate.ground_truth(truth)
    test = dl.simulate.preference_pairs(true, n_test, seed=rng)

    def offered(n):
        return dl.simulate.permutations(dl.simulate.PAPER_LIST, 2 * n, seed=rng).reshape(n, 2, 10)

    pairs, records = judged(offered(BATCH), true, flip_rate, rng), []
    while True:
        log = dl.Preferences(pairs, n_grades=5)
        if len(pairs) in sizes:
            precision = test.agreement(dl.DCGLearner().fit(log).dcg_).precision
            records.append({"n": len(pairs), "precision": precision})
        if len(pairs) >= max(sizes):
            return records
        pool = offered(300)
        new = dl.suggest_pairs(log, pool, BATCH).pairs if how == "asked" else pool[:BATCH]
        answers = judged(new, true, flip_rate, rng)
        while len(answers) < BATCH:  # for a pair that was tied, another
            answers = np.concatenate([answers, judged(offered(1), true, flip_rate, rng)])
        pairs = np.concatenate([pairs, answers])


def simulate(seed, repeats, quick, jobs, progress):
    """Yield a record a truth, way of asking, share of wrong answers, number of pairs and repeat."""
    sizes, n_test = ((20, 40), 1000) if quick else (SIZES, 5000)
    settings = [
        {"truth": t, "how": how, "flip_rate": rate, "sizes": sizes, "n_test": n_test}
        for t in TRUTHS
        for how in ("asked", "random")
        for rate in RATES
    ]
    for record in repeated(one, settings, repeats=repeats, seed=seed, jobs=jobs, progress=progress):
        yield {name: value for name, value in record.items() if name != "sizes"}


def plot(table, axes):
    """Draw precision against the number of answers, a line a way of asking and truth."""
    named = table.with_columns(line=pl.col("how") + ", " + pl.col("truth"))
    for ax, rate, title in zip(axes, RATES, ("all answers right", "10% of the answers wrong"), strict=True):
        curves(named.filter(pl.col("flip_rate") == rate), ax, "n", "precision", lines="line")
        ax.set(xlabel="judgements", ylabel="precision on unseen clean pairs", title=title)
    legend(axes[0])


def claims(table):
    """Return what the table says."""
    sizes = sorted(table["n"].unique())
    for rate, words in zip(RATES, ("right answers", "10% wrong answers"), strict=True):
        found = {
            (how, t, n): at(table, "precision", how=how, truth=t, n=n, flip_rate=rate)
            for how in ("asked", "random")
            for t in TRUTHS
            for n in sizes
        }
        better = [found["asked", t, n][0] > found["random", t, n][0] for t in TRUTHS for n in sizes]
        yield Claim(
            "i",
            f"questions that were chosen teach more than random ones: {words}",
            "; ".join(
                f"{t}, {n} pairs: {shown(found['asked', t, n])} asked, {shown(found['random', t, n])} random"
                for t in TRUTHS
                for n in sizes
                if n in (40, 60, 100)
            ),
            "holds" if all(better) else "holds with a condition" if better[-1] else "does not hold",
            f"Batches of {BATCH} out of 300 pairs, the first batch at random; the same learner."
            + ("" if all(better) else f" True at {sum(better)} of {len(better)} sizes and truths."),
        )


if __name__ == "__main__":
    main(sys.modules[__name__])
