"""No verdict is lost, counted twice or overwritten, whatever happens to the file."""

import errno
import json
import os
import re
import subprocess
import sys
from contextlib import closing

import pytest

from dcglearn.foundation.validation import InputError
from dcglearn.judge import verdict_log
from dcglearn.judge.progress import Progress
from dcglearn.judge.study import Study
from dcglearn.judge.verdict_log import FIELDS, NotSaved, VerdictLog
from tests.judge.makers import answer, candidates, lines, verdict
from tests.makers import refused, write_lines


@pytest.fixture
def path(tmp_path):
    return tmp_path / "verdicts.jsonl"


@pytest.fixture
def log(path):
    with closing(VerdictLog(path)) as log:
        yield log


def test_lines_have_all_fields_and_come_back(path, log):
    log.append([verdict(0), verdict(1, winner="tie", tie="both bad", note='a "note" \u2028 ü')])
    assert [list(line) for line in lines(path)] == [list(FIELDS)] * 2
    log.close()
    with closing(VerdictLog(path)) as again:
        assert list(again.verdicts) == ["verdict-000000", "verdict-000001"]
        assert again.verdicts["verdict-000001"]["note"] == 'a "note" \u2028 ü'


def test_undone_and_repeated_verdicts_do_not_stand(path):
    undo = verdict(2, winner="open", supersedes="verdict-000000")
    write_lines(path, [verdict(0), verdict(1), undo, verdict(1)])
    with closing(VerdictLog(path)) as log:
        assert [line["id"] for line in verdict_log.standing(log.verdicts.values())] == [
            "verdict-000001"
        ]


