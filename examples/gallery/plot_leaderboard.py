"""
Does my leaderboard change?
===========================

Six systems rank the documents of fifty queries. Their order under two metrics is drawn
side by side; a crossing line is a pair of systems that swap places.
"""

import numpy as np

import dcglearn as dl

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
figure = dl.plots.slope_figure(order)
dl.plots.save_figure(figure, "leaderboard.png")
figure
