import json

import pytest

from dcglearn import DCG, ListUtility, Utility
from dcglearn.metric.reading import EVALUATED, SAVED, SCORING, metric_or_name, read_metric
from dcglearn.metric.textbook_lists import ListMetricName
from tests.makers import refused

DCG_OF_TWO = DCG([0, 1], [1, 0.5])
STOPS = ListUtility([0, 1], [1, 0.5], stops=[0, 1])
WEIGHTS = Utility([[0, 1], [0.5, 0]])


@pytest.mark.parametrize("metric", [DCG_OF_TWO, STOPS, WEIGHTS], ids=lambda metric: type(metric).__name__)
def test_objects_and_files_are_read_where_their_kind_is_accepted(metric, tmp_path):
    metric.save(tmp_path / "metric.json")
    for kinds in ((DCG,), SCORING, EVALUATED, SAVED):
        for source in (metric, tmp_path / "metric.json", str(tmp_path / "metric.json")):
            if isinstance(metric, kinds):
                assert read_metric(source, accept=kinds) == metric
            else:
                refused(type(metric).__name__ if source is metric else "metric.json", read_metric, source, accept=kinds)


def test_names_are_read_at_the_size_that_is_known_later():
    name = metric_or_name("linear-log2")
    assert name.at(4) == "linear-log2@4" and read_metric(name, 3, 4) == DCG.standard(3, 4, "linear", "log2")
    assert read_metric("nDCG@2", 3, 4) == DCG.standard(3, 2, "linear", "log2")
    err = metric_or_name("ERR@3", accept=EVALUATED)
    assert isinstance(err, ListMetricName) and read_metric(err, 5, accept=EVALUATED).depth == 3


@pytest.mark.parametrize(
    ("metric", "options", "message"),
    [
        ("exponental-log2", {}, "gain 'exponental' is not one of .*; the nearest is exponential"),
        ("linear-log3", {}, "discount 'log3' is not one of .*; the nearest is log2"),
        ("exponential", {}, "neither a file nor GAIN-DISCOUNT.*; the nearest is exponential-"),
        ("linear-log2", {}, r"prior: nothing says how many grades linear-log2@10 has; give DCG.parse"),
        ("linear-log2", {"n_grades": 3}, "'linear-log2' has no depth"),
        ("ERR@10", {"n_grades": 3}, "'ERR@10' is no DCG, but one of ERR, RBP"),
        (STOPS, {}, "prior is a ListUtility, no sum of gains times discounts"),
        (WEIGHTS, {"accept": SCORING}, "prior is a Utility; give a DCG or a ListUtility, its file, or a name"),
        ([[1, 2]], {}, "prior is a list; give a DCG, its file, or a name"),
        ("utility.json", {"accept": SCORING}, 'expected "dcglearn.dcg" or "dcglearn.list_utility"'),
        ("other.json", {}, r'other\.json: "version" is 7, expected 1; written by a later dcglearn: upgrade'),
        ("former.json", {}, r'former\.json: "version" is 0, expected 1; no dcglearn writes it'),
    ],
)
def test_other_metrics_are_refused_by_name(metric, options, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    WEIGHTS.save("utility.json")
    for name, version in (("other", 7), ("former", 0)):
        (tmp_path / f"{name}.json").write_text(json.dumps({**DCG_OF_TWO.to_dict(), "version": version}))
    refused(message, read_metric, metric, name="prior", **options)
