"""
Learn a DCG, with bands
=======================

Five hundred judgements, 5% of them wrong, give these gains and discounts. The bands say
how far they would move with another log of this size; the dashed curve is the truth
that the simulated judges followed.
"""

import dcglearn as dl

truth = dl.DCG(
    [0, 0.15, 0.45, 0.85, 1.0], [1, 0.9, 0.75, 0.5, 0.35, 0.25, 0.2, 0.16, 0.13, 0.1]
)
log = dl.simulate.preference_pairs(
    truth, 500, lists="free", flip_rate=0.05, random_state=0
)
learner = dl.DCGLearner().fit(log)
bands = dl.bands(log, learner)
figure = dl.plots.banded_figure(learner, {"truth": truth}, bands)
dl.plots.save_figure(figure, "learn_and_bands.png")
figure
