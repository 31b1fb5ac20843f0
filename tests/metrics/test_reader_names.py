"""Readers by name: their files, their scale, and everywhere that takes a metric."""

import pytest

import dcglearn as dl
from dcglearn.metrics.saved_metric import READERS
from tests.makers import call, random_log, refused
from tests.tables import table

NAMES = [f"reader:{file.stem}" for file in sorted(READERS.glob("*.json"))]


@table("name", NAMES)
def test_a_reader_is_a_file_that_says_where_it_comes_from(name):
    dcg = dl.metric(name)
    file = READERS / f"{name.removeprefix('reader:')}.json"
    assert dcg == dl.metric(file) and dcg.gains[-1] == dcg.discounts[0] == 1

    # who, how many, when, which paper, and the bands that hold the curves
    who, source, *bands = dcg.notes
    assert "; learned 2026-" in who and source.startswith("source: ")
    for band, curve in zip(bands, (dcg.gains, dcg.discounts / dcg.discounts.sum()), strict=True):
        ends = [tuple(map(float, one.split(" to "))) for one in band.partition(": ")[2].split(", ")]
        for (low, high), value in zip(ends, curve, strict=True):
            assert low - 0.006 <= value <= high + 0.006


def test_a_reader_has_its_own_scale_as_every_file():
    assert (dl.metric("reader:music").n_grades, dl.metric("reader:music", 5, 8).depth) == (3, 5)
    with pytest.warns(dl.evaluation.ScaleWarning):
        dl.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, "reader:music")


def test_an_unknown_reader_is_answered_with_the_list():
    said = refused("metric='reader:newsfeed': give one of", dl.metric, "reader:newsfeed")
    assert all(name in said for name in NAMES)
    assert said.endswith("the nearest is reader:news-feed")
    refused("metric='reader:music@2': give one of", dl.metric, "reader:music@2")


def test_commands_take_readers(monkeypatch, capsys, here):
    (here / "qrels").write_text("q1 0 a 2\nq1 0 b 0\nq1 0 c 1\nq2 0 a 1\nq2 0 d 0\n")
    (here / "run").write_text("q1 Q0 b 1 2 r\nq1 Q0 a 2 1 r\nq2 Q0 a 1 2 r\nq2 Q0 d 2 1 r\n")
    status, out, _ = call(monkeypatch, capsys, "show", "reader:music")
    assert status == 0
    assert out.startswith("reader:music\n")
    assert "Urbano and Marrero" in out
    status, out, _ = call(
        monkeypatch, capsys, "evaluate", "qrels", "run", "--metric", "reader:music"
    )
    gains = dl.metric("reader:music").gains
    fall = dl.metric("reader:music").discounts[1]
    value = (fall / (1 + fall * gains[1]) + 1) / 2
    assert f"{value:.4f}" in out
    status, out, _ = call(monkeypatch, capsys, "coherence", "reader:news-feed", "nDCG")
    assert status == 0
    assert "disagree" in out
    status, _, err = call(monkeypatch, capsys, "show", "reader:nobody")
    assert status == 2
    assert "reader:music" in err


def test_a_reader_is_a_prior():
    log = random_log(40, noise=0.1)
    own = dl.metric("reader:news-feed")
    prior = dl.DCG(own.gains, own.discounts[:10])
    near = dl.DCGLearner(prior=prior, ridge=1e4).fit(log)
    usual = dl.DCGLearner(prior="exponential-log2", ridge=1e4).fit(log)
    assert near.fit_.free.discounts[-1] > 0.8
    assert usual.fit_.free.discounts[-1] < 0.4
    refused("prior has 5 grades and 15", dl.DCGLearner(prior="reader:news-feed").fit, log)
