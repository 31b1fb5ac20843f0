"""
Audit the metric in use
=======================

``audit`` asks all that this package can answer of one log and one metric, says it in a
sentence each, and writes a page to send round. The picture is one of the answers: the
share of held-out judgements that each metric respects.
"""

import matplotlib.pyplot as plt

import dcglearn as dl

plt.style.use(dl.plots.PRINT_STYLE)
truth = dl.DCG([0, 0.15, 0.45, 0.85, 1.0], [1, 0.9, 0.75, 0.5, 0.35])
log = dl.simulate.preference_pairs(
    truth, 300, lists="free", flip_rate=0.05, random_state=0
)
report = dl.audit(log, "exponential-log2")
report.save("audit.html")
print(report)

shares = report["new judgements"].table.reverse()
figure, axes = plt.subplots(figsize=(6.5, 3), layout="constrained")
axes.barh(shares["metric"].to_list(), shares["share"].to_list())
axes.set(xlim=(0.5, 1), xlabel="Share of held-out judgements respected")
plt.show()
