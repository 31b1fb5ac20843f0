"""The fit of a learner: a blend, or a fit with a loss of its own, whose metric knows its judges."""

import hashlib
from dataclasses import replace
from typing import Any

from dcglearn.foundation.validation import InputError, pointer
from dcglearn.learning.descriptions import DirectDescription, DirectFit
from dcglearn.learning.fit_dcg import fit_direct
from dcglearn.learning.wrong_verdicts import CONTRARY_LEVEL
from dcglearn.metrics.dcg import DCG
from dcglearn.metrics.learned_from import LearnedFrom
from dcglearn.parts.parted_log import OpenLog, n_judgements
from dcglearn.trust.blend import fit_blend
from dcglearn.trust.coins import tells_nothing
from dcglearn.trust.judge_draws import with_judges


def fit_learner(
    log: OpenLog,
    description: DirectDescription,
    start: Any = None,
    *,
    refit: str = "never",
    llm: DCG | None = None,
) -> DirectFit:
    """Return a learner's fit, a blend where the loss is "auto"; its metric knows its judges.

    The other parameters and the errors are those of `fit_blend`. Raise InputError also for `llm` or
    candidates with another loss.
    """
    if description.loss == "auto":
        blend = fit_blend(log, description, start, refit=refit, llm=llm)
        return _with_log(with_judges(_naming_contrary(blend, log), log), log)

    # members beside the fit are those of a blend
    if llm is not None:
        raise InputError('llm= goes with loss="auto": the LLM judge is a member of the blend')
    if description.candidates:
        raise InputError('candidates= goes with loss="auto": a candidate is a member of the blend')
    fit = fit_direct(log, description, start, refit=refit)
    return _with_log(with_judges(_naming_contrary(fit, log), log), log)


def _with_log(fit: DirectFit, log: OpenLog) -> DirectFit:
    """Return a fit whose metric knows the log; of one in parts, only its size."""
    assert fit.dcg.judges is not None
    lists, others, weights, raters, times = (
        getattr(log, name, None) for name in ("preferred", "other", "weight", "rater", "time")
    )
    held = [column.tobytes() for column in (lists, others, weights, raters) if column is not None]
    learned_from = LearnedFrom(
        n_judgements=n_judgements(log),
        depth=fit.dcg.judges.depth,
        n_grades=log.n_grades,
        n_raters=0 if raters is None else len({*raters}),
        digest=hashlib.sha256(b"".join(held)).hexdigest() if held else "",
        until="" if times is None else str(max(times)),
    )
    return replace(fit, dcg=replace(fit.dcg, learned_from=learned_from))


def _naming_contrary(fit: DirectFit, log: OpenLog) -> DirectFit:
    """Add the caution of raters who contradict the others, of no log of coin tosses."""
    if not fit.contrary or tells_nothing(log):
        return fit

    # they are named, since their verdicts count for the other list
    caution = (
        f"raters who contradict the others more often than not: {', '.join(fit.contrary)} (tested "
        f"at a level of {CONTRARY_LEVEL:.0%} for all raters); their verdicts are counted "
        "reversed: check whether they took the worse for the better "
        f"{pointer('contrary-raters')}"
    )
    return replace(fit, cautions=(*fit.cautions, caution))
