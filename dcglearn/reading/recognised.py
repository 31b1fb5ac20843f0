"""What a reader took the columns of a table and the words of its winners for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dcglearn.foundation.finding import Finding
from dcglearn.foundation.validation import listed
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
    notes : sequence of str
        Remarks: doubts about rows that count.
    """

    columns: Found
    ignored: Sequence[str] = ()
    words: Mapping[str, tuple[str, int]] | None = None
    notes: Sequence[str] = ()

    @property
    def sentence(self) -> str:
        """Columns of other names and those that are not used, and the winners, in words."""
        return "; ".join(self.lines) or "all columns have their usual names, and are used"

    @property
    def winners(self) -> str:
        """The words for winners, what each means, and in how many rows it stands."""
        counts = []
        for word, (meaning, n) in (self.words or {}).items():
            name = word if word.lower() == meaning else f"{word or 'blank'} = {meaning}"
            counts.append(f"{name} ({n:,})")
        return f"winners: {listed(counts)}"

    @property
    def lines(self) -> list[str]:
        """Columns of other names and those that are not used, and the winners, a line each."""
        columns = []
        for role, names in self.columns.items():
            name = names[0] if len(names) == 1 else f"{names[0]} .. {names[-1]}"
            if plain(name) != plain(role):
                columns.append(f"{role} = {name}")

        parts = [", ".join(columns)] if columns else []
        parts += [f"not used: {listed(self.ignored)}"] if self.ignored else []
        lines = [f"columns: {'; '.join(parts)}"] if parts else []
        return [*lines, self.winners] if self.words else lines
