"""Public names of `dcglearn.coherence`."""

from dcglearn.coherence.compatible import Theorem as Theorem
from dcglearn.coherence.compatible import is_compatible as is_compatible
from dcglearn.coherence.compatible import two_grade_theorem as two_grade_theorem
from dcglearn.coherence.pair_shares import Disagreement as Disagreement
from dcglearn.coherence.pair_shares import DisagreementMatrix as DisagreementMatrix
from dcglearn.coherence.pair_shares import disagreement as disagreement
from dcglearn.coherence.pair_shares import disagreement_matrix as disagreement_matrix
from dcglearn.coherence.rank_changes import Swaps as Swaps
from dcglearn.coherence.rank_changes import SystemOrder as SystemOrder
from dcglearn.coherence.rank_changes import system_order as system_order
from dcglearn.coherence.verdict import Coherence as Coherence
from dcglearn.coherence.verdict import Witness as Witness
from dcglearn.coherence.verdict import coherence as coherence

__all__: list[str]
