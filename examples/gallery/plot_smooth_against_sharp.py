"""
Smooth metrics against the sharp one
====================================

One document's score moves past those of the others. NDCG jumps when it overtakes one;
smooth metrics follow, the closer the sharper they are.
"""

import matplotlib.pyplot as plt
import numpy as np

import dcglearn as dl

plt.style.use(dl.plots.PRINT_STYLE)
metric = dl.DCG.standard(3, 5)
grades = [2, 1, 0, 1, 0]
others = [0.2, 0.4, 0.6, 0.8]
moving = np.linspace(0, 1, 200)
figure, axes = plt.subplots(figsize=(4.5, 3), layout="constrained")
sharp = [
    metric.ndcg([np.array(grades)[np.argsort(-np.array([x, *others]))]])[0]
    for x in moving
]
axes.plot(moving, sharp, color="black", label="NDCG")
for alpha in (5, 20, 100):
    loss = dl.losses.ApproxNDCG(metric, alpha=alpha, depth=None)
    axes.plot(
        moving,
        [loss([x, *others], grades)[0] for x in moving],
        label=f"ApproxNDCG, alpha = {alpha}",
    )
axes.set(xlabel="score of the best document", ylabel="value")
axes.legend()
plt.show()
