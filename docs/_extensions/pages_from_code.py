"""Pages that are written from the code at each build: the commands, and the changelog."""

import re
from pathlib import Path

import click
import typer
from dcglearn.cli.command import help_row

from dcglearn.cli.commands import COMMANDS, app

ROOT = Path(__file__).parents[2]


def _line(parameter):
    record = help_row(parameter, click.Context(click.Command("dcglearn")))
    names, words = (re.sub(r"\s+", " ", text).replace("|", "\\|") for text in record)
    return f"| `{names}` | {words} |"


def _section(name, command):
    words = [f"### {name}", "", re.sub(r"\s+", " ", command.help or "").strip(), ""]
    if command.epilog:
        words += ["```text", command.epilog, "```", ""]
    shown = [parameter for parameter in command.params if not getattr(parameter, "hidden", False)]
    return "\n".join([*words, "| argument or option | |", "| --- | --- |", *map(_line, shown), ""])


def commands_page():
    """Return the page of all commands, as `--help` describes them."""
    group = typer.main.get_command(app)
    context = click.Context(group)
    words = [
        "# Commands",
        "",
        "What `dcglearn COMMAND --help` says. Bad input ends with status 2.",
        "",
    ]
    for panel, commands in COMMANDS.items():
        words += [f"## {panel}", ""]
        names = [command.__name__.replace("_", "-") for command in commands]
        words += [_section(name, group.get_command(context, name)) for name in names]
    return "\n".join(words)


def changes_page():
    """Return the changelog as a page of the site."""
    return (ROOT / "CHANGELOG.md").read_text().replace("](docs/", "](../")


def _write(app_):
    folder = Path(app_.srcdir) / "generated"
    folder.mkdir(exist_ok=True)
    for name, page in (("commands.md", commands_page()), ("changes.md", changes_page())):
        path = folder / name
        if not path.exists() or path.read_text() != page:
            path.write_text(page)


def _links(app_, name, source):
    """Point links to the changelog at its page, and replace links to folders with their text.

    A site cannot show a folder.
    """
    text = source[0].replace("../CHANGELOG.md", "/generated/changes.md")
    here = (Path(app_.srcdir) / name).parent

    def kept(link):
        return link[1] if (here / link[2]).is_dir() else link[0]

    source[0] = re.sub(r"(?<!!)\[([^\]]+)\]\(([^)#:]+)\)", kept, text)


def setup(app_):
    """Write the pages before the sources are read."""
    app_.connect("builder-inited", _write)
    app_.connect("source-read", _links)
    return {"parallel_read_safe": True}
