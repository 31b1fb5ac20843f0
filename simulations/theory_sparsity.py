"""Sun et al., figures 3 to 5: how many features RSRank removes, and what that costs in NDCG."""

from functools import partial
from itertools import pairwise

import numpy as np
import polars as pl

import dcglearn as dl
from simulations.claims import FAILS, NEGLIGIBLE, Claim, in_every_cell
from simulations.findings import headline
from simulations.ranking_data import SPELLED, available, explain, overlap, split
from simulations.run import (
    STYLES,
    draw_means,
    legend,
    main,
    repeated,
    share_scale,
    summary,
    zero_line,
)

STEM, REPEATS, PANELS, FIGSIZE = "theory_sparsity", 20, 3, (11.5, 3.6)
TOPS = tuple(range(1, 11))
N_POINTS, DEPTH = 16, 10


def spread_within(queries):
    """Return the standard deviation of each feature within queries.

    It is the unit of coefficients on a path.
    """
    sums = np.add.reduceat(queries.features, queries.offsets[:-1], axis=0) / queries.sizes[:, None]
    spread = np.sqrt(
        np.mean((queries.features - np.repeat(sums, queries.sizes, axis=0)) ** 2, axis=0)
    )
    return np.where(spread > 0, spread, 1.0)


def trial(rng, data, quick):
    """Evaluate the models of a path, and compare the chosen model with the full one.

    The model is chosen on validation queries.
    """
    train, valid, test = split(
        rng, data, quick, **({"n_redundant": 15} if data == "LETOR-shaped" else {})
    )
    dcg = dl.DCG.standard(train.n_grades, DEPTH)
    options = {"metric": dcg, "n_points": 6 if quick else N_POINTS, "max_iter": 300}
    sparse = dl.rankers.SparseRanker(slack=0.02, **options).fit(train, eval_set=valid)
    full, most = sparse.path_[0], max(point.l1 for point in sparse.path_)
    records, spread = [], spread_within(train)
    tests = {}
    for point in sparse.path_:
        scores = test.features @ (point.coef / spread)
        tests[point.l1] = {
            k: test.evaluate(scores, dl.DCG.standard(train.n_grades, k)).mean() for k in TOPS
        }
        size = {"g": round(point.l1 / most, 6), "features": point.n_features / full.n_features}
        records.append(
            {"what": "path", **size, "train": point.train, "test": tests[point.l1][DEPTH]}
        )
    chosen = sparse.chosen_
    kept = chosen.n_features / full.n_features
    for k in TOPS:
        ends = {"full": tests[full.l1][k], "sparse": tests[chosen.l1][k]}
        records.append({"what": "chosen", "k": k, "features": kept, **ends})
    return records


def simulate(seed, repeats, quick, jobs):
    """Yield the points of the path, and the chosen model at each depth.

    There are such records for each data set and repeat.
    """
    settings = [{"data": data, "quick": quick} for data in available(quick)]
    yield from repeated(trial, settings, repeats=repeats, seed=seed, jobs=jobs)


