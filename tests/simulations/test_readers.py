"""Readers of real logs: files as they are published, small and simulated here; real ones if any."""

import json
import lzma

import numpy as np
import polars as pl
import pytest

import dcglearn as dl
from dcglearn.metrics.reader_names import FILE, readers
from simulations import reader_logs
from simulations import readers as study
from simulations.results import read
from tests.makers import refused

FLAT = dl.DCG(np.arange(5.0), np.ones(5))
"""The DCG of the simulated feed's readers."""


@pytest.fixture
def feed(tmp_path):
    """Write the files of a feed of five items, eight lists of each of twelve people."""
    rng = np.random.default_rng(0)
    shown, tasks = ["userid,taskid,imp_position,post_pref,viewport_time"], []
    for person in range(12):
        for task in range(8):
            grades = rng.integers(0, 5, 5)
            value = FLAT.score(grades) + rng.normal()
            tasks.append(f"{person},{task},{round(value)}")
            for k, grade in enumerate(grades.tolist(), 1):
                shown.append(f"{person},{task},{k},{grade + 1}.0,{100 * k}")
    shown[1] = "0,0,1,,100"
    folder = tmp_path / "feed"
    folder.mkdir()
    (folder / "logs.csv").write_text("\n".join(shown))
    (folder / "tasks.csv").write_text("\n".join(["userid,taskid,satisfaction", *tasks]))
    return folder


@pytest.fixture
def answers(tmp_path):
    """Write answers of a model that is right less often where the passage is in the middle."""
    rng = np.random.default_rng(1)
    lines = ["model,condition,num_documents,gold_index,question,right,failed"]
    for q in range(40):
        luck = rng.random()
        for condition, place, chance in (
            *(("documents", place, chance) for place, chance in ((0, 0.9), (9, 0.4), (19, 0.7))),
            *(("oracle", "", 0.95), ("closedbook", "", 0.2)),
        ):
            n = 20 if condition == "documents" else ""
            right = int(luck < chance)
            lines.append(f"claude-sonnet-4-6,{condition},{n},{place},q{q},{right},False")
    file = tmp_path / "answers.csv.xz"
    file.write_bytes(lzma.compress("\n".join(lines).encode()))
    return file


def test_a_feed_is_read_by_person(feed):
    log = reader_logs.of_feed(feed / "logs.csv")
    assert (log.depth, log.n_grades) == (5, 5)
    assert set(log.rater) == {str(person) for person in range(12)}
    assert log.ratings.weight.sum() == 96
    assert (log.ratings.lists == -1).sum() == 1  # the item without a grade
    assert log.agreement(FLAT).share > 0.9

    # each person's time by position: 1 to 5 of 15
    seen = reader_logs.exposure(feed / "logs.csv")
    assert seen.filter(userid=3)["share"].to_list() == pytest.approx(np.arange(1, 6) / 15)


def test_answers_hold_the_right_passage_at_its_place(answers):
    read_ = reader_logs.of_answers(answers, "claude-sonnet-4-6")
    assert len(read_) == 200
    first = read_.lists[read_.question == "q0"]
    assert first.tolist()[1] == [0] * 9 + [1] + [0] * 10
    assert read_.closed_book.sum() == 40
    assert reader_logs.places_of(answers, "claude-sonnet-4-6") == {20: [0, 9, 19]}
    few = reader_logs.of_answers(answers, "claude-sonnet-4-6", places=[0, 9, 19])
    assert few.depth == 3
    refused("no answers from 30", reader_logs.of_answers, answers, "claude-sonnet-4-6", 30)


def test_published_files_of_lists_are_read(tmp_path):
    file = tmp_path / "fsd_train.txt"
    file.write_text("T\t[0, 1]\t[4, 0]\t3\nA\t[0, 0]\t[0, 1]\t1\n")
    log = reader_logs.of_satisfaction(file, 5)
    assert log.preferred[:, :2].tolist() == [[4, 0]]
    assert log.n_grades == 5
    file.write_text("T\t[0, 1]\t[4, 0]\t3\nA [0, 0]\n")
    said = refused("line 2", reader_logs.of_satisfaction, file, 5)
    assert str(file) in said
    file.write_text("T\t[0, 1]\t[4, 0]\t3\nA\t[0]\t[7, 0]\t1\n")
    assert str(file) in refused("7", reader_logs.of_satisfaction, file, 5)

    # compared are lists of one user and topic
    file = tmp_path / "derived_lists_core18grades.tsv"
    rows = ["user\ttopic\tgrades_by_displayed_rank\tfeedback_1to6"]
    rows += ["7\t1\t0,u,2\t5", "7\t1\t0,.,1\t3", "7\t2\t0,0,0\t1", "8\t1\t2,2,2\t1"]
    file.write_text("\n".join(rows))
    log = reader_logs.of_shuffled(file)
    assert log.preferred[:, :4].tolist() == [[0, -1, 2, -2]]
    assert log.other[:, :4].tolist() == [[0, -2, 1, -2]]
    assert log.rater.tolist() == ["7"]
    for broken, words in (
        ("broken line", "line 4: topic is ''"),
        ("7\t1\t0,x\t3", "line 4: '0,x'"),
    ):
        file.write_text("\n".join([*rows[:3], broken, *rows[3:]]))
        assert str(file) in refused(words, reader_logs.of_shuffled, file)


