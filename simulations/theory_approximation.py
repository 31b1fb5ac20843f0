"""Qin et al., figures 1 and 2: errors of ApproxNDCG and ApproxAP in training, and the bounds of the errors."""

from functools import partial
from itertools import pairwise

import numpy as np

import dcglearn as dl
from simulations.claims import Claim
from simulations.ranking_data import available, rows, split
from simulations.run import STYLES, curves, main, repeated, summary

STEM, REPEATS, PANELS, FIGSIZE = "theory_approximation", 20, (2, 5), (17.5, 6.4)
PASSES = (0, 1, 2, 4, 7, 11, 16, 22, 30)
ALPHAS, BETAS = (10.0, 30.0, 100.0), (1.0, 10.0, 100.0)
NDCG, AP_ALPHA, AP_BETA = "NDCG@n", "AP, beta = 10", "AP, alpha = 100"
LOSSES = {
    NDCG: {f"alpha = {alpha:g}": lambda dcg, a=alpha: dl.ApproxNDCG(dcg, alpha=a, k=None) for alpha in ALPHAS},
    AP_ALPHA: {f"alpha = {alpha:g}": lambda _, a=alpha: dl.ApproxAP(alpha=a, beta=10.0) for alpha in ALPHAS},
    AP_BETA: {f"beta = {beta:g}": lambda _, b=beta: dl.ApproxAP(alpha=100.0, beta=b) for beta in BETAS},
}
SHARP_ALPHAS = tuple(float(10**p) for p in np.arange(0.0, 8.01, 0.5))
SHARP_BETAS = tuple(float(10**p) for p in np.arange(-1.0, 3.01, 0.5))
SHARPEST = 1e6
LINES = {"error": "error", "measured": "bound from rank errors", "printed": "bound from score gaps"}


def average_precision(scores, grades):
    """Return the average precision of one query, 0 if no document is relevant."""
    hits = np.flatnonzero(grades[np.argsort(-scores, kind="stable")] > 0) + 1
    return float(np.mean(np.arange(1, len(hits) + 1) / hits)) if len(hits) else 0.0


def by_query(queries, scores):
    """Yield the scores and grades of each query."""
    for start, stop in pairwise(queries.offsets):
        yield scores[start:stop], queries.grades[start:stop]


def errors(loss, queries, scores, dcg):
    """Return the absolute error of a loss as an approximation of its metric, shape (n_queries,)."""
    smooth = np.array([loss(f, y)[0] for f, y in by_query(queries, scores)])
    if isinstance(loss, dl.ApproxNDCG):
        return np.abs(smooth - queries.evaluate(scores, dcg))
    return np.abs(smooth - [average_precision(f, y) for f, y in by_query(queries, scores)])


def training(queries, dcg, seed):
    """Yield the mean error on the training queries at several passes of Qin et al.'s algorithm 1."""
    for metric, losses in LOSSES.items():
        for name, make in losses.items():
            loss, start, done = make(dcg), "random", 0
            for passes in PASSES:
                options = {"solver": "sgd", "annealing": None, "l2": 0.0, "tol": 0.0, "seed": seed + done}
                rate = 0.01 if passes > done else 1e-300  # pass 0 learns nothing
                ranker = dl.LinearRanker(
                    loss=loss, max_iter=max(passes - done, 1), learning_rate=rate, start=start, **options
                )
                start, done = ranker.fit(queries), passes
                error = errors(loss, queries, start.predict(queries), dcg).mean()
                yield {"what": metric, "line": name, "x": passes, "error": error}


def rank_errors(queries, scores, alpha):
    """Return the largest error of a soft rank in each query, and its bound by theorem 1, shapes (n_queries,)."""
    largest, bound = [], []
    for f, _ in by_query(queries, scores):
        order = np.argsort(-f, kind="stable")
        ranks = np.empty(len(f))
        ranks[order] = np.arange(1, len(f) + 1)
        gap = -np.diff(f[order]).max(initial=-np.inf)
        largest.append(np.abs(dl.losses.soft_ranks(f, alpha) - ranks).max())
        bound.append((len(f) - 1) / (np.exp(min(alpha * gap, 700)) + 1) if len(f) > 1 else 0.0)
    return np.array(largest), np.array(bound)


def precision_bound(error, n_relevant, beta):
    """Return theorem 2's bound from the largest rank error, or 1 if that error is 1/2 or more."""
    i = np.arange(1, n_relevant + 1)
    if error >= 0.5:
        return 1.0
    within = (1 / (i - error)).sum() / (1 + np.exp(min(beta * (1 - 2 * error), 700)))
    return min(1.0, within + (2 * error / (i * (i - error))).sum())


