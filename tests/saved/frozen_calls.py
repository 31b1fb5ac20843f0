"""The frozen calls: numbers of the public functions behind the commands, by name.

No printed text is frozen, which may be rewritten: of tables only numbers and the names of systems.
"""

import math
import re
import warnings
from collections.abc import Callable
from dataclasses import asdict, is_dataclass
from functools import cache, partial
from typing import Any

import numpy as np
import polars as pl

import dcglearn as dl
from tests.saved import frozen_logs, frozen_models

EXAMPLES = frozen_logs.EXAMPLES
NAMES_OF_SYSTEMS = ("run", "baseline", "query", "verdict", "measure", "metric")
"""Columns of tables whose text is frozen."""

D1 = dl.DCG([1, 2, 3, 4, 5], 1 / np.log(np.arange(10) + 2))
D2 = dl.DCG([1, 3, 7, 15, 31], 1 / np.log(np.arange(10) + 2))
SMALL_A = dl.DCG([0, 1, 3], [1, 0.63, 0.5])
SMALL_B = dl.DCG([0, 2, 3], [1, 0.5, 0.33])
DEEP_A = dl.DCG.standard(5, 30)
DEEP_B = dl.DCG.standard(5, 30, "linear", "reciprocal")
DOCUMENTS = [4, 4, 3, 2, 2, 1, 0, 0]


# inputs


@cache
def logs() -> dict[str, dl.Preferences]:
    """Return the frozen logs by name."""
    return frozen_logs.read_logs()


def log_of(kind: str, least: int = 0) -> dl.Preferences:
    """Return the first frozen log of a kind with at least this many pairs."""
    return next(log for name, log in logs().items() if name.startswith(kind) and len(log) >= least)


@cache
def example() -> dl.Preferences:
    """Return the log of the examples."""
    return logs()["example-side-by-side"]


@cache
def judged() -> dict[str, dict[str, int]]:
    """Return judgements of 24 queries, of which one in five documents has none."""
    rng = np.random.default_rng((2026, 2))
    return {
        f"q{q:02}": {f"d{d:02}": int(rng.integers(0, 5)) for d in range(16) if rng.random() < 0.8}
        for q in range(24)
    }


@cache
def runs() -> dict[str, dict[str, dict[str, float]]]:
    """Return four runs of different quality; scores are rounded, so that there are ties."""
    return runs_of([*judged()])


def runs_of(queries: list[str]) -> dict[str, dict[str, dict[str, float]]]:
    """Return four runs of these queries."""
    rng = np.random.default_rng((2026, 3))
    noise = {"best": 0.8, "good": 1.2, "plain": 2.0, "poor": 5.0}
    found: dict[str, dict[str, dict[str, float]]] = {}
    for name, spread in noise.items():
        found[name] = {}
        for query in queries:
            grades = judged().get(query, {})
            if name == "poor" and query == "q07":  # a query that the run lacks
                continue
            found[name][query] = {
                f"d{d:02}": round(grades.get(f"d{d:02}", 1) + spread * rng.normal(), 1)
                for d in range(16)
            }
    return found


@cache
def machine_judged() -> dict[str, dict[str, int]]:
    """Return a language model's grades of all documents, of 30 queries more."""
    rng = np.random.default_rng((2026, 4))
    return {
        f"q{q:02}": {
            f"d{d:02}": int(
                np.clip(judged().get(f"q{q:02}", {}).get(f"d{d:02}", 2) + rng.integers(-1, 2), 0, 4)
            )
            for d in range(16)
        }
        for q in range(54)
    }


@cache
def learned() -> dl.DCGLearner:
    """Return the learner of the example."""
    return dl.DCGLearner(loss="robust").fit(example())


