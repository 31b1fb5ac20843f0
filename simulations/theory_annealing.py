"""Chapelle and Wu's figures 1 and 2: the smoothed objective along a line, and NDCG as the smoothing is annealed."""

import sys

import numpy as np

import dcglearn as dl
from simulations.ranking_data import available, rows, split
from simulations.run import STYLES, Claim, at, main, paired, repeated, shown, summary

STEM, REPEATS, PANELS, FIGSIZE = "theory_annealing", 20, (2, 3), (13.0, 6.8)
POWERS = tuple(range(6, -11, -1))
LINES = {"sigma = 2^6": 6, "sigma = 2^0": 0, "sigma = 2^-4": -4, "sigma = 2^-8": -8, "NDCG": None}
POINTS, REACH, DEPTH = 201, 1.5, 50


def spread(queries, w):
    """Return the root mean square of a linear model's scores about their query's mean."""
    f = queries.features @ w
    means = np.add.reduceat(f, queries.offsets[:-1]) / queries.sizes
    return float(np.sqrt(np.mean((f - np.repeat(means, queries.sizes)) ** 2)))


def along_a_line(rng, queries, w, dcg):
    """Yield the objective at ``w + t w_random`` for each smoothing: how many peaks, and the points of the course."""
    w, direction = (v / spread(queries, v) for v in (w, rng.normal(size=len(w))))
    t = np.linspace(-REACH, REACH, POINTS)
    scores = [queries.features @ (w + x * direction) for x in t]
    for line, power in LINES.items():
        if power is None:
            values = np.array([queries.evaluate(f, dcg).mean() for f in scores])
        else:
            loss = dl.SmoothNDCG(dcg, sigma=2.0**power)
            values = np.array([loss(f, queries.grades, queries.offsets)[0] for f in scores]) / len(queries)
        steps = np.diff(values)
        steps = steps[steps != 0]
        peaks = int(((steps[:-1] > 0) & (steps[1:] < 0)).sum())
        yield {"what": "peaks", "line": line, "x": 0.0, "value": float(peaks)}
        yield from ({"what": "line", "line": line, "x": float(x), "value": v} for x, v in zip(t, values, strict=True))


