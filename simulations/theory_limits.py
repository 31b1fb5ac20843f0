"""Chapelle and Wu's section 5: sigma to infinity gives w0, lambda and sigma are one, and what sigma overfits."""

import sys

import numpy as np
import polars as pl
from scipy.optimize import minimize

import dcglearn as dl
from simulations.run import STYLES, Claim, at, legend, main, repeated, shown, summary

STEM, REPEATS, PANELS, FIGSIZE = "theory_limits", 20, 3, (14.0, 3.7)
FAR = tuple(range(-2, 15, 2))
FACTORS, SHARPNESS = (0.03, 0.3, 3.0, 30.0, 300.0), (2, -1, -4)
SIGMAS, COUNTS = tuple(range(4, -11, -2)), (15, 30, 60, 120)
LAMBDA, LENGTH, DEPTH = 0.01, 50, 10
DCG = dl.DCG.standard(3, DEPTH)


def centred(queries):
    """Return the features in units of their spread, centred: no shift of a feature changes a ranking or a loss."""
    return (queries.features - queries.features.mean(axis=0)) / queries.features.std(axis=0)


def smooth(queries, X, w, sigma):
    """Return the mean of SmoothNDCG over queries and its gradient in w."""
    value, slope = dl.SmoothNDCG(DCG, sigma=sigma)(X @ w, queries.grades, queries.offsets)
    return value / len(queries), X.T @ slope / len(queries)


def climb(queries, X, sigma, lam, w0, start, iterations=60):
    """Return a minimiser of ``lambda |w - w0|^2 - A(w, sigma)``, the paper's equation 13 per query."""

    def objective(w):
        value, slope = smooth(queries, X, w, sigma)
        return lam * float((w - w0) @ (w - w0)) - value, 2 * lam * (w - w0) - slope

    how = {"maxiter": iterations, "gtol": 1e-9, "ftol": 0.0}
    return minimize(objective, start, jac=True, method="L-BFGS-B", options=how).x


def least_squares(queries, X):
    """Return the coefficients of a regression on gains, their scores of spread 1."""
    gain = DCG.gains[queries.grades]
    w = np.linalg.solve(X.T @ X + 1e-3 * len(X) * np.eye(X.shape[1]), X.T @ (gain - gain.mean()))
    return w / (X @ w).std()


def apart(one, other):
    """Return the distance of two vectors over the length of the first."""
    return float(np.linalg.norm(one - other) / np.linalg.norm(one))


def far(queries, X, rng):
    """Yield how far the minimiser is from w0, started there and elsewhere, as sigma grows."""
    w0 = least_squares(queries, X)
    random = rng.normal(size=len(w0)) / np.sqrt(len(w0))
    for power in FAR:
        for line, start in (("start at w0", w0), ("start at random", random)):
            w = climb(queries, X, 2.0**power, LAMBDA, w0, start)
            yield {"what": "far", "line": line, "x": 2.0**power, "value": apart(w0, w)}


def descend(queries, X, sigma, lam, start, step, steps=200):
    """Return where gradient steps on the objective with w0 = 0 lead from a start."""
    w = start
    for _ in range(steps):
        w = w - step * (2 * lam * w - smooth(queries, X, w, sigma)[1])
    return w


def lemma(queries, X, rng):
    """Yield how far ``sqrt(c) w(lambda c, sigma / c)`` is from ``w(lambda, sigma)``, from starts that correspond."""
    zero = np.zeros(X.shape[1])
    start = rng.normal(size=len(zero)) / np.sqrt(len(zero))
    for power in SHARPNESS:
        sigma, step = 2.0**power, 2.0 ** (power - 2)
        w = descend(queries, X, sigma, LAMBDA, start, step)
        for c in FACTORS:
            other = np.sqrt(c) * descend(queries, X, sigma / c, LAMBDA * c, start / np.sqrt(c), step / c)
            yield {"what": "lemma", "line": f"steps, sigma = 2^{power}", "x": c, "value": apart(w, other)}
    sigma = 2.0 ** SHARPNESS[0]
    w = climb(queries, X, sigma, LAMBDA, zero, start, 200)
    for c in FACTORS:
        other = np.sqrt(c) * climb(queries, X, sigma / c, LAMBDA * c, zero, start / np.sqrt(c), 200)
        yield {"what": "lemma", "line": f"L-BFGS, sigma = 2^{SHARPNESS[0]}", "x": c, "value": apart(w, other)}


