"""Messages of readers in the words of the command line: options in place of keywords of Python."""

import ast
import re
import shlex
from functools import partial

OPTION = re.compile(
    r"(?<![\w/.])(columns|winner_words|scale|n_grades|depth|pad|sides|as_is|skip_bad|unjudged|ties)"
    "="
    r"(\{(?:'[^']*'|\"[^\"]*\"|[^'\"}])*\}|\[[^\]]*\]|'[^']*'|\"[^\"]*\"|[0-9]+|True|)"
    r"( \(--[^)]*\))?(?=\W|$)"
)
"""A keyword of a reader with its value, if it has one, and the option that is named beside it."""


READING = {
    "convert": "columns winner_words scale depth sides as_is",
    "learn": "columns n_grades as_is",
    "audit": "columns n_grades as_is",
    "evaluate": "columns scale n_grades unjudged ties",
    "compare": "columns n_grades unjudged ties",
    "gate": "columns n_grades unjudged ties",
    "train": "n_grades",
    "rank": "n_grades",
    "ask": "",
}
"""The keywords of readers that are options of a command."""


def as_options(message: str, command: str = "") -> str:
    """Return a message with options, ``--columns winner=Verdict``, in place of keywords.

    Of a command, where `convert` alone has an option it is named with it; a keyword of Python alone
    stays.
    """
    return OPTION.sub(partial(_option, command), message)


def _option(command: str, match: re.Match[str]) -> str:
    name, text, beside = match.groups()
    option = "--grades" if name == "n_grades" else f"--{name.replace('_', '-')}"
    if command in READING and name not in READING[command].split():
        if name not in READING["convert"].split():
            return match[0]
        option = f"convert {option}"
    if not text:
        return beside.strip(" ()") if beside else option
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return match[0]

    # a mapping, a list, a flag, or one value
    if value is True:
        return option
    if isinstance(value, dict):
        value = ",".join(f"{key}={meaning}" for key, meaning in value.items())
    if isinstance(value, list):
        value = ",".join(map(str, value))
    return f"{option} {shlex.quote(str(value))}"
