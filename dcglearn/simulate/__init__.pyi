"""Public names of `dcglearn.simulate`."""

from dcglearn.rankers.simulated_queries import letor_queries as letor_queries
from dcglearn.rankers.simulated_queries import nonlinear_queries as nonlinear_queries
from dcglearn.simulate.judges import LIST_PAIRS as LIST_PAIRS
from dcglearn.simulate.judges import ground_truth as ground_truth
from dcglearn.simulate.judges import judge as judge
from dcglearn.simulate.judges import machine_verdicts as machine_verdicts
from dcglearn.simulate.judges import preference_pairs as preference_pairs
from dcglearn.simulate.judges import ungraded_pairs as ungraded_pairs
from dcglearn.simulate.lists import PAPER_LIST as PAPER_LIST
from dcglearn.simulate.lists import free_lists as free_lists
from dcglearn.simulate.lists import noisy_grades as noisy_grades
from dcglearn.simulate.lists import permutations as permutations

__all__: list[str]
