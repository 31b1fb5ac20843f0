"""Study p: are trees boosted on a DCG behind LightGBM's lambdarank, by textbook and other DCGs?

All methods grow equally many trees of equal size with the metric's gains; the number of trees is
the one that is best on validation queries. The variants of the default weigh a swap by other
discounts: the metric's own with its tail, its own without pairs past its depth, or log2 alone.
Training sets have 470 queries of about 19 documents with 46 features and 3 grades, the shape of a
fold of MQ2008; many test queries make their error small. If DCGLEARN_LAMBDARANK names a folder,
each repeat splits its queries at random.
"""

from functools import partial

import lightgbm
import numpy as np

import dcglearn as dl
from simulations.claims import NEGLIGIBLE, Claim, interval
from simulations.findings import headline
from simulations.ranking_data import (
    REAL,
    SPELLED,
    explain,
    lambdarank_folder,
    leave_empty,
    overlap,
    split,
)
from simulations.run import STYLES, legend, main, repeated

STEM, REPEATS, PANELS, FIGSIZE = "study_p_trees_against_lambdarank", 20, 3, (11.5, 3.8)
DATA = {"conflict": "LETOR-shaped", "needs trees": "Nonlinear queries", REAL: REAL}
"""Labels of the data sets, by their names in the table."""
METRICS = {
    "textbook": (lambda g: 2.0**g - 1, 1 / np.log2(np.arange(2, 12))),
    "steep gains, flat discounts": (
        lambda g: np.where(g > 0, 5.0**g, 0) / 5,
        (1.0, 0.95, 0.9, 0.85, 0.8),
    ),
    "flat gains, steep discounts": (
        lambda g: np.where(g > 0, 0.9 + 0.1 * g, 0),
        (1.0, 0.4, 0.2, 0.1, 0.05),
    ),
}
DEFAULT = "REG-SHF-SDCG (default)"
SHAPE = {"num_leaves": 15, "learning_rate": 0.1, "min_data_in_leaf": 20, "num_threads": 1}
TREES, QUICK_TREES, EVERY = 100, 10, 5
COUNTS, QUICK_COUNTS = (470, 157, 400), (25, 15, 25)


class OwnDiscounts(dl.losses.RegSHFSDCG):
    """The default, with swaps weighed by the metric's own discounts and their tail alone."""

    log2_share = 0.0


class OwnDepth(dl.losses.RegSHFSDCG):
    """The default, with swaps weighed by the metric's own discounts, and by 0 past its depth."""

    def swap_discounts(self, longest):
        """Return the metric's discounts, then 0."""
        return np.pad(self.dcg.discounts, (0, max(longest - self.dcg.depth, 0)))[:longest]


class Log2Discounts(dl.losses.RegSHFSDCG):
    """The default, with swaps weighed by log2 alone."""

    log2_share = 1.0


LOSSES = {
    DEFAULT: dl.losses.RegSHFSDCG,
    "own discounts, with a tail": OwnDiscounts,
    "own discounts, to the depth": OwnDepth,
    "log2 alone": Log2Discounts,
}
"""Methods beside lambdarank, by their names in the table."""


def queries(rng, data, quick):
    """Return training, validation and test queries."""
    if data == REAL:
        return split(rng, data, quick)
    counts = QUICK_COUNTS if quick else COUNTS
    if data == "conflict":
        made = dl.simulate.letor_queries(
            sum(counts), n_features=46, n_redundant=16, sizes=(6, 33), random_state=rng
        )
    else:
        made = dl.simulate.nonlinear_queries(
            sum(counts), 19, n_features=46, n_grades=3, noise=0.8, random_state=rng
        )
    return made[: counts[0]], made[counts[0] : -counts[2]], made[-counts[2] :]


def models(train, dcg, n_trees):
    """Yield the name and the booster of each method."""
    settings = {
        "objective": "lambdarank",
        "label_gain": list(dcg.gains),
        "verbose": -1,
        "deterministic": True,
    }
    data = lightgbm.Dataset(train.features, train.grades, group=train.sizes)
    yield "lambdarank", lightgbm.train({**SHAPE, **settings, "force_col_wise": True}, data, n_trees)
    for name, loss in LOSSES.items():
        yield name, dl.BoostedRanker(loss(dcg), n_trees=n_trees, **SHAPE).fit(train).booster_


