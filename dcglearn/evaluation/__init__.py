"""Evaluation of runs by judgements: (N)DCG of every query, paired tests between systems.

Read `kernel.py` first. `ranked.py` joins runs with judgements, `run_values.py` and `arrays.py`
value them, `system_tests.py` tests differences, `conventions.py` explains values from elsewhere.
"""

from dcglearn.foundation.public_names import public_names

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
