"""A machine's verdicts beside people's: the members, what they weigh, machines that mislead, and
bad input.
"""

import json
import warnings

import numpy as np
import pytest
from sklearn.model_selection import cross_val_score

from dcglearn import DCG, DCGLearner, InputError, Preferences, bands, suggest_pairs
from dcglearn.io import read_questions
from dcglearn.learning.fit import FREE, LLM, NEAR_LLM
from dcglearn.simulate import free_lists, ground_truth, judge, preference_pairs
from dcglearn.trust import fit_learner
from dcglearn.trust.fit_learner import llm_dcg
from dcglearn.trust.llm import llm_report
from tests.tables import table

TRUTH = DCG([0, 0.1, 0.2, 0.9, 1], 0.95 ** np.arange(10))
"""What people go by: no textbook has such gains."""

FAR = DCG([0, 0.8, 0.9, 0.95, 1], 0.3 ** np.arange(10))
"""What another machine goes by."""


def verdicts(dcg, n, seed, **options):
    return preference_pairs(dcg, n, lists="free", flip_rate=0.1, random_state=seed, **options)


@pytest.fixture(scope="module")
def people():
    return verdicts(TRUTH, 40, 1)


@pytest.fixture(scope="module")
def new_pairs():
    return preference_pairs(TRUTH, 2000, lists="free", random_state=9)


@pytest.fixture(scope="module")
def alone(people):
    return DCGLearner().fit(people)


@pytest.fixture(scope="module")
def with_machine(people):
    return DCGLearner(llm=verdicts(TRUTH, 800, 2)).fit(people)


def weight_of_llm(learner):
    return {member.name: member.weight for member in learner.members_}[LLM]


def test_the_machine_is_a_member(with_machine, alone):
    names = [[member.name for member in learner.members_] for learner in (alone, with_machine)]
    assert names[1] == [FREE, NEAR_LLM, *names[0][1:], LLM]
    learned = DCGLearner().fit(verdicts(TRUTH, 800, 2)).dcg_
    np.testing.assert_allclose(with_machine.fit_.llm.gains, learned.gains, atol=1e-9)
    np.testing.assert_allclose(with_machine.fit_.llm.discounts, learned.discounts, atol=1e-9)
    assert with_machine.fit_.llm is with_machine.members_[-1].dcg and alone.fit_.llm is None

    # curves near it are nearer than free ones
    free, near, *_, dcg = (member.dcg for member in with_machine.members_)
    far, close = (np.abs(x.discounts - dcg.discounts).max() for x in (free, near))
    assert 0 < close < 0.5 * far


def test_the_machines_dcg_teaches_as_its_verdicts_do(with_machine, people):
    again = DCGLearner(llm=with_machine.fit_.llm).fit(people)
    np.testing.assert_allclose(again.dcg_.discounts, with_machine.dcg_.discounts, atol=1e-9)
    assert weight_of_llm(again) == pytest.approx(weight_of_llm(with_machine))


def test_a_machine_that_agrees_teaches_and_one_that_does_not_hardly_harms(
    with_machine, people, alone, new_pairs
):
    share_alone = alone.score(new_pairs)
    assert with_machine.score(new_pairs) > share_alone + 0.02
    far = DCGLearner(llm=verdicts(FAR, 300, 3)).fit(people)
    assert new_pairs.agreement(far.fit_.llm).share < share_alone - 0.1
    assert far.score(new_pairs) > share_alone - 0.02
    assert weight_of_llm(far) < 0.05 and weight_of_llm(with_machine) > 0.5


def test_a_machine_that_is_upside_down_is_left_out_with_a_warning(people, alone):
    log = verdicts(TRUTH, 300, 4)
    opposite = Preferences(log.other, log.preferred, n_grades=5)
    with pytest.warns(
        UserWarning,
        match=r"the LLM judge is left out, and people alone are followed: .* upside down",
    ):
        learner = DCGLearner(llm=opposite).fit(people)
    assert learner.dcg_ == alone.dcg_ and learner.fit_.llm is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert llm_dcg(opposite, people, as_is=True) is not None  # where the caller insists


