"""The direct fit: from pairs to gains, discounts and judges, in a frozen `Fit`."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self, TypeAlias

import numpy as np

from dcglearn.foundation.plain_text import number_of
from dcglearn.foundation.threads import one_blas_thread
from dcglearn.foundation.validation import Counts, Floats, InputError, listed
from dcglearn.learning.fit_qp import QPFit
from dcglearn.learning.model import POWERS, Model, known_metrics, log_metric
from dcglearn.learning.objective import FitObjective
from dcglearn.learning.options import DCGOptions
from dcglearn.learning.pairs import Facts, Pairs, Points, chances, pairs_of
from dcglearn.learning.raters import with_raters
from dcglearn.learning.search import Ends, descend, search
from dcglearn.logs.preference_pairs import PreferencePairs
from dcglearn.logs.thinning import SAMPLE
from dcglearn.logs.visibility import ONLY_STEPS, Visibility
from dcglearn.metrics.dcg import DCG, grade_labels
from dcglearn.metrics.textbook import textbook_formula

_LOG = logging.getLogger(__name__)

SOFTER = (0.0, 1.5, 3.0)
"""Each metric is tried with judges less sharp by these log units, who err less."""

SEARCHES = 3
"""Searches from all starts where raters have errors of their own, each after theirs are found."""

ROUNDS = 50
"""Most rounds between raters and curves."""

MIDDLE = 0.5
"""The power at which judges are as sharp as expected, where it is free."""


FREE, PRIOR, LLM, NEAR_LLM = "free curves", "prior", "LLM judge", "near the LLM judge"
"""Names of members that are no textbook."""

OF_LENGTH = " / n"
"""What the name of a textbook ends in whose values are divided by a power of the length."""


@dataclass(frozen=True, eq=False)
class Member:
    """What the learned DCG is the weighted mean of: free curves or a fixed metric.

    `name` is one of those above, or a textbook's, and `weight` the probability that it is the
    metric which people follow. `dcg` has gains that rise by 1 and discounts from 1.
    """

    name: str
    weight: float
    dcg: DCG

    @property
    def meaning(self) -> str:
        """What the member is, in words."""
        meanings = {
            FREE: "learned from the judgements",
            PRIOR: "the metric given as prior",
            LLM: "the LLM judge's DCG",
            NEAR_LLM: "learned from the judgements, with the LLM judge's DCG as prior",
        }
        name = self.name.removesuffix(OF_LENGTH)
        divided = ", divided by the number of results" if name != self.name else ""
        return meanings.get(name) or f"textbook {name}: {textbook_formula(name)}{divided}"


@dataclass(frozen=True, eq=False, kw_only=True)
class Fit:
    """What the direct fit returns: the attributes of a fitted `DCGLearner`.

    `form` are the options with the power of lengths and the worth of grades that were chosen.
    `function` is the objective, on the log's pairs row by row, `theta`, shape (p,), its parameters
    at the fit, and `objective` its value there. The DCG is that of these parameters, or the mean of
    the `members`, of which it is the first. `points` are this metric and its judges, `raters` names
    these, if several. `cautions` are warnings of the
    log, `unconverged` warns of a descent that stopped too early, or is empty. `log_evidence` is
    that of free curves and fixed metrics together, and `lead` by how much another form of metric
    had more than the plain one, None where only one was fitted (`weighing.learned`).
    """

    options: DCGOptions
    form: DCGOptions
    dcg: DCG
    points: Points
    function: FitObjective
    theta: Floats
    objective: float
    n_effective: float
    n_iter: int
    facts: Facts
    members: tuple[Member, ...] = ()
    # what is said of it
    cautions: tuple[str, ...] = ()
    unconverged: str = ""
    log_evidence: float = 0.0
    lead: float | None = None

    @property
    def pairs(self) -> Pairs:
        """The pairs that were fitted, a row for each judgement of the log that is used."""
        return self.function.pairs

    @property
    def model(self) -> Model:
        """The model whose parameters `theta` are."""
        return self.function.model

    @cached_property
    def hessian(self) -> Floats:
        """Second derivatives of the objective at the fit, raters' deviations held, (p, p)."""
        return self.function(self.theta[None]).hessian[0]

    @property
    def free(self) -> DCG:
        """The DCG of the free curves, whose parameters are `theta`."""
        return self.curves_at(self.theta)

    def curves_at(self, theta: Floats) -> DCG:
        """Return the DCG of the free curves at parameters, shape (p,)."""
        dcg = self.model.points(theta[None]).dcg
        return replace(dcg, grade_names=self.visible.grade_names)

    @property
    def llm(self) -> DCG | None:
        """The DCG of an LLM judge among the members; None without one."""
        return next((member.dcg for member in self.members if member.name == LLM), None)

    @property
    def metric(self) -> DCG:
        """The DCG."""
        return self.dcg

    @property
    def raters(self) -> tuple[str, ...]:
        """The names of the judges, if several."""
        return self.facts.raters

    @property
    def visible(self) -> Visibility:
        """What the log can and cannot tell."""
        return self.facts.visible

    @property
    def dropped(self) -> Counts:
        """Number of pairs left out, by reason."""
        return self.facts.dropped

    @property
    def scale(self) -> float:
        """Size of a difference of 1 in `dcg`, in units of the judges' noise."""
        return float(self.points.discounts[0, 0] / np.ptp(self.dcg.gains))

    @property
    def error_rate(self) -> float:
        """Mean error rate of the judges."""
        return float(self.points.errors.mean())

    @property
    def rater_error(self) -> dict[str, float]:
        """Error rates by rater, where the log names more than one."""
        return dict(zip(self.raters, self.points.errors[0].tolist(), strict=False))

    @property
    def position_bias(self) -> float:
        """Mean position bias of the judges; 0 where sides are not known."""
        return float(self.points.biases.mean())

    @property
    def rater_bias(self) -> dict[str, float]:
        """Position biases by rater, where the log names several and tells the order shown."""
        biases = self.points.biases[0].tolist() if self.facts.sided else []
        return dict(zip(self.raters, biases, strict=False))

    @property
    def tie_threshold(self) -> float:
        """Utility difference up to which ties are likely, in units of the noise; 0 without ties."""
        return float(self.points.thresholds[0, 1])

    @cached_property
    def wrong_share(self) -> float:
        """The share of decided judgements that is expected to name the worse list."""
        return self.pairs.thinned(SAMPLE).wrong_share(self.points)

    def sureness(self, log: PreferencePairs) -> Floats:
        """Return the differences of the pairs in units of the judges' noise, shape (n,)."""
        return self.scale * log.gaps(self.metric)

    def probabilities(self, log: PreferencePairs) -> Floats:
        """Return the chances of a win of the first list, a tie, and its loss, shape (n, 3)."""
        z = self.sureness(log)
        shares: Floats = chances(z, self.tie_threshold, np.full_like(z, self.error_rate))
        return shares

    def on(self, pairs: Pairs) -> Self:
        """Return the fit to other pairs of the same raters, from this one and from all starts.

        Their weights count independent judgements.
        """
        function = replace(self.function, pairs=pairs, share=1.0)
        starts = [self.theta[None], *known_starts(function.model)]
        function, end = _fitted(function, starts)
        theta, value = end.theta[end.best], end.value
        return replace(self, function=function, theta=theta, objective=value)


