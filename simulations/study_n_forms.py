"""Study n: how often does `form="auto"` leave the DCG, on logs of a DCG and of users who stop?"""

from functools import partial

import numpy as np
import polars as pl

import dcglearn as dl
from simulations.claims import Claim
from simulations.run import curves, legend, main, repeated

STEM, REPEATS, PANELS, FIGSIZE = "study_n_forms", 100, 1, (5.0, 3.4)
MORE = 0.6
"""Share of the repeats of the settings that have most."""
SIZES = {"D1": {100: 0.5, 300: MORE}, "D2": {100: 0.5, 300: MORE}, "ERR": {300: 0.2, 1000: 0.2}}
"""Numbers of judgements, with the share of the repeats."""

N_GRADES, DEPTH, WRONG = 5, 10, 0.1
DCGS = ("D1", "D2")


def truth_of(name):
    """Return the utility that the judges go by."""
    if name == "ERR":
        return dl.evaluation.textbook_list_metrics(N_GRADES, DEPTH)["ERR"][f"ERR@{DEPTH}"]
    return dl.simulate.ground_truth(name, N_GRADES, DEPTH)


def judged(metric, n, rng):
    """Return n judgements of pairs of random lists, of which a tenth is wrong.

    Lists of equal worth make no pair.
    """
    lists = rng.integers(0, N_GRADES, (2, 2 * n, DEPTH)).astype(np.int8)
    lead = metric.score(lists[0]) - metric.score(lists[1])
    kept = np.flatnonzero(np.abs(lead) > 1e-9)[:n]
    first = (lead[kept] > 0) ^ (rng.random(len(kept)) < WRONG)
    return dl.Preferences(
        *np.where(first[:, None], lists[:, kept], lists[::-1, kept]), n_grades=N_GRADES
    )


def trial(rng, truth, n):
    """Choose the form of one log."""
    learner = dl.DCGLearner(form="auto").fit(judged(truth_of(truth), n, rng))
    scores = learner.form_scores_["saturation"]
    return {
        "form": learner.form_,
        "beyond": int(learner.form_ != "dcg"),
        "gain": scores.gain,
        "p_value": scores.p_value,
        "ahead": scores.ahead,
        "ahead_error": scores.ahead_error,
    }


def simulate(seed, repeats, quick, jobs):
    """Yield one record per truth, number of judgements and repeat."""
    for truth, sizes in SIZES.items():
        for n, share in ({60: 1.0} if quick else sizes).items():
            times = max(round(share * repeats), 2)
            yield from repeated(
                trial, [{"truth": truth, "n": n}], repeats=times, seed=seed, jobs=jobs
            )


def plot(table, axes):
    """Draw how often another form than the DCG is chosen, against the number of judgements."""
    curves(table, axes, "n", "beyond")
    axes.set_title("How often users who stop are told from a DCG")
    axes.axhline(0.05, color="0.5", lw=0.8, ls=":")
    words = "5%: the most that is\nclaimed for D1 and D2"
    axes.text(350, 0.065, words, fontsize=7, color="0.3")
    axes.set(
        xscale="log",
        xlabel="number of judgements",
        ylabel="share of logs that leave the DCG",
        ylim=(-0.02, 1.02),
    )
    sizes = sorted(table["n"].unique())
    axes.set_xticks(sizes, [f"{n:,}" for n in sizes])
    axes.minorticks_off()
    legend(axes, "true utility")


def claims(table):
    """Yield our claims."""
    claim = partial(Claim, paper="ours", place="study n", value="beyond")
    all_dcgs = table.filter(pl.col("truth").is_in(DCGS))
    for n in sorted(all_dcgs["n"].unique()):
        dcgs = all_dcgs.filter(n=n)
        text = f'form="auto" leaves the DCG in at most 5% of logs of DCGs, {n} judgements'
        yield claim(dcgs, text=text, rows={"truth": DCGS}, level=0.05)
    for n in SIZES["ERR"]:
        text = f"it leaves the DCG in logs of ERR, {n} judgements"
        yield claim(table.filter(truth="ERR", n=n), text=text, rows={}, low=0.9)


if __name__ == "__main__":
    main(__name__)
