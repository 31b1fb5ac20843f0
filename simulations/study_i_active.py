"""Study i: how many judgements are needed, actively chosen or random, by judges' error rate?"""

from functools import partial

import numpy as np
import polars as pl

import dcglearn as dl
from simulations.claims import CLOSE, Claim
from simulations.run import DASHED, MEASURES, TRUTHS, curves, grid, legend, logs, share_scale
from simulations.truths_and_judges import JUDGES, WRONG, judged

REPEATS, PANELS, FIGSIZE = 32, (2, 2), (8.5, 6.6)
SIZES = (20, 40, 60, 80, 100, 140)
BATCH = 10
RATES = (0.0, 0.1, 0.2, 0.3)
GOAL = 0.95
CHOICES = {"asked": "actively chosen", "random": "random"}
"""Labels of the ways to choose pairs, by their names in the table."""


def answered(pairs, true, judge, flip_rate, usual, rng):
    """Return preferred and other lists, and whether the latter were shown first, of pairs.

    Exact ties are left out. A careless judge errs on a share `flip_rate` of any pairs; see
    `truths_and_judges.judged` for the others.
    """
    difference = true.score(pairs[:, 0]) - true.score(pairs[:, 1])
    pairs, difference = pairs[difference != 0], difference[difference != 0]
    if judge != "careless":
        log = judged(true, pairs.swapaxes(0, 1), judge, rng, usual)
        return log.preferred, log.other, log.swapped

    # lists in the order of the verdict
    swap = (difference < 0) ^ (rng.random(len(pairs)) < flip_rate)
    pairs = np.where(swap[:, None, None], pairs[:, ::-1], pairs)
    return pairs[:, 0], pairs[:, 1], np.zeros(len(pairs), bool)


def trial(rng, truth, how, judge, flip_rate, sizes, n_test):
    """Ask for judgements in batches, and return one record per size.

    A record holds the precision and the estimated error rate of the judges.
    """
    true = dl.simulate.ground_truth(truth)
    (test,) = logs(true, rng, n_test)

    def candidates(n):
        return dl.simulate.permutations(dl.simulate.PAPER_LIST, 2 * n, random_state=rng).reshape(
            n, 2, 10
        )

    usual = None if judge == "careless" else candidates(1000).swapaxes(0, 1)
    answers = partial(answered, true=true, judge=judge, flip_rate=flip_rate, usual=usual, rng=rng)
    columns, records = answers(candidates(BATCH)), []
    while True:
        preferred, other, swapped = columns
        n = len(preferred)
        sides = None if judge == "careless" else swapped

        # learn from what is known
        log = dl.Preferences(preferred, other, n_grades=5, swapped=sides)
        learner = dl.DCGLearner().fit(log, as_is=True) if how == "asked" or n in sizes else None
        if n in sizes:
            precision = test.agreement(learner.dcg_).precision
            records.append({"n": n, "precision": precision, "estimated": learner.error_rate_})
        if n >= max(sizes):
            return records

        # the next pairs
        pool = candidates(300)
        new = (
            dl.suggest_pairs(log, pool, BATCH, learner=learner).pairs
            if how == "asked"
            else pool[:BATCH]
        )

        # tied pairs are replaced
        further = answers(new)
        while len(further[0]) < BATCH:
            further = joined(further, answers(candidates(1)))
        columns = joined(columns, further)


def joined(*parts):
    """Return columns, each of the parts' below each other."""
    return [np.concatenate(column) for column in zip(*parts, strict=True)]


def settings(quick):
    """Return a setting for each true DCG, way of choosing, judge and error rate.

    Of judges who are not careless, `flip_rate` is the share of wrong verdicts on random pairs.
    """
    sizes, rates, n_test = ((20, 40), RATES[:2], 1000) if quick else (SIZES, RATES, 5000)
    cells = grid(
        truth=TRUTHS,
        how=tuple(CHOICES),
        judge=JUDGES,
        flip_rate=(*rates, WRONG),
        sizes=(sizes,),
        n_test=n_test,
    )
    return [cell for cell in cells if (cell["judge"] == "careless") == (cell["flip_rate"] in rates)]


