"""Progress of a study, for those who run it: curves, raters, agreement, learning curve, exports."""

import contextlib
import io
from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np

from dcglearn.foundation.files import json_text
from dcglearn.foundation.finding import Cells, cells_of, table_of
from dcglearn.foundation.intervals import binomial_tail
from dcglearn.foundation.markup import rendered
from dcglearn.foundation.plain_text import number_of, percent
from dcglearn.foundation.validation import Fields, InputError
from dcglearn.judge.candidates import pair_key
from dcglearn.judge.learned import LatestFit, Newest
from dcglearn.judge.study import Study
from dcglearn.judge.verdict_log import Verdict
from dcglearn.learning.descriptions import DirectDescription
from dcglearn.metrics.dcg import DCG, as_curves
from dcglearn.plots import banded_figure
from dcglearn.raters.rater_agreement import Estimate, rater_agreement
from dcglearn.readers.preferences import Preferences
from dcglearn.trust.band_draws import drawn_judges
from dcglearn.trust.calibration import shrunk
from dcglearn.trust.form_choice import fit_in_form
from dcglearn.trust.judge_draws import judged_by

INTERVAL_LEVEL = 0.95
"""Level of the intervals of agreement and wins."""

CLAIM_LEVEL = 0.999
"""Level at which a rater favours a side, or a system is preferred: one looks after each verdict."""


class Progress(Newest["LatestFit"]):
    """Reports on a study; what takes longer is worked out in a thread, while somebody looks."""

    def __init__(self, study: Study) -> None:
        self._study = study
        self._details: Fields = {
            "alpha": None,
            "n_units": 0,
            "errors": {},
            "curve": [],
            "machine": [],
        }
        self._log: Preferences | None = None
        super().__init__("details", self._work_out)

    def report(self) -> Fields:
        """Return what the view of progress shows, as plain values."""
        study, rules = self._study, self._study.rules
        learned = study.learned
        latest, details, systems = learned.latest, {**self._details}, study.candidates.systems
        if latest.log is not self._log:
            self._log = latest.log
            self.give(latest)

        # verdicts and their raters
        standing = study.standing
        judged = [verdict for verdict in standing if verdict["winner"] != "open"]
        errors = details.pop("errors")
        report = {
            "verdicts": len(judged),
            "ties": sum(verdict["winner"] == "tie" for verdict in judged),
            "skipped": len(standing) - len(judged),
            "raters": _raters(standing, study.checks, errors if latest.beats_coin else {}),
            "wins": None if systems is None else wins(judged, systems),
        }

        # what was learned, and how much is missing
        report |= {
            "learned_from": latest.n,
            "widest": latest.widest,
            "width": rules.width,
            "bands_from": learned.bands_from,
            "beats_coin": latest.beats_coin,
            "goal": study.goal(),
            "enough": latest.enough(rules.width),
            "short": study.short(),
        }

        report |= {**details, "trouble": learned.trouble or self.trouble}
        report["sentences"] = sentences(report)

        # pictures and tables
        named = {f"after {number_of(latest.n, 'verdicts', ',')}": latest.dcg}
        report["pictures"] = [
            *(as_curves(named, latest.bands) if latest.n else ()),
            *_growing("held-out verdicts respected", "verdicts learned from", report["curve"]),
            *_growing("verdicts ordered alike by the LLM judge", "verdicts", report["machine"]),
        ]
        return report | {"tables": _tables(report, latest)}

    def page(self) -> Fields:
        """Return a report with what its page shows: counts in words, and the rest in HTML."""
        report = self.report()
        verdicts, ties = (number_of(report[name], name, ",") for name in ("verdicts", "ties"))
        return {
            **report,
            "count": f"{verdicts}, {ties} among them; {report['skipped']} skipped",
            "html": rendered("judge/page/progress.html", report=report),
        }

    def dcg_bytes(self) -> bytes:
        """Return the DCG of the page in the bytes that `Study.next_command` writes."""
        fit = self._study.learned.newest()
        log = self._study.learned.latest.log
        judges = None if log is None else drawn_judges(log, fit, 0)
        judges = None if judges is None else shrunk(judges, None)
        return json_text(judged_by(fit, judges).dcg.to_dict()).encode()

    def picture_bytes(self) -> bytes:
        """Return gains and discounts with their bands beside the usual DCG, as PNG."""
        self._study.learned.newest()
        latest = self._study.learned.latest
        usual = DCG.standard(latest.dcg.n_grades, latest.dcg.depth)
        figure = banded_figure(latest.dcg, {"exponential-log2": usual}, latest.bands)
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", dpi=150)
        return buffer.getvalue()

    def _work_out(self, latest: LatestFit) -> None:
        log, machine = latest.log, self._study.machine
        if log is None or latest.fit is None:
            return
        agreement = rater_agreement(log, latest.fit, level=INTERVAL_LEVEL).to_dict()
        self._details = {
            "alpha": agreement["nominal"],
            "n_units": agreement["n_units"],
            "errors": {
                row["rater"]: {"error": row["error"], "wrong": row["wrong"]}
                for row in agreement["raters"]
            },
            "curve": learning_curve(log),
            "machine": [] if machine is None else machine_curve(log, machine),
        }


