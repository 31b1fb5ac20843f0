"""Values from elsewhere and functions: the conventions that explain them are found, in files of
many forms; what is missing or wrong is said.
"""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest

import dcglearn as dl
from dcglearn.evaluation.conventions import defined_values
from dcglearn.evaluation.explained_values import explain_values
from tests.makers import refused, write_trec
from tests.tables import table

RNG = np.random.default_rng(4)
JUDGED = {
    f"q{i:02}": {f"d{j}": int(RNG.choice([0, 0, 1, 2, 3])) for j in range(9)} for i in range(24)
}
JUDGED["q23"] = dict.fromkeys(JUDGED["q23"], 0)
RUN = {
    q: {f"d{j}": float(RNG.integers(0, 4)) for j in RNG.permutation(12)[: 3 + 2 * (i % 5)]}
    for i, q in enumerate(JUDGED)
}  # d9, d10, d11: not judged


def by_hand(gain=lambda g: g, discount=lambda i: np.log2(i + 1), k=4, ideal="all", empty=0.0):
    """Return nDCG as people write it: a loop over queries, a sort and two sums."""
    values = {}
    for q, scores in RUN.items():
        ranked = sorted(sorted(scores, reverse=True), key=scores.get, reverse=True)
        gains = [gain(JUDGED[q].get(d, 0)) for d in ranked]
        pool = {"all": [gain(g) for g in JUDGED[q].values()], "top": gains[:k]}.get(ideal)
        if ideal == "returned":
            pool = sorted(map(gain, JUDGED[q].values()))[-len(scores) :]
        dcg, best = (
            sum(g / discount(i) for i, g in enumerate(part[:k], 1))
            for part in (gains, sorted(pool, reverse=True))
        )
        values[q] = dcg / best if best else empty
    return values


@table(
    ("settings", "words"),
    [
        ({"gain": lambda g: 2**g - 1}, ["gain 2^g - 1 (exponential) in place of gain g (linear)"]),
        (
            {"discount": lambda i: np.log2(i + 2)},
            ["discount 1/log2(i + 2), off by one in place of discount 1/log2(i + 1) (log2)"],
        ),
        (
            {"ideal": "returned"},
            ["an ideal as long as the returned list in place of the ideal of all judged documents"],
        ),
        (
            {"empty": 1.0},
            [
                "1 for a query without a relevant document in place of 0 for a query without a "
                "relevant document"
            ],
        ),
        (
            {"gain": lambda g: 2**g - 1, "ideal": "top", "k": 3},
            ["gain 2^g - 1", "cut-off 3 in place of cut-off 4", "documents above the cut-off in"],
        ),
    ],
)
def test_values_made_by_hand_are_explained_by_the_fewest_changes(settings, words):
    found = explain_values(by_hand(**settings), JUDGED, {"mine": RUN}, "nDCG@4")
    assert found.explained and found.n_agreeing < found.n == 24
    [change] = found.changes
    assert [word in change for word in words] == [True] * change.count(" in place of ")
    assert found.sentence.endswith(f", but with all by {change}")
    assert found.table["convention"].to_list() == ["nDCG@4 as it is", change]
    assert found.table["agreeing"].to_list() == [found.n_agreeing, 24]


@table("name", ["linear-log2@4", "exponential-letor@6"])
def test_definitions_have_the_values_of_evaluate(name):
    judged, [run] = dl.read_judgements(JUDGED), dl.read_runs({"mine": RUN})
    settings = {
        "ties in the order of the file": {"ties": "stable"},
        "tied documents that share": {"ties": "average"},
        "unjudged documents left out": {"unjudged": "drop"},
        "the ideal of the run's own documents": {"ideal": "list"},
        "no division by an ideal": {"normalise": False},
        "1 for a query": {"empty": 1.0},
    }
    own = dl.metric(name, judged.n_grades)
    for changes, values in defined_values(judged, run, own):
        if len(changes) > 1:
            break
        for word in [word for word in settings if changes and changes[0].startswith(word)]:
            right = dl.evaluate(judged, run, own, **settings.pop(word)).values[0, 0]
            np.testing.assert_allclose(values, right, rtol=1e-12)
    assert not settings


