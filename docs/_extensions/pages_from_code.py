"""Pages that are written from the code at each build: the commands, and the changelog."""

import re
from pathlib import Path

import typer

from dcglearn.cli.commands import COMMANDS, app

ROOT = Path(__file__).parents[2]

TYPES = {"int range": "N", "float range": "SHARE", "float": "NUMBER", "path": "FILE"}
TYPES |= {"list[str]": "FILE"}
"""What the page calls types of values."""

RANGE = r"[\d.<=]*x[<>]=[\d.]+"
"""The values that a number may have, as help pages say them."""


def _line(parameter, context):
    names, words = parameter.get_help_record(context)
    if parameter.param_type_name == "argument":
        names = parameter.metavar

    # words for types, and no ranges
    for name, word in TYPES.items():
        names = names.replace(name, word)
    names = names.translate({ord("<"): None, ord(">"): None})
    words = re.sub(rf"; {RANGE}(?=\])|  \[{RANGE}\]", "", words)
    names, words = (re.sub(r"\s+", " ", text).replace("|", "\\|") for text in (names, words))
    return f"| `{names}` | {words} |"


def _section(name, command, examples):
    context = typer.Context(command, info_name=name)
    lines = [_line(parameter, context) for parameter in command.params]
    words = [f"### {name}", "", re.sub(r"\s+", " ", command.help).strip(), ""]
    words += ["```text", examples, "```", ""]
    return "\n".join([*words, "| argument or option | |", "| --- | --- |", *lines, ""])


def commands_page():
    """Return the page of all commands, as `--help` describes them."""
    group = typer.main.get_command(app)
    context = typer.Context(group)
    words = [
        "# Commands",
        "",
        "What `dcglearn COMMAND --help` says. Bad input ends with status 2.",
        "",
    ]
    for panel, commands in COMMANDS.items():
        words += [f"## {panel}", ""]
        for command, examples in commands.items():
            name = command.__name__
            words.append(_section(name, group.get_command(context, name), examples))
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
