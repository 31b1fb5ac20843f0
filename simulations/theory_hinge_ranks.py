"""Wu et al., figure 1: the functions G, A and B of smoothed hinge ranks, and why badly ordered pairs still move."""

import numpy as np
import polars as pl

import dcglearn as dl
from simulations.run import STYLES, Claim, at, curves, legend, main, repeated, shown

STEM, REPEATS, PANELS, FIGSIZE = "theory_hinge_ranks", 20, 4, (17.0, 3.8)
ALPHA, LENGTH, DEPTH, RATE = 1.0, 60, 10, 3.0
GAPS, STEPS = (0.0, 3.0), (0, 1, 2, 5, 10, 20, 50, 100, 200)
PAIR = dl.DCG([0.0, 1.0], [1.0, 0.5])
DCG = dl.DCG.standard(3, DEPTH)
LOSSES = {
    "SDCG, all ranks": dl.SDCG(DCG, alpha=3.0, k=None),
    "SDCG@10": dl.SDCG(DCG, alpha=3.0, beta=1.0),
    "SHF-SDCG@10": dl.SHFSDCG(DCG, alpha=3.0, beta=1.0),
}
LETTERS = {"G": "$G_\\alpha$, SDCG", "A": "$A_\\alpha$, the better document", "B": "$B_\\alpha$, the worse document"}


def functions(x):
    """Return the contribution of another document to a document's rank, for x = its score minus the other score."""
    loss = dl.SHFSDCG(PAIR, alpha=ALPHA)
    return {
        "G": np.array([dl.losses.soft_ranks([score, 0.0], ALPHA)[0] for score in x]) - 1,
        "A": np.array([loss.ranks([score, 0.0], [1, 0])[0] for score in x]) - 1,
        "B": np.array([loss.ranks([score, 0.0], [0, 1])[0] for score in x]) - 1,
    }


def by_formula(x):
    """Return the same functions by the paper's formulas, with the sign in A corrected."""
    x = ALPHA * np.asarray(x)
    g, mirrored = 1 / (1 + np.exp(x)), 1 / (1 + np.exp(-x))
    return {"G": g, "A": np.where(x >= 0, g, 0.5 - x / 4), "B": 1 + np.where(x <= 0, mirrored, 0.5 + x / 4)}


def function_records(rng):
    """Return the functions, their slopes and their deviations from the formulas at random points of [-8, 8]."""
    x = np.sort(rng.uniform(-8, 8, 25))
    step = 1e-5
    values, ahead, behind, formula = functions(x), functions(x + step), functions(x - step), by_formula(x)
    return [
        {
            "what": "function",
            "line": name,
            "x": at_x,
            "value": value,
            "slope": (after - before) / (2 * step),
            "apart": abs(value - written),
        }
        for name in values
        for at_x, value, after, before, written in zip(
            x, values[name], ahead[name], behind[name], formula[name], strict=True
        )
    ]


def gradient_steps(rng, gap):
    """Yield NDCG along gradient steps on the scores themselves; `gap` is the disadvantage per grade at the start."""
    grades = rng.choice(3, LENGTH, p=[0.7, 0.2, 0.1])
    grades[:2] = 1, 2  # at least two relevant documents
    start = rng.normal(size=LENGTH) - gap * grades
    query = dl.Queries(np.zeros((LENGTH, 1)), grades, np.zeros(LENGTH), 3)
    for name, loss in LOSSES.items():
        scores = start
        for step in range(STEPS[-1] + 1):
            if step in STEPS:
                value = float(query.evaluate(scores, DCG)[0])
                yield {"what": "way", "line": name, "gap": gap, "x": float(step), "value": value}
            scores = scores + RATE * loss(scores, grades)[1]


def trial(rng, quick):
    """Return the functions at random points, and gradient steps from a random and from a bad start."""
    return function_records(rng) + [record for gap in GAPS for record in gradient_steps(rng, gap)]


def simulate(seed, repeats, quick, jobs, progress):
    """Yield the records of each repeat."""
    yield from repeated(trial, [{"quick": quick}], repeats=repeats, seed=seed, jobs=jobs, progress=progress)


