"""Rank intervals: the best and the worst rank of each system that a comparison leaves open.

Intervals of ranks: M. Mogstad, J. P. Romano, A. M. Shaikh and D. Wilhelm, "Inference for ranks with
applications to mobility across neighbourhoods and academic achievement across countries", Review of
Economic Studies 2024. Stepping down: J. P. Romano and M. Wolf, "Stepwise multiple testing as
formalized data snooping", Econometrica 2005.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from dcglearn.evaluation.people import drawn_metrics
from dcglearn.foundation.finding import Cells, Finding, table_of
from dcglearn.foundation.intervals import fewest_of_one_sign, sign_flip_p
from dcglearn.foundation.plain_text import number_of, percent
from dcglearn.foundation.validation import Fields, Flags, Floats, Indices, PolarsFrame, listed
from dcglearn.metrics.dcg import DCG

if TYPE_CHECKING:
    from dcglearn.evaluation.run_values import Evaluation

N_DRAWS = 100
"""Number of a metric's draws under which systems are compared."""

FLIPPED = 200_000_000
"""Largest number of differences whose signs are flipped, over all pairs of systems and draws."""

FEWEST_FLIPS = 500
"""Fewest patterns of signs that are drawn, however many the pairs."""


@dataclass(frozen=True, eq=False, repr=False)
class Ranks(Finding):
    """The ranks of systems that a comparison leaves open.

    `table` has a row for each run and measure, by falling means: ``run``, ``measure``, ``mean``,
    its ``rank``, and ``best_rank`` and ``worst_rank``, between which the true ranks of all runs
    under a measure lie with a probability of at least `level`. `n_draws` is the number of metrics
    drawn from what the log of a measure allows, under nearly all of which the ranks hold; measures
    without draws are not in it.
    """

    table: PolarsFrame = field(repr=False)
    level: float
    n_queries: int
    n_draws: Mapping[str, int]

    @property
    def sentence(self) -> str:
        """Which systems may be the best under the first measure."""
        first = self.table.filter(measure=self.table["measure"][0])
        leaders = first.filter(best_rank=1)["run"].to_list()
        of_all = f"of {number_of(len(first), 'systems')}"
        if len(leaders) == 1:
            return f"under {first['measure'][0]}, the best {of_all} is {leaders[0]}"
        who = f"{len(leaders)} {of_all} may be the best"
        return f"under {first['measure'][0]}, {who}: {listed(leaders, 5)}"

    @property
    def notes(self) -> list[str]:
        """How sure the ranks are, and what they allow for."""
        notes = [
            "ranks that the queries leave open, of all systems at once with a probability of at "
            f"least {percent(self.level)}; systems in one row are not told apart"
        ]

        # the metrics that the log allows
        for measure, n_draws in self.n_draws.items():
            notes.append(
                f"ranks under {measure} hold under all but {(1 - self.level) / 2:.1%} of "
                f"{number_of(n_draws, 'metrics')} drawn from what its log allows"
            )

        # too few queries
        fewest = fewest_of_one_sign((1 + self.level) / 2 if self.n_draws else self.level)
        if self.n_queries < fewest:
            notes.append(
                f"{number_of(self.n_queries, 'queries')} cannot tell two systems apart at the "
                f"level {percent(self.level)}: it takes {fewest}"
            )
        return notes

    @property
    def cells(self) -> Cells:
        """A row for each group of systems that have the same ranks."""
        cells = [["ranks", "systems", "measure", "means"]]
        keys = ["measure", "best_rank", "worst_rank"]
        for (measure, *ends), group in self.table.group_by(keys, maintain_order=True):
            means = [f"{mean:.4f}" for mean in group["mean"]]  # falling
            cells.append([_span(ends), listed(group["run"]), str(measure), _span(means)])
        return cells


def _span(ends: Sequence[Any]) -> str:
    """Return the first and the last in words, or both as one."""
    return f"{ends[0]}" if ends[0] == ends[-1] else f"{ends[0]} to {ends[-1]}"


