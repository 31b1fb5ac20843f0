"""The site's sources: gallery, reference, public names with examples, and schemas that hold for what is written."""

import inspect
import json
import re
import runpy
import sys
from pathlib import Path

import pytest

import dcglearn as dl

ROOT = Path(__file__).parents[1]
SCRIPTS = sorted((ROOT / "examples" / "gallery").glob("plot_*.py"))
REFERENCE = (ROOT / "docs" / "reference" / "api.md").read_text()


SLOW = {"plot_active_against_random", "plot_learn_and_bands", "plot_linear_ranker", "plot_trees"}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "script",
    [pytest.param(path, marks=[pytest.mark.long] if path.stem in SLOW else []) for path in SCRIPTS],
    ids=lambda path: path.stem,
)
def test_gallery_draws(script, here):
    if script.stem == "plot_trees":
        pytest.importorskip("lightgbm")
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot
    from matplotlib.figure import Figure

    found = runpy.run_path(str(script))
    figure = found["figure"]
    assert isinstance(figure, Figure) and any(axes.has_data() or axes.images for axes in figure.axes)
    pyplot.close("all")


def test_gallery_has_a_title_and_words_for_every_script():
    assert len(SCRIPTS) >= 12
    for script in SCRIPTS:
        assert re.match(r'"""\n[A-Z].*\n=+\n\n[A-Z`]', script.read_text()), script.name


MODULES = ("exports", "simulate")


def named_object(name):
    value = dl
    for part in name.split("."):
        value = getattr(value, part)
    return value


def documented(module, prefix=""):
    names = getattr(module, "__all__", None) or [name for name in vars(module) if not name.startswith("_")]
    values = {prefix + name: getattr(module, name) for name in names}
    return sorted(name for name, value in values.items() if inspect.isfunction(value) or inspect.isclass(value))


PUBLIC = [*documented(dl), *(name for module in MODULES for name in documented(getattr(dl, module), f"{module}."))]


def test_every_public_name_is_in_the_reference():
    named = set(re.findall(r"^   ([A-Za-z_.]+)$", REFERENCE, flags=re.MULTILINE))
    modules = {"losses", "simulate", "exports", "plots"}
    assert {name for name in named if "." not in name} == {*dl.__all__} - modules - {"__version__"}
    assert all(callable(named_object(name)) for name in named)
    assert {*dl.__all__} <= {*dir(dl)}
    with pytest.raises(AttributeError, match="nothing"):
        dl.nothing  # noqa: B018


@pytest.mark.parametrize("name", PUBLIC)
def test_public_objects_have_an_example_and_lead_on(name):
    text = inspect.cleandoc(named_object(name).__doc__)
    assert ">>>" in text, "its docstring has no example"
    section = re.search(r"^See Also\n-+\n(.*?)(?:\n\n|\Z)", text, flags=re.MULTILINE | re.DOTALL)
    assert section, "its docstring has no See Also"
    for line in section[1].splitlines():
        other, why = line.split(" : ")
        assert named_object(other) is not named_object(name)
        assert why.endswith(".")


def metrics():
    dcg = dl.DCG([0, 0.4, 1], [1, 0.6], grade_names=["bad", "fair", "good"], notes=["made up"])
    yield "dcg", dcg.to_dict()
    yield "utility", dl.Utility([[0, 1], [0, 0.5]]).to_dict()
    yield "list_utility", dl.ListUtility([0, 0.4, 1], [1, 0.6], stops=[0, 0.5, 1]).to_dict()
    for line in (ROOT / "examples" / "side_by_side.jsonl").read_text().splitlines()[:20]:
        yield "judgement", json.loads(line)
    yield "rated_list", {"list": [2, None, 0], "rating": 4, "group": "q1"}


def test_schemas_hold_for_what_is_written_and_refuse_what_is_not():
    jsonschema = pytest.importorskip("jsonschema")
    for name, value in metrics():
        schema = json.loads((ROOT / "docs" / "schemas" / f"{name}.schema.json").read_text())
        jsonschema.Draft202012Validator.check_schema(schema)
        validator = jsonschema.Draft202012Validator(schema)
        assert list(validator.iter_errors(value)) == [], name
        for key in schema["required"]:
            assert not validator.is_valid({k: v for k, v in value.items() if k != key}), (name, key)


def test_pages_written_from_the_code_name_every_command(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "_extensions"))
    from pages_from_code import changes_page, commands_page

    page = commands_page()
    assert {"learn", "judge", "export", "letor"} <= {*re.findall(r"^### (\w+)$", page, flags=re.MULTILINE)}
    assert "dcglearn learn" in page and "--holdout" in page
    assert changes_page().startswith("# Changelog")
    sys.modules.pop("pages_from_code")
