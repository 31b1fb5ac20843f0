"""Frozen descriptions of fits, and results: the QP's utility, or gains, discounts and judges."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, TypeAlias

import numpy as np

from dcglearn.foundation.validation import (
    Counts,
    Fields,
    Floats,
    InputError,
    InputTypeError,
    flag,
    one_of,
    scale_size,
    whole_number,
    within,
)
from dcglearn.learning.factoring import Factoring, factor
from dcglearn.learning.judgement_kernel import LIKELIHOOD, SIGMOID, chances
from dcglearn.metrics.dcg import DCG, Utility
from dcglearn.metrics.reading import (
    ONLY_DCG,
    MetricLike,
    MetricsLike,
    is_metric_word,
    labelled,
    metric_or_name,
    read_metric,
)
from dcglearn.metrics.textbook import textbook_formula

if TYPE_CHECKING:
    from dcglearn.learning.dcg_model import Curves
    from dcglearn.logs.preference_pairs import PreferencePairs
    from dcglearn.logs.visibility import Visibility

OFFERED = ("auto", "robust", "logistic")
"""Losses that a learner may ask for; "auto" is a blend."""

LOSSES = {"robust": LIKELIHOOD, "logistic": LIKELIHOOD, "sigmoid": SIGMOID}
"""Losses of the direct fit by name, and the kernel of each; sigmoid is that of a blend's member."""

MACHINE = "machine"
"""Name of the member of a blend that is the DCG of an LLM judge."""

CANDIDATE = "candidate "
"""Beginning of the names of members of a blend that are candidates beside the textbooks."""

MARGINS = ("unit", "hamming", "log")
"""Margins of the QP by name: 1, the number of positions that differ, and the log's own."""

DISCOUNTS = ("falling", "free")
"""Shapes of discounts: falling from position to position, or free."""


class Description:
    """Base class of descriptions, read from a description, a fit, an estimator or None."""

    learner: ClassVar[str]

    @property
    def description(self) -> Self:
        """The description itself."""
        return self

    @classmethod
    def of(cls, learner: Any) -> Self:
        """Return the description of a learner; raise InputError if it is of another kind."""
        description = cls() if learner is None else getattr(learner, "description", None)
        if not isinstance(description, cls):
            raise InputError(f"learner={learner!r} is no {cls.learner}")
        return description


@dataclass(frozen=True)
class QPDescription(Description):
    """What the paper's QP is to minimise, and how exactly; the parameters of `UtilityLearner`."""

    learner = "UtilityLearner"

    C: float = 1.0
    margin: MetricLike = "unit"
    monotone: bool = True
    solver: str = "newton"
    tie_epsilon: float | None = None
    constraints: Callable[[Any], list[Any]] | None = None
    n_grades: int | None = None
    tol: float = 1e-9
    max_iter: int = 200

    def __post_init__(self) -> None:
        """Raise InputError if a parameter has no meaning."""
        # check what is minimised
        within(self.C, "C", remedy="small for noisy logs, large for clean ones", above=True)
        if isinstance(self.margin, str) and not is_metric_word(self.margin):
            one_of(self.margin, "margin", MARGINS, ", or a DCG or another metric")
        else:
            metric_or_name(self.margin, name="margin")
        flag(self.monotone, "monotone")
        if self.tie_epsilon is not None:
            within(self.tie_epsilon, "tie_epsilon", remedy="or None")
        scale_size(self.n_grades, 0)

        # check how it is solved
        one_of(self.solver, "solver", ("newton", "cvxpy"))
        constrained = self.solver == "cvxpy" and callable(self.constraints)
        if self.constraints is not None and not constrained:
            raise InputError(
                f'constraints={self.constraints!r}: give a function of W, with solver="cvxpy"'
            )
        within(self.tol, "tol")
        whole_number(self.max_iter, "max_iter")

    def margin_of(self, n_grades: int, depth: int) -> Any:
        """Return the margin: one of `MARGINS`, or a metric; a name is as deep as the lists."""
        if isinstance(self.margin, str) and self.margin in MARGINS:
            return self.margin
        return read_metric(self.margin, n_grades, depth, name="margin")


