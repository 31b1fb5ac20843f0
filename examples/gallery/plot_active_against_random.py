"""
Choose the pairs to judge
=========================

`suggest_pairs` asks about the pairs whose verdicts would tell most. The same number of pairs drawn at random tells
less.
"""

import matplotlib.pyplot as plt
import numpy as np

import dcglearn as dl

truth = dl.simulate.ground_truth("D1")
unseen = dl.simulate.preference_pairs(truth, 5000, lists="free", seed=100)
candidates = np.stack([dl.simulate.free_lists(5, 10, 1000, seed=seed) for seed in (1, 2)], axis=1)
rounds, size = 8, 10


def learned(pairs):
    """Return the log of the verdicts on pairs, and the share of new pairs that its DCG orders correctly."""
    log = dl.simulate.judge(truth, pairs[:, 0], pairs[:, 1], temperature=0.3, n_grades=5, seed=3)
    return log, dl.DCGLearner(n_grades=5).fit(log).score(unseen)


asked = candidates[:size]
log, share = learned(asked)
active = [share]
for _ in range(rounds - 1):
    asked = np.concatenate([asked, dl.suggest_pairs(log, candidates, n=size, n_grades=5).pairs])
    log, share = learned(asked)
    active.append(share)
at_random = [learned(candidates[: size * n])[1] for n in range(1, rounds + 1)]

figure, axes = plt.subplots()
judgements = [size * n for n in range(1, rounds + 1)]
axes.plot(judgements, active, "o-", label="chosen by suggest_pairs")
axes.plot(judgements, at_random, "s--", label="drawn at random")
axes.set(xlabel="judgements", ylabel="share of new pairs ordered correctly")
axes.legend()
