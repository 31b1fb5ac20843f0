"""Which documents to judge next: by brute force, as files, and as prompts to a language model."""

import json

import numpy as np
import pytest

import dcglearn as dl
from dcglearn.evaluation import suggest_judgements, with_grades
from dcglearn.evaluation.next_judgements import Difference
from dcglearn.judge.replies import grade_of
from tests.evaluation.test_unjudged import partly_judged
from tests.makers import refused


@pytest.fixture
def judged():
    """Return judgements and two runs that show further documents."""
    judged, runs, left = partly_judged(np.random.default_rng(5), n_queries=6)
    return judged, runs, left


def test_the_first_document_narrows_most_of_all(judged):
    judgements, runs, left = judged
    asked = suggest_judgements(judgements, runs, "nDCG@4", 1)
    frequent = np.bincount([g for of in judgements.values() for g in of.values()], minlength=3) + 1

    def width(more):
        """Return the mean distance of the bounds with further judgements."""
        whole = {q: {**of, **more.get(q, {})} for q, of in judgements.items()}
        graded = dl.read_judgements(whole, n_grades=3)
        found = dl.compare_systems(graded, runs, "nDCG@4", bounds=True, n_resamples=100)
        return found.table["most"][0] - found.table["least"][0]

    narrows = {
        (q, d): width({})
        - np.average([width({q: {d: grade}}) for grade in range(3)], weights=frequent)
        for q, d in left
    }
    best = max(narrows, key=narrows.get)
    assert asked.table.row(0)[:3] == (*best, "open")
    assert asked.table["narrows"][0] == pytest.approx(narrows[best])
    assert (asked.width, asked.n_open) == (pytest.approx(width({})), len(left))


def test_grades_close_the_bounds_in_the_end(judged):
    judgements, runs, left = judged
    found = dl.evaluate(judgements, runs, "nDCG@4", bounds=True)
    difference = Difference(found.open, 1, 0)
    for q, d in left:
        before = difference.bounds
        difference.give((found.queries.index(q), d), 1)
        assert before[0] - 1e-12 <= difference.bounds[0]
        assert difference.bounds[1] <= before[1] + 1e-12
    assert difference.width == pytest.approx(0) and not difference.narrowing


def test_no_tie_is_decided_by_the_last_bits(judged):
    judgements, runs, _ = judged
    found = dl.evaluate(judgements, runs, "nDCG@4", bounds=True)
    narrows = np.array(list(Difference(found.open, 1, 0).narrowing.values()))
    assert (narrows > 0).any() and (narrows == narrows.round(12)).all()


def test_a_file_that_is_filled_in_is_read_with_the_judgements(judged, tmp_path):
    judgements, runs, _ = judged
    asked = suggest_judgements(judgements, runs, "nDCG@4", 3)
    path = tmp_path / "to_grade.csv"
    asked.save(path)
    assert "fill in grade, from 0 to 2" in str(asked).lower()
    with pytest.warns(UserWarning, match="not graded yet: 3 lines of 3"):
        assert with_grades(judgements, path).frame.equals(dl.read_judgements(judgements).frame)
    path.write_text(path.read_text().replace("open", "2", 1))
    with pytest.warns(UserWarning, match="2 lines of 3"):
        graded = with_grades(judgements, path)
    query, document = asked.table.row(0)[:2]
    assert graded.frame.filter(query=query, document=document)["grade"].to_list() == [2]
    for wrong in ("1.5", "-1", "7", "two"):
        path.write_text(f"query_id,doc_id,grade\nq,d,open\nq,e,{wrong}\n")
        refused(
            f"line 3: grade is '{wrong}'; give a whole number from 0 to 2",
            with_grades,
            judgements,
            path,
        )
    path.write_text("query_id,doc_id,grade\n")
    refused("there are no questions", with_grades, judgements, path)
    path.write_text("")
    refused("to_grade.csv", with_grades, judgements, path)
    [(query, document), *_] = [(q, d) for q, of in judgements.items() for d in of]
    path.write_text(f"query_id,doc_id,grade\n{query},{document},1\n")
    refused(document, with_grades, judgements, path)


