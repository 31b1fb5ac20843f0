"""Kinds of log by the functions that take a log: a call ends in a result that shows itself, or in
an InputError.
"""

import json
import warnings
from functools import cache, partial

import numpy as np
import pytest
from sklearn.model_selection import cross_val_score

import dcglearn as dl
from tests.makers import columns, rated_pairs, refused

N, DEPTH = 240, 4
TRUTH = dl.DCG([0.0, 0.1, 0.4, 1.0], [1.0, 0.7, 0.5, 0.3])
NAMES = ("poor", "fair", "good", "best")


def judged(n=N, *, lowest=0, highest=3, names=None, **log_columns):
    """Return n pairs of lists of four positions, judged by a steep DCG, a tenth of them wrongly."""
    rng = np.random.default_rng(0)
    pairs = rng.integers(lowest, highest + 1, (n, 2, DEPTH)).astype(np.int8)
    flip = (TRUTH.score(pairs[:, 0]) < TRUTH.score(pairs[:, 1])) ^ (rng.random(n) < 0.1)
    pairs[flip] = pairs[flip, ::-1]
    return dl.Preferences(pairs, None, None if names else 4, grade_names=names, **log_columns)


def one_sided_rater():
    """Return a log of 21 raters with 20 verdicts each, of whom one always names the list shown
    first.
    """
    rater = np.arange(420) % 21
    swapped = np.random.default_rng(1).random(420) < 0.5
    return judged(
        420, rater=np.char.add("rater ", rater.astype(str)), swapped=swapped & (rater != 5)
    )


def short_lists():
    """Return a log of lists of two to four results, -2 where there is none."""
    rng = np.random.default_rng(2)
    pairs = np.stack([judged().preferred, judged().other], axis=1)
    return dl.Preferences(
        np.where(np.arange(DEPTH) < rng.integers(2, DEPTH + 1, (N, 2, 1)), pairs, -2), n_grades=4
    )


def rated_lists(group=None):
    """Return the pairs of 24 lists that are rated six times each, from 1 to 5."""
    rng = np.random.default_rng(3)
    lists = np.tile(rng.integers(0, 4, (24, DEPTH)), (6, 1))
    ratings = np.clip(np.round(2 * TRUTH.score(lists) + rng.normal(0, 0.5, 144)), 1, 5)
    return rated_pairs(lists, ratings, group, n_grades=4)


