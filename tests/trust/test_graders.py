"""Which grades people's verdicts follow: shares, differences, coverage and sentences."""

from collections import Counter
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import dcglearn as dl
from dcglearn.foundation.intervals import mean_and_error, student_interval
from dcglearn.trust import graders
from dcglearn.trust.graders import compare_graders, graders_of
from dcglearn.trust.held_out import best_textbook
from dcglearn.trust.resampling import folds
from tests.makers import refused


def study(rng, n_users=20, each=10, n_queries=30, n_documents=10, rated=True):
    """Return true grades, and thumbs or verdicts of users who average what a list holds."""
    grades = rng.choice(4, (n_queries, n_documents), p=[0.4, 0.3, 0.2, 0.1])
    rows = []
    for user in range(n_users):
        for query in rng.choice(n_queries, each, replace=False).tolist():
            sides = [rng.choice(n_documents, rng.integers(2, 6), replace=False) for _ in "ab"]
            worth = [grades[query][side].mean() + rng.logistic(0, 0.15) for side in sides]
            docs = [[f"d{document}" for document in side] for side in sides]
            row = {"query": f"q{query}", "user": f"u{user}"}
            if rated:
                rows.append({**row, "docs": docs[0], "rating": "up" if worth[0] > 1 else "down"})
            else:
                winner = "ab"[int(worth[1] > worth[0])]
                rows.append({**row, "docs_a": docs[0], "docs_b": docs[1], "winner": winner})
    return grades, rows


def labels(grades, kept=1.0, rng=None):
    """Return a table of grades by query and document, a share of them."""
    rows = [
        {"query": f"q{query}", "doc": f"d{document}", "grade": int(grade)}
        for (query, document), grade in np.ndenumerate(grades)
        if rng is None or rng.random() < kept
    ]
    return pl.DataFrame(rows)


def noisy(grades, error, rng):
    """Return grades of which a share is random."""
    return np.where(rng.random(grades.shape) < error, rng.integers(0, 4, grades.shape), grades)


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(True, id="thumbs", marks=pytest.mark.long),
        pytest.param(False, id="verdicts"),
    ],
)
def compared(request):
    """A comparison of a careful grader, one who errs, and one who turns the scale around."""
    rng = np.random.default_rng(0)
    grades, rows = study(rng, rated=request.param)
    grades_of = {
        "careful": labels(grades),
        "careless": labels(noisy(grades, 0.7, rng)),
        "upside down": labels(3 - grades),
    }
    return compare_graders(rows, grades_of)


def test_the_careful_grader_is_followed_and_the_others_are_worse(compared):
    shares = dict(compared.table.select("grader", "share").rows())
    assert shares["careful"] > 0.8 > shares["careless"] + 0.1 > shares["upside down"] + 0.1
    assert compared.by == "rater" and compared.n_units == 20
    said = compared.sentence
    assert said.startswith("people follow careful's grades in ") and "a coin follows 50%" in said
    assert "careless is worse than careful (-" in said
    ends = compared.table.select("low", "high").to_numpy()
    assert (ends >= 0).all() and (ends <= 1).all()


def test_differences_are_those_of_the_shares_on_the_same_pairs(compared):
    shares, differ = compared.table["share"].to_numpy(), compared.differences
    np.testing.assert_allclose(differ.points, shares[:, None] - shares, atol=1e-12)
    np.testing.assert_allclose(differ.low, -differ.high.T)
    np.testing.assert_allclose(differ.of_100 + differ.of_100.T, 100 * (differ.apart > 0))
    above = differ.points > 0
    assert (differ.of_100[above & (differ.apart > 0)] > 50).all()


def test_intervals_hold_how_far_users_and_the_metrics_of_folds_differ(monkeypatch):
    rng = np.random.default_rng(7)
    grades, rows = study(rng, n_users=12, rated=False)
    judged = labels(noisy(grades, 0.3, rng))
    log = dl.read_preferences(dl.with_grades(rows, judged), 4, as_is=True).decided

    # another metric for each fold, and what it says of each verdict
    clusters = log.clusters("rater")
    parts = folds(clusters, 0)
    metrics = [dl.DCG(np.arange(4) ** power, 0.8 ** np.arange(5)) for power in (0.1, 1, 2, 3, 4)]
    left = iter(metrics)
    monkeypatch.setattr(graders, "_metric", lambda train: next(left))
    values = (np.array([log.verdicts(metric) for metric in metrics]) + 1) / 2
    held = np.empty(len(log))
    for (_, test), value in zip(parts, values, strict=True):
        held[test] = value[test]

    # errors of users and of metrics add up
    mean, error, n_units = mean_and_error(held, np.ones(len(log)), clusters)
    error = np.hypot(error, values.mean(axis=1).std(ddof=1))
    found = compare_graders(rows, {"one": judged}).table
    ends = student_interval(mean, error, n_units)[:2]
    np.testing.assert_allclose(found.select("share", "low", "high").row(0), [mean, *ends])


