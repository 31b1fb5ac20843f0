"""Chapelle and Wu, figures 1 and 2: SmoothNDCG along a line, and NDCG during annealing."""

from functools import partial

import numpy as np
import polars as pl

import dcglearn as dl
from simulations.claims import Claim
from simulations.findings import headline
from simulations.ranking_data import DATA, SPELLED, available, explain, overlap, rows, split
from simulations.run import STYLES, bars, curves, legend, main, repeated, summary

STEM, REPEATS, PANELS, FIGSIZE = "theory_annealing", 20, (2, 3), (11.5, 6.6)
POWERS = tuple(range(6, -11, -1))
LINES = {"sigma = 2^6": 6, "sigma = 2^0": 0, "sigma = 2^-4": -4, "sigma = 2^-8": -8, "NDCG": None}
POINTS, REACH, DEPTH = 201, 1.5, 50


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
            values = np.array([loss(f, queries.grades, queries.offsets)[0] for f in scores]) / len(
                queries
            )
        steps = np.diff(values)
        steps = steps[steps != 0]
        peaks = int(((steps[:-1] > 0) & (steps[1:] < 0)).sum())
        yield {"what": "peaks", "line": line, "x": 0.0, "value": float(peaks)}
        yield from (
            {"what": "line", "line": line, "x": float(x), "value": v}
            for x, v in zip(t, values, strict=True)
        )


def trial(rng, data, quick):
    """Anneal on training queries and evaluate on test queries.

    Then evaluate the objective along a random line through a model.
    """
    train, _, test = split(rng, data, quick)
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
    start = dl.rankers.RidgeRanker(dcg, reweighted=False).fit(train)
    for part, queries in (("train", train), ("test", test)):
        records.append(
            {"what": f"{part}, start", "line": "", "x": 0.0, "value": start.score(queries)}
        )
    best = dl.LinearRanker(annealing=annealing[: 1 + len(powers) // 2], **options).fit(train).coef_
    return records + list(along_a_line(rng, train, best, dcg, n_points))


def simulate(seed, repeats, quick, jobs):
    """Yield the records of each data set and repeat.

    Only the first repeat keeps the points of the lines.
    """
    settings = [{"data": data, "quick": quick} for data in available(quick)]
    for record in repeated(trial, settings, repeats=repeats, seed=seed, jobs=jobs):
        if record["what"] != "line" or record["repeat"] == 0:
            yield record


def math(power_name):
    """Return ``sigma = 2^-4`` in mathematical notation."""
    base, _, power = power_name.partition("2^")
    return f"$\\sigma = 2^{{{power}}}$" if base.startswith("sigma") else power_name


def plot(table, axes):
    """Draw the objective along a line, its number of peaks, and annealing, one row per data set."""
    claimed = list(claims(table))
    for data, part, (line, peaks, path) in rows(table, axes):
        queries = SPELLED[data]
        for style, name in zip(STYLES, LINES, strict=False):
            points = part.filter(what="line", line=name)
            shades = (
                {"color": "0.35", "lw": 0.8}
                if name == "NDCG"
                else {"color": style["color"], "lw": 1.4}
            )
            line.plot(points["x"], points["value"], label=math(name), **shades)
        line.set(xlabel="t, along $w^* + t\\,w_{rand}$", ylabel="objective, training queries")
        words, of = f"{queries}: a small $\\sigma$ is rough", f"{data}: more local maxima"
        words = headline(claimed, words, f"{queries}: the objective on a line", of)
        line.set_title(f"{words} (figure 1)")
        low, high = line.get_ylim()
        line.set_ylim(low, high + 0.28 * (high - low))
        line.legend(fontsize=7, ncols=3, loc="upper center", columnspacing=1.0, handlelength=1.5)
        means = summary(part.filter(what="peaks"), ["line"], ["value"], overlap(data, "train"))
        counts = pl.concat(means.filter(line=name) for name in LINES)
        reach = bars(counts, "value")
        colours = [style["color"] for style in STYLES[: len(LINES) - 1]] + ["0.35"]
        peaks.bar(
            range(len(LINES)), counts["value"], yerr=reach, color=colours, width=0.6, capsize=2
        )
        peaks.set_xticks(
            range(len(LINES)), [math(name).replace("\\sigma = ", "") for name in LINES]
        )
        peaks.set(
            xlabel="$\\sigma$",
            ylabel=f"local maxima on {POINTS} points",
            title=f"{queries}: roughness (ours)",
        )
        labels = {"train": "training queries", "test": "test queries"}
        stages, again = part.filter(pl.col("what").is_in(list(labels))), overlap(data, "train")
        curves(stages, path, "x", "value", lines="what", labels=labels, overlap=again)
        for style, name in zip(STYLES, labels, strict=False):
            start = part.filter(what=f"{name}, start")["value"].mean()
            path.axhline(start, color=style["color"], lw=0.9, ls=(0, (2, 2)), alpha=0.7)
        path.plot([], [], color="0.4", lw=0.9, ls=(0, (2, 2)), label="least squares")
        path.invert_xaxis()
        path.set_xticks(POWERS[::4], [f"$2^{{{power}}}$" for power in POWERS[::4]])
        path.set(xlabel="$\\sigma$, annealed from left to right", ylabel=f"NDCG@{DEPTH}")
        of = f"{data}: training NDCG rises"
        words = headline(claimed, f"{queries}: training rises", f"{queries}: annealing", of)
        path.set_title(f"{words} (figure 2)")
        if data == DATA[0]:
            legend(path, fontsize=7)
    explain(table["data"], axes)


def claims(table):
    """Yield the claims for each data set."""
    powers = table.filter(what="train")["x"]
    first, last = powers.max(), powers.min()
    for data in table["data"].unique(maintain_order=True):
        claim = partial(Claim, table.filter(data=data), "chapelle-wu", value="value")
        rough, smooth = (
            {"what": "peaks", "line": line} for line in ("sigma = 2^-8", "sigma = 2^6")
        )
        text = f"{data}: more local maxima for sigma = 2^-8 than 2^6"
        yield claim(
            "figure 1", text, rows=rough, minus=smooth, low=0.0, overlap=overlap(data, "train")
        )
        for part, start, words, edge in (
            ("train", first, "training NDCG rises", {"low": 0.0}),
            ("test", -2.0, "test NDCG falls slightly", {"high": 0.0}),
        ):
            rows, minus = ({"what": part, "x": float(power)} for power in (last, start))
            text = f"{data}: {words} as sigma falls from 2^{start:.0f} to 2^{last:.0f}"
            yield claim(
                "figure 2", text, rows=rows, minus=minus, overlap=overlap(data, part), **edge
            )


if __name__ == "__main__":
    main(__name__)
