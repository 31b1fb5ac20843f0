"""Which log a command is given: one that fits in tables, or one in parts, on disk or over a cluster."""

from __future__ import annotations

import contextlib
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dcglearn.foundation.validation import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dcglearn.logs.parts import PartedLog
    from dcglearn.logs.preferences import Preferences

Memory = Annotated[
    str | None,
    typer.Option("--memory", metavar="SIZE", help="Take at most so much (2GB, 512MB); codes go to disk if need be."),
]
Workers = Annotated[
    int | None, typer.Option("--workers", min=1, metavar="N", help="Learn with N processes here, by Dask.")
]
Scheduler = Annotated[
    str | None, typer.Option("--dask", metavar="ADDRESS", help="Learn on this Dask cluster (tcp://host:8786).")
]
CheckpointFile = Annotated[
    Path | None, typer.Option("--checkpoint", metavar="FILE", help="Keep every pass here, for --resume.")
]
Resume = Annotated[bool, typer.Option("--resume", help="Go on from --checkpoint, to the same bytes.")]


def engine_of(workers: int | None, dask: str | None) -> Any:
    """Return a scheduler's address or a number of processes; None to learn in this process.

    Raises
    ------
    InputError
        If both are given.
    """
    if workers is not None and dask is not None:
        raise InputError("give --workers or --dask, not both")
    return workers if dask is None else dask


@dataclass(frozen=True)
class Asked:
    """The paths of a log, how to read it, and where to learn.

    Attributes
    ----------
    paths : list of str
        As on the command line.
    memory, workers, dask
        As the options are; None where not given.
    reading : dict
        `n_grades`, `depth`, `pad`, `scale` of `read_preferences`.
    """

    paths: list[str]
    memory: str | None
    workers: int | None
    dask: str | None
    reading: dict[str, Any]

    def __post_init__(self) -> None:
        if self.memory is not None and self.engine is not None:
            raise InputError("--memory is for this process alone: give it, or --workers or --dask")

    @property
    def engine(self) -> Any:
        """What `engine_of` says."""
        return engine_of(self.workers, self.dask)

    @property
    def in_parts(self) -> bool:
        """Whether the log is to be learned from in parts."""
        several = len(self.paths) > 1 or Path(self.paths[0]).is_dir() or not _is_there(self.paths[0])
        return several or self.memory is not None or self.engine is not None

    def refuse(self, **whole: Any) -> None:
        """Refuse options, by name and whether they are asked, that need the whole log in tables.

        Raises
        ------
        InputError
            Naming the first.
        """
        for name, asked in whole.items():
            if asked:
                raise InputError(
                    f"--{name.replace('_', '-')} needs one file and the whole log in memory; not with several files, a "
                    "folder, --memory, --workers or --dask"
                )

    @contextlib.contextmanager
    def opened(self) -> Iterator[Preferences | PartedLog]:
        """Yield the log in parts."""
        from dcglearn.logs.dask_log import DaskLog
        from dcglearn.logs.parquet_log import ParquetLog
        from dcglearn.logs.readers import read_preferences

        if self.engine is None:
            with ParquetLog(self.paths, memory=self.memory, progress=sys.stderr.isatty(), **self.reading) as stored:
                yield stored
            return
        log: Any = self.paths
        reading = self.reading
        if len(self.paths) == 1 and not _is_parquet(self.paths[0]):
            log, reading = read_preferences(self.paths[0], **reading), {}
        with DaskLog(log, self.engine, **reading) as spread:
            yield spread


def _is_there(path: str) -> bool:
    """Whether a name is that of a file, or standard input, rather than a pattern."""
    return path == "-" or Path(path).exists() or not any(mark in path for mark in "*?[")


def _is_parquet(path: str) -> bool:
    return path.endswith(".parquet") or Path(path).is_dir() or not _is_there(path)
