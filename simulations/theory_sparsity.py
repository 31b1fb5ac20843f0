"""Sun et al., figures 3 to 5: how many features RSRank removes, and what that costs in NDCG."""

from functools import partial
from itertools import pairwise

import polars as pl

import dcglearn as dl
from simulations.claims import FAILS, NEGLIGIBLE, Claim, in_every_cell
from simulations.ranking_data import CONFLICT, split
from simulations.run import STYLES, draw_means, share_scale, summary, zero_line

REPEATS, PANELS, FIGSIZE = 20, 2, (8.0, 3.6)
N_POINTS, DEPTH = 16, 10


def trial(rng, quick):
    """Evaluate the models of a path, and the one that is chosen on validation queries."""
    train, valid, test = split(rng, CONFLICT, quick, n_redundant=15)
    dcg = dl.DCG.standard(train.n_grades, DEPTH)
    loss = dl.losses.RSRank(dcg, depth=None)
    options = {"n_points": 6 if quick else N_POINTS, "max_iter": 300, "tol": 1e-4}
    sparse = dl.LinearRanker(loss, l1="path", **options).fit(train, eval_set=valid)
    path, records = sparse.history_, []
    for point in path:
        left = point["n_features"] / path[0]["n_features"]
        size = {"g": round(point["l1"] / path[-1]["l1"], 6), "features": left}
        scores = test.features @ point["coef"]
        ends = {"train": point["train"], "test": test.evaluate(scores, dcg).mean()}
        records.append({"what": "path", **size, **ends})
        if point["l1"] == sparse.best_["l1"]:
            records.append({"what": "chosen", **size, **ends})
    return records


def settings(quick):
    """Return the one setting."""
    return [{"quick": quick}]


def plot(table, axes, headline):
    """Draw the change of NDCG against the share of features kept."""
    half = "half the features cost less than {}% of {}"
    lost, part = "Training: half cost more than .75%", half.format("0.75", "training")
    kept = headline("Test: half cost less than 2%", "Test", half.format(2, "test"))
    parts = {
        "train": headline(lost, "Training", part, verdicts=(FAILS,)) + " (figure 4)",
        "test": f"{kept} (figure 5)",
    }
    path = losses(table).filter(pl.col("what") == "path", pl.col("g") > 0)
    for ax, (name, title), most in zip(axes, parts.items(), (0.75, 2.0), strict=True):
        change = path.with_columns(
            change=-100 * pl.col(f"loss_{name}"), kept=100 * pl.col("features")
        )
        left = change.group_by("g").agg(pl.mean("kept"))
        means = summary(change, ["g"], ["change"]).join(left, on="g").sort("kept")
        draw_means(ax, means, "kept", "change", STYLES[0])
        label = f"claimed: within {most:g}%"
        ax.axhline(-most, color="0.4", lw=0.8, ls=(0, (4, 3)), label=label)
        zero_line(ax)
        queries = "training" if name == "train" else "test"
        ax.set(xlabel="% of features kept", title=title)
        ax.set(ylabel=f"change of {queries} NDCG@{DEPTH}, %", xlim=(103, -3))
        ax.legend(fontsize=7, loc="lower left")
    share_scale(axes)


def losses(table):
    """Return the relative loss of NDCG@10 by repeat, of the chosen models and along the path."""
    full = table.filter(what="path", g=0.0).select("repeat", full_train="train", full_test="test")
    lost = {f"loss_{part}": 1 - pl.col(part) / pl.col(f"full_{part}") for part in ("train", "test")}
    return table.join(full, on="repeat", maintain_order="left").with_columns(**lost)


def claims(table):
    """Yield claims on the chosen models, where features are halved, and on the whole path."""
    lost = losses(table)
    claim = partial(Claim, lost, "sun")
    chosen = {"what": "chosen"}
    yield claim("table 1", "share of features kept is below .4", "features", chosen, high=0.4)
    text = "the chosen model costs less than 3% of test NDCG"
    yield claim("figure 3", text, "loss_test", chosen, high=0.03)

    # from each penalty to the next
    points = lost.filter(what="path").group_by("g").agg(pl.mean("features")).sort("g").rows()
    text = "a larger penalty keeps no more features: share, from {:.0%} on"
    steps = [
        claim("section 5.2.2", text.format(left), "features", larger, smaller, high=NEGLIGIBLE)
        for larger, smaller, left in (
            ({"what": "path", "g": larger}, {"what": "path", "g": g}, left)
            for (g, left), (larger, _) in pairwise(points)
        )
    ]
    yield in_every_cell(steps)

    # what is lost
    half = next((g for g, left in points if left < 0.5), points[-1][0])
    for figure, part, most in (("figure 4", "train", 0.0075), ("figure 5", "test", 0.02)):
        name = "training" if part == "train" else "test"
        path = partial(claim, figure, value=f"loss_{part}", high=most)
        text = f"half the features cost less than {100 * most:g}% of {name} NDCG"
        yield path(text=text, rows={"what": "path", "g": half})
        text = f"no penalty costs {100 * most:g}% of {name} NDCG: {{:.0%}} of the features left"
        cells = [
            path(text=text.format(left), rows={"what": "path", "g": g})
            for g, left in points
            if g > 0
        ]
        yield in_every_cell(cells)
