"""Chapelle and Wu, sections 5.2 and 5.3: what large and small sigma do."""

from functools import partial

import numpy as np
import polars as pl
from scipy.optimize import minimize

import dcglearn as dl
from simulations.claims import CLOSE, Claim, headline
from simulations.run import curves, legend

REPEATS, PANELS, FIGSIZE = 20, 2, (8.0, 3.7)
FAR = tuple(range(-2, 15, 2))
SIGMAS, COUNTS = tuple(range(4, -11, -2)), (15, 30, 60, 120)
LAMBDA, LENGTH, DEPTH = 0.01, 50, 10
FIRST = 2.0**6
"""The largest sigma of the paper's annealing."""

DCG = dl.DCG.standard(3, DEPTH)


def centred(queries):
    """Return the features centred and scaled; shifting a feature changes no ranking and no loss."""
    return (queries.features - queries.features.mean(axis=0)) / queries.features.std(axis=0)


def smooth(queries, X, w, sigma):
    """Return the mean of SmoothNDCG over queries and its gradient in w."""
    value, slope = dl.losses.SmoothNDCG(DCG, sigma=sigma)(X @ w, queries.grades, queries.offsets)
    return value / len(queries), X.T @ slope / len(queries)


def minimiser(queries, X, sigma, lam, w0, start):
    """Return a minimiser of ``lambda |w - w0|^2 - A(w, sigma)`` by L-BFGS.

    This objective is the paper's equation 13 per query.
    """

    def objective(w):
        value, slope = smooth(queries, X, w, sigma)
        return lam * float((w - w0) @ (w - w0)) - value, 2 * lam * (w - w0) - slope

    options = {"maxiter": 60, "gtol": 1e-9, "ftol": 0.0}
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


def gap(train, test, X, X_test, sigmas):
    """Yield the smoothed objective on training minus test queries as sigma falls."""
    w = w0 = least_squares(train, X)
    for power in sigmas:
        sigma = 2.0**power
        w = minimiser(train, X, sigma, LAMBDA, w0, w)
        value = smooth(train, X, w, sigma)[0] - smooth(test, X_test, w, sigma)[0]
        yield {"what": "gap", "line": f"n = {len(train)}", "x": sigma, "value": value}


def trial(rng, quick):
    """Return the records of both sections, on queries of equal length, as the bound assumes."""
    counts, n_test = ((10, 40), 40) if quick else (COUNTS, 200)
    # quick ones hold the ends too, which the claims compare
    powers, sigmas = (FAR[::8], SIGMAS[::7]) if quick else (FAR, SIGMAS)
    queries = dl.simulate.letor_queries(
        counts[-1] + n_test, sizes=(LENGTH, LENGTH), random_state=rng
    )
    X = centred(queries)
    edge = queries.offsets[n_test]
    test, train = queries[:n_test], queries[n_test:]
    first, X_first = train[: counts[0]], X[edge:][: train.offsets[counts[0]]]
    records = [*large_sigma(first, X_first, rng, powers)]
    for n in counts:
        records += gap(train[:n], test, X[edge:][: train.offsets[n]], X[:edge], sigmas)
    return records


def settings(quick):
    """Return the one setting."""
    return [{"quick": quick}]


def plot(table, axes):
    """Draw the distances from w0, and the generalisation gap."""
    limit, gap = axes
    claimed = list(claims(table))
    curves(table.filter(what="far"), limit, "x", "value", lines="line")
    limit.set(yscale="log", xlabel="$\\sigma$", ylabel="$|w - w_0|\\,/\\,|w_0|$")
    finding = "A large $\\sigma$ leads to $w_0$"
    words = headline(claimed, finding, "Distance from $w_0$", "as sigma grows to")
    limit.set(title=f"{words} (section 5.3)")
    limit.set_xscale("log", base=2)
    legend(limit)

    # training minus test
    part = table.filter(what="gap")
    labels = {line: line.replace("n = ", "") + " queries" for line in part["line"].unique()}
    curves(part, gap, "x", "value", lines="line", labels=labels)
    gap.set_xscale("log", base=2)
    gap.set(xlabel="$\\sigma$ (smaller to the right)", ylim=(0, None))
    gap.set(ylabel="smoothed NDCG@10, training minus test")
    finding, part = "A small $\\sigma$ overfits more", "a smaller sigma overfits more"
    gap.set_title(headline(claimed, finding, "Training minus test", part) + " (section 5.2)")
    gap.invert_xaxis()
    gap.legend(fontsize=7)


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


def claims(table):
    """Yield the claims of sections 5.2 and 5.3."""
    # the gap changes no worse than its bound, 1 / (sigma sqrt(n))
    claim = partial(Claim, slopes(table), "chapelle-wu", "section 5.2", value="slope")
    text = "the gap falls with n queries as fast as its bound: slope of logarithms"
    yield claim(text, rows={"of": "n"}, high=-0.5)
    text = "the gap grows with 1 / sigma no faster than its bound: slope of logarithms"
    yield claim(text, rows={"of": "sigma"}, high=1.0)

    # large sigma
    claim = partial(Claim, table, "chapelle-wu", value="value")
    most = table.filter(what="far")["x"].max()
    for sigma, words in (
        (most, f"as sigma grows to {most:g}"),
        (FIRST, "at sigma = 2^6, the first"),
    ):
        text = f"{words}, the minimiser tends to w0: relative distance"
        yield claim("section 5.3", text, rows={"what": "far", "x": sigma}, high=0.01)
    random, own = (
        {"what": "far", "x": FIRST, "line": f"start at {start}"} for start in ("random", "w0")
    )
    text = "at sigma = 2^6, the start does not matter: difference of the relative distances"
    yield claim("section 5.3", text, rows=random, minus=own, low=-CLOSE, high=CLOSE)

    # overfitting
    gaps = table.filter(what="gap")
    sharp, smooth = ({"what": "gap", "x": x} for x in (gaps["x"].min(), gaps["x"].max()))
    text = f"a smaller sigma overfits more: gap at {sharp['x']:.0e} minus at {smooth['x']:g}"
    yield claim("section 5.2", text, rows=sharp, minus=smooth, low=0.0)
    lines = gaps["line"].unique(maintain_order=True)
    few, many = ({**sharp, "line": line} for line in (lines[0], lines[-1]))
    text = f"more queries overfit less: gap with {few['line']} minus with {many['line']}"
    yield claim("section 5.2", text, rows=few, minus=many, low=0.0)
