"""A command and its help page: panels of options, an example a line, plain text in a pipe."""

import functools
import inspect
import platform
import re
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, field, fields, is_dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from dcglearn.cli.terminal import console, show_log
from dcglearn.foundation.plain_text import escaped, nearest
from dcglearn.foundation.validation import Fields, shortened
from dcglearn.foundation.version import __version__

PANELS = ("Arguments", "Most used", "Input", "Model and method", "Output")
"""The panels of a command's help page, in their order."""

first_option, input_option, model_option, output_option = (
    partial(typer.Option, rich_help_panel=panel) for panel in PANELS[1:]
)


def _row(default: Any, make: Callable[..., Any], names: Sequence[str] = ()) -> Any:
    """Return a row of a table of options: the default value of a parameter or of a field.

    The default of a row that has none is ``...``.
    """
    option = {"make": make, "names": names}
    return field(default=MISSING if default is ... else default, metadata=option)


def argument_row(summary: str, default: Any = None, **how: Any) -> Any:
    """Return the row of an argument; `how` is passed to typer."""
    return _row(default, partial(typer.Argument, help=summary, **how))


def _option_row(panel: str, summary: str, default: Any = None, *names: str, **how: Any) -> Any:
    make = partial(typer.Option, help=summary, rich_help_panel=panel, **how)
    return _row(default, make, names)


first_row, input_row, model_row, output_row = (partial(_option_row, panel) for panel in PANELS[1:])
"""Rows of options by panel: help, default, names unless the parameter's own, and more for typer."""

_WORDS: dict[Any, str] = {int: "N", float: "NUMBER", str: "TEXT", Path: "FILE"}
"""What a help page calls a value that no row of options names, by its type."""

_USAGE_ERROR: Any = typer.BadParameter.__base__


def option_name(name: str) -> str:
    """Return the option of a parameter: ``--holdout-by`` of ``holdout_by``."""
    return f"--{name.replace('_', '-')}"


