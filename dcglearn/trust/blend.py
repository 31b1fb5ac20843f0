"""The default learner: a blend of the robust fit, the sigmoid fit and a textbook DCG.

Neither loss is the better one on every log, and with few judgements a textbook is often the best
bet. Each member is learned, or chosen, without some of the judgements and asked for these. Its
weight is the probability that it respects the largest share, given the shares' errors; where the
judgements are independent, times that of the likelihood: a textbook with fitted judges against the
robust fit, whose free curves are charged for. A weighted mean of DCGs is a DCG.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import starmap
from typing import Any

import numpy as np

from dcglearn.foundation.intervals import unit_residuals
from dcglearn.foundation.threads import one_blas_thread
from dcglearn.foundation.validation import Floats, InputError, frozen
from dcglearn.learning.dcg_model import DirectObjective, empty_gain
from dcglearn.learning.descriptions import MACHINE, DirectDescription, DirectFit, Member
from dcglearn.learning.fit_dcg import FittedDCG, fit_dcg, fit_direct
from dcglearn.learning.starts import WarmStart, with_curves
from dcglearn.learning.trust_region import descend
from dcglearn.learning.usable_pairs import usable_pairs
from dcglearn.learning.wrong_verdicts import wrong_share
from dcglearn.logs.preference_pairs import PreferencePairs
from dcglearn.metrics.dcg import DCG
from dcglearn.metrics.textbook_scores import textbook_scores
from dcglearn.parts.parted_log import SAMPLE, OpenLog, with_grades
from dcglearn.trust.held_out_frame import HeldOut, Rows, held_out_frame
from dcglearn.trust.resampling import FEWEST_HELD_OUT, folds_of, unit_of

LOSSES_OF_MEMBERS = ("robust", "sigmoid")
"""Losses of the members that are fits; the first gives the judges."""

LEAST = 1e-3
"""Least weight of a member: where the others order two results alike, it orders them."""

NEAR_MACHINE = (4.0, 16.0, 64.0)
"""Ridges of the members that have the DCG of an LLM judge as their prior."""


@dataclass(frozen=True)
class Shares:
    """Held-out shares of preferences that members respect, shape (M,), and their covariance."""

    mean: Floats
    covariance: Floats

    @property
    def errors(self) -> Floats:
        """Standard errors, shape (M,)."""
        return np.sqrt(np.diag(self.covariance))

    def chances(self) -> Floats:
        """Return the probability that each member has the largest share, shape (M,).

        Members that tie share it.
        """
        # draw the true shares
        values, vectors = np.linalg.eigh(self.covariance)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        shares = self.mean + _draws(len(self.mean)) @ root.T

        # count how often each is the largest
        best = shares >= shares.max(axis=1, keepdims=True) - 1e-6
        chances: Floats = (best / best.sum(axis=1, keepdims=True)).mean(axis=0)
        return chances


@cache
def _draws(n: int, n_draws: int = 4096) -> Floats:
    return frozen(np.random.default_rng(0).normal(size=(n_draws, n)))


def fit_blend(
    log: OpenLog,
    description: DirectDescription,
    start: Any = None,
    *,
    refit: str = "never",
    llm: DCG | None = None,
) -> DirectFit:
    """Return the blend of the members; parameters and errors are those of `fit_direct`.

    A start that is a blend starts each member, and its weights are kept where they were found on a
    log of nearly the same weight and `refit` is "never". With `llm`, the DCG learned from a
    machine's verdicts, that DCG and fits that have it as their prior are members too; by default it
    is that of the start.
    """
    # read the start and the LLM judge
    log = with_grades(log, description.n_grades)
    warm = None if start is None else WarmStart.of(start)
    if llm is None and warm is not None:
        llm = next((member.dcg for member in warm.members if member.name == MACHINE), None)
    if llm is not None:
        check_same_shape(llm, log)
    starts = {loss: _start_of(warm, loss) for loss in LOSSES_OF_MEMBERS}

    with one_blas_thread():
        # fit the members
        sample = log.thinned(SAMPLE)
        if isinstance(description.zero, int) and description.zero:
            sample = sample.filled(description.zero)
        fits, fitted, cautions = _fits(log, sample, description, starts, refit)
        every = dict(fits)
        if llm is not None:
            every |= _near_machine(llm, sample, fits[LOSSES_OF_MEMBERS[0]], warm, refit)
        pairs = usable_pairs(sample).decided
        members = _members(every, pairs, description, llm, fitted.model.zero)

        # weigh them, unless the weights of the start still hold
        total = fitted.judgements.total_weight
        if refit == "never" and warm is not None and _still_weighed(warm, len(members), total):
            total = warm.weighed_on
            members = [
                replace(new, weight=old.weight, share=old.share, error=old.error)
                for new, old in zip(members, warm.members, strict=True)
            ]
        else:
            members = _weighed(members, pairs, fitted, description)
        return _blended(fits, fitted, members, total, cautions)


def _still_weighed(warm: WarmStart, n_members: int, total: float) -> bool:
    """Return whether the start's weights are of as many members and about this total weight."""
    if len(warm.members) != n_members:
        return False
    # unless the log has grown or shrunk by a tenth since
    return abs(math.log(total / warm.weighed_on)) < 0.1


