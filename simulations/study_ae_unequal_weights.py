"""Study ae: do the nested tests keep their level where judgements have unequal weights?

Each log is one of a DCG, so every rejection is a false one. Of logs that count judges, each judge
has a segment, and those who agree are counted within it: a segment is known before verdicts are
counted. A first run counted them before, and gave each row a segment: a pair whose judges disagree
was two opposed rows, and if these fell into two segments, the segments disagreed by design.
"""

import warnings
from functools import partial

import numpy as np
import polars as pl
from scipy.special import expit

import dcglearn as dl
from simulations.claims import Claim
from simulations.run import TRUTHS, curves, legend, main, repeated, share_scale

STEM, REPEATS, PANELS, FIGSIZE = "study_ae_unequal_weights", 40, 3, (12.0, 3.4)
SIZES = (100, 200, 500)
OF_FORM = 1 / 3
"""Share of the repeats for the choice of the form, which takes most of the time."""

CLOSER, MORE = {"weights": "1 to 5", "n": 200}, 5
"""The setting where the first run rejected most often has this many times the repeats."""

LEVEL, TEMPERATURE, RESAMPLES = 0.05, 0.1, 39
WEIGHTS = {
    "1 to 5": "Weights 1 to 5, drawn at random",
    "counts": "A third judged three times, and counted",
    "traffic": "Weights of traffic, log-normal",
}
"""How judgements get their weights, and the titles of the panels."""

SPREAD = 1.5
"""Standard deviation of the logarithm of weights of traffic."""

TESTS = {
    "form": 'form="auto" leaves the DCG in',
    "discounts": "the test of falling discounts rejects",
    "positions": "the test of position-dependent gains rejects",
    "segments": "the segment test rejects",
}
"""The tests, and what they do in the words of a claim."""


def judged(truth, n, weights, rng):
    """Return n pairs of free lists, judged with logistic noise at a tenth of the top gain.

    With weights "1 to 5" or of "traffic", each pair has one judgement, whose weight does not depend
    on it. With "counts", three judges decide a third of the pairs, each for himself: a row each.
    """
    log = dl.simulate.preference_pairs(
        truth, n, lists="free", temperature=TEMPERATURE, random_state=rng
    )
    if weights == "1 to 5":
        return log.reweighted(rng.integers(1, 6, n))
    if weights == "traffic":
        return log.reweighted(np.exp(SPREAD * rng.normal(size=n)))

    # two more judges of a third of the pairs
    rows = np.concatenate([np.arange(n), *2 * [rng.permutation(n)[: n // 3]]])
    alike = rng.random(len(rows)) < expit(log.gaps(truth)[rows] / TEMPERATURE)
    alike[:n] = True

    # the winner first
    first, second, alike = log.preferred[rows], log.other[rows], alike[:, None]
    lists = np.where(alike, first, second), np.where(alike, second, first)
    return dl.Preferences(*lists, n_grades=log.n_grades)


def in_halves(verdicts, rng):
    """Return a log with two segments, of half the judges each; a row counts those who agree."""
    number = rng.permutation(len(verdicts)) % 2
    parts = [verdicts[np.flatnonzero(number == half)].merged() for half in range(2)]
    columns = ("preferred", "other", "weight")
    preferred, other, weight = (
        np.concatenate([getattr(part, name) for part in parts]) for name in columns
    )
    segment = np.repeat(["first", "second"], [len(part) for part in parts])
    return dl.Preferences(
        preferred, other, n_grades=verdicts.n_grades, weight=weight, segment=segment
    )


def drawn(rng, weights, n):
    """Return one log of D1 or D2."""
    truth = dl.simulate.ground_truth(str(rng.choice(TRUTHS))).normalised()
    return judged(truth, n, weights, rng)


def trial(rng, weights, n):
    """Return whether tests of discounts, positions and segments reject one log of a DCG."""
    verdicts = drawn(rng, weights, n)
    log, halves = verdicts.merged(), in_halves(verdicts, rng)
    with warnings.catch_warnings():
        # a log that weighs more than it has lists is warned of
        warnings.simplefilter("ignore", UserWarning)
        p_values = {
            "discounts": dl.trust.rising_discounts(log).p_value,
            "positions": dl.trust.position_dependence(log, n_resamples=RESAMPLES).p_value,
            "segments": dl.trust.segment_test(halves).p_value,
        }
    return [
        {"test": name, "p_value": p_value, "rejected": int(p_value <= LEVEL)}
        for name, p_value in p_values.items()
    ]


def choice_of_form(rng, weights, n):
    """Return whether another form than the DCG is chosen for one log of a DCG."""
    learner = dl.DCGLearner(form="auto").fit(drawn(rng, weights, n).merged())
    p_value = learner.form_scores_["saturation"].p_value
    return {"test": "form", "p_value": p_value, "rejected": int(learner.form_ != "dcg")}


def simulate(seed, repeats, quick, jobs):
    """Yield one record per kind of weights, number of pairs, repeat and test."""
    settings = [
        {"weights": weights, "n": n} for weights in WEIGHTS for n in (SIZES[:1] if quick else SIZES)
    ]
    yield from repeated(trial, settings, repeats=repeats, seed=seed, jobs=jobs)
    fewer = max(round(OF_FORM * repeats), 2)
    yield from repeated(choice_of_form, settings, repeats=fewer, seed=seed, jobs=jobs)

    # numbered on from the others
    if not quick:
        for record in repeated(
            trial, [CLOSER], repeats=(MORE - 1) * REPEATS, seed=seed + 1, jobs=jobs
        ):
            yield record | {"repeat": REPEATS + record["repeat"]}


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

    All are of logs of 100 to 500 pairs. The setting with further repeats has a claim on these
    alone: the first run chose it. That of positions with weights of traffic was stated after the
    run, which showed them to be the worst.
    """
    is_first = pl.col("repeat") < REPEATS
    table, further = table.filter(is_first), table.filter(~is_first)
    claim = partial(Claim, paper="ours", place="study ae", value="rejected", level=0.05)
    for name, does in TESTS.items():
        text = f"weights of 1 to 5 or counts: {does} at most 5%"
        yield claim(table.filter(test=name), text=text, rows={"weights": ("1 to 5", "counts")})
    for weights in ("1 to 5", "counts", "traffic"):
        text = f"weights of {weights}: the four tests reject at most 5%"
        yield claim(table, text=text, rows={"weights": weights})
    text = "weights of traffic: the test of position-dependent gains rejects at most 5%"
    yield claim(table.filter(test="positions"), text=text, rows={"weights": "traffic"})
    text = "weights of 1 to 5, 200 pairs: three tests reject at most 5% of further logs"
    yield claim(further, text=text, rows={})


if __name__ == "__main__":
    main(__name__)
