"""Study z: bands, error rates and leads where truths and judges are none of the learner's own."""

from functools import partial

import numpy as np
import polars as pl

import dcglearn as dl
from simulations.claims import Claim, in_every_cell
from simulations.run import STYLES, draw_means, legend, main, repeated, summary, validated
from simulations.study_h_learners import GRID
from simulations.study_k_bands import covered
from simulations.truths_and_judges import JUDGES, KINDS, WRONG, judged, pairs_of, truth_of

STEM, REPEATS, PANELS, FIGSIZE = "study_z_truths_and_judges", 40, (2, 2), (8.5, 6.4)
SIZES = (100, 300)
PARAMETERS = 10
"""Gains and discounts of a truth that vary between fits, about."""

FRESH = 58
"""Added to the seed, so that the claims are tested on logs that nobody had seen."""

N_NEW = 20_000
"""New pairs, on which precision and the true lead are measured."""

KNOWN, AT_ONCE = 0.86, 0.84
"""Least coverage of 90% bands in every cell: of each parameter, and of all at once."""


def trial(rng, truth, judge, n, n_new):
    """Return what bands, errors and leads of one log say, and what is true."""
    true, skewed = truth_of(truth, rng), bool(rng.random() < 0.5)
    log, held_out, new = (
        judged(true, pairs_of(true, size, skewed, rng), judge, rng) for size in (n, n, n_new)
    )
    fit = dl.DCGLearner().fit(log, as_is=True)
    learned = fit.dcg_.normalised()

    # bands, and how far off gains and discounts are
    found = covered(dl.bands(log, fit, random_state=int(rng.integers(2**31))), true)
    found["off_gains"] = float(np.abs(learned.gains - true.gains)[1:-1].mean())
    found["off_discounts"] = float(np.abs(learned.discounts - true.discounts)[1:].mean())

    # errors, and the share of new pairs that are ordered as the truth does
    found |= {"error_rate": fit.error_rate_, "wrong_share": fit.wrong_share_}
    clean = judged_right(true, new)
    textbook = max(
        dl.textbook_dcgs(true.n_grades, true.depth).values(),
        key=lambda dcg: log.agreement(dcg).share,
    )
    found["precision"] = clean.agreement(learned).precision
    found["lead"] = found["precision"] - clean.agreement(textbook).precision
    qp = validated(log, held_out, GRID).utility_
    found["lead_over_qp"] = found["precision"] - clean.agreement(qp).precision

    # the interval of the lead over exponential-log2 on held-out verdicts
    usual = dl.DCG.standard(true.n_grades, true.depth)
    row = dl.compare_learners(log, held_out, C=1.0)["exponential-log2"]
    ahead = new.agreement(learned).share - new.agreement(usual).share
    return {**found, "lead_covered": int(row.low <= ahead <= row.high)}


def judged_right(true, log):
    """Return the log with the verdicts that the truth would give."""
    right = true.score(log.preferred) > true.score(log.other)
    lists = np.array([log.preferred, log.other])
    return dl.Preferences(*np.where(right[:, None], lists, lists[::-1]), n_grades=true.n_grades)


def simulate(seed, repeats, quick, jobs):
    """Yield one record per kind of truth, judge, number of judgements and repeat."""
    sizes, n_new = (SIZES[:1], 1000) if quick else (SIZES, N_NEW)
    settings = [
        {"truth": truth, "judge": judge, "n": n, "n_new": n_new}
        for truth in KINDS
        for judge in JUDGES
        for n in sizes
    ]
    yield from repeated(trial, settings, repeats=repeats, seed=seed + FRESH, jobs=jobs)


