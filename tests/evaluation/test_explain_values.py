"""Values from elsewhere: every convention is found, in files of many forms; what is missing or
wrong is said.
"""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import dcglearn as dl
from dcglearn.evaluation import conventions as module
from dcglearn.evaluation.conventions import (
    changes_of,
    definition_of,
    differences,
    explain_values,
    valued,
)
from dcglearn.evaluation.tables import read_judgements, read_runs
from dcglearn.metrics.reading import metric as read_metric
from tests.makers import refused, write_trec

RNG = np.random.default_rng(4)
JUDGED = {
    f"q{i:02}": {f"d{j}": int(RNG.choice([0, 0, 1, 2, 3])) for j in range(9)} for i in range(24)
}
JUDGED["q23"] = dict.fromkeys(JUDGED["q23"], 0)
RUN = {
    q: {f"d{j}": float(RNG.integers(0, 4)) for j in RNG.permutation(12)} for q in JUDGED
}  # d9, d10, d11: not judged


def by_hand(gain=lambda g: g, discount=lambda i: np.log2(i + 1), k=4, ideal="all", empty=0.0):
    """Return nDCG as people write it: a loop over queries, a sort and two sums."""
    values = {}
    for q, scores in RUN.items():
        ranked = sorted(sorted(scores, reverse=True), key=scores.get, reverse=True)
        gains = [gain(JUDGED[q].get(d, 0)) for d in ranked]
        pool = {"all": [gain(g) for g in JUDGED[q].values()], "top": gains[:k]}[ideal]
        dcg, best = (
            sum(g / discount(i) for i, g in enumerate(part[:k], 1))
            for part in (gains, sorted(pool, reverse=True))
        )
        values[q] = dcg / best if best else empty
    return values


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"gain": lambda g: 2**g - 1}, "gain 2^g - 1 (exponential) in place of gain g (linear)"),
        (
            {"discount": lambda i: np.log2(i + 2)},
            "discount 1/log2(i + 2), off by one in place of discount 1/log2(i + 1)",
        ),
        ({"discount": lambda i: np.log2(max(i, 2))}, "discount 1/log2(i) from rank 2 on (letor)"),
        ({"ideal": "top"}, "the ideal of the run's documents above the cut-off"),
        ({"k": 3}, "cut-off 3 in place of cut-off 4"),
        ({"empty": 1.0}, "1 for a query without a relevant document in place of 0"),
        (
            {"gain": lambda g: 2**g - 1, "ideal": "top"},
            "(linear), and the ideal of the run's documents above",
        ),
        (
            {"discount": lambda i: np.log2(i + 2), "k": 5},
            "in place of discount 1/log2(i + 1) (log2), and cut-off 5",
        ),
    ],
)
def test_hand_made_values_are_explained(settings, words):
    found = explain_values(by_hand(**settings), JUDGED, {"mine": RUN}, "nDCG@4")
    assert found.explained and found.n_agreeing < found.n == 24
    assert words in found.changes[0]
    assert found.sentence.endswith(f", but all agree with {found.changes[0]}")
    assert found.table["convention"].to_list() == ["nDCG@4 as it is", *found.changes]
    assert found.table["agreeing"].to_list() == [found.n_agreeing, *[24] * len(found.changes)]


def test_values_that_agree_need_no_explanation():
    rounded = {q: round(value, 3) for q, value in by_hand().items()}
    assert (
        explain_values(rounded, JUDGED, {"mine": RUN}, "nDCG@4").sentence
        == "24 of 24 values agree with nDCG@4 to 0.0005"
    )
    wrong = {q: float(x) for q, x in zip(RUN, np.random.default_rng(0).random(24), strict=True)}
    found = explain_values(wrong, JUDGED, {"mine": RUN}, "nDCG@4")
    assert not found.explained and "one or two changes of convention do not explain" in str(found)
    furthest = max(RUN, key=lambda q: abs(by_hand()[q] - wrong[q]))
    row = found.table.row(0, named=True)
    assert (row["query"], row["there"]) == (furthest, wrong[furthest])
    assert row["here"] == pytest.approx(by_hand()[furthest])


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("linear-log2@4", {}),
        ("exponential-letor@6", {"normalise": False, "ties": "stable", "unjudged": "drop"}),
    ],
)
def test_every_single_change_is_found(name, settings, monkeypatch):
    monkeypatch.setattr(module, "MOST_SEARCHED", 12)  # the other queries confirm what these say
    judged, runs = read_judgements(JUDGED), read_runs({"mine": RUN})
    own = read_metric(name, judged.n_grades)
    start = definition_of(own, **settings)
    tried = valued([{**start, **change} for change in changes_of(start, 12)], runs, judged, own)
    assert len(tried) > 25
    for way, values in tried:
        found = explain_values(
            dict(zip(sorted(RUN), values[0].tolist(), strict=True)), judged, runs, own, **settings
        )
        assert found.explained and (
            found.n_agreeing == found.n or differences(way, start) in found.changes
        ), way


