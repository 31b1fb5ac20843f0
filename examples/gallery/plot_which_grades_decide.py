"""
Which grades decide?
====================

The worth of each grade at each position, under a habit and under a learned metric:
where a curve is high or steep, a change of the ranking changes the value.
"""

import matplotlib.pyplot as plt

import dcglearn as dl

plt.style.use(dl.plots.PRINT_STYLE)
log = dl.simulate.preference_pairs(
    dl.simulate.ground_truth("D1"), 400, lists="free", flip_rate=0.05, random_state=3
)
metrics = {
    "exponential-log2": dl.DCG.standard(5, 10),
    "learned": dl.DCGLearner().fit(log).dcg_,
}
figure, panels = plt.subplots(1, 2, sharey=True, figsize=(7, 3), layout="constrained")
for axes, (name, metric) in zip(panels, metrics.items(), strict=True):
    weights = metric.discounts[:, None] * metric.gains
    for grade in range(1, metric.n_grades):
        axes.plot(
            range(1, metric.depth + 1),
            weights[:, grade] / weights.max(),
            "o-",
            label=f"grade {grade}",
        )
    axes.set(title=name, xlabel="position")
panels[0].set_ylabel("worth (largest = 1)")
panels[0].legend()
plt.show()
