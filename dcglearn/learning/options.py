"""What a learner is to do, frozen: the parameters of `UtilityLearner` and of `DCGLearner`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, Self

from dcglearn.foundation.validation import (
    InputError,
    flag,
    one_of,
    scale_size,
    whole_number,
    within,
)
from dcglearn.logs.preference_pairs import PreferencePairs
from dcglearn.logs.visibility import MOST_WEIGHTS
from dcglearn.metrics.dcg import DCG
from dcglearn.metrics.reading import (
    ONLY_DCG,
    MetricLike,
    is_metric_word,
    metric_or_name,
    read_metric,
)

LOSSES = ("robust", "logistic")
"""Losses of the direct fit: with error rates of judges, and without."""

MARGINS = ("unit", "hamming", "log")
"""Margins of the QP by name: 1, the number of positions that differ, and the log's own."""

DISCOUNTS = ("falling", "free")
"""Shapes of discounts: falling from position to position, or free."""


class Learner(Protocol):
    """A learner: options, a fit, or an estimator."""

    @property
    def options(self) -> Options:
        """Its parameters."""


class Options:
    """Base class of options, read from options, a fit, an estimator or None."""

    learner: ClassVar[str]

    @property
    def options(self) -> Self:
        """The options themselves."""
        return self

    @classmethod
    def of(cls, learner: Any) -> Self:
        """Return the options of a learner; raise InputError if it is of another kind."""
        options = cls() if learner is None else getattr(learner, "options", None)
        if not isinstance(options, cls):
            raise InputError(f"learner={learner!r} is no {cls.learner}")
        return options


@dataclass(frozen=True)
class QPOptions(Options):
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
        within(self.C, "C", remedy="small for noisy logs, large for clean ones", exclusive=True)
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


@dataclass(frozen=True)
class DCGOptions(Options):
    """What the direct fit is to minimise, and from where; the parameters of `DCGLearner`."""

    learner = "DCGLearner"

    loss: str = "robust"
    discounts: str = "falling"
    zero: int | str = "auto"
    power: float | str = "auto"
    prior: MetricLike | None = None
    llm: Any = None
    ridge: float = 2.0
    start: MetricLike | None = None
    n_grades: int | None = None
    depth: int | None = None
    random_state: int = 0

    def __post_init__(self) -> None:
        """Raise InputError if a parameter has no meaning."""
        # check what is minimised
        one_of(self.loss, "loss", LOSSES)
        one_of(self.discounts, "discounts", DISCOUNTS)
        if isinstance(self.zero, str):
            one_of(self.zero, "zero", ("auto", "none"), ", or the number of a grade")
        else:
            whole_number(self.zero, "zero", 0)
        if isinstance(self.power, str):
            one_of(self.power, "power", ("auto", "free"), ", or a number from 0 to 1")
        else:
            within(self.power, "power", 1, remedy="0 adds up, 1 averages")
        within(self.ridge, "ridge", exclusive=True, remedy="2 is the default")

        # check the shape
        scale_size(self.n_grades, 0)
        if self.depth is not None:
            whole_number(self.depth, "depth", 1, MOST_WEIGHTS)
        whole_number(self.random_state, "random_state", 0)

    @property
    def plain(self) -> Self:
        """The options of a sum in which the worst grade is worth nothing, unless they say else.

        An empty place alone is where a prior says that the worst grade is not.
        """
        zero = self.zero
        if zero == "auto":
            prior = self.prior
            if prior is not None:
                prior = metric_or_name(prior, name="prior", accept=ONLY_DCG)
            zero = "none" if isinstance(prior, DCG) and prior.gains[0] != 0 else 0
        return replace(self, zero=zero, power=0.0 if self.power == "auto" else self.power)

    def forms(self, *, varied: bool) -> list[Self]:
        """Return the options of the plain form, and of another where a log may tell them apart.

        It may if its lists are `varied` in length: then the power, and what the worst grade is
        worth, are free in the other form. A prior or an LLM judge has the plain one.
        """
        zero = "none" if self.zero == "auto" else self.zero
        other = replace(self, zero=zero, power="free" if self.power == "auto" else self.power)
        alone = not varied or self.prior is not None or self.llm is not None
        return [self.plain] if alone or other == self.plain else [self.plain, other]

    def metric(self, name: str, n_grades: int, depth: int) -> DCG | None:
        """Return `prior` or `start` as a DCG of the log's shape; one without a depth has its own.

        Raise InputError if it has another shape, or another power.
        """
        given = getattr(self, name)
        if given is None:
            return None
        dcg = read_metric(given, n_grades, depth, accept=ONLY_DCG, name=name)
        if (dcg.n_grades, dcg.depth) != (n_grades, depth):
            shape = f"{dcg.n_grades} grades and {dcg.depth} positions"
            raise InputError(f"{name} has {shape}, the log has {n_grades} and {depth}")
        if self.power not in ("free", dcg.power):
            raise InputError(
                f"{name} divides by the number of results to the power {dcg.power:g}, what is "
                f"learned does not: give power={dcg.power:g}"
            )
        return dcg

    def check(self, log: PreferencePairs) -> None:
        """Raise InputError if a parameter has no meaning for a log of this shape."""
        # grades to learn gains of
        if not log.graded:
            raise InputError("a log of documents has no grades, so no gains: use UtilityLearner")
        if log.n_grades < 2:
            raise InputError(
                "the log has one grade only, so there is no gain to learn; give n_grades= or more "
                "grades"
            )

        # a worst grade below the best
        if not isinstance(self.zero, str):
            remedy = (
                f"zero= must lie below the best grade, {log.n_grades - 1}, which else would gain "
                "nothing; or give none"
            )
            whole_number(self.zero, "zero", 0, log.n_grades - 2, remedy)
