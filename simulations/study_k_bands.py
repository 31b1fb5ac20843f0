"""Study k: do 90% bands of gains and discounts, and of forms beyond the DCG, cover the truth in 90% of the logs?"""

from functools import partial

import numpy as np
import polars as pl
from scipy.special import expit

import dcglearn as dl
from simulations.claims import Claim
from simulations.run import STYLES, TRUTHS, draw_means, legend, main, repeated, summary

STEM, REPEATS, PANELS, FIGSIZE = "study_k_bands", 40, (2, 1), (7.0, 6.4)
NOISES = ("clean", "10% flipped", "logistic")
RESAMPLES = 100
FORMS = {
    "saturation": dl.ListUtility([0, 0.4, 0.9, 1], 1 / np.log2(np.arange(2, 8)), stops=[0, 0.2, 0.5, 0.8]),
    "best": dl.ListUtility([0, 0.4, 0.7, 1], 1 / np.log2(np.arange(2, 8)), best=0.5),
}
FIXED = ", where grade 0 never stops"
SHORT = {"gain of grade ": "g", "discount at ": "c", "stop at grade ": "s", "share of the best": "x"}
TEMPERATURE = 0.1
"""Noise of the judges of the forms, who prefer a list that is better by this much to one in 73% of the cases."""


def trial(rng, truth, noise, n, n_resamples):
    """Return for each parameter whether its band covers the truth; free lists identify all parameters."""
    true = dl.simulate.ground_truth(truth).normalised()
    options = {"clean": {}, "10% flipped": {"n_flips": n // 10}, "logistic": {"temperature": 0.2}}[noise]
    log = dl.simulate.preference_pairs(true, n, lists="free", seed=rng, **options)
    bands = dl.bootstrap_bands(log, n_resamples=n_resamples, seed=int(rng.integers(2**31)))
    return covered(bands.table(), free_values(true))


def trial_of_form(rng, truth, noise, n, n_resamples):
    """Return the same for a form beyond the DCG.

    With saturation, discounts and stop probabilities are also covered where those of grade 0 are made 0, as in the
    truth: a stop probability common to all grades is the same as a discount that falls by a constant factor.
    """
    true = FORMS[truth]
    lists = rng.integers(0, true.n_grades, (2, n, true.depth)).astype(np.int8)
    first = rng.random(n) < expit((true.score(lists[0]) - true.score(lists[1])) / TEMPERATURE)
    log = dl.Preferences(*np.where(first[:, None], lists, lists[::-1]), n_grades=true.n_grades)
    bands = dl.bootstrap_bands(log, dl.DCGLearner(form=truth), n_resamples=n_resamples, seed=int(rng.integers(2**31)))
    if truth == "best":
        return covered(bands.table(), [*free_values(true), true.best])
    left = 1 - bands.further
    samples = np.hstack([bands.discounts * left[:, :1] ** np.arange(true.depth), 1 - left / left[:, :1]])
    ends = np.percentile(samples, (100 * bands.tail, 100 - 100 * bands.tail), axis=0).T
    others = [
        {"parameter": row["parameter"] + FIXED, "low": low, "high": high}
        for row, (low, high) in zip(bands.table()[true.n_grades :], ends, strict=True)
    ]
    values = [*free_values(true), *true.stops, *free_values(true)[true.n_grades :], None, *true.stops[1:]]
    return covered([*bands.table(), *others], values)


def free_values(metric):
    """Return gains and discounts, with None for those that every fit has: worst and best gain, first discount."""
    return [None, *metric.gains[1:-1], None, None, *metric.discounts[1:]]


def covered(bands, values):
    """Return one record per band that has a value: its parameter, whether it covers the value, and its width."""
    return [
        {
            "parameter": band["parameter"],
            "order": i,
            "covered": int(band["low"] <= value <= band["high"]),
            "width": band["high"] - band["low"],
        }
        for i, (band, value) in enumerate(zip(bands, values, strict=True))
        if value is not None
    ]


def simulate(seed, repeats, quick, jobs):
    """Yield one record per truth, noise, parameter and repeat."""
    common = {"repeats": repeats, "seed": seed, "jobs": jobs}
    n, n_resamples = (100, 6) if quick else (300, RESAMPLES)
    settings = [{"truth": t, "noise": noise, "n": n, "n_resamples": n_resamples} for t in TRUTHS for noise in NOISES]
    yield from repeated(trial, settings, **common)
    n, n_resamples = (150, 4) if quick else (1000, RESAMPLES)
    settings = [{"truth": form, "noise": "logistic", "n": n, "n_resamples": n_resamples} for form in FORMS]
    yield from repeated(trial_of_form, settings, **common)


def plot(table, axes):
    """Draw the coverage of the bands of each parameter: of DCGs, and of the forms beyond them."""
    dcgs, saturation = table.filter(pl.col("truth").is_in(TRUTHS)), table.filter(truth="saturation")
    fixed = pl.col("parameter").str.ends_with(FIXED)
    of_forms = {
        "share of the best": table.filter(truth="best"),
        "saturation": saturation.filter(~fixed),
        f"saturation{FIXED}": saturation.filter(fixed),
    }
    draw_coverage(axes[0], {noise: dcgs.filter(noise=noise) for noise in NOISES})
    draw_coverage(axes[1], of_forms)
    legend(axes[0], "judgements", loc="lower right", ncols=3)
    legend(axes[1], "true utility", loc="lower right", ncols=3)
    axes[0].set_title("Bands from noisy logs cover the truth; from clean logs a little too rarely (grey: 85% to 95%)")
    axes[1].set_title("With 1,000 judgements, bands of saturation cover discounts and stops far too rarely")
    axes[0].set_xlabel("gain (g) of a grade, discount (c) at a position")
    axes[1].set_xlabel("gain (g) of a grade, discount (c) at a position, share of the best (x), stop (s) at a grade")


def draw_coverage(axes, parts):
    """Draw the coverage of each parameter, in a colour for each part of the table."""
    axes.axhspan(0.85, 0.95, color="0.5", alpha=0.15, lw=0)
    name = pl.col("parameter").str.replace(FIXED, "", literal=True)
    for word, letter in SHORT.items():
        name = name.str.replace(word, letter, literal=True)
    parts = {label: part.with_columns(name=name) for label, part in parts.items()}
    names = list(dict.fromkeys(row for part in parts.values() for row in part.sort("order")["name"]))
    for i, (style, (label, part)) in enumerate(zip(STYLES, parts.items(), strict=False)):
        means = summary(part, ["name"], ["covered"])
        means = means.with_columns(x=pl.col("name").replace_strict(names, range(len(names))) + 0.15 * (i - 1))
        draw_means(axes, means, "x", "covered", style, label=label, linestyle="none", elinewidth=1)
    axes.set_xticks(range(len(names)), names)
    axes.set(ylabel="coverage of 90% bands", ylim=(-0.02, 1.02))


def claims(table):
    """Yield our claims, of DCGs on both true DCGs together."""
    claim = partial(Claim, table, "ours", "study k", value="covered", low=0.85)
    for noise, words in zip(
        NOISES, ("90% bands, clean logs", "bands, 10% flips", "bands, logistic noise"), strict=True
    ):
        yield claim(f"coverage of {words}", rows={"truth": TRUTHS, "noise": noise})
    for parameter, words in (("discount at 2", "discount at rank 2"), ("gain of grade 1", "gain of grade 1")):
        rows = {"truth": TRUTHS, "noise": "clean", "parameter": parameter}
        yield claim(f"coverage of bands, {words}, clean logs", rows=rows)
    discounts = [f"discount at {position}" for position in range(2, 7)]
    names = ("gain of grade 1", "gain of grade 2", *discounts, *(f"stop at grade {grade}" for grade in range(4)))
    rows = {"best": (*names, "share of the best"), "saturation": names}
    for form, words in (("best", "share of the best"), ("saturation", "saturation")):
        yield claim(f"coverage of bands, {words}", rows={"truth": form, "parameter": rows[form]})


if __name__ == "__main__":
    main(__name__)
