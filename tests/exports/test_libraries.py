"""Exports against the real libraries: the same numbers there as here, or a refusal in words."""

import sys
from types import ModuleType

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import dcglearn as dl
from dcglearn import LinearRanker, exports
from dcglearn.evaluation.arrays import evaluate_arrays
from dcglearn.evaluation.run_values import evaluate
from dcglearn.metrics.dcg import DCG
from dcglearn.rankers.simulated_queries import letor_queries
from tests.makers import refused
from tests.tables import table

STEEP = DCG([0, 0.2, 0.5, 9], [1, 0.9, 0.8, 0.2])


def data(n_queries=60, size=20, seed=0):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n_queries * size, 5))
    truth = features[:, 0] + features[:, 1] ** 2 + 0.5 * rng.normal(size=len(features))
    grades = np.digitize(truth, np.quantile(truth, [0.6, 0.8, 0.95]))
    return features, grades, np.full(n_queries, size)


def nested(n_queries=30, seed=0, n_documents=12):
    rng = np.random.default_rng(seed)
    grades, scores = (
        rng.integers(0, 4, (n_queries, n_documents)),
        rng.normal(size=(n_queries, n_documents)),
    )
    judged = {f"q{i}": {f"d{j}": int(g) for j, g in enumerate(row)} for i, row in enumerate(grades)}
    run = {f"q{i}": {f"d{j}": float(s) for j, s in enumerate(row)} for i, row in enumerate(scores)}
    return judged, run


def test_lightgbm():
    lightgbm = pytest.importorskip("lightgbm")
    features, grades, sizes = data()
    objective, metric = exports.lightgbm_callables(STEEP)
    training = lightgbm.Dataset(features, grades, group=sizes)
    history = {}
    model = lightgbm.train(
        {
            "objective": objective,
            "num_leaves": 7,
            "learning_rate": 0.3,
            "verbose": -1,
            "metric": "none",
        },
        training,
        num_boost_round=30,
        valid_sets=[training],
        feval=metric,
        callbacks=[lightgbm.record_evaluation(history)],
    )
    curve = history["training"]["NDCG"]
    assert curve[-1] > curve[0] + 0.05
    scores = model.predict(features).reshape(len(sizes), -1)
    assert curve[-1] == pytest.approx(
        dl.evaluate_arrays(grades.reshape(scores.shape), scores, metrics=STEEP).mean()
    )
    ranked = lightgbm.train(
        {
            "objective": "lambdarank",
            "num_leaves": 7,
            "verbose": -1,
            **exports.to_lightgbm(STEEP, lossy=True),
        },
        lightgbm.Dataset(features, grades, group=sizes),
        num_boost_round=5,
    )
    assert ranked.num_trees() == 5
    refused("lightgbm_callables", exports.to_lightgbm, STEEP)


@pytest.mark.filterwarnings("ignore:The argument .eval_set.")
def test_lightgbm_ranker_is_the_same_booster():
    lightgbm = pytest.importorskip("lightgbm")
    features, grades, sizes = data()
    objective, metric = exports.lightgbm_callables(STEEP)
    tree = {"num_leaves": 7, "learning_rate": 0.3, "verbose": -1, "n_jobs": 1}
    ranker = lightgbm.LGBMRanker(objective=objective, n_estimators=10, **tree)
    ranker.fit(
        features,
        grades,
        group=sizes,
        eval_set=[(features, grades)],
        eval_group=[sizes],
        eval_metric=metric,
    )
    training = lightgbm.Dataset(features, grades, group=sizes)
    booster = lightgbm.train(
        {"objective": objective, **tree}, training, num_boost_round=10, feval=metric
    )
    scores = ranker.predict(features)
    assert np.array_equal(scores, booster.predict(features))
    ndcg = dl.evaluate_arrays(
        grades.reshape(len(sizes), -1), scores.reshape(len(sizes), -1), metrics=STEEP
    ).mean()
    (curves,) = ranker.evals_result_.values()
    assert (
        curves["NDCG"][-1] == pytest.approx(ndcg) and curves["NDCG"][-1] > curves["NDCG"][0] + 0.02
    )
    refused("no groups", lightgbm.LGBMRegressor(objective=objective, **tree).fit, features, grades)
    refused(
        "no groups",
        lightgbm.train,
        {"objective": objective, **tree},
        lightgbm.Dataset(features, grades),
    )


