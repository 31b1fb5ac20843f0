"""Boosted trees trained on a metric: test NDCG@5 against the number of trees (Wu et al., figure 2).

Every method grows equally many trees of equal size, once on its gradient with constant curvature,
as in the paper, and once on lambdas, the default. LightGBM's lambdarank takes the metric's gains as
its label_gain. The synthetic queries have a known truth that needs trees; if DCGLEARN_LAMBDARANK
names a folder, each repeat splits its queries anew.
"""

from functools import partial

import lightgbm
import numpy as np
import polars as pl

import dcglearn as dl
from simulations.claims import NEGLIGIBLE, Claim, interval
from simulations.ranking_data import (
    REAL,
    SPELLED,
    WAYS,
    explain,
    lambdarank_folder,
    leave_empty,
    overlap,
    split,
)
from simulations.run import (
    STYLES,
    beside,
    draw_means,
    forest,
    legend,
    main,
    repeated,
    share_scale,
    summary,
)

STEM, REPEATS, PANELS, FIGSIZE = "train_trees", 6, (2, 3), (13.0, 7.6)
DATA = {"needs trees": "Nonlinear queries", REAL: REAL}
"""Labels of the data sets, by their names in the table."""
SHAPES = {
    "exponential gains, log2": (lambda g: 2.0**g - 1, 1 / np.log2(np.arange(2, 7))),
    "steep gains, flat discounts": (
        lambda g: np.where(g > 0, 5.0**g, 0) / 5,
        (1.0, 0.95, 0.9, 0.85, 0.8),
    ),
    "flat gains, steep discounts": (
        lambda g: np.where(g > 0, 0.9 + 0.1 * g, 0),
        (1.0, 0.4, 0.2, 0.1, 0.05),
    ),
}
LEADS = (
    ("REG-SHF-SDCG", "SHF-SDCG"),
    ("SHF-SDCG", "SDCG"),
    ("REG-SHF-SDCG", "GBRank"),
    ("REG-SHF-SDCG", "regression"),
    ("regression", "SDCG"),
)
"""Pairs of methods of which Wu et al. find the first better."""
PAIRED = ("REG-SHF-SDCG", "SHF-SDCG", "SDCG")
CURVES = {
    "REG-SHF-SDCG": "REG-SHF-SDCG",
    "SDCG": "SDCG",
    "GBRank": "GBRank",
    "regression": "regression",
    "LambdaRank": "LambdaRank",
    "lambdarank": "LightGBM's lambdarank",
}
"""Legend entries of the learning curves, by the names in the table.

SHF-SDCG has no curve: it would lie on REG-SHF-SDCG.
"""
SHAPE = {"num_leaves": 15, "learning_rate": 0.1, "min_data_in_leaf": 20}
TREES, QUICK_TREES = 300, 20
STOPS = 12


def metric_of(shape, n_grades):
    """Return a metric of depth 5."""
    gains, discounts = SHAPES[shape]
    return dl.DCG(gains(np.arange(n_grades, dtype=float)), discounts)


def losses(dcg):
    """Return the methods of the paper, and LambdaRank on the same metric, by name."""
    return {
        "REG-SHF-SDCG": dl.losses.RegSHFSDCG(dcg),
        "SHF-SDCG": dl.losses.SHFSDCG(dcg),
        "SDCG": dl.losses.SDCG(dcg),
        "GBRank": dl.losses.GBRank(),
        "regression": dl.losses.Regression(dcg),
        "LambdaRank": dl.losses.LambdaRank(dcg),
    }


def queries(rng, data, quick):
    """Return training and test queries."""
    if data == REAL:
        train, valid, test = split(rng, data, quick)
        return train, dl.Queries(
            np.vstack([valid.features, test.features]),
            np.concatenate([valid.grades, test.grades]),
            np.concatenate([valid.qid, test.qid]),
            train.n_grades,
        )
    synthetic = dl.simulate.nonlinear_queries(
        *((40, 15) if quick else (1600, 30)), random_state=rng
    )
    n_train = 20 if quick else 600
    return synthetic[:n_train], synthetic[n_train:]


def lambdarank(train, test, dcg, n_trees, stops):
    """Return NDCG@5 of LightGBM's lambdarank after each number of trees in `stops`.

    LightGBM's label_gain holds the metric's gains.
    """
    settings = {
        **SHAPE,
        "objective": "lambdarank",
        "label_gain": list(dcg.gains),
        "verbose": -1,
        "num_threads": 1,
    }
    model = lightgbm.train(
        settings, lightgbm.Dataset(train.features, train.grades, group=train.sizes), n_trees
    )
    return [
        test.evaluate(model.predict(test.features, num_iteration=stop), dcg).mean()
        for stop in stops
    ]


def trial(rng, data, shape, quick):
    """Grow the trees of every method, and evaluate them by their training metric."""
    train, test = queries(rng, data, quick)
    dcg, n_trees = metric_of(shape, train.n_grades), QUICK_TREES if quick else TREES
    stops = np.unique(np.round(np.geomspace(1, n_trees, STOPS)).astype(int))
    ndcg = {("lambdarank", "LightGBM"): lambdarank(train, test, dcg, n_trees, stops)}
    for name, loss in losses(dcg).items():
        for way, (follow, curvature) in WAYS.items():
            ranker = dl.BoostedRanker(
                loss,
                n_trees=n_trees,
                metric=dcg,
                follow=follow,
                curvature=curvature,
                num_threads=1,
                **SHAPE,
            ).fit(train, eval_set=test)
            values = np.array(ranker.validation_)
            ndcg[name, way] = values[np.minimum(stops, len(values)) - 1]
    return [
        {"method": name, "follow": way, "trees": int(stop), "ndcg": float(value)}
        for (name, way), values in ndcg.items()
        for stop, value in zip(stops, values, strict=True)
    ]


