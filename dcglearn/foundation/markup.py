"""HTML from Jinja's templates, in which every name is escaped, and the notebook form of results."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dcglearn.foundation.plain_text import ends, escaped, whole
from dcglearn.foundation.validation import Fields

if TYPE_CHECKING:
    from jinja2 import Environment


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    def safe(value: Any) -> Any:
        # the templates' own markup is a subclass of str
        return escaped(value) if type(value) is str else value

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parents[1]),
        autoescape=lambda name: not str(name).endswith(".txt"),
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        finalize=safe,
    )
    environment.filters |= {"whole": whole, "ends": ends}
    return environment


def rendered(template: str, **values: Any) -> str:
    """Return the HTML, or the text of a .txt, of a template named by its path in the package."""
    return _environment().get_template(template).render(values)


class Shown:
    """Mixin of what notebooks show as pictures and a printed table."""

    _cell = "foundation/notebook.html"
    """Template of a notebook's cell."""

    @property
    def pictures(self) -> list[Fields]:
        """Arguments of each picture, as ``foundation/pictures.html`` takes them."""
        return []

    def _repr_html_(self) -> str:
        return rendered(self._cell, shown=self)