LOGS = {
    "plain": judged,
    "one-sided rater": one_sided_rater,
    "short lists": short_lists,
    "unknown grades": partial(judged, lowest=-1),
    "ties": partial(judged, tie=np.arange(N) % 5 == 0),
    "strengths": partial(judged, strength=1 + np.arange(N) % 3),
    "weights": partial(judged, weight=0.1 + np.arange(N) % 7),
    "one query": partial(judged, query=np.full(N, "q1")),
    "one rater": partial(judged, rater=np.full(N, "ann"), swapped=np.arange(N) % 2 == 0),
    "segments and times": partial(
        judged,
        segment=np.array(["new", "old"])[np.arange(N) % 2],
        time=np.array([f"2026-{1 + i // 20:02}-01" for i in range(N)]),
        rater=np.array([f"r{i % 12}" for i in range(N)]),
        query=np.array([f"q{i % 30}" for i in range(N)]),
    ),
    "best grade missing": partial(judged, highest=2, names=NAMES),
    "six pairs": partial(judged, 6),
    "rated lists": rated_lists,
    "rated lists in groups": partial(
        rated_lists, np.array(["ann", "bob", "cy"])[np.arange(144) // 48]
    ),
}
"""Makers of logs."""


def used(learner, log):
    """Return a learner that was fitted to a log, after its other methods were called."""
    learner.fit(log)
    learner.predict(log)
    learner.score(log)
    return learner


def direct(log, _, **parameters):
    """Return a fitted `DCGLearner`."""
    learner = used(dl.DCGLearner(**parameters), log)
    assert np.allclose(learner.predict_proba(log).sum(axis=1), 1)
    start = learner.fit_.free
    again = {**parameters, "start": start} | ({"power": start.power} if start.power else {})
    return dl.DCGLearner(**again).fit(log)


def programme(log, _, **parameters):
    learner = used(dl.UtilityLearner(**parameters), log)
    learner.factor()
    return learner


def round_trip(log, folder, suffix):
    path = folder / f"log.{suffix}"
    if log.ratings is not None:
        refused("say less than the ratings", log.save, path)
        return log
    log.save(path)
    scale = {"n_grades": log.n_grades} if log.grade_names is None else {"scale": log.grade_names}
    again = dl.read_preferences(path, **scale)
    assert columns(again) == columns(log)
    return again


def candidates():
    return np.random.default_rng(7).integers(0, 4, (40, DEPTH))


def people(log, _):
    """Return the shares of people who would take a run rather than its reverse."""
    shown = {f"q{i}": [3 - i % 2, 2, 1 - i % 2, 0] for i in range(6)}
    judged_documents = {
        query: dict(zip("abcd", grades, strict=True)) for query, grades in shown.items()
    }
    judgements = dl.evaluation.read_judgements(judged_documents, n_grades=log.n_grades)
    runs = {
        name: {query: dict(zip(order, (4.0, 3.0, 2.0, 1.0), strict=True)) for query in shown}
        for name, order in (("reverse", "dcba"), ("best", "abcd"))
    }
    metric = dl.DCGLearner().fit(log).metric_
    found = dl.compare_systems(judgements, runs, {"learned": metric}, n_resamples=100).people
    assert found.table["take"][0] >= found.table["keep"][0]
    return found


def as_table(log):
    if log.ratings is not None:
        return log
    again = dl.read_preferences(log.to_polars(), scale=log.grade_names) if log.grade_names else None
    return again or dl.read_preferences(log.to_polars(), n_grades=log.n_grades)


def changed(log, _):
    return [
        log.split(0.5, random_state=0),
        log.merged(),
        log.filled(),
        log.visible(),
        log.n_contradicted(),
    ]


FUNCTIONS = {
    "learn": direct,
    **{f"loss {loss}": partial(direct, loss=loss) for loss in ("robust", "logistic")},
    "free discounts": partial(direct, discounts="free"),
    "no zero": partial(direct, zero="none"),
    "prior": partial(direct, prior="exponential-log2"),
    "proxy": lambda log, _: dl.trust.llm_report(log, dl.DCGLearner(llm=judged()).fit(log)),
    "QP": programme,
    **{f"QP, margin {margin}": partial(programme, margin=margin) for margin in ("hamming", "log")},
    "QP by cvxpy": partial(programme, solver="cvxpy"),
    "cross_val_score": lambda log, _: cross_val_score(dl.DCGLearner(loss="robust"), log, cv=3),
    "choose_C": lambda log, _: dl.trust.choose_C(log, grid=[0.1, 1.0], random_state=0),
    "bands": lambda log, _: dl.bands(log, n_resamples=20),
    **{
        f"bands by {unit}": partial(
            lambda log, _, by: dl.bands(log, n_resamples=20, by=by), by=unit
        )
        for unit in ("pair", "rater", "query", "list")
    },
    "people": people,
    "compare_learners": lambda log, _: dl.compare_learners(*log.split(0.6, random_state=0)),
    "noise_ceiling": lambda log, _: dl.noise_ceiling(log),
    "position_dependence": lambda log, _: dl.trust.position_dependence(log, n_resamples=19),
    "segment_test": lambda log, _: dl.trust.segment_test(log),
    "segment_test by rater": lambda log, _: dl.trust.segment_test(log, by="rater"),
    "suggest_pairs": lambda log, _: dl.suggest_pairs(log, candidates(), 3, n_grades=4),
    "suggest_pairs of the log": lambda log, _: dl.suggest_pairs(log, log, 3),
    "rater_agreement": lambda log, _: dl.rater_agreement(log),
    "what_if": lambda log, _: dl.trust.what_if(
        log, dl.DCGLearner(), "gain of 1 > 0.01", by="pair" if len(log) > 6 else None
    ),
    "audit": lambda log, _: dl.audit(log),
    "anonymous audit": lambda log, _: dl.audit(log, "linear-log2", anonymous=True),
    "jsonl": partial(round_trip, suffix="jsonl"),
    "parquet": partial(round_trip, suffix="parquet"),
    "table": lambda log, _: as_table(log),
    "changed": changed,
    "reconciled": lambda log, _: dl.trust.reconciled(log, "half"),
}
"""Calls with a log and an empty folder."""

COMMANDS = {
    "learn": "learn {log} -o {folder}/dcg.json --bands 20",
    "learn by the QP": "learn {log} -o {folder}/qp.json --method qp --bands 0",
    "learn and draw": "learn {log} -o {folder}/dcg.json --plot {folder}/dcg.svg --bands 0",
    "audit": "audit {log} -o {folder}/audit.html --anonymous",
    "ask": "ask {log} -n 3",
    "convert": "convert {log} -o {folder}/again.parquet",
}
"""Command lines over a log as JSON lines."""


ANSWERED = {
    "QP, margin log": {"strengths"},
    "bands by rater": {"one-sided rater"},
    "bands by query": {"segments and times"},
    "segment_test": {"segments and times"},
    "segment_test by rater": {"one-sided rater", "segments and times", "rated lists in groups"},
    "suggest_pairs of the log": set(),
    "audit since": {"segments and times"},
    "reconciled": {"one-sided rater", "one rater"},
}
"""The logs that hold what a function needs; others are refused by it."""

MANY = {
    *("noise_ceiling", "position_dependence", "choose_C"),
    *(name for name in FUNCTIONS if name.startswith("bands")),
}
"""Functions that refuse six pairs."""

HELD_UP = {"six pairs", "rated lists in groups"}
"""The fewest pairs, and those with the most to read; the others are tested by `make long`."""


ONCE = {("rated lists in groups", "anonymous audit")}
"""Calls of many seconds which `make test` leaves out, since it has one that is nearly the same."""


def cases(calls):
    """Return a row for each kind of log and each call."""
    quick = {(kind, call) for kind in HELD_UP for call in calls} - ONCE
    return [
        pytest.param(kind, call, marks=[] if (kind, call) in quick else pytest.mark.long)
        for call in calls
        for kind in LOGS
    ]


@cache
def made(kind):
    return LOGS[kind]()


def shown(result):
    """Return the texts in which a result shows itself."""
    texts = [str(result), repr(result)]
    if hasattr(result, "to_dict"):
        texts.append(json.dumps(result.to_dict(), allow_nan=False))
    if hasattr(result, "_repr_html_"):
        texts.append(result._repr_html_() or "")
    return texts


@pytest.mark.parametrize(("kind", "function"), cases(FUNCTIONS))
def test_every_function_takes_every_log(kind, function, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("ignore", UserWarning)
        if kind in ANSWERED.get(function, LOGS) and not (kind == "six pairs" and function in MANY):
            assert all(shown(FUNCTIONS[function](made(kind), tmp_path)))
        else:
            refused(".", FUNCTIONS[function], made(kind), tmp_path)


@pytest.mark.parametrize(("kind", "command"), cases(COMMANDS))
def test_every_command_takes_every_log(kind, command, tmp_path, dcglearn):
    log = tmp_path / "log.jsonl"
    made(kind).changed(rated=None, units=None).save(log)
    status, _, words = dcglearn(*COMMANDS[command].format(log=log, folder=tmp_path).split())
    assert status in (0, 2)
    assert status == 0 or kind == "six pairs", words
    assert "Traceback" not in words