def test_binary_judgements_have_fewer_conventions():
    judged = {q: {d: min(grade, 1) for d, grade in grades.items()} for q, grades in JUDGED.items()}
    values = dl.evaluate(judged, {"mine": RUN}, "linear-letor@3").values[0, 0]
    found = explain_values(
        dict(zip(sorted(RUN), values.tolist(), strict=True)), judged, {"mine": RUN}, "nDCG@4"
    )
    assert found.explained and found.changes[0].startswith(
        "discount 1/log2(i) from rank 2 on (letor)"
    )


def test_a_metric_of_ones_own_is_compared_too():
    own = dl.DCG([0, 0.1, 0.3, 1], [1, 0.8, 0.1, 0.05])
    found = explain_values(by_hand(), JUDGED, {"mine": RUN}, own)
    assert found.changes[0] == (
        "gain g (linear) in place of the metric's own gain, "
        "and discount 1/log2(i + 1) (log2) in place of the metric's own discount"
    )


SHEET = {q: round(value, 4) for q, value in by_hand().items()}
MEAN = round(float(np.mean(list(SHEET.values()))), 4)
FILES = {
    "sheet.csv": "\ufeffQuery;NDCG\n"
    + "".join(f"{q};{v}\n".replace(".", ",") for q, v in SHEET.items()),
    "series.csv": ",ndcg\n" + "".join(f"{q},{v}\n" for q, v in SHEET.items()),
    "wide.csv": "topic,P_5,ndcg_cut_4,MAP\n"
    + "".join(f"{q},0.2,{v},0.3\n" for q, v in SHEET.items()),
    "pyterrier.csv": "name,qid,measure,value\n"
    + "".join(f"mine,{q},nDCG@4,{v}\n" for q, v in SHEET.items()),
    "trec_eval.txt": "".join(
        f"map      \t{q}\t0.3\nndcg_cut_4 \t{q}\t{v}\n" for q, v in SHEET.items()
    )
    + f"runid   \tall\tmine\nmap \tall\t0.3\nndcg_cut_4 \tall\t{MEAN}\n",
    "ir_measures.txt": "".join(f"{q}\tnDCG@4\t{v}\n" for q, v in SHEET.items())
    + f"all\tnDCG@4\t{MEAN}\n",
    "bare.csv": "".join(f"{q};{v}\n".replace(".", ",") for q, v in SHEET.items()),
    "saved.jsonl": "".join(f'{{"query": "{q}", "value": {v}}}\n' for q, v in SHEET.items()),
    "ours.tsv": "run\tquery_id\tmeasure\tvalue\n"
    + "".join(f"mine\t{q}\tnDCG@4\t{v}\n" for q, v in SHEET.items()),
}


@pytest.mark.parametrize("name", FILES)
def test_files_of_many_forms_hold_the_same_values(tmp_path, name):
    (tmp_path / name).write_text(FILES[name])
    found = explain_values(tmp_path / name, JUDGED, {"mine": RUN}, "nDCG@4")
    assert (found.n_agreeing, found.n, found.explained) == (24, 24, True)
    is_mean = any("is that of the values" in note for note in found.notes)
    assert is_mean == ("all" in FILES[name])


def test_frames_hold_the_same_values():
    series = pd.Series(SHEET, name="ndcg")
    frames = (
        series,
        series.rename_axis("qid").to_frame(),
        pl.DataFrame({"query": list(SHEET), "x": SHEET.values()}),
    )
    for frame in frames:
        assert explain_values(frame, JUDGED, {"mine": RUN}, "nDCG@4").n_agreeing == 24


