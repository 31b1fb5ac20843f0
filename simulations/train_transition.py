"""REG-SHF-SDCG from pointwise to listwise: weights, gradients, and pairs in the wrong order.

Trees are trained on queries with a known truth, once on gradients, as in the paper, and once on
lambdas, the default, which need the regression for fewer trees. At each tree, the table holds the
regression's weight (tau of Wu et al.'s equation 19), the mean size of each part's gradient (or
lambda) times its weight in the mixture, and the share of training pairs of different grades that
the scores order wrongly. SHF-SDCG alone is the comparison.
"""

from itertools import product

import numpy as np
import polars as pl

import dcglearn as dl
from simulations.claims import FAILS, Claim
from simulations.findings import headline
from simulations.ranking_data import WAYS
from simulations.run import STYLES, main, repeated, share_scale, summary

STEM, REPEATS, PANELS, FIGSIZE = "train_transition", 20, 3, (11.0, 3.8)
DCG = dl.DCG.standard(5, 5)
TREES, QUICK_TREES = 300, 20
SHAPE = {"num_leaves": 15, "learning_rate": 0.1, "min_data_in_leaf": 20, "num_threads": 1}
LEGEND = {"gradient": "gradients", "exchange": "lambdas"}
FLOOR = 1e-6
"""Sizes below this are left out of the picture: they are rounding errors, not data."""
LINES = {"gradient": ":", "exchange": "-"}
LOSSES = {"REG-SHF-SDCG": dl.losses.RegSHFSDCG(DCG), "SHF-SDCG": dl.losses.SHFSDCG(DCG)}


def wrong_pairs(scores, queries):
    """Return the share of pairs of different grades whose better document does not score higher."""
    wrong = pairs = 0
    for start, stop in zip(queries.offsets[:-1], queries.offsets[1:], strict=True):
        y, f = queries.grades[start:stop].astype(int), scores[start:stop]
        better = y[:, None] > y[None, :]
        wrong += (better & (f[:, None] <= f[None, :])).sum()
        pairs += better.sum()
    return wrong / pairs


def mean_sizes(loss, follow, n_trees, tree, scores, queries):
    """Return the regression's weight, and the mean weighted size of each part.

    A part's size is its mean absolute gradient (or lambda), times its weight in the mixture.
    """
    at_tree = loss.at(tree, n_trees)
    weight = 0.0
    if isinstance(loss, dl.losses.RegSHFSDCG):
        weight = at_tree.tau if follow == "gradient" else at_tree.share
    call = scores, queries.grades, queries.offsets
    parts = dl.losses.Regression(DCG), dl.losses.SHFSDCG(DCG)
    sizes = [
        np.abs(part(*call)[1] if follow == "gradient" else part.lambdas(*call)[0]).mean()
        for part in parts
    ]
    return weight, weight * sizes[0], (1 - weight) * sizes[1]


def trial(rng, quick):
    """Return one record per loss, way and recorded tree."""
    n_trees = QUICK_TREES if quick else TREES
    train = dl.simulate.nonlinear_queries(20 if quick else 400, 30, random_state=rng)
    records = []
    for (name, loss), (way, (follow, curvature)) in product(LOSSES.items(), WAYS.items()):
        ranker = dl.BoostedRanker(
            loss, n_trees=n_trees, follow=follow, curvature=curvature, **SHAPE
        )
        ranker.fit(train)
        scores = np.zeros(train.shape[0])
        for tree in range(1, n_trees + 1):
            scores += ranker.booster_.predict(
                train.features, start_iteration=tree - 1, num_iteration=1
            )
            if tree % (5 if quick else 10) == 0 or tree == 1:
                weight, regression, listwise = mean_sizes(
                    loss, follow, n_trees, tree, scores, train
                )
                sizes = {"weight": weight, "regression": regression, "listwise": listwise}
                wrong = wrong_pairs(scores, train)
                records.append({"loss": name, "follow": way, "tree": tree, "wrong": wrong, **sizes})
    return records


def simulate(seed, repeats, quick, jobs):
    """Yield one record per loss, way, recorded tree and repeat."""
    yield from repeated(trial, [{"quick": quick}], repeats=repeats, seed=seed, jobs=jobs)


