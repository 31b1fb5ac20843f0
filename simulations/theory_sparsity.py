"""Sun et al., figures 3 to 5: how many features RSRank removes, and what that costs in NDCG."""

import numpy as np
import polars as pl

import dcglearn as dl
from simulations.ranking_data import available, rows, split
from simulations.run import STYLES, Claim, at, draw_means, legend, main, repeated, shown, summary

STEM, REPEATS, PANELS, FIGSIZE = "theory_sparsity", 20, (2, 3), (14.0, 6.8)
TOPS = tuple(range(1, 11))
N_POINTS, DEPTH = 16, 10


def spread_within(queries):
    """Return the standard deviation of each feature within queries, the unit of coefficients on a path."""
    sums = np.add.reduceat(queries.features, queries.offsets[:-1], axis=0) / queries.sizes[:, None]
    spread = np.sqrt(np.mean((queries.features - np.repeat(sums, queries.sizes, axis=0)) ** 2, axis=0))
    return np.where(spread > 0, spread, 1.0)


def trial(rng, data, quick):
    """Evaluate the models of a path, and compare the one chosen on validation queries with the full model."""
    train, valid, test = split(rng, data, quick, **({"n_redundant": 15} if data == "LETOR-shaped" else {}))
    dcg = dl.DCG.standard(train.n_grades, DEPTH)
    options = {"metric": dcg, "n_points": 6 if quick else N_POINTS, "max_iter": 300}
    sparse = dl.SparseRanker(tolerance=0.02, **options).fit(train, eval_set=valid)
    full, most = sparse.path_[0], max(point.l1 for point in sparse.path_)
    records, spread = [], spread_within(train)
    tests = {}
    for point in sparse.path_:
        scores = test.features @ (point.coef / spread)
        tests[point.l1] = {k: test.evaluate(scores, dl.DCG.standard(train.n_grades, k)).mean() for k in TOPS}
        size = {"g": round(point.l1 / most, 6), "features": point.n_features / full.n_features}
        records.append({"what": "path", **size, "train": point.train, "test": tests[point.l1][DEPTH]})
    chosen = sparse.chosen_
    kept = chosen.n_features / full.n_features
    for k in TOPS:
        ends = {"full": tests[full.l1][k], "sparse": tests[chosen.l1][k]}
        records.append({"what": "chosen", "k": k, "features": kept, **ends})
    return records


def simulate(seed, repeats, quick, jobs, progress):
    """Yield the points of the path, and the chosen model at each depth, for each data set and repeat."""
    settings = [{"data": data, "quick": quick} for data in available(quick)]
    yield from repeated(trial, settings, repeats=repeats, seed=seed, jobs=jobs, progress=progress)


def ratios(part):
    """Return, for each depth, the ratio of the mean NDCG of sparse and full models, and its paired standard error."""
    chosen = part.filter(what="chosen").with_columns(difference=pl.col("sparse") - pl.col("full"))
    means = summary(chosen, ["k"], ["sparse", "full", "difference"])
    full = pl.col("full")
    return means.with_columns(ratio=pl.col("sparse") / full, ratio_error=pl.col("difference_error") / full)


def plot(table, axes):
    """Draw NDCG and the share of features against the L1 penalty, then the cost of sparsity, one row per data set."""
    for data, part, (train, test, ratio) in rows(table, axes):
        path = part.filter(pl.col("what") == "path", pl.col("g") > 0)
        full = part.filter(what="path", g=0.0)
        for ax, name in ((train, "train"), (test, "test")):
            means = summary(path, ["g"], [name, "features"])
            draw_means(ax, means, "g", name, STYLES[0])
            ax.axhline(full[name].mean(), color=STYLES[0]["color"], lw=0.9, ls=(0, (2, 2)), alpha=0.7)
            ax.set(xscale="log", xlabel="L1 penalty, relative to its maximum")
            ax.set_ylabel(f"NDCG@{DEPTH}", color=STYLES[0]["color"])
            ax.set_title(f"{data}: {'training' if name == 'train' else 'test'} queries")
            share = ax.twinx()
            draw_means(share, means, "g", "features", STYLES[1])
            share.set_ylim(0, 1.02)
            share.grid(visible=False)
            share.set_ylabel("share of features kept", color=STYLES[1]["color"])
        kept = at(part.filter(what="chosen"), "features", k=1)[0]
        draw_means(ratio, ratios(part), "k", "ratio", STYLES[2], label=f"{kept:.0%} of the features")
        ratio.axhline(1.0, color="0.4", lw=0.8)
        ratio.axhline(0.97, color="0.4", lw=0.8, ls=":", label="3% loss")
        ratio.set(
            ylim=(0.94, 1.16), xlabel="depth k of NDCG@k", ylabel="NDCG ratio, sparse to full model", xticks=TOPS[::3]
        )
        ratio.set_title(f"{data}: model chosen by validation")
        legend(ratio, loc="upper right")


def claims(table):
    """Yield the claims, with the table's numbers and verdicts."""
    for data in table["data"].unique(maintain_order=True):
        part = table.filter(data=data)
        ratio = ratios(part)["ratio"]
        kept = at(part.filter(what="chosen"), "features", k=1)
        n_met = (kept[0] < 0.4) + (ratio[-1] > 0.97)
        yield Claim(
            "Sun 3",
            f"{data}: removing more than 60% of the features costs less than 3% of NDCG@{DEPTH}",
            f"{shown(kept)} of the features are kept; the NDCG@k ratio of sparse to full model is {ratio[-1]:.3f} at "
            f"k = {DEPTH}, and at least {ratio.min():.3f} for k from 1 to {DEPTH}",
            ("does not hold", "holds with a condition", "holds")[n_met],
            "RSRank on test queries; the fewest features within 2% of the best on validation queries.",
        )
        path = part.filter(what="path")
        means = summary(path, ["g"], ["train", "test", "features"])
        full, half = means.row(0, named=True), means.filter(pl.col("features") < 0.5)
        first = half.row(0, named=True)
        best = means.filter(pl.col("test") == means["test"].max()).row(0, named=True)
        loss = {name: 1 - first[name] / full[name] for name in ("train", "test")}
        yield Claim(
            "Sun 4, 5",
            f"{data}: a growing L1 penalty costs less than 0.75% of NDCG@{DEPTH} in training and 2% on test queries",
            f"with {first['features']:.0%} of the features, the loss is {loss['train']:.2%} in training and "
            f"{loss['test']:.2%} on test queries; the best test value, {best['test']:.3f} ± {best['test_error']:.3f} "
            f"({full['test']:.3f} ± {full['test_error']:.3f} with all features), has {best['features']:.0%} of them",
            "holds" if loss["train"] < 0.0075 and loss["test"] < 0.02 else "holds with a condition",
            "At the first point of the path with fewer than half of the features. "
            + (
                "37 of the 45 features are informative, so fewer features fit the training queries less well."
                if data == "LETOR-shaped"
                else "Fewer features fit training queries less well, test queries better; 300 steps do not converge."
            ),
        )


if __name__ == "__main__":
    main(__name__)
