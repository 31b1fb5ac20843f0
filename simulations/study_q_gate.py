"""Study q: how often does a ranker's gate decide wrongly at its margin, and rightly beyond it?"""

from functools import cache, partial
from statistics import NormalDist

import numpy as np
import polars as pl

import dcglearn as dl
from simulations.claims import MOST, Claim
from simulations.run import curves, legend, main, repeated

STEM, REPEATS, PANELS, FIGSIZE = "study_q_gate", 3000, 1, (5.0, 3.4)
TOPICS = (25, 53, 200)
LEVEL, RESAMPLES, POWER = 0.9, 1000, 0.8
POPULATION, DOCUMENTS = 4000, 15


@cache
def population():
    """Return grades, the scores of two rankers, and the mean and spread of their difference.

    Grades and scores have shape (4000, 15).
    """
    rng = np.random.default_rng(0)
    grades = rng.choice(4, p=[0.55, 0.25, 0.15, 0.05], size=(POPULATION, DOCUMENTS))
    grades[:, 0] = np.maximum(grades[:, 0], 1)  # a relevant document in every topic
    shared = grades + rng.normal(size=grades.shape)
    old, new = (shared + noise * rng.normal(size=grades.shape) for noise in (0.8, 0.9))
    judged, runs = as_dictionaries(grades, old, new, range(POPULATION))
    values = dl.evaluate(judged, runs, "nDCG@10").values[:, 0]
    difference = values[1] - values[0]
    return grades, old, new, float(difference.mean()), float(difference.std())


def as_dictionaries(grades, old, new, topics):
    """Return judgements and runs of topics, some of which may be drawn several times."""
    tables = [
        {
            f"{i}": {f"d{j}": x for j, x in enumerate(row.tolist())}
            for i, row in enumerate(table[list(topics)])
        }
        for table in (grades, old, new)
    ]
    return tables[0], {"old": tables[1], "new": tables[2]}


def trial(rng, n):
    """Compare the two rankers on n topics drawn from the population.

    Their difference on the population is known exactly.
    """
    grades, old, new, true, spread = population()
    judged, runs = as_dictionaries(grades, old, new, rng.integers(0, POPULATION, n))
    seed = int(rng.integers(2**31))
    found = dl.compare_systems(
        judged, runs, "nDCG@10", level=LEVEL, n_resamples=RESAMPLES, random_state=seed
    )
    quantile = NormalDist().inv_cdf
    far = (quantile((1 + LEVEL) / 2) + quantile(POWER)) * spread / n**0.5

    def says(margin):
        return found.gate(margin).verdicts[0].verdict

    return {
        "harm": int(says(true) == "worse"),
        "non_inferior": int(says(true) == "not worse"),
        "harm_far": int(says(true + far) == "worse"),
        "non_inferior_far": int(says(true - far) == "not worse"),
    }


def simulate(seed, repeats, quick, jobs):
    """Yield one record per number of topics and repeat."""
    settings = [{"n": n} for n in (TOPICS[1:2] if quick else TOPICS)]
    yield from repeated(trial, settings, repeats=repeats, seed=seed, jobs=jobs)


def plot(table, axes):
    """Draw both error rates against the number of topics."""
    long = table.unpivot(
        ["harm", "non_inferior"], index=["n", "repeat"], variable_name="rule", value_name="wrong"
    )
    named = long.with_columns(pl.col("rule").str.replace("_", "-"))
    curves(named, axes, "n", "wrong", lines="rule")
    axes.axhline((1 - LEVEL) / 2, color="0.5", lw=0.8, ls=":")
    axes.set(
        xscale="log", xlabel="number of topics", ylabel="error rate at the margin", ylim=(0, 0.12)
    )
    axes.set_xticks(TOPICS, [str(n) for n in TOPICS])
    axes.set_xticks([], minor=True)
    axes.set_title("How often both rules err,\nby topics")
    legend(axes, "rule")


def claims(table):
    """Yield our claims on each rule of the gate."""
    claim = partial(Claim, table, "ours", "study q")
    for rule in ("harm", "non_inferior"):
        name = rule.replace("_", "-")
        for n in TOPICS:
            text = f"gate at 5%, rule {name}: wrong in at most 8% at the margin, {n} topics"
            yield claim(text, rule, {"n": n}, high=MOST)
        for n in TOPICS[:2]:
            text = (
                f"gate, rule {name}: right in 75% to 85% at the difference "
                f"it says it can see, {n} topics"
            )
            yield claim(text, f"{rule}_far", {"n": n}, low=POWER - 0.05, high=POWER + 0.05)


if __name__ == "__main__":
    main(__name__)
