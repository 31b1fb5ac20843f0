"""Does the learned metric matter? Rankers trained on each metric are evaluated by every metric.

Two baselines are evaluated too. The DCG is learned from 1,000 noisy judgements by a known DCG. The
rankers learn from synthetic queries in the shape of LETOR.
"""

from functools import partial

import polars as pl

import dcglearn as dl
from simulations.claims import NEGLIGIBLE, Claim, interval
from simulations.ranking_data import CONFLICT, SPELLED, explain, split
from simulations.run import forest, grid, same_width

REPEATS, PANELS, FIGSIZE = 20, 2, (8.5, 3.4)
TEXTBOOK = ("exponential-log2", "linear-log2", "binary1-log2")
OTHERS = ("true", *TEXTBOOK, "RankSVM", "ridge on grades")
"""What the learned DCG is compared with in training: other metrics, and rankers without one."""

TRUE_DISCOUNTS = (1.0, 0.85, 0.6, 0.42, 0.3, 0.22, 0.16, 0.12, 0.08, 0.05)
TRUTHS = {
    "any relevant result will do": (0.0, 1.0, 1.1),
    "only the best results count": (0.0, 0.2, 3.0),
}
"""Gains of the true DCGs."""

SHORT = dict(zip(TRUTHS, ("flat truth", "steep truth"), strict=True))
"""Names of the true DCGs on the page of claims."""


def learned_metric(rng, truth):
    """Return the true DCG, and the DCG learned from its noisy judgements."""
    true = dl.DCG(TRUTHS[truth], TRUE_DISCOUNTS)
    log = dl.simulate.preference_pairs(
        true, 1000, lists="free", temperature=0.3 * true.gains[-1], random_state=rng
    )
    return true, dl.DCGLearner().fit(log).dcg_


def trial(rng, data, truth, quick):
    """Train all rankers on the same queries, and evaluate each by every metric.

    Return one record per ranker and metric.
    """
    train, valid, test = split(rng, data, quick)
    true, learned = learned_metric(rng, truth)
    metrics = {"true": true, "learned": learned}
    metrics |= {name: dl.metric(f"{name}@10", train.n_grades) for name in TEXTBOOK}

    # a ranker and its start by each metric, and baselines
    options = {"solver": "lbfgs", "max_iter": 30}
    rankers, starts = {}, {}
    for name, dcg in metrics.items():
        loss = dl.losses.ApproxNDCG(dcg)
        rankers[name] = dl.LinearRanker(loss=loss, **options).fit(train, eval_set=valid)
        starts[name] = dl.rankers.RidgeRanker(dcg, reweighted=False).fit(train)
    rankers["RankSVM"] = dl.rankers.RankSVMRanker().fit(train)
    rankers["ridge on grades"] = dl.rankers.RidgeRanker(reweighted=False).fit(train)

    # each by every metric
    records = []
    for judge, dcg in metrics.items():
        start = starts[judge].evaluate(test, metric=dcg).mean()
        for name, ranker in rankers.items():
            ndcg = ranker.evaluate(test, metric=dcg).mean()
            records.append({"trained": name, "judge": judge, "ndcg": ndcg, "start": start})
    return records


def settings(quick):
    """Return a setting for each true DCG."""
    return grid(data=CONFLICT, truth=tuple(TRUTHS), quick=quick)


def plot(table, axes, headline):
    """Draw by how much the learned DCG is a better metric of training than others."""
    for ax, truth in zip(axes, TRUTHS, strict=True):
        part = table.filter(truth=truth, judge="true").sort("repeat")
        values = {name: part.filter(trained=name)["ndcg"].to_numpy() for name in OTHERS}
        learned = part.filter(trained="learned")["ndcg"].to_numpy()
        leads = [learned - other for other in values.values()]
        forest(ax, ["the true DCG", *OTHERS[1:]], leads)
        ahead = sum(interval(lead).low > 0 for lead in leads[1:])
        ax.set_title(f"{SPELLED[CONFLICT]}: ahead of {ahead} of {len(leads) - 1}\n(users: {truth})")
        ax.set_xlabel("NDCG@10 by the true DCG:\ntrained on the learned DCG minus trained on ...")
    explain(table["data"], axes)
    same_width(axes)


def claims(table):
    """Yield our claims."""
    claim = partial(Claim, paper="ours", place="matrix", value="ndcg", low=0.0)
    learned = {"judge": "true", "trained": "learned"}
    for truth in TRUTHS:
        rows = table.filter(truth=truth)
        for name in OTHERS[1:]:
            text = f"{CONFLICT}, {SHORT[truth]}: learned DCG beats {name}"
            yield claim(rows, text=text, rows=learned, minus={**learned, "trained": name})
    text = f"{CONFLICT}: learned DCG is no worse than the true one"
    true = {**learned, "trained": "true"}
    yield Claim(table, "ours", "matrix", text, "ndcg", learned, true, low=-NEGLIGIBLE)

    # rankers by the metric that they were trained on
    own = table.with_columns(
        own=pl.col("trained") == pl.col("judge"), ahead=pl.col("ndcg") - pl.col("start")
    )
    text = f"{CONFLICT}: by each metric, it beats least squares"
    yield Claim(own, "ours", "matrix", text, "ahead", {"own": True}, low=0.0)
    text, textbooks = f"{CONFLICT}: by each textbook DCG, it beats the others", {"judge": TEXTBOOK}
    rows, minus = ({**textbooks, "trained": TEXTBOOK, "own": is_own} for is_own in (True, False))
    yield claim(own, text=text, rows=rows, minus=minus)
