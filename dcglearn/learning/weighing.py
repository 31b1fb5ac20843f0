"""The default learner's answer: free curves and textbook DCGs, weighed by the evidence of a log.

With few judgements a textbook is often the best bet. A fit's free curves and each fixed metric (the
textbooks, a prior, an LLM judge's DCG) have the weight of their probability given the log; the
answer is the weighted mean of their curves, which is a DCG. Where lists differ in length, that is
done for sums, and again with a free power of the length and a free worth of the worst grade, beside
textbooks as means: the form with more evidence is the answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from dcglearn.foundation.validation import Floats
from dcglearn.learning.evidence import fixed_population, free_population, laplace_evidence, sampled
from dcglearn.learning.fit import FREE, LLM, NEAR_LLM, OF_LENGTH, PRIOR, Fit, Member, fit_dcg
from dcglearn.learning.model import log_metric
from dcglearn.learning.objective import FitObjective
from dcglearn.learning.options import DCGOptions
from dcglearn.learning.pairs import Pairs
from dcglearn.learning.search import descend
from dcglearn.metrics.dcg import DCG, textbook_dcgs

EVEN = 100.0
"""Independent judgements of a log at which free curves and each other way to go by have even odds
before it is seen: the textbooks together, a prior, an LLM judge's DCG, and curves near that.

With fewer, such a way is more likely, with more less: nobody's metric is quite a textbook, which
only many judgements can show (`study_h_learners` among the simulations).
"""

LEAST = 1e-3
"""Least weight of fitted curves together, and of fixed metrics."""

FEW = 1 << 8
"""Of so few judgements, a population has twice the members."""


AHEAD = -1.0
"""Log evidence by which another form must be ahead of the plain one: populations miss a part of it,
and more of it with more parameters (`study_l_lengths` among the simulations).
"""

MEMBERS, TO_CHOOSE = 256, 384
"""Members of a population that tells evidence, and of one that chooses between two forms."""


def learned(pairs: Pairs, options: DCGOptions) -> Fit:
    """Return the default learner's fit to pairs, of the form that their evidence chooses."""
    varied = pairs.facts.n_empty[1] > 0
    fits = [fit_dcg(pairs, form) for form in options.forms(varied=varied)]
    if len(fits) == 1:
        return weighed(fits[0])
    plain, other = (weighed(fit, n_members=TO_CHOOSE) for fit in fits)
    lead = other.log_evidence - plain.log_evidence
    return replace(other if lead > AHEAD else plain, options=options, lead=lead)


def weighed(fit: Fit, held: Sequence[float] | None = None, n_members: int = MEMBERS) -> Fit:
    """Return the fit whose DCG is the mean of free curves and fixed metrics.

    Beside the textbooks stand the options' prior and LLM judge's DCG; of an LLM judge, curves that
    have its DCG as their prior are weighed too.
    Weights are found from the evidence, by populations of so many members, or those `held` from
    another fit, in the order of its members.
    """
    # the fixed metrics, of the fit's power
    model = fit.model
    shape = model.n_grades, model.depth
    textbooks = textbook_dcgs(*shape)
    if model.power != 0:
        power = 1.0 if model.power is None else model.power
        textbooks = {name + OF_LENGTH: replace(x, power=power) for name, x in textbooks.items()}
    own = {PRIOR: fit.options.metric("prior", *shape), LLM: fit.options.metric("llm", *shape)}
    metrics = textbooks | {name: dcg for name, dcg in own.items() if dcg is not None}

    # the fitted curves
    fits = {FREE: fit}
    if LLM in metrics:
        near = metrics[LLM]
        options = replace(fit.options, prior=near, start=near, llm=None)
        fits[NEAR_LLM] = fit_dcg(fit.pairs, options)

    # their weights
    log_evidence, weights = 0.0, held
    if weights is None:
        log_evidence, weights = _weights(fits, metrics, len(textbooks), n_members)
    dcgs = [
        *(x.free for x in fits.values()),
        *(with_zero_gain(x, model.zero) for x in metrics.values()),
    ]
    members = [*map(Member, [*fits, *metrics], weights, dcgs)]

    # the judges that fit best with the mean
    mean = mean_dcg(members)
    theta = model.with_metrics(fit.theta, log_metric(mean, falling=model.falling)[None])[0]
    points = model.points(with_best_judges(sampled(fit.function), theta))
    return replace(
        fit,
        dcg=replace(mean, grade_names=fit.dcg.grade_names, notes=fit.dcg.notes),
        points=points,
        members=tuple(members),
        log_evidence=log_evidence,
    )


