"""Study aa: people judged a few topics, a machine all; what would people say of these topics?

The machine is careless or lenient, leans to one of the two runs, or is of no use.
"""

from functools import partial

import numpy as np
import polars as pl

import dcglearn as dl
from simulations.claims import Claim, in_every_cell
from simulations.run import STYLES, draw_means, legend, main, repeated, summary
from simulations.study_q_gate import as_dictionaries

STEM, REPEATS, PANELS, FIGSIZE = "study_aa_these_topics", 500, 2, (9.0, 3.6)
TOPICS, DOCUMENTS, LEVEL = 53, 12, 0.9
SIZES = (10, 15, 25)
"""Numbers of topics that people judged, of 53."""

MACHINES = ("careless", "lenient", "leaning", "useless")
"""Machines that grade a quarter of the documents by chance, half of them a grade too high, half of
those that the new run has in its first five places a grade too high, or all by chance.
"""

WAYS = {"these": "these topics", "all": "all topics there could be"}
"""What a comparison with the machine is asked, and what it goes by."""


def graded(kind, grades, new, rng):
    """Return the machine's grades, shape (topics, documents)."""
    chance, half = rng.integers(0, 4, grades.shape), rng.random(grades.shape) < 0.5
    higher = np.minimum(grades + 1, 3)
    ahead = np.argsort(np.argsort(-new, axis=1), axis=1) < 5
    return {
        "careless": np.where(rng.random(grades.shape) < 0.25, chance, grades),
        "lenient": np.where(half, higher, grades),
        "leaning": np.where(half & ahead, higher, grades),
        "useless": chance,
    }[kind]


def trial(rng, machine, n):
    """Return coverage and width for people's mean over all topics, and whether the sign is right.

    By people alone, and with the machine in both ways.
    """
    grades = rng.choice(4, p=[0.55, 0.25, 0.15, 0.05], size=(TOPICS, DOCUMENTS))
    grades[:, 0] = np.maximum(grades[:, 0], 1)
    shared = grades + rng.normal(size=grades.shape)
    old, new = (shared + noise * rng.normal(size=grades.shape) for noise in (0.9, 0.7))
    judged, runs = as_dictionaries(grades, old, new, range(TOPICS))
    by_machine, _ = as_dictionaries(graded(machine, grades, new, rng), old, new, range(TOPICS))
    values = dl.evaluate(judged, runs, "nDCG@10").values[:, 0]
    true = float(np.mean(values[1] - values[0]))

    # people's topics are a random part
    by_people = {q: judged[q] for q in rng.choice(sorted(judged), n, replace=False)}
    compared = partial(dl.compare_systems, by_people, runs, "nDCG@10", level=LEVEL, n_resamples=100)
    found = {way: compared(llm=by_machine, topics=way) for way in WAYS}
    nothing = {q: dict.fromkeys(grades, 1) for q, grades in judged.items()}
    found["people"] = compared(llm=nothing, topics="these")

    record = {}
    for way, comparison in found.items():
        row = comparison.table.row(0, named=True)
        record |= {
            f"covered_{way}": int(row["low"] <= true <= row["high"]),
            f"width_{way}": row["high"] - row["low"],
            f"right_{way}": int(row["difference"] * true > 0),
        }
    return record


def simulate(seed, repeats, quick, jobs):
    """Yield one record per machine, number of topics and repeat."""
    settings = [{"machine": m, "n": n} for m in MACHINES for n in (SIZES[:1] if quick else SIZES)]
    yield from repeated(trial, settings, repeats=repeats, seed=seed, jobs=jobs)


def plot(table, axes):
    """Draw coverage and width by machine, at the middle number of topics."""
    n = sorted(table["n"].unique())[-2:][0]
    part = table.filter(n=n).with_columns(
        x=pl.col("machine").replace_strict(list(MACHINES), list(range(len(MACHINES))))
    )
    ways = {**WAYS, "people": "these topics, without the machine"}
    for i, (way, words) in enumerate(ways.items()):
        moved = part.with_columns(x=pl.col("x") + 0.12 * i)
        for ax, value, shares in (
            (axes[0], f"covered_{way}", {"outcomes": 1}),
            (axes[1], f"width_{way}", {}),
        ):
            style = {**STYLES[i], "linestyle": "none"}
            draw_means(ax, summary(moved, ["x"], [value], **shares), "x", value, style, label=words)
    axes[0].axhspan(0.86, 0.94, color="0.5", alpha=0.15, lw=0)
    axes[0].set(ylabel="coverage of people's mean over these", ylim=(0.8, 1.01))
    axes[1].set(ylabel="width of 90% intervals of nDCG@10", ylim=(0, None))
    axes[0].set_title(f"Coverage, people on {n} of {TOPICS}")
    axes[1].set_title("Width")
    for ax in axes:
        ax.set_xticks(np.arange(len(MACHINES)) + 0.12, MACHINES)
    legend(axes[1], "interval for", fontsize=7)


def claims(table):
    """Yield our claims on coverage, width and signs."""
    text = "90% intervals for these topics cover"
    claim = partial(Claim, table, "ours", "study aa", text, "covered_these", low=0.86, high=0.94)
    yield in_every_cell(
        [claim({"machine": m, "n": n}) for m in MACHINES for n in sorted(table["n"].unique())]
    )

    # beside people alone
    useful, useless = {"machine": MACHINES[:3]}, {"machine": MACHINES[3]}
    beside = table.with_columns(
        width=pl.col("width_these") / pl.col("width_people"),
        right=(pl.col("right_these") - pl.col("right_people")).cast(pl.Float64),
    )
    claim = partial(Claim, beside, "ours", "study aa")
    yield claim("a useful machine narrows them: ratio", "width", useful, high=0.9)
    yield claim("a useless one widens them: ratio", "width", useless, high=1.1)
    yield claim("the sign is right more often", "right", useful, low=0.0)


if __name__ == "__main__":
    main(__name__)