def test_xgboost():
    xgboost = pytest.importorskip("xgboost")
    features, grades, sizes = data()
    training = xgboost.DMatrix(features, grades, group=sizes)
    objective, metric = exports.xgboost_callables(STEEP)
    history = {}
    settings = {"eta": 0.3, "max_depth": 3, "disable_default_eval_metric": 1}
    watched = {"evals": [(training, "train")], "evals_result": history, "verbose_eval": False}
    xgboost.train(settings, training, 30, obj=objective, custom_metric=metric, **watched)
    assert history["train"]["NDCG"][-1] > history["train"]["NDCG"][0] + 0.02
    refused("groups", objective, np.zeros(len(grades)), xgboost.DMatrix(features, grades))


def test_ir_measures():
    ir_measures = pytest.importorskip("ir_measures")
    judged, run = nested()
    measure = exports.ir_measure(STEEP, "Steep")
    other = exports.ir_measure(DCG([0, 1, 2, 3], [1, 1.0]), "Flat", normalise=False)
    found = ir_measures.calc_aggregate([measure, ir_measures.nDCG @ 5, other], judged, run)
    ours = evaluate(judged, run, {"a": STEEP, "b": DCG.standard(4, 5, "linear")}).means[0]
    assert found[measure] == pytest.approx(ours[0]) and found[
        ir_measures.nDCG @ 5
    ] == pytest.approx(ours[1])
    flat = evaluate(judged, run, DCG([0, 1, 2, 3], [1, 1.0]), normalise=False).means[0, 0]
    assert found[other] == pytest.approx(flat)
    by_query = {m.query_id: m.value for m in ir_measures.iter_calc([measure], judged, run)}
    assert len(by_query) == 30 and str(measure) == "Steep"
    refused("another measure", exports.ir_measure, STEEP, "nDCG")

    # a name can stand for another metric later
    again = exports.ir_measure(DCG([0, 1, 2, 3], [1, 1.0]), "Steep", normalise=False)
    assert ir_measures.calc_aggregate([again], judged, run)[again] == pytest.approx(flat)


def test_scikit_learn():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 8))
    y = np.digitize(X, [-0.5, 0.5, 1.5])
    scorer = exports.sklearn_scorer(STEEP)
    assert scorer(Ridge().fit(X, y), X, y) > scorer(
        Ridge(alpha=1e9).fit(rng.permutation(X), y), X, y
    )