def plot(table, axes):
    """Draw the functions, their slopes, and NDCG along gradient steps from both starts."""
    part = table.filter(what="function").sort("x")
    for style, (name, label) in zip(STYLES, LETTERS.items(), strict=False):
        points = part.filter(line=name)
        look = {"color": style["color"], "ls": style["linestyle"], "lw": 1.8}
        axes[0].plot(points["x"], points["value"], label=label, **look)
        axes[1].plot(points["x"], points["slope"].abs(), label=label, **look)
    for ax in axes[:2]:
        ax.axvline(0, color="0.6", lw=0.8)
        ax.set_xlabel("score minus the other document's score")
    axes[0].set(ylabel="contribution to the rank", title=f"Ranks of a pair, $\\alpha = {ALPHA:g}$")
    axes[0].legend(fontsize=8)
    axes[1].set(yscale="log", ylim=(1e-4, 1), ylabel="absolute slope", title="Gradients of a pair")
    axes[1].text(-4, 0.42, "better document below", ha="center", fontsize=8, color=STYLES[1]["color"])
    axes[1].text(4, 0.42, "worse document above", ha="center", fontsize=8, color=STYLES[2]["color"])
    titles = {0.0: "From random scores", 3.0: "From scores in reverse order"}
    for ax, gap in zip(axes[2:], GAPS, strict=True):
        curves(table.filter(what="way", gap=gap), ax, "x", "value", lines="line")
        ax.set_xscale("symlog", linthresh=1, linscale=0.35)
        ax.set_xticks(STEPS, [str(step) for step in STEPS])
        ax.minorticks_off()
        ax.set(ylim=(-0.03, 1.03), xlabel="gradient steps", ylabel=f"NDCG@{DEPTH}", title=titles[gap])
    legend(axes[2], loc="upper left")


def claims(table):
    """Yield the claims, with the table's numbers and verdicts."""
    part = table.filter(what="function")
    wrong = {"G": part.filter(pl.col("line") == "G", pl.col("x") < -5)["slope"].abs().max()}
    wrong["A"] = part.filter(pl.col("line") == "A", pl.col("x") < 0)["slope"].abs().min()
    wrong["B"] = part.filter(pl.col("line") == "B", pl.col("x") > 0)["slope"].abs().min()
    least, deviation = part.filter(line="A")["value"].min(), part["apart"].max()
    yield Claim(
        "Wu 1",
        "G is flat for wrongly ordered pairs that are far apart; A and B have a slope of alpha / 4 there",
        f"slope of G at most {wrong['G']:.4f} below -5; slope of A at least {wrong['A']:.4f} and of B at least "
        f"{wrong['B']:.4f} for all wrongly ordered pairs (alpha / 4 = {ALPHA / 4:g}); deviation from the formulas at "
        f"most {deviation:.0e}",
        "holds with a condition"
        if deviation < 1e-9 and abs(min(wrong["A"], wrong["B"]) - ALPHA / 4) < 1e-4
        else "does not hold",
        "With the sign of A's linear branch corrected: as printed, A is negative there and its slope jumps; here A is "
        f"at least {least:.4f}.",
    )
    ends = table.filter(what="way", x=float(STEPS[-1]))
    for gap, name in zip(GAPS, ("random scores", "scores in reverse order"), strict=True):
        ndcg = {line: at(ends, "value", line=line, gap=gap) for line in LOSSES}
        best = max(ndcg, key=lambda line: ndcg[line][0])
        yield Claim(
            "Wu 1",
            f"SHF-SDCG needs no good start: from {name}",
            f"NDCG@{DEPTH} after {STEPS[-1]} gradient steps: "
            + "; ".join(f"{line} {shown(value)}" for line, value in ndcg.items()),
            "holds" if best.startswith("SHF") and ndcg[best][0] > 0.99 else "does not hold",
            f"Steps of {RATE:g} directly on the scores of {LENGTH} documents, without a model; alpha = 3. In SDCG@10, "
            "documents far below rank 10 have no gradient; SHF-SDCG extends its truncation to the relevant documents.",
        )


if __name__ == "__main__":
    main(__name__)
