"""Public names of `dcglearn.exports`."""

from dcglearn.exports.callables import ir_measure as ir_measure
from dcglearn.exports.callables import lightgbm_callables as lightgbm_callables
from dcglearn.exports.callables import sklearn_scorer as sklearn_scorer
from dcglearn.exports.callables import xgboost_callables as xgboost_callables
from dcglearn.exports.targets import TARGETS as TARGETS
from dcglearn.exports.targets import exported as exported
from dcglearn.exports.targets import to_lenskit as to_lenskit
from dcglearn.exports.targets import to_lightgbm as to_lightgbm
from dcglearn.exports.targets import to_python as to_python
from dcglearn.exports.targets import to_quepid as to_quepid
from dcglearn.exports.targets import to_sentence_transformers as to_sentence_transformers
from dcglearn.exports.targets import to_sql as to_sql

__all__: list[str]
