"""Public names of `dcglearn.evaluation`."""

from dcglearn.evaluation.arrays import evaluate_arrays as evaluate_arrays
from dcglearn.evaluation.explained_values import ExplainedValues as ExplainedValues
from dcglearn.evaluation.explained_values import explain_values as explain_values
from dcglearn.evaluation.gate import Gate as Gate
from dcglearn.evaluation.people import People as People
from dcglearn.evaluation.rank_intervals import Ranks as Ranks
from dcglearn.evaluation.run_values import Evaluation as Evaluation
from dcglearn.evaluation.run_values import evaluate as evaluate
from dcglearn.evaluation.system_tests import SystemComparison as SystemComparison
from dcglearn.evaluation.system_tests import compare_systems as compare_systems
from dcglearn.metrics.judges import Judges as Judges
from dcglearn.metrics.judges import LearnedFrom as LearnedFrom
from dcglearn.metrics.list_utility import ListUtility as ListUtility
from dcglearn.metrics.saved_metric import ScaleWarning as ScaleWarning
from dcglearn.reading.judgements import Judgements as Judgements
from dcglearn.reading.judgements import read_judgements as read_judgements
from dcglearn.reading.runs import Run as Run
from dcglearn.reading.runs import read_runs as read_runs

__all__: list[str]