def _weights(
    fits: Mapping[str, Fit], metrics: Mapping[str, DCG], n_textbooks: int, n_members: int
) -> tuple[float, Sequence[float]]:
    """Return the log evidence, and the probabilities of fitted curves and of fixed metrics.

    The evidence is that of all together, up to what is the same for every form.
    """
    # the evidence of fitted curves, times prior odds
    fit = fits[FREE]
    odds_of_each = EVEN / fit.n_effective
    rng = np.random.default_rng(fit.options.random_state)
    samples = [sampled(x.function) for x in fits.values()]
    logs = np.log([1.0, odds_of_each][: len(fits)])
    for i, (sample, x) in enumerate(zip(samples, fits.values(), strict=True)):
        n = n_members if len(sample.pairs) <= FEW else n_members // 2
        _, log_evidence = free_population(sample, rng, n, draws=False)
        logs[i] += max(log_evidence, laplace_evidence(sample, x.theta))  # both err downwards

    # that of fixed metrics: textbooks have their odds together
    odds = np.full(len(metrics), odds_of_each)
    odds[:n_textbooks] /= n_textbooks
    of_each, log_fixed = fixed_population(samples[0], [*metrics.values()], odds, rng)

    # neither kind is left out: where one orders two lists alike, the other orders them
    fitted, fixed = np.logaddexp.reduce(logs), log_fixed + np.log(odds.sum())
    of_fixed = np.clip(np.exp(fixed - np.logaddexp(fitted, fixed)), LEAST, 1 - LEAST)
    of_fits = (1 - of_fixed) * np.exp(logs - fitted)
    weights = [*of_fits.tolist(), *(of_fixed * of_each).tolist()]
    return float(np.logaddexp(fitted, fixed)), weights


def with_best_judges(objective: FitObjective, theta: Floats) -> Floats:
    """Return parameters, shape (1, p), with the judges that fit best with the curves of theta."""
    bounds, judges = np.array(objective.model.bounds), objective.model.of_judges
    ends = np.tile(np.clip(theta, *bounds), (2, 1))
    ends[:, judges] = bounds[:, judges]
    return descend(objective, theta[None], ends, max_steps=50, tol=1e-6).theta


def with_zero_gain(dcg: DCG, zero: int) -> DCG:
    """Return the DCG with gains that rise by 1 and are 0 for the grade `zero`.

    If `zero` is beyond the last grade, the gain of an empty place is 0.
    """
    nothing = dcg.gains[zero] if zero < dcg.n_grades else 0.0
    return replace(dcg.normalised(), gains=(dcg.gains - nothing) / np.ptp(dcg.gains))


def mean_dcg(members: Sequence[Member]) -> DCG:
    """Return the weighted mean of the members' curves and powers, best gain and first discount 1.

    Each member's gains are first scaled to rise by 1.
    """
    # curves of one scale
    weights = [member.weight for member in members]
    gains = [member.dcg.gains / np.ptp(member.dcg.gains) for member in members]
    discounts = [member.dcg.discounts for member in members]
    gain, discount = (np.average(x, axis=0, weights=weights) for x in (gains, discounts))
    power = float(np.average([member.dcg.power for member in members], weights=weights))
    return DCG(gain / gain[-1], discount / discount[0], power=power)
