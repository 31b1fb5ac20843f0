"""What has been learned, for those who run a study: curves, raters, agreement, the learning curve, exports."""

from __future__ import annotations

import io
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dcglearn.foundation.validation import InputError

if TYPE_CHECKING:
    from dcglearn.judge.learned import Fit
    from dcglearn.judge.study import Study


class Progress:
    """Reports on a study."""

    def __init__(self, study: Study) -> None:
        self._study = study

    def report(self) -> dict[str, Any]:
        """Return what the view of progress shows, as plain values."""
        study, fit = self._study, self._study.learned.latest
        standing = study.standing()
        n = sum(verdict["winner"] != "open" for verdict in standing)
        return {
            "verdicts": n,
            "ties": sum(verdict["winner"] == "tie" for verdict in standing),
            "skipped": len(standing) - n,
            "curves": _curves(fit),
            "widest": fit.widest,
            "width": study.rules.width,
            "more": fit.more(study.rules.width, n),
            "raters": self._raters(standing, fit),
            "trouble": study.learned.trouble,
        }

    def log_bytes(self) -> bytes:
        """Return the log as it is on the disk."""
        return self._study.log.path.read_bytes()

    def dcg_bytes(self) -> bytes:
        """Return the DCG, fitted cold, in the bytes that ``dcglearn learn`` writes for this log."""
        from dcglearn.learning.dcg_learner import DCGLearner
        from dcglearn.logs.readers import read_preferences

        dcg = DCGLearner().fit(read_preferences(self._study.log.path)).dcg_
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "dcg.json"
            dcg.save(path)
            return path.read_bytes()

    def picture_bytes(self) -> bytes:
        """Return gains and discounts with their bands beside the usual DCG, as PNG."""
        from dcglearn.metric.dcg import DCG
        from dcglearn.plots import banded_figure

        fit = self._study.learned.latest
        if fit.learner is None:
            raise InputError("nothing is learned yet; judge a few pairs first")
        bands = None if fit.bands is None else (fit.bands.gain_band, fit.bands.discount_band)
        usual = DCG.standard(fit.dcg.n_grades, fit.dcg.depth)
        buffer = io.BytesIO()
        banded_figure(fit.dcg, {"exponential-log2": usual}, bands).savefig(buffer, format="png", dpi=150)
        return buffer.getvalue()

    def _raters(self, standing: list[dict[str, Any]], fit: Fit) -> list[dict[str, Any]]:
        names = sorted({verdict["rater"] or "" for verdict in standing})
        errors = {} if fit.learner is None else fit.learner.rater_error_
        rows = []
        for name in names:
            own = [verdict for verdict in standing if (verdict["rater"] or "") == name]
            rows.append(
                {
                    "name": name,
                    "verdicts": sum(verdict["winner"] != "open" for verdict in own),
                    "ties": sum(verdict["winner"] == "tie" for verdict in own),
                    "skipped": sum(verdict["winner"] == "open" for verdict in own),
                    "error": errors.get(name, None if fit.learner is None else fit.learner.error_rate_),
                }
            )
        return rows


def _curves(fit: Fit) -> dict[str, Any] | None:
    """Return gains and discounts with the ends of their bands; None before anything is learned."""
    if fit.learner is None:
        return None
    curves: dict[str, Any] = {
        "n": fit.n,
        "gains": fit.dcg.gains.tolist(),
        "discounts": fit.dcg.discounts.tolist(),
        "notes": list(fit.dcg.notes),
    }
    if fit.bands is not None:
        curves["bands"] = {
            "n": fit.n_bands,
            "by": fit.bands.by,
            "gains": fit.bands.gain_band.tolist(),
            "discounts": fit.bands.discount_band.tolist(),
        }
    return curves
