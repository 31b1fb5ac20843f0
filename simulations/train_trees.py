"""Boosted trees on a metric: NDCG@5 on unseen queries against trees, as Wu et al.'s figure 2, and beside lambdarank.

Every method grows the same trees, once following its gradient with constant curvature, as in the paper, and once
following lambdas, the default. LightGBM's lambdarank gets the gains of the metric as its label_gain. The queries have
a known truth that needs trees; where DCGLEARN_LAMBDARANK names a folder, its queries are split anew in each repeat.
"""

import sys

import lightgbm
import numpy as np

import dcglearn as dl
from simulations.ranking_data import lambdarank_folder, split
from simulations.run import STYLES, Claim, legend, main, paired, repeated, summary
from simulations.train_metric_matrix import shown, verdict

STEM, REPEATS, PANELS, FIGSIZE = "train_trees", 6, (2, 3), (16.0, 9.0)
DATA = ("needs trees", "lambdarank")
SHAPES = {
    "exponential gains, log2": (lambda g: 2.0**g - 1, 1 / np.log2(np.arange(2, 7))),
    "steep gains, flat discounts": (lambda g: np.where(g > 0, 5.0**g, 0) / 5, (1.0, 0.95, 0.9, 0.85, 0.8)),
    "flat gains, steep discounts": (lambda g: np.where(g > 0, 0.9 + 0.1 * g, 0), (1.0, 0.4, 0.2, 0.1, 0.05)),
}
PAIRED = ("REG-SHF-SDCG", "SHF-SDCG", "SDCG")
SHAPE = {"num_leaves": 15, "learning_rate": 0.1, "min_data_in_leaf": 20}
WAYS = {"gradient": ("gradient", "constant"), "exchange": ("lambdas", "diagonal")}
"""What trees follow and its curvature, by the word for it in the table."""
TREES, QUICK_TREES = 300, 20
STOPS = 12
LINES = (*STYLES, {"color": "black", "marker": "x"})


def metric_of(shape, n_grades):
    """Return a metric of depth 5."""
    gains, discounts = SHAPES[shape]
    return dl.DCG(gains(np.arange(n_grades, dtype=float)), discounts)


def losses(dcg):
    """Return the methods of the paper, and LambdaRank on the same metric, by name."""
    return {
        "REG-SHF-SDCG": dl.RegSHFSDCG(dcg),
        "SHF-SDCG": dl.SHFSDCG(dcg),
        "SDCG": dl.SDCG(dcg),
        "GBRank": dl.GBRank(),
        "regression": dl.Regression(dcg),
        "LambdaRank": dl.LambdaRank(dcg),
    }


def queries(rng, data, quick):
    """Return training and test queries."""
    if data == "lambdarank":
        train, valid, test = split(rng, data, quick)
        return train, dl.Queries(
            np.vstack([valid.features, test.features]),
            np.concatenate([valid.grades, test.grades]),
            np.concatenate([valid.qid, test.qid]),
            train.n_grades,
        )
    whole = dl.simulate.nonlinear_queries(*((40, 15) if quick else (1600, 30)), seed=rng)
    cut = 20 if quick else 600
    return whole[:cut], whole[cut:]


def lambdarank(train, test, dcg, n_trees, stops):
    """Return NDCG@5 of LightGBM's own, with the metric's gains, after so many trees."""
    settings = {**SHAPE, "objective": "lambdarank", "label_gain": list(dcg.gains), "verbose": -1, "num_threads": 1}
    model = lightgbm.train(settings, lightgbm.Dataset(train.features, train.grades, group=train.sizes), n_trees)
    return [test.evaluate(model.predict(test.features, num_iteration=stop), dcg).mean() for stop in stops]


def one(rng, data, shape, quick):
    """Grow the trees of every method, and judge them by the metric they were grown for."""
    train, test = queries(rng, data, quick)
    dcg, n_trees = metric_of(shape, train.n_grades), QUICK_TREES if quick else TREES
    stops = np.unique(np.round(np.geomspace(1, n_trees, STOPS)).astype(int))
    found = {("lambdarank", "LightGBM"): lambdarank(train, test, dcg, n_trees, stops)}
    for name, loss in losses(dcg).items():
        for way, (follow, curvature) in WAYS.items():
            ranker = dl.BoostedRanker(
                loss, n_trees=n_trees, metric=dcg, follow=follow, curvature=curvature, num_threads=1, **SHAPE
            ).fit(train, eval_set=test, progress=False)
            values = np.array(ranker.validation_)
            found[name, way] = values[np.minimum(stops, len(values)) - 1]
    return [
        {"method": name, "follow": way, "trees": int(stop), "ndcg": float(value)}
        for (name, way), values in found.items()
        for stop, value in zip(stops, values, strict=True)
    ]


