"""Sun et al., figures 3 to 5: how many features RSRank removes, and what that costs in NDCG."""

from functools import partial
from itertools import pairwise

import polars as pl

import dcglearn as dl
from simulations.claims import FAILS, NEGLIGIBLE, Claim, in_every_cell
from simulations.ranking_data import CONFLICT, split
from simulations.run import DASHED, STYLES, draw_means, share_scale, summary, zero_line

REPEATS, PANELS, FIGSIZE = 20, 2, (8.0, 3.6)
N_POINTS, DEPTH = 16, 10
PARTS = (("train", "training", 0.75), ("test", "test", 2.0))
"""Queries, and how many per cent of their NDCG half the features are said to cost at most."""


def trial(rng, quick):
    """Evaluate the models of a path, and the one that is chosen on validation queries."""
    train, valid, test = split(rng, CONFLICT, quick, n_redundant=15)
    dcg = dl.DCG.standard(train.n_grades, DEPTH)
    options = {"n_points": 6 if quick else N_POINTS, "max_iter": 300, "tol": 1e-4}
    sparse = dl.LinearRanker(dl.losses.RSRank(dcg, depth=None), l1="path", **options)
    path = sparse.fit(train, eval_set=valid).history_

    # penalties as shares of the largest, features of those without one
    records = []
    for point in path:
        record = {
            "g": round(point["l1"] / path[-1]["l1"], 6),
            "features": point["n_features"] / path[0]["n_features"],
            "train": point["train"],
            "test": test.evaluate(test.features @ point["coef"], dcg).mean(),
        }

        chosen = ("path", "chosen") if point["l1"] == sparse.best_["l1"] else ("path",)
        records += [{"what": what, **record} for what in chosen]
    return records


def settings(quick):
    """Return the one setting."""
    return [{"quick": quick}]


def plot(table, axes, headline):
    """Draw the change of NDCG against the share of features kept."""
    half = "half the features cost less than {}% of {}"
    lost, part = "Training: half cost more than .75%", half.format("0.75", "training")
    kept = headline("Test: half cost less than 2%", "Test", half.format(2, "test"))
    titles = (
        headline(lost, "Training", part, verdicts=(FAILS,)) + " (figure 4)",
        f"{kept} (figure 5)",
    )

    # the path of penalties
    path = losses(table).filter(pl.col("what") == "path", pl.col("g") > 0)
    left = path.group_by("g").agg(kept=100 * pl.mean("features"))
    for ax, title, (name, queries, most) in zip(axes, titles, PARTS, strict=True):
        change = path.with_columns(change=-100 * pl.col(f"loss_{name}"))
        means = summary(change, ["g"], ["change"]).join(left, on="g").sort("kept")
        draw_means(ax, means, "kept", "change", STYLES[0])

        # what the paper says
        label = f"claimed: within {most:g}%"
        ax.axhline(-most, lw=0.8, **DASHED, label=label)
        zero_line(ax)
        ax.set(xlabel="% of features kept", title=title, xlim=(103, -3))
        ax.set_ylabel(f"change of {queries} NDCG@{DEPTH}, %")
        ax.legend(fontsize=7, loc="lower left")
    share_scale(axes)


def losses(table):
    """Return the relative loss of NDCG@10 by repeat, of the chosen models and along the path."""
    full = table.filter(what="path", g=0.0).select("repeat", full_train="train", full_test="test")
    lost = {f"loss_{part}": 1 - pl.col(part) / pl.col(f"full_{part}") for part in ("train", "test")}
    return table.join(full, on="repeat", maintain_order="left").with_columns(**lost)


def claims(table):
    """Yield claims on the chosen models, where features are halved, and on the whole path."""
    lost, chosen = losses(table), {"what": "chosen"}
    claim = partial(Claim, lost, "sun")
    yield claim("table 1", "share of features kept is below .4", "features", chosen, high=0.4)
    text = "the chosen model costs less than 3% of test NDCG"
    yield claim("figure 3", text, "loss_test", chosen, high=0.03)

    # from each penalty to the next
    points = lost.filter(what="path").group_by("g").agg(pl.mean("features")).sort("g").rows()
    text, steps = "a larger penalty keeps no more features: share, from {:.0%} on", []
    for (g, left), (larger, _) in pairwise(points):
        rows, minus = ({"what": "path", "g": each} for each in (larger, g))
        of = ("section 5.2.2", text.format(left), "features", rows, minus)
        steps.append(claim(*of, high=NEGLIGIBLE))
    yield in_every_cell(steps)

    # what is lost
    half = next((g for g, left in points if left < 0.5), points[-1][0])
    for figure, (part, name, most) in zip(("figure 4", "figure 5"), PARTS, strict=True):
        path = partial(claim, figure, value=f"loss_{part}", high=most / 100)
        text = f"half the features cost less than {most:g}% of {name} NDCG"
        yield path(text=text, rows={"what": "path", "g": half})
        text = f"no penalty costs {most:g}% of {name} NDCG: {{:.0%}} of the features left"
        each = [(text.format(left), {"what": "path", "g": g}) for g, left in points if g > 0]
        yield in_every_cell([path(text=words, rows=rows) for words, rows in each])