def plot(table, axes):
    """Draw by kind of truth: coverage, distances, error rates, and coverage of the lead."""
    places = list(range(len(KINDS)))
    table = table.with_columns(x=pl.col("truth").replace_strict(list(KINDS), places))

    def draw(ax, part, value, style, label, **shares):
        means = summary(part, ["x"], [value], **shares)
        draw_means(ax, means, "x", value, {**style, "linestyle": "none"}, label=label)

    # bands
    (bands, distances), (errors, leads) = axes
    last = table.filter(n=table["n"].max())
    for i, n in enumerate(sorted(table["n"].unique())):
        moved = table.filter(n=n).with_columns(x=pl.col("x") + 0.15 * i)
        full = {**STYLES[i], "markerfacecolor": STYLES[i]["color"]}
        draw(bands, moved, "covered", full, f"each, {n} judgements", outcomes=PARAMETERS)
        hollow = {**full, "markerfacecolor": "white"}
        moved = moved.with_columns(x=pl.col("x") + 0.07)
        draw(bands, moved, "all_covered", hollow, f"all at once, {n} judgements", outcomes=1)
    bands.axhspan(KNOWN, 0.94, color="0.5", alpha=0.15, lw=0)
    bands.set(ylabel="coverage of 90% bands", ylim=(0.5, 1.02), title="Bands")

    # what was learned
    for i, (value, words) in enumerate(
        {"off_gains": "gains", "off_discounts": "discounts"}.items()
    ):
        draw(distances, last, value, STYLES[i], words)
    distances.set(ylabel="mean distance from the truth", title=f"{last['n'].max()} judgements")

    # judges
    for i, judge in enumerate(JUDGES):
        part = last.filter(judge=judge).with_columns(x=pl.col("x") + 0.12 * i)
        draw(errors, part, "wrong_share", STYLES[i], judge)
        draw(leads, part, "lead_covered", STYLES[i], judge, outcomes=1)
    errors.axhline(WRONG, color="0.5", lw=0.8)
    errors.set(ylabel="share of wrong verdicts", title="Expected by the fit (line: the truth)")
    leads.axhspan(0.85, 0.95, color="0.5", alpha=0.15, lw=0)
    leads.set(ylabel="coverage of 90% intervals", title="Leads on held-out verdicts")
    errors.set_ylim(0.08, 0.26)
    for ax, corner in zip(
        (bands, distances, errors, leads), ("lower", "upper", "upper", "lower"), strict=True
    ):
        ax.set_xticks(places, KINDS)
        if ax is not leads:  # judges look as in the panel beside it
            legend(ax, fontsize=7, loc=f"{corner} right", ncols=2)


def claims(table):
    """Yield our claims by kind of truth and by judge; the bounds of coverage are the issue's."""
    claim, last = partial(Claim, table, "ours", "study z"), {"n": max(SIZES)}
    parts = {
        **{f"{truth} truth": {"truth": truth} for truth in KINDS},
        **{f"{judge} judges": {"judge": judge} for judge in JUDGES},
    }
    bands = {"outcomes": PARAMETERS, "low": KNOWN}

    # bands: the worst kind of truth and size, then each kind of truth and judge
    for text, value, ends in (
        ("90% bands cover", "covered", bands),
        ("90% bands of all at once cover", "all_covered", {"low": AT_ONCE}),
    ):
        cells = [{"truth": truth, "n": n} for truth in KINDS for n in sorted(table["n"].unique())]
        of_cell = "{truth} truth, {n} judgements"
        yield in_every_cell(
            [claim(f"{text}: {of_cell.format(**cell)}", value, cell, **ends) for cell in cells]
        )

    # bands, errors, intervals and leads
    for text, value, ends, rows in (
        ("90% bands cover", "covered", bands, {}),
        ("90% bands of all at once cover", "all_covered", {"low": AT_ONCE}, {}),
        ("expected wrong verdicts, 15% are", "wrong_share", {"low": 0.12, "high": 0.18}, {}),
        ("90% intervals of leads cover", "lead_covered", {"low": 0.85, "high": 0.95}, {}),
        ("lead over the best textbook", "lead", {"low": 0.0}, last),
        ("lead over the QP", "lead_over_qp", {"low": 0.0}, last),
    ):
        for part, of_part in parts.items():
            yield claim(f"{text}: {part}", value, {**of_part, **rows}, **ends)


if __name__ == "__main__":
    main(__name__)