class TestScorerOfDocuments:
    """scikit-learn's scorer where each row is a document, and `qid` says of which query."""

    QUERIES = letor_queries(30, n_features=6, sizes=(5, 20), random_state=0)
    DATA = QUERIES.features, QUERIES.grades

    def test_folds_have_the_mean_over_their_queries(self):
        X, y = self.DATA
        qid, scorer = self.QUERIES.qid, exports.sklearn_scorer(STEEP)
        for model in (Ridge(), make_pipeline(StandardScaler(), Ridge()), LinearRanker(max_iter=2)):
            fits = {"qid": qid} if isinstance(model, LinearRanker) else {}
            expected = []
            for learn, test in GroupKFold(3).split(X, y, qid):
                fitted = clone(model).fit(
                    X[learn], y[learn], **{name: labels[learn] for name, labels in fits.items()}
                )
                predicted, queries = (
                    fitted.predict(X[test]),
                    [qid[test] == q for q in np.unique(qid[test])],
                )
                values = [
                    evaluate_arrays([y[test][q]], [predicted[q]], metrics=STEEP)[0] for q in queries
                ]
                expected.append(np.mean(values))
            with sklearn.config_context(enable_metadata_routing=True):
                given = {
                    "params": {"qid": qid, "groups": qid},
                    "cv": GroupKFold(3),
                    "error_score": "raise",
                }
                values = cross_val_score(model, X, y, scoring=scorer, **given)
                search = GridSearchCV(model, {}, scoring=scorer, cv=GroupKFold(3)).fit(
                    X, y, **given["params"]
                )
            assert search.best_score_ == pytest.approx(np.mean(expected))
            np.testing.assert_allclose(values, expected, rtol=1e-12)

    def test_documents_of_a_query_may_be_apart(self):
        (X, y), qid = self.DATA, self.QUERIES.qid
        scorer, fitted = exports.sklearn_scorer(STEEP), Ridge().fit(X, y)
        order = np.random.default_rng(0).permutation(len(y))
        with sklearn.config_context(enable_metadata_routing=True):
            value = scorer(fitted, X[order], y[order], qid=qid[order])
            assert value == pytest.approx(scorer(fitted, X, y, qid=qid), abs=1e-12)

    def test_a_fold_is_not_one_query(self):
        scorer, fitted = exports.sklearn_scorer(STEEP), Ridge().fit(*self.DATA)
        refused("nothing says which are of one query", scorer, fitted, *self.DATA)
        with pytest.warns(UserWarning, match="nothing says which are of one query"):
            assert np.isnan(cross_val_score(Ridge(), *self.DATA, scoring=scorer, cv=2)).all()
        folds = {"scoring": scorer, "cv": 2, "error_score": "raise"}
        refused(
            "nothing says which are of one query", cross_val_score, Ridge(), *self.DATA, **folds
        )

    @table(
        ("change", "message"),
        [
            (lambda X, y, qid: (X, y, qid[:-1]), "one label per document"),
            (lambda X, y, qid: (X, y, np.where(qid == qid[0], np.nan, qid)), "missing value"),
            (lambda X, y, qid: (X, y + 0.5, qid), "needs levels"),
            (lambda X, y, qid: (X, y.astype(int) + 300, qid), "needs levels"),
            (lambda X, y, qid: (X, np.stack([y, y], axis=1), qid), "y has shape"),
        ],
    )
    def test_documents_that_do_not_fit_are_refused(self, change, message):
        scorer, fitted = exports.sklearn_scorer(STEEP), Ridge().fit(*self.DATA)
        X, y, qid = change(*self.DATA, self.QUERIES.qid)
        with sklearn.config_context(enable_metadata_routing=True):
            refused(message, scorer, fitted, X, y, qid=qid)


class TestTorch:
    @pytest.fixture
    def torch(self):
        return pytest.importorskip("torch")

    @pytest.fixture
    def torch_loss(self, torch):
        from dcglearn.torch_losses import TorchLoss

        return lambda name: TorchLoss(getattr(dl.losses, name)(STEEP))

    @table("name", ["ApproxNDCG", "SmoothNDCG", "SDCG", "LambdaRank"])
    def test_gradients(self, torch, torch_loss, name):
        loss = torch_loss(name)
        generator = torch.Generator().manual_seed(0)
        scores = torch.randn(3, 5, dtype=torch.float64, generator=generator, requires_grad=True)
        grades = torch.tensor([[0, 1, 2, 3, 1], [3, 1, -1, -1, -1], [0, 0, 2, 1, -1]])
        if name != "LambdaRank":  # its value is a metric with jumps, its gradient another
            assert torch.autograd.gradcheck(lambda x: loss(x, grades), (scores,), atol=1e-6)
        value = loss(scores, grades)
        value.backward()
        flat = scores.detach().numpy()[grades.numpy() >= 0], grades.numpy()[grades.numpy() >= 0]
        expected, slope = loss.loss(*flat, [0, 5, 7, 11])
        assert value.item() == pytest.approx(-expected / 3)
        np.testing.assert_allclose(scores.grad.numpy()[grades.numpy() >= 0], -slope / 3)
        assert (scores.grad[grades < 0] == 0).all()

    def test_masks_and_shapes(self, torch, torch_loss):
        loss = torch_loss("ApproxNDCG")
        scores, grades = torch.tensor([[1.0, 2.0, 3.0]]), torch.tensor([[3, 0, 1]])
        mask = torch.tensor([[True, True, False]])
        assert loss(scores, grades, mask).item() == pytest.approx(
            loss(scores, torch.tensor([[3, 0, -1]])).item()
        )
        refused("one shape", loss, scores, grades[0])

    def test_a_network_learns(self, torch, torch_loss):
        torch.manual_seed(0)
        features, grades, sizes = data(20)
        X = torch.tensor(features, dtype=torch.float64).reshape(len(sizes), -1, 5)
        y = torch.tensor(grades).reshape(len(sizes), -1)
        net = torch.nn.Sequential(
            torch.nn.Linear(5, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1)
        ).double()
        optimiser, loss = torch.optim.Adam(net.parameters(), lr=0.02), torch_loss("ApproxNDCG")
        values = []
        for _ in range(80):
            optimiser.zero_grad()
            value = loss(net(X).squeeze(-1), y)
            value.backward()
            optimiser.step()
            values.append(value.item())
        assert values[-1] < values[0] - 0.1


