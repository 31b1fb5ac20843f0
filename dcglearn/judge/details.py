"""What takes longer to work out from a log of verdicts: the learning curve, agreement, and which system wins."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dcglearn.foundation.validation import InputError

if TYPE_CHECKING:
    from dcglearn.judge.verdict_log import Verdict
    from dcglearn.learning.fits import DirectFit
    from dcglearn.readers.preferences import Preferences

FEWEST_HELD_OUT = 5
"""With fewer held-out verdicts there is no learning curve."""

INTERVAL_LEVEL = 0.95
"""Level of the intervals of agreement and wins."""


def learning_curve(log: Preferences) -> list[dict[str, Any]]:
    """Return the share of held-out verdicts respected by what was learned from the first n others.

    The same fifth of the pairs is held out whatever n, by a digest of their grades and query, so the curve does not
    jump as the log grows. Each point has n, the share, and Wilson's interval.
    """
    from dcglearn.learning.fit_direct import fit_direct
    from dcglearn.learning.fits import DirectDescription
    from dcglearn.raters.rater_agreement import wilson

    out = np.array([_is_held_out(log, i) for i in range(len(log))])
    held_out, train = log[out].decided, log[~out]
    if len(held_out) < FEWEST_HELD_OUT:
        return []
    sizes = [n for n in (10, 20, 40, 80, 160, 320, 640, 1280) if n < len(train)] + [len(train)]
    curve = []
    for n in sizes:
        try:
            dcg = fit_direct(train[:n], DirectDescription(n_grades=log.n_grades)).dcg
        except InputError:
            continue  # the first n are ties, say
        agreement = held_out.agreement(dcg)
        share = wilson(round(agreement.share * len(held_out)), len(held_out), INTERVAL_LEVEL)
        curve.append({"n": n, "share": agreement.share, "low": share.low, "high": share.high})
    return curve


def agreement_between_raters(log: Preferences, fit: DirectFit) -> dict[str, Any]:
    """Return Krippendorff's alpha with its interval, and error and position bias of each rater by name."""
    from dcglearn.raters.rater_agreement import rater_agreement

    found = rater_agreement(log, fit, level=INTERVAL_LEVEL).to_dict()
    raters = {row["rater"]: row for row in found["raters"]}
    return {"alpha": found["nominal"], "n_units": found["n_units"], "raters": raters}


def wins(verdicts: Sequence[Verdict], systems: tuple[str, str]) -> dict[str, Any]:
    """Return how often each of two systems won, and a sign test by query: the query's majority, ties left out.

    The interval of the second system's share of queries is Wilson's.
    """
    from scipy.special import bdtr

    from dcglearn.raters.rater_agreement import wilson

    counts = Counter(verdict["winner"] for verdict in verdicts)
    by_query: dict[str, int] = defaultdict(int)
    for verdict in verdicts:
        by_query[verdict["query"] or ""] += {"a": -1, "b": 1}.get(verdict["winner"], 0)
    ahead, behind = (sum(sign * value > 0 for value in by_query.values()) for sign in (1, -1))
    n = ahead + behind
    share = wilson(ahead, n, INTERVAL_LEVEL)
    return {
        "systems": list(systems),
        "verdicts": [counts["a"], counts["b"]],
        "ties": counts["tie"],
        "queries": [behind, ahead],
        "tied_queries": len(by_query) - n,
        "share": None if not n else [share.value, share.low, share.high],
        "p_value": None if not n else min(2 * float(bdtr(min(ahead, behind), n, 0.5)), 1.0),
    }


def _is_held_out(log: Preferences, i: int) -> bool:
    sides = sorted([log.preferred[i].tobytes(), log.other[i].tobytes()])
    query = b"" if log.query is None else str(log.query[i]).encode()
    return hashlib.sha256(b"\0".join([query, *sides])).digest()[0] % 5 == 0
