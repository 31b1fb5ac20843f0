"""Study t: does a DCG learned from answers find what readers attend to?

The study also asks whether it follows answers better than nDCG.
"""

from functools import partial

import numpy as np
import polars as pl

import dcglearn as dl
from simulations.claims import Claim
from simulations.findings import headline
from simulations.run import curves, legend, main, repeated

STEM, REPEATS, PANELS, FIGSIZE = "study_t_answers", 28, 3, (12.0, 3.6)
SIZES, QUICK_SIZES = (300, 1000), (300,)
"""Numbers of questions."""

FALLING, ENDS = np.array([1.0, 0.6, 0.4, 0.3, 0.3]), np.array([1.0, 0.5, 0.3, 0.5, 0.9])
READERS = {
    "harmless": (np.array([0.0, 0.4, 1.0]), FALLING),
    "distracted": (np.array([-1 / 3, 0.4, 1.0]), FALLING),
    "lost in the middle": (np.array([-1 / 3, 0.4, 1.0]), ENDS),
    "textbook": (np.array([0.0, 1 / 3, 1.0]), 1 / np.log2(np.arange(5) + 2)),
}
"""Gains of a distractor, a part of the answer and the answer, and discounts; the textbook's are
those of nDCG.
"""

GRADES, SHARPNESS, DIFFICULTY = (0.5, 0.25, 0.25), 3.0, (-1.0, 1.0)
"""Shares of grades, the slope of the log odds of a right answer in the utility, and mean and spread
of difficulties.
"""

KINDS = {"compared": 2, "alone": 1}
"""How often each question is asked, each time with another list of 1 to 5 documents."""

MORE = 7
"""How many times more repeats show how rarely a DCG that equals nDCG's curves is said to be worse
than they are.
"""

TESTED = 4000
"""New pairs of lists that the true reader and a metric order."""


def lists_of(rng, n):
    """Return n lists of 1 to 5 grades, -2 after their ends."""
    grades = rng.choice(3, p=GRADES, size=(n, 5)).astype(np.int8)
    grades[np.arange(5) >= rng.integers(1, 6, n)[:, None]] = -2
    return grades


def asked(rng, reader, n, kind):
    """Return the lines of a log of answers."""
    gains, discounts = READERS[reader]
    question = np.repeat(np.arange(n), KINDS[kind])
    grades = lists_of(rng, len(question))
    value = np.append(gains, 0)[np.where(grades < 0, 3, grades)] @ discounts
    logit = SHARPNESS * value + rng.normal(*DIFFICULTY, n)[question]
    right = rng.random(len(question)) < 1 / (1 + np.exp(-logit))
    rows = zip(question.tolist(), grades, right.tolist(), strict=True)
    return [{"question": q, "list": row[row >= 0].tolist(), "right": yes} for q, row, yes in rows]


def precision(metric, reader, lists):
    """Return the share of pairs of neighbouring lists that a metric orders as the reader does.

    The reader orders lists by utility.
    """
    true = dl.DCG(*READERS[reader]).score(lists)
    values, true = np.diff(metric.score(lists)), np.diff(true)
    decided = np.abs(true) > 1e-9
    return float(((np.sign(values) * np.sign(true) + 1) / 2)[decided].mean())


def trial(rng, reader, n, kind):
    """Learn from one log, with falling and with free discounts."""
    answers = dl.io.read_answers(asked(rng, reader, n, kind), n_grades=3)
    lists = lists_of(rng, TESTED)
    usual = precision(dl.DCG.standard(3, 5), reader, lists)
    records = []
    for discounts in ("falling", "free") if reader == "lost in the middle" else ("falling",):
        fit = dl.learn_from_answers(answers, dl.DCGLearner(zero="none", discounts=discounts))
        row = next(iter(fit.held_out.values()))[1]
        learned = fit.dcg
        record = {"precision": precision(learned, reader, lists), "usual": usual}
        record |= {"distractor": learned.gains[0] / learned.gains[2], "better": int(row.low > 0)}
        records.append(
            {"discounts": discounts, **record, "worse": int(row.high < 0), "ahead": row.difference}
        )
    return [{**record, "gained": record["precision"] - usual} for record in records]


