"""Zhou et al., section 4.2: how often raising gains to a power reorders pairs of lists.

Random gains and discounts go beyond the section's example.
"""

from functools import partial

import numpy as np
import polars as pl

import dcglearn as dl
from simulations.claims import CONSTRUCTED, PROVED, Claim
from simulations.findings import headline
from simulations.run import curves, legend, main, repeated

STEM, REPEATS, PANELS, FIGSIZE = "theory_incoherence", 200, 1, (4.8, 3.4)
GRADES, POWERS, DEPTH = (3, 4, 5, 6), (1.5, 2.0, 4.0), 5
MOST = 1000
"""Largest power tried in the paper's example."""


def example(rng):
    """Return whether some power of the gains reverses the order of the example's rankings.

    This is the paper's example, with a random epsilon.
    """
    epsilon = rng.uniform(0.25, 1.0)
    discounts = np.array([1 + epsilon, 1 - epsilon])
    gains = np.array([0.5, 2.0, 3.0])  # of the documents' labels, worst to best
    first, second = np.array([1, 0]), np.array([0, 2])
    before = (gains[first] - gains[second]) @ discounts
    powers = np.arange(1, MOST + 1)
    after = (
        (gains[first] / 3) ** powers[:, None] - (gains[second] / 3) ** powers[:, None]
    ) @ discounts
    return {"what": "example", "value": int(before > 0 and bool((after < 0).any()))}


def trial(rng, quick):
    """Return the example, and the share of pairs of lists that a power of gains reorders.

    The share is for random gains and discounts.
    """
    records = [{"n_grades": 3, "power": None, **example(rng)}]
    discounts = np.sort(rng.uniform(0.1, 1.0, DEPTH))[::-1]
    for n in GRADES[:2] if quick else GRADES:
        gains = np.concatenate([[0.0], np.sort(rng.random(n - 2)), [1.0]])
        for power in POWERS:
            share = dl.disagreement(dl.DCG(gains, discounts), dl.DCG(gains**power, discounts)).share
            at = {"n_grades": n, "power": power}
            records += [
                {**at, "what": "share", "value": share},
                {**at, "what": "any", "value": int(share > 0)},
            ]
    return records


def simulate(seed, repeats, quick, jobs):
    """Yield one record per number of grades, power and repeat."""
    yield from repeated(trial, [{"quick": quick}], repeats=repeats, seed=seed, jobs=jobs)


def plot(table, axes):
    """Draw the share of pairs of lists that a power of the gains reorders."""
    part = table.filter(what="share").with_columns(percent=100 * pl.col("value"))
    labels = {str(power): f"gains to the power {power:g}" for power in POWERS}
    curves(part, axes, "n_grades", "percent", lines="power", labels=labels)
    axes.set(
        xlabel="number of grades L",
        ylabel="% of pairs of lists ordered differently",
        ylim=(0, None),
    )
    axes.set_xticks(sorted(part["n_grades"].unique()))
    finding, part = "A power of the gains reorders lists", "squared gains order some pair"
    words = headline(claims(table), finding, "Lists that a power of the gains reorders", part)
    axes.set_title(f"{words}\n(Zhou et al., section 4.2)")
    legend(axes)


def claims(table):
    """Yield the claims on the example, and on random gains and discounts."""
    claim = partial(Claim, table, "zhou", "section 4.2", value="value")
    text = (
        "in the paper's example some power of the gains exchanges two rankings, "
        "for every epsilon from 1/4 to 1"
    )
    yield claim(text, rows={"what": "example"}, low=1.0, high=1.0, outcomes=1, cannot_fail=PROVED)
    numbers = sorted(table.filter(what="any")["n_grades"].unique())
    for n in (numbers[0], numbers[-1]):
        text = (
            f"{n} grades: squared gains order some pair of lists differently, "
            "in over 95% of metrics"
        )
        rows = {"what": "any", "n_grades": n, "power": 2.0}
        yield claim(text, rows=rows, low=0.95, outcomes=1, cannot_fail=CONSTRUCTED)
    ends = ({"what": "share", "n_grades": n, "power": 2.0} for n in (numbers[-1], numbers[0]))
    text = (
        f"squared gains reorder more pairs of lists with {numbers[-1]} grades "
        f"than with {numbers[0]}: share"
    )
    yield claim(text, rows=next(ends), minus=next(ends), low=0.0)


if __name__ == "__main__":
    main(__name__)