def _start_of(warm: WarmStart | None, loss: str) -> WarmStart | None:
    """Return the start of the member with this loss; of the other member's fit, the DCG."""
    if warm is None:
        return None
    warm = warm.of_loss(loss)
    if warm.loss in LOSSES_OF_MEMBERS and warm.loss != loss:
        return replace(warm, curves=None, loss=None)
    return warm


def _fits(
    log: OpenLog,
    sample: PreferencePairs,
    description: DirectDescription,
    starts: Mapping[str, WarmStart | None],
    refit: str,
) -> tuple[dict[str, DirectFit], FittedDCG, tuple[str, ...]]:
    """Fit the robust and the sigmoid member.

    Return the fits by loss, the robust fit's model and judgements, and the cautions.
    """
    # the robust loss on the whole log
    loss, other = LOSSES_OF_MEMBERS
    first, fitted = fit_dcg(log, replace(description, loss=loss), starts[loss], refit=refit)

    # the sigmoid loss on the sample; starting from the robust fit reaches the same objective as
    # all starts, in less time
    start = first.dcg if starts[other] is None else starts[other]
    sigmoid_description = replace(description, loss=other, n_grades=log.n_grades)
    try:
        sigmoid_fit = fit_direct(sample, sigmoid_description, start, refit=refit)
    except InputError as error:
        missing = f"the blend has no fit with the {other} loss: {error}"
        return {loss: first}, fitted, (*first.cautions, missing)
    return {loss: first, other: sigmoid_fit}, fitted, first.cautions


def check_same_shape(llm: DCG | OpenLog, log: DCG | OpenLog) -> None:
    """Raise InputError unless an LLM judge has the log's numbers of grades and positions."""
    if (llm.n_grades, llm.depth) != (log.n_grades, log.depth):
        raise InputError(
            f"the LLM judge has {llm.n_grades} grades and {llm.depth} positions, the log "
            f"{log.n_grades} and {log.depth}: read both with the same n_grades= and depth= "
            "(--grades, convert --depth), or map the grades of the judge's DCG to those of the log "
            "(DCG.map_grades)"
        )


def _near_machine(
    llm: DCG, sample: PreferencePairs, first: DirectFit, warm: WarmStart | None, refit: str
) -> dict[str, DirectFit]:
    """Return fits with the LLM judge's DCG as their prior, from a weak prior to a strong one.

    Their other settings are the first fit's.
    """
    before = {member.name: member.fit for member in (warm.members if warm else ())}
    near = {}
    for ridge in NEAR_MACHINE:
        name = f"near {MACHINE} {ridge:g}"
        description = replace(first.description, prior=llm, ridge=ridge, n_grades=sample.n_grades)
        near[name] = fit_direct(sample, description, before.get(name) or first.dcg, refit=refit)
    return near


def _members(
    fits: Mapping[str, DirectFit],
    pairs: PreferencePairs,
    description: DirectDescription,
    llm: DCG | None,
    zero: int,
) -> list[Member]:
    """Return the members, not yet weighed: fits, LLM judge, prior and the best textbook DCG.

    The best textbook DCG respects most preferences.
    """
    # metrics that are not fits
    fixed = {} if llm is None else {MACHINE: llm}
    if len(pairs):
        prior = description.prior_of(pairs.n_grades, pairs.depth)
        if prior is not None:
            fixed["prior"] = prior
        further = description.candidates_of(pairs.n_grades, pairs.depth)
        name, textbook = best_textbook(pairs, further)
        fixed[name] = textbook

    unweighed = 1.0, math.nan, math.nan
    return [
        *(Member(name, *unweighed, fit.dcg, fit) for name, fit in fits.items()),
        *(Member(name, *unweighed, _zeroed(metric, zero)) for name, metric in fixed.items()),
    ]


