"""What has been learned, for those who run a study: curves, raters, agreement, the learning curve, exports."""

from __future__ import annotations

import io
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dcglearn.foundation.validation import InputError
from dcglearn.judge.details import agreement_between_raters, learning_curve, wins
from dcglearn.judge.newest import Newest

if TYPE_CHECKING:
    from dcglearn.judge.learned import LatestFit
    from dcglearn.judge.study import Study
    from dcglearn.judge.verdict_log import Verdict


class Progress:
    """Reports on a study; what takes longer is worked out in a thread, while somebody looks."""

    def __init__(self, study: Study) -> None:
        self._study = study
        self._details: dict[str, Any] = {}
        self._of: LatestFit | None = None
        self._newest = Newest("details", self._work_out)

    def report(self) -> dict[str, Any]:
        """Return what the view of progress shows, as plain values."""
        study, latest = self._study, self._study.learned.latest
        standing = study.standing()
        n = sum(verdict["winner"] != "open" for verdict in standing)
        if latest.fit is not None and (self._of is None or self._of.log is not latest.log):
            self._of = latest
            self._newest.give(latest)
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
            "raters": _raters(standing, latest, self._details.get("raters", {})),
            "alpha": self._details.get("alpha"),
            "n_units": self._details.get("n_units", 0),
            "curve": self._details.get("curve", []),
            "wins": None if systems is None else wins(standing, systems),
            "trouble": study.learned.trouble or self._newest.trouble,
        }

    def wait(self, seconds: float = 60.0) -> bool:
        """Wait until the details of the last report are worked out; return whether they are."""
        return self._newest.wait(seconds)

    def log_bytes(self) -> bytes:
        """Return the log as it is on the disk."""
        return self._study.log.path.read_bytes()

    def dcg_bytes(self) -> bytes:
        """Return the DCG, fitted cold, in the bytes that ``dcglearn learn`` writes for this log."""
        from dcglearn.learning.fit_direct import fit_direct
        from dcglearn.learning.fits import DirectDescription
        from dcglearn.readers.readers import read_preferences

        dcg = fit_direct(read_preferences(self._study.log.path), DirectDescription()).dcg
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "dcg.json"
            dcg.save(path)
            return path.read_bytes()

    def picture_bytes(self) -> bytes:
        """Return gains and discounts with their bands beside the usual DCG, as PNG."""
        from dcglearn.metric.dcg import DCG
        from dcglearn.plots import banded_figure

        latest = self._study.learned.latest
        if latest.fit is None:
            raise InputError("nothing is learned yet; judge a few pairs first")
        bands = None if latest.bands is None else (latest.bands.gain_band, latest.bands.discount_band)
        usual = DCG.standard(latest.dcg.n_grades, latest.dcg.depth)
        buffer = io.BytesIO()
        banded_figure(latest.dcg, {"exponential-log2": usual}, bands).savefig(buffer, format="png", dpi=150)
        return buffer.getvalue()

    def _work_out(self, latest: LatestFit) -> None:
        if latest.log is not None and latest.fit is not None:
            self._details = {**agreement_between_raters(latest.log, latest.fit), "curve": learning_curve(latest.log)}


def _raters(standing: list[Verdict], latest: LatestFit, known: dict[str, Any]) -> list[dict[str, Any]]:
    """Return counts, error rate and position bias of each rater, as far as they are known."""
    rows = []
    for name in sorted({verdict["rater"] or "" for verdict in standing}):
        winners = [verdict["winner"] for verdict in standing if (verdict["rater"] or "") == name]
        counts = {"ties": winners.count("tie"), "skipped": winners.count("open")}
        more = {key: known.get(name, {}).get(key) for key in ("error", "bias")}
        rows.append({"name": name, "verdicts": len(winners) - counts["skipped"], **counts, **more})
    return rows


def _curves(latest: LatestFit) -> dict[str, Any] | None:
    """Return gains and discounts with the ends of their bands; None before anything is learned."""
    if latest.fit is None:
        return None
    curves: dict[str, Any] = {
        "n": latest.n,
        "gains": latest.dcg.gains.tolist(),
        "discounts": latest.dcg.discounts.tolist(),
        "notes": list(latest.dcg.notes),
    }
    if latest.bands is not None:
        curves["bands"] = {
            "n": latest.n_bands,
            "by": latest.bands.by,
            "gains": latest.bands.gain_band.tolist(),
            "discounts": latest.bands.discount_band.tolist(),
        }
    return curves