def test_missing_queries_and_means_are_told(tmp_path):
    runs = {"mine": {q: RUN[q] for q in sorted(RUN)[:20]}}
    values = {q: SHEET[q] for q in runs["mine"]}
    mean_of_all = sum(values.values()) / 24
    found = explain_values({**values, "mean": mean_of_all, "other": 0.5}, JUDGED, runs, "nDCG@4")
    assert found.notes == (
        "left out, as they are not judged: other",
        "no value of 4 judged queries of mine, which the run does not have (--missing skip)",
        f"the mean {mean_of_all:g} of mine counts 4 judged queries as 0",
    )
    found = explain_values(
        {**values, "all": mean_of_all * 24 / 20, "q20": "-"}, JUDGED, runs, "nDCG@4"
    )
    assert found.n == 20 and found.notes[-1].endswith("is that of the values")
    zero = explain_values({**values, **dict.fromkeys(sorted(RUN)[20:], 0)}, JUDGED, runs, "nDCG@4")
    assert (zero.n_agreeing, zero.notes) == (24, ())
    assert (
        explain_values({**values, "all": 0.9}, JUDGED, runs, "nDCG@4")
        .notes[-1]
        .endswith("is not that of the values")
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("\n\n", "is empty; expected one value a line"),
        ("query,ndcg\nq00,much\n", "row 1: the value 'much' is not a number"),
        ("query,ndcg\nq00,0.1\nq00,0.2\n", "row 2: the query 'q00' occurs twice"),
        ("query,ndcg\nq00,0.1,3\n", "more fields than defined"),
        ("query,ndcg\nx1,0.1\n", "no value of a judged query, such as q00; found x1"),
        (
            "query,one,two\nq00,0.1,3\n",
            "no .value. .value score.; found query, one, two; rename the columns",
        ),
        ("q00 0.1\nq01 0.2\n", "no .query. .*rename the columns"),
        ("ndcg,map,p\n1,0.1,3\n", "no .value. .*; found ndcg, map, p"),
        ("query,measure,value\nq00,AP,0.1\nq00,RR,0.1\n", "values of AP, RR, but not of nDCG@4"),
        ("query,run,value\nq00,a,0.1\nq00,b,0.1\n", "values of a, b, where the runs are mine"),
    ],
)
def test_values_that_cannot_be_used_are_refused(tmp_path, text, words):
    (tmp_path / "values.csv").write_text(text)
    refused(words, explain_values, tmp_path / "values.csv", JUDGED, {"mine": RUN}, "nDCG@4")


def test_other_calls_are_refused():
    refused(
        "for one DCG or NDCG, not for ERR", explain_values, SHEET, JUDGED, {"mine": RUN}, "ERR@5"
    )
    refused(
        "not for nDCG@4, nDCG@5", explain_values, SHEET, JUDGED, {"mine": RUN}, ["nDCG@4", "nDCG@5"]
    )
    first = {"m": {"q00": RUN["q00"]}}
    refused(
        "the queries of the values: run m has no query of the 1 that are judged",
        explain_values,
        {"q01": 0.5},
        JUDGED,
        first,
    )
    both = {"a": {"q00": RUN["q00"]}, "b": {"q01": RUN["q01"]}}
    by_run = pl.DataFrame({"run": ["a"], "query": ["q00"], "value": [0.9]})
    assert explain_values(by_run, JUDGED, both).n == 1  # b has no values and no query of theirs
    refused(
        "a list is no log: give a path, a data frame", explain_values, [0.1], JUDGED, {"mine": RUN}
    )
    refused(
        "values of no run, where the runs are a, b",
        explain_values,
        SHEET,
        JUDGED,
        {"a": RUN, "b": RUN},
    )


def test_the_command_explains_in_one_line(dcglearn, misuse, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_trec(tmp_path, JUDGED, {"mine": RUN})
    exponential = by_hand(gain=lambda g: 2**g - 1)
    (tmp_path / "values.csv").write_text(
        "query,ndcg\n" + "".join(f"{q},{v}\n" for q, v in exponential.items())
    )
    call = ("evaluate", "qrels.txt", "mine.txt", "--metric", "nDCG@4", "--against", "values.csv")
    status, out, err = dcglearn(*call)
    assert (status, err) == (0, "") and "but all agree with gain 2^g - 1 (exponential)" in out
    misuse("leave out -q", *call, "-q")
    misuse("values.csv", *call, "-o", "values.csv")
