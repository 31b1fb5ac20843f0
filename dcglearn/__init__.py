"""Learn the gains and discounts of DCG from what people preferred, and know how far to trust them.

>>> import dcglearn as dl
>>> truth = dl.simulate.ground_truth("D1")
>>> log = dl.simulate.preference_pairs(truth, 300, random_state=0)
>>> dl.UtilityLearner(C=1.0).fit(log).factor().dcg.score([4, 3, 0]) > 0
np.True_

The names here begin most tasks; the rest is in the modules `io` (logs from anything), `trust` (how
far to trust a fit), `coherence` (whether metrics can disagree), `evaluation`, `losses`, `rankers`,
`simulate`, `exports` and `plots`. `__init__.pyi` lists them. A name is imported when it is first
used, so ``import dcglearn`` is fast.
"""

from dcglearn.foundation.public_names import public_names

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