def scored_lists() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return grades, scores and query ids of 12 queries."""
    rng = np.random.default_rng((2026, 5))
    sizes = rng.integers(3, 12, 12)
    n = int(sizes.sum())
    return rng.integers(0, 5, n), rng.normal(size=n).round(1), np.repeat(np.arange(12), sizes)


# results


def numbers(value: Any, name: str = "") -> dict[str, Any]:
    """Return the numbers of a result, flat: of mappings, tables and dataclasses by name."""
    if isinstance(value, pl.DataFrame):
        columns = {
            column: value[column].to_list()
            for column in value.columns
            if value[column].dtype != pl.String or column in NAMES_OF_SYSTEMS
        }
        return numbers(columns, name)
    if isinstance(value, dict):
        flat: dict[str, Any] = {}
        for key, part in value.items():
            label = key if isinstance(key, str) else " ".join(map(str, np.atleast_1d(key)))
            flat |= numbers(part, f"{name}.{label}" if name else label)
        return flat
    if is_dataclass(value) and not isinstance(value, type):
        return numbers(asdict(value), name)
    return {name or "value": _plain(value)}


def _plain(value: Any) -> Any:
    """Return a value as JSON holds it; what is not finite is text."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"{type(value).__name__} is not frozen")


def parts(value: Any, *names: str) -> dict[str, Any]:
    """Return the numbers of attributes of a result."""
    flat: dict[str, Any] = {}
    for name in names:
        flat |= numbers(getattr(value, name), name)
    return flat


def dcg_of(value: Any) -> dict[str, Any]:
    """Return the gains and discounts of a DCG."""
    return {"gains": _plain(value.gains), "discounts": _plain(value.discounts)}


# the calls


def evaluated(metrics: Any = "nDCG@10", **options: Any) -> dict[str, Any]:
    """Evaluate the runs."""
    found = dl.evaluate(judged(), runs(), metrics, **options)
    values = {"values": found.values, "means": found.means, "unjudged": found.unjudged}
    if options.get("bounds"):
        values["bounds"] = found.mean_bounds
    return {name: _plain(np.asarray(value)) for name, value in values.items() if value is not None}


def compared(metrics: Any = "nDCG@10", *, people: bool = False, **options: Any) -> dict[str, Any]:
    """Compare the runs."""
    systems = runs_of([*machine_judged()]) if "llm" in options else runs()
    found = dl.compare_systems(judged(), systems, metrics, n_resamples=1000, **options)
    values = numbers(found.table, "table") | {"n_queries": found.n_queries}
    if people:
        values |= numbers(found.people.table, "people")
    return values


def gated(rule: str = "harm", min_difference: float = 0.0, **options: Any) -> dict[str, Any]:
    """Pass the runs through the gate."""
    found = dl.compare_systems(judged(), runs(), baseline="plain", n_resamples=1000, **options)
    gate = found.gate(min_difference, rule)
    return {"passed": gate.passed} | numbers(gate.table, "table")


def people() -> dict[str, Any]:
    """Predict what people prefer, by the judges of a learned DCG."""
    metric = dl.DCGLearner().fit(example()).dcg_
    return compared(metric, people=True, normalise=False)


def explained() -> dict[str, Any]:
    """Explain values of another convention."""
    run = {"best": runs()["best"]}
    found = dl.evaluate(judged(), run, "exponential-log2@10", ties="stable")
    values = dict(zip(found.queries, found.values[0, 0].tolist(), strict=True))
    result = dl.evaluation.explain_values(values, judged(), run, "nDCG@10")
    return parts(result, "n", "n_agreeing", "explained", "tolerance")


def fitted(log: dl.Preferences, **options: Any) -> dict[str, Any]:
    """Learn from a log."""
    learner = dl.DCGLearner(**options).fit(log)
    values = dcg_of(learner.dcg_)
    values["objective"] = frozen_logs.objective_of(learner)
    values |= {"scale": learner.scale_, "wrong share": learner.wrong_share_}
    values |= weights(learner)
    values["chances"] = _plain(learner.predict_proba(log[:3]))
    return values