def ribbon(ax, means, value, look, label):
    """Draw the means of `summary` by trees, with a ribbon of their intervals."""
    ax.fill_between(
        means["tree"],
        means[f"{value}_low"],
        means[f"{value}_high"],
        color=look["color"],
        alpha=0.25,
        lw=0,
    )
    ax.plot(means["tree"], means[value], label=label, **look)


def plot(table, axes):
    """Draw the size of each part, and the share of wrongly ordered pairs, against trees."""
    means = summary(table, ["loss", "follow", "tree"], ["regression", "listwise", "wrong"])
    for ax, follow in zip(axes[:2], LINES, strict=True):
        mixed = means.filter(loss="REG-SHF-SDCG", follow=follow)
        for style, part in zip(STYLES, ("regression", "listwise"), strict=False):
            ribbon(
                ax,
                mixed.filter(pl.col(part) > FLOOR),
                part,
                {"color": style["color"], "ls": style["linestyle"]},
                f"{part} part",
            )
        ax.set(xlabel="tree", yscale="log", ylabel=f"mean absolute {LEGEND[follow][:-1]}")
    axes[0].set_title("Gradients: both parts\n(Wu et al., section 3.4)")
    claimed, part = list(claims(table)), "with lambdas the listwise part outweighs"
    words = headline(claimed, "the listwise part\nleads early", "both parts\n", part)
    axes[1].set_title(f"Lambdas: {words} (ours)")
    share_scale(axes[:2])
    for (follow, line), (style, name) in product(LINES.items(), zip(STYLES, LOSSES, strict=False)):
        part = means.filter(loss=name, follow=follow)
        ribbon(
            axes[2],
            part,
            "wrong",
            {"color": style["color"], "linestyle": line},
            f"{name}, {LEGEND[follow]}",
        )
    axes[2].set(xlabel="tree", yscale="log", ylabel="share of wrongly ordered training pairs")
    fall = headline(
        claimed, "Wrong pairs fall", "Wrong pairs", "share of wrongly ordered pairs falls"
    )
    finding, part = ", but not all along\nwith gradients", "it falls all along"
    along = headline(claimed, finding, "\n", part, verdicts=(FAILS,))
    axes[2].set_title(f"{fall}{along} (section 3.4)")
    for ax in axes:
        ax.legend(fontsize=7, title="ribbons: 95% intervals", title_fontsize=7)


def crossings(table):
    """Return the share of the trees after which the listwise part is first larger.

    The table has a row for each way and repeat. Between recorded trees, the logarithm of the parts'
    ratio is taken to be linear.
    """
    lead, before = (
        pl.col("lead"),
        pl.col("tree", "lead").shift().over("follow", "repeat").name.suffix("_before"),
    )
    rows = (
        table.filter(loss="REG-SHF-SDCG")
        .sort("tree")
        .with_columns(lead=(pl.col("listwise") / pl.col("regression")).log())
    )
    rows = rows.with_columns(before).filter(lead > 0)
    back = (pl.col("tree") - pl.col("tree_before")) * lead / (lead - pl.col("lead_before"))
    first = ((pl.col("tree") - back.fill_null(0)) / table["tree"].max()).first()
    return rows.group_by("follow", "repeat", maintain_order=True).agg(crossing=first)


def claims(table):
    """Yield the claims on the mixture and on wrongly ordered pairs."""
    last, crossed = int(table["tree"].max()), crossings(table)
    text = (
        "with gradients the listwise part first outweighs the regression half-way, "
        "after .4 to .6 of the trees"
    )
    rows = {"follow": "gradient"}
    yield Claim(crossed, "ours", "Wu, section 3.4", text, "crossing", rows, low=0.4, high=0.6)
    text = "with lambdas the listwise part outweighs the regression within a twelfth of the trees"
    yield Claim(
        crossed, "ours", "transition", text, "crossing", {"follow": "exchange"}, high=1 / 12
    )
    text = f"the share of wrongly ordered pairs falls from tree 1 to {last}"
    sides = ({"tree": last}, {"tree": 1})
    yield Claim(table, "wu", "section 3.4", text, "wrong", *sides, high=0.0)
    text = "it falls all along: also from tree 120 to 160, gradients"
    of = {"loss": "REG-SHF-SDCG", "follow": "gradient"}
    sides = ({**of, "tree": 160}, {**of, "tree": 120})
    yield Claim(table, "ours", "Wu, section 3.4", text, "wrong", *sides, high=0.0)


if __name__ == "__main__":
    main(__name__)
