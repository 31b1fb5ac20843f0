"""Files of verdicts merged into one log, with what is there twice named."""

import pytest

from dcglearn.judge.verdict_log import contents, merged
from dcglearn.readers.read_log import read_preferences
from tests.judge.makers import lines, verdict
from tests.makers import refused, write_lines


def told(number, hour=1, **more):
    return verdict(number, time=f"2026-01-01T0{hour}:00:00+00:00", **more)


@pytest.fixture
def written(here):
    def write(**files):
        for name, rows in files.items():
            write_lines(here / f"{name}.jsonl", rows)
        return [f"{name}.jsonl" for name in files]

    return write


def test_files_handed_over_twice_count_once(written, dcglearn, here):
    first = [told(i, query=f"q{i}") for i in range(3)]
    files = written(ann=first, bob=[told(9, rater="bob")], later=[*first, told(4, query="q4")])
    verdicts, sentences = merged(files)
    assert [v["id"][-1] for v in verdicts] == ["0", "1", "2", "9", "4"]
    assert sentences == [
        "left out: 3 lines of later.jsonl that are in ann.jsonl already, from line 1 (there line "
        "1) on"
    ]
    assert contents(verdicts) == "5 verdicts of 2 raters on 5 pairs"
    status, out, err = dcglearn("convert", *files, "--verdicts", "-o", "all.jsonl")
    assert (status, out) == (0, "") and sentences[0] in err
    assert "merged: 5 verdicts of 2 raters on 5 pairs" in err
    assert [line["id"] for line in lines(here / "all.jsonl")] == [v["id"] for v in verdicts]
    assert len(read_preferences(here / "all.jsonl")) == 5
    assert "all.jsonl exists" in dcglearn("convert", *files, "--verdicts", "-o", "all.jsonl")[2]
    assert merged("*.jsonl")[0] == verdicts  # a pattern, with the merged file


def test_lines_within_a_file_count_once(written):
    verdicts, sentences = merged(written(ann=[told(1), told(2, query="r"), told(1)]))
    assert len(verdicts) == 2
    assert sentences == [
        "left out: 1 line of ann.jsonl that is in ann.jsonl already, from line 3 (there line 1) on"
    ]


@pytest.mark.parametrize(("winner", "said"), [("a", "the same"), ("b", "another")])
def test_of_a_rater_s_verdicts_on_a_pair_the_earliest_stays(written, winner, said):
    files = written(late=[told(1, 5, winner=winner)], early=[told(2, 3, winner="a")])
    verdicts, sentences = merged(files)
    assert [v["id"] for v in verdicts] == ["verdict-000002"]
    assert sentences[0] == (
        f"left out: late.jsonl, line 1: ann judges the pair of 'q' again, with {said} winner; the "
        "earlier verdict, early.jsonl, line 1, stays"
    )
    assert "names of their own" in sentences[1]

    # the lists in the other order are the same pair; of another rater, query or list they are not
    swapped = told(3, 6, a=told(1)["b"], b=told(1)["a"], winner="b")
    others = [told(4, rater="bob"), told(5, query="r"), told(6, a=(3, 0, 0, 0, 0))]
    verdicts, sentences = merged(written(early=[told(2, 3)], other=[swapped, *others]))
    assert [v["id"][-1] for v in verdicts] == ["2", "4", "5", "6"]
    assert "other.jsonl, line 1: ann judges the pair of 'q' again, with the same" in sentences[0]


def test_undone_skipped_and_known_pairs_are_no_second_verdicts(written):
    rows = [
        told(1, 1),
        told(2, 2, winner="open", supersedes="verdict-000001"),
        told(3, 3, winner="b"),
        told(4, 4, winner="open"),
        told(5, 5, winner="open", check="practice right"),
        told(6, 6, winner="open", check="practice right"),
    ]
    verdicts, sentences = merged(written(ann=rows))
    assert len(verdicts) == 6 and sentences == []
    assert contents(verdicts) == (
        "1 verdict of 1 rater on 1 pair, 1 skipped, 2 of practice and checks, 2 undone or undoing"
    )


def test_two_lines_of_one_id_that_differ_are_named(written):
    files = written(ann=[told(1)], again=[told(1, winner="b", note="no")])
    verdicts, sentences = merged(files)
    assert [v["winner"] for v in verdicts] == ["a"]
    assert sentences == [
        "left out: again.jsonl, line 1, has the id 'verdict-000001' of ann.jsonl, line 1, but "
        "another winner, note; if it is the right one, remove the other"
    ]


def test_other_files_and_options_are_refused(written, dcglearn, here):
    files = written(ann=[told(1)], log=[{"a": [1, 0], "b": [0, 1], "winner": "a"}])
    refused("log.jsonl, line 1: not a verdict of the judging page", merged, files)
    (here / "cut.jsonl").write_text('{"id": "v1", "a"')
    refused("cut.jsonl, line 1: not valid JSON", merged, "cut.jsonl")
    for words in (["--grades", 5], ["--ratings"], ["--inconsistent", "tie"], ["--depth", 3]):
        status, _, err = dcglearn("convert", "ann.jsonl", "--verdicts", *words)
        assert status == 2 and "--verdicts goes with -o and --force alone" in err
    status, _, err = dcglearn("convert", "ann.jsonl", "--verdicts", "-o", "all.parquet")
    assert status == 2 and "all.parquet" in err
    assert "is an input" in dcglearn("convert", "ann.jsonl", "--verdicts", "-o", "ann.jsonl")[2]
    status, out, err = dcglearn("convert", "ann.jsonl", "--verdicts")
    assert status == 0 and '"id": "verdict-000001"' in out and "merged: 1 verdict" in err
