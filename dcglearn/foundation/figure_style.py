"""Figures of matplotlib: their style in print, their size, and how they are saved.

matplotlib is imported without the working folder's settings, which may be a stranger's.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import threading
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from dcglearn.foundation.files import written_beside
from dcglearn.foundation.plain_text import escaped
from dcglearn.foundation.validation import Fields, PathLike, suffix_among

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
"""Okabe and Ito's colours, which colour-blind people can tell apart."""

DASHES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)))
"""A dash for each colour, for grey prints."""

LINE_STYLES: tuple[Fields, ...] = tuple(
    {"color": colour, "marker": marker, "linestyle": dash}
    for colour, marker, dash in zip(COLOURS, "os^DvP", DASHES, strict=True)
)
"""Colours, each with a marker and a dash."""

PRINT_STYLE: dict[Any, Any] = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "legend.frameon": False,
    "figure.dpi": 100,
    "savefig.dpi": 200,
    "pdf.fonttype": 42,
    "axes.prop_cycle": f"cycler('color', {[*COLOURS]})",
}
"""Parameters of matplotlib (`rc_context`, `style.use`) for a figure in print."""

PICTURES = (".png", ".pdf", ".svg")
"""Suffixes of the files of pictures."""

_HIDING = threading.Lock()
"""Held while a file of settings is hidden."""


def save_figure(figure: Figure, path: PathLike) -> None:
    """Write a figure beside `path` and rename it; the suffix is the format (png, pdf, svg).

    Raises InputError if the suffix is another, or the file cannot be written.
    """
    suffix_among(path, PICTURES, "pictures")
    with written_beside(path) as temporary, print_style():
        figure.savefig(temporary)
        if temporary.suffix.lower() == ".svg":  # XML allows no control characters
            temporary.write_text(escaped(temporary.read_text(encoding="utf-8")), encoding="utf-8")


@contextlib.contextmanager
def printed(width: float, height: float) -> Iterator[Figure]:
    """Yield an empty figure of this size, in inches, to draw on in the style of print.

    A notebook shows it also where pyplot was never imported.
    """
    with print_style():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(width, height), layout="constrained")
        figure._repr_png_ = partial(_as_png, figure)  # type: ignore[attr-defined]
        yield figure


def _as_png(figure: Figure) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=figure.dpi)
    return buffer.getvalue()


def print_style() -> Any:
    """Return a context in which matplotlib draws in `PRINT_STYLE`."""
    # names of grades and runs are text, not formulas
    return import_matplotlib().rc_context({**PRINT_STYLE, "text.parse_math": False})


def import_matplotlib() -> Any:
    """Return matplotlib; a first import does not read ``matplotlibrc`` of the working folder.

    That file can name a module that is imported to draw, and have TeX run. The user's own settings
    are read.
    """
    with _HIDING:
        exists = os.path.exists
        # which matplotlib asks
        os.path.exists = lambda path: path != "matplotlibrc" and exists(path)
        try:
            return importlib.import_module("matplotlib")
        finally:
            os.path.exists = exists
