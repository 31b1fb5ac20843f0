"""Noise in the grades: does the size of an error matter as much as how many there are?"""

import sys

import numpy as np

import dcglearn as dl
from simulations.run import Claim, at, curves, legend, main, recovery, repeated, shown, validated

STEM, REPEATS, PANELS, FIGSIZE = "study_c_grade_errors", 40, 2, (7.5, 3.2)
RATES = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5)
STEPS = (1, 2, 3, 4)


def with_noise(log, rate, size, rng):
    """Return the log with this share of its grades off by at most `size` steps."""
    pairs = np.stack([log.preferred, log.other], axis=1)
    return dl.Preferences(dl.simulate.noisy_grades(pairs, rate=rate, size=size, seed=rng), n_grades=5)


def one(rng, truth, n, rate, size, n_test):
    """Learn from n pairs with wrong grades, C chosen on as noisy a set; test on clean pairs."""
    true = dl.simulate.ground_truth(truth)
    test = dl.simulate.preference_pairs(true, n_test, seed=rng)
    clean = [dl.simulate.preference_pairs(true, n, seed=rng) for _ in range(2)]
    return recovery(validated(*(with_noise(log, rate, size, rng) for log in clean)), true, test)


def simulate(seed, repeats, quick, jobs, progress):
    """Yield a record a size of error, share of wrong grades and repeat."""
    rates, steps, n_test = ((0.0, 0.3), (1, 4), 1000) if quick else (RATES, STEPS, 5000)
    settings = [
        {"truth": "D1", "n": 200, "rate": rate, "size": size, "n_test": n_test} for size in steps for rate in rates
    ]
    yield from repeated(one, settings, repeats=repeats, seed=seed, jobs=jobs, progress=progress)


def plot(table, axes):
    """Draw precision and visible similarity against the share of wrong grades, one line a size of error."""
    labels = {str(size): f"off by up to {size}" for size in STEPS}
    names = {"precision": "precision on clean pairs", "gauge_free": "similarity of the visible part"}
    for ax, (name, label) in zip(axes, names.items(), strict=True):
        curves(table, ax, "rate", name, lines="size", **labels)
        ax.set(xlabel="share of grades that are wrong (D1, 200 pairs)", ylabel=label)
    legend(axes[0])


def claims(table):
    """Return what the table says."""
    ends = {size: at(table, "precision", size=size, rate=0.3) for size in (1, 4)}
    yield Claim(
        "c",
        "small errors in grades cost less than large ones",
        "; ".join(f"30% of grades off by up to {size}: {shown(value)}" for size, value in ends.items()),
        "holds" if ends[1][0] > ends[4][0] else "does not hold",
        "Errors of one step keep most of the order of grades.",
    )


if __name__ == "__main__":
    main(sys.modules[__name__])
