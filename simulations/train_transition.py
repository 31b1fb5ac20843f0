"""REG-SHF-SDCG from pointwise to listwise: tau, the share of pairs in the wrong order, and how hard each part pulls.

One training of trees on queries with a known truth: at every tree, tau of Wu et al.'s equation 19, the mean size of the
regression's and of the listwise part's gradient as the mixture weighs them, and, among training documents of different
grades, the share of pairs that the scores so far have in the wrong order; SHF-SDCG alone beside it.
"""

import sys

import numpy as np

import dcglearn as dl
from simulations.run import STYLES, Claim, at, main, repeated, shown, summary

STEM, REPEATS, PANELS, FIGSIZE = "train_transition", 20, 3, (15.0, 4.2)
DCG = dl.DCG.standard(5, 5)
TREES, QUICK_TREES = 300, 20
SHAPE = {"num_leaves": 15, "learning_rate": 0.1, "min_data_in_leaf": 20, "num_threads": 1}
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


def pulls(loss, n_trees, tree, scores, queries):
    """Return tau, and the mean size of the gradients of both parts as the mixture weighs them."""
    if not isinstance(loss, dl.RegSHFSDCG):
        return 0.0, 0.0, float(np.abs(loss(scores, queries.grades, queries.offsets)[1]).mean())
    tau = loss.at(tree, n_trees).tau
    parts = dl.Regression(DCG), dl.SHFSDCG(DCG)
    sizes = [np.abs(part(scores, queries.grades, queries.offsets)[1]).mean() for part in parts]
    return tau, tau * sizes[0], (1 - tau) * sizes[1]


def one(rng, quick):
    """Return a record a loss and tree."""
    n_trees = QUICK_TREES if quick else TREES
    train = dl.simulate.nonlinear_queries(20 if quick else 400, 30, seed=rng)
    records = []
    for name, loss in LOSSES.items():
        ranker = dl.BoostedRanker(loss, n_trees=n_trees, **SHAPE).fit(train, progress=False)
        scores = np.zeros(train.shape[0])
        for tree in range(1, n_trees + 1):
            scores += ranker.booster_.predict(train.features, start_iteration=tree - 1, num_iteration=1)
            if tree % (5 if quick else 10) == 0 or tree == 1:
                tau, regression, listwise = pulls(loss, n_trees, tree, scores, train)
                record = {"tau": tau, "regression": regression, "listwise": listwise}
                records.append({"loss": name, "tree": tree, "wrong": wrong_pairs(scores, train), **record})
    return records


def simulate(seed, repeats, quick, jobs, progress):
    """Yield a record a loss, tree and repeat."""
    yield from repeated(one, [{"quick": quick}], repeats=repeats, seed=seed, jobs=jobs, progress=progress)


def plot(table, axes):
    """Draw tau, the sizes of both pulls, and the share of pairs in the wrong order, against trees."""
    means = summary(table, ["loss", "tree"], ["tau", "regression", "listwise", "wrong"])
    mixed = means.filter(loss="REG-SHF-SDCG")
    axes[0].plot(mixed["tree"], mixed["tau"], **STYLES[0])
    axes[0].set(xlabel="tree", ylabel="tau: weight of the regression", title="From pointwise to listwise")
    for style, part in zip(STYLES, ("regression", "listwise"), strict=False):
        axes[1].plot(mixed["tree"], np.maximum(mixed[part], 1e-9), label=part, **style)
    axes[1].set(xlabel="tree", yscale="log", ylabel="mean size of a document's pull", title="How hard each part pulls")
    axes[1].legend(fontsize=8)
    for style, name in zip(STYLES, LOSSES, strict=False):
        part = means.filter(loss=name)
        axes[2].plot(part["tree"], part["wrong"], label=name, **style)
    axes[2].set(xlabel="tree", ylabel="share of training pairs", title="Pairs in the wrong order")
    axes[2].legend(fontsize=8)


def crossing(table):
    """Return, of each repeat, the first tree at which the listwise part pulls harder."""
    part = table.filter(loss="REG-SHF-SDCG")
    return [one.filter(one["listwise"] > one["regression"])["tree"].min() for one in part.partition_by("repeat")]


def claims(table):
    """Return what the table says."""
    last = int(table["tree"].max())
    where = crossing(table)
    middle = at(table, "tau", loss="REG-SHF-SDCG", tree=min(t for t in table["tree"].unique() if t >= last / 2))
    yield Claim(
        "transition",
        "REG-SHF-SDCG goes over from regression to the listwise part half-way",
        f"tau {middle[0]:.3f} at half of the {last} trees; the listwise part pulls harder from tree "
        f"{np.mean(where):.0f} on",
        "holds" if last / 4 < np.mean(where) <= last * 0.6 else "holds with a condition",
        "The listwise gradient is the larger one, so it takes over before tau is a half.",
    )
    ends = {name: at(table, "wrong", loss=name, tree=last) for name in LOSSES}
    yield Claim(
        "transition",
        "the share of pairs in the wrong order falls all along",
        "; ".join(
            f"{name}: {at(table, 'wrong', loss=name, tree=1)[0]:.3f} at the first tree, {shown(end)} at the last"
            for name, end in ends.items()
        ),
        "holds"
        if all(end[0] < at(table, "wrong", loss=name, tree=1)[0] for name, end in ends.items())
        else "does not hold",
        "Training pairs of different grades; ties count as wrong.",
    )


if __name__ == "__main__":
    main(sys.modules[__name__])
