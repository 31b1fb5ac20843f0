"""A machine's many verdicts beside people's few: its DCG, and how far it can be trusted in place of people."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from dcglearn.foundation.validation import InputError
from dcglearn.learning.fits import DirectDescription
from dcglearn.metric.dcg import DCG
from dcglearn.parts.open_log import Log, opened_log
from dcglearn.parts.parts import PartedLog
from dcglearn.readers.sense import SAMPLE, check_sense
from dcglearn.trust.blend import check_same_shape, fit_blend

if TYPE_CHECKING:
    from dcglearn.parts.parts import OpenLog


def proxy_dcg(proxy: Log | DCG | None, log: OpenLog, *, as_is: bool = False) -> DCG | None:
    """Return the DCG of a machine: the proxy itself, or what is learned from its verdicts, on the scale of a log.

    None, with a warning, where nothing can be learned from them: one that always names the same side, or, unless
    `as_is`, whose verdicts all textbook DCGs contradict. Raise InputError if they cannot be read, their lists have
    another depth or scale, or the log holds no verdict to weigh them by.
    """
    if proxy is None or isinstance(proxy, DCG):
        return proxy
    if not isinstance(log, PartedLog) and not len(log[log.differing].decided):
        raise InputError(
            "the log holds no preference of people between two different lists, by which the proxy could be weighed: "
            "judge a few pairs first, or learn from the proxy as the log"
        )
    with opened_log(proxy, max(log.n_grades, getattr(proxy, "n_grades", 0))) as verdicts:
        check_same_shape(verdicts, log)
        try:
            if not (as_is or log.as_is):
                check_sense(verdicts.sample(SAMPLE) if isinstance(verdicts, PartedLog) else verdicts)
            return fit_blend(verdicts, DirectDescription(n_grades=log.n_grades)).dcg
        except InputError as error:
            warnings.warn(f"the proxy is left out, and people alone are followed: {error}", UserWarning, stacklevel=3)
            return None