def bounds(queries, dcg):
    """Yield errors and bounds at least-squares scores: of NDCG by alpha, and of AP by beta with nearly exact ranks."""
    scores = dl.RidgeRanker(reweighted=False).fit(queries).predict(queries)
    centred = [f - f.mean() for f, _ in by_query(queries, scores)]
    scores = scores / np.sqrt(np.mean(np.concatenate(centred) ** 2))
    for alpha in SHARP_ALPHAS:
        error = errors(dl.ApproxNDCG(dcg, alpha=alpha, k=None), queries, scores, dcg)
        limits = [np.minimum(e / (2 * np.log(2)), 1.0) for e in rank_errors(queries, scores, alpha)]
        yield {"what": "NDCG bounds", "x": alpha, **error_and_bounds(error, *limits)}
    n_relevant = [int((y > 0).sum()) for _, y in by_query(queries, scores)]
    of_ranks = rank_errors(queries, scores, SHARPEST)
    for beta in SHARP_BETAS:
        error = errors(dl.ApproxAP(alpha=SHARPEST, beta=beta), queries, scores, dcg)
        limits = [np.array([precision_bound(e, n, beta) for e, n in zip(r, n_relevant, strict=True)]) for r in of_ranks]
        yield {"what": "AP bounds", "x": beta, **error_and_bounds(error, *limits)}


def error_and_bounds(error, measured, printed):
    """Return means over queries, and the share of queries whose error is within the measured bound."""
    kept = float(np.mean(error <= measured + 1e-12))
    return {"error": error.mean(), "measured": measured.mean(), "printed": printed.mean(), "kept": kept}


def trial(rng, data, quick):
    """Return the records of training and of the bounds."""
    train, _, _ = split(rng, data, quick)
    dcg = dl.DCG.standard(train.n_grades, int(train.sizes.max()))
    return [*training(train, dcg, int(rng.integers(2**20))), *bounds(train, dcg)]


def simulate(seed, repeats, quick, jobs, progress):
    """Yield the records of each data set and repeat."""
    settings = [{"data": data, "quick": quick} for data in available(quick)]
    yield from repeated(trial, settings, repeats=repeats, seed=seed, jobs=jobs, progress=progress)


def plot(table, axes):
    """Draw errors in training, then errors and bounds, one row per data set."""
    for data, part, line in rows(table, axes):
        for ax, metric in zip(line, LOSSES, strict=False):
            curves(part.filter(what=metric), ax, "x", "error", lines="line")
            ax.set(yscale="log", ylim=(2e-4, 0.2), xlabel="passes of algorithm 1", title=f"{data}: {metric}")
            ax.legend(fontsize=7.5, loc="upper center", ncols=3, columnspacing=0.8, handlelength=1.5)
        line[0].set_ylabel("mean absolute error\n(bars: ± 1 standard error)")
        for ax, metric, theorem, x in (
            (line[3], "NDCG", 3, "alpha"),
            (line[4], "AP", 2, f"beta (alpha = {SHARPEST:g})"),
        ):
            means = summary(part.filter(what=f"{metric} bounds"), ["x"], list(LINES))
            for style, (name, label) in zip(STYLES, LINES.items(), strict=False):
                ax.plot(means["x"], means[name].clip(1e-9), label=label, markersize=4, lw=1.3, **style)
            ax.set(
                xscale="log", yscale="log", ylim=(1e-6, 3), xlabel=x, title=f"{data}: {metric} and theorem {theorem}"
            )
            ax.set_xlim(means["x"].min() / 1.5, 3e6 if metric == "NDCG" else None)
            ax.legend(fontsize=7, loc="lower left" if metric == "NDCG" else "upper right")


def claims(table):
    """Yield the claims, on all data sets together."""
    last, claim = {"x": float(PASSES[-1])}, partial(Claim, table, "qin")
    for figure, metric, sharper, blunter in (
        ("figure 1a", AP_ALPHA, "alpha = 100", "alpha = 10"),
        ("figure 1b", AP_BETA, "beta = 100", "beta = 1"),
        ("figure 2", NDCG, "alpha = 100", "alpha = 10"),
    ):
        rows, minus = ({"what": metric, "line": line, **last} for line in (sharper, blunter))
        text = f"{metric}: error below .05 after training, even with {blunter}"
        yield claim(figure, text, "error", minus, high=0.05)
        text = f"{metric}: smaller error with {sharper} than with {blunter}"
        yield claim(figure, text, "error", rows, minus, high=0.0)
    for theorem, metric, x, setting in (
        ("theorem 3", "NDCG", 100.0, "alpha = 100"),
        ("theorem 2", "AP", 10.0, f"beta = 10, alpha = {SHARPEST:.0e}"),
    ):
        rows = {"what": f"{metric} bounds", "x": x}
        text = f"{metric}, {setting}: share of queries within the bound"
        yield claim(theorem, text, "kept", rows, low=1.0, high=1.0)
        text = f"{metric}, {setting}: the bound is below .05, which would show it accurate"
        yield claim(theorem, text, "printed", rows, high=0.05)


if __name__ == "__main__":
    main(__name__)
