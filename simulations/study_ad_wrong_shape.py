"""Study ad: what does a wrong number of grades or positions cost?

The truth has five grades and ten positions. The learner sees too few or too many of either.
"""

import numpy as np

import dcglearn as dl
from simulations.claims import NEGLIGIBLE, Claim
from simulations.findings import headline
from simulations.run import TRUTHS, curves, legend, main, repeated, zero_line

STEM, REPEATS, PANELS, FIGSIZE = "study_ad_wrong_shape", 50, 1, (5.6, 3.6)
SIZES, N_TEST, LENGTH = (50, 200, 1000), 5000, 20
MERGED = np.array([0, 1, 1, 2, 2])
"""The grade of three that stands for each of five."""

WRONG = {
    "two grades too many": ({"n_grades": 7}, 10),
    "ten positions too many": ({}, 20),
    "five positions too few": ({}, 5),
    "five grades merged into three": ({"merged": True}, 10),
}
"""What is wrong: the grades, and the positions that the learner sees."""

BOUNDS = dict(
    zip(WRONG, ({"high": NEGLIGIBLE}, {"high": 0.02}, {"low": 0.05}, {"low": 0.05}), strict=True)
)
"""How much precision too many may cost at most, and too few at least."""


def seen(log, depth, n_grades=5, merged=False):
    """Return the log as the learner sees it."""
    lists = [side[:, :depth] for side in (log.preferred, log.other)]
    if merged:
        lists, n_grades = [MERGED[side] for side in lists], 3
    return dl.Preferences(np.stack(lists, axis=1), n_grades=n_grades)


def trial(rng, truth, n):
    """Learn with the right numbers and with each wrong one; return the share of pairs lost.

    Ties of a metric count half.
    """
    ten = dl.simulate.ground_truth(truth)
    true = dl.DCG(ten.gains, np.concatenate([ten.discounts, np.zeros(LENGTH - 10)]))
    train = dl.simulate.preference_pairs(true, n, lists="free", flip_rate=0.1, random_state=rng)
    test = dl.simulate.preference_pairs(true, N_TEST, lists="free", random_state=rng)

    def share(options, depth):
        dcg = dl.DCGLearner().fit(seen(train, depth, **options)).dcg_
        return seen(test, depth, **options).agreement(dcg).share

    right = share({}, 10)
    return [
        {"wrong": wrong, "cost": right - share(options, depth)}
        for wrong, (options, depth) in WRONG.items()
    ]


def simulate(seed, repeats, quick, jobs):
    """Yield one record per true DCG, number of pairs, wrong number and repeat."""
    sizes = SIZES[1:2] if quick else SIZES
    settings = [{"truth": truth, "n": n} for truth in TRUTHS for n in sizes]
    yield from repeated(trial, settings, repeats=repeats, seed=seed, jobs=jobs)


def plot(table, axes):
    """Draw the cost of each wrong number against the number of pairs."""
    curves(table, axes, "n", "cost", lines="wrong")
    zero_line(axes)
    axes.set(xscale="log", xlabel="number of training pairs, 10% wrong")
    axes.set_ylabel("precision lost")
    shown = sorted(table["n"].unique())
    axes.set_xticks(shown, [f"{n:,}" for n in shown])
    axes.minorticks_off()
    finding = "Too many grades or positions cost little"
    words = headline(claims(table), finding, "Wrong numbers of grades or positions", "too many")
    axes.set_title(words)
    legend(axes, fontsize=7)


def claims(table):
    """Yield our claims, on both true DCGs together, from 200 pairs on."""
    for n in table["n"].unique().sort().to_list():
        for wrong, bound in BOUNDS.items() if n >= SIZES[1] else ():
            rows = {"wrong": wrong, "n": n}
            text = f"{wrong}: precision lost, {n:,} pairs"
            yield Claim(table, "ours", "study ad", text, "cost", rows, **bound)


if __name__ == "__main__":
    main(__name__)
