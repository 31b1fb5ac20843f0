"""Study ab: of 100 people who see two systems' lists, are as many for the new one as is said?

Truths are no textbooks; judges err on any pair, on close pairs, or by a third each.
"""

from functools import partial
from itertools import product

import numpy as np
from scipy.special import expit

import dcglearn as dl
from simulations.claims import Claim
from simulations.run import STYLES, beside, draw_means, legend, main, repeated, summary
from simulations.study_q_gate import as_dictionaries
from simulations.truths_and_judges import WRONG, judged, noise_of, pairs_of, truth_of

STEM, REPEATS, PANELS, FIGSIZE = "study_ab_people", 20, (1, 3), (10.5, 3.4)
SIZES = (50, 100, 300, 1000)
KINDS = ("flat", "steep", "random", "smooth")
JUDGES = ("careless", "graded")

QUERIES, DOCUMENTS, LEVEL = (50, 500), 30, 0.9
POPULATION = 5_000
"""Number of queries on which the true shares are measured."""

FRESH = 58
"""Added to the seed, so that the claims are tested on logs that nobody had seen."""


def systems(true, skewed, n, rng):
    """Return the grades of documents of n queries, and scores of an old and a new system."""
    chance = 0.5 ** np.arange(true.n_grades) if skewed else np.ones(true.n_grades)
    grades = rng.choice(true.n_grades, (n, DOCUMENTS), p=chance / chance.sum())
    shared = grades + 2 * rng.normal(size=grades.shape)
    return grades, *(shared + noise * rng.normal(size=grades.shape) for noise in (2.0, 1.5))


def taken(true, judge, gaps, grades, old, new):
    """Return the share of people who take the new system's list, over queries."""
    order = [np.argsort(-scores, axis=1)[:, : true.depth] for scores in (new, old)]
    values = [true.score(np.take_along_axis(grades, rows, axis=1)) for rows in order]
    gap = values[0] - values[1]
    if judge == "graded":
        return float(expit(gap / noise_of(gaps, WRONG)).mean())
    return float((0.5 + (0.5 - WRONG) * np.sign(gap)).mean())


def trial(rng, truth, judge, n, queries, population):
    """Return the share said and its interval, and the true one."""
    true, skewed = truth_of(truth, rng), bool(rng.random() < 0.5)
    pairs = pairs_of(true, n, skewed, rng)
    log = judged(true, pairs, judge, rng)
    fit = dl.DCGLearner().fit(log, as_is=True)
    seed = int(rng.integers(2**31))
    metric = dl.bands(log, fit, random_state=seed, n_resamples=50).metric

    # what is said of a sample of queries, by the metric and its judges
    few = systems(true, skewed, queries, rng)
    judgements, runs = as_dictionaries(*few, range(queries))
    judgements = dl.evaluation.read_judgements(judgements, n_grades=true.n_grades)
    row = dl.compare_systems(
        judgements, runs, {"learned": metric}, level=LEVEL, n_resamples=100, random_state=seed
    ).people.table.row(0, named=True)

    # and the truth, over many
    gaps = true.score(pairs[0]) - true.score(pairs[1])
    share = 100 * taken(true, judge, gaps, *systems(true, skewed, population, rng))
    return {
        "said": row["take"],
        "true": share,
        "off": abs(row["take"] - share),
        "width": row["take_high"] - row["take_low"],
        "covered": int(row["take_low"] <= share <= row["take_high"]),
        "above": int(row["take_low"] > share),
    }


def simulate(seed, repeats, quick, jobs):
    """Yield one record per kind of truth, judge, numbers of judgements and queries, and repeat."""
    sizes, population = (SIZES[:1], 500) if quick else (SIZES, POPULATION)
    settings = [
        {"truth": truth, "judge": judge, "n": n, "queries": queries, "population": population}
        for truth in KINDS
        for judge in JUDGES
        for n in sizes
        for queries in (QUERIES[:1] if quick else QUERIES)
    ]
    yield from repeated(trial, settings, repeats=repeats, seed=seed + FRESH, jobs=jobs)


def plot(table, axes):
    """Draw coverage, distance from the truth and width by number of judgements."""
    for ax, value, shares in zip(
        axes, ("covered", "off", "width"), ({"outcomes": 1}, {}, {}), strict=True
    ):
        lines = product(JUDGES, sorted(table["queries"].unique()))
        for i, (judge, queries) in enumerate(lines):
            part = table.filter(judge=judge, queries=queries)
            means = summary(part, ["n"], [value], **shares)
            name = f"{judge}, {queries} queries"
            draw_means(ax, means, "n", value, STYLES[i], beside(ax, i, 4), label=name)
        ax.set(xlabel="judgements", xscale="log")
        ax.set_xticks(sorted(table["n"].unique()), sorted(table["n"].unique()))
        ax.minorticks_off()
    axes[0].axhspan(0.86, 0.94, color="0.5", alpha=0.15, lw=0)
    axes[0].set(ylabel="coverage of 90% intervals", ylim=(0.6, 1.02), title="Coverage")
    axes[1].set(ylabel="of 100 people", ylim=(0, None), title="Mean distance from the truth")
    axes[2].set(ylabel="of 100 people", ylim=(0, None), title="Width of 90% intervals")
    legend(axes[0], "judges", fontsize=7)


def claims(table):
    """Yield our claims: coverage by judge and number of judgements, and distances."""
    claim = partial(Claim, table, "ours", "study ab")
    for queries, judge in product(QUERIES, JUDGES):
        rows = {"judge": judge, "queries": queries}
        text = f"90% intervals of people cover: {queries} queries, {judge} judges"
        yield claim(text, "covered", rows, low=0.86)
    for kind in KINDS:
        text = f"90% intervals of people cover: {kind} truth"
        yield claim(text, "covered", {"truth": kind}, low=0.86)
    cell = {"n": 300, "queries": 500}
    yield claim("people are off by: 500 queries, 300 pairs", "off", cell, high=2.5)


if __name__ == "__main__":
    main(__name__)
