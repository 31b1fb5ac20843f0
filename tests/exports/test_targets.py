"""The targets of exports by name: what they refuse, what is written, what is listed."""

import json
from pathlib import Path

import pytest

import dcglearn as dl
from dcglearn import exports
from dcglearn.exports.targets import TARGETS
from dcglearn.metrics.dcg import DCG, Utility
from dcglearn.metrics.list_utility import ListUtility
from tests.makers import refused
from tests.tables import table

SATURATION = ListUtility([0, 0.4, 1], [1, 0.5], stops=[0, 0.2, 0.9])


def test_names_of_targets_and_the_nearest_of_an_unknown_one():
    for word, name in (("ir_measures", "ir-measures"), ("SQL", "sql")):
        made = [exports.exported(DCG.standard(3, 5), "m", one) for one in (word, name)]
        assert made[0] == made[1]
    for word, near in (
        ("quepit", "quepid"),
        ("ir_measure", "ir-measures"),
        ("light_gbm", "lightgbm"),
    ):
        refused(f"nearest is {near}", exports.exported, DCG.standard(3, 5), "m", word)
    for word in ("xyz", "opensearch"):
        given = f"target='{word}': give one of quepid, sql"
        refused(given, exports.exported, DCG.standard(3, 5), "m", word)


def test_ir_measures_holds_a_list_utility_too(tmp_path):
    pytest.importorskip("ir_measures")
    SATURATION.save(tmp_path / "sat.json")
    made = exports.exported(SATURATION, str(tmp_path / "sat.json"), "ir-measures")
    names = {}
    exec(made, names)
    assert names["dcg"] == SATURATION

    # its values are those of evaluate
    import ir_measures

    judged, run = {"q": {"a": 2, "b": 1, "c": 0}}, {"q": {"a": 1.0, "b": 3.0, "c": 2.0}}
    err = dl.metric("ERR@3", n_grades=3)
    for metric, measure in (
        (SATURATION, names["measure"]),
        (err, exports.ir_measure(err, "Expected")),
    ):
        value = ir_measures.calc_aggregate([measure], judged, run)[measure]
        expected = dl.evaluate(judgements=judged, runs={"r": run}, metrics=metric)
        assert value == expected.means[0, 0] > 0


@table("target", sorted(set(TARGETS) - {"ir-measures"}))
def test_every_target_refuses_what_is_no_dcg_or_has_a_worthless_best_grade(target, tmp_path):
    SATURATION.save(tmp_path / "sat.json")
    for metric, name in ((SATURATION, "ListUtility"), (tmp_path / "sat.json", "sat.json")):
        refused(
            rf"{target} can hold only a DCG.*{name} is a ListUtility",
            exports.exported,
            metric,
            "sat.json",
            target,
        )
    refused("is a Utility", exports.exported, Utility([[0, 1.0], [0, 2]]), "w.json", target)
    refused("worst grade first", exports.exported, DCG([0, 1, 0], [1.0]), "dcg.json", target)


@table("target", TARGETS)
def test_a_plain_metric_is_refused_where_values_are_divided_by_the_ideal(target):
    plain = DCG([0, 0.5, 1], DCG.standard(3, 5).discounts, plain=True)
    if target == "ir-measures":
        divided = DCG(plain.gains, plain.discounts)
        assert exports.exported(plain, "dcg.json", target) == exports.exported(
            divided, "dcg.json", target
        )
    else:
        refused(
            f"{target} divides by the ideal, but .* are plain",
            exports.exported,
            plain,
            "dcg.json",
            target,
        )


def test_gains_below_0_are_refused_where_the_target_has_none():
    discounts = DCG.standard(3, 3).discounts
    below, falling = DCG([0, -0.5, 2], discounts), DCG([1, 0.5, 2], discounts)
    refused(r"no gains below 0, but grade 1 has the gain -0\.5", exports.to_lightgbm, below)
    refused("no gains below 1, but grade 1 has the gain 0.5", exports.to_lightgbm, falling)


