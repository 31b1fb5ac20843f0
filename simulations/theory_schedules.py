"""Chapelle and Wu, section 4.4.2 and figure 3: annealing, and SmoothNDCG against its start.

Annealing is compared with a fixed sigma.
"""

from functools import partial

import dcglearn as dl
from simulations.claims import Claim, in_every_cell
from simulations.ranking_data import NO_CONFLICT, SPELLED, available, explain, overlap, split, whose
from simulations.run import STYLES, draw_means, legend, main, repeated, summary, zero_line

STEM, REPEATS, PANELS, FIGSIZE = "theory_schedules", 20, 3, (11.0, 3.8)
POWERS, FIXED = tuple(range(6, -7, -1)), (6, 2, -2, -6)
"""Powers of 2 that sigma passes through, as in the paper, and those at which it stays."""

ITERATIONS, WEIGHTS = 10, (0.01, 1.0, 100.0)
"""Iterations for each sigma, and weights of the distance from the start.

A fixed sigma has as many iterations as all sigmas of the annealing together.
"""

TRAINED, JUDGED = 50, 10
"""Depths of NDCG in training and in figure 3."""


def sharpness(power):
    """Return how sharp scores are taken for sigma = 2^power."""
    return 2.0 ** (-power / 2)


def trial(rng, data, quick):
    """Train with each schedule from the same start; then train SmoothNDCG and its rivals.

    Validation queries choose SmoothNDCG's weight of the distance from the start.
    """
    options = {"conflict": 0.0} if data == NO_CONFLICT else {}
    train, valid, test = split(rng, data.partition(",")[0], quick, **options)
    loss = dl.losses.SmoothNDCG(dl.DCG.standard(train.n_grades, TRAINED))
    powers, n = (POWERS[::6], 3) if quick else (POWERS, ITERATIONS)
    schedules = {"annealed": (powers, n)} | {
        f"sigma = 2^{p}": ((p,), n * len(powers)) for p in FIXED
    }
    records = []
    for name, (through, iterations) in schedules.items():
        ranker = dl.LinearRanker(
            loss, l2=WEIGHTS[0], max_iter=iterations, annealing=[sharpness(p) for p in through]
        )
        end = ranker.fit(train, eval_set=test).history_[-1]
        records.append(
            {"what": "schedule", "name": name, "train": end["train"], "test": end["valid"]}
        )
    annealing, judge = [sharpness(p) for p in powers], dl.DCG.standard(train.n_grades, JUDGED)
    smooth = [
        dl.LinearRanker(loss, l2=l2, max_iter=n, annealing=annealing).fit(train, eval_set=valid)
        for l2 in WEIGHTS
    ]
    rankers = {
        "SmoothNDCG": max(smooth, key=lambda ranker: ranker.evaluate(valid).mean()),
        "least squares": dl.rankers.RidgeRanker(loss.dcg).fit(train),
        "RankSVM": dl.rankers.RankSVMRanker().fit(train),
    }
    for name, ranker in rankers.items():
        fitted, new = (
            float(ranker.evaluate(queries, metric=judge).mean()) for queries in (train, test)
        )
        records.append({"what": "method", "name": name, "train": fitted, "test": new})
    return records


def simulate(seed, repeats, quick, jobs):
    """Yield one record per data set, schedule or method, and repeat."""
    settings = [{"data": data, "quick": quick} for data in (NO_CONFLICT, *available(quick))]
    yield from repeated(trial, settings, repeats=repeats, seed=seed, jobs=jobs)


def ahead(table, what, base, part):
    """Return how far the schedule or method `base` is ahead of each other one, by NDCG.

    `part`, "train" or "test", names the queries that NDCG is taken on.
    """
    rows = table.filter(what=what)
    own = rows.filter(name=base).select("data", "repeat", base=part)
    both = rows.join(own, on=["data", "repeat"], maintain_order="left")
    return both.with_columns(ahead=both["base"] - both[part]).filter(both["name"] != base)


def plot(table, axes):
    """Draw how far annealing is ahead of each fixed sigma, and SmoothNDCG of its rivals."""
    panels = (
        ("schedule", "annealed", "train"),
        ("schedule", "annealed", "test"),
        ("method", "SmoothNDCG", "test"),
    )
    titles = ("Annealing, training NDCG@50", "Annealing, test NDCG@50", "SmoothNDCG, test NDCG@10")
    for ax, (what, base, part), title in zip(axes, panels, titles, strict=True):
        rows = ahead(table, what, base, part)
        names = rows["name"].unique(maintain_order=True).to_list()
        for i, (style, data) in enumerate(
            zip(STYLES, table["data"].unique(maintain_order=True), strict=False)
        ):
            means = summary(rows.filter(data=data), ["name"], ["ahead"], overlap(data, part))
            means = means.with_columns(
                x=means["name"].replace_strict(names, range(len(names))) + 0.15 * (i - 1)
            )
            draw_means(ax, means, "x", "ahead", {**style, "linestyle": "none"}, label=SPELLED[data])
        zero_line(ax)
        words = [
            name.replace("sigma = 2^", "$\\sigma = 2^{") + "}$" if "2^" in name else name
            for name in names
        ]
        ax.set_xticks(range(len(names)), words)
        ax.set(title=title, ylabel=f"NDCG: {base} minus")
    legend(axes[0], fontsize=7)
    explain(table["data"], axes)


def claims(table):
    """Yield the claims for each data set."""
    for data in table["data"].unique(maintain_order=True):
        claim = partial(Claim, table.filter(data=data), "chapelle-wu", low=0.0)
        annealed = {"what": "schedule", "name": "annealed"}
        for part, words in (("train", "training"), ("test", "test")):
            each = [
                claim(
                    "section 4.4.2",
                    f"{data}: annealing ends at a higher {words} NDCG "
                    f"than as many steps at sigma = 2^{power}",
                    part,
                    annealed,
                    {**annealed, "name": f"sigma = 2^{power}"},
                    overlap=overlap(data, part),
                )
                for power in FIXED
            ]
            yield in_every_cell(each)
        paper, place = whose(data, "figure 3")
        method = {"what": "method", "name": "SmoothNDCG"}
        for rival in ("least squares", "RankSVM"):
            text = f"{data}: SmoothNDCG beats {rival}{', its start' if rival != 'RankSVM' else ''}"
            sides = (method, {**method, "name": rival})
            yield Claim(
                table.filter(data=data),
                paper,
                place,
                text,
                "test",
                *sides,
                low=0.0,
                overlap=overlap(data),
            )


if __name__ == "__main__":
    main(__name__)