def weights(learner: dl.DCGLearner) -> dict[str, Any]:
    """Return the weights of the members that count."""
    return {f"weight of {m.name}": m.weight for m in learner.members_ if m.weight >= 0.001}


def warm() -> dict[str, Any]:
    """Learn from a part of a log, then from all of it from there."""
    first = dl.DCGLearner().fit(example()[:450])
    again = dl.DCGLearner(start=first.dcg_).fit(example())
    return dcg_of(again.dcg_) | {"objective": frozen_logs.objective_of(again)}


def bands(log: dl.Preferences, **options: Any) -> dict[str, Any]:
    """Return the bands of a log."""
    found = dl.bands(log, dl.DCGLearner(loss="robust"), n_resamples=24, **options)
    return parts(found, "gain_band", "discount_band", "n_units")


def held_out() -> dict[str, Any]:
    """Compare learners on held-out pairs."""
    found = dl.compare_learners(example()[:350], example()[350:])
    values: dict[str, Any] = {}
    for row in found.rows:
        rest = {name: part for name, part in asdict(row).items() if name != "name"}
        values |= numbers(rest, row.name)
    values |= parts(found, "n_train", "n_held_out", "with_learned", "p_value")
    return values


def ceiling() -> dict[str, Any]:
    """Return the noise ceiling of a log whose pairs recur."""
    rng = np.random.default_rng((2026, 9))
    lists = rng.integers(0, 4, (14, 5))
    pairs = np.array([rng.choice(14, 2, replace=False) for _ in range(160)])
    lead = lists[pairs].sum(axis=2) @ [1, -1] + 3 * rng.logistic(size=160)
    pairs[lead < 0] = pairs[lead < 0, ::-1]
    log = dl.Preferences(lists[pairs], n_grades=4)
    found = dl.noise_ceiling(log)
    return parts(found, "below", "above", "covered", "n_lists", "n_units")


def agreement_of_raters(log: dl.Preferences) -> dict[str, Any]:
    """Return how far raters agree, and the error of each."""
    found = dl.rater_agreement(log)
    alpha = {"value": found.alpha, "low": found.low, "high": found.high}
    return numbers(alpha, "nominal") | numbers(found.table, "raters") | parts(found, "n_units")


def recurring(swapped: bool = False) -> dl.Preferences:
    """Return a log in which three raters judge the same 40 pairs, some of them both ways."""
    rng = np.random.default_rng((2026, 11))
    pairs = np.tile(rng.integers(0, 5, (40, 2, 6)), (3, 1, 1))
    lead = pairs.sum(axis=2) @ [1, -1] + 2 * rng.logistic(size=120)
    pairs[lead < 0] = pairs[lead < 0, ::-1]
    columns: dict[str, Any] = {"tie": np.abs(lead) < 0.7} | {"query": np.tile(np.arange(40), 3)}
    if swapped:
        columns["swapped"] = rng.random(120) < 0.5
    return dl.Preferences(pairs, n_grades=5, rater=np.repeat(["ann", "bob", "cy"], 40), **columns)


def what_decides() -> dict[str, Any]:
    """Return which verdicts decide conclusions."""
    learner = dl.DCGLearner(loss="robust")
    log = example()[:200]
    gains = learner.fit(log).dcg_.gains
    values: dict[str, Any] = {}
    for by in (None, "rater"):
        found = dl.trust.what_if(log, learner, f"gain of 2 > {gains[2] - 0.02:.4f}", by=by)
        values |= {f"{by}, {key}": x for key, x in parts(found, "holds", "n", "rows").items()}
    return values


def with_machine() -> dict[str, Any]:
    """Learn from people and a machine."""
    machine = dl.DCGLearner(loss="robust").fit(log_of("long-D2")).dcg_
    learner = dl.DCGLearner(llm=machine).fit(example()[:120])
    values = dcg_of(learner.dcg_)
    values |= weights(learner)
    report = dl.trust.llm_report(example()[:120], learner)
    return values | {"weight": report.weight} | dcg_of(report.both)


