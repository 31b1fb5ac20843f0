"""Wu et al., figure 1: the functions G, A and B of smoothed hinge ranks.

They show why badly ordered pairs still move.
"""

from functools import partial

import numpy as np
import polars as pl

import dcglearn as dl
from simulations.claims import CONSTRUCTED, Claim
from simulations.run import STYLES, curves, legend, ticks

REPEATS, PANELS, FIGSIZE = 20, (2, 2), (9.0, 6.6)
ALPHA, LENGTH, DEPTH, RATE = 1.0, 60, 10, 3.0
GAPS, STEPS = (0.0, 3.0), (0, 1, 2, 5, 10, 20, 50, 100, 200)
PAIR = dl.DCG([0.0, 1.0], [1.0, 0.5])
DCG = dl.DCG.standard(3, DEPTH)
FIXED = "SHF-SDCG@10, fixed weights"
LOSSES = {
    "SDCG, all ranks": dl.losses.SDCG(DCG, alpha=3.0, depth=None),
    "SDCG@10": dl.losses.SDCG(DCG, alpha=3.0, beta=1.0),
    "SHF-SDCG@10": dl.losses.SHFSDCG(DCG, alpha=3.0, beta=1.0),
    FIXED: dl.losses.SHFSDCG(DCG, alpha=3.0, beta=1.0, annealed=False),
}
LETTERS = {
    "G": "$G_\\alpha$, SDCG",
    "A": "$A_\\alpha$, the better document",
    "B": "$B_\\alpha$, the worse document",
}


def functions(x):
    """Return the contribution of another document to a document's rank.

    `x` is the document's score minus the other document's score.
    """
    loss = dl.losses.SHFSDCG(PAIR, alpha=ALPHA)
    rank = {
        "G": lambda scores: dl.losses.soft_ranks(scores, ALPHA)[0],
        "A": lambda scores: loss.ranks(scores, [1, 0])[0],
        "B": lambda scores: loss.ranks(scores, [0, 1])[0],
    }
    return {name: np.array([of([score, 0.0]) for score in x]) - 1 for name, of in rank.items()}


def function_records(rng):
    """Yield values and slopes of the functions at random points of [-8, 8]."""
    x, step = np.sort(rng.uniform(-8, 8, 25)), 1e-5
    values, ahead, behind = functions(x), functions(x + step), functions(x - step)
    for name, of in values.items():
        slopes = (ahead[name] - behind[name]) / (2 * step)
        for point, value, slope in zip(x, of, slopes, strict=True):
            yield {"what": "function", "line": name, "x": point, "value": value, "slope": slope}


def gradient_steps(rng, gap):
    """Yield NDCG along gradient steps on the scores themselves.

    At the start, a document's score is lower by `gap` for each grade.
    """
    grades = rng.choice(3, LENGTH, p=[0.7, 0.2, 0.1])
    grades[:2] = 1, 2  # at least two relevant documents
    start = rng.normal(size=LENGTH) - gap * grades
    query = dl.Queries(np.zeros((LENGTH, 1)), grades, np.zeros(LENGTH), 3)
    for name, loss in LOSSES.items():
        scores = start
        for step in range(STEPS[-1] + 1):
            if step in STEPS:
                value = float(query.evaluate(scores, DCG)[0])
                yield {"what": "way", "line": name, "gap": gap, "x": float(step), "value": value}
            scores = scores + RATE * loss(scores, grades)[1]


def trial(rng, quick):
    """Return the functions at random points, and gradient steps from a random and a bad start."""
    records = list(function_records(rng))
    return records + [record for gap in GAPS for record in gradient_steps(rng, gap)]


def settings(quick):
    """Return the one setting."""
    return [{"quick": quick}]


