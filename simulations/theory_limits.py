"""Chapelle and Wu, section 5: the limit of large sigma, the equivalence of lambda and sigma, and overfitting."""

import numpy as np
import polars as pl
from scipy.optimize import minimize

import dcglearn as dl
from simulations.run import STYLES, Claim, at, curves, legend, main, repeated, shown, summary

STEM, REPEATS, PANELS, FIGSIZE = "theory_limits", 20, 3, (14.0, 3.7)
FAR = tuple(range(-2, 15, 2))
FACTORS, SHARPNESS = (0.03, 0.3, 3.0, 30.0, 300.0), (2, -1, -4)
SIGMAS, COUNTS = tuple(range(4, -11, -2)), (15, 30, 60, 120)
LAMBDA, LENGTH, DEPTH = 0.01, 50, 10
DCG = dl.DCG.standard(3, DEPTH)


def centred(queries):
    """Return the features centred and scaled; shifting a feature changes no ranking and no loss."""
    return (queries.features - queries.features.mean(axis=0)) / queries.features.std(axis=0)


def smooth(queries, X, w, sigma):
    """Return the mean of SmoothNDCG over queries and its gradient in w."""
    value, slope = dl.SmoothNDCG(DCG, sigma=sigma)(X @ w, queries.grades, queries.offsets)
    return value / len(queries), X.T @ slope / len(queries)


def minimiser(queries, X, sigma, lam, w0, start, iterations=60):
    """Return a minimiser of ``lambda |w - w0|^2 - A(w, sigma)``, the paper's equation 13 per query, by L-BFGS."""

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


def large_sigma(queries, X, rng):
    """Yield the distance of the minimiser from w0 as sigma grows, from a start at w0 and from a random start."""
    w0 = least_squares(queries, X)
    random = rng.normal(size=len(w0)) / np.sqrt(len(w0))
    for power in FAR:
        for line, start in (("start at w0", w0), ("start at random", random)):
            w = minimiser(queries, X, 2.0**power, LAMBDA, w0, start)
            yield {"what": "far", "line": line, "x": 2.0**power, "value": relative_distance(w0, w)}


def descend(queries, X, sigma, lam, start, step, steps=200):
    """Return the end point of gradient steps on the objective with w0 = 0."""
    w = start
    for _ in range(steps):
        w = w - step * (2 * lam * w - smooth(queries, X, w, sigma)[1])
    return w


def lemma(queries, X, rng):
    """Yield the distance of ``sqrt(c) w(lambda c, sigma / c)`` from ``w(lambda, sigma)``, for corresponding starts."""
    zero = np.zeros(X.shape[1])
    start = rng.normal(size=len(zero)) / np.sqrt(len(zero))
    for power in SHARPNESS:
        sigma, step = 2.0**power, 2.0 ** (power - 2)
        w = descend(queries, X, sigma, LAMBDA, start, step)
        for c in FACTORS:
            other = np.sqrt(c) * descend(queries, X, sigma / c, LAMBDA * c, start / np.sqrt(c), step / c)
            yield {"what": "lemma", "line": f"steps, sigma = 2^{power}", "x": c, "value": relative_distance(w, other)}
    sigma = 2.0 ** SHARPNESS[0]
    w = minimiser(queries, X, sigma, LAMBDA, zero, start, 200)
    for c in FACTORS:
        other = np.sqrt(c) * minimiser(queries, X, sigma / c, LAMBDA * c, zero, start / np.sqrt(c), 200)
        yield {
            "what": "lemma",
            "line": f"L-BFGS, sigma = 2^{SHARPNESS[0]}",
            "x": c,
            "value": relative_distance(w, other),
        }


def gap(train, test, X, X_test):
    """Yield the smoothed objective on training minus test queries as sigma falls, and the bound of the difference."""
    w = w0 = least_squares(train, X)
    radius = float(np.linalg.norm(X, axis=1).max())
    for power in SIGMAS:
        sigma = 2.0**power
        w = minimiser(train, X, sigma, LAMBDA, w0, w)
        value = smooth(train, X, w, sigma)[0] - smooth(test, X_test, w, sigma)[0]
        bound = 24 * (np.linalg.norm(w) * radius * LENGTH) ** 2 / (sigma * np.sqrt(len(train)))
        yield {"what": "gap", "line": f"n = {len(train)}", "x": sigma, "value": value, "bound": float(bound)}


def trial(rng, quick):
    """Return the records of the three claims, on queries of equal length, as the bound assumes."""
    counts, n_test = ((10, 40), 40) if quick else (COUNTS, 200)
    queries = dl.simulate.letor_queries(counts[-1] + n_test, sizes=(LENGTH, LENGTH), seed=rng)
    X = centred(queries)
    edge = queries.offsets[n_test]
    test, train = queries[:n_test], queries[n_test:]
    first, X_first = train[: counts[0]], X[edge:][: train.offsets[counts[0]]]
    records = [*large_sigma(first, X_first, rng), *lemma(first, X_first, rng)]
    for n in counts:
        records += gap(train[:n], test, X[edge:][: train.offsets[n]], X[:edge])
    return records


def simulate(seed, repeats, quick, jobs, progress):
    """Yield the records of each repeat."""
    yield from repeated(trial, [{"quick": quick}], repeats=repeats, seed=seed, jobs=jobs, progress=progress)


