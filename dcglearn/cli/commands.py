"""The program `app` and its commands: this file names the file of each."""

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
from dcglearn.cli.terminal import show_log
from dcglearn.foundation.version import __version__

app = typer.Typer(
    name="dcglearn",
    help="Learn the gains and discounts of DCG from what people preferred.",
    no_args_is_help=True,
    cls=Group,
    context_settings={
        "help_option_names": ["-h", "--help"],
        "color": False,
    },  # colours come from rich alone
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
            "-v",
            "--verbose",
            callback=show_log,
            is_eager=True,
            expose_value=False,
            help="Log steps to standard error.",
        ),
    ] = False,
) -> None:
    """Learn the gains and discounts of DCG from what people preferred."""
