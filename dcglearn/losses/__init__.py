"""Objectives: smooth metrics and losses of scores.

The signature is ``objective(scores, grades, offsets, weight) -> (value, gradient)``.

Read `objective.py` first, for what all of them share, then `approx.py`: the DCG at soft ranks.
Objectives are classes with few lines; the sums over documents are C, behind the functions of the
``*_kernel.py`` files, each of which has a slow twin in the tests. `descent.py` turns any objective
into the gradient and Hessian that a booster takes.
"""

from dcglearn.foundation.public_names import public_names

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
