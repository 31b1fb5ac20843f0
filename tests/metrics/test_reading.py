"""Metrics given as objects, files and names, with and without a depth; metrics whose scale is not
that of the data.
"""

import json
import re

import numpy as np
import pytest

import dcglearn as dl
from dcglearn import DCG, Utility, coherence, evaluate, read_judgements
from dcglearn.coherence import is_compatible
from dcglearn.evaluation import ListUtility, ScaleWarning
from dcglearn.metrics.dcg import textbook_dcgs
from dcglearn.metrics.names import MetricName, metric_name
from dcglearn.metrics.reading import METRICS, ONLY_DCG, SCORING, metric_or_name
from dcglearn.metrics.textbook import textbook_formula
from tests.makers import random_log, refused
from tests.tables import table

FIVE = DCG([0, 1, 3, 7, 15], [1, 0.5], grade_names=["bad", "fair", "good", "excellent", "perfect"])
JUDGED = {"q": {"a": 2, "b": 1, "c": 0}}
RUN = {"mine": {"q": {"a": 1.0, "b": 3.0, "c": 2.0}}}


class TestNames:
    def test_forms(self):
        assert metric_name("nDCG@5").at(3) == "nDCG@5" and metric_name("ndcg").at(3) == "ndcg@3"
        assert metric_name("linear-log2").deep(7) == 7 and metric_name("linear-log2@2").deep(7) == 2

    def test_an_evaluation_tells_the_depth_and_takes_names_and_files_under_other_names(
        self, tmp_path
    ):
        found = evaluate(JUDGED, RUN, ["exponential-log2", "nDCG", "linear-log2@2"])
        assert found.metrics == ("exponential-log2@3", "nDCG@3", "linear-log2@2")
        np.testing.assert_array_equal(
            found.values[:, 1], evaluate(JUDGED, RUN, "nDCG@3").values[:, 0]
        )
        DCG([0, 1, 3], [1.0]).save(tmp_path / "three.json")
        found = evaluate(
            JUDGED, RUN, {"usual": "exponential-log2", "mine": tmp_path / "three.json"}
        )
        assert found.metrics == ("usual", "mine") and found.values[0, 1, 0] == pytest.approx(1 / 3)

    def test_a_name_is_as_deep_as_the_other_metric_or_the_documents(self, tmp_path):
        FIVE.save(tmp_path / "five.json")
        assert coherence(tmp_path / "five.json", "exponential-log2").names == (
            str(tmp_path / "five.json"),
            "exponential-log2@2",
        )
        assert coherence("linear-log2", "linear-sqrt@3", [3, 2, 1, 0]).names == (
            "linear-log2@3",
            "linear-sqrt@3",
        )
        assert coherence("linear-log2", "linear-sqrt", [2, 1, 0]).rankings.depth == 3
        assert is_compatible("linear-log2", FIVE) and not is_compatible(FIVE, "binary2-log2")
        refused("give dl.metric.'linear-log2@10'", coherence, "linear-log2", "linear-sqrt")


class TestScales:
    def test_a_map_takes_gains_by_hand(self):
        mapped = FIVE.map_grades([0, 2, 4])
        assert mapped == DCG([0, 3, 15], [1, 0.5], grade_names=["bad", "good", "perfect"])
        assert FIVE.map_grades([0, 0, 3]).grade_names is None
        np.testing.assert_array_equal(
            FIVE.utility.map_grades([1, 4]).weights, [[1, 15], [0.5, 7.5]]
        )
        lists = np.random.default_rng(0).integers(-1, 3, (50, 2))
        np.testing.assert_array_equal(
            mapped.score(lists), FIVE.score(np.where(lists < 0, -1, 2 * lists))
        )
        assert isinstance(FIVE.utility.map_grades([4]), Utility)

    @pytest.mark.parametrize(
        ("grades", "words"),
        [
            ([], "no grade is given; the metric has 5 grades"),
            ([0, 5], r"the map of grade 1.*5 grades \(0..4\)"),
            ([-1], "the map of grade 0"),
            ([0.5], "the map of grade 0"),
        ],
    )
    def test_maps_that_do_not_fit(self, grades, words):
        refused(words, FIVE.map_grades, grades)

    def test_an_evaluation_warns_once_and_names_both(self):
        with pytest.warns(ScaleWarning) as said:
            evaluate(
                JUDGED,
                RUN,
                {"five": FIVE, "four": DCG([0, 1, 2, 3], [1.0]), "three": "linear-log2"},
            )
        assert len(said) == 1 and said[0].filename == __file__
        words = (
            "five has gains for 5 grades (0..4) and four has gains for 4 grades (0..3), "
            "but judgements has 3 grades (0..2); give DCG.map_grades"
        )
        assert str(said[0].message).startswith(words)

    @pytest.mark.filterwarnings("error")
    def test_scales_that_match_are_quiet(self):
        evaluate(read_judgements(JUDGED, n_grades=5), RUN, FIVE)
        evaluate(JUDGED, RUN, FIVE.map_grades([0, 2, 4]))
        FIVE.ndcg([[1, 0], [2, 0]])
        coherence(FIVE, "linear-log2@2", [2, 1, 0])
        refused(r"judgements, .*: grade 2 lies outside 0\.\.1", read_judgements, JUDGED, n_grades=2)

    def test_grades_without_a_gain_are_refused_with_the_remedy(self):
        refused(
            r"judgements: grade 2 has no gain in DCG, .*DCG.map_grades",
            evaluate,
            JUDGED,
            RUN,
            DCG([0, 1], [1.0]),
        )


