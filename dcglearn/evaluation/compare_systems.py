"""Paired tests and intervals of their differences, under one metric or many."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dcglearn.evaluation.evaluate import evaluate
from dcglearn.foundation.validation import InputError, whole_number

if TYPE_CHECKING:
    import polars as pl

    from dcglearn.evaluation.evaluate import Evaluation, Metrics
    from dcglearn.evaluation.tables import JudgementsLike, RunsLike
    from dcglearn.foundation.arrays import Floats


CORRECTIONS = ("holm", "bh", "none")
COLUMNS = ("run", "baseline", "measure", "mean", "difference", "low", "high", "p_t", "p_permutation", "p_corrected")


@dataclass(frozen=True, eq=False)
class SystemComparison:
    """Differences of systems from a baseline; prints as a table.

    Attributes
    ----------
    frame : polars.DataFrame
        A row a run and measure: ``run``, ``baseline``, ``measure``, ``mean``, ``difference`` (of means), ``low`` and
        ``high`` (bootstrap interval of the difference), ``p_t`` (paired t-test), ``p_permutation`` (of signs),
        ``p_corrected`` (the latter, corrected for the number of rows).
    level : float
        Of the intervals.
    correction : str
        How p-values are corrected.
    n_queries : int
        Queries that were compared.
    """

    frame: pl.DataFrame
    level: float
    correction: str
    n_queries: int

    def _cells(self) -> list[list[str]]:
        rows = []
        for row in self.frame.iter_rows(named=True):
            interval = f"{row['low']:+.4f} to {row['high']:+.4f}"
            tests = [f"{row[name]:.4f}" for name in ("p_t", "p_permutation", "p_corrected")]
            rows.append(
                [row["run"], row["measure"], f"{row['mean']:.4f}", f"{row['difference']:+.4f}", interval, *tests]
            )
        return rows

    @property
    def _head(self) -> list[str]:
        baseline = self.frame["baseline"][0]
        return [
            "run",
            "measure",
            "mean",
            f"minus {baseline}",
            f"{self.level:.0%} interval",
            "p (t)",
            "p (perm.)",
            "p corrected",
        ]

    def __str__(self) -> str:
        table = [self._head, *self._cells()]
        widths = [max(len(row[i]) for row in table) for i in range(len(self._head))]
        lines = [
            "  ".join(
                cell.ljust(w) if i < 2 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))
            )
            for row in table
        ]
        how = (
            "not corrected"
            if self.correction == "none"
            else f"corrected ({self.correction}) over {len(table) - 1} rows"
        )
        return "\n".join([*(line.rstrip() for line in lines), f"({self.n_queries} queries; permutation test {how})"])

    def to_markdown(self) -> str:
        """Return the table as Markdown."""
        rows = [self._head, ["---"] * len(self._head), *self._cells()]
        return "\n".join(f"| {' | '.join(row)} |" for row in rows)

    def to_latex(self) -> str:
        """Return the table as a LaTeX tabular (booktabs)."""
        escaped = [
            [cell.replace("_", r"\_").replace("%", r"\%").replace("&", r"\&") for cell in row]
            for row in (self._head, *self._cells())
        ]
        lines = [" & ".join(row) + r" \\" for row in escaped]
        spec = "ll" + "r" * (len(self._head) - 2)
        return "\n".join(
            [
                rf"\begin{{tabular}}{{{spec}}}",
                r"\toprule",
                lines[0],
                r"\midrule",
                *lines[1:],
                r"\bottomrule",
                r"\end{tabular}",
            ]
        )


def compare_systems(
    runs: RunsLike,
    judgements: JudgementsLike,
    metrics: Metrics = "nDCG@10",
    *,
    baseline: str | None = None,
    level: float = 0.95,
    correction: str = "holm",
    n_resamples: int = 10_000,
    seed: int = 0,
    **settings: Any,
) -> SystemComparison:
    """Compare systems with a baseline, query by query.

    Parameters
    ----------
    runs, judgements, metrics, **settings
        As `evaluate` takes them; two systems or more.
    baseline : str, optional
        The run that the others are compared with; the first by default.
    level : float
        Of the bootstrap intervals (percentiles of means of resampled queries).
    correction : {"holm", "bh", "none"}
        For testing many runs and metrics: Holm's (family-wise error), Benjamini and Hochberg's (false discoveries).
    n_resamples : int
        Of the bootstrap, and of the permutation test where there are more sign patterns than this.
    seed : int
        Same seed, same numbers.

    Returns
    -------
    SystemComparison

    Raises
    ------
    InputError
        As `evaluate` does; if there are fewer than two systems or two queries, or the baseline is none of them.

    Examples
    --------
    >>> judged = {f"q{i}": {"a": 1, "b": 0, "c": 2} for i in range(8)}
    >>> good = {f"q{i}": {"a": 2.0, "b": i % 3, "c": 4.0} for i in range(8)}
    >>> poor = {f"q{i}": {"a": 2.0, "b": 3.0, "c": i % 3} for i in range(8)}
    >>> found = compare_systems({"poor": poor, "good": good}, judged)
    >>> found.frame.select("run", "difference").row(0)[0], found.frame["p_permutation"][0] < 0.05
    ('good', True)
    """
    if correction not in CORRECTIONS:
        raise InputError(f"correction={correction!r}: give one of {', '.join(CORRECTIONS)}")
    if not 0 < level < 1:
        raise InputError(f"level={level!r} must lie between 0 and 1")
    whole_number(n_resamples, "n_resamples", 100)
    found = evaluate(runs, judgements, metrics, **settings)
    return compared(found, baseline, level, correction, n_resamples, seed)


def compared(
    found: Evaluation, baseline: str | None, level: float, correction: str, n_resamples: int, seed: int
) -> SystemComparison:
    """Return the comparison of evaluated systems, see `compare_systems`."""
    import polars as pl

    if len(found.runs) < 2:
        raise InputError("a comparison needs two systems or more")
    base = found.runs[0] if baseline is None else baseline
    if base not in found.runs:
        raise InputError(f"baseline={base!r} is none of the runs {', '.join(found.runs)}")
    b = found.runs.index(base)
    rows = []
    for m, measure in enumerate(found.metrics):
        for r, run in enumerate(found.runs):
            if r == b:
                continue
            pairs = found.filled[r, m] - found.filled[b, m]
            tests = _tests(pairs[~np.isnan(pairs)], level, n_resamples, seed)
            rows.append({"run": run, "baseline": base, "measure": measure, "mean": found.means[r, m], **tests})
    frame = pl.DataFrame(rows)
    corrected = _corrected(frame["p_permutation"].to_numpy(), correction)
    return SystemComparison(
        frame.with_columns(p_corrected=corrected).select(COLUMNS), level, correction, len(found.queries)
    )


def _tests(differences: Floats, level: float, n_resamples: int, seed: int) -> dict[str, float]:
    from scipy.stats import bootstrap, permutation_test, ttest_1samp

    mean = float(differences.mean()) if len(differences) else 0.0
    if len(differences) < 2:
        raise InputError(f"{len(differences)} queries in common are too few to compare")
    if np.ptp(differences) <= 1e-12:  # no spread: nothing to resample
        p = 1.0 if abs(mean) <= 1e-12 else 0.0
        return {
            "difference": mean,
            "low": mean,
            "high": mean,
            "p_t": p,
            "p_permutation": max(p, 2.0 ** (1 - len(differences))),
        }
    drawn = {"n_resamples": n_resamples, "rng": np.random.default_rng(seed)}
    interval = bootstrap(
        (differences,), np.mean, confidence_level=level, method="percentile", **drawn
    ).confidence_interval
    signs = permutation_test(
        (differences,), np.mean, permutation_type="samples", n_resamples=n_resamples, rng=np.random.default_rng(seed)
    )
    return {
        "difference": mean,
        "low": float(interval.low),
        "high": float(interval.high),
        "p_t": float(ttest_1samp(differences, 0.0).pvalue),
        "p_permutation": float(signs.pvalue),
    }


def _corrected(values: Floats, correction: str) -> Floats:
    from scipy.stats import false_discovery_control

    if correction == "none":
        return values
    if correction == "bh":
        return np.asarray(false_discovery_control(values))
    order = np.argsort(values, kind="stable")
    stepped = np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1))
    found = np.empty_like(values)
    found[order] = np.minimum(stepped, 1.0)
    return found
