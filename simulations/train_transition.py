"""REG-SHF-SDCG from pointwise to listwise: tau, the size of each part's gradient, and the pairs in the wrong order.

Trees are trained on queries with a known truth, once on gradients, as in the paper, and once on lambdas, the default,
which need the regression for fewer trees. At each tree, the table holds the regression's weight (tau of Wu et al.'s
equation 19), the mean size of each part's gradient (or lambda) times its weight in the mixture, and the share of
training pairs of different grades that the scores order wrongly. SHF-SDCG alone is the comparison.
"""

import sys
from itertools import product

import numpy as np

import dcglearn as dl
from simulations.run import STYLES, Claim, at, main, repeated, shown, summary

STEM, REPEATS, PANELS, FIGSIZE = "train_transition", 20, 3, (15.0, 4.2)
DCG = dl.DCG.standard(5, 5)
TREES, QUICK_TREES = 300, 20
SHAPE = {"num_leaves": 15, "learning_rate": 0.1, "min_data_in_leaf": 20, "num_threads": 1}
WAYS = {"gradient": ("gradient", "constant"), "exchange": ("lambdas", "diagonal")}
"""What trees follow and its curvature, by the word for it in the table."""
LEGEND = {"gradient": "gradients", "exchange": "lambdas"}
LINES = {"gradient": ":", "exchange": "-"}
LOSSES = {"REG-SHF-SDCG": dl.RegSHFSDCG(DCG), "SHF-SDCG": dl.SHFSDCG(DCG)}


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
    """Return the regression's weight, and the mean size of each part's gradient (or lambda) times its weight."""
    at_tree = loss.at(tree, n_trees)
    weight = 0.0
    if isinstance(loss, dl.RegSHFSDCG):
        weight = at_tree.tau if follow == "gradient" else at_tree.share
    call = scores, queries.grades, queries.offsets
    parts = dl.Regression(DCG), dl.SHFSDCG(DCG)
    sizes = [np.abs(part(*call)[1] if follow == "gradient" else part.lambdas(*call)[0]).mean() for part in parts]
    return weight, weight * sizes[0], (1 - weight) * sizes[1]


def one(rng, quick):
    """Return a record a loss, way and tree."""
    n_trees = QUICK_TREES if quick else TREES
    train = dl.simulate.nonlinear_queries(20 if quick else 400, 30, seed=rng)
    records = []
    for (name, loss), (way, (follow, curvature)) in product(LOSSES.items(), WAYS.items()):
        ranker = dl.BoostedRanker(loss, n_trees=n_trees, follow=follow, curvature=curvature, **SHAPE)
        ranker.fit(train, progress=False)
        scores = np.zeros(train.shape[0])
        for tree in range(1, n_trees + 1):
            scores += ranker.booster_.predict(train.features, start_iteration=tree - 1, num_iteration=1)
            if tree % (5 if quick else 10) == 0 or tree == 1:
                weight, regression, listwise = mean_sizes(loss, follow, n_trees, tree, scores, train)
                record = {"weight": weight, "regression": regression, "listwise": listwise}
                marks = {"loss": name, "follow": way, "tree": tree}
                records.append({**marks, "wrong": wrong_pairs(scores, train), **record})
    return records


def simulate(seed, repeats, quick, jobs, progress):
    """Yield a record a loss, way, tree and repeat."""
    yield from repeated(one, [{"quick": quick}], repeats=repeats, seed=seed, jobs=jobs, progress=progress)


def plot(table, axes):
    """Draw the regression's weight, the size of each part, and the share of wrongly ordered pairs, against trees."""
    means = summary(table, ["loss", "follow", "tree"], ["weight", "regression", "listwise", "wrong"])
    for follow, line in LINES.items():
        mixed = means.filter(loss="REG-SHF-SDCG", follow=follow)
        axes[0].plot(mixed["tree"], mixed["weight"], label=LEGEND[follow], **{**STYLES[0], "linestyle": line})
        for style, part in zip(STYLES, ("regression", "listwise"), strict=False):
            label = f"{part}, {LEGEND[follow]}"
            axes[1].plot(mixed["tree"], np.maximum(mixed[part], 1e-9), label=label, **{**style, "linestyle": line})
        for style, name in zip(STYLES, LOSSES, strict=False):
            part = means.filter(loss=name, follow=follow)
            axes[2].plot(part["tree"], part["wrong"], label=f"{name}, {LEGEND[follow]}", **{**style, "linestyle": line})
    axes[0].set(xlabel="tree", ylabel="weight of the regression", title="Lambdas drop the regression sooner")
    axes[1].set(
        xlabel="tree",
        yscale="log",
        ylabel="mean size of a document's gradient or lambda",
        title="The listwise part becomes the larger",
    )
    axes[2].set(xlabel="tree", ylabel="share of training pairs", title="Fewer and fewer pairs stay in the wrong order")
    for ax in axes:
        ax.legend(fontsize=7)


def crossing(table, follow):
    """Return the mean over repeats of the first recorded tree at which the listwise part is the larger."""
    part = table.filter(loss="REG-SHF-SDCG", follow=follow)
    return np.mean(
        [one.filter(one["listwise"] > one["regression"])["tree"].min() for one in part.partition_by("repeat")]
    )


def claims(table):
    """Return what the table says."""
    last = int(table["tree"].max())
    half = min(t for t in table["tree"].unique() if t >= last / 2)
    found = crossing(table, "gradient")
    middle = at(table, "weight", loss="REG-SHF-SDCG", follow="gradient", tree=half)
    yield Claim(
        "transition",
        "following gradients, REG-SHF-SDCG goes over from regression to the listwise part half-way",
        f"tau {middle[0]:.3f} at half of the {last} trees; the listwise part is the larger from tree {found:.0f} on",
        "holds" if last / 4 < found <= last * 0.6 else "holds with a condition",
        "The listwise gradient is the larger one, so it takes over before tau is a half.",
    )
    early = crossing(table, "exchange")
    yield Claim(
        "transition",
        "following lambdas, it goes over within the first twelfth of the trees",
        f"the listwise part is the larger from tree {early:.0f} of {last} on",
        "holds" if early <= last / 12 else "does not hold",
        "Every tenth tree was looked at.",
    )
    ends = {
        f"{name}, {LEGEND[follow]}": [at(table, "wrong", loss=name, follow=follow, tree=tree) for tree in (1, last)]
        for name in LOSSES
        for follow in WAYS
    }
    yield Claim(
        "transition",
        "the share of pairs in the wrong order falls all along",
        "; ".join(
            f"{name}: {first[0]:.3f} at the first tree, {shown(end)} at the last" for name, (first, end) in ends.items()
        ),
        "holds" if all(end[0] < first[0] for first, end in ends.values()) else "does not hold",
        "Training pairs of different grades; ties count as wrong.",
    )


if __name__ == "__main__":
    main(sys.modules[__name__])
