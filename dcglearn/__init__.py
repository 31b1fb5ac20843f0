"""Learn the gains and discounts of DCG from what people preferred, and know how far to trust them.

>>> import dcglearn as dl
>>> truth = dl.simulate.ground_truth("D1")
>>> log = dl.simulate.preference_pairs(truth, 300, seed=0)
>>> dl.UtilityLearner(C=1.0).fit(log).factor().dcg.score([4, 3, 0]) > 0
np.True_

Names are imported when they are first used, so that ``import dcglearn`` costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dcglearn.active import suggest_pairs as suggest_pairs
    from dcglearn.array_evaluation import evaluate_arrays as evaluate_arrays
    from dcglearn.certificates import coherence as coherence
    from dcglearn.certificates import regret_curve as regret_curve
    from dcglearn.compare import compare_learners as compare_learners
    from dcglearn.comparison import compare_systems as compare_systems
    from dcglearn.compatible import flip_points as flip_points
    from dcglearn.compatible import is_compatible as is_compatible
    from dcglearn.compatible import optimal_rankings as optimal_rankings
    from dcglearn.compatible import two_grade_theorem as two_grade_theorem
    from dcglearn.dcg import DCG as DCG
    from dcglearn.dcg import Utility as Utility
    from dcglearn.dcg import gauge_free_similarity as gauge_free_similarity
    from dcglearn.dcg import similarity as similarity
    from dcglearn.dcg import textbook_dcgs as textbook_dcgs
    from dcglearn.dcg_learner import DCGLearner as DCGLearner
    from dcglearn.disagreements import disagreement as disagreement
    from dcglearn.disagreements import disagreement_matrix as disagreement_matrix
    from dcglearn.distributed import DaskLog as DaskLog
    from dcglearn.evaluation import evaluate as evaluate
    from dcglearn.inference import bootstrap_bands as bootstrap_bands
    from dcglearn.inference import ridge_path as ridge_path
    from dcglearn.learn import UtilityLearner as UtilityLearner
    from dcglearn.learn import choose_C as choose_C
    from dcglearn.letor import letor_experiment as letor_experiment
    from dcglearn.letor_folders import letor_folds as letor_folds
    from dcglearn.letor_folders import write_folds as write_folds
    from dcglearn.losses import SDCG as SDCG
    from dcglearn.losses import SHFSDCG as SHFSDCG
    from dcglearn.losses import ApproxAP as ApproxAP
    from dcglearn.losses import ApproxNDCG as ApproxNDCG
    from dcglearn.losses import GBRank as GBRank
    from dcglearn.losses import LambdaRank as LambdaRank
    from dcglearn.losses import ListNet as ListNet
    from dcglearn.losses import RankHinge as RankHinge
    from dcglearn.losses import Regression as Regression
    from dcglearn.losses import RegSHFSDCG as RegSHFSDCG
    from dcglearn.losses import RSRank as RSRank
    from dcglearn.losses import SmoothAP as SmoothAP
    from dcglearn.losses import SmoothNDCG as SmoothNDCG
    from dcglearn.losses import SoftRankNDCG as SoftRankNDCG
    from dcglearn.parquet_log import ParquetLog as ParquetLog
    from dcglearn.position_test import position_dependence as position_dependence
    from dcglearn.preferences import Preferences as Preferences
    from dcglearn.preferences import encode as encode
    from dcglearn.queries import Queries as Queries
    from dcglearn.ranges import consistent_ranges as consistent_ranges
    from dcglearn.rankers.adarank import AdaRankRanker as AdaRankRanker
    from dcglearn.rankers.baselines import RankSVMRanker as RankSVMRanker
    from dcglearn.rankers.baselines import RidgeRanker as RidgeRanker
    from dcglearn.rankers.dask_trees import DaskBoostedRanker as DaskBoostedRanker
    from dcglearn.rankers.linear import LinearRanker as LinearRanker
    from dcglearn.rankers.model_files import load_ranker as load_ranker
    from dcglearn.rankers.reduction import PairwiseRanker as PairwiseRanker
    from dcglearn.rankers.sparse import SparseRanker as SparseRanker
    from dcglearn.rankers.trees import BoostedRanker as BoostedRanker
    from dcglearn.readers import read_preferences as read_preferences
    from dcglearn.readers import read_questions as read_questions
    from dcglearn.readers import read_ratings as read_ratings
    from dcglearn.robustness import dominance as dominance
    from dcglearn.run_input import read_judgements as read_judgements
    from dcglearn.run_input import read_runs as read_runs
    from dcglearn.svmlight import read_queries as read_queries
    from dcglearn.systems import system_order as system_order
    from dcglearn.trec import Judgements as Judgements
    from dcglearn.trec import Run as Run
    from dcglearn.validation import InputError as InputError

    from . import exports as exports
    from . import losses as losses
    from . import plots as plots
    from . import simulate as simulate

__version__ = "0.1.0"

_HOMES = {
    "AdaRankRanker": "rankers.adarank",
    "ApproxAP": "losses",
    "ApproxNDCG": "losses",
    "BoostedRanker": "rankers.trees",
    "bootstrap_bands": "inference",
    "choose_C": "learn",
    "coherence": "certificates",
    "compare_learners": "compare",
    "compare_systems": "comparison",
    "consistent_ranges": "ranges",
    "DaskBoostedRanker": "rankers.dask_trees",
    "DaskLog": "distributed",
    "DCG": "dcg",
    "DCGLearner": "dcg_learner",
    "disagreement": "disagreements",
    "disagreement_matrix": "disagreements",
    "dominance": "robustness",
    "encode": "preferences",
    "evaluate": "evaluation",
    "evaluate_arrays": "array_evaluation",
    "exports": "",
    "flip_points": "compatible",
    "gauge_free_similarity": "dcg",
    "GBRank": "losses",
    "InputError": "validation",
    "is_compatible": "compatible",
    "Judgements": "trec",
    "LambdaRank": "losses",
    "letor_experiment": "letor",
    "letor_folds": "letor_folders",
    "LinearRanker": "rankers.linear",
    "ListNet": "losses",
    "load_ranker": "rankers.model_files",
    "losses": "",
    "optimal_rankings": "compatible",
    "PairwiseRanker": "rankers.reduction",
    "ParquetLog": "parquet_log",
    "plots": "",
    "position_dependence": "position_test",
    "Preferences": "preferences",
    "Queries": "queries",
    "RankHinge": "losses",
    "RankSVMRanker": "rankers.baselines",
    "read_judgements": "run_input",
    "read_preferences": "readers",
    "read_queries": "svmlight",
    "read_questions": "readers",
    "read_ratings": "readers",
    "read_runs": "run_input",
    "Regression": "losses",
    "regret_curve": "certificates",
    "RegSHFSDCG": "losses",
    "ridge_path": "inference",
    "RidgeRanker": "rankers.baselines",
    "RSRank": "losses",
    "Run": "trec",
    "SDCG": "losses",
    "SHFSDCG": "losses",
    "similarity": "dcg",
    "simulate": "",
    "SmoothAP": "losses",
    "SmoothNDCG": "losses",
    "SoftRankNDCG": "losses",
    "SparseRanker": "rankers.sparse",
    "suggest_pairs": "active",
    "system_order": "systems",
    "textbook_dcgs": "dcg",
    "two_grade_theorem": "compatible",
    "Utility": "dcg",
    "UtilityLearner": "learn",
    "write_folds": "letor_folders",
}

__all__ = ["__version__", *_HOMES]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'dcglearn' has no attribute {name!r}")
    home = _HOMES[name]
    found = getattr(import_module(f"dcglearn.{home}"), name) if home else import_module(f"dcglearn.{name}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
