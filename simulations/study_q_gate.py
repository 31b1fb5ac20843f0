"""Study q: how often do the gate, a comparison and its intervals err with few topics?

Differences of topics are normal, zero in half of the topics, of Laplace's distribution, normal with
one outlier, or those of two simulated rankers.
"""

from functools import cache, partial

import numpy as np
import polars as pl

import dcglearn as dl
from simulations.claims import Claim, in_every_cell, select
from simulations.run import curves, legend, main, repeated

STEM, REPEATS, PANELS, FIGSIZE = "study_q_gate", 20, 2, (9.0, 3.6)
DRAWS = 100
"""Draws of a repeat: 2,000 in each cell, so that two errors of a share of .025 are .007."""

TOPICS = (2, 3, 5, 6, 10, 25, 50)
UNITS = (3, 5, 10, 30)
LEVEL, COVERED = 0.95, 0.9
"""Level of the gate and of the comparison; level of the intervals whose coverage is counted."""

ERROR = (1 - LEVEL) / 2
"""Probability of an error of one side that the gate prints."""

KINDS = ("normal", "half zeros", "Laplace", "one outlier")
GRADES, ONE = 121, 200
"""Grades of the judgements; how many of the smallest steps make a standard deviation."""

METRIC = dl.DCG(np.linspace(0, 1, GRADES), [1.0, 1 / GRADES])
"""Two documents make a number of two digits: values are whole numbers of small steps."""

POPULATION, DOCUMENTS = 4000, 15


def differences(rng, kind, n):
    """Return differences of n topics, shape (DRAWS, n), symmetric around 0."""
    shape = DRAWS, n
    values = rng.laplace(size=shape) / 2**0.5 if kind == "Laplace" else rng.normal(size=shape)
    if kind == "half zeros":
        values *= rng.random(shape) < 0.5
    if kind == "one outlier":
        values[:, 0] *= 10
    return values


def compared(values, level, n_resamples=2000):
    """Return the comparison of a run for each row of values with a run that they differ from."""
    half = GRADES**2 // 2
    steps = np.clip(half + np.round(ONE * values), 0, GRADES**2 - 1).astype(int)
    judged = {f"{q}": {} for q in range(values.shape[1])}
    runs = {}
    for name, row in zip(
        ["old", *map(str, range(DRAWS))], [[half] * len(judged), *steps], strict=True
    ):
        runs[name] = {q: {f"{name} {i}": 2.0 - i for i in (0, 1)} for q in judged}
        for q, step in zip(judged, row, strict=True):
            judged[q] |= {f"{name} {i}": int(digit) for i, digit in enumerate(divmod(step, GRADES))}
    how = {"normalise": False, "level": level, "correction": "none", "n_resamples": n_resamples}
    return dl.compare_systems(dl.read_judgements(judged, n_grades=GRADES), runs, METRIC, **how)


@cache
def population():
    """Return grades, the scores of two rankers, and by how much the second is better.

    Grades and scores have shape (4000, 15).
    """
    rng = np.random.default_rng(0)
    grades = rng.choice(4, p=[0.55, 0.25, 0.15, 0.05], size=(POPULATION, DOCUMENTS))
    grades[:, 0] = np.maximum(grades[:, 0], 1)  # a relevant document in every topic
    shared = grades + rng.normal(size=grades.shape)
    old, new = (shared + noise * rng.normal(size=grades.shape) for noise in (0.8, 0.9))
    values = dl.evaluate(*as_dictionaries(grades, old, new, range(POPULATION))).values[:, 0]
    return grades, old, new, float((values[1] - values[0]).mean())


def as_dictionaries(grades, old, new, topics):
    """Return judgements and runs of topics, some of which may be drawn several times."""
    tables = [
        {
            f"{i}": {f"d{j}": x for j, x in enumerate(row.tolist())}
            for i, row in enumerate(table[list(topics)])
        }
        for table in (grades, old, new)
    ]
    return tables[0], {"old": tables[1], "new": tables[2]}


def of_rankers(rng, n):
    """Return how often gates of two rankers err at their true difference, on n topics."""
    *tables, true = population()
    answers = []
    for _ in range(DRAWS):
        judged, runs = as_dictionaries(*tables, rng.integers(0, POPULATION, n))
        found = dl.compare_systems(judged, runs, level=LEVEL, n_resamples=2000)
        answers.append([found.gate(true, rule).answer for rule in ("harm", "non-inferior")])
    harm, non_inferior = zip(*answers, strict=True)
    return {"fails": harm.count("fail") / DRAWS, "passes": non_inferior.count("pass") / DRAWS}