AnyFit: TypeAlias = QPFit | Fit
"""The fit of a learner."""


def fit_of(learner: Any) -> Fit | None:
    """Return the direct fit that a learner is or holds; None where it is not fitted."""
    fit = getattr(learner, "fit_", learner)
    return fit if isinstance(fit, Fit) else None


def warn_of(fit: AnyFit, unconverged: type[Warning] = UserWarning, stacklevel: int = 3) -> None:
    """Warn as a fit says, at the line of the caller's caller; `unconverged` is a class."""
    for caution in fit.cautions:
        warnings.warn(caution, UserWarning, stacklevel=stacklevel)
    if fit.unconverged:
        warnings.warn(fit.unconverged, unconverged, stacklevel=stacklevel)


def fit_log(log: PreferencePairs, options: DCGOptions) -> Fit:
    """Return the fit of gains, discounts and judges to a log; see `fit_dcg`."""
    log = log.rescaled(options.n_grades, options.depth)
    options.check(log)
    pairs = pairs_of(log, options.loss)
    return fit_dcg(pairs, options)


def fit_dcg(pairs: Pairs, options: DCGOptions) -> Fit:
    """Return the fit of gains, discounts and judges to pairs.

    Raise InputError if a parameter does not suit the log.
    """
    # what is fitted, and the metrics that the options name
    facts: Facts = pairs.facts
    depth, n_grades = facts.visible.open_cells.shape
    options = options.plain
    prior, start = (options.metric(name, n_grades, depth) for name in ("prior", "start"))

    # repeated lists make judgements depend on each other
    total = pairs.total_weight
    if total < 0.01:
        raise InputError(
            f"the weights of the log sum to {total:g}, far less than one judgement: multiply all "
            "of them by a common factor, so that they count judgements"
        )
    n_effective = min(total, float(facts.n_lists))

    # equal judgements are summed once
    with one_blas_thread():
        model = _model(pairs, options, prior)
        function = FitObjective(model, pairs.distinct(), n_effective / total)
        function, end = _fitted(function, known_starts(model, start))
        theta = end.theta[end.best]

        _LOG.info(
            "%s loss: objective %.6g, the log counts as %.0f judgements",
            options.loss,
            end.value,
            n_effective,
        )

    # the metric and its judges there
    points = function.model.points(theta[None])
    n_free = n_grades - 2 + depth
    return Fit(
        options=options,
        form=options,
        dcg=replace(
            points.dcg, grade_names=facts.visible.grade_names, notes=_notes(facts, options.zero)
        ),
        points=points,
        function=replace(function, pairs=pairs),
        theta=theta,
        objective=end.value,
        # what the log told
        n_effective=n_effective,
        n_iter=end.n_iter,
        facts=facts,
        # what is said of it
        cautions=_cautions(n_effective, n_free),
        unconverged=_unconverged(end),
    )


