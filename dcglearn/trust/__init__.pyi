"""Public names of `dcglearn.trust`."""

from dcglearn.audits.audit import audit as audit
from dcglearn.foundation.finding import Report as Report
from dcglearn.learning.factoring import Factoring as Factoring
from dcglearn.raters.rater_agreement import RaterAgreement as RaterAgreement
from dcglearn.raters.rater_agreement import rater_agreement as rater_agreement
from dcglearn.raters.repeats import reconciled as reconciled
from dcglearn.trust.band_draws import Bands as Bands
from dcglearn.trust.band_draws import bands as bands
from dcglearn.trust.calibration import Calibration as Calibration
from dcglearn.trust.ceiling import NoiseCeiling as NoiseCeiling
from dcglearn.trust.ceiling import noise_ceiling as noise_ceiling
from dcglearn.trust.comparison import Comparison as Comparison
from dcglearn.trust.cross_validation import ChosenC as ChosenC
from dcglearn.trust.cross_validation import choose_C as choose_C
from dcglearn.trust.deciding import Deciding as Deciding
from dcglearn.trust.deciding import what_if as what_if
from dcglearn.trust.graders import GraderComparison as GraderComparison
from dcglearn.trust.graders import compare_graders as compare_graders
from dcglearn.trust.held_out import compare_learners as compare_learners
from dcglearn.trust.llm import LLMReport as LLMReport
from dcglearn.trust.llm import llm_report as llm_report
from dcglearn.trust.next_pairs import Questions as Questions
from dcglearn.trust.next_pairs import suggest_pairs as suggest_pairs
from dcglearn.trust.product_form import PositionTest as PositionTest
from dcglearn.trust.product_form import position_dependence as position_dependence
from dcglearn.trust.segments import SegmentTest as SegmentTest
from dcglearn.trust.segments import segment_test as segment_test
from dcglearn.trust.similarities import identifiable_similarity as identifiable_similarity
from dcglearn.trust.similarities import similarity as similarity

__all__: list[str]
