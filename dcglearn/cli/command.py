"""A command and its help page: options in panels, one example a line; drawn on a terminal, plain text in a pipe."""

from __future__ import annotations

import re
import sys
import textwrap
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand, TyperGroup

from dcglearn.cli.terminal import console

if TYPE_CHECKING:
    from collections.abc import Iterator

ARGUMENTS, FIRST, INPUT, MODEL, OUTPUT, SCALE = PANELS = (
    "Arguments",
    "Most used",
    "Input",
    "Model and method",
    "Output",
    "Scale",
)
"""The panels of a help page, in their order."""

WIDEST_NAMES = 34
"""Columns of the terminal for an option's names."""

MOST_USED = {
    "learn": "--output --plot --holdout --bands --ratings",
    "convert": "--output --ratings --scale --winner-words --qrels",
    "ask": "--log -n --output --grades --scale",
    "judge": "--log --raters --runs --qrels --port",
    "show": "--plot --grades --json",
    "simulate": "--output --pairs --truth --flips --raters",
    "evaluate": "--metric --format --output --by-query --unjudged",
    "compare": "--metric --exit-code --min-difference --format --output",
    "export": "--to --output --list --lossy",
    "coherence": "--grades --depth --plot --exit-code --json",
    "systems": "--metric --log --plot --grades --json",
    "train": "--output --metric --model --method --valid",
    "rank": "--output --format --metric",
    "verify": "--json",
    "folds": "--output --folds",
    "letor": "--method --metric --quick --jobs --output",
    "doctor": "--json",
}
"""The options of each command that most people need first, at most five."""

OF_PANEL = {
    INPUT: "--grades --scale --depth --ratings --equal-groups --pad --skip-bad --winner-words --positive --qrels "
    "--rank-eval --run-a --run-b --interleaving --unjudged --missing --duplicates --inconsistent --runs --documents "
    "--topics --log --valid --groups --valid-groups --features --zero-based --map-grades --strict --n-grades "
    "--generate",
    OUTPUT: "--output --format --json --plot --force --utility --dry-run --truth-file --tag --exit-code "
    "--by-query --residuals --junit --markdown --verbose --help",
    SCALE: "--memory --workers --dask --checkpoint --resume --jobs --threads",
}
"""The options of the panels; all others are of the model and method."""

_PANEL = {option: panel for panel, options in OF_PANEL.items() for option in options.split()}


COMMANDS = {
    "Learn a DCG": "learn convert ask judge show simulate",
    "Evaluate with it": "evaluate compare systems coherence export",
    "Train rankers against it": "train rank verify folds letor",
    "When something is wrong": "doctor",
}
"""The commands of each panel of the program's help page."""


def examples(*lines: str) -> str:
    """Return the examples of a command as the epilog of its help page, one a line."""
    return "\n".join(lines)


