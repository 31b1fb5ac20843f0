"""Does the learned metric matter? Rankers trained on each metric, and plain ones, each judged by every metric.

The learned DCG comes from 1,000 judgements of a judge who errs and whose DCG is known. The rankers learn from queries
of LETOR's shape with a known truth and, where the environment variable DCGLEARN_LAMBDARANK names the folder of
LightGBM's lambdarank example, from its 251 queries, split anew in each repeat.
"""

import sys
from itertools import permutations

import numpy as np

import dcglearn as dl
from simulations.ranking_data import DATA, available, split
from simulations.run import Claim, main, paired, repeated

STEM, REPEATS, PANELS, FIGSIZE = "train_metric_matrix", 20, 4, (17.0, 4.2)
TEXTBOOK = ("exponential-log2", "linear-log2", "binary1-log2")
PLAIN = ("RankSVM", "ridge on grades")
TRUE_DISCOUNTS = (1.0, 0.85, 0.6, 0.42, 0.3, 0.22, 0.16, 0.12, 0.08, 0.05)
TRUTHS = {
    "any relevant result will do": {3: (0.0, 1.0, 1.1), 5: (0.0, 1.0, 1.1, 1.15, 1.2)},
    "only the best results count": {3: (0.0, 0.2, 3.0), 5: (0.0, 0.05, 0.2, 1.0, 3.0)},
}


def learned_metric(rng, truth, n_grades):
    """Return the true DCG, and the one learned from a noisy judge of it."""
    true = dl.DCG(TRUTHS[truth][n_grades], TRUE_DISCOUNTS)
    log = dl.simulate.preference_pairs(true, 1000, lists="free", temperature=0.3 * true.gains[-1], seed=rng)
    return true, dl.UtilityLearner(C=0.1).fit(log).factor().dcg


def one(rng, data, truth, quick):
    """Train every ranker on the same queries, and judge each by every metric; a record a pair of the two."""
    train, valid, test = split(rng, data, quick)
    true, learned = learned_metric(rng, truth, train.n_grades)
    metrics = {"true": true, "learned": learned}
    metrics |= {name: dl.DCG.from_name(f"{name}@10", train.n_grades) for name in TEXTBOOK}
    rankers = {
        name: dl.LinearRanker(loss=dl.ApproxNDCG(dcg), solver="lbfgs", max_iter=30).fit(train, eval_set=valid)
        for name, dcg in metrics.items()
    }
    rankers |= {
        "RankSVM": dl.RankSVMRanker().fit(train),
        "ridge on grades": dl.RidgeRanker(reweighted=False).fit(train),
    }
    starts = {name: dl.RidgeRanker(dcg, reweighted=False).fit(train) for name, dcg in metrics.items()}
    records = []
    for judge, dcg in metrics.items():
        start = starts[judge].evaluate(test, metric=dcg).mean()
        records += [
            {"trained": name, "judge": judge, "ndcg": ranker.evaluate(test, metric=dcg).mean(), "start": start}
            for name, ranker in rankers.items()
        ]
    return records


def simulate(seed, repeats, quick, jobs, progress):
    """Yield a record a data set, ranker, judge and repeat."""
    settings = [{"data": name, "truth": truth, "quick": quick} for name in available(quick) for truth in TRUTHS]
    yield from repeated(one, settings, repeats=repeats, seed=seed, jobs=jobs, progress=progress)


