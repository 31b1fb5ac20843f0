"""Sun et al., figure 1, and Chapelle and Wu, figure 4: linear rankers against each other.

RSRank, without its penalty, is compared by NDCG@3 to @10, and SmoothAP by average precision, on
simulated queries.
"""

from functools import partial

import numpy as np

import dcglearn as dl
from simulations.claims import Claim, in_every_cell
from simulations.ranking_data import CONFLICT, NO_CONFLICT, SPELLED, explain, split
from simulations.run import forest, grid
from simulations.theory_approximation import average_precision, by_query

REPEATS, PANELS, FIGSIZE = 100, (2, 2), (8.5, 5.2)
DEPTHS, DEPTH = (3, 5, 10), 10
RIVALS = {"RSRank": ("LambdaRank", "ListNet", "RankSVM"), "SmoothAP": ("least squares", "RankSVM")}
"""The methods of the two papers, and those that they are said to beat."""

MEASURED = (
    ("RSRank", "ndcg", "mean of NDCG@3, @5 and @10"),
    ("SmoothAP", "ap", "average precision"),
)
"""Methods, the columns by which they are compared, and these in words."""


def trial(rng, data, quick):
    """Train all methods on the same queries; return test NDCG and average precision of each."""
    train, valid, test = split(rng, data, quick)
    dcg, both = dl.DCG.standard(train.n_grades, DEPTH), {"eval_set": valid}
    steps = 5 if quick else 20
    rankers = {
        "RSRank": dl.LinearRanker(
            dl.losses.RSRank(dcg, depth=None), l1=0.0, max_iter=15 * steps, tol=1e-4
        ).fit(train),
        "LambdaRank": dl.LinearRanker(dl.losses.LambdaRank(dcg), max_iter=steps).fit(train, **both),
        "ListNet": dl.LinearRanker(dl.losses.ListNet(), max_iter=steps).fit(train, **both),
        "SmoothAP": dl.LinearRanker(dl.losses.SmoothAP(), max_iter=steps).fit(train, **both),
        "least squares": dl.rankers.RidgeRanker(dcg).fit(train),
        "RankSVM": dl.rankers.RankSVMRanker().fit(train),
    }

    # test NDCG and average precision
    records = []
    for name, ranker in rankers.items():
        scores = ranker.predict(test)
        ndcg = [test.evaluate(scores, dl.DCG.standard(train.n_grades, k)).mean() for k in DEPTHS]
        precision = np.mean([average_precision(f, y) for f, y in by_query(test, scores)])
        records.append({"method": name, "ndcg": float(np.mean(ndcg)), "ap": float(precision)})
    return records


def settings(quick):
    """Return a setting for each data set."""
    return grid(data=(CONFLICT, NO_CONFLICT), quick=quick)


def plot(table, axes, headline):
    """Draw the leads of RSRank and SmoothAP; each data set has a row of panels."""
    for line, data in zip(axes, (CONFLICT, NO_CONFLICT), strict=True):
        part = table.filter(data=data).sort("repeat")
        for ax, (name, value, words) in zip(line, MEASURED, strict=True):
            own = part.filter(method=name)[value]
            rivals = RIVALS[name]
            leads = [own - part.filter(method=rival)[value] for rival in rivals]
            forest(ax, list(rivals), leads)
            ax.locator_params(axis="x", nbins=5)
            ax.set_xlabel(f"{words}: {name} minus")
            start = f"{SPELLED[data]}, {name}"
            ax.set_title(headline(f"{start}: ahead", start, f"{name} beats"))
    explain(table["data"], axes)


def claims(table):
    """Yield the papers' claims, each of the data set on which it is nearest to failing."""
    papers = {"RSRank": ("sun", "figure 1"), "SmoothAP": ("chapelle-wu", "figure 4")}
    words = {"ndcg": "NDCG@3 to @10", "ap": "average precision"}
    for name, value, _ in MEASURED:
        claim = partial(Claim, table, *papers[name], value=value, low=0.0)
        for rival in RIVALS[name]:
            each = []
            for data in (CONFLICT, NO_CONFLICT):
                rows, minus = ({"data": data, "method": method} for method in (name, rival))
                text = f"{name} beats {rival}, {words[value]}, {data}"
                each.append(claim(text, rows=rows, minus=minus))
            yield in_every_cell(each)