class _HelpPage:
    """A help page of panels, mixed into a command or group; subclasses have `_panels`."""

    help: Any
    epilog: Any
    get_usage: Any
    get_params: Any
    _panels: Any

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help page: as text into `formatter`, or drawn on the terminal."""
        if sys.stdout.isatty():
            self._draw(ctx)
        else:
            super().format_help(ctx, formatter)  # type: ignore[misc]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the panels as sections of text."""
        for title, rows in self._panels(ctx):
            with formatter.section(title):
                formatter.write_dl(rows)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the examples, one a line, never wrapped."""
        if self.epilog:
            with formatter.section("Examples"):
                formatter.write("".join(f"  {line}\n" for line in self.epilog.splitlines()))

    def _draw(self, ctx: Any) -> None:
        from rich.panel import Panel
        from rich.table import Table
        from rich.text import Text

        terminal = console()
        terminal.print(
            Text.assemble("\n ", (ctx.command_path, "bold"), self.get_usage(ctx).partition(ctx.command_path)[2])
        )
        paragraphs = [" ".join(words.split()) for words in (self.help or "").split("\n\n")]
        terminal.print(Text("\n" + "\n\n".join(paragraphs) + "\n"))
        for title, rows in self._panels(ctx):
            table = Table.grid(padding=(0, 2))
            table.add_column(style="cyan", max_width=WIDEST_NAMES)
            table.add_column()
            for names, what in rows:
                table.add_row(Text(_broken(names)), Text(what))
            terminal.print(Panel(table, title=title, title_align="left", border_style="dim"))
        if self.epilog:
            terminal.print(Text("Examples", style="bold"))
            terminal.print(Text("\n".join(f"  {line}" for line in self.epilog.splitlines())), soft_wrap=True)


class Command(_HelpPage, TyperCommand):
    """A command whose help page has a panel for each kind of option."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the options and arguments; a value that is none of its kind is refused in a plain sentence."""
        try:
            return list(super().parse_args(ctx, args))
        except typer.BadParameter as error:
            error.message = _plain_refusal(error)
            raise

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the words of the usage line: arguments as they are named, however the version of typer puts them."""
        arguments = [option for option in self.get_params(ctx) if option.param_type_name == "argument"]
        return ["[OPTIONS]", *(argument.metavar or argument.human_readable_name for argument in arguments)]

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, and --verbose, which the program has too."""
        shared = ctx.parent.command.params if ctx.parent is not None else []
        return [*super().get_params(ctx), *(option for option in shared if option.name == "verbose")]

    def _panels(self, ctx: Any) -> Iterator[tuple[str, list[tuple[str, str]]]]:
        """Yield the title of each panel and its rows: an option's names, and what it does."""
        panels: dict[str, list[tuple[str, str]]] = {title: [] for title in PANELS}
        first = MOST_USED.get(self.name or "", "").split()
        options = sorted(self.get_params(ctx), key=lambda option: _place(option.opts, first))
        for option in options:
            row = option.get_help_record(ctx)
            if row is not None:
                panels[_panel(option, first)].append((_plain_kind(row[0]), row[1]))
        yield from ((title, rows) for title, rows in panels.items() if rows)


class Group(_HelpPage, TyperGroup):
    """The program, whose help page has a panel for each kind of command."""

    def _panels(self, ctx: Any) -> Iterator[tuple[str, list[tuple[str, str]]]]:
        records = [option.get_help_record(ctx) for option in self.get_params(ctx)]
        yield "Options", [record for record in records if record is not None]
        commands = {name: self.get_command(ctx, name) for name in self.list_commands(ctx)}
        for title, names in COMMANDS.items():
            yield title, [(name, _first_sentence(commands.pop(name))) for name in names.split()]
        if commands:
            yield "More", [(name, _first_sentence(command)) for name, command in commands.items()]


def _first_sentence(command: Any) -> str:
    return " ".join((command.help or "").partition("\n\n")[0].split())


def _plain_refusal(error: typer.BadParameter) -> str:
    """Return what is wrong with a value: typer gives the words of pydantic, which do not name it."""
    cause: Any = error.__cause__
    if not hasattr(cause, "errors"):
        return error.message
    fault = cause.errors()[0]
    value, limits = fault["input"], fault.get("ctx", {})
    sentences = {
        "float_parsing": f"{value!r} is not a number.",
        "int_parsing": f"{value!r} is not a whole number.",
        "int_from_float": f"{value!r} is not a whole number.",
        "greater_than_equal": f"{value} is below {limits.get('ge')}, the least allowed.",
        "less_than_equal": f"{value} is above {limits.get('le')}, the most allowed.",
    }
    return sentences.get(fault["type"], error.message.removeprefix("Value error, "))


def _plain_kind(names: str) -> str:
    """Return the names of an option, or the name of an argument, with the kind of its value as one word."""
    if not names.startswith("-"):
        return names.partition(" <")[0]
    kinds = {"path": "PATH", "str": "TEXT", "float": "NUMBER", "int": "NUMBER", "int range": "NUMBER"}
    return re.sub(r"<([a-z ]+)>", lambda kind: kinds.get(kind[1], kind[0]), names)


def _broken(names: str) -> str:
    """Return the names of an option, in several lines if they are wide, broken between the words that it takes."""
    lines = textwrap.wrap(names.replace("|", "| "), WIDEST_NAMES, break_on_hyphens=False)
    return "\n".join(line.replace("| ", "|") for line in lines)


def _place(names: list[str], first: list[str]) -> int:
    return min((first.index(name) for name in names if name in first), default=len(first))


def _panel(option: Any, first: list[str]) -> str:
    if option.param_type_name == "argument":
        return ARGUMENTS
    if any(name in first for name in option.opts):
        return FIRST
    return next((_PANEL[name] for name in option.opts if name in _PANEL), MODEL)
