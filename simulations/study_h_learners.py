"""How many judgements does each learner need, clean and noisy: gains and discounts directly, the QP, its factors?"""

import sys

import polars as pl

import dcglearn as dl
from simulations.run import TRUTHS, Claim, at, curves, legend, main, repeated, shown, validated

STEM, REPEATS, PANELS, FIGSIZE = "study_h_learners", 20, 2, (8.5, 3.4)
SIZES = (10, 20, 40, 60, 100, 200, 500)
RATES = (0.0, 0.2)
GRID = tuple(10.0**power for power in range(-4, 3))


def one(rng, truth, n, flip_rate, n_test):
    """Learn from the same pairs in every way; the QP's C is chosen on another set as large and as noisy."""
    true = dl.simulate.ground_truth(truth)
    test = dl.simulate.preference_pairs(true, n_test, seed=rng)
    flips = round(flip_rate * n)
    train, validation = (dl.simulate.preference_pairs(true, n, n_flips=flips, seed=rng) for _ in range(2))
    qp = validated(train, validation, GRID)
    textbook = dl.textbook_dcgs(5, 10).values()
    found = {
        "direct": dl.DCGLearner().fit(train).dcg_,
        "QP": qp.utility_,
        "QP + SVD": qp.factor().dcg,
        "best textbook": max(textbook, key=lambda dcg: train.agreement(dcg).share),
    }
    return [{"learner": name, "precision": test.agreement(metric).precision} for name, metric in found.items()]


def simulate(seed, repeats, quick, jobs, progress):
    """Yield a record a truth, number of pairs, share of flips, learner and repeat."""
    sizes, n_test = ((20, 100), 1000) if quick else (SIZES, 5000)
    settings = [{"truth": t, "n": n, "flip_rate": r, "n_test": n_test} for t in TRUTHS for r in RATES for n in sizes]
    yield from repeated(one, settings, repeats=repeats, seed=seed, jobs=jobs, progress=progress)


def plot(table, axes):
    """Draw precision against the number of pairs, a line a learner, both truths together."""
    for ax, rate, title in zip(axes, RATES, ("clean", "20% flipped"), strict=True):
        curves(table.filter(pl.col("flip_rate") == rate), ax, "n", "precision", lines="learner")
        ax.set(
            xscale="log", xlabel="training pairs", ylabel="precision on unseen clean pairs", title=f"{title}, D1 and D2"
        )
    legend(axes[1], "learner")


def claims(table):
    """Return what the table says."""
    sizes = sorted(table["n"].unique())
    for rate, words in zip(RATES, ("clean pairs", "20% of the pairs flipped"), strict=True):
        found = {
            (name, n): at(table, "precision", learner=name, n=n, flip_rate=rate)
            for name in ("direct", "QP", "QP + SVD", "best textbook")
            for n in sizes
        }
        best = all(found["direct", n][0] >= max(found[name, n][0] for name in ("QP", "QP + SVD")) for n in sizes)
        yield Claim(
            "h",
            f"learning gains and discounts directly needs fewer judgements: {words}",
            "; ".join(
                f"{n} pairs: {shown(found['direct', n])}, QP {shown(found['QP', n])}, "
                f"QP + SVD {shown(found['QP + SVD', n])}"
                for n in sizes
                if n in (20, 60, 100, 200)
            ),
            "holds" if best else "does not hold",
            "Mean of D1 and D2. Its prior for smooth curves suits both truths; study l asks what it costs where the "
            "truth has steps. (D1 and D2 order lists as two of the textbook DCGs do: choosing among those finds them.)"
            if rate == 0
            else "The direct learner estimates how many verdicts are wrong; the QP's C is chosen on a second set.",
        )


if __name__ == "__main__":
    main(sys.modules[__name__])
