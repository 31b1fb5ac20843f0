"""
A linear ranker on your own metric
==================================

The same model is trained once on the usual metric and once on a steep one that looks at the first three results
only, and both are measured by both.
"""

import matplotlib.pyplot as plt
import numpy as np

import dcglearn as dl

data = dl.simulate.letor_queries(n_queries=80, sizes=(20, 40), seed=1)
train, test = data[:50], data[50:]
metrics = {"exponential-log2@10": dl.DCG.standard(3, 10), "steep, top 3": dl.DCG([0, 0.1, 1], [1, 0.5, 0.25])}
rankers = {name: dl.LinearRanker(dl.ApproxNDCG(metric)).fit(train) for name, metric in metrics.items()}
table = np.array([[r.evaluate(test, metric=m).mean() for m in metrics.values()] for r in rankers.values()])

figure, axes = plt.subplots()
axes.imshow(table, cmap="cividis")
axes.set_xticks(range(2), metrics)
axes.set_yticks(range(2), metrics)
axes.set(xlabel="measured by", ylabel="trained on")
for (row, column), value in np.ndenumerate(table):
    axes.text(column, row, f"{value:.3f}", ha="center", va="center", color="white", fontsize=14)
