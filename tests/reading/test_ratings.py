"""Rated lists against the expansion of every pair of lines."""

import csv
import json
from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dcglearn.reading import ratings
from dcglearn.reading.read import read_ratings
from tests.makers import columns, quick, refused, write

RATED = '{"list": [3, 2], "rating": 4}\n'


def expanded(rows, grouped, equal_groups):
    """Every pair of lines, one by one; a weight is a count of lines."""
    pairs, equal_lists, equal_rating, groups = Counter(), 0, 0, set()
    lines = [row for row in rows for _ in range(row[3])]
    for i, (one, r, g, _) in enumerate(lines):
        groups.add(g)
        for other, s, h, _ in lines[:i]:
            if grouped and g != h:
                continue
            if r == s:
                equal_rating += 1
            elif one == other:
                equal_lists += 1
            else:
                pairs[(g if grouped else "", *((one, other) if r > s else (other, one)))] += 1
    counts = {"pairs of equal lists": equal_lists, "pairs rated equally": equal_rating}
    if grouped:
        counts["groups without a pair"] = len(groups - {key[0] for key in pairs})
    if equal_groups:
        total = Counter()
        for key, weight in pairs.items():
            total[key[0]] += weight
        pairs = {key: weight / total[key[0]] for key, weight in pairs.items()}
    return dict(pairs), {name: count for name, count in counts.items() if count}


RATED_LISTS = st.tuples(st.integers(-1, 1), st.integers(0, 1))
ROW = st.tuples(
    RATED_LISTS, st.sampled_from([1, 2.5, 3, -1]), st.sampled_from("xyz"), st.integers(1, 3)
)
ROWS = st.lists(ROW, min_size=1, max_size=12)


@quick
@given(ROWS, st.booleans(), st.booleans())
def test_ratings_equal_the_expansion(tmp_path, rows, grouped, equal_groups):
    equal_groups = equal_groups and grouped
    texts = [
        json.dumps({"list": grades, "rating": r, "weight": n} | ({"group": g} if grouped else {}))
        for grades, r, g, n in rows
    ]
    path = write(tmp_path, "x.jsonl", "\n".join(texts))
    pairs, dropped = expanded(rows, grouped, equal_groups)
    if not pairs:
        refused("so no list is preferred to another", read_ratings, path, equal_groups=equal_groups)
        return
    log = read_ratings(path, equal_groups=equal_groups)
    raters = [""] * len(log) if log.rater is None else log.rater.tolist()
    keys = zip(
        raters, map(tuple, log.preferred.tolist()), map(tuple, log.other.tolist()), strict=True
    )
    found = dict(zip(keys, log.weight.tolist(), strict=True))
    assert len(found) == len(log)
    assert found == pytest.approx(pairs)
    assert log.dropped == dropped
    assert log.n_grades == max(0, *(max(row[0]) for row in rows)) + 1


def test_ratings_formats_and_aliases(tmp_path):
    expected = columns(
        read_ratings(write(tmp_path, "x.jsonl", RATED + '{"list": [1, 2], "rating": 2.5}\n'))
    )
    assert expected["preferred"] == [[3, 2]]
    assert (
        columns(read_ratings(write(tmp_path, "x.csv", "Grades,SCORE\n3 2,4\n1 2,2.5\n")))
        == expected
    )
    assert (
        columns(
            read_ratings(write(tmp_path, "x.tsv", "results\tsatisfaction\n[3, 2]\t4\n1,2\t2.5\n"))
        )
        == expected
    )
    pl.DataFrame({"list": [[3, 2], [1, 2]], "rating": [4.0, 2.5]}).write_parquet(
        tmp_path / "x.parquet"
    )
    assert columns(read_ratings(tmp_path / "x.parquet")) == expected


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (RATED * 3, {}, "x.jsonl: no two different lists of one group have different ratings"),
        (RATED, {"equal_groups": True}, "equal_groups needs a group on every line"),
        (RATED + '{"list": [1, 1], "rating": null}\n', {}, "row 2: rating is missing"),
        (RATED + '{"list": [1, 1], "rating": "many"}\n', {}, "row 2: rating is 'many'"),
        (RATED + '{"list": [1, 1], "rating": 1e999}\n', {}, "x.jsonl cannot be read"),
    ],
)
def test_bad_ratings(tmp_path, text, options, message):
    refused(message, read_ratings, write(tmp_path, "x.jsonl", text), **options)


def test_too_many_pairs_are_refused_in_words(tmp_path, monkeypatch):
    monkeypatch.setattr(ratings, "MAX_PAIRS", 2)
    text = "list,rating\n" + "".join(f"{i},{i}\n" for i in range(3))
    refused(
        r"up to 3 distinct pairs, more than 2; compare within groups",
        read_ratings,
        write(tmp_path, "x.csv", text),
    )


@pytest.mark.parametrize(
    ("name", "n_grades", "lists", "pairs", "weight"),
    [("fsd_train", 5, 339, 52_130, 3_643_797), ("qref_train", 4, 397, 79_013, 17_558_673)],
)
def test_tiangong(shared, tmp_path, name, n_grades, lists, pairs, weight):
    text = (shared / "tiangong_satisfaction" / f"{name}.txt").read_text()
    rows = [row.split("\t") for row in text.splitlines()]
    text = "".join(f'{{"list": {row[2]}, "rating": {row[3]}}}\n' for row in rows)
    log = read_ratings(write(tmp_path, "x.jsonl", text), n_grades=n_grades)
    assert (len(log), log.total_weight) == (pairs, weight)
    assert len(np.unique(np.concatenate([log.preferred, log.other]), axis=0)) == lists
    assert log.total_weight + sum(log.dropped.values()) == len(rows) * (len(rows) - 1) / 2


def test_pathak(shared, tmp_path):
    path = shared / "pathak_chiir24_satisfaction" / "derived_lists_core18grades.tsv"
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    text = "group\tlist\trating\n" + "".join(
        f"{r['user']}/{r['topic']}\t{r['grades_by_displayed_rank']}\t{r['feedback_1to6']}\n"
        for r in rows
    )
    log = read_ratings(write(tmp_path, "x.tsv", text), n_grades=3, depth=10, pad=True)
    assert (log.depth, log.n_grades) == (10, 3)
    assert set(log.rater) <= {f"{r['user']}/{r['topic']}" for r in rows}
    even = read_ratings(tmp_path / "x.tsv", n_grades=3, depth=10, pad=True, equal_groups=True)
    assert even.total_weight == pytest.approx(len(set(even.rater)))