def plot(table, axes):
    """Draw, for each judge (a column), how far each ranker is ahead of the mean of that column."""
    panels = [(data, truth) for data in DATA for truth in TRUTHS]
    for ax, (data, truth) in zip(axes, panels, strict=True):
        part = table.filter(data=data, truth=truth)
        if not len(part):
            ax.set_axis_off()
            ax.set_title(f"{data}: the data were not here")
            continue
        judges, rankers = (part[name].unique(maintain_order=True).to_list() for name in ("judge", "trained"))
        means = np.array([[part.filter(trained=r, judge=j)["ndcg"].mean() for j in judges] for r in rankers])
        ahead = means - means.mean(axis=0)
        reach = np.abs(ahead).max()
        ax.imshow(ahead, cmap="RdBu", vmin=-reach, vmax=reach, aspect="auto")
        for (row, column), value in np.ndenumerate(means):
            best = means[row, column] == means[:, column].max()
            shade = "white" if abs(ahead[row, column]) > 0.65 * reach else "black"
            weight = "bold" if best else "normal"
            ax.text(column, row, f"{value:.3f}", ha="center", va="center", fontsize=8, color=shade, weight=weight)
        ax.set_xticks(range(len(judges)), judges, rotation=25, ha="right")
        ax.set_yticks(range(len(rankers)), rankers if ax is axes[0] else [])
        ax.grid(False)
        ax.tick_params(length=0)
        ax.set(xlabel="judged by", title=f"{data}, {truth}:\nmean normalised DCG, unseen queries")


def difference(table, first, second, judge):
    """Return how far one ranker is ahead of another by a judge, with the standard error of the paired difference.

    The second may be "start", the least squares on the judge's gains from which the ranker started.
    """
    rows = table.filter(trained=first, judge=judge).sort("repeat")
    other = rows["start"] if second == "start" else table.filter(trained=second, judge=judge).sort("repeat")["ndcg"]
    return paired(rows["ndcg"], other)


def verdict(found):
    """Return whether all, some or none of the differences are positive by more than two errors."""
    clear = [mean > 2 * error for mean, error in found]
    return "holds" if all(clear) else "holds with a condition" if any(clear) else "does not hold"


def claims(table):
    """Return what the table says of each data set."""
    for data in table["data"].unique(maintain_order=True):
        part = table.filter(data=data)
        for truth in TRUTHS:
            mine = part.filter(truth=truth)
            others = {name: difference(mine, "learned", name, "true") for name in (*TEXTBOOK, *PLAIN)}
            yield Claim(
                "matrix",
                f"{data}, {truth}: by the users' true DCG, a ranker trained on the learned one is ahead of others",
                "; ".join(f"of {name} {shown(found)}" for name, found in others.items()),
                verdict(others.values()),
                "Normalised DCG at 10 on unseen queries, paired; the DCG learned from 1,000 noisy judgements.",
            )
        one_truth = part.filter(truth=next(iter(TRUTHS)))  # textbook metrics are the same under both
        loss = {truth: difference(part.filter(truth=truth), "true", "learned", "true") for truth in TRUTHS}
        yield Claim(
            "matrix",
            f"{data}: knowing the true DCG would gain little over having learned it",
            "; ".join(f"{truth} {shown(found)}" for truth, found in loss.items()),
            "holds" if all(mean < max(2 * error, 0.005) for mean, error in loss.values()) else "does not hold",
            "The ranker trained on the true DCG less that on the learned one, judged by the true one.",
        )
        starts = {f"learned, {t}": difference(part.filter(truth=t), "learned", "start", "learned") for t in TRUTHS}
        starts |= {name: difference(one_truth, name, "start", name) for name in TEXTBOOK}
        yield Claim(
            "matrix",
            f"{data}: training on a metric beats least squares on its gains, by that metric",
            "; ".join(f"{name} {shown(found)}" for name, found in starts.items()),
            verdict(starts.values()),
            "ApproxNDCG from that start, the model chosen on validation queries.",
        )
        own = {(one, other): difference(one_truth, one, other, one) for one, other in permutations(TEXTBOOK, 2)}
        yield Claim(
            "matrix",
            f"{data}: among textbook DCGs, each is served best by the ranker trained on it",
            "; ".join(f"{name} over {other} {shown(found)}" for (name, other), found in own.items()),
            verdict(own.values()),
            "Each judged by its own metric.",
        )


def shown(found):
    """Return a difference and its error as text."""
    return f"{found[0]:+.4f} ± {found[1]:.4f}"


if __name__ == "__main__":
    main(sys.modules[__name__])