def one(rng, data, quick):
    """Anneal on training queries while the test queries are watched; then walk through a model on a random line."""
    train, _, test = split(rng, data, quick)
    dcg = dl.DCG.standard(train.n_grades, DEPTH)
    powers = POWERS[::4] if quick else POWERS
    how = {"loss": dl.SmoothNDCG(dcg), "l2": 0.01, "max_iter": 20}
    annealing = [2.0 ** (-power / 2) for power in powers]
    history = dl.LinearRanker(annealing=annealing, **how).fit(train, eval_set=test).history_
    records = [
        {"what": what, "line": "", "x": float(power), "value": stage[key]}
        for power, stage in zip(powers, history, strict=True)
        for what, key in (("train", "train"), ("test", "valid"))
    ]
    start = dl.RidgeRanker(dcg, reweighted=False).fit(train)
    for what, queries in (("train", train), ("test", test)):
        records.append({"what": f"{what}, start", "line": "", "x": 0.0, "value": start.score(queries)})
    best = dl.LinearRanker(annealing=annealing[: 1 + len(powers) // 2], **how).fit(train).coef_
    return records + list(along_a_line(rng, train, best, dcg))


def simulate(seed, repeats, quick, jobs, progress):
    """Yield the records of each data set and repeat; the points of the lines of the first repeat alone."""
    settings = [{"data": data, "quick": quick} for data in available(quick)]
    for record in repeated(one, settings, repeats=repeats, seed=seed, jobs=jobs, progress=progress):
        if record["what"] != "line" or record["repeat"] == 0:
            yield record


def math(power_name):
    """Return ``sigma = 2^-4`` in the letters of mathematics."""
    base, _, power = power_name.partition("2^")
    return f"$\\sigma = 2^{{{power}}}$" if base.startswith("sigma") else power_name


def plot(table, axes):
    """Draw a line of each smoothing, their numbers of peaks, and the path: a row a data set."""
    for data, part, (line, peaks, path) in rows(table, axes):
        for style, name in zip(STYLES, LINES, strict=False):
            points = part.filter(what="line", line=name)
            shades = {"color": "0.35", "lw": 0.8} if name == "NDCG" else {"color": style["color"], "lw": 1.4}
            line.plot(points["x"], points["value"], label=math(name), **shades)
        line.set(xlabel="t", ylabel="mean over training queries", title=f"{data}: objective at $w^* + t\\,w_{{rand}}$")
        low, high = line.get_ylim()
        line.set_ylim(low, high + 0.28 * (high - low))
        line.legend(fontsize=8, ncols=3, loc="upper center", columnspacing=1.0, handlelength=1.5)
        means = summary(part.filter(what="peaks"), ["line"], ["value"])
        counts = [means.filter(line=name).row(0, named=True) for name in LINES]
        heights, bars = ([row[key] for row in counts] for key in ("value", "value_error"))
        colours = [style["color"] for style in STYLES[: len(LINES) - 1]] + ["0.35"]
        peaks.bar(range(len(LINES)), heights, yerr=bars, color=colours, width=0.6, capsize=2)
        peaks.set_ylim(0, 1.2 * max(heights))
        for i, height in enumerate(heights):
            peaks.text(i, height + 0.06 * max(heights), f"{height:.1f}", ha="center", va="bottom", fontsize=8)
        peaks.set_xticks(range(len(LINES)), [math(name).replace("\\sigma = ", "") for name in LINES])
        peaks.set(
            xlabel="$\\sigma$", ylabel=f"local maxima of {POINTS} points", title=f"{data}: roughness of such lines"
        )
        for style, what in zip(STYLES, ("train", "test"), strict=False):
            means = summary(part.filter(what=what), ["x"], ["value"])
            path.errorbar(
                means["x"], means["value"], means["value_error"], label=what, capsize=2, markersize=4, lw=1.3, **style
            )
            start = part.filter(what=f"{what}, start")["value"].mean()
            path.axhline(start, color=style["color"], lw=0.9, ls=(0, (2, 2)), alpha=0.7)
        path.plot([], [], color="0.4", lw=0.9, ls=(0, (2, 2)), label="least squares")
        path.invert_xaxis()
        path.set_xticks(POWERS[::4], [f"$2^{{{power}}}$" for power in POWERS[::4]])
        path.set(xlabel="$\\sigma$, annealed from left to right", ylabel=f"NDCG@{DEPTH}", title=f"{data}: annealing")
        path.legend(fontsize=8, title="bars: ± 1 standard error", title_fontsize=7)


def difference(part, what, power, other):
    """Return the mean of the value at one power of 2 less that at another, and its standard error, paired."""
    return paired(*(part.filter(what=what, x=float(x)).sort("repeat")["value"] for x in (power, other)))


def claims(table):
    """Return what the table says."""
    for data in table["data"].unique(maintain_order=True):
        part = table.filter(data=data)
        found = {name: at(part.filter(what="peaks"), "value", line=name) for name in LINES}
        rough = [mean for mean, _ in found.values()]
        yield Claim(
            "Chapelle-Wu 1",
            f"{data}: with a small sigma the objective is rough, with a large one smooth",
            "local maxima: " + "; ".join(f"{name} {mean:.1f} ± {error:.1f}" for name, (mean, error) in found.items()),
            "holds" if 2 * max(rough[:3]) < rough[3] < rough[4] else "does not hold",
            f"On {POINTS} points of a random line through a trained model; sigma is for scores of spread 1. At a tie "
            "of scores the smooth objective has a kink.",
        )
        powers = sorted(part.filter(what="train")["x"].unique())
        tests = {power: at(part, "value", what="test", x=power) for power in powers}
        trains = {power: at(part, "value", what="train", x=power) for power in powers}
        best, last = max(tests, key=lambda power: tests[power][0]), powers[0]
        rise, fall = (difference(part, "train", last, powers[-1]), difference(part, "test", last, best))
        starts = [at(part, "value", what=f"{what}, start")[0] for what in ("train", "test")]
        yield Claim(
            "Chapelle-Wu 2",
            f"{data}: as sigma falls, training NDCG rises, and test NDCG saturates and then falls a little",
            f"training {shown(trains[powers[-1]])} at 2^{powers[-1]:.0f}, {shown(trains[last])} at 2^{last:.0f}; test "
            f"at most {shown(tests[best])}, at 2^{best:.0f}, then {fall[0]:+.4f} ± {fall[1]:.4f} until 2^{last:.0f}; "
            f"least squares {starts[0]:.3f} and {starts[1]:.3f}",
            "holds" if rise[0] > 2 * rise[1] and fall[0] < -2 * fall[1] else "holds with a condition",
            f"NDCG@{DEPTH}, conjugate gradients from least squares; scores are brought to spread 1 before each stage.",
        )


if __name__ == "__main__":
    main(sys.modules[__name__])
