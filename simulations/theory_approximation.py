"""Qin et al., figures 1 and 2: errors of ApproxNDCG and ApproxAP in training."""

from itertools import pairwise

import numpy as np

import dcglearn as dl
from simulations.claims import Claim
from simulations.findings import headline
from simulations.ranking_data import SPELLED, available, explain, overlap, split
from simulations.run import curves, main, repeated, share_scale

STEM, REPEATS, PANELS, FIGSIZE = "theory_approximation", 20, 3, (11.5, 4.0)
PASSES = (0, 1, 2, 4, 7, 11, 16, 22, 30)
ALPHAS, BETAS = (10.0, 30.0, 100.0), (1.0, 10.0, 100.0)
NDCG, AP_ALPHA, AP_BETA = "NDCG@n", "AP, beta = 10", "AP, alpha = 100"
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
    for metric, losses in LOSSES.items():
        for name, make in losses.items():
            loss, start, done = make(dcg), "random", 0
            for passes in all_passes:
                options = {
                    "solver": "sgd",
                    "annealing": None,
                    "l2": 0.0,
                    "tol": 0.0,
                    "random_state": seed + done,
                }
                rate = 0.01 if passes > done else 1e-300  # pass 0 learns nothing
                ranker = dl.LinearRanker(
                    loss=loss,
                    max_iter=max(passes - done, 1),
                    learning_rate=rate,
                    start=start,
                    **options,
                )
                start, done = ranker.fit(queries), passes
                error = errors(loss, queries, start.predict(queries), dcg).mean()
                yield {"what": metric, "line": name, "x": passes, "error": error}


def trial(rng, data, quick):
    """Return the records of training."""
    train, _, _ = split(rng, data, quick)
    dcg = dl.DCG.standard(train.n_grades, int(train.sizes.max()))
    return list(training(train, dcg, int(rng.integers(2**20)), PASSES[:6] if quick else PASSES))


def simulate(seed, repeats, quick, jobs):
    """Yield the records of each data set and repeat."""
    settings = [{"data": data, "quick": quick} for data in available(quick)]
    yield from repeated(trial, settings, repeats=repeats, seed=seed, jobs=jobs)


def plot(table, axes):
    """Draw the errors in training; colour is the sharpness, dash the data set."""
    figures = {NDCG: "figure 2", AP_ALPHA: "figure 1a", AP_BETA: "figure 1b"}
    claimed = list(claims(table))
    for ax, metric in zip(axes, LOSSES, strict=True):
        part = table.filter(what=metric)
        curves(part, ax, "x", "error", lines="line", dashes="data", labels=SPELLED, apart=0)
        ax.axhline(0.05, color="0.2", lw=0.9, ls=(0, (4, 3)))
        ax.text(
            table["x"].max(),
            0.053,
            "95% accurate",
            fontsize=7,
            color="0.3",
            ha="right",
            va="bottom",
        )
        ax.set(yscale="log", xlabel="passes of algorithm 1", ylabel="mean absolute error")
        words = headline(claimed, f"{metric} is close", metric, f"{metric}: error below .05")
        ax.set_title(f"{words} (Qin et al., {figures[metric]})")
        ax.set_ylim(bottom=3e-5)
        ax.legend(fontsize=6.5, loc="lower left", handlelength=1.6, labelspacing=0.25)
    share_scale(axes)
    explain(table["data"], axes)


def claims(table):
    """Yield the claims for each data set."""
    last = {"x": table["x"].max()}
    for figure, metric, sharper, blunter in (
        ("figure 1a", AP_ALPHA, "alpha = 100", "alpha = 10"),
        ("figure 1b", AP_BETA, "beta = 100", "beta = 1"),
        ("figure 2", NDCG, "alpha = 100", "alpha = 10"),
    ):
        rows, minus = ({"what": metric, "line": line, **last} for line in (sharper, blunter))
        for place, text, sides, edge in (
            (figure, f"error below .05 after training, even with {blunter}", (minus,), 0.05),
            ("section 5.2", f"accuracy above 98% with {sharper}: error", (rows,), 0.02),
            (figure, f"smaller error with {sharper} than with {blunter}", (rows, minus), 0.0),
        ):
            if place == figure or metric == AP_ALPHA:
                for data in table["data"].unique(maintain_order=True):
                    yield Claim(
                        table.filter(data=data),
                        "qin",
                        place,
                        f"{metric}: {text}, {data}",
                        "error",
                        *sides,
                        high=edge,
                        overlap=overlap(data, "train"),
                    )


if __name__ == "__main__":
    main(__name__)
