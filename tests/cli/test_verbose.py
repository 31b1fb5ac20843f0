"""Quiet by default; what happens is logged, for a service or for --verbose."""

import ast
import logging
from pathlib import Path

import numpy as np
import pytest

import dcglearn as dl
from tests.makers import random_log

PACKAGE = Path(dl.__file__).parent


@pytest.fixture
def log(tmp_path):
    random_log(60, seed=1).save(tmp_path / "log.jsonl")
    return tmp_path / "log.jsonl"


def test_verbose_logs_to_standard_error_and_changes_no_result(dcglearn, log):
    learn = ("learn", log, "--method", "qp")
    quiet = dcglearn(*learn)
    assert not any("dcglearn." in line for line in quiet[2].splitlines())
    for words in (("--verbose", *learn), ("-v", *learn)):
        status, out, err = dcglearn(*words)
        assert (status, out) == quiet[:2]
        lines = [line for line in err.splitlines() if " dcglearn." in line]
        assert sum("log.jsonl: 60 rows" in line for line in lines) == 1
        assert any("QP with C=1: relative duality gap" in line for line in lines)
    assert not logging.getLogger("dcglearn").handlers  # a later command is quiet again
    assert logging.getLogger("dcglearn").level == logging.NOTSET


def test_a_service_collects_what_the_package_does(log, caplog, capfd, tmp_path):
    caplog.set_level(logging.INFO, logger="dcglearn")
    learner = dl.DCGLearner().fit(dl.read_preferences(log))
    dl.bands(dl.read_preferences(log), learner, n_resamples=3)
    learner.dcg_.save(tmp_path / "dcg.json")
    judged = {"1": {"a": 1, "b": 0}, "2": {"a": 1, "b": 0}}
    runs = {"x": {"1": {"a": 1.0}, "2": {"b": 1.0}}, "y": {"1": {"b": 1.0}, "2": {"b": 1.0}}}
    dl.compare_systems(judged, runs, n_resamples=100)
    names = [record.name.removeprefix("dcglearn.") for record in caplog.records]
    assert {"reading.tables", "learning.fit", "trust.judge_draws", "foundation.files"} <= set(names)
    assert "evaluation.run_values" in names
    assert names.count("learning.fit") == 2  # not one for each bootstrap sample
    assert capfd.readouterr() == ("", "")


def test_rankers_log_their_stages(caplog):
    caplog.set_level(logging.INFO, logger="dcglearn")
    queries = dl.simulate.letor_queries(n_queries=6, random_state=0)
    ranker = dl.LinearRanker(dl.losses.ApproxNDCG("linear-log2@5"), max_iter=2).fit(queries)
    lines = [
        record.getMessage() for record in caplog.records if record.name == "dcglearn.rankers.linear"
    ]
    assert len(lines) == len(ranker.history_)
    assert np.isfinite(float(lines[0].rpartition(" ")[2]))


def test_only_the_command_line_prints():
    for path in PACKAGE.rglob("*.py"):
        if (
            path.parent.name == "cli" or path.name == "build.py"
        ):  # the latter is a script, and in no wheel
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            called = node.func if isinstance(node, ast.Call) else None
            assert not (isinstance(called, ast.Name) and called.id == "print"), path
            is_stream = isinstance(called, ast.Attribute) and called.attr in ("write", "writelines")
            assert not (is_stream and ast.unparse(called.value) in ("sys.stdout", "sys.stderr")), (
                path
            )
