"""Qin et al., figures 1 and 2: errors of ApproxNDCG and ApproxAP in training."""

from functools import partial
from itertools import pairwise

import numpy as np

import dcglearn as dl
from simulations.claims import Claim
from simulations.ranking_data import CONFLICT, split
from simulations.run import curves, share_scale

REPEATS, PANELS, FIGSIZE = 20, 3, (11.5, 3.8)
PASSES = (0, 1, 2, 4, 7, 11, 16, 22, 30)
ALPHAS, BETAS = (10.0, 30.0, 100.0), (1.0, 10.0, 100.0)
NDCG, AP_ALPHA, AP_BETA = "NDCG@n", "AP, beta = 10", "AP, alpha = 100"
FIGURES = {AP_ALPHA: "figure 1a", AP_BETA: "figure 1b", NDCG: "figure 2"}
LOSSES = {
    NDCG: {
        f"alpha = {alpha:g}": lambda dcg, a=alpha: dl.losses.ApproxNDCG(dcg, alpha=a, depth=None)
        for alpha in ALPHAS
    },
    AP_ALPHA: {
        f"alpha = {alpha:g}": lambda _, a=alpha: dl.losses.ApproxAP(alpha=a, beta=10.0)
        for alpha in ALPHAS
    },
    AP_BETA: {
        f"beta = {beta:g}": lambda _, b=beta: dl.losses.ApproxAP(alpha=100.0, beta=b)
        for beta in BETAS
    },
}


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
    if isinstance(loss, dl.losses.ApproxNDCG):
        return np.abs(smooth - queries.evaluate(scores, dcg))
    return np.abs(smooth - [average_precision(f, y) for f, y in by_query(queries, scores)])


def training(queries, dcg, seed, all_passes):
    """Yield the mean error on training queries at several passes of Qin et al.'s algorithm 1."""
    plain = {"solver": "sgd", "annealing": None, "l2": 0.0, "tol": 0.0}
    for metric, losses in LOSSES.items():
        for name, make in losses.items():
            loss, start, done = make(dcg), "random", 0
            for passes in all_passes:
                ranker = dl.LinearRanker(
                    loss=loss,
                    max_iter=max(passes - done, 1),
                    learning_rate=0.01 if passes > done else 1e-300,  # pass 0 learns nothing
                    start=start,
                    random_state=seed + done,
                    **plain,
                )

                start, done = ranker.fit(queries), passes
                error = errors(loss, queries, start.predict(queries), dcg).mean()
                yield {"what": metric, "line": name, "x": passes, "error": error}


def trial(rng, quick):
    """Return the records of training."""
    train, _, _ = split(rng, CONFLICT, quick)
    dcg = dl.DCG.standard(train.n_grades, int(train.sizes.max()))
    seed = int(rng.integers(2**20))
    return list(training(train, dcg, seed, PASSES[:6] if quick else PASSES))


def settings(quick):
    """Return the one setting."""
    return [{"quick": quick}]


def plot(table, axes, headline):
    """Draw the errors in training; colour is the sharpness."""
    for ax, metric in zip(axes, LOSSES, strict=True):
        curves(table.filter(what=metric), ax, "x", "error", lines="line", apart=0)
        ax.axhline(0.05, color="0.2", lw=0.9, ls=(0, (4, 3)))
        ax.set(yscale="log", xlabel="passes of algorithm 1", ylabel="mean absolute error")
        words = headline(f"{metric} is close", metric, f"{metric}: error below .05")
        ax.set_title(f"{words} (Qin et al., {FIGURES[metric]})")
        ax.set_ylim(bottom=3e-5)
        ax.legend(fontsize=6.5, loc="lower left", handlelength=1.6, labelspacing=0.25)
    share_scale(axes)


def claims(table):
    """Yield the claims on training."""
    last = {"x": table["x"].max()}
    for metric, sharper, blunter in (
        (AP_ALPHA, "alpha = 100", "alpha = 10"),
        (AP_BETA, "beta = 100", "beta = 1"),
        (NDCG, "alpha = 100", "alpha = 10"),
    ):
        claim = partial(Claim, table, "qin", value="error")
        rows, minus = ({"what": metric, "line": line, **last} for line in (sharper, blunter))
        text = f"{metric}: error below .05 after training, even with {blunter}"
        yield claim(FIGURES[metric], text, rows=minus, high=0.05)

        text = f"{metric}: smaller error with {sharper} than with {blunter}"
        yield claim(FIGURES[metric], text, rows=rows, minus=minus, high=0.0)
        if metric == AP_ALPHA:
            text = f"{metric}: accuracy above 98% with {sharper}: error"
            yield claim("section 5.2", text, rows=rows, high=0.02)
