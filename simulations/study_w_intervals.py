"""Study w: do intervals of leads, agreement, error rates and held-out shares cover the truth?

The intervals stand beside the bands, which study k checks.
"""

from functools import cache, partial

import numpy as np
import polars as pl

import dcglearn as dl
from simulations.claims import Claim, in_every_cell
from simulations.run import STYLES, draw_means, main, repeated, summary

STEM, REPEATS, PANELS, FIGSIZE = "study_w_intervals", 400, 1, (10.0, 3.2)
LEVEL = 0.9
LISTS, RATINGS, OWN, FEWER = 60, 400, 0.5, 8
"""Lists that recur, of which the first are rated most; what a list is worth beyond its grades; and
how many times fewer repeats these logs have."""

RATERS, EACH, TASTE = (3, 5, 10, 30), 20, 0.7
"""Raters that intervals are over, the pairs of each, and how far apart their gains are."""

ERRORS = {"ann": 0.02, "bob": 0.1, "cem": 0.2, "dea": 0.3}
PAIRS, MANY = 150, 20_000
NAMES = {
    "lead": "lead of a form\n(lack_of_fit)",
    "alpha": "alpha\n(rater_agreement)",
    "error": "a rater's error rate\n(rater_agreement)",
    "share": "lead on held-out pairs\n(compare_learners)",
}
OF_RATERS = {f"{n} raters": f"{n} raters\n(compare_learners)" for n in RATERS}
NAMES |= OF_RATERS


def trial(rng, kind):
    """Return the interval of one log with the true value.

    The true value is None if the mean over all logs takes its place.
    """
    if kind.endswith("raters"):
        return new_raters(rng, int(kind.split()[0]))
    return {"lead": lead, "alpha": alpha, "error": error, "share": share}[kind](rng)


def lead(rng):
    """Return what saturation respects more than a DCG, on rated lists with a worth of their own."""
    lists = rng.integers(0, 4, (LISTS, 5))
    worth = dl.ListUtility([0, 0.4, 0.9, 1], 1 / np.arange(1, 6), stops=[0, 0.2, 0.5, 0.8]).score(
        lists
    )
    worth = worth / worth.std() + OWN * rng.normal(size=LISTS)
    chance = 1 / np.arange(1, LISTS + 1)
    which = rng.choice(LISTS, RATINGS, p=chance / chance.sum())
    ratings = np.round(worth[which] + rng.normal(size=RATINGS))
    part = dl.lack_of_fit(dl.Preferences.from_ratings(lists[which], ratings), by="list")[
        "saturation"
    ]
    reach = 1.645 * part.ahead_error
    return {
        "value": part.ahead,
        "low": part.ahead - reach,
        "high": part.ahead + reach,
        "true": None,
    }


def alpha(rng):
    """Return Krippendorff's alpha of four raters of the same pairs."""
    found = dl.rater_agreement(judged(rng, PAIRS), errors=False, level=LEVEL).nominal
    return {"value": found.value, "low": found.low, "high": found.high, "true": true_alpha()}


@cache
def true_alpha():
    """Return the alpha of very many pairs."""
    return dl.rater_agreement(judged(np.random.default_rng(0), MANY), errors=False).nominal.value


def judged(rng, n):
    """Return n pairs, each judged by four raters who err."""
    first, second = np.split(dl.simulate.free_lists(5, 10, 2 * n, random_state=rng), 2)
    sides = (np.tile(side, (len(ERRORS), 1)) for side in (first, second))
    rater = np.repeat(list(ERRORS), n)
    return dl.simulate.judge(
        dl.simulate.ground_truth("D1"), *sides, rater=rater, rater_error=ERRORS, random_state=rng
    )


def error(rng):
    """Return the error rate of one of the raters, drawn at random."""
    found = dl.rater_agreement(judged(rng, PAIRS), level=LEVEL)
    rater = found.raters[rng.integers(len(ERRORS))]
    return {
        "value": rater.error.value,
        "low": rater.error.low,
        "high": rater.error.high,
        "true": ERRORS[rater.rater],
    }