def _zeroed(dcg: DCG, zero: int) -> DCG:
    """Return the DCG with gains that rise by 1 and are 0 for the grade `zero`.

    If `zero` is beyond the last grade, the gain of an empty place is 0.
    """
    metric = dcg.normalised()
    nothing = metric.gains[zero] if zero < dcg.n_grades else empty_gain(dcg.gains)
    return replace(metric, gains=metric.gains - nothing)


def best_textbook(
    pairs: PreferencePairs, further: tuple[tuple[str, DCG], ...] = ()
) -> tuple[str, DCG]:
    """Return the textbook DCG, or further one, that respects most of the preferences; its name."""
    textbooks = textbook_scores(pairs.n_grades, pairs.depth, further)
    best = int(np.argmax(pairs.verdicts(textbooks) @ pairs.weights))
    return textbooks.names[best], textbooks.dcgs[best]


def _weighed(
    members: Sequence[Member],
    pairs: PreferencePairs,
    fitted: FittedDCG,
    description: DirectDescription,
) -> list[Member]:
    """Return the members with their weights."""
    # by how many held-out preferences they respect
    frame = held_out_members(members, pairs, description)
    weights = np.ones(len(members)) / len(members)
    if frame is not None:
        mean, off, _ = unit_residuals(frame.right, frame.weight, frame.clusters)
        shares = Shares(mean, off @ off.T)
        weights = shares.chances() + 1e-6
        members = [
            replace(member, share=float(share), error=float(error))
            for member, share, error in zip(members, shares.mean, shares.errors, strict=True)
        ]

    # by the likelihood: metrics that were learned, or fixed before
    chance = chance_of_fixed(fitted, description)
    learned = [member.fit is not None or member.name == MACHINE for member in members]
    weights *= np.where(learned, 1 - chance, chance)

    # before any share is seen, the sigmoid fit is less likely where judgements are independent
    sigmoid_odds = 0.3**fitted.share
    weights *= [sigmoid_odds if member.name == "sigmoid" else 1.0 for member in members]
    weights = LEAST + (1 - LEAST * len(weights)) * weights / weights.sum()
    return [replace(member, weight=float(x)) for member, x in zip(members, weights, strict=True)]


def held_out_members(
    members: Sequence[Member], pairs: PreferencePairs, description: DirectDescription
) -> HeldOut | None:
    """Return how far members respect held-out preferences.

    Each fold has a textbook DCG of its own. The result is None if nothing can be held out.
    """
    if not len(pairs):
        return None
    unit = unit_of(pairs, fewest=FEWEST_HELD_OUT)
    folds = folds_of(pairs, unit, random_state=0, fewest=0)
    shape = pairs.n_grades, pairs.depth
    weight = pairs.weights
    textbooks = textbook_scores(*shape, description.candidates_of(*shape))
    of_textbooks = pairs.verdicts(textbooks)
    fits = [member.fit for member in members if member.fit is not None]

    def values_of(train: Rows, test: Rows) -> Floats | None:
        """Return how far each member, learned from a fold, respects the rest."""
        try:
            refitted = iter(_refitted(fits, pairs[train]))
        except InputError:  # the others hold a single grade, say
            return None

        # the best textbook DCG of the fold stands for that of the log
        best = int(np.argmax(of_textbooks[:, train] @ weight[train]))
        verdicts = []
        for member in members:
            if member.name in textbooks.names:
                verdicts.append(of_textbooks[best, test])
            else:
                metric = member.dcg if member.fit is None else next(refitted)
                verdicts.append(pairs[test].verdicts(metric))
        return 0.5 + 0.5 * np.array([verdicts])

    # comparing members on a long log takes long
    title = "members" if len(pairs) > 1 << 12 else ""
    return held_out_frame(pairs, unit, folds, starmap(values_of, folds), title)


def _refitted(fits: Sequence[DirectFit], pairs: PreferencePairs) -> list[DCG]:
    """Return the DCGs of the fits to these pairs alone.

    The first starts from that of the whole log, the others from the first: those of the whole log
    would tell of the rest, since a fit with a bounded loss stays near its start.
    """
    dcgs: list[DCG] = []
    for fit in fits:
        description = replace(fit.description, n_grades=fit.dcg.n_grades)
        dcgs.append(fit_direct(pairs, description, dcgs[0] if dcgs else fit).dcg)
    return dcgs


