"""Messages of readers in the words of the command line: options in place of keywords of Python."""

import ast
import re
import shlex
from collections.abc import Container
from functools import partial

OPTION = re.compile(
    r"(?<![\w/.(])(columns|winner_words|scale|n_grades|depth|sides|as_is|unjudged|ties)="
    r"(\{(?:'[^']*'|\"[^\"]*\"|[^'\"}])*\}|\[[^\]]*\]|'[^']*'|\"[^\"]*\"|[0-9]+|True|)"
    r"( \(--[^)]*\))?(?=\W|$)"
)
"""A keyword of a reader with its value, if it has one, and the option that is named beside it."""


def as_options(message: str, options: Container[str]) -> str:
    """Return a message with options, ``--columns winner=Verdict``, in place of keywords.

    One that is not among the `options` of the command, by name, is named as that of `convert`; a
    number of grades, which `convert` takes from their names, stays, and so does a keyword of
    judgements, which `convert` does not write.
    """
    return OPTION.sub(partial(_option, options), message)


def _option(options: Container[str], match: re.Match[str]) -> str:
    # the option, of this command or of convert
    name, text, beside = match.groups()
    name = name.removeprefix("n_")
    option = f"--{name.replace('_', '-')}"
    if name not in options:
        if name == "grades":
            return match[0]
        if beside:
            return f"{name}= (in Python)"
        option = f"convert {option}"

    # its value, as Python has it
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
        value = [f"{key}={meaning}" for key, meaning in value.items()]
    if isinstance(value, list):
        value = ",".join(map(str, value))
    return f"{option} {shlex.quote(str(value))}"
