"""
A linear ranker on your own metric
==================================

For these users a fair result is nearly as good as a good one, and they read the whole
page. The same model, trained on the usual metric and on theirs, and measured by both.
"""

import matplotlib.pyplot as plt
import numpy as np

import dcglearn as dl

plt.style.use(dl.plots.PRINT_STYLE)
data = dl.simulate.letor_queries(n_queries=100, sizes=(20, 40), random_state=1)
train, test = data[:60], data[60:]
patient = dl.DCG(gains=[0, 0.9, 1], discounts=0.97 ** np.arange(10))
metrics = {"exponential-log2@10": dl.DCG.standard(3, 10), "theirs": patient}
rankers = [
    dl.LinearRanker(dl.losses.ApproxNDCG(metric)).fit(train)
    for metric in metrics.values()
]
table = np.array(
    [
        [ranker.evaluate(test, metric=metric).mean() for metric in metrics.values()]
        for ranker in rankers
    ]
)

figure, axes = plt.subplots(figsize=(4.5, 3.6), layout="constrained")
axes.imshow(table, cmap="cividis", vmin=0.3, vmax=0.9)
axes.set_xticks(range(2), metrics)
axes.set_yticks(range(2), metrics)
axes.set(
    xlabel="measured by",
    ylabel="trained on",
    title="Each metric favours its own ranker\n(NDCG@10 on test queries)",
)
for (row, column), value in np.ndenumerate(table):
    axes.text(
        column,
        row,
        f"{value:.3f}",
        ha="center",
        va="center",
        color="white",
        fontsize=14,
    )
plt.show()
