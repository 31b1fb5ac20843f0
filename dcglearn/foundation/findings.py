"""Reports: several findings under one title, printed, saved and shown as one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dcglearn.foundation.finding import Finding, table_of
from dcglearn.foundation.plain_text import markdown, one_line, whole
from dcglearn.foundation.validation import Fields, PolarsFrame


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
