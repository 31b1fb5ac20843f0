"""What has been learned, for those who run a study: curves, raters, agreement, the learning curve,
exports.
"""

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

from dcglearn.foundation.plain_text import number_of
from dcglearn.foundation.validation import InputError
from dcglearn.judge.learned import LatestFit, Newest
from dcglearn.judge.study import Study
from dcglearn.judge.verdict_log import Verdict
from dcglearn.learning.fits import DirectDescription
from dcglearn.metric.dcg import DCG
from dcglearn.plots import banded_figure
from dcglearn.raters.rater_agreement import Estimate, rater_agreement
from dcglearn.readers.preferences import Preferences
from dcglearn.trust.form_choice import fit_in_form

FEWEST_HELD_OUT = 5
"""With fewer held-out verdicts there is no learning curve."""

INTERVAL_LEVEL = 0.95
"""Level of the intervals of agreement and wins."""

CLAIM_LEVEL = 0.999
"""Level at which a rater is said to favour a side, or a system to be preferred: one looks after
every verdict.
"""

NO_BETTER = (
    "So far no metric orders verdicts that it was not learned from better than a coin: the curves show what was "
    "assumed before, not what raters want."
)
"""What is said of verdicts that tell nothing."""


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
        judged = [verdict for verdict in standing if verdict["winner"] != "open"]
        n = len(judged)
        if latest.fit is not None and (self._of is None or self._of.log is not latest.log):
            self._of = latest
            self.give(latest)
        systems = study.candidates.systems
        report = {
            "verdicts": n,
            "ties": sum(verdict["winner"] == "tie" for verdict in judged),
            "skipped": len(standing) - n,
            "curves": _curves(latest),
            "widest": latest.widest,
            "width": study.rules.width,
            "bands_from": study.learned.bands_from,
            "beats_coin": latest.beats_coin,
            "goal": study.goal(),
            "enough": latest.enough(study.rules.width),
            "short": study.short(),
            "raters": _raters(
                standing, study.checks, self._details.get("raters", {}) if latest.beats_coin else {}
            ),
            "alpha": self._details.get("alpha"),
            "n_units": self._details.get("n_units", 0),
            "curve": self._details.get("curve", []),
            "machine": self._details.get("machine", []),
            "wins": None if systems is None else wins(judged, systems),
            "trouble": study.learned.trouble or self.trouble,
        }
        return {**report, "sentences": sentences(report)}

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
        banded_figure(latest.dcg, {"exponential-log2": usual}, latest.bands).savefig(
            buffer, format="png", dpi=150
        )
        return buffer.getvalue()

    def _work_out(self, latest: LatestFit) -> None:
        if latest.log is not None and latest.fit is not None:
            machine = self._study.machine
            agreement = rater_agreement(latest.log, latest.fit, level=INTERVAL_LEVEL).to_dict()
            raters = {row["rater"]: row for row in agreement["raters"]}
            details = {
                "alpha": agreement["nominal"],
                "n_units": agreement["n_units"],
                "raters": raters,
            }
            curves = {"machine": [] if machine is None else machine_curve(latest.log, machine)}
            self._details = {**details, **curves, "curve": learning_curve(latest.log)}


def sentences(report: dict[str, Any]) -> list[str]:
    """Return what a report says in words. Nothing is said to be found that a coin could have
    brought about.
    """
    # what was learned, and how much is missing
    words = []
    if report["curves"] is None:
        words.append("Nothing is learned yet: judge a few pairs.")
    elif not report["beats_coin"]:
        words.append(NO_BETTER)
    if report["verdicts"] < report["bands_from"]:
        words.append(f"Bands are shown from {report['bands_from']} verdicts on.")
    elif report["beats_coin"] and report["widest"] is not None:
        words.append(f"The widest 90% band is {report['widest']:.2f} wide.")
        if report["enough"]:
            words.append(f"That is below {report['width']}: there are enough verdicts.")
        elif report["goal"] is not None:
            low, high = report["goal"]
            words.append(
                f"About {low} to {high} verdicts in all are wanted to bring it below {report['width']}."
            )
    if report["short"]:
        lacking = number_of(report["short"], "verdicts")
        words.append(
            f"The candidates end at least {lacking} before that: add some, or raise --redundancy."
        )

    # who judged
    for row in report["raters"]:
        if side := side_of(row["left"]):
            words.append(f"{row['name'] or 'The rater'} favours the {side} list.")
    alpha = report["alpha"]
    if report["n_units"] and alpha["low"] is not None:
        chance = ", which chance may explain" if alpha["low"] <= 0 else ""
        interval = f"{alpha['value']:.2f} ({alpha['low']:.2f} to {alpha['high']:.2f}){chance}"
        pairs = number_of(report["n_units"], "pairs")
        words.append(f"Agreement between raters on {pairs}: Krippendorff's alpha {interval}.")

    # systems and the machine
    if report["wins"] is not None and report["wins"]["share"] is not None:
        words.append(_of_wins(report["wins"]))
    if report["machine"]:
        last = report["machine"][-1]
        chance = ", which chance may explain" if last["low"] <= 0.5 else ""
        alike = f"{last['share']:.1%} of {number_of(last['n'], 'verdicts')} alike"
        words.append(
            f"The proxy orders {alike} (95%: {last['low']:.1%} to {last['high']:.1%}){chance}."
        )
    return words


