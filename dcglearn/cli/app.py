"""The command line: results to standard output, words to standard error, exit status 2 for bad input."""

import contextlib
import os
import sys
import warnings
from collections.abc import Iterator
from typing import Annotated

import typer

from dcglearn.cli.audit import audit
from dcglearn.cli.coherence import coherence, systems
from dcglearn.cli.command import Group, add_command, output_option
from dcglearn.cli.doctor import doctor
from dcglearn.cli.evaluate import compare, evaluate
from dcglearn.cli.judge import judge, prompts
from dcglearn.cli.learn import learn
from dcglearn.cli.letor import folds, letor
from dcglearn.cli.logs import ask, convert, simulate
from dcglearn.cli.rankers import rank, train
from dcglearn.cli.saved import export, show, verify
from dcglearn.cli.terminal import escaped_streams, quiet_afterwards, show_log
from dcglearn.foundation.plain_text import one_line
from dcglearn.foundation.validation import InputError, shortened
from dcglearn.foundation.version import __version__

app = typer.Typer(
    name="dcglearn",
    help="Learn the gains and discounts of DCG from what people preferred.",
    no_args_is_help=True,
    cls=Group,
    context_settings={"help_option_names": ["-h", "--help"], "color": False},  # colours come from rich alone
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
COMMANDS = {
    "Learn a DCG": (learn, convert, ask, judge, prompts, show, simulate),
    "Evaluate with it": (audit, evaluate, compare, systems, coherence, export),
    "Train rankers against it": (train, rank, verify, folds, letor),
    "When something is wrong": (doctor,),
}
"""The commands in the panels of the program's help page."""

for panel, commands in COMMANDS.items():
    for command in commands:
        add_command(app, command, panel)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"dcglearn {__version__}")
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
    verbose: Annotated[
        bool,
        output_option(
            "-v", "--verbose", callback=show_log, is_eager=True, expose_value=False, help="Log steps to standard error."
        ),
    ] = False,
) -> None:
    """Learn the gains and discounts of DCG from what people preferred."""


def main() -> None:
    """Run the command line; bad input ends with status 2 and one line on standard error."""
    if sys.stdout is None:
        typer.echo("dcglearn: standard output is closed; redirect it to a file or to /dev/null", err=True)
        sys.exit(1)
    with escaped_streams(), _warnings_in_one_line(), quiet_afterwards():
        _run()


@contextlib.contextmanager
def _warnings_in_one_line() -> Iterator[None]:
    """Show the message of a warning alone, without the line of the code that warns."""
    before = warnings.formatwarning
    warnings.formatwarning = lambda message, *_: f"warning: {one_line(str(message))}\n"
    try:
        yield
    finally:
        warnings.formatwarning = before


def _run() -> None:
    try:
        app(prog_name="dcglearn")
    except InputError as error:
        typer.echo(f"dcglearn: {one_line(str(error))}", err=True)
        sys.exit(2)
    except MemoryError as error:
        remedy = "give less data, shorter lists (convert --depth) or, to learn from Parquet, --memory"
        typer.echo(f"dcglearn: there is not enough memory ({error or 'no more is free'}); {remedy}", err=True)
        sys.exit(2)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader of our pipe has gone
        sys.exit(141)
    except (RuntimeError, OSError) as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what could not be written stays unwritten
        typer.echo(f"dcglearn: {shortened(str(error))}", err=True)
        sys.exit(1)
