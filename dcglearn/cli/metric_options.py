"""Reading of metrics by commands: files and names, depths of names, and the scale of the data."""

import contextlib
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from dcglearn.cli.command import input_row
from dcglearn.cli.options import say
from dcglearn.foundation.validation import Fields, InputError, errors_in, pointer
from dcglearn.metrics.dcg import DCG, Utility
from dcglearn.metrics.list_utility import ListUtility
from dcglearn.metrics.reading import METRICS, SCORING, metric_or_name, resolved
from dcglearn.metrics.scales import ScaleWarning, example_map, grades_of
from dcglearn.metrics.textbook import is_metric_file

Metric = TypeVar("Metric", DCG, DCG | ListUtility, DCG | Utility | ListUtility)


@dataclass(frozen=True)
class ScaleOptions:
    """Options for a metric whose scale differs from the scale of the data."""

    map_grades: str | None = input_row(
        "The metric's grade H that each grade G of the data stands for: 0=0,1=2,2=4.",
        metavar="G=H,...",
    )
    strict: bool = input_row("Refuse a metric of more grades than the data.", False)

    def mapped(self, files: Mapping[str, Metric]) -> dict[str, Metric]:
        """Return the metrics on the scale of the data; raise InputError if the map fits no file."""
        if self.map_grades is None:
            return dict(files)
        grades = _map_of(self.map_grades)
        option = f"--map-grades {self.map_grades}"

        # some metric must have another scale
        changed = [name for name, metric in files.items() if metric.n_grades != len(grades)]
        if not changed:
            reason = "no metric is a file; textbook metrics have the grades of the data"
            if files:
                reason = f"every metric has {grades_of(len(grades))} too"
            raise InputError(f"{option}: {reason}, so there is nothing to map")
        with errors_in(option):
            return dict(files) | {name: files[name].map_grades(grades) for name in changed}

    @contextlib.contextmanager
    def watched(self, declare: str | None = "--grades") -> Iterator[None]:
        """Print the first `ScaleWarning` with the option `declare`, or raise it (--strict)."""
        printed: list[ScaleWarning] = []
        with warnings.catch_warnings():
            others = warnings.showwarning

            # print the first of this kind, leave the others as they are
            def show(message: Any, category: Any, *place: Any, **more: Any) -> None:
                if not isinstance(message, ScaleWarning):
                    others(message, category, *place, **more)
                elif not printed:
                    printed.append(message)
                    say(f"warning: {_with_remedy(message, declare)}")

            # --strict makes an error of it
            warnings.showwarning = show
            warnings.simplefilter("error" if self.strict else "always", ScaleWarning)
            try:
                yield
            except ScaleWarning as warning:
                raise InputError(_with_remedy(warning, declare)) from warning


def _with_remedy(warning: ScaleWarning, declare: str | None) -> str:
    if declare is None:
        return str(warning)
    size = max(warning.declared.values())
    return (
        f"{warning.fact}; say which grade each one stands for, such as --map-grades "
        f"{example_map(warning.n_grades, size)}, or give {declare} {size} if the scale is the "
        f"same and its top grade does not occur {pointer('scales')}"
    )


def _map_of(text: str) -> dict[int, int]:
    """Return the map in a text, ``0=0,1=2,2=4``."""
    grades: dict[int, int] = {}
    for cell in text.split(","):
        try:
            grade, other = (int(side) for side in cell.split("="))
        except ValueError as error:
            raise InputError(
                f"--map-grades {text}: {cell!r} is not of the form 1=2; give 0=0,1=2,2=4"
            ) from error
        if grade in grades:
            raise InputError(f"--map-grades {text}: grade {grade} occurs twice")
        grades[grade] = other
    return grades


def files_and_names(
    metrics: list[str], scale: ScaleOptions, accept: Sequence[type] = SCORING
) -> Fields:
    """Return the metrics of files, mapped, and names as they are, by file or name."""
    read = {name: metric_or_name(name, accept=accept) for name in metrics if is_metric_file(name)}
    files = scale.mapped(read)
    return {name: files.get(name, name) for name in metrics}


def load_metrics(names: list[str], n_grades: int | None = None) -> Fields:
    """Return metrics by name; names take the files' or readers' grades, or 5, and largest depth."""
    parsed = [metric_or_name(name, accept=METRICS) for name in names]
    if all(metric.n_grades is None for metric in parsed):
        n_grades = n_grades or 5
    metrics, labels = resolved(parsed, names, n_grades=n_grades)
    return {
        label or name: metric for label, name, metric in zip(labels, names, metrics, strict=True)
    }
