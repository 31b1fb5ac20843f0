"""Does the learned metric matter? Rankers trained on each metric are evaluated by every metric.

Two baselines are evaluated too. The DCG is learned from 1,000 noisy judgements by a known DCG. The
rankers learn from synthetic queries in the shape of LETOR and, if the environment variable
DCGLEARN_LAMBDARANK names the folder of LightGBM's lambdarank example, from its 251 queries, which
each repeat splits again.
"""

from functools import partial
from itertools import product

import numpy as np
import polars as pl

import dcglearn as dl
from simulations.claims import NEGLIGIBLE, Claim, interval
from simulations.ranking_data import DATA, SPELLED, available, explain, leave_empty, overlap, split
from simulations.run import forest, grid

REPEATS, PANELS, FIGSIZE = 20, (2, 2), (8.5, 6.4)
TEXTBOOK = ("exponential-log2", "linear-log2", "binary1-log2")
PLAIN = ("RankSVM", "ridge on grades")
TRUE_DISCOUNTS = (1.0, 0.85, 0.6, 0.42, 0.3, 0.22, 0.16, 0.12, 0.08, 0.05)
TRUTHS = {
    "any relevant result will do": {3: (0.0, 1.0, 1.1), 5: (0.0, 1.0, 1.1, 1.15, 1.2)},
    "only the best results count": {3: (0.0, 0.2, 3.0), 5: (0.0, 0.05, 0.2, 1.0, 3.0)},
}

SHORT = dict(zip(TRUTHS, ("flat truth", "steep truth"), strict=True))
"""Names of the true DCGs on the page of claims."""


def learned_metric(rng, truth, n_grades):
    """Return the true DCG, and the DCG learned from its noisy judgements."""
    true = dl.DCG(TRUTHS[truth][n_grades], TRUE_DISCOUNTS)
    log = dl.simulate.preference_pairs(
        true, 1000, lists="free", temperature=0.3 * true.gains[-1], random_state=rng
    )
    return true, dl.DCGLearner().fit(log).dcg_


def trial(rng, data, truth, quick):
    """Train all rankers on the same queries, and evaluate each by every metric.

    Return one record per ranker and metric.
    """
    train, valid, test = split(rng, data, quick)
    true, learned = learned_metric(rng, truth, train.n_grades)
    metrics = {"true": true, "learned": learned}
    metrics |= {name: dl.metric(f"{name}@10", train.n_grades) for name in TEXTBOOK}
    rankers = {
        name: dl.LinearRanker(loss=dl.losses.ApproxNDCG(dcg), solver="lbfgs", max_iter=30).fit(
            train, eval_set=valid
        )
        for name, dcg in metrics.items()
    }
    rankers |= {
        "RankSVM": dl.rankers.RankSVMRanker().fit(train),
        "ridge on grades": dl.rankers.RidgeRanker(reweighted=False).fit(train),
    }
    starts = {
        name: dl.rankers.RidgeRanker(dcg, reweighted=False).fit(train)
        for name, dcg in metrics.items()
    }
    records = []
    for judge, dcg in metrics.items():
        start = starts[judge].evaluate(test, metric=dcg).mean()
        records += [
            {
                "trained": name,
                "judge": judge,
                "ndcg": ranker.evaluate(test, metric=dcg).mean(),
                "start": start,
            }
            for name, ranker in rankers.items()
        ]
    return records


def settings(quick):
    """Return a setting for each data set and true DCG."""
    return grid(data=tuple(available(quick)), truth=tuple(TRUTHS), quick=quick)


def plot(table, axes):
    """Draw by how much the learned DCG is a better metric of training than others.

    The panels show differences with intervals.
    """
    others = ("true", *TEXTBOOK, *PLAIN)
    for ax, (data, truth) in zip(np.ravel(axes), product(DATA, TRUTHS), strict=True):
        part = table.filter(data=data, truth=truth, judge="true")
        if not len(part):
            leave_empty(ax, data)
            continue
        learned = part.filter(trained="learned").sort("repeat")["ndcg"].to_numpy()
        leads = [
            learned - part.filter(trained=name).sort("repeat")["ndcg"].to_numpy() for name in others
        ]
        forest(ax, ["the true DCG", *(f"{name}" for name in others[1:])], leads, overlap(data))
        ax.set_title(f"{SPELLED[data]}: {_standing(leads[1:], overlap(data))}\n(users: {truth})")
        ax.set_xlabel("NDCG@10 by the true DCG:\ntrained on the learned DCG minus trained on ...")
    explain(table["data"], axes)
    drawn = [ax for ax in np.ravel(axes) if ax.axison]
    ends = np.array([ax.get_xlim() for ax in drawn])
    for ax in drawn:
        ax.set_xlim(ends[:, 0].min(), ends[:, 1].max())


def _standing(leads, again):
    """Return in words how many of several differences are clear."""
    found = [interval(lead, again) for lead in leads]
    ahead, behind = sum(each.low > 0 for each in found), sum(each.high < 0 for each in found)
    return f"ahead of {ahead} of {len(found)}" + (f", behind {behind}" if behind else "")


def claims(table):
    """Yield our claims for each data set."""
    for data in table["data"].unique(maintain_order=True):
        part, again = table.filter(data=data), {"overlap": overlap(data)}
        claim = partial(Claim, paper="ours", place="matrix", low=0.0, **again)
        for truth in TRUTHS:
            rows = part.filter(truth=truth)
            for name in (*TEXTBOOK, *PLAIN):
                learned, other = (
                    {"judge": "true", "trained": trained} for trained in ("learned", name)
                )
                text = f"{data}, {SHORT[truth]}: learned DCG beats {name}"
                yield claim(rows, text=text, value="ndcg", rows=learned, minus=other)
        learned, true = ({"judge": "true", "trained": trained} for trained in ("learned", "true"))
        text = f"{data}: learned DCG is no worse than the true one"
        yield Claim(part, "ours", "matrix", text, "ndcg", learned, true, low=-NEGLIGIBLE, **again)
        own = part.with_columns(
            own=pl.col("trained") == pl.col("judge"), ahead=pl.col("ndcg") - pl.col("start")
        )
        text = f"{data}: by each metric, it beats least squares"
        yield claim(own, text=text, value="ahead", rows={"own": True})
        rows, minus = (
            {"judge": TEXTBOOK, "trained": TEXTBOOK, "own": is_own} for is_own in (True, False)
        )
        text = f"{data}: by each textbook DCG, it beats the others"
        yield claim(own, text=text, value="ndcg", rows=rows, minus=minus)