def scheme_of(dcg):
    """The exported program's names, of which no package is needed but torch."""
    pytest.importorskip("torch")
    names = {}
    exec(exports.to_sentence_transformers(dcg, "dcg.json"), names)
    return names


@pytest.mark.parametrize(
    "dcg",
    [
        STEEP,
        DCG.standard(4, 10),
        DCG([0.2, 0.1, 0.5, 1], [1, 0.9, 0.5]),
        DCG([0, 1, 2, 4], [0.2, 0.3, 0.5]),  # readers of the end
    ],
)
def test_weights_for_lambda_loss_are_what_a_swap_changes(dcg):
    torch = pytest.importorskip("torch")
    names = scheme_of(dcg)
    rng = np.random.default_rng(3)
    grades = rng.integers(0, 4, (5, 6))
    grades[0] = 3
    labels = torch.tensor(names["LABELS"], dtype=torch.float64)[torch.tensor(grades)]
    weights = names["DCGScheme"](mu=0.0)(None, None, labels).numpy()

    # brute force: the change of NDCG
    ranks = -np.arange(6.0)
    before = evaluate_arrays(grades, np.tile(ranks, (5, 1)), metrics=dcg)
    for i in range(6):
        for j in range(6):
            swapped = grades.copy()
            swapped[:, [i, j]] = swapped[:, [j, i]]
            after = evaluate_arrays(swapped, np.tile(ranks, (5, 1)), metrics=dcg)
            np.testing.assert_allclose(weights[:, i, j], np.abs(after - before), atol=1e-12)


def test_weights_of_a_textbook_metric_are_those_of_sentence_transformers():
    torch = pytest.importorskip("torch")
    losses = pytest.importorskip("sentence_transformers.cross_encoder.losses")
    names = scheme_of(DCG.standard(4, 8))
    assert names["LABELS"] == pytest.approx([0, 1, 2, 3])

    # as LambdaLoss calls them: documents by score, padding as grade 0
    labels = torch.tensor([[0.0, 3, 1, 2, 0, 0], [1.0, 0, 0, 2, 0, 0]])
    discount = torch.log2(1.0 + torch.arange(1, 7))[None, :]
    best = ((2 ** labels.sort(descending=True).values - 1) / discount).sum(dim=1, keepdim=True)
    gain = (2**labels - 1) / best
    for scheme, mu in ((losses.NDCGLoss2PPScheme(), 10.0), (losses.LambdaRankScheme(), 0.0)):
        ours = names["DCGScheme"](mu)(gain, discount, labels)
        torch.testing.assert_close(ours, scheme(gain, discount, labels))