def test_what_cannot_be_asked(judged):
    judgements, runs, left = judged
    refused("give one metric", suggest_judgements, judgements, runs, ["nDCG@4", "nDCG@2"])
    refused("is not a DCG", suggest_judgements, judgements, runs, "ERR@3")
    refused("n=0", suggest_judgements, judgements, runs, "nDCG@4", 0)
    refused("two systems", suggest_judgements, judgements, {"old": runs["old"]}, "nDCG@4")
    for q, d in left:
        judgements[q][d] = 0
    refused("nothing is left to judge", suggest_judgements, judgements, runs, "nDCG@4")


def test_the_command_writes_a_file_and_prompts_and_reads_the_answers(
    judged, dcglearn, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    judgements, runs, left = judged
    for name, content in (("qrels", judgements), *runs.items()):
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
    texts = [json.dumps({"docno": d, "text": f"{{query}} of {d}"}) for d in {d for _, d in left}]
    (tmp_path / "docs.jsonl").write_text("\n".join(texts))
    files = ("qrels.json", "old.json", "new.json", "--metric", "nDCG@4")
    command = ("ask-grades", *files, "-n", 2, "-o", "to_grade.csv", "--prompts", "prompts.jsonl")
    status, _, err = dcglearn(*command)
    assert status == 2 and "--prompts needs --documents" in err
    assert not (tmp_path / "to_grade.csv").exists()
    status, _, err = dcglearn(*command, "--documents", "docs.jsonl")
    assert status == 0 and "wrote: prompts.jsonl (2 prompts)" in err
    requests = list(map(json.loads, (tmp_path / "prompts.jsonl").read_text().splitlines()))
    words = requests[0]["body"]["messages"][0]["content"]
    assert "to 2 (as good as can be)" in words and "{query} of d" in words

    # the answers of a model, one of them no grade
    answers = tmp_path / "answers.jsonl"
    fill = ("ask-grades", "--fill", "to_grade.csv", "--answers", "answers.jsonl", "--grades", 3)

    def answered(*texts):
        """Write replies to the first requests."""
        keys = [request["custom_id"] for request in requests]
        lines = [{"custom_id": k, "answer": t} for k, t in zip(keys, texts, strict=False)]
        answers.write_text("\n".join(map(json.dumps, lines)))

    answered('{"grade": 2}', "grade 7")
    status, _, err = dcglearn(*fill, "-o", "graded.csv")
    lines = (tmp_path / "graded.csv").read_text().splitlines()
    assert status == 0 and lines[1].endswith(",2") and lines[2].endswith(",open")
    assert "answers: 1 grade of 2 questions" in err and "left out: 1 answer" in err
    with pytest.warns(UserWarning, match="1 line of 2"):
        status, out, _ = dcglearn("compare", *files, "--graded", "graded.csv", "--bounds")
    assert status == 0 and "least" in out

    # grades that are there stay
    answered("0", "1")
    again = ("ask-grades", "--fill", "graded.csv", *fill[3:])
    assert dcglearn(*again, "-o", "both.csv")[0] == 0
    both = (tmp_path / "both.csv").read_text().splitlines()
    assert both[1].endswith(",2") and both[2].endswith(",1")

    # what cannot be
    answered("no idea")
    assert "no grade can be read" in dcglearn(*fill)[2]
    answers.write_text(json.dumps({"custom_id": "grade-0", "answer": "1"}))
    assert "which is none of the questions" in dcglearn(*fill)[2]
    assert "--fill takes no judgements" in dcglearn(*fill, *files[:3])[2]
    assert "--fill FILE goes with --answers" in dcglearn(*fill[:3])[2]


@pytest.mark.parametrize(
    ("text", "grade"),
    [
        *[
            (text, 2)
            for text in ('{"grade": 2}', "2", "**2**", "Grade: 2.", '```\n{"grade": "2"}\n```')
        ],
        *[(text, None) for text in ("-2", "2.5", '{"grade": -2}', "2 or 3", "", "no idea")],
        ('{"grade": 1} {"grade": 2}', None),
        ('{"grade": 2} for 14 words', 2),
    ],
)
def test_a_grade_is_read_where_it_is_clear(text, grade):
    assert grade_of(text) == grade