def simulate(seed, repeats, quick, jobs):
    """Yield one record per data set, metric, method, way, number of trees and repeat."""
    names = list(DATA) if lambdarank_folder() and not quick else ["needs trees"]
    settings = [
        {"data": data, "shape": shape, "quick": quick} for data in names for shape in SHAPES
    ]
    yield from repeated(trial, settings, repeats=repeats, seed=seed, jobs=jobs)


def plot(table, axes):
    """Draw differences between methods after the last tree, then learning curves.

    Each data set has a row of panels.
    """
    last, drawn = table["trees"].max(), []
    for line, (data, label) in zip(axes, DATA.items(), strict=True):
        part = table.filter(data=data)
        if not len(part):
            for ax in line:
                leave_empty(ax, label)
            continue
        again = overlap(data, "validation and test")
        final = part.filter(trees=last).group_by("method", "follow", "repeat").agg(pl.mean("ndcg"))

        def values(method, follow, final=final):
            return final.filter(method=method, follow=follow).sort("repeat")["ndcg"].to_numpy()

        ways = ("gradient", "gradients", "figure 2"), ("exchange", "lambdas", "ours")
        for ax, (follow, words, whose) in zip(line[:2], ways, strict=True):
            leads = [values(better, follow) - values(worse, follow) for better, worse in LEADS]
            forest(ax, [f"{better}\nminus {worse}" for better, worse in LEADS], leads, again)
            ax.locator_params(axis="x", nbins=5)
            drawn.append(ax)
            hold = sum(interval(lead, again).low > 0 for lead in leads)
            title = f"{SPELLED.get(label, label)}, {words}"
            if whose != "ours":
                title += f": {hold} of {len(leads)} leads hold"
            title += f" ({whose})"
            ax.set(xlabel=f"NDCG@5 after {last} trees", title=title)
        for i, (style, name) in enumerate(zip(STYLES, CURVES, strict=True)):
            of = part.filter(pl.col("method") == name, pl.col("follow") != "gradient")
            curve = summary(
                of.group_by("trees", "repeat").agg(pl.mean("ndcg")), ["trees"], ["ndcg"], again
            )
            look, place = {**style, "markersize": 3}, beside(line[2], i, len(CURVES))
            draw_means(line[2], curve, "trees", "ndcg", look, place, label=CURVES[name])
        line[2].set(
            xscale="log",
            xlabel="number of trees",
            ylabel="NDCG@5 of test queries, mean of 3 metrics",
        )
        line[2].set_title(f"{SPELLED.get(label, label)}: trees needed (ours)")
    ends = np.array([ax.get_xlim() for ax in drawn])
    for ax in drawn:
        ax.set_xlim(ends[:, 0].min(), ends[:, 1].max())
    share_scale(line[2] for line in axes if line[2].axison)
    legend(
        next(line[2] for line in axes if line[2].lines or line[2].containers),
        "trees follow lambdas",
        fontsize=7,
    )
    explain(table["data"], axes)


def claims(table):
    """Yield the claims for each data set, on the three metrics together."""
    stops = sorted(table["trees"].unique())
    last, quarter = stops[-1], max(stop for stop in stops if stop <= stops[-1] / 4)
    for data in table["data"].unique(maintain_order=True):
        of, label = {"data": data, "trees": last}, DATA[data]
        claim = partial(
            Claim, table, value="ndcg", low=0.0, overlap=overlap(data, "validation and test")
        )
        for better, worse in LEADS:
            rows, minus = ({**of, "method": name, "follow": "gradient"} for name in (better, worse))
            text = f"{label}: {better} beats {worse}, gradients"
            yield claim(paper="wu", place="figure 2", text=text, rows=rows, minus=minus)
        for one, other in LEADS[:2]:
            rows, minus = ({**of, "method": name, "follow": "exchange"} for name in (one, other))
            text, edges = (
                f"{label}: {one} ends level with {other}, lambdas",
                {"low": -NEGLIGIBLE, "high": NEGLIGIBLE},
            )
            yield claim(paper="ours", place="trees", text=text, rows=rows, minus=minus, **edges)
        lightgbm = {**of, "method": "lambdarank"}
        ours = {**of, "method": (*PAIRED, "LambdaRank"), "follow": "exchange"}
        for trees in (last, quarter):
            text = (
                f"{label}: {', '.join(PAIRED)} and LambdaRank together beat "
                f"LightGBM's lambdarank, {trees} trees"
            )
            sides = ({**side, "trees": trees} for side in (ours, lightgbm))
            yield claim(paper="ours", place="trees", text=text, rows=next(sides), minus=next(sides))
        lambdas, gradients = (
            {**ours, "trees": last, "follow": follow} for follow in ("exchange", "gradient")
        )
        text = f"{label}: lambdas beat gradients, {last} trees"
        yield claim(paper="ours", place="trees", text=text, rows=lambdas, minus=gradients)


if __name__ == "__main__":
    main(__name__)
