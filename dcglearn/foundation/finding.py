"""Findings: results of a sentence, a table and pictures, which print, save and show themselves.

A section is a finding that is made where it is asked for; a report holds several, under one title.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cached_property
from typing import Any, ClassVar

from dcglearn.foundation.files import write_whole
from dcglearn.foundation.markup import Shown, rendered
from dcglearn.foundation.plain_text import (
    aligned,
    markdown,
    markdown_table,
    one_line,
    spreadsheet,
    whole,
)
from dcglearn.foundation.validation import Fields, PathLike, PolarsFrame, suffix_among

Cells = list[list[str]]
"""Rows of a table as text, the names of the columns first."""


class Finding(Shown):
    """Base of results: a sentence, a table, pictures and notes, in every form that people use.

    A result has a `sentence`, and a `table`, `notes` and `pictures` where there are any. Text,
    JSON, Markdown, HTML and a notebook's cell are made of these.
    """

    _formats: ClassVar[Mapping[str, str]] = {}
    """Format of the numbers of a column; ``.4f`` of all others that are not whole."""

    _cell, _page = "foundation/cell.html", "foundation/page.html"
    """Templates of a notebook's cell, and of a page."""

    _labels: ClassVar[Mapping[str, str]] = {}
    """Title of a column where it is not its name; columns with an empty title are not shown."""

    def __init_subclass__(cls, **options: Any) -> None:
        # IPython asks each class before its bases, and a data class has a __repr__ of its own
        super().__init_subclass__(**options)
        cls._repr_pretty_ = Finding._repr_pretty_  # type: ignore[method-assign]

    # cached, so that a data class may have fields of these names
    @cached_property
    def caption(self) -> str:
        """What the table holds, where a page shows it only on request."""
        return ""

    @cached_property
    def sentence(self) -> str:
        """What was found, in words."""
        raise NotImplementedError

    @cached_property
    def table(self) -> PolarsFrame:
        """The numbers, as a frame; without columns where there are none."""
        return table_of([])

    @cached_property
    def notes(self) -> Sequence[str]:
        """Sentences on how to read the numbers."""
        return ()

    @cached_property
    def pictures(self) -> list[Fields]:
        """Arguments of each picture, as ``foundation/pictures.html`` takes them."""
        table = self.table
        if not {"low", "high"} <= set(table.columns):
            return []

        import polars as pl

        # the first column and further text name the interval, the number before it is the value
        first, *before, value = table.columns[: table.columns.index("low")]
        texts = [x for x in before if table.schema[x] == pl.String and self._labels.get(x) != ""]
        names = pl.concat_str(first, *texts, separator=", ")
        rows = table.select(names, value, "low", "high").drop_nulls().rows()
        title = self._labels.get(value, value.replace("_", " "))
        return [{"title": title, "rows": rows}] if rows else []

    @cached_property
    def cells(self) -> Cells:
        """The table as text: names of the columns, then a row each; ends of intervals together."""
        return cells_of(self.table, self._formats, self._labels)

    @property
    def in_full(self) -> str:
        """The text of a file: the whole finding."""
        return str(self)

    def to_dict(self) -> Fields:
        """Return sentence, notes, table and the result's own numbers as plain values, for JSON.

        The table is a list of rows; fields of the result that are large are left out.
        """
        values = {"sentence": self.sentence, "notes": list(self.notes)}
        return values | {"table": plain(self.table.to_dicts())} | values_of(self)

    def to_markdown(self) -> str:
        """Return the finding in Markdown, in which names cannot become markup."""
        return self._as_text(markdown, markdown_table) + "\n"

    def to_html(self) -> str:
        """Return one HTML document that needs no other file, no network and no script."""
        return rendered(self._page, shown=self)

    def save(self, path: PathLike) -> None:
        """Write the finding, whole or not at all, in the form that the path's suffix names.

        Suffixes are .txt, .json, .md and .html, and for the table alone .csv, .tsv and .jsonl.
        Raises InputError if the suffix is another.
        """
        form = FORMS[suffix_among(path, FORMS, "findings")]
        write_whole(path, form(self))

    def __str__(self) -> str:
        return self._as_text(one_line, aligned)

    def _as_text(self, words: Callable[[str], str], lines_of: Callable[[Cells], list[str]]) -> str:
        """Return sentence, table and notes as text, by what escapes words and lays tables out."""
        lines = [f"- {words(whole(note))}" for note in self.notes]
        table = lines_of(self.cells) if len(self.cells) > 1 else []
        parts = [words(whole(self.sentence))], table, lines
        return "\n\n".join("\n".join(part) for part in parts if part)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {one_line(self.sentence)}>"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Write the finding as IPython shows it where there is no HTML."""
        printer.text(str(self))


@dataclass(frozen=True, eq=False)
class Section(Finding):
    """A part of a report: sentences, the rows of a table or its columns, and pictures."""

    sentence: str
    notes: Sequence[str] = ()
    rows: Sequence[Fields] | Fields = field(default=(), repr=False)
    caption: str = field(default="", repr=False)
    pictures: list[Fields] = field(default_factory=list, repr=False)

    @property
    def table(self) -> PolarsFrame:
        """The rows of the table, as a frame."""
        return table_of(self.rows)


