"""Chapelle and Wu's table 3: at which depth to train, for each depth at which the ranking is judged."""

import sys
from itertools import product

import dcglearn as dl
from simulations.ranking_data import DATA, available, split
from simulations.run import STYLES, Claim, main, paired, repeated, summary

STEM, REPEATS, PANELS, FIGSIZE = "theory_truncation", 20, (2, 3), (14.0, 6.8)
TRAINED, JUDGED = (1, 2, 3, 5, 10, 20, 50), (1, 3, 5, 10)
NO_CONFLICT = "LETOR-shaped, no conflict"
LOSSES = {"SmoothNDCG": dl.SmoothNDCG, "ApproxNDCG": dl.ApproxNDCG}


def one(rng, data, loss, quick):
    """Train at each depth, choose on validation queries at the same depth, judge at every depth."""
    options = {"conflict": 0.0} if data == NO_CONFLICT else {}
    train, valid, test = split(rng, data.partition(",")[0], quick, **options)
    records = []
    for k in TRAINED:
        dcg = dl.DCG.standard(train.n_grades, k)
        ranker = dl.LinearRanker(loss=LOSSES[loss](dcg), max_iter=20).fit(train, eval_set=valid)
        for judged in JUDGED:
            judge = dl.DCG.standard(train.n_grades, judged)
            ndcg, fitted = (float(ranker.evaluate(queries, metric=judge).mean()) for queries in (test, train))
            records.append({"k": k, "judged": judged, "ndcg": ndcg, "fitted": fitted})
    return records


def simulate(seed, repeats, quick, jobs, progress):
    """Yield a record a data set, loss, depth of training, depth of judgement and repeat."""
    names = [NO_CONFLICT, *available(quick)]
    settings = [{"data": data, "loss": loss, "quick": quick} for data in names for loss in LOSSES]
    yield from repeated(one, settings, repeats=repeats, seed=seed, jobs=jobs, progress=progress)


def plot(table, axes):
    """Draw the test NDCG at each depth against the depth of training; a ring where the two are the same."""
    for (i, loss), (j, data) in product(enumerate(LOSSES), enumerate((NO_CONFLICT, *DATA))):
        ax, part = axes[i][j], table.filter(loss=loss, data=data)
        ax.set_title(f"{data}: {loss}" if len(part) else f"{data}: the data were not here")
        if not len(part):
            ax.set_axis_off()
            continue
        for style, judged in zip(STYLES, JUDGED, strict=False):
            means = summary(part.filter(judged=judged), ["k"], ["ndcg"])
            label = f"judged @{judged}"
            ax.errorbar(means["k"], means["ndcg"], means["ndcg_error"], label=label, capsize=2, ms=4, lw=1.3, **style)
            own = means.filter(k=judged)
            ax.plot(own["k"], own["ndcg"], "o", ms=11, mfc="none", mec=style["color"], mew=1.0)
        ax.plot([], [], "o", ms=9, mfc="none", mec="0.4", label="trained as judged")
        ax.set(xscale="log", xlabel="depth k of training")
        ax.set_xticks(TRAINED, [str(k) for k in TRAINED])
        ax.minorticks_off()
        if j == 0:
            ax.set_ylabel("NDCG of unseen queries\n(bars: ± 1 standard error)")
    axes[0][0].figure.legend(*axes[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=5)


def gain(part, judged, value="ndcg", depth=TRAINED[-1]):
    """Return how far training at a depth is ahead of training at that of the judge, paired, with its error."""
    return paired(*(part.filter(k=k, judged=judged).sort("repeat")[value] for k in (depth, judged)))


def claims(table):
    """Return what the table says."""
    for data in table["data"].unique(maintain_order=True):
        for loss in LOSSES:
            part = table.filter(data=data, loss=loss)
            found = {judged: gain(part, judged) for judged in JUDGED}
            ahead = [mean > 2 * error for mean, error in found.values()]
            behind = [mean < -2 * error for mean, error in found.values()]
            fitted, ten = gain(part, JUDGED[0], "fitted"), gain(part, JUDGED[0], depth=10)
            verdict = (
                "holds" if all(ahead) else "holds with a condition" if sum(ahead) > sum(behind) else "does not hold"
            )
            why = {
                NO_CONFLICT: "Synthetic queries on which all metrics want nearly the same model.",
                "LETOR-shaped": "Synthetic queries made so that the best model depends on the metric.",
                "lambdarank": "Lists are short: 13 documents on average.",
            }[data]
            yield Claim(
                "Chapelle-Wu table 3",
                f"{data}, {loss}: whatever the depth of the judge, training at {TRAINED[-1]} does better",
                "than training at the judge's depth: "
                + "; ".join(f"@{judged} {mean:+.4f} ± {error:.4f}" for judged, (mean, error) in found.items())
                + f"; on the training queries @1 {fitted[0]:+.4f} ± {fitted[1]:.4f}; "
                f"training at 10 rather than at 1, @1 {ten[0]:+.4f} ± {ten[1]:.4f}",
                verdict,
                f"Paired, unseen queries; the model chosen on validation queries at the depth of training. {why}",
            )


if __name__ == "__main__":
    main(sys.modules[__name__])