def audited() -> dict[str, Any]:
    """Audit the usual metric by a log: the numbers of its findings' tables."""
    parts = dl.audit(example()[:80]).parts
    values: dict[str, Any] = {}
    for name, frozen in FROZEN_PARTS.items():
        values |= numbers(parts[name].table, frozen)
    values.pop("curves.standard_error")

    # the metric in use beside the bands
    return values | numbers(parts["beside"].table.drop("low", "high"), "curves")


FROZEN_PARTS = {
    "how sure": "curves",
    "new judgements": "held_out",
    **{name: name for name in ("raters", "as sure as said?", "learned", "left open")},
}
"""The parts of an audit whose tables are frozen, and under which name."""


def loss(name: str) -> dict[str, Any]:
    """Return value and gradient of a loss, whole and with weights."""
    grades, scores, qid = scored_lists()
    grades = np.minimum(grades, 3)
    offsets = np.concatenate([[0], np.flatnonzero(np.diff(qid)) + 1, [len(qid)]])
    objective = frozen_models.LOSSES[name]()
    values: dict[str, Any] = {}
    weights = np.linspace(0.5, 2, len(offsets) - 1)
    for label, weight in (("", None), ("weighted ", weights)):
        value, gradient = objective(scores, grades, offsets, weight)
        values[f"{label}value"] = float(value)
        values[f"{label}gradient"] = _plain(gradient)
    values["lambdas"] = [_plain(np.asarray(x)) for x in objective.lambdas(scores, grades, offsets)]
    return values


def standard() -> dict[str, Any]:
    """Return the textbook DCGs and what they make of lists."""
    lists = np.random.default_rng((2026, 6)).integers(-2, 5, (3, 4))
    values: dict[str, Any] = {}
    for name, metric in dl.textbook_dcgs(5, 4).items():
        values |= numbers(dcg_of(metric), name)
        values[f"{name}, scores"] = _plain(metric.score(lists))
        values[f"{name}, normalised"] = _plain(metric.normalised().score(np.maximum(lists, 0)))
        values[f"{name}, ideal"] = float(metric.ideal(DOCUMENTS))
    return values


def metrics_of_lists() -> dict[str, Any]:
    """Return the textbook metrics of lists, by family and name."""
    patience = [f"RBP(p={i / 20:g})" for i in range(2, 20)]
    words = (f"{word}@6" for word in ("ERR", *patience, "BestGrade", "BestGradeRank"))
    return {f"{re.split('[@(]', word)[0]} {word}": dl.metric(word, 5) for word in words}


def of_lists() -> dict[str, Any]:
    """Return what metrics of whole lists, a reader and a utility make of lists."""
    lists = np.random.default_rng((2026, 7)).integers(0, 5, (5, 6))
    values = {name: _plain(metric.score(lists)) for name, metric in metrics_of_lists().items()}
    own = dl.evaluation.ListUtility(
        [0, 0.2, 0.5, 0.8, 1], [1, 0.7, 0.5, 0.4, 0.3, 0.2], [0, 0, 0.1, 0.3, 0.6]
    )
    values["own"] = _plain(own.score(lists))
    values["best share"] = _plain(
        dl.evaluation.ListUtility(own.gains, own.discounts, best=0.4).score(lists)
    )
    values["utility"] = _plain(D1.utility.score(lists[:, :6].repeat(2, axis=1)[:, :10]))
    values["reader"] = _plain(dl.metric("reader:news-feed").score(lists))
    return values


def exported() -> dict[str, Any]:
    """Return what other tools are told."""
    metric = dl.DCG([0, 1, 3, 7], 1 / np.log2(np.arange(5) + 2))
    found = {"LightGBM": dl.exports.to_lightgbm(metric, lossy=True)}
    return numbers({name: _only_numbers(value) for name, value in found.items()})


