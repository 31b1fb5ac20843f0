"""Public names of `dcglearn.coherence`."""

from dcglearn.coherence.disagreements import Disagreement as Disagreement
from dcglearn.coherence.disagreements import DisagreementMatrix as DisagreementMatrix
from dcglearn.coherence.disagreements import disagreement as disagreement
from dcglearn.coherence.disagreements import disagreement_matrix as disagreement_matrix
from dcglearn.coherence.order_of_systems import SystemOrder as SystemOrder
from dcglearn.coherence.order_of_systems import system_order as system_order
from dcglearn.coherence.theorems import Theorem as Theorem
from dcglearn.coherence.theorems import innate_order as innate_order
from dcglearn.coherence.theorems import is_compatible as is_compatible
from dcglearn.coherence.theorems import two_grade_theorem as two_grade_theorem
from dcglearn.coherence.verdict import Coherence as Coherence
from dcglearn.coherence.verdict import Witness as Witness
from dcglearn.coherence.verdict import coherence as coherence

__all__: list[str]
