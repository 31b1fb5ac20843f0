"""Study k: do 90% bands cover the truth in 90% of the logs: each parameter, and all at once?"""

from functools import partial

import numpy as np
import polars as pl
from scipy.special import expit

import dcglearn as dl
from simulations.claims import Claim, in_every_cell
from simulations.run import STYLES, TRUTHS, draw_means, legend, main, repeated, share_scale, summary
from simulations.study_h_learners import OTHER, truth_of

STEM, REPEATS, PANELS, FIGSIZE = "study_k_bands", 120, (1, 2), (7.0, 3.6)
RATES, SIZES = (0.0, 0.1, 0.2), (50, 200, 1000)
FORMS = {
    "saturation": dl.ListUtility(
        [0, 0.4, 0.9, 1], 1 / np.log2(np.arange(2, 8)), stops=[0, 0.2, 0.5, 0.8]
    ),
    "best": dl.ListUtility([0, 0.4, 0.7, 1], 1 / np.log2(np.arange(2, 8)), best=0.5),
}
"""Forms beyond the DCG; grade 0 never stops, as on the scale of the bands."""

OF_FORMS = 1000
TEMPERATURE = 0.1
"""Judgements of the forms, and their noise: a list better by this much is preferred in 73% of the
cases.
"""

RATERS, EACH, TASTE = 40, 15, 0.5
"""Raters who differ, judgements of each, and the standard deviation of the logs of their steps and
falls.
"""

PARAMETERS = 12
"""Gains and discounts of D1, D2 and random DCGs that vary between fits; forms have one or more, on
fewer positions.
"""


def trial(rng, truth, rate, n):
    """Return how far the bands of one log cover the truth; free lists identify all parameters."""
    true = truth_of(truth, rng).normalised()
    log = dl.simulate.preference_pairs(
        true, n, lists="free", n_flips=round(rate * n), random_state=rng
    )
    return covered(dl.bands(log, random_state=int(rng.integers(2**31))), true)


def trial_of_form(rng, truth):
    """Return the same for a form beyond the DCG."""
    true = FORMS[truth]
    lists = rng.integers(0, true.n_grades, (2, OF_FORMS, true.depth)).astype(np.int8)
    first = rng.random(OF_FORMS) < expit(
        (true.score(lists[0]) - true.score(lists[1])) / TEMPERATURE
    )
    log = dl.Preferences(*np.where(first[:, None], lists, lists[::-1]), n_grades=true.n_grades)
    bands = dl.bands(log, dl.DCGLearner(form=truth), random_state=int(rng.integers(2**31)))
    return covered(bands, true, true.stops if truth == "saturation" else [true.best])


def trial_of_raters(rng, by):
    """Return how far bands cover D1, where each rater has a taste around it.

    A tenth of the judgements is wrong.
    """
    true = dl.simulate.ground_truth("D1").normalised()
    steps, falls = np.diff(true.gains), -np.diff(np.log(true.discounts))
    logs = []
    for _ in range(RATERS):
        own_steps, own_falls = (x * np.exp(TASTE * rng.normal(size=len(x))) for x in (steps, falls))
        own = dl.DCG(
            np.append(0, np.cumsum(own_steps)), np.exp(-np.append(0, np.cumsum(own_falls)))
        )
        logs.append(
            dl.simulate.preference_pairs(
                own, EACH, lists="free", n_flips=round(EACH / 10), random_state=rng
            )
        )
    preferred, other = (
        np.concatenate([getattr(log, side) for log in logs]) for side in ("preferred", "other")
    )
    log = dl.Preferences(
        preferred,
        other,
        n_grades=true.n_grades,
        rater=np.repeat(np.arange(RATERS), EACH).astype(str),
    )
    return covered(dl.bands(log, by=by, random_state=int(rng.integers(2**31))), true)


def covered(bands, true, further=()):
    """Return the share of parameters covered, whether all are covered, and the widths.

    Single bands give the share; simultaneous bands say whether all are covered. The bands are
    those of the draws alone: the bands shown also hold what was learned, so they cover no less.
    Worst and best gain and the first discount are the same in every fit, and not counted.
    """
    values = np.array([np.nan, *true.gains[1:-1], np.nan, np.nan, *true.discounts[1:], *further])
    ends = np.concatenate([bands.drawn, bands.simultaneous.drawn])
    rows = pl.DataFrame(dict(zip(("low", "high", "all_low", "all_high"), ends, strict=True)))
    rows = rows.with_columns(value=pl.Series(values)).filter(pl.col("value").is_not_nan())
    rows = rows.filter(pl.col("high") > pl.col("low"))
    inside = (
        pl.col("value").is_between("low", "high"),
        pl.col("value").is_between("all_low", "all_high"),
    )
    return {
        "covered": float(rows.select(inside[0].mean()).item()),
        "all_covered": int(rows.select(inside[1].all()).item()),
        "width": float((rows["high"] - rows["low"]).mean()),
        "all_width": float((rows["all_high"] - rows["all_low"]).mean()),
    }


