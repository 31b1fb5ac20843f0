"""Messages echo little of what they refuse."""

import pytest

from dcglearn.foundation.validation import InputError, shortened
from tests.makers import call


@pytest.mark.parametrize(
    "value",
    [
        "x" * 5000,
        repr("long words " * 500),
        str(list(range(5000))),
        "9" * 5000,
        repr("it's" + "y" * 500),
    ],
)
def test_at_most_eighty_characters_of_a_value_are_echoed(value):
    message = f"log.jsonl, line 3: query is {value}; use a short identifier"
    assert len(str(InputError(message))) < len(message) - len(value) + 81
    assert str(InputError(message)).startswith("log.jsonl, line 3: query is ")
    assert str(InputError(message)).endswith("...; use a short identifier")
    assert shortened(shortened(message)) == shortened(message)


def test_sentences_lists_and_paths_stay():
    path = "/a/long/folder" * 12 + "/log.jsonl"
    message = (
        f"{path}: the raters' names [ann, bob] "
        f"aren't those of the study's own {'words ' * 100}raters' list"
    )
    assert str(InputError(message)) == message


@pytest.mark.parametrize(
    "words",
    [
        ["show", "x" * 300],
        ["x" * 300],
        ["learn", "log", "--" + "x" * 300],
        ["learn", "l", "--method", "x" * 300],
    ],
)
def test_the_command_line_echoes_as_little(words, monkeypatch, capsys):
    status, _, err = call(monkeypatch, capsys, *words)
    assert status == 2
    assert "xxxx..." in err and "x" * 81 not in err
