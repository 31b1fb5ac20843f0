"""Files that an earlier dcglearn wrote (`tests/saved/README.md`): all load, checkpoints may be refused."""

import json
import re
import shutil
import warnings
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import dcglearn as dl
from dcglearn.letor.trial import Trial

SAVED = Path(__file__).parent / "saved"
EXPECTED = json.loads((SAVED / "expected.json").read_text(encoding="utf-8"))
MODELS = {name: row["kind"] for name, row in EXPECTED["models"].items()}
COLUMNS = ("preferred", "other", "tie", "query", "rater", "strength", "margin", "weight")
MINE = dl.DCG([0, 1, 3.5], [1, 0.63092975, 0.5, 1 / 3], grade_names=("Bad", "Fair", "Good"), notes=("learned",))
SHAPE = {"num_leaves": 3, "min_data_in_leaf": 3, "num_threads": 1}


@contextmanager
def at_most_one_warning():
    """Allow one warning, of a checksum that an old file does not have."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    messages = [str(warning.message) for warning in caught]
    assert len(messages) <= 1, messages
    assert all("checksum" in message for message in messages), messages


def part(name: str) -> dl.Queries:
    return dl.read_queries(SAVED / "folds" / "Fold1" / f"{name}.txt", n_grades=3)


def close(found, expected) -> None:
    """Allow for another order of sums on another processor."""
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def skip_without_libraries(kind: str) -> None:
    if "Boosted" in kind:
        pytest.importorskip("lightgbm")


def test_every_saved_file_is_read_here():
    assert {path.name for path in (SAVED / "models").iterdir()} == set(MODELS)
    assert {path.name for path in (SAVED / "metrics").iterdir()} == set(EXPECTED["metrics"])
    assert {path.name for path in (SAVED / "logs").iterdir()} - set(EXPECTED["logs"]) == {
        "simulated.parquet",
        "all_columns.parquet",
    }
    assert {path.name for path in (SAVED / "learners").iterdir()} == set(EXPECTED["learners"])
    assert {path.stem for path in (SAVED / "checkpoints").iterdir()} == set(EXPECTED["checkpoints"])


@pytest.mark.parametrize("name", EXPECTED["metrics"])
def test_metrics(name):
    expected = EXPECTED["metrics"][name]
    with at_most_one_warning():
        metric = (dl.Utility if "utility" in name else dl.DCG).load(SAVED / "metrics" / name)
    for key, numbers in expected["numbers"].items():
        assert getattr(metric, key).tolist() == numbers
    assert metric.grade_names == (None if expected["grade_names"] is None else tuple(expected["grade_names"]))
    assert metric.notes == tuple(expected["notes"])
    close(metric.score(expected["lists"]), expected["scores"])


@pytest.mark.parametrize("name", EXPECTED["learners"])
def test_learners(name):
    expected, log = EXPECTED["learners"][name], dl.read_preferences(SAVED / "logs" / name.replace("json", "jsonl"))
    learner = dl.DCGLearner.load(SAVED / "learners" / name)
    assert learner.dcg_.gains.tolist() == expected["gains"]
    assert learner.dcg_.discounts.tolist() == expected["discounts"]
    assert learner.rater_error_ == expected["rater_error"]
    assert learner.tie_threshold_ == expected["tie_threshold"]
    close(learner.scale_, expected["scale"])
    close(learner.predict_proba(log[:3]), expected["probabilities"])
    assert dl.DCGLearner(prior=learner.prior).fit(log, start=SAVED / "learners" / name).warm_


@pytest.mark.parametrize(
    "name", ["simulated.jsonl", "simulated.parquet", "all_columns.jsonl", "all_columns.parquet", "chunks.parquet"]
)
def test_logs(name):
    expected = EXPECTED["logs"].get(name) or EXPECTED["logs"][name.replace("parquet", "jsonl")]
    with at_most_one_warning():
        log = dl.read_preferences(SAVED / "logs" / name)
    assert log.n_grades == expected["n_grades"]
    for column in COLUMNS:
        values = getattr(log, column)
        assert (None if values is None else values.tolist()) == expected[column], column


def test_questions():
    with at_most_one_warning():
        questions = dl.read_questions(SAVED / "logs" / "questions.jsonl")
    assert questions.tolist() == EXPECTED["logs"]["questions.jsonl"]["questions"]


@pytest.mark.parametrize("name", MODELS)
def test_models(name):
    skip_without_libraries(MODELS[name])
    expected, test = EXPECTED["models"][name], part("test")
    with at_most_one_warning():
        ranker = dl.load_ranker(SAVED / "models" / name)
    assert type(ranker).__name__ == expected["kind"]
    close(ranker.predict(test), expected["scores"])
    close(ranker.evaluate(test), expected["ndcg"])
    if "loss" in expected:
        value, _ = ranker.loss(np.linspace(-1, 1, len(test.grades)), test.grades, test.offsets)
        close(value, expected["loss"])


@pytest.mark.parametrize("name", [name for name in MODELS if MODELS[name] != "DaskBoostedRanker"])
def test_the_parameters_of_saved_models_still_train(name):
    skip_without_libraries(MODELS[name])
    ranker, queries = dl.load_ranker(SAVED / "models" / name), part("train")
    assert np.isfinite(ranker.fit(queries).predict(queries)).all()


def test_a_saved_run():
    test = part("test")
    judgements = {
        str(name): {f"{name}-{i}": int(grade) for i, grade in enumerate(test.grades[start:stop], 1)}
        for name, start, stop in zip(test.names, test.offsets[:-1], test.offsets[1:], strict=True)
    }
    with at_most_one_warning():
        found = dl.evaluate(SAVED / "run.txt", judgements, ["nDCG@5"])
    assert list(found.queries) == EXPECTED["run"]["queries"]
    close(found.values.ravel(), EXPECTED["run"]["nDCG@5"])


@pytest.mark.parametrize("name", EXPECTED["letor"])
def test_letor_results(name):
    expected = EXPECTED["letor"][name]
    with at_most_one_warning():
        trial = Trial.from_dict(json.loads((SAVED / "letor" / name).read_text(encoding="utf-8")))
    assert trial.queries == expected["queries"]
    assert trial.chosen == [tuple(row) for row in expected["chosen"]]
    for choice, measures in trial.measures.items():
        close(np.nanmean(measures, axis=0), expected[choice])
        assert np.isnan(measures[:, 0]).sum() == expected["empty"]


# Numbers depend on the libraries' order of sums, so that a learner's checkpoint may be refused on another machine.
WRITER = r"written by another version of dcglearn|made by another version of the libraries, or on another machine"
REMEDY = r"start again, without resum"


def resumed_or_refused(path, resume, result) -> None:
    """Go on to the result of the fit that was not stopped, or refuse: the file, what wrote it, and the remedy."""
    try:
        found = resume()
    except dl.InputError as error:
        message = str(error)
        assert str(path) in message
        assert re.search(WRITER, message)
        assert re.search(REMEDY, message)
    else:
        result(found)


def checkpoint(tmp_path, name: str) -> Path:
    return Path(shutil.copy(SAVED / "checkpoints" / name, tmp_path))


@pytest.mark.parametrize(("name", "learner"), [("utility", dl.UtilityLearner(C=2.0)), ("dcg", dl.DCGLearner())])
def test_checkpoints_of_learners(tmp_path, name, learner):
    file, expected = checkpoint(tmp_path, f"{name}.checkpoint"), EXPECTED["checkpoints"][name]
    log = dl.read_preferences(SAVED / "logs" / "all_columns.jsonl")

    def result(fitted):
        for key, numbers in expected["numbers"].items():
            np.testing.assert_allclose(getattr(fitted.metric_, key), numbers, rtol=1e-6)
        assert fitted.objective_ == pytest.approx(expected["objective"], rel=1e-9)

    resumed_or_refused(file, lambda: learner.fit(log, checkpoint=file, resume=True), result)


def linear_ranker(file):
    ranker = dl.LinearRanker(dl.losses.ApproxNDCG(MINE), n_restarts=2, max_iter=20, seed=4)
    return ranker.fit(part("train"), eval_set=part("vali"), checkpoint=file, resume=True)


def boosted_ranker(file):
    settings = {"bagging_fraction": 0.8, "bagging_freq": 1, **SHAPE}
    ranker = dl.BoostedRanker(dl.losses.RegSHFSDCG(MINE), n_trees=6, seed=5, **settings)
    return ranker.fit(part("train"), eval_set=part("vali"), checkpoint=file, checkpoint_every=2, resume=True)


# Trees over a cluster have no checkpoints any more: the local trees refuse theirs.
RANKERS = {"linear.npz": linear_ranker, "trees.json": boosted_ranker, "dask_trees.json": boosted_ranker}


@pytest.mark.parametrize("name", RANKERS)
def test_checkpoints_of_rankers(tmp_path, name):
    if "trees" in name:
        pytest.importorskip("lightgbm")
    file, expected = checkpoint(tmp_path, name), EXPECTED["checkpoints"][Path(name).stem]

    def result(fitted):
        np.testing.assert_allclose(fitted.predict(part("test")), expected["scores"], rtol=1e-6, atol=1e-9)

    resumed_or_refused(file, lambda: RANKERS[name](file), result)


def test_letor_results_resumed(tmp_path):
    output = tmp_path / "letor"
    shutil.copytree(SAVED / "letor", output)
    methods = ["ridge", "RankSVM"]
    options = {"metric": "standard", "grid": "quick", "output": output, "seed": 8, "progress": False}
    seconds = {
        name: json.loads((SAVED / "letor" / name).read_text(encoding="utf-8"))["seconds"] for name in EXPECTED["letor"]
    }
    try:
        found = dl.letor_experiment(SAVED / "folds", methods, resume=True, **options)
    except dl.InputError as error:  # the package's version is part of what a result must agree with
        assert str(output) in str(error)
        assert "version" in str(error)
        assert "name another folder" in str(error)
    else:
        assert {f"{trial.fold}/{trial.method}.json": trial.seconds for trial in found.trials} == seconds
        for m, method in enumerate(found.methods):
            for f, fold in enumerate(found.folds):
                close(found.by_fold[m, f], EXPECTED["letor"][f"{fold}/{method}.json"]["blend"])


def of_version_9(file: Path) -> Path:
    """Give a checkpoint another format version, where it says its own; those of rankers are of version 1."""
    if file.suffix == ".checkpoint":
        file.write_bytes(file.read_bytes().replace(b"checkpoint 1\n", b"checkpoint 9\n", 1))
    return file


def dcg_learner(file):
    return dl.DCGLearner().fit(dl.read_preferences(SAVED / "logs" / "all_columns.jsonl"), checkpoint=file, resume=True)


@pytest.mark.parametrize(("name", "resume"), [("dcg.checkpoint", dcg_learner), *RANKERS.items()])
def test_checkpoints_of_another_version_are_refused(tmp_path, name, resume):
    if "trees" in name:
        pytest.importorskip("lightgbm")
    file = of_version_9(checkpoint(tmp_path, name))
    before = file.read_bytes()
    version = 9 if file.suffix == ".checkpoint" else 1
    message = (
        f"{file} was written by another version of dcglearn (checkpoint format {version}; this version reads 3): "
        "resume with that version, or remove the file and start again, without resume"
    )
    with pytest.raises(dl.InputError, match=re.escape(message)):
        resume(file)
    assert file.read_bytes() == before