def gap(train, test, X, X_test):
    """Yield the smoothed objective of training queries less that of others, as sigma falls, and the bound's terms."""
    w = w0 = least_squares(train, X)
    radius = float(np.linalg.norm(X, axis=1).max())
    for power in SIGMAS:
        sigma = 2.0**power
        w = climb(train, X, sigma, LAMBDA, w0, w)
        value = smooth(train, X, w, sigma)[0] - smooth(test, X_test, w, sigma)[0]
        bound = 24 * (np.linalg.norm(w) * radius * LENGTH) ** 2 / (sigma * np.sqrt(len(train)))
        yield {"what": "gap", "line": f"n = {len(train)}", "x": sigma, "value": value, "bound": float(bound)}


def one(rng, quick):
    """Return the records of the three questions, on queries of one length, as the bound has them."""
    counts, n_test = ((10, 40), 40) if quick else (COUNTS, 200)
    queries = dl.simulate.letor_queries(counts[-1] + n_test, sizes=(LENGTH, LENGTH), seed=rng)
    X = centred(queries)
    edge = queries.offsets[n_test]
    test, train = queries[:n_test], queries[n_test:]
    few, some = train[: counts[0]], X[edge:][: train.offsets[counts[0]]]
    records = [*far(few, some, rng), *lemma(few, some, rng)]
    for n in counts:
        records += gap(train[:n], test, X[edge:][: train.offsets[n]], X[:edge])
    return records


def simulate(seed, repeats, quick, jobs, progress):
    """Yield the records of each repeat."""
    yield from repeated(one, [{"quick": quick}], repeats=repeats, seed=seed, jobs=jobs, progress=progress)


def plot(table, axes):
    """Draw the distance from w0, the two sides of the lemma, and the gap beside its bound's slope."""
    for style, line in zip(STYLES, table.filter(what="far")["line"].unique(maintain_order=True), strict=False):
        means = summary(table.filter(what="far", line=line), ["x"], ["value"])
        axes[0].errorbar(means["x"], means["value"], means["value_error"], label=line, capsize=2, ms=4, lw=1.3, **style)
    axes[0].set(
        xscale="log", yscale="log", xlabel="$\\sigma$", ylabel="$|w - w_0|\\,/\\,|w_0|$", title="$\\sigma \\to \\infty$"
    )
    axes[0].set_xscale("log", base=2)
    legend(axes[0])
    part = table.filter(what="lemma")
    names = part["line"].unique(maintain_order=True).to_list()
    for i, (style, line) in enumerate(zip(STYLES, names, strict=False)):
        found = part.filter(line=line)
        x = found["x"].to_numpy() * 1.35 ** (i - 1.5)
        name = line.replace("sigma = 2^", "$\\sigma = 2^{") + "}$"
        face = style.get("markerfacecolor", style["color"])
        axes[1].plot(
            x, found["value"].clip(1e-17), style["marker"], color=style["color"], mfc=face, ms=4, alpha=0.6, label=name
        )
    axes[1].set(xscale="log", yscale="log", xlabel="c", ylim=(1e-17, 1e5))
    axes[1].set(title="$w(\\lambda, \\sigma)$ and $\\sqrt{c}\\,w(\\lambda c, \\sigma/c)$, starts that correspond")
    axes[1].set_ylabel("relative distance, each repeat")
    axes[1].set_xticks(FACTORS, [f"{c:g}" for c in FACTORS])
    axes[1].minorticks_off()
    axes[1].legend(fontsize=8, ncols=2, loc="upper center", columnspacing=0.8, handletextpad=0.2)
    part = table.filter(what="gap")
    for style, line in zip(STYLES, part["line"].unique(maintain_order=True), strict=False):
        means = summary(part.filter(line=line), ["x"], ["value", "bound"])
        name = line.replace("n = ", "") + " queries"
        axes[2].errorbar(means["x"], means["value"], means["value_error"], label=name, capsize=2, ms=4, lw=1.3, **style)
    x = np.array([2.0 ** SIGMAS[0], 2.0 ** SIGMAS[-1]])
    axes[2].plot(x, 0.02 / (x / x[0]), color="0.4", lw=0.9, ls=":", label="slope of the bound, $1/\\sigma$")
    axes[2].set_xscale("log", base=2)
    axes[2].set(yscale="log", ylim=(0.008, 1.0), xlabel="$\\sigma$", ylabel="training less unseen, smoothed NDCG@10")
    axes[2].set_title("generalisation gap")
    axes[2].invert_xaxis()
    axes[2].legend(fontsize=8)


