"""A figure that a notebook shows as a cell's value, also where pyplot was never imported."""

import io

from dcglearn.foundation.working_folder import import_matplotlib

import_matplotlib()

from matplotlib.figure import Figure  # noqa: E402


class NotebookFigure(Figure):
    """A figure of matplotlib with IPython's `_repr_png_`."""

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        buffer = io.BytesIO()
        self.savefig(buffer, format="png", dpi=2 * self.dpi)  # sharp on dense screens too
        width, height = (self.get_size_inches() * self.dpi).astype(int).tolist()
        return buffer.getvalue(), {"width": width, "height": height}
