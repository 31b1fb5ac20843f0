"""The fit of a learner: free curves and textbooks weighed, and a metric that knows its judges."""

import hashlib
import warnings
from dataclasses import replace
from itertools import compress

import numpy as np

from dcglearn.foundation.intervals import binomial_tail
from dcglearn.foundation.threads import one_blas_thread
from dcglearn.foundation.validation import Floats, InputError, errors_in
from dcglearn.learning.fit import Fit
from dcglearn.learning.options import DCGOptions
from dcglearn.learning.pairs import pairs_of
from dcglearn.learning.weighing import learned
from dcglearn.logs.thinning import SAMPLE
from dcglearn.metrics.dcg import DCG
from dcglearn.metrics.judges import LearnedFrom
from dcglearn.reading.direction import check_sense
from dcglearn.reading.in_memory import Log, as_preferences
from dcglearn.reading.preferences import Preferences
from dcglearn.trust.coins import tells_nothing
from dcglearn.trust.judge_draws import with_judges

CONTRARY_LEVEL = 0.01
"""False-positive rate of the test that some rater of a log contradicts the others."""


def fit_learner(log: Preferences, options: DCGOptions) -> Fit:
    """Return a learner's fit to a log, whose metric knows its judges."""
    log = log.rescaled(options.n_grades, options.depth)
    with one_blas_thread():
        options = prepared(options, log)
        return finished(learned(pairs_of(log, options.loss), options), log)


def prepared(options: DCGOptions, log: Preferences) -> DCGOptions:
    """Return the options for a log, or for a sample of it; raise InputError if they do not fit."""
    options.check(log)
    _check_winners(log.thinned(SAMPLE))
    return with_llm_learned(options, log)


def finished(fit: Fit, log: Preferences, n_judgements: int | None = None) -> Fit:
    """Return a fit whose metric knows its judges and its log.

    With the number of judgements, `log` is a sample of them.
    """
    return _with_log(with_judges(_naming_contrary(fit, log), log), log, n_judgements)


def _check_winners(log: Preferences) -> None:
    """Raise InputError if a log has winners, each as often the loser against the same list."""
    decided = log.differing_pairs.decided

    # the lighter sides are half of all, up to rounding
    half = 0.5 * (1 - 1e-9) * decided.total_weight
    if len(decided) and decided.n_contradicted() >= half:
        raise InputError(
            "every preference is contradicted as often as it is given: there is nothing to learn "
            "from"
        )


def with_llm_learned(options: DCGOptions, log: Preferences, *, as_is: bool = False) -> DCGOptions:
    """Return the options with the LLM judge's DCG in place of its verdicts.

    Without it, with a warning, where nothing can be learned from these: they always name the same
    side or, unless `as_is`, all textbook DCGs contradict them. Raise InputError if the verdicts
    cannot be read, their lists have another depth or scale, or the log holds no verdict to weigh
    the LLM judge by.
    """
    if options.llm is None or isinstance(options.llm, DCG):
        return options
    if not len(log.differing_pairs.decided):
        raise InputError(
            "the log holds no preference of people between two different lists, by which the LLM "
            "judge could be weighed: judge a few pairs first, or learn from its log alone"
        )
    as_is = as_is or log.as_is
    return replace(options, llm=llm_dcg(options.llm, log, depth=options.depth, as_is=as_is))


def llm_dcg(
    llm: Log, like: DCG | Preferences, *, depth: int | None = None, as_is: bool = False
) -> DCG | None:
    """Return what is learned from an LLM judge's verdicts, on the scale of a log or a DCG.

    Their lists are cut or filled up to `depth`, if it is given. None, with a warning, and errors as
    in `with_llm_learned`.
    """
    # what they are, which is checked for sense below
    n_grades = max(like.n_grades, getattr(llm, "n_grades", 0))
    with errors_in("llm"):
        verdicts = as_preferences(llm, n_grades, depth, as_is=True)
    if (verdicts.n_grades, verdicts.depth) != (like.n_grades, like.depth):
        raise InputError(
            f"the LLM judge has {verdicts.n_grades} grades and {verdicts.depth} positions, the log "
            f"{like.n_grades} and {like.depth}: read both with the same n_grades= and depth= "
            "(--grades, convert --depth), or map the grades of the judge's DCG to those of the log "
            "(DCG.map_grades)"
        )

    # people alone can do without it
    try:
        if not as_is:
            check_sense(verdicts)
        plain = DCGOptions(n_grades=like.n_grades).plain
        return fit_learner(verdicts, plain).dcg

    # the warning stands at the caller's line
    except InputError as error:
        warnings.warn(
            f"the LLM judge is left out, and people alone are followed: {error}",
            UserWarning,
            stacklevel=4,
        )
        return None


def _with_log(fit: Fit, log: Preferences, n_judgements: int | None) -> Fit:
    """Return a fit whose metric knows the log; a sample has no digest."""
    assert fit.dcg.judges is not None

    # what was learned from, byte by byte
    digest = ""
    if n_judgements is None:
        columns = (log.preferred, log.other, log.weight, log.rater)
        held = [column.tobytes() for column in columns if column is not None]
        digest = hashlib.sha256(b"".join(held)).hexdigest()

    # and its size
    learned_from = LearnedFrom(
        n_judgements=log.n_judgements if n_judgements is None else n_judgements,
        depth=fit.dcg.judges.depth,
        n_grades=log.n_grades,
        n_raters=0 if log.rater is None else len({*log.rater, *fit.raters}),
        digest=digest,
        until="" if log.time is None else str(max(log.time)),
    )
    return replace(fit, dcg=replace(fit.dcg, learned_from=learned_from))


def _naming_contrary(fit: Fit, log: Preferences) -> Fit:
    """Add the caution of raters who contradict the others, of no log of coin tosses."""
    names = contrary_raters(fit)
    if not names or tells_nothing(log):
        return fit

    # they are named, since their verdicts count for the other list
    caution = (
        f"raters who contradict the others more often than not: {', '.join(names)} (tested "
        f"at a level of {CONTRARY_LEVEL:.0%} for all raters); their verdicts are counted "
        "reversed: check whether they took the worse for the better"
    )
    return replace(fit, cautions=(*fit.cautions, caution))


def contrary_raters(fit: Fit) -> list[str]:
    """Return who names the worse list more often than not, beyond chance over all raters.

    Only raters with an error rate above a half can: they mistake the sides, or decide by chance.
    One-sided binomial tests of a half, by the number of judgements of equal weights that say as
    much (Kish 1965), with Bonferroni's correction.
    """
    suspect = fit.points.errors[0] > 0.5
    if not suspect.any():
        return []

    # the decided judgements, and whether they name the worse list
    pairs = fit.pairs.thinned(SAMPLE).merged()
    decided = pairs.at(np.flatnonzero(pairs.columns[0]))
    _, rater, weight, _ = decided.columns
    is_wrong = decided.differences(fit.points) < 0
    n_raters = len(suspect)

    def sums(values: Floats) -> Floats:
        return np.bincount(rater, values, n_raters).astype(np.float64)

    # how many independent judgements of each, and how many of these name the worse list
    total = np.maximum(sums(weight), 1e-300)
    n = total**2 / np.maximum(sums(weight**2), 1e-300)
    wrong = sums(weight * is_wrong) / total * n
    contrary = suspect & (binomial_tail(wrong, n) <= CONTRARY_LEVEL / n_raters)
    return [*compress(fit.raters, contrary)]
