"""The log that a metric was learned from: in its file, beside values of other data, unchanged
otherwise.
"""

from dataclasses import replace

import pytest

import dcglearn as dl
from tests.makers import refused

pytestmark = pytest.mark.filterwarnings("ignore:the log tells", "ignore:own has gains")

LISTS = [[1, 0, 2], [2, 0, 1], [2, 2, 0]], [[0, 1, 0], [0, 1, 0], [1, 0, 0]]
LOG = dl.Preferences(*LISTS, rater=["ann", "bob", "ann"], time=["2026-03-01", "2026-04-02", ""])


def learned(log=LOG, **options):
    return dl.DCGLearner(loss="logistic", **options).fit(log).dcg_


def test_a_learned_metric_and_its_file_tell_of_the_log(tmp_path, dcglearn):
    dcg = learned()
    told = dcg.learned_from
    assert (told.n_judgements, told.n_raters, told.depth, told.n_grades) == (3, 2, 3, 3)
    assert told.until == "2026-04-02" and len(told.digest) == 64
    dcg.save(tmp_path / "dcg.json")
    assert dl.DCG.load(tmp_path / "dcg.json").learned_from == told
    assert f"learned from {told}" in dcglearn("show", str(tmp_path / "dcg.json"))[1]

    # the same log gives the same file, another log another digest
    learned().save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "dcg.json").read_bytes()
    for other in (LOG[:2], dl.Preferences(*LISTS[::-1]), dl.Preferences(*LISTS)):
        assert learned(other).learned_from.digest != told.digest


def test_values_of_other_grades_or_deeper_come_with_that_sentence(tmp_path):
    dcg = learned()
    graded = replace(dcg, learned_from=replace(dcg.learned_from, grader="a language model"))
    judged, run = (
        {"q": {"a": 2, "b": 1}},
        {"old": {"q": {"b": 2, "a": 1}}, "new": {"q": {"a": 2, "b": 1}}},
    )
    same = dl.evaluate(judged, run, {"own": graded})
    assert not any("learned from" in note for note in same.notes)

    # another scale, and discounts that the log did not tell
    deeper = dl.DCG(dcg.gains, [*dcg.discounts, 0.1], learned_from=graded.learned_from)
    found = dl.evaluate(judged, run, {"own": deeper.map_grades([0, 1, 2, 2])})
    first = dl.compare_systems(judged, run, {"own": deeper}).notes
    assert any(note.endswith("by a language model, but used on 4 positions") for note in first)
    [note] = [note for note in found.notes if note.startswith("own: learned from 3 judgements by")]
    assert note.endswith("on 3 grades by a language model, but used on 4 positions")
    four = dl.read_judgements(judged, n_grades=4)
    mapped = dcg.map_grades([0, 1, 2, 2])
    assert any("but used on 4 grades" in note for note in dl.evaluate(four, run, mapped).notes)


def test_files_without_it_are_read_and_wrong_ones_refused(tmp_path):
    dcg = learned()
    values = dcg.to_dict()
    without = {key: value for key, value in values.items() if key != "learned_from"}
    assert dl.DCG.from_dict(without) == dcg == dl.DCG.from_dict(values)
    for wrong in ("a log", {"depth": 3}, {**values["learned_from"], "depth": "3"}):
        refused("learned_from", dl.DCG.from_dict, {**values, "learned_from": wrong})
