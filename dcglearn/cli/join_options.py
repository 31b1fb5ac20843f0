"""Options for logs whose judgements, runs or clicks stand in files of their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from dcglearn.cli.command import input_option
from dcglearn.foundation.validation import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from dcglearn.cli.options import Reading
    from dcglearn.readers.preferences import Preferences

Duplicates = Literal["error", "first", "last"]
Missing = Literal["error", "skip"]
Interleaving = Literal["team-draft", "balanced"]
Inconsistent = Literal["keep", "half", "tie"]


@dataclass(frozen=True, kw_only=True)
class JoinOptions:
    """Where the grades of documents are, what unjudged ones count as, and which lists a verdict or click is about."""

    qrels: Annotated[
        str | None,
        input_option(
            metavar="FILE", help="Grades of the documents that lists name: TREC, CSV, Quepid's or OpenSearch's files."
        ),
    ] = None
    run_a: Annotated[
        str | None, input_option(metavar="RUN", help="With --run-b and --qrels: LOG holds query and winner.")
    ] = None
    run_b: Annotated[str | None, input_option(metavar="RUN", help="The other run.")] = None
    interleaving: Annotated[
        Interleaving | None, input_option(help="LOG holds clicks on rankings that were interleaved this way.")
    ] = None
    unjudged: Annotated[
        str,
        input_option(
            metavar="worst|best|drop|unknown|GRADE", help="With --qrels: what an unjudged document counts as."
        ),
    ] = "worst"
    missing: Annotated[
        Missing, input_option(help="With --qrels: refuse queries without judgements, or skip their pairs.")
    ] = "error"
    duplicates: Annotated[Duplicates, input_option(help="With --qrels: what to do with a document judged twice.")] = (
        "error"
    )
    inconsistent: Annotated[
        Inconsistent, input_option(help="What contradictory verdicts count, of one rater on a pair shown both ways.")
    ] = "keep"

    @property
    def joins(self) -> list[str]:
        """The options given that read a log with other files, or as clicks."""
        given = {
            "--qrels": self.qrels,
            "--run-a": self.run_a,
            "--run-b": self.run_b,
            "--interleaving": self.interleaving,
        }
        return [name for name, value in given.items() if value is not None]

    @property
    def other_inputs(self) -> list[str]:
        """The files that are read beside the log."""
        return [path for path in (self.qrels, self.run_a, self.run_b) if path is not None]

    def reconciled(self, log: Preferences) -> Preferences:
        """Return the log with contradictory verdicts counted as asked."""
        return log if self.inconsistent == "keep" else log.reconciled(self.inconsistent)

    def joined(self, path: str, reading: Reading, words: dict[str, Any], skip_bad: Path | None) -> Preferences:
        """Return the log in a file, joined with the judgements; `words` are `winner_words` and `positive`.

        Raises
        ------
        InputError
            If options contradict each other, or a file is bad.
        """
        from dcglearn.joins.interleaving import preferences_from_interleaving
        from dcglearn.joins.join_judgements import join_judgements, preferences_from_runs

        if reading.scale is not None:
            raise InputError("--scale names the grades of a log: leave it out with " + ", ".join(self.joins))
        options: dict[str, Any] = {
            "unjudged": int(self.unjudged) if self.unjudged.isdecimal() else self.unjudged,
            "missing": self.missing,
            "n_grades": reading.grades,
            "duplicates": self.duplicates,
        }
        if self.interleaving is None and self.run_a is None and self.run_b is None:
            return join_judgements(path, self.qrels, depth=reading.depth, skip_bad=skip_bad, **words, **options)
        if skip_bad is not None or any(value is not None for value in words.values()):
            raise InputError("--skip-bad, --winner-words and --positive do not go with runs and clicks")
        if self.interleaving is not None:
            if self.run_a is not None or self.run_b is not None:
                raise InputError("--interleaving reads both rankings from LOG: leave --run-a and --run-b out")
            return preferences_from_interleaving(
                path, self.qrels, method=self.interleaving, depth=reading.depth, **options
            )
        if self.qrels is None or self.run_a is None or self.run_b is None:
            raise InputError("--run-a, --run-b and --qrels go together: two runs, and the grades of their documents")
        if reading.depth is not None:
            options["depth"] = reading.depth
        return preferences_from_runs(self.run_a, self.run_b, self.qrels, path, **options)
