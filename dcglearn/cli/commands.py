"""The program `app` and its twelve commands, each with examples of its use."""

import logging
import platform
import warnings
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from dcglearn.cli.ask import ask
from dcglearn.cli.evaluate import coherence, compare, evaluate, export, gate, show
from dcglearn.cli.logs import audit, convert, learn
from dcglearn.cli.messages import as_options
from dcglearn.cli.options import check_outputs, output_option, say
from dcglearn.cli.rankers import rank, train
from dcglearn.foundation.plain_text import one_line
from dcglearn.foundation.validation import InputError
from dcglearn.foundation.version import __version__

COMMANDS: dict[str, dict[Any, str]] = {
    "Learn a DCG": {
        learn: "dcglearn learn side_by_side.jsonl -o dcg.json --plot dcg.png\n"
        "dcglearn learn human.jsonl --llm llm.jsonl -o dcg.json\n"
        "dcglearn learn --ratings satisfaction.jsonl -o dcg.json\n"
        "zcat log.jsonl.gz | dcglearn learn - > dcg.json",
        convert: "dcglearn convert spreadsheet.csv -o log.jsonl\n"
        'dcglearn convert answers.csv --winner-words "Left is better=a,Same=tie" -o log.jsonl\n'
        "dcglearn convert log.jsonl --qrels qrels.txt -o joined.jsonl\n"
        "dcglearn convert verdicts.csv --run-a old.txt --run-b new.txt --qrels qrels.txt\n"
        "dcglearn convert answers.jsonl --prompts prompts.jsonl -o llm.jsonl",
        ask: "dcglearn ask candidates.jsonl -o page.html\n"
        "dcglearn ask candidates.jsonl --log 'verdicts-*.jsonl' -o page2.html\n"
        "dcglearn ask old.txt new.txt --qrels qrels.txt --documents docs.jsonl -o page.html\n"
        "dcglearn ask candidates.jsonl --model MODEL -o prompts.jsonl",
        show: "dcglearn show dcg.json exponential-log2@10 --plot both.png",
    },
    "Evaluate with it": {
        audit: "dcglearn audit log.jsonl -o audit.html\n"
        "dcglearn audit log.jsonl --metric nDCG@10 --qrels qrels.txt --run old.txt --run new.txt\n"
        "dcglearn audit thumbs.csv --labels gpt.csv --labels claude.csv",
        evaluate: "dcglearn evaluate qrels.txt run.txt --metric dcg.json --metric nDCG@10\n"
        "dcglearn evaluate qrels.txt runs/*.gz -q -o values.jsonl\n"
        "dcglearn evaluate qrels.txt run.txt --against values.csv",
        compare: "dcglearn compare qrels.txt old.txt new.txt --metric dcg.json --plot f.png\n"
        "dcglearn compare people.txt old.txt new.txt --llm-qrels llm.txt",
        gate: "dcglearn gate qrels.txt old.txt new.txt --metric dcg.json\n"
        "dcglearn gate qrels.txt old.txt new.txt --rule non-inferior --min-difference -0.01\n"
        "dcglearn gate qrels.txt old.txt new.txt --metric dcg.json --at-least 52",
        coherence: "dcglearn coherence dcg.json exponential-log2\n"
        "dcglearn coherence linear-log2 linear-reciprocal --documents 4,4,3,2,1,0 --plot w.png",
        export: "dcglearn export dcg.json --to quepid -o scorer.js\n"
        "dcglearn export dcg.json --to lightgbm --lossy\n"
        "dcglearn export --to list",
    },
    "Train rankers against it": {
        train: "dcglearn train train.svm --valid valid.svm --metric dcg.json -o model.json\n"
        "dcglearn train train.svm --model trees -p n_trees=100 -o model.json",
        rank: "dcglearn rank model.json test.svm -o run.txt",
    },
}
"""The commands in the panels of the program's help page, each with its examples, one a line."""


class Command(TyperCommand):
    """A command that refuses what cannot work before it runs.

    That is an option of one value that is given again, and an output that cannot be written.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse options and arguments."""
        given: Any = self.make_parser(ctx).parse_args(args=[*args])[2]
        for one in given:
            if given.count(one) > 1 and not (one.multiple or one.is_flag):
                raise typer.BadParameter(f"{one.opts[-1]} is given twice, and takes one value")
        return list(super().parse_args(ctx, args))

    def invoke(self, ctx: Any) -> None:
        """Check the outputs, and run the command; messages name its options."""
        options = {one.name for one in self.params}

        def in_one_line(message: Any, *_: Any) -> str:
            return f"warning: {as_options(one_line(str(message)), options)}\n"

        # a warning is its message alone
        warnings.formatwarning = in_one_line  # type: ignore[assignment]
        try:
            check_outputs(ctx.params)
            super().invoke(ctx)
        except InputError as error:
            error.args = (as_options(str(error), options),)
            raise


def _print_version(asked: bool) -> None:
    """Print the versions of the package and of Python."""
    if asked:
        typer.echo(f"dcglearn {__version__}, Python {platform.python_version()}")
        raise typer.Exit


class _Said(logging.Handler):
    """The handler of --verbose."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print a record."""
        say(self.format(record))


def _common(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version."),
    ] = False,
    verbose: Annotated[
        bool,
        output_option("Log steps to standard error; learn prints every table.", "-v", "--verbose"),
    ] = False,
) -> None:
    if verbose:
        handler = _Said()
        handler.setFormatter(logging.Formatter("%(asctime)s %(name)s: %(message)s", "%H:%M:%S"))
        log = logging.getLogger("dcglearn")
        log.handlers = [handler]
        log.setLevel(logging.INFO)


app = typer.Typer(
    name="dcglearn",
    help="Learn the gains and discounts of DCG from what people preferred.",
    callback=_common,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"], "color": False},
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)
for panel, commands in COMMANDS.items():
    for command, examples in commands.items():
        lines = "\n\n".join(examples.splitlines())
        app.command(cls=Command, epilog=lines, rich_help_panel=panel)(command)
