"""
Annealing
=========

A ranker that begins with a soft metric and sharpens it finds better weights than one that begins sharp: a sharp
metric is flat almost everywhere.
"""

import matplotlib.pyplot as plt

import dcglearn as dl

data = dl.simulate.letor_queries(n_queries=60, sizes=(20, 40), seed=0)
train, test = data[:40], data[40:]
metric = dl.DCG.standard(3, 10)
figure, axes = plt.subplots()
labels = {"auto": "annealed", None: "sharp from the start"}
values = {
    label: [
        dl.LinearRanker(dl.ApproxNDCG(metric, alpha=alpha), annealing=annealing, start="random").fit(train).score(test)
        for alpha in (1, 10, 100)
    ]
    for annealing, label in labels.items()
}
for label, value in values.items():
    axes.plot([1, 10, 100], value, "o-", label=label)
axes.set(xscale="log", xlabel="final sharpness alpha", ylabel="NDCG@10 on test queries")
axes.legend()
