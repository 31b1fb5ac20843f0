"""Chapelle and Wu, section 4.4.2 and figure 3: annealing, and SmoothNDCG against its start.

Annealing is compared with a fixed sigma.
"""

from functools import partial

import dcglearn as dl
from simulations.claims import Claim, in_every_cell
from simulations.ranking_data import NO_CONFLICT, split
from simulations.run import forest

REPEATS, PANELS, FIGSIZE = 20, 3, (10.0, 2.8)
POWERS, FIXED = tuple(range(6, -7, -1)), (6, 2, -2, -6)
"""Powers of 2 that sigma passes through, as in the paper, and those at which it stays."""

ITERATIONS, WEIGHTS = 10, (0.01, 1.0, 100.0)
"""Iterations for each sigma, and weights of the distance from the start.

A fixed sigma has as many iterations as all sigmas of the annealing together.
"""

TRAINED, JUDGED = 50, 10
"""Depths of NDCG in training and in figure 3."""


def trial(rng, quick):
    """Train with each schedule from the same start; then train SmoothNDCG and its rivals.

    Validation queries choose SmoothNDCG's weight of the distance from the start.
    """
    train, valid, test = split(rng, NO_CONFLICT, quick)
    loss = dl.losses.SmoothNDCG(dl.DCG.standard(train.n_grades, TRAINED))
    powers, n = (POWERS[::6], 3) if quick else (POWERS, ITERATIONS)

    def trained(powers, n, l2, chosen_on):
        annealing = [2.0 ** (-power / 2) for power in powers]  # how sharp scores are taken
        ranker = dl.LinearRanker(loss, l2=l2, max_iter=n, annealing=annealing)
        return ranker.fit(train, eval_set=chosen_on)

    # the schedules
    each = {"annealed": (powers, n)} | {f"sigma = 2^{p}": ((p,), n * len(powers)) for p in FIXED}
    records = []
    for name, (through, iterations) in each.items():
        end = trained(through, iterations, WEIGHTS[0], test).history_[-1]
        ends = {"train": end["train"], "test": end["valid"]}
        records.append({"what": "schedule", "name": name, **ends})

    # SmoothNDCG and its rivals
    smooth = [trained(powers, n, l2, valid) for l2 in WEIGHTS]
    rankers = {
        "SmoothNDCG": max(smooth, key=lambda ranker: ranker.evaluate(valid).mean()),
        "least squares": dl.rankers.RidgeRanker(loss.dcg).fit(train),
        "RankSVM": dl.rankers.RankSVMRanker().fit(train),
    }

    # by NDCG at the depth of figure 3
    judge = dl.DCG.standard(train.n_grades, JUDGED)
    for name, ranker in rankers.items():
        parts = {"train": train, "test": test}
        ends = {part: float(ranker.evaluate(of, metric=judge).mean()) for part, of in parts.items()}
        records.append({"what": "method", "name": name, **ends})
    return records


def settings(quick):
    """Return the one setting."""
    return [{"quick": quick}]


def plot(table, axes, headline):
    """Draw how far annealing is ahead of each fixed sigma, and SmoothNDCG of its rivals."""
    panels = (
        ("schedule", "annealed", "train", "Annealing, training NDCG@50"),
        ("schedule", "annealed", "test", "Annealing, test NDCG@50"),
        ("method", "SmoothNDCG", "test", "SmoothNDCG, test NDCG@10"),
    )
    for ax, (what, base, part, title) in zip(axes, panels, strict=True):
        rows = table.filter(what=what).sort("repeat")
        own = rows.filter(name=base)[part]
        names = [name for name in rows["name"].unique(maintain_order=True) if name != base]
        forest(ax, names, [own - rows.filter(name=name)[part] for name in names])
        ax.locator_params(axis="x", nbins=5)
        ax.set(title=title, xlabel=f"NDCG: {base} minus")


def claims(table):
    """Yield the claims on annealing, of the sigma nearest to failing, and on SmoothNDCG."""
    claim = partial(Claim, table, "chapelle-wu", low=0.0)
    annealed = {"what": "schedule", "name": "annealed"}
    for part, words in (("train", "training"), ("test", "test")):
        start = f"annealing ends at a higher {words} NDCG than as many steps at sigma = 2^"
        each = []
        for p in FIXED:
            fixed = {**annealed, "name": f"sigma = 2^{p}"}
            each.append(claim("section 4.4.2", f"{start}{p}", part, annealed, fixed))
        yield in_every_cell(each)
    own = {"what": "method", "name": "SmoothNDCG"}
    for rival, words in (("least squares", "least squares, its start"), ("RankSVM", "RankSVM")):
        yield claim("figure 3", f"SmoothNDCG beats {words}", "test", own, {**own, "name": rival})
