"""A DCG in other tools: programs, settings or callables, and errors where values would differ."""

from dcglearn.exports.callables import (
    ir_measure,
    lightgbm_callables,
    sklearn_scorer,
    xgboost_callables,
)
from dcglearn.exports.programs import to_python, to_quepid, to_sql
from dcglearn.exports.settings import (
    cwl_continuation,
    cwl_gains,
    integer_gains,
    is_log2,
    to_lightgbm,
    to_trec_eval,
)
from dcglearn.exports.targets import TARGETS, exported

__all__ = [
    "TARGETS", "cwl_continuation", "cwl_gains", "exported", "integer_gains", "ir_measure",
    "is_log2", "lightgbm_callables", "sklearn_scorer", "to_lightgbm", "to_python", "to_quepid",
    "to_sql", "to_trec_eval", "xgboost_callables",
]  # fmt: skip
