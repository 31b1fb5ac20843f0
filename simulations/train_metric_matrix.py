"""Does the learned metric matter? Rankers trained on each metric, and plain ones, each judged by every metric.

The learned DCG comes from 1,000 judgements of a judge who errs and whose DCG is known. The rankers learn from queries
of LETOR's shape with a known truth and, where the environment variable DCGLEARN_LAMBDARANK names the folder of
LightGBM's lambdarank example, from its 251 queries, split anew in each repeat.
"""

import os
import sys
from functools import cache
from pathlib import Path

import numpy as np

import dcglearn as dl
from simulations.run import Claim, main, repeated

STEM, REPEATS, PANELS, FIGSIZE = "train_metric_matrix", 20, 2, (11.5, 4.6)
TEXTBOOK = ("exponential-log2", "linear-log2", "binary1-log2")
PLAIN = ("RankSVM", "ridge on grades")
TRUE_DISCOUNTS = (1.0, 0.85, 0.6, 0.42, 0.3, 0.22, 0.16, 0.12, 0.08, 0.05)
TRUE_GAINS = {3: (0.0, 1.0, 1.5), 5: (0.0, 1.0, 1.5, 1.8, 2.0)}
DATA = ("LETOR-shaped", "lambdarank")


def lambdarank_folder():
    """Return the folder of LightGBM's example, None where there is none."""
    return os.environ.get("DCGLEARN_LAMBDARANK")


@cache
def lambdarank():
    """Return the features, grades and group labels of all queries of LightGBM's example."""
    folder = Path(lambdarank_folder())
    files = [next(f for f in folder.glob(f"rank.{name}*") if f.suffix != ".query") for name in ("train", "test")]
    parts = [dl.read_queries(file) for file in files]
    width = max(part.shape[1] for part in parts)
    features = np.vstack([np.pad(part.features, ((0, 0), (0, width - part.shape[1]))) for part in parts])
    sizes = np.concatenate([part.sizes for part in parts])
    return dl.Queries.from_groups(features, np.concatenate([part.grades for part in parts]), sizes)


def split(rng, data, quick):
    """Return training, validation and test queries."""
    if data == "LETOR-shaped":
        sizes, counts = ((10, 30), (20, 10, 20)) if quick else ((35, 120), (60, 20, 100))
        queries = dl.simulate.letor_queries(sum(counts), sizes=sizes, seed=rng)
        return queries[: counts[0]], queries[counts[0] : -counts[2]], queries[-counts[2] :]
    queries = lambdarank()
    order = rng.permutation(len(queries))
    return tuple(queries[np.sort(part)] for part in np.split(order, [150, 200]))


def learned_metric(rng, n_grades):
    """Return the true DCG, and the one learned from a noisy judge of it."""
    true = dl.DCG(TRUE_GAINS[n_grades], TRUE_DISCOUNTS)
    log = dl.simulate.preference_pairs(true, 1000, lists="free", temperature=1.0, seed=rng)
    return true, dl.UtilityLearner(C=0.1).fit(log).factor().dcg


def one(rng, data, quick):
    """Train every ranker on the same queries, and judge each by every metric; a record a pair of the two."""
    train, valid, test = split(rng, data, quick)
    true, learned = learned_metric(rng, train.n_grades)
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
    there = [name for name in DATA if name == "LETOR-shaped" or (lambdarank_folder() and not quick)]
    settings = [{"data": name, "quick": quick} for name in there]
    yield from repeated(one, settings, repeats=repeats, seed=seed, jobs=jobs, progress=progress)


def plot(table, axes):
    """Draw, for each judge (a column), how far each ranker is ahead of the mean of that column."""
    for ax, data in zip(axes, DATA, strict=True):
        part = table.filter(data=data)
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
        ax.set_yticks(range(len(rankers)), rankers)
        ax.tick_params(length=0)
        ax.set(xlabel="judged by", ylabel="trained on", title=f"{data}: mean normalised DCG, unseen queries")


def difference(table, data, first, second, judge):
    """Return how far one ranker is ahead of another by a judge, with the standard error of the paired difference."""
    values = [
        (table.filter(data=data, trained=name, judge=judge).sort("repeat")["ndcg"] if name != "start" else None)
        for name in (first, second)
    ]
    if values[1] is None:
        values[1] = table.filter(data=data, trained=first, judge=judge).sort("repeat")["start"]
    apart = values[0].to_numpy() - values[1].to_numpy()
    return float(apart.mean()), float(apart.std(ddof=1) / np.sqrt(len(apart)))


def verdict(found):
    """Return whether all, some or none of the differences are positive by more than two errors."""
    clear = [mean > 2 * error for mean, error in found]
    return "holds" if all(clear) else "holds with a condition" if any(clear) else "does not hold"


def claims(table):
    """Return what the table says of each data set."""
    for data in table["data"].unique(maintain_order=True):
        others = {name: difference(table, data, "learned", name, "true") for name in (*TEXTBOOK, *PLAIN)}
        yield Claim(
            "matrix",
            f"{data}: judged by the users' true DCG, a ranker trained on the learned one is ahead of others",
            "; ".join(f"of {name} {mean:+.4f} ± {error:.4f}" for name, (mean, error) in others.items()),
            verdict(others.values()),
            "Normalised DCG at 10 on unseen queries, paired; the DCG learned from 1,000 noisy judgements.",
        )
        loss = difference(table, data, "true", "learned", "true")
        yield Claim(
            "matrix",
            f"{data}: knowing the true DCG would gain little over having learned it",
            f"{loss[0]:+.4f} ± {loss[1]:.4f}",
            "holds" if loss[0] < max(2 * loss[1], 0.005) else "does not hold",
            "The ranker trained on the true DCG less that on the learned one, judged by the true one.",
        )
        starts = {name: difference(table, data, name, "start", name) for name in ("learned", *TEXTBOOK)}
        yield Claim(
            "matrix",
            f"{data}: training on a metric beats least squares on its gains, by that metric",
            "; ".join(f"{name} {mean:+.4f} ± {error:.4f}" for name, (mean, error) in starts.items()),
            verdict(starts.values()),
            "ApproxNDCG from that start, the stage chosen on validation queries.",
        )
        own = {
            (name, other): difference(table, data, name, other, name)
            for name in TEXTBOOK
            for other in TEXTBOOK
            if other != name
        }
        yield Claim(
            "matrix",
            f"{data}: among textbook DCGs, each is served best by the ranker trained on it",
            "; ".join(f"{name} over {other} {mean:+.4f} ± {error:.4f}" for (name, other), (mean, error) in own.items()),
            verdict(own.values()),
            "Each judged by its own metric.",
        )


if __name__ == "__main__":
    main(sys.modules[__name__])
