"""
Export, and the same values elsewhere
=====================================

A metric written as plain Python gives the values that it gives here. ``dcglearn export
--to list`` shows the other targets.
"""

import matplotlib.pyplot as plt
import numpy as np

import dcglearn as dl

plt.style.use(dl.plots.PRINT_STYLE)
metric = dl.DCG([0, 0.15, 0.45, 0.85, 1.0], [1, 0.9, 0.75, 0.5, 0.35])
elsewhere = {}
exec(dl.exports.to_python(metric), elsewhere)  # a service would import it as a file

lists = np.random.default_rng(0).integers(0, 5, (200, 5))
there = [elsewhere["dcg"](grades.tolist()) for grades in lists]
here = metric.score(lists)
figure, axes = plt.subplots(figsize=(4.5, 3), layout="constrained")
axes.plot(here, there, ".")
axes.set(
    xlabel="DCG here",
    ylabel="DCG of the exported code",
    title=f"Largest difference: {abs(here - there).max():.0g}",
)
plt.show()
