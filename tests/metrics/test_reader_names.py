"""Readers by name: their scale, everywhere that takes a metric, and a damaged file."""

import json

import numpy as np
import pytest

import dcglearn as dl
from dcglearn.metrics.reader_names import FILE, readers
from tests.makers import call, random_log, refused

NAMES = [f"reader:{name}" for name in readers()]


@pytest.mark.parametrize("name", NAMES)
def test_a_reader_has_its_own_scale_and_says_where_it_comes_from(name):
    entry = json.loads(FILE.read_text())["readers"][name.removeprefix("reader:")]
    dcg = dl.metric(name)
    assert dcg.gains.tolist() == entry["gains"]
    assert dcg.discounts.tolist() == entry["discounts"]

    # who, how many, when, which paper, and the bands that hold the curves
    said = " ".join(dcg.notes)
    for key in ("title", "source", "size", "learned", "date"):
        assert entry[key]
        assert entry[key] in said
    for side in ("gain", "share"):
        low, high = np.array(entry[f"{side}_band"])
        assert (low <= high).all()
        assert f"{low[-1]:.2f} to {high[-1]:.2f}" in said


def test_a_reader_is_taken_at_the_scale_of_the_data():
    own = dl.metric("reader:music")
    assert (own.n_grades, own.depth) == (3, 5)

    # gains are read off the line through its own; below its last position nothing counts
    read = dl.metric("reader:music", n_grades=5, depth=8)
    assert read.gains[::2].tolist() == own.gains.tolist()
    assert read.gains[1] == pytest.approx((own.gains[0] + own.gains[1]) / 2)
    assert read.discounts[:5].tolist() == own.discounts.tolist()
    assert read.discounts[5:].tolist() == [0, 0, 0]
    assert read.notes[-1].startswith("learned with 3 grades")

    # so its values are those of its own depth, as with any other DCG
    lists = np.random.default_rng(0).integers(0, 3, (20, 8))
    deep = dl.metric("reader:music", n_grades=3, depth=8)
    assert deep.score(lists).tolist() == own.score(lists).tolist()
    assert dl.metric("reader:music@2").discounts.tolist() == own.discounts[:2].tolist()


def test_an_unknown_reader_is_answered_with_the_list():
    said = refused("'reader:newsfeed' is not one of", dl.metric, "reader:newsfeed")
    assert all(name in said for name in NAMES)
    assert said.endswith("the nearest is news-feed")
    refused("depth", dl.metric, "reader:music@0")


def test_commands_take_readers(monkeypatch, capsys, here):
    (here / "qrels").write_text("q1 0 a 2\nq1 0 b 0\nq1 0 c 1\nq2 0 a 1\nq2 0 d 0\n")
    (here / "run").write_text("q1 Q0 b 1 2 r\nq1 Q0 a 2 1 r\nq2 Q0 a 1 2 r\nq2 Q0 d 2 1 r\n")
    status, out, _ = call(monkeypatch, capsys, "show", "reader:music")
    assert status == 0
    assert out.startswith("reader:music@5\n")
    assert "Urbano and Marrero" in out
    status, out, _ = call(
        monkeypatch, capsys, "evaluate", "qrels", "run", "--metric", "reader:music@2"
    )
    gains = dl.metric("reader:music").gains
    fall = dl.metric("reader:music").discounts[1]
    value = (fall / (1 + fall * gains[1]) + 1) / 2
    assert f"{value:.4f}" in out
    status, out, _ = call(
        monkeypatch, capsys, "coherence", "reader:news-feed@5", "nDCG@5", "--grades", "3"
    )
    assert status == 0
    assert "disagree" in out
    status, _, err = call(monkeypatch, capsys, "show", "reader:nobody")
    assert status == 2
    assert "reader:music" in err


def test_a_reader_is_a_prior_and_a_candidate(tmp_path):
    log = random_log(40, noise=0.1)
    near = dl.DCGLearner("robust", prior="reader:news-feed", ridge=1e4).fit(log)
    usual = dl.DCGLearner("robust", prior="exponential-log2", ridge=1e4).fit(log)
    assert near.dcg_.discounts[-1] > 0.8
    assert usual.dcg_.discounts[-1] < 0.4

    # candidates are members of the blend where they are the best
    own = dl.DCG([0, 1, 2, 8, 9], 1 / np.arange(1, 11) ** 2)
    pairs = np.random.default_rng(0).integers(0, 5, (400, 2, 10))
    better = own.score(pairs[:, 0]) > own.score(pairs[:, 1])
    pairs[~better] = pairs[~better, ::-1]
    log = dl.Preferences(pairs[own.score(pairs[:, 0]) > own.score(pairs[:, 1])], n_grades=5)
    learner = dl.DCGLearner(candidates={"own": own, "feed": "reader:news-feed"}).fit(log)
    member = next(member for member in learner.members_ if member.name == "candidate own")
    assert member.meaning == "the candidate own"
    assert member.share == pytest.approx(1)

    # without any the fit is the same as ever
    plain = dl.DCGLearner().fit(log)
    assert not any(member.name.startswith("candidate") for member in plain.members_)


def test_candidates_fall_where_discounts_do_and_have_the_shape_of_the_log():
    log = random_log(30)
    rising = dl.DCG(np.arange(5.0), np.arange(1.0, 11))
    fit = dl.DCGLearner(candidates=[rising]).fit(log)
    assert (np.diff(fit.dcg_.discounts) <= 0).all()
    shallow = dl.DCGLearner(candidates=[dl.DCG([0, 1], [1, 0.5])])
    refused("candidate DCG has 2 grades and 2 positions", shallow.fit, log)
    robust = dl.DCGLearner(loss="robust", candidates=["nDCG"])
    refused("candidates= goes with", robust.fit, log)


def damaged(change):
    values = json.loads(FILE.read_text())
    change(values["readers"]["music"])
    return values


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda entry: entry.pop("date"), '"date" is missing'),
        (lambda entry: entry.update(size=3), '"size" holds 3'),
        (lambda entry: entry.update(gains=["a"]), '"gains" holds'),
        (lambda entry: entry["gain_band"][0].pop(), '"gain_band" must hold 2 lists of 3'),
        (lambda entry: entry.update(more=1), 'unknown key "more"'),
    ],
)
def test_a_damaged_file_is_named(tmp_path, change, message):
    file = tmp_path / "readers.json"
    file.write_text(json.dumps(damaged(change)))
    assert str(file) in refused(f"music: {message}", readers, file)


def test_a_file_of_another_kind_is_refused(tmp_path):
    file = tmp_path / "readers.json"
    refused("does not exist", readers, file)
    dl.DCG([0, 1], [1]).save(file)
    refused('expected "dcglearn.readers"', readers, file)