def test_wrong_paths_are_named(tmp_path, feed):
    refused("does not exist", reader_logs.found, [tmp_path / "none"])
    (tmp_path / "empty").mkdir()
    said = refused("holds none of", reader_logs.found, [feed, tmp_path / "empty"])
    assert "fsd_train.txt" in said
    shown = feed / "logs.csv"
    whole = shown.read_text()
    shown.write_text(whole.replace("0,0,2,", "0,0,second,", 1))
    refused("line 3: imp_position is 'second'", reader_logs.of_feed, shown)
    shown.write_text(whole)
    (feed / "tasks.csv").unlink()
    assert "tasks.csv" in refused("does not exist", reader_logs.of_feed, feed / "logs.csv")
    (feed / "tasks.csv").write_text("userid,taskid,happy\n1,1,1\n")
    refused("no column 'satisfaction'", reader_logs.of_feed, feed / "logs.csv")
    broken = tmp_path / "answers.csv.xz"
    broken.write_bytes(b"no archive")
    refused("cannot be read", reader_logs.of_answers, broken, "deepseek-chat")


def test_the_study_runs_and_its_names_are_read(feed, answers, tmp_path, capsys):
    names, folder = tmp_path / "names.json", tmp_path / "out"
    folder.mkdir()
    call = [str(feed), str(answers), "--quick", "--repeats", "2", "--jobs", "1"]
    call += ["--folder", str(folder), "--names", str(names)]
    study.main(call)
    out, err = capsys.readouterr()
    assert "web-search-fsd" in err  # left out
    assert "by the rule, readers" in out
    assert (folder / "readers.png").stat().st_size > 20_000

    # curves with bands that hold them, and shares that sum to 1
    table = read(folder, "readers")
    curves = table.filter(part="curve", reader="news-feed")
    assert (curves["low"] <= curves["value"] + 1e-9).all()
    assert (curves["high"] >= curves["value"] - 1e-9).all()
    assert curves.filter(curve="share")["value"].sum() == pytest.approx(1, abs=1e-4)
    shares = study.held_out_shares(table).filter(reader="news-feed")
    by_metric = dict(shares.select("metric", "share").rows())
    assert by_metric["exponential-flat"] > 0.8
    assert {"default", "free discounts", "exposure as prior"} <= by_metric.keys()
    middle = table.filter(part="place", at=10, metric="probability")["value"]
    assert middle.to_list() == pytest.approx([0.3], abs=0.15)  # (.4 - .2) / (.9 - .2)

    # the names: sizes, both curves; an existing file is kept
    made = readers(names)
    assert list(made) == ["news-feed", "claude-sonnet-4-6"]
    assert "; 96 rated lists, 12 people" in made["news-feed"].notes[0]
    assert made["news-feed"].gains.tolist() == pytest.approx(
        curves.filter(curve="gain")["value"].to_list(), abs=1e-4
    )
    before = names.read_bytes()
    refused("--force replaces it", study.main, call)
    assert names.read_bytes() == before
    refused("holds claude-sonnet-4-6, news-feed", study.main, [str(feed), *call[2:-2]])


def test_too_few_people_are_seen():
    sizes = {"part": ["size"] * 3, "reader": ["a", "b", "c"]}
    table = pl.DataFrame(
        {**sizes, "metric": ["people", "people", "rated lists"], "value": [29, 30, 9]}
    )
    assert [study.few(table, name) for name in "abc"] == [True, False, False]


def rows_of(leads):
    """Return rows of one judgement size in which candidates lead by these, by reader."""
    return pl.DataFrame(
        {
            "part": "left out",
            "reader": reader,
            "repeat": i,
            "n": 20,
            "metric": metric,
            "value": value,
        }
        for reader, values in leads.items()
        for i, lead in enumerate(values)
        for metric, value in (("textbooks", 0.5), ("and readers", 0.5 + lead))
    )


def test_the_rule_of_candidates():
    noise = np.random.default_rng(0).normal(0, 0.001, 20)
    up, down = noise + 0.01, noise - 0.01
    assert study.verdict(rows_of({"a": up, "b": up})).endswith("default's candidates")
    assert study.verdict(rows_of({"a": noise, "b": noise})).endswith("does not rise clearly")
    assert "falls on b" in study.verdict(rows_of({"a": up + 0.05, "b": down}))
    refused("no reader was left out", study.leads, rows_of({"a": up}).clear())


def test_the_names_are_learned_from_real_logs(shared):
    music = reader_logs.SOURCES["music"].read(shared / "urbano_music" / "side_by_side.jsonl")
    learned = dl.DCGLearner().fit(music).dcg_
    entry = json.loads(FILE.read_text())["readers"]["music"]
    assert learned.gains == pytest.approx(entry["gains"], abs=1e-4)
    assert learned.discounts == pytest.approx(entry["discounts"], abs=1e-4)
    files = reader_logs.found([shared])
    assert set(files) == set(reader_logs.SOURCES) - {"news-feed"}
    users = reader_logs.SOURCES["news-search"].read(files["news-search"])
    assert len(np.unique(users.rater)) == 155
