"""Study ac: are new verdicts as sure as `learn` says that its judges are?

Of each pair, the judges say the chance that the list that the fit puts first is preferred. Their
slope is that of `learn`: the prior with what folds of the same log measure. Beside it stand the
judges of the fit alone, and those who are corrected only where folds show them to be too sure.
"""

from dataclasses import replace
from functools import partial

import numpy as np

import dcglearn as dl
from dcglearn.trust.calibration import Calibration, shrunk
from dcglearn.trust.held_out import cross_fitted
from simulations.claims import Claim, in_every_cell
from simulations.findings import headline
from simulations.run import TRUTHS, curves, legend, main, repeated

STEM, REPEATS, PANELS, FIGSIZE = "study_ac_calibration", 10, 2, (8.0, 3.6)
PARTS = {"slope": "slope of held-out verdicts", "surer": "mean chance of held-out verdicts"}
"""What the claims on each column begin with."""

FRESH = 59
"""Added to the seed, since the prior on slopes was set on logs of the seed itself."""

SIZES, HELD_OUT = (100, 300, 1000), 2000
JUDGES = {
    "careless": {"flip_rate": 0.15},
    "graded": {"temperature": 0.04},
    "both": {"flip_rate": 0.1, "temperature": 0.02},
}
"""Judges who err on all pairs alike, who err on close pairs, and who do both.

A temperature is a share of the best list's value.
"""
NAMES = {"both": "careless and graded"}
"""Kinds of judges whose name says too little alone."""


def trial(rng, truth, judge, n):
    """Learn from n judgements; return how sure that is of further verdicts of these judges."""
    true, noise = dl.simulate.ground_truth(truth), dict(JUDGES[judge])
    if "temperature" in noise:
        noise["temperature"] *= true.gains[-1] * true.discounts.sum()
    train, held_out = (
        dl.simulate.preference_pairs(true, size, lists="free", random_state=rng, **noise)
        for size in (n, HELD_OUT)
    )

    # the judges of the fit, and what folds of its log say of them
    metric = dl.DCGLearner().fit(train).dcg_
    folds = cross_fitted(train, random_state=0).calibration
    shown = folds.slope if folds.overconfident else 1.0
    rules = {
        "": shrunk(metric.judges, folds),
        "_as_fitted": metric.judges,
        "_if_shown": replace(metric.judges, slope=shown),
    }

    # further verdicts, by the chance of the list that the fit puts first
    gaps = held_out.gaps(metric)
    observed = np.mean(np.sign(gaps) + 1) / 2
    clusters, weight = held_out.clusters("pair"), np.ones(len(gaps))
    record = {"folds": folds.slope, "error": folds.error, "observed": observed}
    for rule, judges in rules.items():
        chances = judges.chances(gaps)[:, 0]
        predicted = np.maximum(chances, 1 - chances).mean()
        slope = Calibration.of(chances, weight, clusters).slope
        record |= {f"slope{rule}": slope, f"surer{rule}": predicted - observed}
    return record


def simulate(seed, repeats, quick, jobs):
    """Yield one record per true DCG, judges, number of judgements and repeat."""
    sizes = SIZES[:1] if quick else SIZES
    settings = [
        {"truth": truth, "judge": judge, "n": n}
        for truth in TRUTHS
        for judge in JUDGES
        for n in sizes
    ]
    yield from repeated(trial, settings, repeats=repeats, seed=seed + FRESH, jobs=jobs)


def plot(table, axes):
    """Draw the slope of verdicts on predicted log-odds, and how much surer the judges are said."""
    claimed = list(claims(table))
    finding = "Judges are as sure as said"
    panels = (
        ("slope", 1, "slope of verdicts on log-odds", "The slope is near 1", "The slope"),
        ("surer", 0, "predicted minus observed share", finding, "Mean chances"),
    )
    for ax, (value, line, label, finding, neutral) in zip(axes, panels, strict=True):
        curves(table, ax, "n", value, lines="judge")
        ax.axhline(line, color="0.2", lw=0.9, zorder=1)
        ax.set(xscale="log", xlabel="number of judgements", ylabel=label)
        shown = sorted(table["n"].unique())
        ax.set_xticks(shown, [f"{n:,}" for n in shown])
        ax.minorticks_off()
        ax.set_title(headline(claimed, finding, neutral, PARTS[value]))
    legend(axes[0], "judges", fontsize=7)


def claims(table):
    """Yield our claims, on both true DCGs together, each of the judges nearest to failing."""
    claim = partial(Claim, table, "ours", "study ac")
    bounds = {"slope": (0.8, 1.2), "surer": (-0.03, 0.03)}
    words = {"slope": "on predicted log-odds is .8 to 1.2", "surer": "is that predicted, to .03"}
    for n in sorted(table["n"].unique()):
        for value, (low, high) in bounds.items():
            text = f"{PARTS[value]} {words[value]}: {n} judgements, {{}} judges"
            each = [
                claim(
                    text.format(NAMES.get(judge, judge)),
                    value,
                    {"n": n, "judge": judge},
                    low=low,
                    high=high,
                )
                for judge in JUDGES
            ]
            yield in_every_cell(each)


if __name__ == "__main__":
    main(__name__)
