"""Options and checks that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dcglearn.foundation.files import refuse_existing
from dcglearn.metric.dcg import DCG
from dcglearn.plots import refuse_format

Force = Annotated[bool, typer.Option("--force", help="Replace output files that exist.")]


Grades = Annotated[
    int | None, typer.Option("--grades", metavar="L", help="Number of grades; by default the largest seen plus 1.")
]


def load_metrics(names: list[str], n_grades: int | None = None) -> dict[str, DCG]:
    """Return the DCGs named: files, or textbook names, which take the files' number of grades (5 if there is none).

    Raises
    ------
    InputError
        If a name is neither a file that holds a DCG nor ``GAIN-DISCOUNT[@K]``.
    """
    files = {name: DCG.load(name) for name in names if is_file(name)}
    if n_grades is None:
        n_grades = max((dcg.n_grades for dcg in files.values()), default=5)
    return {name: files[name] if name in files else DCG.from_name(name, n_grades) for name in names}


def check_outputs(*paths: Path | None, force: bool, picture: Path | None = None) -> None:
    """Refuse what cannot be written before any work is done."""
    for path in paths:
        if path is not None:
            refuse_existing(path, force=force)
    if picture is not None:
        refuse_format(picture)


def is_file(name: str) -> bool:
    """Return whether a metric is named by a file rather than as GAIN-DISCOUNT."""
    return Path(name).exists() or name.endswith(".json")