@dataclass(frozen=True, eq=False)
class Report(Finding):
    """Findings by name, in the order of the report; the first sums up the others.

    A finding without a sentence is left out of text and page. `headings` are those of parts that
    have another than their name. Printed are the title and the sentences of the parts `printed`, of
    all parts if there are none named.
    """

    title: str
    parts: Mapping[str, Finding]
    headings: Mapping[str, str] = field(default_factory=dict)
    printed: Sequence[str] = ()

    _cell, _page = "foundation/report_cell.html", "foundation/report.html"

    def __getitem__(self, name: str) -> Finding:
        """Return one part."""
        return self.parts[name]

    @property
    def shown(self) -> dict[str, Finding]:
        """The parts that have something to say, by name."""
        return {name: part for name, part in self.parts.items() if part.sentence}

    @property
    def lead(self) -> Finding:
        """The first part, which sums up the others."""
        return next(iter(self.shown.values()))

    @property
    def sentence(self) -> str:
        """What the first part found."""
        return self.lead.sentence

    @property
    def table(self) -> PolarsFrame:
        """The sentence of each part."""
        return table_of(
            {"part": name, "finding": part.sentence} for name, part in self.shown.items()
        )

    @property
    def in_full(self) -> str:
        """The title, and each part with its table and notes."""
        texts = [self.title]
        for name, part in self.shown.items():
            heading = self.heading(name)
            texts += [f"{heading}\n{'-' * len(heading)}", str(part)]
        return "\n\n".join(texts)

    def heading(self, name: str) -> str:
        """Return the heading of a part."""
        return one_line(self.headings.get(name) or whole(name).removesuffix("."))

    def to_dict(self) -> Fields:
        """Return the title and all parts as plain values, for JSON."""
        return {"title": self.title} | {name: part.to_dict() for name, part in self.parts.items()}

    def to_markdown(self) -> str:
        """Return the report in Markdown, a heading for each part."""
        parts = [f"# {markdown(self.title)}\n"]
        for name, part in self.shown.items():
            parts.append(f"## {markdown(self.heading(name))}\n\n{part.to_markdown()}")
        return "\n".join(parts)

    def __str__(self) -> str:
        parts, lines = self.shown, [one_line(self.title)]
        for name in self.printed or parts:
            lines += [one_line(f"  {name}: {parts[name].sentence}")] if name in parts else []
        return "\n".join(lines)


FORMS: dict[str, Callable[[Finding], str]] = {
    ".txt": lambda finding: f"{finding.in_full}\n",
    ".json": lambda finding: json.dumps(finding.to_dict(), indent=2, ensure_ascii=False) + "\n",
    ".md": lambda finding: finding.to_markdown(),
    ".html": lambda finding: finding.to_html(),
    ".csv": lambda finding: spreadsheet(finding.table),
    ".tsv": lambda finding: spreadsheet(finding.table, "\t"),
    ".jsonl": lambda finding: finding.table.write_ndjson(),
}
"""The text of a file, by its suffix."""


def table_of(rows: Iterable[Mapping[str, Any]] | Mapping[str, Any]) -> PolarsFrame:
    """Return a frame of rows by column, or of whole columns by name."""
    import polars as pl

    data = rows if isinstance(rows, Mapping) else list(rows)
    return pl.DataFrame(data, infer_schema_length=None)


def cells_of(
    table: PolarsFrame, formats: Mapping[str, str] = {}, labels: Mapping[str, str] = {}
) -> Cells:
    """Return a frame as text.

    A column that ends in "low" and the next one are an interval. A column after the first is left
    out where it has no value.
    """
    names = [*table.columns]
    columns: list[list[str]] = []
    while names:
        name = names.pop(0)
        label, form = labels.get(name, name.replace("_", " ")), formats.get(name, "")
        cells = [_cell(value, form) for value in table[name]]

        # the upper ends stand beside the lower ones
        upper = f"{name.removesuffix('low')}high"
        if name.endswith("low") and names[:1] == [upper]:
            names.pop(0)
            ends = [_cell(value, form) for value in table[upper]]
            cells = [f"{a} to {b}" if a else "" for a, b in zip(cells, ends, strict=True)]
            label = labels.get(name, name.removesuffix("low").replace("_", " ") + "interval")
        if label and (not columns or any(cells)):
            columns.append([label, *cells])
    return [list(row) for row in zip(*columns, strict=True)]


def _cell(value: Any, form: str) -> str:
    """Return one value as text, empty where there is none."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "yes" if value else "no"
    if hasattr(value, "__iter__"):
        return " ".join(_cell(one, form) for one in value)
    return format(value, form or ("," if isinstance(value, int) else ".4f"))


def values_of(data: Any) -> Fields:
    """Return the fields of a data class as plain values, without those that its repr leaves out."""
    return {one.name: plain(getattr(data, one.name)) for one in fields(data) if one.repr}


def plain(value: Any) -> Any:
    """Return a value as JSON has it: arrays as lists, None for numbers that there are not."""
    # numbers and words
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, str | int | bool):
        return value

    # what has a form of its own, and arrays
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if hasattr(value, "tolist"):
        return plain(value.tolist())

    # collections and data classes
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if is_dataclass(value):
        return values_of(value)
    if isinstance(value, Iterable):
        return [plain(one) for one in value]
    return str(value)
