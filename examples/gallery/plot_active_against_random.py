"""
Choose the pairs to judge
=========================

``suggest_pairs`` asks about the pairs whose verdicts would tell most. The truth orders
lists as a textbook DCG does, so any twenty pairs are nearly enough; later the chosen
ones teach more. Judges err in 10% of the pairs; each point is the mean of three pools.
"""

import matplotlib.pyplot as plt
import numpy as np

import dcglearn as dl

plt.style.use(dl.plots.PRINT_STYLE)
truth = dl.simulate.ground_truth("D1")
unseen = dl.simulate.preference_pairs(truth, 5000, random_state=100)
batch, rounds, pools = 20, 5, 3


def learned(pairs):
    """Return verdicts on pairs, and the share of new pairs that their DCG orders."""
    log = dl.simulate.judge(
        truth, pairs[:, 0], pairs[:, 1], flip_rate=0.1, n_grades=5, random_state=3
    )
    return log, dl.DCGLearner(n_grades=5).fit(log).score(unseen)


chosen, drawn = np.empty((pools, rounds)), np.empty((pools, rounds))
for pool in range(pools):
    lists = [
        dl.simulate.permutations(
            dl.simulate.PAPER_LIST, 1000, random_state=10 * pool + side
        )
        for side in (1, 2)
    ]
    candidates = np.stack(lists, axis=1)
    asked = candidates[:batch]
    for n in range(rounds):
        log, chosen[pool, n] = learned(asked)
        drawn[pool, n] = learned(candidates[: batch * (n + 1)])[1]
        asked = np.concatenate(
            [asked, dl.suggest_pairs(log, candidates, n=batch, n_grades=5).pairs]
        )

figure, axes = plt.subplots(figsize=(4.5, 3), layout="constrained")
judgements = batch * np.arange(1, rounds + 1)
axes.plot(judgements, chosen.mean(axis=0), "o-", label="chosen by suggest_pairs")
axes.plot(judgements, drawn.mean(axis=0), "s--", label="drawn at random")
axes.set(xlabel="judgements", ylabel="share of new pairs ordered correctly")
axes.legend()
plt.show()