def examples(*lines: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that gives a command the examples of its help page, one a line."""

    def with_examples(command: Callable[..., None]) -> Callable[..., None]:
        command.examples = "\n".join(lines)  # type: ignore[attr-defined]
        return command

    return with_examples


def program(summary: str, commands: Mapping[str, Sequence[Callable[..., None]]]) -> typer.Typer:
    """Return a program whose help page has the commands in panels, with --version and --verbose."""
    app = typer.Typer(
        name="dcglearn",
        help=summary,
        callback=_common,
        no_args_is_help=True,
        cls=Group,
        # colours come from rich alone
        context_settings={"help_option_names": ["-h", "--help"], "color": False},
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )

    # each command in its panel
    for panel, functions in commands.items():
        for function in functions:
            _add_command(app, function, panel)
    return app


def _print_version(asked: bool) -> None:
    """Print the versions that a report of a bug needs: the package, Python and three libraries."""
    if asked:
        from importlib import metadata

        typer.echo(f"dcglearn {__version__}\nPython {platform.python_version()}")
        for library in ("numpy", "scipy", "polars"):
            typer.echo(f"{library} {metadata.version(library)}")
        raise typer.Exit


def _common(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show versions."),
    ] = False,
    verbose: Annotated[
        bool,
        output_option(
            "-v",
            "--verbose",
            callback=show_log,
            is_eager=True,
            expose_value=False,
            help="Log steps to standard error; learn prints every table.",
        ),
    ] = False,
) -> None:
    pass


def _add_command(app: typer.Typer, command: Any, panel: str) -> None:
    """Add a function with `examples` as a command; fields replace dataclass parameters."""
    hints = get_type_hints(command, include_extras=True)
    groups: Fields = {name: hint for name, hint in hints.items() if is_dataclass(hint)}

    # all options, those of groups in the place of the group
    options: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command).parameters.items():
        if name in groups:
            types = get_type_hints(groups[name], include_extras=True)  # of inherited fields too
            options += [_parameter(f.name, types[f.name], f) for f in fields(groups[name])]
        else:
            options.append(_parameter(name, hints[name], parameter.default))

    @functools.wraps(command)
    def with_groups(**values: Any) -> None:
        for name, group in groups.items():
            own = {field.name: values.pop(field.name) for field in fields(group)}
            values[name] = group(**own)
        command(**values)

    # what typer reads of a function
    with_groups.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
    with_groups.__annotations__ = {option.name: option.annotation for option in options}
    app.command(cls=Command, epilog=command.examples, rich_help_panel=panel)(with_groups)


def _parameter(name: str, hint: Any, default: Any) -> inspect.Parameter:
    """Return a parameter as typer reads it, of a row or of a default value with its annotation."""
    if isinstance(default, Field):
        row, default = default.metadata, default.default
        if default is MISSING:
            default = inspect.Parameter.empty

        # a flag has no second name that turns it off
        if row:
            names = row["names"]
            if hint is bool and not names:
                names = [option_name(name)]
            hint = Annotated[hint, row["make"](*names)]

    # what help calls its value
    if get_origin(hint) is Annotated:
        kind, option = get_args(hint)
        option.metavar = option.metavar or _words_for(kind)
    keyword = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, keyword, default=default, annotation=hint)


def _words_for(kind: Any) -> str | None:
    """Return what a help page calls values of a type: choices, or a word; None for a flag."""
    if get_origin(kind) is Literal:
        return "|".join(get_args(kind))
    return _WORDS.get(kind) or next(filter(None, map(_words_for, get_args(kind))), None)


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

        # usage, and what the command does
        terminal, path = console(), ctx.command_path
        usage = self.get_usage(ctx).partition(path)[2]
        terminal.print(Text.assemble("\n ", (path, "bold"), usage))
        paragraphs = [" ".join(paragraph.split()) for paragraph in (self.help or "").split("\n\n")]
        terminal.print(Text("\n" + "\n\n".join(paragraphs) + "\n"))

        # a panel for each kind of option
        widest = 34  # columns of the terminal for an option's names
        for title, rows in self._panels(ctx):
            table = Table.grid(padding=(0, 2))
            table.add_column(style="cyan", max_width=widest)
            table.add_column()
            for names, description in rows:
                lines = textwrap.wrap(names.replace("|", "| "), widest, break_on_hyphens=False)
                table.add_row(Text("\n".join(lines).replace("| ", "|")), Text(description))
            terminal.print(Panel(table, title=title, title_align="left", border_style="dim"))

        # examples, one a line
        if self.epilog:
            terminal.print(Text("Examples", style="bold"))
            lines = [f"  {line}" for line in self.epilog.splitlines()]
            terminal.print(Text("\n".join(lines)), soft_wrap=True)


class Command(_HelpPage, TyperCommand):
    """A command whose help page has a panel for each kind of option."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse options and arguments, and refuse a wrong one with the nearest right one.

        An option of one value that is given again is refused, rather than the last one taken.
        """
        try:
            _refuse_repeated(self.make_parser(ctx).parse_args(args=[*args])[2])
            return list(super().parse_args(ctx, args))
        except typer.BadParameter as error:
            error.message = _plain_refusal(error)
            raise
        except _USAGE_ERROR as error:
            if hasattr(error, "possibilities"):  # an unknown option
                wrong = escaped(error.option_name)
                hint = nearest(wrong, _options_of(self, ctx), 0.75) or _elsewhere(wrong, ctx)
                error.message = f"No such option: {wrong}{hint}"
                error.possibilities = None
            raise

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the words of the usage line, arguments as they are named, in any typer version."""
        arguments = [
            option for option in self.get_params(ctx) if option.param_type_name == "argument"
        ]
        return ["[OPTIONS]", *(one.metavar or one.human_readable_name for one in arguments)]

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, and --verbose, which the program has too."""
        shared = ctx.parent.command.params if ctx.parent is not None else []
        verbose = [option for option in shared if option.name == "verbose"]
        return [*super().get_params(ctx), *verbose]

    def _panels(self, ctx: Any) -> Iterator[tuple[str, list[tuple[str, str]]]]:
        """Yield the title of each panel and its rows: an option's names, and what it does."""
        panels: dict[str, list[tuple[str, str]]] = {title: [] for title in PANELS}
        for option in self.get_params(ctx):
            panel = getattr(option, "rich_help_panel", None) or "Output"
            if option.param_type_name == "argument":
                panel = "Arguments"
            panels[panel].append(help_row(option, ctx))
        yield from ((title, rows) for title, rows in panels.items() if rows)


class Group(_HelpPage, TyperGroup):
    """The program, whose help page has a panel for each kind of command."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command; refuse in a short message what is no command, option or value."""
        try:
            return super().invoke(ctx)
        except _USAGE_ERROR as error:
            error.message = shortened(error.message)
            raise

    def _panels(self, ctx: Any) -> Iterator[tuple[str, list[tuple[str, str]]]]:
        records = [option.get_help_record(ctx) for option in self.get_params(ctx)]
        yield "Options", [record for record in records if record is not None]
        panels: dict[str, list[tuple[str, str]]] = {}
        for name in self.list_commands(ctx):
            command: Any = self.get_command(ctx, name)
            first_sentence = " ".join(command.help.partition("\n\n")[0].split())
            panels.setdefault(command.rich_help_panel, []).append((name, first_sentence))
        yield from panels.items()


def _refuse_repeated(given: Sequence[Any]) -> None:
    """Raise a usage error for an option of one value that is given again."""
    options = [one for one in given if one.param_type_name == "option"]
    single = [one for one in options if not (one.multiple or one.is_flag or one.count)]
    for i, one in enumerate(single):
        if one in single[:i]:
            raise _USAGE_ERROR(f"{one.opts[-1]} is given twice, and takes one value")


def _options_of(command: Any, ctx: Any) -> list[str]:
    """Return the names of a command's options."""
    return [name for option in command.get_params(ctx) for name in option.opts]


def _elsewhere(wrong: str, ctx: Any) -> str:
    """Return "; COMMAND has it" for an option that one other command has, such as convert."""
    others = ctx.parent.command.commands
    having = [name for name, other in others.items() if wrong in _options_of(other, ctx)]
    return f"; dcglearn {having[0]} has it" if len(having) == 1 else ""


def help_row(option: Any, ctx: Any) -> tuple[str, str]:
    """Return the names of an option or argument, and what it does; its range is in words.

    A lowest value without a highest is left out.
    """
    names, description = option.get_help_record(ctx)
    plain = re.sub(r"([\d.]+)<=x<=([\d.]+)", r"\1 to \2", description)
    plain = re.sub(r"(; )?x>=[\d.]+", "", plain)
    return names.partition(" <")[0], plain.removesuffix("[]").rstrip()


def _plain_refusal(error: typer.BadParameter) -> str:
    """Return what is wrong with a value, by name; pydantic's sentence in typer does not name it."""
    cause: Any = error.__cause__
    if not hasattr(cause, "errors"):
        return _with_nearest(error.message)

    # the first fault, in a sentence that names the value
    fault = cause.errors()[0]
    value, limits = fault["input"], fault.get("ctx", {})
    sentences = {
        "float_parsing": f"{value!r} is not a number.",
        "int_parsing": f"{value!r} is not a whole number.",
        "int_from_float": f"{value!r} is not a whole number.",
        "greater_than_equal": f"{value} is below {limits.get('ge')}, the least allowed.",
        "less_than_equal": f"{value} is above {limits.get('le')}, the most allowed.",
    }
    message = error.message.removeprefix("Value error, ")
    return sentences.get(fault["type"], _with_nearest(message))


def _with_nearest(message: str) -> str:
    """Return a message with the nearest choice, if it says that a word is not one of several."""
    if " is not one of " not in message:
        return message
    wrong, *choices = re.findall("'([^']*)'", message) or [""]
    return f"{message.removesuffix('.')}{nearest(wrong, choices)}."
