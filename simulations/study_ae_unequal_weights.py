"""Study ae: do the nested tests keep their level where judgements have unequal weights?

Each log is one of a DCG, so every rejection is a false one. But a pair whose judges disagree is two
opposed rows, which fall into segments one by one, so that these may look different. With the rows
of a pair in one segment, the segment test rejected 3 of the 40 logs of 100 pairs, tried once the
table was known.
"""

import warnings
from functools import partial

import numpy as np
import polars as pl
from scipy.special import expit

import dcglearn as dl
from simulations.claims import MOST, Claim
from simulations.run import TRUTHS, curves, legend, main, repeated, share_scale

STEM, REPEATS, PANELS, FIGSIZE = "study_ae_unequal_weights", 40, 2, (9.0, 3.4)
SIZES = (100, 200, 500)
OF_FORM = 1 / 3
"""Share of the repeats for the choice of the form, which takes most of the time."""

CLOSER, FURTHER = {"weights": "1 to 5", "n": 200}, 160
"""The setting where the first repeats rejected most often, and how many more repeats it has."""

LEVEL, TEMPERATURE, RESAMPLES = 0.05, 0.1, 39
WEIGHTS = {
    "1 to 5": "Weights 1 to 5, drawn at random",
    "counts": "A third judged three times, and counted",
}
"""How judgements get their weights, and the titles of the panels."""

TESTS = {
    "form": 'form="auto" leaves the DCG',
    "discounts": "the test of falling discounts rejects",
    "positions": "the test of position-dependent gains rejects",
    "segments": "the segment test rejects",
}
"""The tests, and what they do in the words of a claim."""


def judged(truth, n, weights, rng):
    """Return n pairs of free lists, judged with logistic noise at a tenth of the top gain.

    With weights "1 to 5", each pair has one judgement, whose weight does not depend on it. With
    "counts", three judges decide a third of the pairs, each for himself, and a row counts those who
    agree.
    """
    log = dl.simulate.preference_pairs(
        truth, n, lists="free", temperature=TEMPERATURE, random_state=rng
    )
    if weights == "1 to 5":
        return log.reweighted(rng.integers(1, 6, n))

    # two more judges of a third of the pairs
    rows = np.concatenate([np.arange(n), *2 * [rng.permutation(n)[: n // 3]]])
    alike = rng.random(len(rows)) < expit(log.gaps(truth)[rows] / TEMPERATURE)
    alike[:n] = True

    # count the judges who agree
    first, second, alike = log.preferred[rows], log.other[rows], alike[:, None]
    lists = np.where(alike, first, second), np.where(alike, second, first)
    return dl.Preferences(*lists, n_grades=log.n_grades).merged()


def drawn(rng, weights, n):
    """Return one log of D1 or D2."""
    truth = dl.simulate.ground_truth(str(rng.choice(TRUTHS))).normalised()
    return judged(truth, n, weights, rng)


def trial(rng, weights, n):
    """Return whether tests of discounts, positions and segments reject one log of a DCG."""
    log = drawn(rng, weights, n)
    halves = np.where(rng.permutation(len(log)) % 2, "first", "second")
    with warnings.catch_warnings():
        # a log that weighs more than it has lists is warned of
        warnings.simplefilter("ignore", UserWarning)
        p_values = {
            "discounts": dl.trust.rising_discounts(log).p_value,
            "positions": dl.trust.position_dependence(log, n_resamples=RESAMPLES).p_value,
            "segments": dl.trust.segment_test(log.changed(segment=halves)).p_value,
        }
    return [
        {"test": name, "p_value": p_value, "rejected": int(p_value <= LEVEL)}
        for name, p_value in p_values.items()
    ]


def choice_of_form(rng, weights, n):
    """Return whether another form than the DCG is chosen for one log of a DCG."""
    learner = dl.DCGLearner(form="auto").fit(drawn(rng, weights, n))
    p_value = learner.form_scores_["saturation"].p_value
    return {"test": "form", "p_value": p_value, "rejected": int(learner.form_ != "dcg")}


def simulate(seed, repeats, quick, jobs):
    """Yield one record per kind of weights, number of pairs, repeat and test."""
    settings = [
        {"weights": weights, "n": n} for weights in WEIGHTS for n in (SIZES[:1] if quick else SIZES)
    ]
    more = 0 if quick else FURTHER
    for setting in settings:
        n = repeats + more if setting == CLOSER else repeats
        yield from repeated(trial, [setting], repeats=n, seed=seed, jobs=jobs)
    fewer = max(round(OF_FORM * repeats), 2)
    yield from repeated(choice_of_form, settings, repeats=fewer, seed=seed, jobs=jobs)


def plot(table, axes):
    """Draw how often each test rejects against the number of pairs, a panel for each weights."""
    for ax, (weights, title) in zip(axes, WEIGHTS.items(), strict=True):
        curves(table.filter(pl.col("weights") == weights), ax, "n", "rejected", lines="test")
        ax.axhline(LEVEL, color="0.4", lw=0.8, ls=(0, (4, 3)))
        ax.set(xscale="log", xlabel="number of pairs", ylabel="share of logs rejected", title=title)
        ax.set_xticks(SIZES, [str(n) for n in SIZES])
        ax.minorticks_off()
    share_scale(axes)
    legend(axes[0], "test", fontsize=7)


def claims(table):
    """Yield our claims: of each test, over weights and sizes, and of all tests at each weights.

    The further repeats of one setting have a claim of their own: the first ones chose it.
    """
    is_first = pl.col("repeat") < REPEATS
    table, further = table.filter(is_first), table.filter(~is_first)
    claim = partial(Claim, paper="ours", place="study ae", value="rejected", high=MOST)
    for name, does in TESTS.items():
        text = f"with unequal weights, {does} in at most 8% of logs of DCGs of 100 to 500 pairs"
        yield claim(table.filter(test=name), text=text, rows={})
    every = "the four tests together reject at most 8%"
    yield claim(table, text=f"with weights of 1 to 5, {every}", rows={"weights": "1 to 5"})
    yield claim(table, text=f"with counts as weights, {every}", rows={"weights": "counts"})
    text = "with weights of 1 to 5, three tests together reject at most 8% of further logs"
    yield claim(further, text=f"{text} of 200 pairs", rows={})


if __name__ == "__main__":
    main(__name__)