@pytest.fixture
def chosen(monkeypatch):
    """Take the best textbook for what verdicts teach, which is quick."""
    monkeypatch.setattr(graders, "_metric", lambda train: best_textbook(train)[1])


@pytest.mark.usefixtures("chosen")
def test_what_is_not_labelled_is_counted_and_costs():
    rng = np.random.default_rng(1)
    grades, rows = study(rng)
    grades_of = {"all": labels(grades), "some": labels(grades, 0.6, rng)}
    found = compare_graders(rows, grades_of)
    whole, part = found.table.to_dicts()
    assert whole["labelled"] == whole["both_labelled"] == 1
    assert 0.5 < part["labelled"] < 0.7 and part["both_labelled"] < 0.2
    assert part["share"] < whole["share"]
    said = f", of documents it labels {part['labelled']:.0%})"
    assert "some is worse than all (-" in found.sentence and said in found.sentence

    # not of a grader who is worse with as many labels
    many = found.table.with_columns(labelled=pl.lit(0.96))
    assert "it labels" not in replace(found, table=many).sentence


@pytest.mark.usefixtures("chosen")
def test_labels_of_chance_follow_nobody_and_the_sentence_says_so_first():
    rng = np.random.default_rng(2)
    grades, rows = study(rng)
    found = compare_graders(rows, {"chance": labels(rng.integers(0, 4, grades.shape))})
    assert found.sentence.startswith("no grades here are shown to follow these people: chance's")
    assert found.table["low"].item() < 0.5


@pytest.mark.usefixtures("chosen")
def test_a_grader_who_never_differs_follows_nobody_and_has_no_interval():
    rng = np.random.default_rng(2)
    grades, rows = study(rng)
    grades_of = {"chance": labels(rng.integers(0, 4, grades.shape)), "one": labels(0 * grades + 1)}
    rows = [{**row, "docs": row["docs"][:2]} for row in rows]
    said = compare_graders(rows, grades_of).sentence
    assert said.startswith("no grades here are shown") and "one's 50% (no interval)" in said


@pytest.mark.usefixtures("chosen")
def test_weights_and_segments_of_rated_lists_count():
    grades, rows = study(np.random.default_rng(8), n_users=12, each=8)
    twice = [{**row, "weight": 2 + i % 2} for i, row in enumerate(rows)]
    kinds = [{**row, "segment": "xy"[i % 2]} for i, row in enumerate(rows)]
    plain, heavy, parted = (compare_graders(x, {"a": labels(grades)}) for x in (rows, twice, kinds))
    assert plain.n_pairs == heavy.n_pairs > 1.5 * parted.n_pairs
    assert plain.table["share"].item() != heavy.table["share"].item()


@pytest.mark.usefixtures("chosen")
def test_grades_that_go_with_nobody_elses_are_remarked():
    rng = np.random.default_rng(3)
    grades, rows = study(rng, n_users=12, each=6)
    grades_of = {name: labels(noisy(grades, 0.3, rng)) for name in ("one", "two")}
    grades_of["shuffled"] = labels(rng.permutation(grades.ravel()).reshape(grades.shape))
    notes = compare_graders(rows, grades_of).notes
    assert "the grades of shuffled go with nobody else's" in notes[-1]


