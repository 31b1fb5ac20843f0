"""Data of known truth: metrics, judges who err, logs and queries. Read `judges.py` first."""

from dcglearn.foundation.public_names import public_names

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
