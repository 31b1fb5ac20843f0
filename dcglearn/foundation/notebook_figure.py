"""A figure that a notebook shows as a cell's value, also where pyplot was never imported."""

import io

from dcglearn.foundation.working_folder import import_matplotlib

import_matplotlib()

from matplotlib.figure import Figure  # noqa: E402


class NotebookFigure(Figure):
    """A figure of matplotlib with IPython's `_repr_png_`."""

    def _repr_png_(self) -> bytes:
        buffer = io.BytesIO()
        self.savefig(buffer, format="png", dpi=self.dpi)
        return buffer.getvalue()
