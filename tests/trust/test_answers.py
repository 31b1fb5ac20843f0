"""DCGs learned from answers of simulated readers, what is said of them, and the command that learns
them.
"""

import json
import runpy
from pathlib import Path

import numpy as np
import pytest

import dcglearn as dl
from dcglearn.learning.options import DCGOptions
from dcglearn.trust.answers import explained_at_most, fit_answers
from tests.makers import refused
from tests.tables import table

EXAMPLES = Path(__file__).parents[2] / "examples"
LOGISTIC = DCGOptions(loss="logistic")
GAINS, DISCOUNTS = np.array([0.0, 0.3, 1.0]), np.array([1.0, 0.3, 0.1])


def lines_of(n, seed=0, lists_each=2, sharpness=4.0, spread=1.0, harder=0.0):
    """Return answers to n questions; with `harder`, hard questions have worse lists."""
    rng = np.random.default_rng(seed)
    lines = []
    for question in range(n):
        difficulty = rng.normal(0, spread)
        for configuration in range(lists_each):
            chance = np.array([0.4, 0.3, 0.3]) * np.exp(harder * difficulty * np.array([-1, 0, 1]))
            grades = rng.choice(3, 3, p=chance / chance.sum())
            value = sharpness * (DISCOUNTS @ GAINS[grades]) - 2 + difficulty
            right = rng.random() < 1 / (1 + np.exp(-value))
            lines.append(
                {
                    "question": question,
                    "list": grades.tolist(),
                    "right": bool(right),
                    "config": configuration,
                }
            )
    return lines


@table("lists_each", [1, 2])
def test_the_readers_dcg_is_found(lists_each):
    dcg = fit_answers(dl.io.read_answers(lines_of(600, lists_each=lists_each)), LOGISTIC).dcg
    assert dcg.gains == pytest.approx(GAINS, abs=0.12) and dcg.discounts == pytest.approx(
        DISCOUNTS, abs=0.15
    )


@table("kinds", [("top 3",), ("top 3", "top 5")])
def test_a_distractor_that_costs_has_a_negative_gain_where_lists_differ_in_length(kinds):
    lines = [json.loads(line) for line in (EXAMPLES / "answers.jsonl").read_text().splitlines()]
    answers = dl.io.read_answers([line for line in lines if line["configuration"] in kinds])
    gains = fit_answers(answers, DCGOptions(loss="logistic", zero="none")).dcg.gains
    assert gains == pytest.approx([-1 / 3, 0.4, 1.0], abs=0.3) and gains[0] < -0.05


def test_both_kinds_are_fitted_together_from_judges_of_all_sharpness():
    answers = dl.io.read_answers(EXAMPLES / "answers.jsonl")
    options = DCGOptions()
    unconverged = []
    for seed in range(8):
        part = answers[
            np.random.default_rng(seed).permutation(answers.number.max() + 1)[answers.number] % 5
            > 0
        ]
        fit = fit_answers(part, options)
        assert fit.objective < 70, seed
        unconverged += [fit.unconverged] * bool(fit.unconverged)
    assert unconverged == []


def test_a_mixture_uses_both_kinds_and_counts_them():
    lines = lines_of(200) + [
        {**line, "question": f"single {i}"} for i, line in enumerate(lines_of(150, 1, 1))
    ]
    answers = dl.io.read_answers(lines)
    fit = dl.trust.learn_from_answers(answers)
    assert fit.facts["comparisons within questions"] == pytest.approx(
        answers.within_questions[2].sum()
    )
    several = 200 - len(set(answers.question[~answers.varied])) + 150
    alike = fit.facts["left out, questions whose answers are equally right with every list"]
    assert alike + len(set(answers.question[answers.within_questions[0]])) == several
    assert json.dumps(fit.to_dict()) and all(row.high > 0 for _, row in fit.held_out.values())
    assert fit.notes[0].startswith(f"gain of grade 0: {fit.dcg.gains[0]:.4f}")
    kinds, leads = fit.table["held_out"].unique().to_list(), fit.table["lead"].to_list()
    assert {*kinds} == {*fit.held_out} and "held-out comparisons across questions" in str(kinds)
    assert leads[1] == next(iter(fit.held_out.values()))[1].difference and leads[0] is None
    assert fit.sentence.startswith(
        f"a DCG was learned from {len(answers):,} answers to 350 questions"
    )


def test_few_answers_say_what_it_takes_to_test_a_dcg():
    fit = dl.trust.learn_from_answers(dl.io.read_answers(lines_of(25)))
    assert fit.held_out == {} and "not tested: it takes at least 30 questions" in fit.sentence
    assert fit.table["value"].to_list() == [*fit.dcg.gains, *fit.dcg.discounts]


def test_comparisons_within_questions_are_not_confounded_by_hard_questions():
    lines = lines_of(1500, spread=2.0, harder=1.0)
    within = fit_answers(dl.io.read_answers(lines), LOGISTIC).dcg
    first = [line for line in lines if line["config"] == 0]
    across = fit_answers(dl.io.read_answers(first), LOGISTIC).dcg
    assert np.abs(within.discounts - DISCOUNTS).max() < np.abs(across.discounts - DISCOUNTS).max()


@table(("spread", "low", "high"), [(0.0, 0.9, 1.0), (30.0, 0.0, 0.1)])
def test_what_retrieval_explains_at_most(spread, low, high):
    share = explained_at_most(dl.io.read_answers(lines_of(400, spread=spread)))
    assert low <= float(share.split("%")[0]) / 100 <= high


def test_what_cannot_be_learned_from_is_refused():
    same = [{"question": q, "list": [1, 0], "right": q % 2} for q in range(6)]
    with pytest.raises(dl.InputError, match="no two answers from different lists differ"):
        dl.trust.learn_from_answers(
            dl.io.read_answers([*same, {"question": 9, "list": [0, 1], "right": 0.5}][:6])
        )


def test_the_example_is_what_its_program_prints(capsys):
    runpy.run_path(str(EXAMPLES / "answers.py"), run_name="__main__")
    assert capsys.readouterr().out == (EXAMPLES / "answers.jsonl").read_text()


def test_a_path_is_refused_with_what_reads_it():
    refused(
        "is 'log.jsonl'; give what dl.io.read_answers", dl.trust.learn_from_answers, "log.jsonl"
    )