def plot(table, axes, headline):
    """Draw precision, the share of runs at the goal, and the estimated error rate.

    Precision and share are drawn against the number of judgements.
    """
    table, (count, estimate) = table.filter(judge="careless"), axes[1]
    for ax, rate in zip(axes[0], RATES, strict=False):
        wrong = f"{rate:.0%} of judgements wrong" if rate else "No judgement wrong"
        title = headline(f"{wrong}: chosen pairs help", wrong, f"judgements, {rate:.0%} wrong")
        part = table.filter(pl.col("flip_rate") == rate)
        curves(part, ax, "n", "precision", dashes="how", labels=CHOICES)
        ax.set(xlabel="number of judgements", ylabel=MEASURES["precision"], title=title)
    share_scale(axes[0])
    legend(axes[0][1], "true DCG, pairs", fontsize=7)

    # runs at the goal; the legend is below, where no bar runs through it
    reached = table.with_columns(reached=(pl.col("precision") >= GOAL).cast(pl.Int64))
    noisy = reached.filter(pl.col("flip_rate") > 0)
    labels = {**CHOICES, **{str(rate): f"{rate:.0%} wrong" for rate in noisy["flip_rate"].unique()}}
    curves(noisy, count, "n", "reached", lines="flip_rate", dashes="how", labels=labels)
    count.set(xlabel="number of judgements", ylim=(-0.03, 1.03))
    count.set_ylabel(f"share of runs with a precision of {GOAL:g}")
    count.set_title(f"Runs with a precision of {GOAL:g}")
    below = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.2), "ncols": 2}
    legend(count, fontsize=6.5, **below)

    # the estimated error rate
    percent = table.with_columns(pl.col("flip_rate", "estimated") * 100)
    most = table["n"].max()
    curves(percent.filter(n=most, how="random"), estimate, "flip_rate", "estimated")
    ends = [0, percent["flip_rate"].max()]
    estimate.plot(ends, ends, lw=0.9, label="estimate = truth", **DASHED)
    estimate.set(xlabel="% of judgements wrong", ylabel="estimated %")
    estimate.set_title(f"Estimated share of wrong judgements, {most} pairs")
    legend(estimate, fontsize=7)


def claims(table):
    """Yield our claims on the paper's open question and on the estimated error rate.

    Both true DCGs are taken together.
    """
    sizes = tuple(n for n in sorted(table["n"].unique()) if n >= 40)
    off = table.with_columns(off=pl.col("estimated") - pl.col("flip_rate"))
    for rate in sorted(table.filter(judge="careless")["flip_rate"].unique()):
        chosen, random = (
            {"how": how, "judge": "careless", "flip_rate": rate, "n": sizes} for how in CHOICES
        )
        text = (
            f"chosen pairs beat random ones, {sizes[0]} to {sizes[-1]} judgements, {rate:.0%} wrong"
        )
        yield Claim(table, "ours", "study i", text, "precision", chosen, random, low=0.0)

        if rate == 0:
            continue  # of a clean log the estimate is that of the prior
        text = (
            f"`DCGLearner` estimates close to {rate:.0%} of wrong judgements, "
            f"{sizes[-1]} random pairs"
        )
        yield Claim(
            off, "ours", "study i", text, "off", {**random, "n": sizes[-1]}, low=-CLOSE, high=CLOSE
        )

    # judges of other kinds, who are wrong on this share of random pairs
    for judge in JUDGES[1:]:
        chosen, random = ({"how": how, "judge": judge, "n": sizes} for how in CHOICES)
        size = f"{sizes[0]} to {sizes[-1]} judgements"
        text = f"chosen pairs beat random ones, {size}, {judge} judges"
        yield Claim(table, "ours", "study i", text, "precision", chosen, random, low=0.0)
