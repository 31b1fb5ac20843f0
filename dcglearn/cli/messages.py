"""Messages of readers in the words of the command line: options in place of keywords of Python."""

import ast
import re
import shlex

OPTION = re.compile(
    r"(?<![\w/.])(columns|winner_words|scale|n_grades|depth|pad|sides|as_is|skip_bad|unjudged)="
    r"(\{(?:'[^']*'|\"[^\"]*\"|[^'\"}])*\}|\[[^\]]*\]|'[^']*'|[0-9]+|True|)"
    r"( \(--[^)]*\))?(?=\W|$)"
)
"""A keyword of a reader with its value, if it has one, and the option that is named beside it."""


def as_options(message: str) -> str:
    """Return a message with options, ``--columns winner=Verdict``, in place of keywords."""
    return OPTION.sub(_option, message)


def _option(match: re.Match[str]) -> str:
    name, text, beside = match.groups()
    option = "--grades" if name == "n_grades" else f"--{name.replace('_', '-')}"
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
