"""Messages echo little of what they refuse; errors keep their parts, and have the usual types."""

import contextlib
import io
import pickle
import re
from pathlib import Path

import pytest

import dcglearn as dl
from dcglearn.foundation.validation import (
    InputError,
    InputTypeError,
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


def retold():
    error = UpsideDownError("no winner", see="winners", option="columns")
    error.place = "log.csv"
    return error


def test_an_error_that_is_told_on_keeps_its_parts():
    error = retold()
    told = error.told("log.csv: ", "; see the header")
    assert type(told) is UpsideDownError
    assert told.args == ("log.csv: no winner; see the header",)
    assert error.args == ("no winner",)
    parts = "see", "option", "place"
    assert [getattr(told, part) for part in parts] == [getattr(error, part) for part in parts]

    with pytest.raises(UpsideDownError) as caught, errors_in("line 3"), errors_in("column a"):
        raise error
    assert caught.value.args == ("line 3: column a: no winner",)
    assert caught.value.option == error.option and caught.value.see == error.see
    assert caught.value.__suppress_context__
    assert any(entry.name == TEST_OF_PARTS for entry in caught.traceback)


def test_an_error_says_its_place_and_its_option(tmp_path):
    log = tmp_path / "log.jsonl"
    log.write_text('{"a": [1, 0], "b": [0, 1], "winner": "a"}\n{"a": [1, 0], "b": [0, 1]}\n')
    with pytest.raises(InputError) as caught:
        dl.read_preferences(log)
    assert caught.value.place == f"{log}, row 2" and caught.value.option is None
    with pytest.raises(InputError) as caught:
        dl.DCGLearner(loss="robst").fit(dl.Preferences([[1, 0]], [[0, 1]]))
    assert (caught.value.place, caught.value.option) == ("", "loss")
    assert caught.value.told("learn: ").at("a.csv").option == "loss"


TEST_OF_PARTS = test_an_error_that_is_told_on_keeps_its_parts.__name__


def test_no_error_is_wrapped_as_text():
    # a message in another error's message loses the page and the class
    for path in Path("dcglearn").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        for caught in re.finditer(
            r"except InputError as (\w+):\n(.*?)(?=\n\S|\n\n|\Z)", text, re.S
        ):
            assert f'InputError(f"{{{caught[1]}}}' not in caught[2], path
            assert not re.search(rf"raise InputError\(.*{{{caught[1]}[}}!]", caught[2]), path


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
    ],
)
def test_a_wrong_type_is_an_input_error_and_a_type_error(give):
    with pytest.raises(InputError) as caught:
        give()
    assert isinstance(caught.value, TypeError) and isinstance(caught.value, ValueError)


@table(
    "give",
    [
        lambda: whole_number(0, "n"),
        lambda: within(-1.0, "share"),
        lambda: one_of("raterr", "by", ("rater", "query")),
        lambda: as_path("a\0b"),
        lambda: finite_array(["a"], "gains", 1),
    ],
)
def test_a_wrong_value_is_no_type_error(give):
    with pytest.raises(InputError) as caught:
        give()
    assert not isinstance(caught.value, TypeError)


def test_errors_pass_between_processes_with_their_parts():
    error = pickle.loads(pickle.dumps(retold()))
    assert error.place == retold().place and error.see == "winners"
    wrong_type = pickle.loads(pickle.dumps(InputTypeError("n='x' is not an integer")))
    assert isinstance(wrong_type, TypeError)


def test_a_choice_is_answered_with_the_nearest():
    with pytest.raises(InputError, match="rater, query, or leave it out; the nearest is rater"):
        one_of("raterr", "by", ("rater", "query"), ", or leave it out")


def cell(source):
    """Return the lines that IPython shows of an error in a cell."""
    shell = pytest.importorskip("IPython.core.interactiveshell").InteractiveShell.instance()
    with contextlib.redirect_stdout(io.StringIO()) as shown:
        shell.run_cell(source)
    return shown.getvalue().rstrip().splitlines()


def test_a_notebook_shows_the_remedy_last_and_no_wall():
    lines = cell(
        "import dcglearn as dl\n"
        "words = [{'a': [1, 0], 'b': [0, 1], 'winner': 'this'}]\n"
        "dl.read_preferences(words)"
    )
    assert lines[0] == "line 3: dl.read_preferences(words)"
    assert lines[-3].startswith(
        "BadRowsError: the records, row 1: winner is missing or unknown: 'this'; "
    )
    assert lines[-2].startswith("(see ") and lines[-2].endswith("#winners)")
    assert lines[-1] == "names of systems are looked up in the columns system_a and system_b"
    assert len(lines) < 8

    lines = cell("import dcglearn as dl\ndef mine():\n    dl.DCG.load('none.json')\nmine()")
    assert lines[:2] == ["line 4: mine()", "line 3, in mine: dl.DCG.load('none.json')"]
    assert lines[-2:] == ["InputError: none.json does not exist", "check the name"]
