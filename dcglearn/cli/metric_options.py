"""Reading of metrics by commands: files and names, depths of names, and the scale of the data."""

import contextlib
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from dcglearn.cli.command import input_row
from dcglearn.cli.options import say
from dcglearn.foundation.validation import Fields, InputError
from dcglearn.metrics.reading import METRICS, SCORING, metric_or_name, resolved
from dcglearn.metrics.scales import ScaleWarning
from dcglearn.metrics.textbook import is_metric_file


@dataclass(frozen=True)
class ScaleOptions:
    """Options for a metric whose scale differs from the scale of the data."""

    strict: bool = input_row("Refuse a metric of more grades than the data.", False)

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        """Print the first `ScaleWarning`, or raise it (--strict)."""
        printed: list[ScaleWarning] = []
        with warnings.catch_warnings():
            others = warnings.showwarning

            # print the first of this kind, leave the others as they are
            def show(message: Any, category: Any, *place: Any, **more: Any) -> None:
                if not isinstance(message, ScaleWarning):
                    others(message, category, *place, **more)
                elif not printed:
                    printed.append(message)
                    say(f"warning: {_with_remedy(message)}")

            # --strict makes an error of it
            warnings.showwarning = show
            warnings.simplefilter("error" if self.strict else "always", ScaleWarning)
            try:
                yield
            except ScaleWarning as warning:
                raise InputError(_with_remedy(warning)) from warning


def _with_remedy(warning: ScaleWarning) -> str:
    size = max(warning.declared.values())
    return (
        f"{warning.fact}; give --grades {size} if the scale is the same and its top grade does not "
        "occur, or map the metric to the data's grades in Python (DCG.map_grades)"
    )


def files_and_names(metrics: list[str], accept: Sequence[type] = SCORING) -> Fields:
    """Return the metrics of files, and names as they are, by file or name."""
    files = {name: metric_or_name(name, accept=accept) for name in metrics if is_metric_file(name)}
    return {name: files.get(name, name) for name in metrics}


def load_metrics(names: list[str], n_grades: int | None = None) -> Fields:
    """Return metrics by name; names take the files' grades, or 5, and largest depth."""
    parsed = [metric_or_name(name, accept=METRICS) for name in names]
    if not any(hasattr(metric, "n_grades") for metric in parsed):
        n_grades = n_grades or 5
    metrics, labels = resolved(parsed, names, n_grades=n_grades)
    return {
        label or name: metric for label, name, metric in zip(labels, names, metrics, strict=True)
    }
