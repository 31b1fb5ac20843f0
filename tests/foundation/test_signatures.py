"""Signatures of public functions show every keyword that they take."""

import inspect
import re

import pytest

import dcglearn as dl
from dcglearn.foundation.validation import InputError
from dcglearn.reading.options import JudgementOptions
from tests.tables import table

NAMED_ELSEWHERE = {"BoostedRanker"}
"""Classes whose further keywords are those of LightGBM."""

UNCHECKED = {"Preferences.at", "Preferences.changed"}
"""Methods of the package's own, which take attributes that are known to be sound."""


def public():
    """Yield the public functions, classes and methods by name."""
    modules = {name: getattr(dl, name) for name in dl.__all__}
    modules = {name: value for name, value in modules.items() if inspect.ismodule(value)}
    for place, module in {"dcglearn": dl, **modules}.items():
        for name in getattr(module, "__all__", dir(module)):
            value = getattr(module, name)
            if not callable(value) or name.startswith("_"):
                continue
            if not getattr(value, "__module__", "").startswith("dcglearn"):
                continue
            yield f"{place}.{name}", value
            if inspect.isclass(value):
                methods = inspect.getmembers(value, callable)
                yield from (
                    (f"{place}.{name}.{method}", own)
                    for method, own in methods
                    if not method.startswith("_")
                    and getattr(own, "__module__", "").startswith("dcglearn")
                )


def signatures():
    for name, value in public():
        try:
            yield name, inspect.signature(value)
        except ValueError:  # written in C
            continue


SIGNATURES = dict(signatures())


def test_there_are_many():
    assert len(SIGNATURES) > 150
    assert "dcglearn.read_preferences" in SIGNATURES
    assert "dcglearn.Preferences.from_documents" in SIGNATURES


def test_no_signature_hides_the_names_of_keywords():
    hidden = {
        name
        for name, signature in SIGNATURES.items()
        if any(entry.kind == entry.VAR_KEYWORD for entry in signature.parameters.values())
        and name.split(".")[1] not in NAMED_ELSEWHERE
        and not name.endswith((".set_params", *UNCHECKED))
    }
    assert hidden == set()


def test_no_signature_is_a_wall_of_types():
    for name, signature in SIGNATURES.items():
        text = str(signature)
        assert not re.search(r"_NestedSequence|numpy\._typing|ForwardRef|\*<class", text), name
        annotations = [str(entry.annotation) for entry in signature.parameters.values()]
        assert max(map(len, annotations), default=0) <= 100, name


def test_readers_show_their_options():
    parameters = inspect.signature(dl.read_preferences).parameters
    assert parameters.keys() >= {*JudgementOptions.__annotations__, "as_is", "skip_bad"}
    assert parameters["pad"].default is None and parameters["depth"].default is None


def test_comparisons_show_the_options_of_evaluate():
    options = [
        entry
        for entry in inspect.signature(dl.evaluate).parameters.values()
        if entry.kind == entry.KEYWORD_ONLY
    ]
    shown = inspect.signature(dl.compare_systems).parameters
    assert {entry.name: entry.default for entry in options} == {
        entry.name: shown[entry.name].default for entry in options
    }


def test_simulators_show_the_options_of_the_judge():
    drawn_by = dl.simulate.preference_pairs, dl.simulate.ungraded_pairs
    of_judge = inspect.signature(dl.simulate.judge).parameters
    for function in drawn_by:
        shown = inspect.signature(function).parameters
        for name in list(of_judge)[3:]:
            if of_judge[name].default is not None:
                assert shown[name].default == of_judge[name].default, name
            assert name in shown


JUDGED, RUN = {"q": {"a": 1, "b": 0}}, {"mine": {"q": {"a": 1.0, "b": 2.0}}}
TRUTH = dl.simulate.ground_truth("D1")


@table(
    ("call", "nearest"),
    [
        (lambda: dl.Preferences([[1, 0]], [[0, 1]], raters=["ann"]), "rater"),
        (lambda: dl.Preferences.from_documents([["a"]], [["a"]], wieght=[1]), "weight"),
        (lambda: dl.compare_systems(JUDGED, RUN, normalize=False), "normalise"),
        (lambda: dl.simulate.preference_pairs(TRUTH, 5, flip_rat=0.1), "flip_rate"),
        (lambda: dl.simulate.ungraded_pairs(TRUTH, 5, temparature=1), "temperature"),
        (lambda: dl.losses.RankHinge().set_params(margins=2), "margin"),
    ],
)
def test_an_unknown_keyword_is_answered_with_the_nearest(call, nearest):
    with pytest.raises(InputError, match=f"; the nearest is {nearest}$"):
        call()


def test_an_unknown_parameter_of_lightgbm_is_answered_with_the_nearest():
    pytest.importorskip("lightgbm")
    with pytest.raises(InputError, match=r"; the nearest is n_trees$"):
        dl.BoostedRanker(n_tres=5)
    with pytest.raises(InputError, match=r"; the nearest is feature_fraction$"):
        dl.BoostedRanker(feature_fractio=0.5)
