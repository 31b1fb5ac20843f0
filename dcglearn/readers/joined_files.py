"""Several files as one log: those that paths and folders name, one after another."""

import glob
import os
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from dcglearn.foundation.inputs import Paths
from dcglearn.foundation.sources import refuse_unknown
from dcglearn.foundation.validation import InputError, PathLike, as_path, errors_in
from dcglearn.foundation.zip_files import is_hidden
from dcglearn.readers.column_roles import Record, Roles
from dcglearn.readers.line_formats import Opener, Reshaped, Source
from dcglearn.readers.shown_order import called_left

MOST_FILES = 10_000
"""Maximum number of files in a folder."""


def log_files(log: Paths) -> list[PathLike]:
    """Return the files of paths, folders and patterns, each once; a folder's in order of name.

    Raise InputError if a folder holds no file, too many, or one whose suffix belongs to no log;
    hidden ones are left out.
    """
    files: list[PathLike] = []
    for path in [log] if isinstance(log, str | os.PathLike) else log:
        name = str(as_path(path))
        # os.path answers False for names that are too long, where Path raises OSError.
        if os.path.isdir(name):  # noqa: PTH112
            files += _inside(Path(name))
        elif os.path.exists(name):  # noqa: PTH110
            files.append(path)
        else:
            files += sorted(glob.glob(name, recursive=True)) or [path]  # noqa: PTH207
    return list({str(Path(file)): file for file in files}.values())


def _inside(folder: Path) -> list[PathLike]:
    """Return the files in a folder and in the folders below it, but not in those that are links."""
    entries = (entry for entry in folder.rglob("*") if entry.is_symlink() or not entry.is_dir())
    shown = (entry for entry in entries if not is_hidden(entry.relative_to(folder).as_posix()))
    files = sorted(islice(shown, MOST_FILES + 1))
    if not files:
        raise InputError(f"{folder} is a folder without a file; check the name")
    if len(files) > MOST_FILES:
        raise InputError(
            f"{folder} holds more than {MOST_FILES:,} files; name a folder with fewer, or the files"
        )
    refuse_unknown(str(folder), (file.relative_to(folder).as_posix() for file in files))
    return list(files)


def name_of(log: Paths) -> str:
    """Return what messages call a path, or several."""
    return str(log) if isinstance(log, str | os.PathLike) else f"{len(log):,} files"


class Files:
    """Opens several files by roles, as one log."""

    def __init__(self, openers: Mapping[str, Opener]) -> None:
        self._openers = openers

    def __call__(self, roles: Roles) -> Source:
        """Open the files by roles."""
        return self.joined(lambda open_with: open_with(roles))

    def joined(self, opened: Callable[[Opener], Source]) -> Source:
        """Return the judgements that a function opens in the files; errors name the file."""
        sources = {}
        for name, open_with in self._openers.items():
            with errors_in(f"file {name}"):
                sources[name] = opened(open_with)
        return Joined(sources)


class Joined(Reshaped):
    """The judgements of several files in turn; the first tells their roles and columns."""

    def __init__(self, sources: Mapping[str, Source]) -> None:
        # all say in one way which list was shown first
        self.sources = sources
        first, *others = sources.values()
        for name, source in sources.items():
            if _order_of(source) != _order_of(first):
                raise InputError(
                    f"file {name} says in another way than the first file which list was shown "
                    "first; convert each alone (dcglearn convert), and read the results together"
                )

        super().__init__(first, first.roles)
        self.unit = "file"
        forms = dict.fromkeys(source.form for source in sources.values())
        self.form = f"{len(sources):,} files: {', '.join(forms)}"
        self._one_header = all(source.header == self.header for source in others)

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        for name, source in self.sources.items():
            for number, item in source:
                yield f"{name}, {source.unit} {number}", (source, item)

    def record(self, item: tuple[Source, Any]) -> Record:
        """Return the values by role."""
        source, inside = item
        return source.values(inside)

    def raw(self, item: tuple[Source, Any]) -> bytes:
        """Return a line as it is; raise InputError if those of other files have other columns."""
        if not self._one_header:
            raise InputError(
                "the files have different headers, so bad lines of all have no one file: read "
                "each alone"
            )
        source, inside = item
        return source.raw(inside)

    def has(self, role: str) -> bool:
        """Return whether a file has a column for a role."""
        return any(source.has(role) for source in self.sources.values())


def _order_of(source: Source) -> tuple[str, bool]:
    """Return how a source says which list was shown first, and if lists are left and right."""
    if not source.has("swapped"):
        return "", False
    return source.roles["swapped"].kind, called_left(source)
