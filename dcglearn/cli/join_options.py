"""Options for logs whose judgements, runs or clicks stand in files of their own."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from dcglearn.cli.command import first_option, input_option
from dcglearn.foundation.validation import InputError

if TYPE_CHECKING:
    from dcglearn.readers.mapping import LogMapping
    from dcglearn.readers.preferences import Preferences


@dataclass(frozen=True)
class JoinOptions:
    """Where the grades of documents are, what unjudged ones count as, and which lists a verdict or click is about."""

    qrels: Annotated[
        str | None,
        first_option(metavar="FILE", help="Grades of the documents that lists name: TREC, CSV, or a tool's file."),
    ] = None
    run_a: Annotated[
        str | None, input_option(metavar="RUN", help="With --run-b and --qrels: LOG holds query and winner.")
    ] = None
    run_b: Annotated[str | None, input_option(metavar="RUN", help="The other run.")] = None
    interleaving: Annotated[
        Literal["team-draft", "balanced"] | None,
        input_option(help="LOG holds clicks on rankings that were interleaved this way."),
    ] = None
    unjudged: Annotated[
        str,
        input_option(metavar="worst|best|drop|unknown|GRADE", help="With --qrels: the grade of an unjudged document."),
    ] = "worst"
    missing: Annotated[
        Literal["error", "skip"],
        input_option(help="With --qrels: refuse queries without judgements, or skip their pairs."),
    ] = "error"
    duplicates: Annotated[
        Literal["error", "first", "last"], input_option(help="With --qrels: what to do with a document judged twice.")
    ] = "error"

    @property
    def asked(self) -> list[str]:
        """The options given that read a log with other files, or as clicks."""
        values = {"qrels": self.qrels, "run-a": self.run_a, "run-b": self.run_b, "interleaving": self.interleaving}
        return [f"--{name}" for name, value in values.items() if value is not None]

    @property
    def inputs(self) -> list[str]:
        """The files that are read beside the log."""
        return [path for path in (self.qrels, self.run_a, self.run_b) if path is not None]

    def joined(self, log: str, mapping: LogMapping, skip_bad: Path | None) -> Preferences:
        """Return the log in a file, joined with the judgements; InputError if options contradict each other."""
        from dcglearn.joins.interleaving import preferences_from_interleaving
        from dcglearn.joins.join_judgements import join_judgements, preferences_from_runs

        if mapping.scale is not None:
            raise InputError("--scale names the grades of a log: leave it out with " + ", ".join(self.asked))
        options: dict[str, Any] = {
            "unjudged": int(self.unjudged) if self.unjudged.isdecimal() else self.unjudged,
            "missing": self.missing,
            "duplicates": self.duplicates,
        }
        if self.asked == ["--qrels"]:
            return join_judgements(log, self.qrels, skip_bad=skip_bad, mapping=mapping, **options)
        if skip_bad is not None or mapping.winner_words is not None or mapping.positive is not None or mapping.columns:
            raise InputError("--skip-bad, --winner-words, --positive and --columns do not go with runs and clicks")
        options["n_grades"] = mapping.n_grades
        if self.interleaving is not None:
            if self.run_a is not None or self.run_b is not None:
                raise InputError("--interleaving reads both rankings from LOG: leave --run-a and --run-b out")
            method = self.interleaving
            return preferences_from_interleaving(log, self.qrels, method=method, depth=mapping.depth, **options)
        if self.qrels is None or self.run_a is None or self.run_b is None:
            raise InputError("--run-a, --run-b and --qrels go together: two runs, and the grades of their documents")
        if mapping.depth is not None:
            options["depth"] = mapping.depth
        return preferences_from_runs(self.run_a, self.run_b, self.qrels, log, **options)