class TestOnTheCommandLine:
    @pytest.fixture(autouse=True)
    def files(self, here):
        DCG([0, 0.2, 0.5, 0.9], [1, 0.9, 0.3]).save(here / "dcg.json")
        SATURATION.save(here / "sat.json")
        return here

    def test_settings(self, dcglearn):
        _, out, _ = dcglearn("export", "dcg.json", "--to", "lightgbm", "--lossy")
        told = json.loads(out)
        assert told["params"]["label_gain"] == [0, 0.2, 0.5, 0.9] and told["lost"]
        assert "lightgbm_callables" in dcglearn("export", "dcg.json", "--to", "lightgbm")[1]
        _, out, _ = dcglearn("export", "exponential-log2@10", "--to", "lightgbm")
        assert (
            json.loads(out)["params"]["label_gain"] == [0, 1, 3, 7, 15]
            and json.loads(out)["lost"] == []
        )
        DCG([1, 2, 3], DCG.standard(3, 3).discounts).save("above.json")
        told = json.loads(dcglearn("export", "above.json", "--to", "lightgbm", "--lossy")[1])
        assert told["lost"] == [
            "the worst grade's gain, 1, which is subtracted from all: NDCG differs"
        ]
        assert "lightgbm_callables" in dcglearn("export", "above.json", "--to", "lightgbm")[1]

    def test_programs(self, dcglearn, files):
        status, out, err = dcglearn("export", "dcg.json", "--to", "quepid", "-o", "scorer.js")
        assert (status, out) == (0, "") and "wrote: scorer.js" in err
        assert (files / "scorer.js").read_text() == exports.to_quepid("dcg.json", "dcg.json")
        assert dcglearn("export", "dcg.json", "--to", "python")[1] == exports.to_python(
            "dcg.json", "dcg.json"
        )
        textbook = exports.to_sql(DCG.standard(5, 3, "linear"), "linear-log2@3")
        assert dcglearn("export", "linear-log2@3", "--to", "sql")[1] == textbook
        assert dcglearn("export", "dcg.json", "--to", "sql", "-o", "dcg.json")[0] == 2

    @pytest.mark.parametrize(
        "metric", ["dcg.json", "nDCG@10", "linear-reciprocal@3", "linear-log2@9 --grades 3"]
    )
    def test_lines_of_code_run(self, dcglearn, metric):
        name, *options = metric.split()
        expected = dl.metric(name, n_grades=int(options[1]) if options else 5)
        for tool, result in (("xgboost", "objective"), ("scikit-learn", "scorer")):
            names = {}
            exec(dcglearn("export", name, "--to", tool, *options)[1], names)
            assert names["dcg"] == expected and callable(names[result])

    def test_the_four_lines_for_pytorch_run(self, dcglearn):
        torch = pytest.importorskip("torch")
        code = dcglearn("export", "dcg.json", "--to", "pytorch")[1]
        assert len(code.splitlines()) == 4
        names = {}
        exec(code, names)
        value = names["loss"](torch.tensor([[2.0, 1.0, 0.0]]), torch.tensor([[0, 1, 3]]))
        assert -1 < value.item() < 0

    def test_the_list(self, dcglearn):
        status, out, _ = dcglearn("export", "--to", "list")
        assert out == dcglearn("export")[1]
        assert status == 0 and all(f"{name} " in out for name in TARGETS)
        assert out in (Path(__file__).parents[2] / "docs" / "exports.md").read_text()

    def test_refusals(self, misuse):
        misuse("nearest is quepid", "export", "dcg.json", "--to", "quepit")
        misuse("sat.json is a ListUtility", "export", "sat.json", "--to", "quepid")
        misuse("name a metric", "export", "--to", "quepid")
        misuse("has no depth", "export", "linear-log2", "--to", "sql")
