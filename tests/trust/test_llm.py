"""A machine's verdicts beside people's: the members, what they weigh, machines that mislead, and
bad input.
"""

import json
import warnings

import numpy as np
import pytest
import sklearn
from sklearn.model_selection import cross_val_score

from dcglearn import DCG, DCGLearner, InputError, Preferences, bands, read_questions, suggest_pairs
from dcglearn.estimators import dcg_learner
from dcglearn.simulate import free_lists, ground_truth, judge, preference_pairs
from dcglearn.trust.blend import NEAR_MACHINE
from dcglearn.trust.llm import llm_dcg, llm_report

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
    return DCGLearner().fit(people, llm=verdicts(TRUTH, 800, 2))


def test_the_machine_and_fits_near_it_are_members(with_machine, alone):
    names = [f"near machine {ridge:g}" for ridge in NEAR_MACHINE]
    members = {member.name: member for member in with_machine.members_}
    assert list(members)[:6] == ["robust", "sigmoid", *names, "machine"]
    assert with_machine.fit_.machine is members["machine"] and members["machine"].fit is None
    for name, ridge in zip(names, NEAR_MACHINE, strict=True):
        assert members[name].fit.description.prior == members["machine"].dcg
        assert members[name].fit.description.ridge == ridge
    apart = [
        np.abs(members[name].dcg.discounts - members["machine"].dcg.discounts).max()
        for name in names
    ]
    assert apart == sorted(apart, reverse=True)  # the stronger the prior, the nearer to it
    assert alone.fit_.machine is None


def test_a_machine_that_agrees_teaches_and_one_that_does_not_hardly_harms(
    with_machine, people, alone, new_pairs
):
    share_alone = alone.score(new_pairs)
    assert with_machine.score(new_pairs) > share_alone + 0.02
    far = DCGLearner().fit(people, llm=verdicts(FAR, 300, 3))
    assert new_pairs.agreement(far.fit_.machine.dcg).share < share_alone - 0.1
    assert far.score(new_pairs) > share_alone - 0.02 and far.fit_.machine.weight < 0.05


def test_a_machine_that_is_upside_down_is_left_out_with_a_warning(people, alone):
    log = verdicts(TRUTH, 300, 4)
    opposite = Preferences(log.other, log.preferred, n_grades=5)
    with pytest.warns(
        UserWarning,
        match=r"the LLM judge is left out, and people alone are followed: .* upside down",
    ):
        learner = DCGLearner().fit(people, llm=opposite)
    assert learner.dcg_ == alone.dcg_ and learner.fit_.machine is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert llm_dcg(opposite, people, as_is=True) is not None  # where the caller insists


def test_a_machine_that_always_names_the_left_list_is_left_out_or_ignored(people, alone, new_pairs):
    lists = free_lists(5, 10, 600, random_state=5)
    left, right = lists[:300], lists[300:]
    both_orders = Preferences(np.vstack([left, right]), np.vstack([right, left]), n_grades=5)
    with pytest.warns(UserWarning, match="the LLM judge is left out"):
        assert llm_dcg(both_orders, people) is None
    learner = DCGLearner().fit(people, llm=Preferences(left, right, n_grades=5))
    assert learner.score(new_pairs) > alone.score(new_pairs) - 0.02


def test_a_start_carries_the_machine(with_machine, alone, people):
    again = DCGLearner().fit(people, start=with_machine)
    assert again.fit_.machine.dcg == with_machine.fit_.machine.dcg
    assert [m.weight for m in again.members_] == [m.weight for m in with_machine.members_]
    np.testing.assert_allclose(again.dcg_.discounts, with_machine.dcg_.discounts, atol=1e-6)
    anew = DCGLearner().fit(people, start=alone, llm=with_machine.fit_.machine.dcg)
    np.testing.assert_allclose(anew.dcg_.discounts, with_machine.dcg_.discounts, atol=1e-6)