def test_a_cross_encoder_is_trained_by_lambda_loss(tmp_path):
    torch = pytest.importorskip("torch")
    losses = pytest.importorskip("sentence_transformers.cross_encoder.losses")
    from sentence_transformers import CrossEncoder
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizer

    # a model of 26 words with weights by chance
    torch.manual_seed(0)
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijklmnopqrstu"]
    (tmp_path / "vocab.txt").write_text("\n".join(words))
    BertTokenizer(str(tmp_path / "vocab.txt")).save_pretrained(tmp_path)
    size = {"hidden_size": 16, "num_attention_heads": 2, "intermediate_size": 16}
    config = BertConfig(
        vocab_size=len(words), num_hidden_layers=1, num_labels=1, hidden_dropout_prob=0.0, **size
    )
    BertForSequenceClassification(config).save_pretrained(tmp_path)
    model = CrossEncoder(str(tmp_path), num_labels=1, device="cpu")

    # every letter has a grade
    rng = np.random.default_rng(0)
    letters = [rng.choice(20, n, replace=False) for n in (8, 5, 8, 6)]
    documents = [[words[5 + letter] for letter in row] for row in letters]
    names = scheme_of(STEEP)
    labels = [torch.tensor([names["LABELS"][letter % 4] for letter in row]) for row in letters]
    loss = losses.LambdaLoss(model, weighting_scheme=names["DCGScheme"]())
    descent = torch.optim.Adam(model.parameters(), lr=0.01)

    def ndcg():
        runs = {f"q{i}": {} for i in range(4)}
        judged = {f"q{i}": {} for i in range(4)}
        for i, row in enumerate(documents):
            scores = model.predict([("u", document) for document in row])
            runs[f"q{i}"] = dict(zip(row, map(float, scores), strict=True))
            judged[f"q{i}"] = {d: int(g) % 4 for d, g in zip(row, letters[i], strict=True)}
        return evaluate(judged, {"r": runs}, STEEP).means[0, 0]

    before = ndcg()
    for _ in range(60):
        descent.zero_grad()
        loss((["u"] * 4, documents), labels).backward()
        descent.step()
    assert ndcg() > max(before + 0.1, 0.95)


def test_lambda_loss_has_no_gains_below_0():
    below = DCG([-0.5, 0, 1], [1, 0.5])
    refused(
        r"LambdaLoss has no gains below 0, but grade 0 has the gain -0\.5.*--to pytorch",
        exports.to_sentence_transformers,
        below,
    )


def test_the_metric_of_lenskit_has_our_values_and_its_weights_without_it(monkeypatch):
    dcg = DCG([0, 0.2, 0.5, 0.9], [1, 0.9, 0.3, 0.3])
    code = exports.to_lenskit(dcg, "dcg.json")
    names = {}
    try:
        exec(code, names)
    except ImportError:
        # a stand-in of its two classes
        module = ModuleType("lenskit.metrics.ranking")
        module.NDCG, module.RankWeight = dict, object
        for name in ("lenskit", "lenskit.metrics"):
            monkeypatch.setitem(sys.modules, name, ModuleType(name))
        monkeypatch.setitem(sys.modules, module.__name__, module)
        exec(code, names)
        assert names["METRIC"]["n"] == 4 and names["METRIC"]["gain"] == "gain"

    weight = names["DCGWeight"]().weight(np.arange(1, 7, dtype=np.int32))
    assert weight.tolist() == [1, 0.9, 0.3, 0.3, 0, 0] and names["GAINS"] == [0, 0.2, 0.5, 0.9]
    refused("grade 0 has the gain|not judged gain 0", exports.to_lenskit, DCG([1, 2], [1, 0.5]))
    refused("do not rise", exports.to_lenskit, DCG([0, 2], [0.5, 1]))
    refused("no gains below 0", exports.to_lenskit, DCG([0, -1, 2], [1, 0.5]))

    # values of lists with unjudged items, and of fewer items than positions
    data = pytest.importorskip("lenskit.data")
    rng = np.random.default_rng(0)
    for _ in range(50):
        grades = {f"d{i}": int(rng.integers(0, 4)) for i in range(rng.integers(1, 9))}
        grades["d0"] = 3
        ranked = [f"d{i}" for i in rng.permutation(10)[: rng.integers(1, 10)]]
        test = data.ItemList([*grades], gain=[names["GAINS"][grade] for grade in grades.values()])
        theirs = names["METRIC"].measure_list(data.ItemList(ranked, ordered=True), test)
        run = {d: -float(place) for place, d in enumerate(ranked)}
        ours = dl.evaluate({"q": grades}, {"r": {"q": run}}, dcg).means[0, 0]
        assert theirs == pytest.approx(ours, abs=1e-12)
