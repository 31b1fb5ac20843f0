"""
How many judgements?
====================

The share of new pairs that the learned DCG orders as the truth does, by the number of
judgements. With 10% wrong verdicts a few hundred are enough here; the textbook DCG
stays where it is.
"""

import matplotlib.pyplot as plt

import dcglearn as dl

plt.style.use(dl.plots.PRINT_STYLE)
truth = dl.DCG(
    [0, 0.15, 0.45, 0.85, 1.0], [1, 0.9, 0.75, 0.5, 0.35, 0.25, 0.2, 0.16, 0.13, 0.1]
)
unseen = dl.simulate.preference_pairs(truth, 5000, lists="free", random_state=100)
counts = [20, 50, 100, 200, 500]
figure, axes = plt.subplots(figsize=(4.5, 3), layout="constrained")
for rate, colour in ((0.0, "C0"), (0.1, "C1")):
    log = dl.simulate.preference_pairs(
        truth, max(counts), lists="free", flip_rate=rate, random_state=1
    )
    shares = [dl.DCGLearner(n_grades=5).fit(log[:n]).score(unseen) for n in counts]
    axes.plot(
        counts, shares, "o-", color=colour, label=f"learned, {rate:.0%} wrong verdicts"
    )
textbook = dl.DCG.standard(5, 10)
right = textbook.score(unseen.preferred) > textbook.score(unseen.other)
axes.axhline(right.mean(), color="0.4", linestyle="--", label="exponential-log2")
axes.set(
    xscale="log", xlabel="judgements", ylabel="share of new pairs ordered correctly"
)
axes.set_xticks(counts, counts)
axes.minorticks_off()
axes.set_title("Twenty judgements beat the textbook here", loc="left")
axes.legend()
plt.show()