def test_a_machine_that_always_names_the_left_list_is_left_out_or_ignored(people, alone, new_pairs):
    lists = free_lists(5, 10, 600, random_state=5)
    left, right = lists[:300], lists[300:]
    both_orders = Preferences(np.vstack([left, right]), np.vstack([right, left]), n_grades=5)
    with pytest.warns(UserWarning, match="the LLM judge is left out"):
        assert llm_dcg(both_orders, people) is None
    learner = DCGLearner(llm=Preferences(left, right, n_grades=5)).fit(people)
    assert learner.score(new_pairs) > alone.score(new_pairs) - 0.02


def test_scikit_learn_passes_the_llm_judge_to_every_fold(people, monkeypatch):
    machine, passed = people[:20], []
    monkeypatch.setattr(
        fit_learner, "llm_dcg", lambda llm, log, **_: passed.append((len(llm), len(log)))
    )
    cross_val_score(DCGLearner(llm=machine), people, cv=2)
    assert passed == [(20, len(people) // 2)] * 2


def test_bands_say_what_people_tell_by_themselves(with_machine, people, reports):
    drawn = bands(people, with_machine)
    np.testing.assert_allclose(
        drawn.gains, reports[0].bands.gains, atol=1e-9
    )  # draws of the free curves
    assert drawn.dcg == with_machine.dcg_


@table(
    ("proxy", "problem"),
    [
        (
            verdicts(ground_truth("D1", 7), 20, 0),
            "the LLM judge has 7 grades and 10 positions, the log 5 and 10",
        ),
        (
            verdicts(ground_truth("D1", 5, 6), 20, 0),
            "the LLM judge has 5 grades and 6 positions, the log 5 and 10.*DCG.map_grades",
        ),
        (ground_truth("D1", 6), "llm has 6 grades and 10 positions, the log has 5 and 10"),
        ("absent.parquet", "absent.parquet does not exist"),
    ],
)
def test_an_llm_judge_of_another_shape_is_refused(people, proxy, problem):
    with pytest.raises(InputError, match=problem):
        DCGLearner(llm=proxy).fit(people)


def test_people_must_have_judged_something(people):
    same = judge(TRUTH, people.preferred[:3], people.preferred[:3])
    with pytest.raises(InputError, match="no preference of people between two different lists"):
        DCGLearner(llm=people).fit(same)


@pytest.fixture(scope="module")
def reports(with_machine, people):
    return [llm_report(people, fit) for fit in (with_machine, DCGLearner(llm=FAR).fit(people))]


def test_a_report_compares_people_machine_and_both(reports, with_machine):
    report, fit = reports[0], with_machine.fit_
    assert (report.people, report.machine, report.both) == (fit.free, fit.llm, fit.dcg)
    near = sum(member.weight for member in fit.members if "LLM judge" in member.name)
    assert report.weight == near > weight_of_llm(with_machine)
    assert f"make up {report.weight:.0%} of the result" in report.notes[0]
    low, high = report.bands.simultaneous.discount_band
    for k, row in enumerate(report.table.to_dicts()[5:]):
        assert (row["parameter"], row["machine"]) == (f"discount at {k + 1}", fit.llm.discounts[k])
        assert (row["low"], row["people"], row["high"]) == (
            low[k],
            report.bands.dcg.discounts[k],
            high[k],
        )
    assert json.loads(json.dumps(report.to_dict(), allow_nan=False))["weight"] == report.weight


def test_a_report_says_how_the_machine_orders_verdicts_and_where_it_differs(reports):
    near, far = reports
    assert near.weight > far.weight and "overrates" not in near.sentence
    assert "beyond people's bands it overrates" in far.sentence
    people, machine = far.rows
    assert machine.share < people.share and far.n_held_out == 40
    assert "the top result" in far.sentence and f"DCG, {machine.share:.1%}, " in far.sentence
    assert any(row["machine"] < row["low"] for row in far.table.to_dicts()[5:])
    for row in far.table.to_dicts():
        side = {"over": row["machine"] > row["high"], "under": row["machine"] < row["low"]}
        assert side.get(row["differs"], True)


def test_a_machine_is_worse_only_where_the_paired_difference_shows_it():
    people = verdicts(TRUTH, 200, 8)
    for machine, said in ((TRUTH, "not clearly different ("), (FAR, "which is worse (")):
        report = llm_report(people, DCGLearner(llm=machine).fit(people))
        row = report.rows[1]
        assert (row.low > 0) == (machine is FAR) and row.high > 0
        assert said in report.sentence and report.n_held_out == 200


def test_of_coin_flips_no_machine_can_be_judged(with_machine):
    lists = np.random.default_rng(0).integers(0, 5, (2, 200, 10))
    report = llm_report(Preferences(*lists, n_grades=5), with_machine)
    assert report.tells_nothing and report.sentence.endswith("better than a coin")
    assert report.bands is None and not report.rows and len(report.notes) == 1
    assert json.dumps(report.to_dict(), allow_nan=False)


def test_a_report_of_few_verdicts_has_no_bands(with_machine, people):
    report = llm_report(people[:12], with_machine)
    assert report.bands is None and len(report.table) == 0
    assert report.notes[-1].startswith("no bands of people's gains and discounts (")
    assert "holds 12 preferences" in report.notes[-1]
    assert json.dumps(report.to_dict(), allow_nan=False)


def test_a_report_needs_a_fit_with_a_proxy_to_lists_of_this_shape(alone, with_machine, people):
    with pytest.raises(InputError, match="the learner was not fitted with an LLM judge"):
        llm_report(people, alone)
    with pytest.raises(InputError, match="the learner has 10 positions, the log 6"):
        llm_report(verdicts(ground_truth("D1", 5, 6), 30, 0), with_machine)


def test_the_command_reads_both_logs_and_says_what_differs(people, here, dcglearn, misuse):
    people.to_polars().write_ndjson("human.jsonl")
    verdicts(FAR, 300, 3).to_polars().write_ndjson("machine.jsonl")
    words = ("learn", "human.jsonl", "--llm", "machine.jsonl")
    status, out, _ = dcglearn("-v", *words, "-o", "dcg.json", "--plot", "dcg.png")
    assert status == 0 and "the LLM judge's DCG" in out
    assert "beyond people's bands it overrates" in out
    assert (here / "dcg.png").stat().st_size > 10_000
    report = llm_report(people, DCGLearner(llm="machine.jsonl").fit(people))
    assert 0 < report.weight < 0.5 and report.notes[0][1:] in out
    misuse("--llm goes with --method dcg", *words, "--method", "qp")
    misuse("machine.jsonl: metrics are not written as .jsonl", *words, "-o", "machine.jsonl")
    beyond = "wide.jsonl, row 1: a holds the grade 6, outside 0..5"
    misuse(beyond, "learn", "human.jsonl", "--grades", "6", "--llm", wide(here))


def test_questions_may_be_of_the_machines_pairs(people, here, dcglearn, misuse):
    people.to_polars().write_ndjson("human.jsonl")
    machine = verdicts(FAR, 300, 3)
    machine.to_polars().write_ndjson("machine.jsonl")
    words = ("ask", "--log", "human.jsonl", "--llm", "machine.jsonl", "-n", "6")
    status, out, err = dcglearn(*words, "machine.jsonl")
    asked, both = (
        read_questions([*map(json.loads, out.splitlines())]),
        DCGLearner(llm=machine).fit(people),
    )
    np.testing.assert_array_equal(asked, suggest_pairs(people, machine, 6, both).pairs)
    assert (status, err) == (0, "winners: a (40)\n")
    own, its = (
        metric.score(asked[:, 0]) > metric.score(asked[:, 1])
        for metric in (both.fit_.free, both.fit_.llm)
    )
    assert (own != its).all()
    lists = free_lists(5, 10, 40, random_state=2).reshape(20, 2, 10)
    Preferences(lists, n_grades=5).to_polars().write_ndjson("candidates.jsonl")
    asked = read_questions([*map(json.loads, dcglearn(*words, "candidates.jsonl")[1].splitlines())])
    assert (asked[:, None] == lists).all(axis=(2, 3)).any(axis=1).all()
    misuse("--llm goes with --log", "ask", "machine.jsonl", "--llm", "machine.jsonl")


def wide(folder):
    """Return a log with a grade beyond people's scale."""
    (folder / "wide.jsonl").write_text(json.dumps({"a": [6, 0], "b": [0, 1], "winner": "a"}) + "\n")
    return "wide.jsonl"