def _only_numbers(value: Any) -> Any:
    """Return the numbers of settings, without text."""
    if isinstance(value, dict):
        kept = {key: _only_numbers(part) for key, part in value.items()}
        return {key: part for key, part in kept.items() if part is not None}
    return None if isinstance(value, str) else value


def programs() -> dict[str, Any]:
    """Return what the exported Python program and the scorer compute."""
    metric = dl.DCG([0, 1, 3, 7], [1, 0.6, 0.4])
    program: dict[str, Any] = {}
    exec(dl.exports.to_python(metric), program)
    few = {q: {d: min(g, 3) for d, g in grades.items()} for q, grades in judged().items()}
    grades, scores, qid = scored_lists()
    values = {
        "scorer": dl.evaluate_arrays(np.minimum(grades, 3), scores, qid, metric),
        "program": [program["ndcg"](runs()["good"][q], few[q]) for q in sorted(few)],
    }
    return numbers(values)


def joined() -> dict[str, Any]:
    """Make logs of runs with verdicts, and of lists of documents."""
    queries = sorted(judged())[:6]
    verdicts = [{"query": q, "winner": "ab"[i % 2]} for i, q in enumerate(queries)]
    few = {name: {q: runs()[name][q] for q in queries} for name in ("best", "plain")}
    grades = dl.read_judgements(judged())
    ranked = [{name: few[name]} for name in ("best", "plain")]
    shown = dl.io.with_runs(verdicts, *ranked, depth=5)
    lists = [
        {"query": q, "a": ["d01", "d03"], "b": ["d02", "d05"], "winner": "ab"[i % 2]}
        for i, q in enumerate(queries)
    ]
    logs_of = {}
    for name, log in {"runs": shown, "documents": lists}.items():
        frame = dl.with_grades(log, grades, unjudged=0)
        logs_of[name] = dl.read_preferences(frame, n_grades=grades.n_grades, as_is=True)
    columns = ("preferred", "other", "tie", "weight", "strength")
    return {
        f"{name}, {column}": _plain(getattr(log, column))
        for name, log in logs_of.items()
        for column in columns
    }


def agreement() -> dict[str, Any]:
    """Return how far metrics agree with a log, and what it can tell."""
    log = example()
    values: dict[str, Any] = {}
    for name, metric in (("D1", D1), ("D2", D2)):
        values |= {
            f"{name}, {key}": x
            for key, x in parts(
                log.agreement(metric), "respected", "tied", "violated", "precision"
            ).items()
        }
        values[f"{name}, gaps"] = _plain(log.gaps(metric)[:20])
    for kind in ("example-side", "noisy-D1-permutations", "gaps"):
        visible = log_of(kind).visible()
        values |= {
            f"{kind}, {key}": x
            for key, x in parts(visible, "rank", "structural_rank", "free_columns").items()
        }
    return values


def similarities() -> dict[str, Any]:
    """Return how similar metrics are, and where cutoffs of a log lie."""
    visible = log_of("noisy-D1-permutations").visible()
    log = log_of("noisy-D1-permutations")
    first = dl.DCG.standard(log.n_grades, log.depth)
    second = dl.DCG.standard(log.n_grades, log.depth, "linear", "reciprocal")
    return {
        "similarity": float(dl.trust.similarity(D1, D2)),
        "identifiable": float(dl.trust.identifiable_similarity(first, second, visible)),
    }


def rankings() -> dict[str, Any]:
    """Return compatibility, and whether the theorem on two grades applies."""

    return {
        "same": dl.coherence.is_compatible(SMALL_A, SMALL_A),
        "others": dl.coherence.is_compatible(SMALL_A, SMALL_B),
        "two grades": dl.coherence.two_grade_theorem(
            dl.DCG([0, 1], [1, 0.5]), dl.DCG([0, 2], [1, 0.2])
        ).applies,
    }


