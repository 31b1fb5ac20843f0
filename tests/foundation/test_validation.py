"""Messages echo little of what they refuse; errors have the usual types."""

import pickle

import pytest

import dcglearn as dl
from dcglearn.foundation.validation import (
    InputError,
    UpsideDownError,
    as_path,
    errors_in,
    finite_array,
    flag,
    graded_lists,
    one_of,
    shortened,
    whole_number,
    within,
)
from tests.makers import call
from tests.tables import table


@table(
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


def test_an_error_gets_its_place_and_keeps_its_class():
    with pytest.raises(UpsideDownError) as caught, errors_in("line 3"), errors_in("column a"):
        raise UpsideDownError("no winner")
    assert caught.value.args == ("line 3: column a: no winner",)


@table(
    "give",
    [
        lambda: whole_number(2.5, "n"),
        lambda: within("much", "share"),
        lambda: flag("yes", "force"),
        lambda: one_of(3, "by", ("rater", "query")),
        lambda: graded_lists([["a", "b"]]),
        lambda: finite_array({}, "gains", 1),
        lambda: as_path(7),
        lambda: dl.evaluate_arrays([[1, 0]], [[2.0, 1.0]], metrics=3.5),
        lambda: dl.LinearRanker(loss=3).fit([[1.0], [2.0]], [0, 1], [1, 1]),
        lambda: dl.read_preferences([([1, 0], [0, 1], "a")], depth="three"),
        lambda: dl.DCG([0, 1], [1, 0.5], grade_names=[1, 2]),
        lambda: whole_number(0, "n"),
        lambda: within(-1.0, "share"),
        lambda: one_of("raterr", "by", ("rater", "query")),
        lambda: as_path("a\0b"),
        lambda: finite_array(["a"], "gains", 1),
    ],
)
def test_a_wrong_type_or_value_is_a_value_error(give):
    with pytest.raises(InputError) as caught:
        give()
    assert isinstance(caught.value, ValueError) and not isinstance(caught.value, TypeError)


def test_errors_pass_between_processes():
    error = pickle.loads(pickle.dumps(UpsideDownError("no winner")))
    assert isinstance(error, UpsideDownError) and str(error) == "no winner"


def test_a_choice_is_answered_with_the_nearest():
    with pytest.raises(InputError, match="rater, query, or leave it out; the nearest is rater"):
        one_of("raterr", "by", ("rater", "query"), ", or leave it out")
