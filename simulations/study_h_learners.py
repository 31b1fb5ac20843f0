"""Study h: how many judgements do DCGLearner, the QP and the QP's factors need, with and without noise?"""

import polars as pl

import dcglearn as dl
from simulations.claims import Claim
from simulations.run import MEASURES, TRUTHS, curves, legend, main, repeated, share_scale, validated

STEM, REPEATS, PANELS, FIGSIZE = "study_h_learners", 20, 2, (8.5, 3.4)
SIZES = (10, 20, 40, 60, 100, 200, 500)
RATES = (0.0, 0.2)
GRID = tuple(10.0**power for power in range(-4, 3))


def trial(rng, truth, n, flip_rate, n_test):
    """Learn from the same pairs with each learner; the QP's C is chosen on an equally noisy validation set."""
    true = dl.simulate.ground_truth(truth)
    test = dl.simulate.preference_pairs(true, n_test, seed=rng)
    flips = round(flip_rate * n)
    train, validation = (dl.simulate.preference_pairs(true, n, n_flips=flips, seed=rng) for _ in range(2))
    qp = validated(train, validation, GRID)
    textbook = dl.textbook_dcgs(5, 10).values()
    metrics = {
        "direct": dl.DCGLearner().fit(train).dcg_,
        "QP": qp.utility_,
        "QP + SVD": qp.factor().dcg,
        "best textbook": max(textbook, key=lambda dcg: train.agreement(dcg).share),
    }
    return [{"learner": name, "precision": test.agreement(metric).precision} for name, metric in metrics.items()]


def simulate(seed, repeats, quick, jobs):
    """Yield one record per true DCG, number of pairs, share of flips, learner and repeat."""
    sizes, n_test = ((20, 200), 1000) if quick else (SIZES, 5000)
    settings = [{"truth": t, "n": n, "flip_rate": r, "n_test": n_test} for t in TRUTHS for r in RATES for n in sizes]
    yield from repeated(trial, settings, repeats=repeats, seed=seed, jobs=jobs)


def plot(table, axes):
    """Draw precision against the number of pairs, one line per learner, as means over both true DCGs."""
    titles = ("Clean pairs: few suffice", "20% flipped: the order is the same")
    labels = {"direct": "DCGLearner", "best textbook": "best of 36 textbook DCGs,\nwhich include the truth's order"}
    for ax, rate, title in zip(axes, RATES, titles, strict=True):
        part = table.filter(pl.col("flip_rate") == rate)
        curves(part, ax, "n", "precision", lines="learner", labels=labels)
        ax.set(xscale="log", xlabel="number of training pairs", ylabel=MEASURES["precision"], title=title)
        ax.set_xticks([10, 100, 500], ["10", "100", "500"])
    share_scale(axes)
    legend(axes[1], "mean of D1 and D2", fontsize=7)


def claims(table):
    """Yield our claims, on both true DCGs together."""
    sizes = tuple(n for n in sorted(table["n"].unique()) if 20 <= n <= 200)
    for rate, noise in zip(RATES, ("clean", "20% flipped"), strict=True):
        direct = {"learner": "direct", "flip_rate": rate, "n": sizes}
        for rival in ("QP", "QP + SVD", "best textbook"):
            name = {"QP": "the paper's QP", "best textbook": "the best of 36 textbook DCGs"}.get(rival, rival)
            text = f"`DCGLearner` beats {name}, {sizes[0]} to {sizes[-1]} pairs, {noise}"
            yield Claim(table, "ours", "study h", text, "precision", direct, {**direct, "learner": rival}, low=0.0)


if __name__ == "__main__":
    main(__name__)
