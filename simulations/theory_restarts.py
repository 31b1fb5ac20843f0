"""Qin et al., table 5: how many random restarts ApproxNDCG needs as alpha grows."""

from functools import partial

import polars as pl

import dcglearn as dl
from simulations.claims import FAILS, Claim
from simulations.findings import headline
from simulations.ranking_data import SPELLED, available, explain, overlap, rows, split
from simulations.run import curves, legend, main, repeated, share_scale

STEM, REPEATS, PANELS, FIGSIZE = "theory_restarts", 20, (2, 2), (9.0, 6.4)
ALPHAS = (3.0, 10.0, 30.0, 100.0, 300.0)
RESTARTS, DEPTH = 20, 5
KEPT = (1, 2, 3, 5, 10, 20)


def trial(rng, data, alpha, quick):
    """Train from random starts; return one record per number of starts.

    A record describes the model with the best objective among these starts.
    """
    train, _, test = split(rng, data, quick)
    train, test = train[:30], test[:50]
    dcg = dl.DCG.standard(train.n_grades, DEPTH)
    seed, most = int(rng.integers(2**31)), 5 if quick else RESTARTS
    options = {
        "annealing": [alpha],
        "solver": "lbfgs",
        "l2": 0.0,
        "max_iter": 40,
        "random_state": seed,
    }
    ranker = dl.LinearRanker(
        loss=dl.losses.ApproxNDCG(dcg, beta=10.0), start="random", n_restarts=most, **options
    )
    history = ranker.fit(train, eval_set=test).history_
    records = []
    for kept in (k for k in KEPT if k <= most):
        best = max(history[:kept], key=lambda run: run["objective"])
        values = {"objective": best["objective"], "train": best["train"], "test": best["valid"]}
        records.append(
            {
                "line": f"alpha = {alpha:g}",
                "restarts": kept,
                **values,
                "iterations": best["iterations"],
            }
        )
    return records


def simulate(seed, repeats, quick, jobs):
    """Yield one record per data set, alpha, number of restarts and repeat."""
    settings = [
        {"data": data, "alpha": alpha, "quick": quick}
        for data in available(quick)
        for alpha in ALPHAS
    ]
    yield from repeated(trial, settings, repeats=repeats, seed=seed, jobs=jobs)


def plot(table, axes):
    """Draw NDCG of the best model against the number of restarts, one line per alpha."""
    claimed = list(claims(table))
    named = table.with_columns(line=pl.col("line").str.replace("alpha = ", "α = "))
    for data, part, line in rows(named, axes):
        queries, part_of = f"{SPELLED[data]}, training queries", f"{data}: with {RESTARTS} starts"
        finding = f"{queries}: $\\alpha = 3$ stays ahead of 300"
        titles = {
            "train": headline(claimed, finding, queries, part_of, verdicts=(FAILS,)),
            "test": f"{SPELLED[data]}, test queries",
        }
        for ax, (name, title) in zip(line, titles.items(), strict=True):
            curves(part, ax, "restarts", name, lines="line", overlap=overlap(data, name))
            xlabel = "number of random starts (best objective kept)"
            ax.set(xscale="log", xlabel=xlabel, title=title)
            ax.set_ylabel(f"NDCG@{DEPTH} of {'training' if name == 'train' else 'test'} queries")
            ax.set_xticks(KEPT, [str(k) for k in KEPT])
            ax.minorticks_off()
        share_scale(line)
    legend(axes[0][1], ncols=2, fontsize=7)
    explain(table["data"], axes)


def gains(table):
    """Return the gain in training NDCG from one to the most restarts.

    The table has a row for each data set, alpha and repeat.
    """
    rows = [table.filter(restarts=k) for k in (KEPT[0], table["restarts"].max())]
    both = rows[1].join(rows[0], on=["data", "alpha", "repeat"], suffix="_one")
    return both.with_columns(gain=pl.col("train") - pl.col("train_one"))


def claims(table):
    """Yield the claims for each data set."""
    most, sharp, smooth = table["restarts"].max(), ALPHAS[-1], ALPHAS[0]
    added = gains(table)
    for data in table["data"].unique(maintain_order=True):
        again = {"overlap": overlap(data, "train")}
        claim = partial(Claim, table, "ours", "Qin, table 5", value="train", **again)
        rows, minus = ({"data": data, "alpha": alpha} for alpha in (sharp, smooth))
        text = (
            f"{data}: {most} restarts add more training NDCG for alpha = {sharp:g} than {smooth:g}"
        )
        yield Claim(added, "ours", "Qin, table 5", text, "gain", rows, minus, low=0.0, **again)
        one, all_ = ([{**of, "restarts": k} for of in (rows, minus)] for k in (1, most))
        text = f"{data}: with one start alpha = {sharp:g} trains worse than {smooth:g}"
        yield claim(text, rows=one[0], minus=one[1], high=0.0)
        text = f"{data}: with {most} starts alpha = {sharp:g} trains better than {smooth:g}"
        yield claim(text, rows=all_[0], minus=all_[1], low=0.0)


if __name__ == "__main__":
    main(__name__)
