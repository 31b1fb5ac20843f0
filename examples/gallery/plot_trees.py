"""
Boosted trees on your own metric
================================

LightGBM grows the trees, dcglearn says where they should go. Validation NDCG of the
metric that was trained on, tree by tree.
"""

import matplotlib.pyplot as plt

import dcglearn as dl

plt.style.use(dl.plots.PRINT_STYLE)
data = dl.simulate.nonlinear_queries(n_queries=120, random_state=0)
train, valid = data[:80], data[80:]
steep = dl.DCG([0, 0, 0.1, 0.4, 1], [1, 0.5, 0.25, 0.12, 0.06])
figure, axes = plt.subplots(figsize=(4.5, 3), layout="constrained")
for loss, name in (
    (dl.losses.RegSHFSDCG(steep), "trained on it"),
    (dl.losses.Regression(steep), "regression on its gains"),
):
    values = []
    for n_trees in (5, 20, 60):
        ranker = dl.BoostedRanker(
            loss, n_trees=n_trees, metric=steep, verbosity=-1
        ).fit(train)
        values.append(ranker.evaluate(valid, metric=steep).mean())
    axes.plot([5, 20, 60], values, "o-", label=name)
axes.set(xlabel="trees", ylabel="NDCG on validation queries")
axes.legend()
plt.show()
