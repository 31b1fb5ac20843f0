"""Results of the five-fold protocol (`LetorResult`): means, published rows, paired tests, files."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any, Self

import numpy as np

from dcglearn.evaluation.run_values import Evaluation
from dcglearn.evaluation.system_tests import SystemComparison, compared
from dcglearn.foundation.files import written_beside
from dcglearn.foundation.plain_text import aligned, spreadsheet
from dcglearn.foundation.validation import Floats, InputError, PolarsFrame
from simulations.letor import CHOICES
from simulations.letor.measures import MEASURES, SUMMARY, Convention

FORMAT, VERSION = "dcglearn.letor", 1
"""Format of a saved trial, and its version."""

SHOWN = (*SUMMARY, "MAP")
"""Measures in the printed table."""

_WU = (*(f"NDCG@{k}" for k in range(1, 6)), *(f"P@{k}" for k in range(1, 6)), "MAP")
_ROWS = (
    ("ApproxNDCG", SUMMARY, (0.5771, 0.5037, 0.4794, 0.4620)),
    (
        "REG-SHF-SDCG",
        _WU,
        (0.5517, 0.5110, 0.4802, 0.4716, 0.4634, 0.6333, 0.6152, 0.5893, 0.5716, 0.5574, 0.4506),
    ),
    (
        "SHF-SDCG",
        _WU,
        (0.5409, 0.5022, 0.4743, 0.4701, 0.4598, 0.6333, 0.6141, 0.5922, 0.5790, 0.5593, 0.4503),
    ),
    ("AdaRank.NDCG", SUMMARY, (0.5330, 0.4790, 0.4673, 0.4496)),
    ("ListNet", SUMMARY, (0.5326, 0.4732, 0.4432, 0.4410)),
    ("SoftRank", SUMMARY, (0.5229, 0.4732, 0.4580, 0.4539)),
    (
        "SDCG",
        _WU,
        (0.5012, 0.4750, 0.4714, 0.4533, 0.4420, 0.6152, 0.5816, 0.5802, 0.5461, 0.5313, 0.4501),
    ),
    ("RankSVM", SUMMARY, (0.4958, 0.4207, 0.4164, 0.4140)),
)
PUBLISHED = {method: dict(zip(measures, values, strict=True)) for method, measures, values in _ROWS}
"""Five-fold test means on LETOR 3.0's OHSUMED: Qin et al. 2010; Wu et al. 2009; RankSVM is LETOR's,
not converged.
"""


@dataclass(frozen=True, eq=False)
class Trial:
    """The results of a method on the test queries of a fold.

    `fingerprint` is the digest of data and settings. `measures` has shape (m, 21) for each of
    `CHOICES`, NaN where a query does not count. `candidates`, best first, are labels, values on the
    validation file, and whether blended.
    """

    fold: str
    method: str
    fingerprint: str
    queries: list[str]
    measures: dict[str, Floats]
    candidates: list[tuple[str, float, bool]]
    seconds: float

    @property
    def chosen(self) -> list[tuple[str, float]]:
        """Labels and values of the candidates that are blended, best first."""
        return [(label, value) for label, value, blended in self.candidates if blended]

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python values, for JSON."""
        tables = {
            name: [[None if np.isnan(x) else x for x in row] for row in table.tolist()]
            for name, table in self.measures.items()
        }
        head: dict[str, Any] = {"format": FORMAT, "version": VERSION, "mark": self.fingerprint}
        head |= {
            "fold": self.fold,
            "method": self.method,
            "seconds": self.seconds,
            "columns": list(MEASURES),
        }
        values = (
            head
            | {"candidates": [list(row) for row in self.candidates], "queries": self.queries}
            | tables
        )
        return values | {"sha256": _checksum(values)}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Build from what `to_dict` returns; values of another kind or version are refused."""
        if (values.get("format"), values.get("version")) != (FORMAT, VERSION):
            kind = f'"format" {values.get("format")!r}, "version" {values.get("version")!r}'
            raise InputError(f"not a result of this version, which reads {VERSION} ({kind})")
        if values.get("sha256") != _checksum(values):
            raise InputError("the result is damaged or was changed: it has another SHA-256")
        try:
            tables = {name: np.array(values[name], dtype=np.float64) for name in CHOICES}
            trial = cls(
                str(values["fold"]),
                str(values["method"]),
                str(values["mark"]),
                [str(name) for name in values["queries"]],
                tables,
                [
                    (str(label), float(value), bool(used))
                    for label, value, used in values["candidates"]
                ],
                float(values["seconds"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"the result is damaged ({error!r})") from error
        if any(
            table.shape != (len(trial.queries), len(MEASURES)) for table in trial.measures.values()
        ):
            raise InputError("the result is damaged: not a row a query")
        if any((table < 0).any() or (table > 1).any() for table in trial.measures.values()):
            raise InputError("the result is damaged: a measure outside 0..1")
        return trial


def _checksum(values: dict[str, Any]) -> str:
    """Return the SHA-256 of a trial's values, without that of the checksum."""
    rest = {name: value for name, value in values.items() if name != "sha256"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True, eq=False)
