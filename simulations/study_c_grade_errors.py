"""Study c: does the size of errors in grades matter as much as their number?"""

import dcglearn as dl
from simulations.claims import Claim
from simulations.run import MEASURES, curves, legend, logs, recovery, validated, wrong_grades

REPEATS, PANELS, FIGSIZE = 20, 2, (7.5, 3.4)
RATES = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5)
STEPS = (1, 2, 3, 4)


def trial(rng, truth, n, rate, size, n_test):
    """Learn from n pairs with wrong grades, and test on clean pairs.

    C is chosen on an equally noisy validation set.
    """
    true = dl.simulate.ground_truth(truth)
    test, *clean = logs(true, rng, n_test, n, n)
    train, validation = (wrong_grades(log, rng, rate=rate, size=size) for log in clean)
    return recovery(validated(train, validation), true, test)


def settings(quick):
    """Return a setting for each size of error and share of wrong grades."""
    rates, steps, n_test = ((0.0, 0.3), (1, 4), 1000) if quick else (RATES, STEPS, 5000)
    fixed = {"truth": "D1", "n": 200}
    return [
        {**fixed, "rate": rate, "size": size, "n_test": n_test} for size in steps for rate in rates
    ]


def plot(table, axes, headline):
    """Draw precision and identifiable similarity against the share of wrong grades.

    Each line is of one size of error.
    """
    labels = {str(size): f"off by at most {size}" for size in STEPS}
    finding, part = "Small errors in grades cost less", "grades wrong by one step cost less"
    titles = headline(finding, "Precision", part), "Identifiable similarity"
    for ax, measure, title in zip(axes, ("precision", "gauge_free"), titles, strict=True):
        curves(table, ax, "rate", measure, lines="size", labels=labels)
        ax.set(
            xlabel="share of wrong grades (D1, 200 pairs)", ylabel=MEASURES[measure], title=title
        )
    legend(axes[0])


def claims(table):
    """Yield our claim, on D1."""
    near, far = ({"size": size, "rate": 0.3} for size in (1, 4))
    text = "grades wrong by one step cost less precision than any wrong grade, 30% wrong"
    yield Claim(table, "ours", "study c", text, "precision", near, far, low=0.0)