def plot(table, axes):
    """Draw the distance from w0, the distance of the lemma's two sides, and the generalisation gap."""
    curves(table.filter(what="far"), axes[0], "x", "value", lines="line")
    axes[0].set(
        xscale="log", yscale="log", xlabel="$\\sigma$", ylabel="$|w - w_0|\\,/\\,|w_0|$", title="$\\sigma \\to \\infty$"
    )
    axes[0].set_xscale("log", base=2)
    legend(axes[0])
    part = table.filter(what="lemma")
    names = part["line"].unique(maintain_order=True).to_list()
    for i, (style, line) in enumerate(zip(STYLES, names, strict=False)):
        points = part.filter(line=line)
        x = points["x"].to_numpy() * 1.35 ** (i - 1.5)
        name = line.replace("sigma = 2^", "$\\sigma = 2^{") + "}$"
        face = style.get("markerfacecolor", style["color"])
        look = {"color": style["color"], "mfc": face, "ms": 4, "alpha": 0.6}
        axes[1].plot(x, points["value"].clip(1e-17), style["marker"], label=name, **look)
    axes[1].set(xscale="log", yscale="log", xlabel="c", ylim=(1e-17, 1e5))
    axes[1].set(title="$w(\\lambda, \\sigma)$ and $\\sqrt{c}\\,w(\\lambda c, \\sigma/c)$, corresponding starts")
    axes[1].set_ylabel("relative distance (one point per repeat)")
    axes[1].set_xticks(FACTORS, [f"{c:g}" for c in FACTORS])
    axes[1].minorticks_off()
    axes[1].legend(fontsize=8, ncols=2, loc="upper center", columnspacing=0.8, handletextpad=0.2)
    part = table.filter(what="gap")
    labels = {line: line.replace("n = ", "") + " queries" for line in part["line"].unique()}
    curves(part, axes[2], "x", "value", lines="line", **labels)
    x = np.array([2.0 ** SIGMAS[0], 2.0 ** SIGMAS[-1]])
    axes[2].plot(x, 0.02 / (x / x[0]), color="0.4", lw=0.9, ls=":", label="slope of the bound, $1/\\sigma$")
    axes[2].set_xscale("log", base=2)
    axes[2].set(yscale="log", ylim=(0.008, 1.0), xlabel="$\\sigma$", ylabel="smoothed NDCG@10, training minus test")
    axes[2].set_title("Generalisation gap")
    axes[2].invert_xaxis()
    axes[2].legend(fontsize=8)


def slope(part, x, y="value"):
    """Return the exponent of x in a power law fitted to the means over repeats."""
    means = summary(part, [x], [y])
    return float(np.polyfit(np.log(means[x]), np.log(means[y]), 1)[0])


def claims(table):
    """Yield the claims, with the table's numbers and verdicts."""
    part = table.filter(what="far")
    lines = part["line"].unique(maintain_order=True).to_list()
    ends = {line: [at(part, "value", line=line, x=part["x"].max())[0]] for line in lines}
    tail = {line: slope(part.filter(pl.col("line") == line, pl.col("x") >= 64), "x") for line in lines}
    yield Claim(
        "Chapelle-Wu 5.3",
        "as sigma grows, the minimiser tends to w0 from any start",
        "; ".join(
            f"{line}: relative distance {ends[line][0]:.1e} at sigma = {part['x'].max():g}, proportional to "
            f"sigma^{tail[line]:.2f}"
            for line in lines
        ),
        "holds" if all(end[0] < 0.01 for end in ends.values()) else "does not hold",
        f"lambda = {LAMBDA:g} per query; w0 is the least-squares solution, scaled to scores of spread 1.",
    )
    part = table.filter(what="lemma")
    names = part["line"].unique(maintain_order=True).to_list()
    steps = part.filter(pl.col("line").str.starts_with("steps")).group_by("line").agg(pl.col("value").median())["value"]
    search = part.filter(line=names[-1])["value"]
    yield Claim(
        "Chapelle-Wu lemma 1",
        "for w0 = 0, w(lambda, sigma) = sqrt(c) w(lambda c, sigma / c)",
        f"relative distance {steps.max():.0e} after 200 gradient steps (largest median over three values of sigma), "
        f"{search.median():.2f} after L-BFGS, which chooses its own step lengths",
        "holds with a condition" if steps.max() < 1e-6 else "does not hold",
        "The objectives differ only in the unit of w, so their minima correspond one to one, and gradient steps in "
        "that unit follow the same path. There are many minima, and other step lengths end in a different one.",
    )
    part = table.filter(what="gap")
    counts = part["line"].unique(maintain_order=True).to_list()
    by_sigma = {line: slope(part.filter(line=line), "x") for line in counts}
    sharpest = part.filter(x=part["x"].min()).with_columns(n=pl.col("line").str.strip_prefix("n = ").cast(pl.Float64))
    first, last = (at(part, "value", line=counts[0], x=x) for x in (part["x"].max(), part["x"].min()))
    yield Claim(
        "Chapelle-Wu 5.2",
        "a smaller sigma overfits more, as the bound 24 (B R m)^2 / (sigma sqrt(n)) says",
        f"gap with {counts[0]}: {shown(first)} at sigma = {part['x'].max():g}, {shown(last)} at {part['x'].min():.2g}; "
        f"exponent of sigma {min(by_sigma.values()):.2f} to {max(by_sigma.values()):.2f}, "
        f"exponent of n {slope(sharpest, 'n'):.2f} at the smallest sigma; "
        f"the bound is at least {part['bound'].min():.0e}",
        "holds with a condition" if last[0] > first[0] and max(by_sigma.values()) < 0 else "does not hold",
        "The direction is right. The bound is far above 1, the largest possible gap, and the gap grows far more slowly "
        f"than 1/sigma. {LENGTH} documents per query; B is the length of w, R that of the longest centred row.",
    )


if __name__ == "__main__":
    main(__name__)