def test_a_second_server_is_refused_and_a_dead_one_is_not(path, log):
    refused("another server writes to this log", VerdictLog, path)
    log.close()
    code = (
        "from dcglearn.judge.verdict_log import VerdictLog; import os; "
        f"VerdictLog({str(path)!r}); os._exit(9)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 9
    VerdictLog(path).close()


@pytest.mark.parametrize("rest", [b'{"id": "verdict-0000', b'{"id": 3}', b"\xff\xfe"])
def test_a_line_that_a_crash_cut_short_is_set_aside(path, rest):
    whole = json.dumps(verdict(0)).encode() + b"\n"
    path.write_bytes(whole + rest)
    with closing(VerdictLog(path)) as log:
        assert path.read_bytes() == whole
        assert log.cut_short.read_bytes() == rest + b"\n"
        log.append([verdict(1)])
    assert len(lines(path)) == 2


def test_a_last_line_without_its_end_is_kept(path):
    path.write_text(json.dumps(verdict(0)))
    with closing(VerdictLog(path)) as log:
        log.append([verdict(1)])
        assert log.cut_short is None
    assert [line["id"] for line in lines(path)] == ["verdict-000000", "verdict-000001"]


def test_a_full_disk_leaves_whole_lines_only(path, log, monkeypatch):
    log.append([verdict(0)])
    before = path.read_bytes()
    whole = os.write

    def half(file, data):
        whole(file, data[: len(data) // 2])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(verdict_log.os, "write", half)
    with pytest.raises(NotSaved, match="No space left on device"):
        log.append([verdict(1)])
    assert path.read_bytes() == before
    monkeypatch.undo()
    log.append([verdict(1)])
    assert len(lines(path)) == 2
    assert log.changes == 0


@pytest.mark.parametrize("field", [name for name in FIELDS if name != "id"])
@pytest.mark.parametrize(
    "value", [["x"], {"x": 1}, 3, -1.5, True, "x" * 3000, "\ud800", [[1]], {}, 10**30]
)
def test_a_field_of_another_kind_is_refused_with_its_line_or_harmless(path, field, value):
    path.write_text(
        "".join(json.dumps(line) + "\n" for line in (verdict(0), verdict(1) | {field: value}))
    )
    study = None
    try:
        study = Study(candidates(3), path)
    except InputError as error:
        assert re.search("line 2: |verdict verdict-000001: ", str(error))
    else:
        assert study.next_pairs("ann", "tab", [])
        study.save(
            "ann", "tab", [answer(pair, "left", 7) for pair in study.next_pairs("ann", "tab", [])]
        )
        Progress(study).report()
        study.nothing_left("ann")
    finally:
        if study is not None:
            study.close()
    VerdictLog(tmp := path.with_name("other")).close()
    assert tmp.exists()


@pytest.mark.posix
def test_a_pipe_or_a_device_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for place in (tmp_path / "pipe", "/dev/zero", "/dev/null"):
        refused("is a folder, a pipe or a device; name a file", VerdictLog, place)


def test_a_log_that_cannot_be_opened_is_not_locked(path):
    path.write_text("not a verdict\n" + json.dumps(verdict(0)) + "\n")
    caught = []
    for _ in range(2):  # the first error is kept, with all that it refers to
        with pytest.raises(InputError, match="line 1: not valid JSON") as error:
            VerdictLog(path)
        caught.append(error)
    write_lines(path, [verdict(0)])
    VerdictLog(path).close()


@pytest.mark.parametrize("there", ["folder", pytest.param("pipe", marks=pytest.mark.posix)])
def test_a_place_for_the_rest_that_cannot_be_written_is_told(path, there):
    path.write_bytes(json.dumps(verdict(0)).encode() + b"\n{half")
    rest = path.with_name("verdicts.jsonl.cut-short")
    rest.mkdir() if there == "folder" else os.mkfifo(rest)
    refused(
        r"ends within a line, which cannot be put into .*cut-short \(.*\); move that away",
        VerdictLog,
        path,
    )
    assert path.read_bytes().endswith(b"{half")


def test_an_edit_by_hand_is_noticed_and_kept(path, log):
    log.append([verdict(0), verdict(1)])
    path.write_text(json.dumps(verdict(1, winner="b")) + "\n")
    log.append([verdict(2)])
    assert [(line["id"], line["winner"]) for line in lines(path)] == [
        ("verdict-000001", "b"),
        ("verdict-000002", "a"),
    ]
    assert (log.changes, list(log.verdicts)) == (1, ["verdict-000001", "verdict-000002"])
    beside = path.with_name("new")
    beside.write_text(json.dumps(verdict(7)) + "\n")
    beside.replace(path)  # as editors do
    assert log.refresh()
    log.append([verdict(8)])
    assert [line["id"] for line in lines(path)] == ["verdict-000007", "verdict-000008"]


def test_an_edit_that_spoils_the_log_stops_the_writing(path, log):
    log.append([verdict(0)])
    good = path.read_text()
    path.write_text(good + "not JSON\n")
    with pytest.raises(NotSaved, match=r"verdicts.jsonl, line 2: not valid JSON"):
        log.append([verdict(1)])
    assert path.read_text() == good + "not JSON\n"
    path.write_text(good)
    log.append([verdict(1)])
    assert len(lines(path)) == 2


def test_a_log_that_is_taken_away_is_not_written_by_two(path, log):
    log.append([verdict(0)])
    path.rename(path.with_name("old.jsonl"))
    other = VerdictLog(path)
    with pytest.raises(NotSaved, match="another server"):
        log.append([verdict(1)])
    other.close()
    log.append([verdict(1)])
    assert [line["id"] for line in lines(path)] == ["verdict-000001"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"a": [1], "b": [0], "winner": "a"}\n', "line 1: not a verdict of the judging page"),
        ("[]\n", "line 1: not a verdict of the judging page"),
        ('{"id": "x", "a": NaN}\n', "not valid JSON"),
    ],
)
def test_a_log_of_another_kind_is_refused(path, text, words):
    path.write_text(text)
    refused(words, VerdictLog, path)
    assert path.read_text() == text


@pytest.mark.posix
def test_a_log_that_cannot_be_written_is_refused(tmp_path):
    for place, words in ((tmp_path, "is a folder"), (tmp_path / "no" / "log", "does not exist")):
        refused(words, VerdictLog, place)
    if os.geteuid():
        tmp_path.chmod(0o500)
        refused("cannot be written", VerdictLog, tmp_path / "log.jsonl")