@dataclass(frozen=True)
class DirectDescription(Description):
    """What the direct fit is to minimise, from how many starts; the parameters of `DCGLearner`."""

    learner = "DCGLearner"

    loss: str = "auto"
    ridge: float = 2.0
    prior: MetricLike | None = None
    n_starts: int = 6
    n_grades: int | None = None
    max_iter: int = 2000
    zero: int | str = 0
    discounts: str = "falling"
    candidates: MetricsLike = ()

    def __post_init__(self) -> None:
        """Raise InputError if a parameter has no meaning."""
        # check what is minimised
        one_of(self.loss, "loss", ("auto", *LOSSES))
        within(self.ridge, "ridge", remedy="2 is the default")
        scale_size(self.n_grades, 0)
        if isinstance(self.zero, str):
            one_of(self.zero, "zero", ("none",), ", or the number of a grade")
        else:
            whole_number(self.zero, "zero", 0)
        one_of(self.discounts, "discounts", DISCOUNTS)
        if not isinstance(self.candidates, (str, list, tuple, Mapping)):
            raise InputTypeError(
                f"candidates is of type {type(self.candidates).__name__}; give a list of DCGs, "
                "files or names, or a mapping from names to them"
            )

        # check how it is solved
        whole_number(self.n_starts, "n_starts")
        whole_number(self.max_iter, "max_iter")

    @property
    def loss_used(self) -> str:
        """The loss by its own name."""
        return "robust" if self.loss == "auto" else self.loss

    def prior_of(self, n_grades: int, depth: int) -> DCG | None:
        """Return the prior as a DCG; one without a depth of its own is as deep as the lists."""
        if self.prior is None:
            return None
        return read_metric(self.prior, n_grades, depth, accept=ONLY_DCG, name="prior")

    def candidates_of(self, n_grades: int, depth: int) -> tuple[tuple[str, DCG], ...]:
        """Return the DCGs that stand beside the textbooks, with the names of members.

        Unless discounts are free, those that rise are cut to those above them.
        """
        further = []
        for label, candidate in labelled(self.candidates).items():
            dcg = read_metric(candidate, n_grades, depth, accept=ONLY_DCG, name="candidates")
            if self.discounts == "falling":
                dcg = DCG(dcg.gains, np.minimum.accumulate(dcg.discounts))
            further.append((f"{CANDIDATE}{label}", dcg))
        return tuple(further)

    def check(self, n_grades: int, depth: int, *, graded: bool) -> None:
        """Raise InputError if a parameter has no meaning for a log of this shape."""
        # grades to learn gains of
        if not graded:
            raise InputError("a log of documents has no grades, so no gains: use UtilityLearner")
        if n_grades < 2:
            raise InputError(
                "the log has one grade only, so there is no gain to learn; give n_grades= or more "
                "grades"
            )

        # a worst grade below the best
        if self.zero != "none":
            remedy = (
                f"zero= must lie below the best grade, {n_grades - 1}, which else would gain "
                "nothing; or give none"
            )
            whole_number(self.zero, "zero", 0, n_grades - 2, remedy)

        # a prior and candidates of the log's shape
        prior = self.prior_of(n_grades, depth)
        of_log = [] if prior is None else [("prior", prior)]
        for name, dcg in (*of_log, *self.candidates_of(n_grades, depth)):
            if (dcg.n_grades, dcg.depth) != (n_grades, depth):
                shape = f"{dcg.n_grades} grades and {dcg.depth} positions"
                raise InputError(f"{name} has {shape}, the log has {n_grades} and {depth}")


@dataclass(frozen=True, eq=False)
class Member:
    """A member of a blend.

    `name` is "robust" or "sigmoid", the loss of a fit; the name of a textbook DCG, or "candidate "
    and that of a further one; "prior"; "machine", the DCG of an LLM judge, or "near machine 4" and
    so on, fits that have it as their prior, and the prior's strength. `weight` is its share of the
    blend; `share` the share of preferences that it respects where it was learned or chosen without
    them, ties half, and `error` its standard error, nan where no preference could be held out.
    `dcg` has gains from 0 to 1, or 0 for the grade without value, and discounts from 1; `fit` is
    the fit, where it is one.
    """

    name: str
    weight: float
    share: float
    error: float
    dcg: DCG
    fit: DirectFit | None = None

    @property
    def meaning(self) -> str:
        """What the member is, in words."""
        meanings = {
            "robust": "learned, allowing for wrong verdicts (robust)",
            "sigmoid": "learned, with the fewest pairs ordered wrongly (sigmoid)",
            "prior": "the metric given as prior",
            MACHINE: "the LLM judge's DCG",
        }
        if self.name in meanings:
            return meanings[self.name]

        # candidates, fits near the LLM judge's, and textbooks
        if self.name.startswith(CANDIDATE):
            return f"the {self.name}"
        if self.fit is not None:
            ridge = self.fit.description.ridge
            return f"learned, drawn to the LLM judge's DCG with strength {ridge:g}"
        return f"textbook {self.name}: {textbook_formula(self.name)}"

    def to_dict(self) -> Fields:
        """Return name, weight, share and error, None for numbers that there are not, for JSON."""
        numbers = {"weight": self.weight, "share": self.share, "error": self.error}
        finite = {key: x if np.isfinite(x) else None for key, x in numbers.items()}
        return {"name": self.name, **finite}


@dataclass(frozen=True, eq=False, kw_only=True)
class QPFit:
    """What the QP returns: the attributes of a fitted `UtilityLearner`.

    `unconverged` is the warning of a QP that stopped before its tolerance, empty for any other.
    """

    results: ClassVar = ("metric", "utility", "objective", "gap", "n_iter", "visible", "dropped")

    description: QPDescription
    utility: Utility
    objective: float
    gap: float
    n_iter: int
    visible: Visibility
    dropped: Counts
    unconverged: str = ""
    cautions: tuple[str, ...] = ()

    @property
    def metric(self) -> Utility:
        """The utility."""
        return self.utility

    def factor(self, *, normalise_gains: bool = False) -> Factoring:
        """Return the nearest gains and discounts, and how near they are; see `factoring.factor`."""
        return factor(self.utility, self.visible, normalise_gains=normalise_gains)


