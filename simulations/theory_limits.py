"""Chapelle and Wu, section 5: large sigma, the equivalence of lambda and sigma, overfitting."""

from functools import partial

import numpy as np
import polars as pl
from scipy.optimize import minimize

import dcglearn as dl
from simulations.claims import CLOSE, PROVED, Claim
from simulations.findings import headline
from simulations.run import STYLES, curves, legend, main, repeated

STEM, REPEATS, PANELS, FIGSIZE = "theory_limits", 20, 3, (11.0, 3.7)
FAR = tuple(range(-2, 15, 2))
FACTORS, SHARPNESS = (0.03, 0.3, 3.0, 30.0, 300.0), (2, -1, -4)
SIGMAS, COUNTS = tuple(range(4, -11, -2)), (15, 30, 60, 120)
LAMBDA, LENGTH, DEPTH = 0.01, 50, 10
DATA, FIRST = "LETOR-shaped", 2.0**6
"""Name of the queries, and the largest sigma of the paper's annealing."""

DCG = dl.DCG.standard(3, DEPTH)


def centred(queries):
    """Return the features centred and scaled; shifting a feature changes no ranking and no loss."""
    return (queries.features - queries.features.mean(axis=0)) / queries.features.std(axis=0)


def smooth(queries, X, w, sigma):
    """Return the mean of SmoothNDCG over queries and its gradient in w."""
    value, slope = dl.losses.SmoothNDCG(DCG, sigma=sigma)(X @ w, queries.grades, queries.offsets)
    return value / len(queries), X.T @ slope / len(queries)


def minimiser(queries, X, sigma, lam, w0, start, iterations=60):
    """Return a minimiser of ``lambda |w - w0|^2 - A(w, sigma)`` by L-BFGS.

    This objective is the paper's equation 13 per query.
    """

    def objective(w):
        value, slope = smooth(queries, X, w, sigma)
        return lam * float((w - w0) @ (w - w0)) - value, 2 * lam * (w - w0) - slope

    options = {"maxiter": iterations, "gtol": 1e-9, "ftol": 0.0}
    return minimize(objective, start, jac=True, method="L-BFGS-B", options=options).x


def least_squares(queries, X):
    """Return the coefficients of a regression on gains, scaled to scores of spread 1."""
    gain = DCG.gains[queries.grades]
    w = np.linalg.solve(X.T @ X + 1e-3 * len(X) * np.eye(X.shape[1]), X.T @ (gain - gain.mean()))
    return w / (X @ w).std()


def relative_distance(w, other):
    """Return the distance of two vectors divided by the length of the first."""
    return float(np.linalg.norm(w - other) / np.linalg.norm(w))


def large_sigma(queries, X, rng, powers):
    """Yield the distance of the minimiser from w0 as sigma grows.

    The minimisation starts at w0 and at random.
    """
    w0 = least_squares(queries, X)
    random = rng.normal(size=len(w0)) / np.sqrt(len(w0))
    for power in powers:
        for line, start in (("start at w0", w0), ("start at random", random)):
            w = minimiser(queries, X, 2.0**power, LAMBDA, w0, start)
            yield {"what": "far", "line": line, "x": 2.0**power, "value": relative_distance(w0, w)}


def descend(queries, X, sigma, lam, start, step, steps):
    """Return the end point of gradient steps on the objective with w0 = 0."""
    w = start
    for _ in range(steps):
        w = w - step * (2 * lam * w - smooth(queries, X, w, sigma)[1])
    return w


def lemma(queries, X, rng, steps):
    """Yield the distance of ``sqrt(c) w(lambda c, sigma / c)`` from ``w(lambda, sigma)``.

    Both minimisations start at corresponding points.
    """
    zero = np.zeros(X.shape[1])
    start = rng.normal(size=len(zero)) / np.sqrt(len(zero))
    for power in SHARPNESS:
        sigma, step = 2.0**power, 2.0 ** (power - 2)
        w = descend(queries, X, sigma, LAMBDA, start, step, steps)
        for c in FACTORS:
            other = np.sqrt(c) * descend(
                queries, X, sigma / c, LAMBDA * c, start / np.sqrt(c), step / c, steps
            )
            yield {
                "what": "lemma",
                "line": f"steps, sigma = 2^{power}",
                "x": c,
                "value": relative_distance(w, other),
            }
    sigma = 2.0 ** SHARPNESS[0]
    w = minimiser(queries, X, sigma, LAMBDA, zero, start, steps)
    for c in FACTORS:
        other = np.sqrt(c) * minimiser(
            queries, X, sigma / c, LAMBDA * c, zero, start / np.sqrt(c), steps
        )
        yield {
            "what": "lemma",
            "line": f"L-BFGS, sigma = 2^{SHARPNESS[0]}",
            "x": c,
            "value": relative_distance(w, other),
        }


