"""The run of ``dcglearn learn``: fit a log, measure the fit, and report on it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import dcglearn as dl
from dcglearn.audits.section import Section
from dcglearn.cli.learn_options import LearnerOptions, TrustOptions, of_ratings
from dcglearn.cli.reading import read_llm
from dcglearn.cli.report import Report
from dcglearn.foundation.finding import Finding
from dcglearn.foundation.progress import stage
from dcglearn.foundation.validation import Fields, InputError
from dcglearn.learning.fit import AnyFit, Fit, warn_of
from dcglearn.learning.fit_utility import QPFit, fit_qp
from dcglearn.learning.options import DCGOptions, QPOptions
from dcglearn.learning.usable_pairs import usable_pairs
from dcglearn.metrics.reading import metric_in_use
from dcglearn.reading.preferences import Preferences
from dcglearn.trust.coins import ASSUMED, NO_SIGNAL, check_log, tells_nothing
from dcglearn.trust.fit_learner import fit_learner, with_llm_learned
from dcglearn.trust.judge_draws import judged_by
from dcglearn.trust.llm import llm_report

if TYPE_CHECKING:
    from dcglearn.raters.rater_agreement import RaterAgreement
    from dcglearn.trust.band_draws import Bands
    from dcglearn.trust.comparison import Comparison
    from dcglearn.trust.cross_validation import ChosenC


NOT_MEASURED = "not measured; --holdout 0.3 measures on judgements that are held out"

MEASURED = 5_000
"""Pairs that stand for a log of twice as many, or more, where no option asks for a measurement."""


def learn_report(
    log: Preferences, options: LearnerOptions, trust: TrustOptions, *, strict_log: bool = False
) -> Report:
    """Learn a DCG from a log, measure it on held-out pairs, and return the report.

    The DCG is learned from the whole log, also with held-out data. Raises InputError if the log
    cannot be learned from, or cannot be split; with `strict_log` also if no metric orders its pairs
    better than a coin.
    """
    began = time.perf_counter()

    # check the log and the metric in use
    check_log(log, strict=strict_log)
    metric_in_use(trust.baseline, log.n_grades, log.depth)
    asked, unit = options.learner(log, trust.seed), trust.unit(log)

    # check the conclusion that is asked for, and read the LLM's verdicts
    if trust.what_if is not None:
        from dcglearn.trust.deciding import conclusion_in

        conclusion_in(trust.what_if, log)
    verdicts = None if options.llm is None else read_llm(options.llm, log.n_grades)
    if verdicts is not None and isinstance(asked, DCGOptions):
        with stage("machine"):
            asked = with_llm_learned(replace(asked, llm=verdicts), log)

    # learn from all pairs, and measure on held-out ones
    fitted = partial(_fitted, asked=asked, options=options, trust=trust)
    comparison, not_measured = None, ""
    if trust.holdout is not None:
        comparison = _held_out(log, fitted, trust)
    with stage("learning"):
        learner, chosen = fitted(log)
    if comparison is None:
        comparison, not_measured = _in_folds(log, learner, trust)

    # what the log can tell of the fit; coin flips tell nothing
    coins = tells_nothing(log)
    bands, no_bands = None, f"not at all: bands are those of {ASSUMED}" if coins else ""
    machine = raters = None
    decide: dict[str, Finding] = {}
    if isinstance(learner, Fit):
        if not coins:
            bands, no_bands = _bands(log, learner, trust)
        learner = _judged(log, learner, comparison, trust)
        decide = _deciding(log, learner, trust)
        if learner.llm is not None:
            machine = llm_report(log, learner, random_state=trust.seed)

    # raters, for any learner
    if not of_ratings(log):
        raters = _agreement(log, learner, coins=coins)

    return Report(
        learner=learner,
        factoring=None if isinstance(learner, Fit) else learner.factor(normalise_gains=True),
        log=log,
        chosen=chosen,
        comparison=comparison,
        held_out_by=None if trust.holdout is None else unit,
        # how far it can be trusted
        contradicted=log.n_contradicted(),
        bands=bands,
        seconds=time.perf_counter() - began,
        raters=raters,
        no_bands=no_bands,
        machine=machine,
        no_signal=NO_SIGNAL if coins else "",
        not_measured=not_measured,
        deciding=decide,
    )


def _deciding(log: Preferences, learner: Fit, trust: TrustOptions) -> dict[str, Finding]:
    """Return the verdicts, raters and queries that decide a conclusion, where it is asked for."""
    if trust.what_if is None:
        return {}
    if tells_nothing(log):
        return {"what if": Section(f"no verdicts decide it: {NO_SIGNAL}")}
    from dcglearn.trust.deciding import what_if

    verdicts = what_if(log, learner, trust.what_if)
    found: dict[str, Finding] = {"what if": verdicts}
    for by in ("rater", "query"):
        labels = getattr(log, by)
        if verdicts.holds and labels is not None and (labels != labels[0]).any():
            found[f"what if, by {by}"] = what_if(log, learner, trust.what_if, by=by)
    return found


def _bands(log: Preferences, learner: Fit, trust: TrustOptions) -> tuple[Bands | None, str]:
    """Return the bands that are asked for, or why there are none."""
    if not trust.bands:
        return None, ""
    from dcglearn.trust.band_draws import bands_or_why

    level: Fields = {} if trust.level is None else {"level": trust.level}
    with stage("bands"):
        n, seed = trust.bands, trust.seed
        return bands_or_why(log, learner, n_resamples=n, random_state=seed, **level)


def _judged(
    log: Preferences, learner: Fit, comparison: Comparison | None, trust: TrustOptions
) -> Fit:
    """Return the fit with draws of its judges, and with what held-out pairs say of them."""
    from dcglearn.trust.band_draws import drawn_judges
    from dcglearn.trust.calibration import shrunk

    # the same draws with bands and without them, and as an audit has them
    with stage("judges"):
        judges = drawn_judges(log, learner, trust.seed)

    # how sure they are, and what they leave unexplained, by held-out pairs
    judges = shrunk(judges, None if comparison is None else comparison.calibration)
    if tells_nothing(log):
        judges = replace(judges, unexplained=NO_SIGNAL)
    elif comparison is not None and comparison.below_ceiling:
        judges = replace(judges, unexplained=f"grades do not explain all: {comparison.room}")
    return judged_by(learner, judges)


def _held_out(
    log: Preferences, fitted: Callable[[Preferences], tuple[Any, Any]], trust: TrustOptions
) -> Comparison:
    """Return how well a fit to one part of a log predicts the other, beside other metrics."""
    from dcglearn.trust.held_out import compare_dcg

    share = 1 - (trust.holdout or 0)
    train, test = usable_pairs(log).split(share, random_state=trust.seed, by=trust.unit(log))

    # learn from one part, compare on the other
    with stage("held out"):
        learner, _ = fitted(train)
        reference_C = learner.options.C if isinstance(learner, QPFit) else "auto"
        comparison = compare_dcg(
            learner, train, test, baseline=trust.baseline, C=reference_C, random_state=trust.seed
        )

    return replace(comparison, tells_nothing=tells_nothing(log))


def _in_folds(
    log: Preferences, learner: AnyFit, trust: TrustOptions
) -> tuple[Comparison | None, str]:
    """Return how well fits without a fold predict it, as an audit has it, or why that is not told.

    It takes five fits or more, which are made for a DCG alone, and to a sample of a long log.
    """
    if not isinstance(learner, Fit):
        return None, NOT_MEASURED
    if not trust.calibrate:
        log = log.thinned(MEASURED)
    from dcglearn.trust.held_out import cross_fitted

    try:
        with stage("held out"):
            options: Fields = {"baseline": trust.baseline, "random_state": trust.seed}
            return cross_fitted(log, learner, **options), ""
    except InputError as error:
        if trust.calibrate:
            raise
        return None, str(error)


def _agreement(log: Preferences, learner: AnyFit, *, coins: bool) -> RaterAgreement | None:
    """Return the raters' agreement; None if no pair was judged twice and no side is known.

    Coin flips tell nothing of their errors.
    """
    if log.rater is None and log.swapped is None:
        return None
    agreement = dl.rater_agreement(log, errors=False)
    if log.swapped is None and not agreement.n_units:
        return None

    # errors of each rater take seconds on a large log
    if coins or not isinstance(learner, Fit) or len(log) > 200_000:
        return agreement
    return dl.rater_agreement(log, learner)


def _fitted(
    log: Preferences, asked: DCGOptions | QPOptions, options: LearnerOptions, trust: TrustOptions
) -> tuple[AnyFit, ChosenC | None]:
    """Return the fit to a log and, of a QP, how C was chosen."""
    # gains and discounts, or the QP with C chosen by validation
    fit: AnyFit
    chosen = None
    if isinstance(asked, DCGOptions):
        fit = fit_learner(log, asked)
    else:
        if options.C == "auto":
            unit = trust.unit(log)
            by = "pair" if unit == "list" else unit
            chosen = dl.trust.choose_C(log, asked, by=by, random_state=trust.seed)
            asked = replace(asked, C=chosen.C)
        fit = fit_qp(log, asked)
    warn_of(fit)
    return fit, chosen