def share(rng):
    """Return how far the learned DCG is ahead of exponential-log2 on held-out pairs."""
    train, held_out, many = (
        dl.simulate.preference_pairs(
            dl.simulate.ground_truth("D1"), n, lists="free", flip_rate=0.1, random_state=rng
        )
        for n in (PAIRS, PAIRS, MANY)
    )
    learned, usual = dl.DCGLearner().fit(train).dcg_, dl.DCG.standard(5, 10)
    row = dl.compare_learners(train, held_out, C=1.0)["exponential-log2"]
    true = many.agreement(learned).share - many.agreement(usual).share
    return {"value": row.difference, "low": row.low, "high": row.high, "true": true}


def new_raters(rng, n):
    """Return how far a learned DCG is ahead for raters of whom n were asked, each with a taste."""
    train, held_out, many = (tastes(rng, n_raters) for n_raters in (10, n, 400))
    learned, usual = dl.DCGLearner("robust").fit(train).dcg_, dl.DCG.standard(5, 10)
    row = dl.compare_learners(train, held_out, dl.DCGLearner("robust"), C=1.0)["exponential-log2"]
    true = many.agreement(learned).share - many.agreement(usual).share
    return {"value": row.difference, "low": row.low, "high": row.high, "true": true}


def tastes(rng, n):
    """Return a log of n raters, each of whom judges by gains of their own."""
    truth = dl.simulate.ground_truth("D1")
    sides, raters = [], np.repeat([f"rater {i}" for i in range(n)], EACH)
    for _ in range(n):
        steps = np.diff(truth.gains, prepend=0.0) * np.exp(TASTE * rng.normal(size=5))
        own = dl.DCG(np.cumsum(steps), truth.discounts)
        log = dl.simulate.preference_pairs(own, EACH, lists="free", flip_rate=0.1, random_state=rng)
        sides.append(np.stack([log.preferred, log.other], axis=1))
    return dl.Preferences(np.concatenate(sides), n_grades=5, rater=raters)


def simulate(seed, repeats, quick, jobs):
    """Yield one record per kind of interval and repeat."""
    kinds = [{"kind": kind} for kind in NAMES if kind != "lead"]
    yield from repeated(trial, kinds, repeats=repeats, seed=seed, jobs=jobs)
    if not quick:
        yield from repeated(
            trial, [{"kind": "lead"}], repeats=max(repeats // FEWER, 2), seed=seed, jobs=jobs
        )


def with_coverage(table):
    """Return the table with whether each interval covers the true value.

    The mean over all logs takes the place of a missing true value.
    """
    true = pl.col("true").fill_null(pl.col("value").mean().over("kind"))
    return table.with_columns(covered=true.is_between("low", "high").cast(pl.Int64))


def plot(table, axes):
    """Draw the coverage of each kind of interval."""
    means = summary(with_coverage(table), ["kind"], ["covered"])
    means = means.with_columns(x=pl.col("kind").replace_strict(list(NAMES), range(len(NAMES))))
    draw_means(axes, means, "x", "covered", {**STYLES[0], "linestyle": "none"})
    axes.axhspan(0.85, 0.95, color="0.5", alpha=0.15, lw=0)
    axes.set_xticks(range(len(NAMES)), NAMES.values(), fontsize=8)
    axes.set(
        ylabel=f"coverage of {LEVEL:.0%} intervals", ylim=(0.5, 1.02), xlim=(-0.5, len(NAMES) - 0.5)
    )
    axes.set_title("Intervals of leads, agreement, errors and held-out shares (grey: 85% to 95%)")


def claims(table):
    """Yield our claims."""
    claim = partial(Claim, paper="ours", place="study w", value="covered", low=0.85, high=0.95)
    cells = []
    for kind, name in NAMES.items():
        part, text = with_coverage(table).filter(kind=kind), name.splitlines()[0]
        text = text if kind not in OF_RATERS else f"lead by {text.partition(' ')[2]}"
        cells.append(claim(part, text=f"90% intervals cover: {text}", rows={"kind": kind}))
    own = len(NAMES) - len(OF_RATERS)
    yield from cells[:own]
    yield in_every_cell(cells[own:])


if __name__ == "__main__":
    main(__name__)