def coherent(*arguments: Any, **options: Any) -> dict[str, Any]:
    """Search for the largest regret."""
    found = dl.coherence(*arguments, **options)
    return parts(found, "coherent", "regret", "regret_reverse", "bound", "bound_reverse")


def disagreement(*arguments: Any, **options: Any) -> dict[str, Any]:
    """Return the shares of pairs on which two metrics disagree."""
    found = dl.disagreement(*arguments, **options)
    return parts(found, "share", "agree", "tie_a", "tie_b", "tie_both", "interval", "exact")


def tau_ap(truth: Any, other: Any) -> float:
    """Return tau_AP of two arrays of means, by the order of the second."""
    order = np.argsort(-other, kind="stable")
    above = np.sign(np.subtract.outer(truth[order], truth[order]))  # of the row over the column
    tied = np.equal.outer(other[order], other[order]) & (above == 0)
    right = np.where(tied, 1.0, 0.5 + 0.5 * above)

    # share of the systems above each that are there in truth (Yilmaz et al. 2008)
    shares = [right[:i, i].mean() for i in range(1, len(order))]
    return 2 * float(np.mean(shares)) - 1


def order() -> dict[str, Any]:
    """Order the systems by several metrics."""
    metrics = {
        "D2": D2,
        "first": dl.DCG([0, 1, 3, 7, 15], [1]),
        "flat": dl.DCG([0, 0, 0, 0, 1], [1] * 16),
    }
    found = dl.system_order(judged(), runs(), metrics)
    means = found.evaluation.means.T
    values = parts(found, "ranks", "tau", "beats", "share_decided")
    return values | numbers(np.array([[tau_ap(a, b) for b in means] for a in means]), "tau_ap")


def segments(kind: str, by: str) -> dict[str, Any]:
    """Test whether segments differ."""
    found = dl.trust.segment_test(log_of(kind, 80), by=by)
    return parts(found, "gain", "p_value")


def asked_pairs() -> dict[str, Any]:
    """Choose the next pairs to judge."""
    candidates = np.random.default_rng((2026, 8)).integers(0, 5, (40, 2, 10))
    found = dl.suggest_pairs(example()[:150], candidates, 5, dl.DCGLearner(loss="robust"))
    return parts(found, "pairs", "difference", "value")


def examples_compared() -> dict[str, Any]:
    """Compare the runs of the examples."""
    paths = [EXAMPLES / "old.txt", EXAMPLES / "new.txt"]
    truth = dl.DCG.load(EXAMPLES / "truth.json")
    found = dl.compare_systems(EXAMPLES / "qrels.txt", paths, truth, n_resamples=1000)
    return numbers(found.table)