def sentences(report: Fields) -> list[str]:
    """Return a report in words, without findings that a coin could have brought about."""
    words = {"side_of": side_of, "number_of": number_of, "claimed": 1 - CLAIM_LEVEL}
    text = rendered("judge/words/progress.txt", **report, **words)
    return [line for line in text.splitlines() if line]


def side_of(left: dict[str, float] | None) -> str:
    """Return the side that a rater favours, by the share of verdicts for the left list.

    The side is empty if 1/2 is within errors. Sides are drawn, so the share of a rater without a
    position bias is 1/2 for all pairs and metrics.
    """
    if left is None or left["low"] <= 0.5 <= left["high"]:
        return ""
    return "left" if left["value"] > 0.5 else "right"


def _raters(standing: list[Verdict], checks: list[Verdict], errors: Fields) -> list[Fields]:
    """Return each rater's counts, outcomes of checks, share for the left list, and error rates."""
    rows = []
    for name in sorted({verdict["rater"] or "" for verdict in (*standing, *checks)}):
        own, checked = (
            [verdict for verdict in verdicts if (verdict["rater"] or "") == name]
            for verdicts in (standing, checks)
        )
        winners = Counter(verdict["winner"] for verdict in own)

        # preferences for the list on the left
        decided = [verdict for verdict in own if verdict["winner"] in ("a", "b")]
        left = sum(verdict["winner"] == verdict["shown_left"] for verdict in decided)
        share = Estimate.of_share(left, len(decided), CLAIM_LEVEL)

        rows.append(
            {
                "name": name,
                "verdicts": len(own) - winners["open"],
                "ties": winners["tie"],
                "skipped": winners["open"],
                "checks": Counter(verdict["check"] for verdict in checked),
                "left": vars(share) if decided else None,
                **errors.get(name, {"error": None, "wrong": None}),
            }
        )
    return rows


def _tables(report: Fields, latest: LatestFit) -> dict[str, Cells]:
    """Return the tables of a report as text, by title."""
    tables: dict[str, Cells] = {}
    if (won := report["wins"]) is not None:
        columns = {
            "system": [*won["systems"], "tied"],
            "verdicts won": [*won["verdicts"], won["ties"]],
            "queries won": [*won["queries"], won["tied_queries"]],
        }
        tables["Systems"] = cells_of(table_of(columns))
    tables["Raters"] = cells_of(table_of(map(_rater_row, report["raters"])))

    # gains and discounts, with bands if there are any
    if latest.bands is not None:
        tables[f"Gains and discounts, {percent(latest.bands.level)} bands"] = latest.bands.cells
    elif latest.n:
        tables["Gains and discounts"] = cells_of(latest.dcg.table)
    return tables