def chance_of_fixed(fitted: FittedDCG, description: DirectDescription) -> float:
    """Return the probability that a textbook DCG, or the prior, gave the judgements.

    The alternative is the fit's free curves. The likelihood counts by the share of the judgements
    that is independent: less where lists recur.
    """
    # textbook DCGs are as probable as each other, together as the prior
    model = fitted.model
    shape = model.n_grades, model.depth
    metrics = [*textbook_scores(*shape, description.candidates_of(*shape)).dcgs]
    shares = np.full(len(metrics), 1 / len(metrics))
    prior = description.prior_of(*shape)
    if prior is not None:
        metrics, shares = [*metrics, prior], np.append(shares / 2, 0.5)

    # fit judges to the eight likeliest
    few = fitted.thinned(1 << 12)
    thetas = _with_curves(fitted, metrics)
    judges_alone = replace(few, model=replace(model, ridge=0.0))
    promising = np.argsort(judges_alone.values(thetas), kind="stable")[:8]
    values = judges_alone.values(_judged(judges_alone, thetas[promising]))
    fixed = float(np.logaddexp.reduce(np.log(shares[promising]) - values))

    # charge free curves .6 (log n)^2 for n independent judgements: found, as are the bounds and
    # the odds of the sigmoid fit, on simulated logs of 30 to 500 judgements (docs/learner.md)
    free = -float(few.values(fitted.theta[None])[0])
    free -= 0.6 * math.log(max(fitted.share * fitted.judgements.total_weight, 1.0)) ** 2

    # neither is less probable than 5%
    chance = (1 + math.tanh(0.25 * fitted.share * (fixed - free))) / 2
    return float(np.clip(chance, 0.05, 0.95))


def _with_curves(fitted: FittedDCG, metrics: Sequence[DCG]) -> Floats:
    """Return the fit's parameters with the curves of each metric, shape (M, p)."""
    return np.array(
        [with_curves(fitted.model, fitted.theta, x.gains, x.discounts) for x in metrics]
    )


def _judged(objective: DirectObjective, thetas: Floats) -> Floats:
    """Return the parameters with the judges that fit best with their curves, shape (M, p)."""
    model = objective.model
    low, high = (np.tile(end, (len(thetas), 1)) for end in model.bounds)

    # the curves, and the gain of an empty place, stay
    of_curves = np.s_[:, np.r_[: model.places.delta.stop, model.places.empty]]
    low[of_curves] = high[of_curves] = thetas[of_curves]
    return descend(objective, thetas, (low, high), max_iter=50, tol=1e-6).theta


def mean_dcg(members: Sequence[Member]) -> DCG:
    """Return the weighted mean of the members' curves, with a best gain of 1.

    Each member's gains are first scaled to rise by 1.
    """
    weights = [member.weight for member in members]
    gains = [member.dcg.gains / np.ptp(member.dcg.gains) for member in members]
    discounts = [member.dcg.discounts for member in members]
    mean = np.average(gains, axis=0, weights=weights)
    return DCG(mean / mean[-1], np.average(discounts, axis=0, weights=weights))


def _blended(
    fits: Mapping[str, DirectFit],
    fitted: FittedDCG,
    members: Sequence[Member],
    weighed_on: float,
    cautions: tuple[str, ...],
) -> DirectFit:
    """Return the weighted mean of the members' curves, with the judges that fit best with it."""
    # the mean of the members' curves
    first = next(iter(fits.values()))
    mean = mean_dcg(members)
    blend = replace(mean, grade_names=first.dcg.grade_names, notes=first.dcg.notes)
    gains, discounts = mean.gains / np.ptp(mean.gains), mean.discounts

    # fit the judges to these curves, on a sample of a long log
    on_sample = fitted.thinned(SAMPLE)
    theta = _judged(on_sample, _with_curves(fitted, [blend]))
    judges = fitted.model.curves(theta[0])
    objective = fitted.values(theta)

    # how often their verdicts are wrong, told by judgements in memory
    judgements = on_sample.judgements.thinned(SAMPLE)
    points = fitted.model.points(theta)

    # the robust fit with the blend's curves; its description asks for the default, a blend
    return replace(
        first,
        description=replace(first.description, loss="auto"),
        loss="blend",
        dcg=blend,
        curves=replace(judges, gains=gains, discounts=discounts / discounts.sum()),
        objective=float(objective[0]),
        wrong_share=wrong_share(judgements, points),
        members=tuple(members),
        weighed_on=weighed_on,
        cautions=cautions,
        unconverged=next((fit.unconverged for fit in fits.values() if fit.unconverged), ""),
    )