def simulate(seed, repeats, quick, jobs):
    """Yield one record per setting and repeat."""
    cells = [{"rate": rate, "n": n} for rate in RATES for n in SIZES][: 1 if quick else None]
    of_dcgs = [{"truth": truth, **cell} for truth in (*TRUTHS, OTHER) for cell in cells]
    forms = [] if quick else [{"truth": form} for form in FORMS]
    units = [{"by": "rater"}, {"by": "pair"}][: 1 if quick else None]
    for function, settings in ((trial, of_dcgs), (trial_of_form, forms), (trial_of_raters, units)):
        yield from repeated(function, settings, repeats=repeats, seed=seed, jobs=jobs)


def plot(table, axes):
    """Draw both coverages against the number of judgements, in two panels.

    One panel is of D1 and D2, the other of DCGs with random steps.
    """
    cells = table.filter(pl.col("n").is_not_null())
    for ax, kinds, title in zip(
        axes, (TRUTHS, (OTHER,)), ("D1 and D2", "DCGs with random steps"), strict=True
    ):
        part = cells.filter(pl.col("truth").is_in(kinds))
        for i, (style, rate) in enumerate(zip(STYLES, RATES, strict=False)):
            if rate not in part["rate"]:
                continue
            means = summary(part.filter(rate=rate), ["n"], ["covered"], outcomes=PARAMETERS)
            means = means.join(summary(part.filter(rate=rate), ["n"], ["all_covered"]), on="n")
            means = means.with_columns(n=pl.col("n") * 1.12 ** (i - 1))
            wrong = "no judgement wrong" if rate == 0 else f"{rate:.0%} wrong"
            draw_means(ax, means, "n", "covered", style, label=wrong)
            draw_means(ax, means, "n", "all_covered", {**style, "linestyle": ":", "alpha": 0.6})
        ax.axhspan(0.87, 0.93, color="0.5", alpha=0.15, lw=0)
        ax.set(
            xscale="log",
            xlabel="number of judgements",
            ylabel="coverage of 90% bands",
            ylim=(0.3, 1.02),
        )
        ax.set_xticks(SIZES, [f"{n:,}" for n in SIZES])
        ax.minorticks_off()
        ax.set_title(f"The truth: {title}")
    share_scale(axes)
    legend(
        axes[0], "line: each parameter\ndotted: all twelve at once", loc="lower right", fontsize=7
    )


def claims(table):
    """Yield our claims; the bounds are the issue's."""
    of_dcgs = pl.col("truth").is_in(TRUTHS).fill_null(value=False)
    claim = partial(Claim, table.filter(of_dcgs), "ours", "study k")
    of_truths = {"truth": TRUTHS}
    yield claim(
        "90% bands of D1 and D2 cover, mean of all cells",
        "covered",
        of_truths,
        outcomes=PARAMETERS,
        low=0.885,
        high=0.915,
    )
    cells = [{"truth": t, "rate": rate, "n": n} for t in TRUTHS for rate in RATES for n in SIZES]
    text = "their coverage: {truth}, {rate:.0%} wrong, {n} judgements"
    yield in_every_cell(
        [
            claim(text.format(**cell), "covered", cell, outcomes=PARAMETERS, low=0.87, high=0.93)
            for cell in cells
        ]
    )
    yield claim(
        "simultaneous bands of D1 and D2 cover at least 85%, mean of all cells",
        "all_covered",
        of_truths,
        low=0.85,
    )
    others = table.filter(~of_dcgs)
    yield Claim(
        others,
        "ours",
        "study k",
        "simultaneous bands of DCGs with random steps cover",
        "all_covered",
        {"truth": OTHER},
        low=0.84,
    )
    claim = partial(Claim, others, "ours", "study k", value="covered")
    for text, rows, most in (
        ("90% bands of DCGs with random steps cover", {"truth": OTHER}, 0.95),
        ("coverage of bands at least 85%, share of the best", {"truth": "best"}, np.inf),
        ("coverage of bands, saturation", {"truth": "saturation"}, 0.95),
        ("bands by rater, of raters who differ, cover", {"by": "rater"}, 0.95),
    ):
        yield claim(text=text, rows=rows, outcomes=PARAMETERS, low=0.85, high=most)


if __name__ == "__main__":
    main(__name__)