def plot(table, axes, headline):
    """Draw the functions, their slopes, and NDCG along gradient steps from both starts."""
    functions, slopes, *ways = np.ravel(axes)
    part = table.filter(what="function").sort("x")
    for style, (name, label) in zip(STYLES, LETTERS.items(), strict=False):
        points = part.filter(line=name)
        look = {"color": style["color"], "ls": style["linestyle"], "lw": 1.8, "label": label}
        functions.plot(points["x"], points["value"], **look)
        slopes.plot(points["x"], points["slope"].abs().replace(0.0, None), **look)

    for ax in (functions, slopes):
        ax.axvline(0, color="0.6", lw=0.8)
        ax.set_xlabel("score minus the other document's score")
    functions.set(ylabel="contribution to the rank", title="Ranks of a pair (Wu et al., figure 1)")
    functions.legend(fontsize=8)

    # slopes
    words = headline("Wrong pairs keep a slope", "Slopes", "on every wrong pair")
    slopes.set(yscale="log", ylim=(1e-4, 1), ylabel="absolute slope", title=f"{words} (ours)")
    for x, words, style in ((-4, "better document below", 1), (4, "worse document above", 2)):
        slopes.text(x, 0.42, words, ha="center", fontsize=8, color=STYLES[style]["color"])

    # gradient steps
    titles = (
        ("From random scores", ": SHF-SDCG passes SDCG@10", "NDCG than SDCG from random"),
        ("From reversed scores", ": SHF-SDCG corrects them", "corrects scores in reverse"),
    )
    for ax, gap, (start, finding, part) in zip(ways, GAPS, titles, strict=True):
        curves(table.filter(what="way", gap=gap), ax, "x", "value", lines="line")
        ax.set_xscale("symlog", linthresh=1, linscale=0.35)
        ticks(ax, STEPS)
        ax.set(xlabel="gradient steps", ylabel=f"NDCG@{DEPTH}", ylim=(-0.03, 1.03))
        ax.set_title(f"{headline(start + finding, start, part)} (ours)")
    legend(ways[1], loc="upper left", fontsize=7)


def steepness(table):
    """Return the extreme absolute slopes of G, A and B on wrongly ordered pairs.

    For each repeat, this is the largest slope of G, and the smallest of A and of B.
    """
    x, size = pl.col("x"), pl.col("slope").abs()
    wrong = {"G": (x < -5, size.max()), "A": (x < 0, size.min()), "B": (x > 0, size.min())}
    return pl.concat(
        table.filter(where, what="function", line=line)
        .group_by("repeat", maintain_order=True)
        .agg(line=pl.lit(line), slope=extreme)
        for line, (where, extreme) in wrong.items()
    )


def claims(table):
    """Yield the claims on the functions, and on ascent from bad scores."""
    flat = {"low": ALPHA / 4 - 1e-4, "high": ALPHA / 4 + 1e-4}
    claim = partial(Claim, steepness(table), "wu", "figure 1", cannot_fail=CONSTRUCTED)
    text = "G is flat for wrong pairs that are far apart: its largest slope"
    yield claim(text, "slope", {"line": "G"}, high=0.01)
    text = "A and B have slope alpha / 4 on every wrong pair (A with its sign corrected)"
    yield claim(text, "slope", {"line": ("A", "B")}, **flat)

    # reversed scores stay where the slopes above leave them, or reach the best order
    ways, widen = table.filter(what="way"), "weights that widen (equation 17) reach a higher NDCG"
    for gap, start in zip(GAPS, ("random scores", "scores in reverse order"), strict=True):
        last, sure = {"x": float(STEPS[-1]), "gap": gap}, CONSTRUCTED if gap else ""
        rows = {**last, "line": "SHF-SDCG@10"}
        claim = partial(Claim, ways, "wu", value="value", rows=rows, cannot_fail=sure)
        text = f"SHF-SDCG reaches a higher NDCG than SDCG from {start}"
        yield claim("section 3.1", text, minus={**last, "line": "SDCG@10"}, low=0.0)

        text = f"{widen} than those at rank {DEPTH} from {start}"
        yield claim("section 3.2", text, minus={**last, "line": FIXED}, low=0.0)
    text = "SHF-SDCG corrects scores in reverse order: NDCG above .99"
    yield claim("section 3.1", text, low=0.99)