def plot(table, axes):
    """Draw the change of NDCG against the share of features kept.

    Two panels show the whole path, the third the chosen models.
    """
    claimed, half = list(claims(table)), "half the features cost less than {}% of {}"
    lost, part = "Training: half cost more than .75%", half.format("0.75", "training")
    kept = headline(claimed, "Test: half cost less than 2%", "Test", half.format(2, "test"))
    parts = {
        "train": headline(claimed, lost, "Training", part, verdicts=(FAILS,)) + " (figure 4)",
        "test": f"{kept} (figure 5)",
    }
    path = losses(table).filter(pl.col("what") == "path", pl.col("g") > 0)
    for ax, (name, title), most in zip(axes[:2], parts.items(), (0.75, 2.0), strict=True):
        change = path.with_columns(
            change=-100 * pl.col(f"loss_{name}"), kept=100 * pl.col("features")
        )
        for style, data in zip(STYLES, table["data"].unique(maintain_order=True), strict=False):
            part = change.filter(data=data)
            means = summary(part, ["g"], ["change"], overlap(data, name))
            left = part.group_by("g").agg(pl.mean("kept"))
            draw_means(
                ax,
                means.join(left, on="g").sort("kept"),
                "kept",
                "change",
                style,
                label=SPELLED[data],
            )
        label = f"claimed: within {most:g}%"
        ax.axhline(-most, color="0.4", lw=0.8, ls=(0, (4, 3)), label=label)
        zero_line(ax)
        queries = "training" if name == "train" else "test"
        ax.set(
            xlabel="% of features kept", ylabel=f"change of {queries} NDCG@{DEPTH}, %", title=title
        )
        ax.set_xlim(103, -3)
        legend(ax, fontsize=7, loc="lower left")
    share_scale(axes[:2])
    chosen = table.filter(what="chosen", k=DEPTH)
    chosen = chosen.with_columns(
        kept=100 * pl.col("features"), change=100 * (pl.col("sparse") / pl.col("full") - 1)
    )
    for style, data in zip(STYLES, table["data"].unique(maintain_order=True), strict=False):
        points = chosen.filter(data=data)
        look = {
            "color": style["color"],
            "mfc": style.get("markerfacecolor", style["color"]),
            "ms": 5,
            "alpha": 0.8,
        }
        axes[2].plot(points["kept"], points["change"], style["marker"], label=SPELLED[data], **look)
    axes[2].axvline(40, color="0.4", lw=0.8, ls=(0, (4, 3)))
    axes[2].axhline(-3, color="0.4", lw=0.8, ls=(0, (4, 3)))
    axes[2].set(
        xlabel="% of features kept (claimed: below 40)",
        ylabel=f"change of test NDCG@{DEPTH}, % (claimed: > -3)",
    )
    axes[2].set_title("The chosen models, by repeat (figure 3)")
    axes[2].invert_xaxis()
    axes[2].legend(fontsize=7, title="a point per repeat", title_fontsize=7)
    explain(table["data"], axes)


def losses(table):
    """Return the relative loss of NDCG@10 by repeat, of the chosen models and along the path."""
    chosen = table.filter(what="chosen", k=DEPTH).with_columns(
        loss=1 - pl.col("sparse") / pl.col("full")
    )
    path = table.filter(what="path").drop("full")
    full = path.filter(g=0.0).select("data", "repeat", full_train="train", full_test="test")
    lost = {f"loss_{part}": 1 - pl.col(part) / pl.col(f"full_{part}") for part in ("train", "test")}
    return pl.concat(
        [chosen, path.join(full, on=["data", "repeat"]).with_columns(**lost)], how="diagonal"
    )


def claims(table):
    """Yield the claims for each data set.

    They concern the chosen models, the point where features are halved, and the whole path.
    """
    lost = losses(table)
    for data in table["data"].unique(maintain_order=True):
        part_of = lost.filter(data=data)
        claim = partial(Claim, part_of, "sun")
        text = f"{data}: share of features kept is below .4"
        yield claim(
            "table 1",
            text,
            "features",
            {"what": "chosen"},
            high=0.4,
            overlap=overlap(data, "train"),
        )
        text = f"{data}: that costs less than 3% of test NDCG"
        yield claim("figure 3", text, "loss", {"what": "chosen"}, high=0.03, overlap=overlap(data))
        points = part_of.filter(what="path").group_by("g").agg(pl.mean("features")).sort("g").rows()
        half = next((g for g, left in points if left < 0.5), points[-1][0])
        again = {"high": NEGLIGIBLE, "overlap": overlap(data, "train")}
        steps = [
            claim(
                "section 5.2.2",
                f"{data}: a larger penalty keeps no more features: share, from {left:.0%} on",
                "features",
                {"what": "path", "g": larger},
                {"what": "path", "g": g},
                **again,
            )
            for (g, left), (larger, _) in pairwise(points)
        ]
        yield in_every_cell(steps)
        for figure, part, most in (("figure 4", "train", 0.0075), ("figure 5", "test", 0.02)):
            name = "training" if part == "train" else "test"
            path = partial(
                claim, figure, value=f"loss_{part}", high=most, overlap=overlap(data, part)
            )
            text = f"{data}: half the features cost less than {100 * most:g}% of {name} NDCG"
            yield path(text=text, rows={"what": "path", "g": half})
            text = (
                f"{data}: no penalty costs {100 * most:g}% of {name} NDCG: "
                "{:.0%} of the features left"
            )
            cells = [
                path(text=text.format(left), rows={"what": "path", "g": g})
                for g, left in points
                if g > 0
            ]
            yield in_every_cell(cells)


if __name__ == "__main__":
    main(__name__)