@pytest.mark.usefixtures("chosen")
def test_verdicts_that_recur_bound_what_any_metric_respects():
    rng = np.random.default_rng(7)
    grades, rows = study(rng, n_users=6, rated=False)
    again = [{**row, "winner": str(rng.choice(["a", "b"], p=[0.4, 0.6]))} for row in 3 * rows]
    found = compare_graders(again, {"own": labels(grades), "two": labels(grades // 2)})
    assert compare_graders(rows, {"own": labels(grades)}).ceiling is None

    # by hand: lists are what their grades are, best as most verdicts on two of them
    def key(row, side):
        listed = [grades[int(row["query"][1:])][int(name[1:])] for name in row[f"docs_{side}"]]
        return tuple(map(int, listed))

    verdicts = []
    for row in again:
        a, b = key(row, "a"), key(row, "b")
        if a != b:
            verdicts.append((min(a, b), max(a, b), (row["winner"] == "a") == (a < b)))
    for_first = Counter()
    for *pair, verdict in verdicts:
        for_first[tuple(pair)] += 1 if verdict else -1
    most = (len(verdicts) + sum(map(abs, for_first.values()))) / 2 / len(verdicts)
    ceiling = found.ceiling
    assert ceiling.n_units == len(verdicts)
    assert ceiling.above == pytest.approx(most) and ceiling.below < most
    assert f"no function of the grades more than {most:.1%}" in found.notes[-1]


def test_one_table_names_its_graders_in_a_column():
    grades = np.array([[0, 1]])
    parts = {"a": grades, "b": 1 - grades}
    both = pl.concat(labels(own).with_columns(judge=pl.lit(name)) for name, own in parts.items())
    found = graders_of(both)
    assert [*found] == ["a", "b"] and found["b"].frame["grade"].to_list() == [1.0, 0.0]
    assert [*graders_of(labels(grades))] == ["the data frame"]
    refused("no grader", graders_of, {})


@pytest.mark.usefixtures("chosen")
def test_scales_may_differ():
    rng = np.random.default_rng(4)
    grades, rows = study(rng)
    coarse = {"four": labels(grades), "two": labels((grades > 1).astype(int))}
    table = compare_graders(rows, coarse).table
    assert (table["share"] > 0.7).all()


def test_the_command_takes_a_file_for_each_grader(tmp_path, monkeypatch, capsys):
    from tests.makers import call

    rng = np.random.default_rng(5)
    grades, rows = study(rng, n_users=12, each=6)
    monkeypatch.chdir(tmp_path)
    frame = pl.DataFrame(rows).with_columns(pl.col("docs").list.join("|"))
    frame.write_csv("thumbs.csv")
    labels(grades).write_csv("one.csv")
    labels(noisy(grades, 0.6, rng)).write_csv("two.csv")
    command = ("audit", "thumbs.csv", "--labels", "one.csv", "--labels", "other=two.csv")
    status, out, _ = call(monkeypatch, capsys, *command)
    assert status == 0 and out.startswith("People follow one's grades in ") and "other" in out
    assert call(monkeypatch, capsys, *command, "-o", "graders.html")[0] == 0
    assert out.partition(";")[0] in (tmp_path / "graders.html").read_text().replace("&#39;", "'")

    # a cell that is no rating, by file and row
    frame[:50].with_columns(rating=pl.lit("sideways")).write_csv("odd.csv")
    words = call(monkeypatch, capsys, "audit", "odd.csv", "--labels", "one.csv")[2]
    assert "odd.csv, row 1: rating is 'sideways'" in words

    # names, and what does not go together
    status, _, words = call(monkeypatch, capsys, *command[:3], "one.csv", "--labels", "one.csv")
    assert status == 2 and "two graders have one name" in words
    runs = ("--run", "run.txt", "--qrels", "one.csv")
    status, _, words = call(monkeypatch, capsys, *command, *runs)
    assert status == 2 and "--labels compares graders alone" in words


@pytest.mark.usefixtures("chosen")
def test_columns_that_are_not_used_are_said():
    for rated in (True, False):
        grades, rows = study(np.random.default_rng(8), n_users=8, each=5, rated=rated)
        coloured = [{**row, "colour": "red"} for row in rows]
        remarks = [compare_graders(x, {"a": labels(grades)}).remarks for x in (rows, coloured)]
        assert remarks == [(), ("columns that are not used: colour",)], rated


@pytest.mark.usefixtures("chosen")
def test_own_columns_are_those_of_the_log_and_of_the_grades():
    of_grades = {"query": "question", "document": "chunk", "grade": "mark"}
    of_log = {
        True: {"docs": "shown", "group": "worker", "rating": "mood"},
        False: {"docs_a": "left one", "docs_b": "right one", "winner": "better"},
    }
    for rated, names in of_log.items():
        grades, rows = study(np.random.default_rng(8), n_users=8, each=5, rated=rated)
        usual = compare_graders(rows, {"a": labels(grades)})
        to = {"query": "question", "user": "worker", **names}
        table = pl.DataFrame(rows).rename({role: to[role] for role in rows[0]})
        marks = labels(grades).rename({"query": "question", "doc": "chunk", "grade": "mark"})
        found = compare_graders(table, {"a": marks}, columns={**of_grades, **names})
        assert found.table.equals(usual.table), rated

    # a role that there is not, and a column that neither has
    for role in ("colour", "winner"):
        words = f"'{role}': 'x'}} names no column of the judgements, and none of the log"
        refused(words, compare_graders, rows, {"a": labels(grades)}, columns={role: "x"})


def test_too_few_verdicts_are_refused():
    rng = np.random.default_rng(6)
    grades, rows = study(rng, n_users=3, each=3)
    refused("can be held out", dl.compare_graders, rows, {"a": labels(grades)})


def test_a_grader_who_gives_0_to_all_documents_is_compared():
    grades, rows = study(np.random.default_rng(0), 8, 8, rated=False)
    alone = compare_graders(rows, {"zero": labels(0 * grades)})
    assert alone.sentence.startswith("no grades here are shown to follow these people: zero's")
    both = compare_graders(rows, {"true": labels(grades), "zero": labels(0 * grades)})
    assert "zero is worse than true" in both.sentence
