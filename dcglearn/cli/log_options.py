"""The log that ``dcglearn learn`` reads: in memory, or in parts, on disk or over a cluster."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dcglearn.cli.command import scale_option
from dcglearn.cli.options import Cluster
from dcglearn.cli.reading_options import Ratings, Reading, convert_line
from dcglearn.foundation.validation import InputError

if TYPE_CHECKING:
    from dcglearn.parts.parts import PartedLog
    from dcglearn.readers.preferences import Preferences


@dataclass(frozen=True, kw_only=True)
class LogOptions(Reading):
    """The paths of a log, how it is read, and how much of it may be in memory."""

    log: Annotated[
        list[str],
        typer.Argument(
            metavar="LOG...",
            help="JSON lines or array, delimited text or Parquet, also .gz and .zst; - reads standard input. Or many "
            "Parquet files.",
        ),
    ]
    ratings: Ratings = False
    memory: Annotated[
        str | None,
        scale_option("--memory", metavar="SIZE", help="Use at most this much memory (2GB, 512MB), and disk beyond it."),
    ] = None

    def in_parts(self, cluster: Cluster) -> bool:
        """Return whether the log is to be learned from in parts; InputError if a cluster is to limit its memory."""
        if self.memory is not None and cluster.engine is not None:
            raise InputError("--memory is for this process alone: give it, or --workers")
        several = len(self.log) > 1 or Path(self.log[0]).is_dir() or not _is_there(self.log[0])
        return several or self.memory is not None or cluster.engine is not None

    def refuse_in_parts(self, **options: Any) -> None:
        """Raise InputError for the first option given, by name and value, that needs the whole log in memory."""
        for name, value in {"ratings": self.ratings, **options}.items():
            if value:
                option = f"--{name.replace('_', '-')}"
                remedy = f"; dcglearn convert FILE {option} -o FILE.parquet makes such files first"
                raise InputError(
                    f"{option} needs one file and the whole log in memory; not with several files, a folder, --memory "
                    f"or --workers{remedy if name == 'ratings' else ''}",
                    see="whole-log",
                )

    @contextlib.contextmanager
    def opened(self, cluster: Cluster) -> Iterator[Preferences | PartedLog]:
        """Yield the log."""
        from dcglearn.readers.readers import read_preferences, read_ratings

        mapping = self.mapping
        if not self.in_parts(cluster):
            with convert_line(self.log[0]):
                log = (read_ratings if self.ratings else read_preferences)(self.log[0], mapping=mapping)
            yield log
            return
        from dcglearn.parts.open_log import opened_log

        if cluster.engine is not None and len(self.log) == 1 and not _is_parquet(self.log[0]):
            whole = read_preferences(self.log[0], mapping=mapping)
            opened = opened_log(whole, engine=cluster.engine)
        else:
            opened = opened_log(self.log, engine=cluster.engine, memory=self.memory, mapping=mapping)
        with opened as parts:
            yield parts


def _is_there(path: str) -> bool:
    """Return whether a path names a file or standard input rather than a pattern."""
    return path == "-" or Path(path).exists() or not any(mark in path for mark in "*?[")


def _is_parquet(path: str) -> bool:
    return path.endswith(".parquet") or Path(path).is_dir() or not _is_there(path)