def _rater_row(rater: Fields) -> Fields:
    """Return a rater's counts, outcomes of checks, and shares with their intervals, as shown."""
    row = {name: rater[name] for name in ("name", "verdicts", "ties", "skipped")}
    for kind, title in (("practice", "practice"), ("check", "checks passed")):
        right, wrong = (rater["checks"][f"{kind} {outcome}"] for outcome in ("right", "wrong"))
        row[title] = f"{right} of {right + wrong}" if right + wrong else ""

    # shares that are known
    titles = {
        "error": "errors, clear pairs",
        "wrong": "errors, all pairs",
        "left": f"names the left list ({percent(CLAIM_LEVEL)})",
    }
    for name, title in titles.items():
        share = rater[name]
        known = share and share["value"] is not None
        row[title] = "{value:.2f} ({low:.2f} to {high:.2f})".format(**share) if known else ""
    return row


def _growing(title: str, unit: str, curve: Sequence[Fields]) -> list[Fields]:
    """Return the picture of a share that grows with verdicts, if it has two points or more."""
    if len(curve) < 2:
        return []
    share, *ends = ([point[name] for point in curve] for name in ("share", "low", "high"))
    return [
        {
            "title": title,
            "ticks": [str(point["n"]) for point in curve],
            "unit": unit,
            "lines": {"share": share},
            "bands": {f"{percent(INTERVAL_LEVEL)} intervals": ends},
            "end": 1.0,
        }
    ]


def learning_curve(log: Preferences) -> list[Fields]:
    """Return the share of held-out verdicts respected by what was learned from the first n others.

    The same fifth of the pairs is held out at every n, by a digest of their grades and query, so
    the curve does not jump as the log grows. Each point has n, the share, and Wilson's interval.
    """
    queries = [""] * len(log) if log.query is None else log.query.tolist()
    pairs = zip(queries, log.preferred.tolist(), log.other.tolist(), strict=True)
    out = np.array([int(pair_key(*pair), 16) % 5 == 0 for pair in pairs])
    held_out, train = log[out].decided, log[~out]
    if len(held_out) < 5:  # too few to say anything
        return []

    # fits of the first n
    curve = []
    for n in _sizes(len(train)):
        with contextlib.suppress(InputError):  # the first n are ties, say
            dcg = fit_in_form(train[:n], DirectDescription(n_grades=log.n_grades)).dcg
            curve.append({"n": n, **_respected(held_out, dcg)})
    return curve


def machine_curve(log: Preferences, machine: DCG) -> list[Fields]:
    """Return the share of the first n decided verdicts that a machine's DCG orders alike.

    Each point has n, the share, and Wilson's interval.
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


def wins(verdicts: Sequence[Verdict], systems: tuple[str, str]) -> Fields:
    """Return how often each of two systems won, and a sign test by query, by its majority."""
    counts = Counter(verdict["winner"] for verdict in verdicts)
    by_query: dict[str, int] = defaultdict(int)
    for verdict in verdicts:
        by_query[verdict["query"] or ""] += {"a": -1, "b": 1}.get(verdict["winner"], 0)

    # queries that either system won, with Wilson's interval
    ahead, behind = (sum(sign * value > 0 for value in by_query.values()) for sign in (1, -1))
    n = ahead + behind
    share, p_value = None, None
    if n:
        estimate = Estimate.of_share(ahead, n, INTERVAL_LEVEL)
        share = [estimate.value, estimate.low, estimate.high]
        p_value = min(2 * float(binomial_tail(max(ahead, behind), n)), 1.0)

    return {
        "systems": list(systems),
        "verdicts": [counts["a"], counts["b"]],
        "ties": counts["tie"],
        "queries": [behind, ahead],
        "tied_queries": len(by_query) - n,
        "share": share,
        "p_value": p_value,
    }