class LetorResult:
    """Results of each method on the test queries of each fold; prints as a table.

    `choice` tells which result is shown (see `letor_experiment`), `published` whether published
    rows are shown too.
    """

    trials: tuple[Trial, ...]
    convention: Convention
    choice: str = "blend"
    published: bool = True

    @property
    def folds(self) -> tuple[str, ...]:
        """Names of the folds."""
        return tuple(dict.fromkeys(trial.fold for trial in self.trials))

    @property
    def methods(self) -> tuple[str, ...]:
        """Names of the methods."""
        return tuple(dict.fromkeys(trial.method for trial in self.trials))

    @cached_property
    def by_fold(self) -> Floats:
        """Mean over the test queries that count, shape (methods, folds, 21)."""
        means = {
            (t.method, t.fold): self.convention.means(t.measures[self.choice]) for t in self.trials
        }
        return np.array([[means[method, fold] for fold in self.folds] for method in self.methods])

    @property
    def means(self) -> Floats:
        """Mean of the folds' means, as LETOR defines it, shape (methods, 21)."""
        return np.asarray(self.by_fold.mean(axis=1))

    @property
    def queries(self) -> list[str]:
        """The test queries of all folds, as ``FOLD:QUERY``."""
        return [
            f"{t.fold}:{query}"
            for t in self.trials
            if t.method == self.methods[0]
            for query in t.queries
        ]

    def mean(self, method: str, measure: str) -> float:
        """Return the mean of a method by a measure."""
        return float(self.means[self.methods.index(method), MEASURES.index(measure)])

    def tests(
        self, baseline: str | None = None, measures: Sequence[str] = ("NDCG@10",)
    ) -> SystemComparison:
        """Return paired tests over all test queries of each other method against one method.

        P-values are corrected by Holm for the number of tests. By default the baseline is ``ridge``
        if it is among the methods, else the first; `measures` are some of `MEASURES`. Raise
        InputError if there are fewer than two methods, or `baseline` is none of them.
        """
        if baseline is None:
            baseline = "ridge" if "ridge" in self.methods else self.methods[0]
        columns = [MEASURES.index(measure) for measure in measures]
        rows = {
            method: np.concatenate(
                [trial.measures[self.choice] for trial in self.trials if trial.method == method]
            )
            for method in self.methods
        }
        values = np.stack([rows[method][:, columns].T for method in self.methods])
        evaluation = Evaluation(
            values,
            self.methods,
            tuple(measures),
            tuple(self.queries),
            "skip",
            np.zeros(values.shape[:2]),
        )
        return compared(evaluation, baseline, 0.95, "holm", 10_000, 0)

    def frame(self) -> PolarsFrame:
        """Return a table with columns ``method``, ``fold``, ``measure`` and ``value``.

        Rows of fold ``mean`` are means over folds.
        """
        import polars as pl

        table = np.concatenate([self.by_fold, self.means[:, None]], axis=1)
        labels = product(self.methods, (*self.folds, "mean"), MEASURES)
        rows = [
            (*label, value) for label, value in zip(labels, table.ravel().tolist(), strict=True)
        ]
        return pl.DataFrame(rows, ["method", "fold", "measure", "value"], orient="row")

    def to_dict(self) -> dict[str, Any]:
        """Return the table, the tests and the chosen candidates, as plain Python values."""
        frame = self.frame()
        values: dict[str, Any] = {
            "metric": self.convention.name,
            "choice": self.choice,
            "folds": list(self.folds),
            "n_queries": len(self.queries),
            "methods": {
                m: {measure: self.mean(m, measure) for measure in MEASURES} for m in self.methods
            },
            "published": {
                method: PUBLISHED[method] for method in self.methods if method in PUBLISHED
            },
            "by_fold": frame.filter(frame["fold"] != "mean").to_dicts(),
            "chosen": [
                {"method": t.method, "fold": t.fold, "seconds": t.seconds, "candidates": t.chosen}
                for t in self.trials
            ],
        }
        if len(self.methods) > 1:
            values["tests"] = self.tests().table.to_dicts()
        return values

    def rows(self) -> list[list[str]]:
        """Return the cells of the table, head first, with published rows below their methods."""
        rows = [["method", *SHOWN, "mean of NDCG"]]
        for method in self.methods:
            own = {measure: self.mean(method, measure) for measure in SHOWN}
            rows.append(
                [method, *_cells(own), f"{np.mean([own[measure] for measure in SUMMARY]):.4f}"]
            )
            if self.published and (published := PUBLISHED.get(method)) is not None:
                ahead = np.mean(
                    [
                        own[measure] - published[measure]
                        for measure in SUMMARY
                        if measure in published
                    ]
                )
                rows.append(["  published", *_cells(published), f"ours {ahead:+.4f}"])
        return rows

    def to_markdown(self) -> str:
        """Return the table as Markdown."""
        head, *rows = self.rows()
        lines = [
            head,
            ["---"] + ["---:"] * (len(head) - 1),
            *([row[0].strip(), *row[1:]] for row in rows),
        ]
        return "\n".join(f"| {' | '.join(row)} |" for row in lines)

    def __str__(self) -> str:
        return "\n".join([*aligned(self.rows()), *self.notes()])

    def notes(self) -> list[str]:
        """Return notes on the table's queries, metric and choice.

        More notes name the source of published rows, and count the queries left out, if any.
        """
        how = "the best candidate on the validation file"
        if self.choice == "blend":
            how = (
                "a blend of all candidates within one standard error of the best "
                "on the validation file"
            )
        n = len(self.queries)
        notes = [
            f"({n} test queries in {len(self.folds)} folds; metric {self.convention.name}; {how})"
        ]
        if self.published and any(method in PUBLISHED for method in self.methods):
            notes.append(
                "(published: LETOR 3.0 OHSUMED, one chosen model; "
                "other data cannot be compared with it)"
            )
        empty = sum(
            int(np.isnan(t.measures["best"][:, 0]).sum())
            for t in self.trials
            if t.method == self.methods[0]
        )
        if empty:
            notes.append(f"({empty} test queries without a relevant document are left out)")
        return notes

    def save(self, folder: Path) -> None:
        """Write ``letor.json``, ``letor.csv`` and ``letor.md`` into a folder."""
        texts = {
            "letor.json": json.dumps(self.to_dict(), allow_nan=False, indent=1) + "\n",
            "letor.csv": spreadsheet(self.frame()),
            "letor.md": "\n\n".join([self.to_markdown(), *self.notes()]) + "\n",
        }
        for name, text in texts.items():
            with written_beside(folder / name) as beside:
                beside.write_text(text, encoding="utf-8")


def _cells(values: dict[str, float]) -> list[str]:
    return [f"{values[measure]:.4f}" if measure in values else "" for measure in SHOWN]