CALLS: dict[str, Callable[[], dict[str, Any]]] = {
    # evaluate
    "evaluate": evaluated,
    "evaluate, several metrics": lambda: evaluated(["nDCG@3", "exponential-log2@5", D1, "ERR@10"]),
    "evaluate, plain": lambda: evaluated(D2, normalise=False),
    "evaluate, ties averaged": lambda: evaluated(ties="average"),
    "evaluate, ties stable": lambda: evaluated(ties="stable"),
    "evaluate, missing skipped": lambda: evaluated(missing="skip"),
    "evaluate, unjudged 2": lambda: evaluated(unjudged=2),
    "evaluate, unjudged dropped": lambda: evaluated(unjudged="drop"),
    "evaluate, ideal of the list": lambda: evaluated(ideal="list"),
    "evaluate, bounds": lambda: evaluated(["nDCG@10", D1], bounds=True),
    "evaluate_arrays": lambda: numbers(dl.evaluate_arrays(*scored_lists())),
    "evaluate_arrays, stable": lambda: numbers(
        dl.evaluate_arrays(*scored_lists(), {"a": D1, "b": D2}, ties="stable", normalise=False)
    ),
    # compare
    "compare": compared,
    "compare, baseline": lambda: compared(baseline="plain"),
    "compare, Benjamini and Hochberg": lambda: compared(["nDCG@10", D1], correction="bh"),
    "compare, bounds": lambda: compared(bounds=True),
    "compare, a language model": lambda: compared(llm=machine_judged()),
    "compare, the examples": examples_compared,
    "people": people,
    "gate, harm": gated,
    "gate, non-inferior": lambda: gated("non-inferior", -0.02),
    "gate, bounds": lambda: gated(bounds=True),
    "explain_values": explained,
    # coherence
    "coherence": lambda: coherent(SMALL_A, SMALL_B),
    "coherence, documents": lambda: coherent(D1, D2, DOCUMENTS),
    "coherence, margin": lambda: coherent(SMALL_A, SMALL_B, [2, 1, 1, 0, 0], 0.1),
    "disagreement": lambda: disagreement(SMALL_A, SMALL_B),
    "disagreement, documents": lambda: disagreement(D1, D2, DOCUMENTS),
    "disagreement, sampled": lambda: disagreement(DEEP_A, DEEP_B, n_pairs=20000),
    "disagreement_matrix": lambda: parts(
        dl.coherence.disagreement_matrix({"a": SMALL_A, "b": SMALL_B, "c": "nDCG@3"}), "share"
    ),
    "rankings": rankings,
    "systems": order,
    # learn
    "learn": lambda: fitted(example()),
    "learn, logistic": lambda: fitted(example(), loss="logistic"),
    "learn, no zero": lambda: fitted(log_of("gaps", 200), loss="robust", zero="none"),
    "learn, zero 1": lambda: fitted(example(), loss="robust", zero=1),
    "learn, free discounts": lambda: fitted(example(), loss="robust", discounts="free"),
    "learn, prior": lambda: fitted(example()[:60], loss="robust", prior="nDCG"),
    "learn, ridge 0.1": lambda: fitted(example()[:60], loss="robust", ridge=0.1),
    "learn, depth": lambda: fitted(example()[:80], depth=6),
    "learn, warm": warm,
    "learn, a machine": with_machine,
    # trust
    "bands": lambda: bands(example()),
    "compare_learners": held_out,
    "noise_ceiling": ceiling,
    "rater_agreement": lambda: agreement_of_raters(log_of("everything", 200)),
    "rater_agreement, pairs recur": lambda: agreement_of_raters(recurring()),
    "rater_agreement, sides": lambda: agreement_of_raters(recurring(swapped=True)),
    "choose_C": lambda: parts(dl.trust.choose_C(example()[:200]), "C", "grid", "mean", "error"),
    "segment_test": lambda: segments("everything", "segment"),
    "segment_test, raters": lambda: segments("raters", "rater"),
    "position_dependence": lambda: parts(
        dl.trust.position_dependence(example()[:200], n_resamples=19),
        "statistic",
        "p_value",
        "df",
        "null",
    ),
    "suggest_pairs": asked_pairs,
    "what_if": what_decides,
    "audit": audited,
    "agreement and visibility": agreement,
    "similarity": similarities,
    # metrics, exports, joins, losses
    "textbook DCGs": standard,
    "metrics of lists": of_lists,
    "exports": exported,
    "exported programs": programs,
    "joins": joined,
    "soft_ranks": lambda: numbers(dl.losses.soft_ranks(scored_lists()[1], 5.0)),
    **{f"loss, {name}": partial(loss, name) for name in frozen_models.LOSSES},
}
"""The calls by name."""

SLOW = {
    *("learn, a machine", "compare_learners", "choose_C"),
    *("segment_test", "segment_test, raters", "what_if", "audit"),
}
"""Calls that take two seconds or more; `make long` compares them."""


def result_of(name: str) -> dict[str, Any]:
    """Return the numbers of a call, or the class of its error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return CALLS[name]()
        except dl.InputError as error:
            return {"raises": type(error).__name__}