def trial(rng, kind, n):
    """Compare equally good systems on n topics; return how often each side errs."""
    if kind == "rankers":
        return of_rankers(rng, n)

    # the gate, both sides of the comparison, and intervals
    values = differences(rng, kind, n)
    found = compared(values, LEVEL)
    table, ends = found.table, compared(values, COVERED, 100).table.drop_nulls("low")
    beyond = table.filter(pl.col("p_corrected") < 1 - LEVEL)["difference"]
    record = {
        "fails": answers(found.gate(), "fail"),
        "passes": answers(found.gate(0.0, "non-inferior"), "pass"),
        "worse": float((beyond < 0).sum()) / DRAWS,
        "better": float((beyond > 0).sum()) / DRAWS,
        "covered": ((ends["low"] <= 0) & (ends["high"] >= 0)).mean(),
    }

    # power: a loss that the t test shows about four times in five
    if n in (25, 50):
        loss = 2.9 * {"half zeros": 0.7, "one outlier": (1 + 99 / n) ** 0.5}.get(kind, 1.0) / n**0.5
        found = compared(values - loss, LEVEL)
        by_t = (pl.col("difference") < 0) & (pl.col("p_t") <= 2 * ERROR)
        record["gate_shows"] = answers(found.gate(), "fail")
        record["t_shows"] = len(found.table.filter(by_t)) / DRAWS
    return record


def answers(gate, answer):
    """Return how often a gate gives an answer."""
    return [row.verdict for row in gate.verdicts].count(answer) / DRAWS


def simulate(seed, repeats, quick, jobs):
    """Yield one record per kind of differences, number of topics and repeat."""
    sizes = (6,) if quick else sorted({*TOPICS, *UNITS})
    settings = [{"kind": kind, "n": n} for kind in KINDS for n in sizes]
    settings += [{"kind": "rankers", "n": n} for n in sizes if n in TOPICS[1:]]
    columns = ("fails", "passes", "worse", "better", "covered", "gate_shows", "t_shows")
    for record in repeated(trial, settings, repeats=repeats, seed=seed, jobs=jobs):
        yield {**dict.fromkeys(("kind", "n", "repeat", *columns)), **record}


def plot(table, axes):
    """Draw the errors of the gate, and the coverage of intervals, against the number of topics."""
    panels = (
        ("fails", ERROR, "share of gates that fail", (0, 0.06), "topics"),
        ("covered", COVERED, "coverage of 90% intervals", (0.8, 1.0), "units"),
    )
    for ax, (value, line, label, ends, units) in zip(axes, panels, strict=True):
        part = table.drop_nulls(value).filter(pl.col("n") > 2)
        curves(part, ax, "n", value, lines="kind")
        ax.axhline(line, color="0.5", lw=0.8, ls=":")
        ax.set(xscale="log", xlabel=f"number of {units}", ylabel=label, ylim=ends)
        sizes = sorted(part["n"].unique())
        ax.set_xticks(sizes, [str(n) for n in sizes])
        ax.set_xticks([], minor=True)
    axes[0].set_title("Gates on equally good systems\n(dotted: what they print)")
    axes[1].set_title("Intervals of a mean over units")
    legend(axes[0], "differences", fontsize=7)


def claims(table):
    """Yield our claims: errors of each side, power beside the t test, coverage."""
    claim = partial(Claim, table, "ours", "study q", outcomes=DRAWS)
    sides = {
        "fails": "the gate fails an equally good system",
        "passes": "the gate passes a system at the margin as non-inferior",
        "worse": "compare calls an equally good system worse",
        "better": "compare calls an equally good system better",
    }
    sizes, kinds = sorted(table["n"].unique()), sorted(table["kind"].unique())
    few = {n: n for n in sizes if n in TOPICS[3:]} | {"2 to 5": TOPICS[:3]}
    for side, words in sides.items():
        for named, n in few.items():
            cells = select(table, {"n": n}).drop_nulls(side)["kind"].unique().sort()
            text = f"{words} in at most {ERROR:.1%}, {named} topics"
            each = [claim(text, side, {"n": n, "kind": kind}, level=ERROR) for kind in cells]
            if each:  # a quick run has one size
                yield in_every_cell(each)

    # power beside the t test
    gate_shows, t_shows = (pl.col(x).cast(pl.Float64) for x in ("gate_shows", "t_shows"))
    behind = table.with_columns(kept=gate_shows - 0.9 * t_shows)
    for n in TOPICS[-2:]:
        text = f"the gate shows a loss at least .9 times as often as a t test, {n} topics"
        each = [
            Claim(behind, "ours", "study q", text, "kept", {"n": n, "kind": kind}, low=0.0)
            for kind in kinds
            if kind != "rankers"
        ]
        yield in_every_cell(each)

    # coverage of intervals over few units
    for n in UNITS:
        text = f"90% intervals over {n} units cover"
        rows = {"n": n, "kind": "normal"}
        yield claim(f"{text} 88% to 92%, normal", "covered", rows, low=0.88, high=0.92)
        each = [
            claim(f"{text} at least 88%", "covered", {"n": n, "kind": kind}, low=0.88)
            for kind in kinds
            if kind not in ("normal", "rankers")
        ]
        yield in_every_cell(each)


if __name__ == "__main__":
    main(__name__)
