"""Messages of readers on the command line."""

import pytest

from dcglearn.cli.messages import as_options


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (
            "columns={'winner': 'Which is better?'} takes",
            "--columns 'winner=Which is better?' takes",
        ),
        ("columns={'a': 'Left {}', 'b': ''}", "--columns 'a=Left {},b='"),
        ("winner_words={\"it's\": '?', '}': 'a'} says", "--winner-words 'it'\"'\"'s=?,}=a' says"),
        ("scale=['2', '1']: raise", "--scale 2,1: raise"),
        ("give scale= or columns=.", "give --scale or --columns."),
        ("n_grades=5 insists; sides='listed'", "--grades 5 insists; --sides listed"),
        ("as_is=True (--as-is)", "--as-is"),
        ('unjudged="worst" and ties="average"', "--unjudged worst and --ties average"),
        ("scale= (--scale Bad,Good) names them", "--scale Bad,Good names them"),
        ("logs/scale=3/a.parquet, myscale=3", "logs/scale=3/a.parquet, myscale=3"),
        ("scale=[a, b]", "scale=[a, b]"),
        ("with_grades(unjudged=) says, (ties=", "with_grades(unjudged=) says, (ties="),
    ],
)
def test_keywords_become_options(message, words):
    taken = "columns winner_words scale grades sides as_is unjudged ties"
    assert as_options(message, taken.split()) == words


def test_an_option_that_the_command_has_not_is_named_with_convert():
    message = "winner_words={'x': '?'} says; n_grades=5; pad=True fills"
    assert as_options(message, ["grades"]) == (
        "convert --winner-words 'x=?' says; --grades 5; pad=True fills"
    )
    assert as_options("n_grades=5", ["winner_words"]) == "n_grades=5"


def test_a_keyword_of_judgements_that_the_command_does_not_take_is_for_python():
    message = "scale= (--scale Bad,Good) gives names"
    assert as_options(message, ["columns"]) == "scale= (in Python) gives names"
