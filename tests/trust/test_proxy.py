"""A machine's verdicts beside people's: the members, what they weigh, machines that mislead, and bad input."""

import warnings

import numpy as np
import pytest
import sklearn
from sklearn.model_selection import cross_val_score

from dcglearn import DCG, DCGLearner, InputError, Preferences, bootstrap_bands
from dcglearn.simulate import free_lists, ground_truth, judge, preference_pairs
from dcglearn.trust.blend import NEAR_MACHINE
from dcglearn.trust.proxy import proxy_dcg

TRUTH = DCG([0, 0.1, 0.2, 0.9, 1], 0.95 ** np.arange(10))
"""What people go by: no textbook has such gains."""

FAR = DCG([0, 0.8, 0.9, 0.95, 1], 0.3 ** np.arange(10))
"""What another machine goes by."""


def verdicts(dcg, n, seed, **options):
    return preference_pairs(dcg, n, lists="free", flip_rate=0.1, seed=seed, **options)


@pytest.fixture(scope="module")
def people():
    return verdicts(TRUTH, 40, 1)


@pytest.fixture(scope="module")
def new_pairs():
    return preference_pairs(TRUTH, 2000, lists="free", seed=9)


@pytest.fixture(scope="module")
def alone(people):
    return DCGLearner().fit(people)


@pytest.fixture(scope="module")
def with_machine(people):
    return DCGLearner().fit(people, proxy=verdicts(TRUTH, 800, 2))


def test_the_machine_and_fits_near_it_are_members(with_machine, alone):
    names = [f"near machine {ridge:g}" for ridge in NEAR_MACHINE]
    members = {member.name: member for member in with_machine.members_}
    assert list(members)[:6] == ["robust", "sigmoid", *names, "machine"]
    assert with_machine.fit_.machine is members["machine"] and members["machine"].fit is None
    for name, ridge in zip(names, NEAR_MACHINE, strict=True):
        assert members[name].fit.description.prior == members["machine"].dcg
        assert members[name].fit.description.ridge == ridge
    apart = [np.abs(members[name].dcg.discounts - members["machine"].dcg.discounts).max() for name in names]
    assert apart == sorted(apart, reverse=True)  # the stronger the prior, the nearer to it
    assert alone.fit_.machine is None


def test_a_machine_that_agrees_teaches_and_one_that_does_not_hardly_harms(with_machine, people, alone, new_pairs):
    share_alone = alone.score(new_pairs)
    assert with_machine.score(new_pairs) > share_alone + 0.02
    far = DCGLearner().fit(people, proxy=verdicts(FAR, 800, 3))
    assert new_pairs.agreement(far.fit_.machine.dcg).share < share_alone - 0.1
    assert far.score(new_pairs) > share_alone - 0.02 and far.fit_.machine.weight < 0.05


def test_a_machine_that_is_upside_down_is_left_out_with_a_warning(people, alone):
    log = verdicts(TRUTH, 300, 4)
    opposite = Preferences(log.other, log.preferred, n_grades=5)
    with pytest.warns(UserWarning, match=r"the proxy is left out, and people alone are followed: .* upside down"):
        learner = DCGLearner().fit(people, proxy=opposite)
    assert learner.dcg_ == alone.dcg_ and learner.fit_.machine is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert proxy_dcg(opposite, people, as_is=True) is not None  # where the caller insists


def test_a_machine_that_always_names_the_left_list_is_left_out_or_ignored(people, alone, new_pairs):
    lists = free_lists(5, 10, 600, seed=5)
    left, right = lists[:300], lists[300:]
    both_orders = Preferences(np.vstack([left, right]), np.vstack([right, left]), n_grades=5)
    with pytest.warns(UserWarning, match="the proxy is left out"):
        assert proxy_dcg(both_orders, people) is None
    learner = DCGLearner().fit(people, proxy=Preferences(left, right, n_grades=5))
    assert learner.score(new_pairs) > alone.score(new_pairs) - 0.02


def test_a_saved_fit_carries_the_machine(with_machine, alone, people, tmp_path):
    with_machine.save(tmp_path / "fit.json")
    again = DCGLearner().fit(people, start=tmp_path / "fit.json")
    assert again.fit_.machine.dcg == with_machine.fit_.machine.dcg
    assert [m.weight for m in again.members_] == [m.weight for m in with_machine.members_]
    np.testing.assert_allclose(again.dcg_.discounts, with_machine.dcg_.discounts, atol=1e-6)
    anew = DCGLearner().fit(people, start=alone, proxy=with_machine.fit_.machine.dcg)
    np.testing.assert_allclose(anew.dcg_.discounts, with_machine.dcg_.discounts, atol=1e-6)


def test_a_fit_with_a_proxy_goes_on_from_its_checkpoint_to_the_same_bytes(with_machine, people, tmp_path):
    proxy, path = with_machine.fit_.machine.dcg, tmp_path / "fit.checkpoint"
    whole = DCGLearner().fit(people, proxy=proxy, checkpoint=path)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    resumed = DCGLearner().fit(people, proxy=proxy, checkpoint=path, resume=True)
    assert resumed.dcg_ == whole.dcg_ == with_machine.dcg_


def test_scikit_learn_passes_the_proxy_to_every_fold(people, with_machine):
    proxy = with_machine.fit_.machine.dcg
    plain = cross_val_score(DCGLearner(), people, cv=2, params={"proxy": proxy})
    with sklearn.config_context(enable_metadata_routing=True):
        learner = DCGLearner().set_fit_request(proxy=True)
        routed = cross_val_score(learner, people, cv=2, params={"proxy": proxy})
    assert plain.tolist() == routed.tolist()
    train = people[len(people) // 2 :]  # the first fold is tested
    assert plain[0] == DCGLearner().fit(train, proxy=proxy).score(people[: len(people) // 2])


def test_bands_say_what_people_tell_by_themselves(with_machine, alone, people):
    alone, both = (bootstrap_bands(people, fit, n_resamples=4) for fit in (alone, with_machine))
    np.testing.assert_array_equal(alone.gain_band, both.gain_band)
    assert both.dcg == with_machine.dcg_ != alone.dcg
    resampled = bootstrap_bands(people, with_machine, method="bootstrap", n_resamples=2)
    assert resampled.failed == 0


@pytest.mark.parametrize(
    ("proxy", "problem"),
    [
        (verdicts(ground_truth("D1", 7), 20, 0), "the proxy has 7 grades and 10 positions, the log 5 and 10"),
        (verdicts(ground_truth("D1", 5, 6), 20, 0), "the proxy has 5 grades and 6 positions, the log 5 and 10"),
        (ground_truth("D1", 6), "the proxy has 6 grades and 10 positions, the log 5 and 10.*--map-grades"),
        ("absent.parquet", "absent.parquet does not exist"),
    ],
)
def test_a_proxy_of_another_shape_is_refused(people, proxy, problem):
    with pytest.raises(InputError, match=problem):
        DCGLearner().fit(people, proxy=proxy)


def test_people_must_have_judged_something(people):
    same = judge(TRUTH, people.preferred[:3], people.preferred[:3])
    with pytest.raises(InputError, match="no preference of people between two different lists"):
        DCGLearner().fit(same, proxy=people)


@pytest.mark.parametrize("settings", [{"loss": "robust"}, {"form": "saturation"}, {"form": "auto"}])
def test_a_proxy_is_a_member_of_the_blend_alone(people, settings):
    with pytest.raises(InputError, match='a proxy goes with loss="auto" and form="dcg"'):
        DCGLearner(**settings).fit(people, proxy=TRUTH)