def chosen(model, valid, dcg):
    """Return the number of trees that is best on the validation queries, a multiple of `EVERY`."""
    scores, values = np.zeros(valid.shape[0]), []
    for first in range(0, model.num_trees(), EVERY):
        scores += model.predict(
            valid.features, start_iteration=first, num_iteration=EVERY, num_threads=1
        )
        values.append(valid.evaluate(scores, dcg).mean())
    return EVERY * (int(np.argmax(values)) + 1)


def trial(rng, data, metric, quick):
    """Grow the trees of every method; return the normalised DCG of the test queries."""
    train, valid, test = queries(rng, data, quick)
    gains, discounts = METRICS[metric]
    dcg = dl.DCG(
        gains(np.arange(max(part.n_grades for part in (train, valid, test)), dtype=float)),
        discounts,
    )
    records = []
    for name, model in models(train, dcg, QUICK_TREES if quick else TREES):
        for stop, n_trees in (
            ("validation", chosen(model, valid, dcg)),
            ("all trees", model.num_trees()),
        ):
            scores = model.predict(test.features, num_iteration=n_trees, num_threads=1)
            ndcg = float(test.evaluate(scores, dcg).mean())
            records.append({"method": name, "stop": stop, "trees": n_trees, "ndcg": ndcg})
    return records


def simulate(seed, repeats, quick, jobs):
    """Yield one record per data set, metric, method, stop and repeat."""
    names = (
        ["needs trees"] if quick else [data for data in DATA if data != REAL or lambdarank_folder()]
    )
    settings = [
        {"data": data, "metric": metric, "quick": quick} for data in names for metric in METRICS
    ]
    yield from repeated(trial, settings, repeats=repeats, seed=seed, jobs=jobs)


def difference(table, name, stop="validation"):
    """Return the interval of a method's difference to lambdarank.

    The table holds the rows of one data set and metric.
    """
    ends = table.filter(stop=stop)
    ours, theirs = (
        ends.filter(method=method).sort("repeat")["ndcg"].to_numpy()
        for method in (name, "lambdarank")
    )
    return interval(ours - theirs, overlap(table["data"][0]))


def plot(table, axes):
    """Draw the differences to lambdarank, one panel per data set."""
    claimed = list(claims(table))
    for ax, (data, label) in zip(axes, DATA.items(), strict=True):
        part = table.filter(data=data)
        if not len(part):
            leave_empty(ax, label)
            continue
        for i, (style, name) in enumerate(zip(STYLES, LOSSES, strict=False)):
            found = [difference(part.filter(metric=metric), name) for metric in METRICS]
            places = np.arange(len(METRICS)) + 0.2 * (i - 1.5)
            look = {
                "color": style["color"],
                "marker": style["marker"],
                "linestyle": "",
                "capsize": 2,
            }
            reach = [each.high - each.mean for each in found]
            ax.errorbar(places, [each.mean for each in found], reach, label=name, **look)
        ax.axhline(0, color="black", lw=0.8)
        ax.set_xticks(
            range(len(METRICS)), [metric.replace(", ", ",\n") for metric in METRICS], fontsize=8
        )
        name = SPELLED.get(label, label)
        ahead = headline(
            claimed, "\nand ahead by the two others", "", f"{label}: trees beat lambdarank"
        )
        part = f"{label}: trees are no worse than lambdarank"
        ax.set_title(headline(claimed, f"{name}: no worse by the textbook{ahead}", name, part))
        ax.set_ylabel("test NDCG minus lambdarank's")
    legend(axes[0], fontsize=7)
    explain([DATA[data] for data in table["data"].unique()], axes)


def claims(table):
    """Yield our claims for each data set.

    The textbook metric has a claim of its own; the other claims take the two others together.
    """
    textbook, *others = METRICS
    for data in table["data"].unique(maintain_order=True):
        of, label = {"data": data, "stop": "validation", "metric": textbook}, DATA[data]
        of_others = {**of, "metric": tuple(others)}
        claim = partial(Claim, table, "ours", "study p", overlap=overlap(data))
        for metric, rows, low, text in (
            ("textbook metric", of, -NEGLIGIBLE, "trees are no worse than lambdarank"),
            ("two other metrics", of_others, 0.0, "trees beat lambdarank"),
        ):
            sides = ({**rows, "method": method} for method in (DEFAULT, "lambdarank"))
            yield claim(f"{label}: {text}, {metric}", "ndcg", *sides, low=low)
        sides = (
            {**of_others, "method": method} for method in (DEFAULT, "own discounts, with a tail")
        )
        text = f"{label}: log2 in swaps helps, two other metrics"
        yield claim(text, "ndcg", *sides, low=0.0)


if __name__ == "__main__":
    main(__name__)
