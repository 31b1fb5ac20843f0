"""Chapelle and Wu, figures 1 and 2: SmoothNDCG along a line, and NDCG during annealing."""

from functools import partial

import numpy as np
import polars as pl

import dcglearn as dl
from simulations.claims import Claim
from simulations.ranking_data import CONFLICT, split
from simulations.run import STYLES, bars, curves, legend, summary

REPEATS, PANELS, FIGSIZE = 20, 3, (11.5, 3.6)
POWERS = tuple(range(6, -11, -1))
LINES = {"sigma = 2^6": 6, "sigma = 2^0": 0, "sigma = 2^-4": -4, "sigma = 2^-8": -8, "NDCG": None}
POINTS, REACH, DEPTH = 201, 1.5, 50
KEPT = (pl.col("what") != "line") | (pl.col("repeat") == 0)
"""The lines of the first repeat alone are kept."""


def spread(queries, w):
    """Return the standard deviation of a linear model's scores within queries."""
    f = queries.features @ w
    means = np.add.reduceat(f, queries.offsets[:-1]) / queries.sizes
    return float(np.sqrt(np.mean((f - np.repeat(means, queries.sizes)) ** 2)))


def along_a_line(rng, queries, w, dcg, n_points):
    """Yield the objective at ``w + t w_random`` for each smoothing.

    Its number of peaks comes first, then its points.
    """
    w, direction = (v / spread(queries, v) for v in (w, rng.normal(size=len(w))))
    t = np.linspace(-REACH, REACH, n_points)
    scores = [queries.features @ (w + x * direction) for x in t]
    for line, power in LINES.items():
        if power is None:
            values = np.array([queries.evaluate(f, dcg).mean() for f in scores])
        else:
            loss = dl.losses.SmoothNDCG(dcg, sigma=2.0**power)
            sums = [loss(f, queries.grades, queries.offsets)[0] for f in scores]
            values = np.array(sums) / len(queries)

        # its peaks
        steps = np.diff(values)
        rises = steps[steps != 0] > 0
        peaks = float((rises[:-1] & ~rises[1:]).sum())
        yield {"what": "peaks", "line": line, "x": 0.0, "value": peaks}
        for x, value in zip(t, values, strict=True):
            yield {"what": "line", "line": line, "x": float(x), "value": value}


def trial(rng, quick):
    """Anneal on training queries and evaluate on test queries.

    Then evaluate the objective along a random line through a model half-way.
    """
    train, _, test = split(rng, CONFLICT, quick)
    dcg = dl.DCG.standard(train.n_grades, DEPTH)
    powers, n_points = (POWERS[::4], 51) if quick else (POWERS, POINTS)
    options = {"loss": dl.losses.SmoothNDCG(dcg), "l2": 0.01, "max_iter": 20}
    annealing = [2.0 ** (-power / 2) for power in powers]
    history = dl.LinearRanker(annealing=annealing, **options).fit(train, eval_set=test).history_
    records = [
        {"what": part, "line": "", "x": float(power), "value": stage[key]}
        for power, stage in zip(powers, history, strict=True)
        for part, key in (("train", "train"), ("test", "valid"))
    ]
    best = dl.LinearRanker(annealing=annealing[: 1 + len(powers) // 2], **options).fit(train).coef_
    return records + list(along_a_line(rng, train, best, dcg, n_points))


def settings(quick):
    """Return the one setting."""
    return [{"quick": quick}]


def math(power_name):
    """Return ``sigma = 2^-4`` in mathematical notation."""
    base, _, power = power_name.partition("2^")
    return f"$\\sigma = 2^{{{power}}}$" if base.startswith("sigma") else power_name


def plot(table, axes, headline):
    """Draw the objective along a line, its number of peaks, and annealing."""
    line, peaks, path = axes
    colours = [*(style["color"] for style in STYLES[: len(LINES) - 1]), "0.35"]
    for name, color in zip(LINES, colours, strict=True):
        points = table.filter(what="line", line=name)
        line.plot(points["x"], points["value"], label=math(name), color=color, lw=1.2)
    line.set(xlabel="t, along $w^* + t\\,w_{rand}$", ylabel="objective, training queries")
    words = headline("A small $\\sigma$ is rough", "The objective on a line", "more local maxima")
    line.set_title(f"{words} (figure 1)")
    line.legend(fontsize=7)

    # peaks
    means, places = summary(table.filter(what="peaks"), ["line"], ["value"]), range(len(LINES))
    counts = pl.concat(means.filter(line=name) for name in LINES)
    look = {"color": colours, "width": 0.6, "capsize": 2}
    peaks.bar(places, counts["value"], yerr=bars(counts, "value"), **look)
    peaks.set_xticks(places, [math(name).replace("\\sigma = ", "") for name in LINES])
    peaks.set(xlabel="$\\sigma$", ylabel=f"local maxima on {POINTS} points", title="Roughness")

    # annealing
    labels = {"train": "training queries", "test": "test queries"}
    stages = table.filter(pl.col("what").is_in(list(labels)))
    curves(stages, path, "x", "value", lines="what", labels=labels)
    path.invert_xaxis()
    path.set_xticks(POWERS[::4], [f"$2^{{{power}}}$" for power in POWERS[::4]])
    path.set(xlabel="$\\sigma$, annealed from left to right", ylabel=f"NDCG@{DEPTH}")
    words = headline("Training rises", "Annealing", "training NDCG rises")
    path.set_title(f"{words} (figure 2)")
    legend(path, fontsize=7)


def claims(table):
    """Yield the claims on peaks and on annealing."""
    powers = table.filter(what="train")["x"]
    first, last = powers.max(), powers.min()
    claim = partial(Claim, table, "chapelle-wu", value="value")
    rough, smooth = ({"what": "peaks", "line": f"sigma = 2^{power}"} for power in (-8, 6))
    text = "more local maxima for sigma = 2^-8 than 2^6"
    yield claim("figure 1", text, rows=rough, minus=smooth, low=0.0)
    for part, start, words, edge in (
        ("train", first, "training NDCG rises", {"low": 0.0}),
        ("test", -2.0, "test NDCG falls slightly", {"high": 0.0}),
    ):
        rows, minus = ({"what": part, "x": float(power)} for power in (last, start))
        text = f"{words} as sigma falls from 2^{start:.0f} to 2^{last:.0f}"
        yield claim("figure 2", text, rows=rows, minus=minus, **edge)