def test_values_that_agree_need_no_explanation_and_others_may_have_none():
    rounded = {q: round(value, 3) for q, value in by_hand().items()}
    assert (
        explain_values(rounded, JUDGED, {"mine": RUN}, "nDCG@4").sentence
        == "nDCG@4 agrees with 24 of 24 values to 0.0005"
    )
    wrong = {q: float(x) for q, x in zip(RUN, np.random.default_rng(0).random(24), strict=True)}
    found = explain_values(wrong, JUDGED, {"mine": RUN}, "nDCG@4")
    assert not found.explained and "no change of conventions that was tried" in str(found)
    furthest = max(RUN, key=lambda q: abs(by_hand()[q] - wrong[q]))
    row = found.table.row(0, named=True)
    assert (row["query"], row["there"]) == (furthest, wrong[furthest])
    assert row["here"] == pytest.approx(by_hand()[furthest])


def test_a_change_that_changes_nothing_is_not_named():
    # the logarithm's base cancels, and two grades have one gain
    judged = {q: {d: min(grade, 1) for d, grade in grades.items()} for q, grades in JUDGED.items()}
    values = dl.evaluate(judged, {"mine": RUN}, "linear-letor@4").values[0, 0]
    found = explain_values(
        dict(zip(sorted(RUN), values.tolist(), strict=True)), judged, {"mine": RUN}, "nDCG@4"
    )
    assert found.explained and all(
        change.startswith("discount 1/log2(i) from rank 2 on (letor) in place of")
        and "and" not in change
        for change in found.changes
    )


def test_a_metric_of_ones_own_is_compared_too():
    own = dl.DCG([0, 0.1, 0.3, 1], [1, 0.8, 0.1, 0.05])
    found = explain_values(by_hand(), JUDGED, {"mine": RUN}, own)
    assert found.changes == (
        "gain g (linear) in place of the metric's own gain, "
        "and discount 1/log2(i + 1) (log2) in place of the metric's own discount",
    )


def ndcg(grades, k=10, judged=None, *, gain=lambda g: g, shift=1, pool=None, empty=0.0):
    """Return nDCG as people write it, with the bugs of the arguments."""

    def dcg(part):
        return sum(gain(g) / np.log2(i + shift) for i, g in enumerate(part[:k], 1))

    best = dcg(sorted(grades, reverse=True) if pool is None else pool(grades, k, judged))
    return dcg(grades) / best if best else empty


FUNCTIONS = {
    "gain 2^g - 1 (exponential)": lambda grades, k: ndcg(grades, k, gain=lambda g: 2**g - 1),
    "discount 1/log2(i + 2), off by one": lambda grades, k: ndcg(grades, k, shift=2),
    "the ideal of the run's documents above the cut-off": lambda grades, k: ndcg(
        grades, k, pool=lambda grades, k, _: sorted(grades[:k], reverse=True)
    ),
    "an ideal as long as the returned list": lambda grades, k, judged: ndcg(
        grades, k, judged, pool=lambda grades, _, judged: sorted(judged)[::-1][: len(grades)]
    ),
    "the ideal of the run's own documents": ndcg,
    "nan for a query": lambda grades, k: ndcg(grades, k, empty=np.nan),
    "1 for a query": lambda grades, k: ndcg(grades, k, empty=1.0),
    "no cut-off": lambda grades: ndcg(grades, None),
}


@table("convention", FUNCTIONS)
@table("metric", ["nDCG@3", "nDCG@10"])
def test_the_convention_of_a_function_is_named(convention, metric):
    found = explain_values(FUNCTIONS[convention], metric=metric)
    assert found.explained and found.changes[0].startswith(convention)


def test_a_function_may_divide_by_zero_follow_all_or_nothing():
    def without_guard(grades, k):
        dcg = sum((2**g - 1) / np.log2(i + 1) for i, g in enumerate(grades[:k], 1))
        top = sorted(grades[:k], reverse=True)
        return float(dcg) / float(sum((2**g - 1) / np.log2(i + 1) for i, g in enumerate(top, 1)))

    def right(grades, k):
        return ndcg(grades, k)

    found = explain_values(without_guard, metric="nDCG@3")
    assert found.explained and found.changes[0].count(" in place of ") == 3
    assert explain_values(right, metric="nDCG@3").changes == ()
    assert not explain_values(lambda grades, k: grades[0] / 3).explained