def gap(train, test, X, X_test, sigmas):
    """Yield the smoothed objective on training minus test queries as sigma falls.

    Each record also holds the bound of this difference.
    """
    w = w0 = least_squares(train, X)
    radius = float(np.linalg.norm(X, axis=1).max())
    for power in sigmas:
        sigma = 2.0**power
        w = minimiser(train, X, sigma, LAMBDA, w0, w)
        value = smooth(train, X, w, sigma)[0] - smooth(test, X_test, w, sigma)[0]
        bound = 24 * (np.linalg.norm(w) * radius * LENGTH) ** 2 / (sigma * np.sqrt(len(train)))
        yield {
            "what": "gap",
            "line": f"n = {len(train)}",
            "x": sigma,
            "value": value,
            "bound": float(bound),
        }


def trial(rng, quick):
    """Return the records of the three claims, on queries of equal length, as the bound assumes."""
    counts, n_test, steps = ((10, 40), 40, 50) if quick else (COUNTS, 200, 200)
    powers, sigmas = (
        (FAR[::8], SIGMAS[::7]) if quick else (FAR, SIGMAS)
    )  # both hold the ends, which the claims compare
    queries = dl.simulate.letor_queries(
        counts[-1] + n_test, sizes=(LENGTH, LENGTH), random_state=rng
    )
    X = centred(queries)
    edge = queries.offsets[n_test]
    test, train = queries[:n_test], queries[n_test:]
    first, X_first = train[: counts[0]], X[edge:][: train.offsets[counts[0]]]
    records = [*large_sigma(first, X_first, rng, powers), *lemma(first, X_first, rng, steps)]
    for n in counts:
        records += gap(train[:n], test, X[edge:][: train.offsets[n]], X[:edge], sigmas)
    return records


def simulate(seed, repeats, quick, jobs):
    """Yield the records of each repeat."""
    yield from repeated(trial, [{"quick": quick}], repeats=repeats, seed=seed, jobs=jobs)


def plot(table, axes):
    """Draw the distances from w0 and of the lemma's two sides, and the generalisation gap."""
    limit, both, gap = axes
    claimed = list(claims(table))
    curves(table.filter(what="far"), limit, "x", "value", lines="line")
    limit.set(yscale="log", xlabel="$\\sigma$", ylabel="$|w - w_0|\\,/\\,|w_0|$")
    finding = "A large $\\sigma$ leads to $w_0$"
    words = headline(claimed, finding, "Distance from $w_0$", "as sigma grows to")
    limit.set(title=f"{words} (section 5.3)")
    limit.set_xscale("log", base=2)
    legend(limit)
    part = table.filter(what="lemma")
    names = part["line"].unique(maintain_order=True).to_list()
    for i, (style, line) in enumerate(zip(STYLES, names, strict=False)):
        points = part.filter(pl.col("line") == line, pl.col("value") > 0)
        x = points["x"].to_numpy() * 1.35 ** (i - 1.5)
        name = line.replace("sigma = 2^", "$\\sigma = 2^{") + "}$"
        face = style.get("markerfacecolor", style["color"])
        look = {"color": style["color"], "mfc": face, "ms": 3.5, "alpha": 0.6}
        both.plot(x, points["value"], style["marker"], label=name, **look)
    both.set(
        xscale="log",
        yscale="log",
        xlabel="c",
        ylim=(1e-17, 1e5),
        ylabel="relative distance, by repeat",
    )
    finding, part = "Lemma 1 is exact for equal steps", "w(lambda, sigma) = sqrt(c)"
    both.set(title=headline(claimed, finding, "Lemma 1", part))
    both.set_xticks(FACTORS, [f"{c:g}" for c in FACTORS])
    both.minorticks_off()
    both.legend(fontsize=6.5, ncols=2, loc="upper center", columnspacing=0.6, handletextpad=0.1)
    part = table.filter(what="gap")
    labels = {line: line.replace("n = ", "") + " queries" for line in part["line"].unique()}
    curves(part, gap, "x", "value", lines="line", labels=labels)
    gap.set_xscale("log", base=2)
    gap.set(
        xlabel="$\\sigma$ (smaller to the right)",
        ylabel="smoothed NDCG@10, training minus test",
        ylim=(0, None),
    )
    finding, part = "A small $\\sigma$ overfits more", "a smaller sigma overfits more"
    gap.set_title(headline(claimed, finding, "Training minus test", part) + " (section 5.2)")
    gap.invert_xaxis()
    gap.legend(fontsize=7)


