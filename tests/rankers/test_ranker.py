"""The contract of every ranker: scikit-learn's conventions and its own checks of estimators, and
bad input.
"""

import importlib.util

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import dcglearn as dl
from dcglearn.losses import ApproxNDCG
from dcglearn.rankers.linear import LinearRanker
from dcglearn.rankers.linear_model import RankSVMRanker, RidgeRanker
from dcglearn.rankers.pairwise import PairwiseRanker
from dcglearn.rankers.queries import Queries
from dcglearn.rankers.trees import BoostedRanker
from tests.makers import refused
from tests.rankers.makers import MINE, quick, small
from tests.tables import table


class TestScikitLearn:
    @table(
        ("ranker", "name"),
        [(RidgeRanker(MINE), "l2"), (LinearRanker(ApproxNDCG(MINE), max_iter=3), "loss__alpha")],
    )
    def test_parameters_can_be_searched_through_metadata_routing(self, ranker, name):
        queries, before = small(12), ranker.get_params()[name]
        with sklearn.config_context(enable_metadata_routing=True):
            search = GridSearchCV(
                ranker, {name: [1e-3, 1e3]}, cv=GroupKFold(3), error_score="raise"
            )
            search.fit(queries.features, queries.grades, qid=queries.qid, groups=queries.qid)
        assert search.best_estimator_.get_params()[name] == search.best_params_[name] in (1e-3, 1e3)
        assert np.isfinite(search.cv_results_["mean_test_score"]).all()
        assert ranker.get_params()[name] == before  # a search changes copies

    @pytest.mark.filterwarnings("ignore:One or more of the test scores")
    def test_grid_search_without_routing_names_what_is_missing(self):
        queries = small(12)
        search = GridSearchCV(RidgeRanker(MINE), {"l2": [1.0]}, cv=2)
        wanted = r"qid is missing.*set_config\(enable_metadata_routing=True\)"
        with pytest.raises(ValueError, match=wanted):
            search.fit(queries.features, queries.grades)
        with pytest.warns(
            UserWarning, match=wanted
        ):  # of scores that fail, scikit-learn warns unless told to raise
            search.fit(queries.features, queries.grades, qid=queries.qid)
        refused(
            wanted,
            search.set_params(error_score="raise").fit,
            queries.features,
            queries.grades,
            qid=queries.qid,
        )

    @pytest.mark.parametrize(
        ("ranker", "name", "values"),
        [
            (LinearRanker(ApproxNDCG(MINE), max_iter=3), "l2", [1e-3, 1e3]),
            (LinearRanker(ApproxNDCG(MINE), max_iter=3), "l1", [1e-3, 1e-1]),
            (RankSVMRanker(metric=MINE), "C", [1e-3, 1e3]),
            (RidgeRanker(MINE), "l2", [1e-3, 1e3]),
            (BoostedRanker(metric=MINE, n_trees=5), "num_leaves", [3, 15]),
        ],
        ids=lambda value: type(value).__name__,
    )
    def test_a_pipeline_has_the_values_of_its_steps_by_hand(self, ranker, name, values):
        if isinstance(ranker, BoostedRanker):
            pytest.importorskip("lightgbm")
        queries, folds = small(12), GroupKFold(3)
        X, y, qid = 100 * queries.features, queries.grades, queries.qid
        by_hand = np.zeros((2, 3))
        for i, value in enumerate(values):
            for k, (learn, test) in enumerate(folds.split(X, y, qid)):
                scaler = StandardScaler().fit(X[learn])
                fitted = (
                    clone(ranker)
                    .set_params(**{name: value})
                    .fit(scaler.transform(X[learn]), y[learn], qid[learn])
                )
                by_hand[i, k] = fitted.score(scaler.transform(X[test]), y[test], qid[test])

        pipeline, given = make_pipeline(StandardScaler(), ranker), {"qid": qid, "groups": qid}
        step = f"{type(ranker).__name__.lower()}__{name}"
        with sklearn.config_context(enable_metadata_routing=True):
            search = GridSearchCV(pipeline, {step: values}, cv=folds, error_score="raise").fit(
                X, y, **given
            )
            chosen = clone(pipeline).set_params(**search.best_params_)
            assert (
                cross_val_score(chosen, X, y, cv=folds, params=given).tolist()
                == by_hand[search.best_index_].tolist()
            )
            scaled = StandardScaler().fit_transform(X)
            best = chosen[-1].fit(scaled, y, qid)
            assert search.score(X, y, qid=qid) == best.score(scaled, y, qid)
            assert (search.predict(X) == best.predict(scaled)).all()
        assert search.cv_results_["mean_test_score"].tolist() == by_hand.mean(axis=1).tolist()

    def test_weights_of_documents_have_no_meaning_in_score(self):
        queries = small(6)
        arguments = queries.features, queries.grades
        with sklearn.config_context(enable_metadata_routing=True):
            pipeline = make_pipeline(StandardScaler(), RidgeRanker(MINE)).fit(
                *arguments, qid=queries.qid
            )
            with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
                pipeline.score(*arguments, qid=queries.qid, sample_weight=np.ones(len(queries.qid)))

    def test_score_without_qid_names_it(self):
        queries = small()
        ranker = RidgeRanker().fit(queries)
        for arguments, missing in (
            ((queries.features, queries.grades), "qid is missing"),
            ((queries.features,), "requires y"),
        ):
            refused(missing, ranker.score, *arguments)
        refused("leave y and qid out", ranker.score, queries, queries.grades)