def _fitted(function: FitObjective, starts: Sequence[Floats]) -> tuple[FitObjective, Ends]:
    """Return the objective with the raters that fit best, and the lowest end.

    Curves and raters are fitted in turn, until the objective does not fall any more: first with
    searches from all starts, then from where the last round ended.
    """
    # the curves, with raters who are alike
    end = search(function, starts)
    if function.model.own.shape[1] == 1:
        return function, end

    # raters and curves in turn
    for i in range(ROUNDS):
        before = end.value
        function, theta = with_raters(function, end.theta[end.best])
        if i < SEARCHES - 1:
            end = search(function, [theta[None], *starts])
        else:
            end = descend(function, theta[None], function.model.bounds)
            if before - end.value < 1e-9 * (1 + abs(before)):
                break
    return function, end


def known_starts(model: Model, start: DCG | None = None) -> list[Floats]:
    """Return all starts by softness, (S, p): curves, textbooks and the prior's target.

    A metric to start from is the only one.
    """
    if start is not None:
        known = log_metric(start, falling=model.falling)[None]
    else:
        powers = POWERS if model.power is None else (0.0,)
        known = known_metrics(model.n_grades, model.depth, model.falling, powers)
        if model.target is not None:
            known = np.vstack([known, model.target])
    return [model.starts(known, softer) for softer in SOFTER]


def _model(pairs: Pairs, options: DCGOptions, prior: DCG | None) -> Model:
    """Return the model of a log, in which a typical pair differs by 100 times the judges' noise."""
    facts: Facts = pairs.facts
    depth, n_grades = facts.visible.open_cells.shape
    falling = options.discounts == "falling"

    # an empty place alone can be worth nothing where lists differ in length
    zero: Any = options.zero
    if zero == "none":
        zero = n_grades if facts.n_empty[1] else 0

    model = Model(
        depth,
        n_grades,
        options.loss == "robust",
        len(facts.steps) + 1,
        facts.ties,
        facts.sided,
        np.zeros((2, len(facts.raters) or 1)),
        # the prior
        ridge=float(options.ridge),
        centre=0.0,
        target=None if prior is None else log_metric(prior, falling=falling),
        # what is fixed
        zero=zero,
        falling=falling,
        power=None if isinstance(options.power, str) else float(options.power),
    )

    # the typical difference under the prior's or the usual curves
    usual = DCG.standard(n_grades, depth) if prior is None else prior
    usual = replace(usual, power=MIDDLE)
    start = model.starts(log_metric(usual, falling=falling)[None])
    sample = pairs.thinned(4096)
    gaps = sample.differences(model.points(start))
    typical = float(np.sqrt(np.average(gaps**2, weights=sample.weights)))
    return replace(model, centre=float(np.log(100.0 / (typical or 0.1))))


def _notes(facts: Facts, zero: int | str) -> tuple[str, ...]:
    """Return notes on what pairs of such lists cannot show, and on what is worth nothing."""
    notes, visible = [], facts.visible

    # a gain that no pair shows
    if visible.unseen_grades:
        notes.append(
            f"grade {listed(visible.unseen_grades)} never occurs in the log; its gain continues "
            "the curve of the others"
        )

    # a height that is by convention
    if visible.free_columns:
        notes.append(
            f"both lists of every pair hold the same grades in another order, so {ONLY_STEPS}; "
            "their common height is the smoothest curve's"
        )

    # another grade than the worst that is worth nothing
    labels = grade_labels(visible.open_cells.shape[1], visible.grade_names)
    if isinstance(zero, int) and zero > 0:
        why = "as an empty place is"
        if not facts.n_empty[0]:
            why = "by convention: the lists are full, so any grade could be"
        notes.append(f"{labels[zero]} is worth nothing, {why}")

    # an empty place, whose value does not show
    if zero == "none" and not facts.n_empty[1]:
        why = "no pair has a result in one list only" if facts.n_empty[0] else "the lists are full"
        notes.append(
            f"{why}, so the log cannot tell what no result is worth: by convention as much as "
            f"{labels[0]}"
        )
    return tuple(notes)


def _cautions(n_effective: float, n_free: int) -> tuple[str, ...]:
    """Return the caution of too few judgements."""
    if n_effective >= n_free:
        return ()
    return (
        f"the log tells as much as {number_of(n_effective, 'independent judgements', 'g')}, "
        f"fewer than the {n_free} gains and discounts to learn: what it does not show is set "
        f"by the prior, smooth curves",
    )


def _unconverged(end: Ends) -> str:
    """Return the warning of a descent that did not end where the objective is stationary."""
    if end.converged[end.best]:
        return ""
    return (
        f"stopped after {end.n_iter} iterations, not yet stationary: the curves may not be the best"
    )
