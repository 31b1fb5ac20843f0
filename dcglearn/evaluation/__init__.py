"""Evaluation of runs by judgements: (N)DCG of every query, paired tests between systems.

Read `run_values.py` first. `ranked.py` joins runs with
judgements, `arrays.py` evaluates plain arrays, and `system_tests.py` tests differences.
"""

from dcglearn.foundation.public_names import public_names

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