def ranks_of(
    evaluation: Evaluation,
    drawn: Callable[[Sequence[DCG]], Evaluation],
    level: float,
    n_flips: int,
    random_state: int,
) -> Ranks:
    """Return the ranks that an evaluation leaves open, the best system of each measure first.

    `drawn` evaluates the same runs under other metrics.
    """
    import polars as pl

    tables, n_draws = [], {}
    known = evaluation.shown.metrics
    for m, measure in enumerate(evaluation.metrics):
        # values under the metric, and under those drawn from what its log allows
        values = evaluation.filled[None, :, m]
        metrics = drawn_metrics(known[m], N_DRAWS) if m in known else []
        if metrics:
            of_draws = drawn(metrics).filled
            values = np.concatenate([values, of_draws.swapaxes(0, 1)])
            n_draws[measure] = len(metrics)

        # ranks by the mean, and those that are open
        means = evaluation.means[:, m]
        best, worst = open_ranks(values, level, n_flips, random_state)
        columns: Fields = {"run": evaluation.runs, "measure": measure, "mean": means}
        columns["rank"] = 1 + (means[:, None] < means).sum(axis=1)
        table = table_of(columns | {"best_rank": best, "worst_rank": worst})
        tables.append(table.sort("rank", maintain_order=True))
    return Ranks(pl.concat(tables), level, len(evaluation.queries), n_draws)


def open_ranks(
    values: Floats, level: float, n_flips: int = 10_000, random_state: int = 0
) -> tuple[Indices, Indices]:
    """Return the best and the worst rank of each system, shape (S,), that values leave open.

    `values`, shape (D, S, Q), are by metric, system and query, NaN where a system lacks a query;
    the first metric is the one in use, the others are drawn from what its log allows. The true
    ranks of all systems lie between these with a probability of at least `level`. With draws, half
    of the error is the share of the draws that are left out: those that confirm the least of what
    is certain under the metric in use.
    """
    # as many flips as time allows
    n_metrics, n_systems, _ = values.shape
    n_pairs = n_systems * (n_systems - 1) // 2
    n_flips = min(n_flips, max(FEWEST_FLIPS, FLIPPED // (n_metrics * n_pairs)))

    # what is certain under the metric in use, and under all but a few draws
    error = (1 - level) / (2 if n_metrics > 1 else 1)
    better = np.array([certainly_better(one, error, n_flips, random_state) for one in values])
    left_out = int(error * (n_metrics - 1) + 1e-9)
    certain = np.all(sorted(better & better[0], key=np.sum)[left_out:], axis=0)
    return 1 + certain.sum(axis=0), n_systems - certain.sum(axis=1)


def certainly_better(values: Floats, error: float, n_flips: int, random_state: int) -> Flags:
    """Return whether the row's system is certainly better than the column's, shape (S, S).

    `values` has the shape (S, Q). A difference is certain if its sum over queries, divided by the
    root of the sum of its squares (which orders differences as Student's t does), is reached in at
    most a share `error` of the patterns of signs by the largest of those not yet found certain.
    """
    # standardised differences of all pairs; a query that one of them lacks says nothing
    n_systems = len(values)
    first, second = np.triu_indices(n_systems, 1)
    gaps = np.nan_to_num(values[first] - values[second])
    size = np.sqrt((gaps**2).sum(axis=1, keepdims=True))
    gaps /= np.where(size > 0, size, 1.0)

    # largest first, the system that is ahead before the other
    sums = gaps.sum(axis=1)
    order = np.argsort(-abs(sums), kind="stable")
    ahead, behind = np.where(sums > 0, (first, second), (second, first))[:, order]

    # step down until one is not certain
    p_values = sign_flip_p(gaps[order], n_flips, random_state)
    certain = p_values <= error * (1 + 1e-9)
    better = np.zeros((n_systems, n_systems), dtype=bool)
    better[ahead[certain], behind[certain]] = True
    return better