RANKERS = [
    quick(),
    RidgeRanker(MINE),
    RankSVMRanker(metric=MINE),
    quick(l1=0.1),
    PairwiseRanker(metric=MINE),
]
if importlib.util.find_spec("lightgbm"):
    RANKERS.append(BoostedRanker(ApproxNDCG(MINE), n_trees=5, min_data_in_leaf=5))


@pytest.mark.parametrize("ranker", RANKERS, ids=lambda ranker: type(ranker).__name__)
class TestBadInput:
    X, y, qid = np.arange(8.0).reshape(4, 2), np.array([0, 1, 2, 0]), np.array([1, 1, 2, 2])

    @table(
        ("change", "message"),
        [
            ({"qid": np.array([2, 2])}, "of group sizes give np.repeat"),
            ({"qid": np.array([1, 2, 1, 2])}, "keep the documents of a query together"),
            ({"qid": None}, "qid is missing"),
            ({"y": None}, "requires y to be passed"),
            ({"y": np.array([0, 3, 0, 0])}, "have grade 3, but the metric has gains"),
            ({"y": np.array([0, 0.5, 0, 0])}, "0.5 is not a grade"),
            ({"X": np.full((4, 2), np.inf)}, "not a finite number"),
            ({"y": np.array([1, 1, 1, 1])}, "same grade"),
            ({"qid": np.array([1, 2, 3, 4])}, "same grade"),
            (
                {"X": np.zeros((0, 2)), "y": np.zeros(0, int), "qid": np.zeros(0, int)},
                "n_samples=0",
            ),
        ],
    )
    def test_fit(self, ranker, change, message):
        arguments = {"X": self.X, "y": self.y, "qid": self.qid, **change}
        refused(message, clone(ranker).fit, **arguments)

    def test_features_that_differ(self, ranker):
        queries = small(6)
        fitted = clone(ranker).fit(queries)
        refused(r"X has 3 features, but \w+ is expecting 12", fitted.predict, np.zeros((2, 3)))
        refused("not a finite number", fitted.predict, np.full((2, 12), np.inf))
        refused(
            "have grade 7, but the metric has gains for grades 0..2",
            fitted.score,
            np.zeros((2, 12)),
            [0, 7],
            [1, 1],
        )

    def test_queries_without_a_relevant_document_count_nothing(self, ranker):
        queries = small(6)
        grades = queries.grades.copy()
        grades[: queries.offsets[1]] = 0
        with_empty = Queries(queries.features, grades, queries.qid, 3)
        values = clone(ranker).fit(with_empty).evaluate(with_empty)
        assert values[0] == 0
        assert (values[1:] > 0).any()


class OneQuery:
    """A ranker of documents that are one query where `qid` is missing, since scikit-learn's checks
    give X and y.
    """

    def fit(self, X, y=None, qid=None, **options):
        return super().fit(X, y, self.one(y, qid), **options)

    def score(self, X, y=None, qid=None):
        return super().score(X, y, self.one(y, qid))

    @staticmethod
    def one(y, qid):
        return np.zeros(len(y)) if qid is None and np.ndim(y) == 1 else qid


SMALL = {
    dl.LinearRanker: {"max_iter": 3},
    dl.rankers.RidgeRanker: {},
    dl.rankers.RankSVMRanker: {},
    dl.rankers.PairwiseRanker: {"n_rounds": 1},
    dl.BoostedRanker: {"n_trees": 3},
}
KINDS = {
    kind.__name__: type(f"Checked{kind.__name__}", (OneQuery, kind), {"__module__": __name__})
    for kind in SMALL
}
globals().update({kind.__name__: kind for kind in KINDS.values()})  # a class is pickled by its name

NOT_APPLICABLE = {
    "PairwiseRanker": {
        "check_methods_subset_invariance": (
            "a score is a position among the documents ranked with it"
        )
    },
    "BoostedRanker": {
        "check_do_not_raise_errors_in_init_or_set_params": (
            "LightGBM's names are checked where they are set"
        )
    },
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", SMALL, ids=lambda kind: kind.__name__)
def test_the_checks_of_scikit_learn(kind):
    name = kind.__name__
    if name == "BoostedRanker":
        pytest.importorskip("lightgbm")
    expected = NOT_APPLICABLE.get(name, {})
    check_estimator(KINDS[name](**SMALL[kind]), expected_failed_checks=expected, on_skip=None)
