"""Rankers: a model of documents' features plus a loss, with scikit-learn's contract and `qid`.

Read `queries.py` first, the data; then `ranker.py`, what all rankers share; then one ranker, such
as `linear.py`.
"""

from dcglearn.foundation.public_names import public_names

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
