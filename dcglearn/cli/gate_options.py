"""Options that make ``dcglearn compare`` a gate: a decision, its exit status, and reports of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from dcglearn.cli.options import write_text
from dcglearn.foundation.validation import InputError

if TYPE_CHECKING:
    from dcglearn.evaluation.compare_systems import SystemComparison
    from dcglearn.evaluation.gate import Gate


@dataclass(frozen=True)
class GateOptions:
    """Whether a decision is asked for, by which rule, and what is made of it."""

    gate: Annotated[
        Literal["harm", "non-inferior"] | None,
        typer.Option(
            help="Fail if a run is worse (harm), or unless it is shown not to be (non-inferior). [default: harm]"
        ),
    ] = None
    min_difference: Annotated[
        float | None,
        typer.Option(
            metavar="MARGIN", help="Smallest acceptable difference from the baseline, as -0.005. [default: 0]"
        ),
    ] = None
    exit_code: Annotated[
        bool, typer.Option("--exit-code", help="End with status 1 if the gate fails, 0 if it passes, 2 for bad input.")
    ] = False
    junit: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the decision as a JUnit report.")] = None
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Table and decision as Markdown, for a pull request's summary.")
    ] = False

    @property
    def asked(self) -> bool:
        """Whether a decision is asked for."""
        given = (self.gate, self.min_difference, self.junit)
        return self.exit_code or self.markdown or any(option is not None for option in given)

    def format(self, form: str | None) -> str | None:
        """Return the format, which --markdown is short for; InputError if --format says another."""
        if self.markdown and form not in (None, "markdown"):
            raise InputError(f"--markdown and --format {form} contradict each other; leave one out")
        return "markdown" if self.markdown else form

    def decision(self, comparison: SystemComparison) -> Gate | None:
        """Return the decision, if one is asked for."""
        if not self.asked:
            return None
        return comparison.gate(0.0 if self.min_difference is None else self.min_difference, self.gate or "harm")

    def end(self, decision: Gate | None, *, force: bool) -> None:
        """Write the report, and end with status 1 if the gate fails and --exit-code is given."""
        if decision is None:
            return
        if self.junit is not None:
            write_text(decision.to_junit(), self.junit, force=force)
        if self.exit_code and not decision.passed:
            raise typer.Exit(1)
