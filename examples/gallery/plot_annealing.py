"""
Annealing
=========

Four random starts of a linear ranker on SmoothNDCG. A sharp metric is flat almost
everywhere, so a descent that begins sharp stops near its start. Annealing begins soft
and sharpens step by step.
"""

import matplotlib.pyplot as plt
import numpy as np

import dcglearn as dl

plt.style.use(dl.plots.PRINT_STYLE)
train = dl.simulate.letor_queries(n_queries=40, sizes=(20, 40), random_state=0)
metric = dl.DCG.standard(3, 10)
figure, axes = plt.subplots(figsize=(4.5, 3), layout="constrained")
for place, (annealing, label) in enumerate(
    [(None, "sharp from the start"), ("auto", "annealed")]
):
    rankers = [
        dl.LinearRanker(
            dl.losses.SmoothNDCG(metric),
            annealing=annealing,
            start="random",
            random_state=seed,
        ).fit(train)
        for seed in range(4)
    ]
    values = [ranker.evaluate(train, metric=metric).mean() for ranker in rankers]
    axes.plot(np.arange(4), values, "os"[place], markersize=9, label=label)
axes.set_xticks(np.arange(4), [f"start {seed + 1}" for seed in range(4)])
axes.set(
    ylabel="NDCG@10 reached in training",
    title="Annealing reaches more from every start",
)
axes.legend()
plt.show()
