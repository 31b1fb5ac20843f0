"""The log that ``dcglearn learn`` reads: in memory, or in parts, on disk or over a cluster."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from dcglearn.cli.command import first_option, input_option, scale_option
from dcglearn.cli.join_options import JoinOptions
from dcglearn.foundation.plain_text import number_of
from dcglearn.foundation.validation import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dcglearn.cli.options import Cluster, Reading
    from dcglearn.parts.parts import PartedLog
    from dcglearn.readers.preferences import Preferences


@dataclass(frozen=True, kw_only=True)
class JudgementOptions(JoinOptions):
    """What a file of judgements holds, and what its words mean."""

    ratings: Annotated[bool, first_option("--ratings", help="The log holds rated lists rather than pairs.")] = False
    equal_groups: Annotated[bool, input_option("--equal-groups", help="With --ratings: each group counts once.")] = (
        False
    )
    pad: Annotated[bool, input_option("--pad", help='Fill short lists with "no grade".')] = False
    skip_bad: Annotated[
        Path | None, input_option(metavar="FILE", help="Put bad lines into FILE and read the others.")
    ] = None
    winner_words: Annotated[
        str | None,
        input_option(metavar="WORD=a,...", help='What winners mean: "Left is better=a,Right is better=b,Same=tie".'),
    ] = None
    positive: Annotated[
        Literal["a", "b"] | None,
        input_option(
            help="Winners are numbers such as -3..3: positive ones prefer this side, the size is the strength."
        ),
    ] = None

    @property
    def parameters(self) -> dict[str, Any]:
        """`pad`, `winner_words` and `positive` of `read_preferences`; InputError for options of ratings."""
        if self.equal_groups and not self.ratings:
            raise InputError("--equal-groups goes with --ratings")
        if self.ratings and (self.winner_words is not None or self.positive is not None):
            raise InputError("--winner-words and --positive are for pairs: leave them out with --ratings")
        return {"pad": self.pad, "winner_words": self.winner_words, "positive": self.positive}

    def read(self, path: str, reading: Reading, skip_bad: Path | None) -> Preferences:
        """Return the log in a file; bad lines are written to `skip_bad`, where it is given."""
        from dcglearn.readers.ratings import read_ratings
        from dcglearn.readers.readers import read_preferences

        parameters = self.parameters
        if self.ratings and (self.joins or self.inconsistent != "keep"):
            raise InputError(f"{(*self.joins, '--inconsistent')[0]} is for pairs: leave it out with --ratings")
        if self.joins:
            words = {name: parameters[name] for name in ("winner_words", "positive")}
            return self.reconciled(self.joined(path, reading, words, skip_bad))
        if not self.ratings:
            return self.reconciled(read_preferences(path, skip_bad=skip_bad, **reading.parameters, **parameters))
        return read_ratings(path, skip_bad=skip_bad, equal_groups=self.equal_groups, pad=self.pad, **reading.parameters)


@dataclass(frozen=True, kw_only=True)
class LogOptions(JudgementOptions):
    """The paths of a log, what it holds, and how much of it may be in memory."""

    log: Annotated[
        list[str],
        typer.Argument(
            metavar="LOG...",
            help="JSON lines or array, delimited text or Parquet, also .gz and .zst; - reads standard input. Or many "
            "Parquet files.",
        ),
    ]
    memory: Annotated[
        str | None,
        scale_option("--memory", metavar="SIZE", help="Use at most this much memory (2GB, 512MB), and disk beyond it."),
    ] = None

    def in_parts(self, cluster: Cluster) -> bool:
        """Return whether the log is to be learned from in parts.

        Raises
        ------
        InputError
            If a limit of memory is given for a cluster.
        """
        if self.memory is not None and cluster.engine is not None:
            raise InputError("--memory is for this process alone: give it, or --workers or --dask")
        several = len(self.log) > 1 or Path(self.log[0]).is_dir() or not _is_there(self.log[0])
        return several or self.memory is not None or cluster.engine is not None

    def refuse_in_parts(self, **options: Any) -> None:
        """Refuse options, by name and whether they are given, that need the whole log in memory.

        Raises
        ------
        InputError
            Naming the first.
        """
        words = {"winner_words": self.winner_words, "positive": self.positive}
        joins = {name.removeprefix("--"): True for name in self.joins}
        repeated = {"inconsistent": self.inconsistent != "keep"}
        forms = {"ratings": self.ratings, "skip_bad": self.skip_bad, **words, **joins, **repeated}
        for name, given in {**forms, **options}.items():
            if given:
                option = f"--{name.replace('_', '-')}"
                remedy = f"; dcglearn convert FILE {option} ... -o FILE.parquet makes such files first"
                raise InputError(
                    f"{option} needs one file and the whole log in memory; not with several files, a folder, --memory, "
                    f"--workers or --dask{remedy if name in forms else ''}",
                    see="whole-log",
                )

    @contextlib.contextmanager
    def opened(self, reading: Reading, cluster: Cluster, skip_bad: Path | None) -> Iterator[Preferences | PartedLog]:
        """Yield the log; bad lines of one in memory are written to `skip_bad`, where it is given."""
        parameters = {**reading.parameters, "pad": self.pad}
        if not self.in_parts(cluster):
            yield self.read(self.log[0], reading, skip_bad)
        elif cluster.engine is None:
            from dcglearn.parts.parquet_log import ParquetLog

            with ParquetLog(self.log, memory=self.memory, **parameters) as stored:
                yield stored
        else:
            from dcglearn.parts.dask_log import DaskLog
            from dcglearn.readers.readers import read_preferences

            log: Any = self.log
            if len(self.log) == 1 and not _is_parquet(self.log[0]):
                log, parameters = read_preferences(self.log[0], **parameters), {}
            with DaskLog(log, cluster.engine, **parameters) as spread:
                yield spread


def _is_there(path: str) -> bool:
    """Return whether a path names a file or standard input rather than a pattern."""
    return path == "-" or Path(path).exists() or not any(mark in path for mark in "*?[")


def _is_parquet(path: str) -> bool:
    return path.endswith(".parquet") or Path(path).is_dir() or not _is_there(path)


def n_pairs(log: Preferences | PartedLog) -> int:
    """Return the number of pairs."""
    from dcglearn.parts.parts import PartedLog

    return log.facts.n if isinstance(log, PartedLog) else len(log)


def describe(log: Preferences | PartedLog, dropped: dict[str, int]) -> list[str]:
    """Return a line that counts what a log holds, and a line for each reason to leave something out."""
    import numpy as np

    from dcglearn.parts.parts import PartedLog

    if isinstance(log, PartedLog):
        facts = log.facts
        counts = [number_of(facts.n, "pairs"), *([number_of(facts.n_ties, "ties")] if facts.n_ties else [])]
        counts += [] if facts.raters is None else [number_of(len(facts.raters), "raters")]
    else:
        counts = [number_of(len(log), "pairs")]
        counts += [] if log.weight is None else [f"total weight {log.total_weight:,.0f}"]
        counts += [] if log.tie is None else [number_of(int(log.tie.sum()), "ties")]
        labels = {"raters": log.rater, "queries": log.query}
        counts += [number_of(len(np.unique(values)), name) for name, values in labels.items() if values is not None]
    read = f"read: {', '.join(counts)}; {number_of(log.depth, 'positions')}, {number_of(log.n_grades, 'grades')}"
    from dcglearn.cli.recognised import looked_up_lines

    looked_up = [] if isinstance(log, PartedLog) else looked_up_lines(log.counted)
    return [read, *looked_up, *left_out(dropped)]


def left_out(dropped: dict[str, int]) -> list[str]:
    """Return a line for each reason to leave something out; what is wrong with one line is not counted."""
    counts = {reason: count for reason, count in dropped.items() if count}
    return [f"left out: {reason if ': ' in reason else number_of(n, reason, ',')}" for reason, n in counts.items()]