SHEET = {q: round(value, 4) for q, value in by_hand().items()}
FILES = {
    "sheet.csv": "\ufeffQuery;NDCG\n" + "".join(f"{q};{v}\n" for q, v in SHEET.items()),
    "wide.csv": "topic,P_5,ndcg_cut_4,MAP\n"
    + "".join(f"{q},0.2,{v},0.3\n" for q, v in SHEET.items()),
    "pyterrier.csv": "name,qid,measure,value\n"
    + "".join(f"mine,{q},nDCG@4,{v}\n" for q, v in SHEET.items()),
    "trec_eval.txt": "".join(
        f"map      \t{q}\t0.3\nndcg_cut_4 \t{q}\t{v}\n" for q, v in SHEET.items()
    )
    + "runid   \tall\tmine\nmap \tall\t0.3\n",
    "pytrec_eval.json": json.dumps(
        {q: {"map": 0.3, "ndcg_cut_4": v} for q, v in SHEET.items()}, indent=1
    ),
    "ours.tsv": "run\tquery_id\tmeasure\tvalue\n"
    + "".join(f"mine\t{q}\tnDCG@4\t{v}\n" for q, v in SHEET.items()),
}


@table("name", FILES)
def test_files_of_many_forms_hold_the_same_values(tmp_path, name):
    (tmp_path / name).write_text(FILES[name])
    found = explain_values(tmp_path / name, JUDGED, {"mine": RUN}, "nDCG@4")
    assert (found.n_agreeing, found.n, found.notes) == (24, 24, ())


def test_frames_and_dictionaries_hold_the_same_values():
    measured = {"query_id": list(SHEET), "measure": "nDCG@4", "value": list(SHEET.values())}
    frames = (
        pd.DataFrame(measured),
        pl.DataFrame({"query": list(SHEET), "x": SHEET.values()}),
        {q: {"map": 0.3, "ndcg_cut_4": v} for q, v in SHEET.items()},
    )
    for frame in frames:
        assert explain_values(frame, JUDGED, {"mine": RUN}, "nDCG@4").n_agreeing == 24


def test_queries_without_a_value_or_a_judgement_are_told():
    runs = {"mine": {q: RUN[q] for q in sorted(RUN)[:20]}}
    values = {q: SHEET[q] for q in runs["mine"]} | {"mean": 0.5, "other": 0.5, "q20": None}
    found = explain_values(values, JUDGED, runs, "nDCG@4")
    assert found.n == 20 and found.notes == (
        "left out, as they lack a value or judgements: mean, other, q20, q21, q22, q23",
    )
    # a query that the run lacks counts 0
    zero = explain_values({**values, **dict.fromkeys(sorted(RUN)[20:], 0)}, JUDGED, runs, "nDCG@4")
    assert zero.n_agreeing == zero.n == 24


@table(
    ("text", "words"),
    [
        ("\n\n", "is empty; expected one value a line"),
        ("query,ndcg\nq00,much\n", "'much' is not a number"),
        ("query,ndcg\nq00,0.1\nq00,0.2\n", "the query 'q00' occurs twice"),
        ("query,ndcg\nx1,0.1\n", "no value of a judged query: q00, q01"),
        ("query,one,two\nq00,0.1,3\n", "values of one, two, but not of nDCG@4; keep one measure"),
        ("q00 0.1\nq01 0.2\n", "no .query. "),
        ("query,measure,value\nq00,AP,0.1\nq00,RR,0.1\n", "values of AP, RR, but not of nDCG@4"),
    ],
)
def test_values_that_cannot_be_used_are_refused(tmp_path, text, words):
    (tmp_path / "values.csv").write_text(text)
    refused(words, explain_values, tmp_path / "values.csv", JUDGED, {"mine": RUN}, "nDCG@4")


@table(
    ("runs", "metric"),
    [
        ({"mine": RUN}, "ERR@5"),
        ({"mine": RUN}, ["nDCG@4", "nDCG@5"]),
        ({"a": RUN, "b": RUN}, "nDCG@4"),
    ],
)
def test_one_run_and_one_dcg_are_explained(runs, metric):
    refused("for one run and one DCG, not for", explain_values, SHEET, JUDGED, runs, metric)


def test_the_command_explains_in_one_line(dcglearn, misuse, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_trec(tmp_path, JUDGED, {"mine": RUN})
    exponential = by_hand(gain=lambda g: 2**g - 1)
    (tmp_path / "values.csv").write_text(
        "query,ndcg\n" + "".join(f"{q},{v}\n" for q, v in exponential.items())
    )
    call = ("evaluate", "qrels.txt", "mine.txt", "--metric", "nDCG@4", "--against", "values.csv")
    status, out, err = dcglearn(*call)
    assert (status, err) == (0, "") and "but with all by gain 2^g - 1 (exponential)" in out
    misuse("leave out -q", *call, "-q")
    misuse("--raw, --ties", *call, "--ties", "stable")
    misuse("values.csv", *call, "-o", "values.csv")