def slope(part, x, y="value"):
    """Return the power of x with which the means over repeats grow."""
    means = summary(part, [x], [y])
    return float(np.polyfit(np.log(means[x]), np.log(means[y]), 1)[0])


def claims(table):
    """Return what the table says."""
    part = table.filter(what="far")
    lines = part["line"].unique(maintain_order=True).to_list()
    ends = {line: [at(part, "value", line=line, x=part["x"].max())[0]] for line in lines}
    tail = {line: slope(part.filter(pl.col("line") == line, pl.col("x") >= 64), "x") for line in lines}
    yield Claim(
        "Chapelle-Wu 5.3",
        "as sigma grows the minimiser tends to w0, whatever the start",
        "; ".join(
            f"{line}: off by {ends[line][0]:.1e} of its length at sigma = {part['x'].max():g}, which falls as sigma to "
            f"the power {tail[line]:.2f}"
            for line in lines
        ),
        "holds" if all(end[0] < 0.01 for end in ends.values()) else "does not hold",
        f"lambda = {LAMBDA:g} a query; least squares as w0, its scores of spread 1.",
    )
    part = table.filter(what="lemma")
    names = part["line"].unique(maintain_order=True).to_list()
    steps = part.filter(pl.col("line").str.starts_with("steps")).group_by("line").agg(pl.col("value").median())["value"]
    search = part.filter(line=names[-1])["value"]
    yield Claim(
        "Chapelle-Wu lemma 1",
        "for w0 = 0, w(lambda, sigma) = sqrt(c) w(lambda c, sigma / c)",
        f"200 gradient steps lead to points apart by {steps.max():.0e} of their length (the largest median of three "
        f"sigma); a search that chooses its steps, L-BFGS, by {search.median():.2f}",
        "holds with a condition" if steps.max() < 1e-6 else "does not hold",
        "The objectives differ by the unit of w alone, so their minima correspond one by one, and gradient steps in "
        "that unit take the same way. There are many minima, and other steps end in another of them.",
    )
    part = table.filter(what="gap")
    counts = part["line"].unique(maintain_order=True).to_list()
    by_sigma = {line: slope(part.filter(line=line), "x") for line in counts}
    sharpest = part.filter(x=part["x"].min()).with_columns(n=pl.col("line").str.strip_prefix("n = ").cast(pl.Float64))
    first, last = (at(part, "value", line=counts[0], x=x) for x in (part["x"].max(), part["x"].min()))
    yield Claim(
        "Chapelle-Wu 5.2",
        "the smaller sigma, the more it overfits, as the bound 24 (B R m)^2 / (sigma sqrt(n)) says",
        f"gap with {counts[0]}: {shown(first)} at sigma = {part['x'].max():g}, {shown(last)} at {part['x'].min():.2g}; "
        f"power of sigma {min(by_sigma.values()):.2f} to {max(by_sigma.values()):.2f}, "
        f"of n {slope(sharpest, 'n'):.2f} at the smallest; "
        f"the bound is at least {part['bound'].min():.0e}",
        "holds with a condition" if last[0] > first[0] and max(by_sigma.values()) < 0 else "does not hold",
        "True in direction. In size the bound says nothing of a number that is at most 1, and the gap grows far slower "
        f"than 1/sigma. {LENGTH} documents a query, B = the length of w, R = the longest centred row.",
    )


if __name__ == "__main__":
    main(sys.modules[__name__])