DCG_OF_TWO = DCG([0, 1], [1, 0.5])
STOPS = ListUtility([0, 1], [1, 0.5], stops=[0, 1])
WEIGHTS = Utility([[0, 1], [0.5, 0]])
LEARNER = dl.DCGLearner(loss="robust").fit(random_log(60))


@table("metric", [DCG_OF_TWO, STOPS, WEIGHTS])
def test_objects_and_files_are_read_where_their_kind_is_accepted(metric, tmp_path):
    metric.save(tmp_path / "metric.json")
    for kinds in ((DCG,), SCORING, SCORING, METRICS):
        for source in (metric, tmp_path / "metric.json", str(tmp_path / "metric.json")):
            if isinstance(metric, kinds):
                assert dl.metric(source, accept=kinds) == metric
            else:
                refused(
                    type(metric).__name__ if source is metric else "metric.json",
                    dl.metric,
                    source,
                    accept=kinds,
                )


def test_names_are_read_at_the_size_that_is_known_later():
    name = metric_or_name("linear-log2")
    assert name.at(4) == "linear-log2@4" and dl.metric(name, 3, 4) == DCG.standard(
        3, 4, "linear", "log2"
    )
    assert dl.metric("nDCG@2", 3, 4) == DCG.standard(3, 2, "linear", "log2")
    err = metric_or_name("ERR@3", accept=SCORING)
    assert isinstance(err, MetricName) and dl.metric(err, 5, accept=SCORING).depth == 3


@table(
    ("metric", "options", "message"),
    [
        ("exponental-log2", {}, "gain 'exponental' is not one of .*; the nearest is exponential"),
        ("linear-log3", {}, "discount 'log3' is not one of .*; the nearest is log2"),
        ("exponential", {}, "neither a file nor GAIN-DISCOUNT.*; the nearest is exponential-"),
        (
            "linear-log2",
            {},
            r"prior: nothing says how many grades linear-log2@10 has; give dl.metric",
        ),
        ("linear-log2", {"n_grades": 3}, "'linear-log2' has no depth"),
        (
            "ERR@10",
            {"n_grades": 3},
            "prior 'ERR@10' is a ListUtility, no sum of gains times discounts",
        ),
        ("ERR(p=1)@10", {}, "prior 'ERR.p=1.@10' is neither a file nor"),
        ("EER@10", {"accept": SCORING}, "neither a file nor .*BestGrade.*; the nearest is ERR"),
        ("err@10", {"accept": SCORING}, "here it is ERR@10"),
        ("bestgrade", {"accept": SCORING}, "the nearest is BestGrade"),
        ("EER@10", {}, r"such as exponential-log2@10, nor nDCG\[@K\]"),
        (STOPS, {}, "prior is a ListUtility, no sum of gains times discounts"),
        (
            WEIGHTS,
            {"accept": SCORING},
            "prior is a Utility; give a DCG or a ListUtility, its file, or a name",
        ),
        (LEARNER, {}, "prior is a learner; give the DCG that it learned, its dcg_"),
        ([[1, 2]], {}, "prior is a list; give a DCG, its file, or a name"),
        ("utility.json", {"accept": SCORING}, 'expected "dcglearn.dcg" or "dcglearn.list_utility"'),
        (
            "other.json",
            {},
            r'other\.json: "version" is 7, expected 1 to 3; if it is of a later dcglearn, upgrade',
        ),
        ("former.json", {}, r'former\.json: "version" is 0, expected 1 to 3'),
    ],
)
def test_other_metrics_are_refused_by_name(metric, options, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    WEIGHTS.save("utility.json")
    for name, version in (("other", 7), ("former", 0)):
        (tmp_path / f"{name}.json").write_text(
            json.dumps({**DCG_OF_TWO.to_dict(), "version": version})
        )
    refused(message, dl.metric, metric, name="prior", **{"accept": ONLY_DCG, **options})


def test_formulas_of_textbooks_are_those_that_are_computed():
    grades, ranks, depth = np.arange(5.0), np.arange(1.0, 8.0), 7
    names = {"grade": grades, "rank": ranks, "K": depth, "log2": np.log2, "sqrt": np.sqrt}
    for name, dcg in textbook_dcgs(5, depth).items():
        words = textbook_formula(name).replace("^", "**")
        gain, discount = words.removeprefix("gain ").split(", discount ")
        gain = re.sub(r"1 from grade (\d) on", r"grade >= \1", gain)
        curves = [
            np.ones(size) * eval(text, {}, names) for text, size in ((gain, 5), (discount, depth))
        ]
        np.testing.assert_allclose(curves[0] / curves[0][-1], dcg.normalised().gains, err_msg=name)
        np.testing.assert_allclose(
            curves[1] / curves[1][0], dcg.normalised().discounts, err_msg=name
        )


def test_a_learner_is_told_from_a_metric_and_from_a_log():
    learned = "is a learner; give the DCG that it learned"
    refused(learned, coherence, LEARNER, "linear-log2")
    refused("the log is a DCGLearner of shape .*; give what dl.read_preferences", dl.bands, LEARNER)
