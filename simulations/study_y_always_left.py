"""Study y: what do verdicts that always say "left" cost, and do known sides help?

Up to half of the verdicts say so, no matter which lists are shown.
"""

from functools import partial

import numpy as np
import polars as pl

import dcglearn as dl
from simulations.claims import NEGLIGIBLE, Claim
from simulations.run import curves, legend, main, repeated, share_scale
from simulations.study_s_proxy import N_GRADES, drawn, taste

STEM, REPEATS, PANELS, FIGSIZE = "study_y_always_left", 20, 2, (9.0, 3.4)
SHARES = (0.0, 0.1, 0.2, 0.3, 0.5)
N, RATERS, WRONG, N_TEST = 200, 10, 0.1, 5000
WHO = {"raters": "of the raters always say left", "verdicts": "of everybody's verdicts say left"}
"""Who says left, whatever is shown: some raters in all their verdicts, or all raters in some of
theirs.
"""

FITS = {
    "honest": "the other verdicts alone",
    "known": "all, sides in the log",
    "unknown": "all, sides not in the log",
}
"""What is learned from; only a log with sides lets the fit have position biases."""


def trial(rng, who, share, n_test):
    """Learn from verdicts of which a share is always left.

    The record holds the share of new pairs that each learned DCG orders rightly.
    """
    truth = taste(rng)
    lists, test = drawn(N, rng), drawn(n_test, rng)
    first = (truth.score(lists[0]) >= truth.score(lists[1])) ^ (rng.random(N) < WRONG)
    rater = rng.permutation(np.arange(N) % RATERS)
    left = (
        rater < round(share * RATERS) if who == "raters" else rng.permutation(N) < round(share * N)
    )
    first |= left
    pairs = np.where(first[:, None], lists, lists[::-1])
    new = dl.Preferences(
        *np.where((truth.score(test[0]) >= truth.score(test[1]))[:, None], test, test[::-1]),
        N_GRADES,
    )

    def learned(kept, **sides):
        log = dl.Preferences(*pairs[:, kept], n_grades=N_GRADES, rater=rater[kept], **sides)
        return dl.DCGLearner().fit(log, as_is=True)

    known, unknown = learned(slice(None), swapped=~first), learned(slice(None))
    honest = learned(~left, swapped=~first[~left]) if left.any() else known
    found = {"honest": honest, "known": known, "unknown": unknown}
    precision = {name: new.agreement(learner.dcg_).share for name, learner in found.items()}
    return {**precision, "bias": known.position_bias_}


def simulate(seed, repeats, quick, jobs):
    """Yield one record per kind and share of always-left verdicts, and repeat."""
    shares, n_test = ((0.0, 0.5), 1000) if quick else (SHARES, N_TEST)
    settings = [{"who": who, "share": share, "n_test": n_test} for who in WHO for share in shares]
    yield from repeated(trial, settings, repeats=repeats, seed=seed, jobs=jobs)


def plot(table, axes):
    """Draw precision against the share of always-left verdicts.

    One panel is of raters who always say left, the other of all raters, who at times say left.
    """
    long = table.unpivot(
        list(FITS), index=["who", "share", "repeat"], variable_name="fit", value_name="precision"
    )
    titles = ("Raters who always say left", "All raters at times say left")
    for ax, who, title in zip(axes, WHO, titles, strict=True):
        curves(long.filter(who=who), ax, "share", "precision", lines="fit", labels=FITS)
        ax.set(
            xlabel=f"share of {who} that always say left",
            ylabel="share of new pairs ordered rightly",
            title=title,
        )
    share_scale(axes)
    legend(axes[1], f"learned from {N} verdicts")


def claims(table):
    """Yield our claims."""
    table = table.with_columns(
        loss=pl.col("honest") - pl.col("known"), lead=pl.col("known") - pl.col("unknown")
    )
    claim, half = partial(Claim, table, "ours", "study y"), {"share": 0.5}
    for who, says in WHO.items():
        name = f"half {says}, sides in the log"
        yield claim(
            f"{name}: loss against none",
            "known",
            {"share": 0.0, "who": who},
            {**half, "who": who},
            high=0.02,
        )
        if who == "verdicts":  # raters who always say left are left out of the fit
            text = f"{name}: loss against the other verdicts alone"
            yield claim(text, "loss", {**half, "who": who}, high=0.02)
        for share in (0.3, 0.5):
            text = f"sides in the log help, {share:.0%} {says}"
            yield claim(text, "lead", {"share": share, "who": who}, low=0.0)
    text = f"sides in the log cost nothing where no verdict is always left, {N} verdicts"
    yield claim(text, "lead", {"share": 0.0}, low=-NEGLIGIBLE, high=NEGLIGIBLE)


if __name__ == "__main__":
    main(__name__)
