"""What a reader took the columns of a table and the words of its winners for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dcglearn.foundation.finding import Finding, table_of
from dcglearn.foundation.validation import Fields, PolarsFrame, listed
from dcglearn.reading.contract import Found, plain


@dataclass(frozen=True)
class Recognised(Finding):
    """What a reader took for what: prints as text.

    Attributes
    ----------
    columns : dict of str to list of str
        The column of each role, or its columns by position.
    ignored : sequence of str
        Columns that are not used.
    words : dict of str to (str, int)
        For each word for a winner, what it means and in how many rows it stands.
    remarks : sequence of str
        Doubts about rows that count.
    """

    columns: Found
    ignored: Sequence[str] = ()
    words: Mapping[str, tuple[str, int]] | None = None
    remarks: Sequence[str] = ()

    @property
    def sentence(self) -> str:
        """The columns, those that are not used, and the winners, in words."""
        return "; ".join(self._taken) or "all columns have their usual names, and are used"

    @property
    def winners(self) -> str:
        """The words for winners, what each means, and in how many rows it stands."""
        counts = []
        for word, (meaning, n) in (self.words or {}).items():
            name = word if word.lower() == meaning else f"{word or 'blank'} = {meaning}"
            counts.append(f"{name} ({n:,})")
        more = [f"and {len(counts) - 20} more"] if counts[20:] else []
        return f"winners: {', '.join([*counts[:20], *more])}"

    @property
    def lines(self) -> Sequence[str]:
        """Columns of other names and those that are not used, winners, and remarks, a line each."""
        return [*self._taken, *(f"remark: {remark}" for remark in self.remarks)]

    @property
    def _taken(self) -> list[str]:
        """What columns and winners were taken for, a line each."""
        named = [
            f"{role} = {name}" for role, name in self._names.items() if plain(role) != plain(name)
        ]
        columns = [", ".join(named)] if named else []
        columns += [f"not used: {listed(self.ignored)}"] if self.ignored else []
        lines = [f"columns: {'; '.join(columns)}"] if columns else []
        return [*lines, self.winners] if self.words else lines

    @property
    def table(self) -> PolarsFrame:
        """A row for each column and for each word of a winner, with what it was taken for."""
        rows: list[Fields] = []
        for role, name in self._names.items():
            rows.append({"in_the_log": f"column {name}", "read_as": role})
        rows += [{"in_the_log": f"column {name}", "read_as": "not used"} for name in self.ignored]
        for word, (meaning, n) in (self.words or {}).items():
            rows.append({"in_the_log": f"winner {word}", "read_as": meaning, "rows": n})
        return table_of(rows)

    @property
    def notes(self) -> Sequence[str]:
        """Remarks on rows."""
        return self.remarks

    @property
    def _names(self) -> dict[str, str]:
        """The column of each role; of several, the first and the last."""
        return {
            role: names[0] if len(names) == 1 else f"{names[0]} .. {names[-1]}"
            for role, names in self.columns.items()
        }
