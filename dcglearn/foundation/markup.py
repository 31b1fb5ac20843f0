"""HTML from Jinja's templates, in which every name is escaped; results that notebooks show as
pictures and a table.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dcglearn.foundation.plain_text import escaped

if TYPE_CHECKING:
    from jinja2 import Environment


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(Path(__file__).parents[1]),
        autoescape=lambda name: not str(name).endswith(".txt"),
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        finalize=lambda value: (
            escaped(value) if type(value) is str else value
        ),  # templates' own markup is no str
    )


def rendered(template: str, **values: Any) -> str:
    """Return the HTML of a template, or the plain text of a .txt, named by its path in the
    package.
    """
    return _environment().get_template(template).render(values)


class Shown:
    """Mixin of results that notebooks show as pictures and their printed table; plain text stays
    `repr`.
    """

    def _pictures(self) -> list[dict[str, Any]]:
        """Return the arguments of each picture, as ``foundation/pictures.html`` takes them."""
        return []

    def _table(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return rendered("foundation/notebook.html", drawn=self._pictures(), table=self._table())
