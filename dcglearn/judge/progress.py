"""What has been learned, for those who run a study: curves, raters, agreement, the learning curve, exports."""

import contextlib
import hashlib
import io
import tempfile
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import bdtr

from dcglearn.foundation.validation import InputError
from dcglearn.judge.learned import LatestFit, Newest
from dcglearn.judge.study import Study
from dcglearn.judge.verdict_log import Verdict
from dcglearn.learning.fits import DirectDescription
from dcglearn.metric.dcg import DCG
from dcglearn.plots import banded_figure
from dcglearn.raters.rater_agreement import rater_agreement, wilson
from dcglearn.readers.preferences import Preferences
from dcglearn.trust.form_choice import fit_in_form

FEWEST_HELD_OUT = 5
"""With fewer held-out verdicts there is no learning curve."""

INTERVAL_LEVEL = 0.95
"""Level of the intervals of agreement and wins."""


class Progress(Newest["LatestFit"]):
    """Reports on a study; what takes longer is worked out in a thread, while somebody looks."""

    def __init__(self, study: Study) -> None:
        self._study = study
        self._details: dict[str, Any] = {}
        self._of: LatestFit | None = None
        super().__init__("details", self._work_out)

    def report(self) -> dict[str, Any]:
        """Return what the view of progress shows, as plain values."""
        study, latest = self._study, self._study.learned.latest
        standing = study.standing()
        n = sum(verdict["winner"] != "open" for verdict in standing)
        if latest.fit is not None and (self._of is None or self._of.log is not latest.log):
            self._of = latest
            self.give(latest)
        systems = study.candidates.systems
        return {
            "verdicts": n,
            "ties": sum(verdict["winner"] == "tie" for verdict in standing),
            "skipped": len(standing) - n,
            "curves": _curves(latest),
            "widest": latest.widest,
            "width": study.rules.width,
            "bands_from": study.learned.bands_from,
            "more": latest.more(study.rules.width, n),
            "short": study.short(),
            "raters": _raters(standing, study.checks, self._details.get("raters", {})),
            "alpha": self._details.get("alpha"),
            "n_units": self._details.get("n_units", 0),
            "curve": self._details.get("curve", []),
            "machine": self._details.get("machine", []),
            "wins": None if systems is None else wins(standing, systems),
            "trouble": study.learned.trouble or self.trouble,
        }

    def dcg_bytes(self) -> bytes:
        """Return the DCG of the page in the bytes that `Study.next_command` writes."""
        dcg = self._study.learned.newest().dcg
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "dcg.json"
            dcg.save(path)
            return path.read_bytes()

    def picture_bytes(self) -> bytes:
        """Return gains and discounts with their bands beside the usual DCG, as PNG."""
        self._study.learned.newest()
        latest = self._study.learned.latest
        usual = DCG.standard(latest.dcg.n_grades, latest.dcg.depth)
        buffer = io.BytesIO()
        banded_figure(latest.dcg, {"exponential-log2": usual}, latest.bands).savefig(buffer, format="png", dpi=150)
        return buffer.getvalue()

    def _work_out(self, latest: LatestFit) -> None:
        if latest.log is not None and latest.fit is not None:
            machine = self._study.machine
            agreement = rater_agreement(latest.log, latest.fit, level=INTERVAL_LEVEL).to_dict()
            raters = {row["rater"]: row for row in agreement["raters"]}
            details = {"alpha": agreement["nominal"], "n_units": agreement["n_units"], "raters": raters}
            curves = {"machine": [] if machine is None else machine_curve(latest.log, machine)}
            self._details = {**details, **curves, "curve": learning_curve(latest.log)}


def _raters(standing: list[Verdict], checks: list[Verdict], known: dict[str, Any]) -> list[dict[str, Any]]:
    """Return counts, outcomes of checks, error rate and position bias of each rater, as far as they are known."""
    rows = []
    for name in sorted({verdict["rater"] or "" for verdict in (*standing, *checks)}):
        winners = [verdict["winner"] for verdict in standing if (verdict["rater"] or "") == name]
        counts: dict[str, Any] = {"ties": winners.count("tie"), "skipped": winners.count("open")}
        counts["checks"] = Counter(verdict["check"] for verdict in checks if (verdict["rater"] or "") == name)
        more = {key: known.get(name, {}).get(key) for key in ("error", "bias")}
        rows.append({"name": name, "verdicts": len(winners) - counts["skipped"], **counts, **more})
    return rows


def _curves(latest: LatestFit) -> dict[str, Any] | None:
    """Return gains and discounts with the ends of their bands; None before anything is learned."""
    if latest.fit is None:
        return None
    dcg, bands = latest.dcg, latest.bands
    curves: dict[str, Any] = {"n": latest.n, "gains": dcg.gains.tolist(), "discounts": dcg.discounts.tolist()}
    if bands is not None:
        both = (bands, bands.simultaneous)
        gains, discounts = [x.gain_band.tolist() for x in both], [x.discount_band.tolist() for x in both]
        curves["bands"] = {"by": bands.by, "gains": gains, "discounts": discounts}
    return curves


def learning_curve(log: Preferences) -> list[dict[str, Any]]:
    """Return the share of held-out verdicts respected by what was learned from the first n others.

    The same fifth of the pairs is held out whatever n, by a digest of their grades and query, so the curve does not
    jump as the log grows. Each point has n, the share, and Wilson's interval.
    """
    out = np.array([_is_held_out(log, i) for i in range(len(log))])
    held_out, train = log[out].decided, log[~out]
    if len(held_out) < FEWEST_HELD_OUT:
        return []
    curve = []
    for n in _sizes(len(train)):
        with contextlib.suppress(InputError):  # the first n are ties, say
            dcg = fit_in_form(train[:n], DirectDescription(n_grades=log.n_grades)).dcg
            curve.append({"n": n, **_respected(held_out, dcg)})
    return curve


def machine_curve(log: Preferences, machine: DCG) -> list[dict[str, Any]]:
    """Return the share of the first n decided verdicts that a machine's DCG orders alike, with Wilson's interval."""
    decided = log.decided
    return [{"n": n, **_respected(decided[:n], machine)} for n in _sizes(len(decided)) if n]


def _sizes(n: int) -> list[int]:
    """Return the numbers of verdicts at which a curve of n has points."""
    return [*(size for size in (10, 20, 40, 80, 160, 320, 640, 1280) if size < n), n]


def _respected(log: Preferences, dcg: DCG) -> dict[str, float]:
    """Return the share of preferences that a DCG respects, and the ends of Wilson's interval."""
    value = log.agreement(dcg).share
    share = wilson(round(value * len(log)), len(log), INTERVAL_LEVEL)
    return {"share": value, "low": share.low, "high": share.high}


def wins(verdicts: Sequence[Verdict], systems: tuple[str, str]) -> dict[str, Any]:
    """Return how often each of two systems won, and a sign test by query (its majority) with Wilson's interval."""
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