def lemma_distances(table):
    """Return the largest relative distance of the lemma's two sides.

    The table has a row for each way to minimise and each repeat.
    """
    way = pl.col("line").str.split(",").list.first().alias("way")
    return (
        table.filter(what="lemma")
        .group_by(way, "repeat", maintain_order=True)
        .agg(distance=pl.col("value").max())
    )


def slopes(table):
    """Return the slopes of the gap's logarithm, for each repeat.

    One is in the logarithm of the number of queries at the smallest sigma, the other in that of 1 /
    sigma with the fewest queries.
    """
    gaps = table.filter(what="gap").with_columns(
        n=pl.col("line").str.replace("n = ", "").cast(pl.Float64),
        log_gap=pl.col("value").clip(1e-4).log(),
    )
    parts = {
        "n": (pl.col("x") == gaps["x"].min(), pl.col("n").log()),
        "sigma": (pl.col("n") == gaps["n"].min(), -pl.col("x").log()),
    }
    return pl.concat(
        gaps.filter(where)
        .group_by("repeat", maintain_order=True)
        .agg(of=pl.lit(of), slope=pl.cov(x, "log_gap") / x.var())
        for of, (where, x) in parts.items()
    )


def slope_claims(table):
    """Yield the claims that the gap changes no worse than its bound, 1 / (sigma sqrt(n))."""
    claim = partial(Claim, slopes(table), "chapelle-wu", "section 5.2", value="slope")
    text = f"{DATA}: the gap falls with n queries as fast as its bound: slope of logarithms"
    yield claim(text, rows={"of": "n"}, high=-0.5)
    text = f"{DATA}: the gap grows with 1 / sigma no faster than its bound: slope of logarithms"
    yield claim(text, rows={"of": "sigma"}, high=1.0)


def claims(table):
    """Yield the claims of sections 5.1 to 5.3."""
    yield from slope_claims(table)
    claim = partial(Claim, table, "chapelle-wu")
    far, gaps = table.filter(what="far"), table.filter(what="gap")
    for sigma, words in (
        (far["x"].max(), f"as sigma grows to {far['x'].max():g}"),
        (FIRST, "at sigma = 2^6, the first"),
    ):
        text = f"{DATA}: {words}, the minimiser tends to w0: relative distance"
        yield claim("section 5.3", text, "value", {"what": "far", "x": sigma}, high=0.01)
    ends = ({"what": "far", "x": FIRST, "line": f"start at {start}"} for start in ("random", "w0"))
    text = (
        f"{DATA}: at sigma = 2^6, the first, the start does not matter: "
        "difference of the relative distances"
    )
    yield claim("section 5.3", text, "value", *ends, low=-CLOSE, high=CLOSE)
    distances = lemma_distances(table)
    text = (
        f"{DATA}: w(lambda, sigma) = sqrt(c) w(lambda c, sigma / c): relative distance below 1e-6"
    )
    yield Claim(
        distances,
        "chapelle-wu",
        "lemma 1",
        text,
        "distance",
        {"way": "steps"},
        high=1e-6,
        condition="if both sides take corresponding steps, not by line searches",
        otherwise=({"way": "L-BFGS"}, None),
        cannot_fail=PROVED,
    )
    sharp, smooth = ({"what": "gap", "x": x} for x in (gaps["x"].min(), gaps["x"].max()))
    text = (
        f"{DATA}: a smaller sigma overfits more: gap at {sharp['x']:.0e} minus at {smooth['x']:g}"
    )
    yield claim("section 5.2", text, "value", sharp, smooth, low=0.0)
    lines = gaps["line"].unique(maintain_order=True)
    few, many = ({**sharp, "line": line} for line in (lines[0], lines[-1]))
    text = f"{DATA}: more queries overfit less: gap with {few['line']} minus with {many['line']}"
    yield claim("section 5.2", text, "value", few, many, low=0.0)
    text = f"{DATA}: the bound is below 1, the largest possible gap, at the largest sigma"
    yield Claim(table, "ours", "Chapelle and Wu, section 5.2", text, "bound", smooth, high=1.0)


if __name__ == "__main__":
    main(__name__)