def simulate(seed, repeats, quick, jobs, progress):
    """Yield a record a data set, metric, method, way, number of trees and repeat."""
    there = DATA if lambdarank_folder() and not quick else DATA[:1]
    settings = [{"data": data, "shape": shape, "quick": quick} for data in there for shape in SHAPES]
    yield from repeated(one, settings, repeats=repeats, seed=seed, jobs=jobs, progress=progress)


def plot(table, axes):
    """Draw, a row a data set and a column a metric, NDCG@5 against trees; dashed where the gradient is followed."""
    for line, data in zip(axes, DATA, strict=True):
        for ax, shape in zip(line, SHAPES, strict=True):
            part = table.filter(data=data, shape=shape)
            if not len(part):
                ax.set_axis_off()
                ax.set_title(f"{data}: the data were not here")
                continue
            means = summary(part, ["method", "follow", "trees"], ["ndcg"])
            for style, name in zip(LINES, part["method"].unique(maintain_order=True), strict=True):
                for follow in ("gradient", "exchange", "LightGBM"):
                    curve = means.filter(method=name, follow=follow)
                    if not len(curve):
                        continue
                    shown = {**style, "linestyle": ":" if follow == "gradient" else "-", "markersize": 3, "lw": 1.3}
                    label = {"LightGBM": "LightGBM's lambdarank", "exchange": name}.get(follow)
                    bars = None if label is None else curve["ndcg_error"]
                    faint = 0.6 if label is None else 1
                    ax.errorbar(
                        curve["trees"],
                        curve["ndcg"],
                        bars,
                        label=label,
                        alpha=faint,
                        elinewidth=0.7,
                        capsize=2,
                        **shown,
                    )
            ax.set(xscale="log", title=f"{data}: {shape}", xlabel="trees", ylabel="normalised DCG@5, unseen queries")
    legend(axes[0][0], "dotted: the gradient\nsolid: lambdas")


def ahead(table, first, second, share=1.0):
    """Return how far (method, follow) is ahead of another after a share of the trees, paired, with its error."""
    stops = table["trees"].unique()
    last = table.filter(trees=int(stops.filter(stops <= share * stops.max()).max()))
    return paired(*(last.filter(method=m, follow=f).sort("repeat")["ndcg"] for m, f in (first, second)))


def claims(table):
    """Return what the table says of each data set."""
    for data in table["data"].unique(maintain_order=True):
        part = table.filter(data=data)
        for follow, words in (("gradient", "following gradients, as in the paper"), ("exchange", "by lambdas")):
            order = {
                f"{one} over {two}, {shape}": ahead(part.filter(shape=shape), (one, follow), (two, follow))
                for shape in SHAPES
                for one, two in (PAIRED[:2], PAIRED[1:])
            }
            yield Claim(
                "trees",
                f"{data}: REG-SHF-SDCG is ahead of SHF-SDCG, and that of SDCG, {words}",
                "; ".join(f"{name} {shown(found)}" for name, found in order.items()),
                verdict(order.values()),
                "NDCG@5 on unseen queries after the last tree, each trained on the metric that judges it; paired.",
            )
        for name in (*PAIRED, "LambdaRank"):
            rivals = (name, "exchange"), ("lambdarank", "LightGBM")
            found = {
                f"{shape}, {words}": ahead(part.filter(shape=shape), *rivals, share)
                for words, share in (("a quarter of the trees", 0.25), ("all trees", 1.0))
                for shape in SHAPES
            }
            yield Claim(
                "trees",
                f"{data}: {name} on the metric itself is ahead of LightGBM's lambdarank with the metric's gains",
                "; ".join(f"{shape} {shown(value)}" for shape, value in found.items()),
                verdict(found.values()),
                "Trees follow lambdas; the same trees and leaves.",
            )
        gained = {
            f"{name}, {shape}": ahead(part.filter(shape=shape), (name, "exchange"), (name, "gradient"))
            for name in (*PAIRED, "LambdaRank")
            for shape in SHAPES
        }
        yield Claim(
            "trees",
            f"{data}: lambdas with a curvature of their own lead further than gradients with a constant one",
            "; ".join(f"{name} {shown(found)}" for name, found in gained.items()),
            verdict(gained.values()),
            "The same loss, trees and leaves.",
        )


if __name__ == "__main__":
    main(sys.modules[__name__])