def simulate(seed, repeats, quick, jobs):
    """Yield one record per reader, number of questions, way of asking, discounts and repeat."""
    sizes = QUICK_SIZES if quick else SIZES
    settings = [
        {"reader": reader, "n": n, "kind": kind}
        for reader in READERS
        for n in sizes
        for kind in KINDS
    ]
    rare = [{"reader": "textbook", "n": n, "kind": "compared"} for n in sizes]
    settings = [setting for setting in settings if setting not in rare]
    yield from repeated(trial, settings, repeats=repeats, seed=seed, jobs=jobs)
    yield from repeated(
        trial, rare, repeats=repeats if quick else MORE * repeats, seed=seed, jobs=jobs
    )


def plot(table, axes):
    """Draw precision, the distractor's gain, and how often the learned DCG proves better.

    The third panel is the share of logs whose held-out questions show it.
    """
    best = table.filter((table["reader"] != "lost in the middle") | (table["discounts"] == "free"))
    part = "distractor's gain"
    panels = {
        "precision": "Precision of learned DCGs",
        "distractor": headline(claims(table), f"A {part} is found", f"A {part}", part),
        "better": "Logs with a clear lead, held out",
    }
    labels = (
        "precision on new lists",
        "gain of a distractor",
        "share of logs that show: better than nDCG",
    )
    for ax, (value, title), label in zip(axes, panels.items(), labels, strict=True):
        curves(best, ax, "n", value, lines="reader", dashes="kind")
        ax.set(title=title, xlabel="questions", ylabel=label, xscale="log")
        ax.set_xticks(SIZES, [f"{n:,}" for n in SIZES])
        ax.minorticks_off()
    legend(
        axes[1],
        "reader, how often asked",
        loc="center",
        ncols=2,
        fontsize=6,
        bbox_to_anchor=(0.5, 0.5),
    )


def claims(table):
    """Yield our claims, stated before the run."""
    claim = partial(Claim, table.filter(pl.col("reader") != "textbook"), "ours", "study t")
    large, shape = table["n"].max(), {"discounts": "falling"}
    for kind in KINDS:
        rows = {"n": large, "kind": kind, **shape}
        where = f"questions {'asked twice' if kind == 'compared' else 'asked once'}, {large}"
        costly, harmless = {"reader": "distracted", **rows}, {"reader": "harmless", **rows}
        yield claim(
            f"a distractor's gain of -1/3 is learned to .1: {where}",
            "distractor",
            costly,
            low=-0.43,
            high=-0.23,
        )
        yield claim(
            f"a harmless distractor's gain is learned to .1: {where}",
            "distractor",
            harmless,
            low=-0.1,
            high=0.1,
        )
        yield claim(
            "the learned DCG orders lists at least .05 better "
            f"than nDCG's curves where distractors cost: {where}",
            "gained",
            costly,
            low=0.05,
        )
        often = 0.5 if kind == "compared" else 0.8
        yield claim(
            f"held-out questions show it in at least {often:.0%} of logs: {where}",
            "better",
            costly,
            low=often,
        )
        ends = {"reader": "lost in the middle", "n": large, "kind": kind}
        yield claim(
            "with a reader who is lost in the middle, "
            f"free discounts order lists better than falling ones: {where}",
            "precision",
            {**ends, "discounts": "free"},
            {**ends, "discounts": "falling"},
            low=0.0,
        )
    of_textbook = table.filter(reader="textbook")
    rows = {"kind": "compared"}
    for n in sorted(table["n"].unique()):
        text = (
            "where a reader's curves are nDCG's, at most 10% of logs say "
            f"within questions that it is worse, {n}"
        )
        part = of_textbook.filter(n=n, **rows)
        yield Claim(part, "ours", "study t", text, "better", rows, low=0.0, high=0.1)
    text = (
        "but across questions, nDCG does not say how much was retrieved: "
        f"worse in at least 80% of logs, {large}"
    )
    rows = {"kind": "alone"}
    yield Claim(
        of_textbook.filter(n=large, **rows), "ours", "study t", text, "better", rows, low=0.8
    )


if __name__ == "__main__":
    main(__name__)