def test_scikit_learn_passes_the_proxy_to_every_fold(people, monkeypatch):
    machine, passed = (
        people[:20],
        [],
    )  # as many as no fold holds: an array of the log's length would be split
    monkeypatch.setattr(
        dcg_learner, "llm_dcg", lambda llm, log, **_: passed.append((llm, len(log)))
    )
    cross_val_score(DCGLearner(), people, cv=2, params={"llm": machine})
    with sklearn.config_context(enable_metadata_routing=True):
        cross_val_score(
            DCGLearner().set_fit_request(llm=True), people, cv=2, params={"llm": machine}
        )
    assert [(proxy is machine, n) for proxy, n in passed] == [(True, len(people) // 2)] * 4


def test_bands_say_what_people_tell_by_themselves(with_machine, people, reports):
    drawn = bands(people, with_machine, n_resamples=20)
    np.testing.assert_allclose(
        drawn.gains, reports[0].bands.gains, atol=1e-9
    )  # draws of the robust fit
    assert drawn.dcg == with_machine.dcg_


@pytest.mark.parametrize(
    ("proxy", "problem"),
    [
        (
            verdicts(ground_truth("D1", 7), 20, 0),
            "the LLM judge has 7 grades and 10 positions, the log 5 and 10",
        ),
        (
            verdicts(ground_truth("D1", 5, 6), 20, 0),
            "the LLM judge has 5 grades and 6 positions, the log 5 and 10",
        ),
        (
            ground_truth("D1", 6),
            "the LLM judge has 6 grades and 10 positions, the log 5 and 10.*DCG.map_grades",
        ),
        ("absent.parquet", "absent.parquet does not exist"),
    ],
)
def test_an_llm_judge_of_another_shape_is_refused(people, proxy, problem):
    with pytest.raises(InputError, match=problem):
        DCGLearner().fit(people, llm=proxy)


def test_people_must_have_judged_something(people):
    same = judge(TRUTH, people.preferred[:3], people.preferred[:3])
    with pytest.raises(InputError, match="no preference of people between two different lists"):
        DCGLearner().fit(same, llm=people)


def test_a_proxy_is_a_member_of_the_blend_alone(people):
    with pytest.raises(InputError, match='llm= goes with loss="auto": the LLM judge is a member'):
        DCGLearner(loss="robust").fit(people, llm=TRUTH)


@pytest.fixture(scope="module")
def reports(with_machine, people):
    far = DCGLearner().fit(people, llm=FAR)
    return [llm_report(people, fit, n_llm=n) for fit, n in ((with_machine, 800), (far, None))]


def test_a_report_compares_people_machine_and_both(reports, with_machine):
    report, machine = reports[0], with_machine.fit_.machine
    assert (report.people, report.machine, report.both) == (
        with_machine.members_[0],
        machine,
        with_machine.dcg_,
    )
    near = sum(member.weight for member in with_machine.members_ if "machine" in member.name)
    assert report.weight == near > machine.weight
    low, high = report.bands.simultaneous.discount_band
    for k, row in enumerate(report.table.to_dicts()[5:]):
        assert (row["parameter"], row["machine"]) == (
            f"discount at {k + 1}",
            machine.dcg.discounts[k],
        )
        assert (row["low"], row["people"], row["high"]) == (
            low[k],
            report.bands.dcg.discounts[k],
            high[k],
        )
    assert json.loads(json.dumps(report.to_dict(), allow_nan=False))["n_llm"] == 800


def test_a_report_says_what_the_machine_is_worth_and_where_it_differs(reports):
    near, far = reports
    assert 5 < near.worth <= 800 and far.worth < near.worth / 2
    assert "Its 800 verdicts are worth about" in str(near) and "overrates" not in near.sentence
    assert "beyond people's bands it overrates" in far.sentence
    people, machine = far.rows
    assert (people.share, machine.share) == pytest.approx((far.people.share, far.machine.share))
    assert "the top result" in far.sentence and f"DCG, {machine.share:.1%}, " in far.sentence
    assert any(row["machine"] < row["low"] for row in far.table.to_dicts()[5:])
    assert far.notes[0].startswith("its verdicts are worth")
    for row in far.table.to_dicts():
        side = {"over": row["machine"] > row["high"], "under": row["machine"] < row["low"]}
        assert side.get(row["differs"], True)


def test_a_machine_is_worse_only_where_the_paired_difference_shows_it():
    people = verdicts(TRUTH, 200, 8)
    for machine, said in ((TRUTH, "not clearly different ("), (FAR, "which is worse (")):
        report = llm_report(people, DCGLearner().fit(people, llm=machine))
        row = report.rows[1]
        assert (row.low > 0) == (machine is FAR) and row.high > 0
        assert said in report.sentence and report.n_held_out == 200


def test_of_coin_flips_no_machine_can_be_judged(with_machine):
    lists = np.random.default_rng(0).integers(0, 5, (2, 200, 10))
    report = llm_report(Preferences(*lists, n_grades=5), with_machine)
    assert report.tells_nothing and report.sentence.endswith("better than a coin")
    assert report.bands is report.worth is None and len(report.notes) == 1
    assert json.dumps(report.to_dict(), allow_nan=False)


def test_a_report_of_few_verdicts_has_no_bands(with_machine, people):
    report = llm_report(people[:12], with_machine)
    assert report.bands is report.worth is None and len(report.table) == 0
    assert report.notes[0].startswith("people's verdicts are too few")
    assert "holds 12 preferences" in report.notes[0]
    assert json.dumps(report.to_dict(), allow_nan=False)


def test_a_report_needs_a_fit_with_a_proxy_to_lists_of_this_shape(alone, with_machine, people):
    with pytest.raises(InputError, match="the learner was not fitted with an LLM judge"):
        llm_report(people, alone)
    with pytest.raises(
        InputError, match="the LLM judge has 5 grades and 10 positions, the log 5 and 6"
    ):
        llm_report(verdicts(ground_truth("D1", 5, 6), 30, 0), with_machine)


def test_the_command_reads_both_logs_and_says_what_differs(people, here, dcglearn, misuse):
    people.to_polars().write_ndjson("human.jsonl")
    verdicts(FAR, 300, 3).to_polars().write_ndjson("machine.jsonl")
    words = ("learn", "human.jsonl", "--llm", "machine.jsonl")
    status, out, err = dcglearn(*words, "--json", "-v", "-o", "dcg.json", "--plot", "dcg.png")
    report = json.loads(out)["machine"]
    assert (
        status == 0
        and report["n_llm"] == 300
        and "learned, drawn to the LLM judge's DCG with strength 16" in err
    )
    assert "beyond people's bands it overrates" in err and "Its 300 verdicts are worth" in err
    assert report["notes"][0][1:] in err and (here / "dcg.png").stat().st_size > 10_000
    misuse("--llm goes with --method dcg", *words, "--method", "qp")
    misuse("machine.jsonl is an input of this command", *words, "-o", "machine.jsonl", "--force")
    misuse(
        "--llm is read on people's scale, 0 to 5",
        "learn",
        "human.jsonl",
        "--grades",
        "6",
        "--llm",
        wide(here),
    )


def test_questions_are_of_the_machines_pairs_where_no_others_are_given(
    people, here, dcglearn, misuse
):
    people.to_polars().write_ndjson("human.jsonl")
    machine = verdicts(FAR, 300, 3)
    machine.to_polars().write_ndjson("machine.jsonl")
    words = ("ask", "--log", "human.jsonl", "--llm", "machine.jsonl", "-n", "6")
    status, out, err = dcglearn(*words)
    asked, both = (
        read_questions([*map(json.loads, out.splitlines())]),
        DCGLearner().fit(people, llm=machine),
    )
    np.testing.assert_array_equal(asked, suggest_pairs(people, machine, 6, both).pairs)
    assert (status, err) == (0, "winners: a (40)\n")
    own, its = (
        metric.score(asked[:, 0]) > metric.score(asked[:, 1])
        for metric in (both.members_[0].dcg, FAR)
    )
    assert (own != its).all()
    lists = free_lists(5, 10, 40, random_state=2).reshape(20, 2, 10)
    Preferences(lists, n_grades=5).to_polars().write_ndjson("candidates.jsonl")
    asked = read_questions([*map(json.loads, dcglearn(*words, "candidates.jsonl")[1].splitlines())])
    assert (asked[:, None] == lists).all(axis=(2, 3)).any(axis=1).all()
    misuse("--llm goes with --log", "ask", "--llm", "machine.jsonl")


def wide(folder):
    """Return a log with a grade beyond people's scale."""
    (folder / "wide.jsonl").write_text(json.dumps({"a": [6, 0], "b": [0, 1], "winner": "a"}) + "\n")
    return "wide.jsonl"
