"""Learn the gains and discounts of DCG from what people preferred, and know how far to trust them.

>>> import dcglearn as dl
>>> truth = dl.simulate.ground_truth("D1")
>>> log = dl.simulate.preference_pairs(truth, 300, random_state=0)
>>> dl.UtilityLearner(C=1.0).fit(log).factor().dcg.score([4, 3, 0]) > 0
np.True_

`__init__.pyi` lists the public names. A name is imported when it is first used, so ``import
dcglearn`` is fast.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