def side_of(left: dict[str, float] | None) -> str:
    """Return the side that a rater favours, by the share of verdicts for the left list; none if 1/2
    is within errors.

    Sides are drawn, so the share of a rater without a position bias is 1/2, whatever the pairs and
    the metric.
    """
    if left is None or left["low"] <= 0.5 <= left["high"]:
        return ""
    return "left" if left["value"] > 0.5 else "right"


def _of_wins(found: dict[str, Any]) -> str:
    """Return which of two systems is preferred, if either is, and the test that says so."""
    (old, new), (share, low, high), p_value = found["systems"], found["share"], found["p_value"]
    better = new if share > 0.5 else old
    verdict = (
        f"{better} is preferred"
        if p_value < 1 - CLAIM_LEVEL
        else f"Neither {old} nor {new} is shown to be better"
    )
    wins = f"{new} wins {share:.1%} of the queries that are not tied (95%: {low:.1%} to {high:.1%})"
    return f"{verdict}: {wins}; sign test by query: p = {p_value:.2g}."


def _raters(
    standing: list[Verdict], checks: list[Verdict], known: dict[str, Any]
) -> list[dict[str, Any]]:
    """Return counts, outcomes of checks, share for the left list, and error rate, if known, of each
    rater.
    """
    rows = []
    for name in sorted({verdict["rater"] or "" for verdict in (*standing, *checks)}):
        own = [verdict for verdict in standing if (verdict["rater"] or "") == name]
        winners = [verdict["winner"] for verdict in own]
        sides = [
            verdict["winner"] == verdict["shown_left"]
            for verdict in own
            if verdict["winner"] in ("a", "b")
        ]
        left = Estimate.of_share(sum(sides), len(sides), CLAIM_LEVEL)
        counts: dict[str, Any] = {"ties": winners.count("tie"), "skipped": winners.count("open")}
        counts["checks"] = Counter(
            verdict["check"] for verdict in checks if (verdict["rater"] or "") == name
        )
        counts["left"] = vars(left) if sides else None
        counts["error"] = known.get(name, {}).get("error")
        rows.append({"name": name, "verdicts": len(winners) - counts["skipped"], **counts})
    return rows


def _curves(latest: LatestFit) -> dict[str, Any] | None:
    """Return gains and discounts with the ends of their bands; None before anything is learned."""
    if latest.fit is None:
        return None
    dcg, bands = latest.dcg, latest.bands
    curves: dict[str, Any] = {
        "n": latest.n,
        "gains": dcg.gains.tolist(),
        "discounts": dcg.discounts.tolist(),
    }
    if bands is not None:
        both = (bands, bands.simultaneous)
        gains, discounts = (
            [x.gain_band.tolist() for x in both],
            [x.discount_band.tolist() for x in both],
        )
        curves["bands"] = {"by": bands.by, "gains": gains, "discounts": discounts}
    return curves


def learning_curve(log: Preferences) -> list[dict[str, Any]]:
    """Return the share of held-out verdicts respected by what was learned from the first n others.

    The same fifth of the pairs is held out whatever n, by a digest of their grades and query, so
    the curve does not jump as the log grows. Each point has n, the share, and Wilson's interval.
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
    """Return the share of the first n decided verdicts that a machine's DCG orders alike, with
    Wilson's interval.
    """
    decided = log.decided
    return [{"n": n, **_respected(decided[:n], machine)} for n in _sizes(len(decided)) if n]


def _sizes(n: int) -> list[int]:
    """Return the numbers of verdicts at which a curve of n has points."""
    return [*(size for size in (10, 20, 40, 80, 160, 320, 640, 1280) if size < n), n]


def _respected(log: Preferences, dcg: DCG) -> dict[str, float]:
    """Return the share of preferences that a DCG respects, and the ends of Wilson's interval."""
    value = log.agreement(dcg).share
    share = Estimate.of_share(round(value * len(log)), len(log), INTERVAL_LEVEL)
    return {"share": value, "low": share.low, "high": share.high}


def wins(verdicts: Sequence[Verdict], systems: tuple[str, str]) -> dict[str, Any]:
    """Return how often each of two systems won, and a sign test by query (its majority) with
    Wilson's interval.
    """
    counts = Counter(verdict["winner"] for verdict in verdicts)
    by_query: dict[str, int] = defaultdict(int)
    for verdict in verdicts:
        by_query[verdict["query"] or ""] += {"a": -1, "b": 1}.get(verdict["winner"], 0)
    ahead, behind = (sum(sign * value > 0 for value in by_query.values()) for sign in (1, -1))
    n = ahead + behind
    share = Estimate.of_share(ahead, n, INTERVAL_LEVEL)
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
