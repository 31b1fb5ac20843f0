"""Public names of `dcglearn.rankers`."""

from dcglearn.rankers.linear import LinearRanker as LinearRanker
from dcglearn.rankers.linear_model import RankSVMRanker as RankSVMRanker
from dcglearn.rankers.linear_model import RidgeRanker as RidgeRanker
from dcglearn.rankers.model_files import load_ranker as load_ranker
from dcglearn.rankers.pairwise import PairwiseRanker as PairwiseRanker
from dcglearn.rankers.queries import Queries as Queries
from dcglearn.rankers.svmlight import read_queries as read_queries
from dcglearn.rankers.trees import BoostedRanker as BoostedRanker

__all__: list[str]
