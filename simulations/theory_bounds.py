"""Qin et al., theorems 2 and 3: errors of ApproxNDCG and ApproxAP, and their bounds."""

from functools import partial

import numpy as np
import polars as pl

import dcglearn as dl
from simulations.claims import FAILS, PROVED, Claim
from simulations.findings import headline
from simulations.ranking_data import DATA, REAL, SPELLED, available, explain, overlap, split
from simulations.run import STYLES, main, repeated, summary
from simulations.theory_approximation import by_query, errors

STEM, REPEATS, PANELS, FIGSIZE = "theory_bounds", 20, 2, (8.5, 3.8)
SHARP_ALPHAS = tuple(float(10**p) for p in np.arange(0.0, 8.01, 0.5))
SHARP_BETAS = tuple(float(10**p) for p in np.arange(-1.0, 3.01, 0.5))
SHARPEST, SMALLEST = 1e6, 1e-8
LINES = {"error": "error", "measured": "bound from rank errors", "printed": "bound from score gaps"}


def rank_errors(queries, scores, alpha):
    """Return the largest error of a soft rank in each query, and its bound by theorem 1.

    Both have shape (n_queries,).
    """
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
    """Yield errors and bounds at least-squares scores, of NDCG by alpha and of AP by beta.

    Ranks are nearly exact for AP.
    """
    scores = dl.rankers.RidgeRanker(reweighted=False).fit(queries).predict(queries)
    centred = [f - f.mean() for f, _ in by_query(queries, scores)]
    scores = scores / np.sqrt(np.mean(np.concatenate(centred) ** 2))
    for alpha in SHARP_ALPHAS:
        error = errors(dl.losses.ApproxNDCG(dcg, alpha=alpha, depth=None), queries, scores, dcg)
        limits = [np.minimum(e / (2 * np.log(2)), 1.0) for e in rank_errors(queries, scores, alpha)]
        yield {"what": "NDCG bounds", "x": alpha, **error_and_bounds(error, *limits)}
    n_relevant = [int((y > 0).sum()) for _, y in by_query(queries, scores)]
    of_ranks = rank_errors(queries, scores, SHARPEST)
    for beta in SHARP_BETAS:
        error = errors(dl.losses.ApproxAP(alpha=SHARPEST, beta=beta), queries, scores, dcg)
        limits = [
            np.array([precision_bound(e, n, beta) for e, n in zip(r, n_relevant, strict=True)])
            for r in of_ranks
        ]
        yield {"what": "AP bounds", "x": beta, **error_and_bounds(error, *limits)}


def error_and_bounds(error, measured, printed):
    """Return means over queries, and the share of errors within the measured bound."""
    kept = float(np.mean(error <= measured + 1e-12))
    return {
        "error": error.mean(),
        "measured": measured.mean(),
        "printed": printed.mean(),
        "kept": kept,
    }


def trial(rng, data, quick):
    """Return the records of the bounds."""
    train, _, _ = split(rng, data, quick)
    return list(bounds(train, dl.DCG.standard(train.n_grades, int(train.sizes.max()))))


def simulate(seed, repeats, quick, jobs):
    """Yield the records of each data set and repeat."""
    settings = [{"data": data, "quick": quick} for data in available(quick)]
    yield from repeated(trial, settings, repeats=repeats, seed=seed, jobs=jobs)


def plot(table, axes):
    """Draw errors and bounds against the sharpness; colour is error or bound, dash the data set."""
    claimed, part = list(claims(table)), "NDCG, alpha = 100: the bound"
    loose = headline(claimed, "NDCG: loose at alpha = 100", "NDCG", part, verdicts=(FAILS,))
    useful = headline(claimed, "AP: below .05 at beta = 10", "AP", "AP, beta = 10")
    panels = (
        ("NDCG", "alpha", f"{loose} (theorem 3)"),
        ("AP", f"beta (alpha = {SHARPEST:g})", f"{useful} (theorem 2)"),
    )
    for ax, (metric, x, title) in zip(axes, panels, strict=True):
        for data, dash in zip(table["data"].unique(maintain_order=True), ("-", "--"), strict=False):
            means = summary(table.filter(what=f"{metric} bounds", data=data), ["x"], list(LINES))
            for style, (name, label) in zip(STYLES, LINES.items(), strict=False):
                points = means.filter(pl.col(name) > SMALLEST)
                words = {"label": label} if dash == "-" else {}
                ax.plot(
                    points["x"],
                    points[name],
                    color=style["color"],
                    marker=style["marker"],
                    ls=dash,
                    ms=3,
                    **words,
                )
        ax.axhline(0.05, color="0.4", lw=0.8, ls=(0, (4, 3)))
        ax.set(
            xscale="log",
            yscale="log",
            ylim=(SMALLEST, 3),
            xlabel=x,
            ylabel="mean over queries",
            title=title,
        )
    names = f"solid: {SPELLED[DATA[0]]}\ndashed: {SPELLED[REAL]}"
    axes[0].legend(fontsize=7, title=names, title_fontsize=7)
    explain(table["data"], axes)


def claims(table):
    """Yield the claims on the theorems for each data set."""
    for data in table["data"].unique(maintain_order=True):
        claim = partial(Claim, table.filter(data=data), paper="qin", overlap=overlap(data, "train"))
        for theorem, metric in (("theorem 3", "NDCG"), ("theorem 2", "AP")):
            text = f"{data}, {metric}: share of queries within the bound"
            rows = {"what": f"{metric} bounds"}
            sure = {"low": 1.0, "high": 1.0, "cannot_fail": PROVED}
            yield claim(place=theorem, text=text, value="kept", rows=rows, **sure)
        for alpha in (100.0, 1e4, SHARPEST):
            text = f"{data}, NDCG, alpha = {alpha:.3g}: the bound is below .05"
            whose = {"paper": "ours", "place": "Qin, theorem 3"} if alpha == 100 else {}
            yield claim(
                text=text,
                value="printed",
                rows={"what": "NDCG bounds", "x": alpha},
                high=0.05,
                **{"place": "theorem 3", **whose},
            )
        text = f"{data}, AP, beta = 10, alpha = {SHARPEST:.0e}: the bound is below .05"
        rows = {"what": "AP bounds", "x": 10.0}
        yield claim(place="theorem 2", text=text, value="printed", rows=rows, high=0.05)


if __name__ == "__main__":
    main(__name__)