@dataclass(frozen=True, eq=False, kw_only=True)
class DirectFit:
    """What the direct fit returns: the attributes of a fitted `DCGLearner`.

    `raters` names the judges of ``curves.errors``, if several, `ties` tells whether the log held
    ties. `members` are those of a blend. `weighed_on` is the weight of the judgements; of a blend
    that keeps the weights of its start, the weight of the judgements behind these. `wrong_share` is
    that of `wrong_verdicts`, `contrary` are raters who contradict the others. `cautions` are
    warnings of the log, `unconverged` warns of a descent that stopped too early, or is empty.
    """

    results: ClassVar = (
        *("metric", "dcg", "scale"),
        *("error_rate", "wrong_share", "rater_error", "tie_threshold"),
        *("position_bias", "rater_bias"),
        *("loss", "members", "objective", "n_effective", "n_iter", "warm", "visible"),
        *("dropped", "curves"),
    )

    description: DirectDescription
    loss: str
    dcg: DCG
    curves: Curves
    raters: tuple[str, ...]
    ties: bool
    objective: float
    n_effective: float
    n_iter: int
    dropped: Counts
    warm: bool
    visible: Visibility
    members: tuple[Member, ...] = ()
    weighed_on: float = 0.0
    wrong_share: float = 0.0
    contrary: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()
    unconverged: str = ""

    @property
    def machine(self) -> Member | None:
        """The member that is the DCG of an LLM judge; None without one."""
        return next((member for member in self.members if member.name == MACHINE), None)

    @property
    def llm(self) -> DCG | None:
        """The DCG of an LLM judge among the members; None without one."""
        return None if self.machine is None else self.machine.dcg

    @property
    def metric(self) -> DCG:
        """The DCG."""
        return self.dcg

    @property
    def scale(self) -> float:
        """Size of a difference of 1 in `dcg`, in units of the judges' noise."""
        unit = np.ptp(self.curves.gains) / np.ptp(self.dcg.gains)
        return self.curves.sharpness * float(self.curves.discounts[0] * unit)

    @property
    def error_rate(self) -> float:
        """Mean error rate of the judges."""
        return float(self.curves.errors.mean())

    @property
    def rater_error(self) -> dict[str, float]:
        """Error rates by rater, where the log names more than one."""
        return dict(zip(self.raters, self.curves.errors.tolist(), strict=False))

    @property
    def position_bias(self) -> float:
        """Mean position bias of the judges; 0 where sides are not known."""
        return float(self.curves.biases.mean()) if len(self.curves.biases) else 0.0

    @property
    def rater_bias(self) -> dict[str, float]:
        """Position biases by rater, where the log names several and tells the order shown."""
        return dict(zip(self.raters, self.curves.biases.tolist(), strict=False))

    @property
    def tie_threshold(self) -> float:
        """Utility difference up to which ties are likely, in units of the noise; 0 without ties."""
        return float(self.curves.thresholds[1]) if self.ties else 0.0

    def sureness(self, log: PreferencePairs) -> Floats:
        """Return the differences of the pairs in units of the judges' noise, shape (n,)."""
        return self.scale * log.gaps(self.metric)

    def probabilities(self, log: PreferencePairs) -> Floats:
        """Return the chances of a win of the first list, a tie, and its loss, shape (n, 3)."""
        return chances(self.sureness(log), self.tie_threshold, self.error_rate)


Fit: TypeAlias = QPFit | DirectFit
"""The fit of a learner."""


class DirectLearner(Protocol):
    """A learner of gains and discounts: a description, a fit, or an estimator."""

    @property
    def description(self) -> DirectDescription:
        """Its parameters."""


class QPLearner(Protocol):
    """A learner of a utility: a description, a fit, or an estimator."""

    @property
    def description(self) -> QPDescription:
        """Its parameters."""


def fit_of(learner: Any) -> DirectFit | None:
    """Return the direct fit that a learner is or holds; None where it is not fitted."""
    fit = getattr(learner, "fit_", learner)
    return fit if isinstance(fit, DirectFit) else None


def cautions_of(log: Any, fit: Fit) -> list[str]:
    """Return the remarks of a log's reader, and the fit's cautions, for reports."""
    recognised = getattr(log, "recognised", None)
    return [*getattr(recognised, "notes", ()), *fit.cautions]


def warn_of(fit: Fit, unconverged: type[Warning] = UserWarning, stacklevel: int = 3) -> None:
    """Warn as a fit says, at the line of the caller's caller; `unconverged` is a class."""
    for caution in fit.cautions:
        warnings.warn(caution, UserWarning, stacklevel=stacklevel)
    if fit.unconverged:
        warnings.warn(fit.unconverged, unconverged, stacklevel=stacklevel)
