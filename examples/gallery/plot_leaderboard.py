"""
Does my leaderboard change?
===========================

Six systems rank the documents of fifty queries. Their order under two metrics is drawn
side by side; a crossing line is a pair of systems that swap places.
"""

import matplotlib.pyplot as plt
import numpy as np

import dcglearn as dl

plt.style.use(dl.plots.PRINT_STYLE)

rng = np.random.default_rng(5)
grades = {
    f"q{q}": {f"d{d}": int(g) for d, g in enumerate(rng.integers(0, 5, 30))}
    for q in range(50)
}
runs = {}
for s in range(6):  # early noise for some systems, late noise for others
    noise = 1.0 + 0.25 * s
    runs[f"system {s + 1}"] = {
        q: {
            d: (1.6 * (g == 4) if s % 2 else 0.5 * g) + rng.normal(0, noise)
            for d, g in judged.items()
        }
        for q, judged in grades.items()
    }
metrics = ["linear-log2@10", "exponential-log2@10"]
order = dl.system_order(grades, runs, metrics)

# in orange: systems whose order changes beyond chance
swapped = {name for swap in order.swaps if swap.beyond_chance for name in swap.systems}

figure, axes = plt.subplots(figsize=(5.0, 2.5), layout="constrained")
for system, ranks in zip(order.evaluation.runs, order.ranks, strict=True):
    colour = "C1" if system in swapped else "0.5"
    axes.plot(metrics, ranks, marker="o", color=colour)
axes.set_yticks(order.ranks[:, 0], order.evaluation.runs)
axes.invert_yaxis()
plt.show()
