"""Public names, each listed once: type checkers read this file, and `dcglearn` imports by it."""

from types import ModuleType
from typing import Any

from dcglearn import evaluation as evaluation
from dcglearn import exports as exports
from dcglearn import io as io
from dcglearn import losses as losses
from dcglearn import plots as plots
from dcglearn import rankers as rankers
from dcglearn import simulate as simulate
from dcglearn import trust as trust
from dcglearn.audits.audit import audit as audit
from dcglearn.coherence.disagreements import disagreement as disagreement
from dcglearn.coherence.order_of_systems import system_order as system_order
from dcglearn.coherence.verdict import coherence as _coherence
from dcglearn.estimators.learners import DCGLearner as DCGLearner
from dcglearn.estimators.learners import UtilityLearner as UtilityLearner
from dcglearn.evaluation.arrays import evaluate_arrays as evaluate_arrays
from dcglearn.evaluation.run_values import evaluate as evaluate
from dcglearn.evaluation.system_tests import compare_systems as compare_systems
from dcglearn.foundation.validation import InputError as InputError
from dcglearn.foundation.version import __version__ as __version__
from dcglearn.metrics.dcg import DCG as DCG
from dcglearn.metrics.dcg import Utility as Utility
from dcglearn.metrics.dcg import textbook_dcgs as textbook_dcgs
from dcglearn.metrics.reading import metric as metric
from dcglearn.rankers.linear import LinearRanker as LinearRanker
from dcglearn.rankers.model_files import load_ranker as load_ranker
from dcglearn.rankers.queries import Queries as Queries
from dcglearn.rankers.svmlight import read_queries as read_queries
from dcglearn.rankers.trees import BoostedRanker as BoostedRanker
from dcglearn.raters.rater_agreement import rater_agreement as rater_agreement
from dcglearn.reading.judgements import read_judgements as read_judgements
from dcglearn.reading.preferences import Preferences as Preferences
from dcglearn.reading.read import read_preferences as read_preferences
from dcglearn.reading.read import read_ratings as read_ratings
from dcglearn.reading.runs import read_runs as read_runs
from dcglearn.reading.shapes import from_long as from_long
from dcglearn.reading.shapes import with_grades as with_grades
from dcglearn.trust.band_draws import bands as bands
from dcglearn.trust.ceiling import noise_ceiling as noise_ceiling
from dcglearn.trust.graders import compare_graders as compare_graders
from dcglearn.trust.held_out import compare_learners as compare_learners
from dcglearn.trust.next_pairs import suggest_pairs as suggest_pairs

__all__: list[str]

class _CallableModule(ModuleType):
    __call__ = staticmethod(_coherence)

    def __getattr__(self, name: str) -> Any: ...

coherence: _CallableModule
