"""Every example in README, docs, docstrings and examples/ runs and prints what it says; the site's
sources.
"""

import contextlib
import doctest
import glob
import importlib
import importlib.util
import inspect
import itertools
import json
import logging
import pkgutil
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import dcglearn
from dcglearn.foundation.finding import Finding
from tests.makers import call, forked_workers, list_metrics
from tests.public_face import OBJECTS, named_object
from tests.tables import each, table

ROOT = Path(__file__).parents[1]
FOUND = pkgutil.walk_packages(dcglearn.__path__, "dcglearn.")
MODULES = [
    "",
    *sorted(m.name.removeprefix("dcglearn.") for m in FOUND if m.name != "dcglearn.__main__"),
]
PEERS = {
    "torch_losses": ["torch"],
    "rankers.trees": ["lightgbm"],
    "exports.callables": ["ir_measures"],
}
WRITTEN = {"generated", "gallery"}
"""Folders of pages that `make docs` writes."""
PAGES = [page for page in ROOT.glob("docs/**/*.md") if not WRITTEN & {*page.parts}]
PAGES = sorted([ROOT / "README.md", *PAGES, *ROOT.glob("examples/*.md")])


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(
        rf"^```{language}\n(.*?)^```", page.read_text(), flags=re.MULTILINE | re.DOTALL
    )


FRONT = (ROOT / "docs" / "index.md").read_text()
LISTED = re.findall(
    r"^## (.+)\n\n((?:- .+\n)+)\n```{toctree}\n:hidden:\n:caption: (.+)\n\n((?:[\w/]+\n)+)```",
    FRONT,
    flags=re.MULTILINE,
)
"""Lists of pages on the front page: heading, sentences, caption of the sidebar, pages."""

TUTORIALS = ROOT / "docs" / "tutorials"
FOLLOWED = [
    ROOT / "README.md",
    *(ROOT / f"docs/{name}.md" for *_, names in LISTED for name in names.split()),
]
FOLLOWED = [page for page in FOLLOWED if page.parent in (ROOT, TUTORIALS)]
"""Pages that are followed in one folder, in this order."""


def pages_with(language: str) -> list[Any]:
    """Return a row for each page with blocks of a language; those that other tests run are run
    alone by `make long`, but for Python on tutorials, which reads what their commands wrote.
    """
    elsewhere = [*FOLLOWED, ROOT / "docs" / "index.md"]
    alone = [page for page in PAGES if language == "sh" or page.parent != TUTORIALS]
    return [
        pytest.param(page, id=page.name, marks=[pytest.mark.long] if page in elsewhere else [])
        for page in alone
        if re.search(rf"^ *```{language}$", page.read_text(), re.MULTILINE)
    ]


@pytest.fixture
def workplace(tmp_path, monkeypatch):
    """A folder with the examples of a fresh clone, and with `dcglearn` and `python` on the path."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    folder = tmp_path / "bin"
    folder.mkdir()
    programs = {"dcglearn": "-c 'from dcglearn.cli.app import main; main()'", "python": ""}
    for name, arguments in programs.items():
        shim = folder / name
        shim.write_text(f'#!/bin/sh\nexec {sys.executable} {arguments} "$@"\n')
        shim.chmod(0o755)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))  # for `python -m simulations`
    monkeypatch.setenv("PATH", str(folder), prepend=":")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def examples_run(module):
    found = importlib.import_module(f"dcglearn.{module}".removesuffix("."))
    options = {"extraglobs": {"dl": dcglearn}, "optionflags": doctest.NORMALIZE_WHITESPACE}
    assert doctest.testmod(found, **options).failed == 0


@pytest.mark.parametrize("wing", sorted({module.split(".")[0] for module in MODULES}))
def test_docstrings(wing):
    modules = [module for module in MODULES if module.split(".")[0] == wing]
    if alone := [module for module in modules if module not in PEERS]:
        each(examples_run, [(module,) for module in alone])


@pytest.mark.parametrize("module", PEERS)
def test_docstrings_with_peers(module):
    for peer in PEERS[module]:
        pytest.importorskip(peer)
    examples_run(module)


def workers_of(page):
    """Return a context in which the workers that a page starts start fast."""
    return forked_workers() if page.name == "scale.md" else contextlib.nullcontext()


@pytest.mark.parametrize("page", pages_with("python"))
def test_python_on_pages(page, workplace, caplog):
    caplog.set_level(logging.NOTSET, logger="dcglearn")  # and what a page sets is undone afterwards
    code = "\n".join(blocks(page, "python"))
    peers = r"^>>> import (lightgbm|ir_measures|torch|distributed|pyarrow|duckdb)"
    for peer in re.findall(peers, code, flags=re.MULTILINE):
        pytest.importorskip(peer)
    parsed = doctest.DocTestParser().get_doctest(code, {}, page.name, str(page), 0)
    with workers_of(page):
        assert (
            doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(parsed).failed == 0
        )


NUMBER = re.compile(r"[-+]?\d[\d,]*\.?\d*")


def same_but_for_rounding(shown: str, printed: str) -> bool:
    """Whether two texts differ by no more than depends on the machine: last digits, and ends of
    bootstrap bands.
    """
    numbers = [
        [float(x.replace(",", "")) for x in NUMBER.findall(text)] for text in (shown, printed)
    ]
    words = [re.sub(r"\s+", " ", NUMBER.sub("#", text)).strip() for text in (shown, printed)]
    return words[0] == words[1] and numbers[0] == pytest.approx(numbers[1], rel=0.02, abs=0.02)


OUTPUT = re.compile(
    r"^ *```sh\n(.*?)^ *```(?:\n+```text\n(.*?)^```)?", flags=re.MULTILINE | re.DOTALL
)
"""Commands, and the block of text that follows at once: the standard output of the last of them."""


@pytest.fixture
def shell(workplace, monkeypatch, capsys):
    """Run a line of shell: a command of ours, with or without ``> FILE``, in this process, which is
    faster.

    Returns its status, output and words.
    """

    def run(line: str) -> tuple[int, str, str]:
        command, _, file = line.partition(" > ")
        if line.startswith("dcglearn ") and not set("|&;<>$") & set(command + file):
            words = shlex.split(command, comments=True)[1:]
            # Words are no paths as yet.
            files = [sorted(glob.glob(word)) or [word] for word in words]  # noqa: PTH207
            status, printed, said = call(monkeypatch, capsys, *itertools.chain(*files))
            if file:
                Path(file).write_text(printed)
            return status, "" if file else printed, said
        done = subprocess.run(["bash", "-ec", line], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr

    return run


def run_commands(page: Path, shell):
    """Run a page's commands, which must succeed and print what the page shows."""
    for commands, shown in OUTPUT.findall(page.read_text()):
        lines = [
            line.strip() for line in commands.replace("\\\n", " ").splitlines() if line.strip()
        ]
        for line in (line for line in lines if not line.startswith("make ")):
            with workers_of(page):
                status, printed, words = shell(line)
            assert status == 0, f"{line}\n{words}"
        if shown:
            assert same_but_for_rounding(shown, printed), (
                f"paste the new output into {page.name}:\n{printed}"
            )


@pytest.mark.posix
@pytest.mark.parametrize("page", pages_with("sh"))
def test_commands_on_pages_run_and_print_what_is_shown(page, shell):
    for peer in ("pyarrow", "distributed") if page.name == "scale.md" else ():
        pytest.importorskip(peer)
    run_commands(page, shell)


def files_in(folder: Path) -> dict[str, bytes]:
    """Return the content of each file in a folder but those of the clone, by name."""
    paths = {path.relative_to(folder): path for path in folder.rglob("*") if path.is_file()}
    return {
        str(name): path.read_bytes()
        for name, path in paths.items()
        if name.parts[0] not in ("bin", "examples")
    }


@pytest.mark.posix
def test_readme_and_tutorials_can_be_followed_in_one_folder(shell, workplace):
    _, *tutorials = FOLLOWED
    assert {*tutorials} == {*TUTORIALS.glob("*.md")}

    # no two pages name one output, in the text either
    option = r"(?:-o|--plot|--log)\s+([\w.]+)"
    named = [{*re.findall(option, page.read_text())} for page in FOLLOWED]
    assert sum(map(len, named)) == len(set().union(*named)) > 10

    # each page leaves the files of those before it as they were
    written = {}
    for page in FOLLOWED:
        run_commands(page, shell)
        code = "\n".join(blocks(page, "python"))
        parsed = doctest.DocTestParser().get_doctest(code, {}, page.name, str(page), 0)
        runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
        assert runner.run(parsed).failed == 0, page.name

        after = files_in(workplace)
        assert {name for name, content in written.items() if after[name] != content} == set()
        written = after
    assert {"dcg.json", "lunch.json", "thirty.json", "both.json"} <= {*written}


def test_the_front_page_has_the_command_of_the_readme():
    (command,) = blocks(ROOT / "docs" / "index.md", "sh")
    commands = blocks(ROOT / "README.md", "sh")
    assert " ".join(command.replace("\\\n", " ").split()) in [" ".join(c.split()) for c in commands]


def test_the_first_pages_show_output_and_the_readme_is_short_and_begins_with_the_demo():
    for page in ("README.md", "docs/tutorials/dcg_by_lunch.md"):
        assert any(shown for _, shown in OUTPUT.findall((ROOT / page).read_text()))
    text = (ROOT / "README.md").read_text()
    assert len(text.split()) <= 900 and "make demo" in text[:600]


@table("page", PAGES)
def test_code_fits_the_page(page):
    code = [
        line
        for language in ("sh", "py", "json", "sql")
        for block in blocks(page, language)
        for line in block.splitlines()
    ]
    code += [
        line
        for block in blocks(page, "python")
        for line in block.splitlines()
        if line.startswith((">>>", "..."))
    ]
    assert [line for line in code if len(line) > 88] == []


def test_the_logo_is_what_its_script_draws():
    drawn = runpy.run_path(str(ROOT / "docs" / "draw_logo.py"))
    assert drawn["LOGO"].read_text() == drawn["logo"]()


def test_the_picture_is_what_its_program_draws(monkeypatch):
    image = pytest.importorskip("PIL.Image")
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    program = importlib.import_module("draw_picture")
    log = dcglearn.read_preferences(program.LOG)
    told = program.told(program.picture(log))
    assert program.told(program.picture(log, narrow=True)) == told

    # so says the file, and so do the words beside it
    for name in ("picture.png", "picture_dark.png"):
        drawn = image.open(ROOT / "docs" / name)
        assert drawn.size == (1280, 640)
        assert same_but_for_rounding(drawn.text["Description"], told)
    wrong = re.findall(r"'(\d+%)'", told)
    assert len(wrong) == 2
    for page in ("README.md", "docs/index.md"):
        text = (ROOT / page).read_text()
        said = [line for line in text.splitlines() if "verdicts" in line and "wrong" in line]
        assert said and all(re.findall(r"\d+%", line)[-2:] == wrong for line in said), page


def test_each_page_has_a_sentence_on_the_front_page():
    written = []
    for heading, sentences, caption, names in LISTED:
        told = re.findall(r"^- \[[^\]]+\]\(([\w/]+)\.md\): .+\.$", sentences, flags=re.MULTILINE)
        assert heading == caption
        assert [name for name in names.split() if name != "gallery/index"] == told != []
        written += told
    pages = {
        str(page.relative_to(ROOT / "docs").with_suffix(""))
        for page in PAGES[1:]
        if page.is_relative_to(ROOT / "docs")
    }
    assert {name for name in written if "generated" not in name} == pages - {"index"}
    assert len(written) == len({*written}) and len(pages) <= 34


def test_links_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\((?!http)([^)#]+)", page.read_text()):
            if WRITTEN & {*Path(target).parts}:
                continue  # Sphinx checks it
            assert (page.parent / target).exists(), f"{page.name}: {target}"


@pytest.mark.parametrize("script", sorted(ROOT.glob("examples/*.py")), ids=lambda path: path.name)
def test_example_scripts(script, monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(script)])
    runpy.run_path(str(script), run_name="__main__")
    assert capsys.readouterr().out


@pytest.mark.posix
def test_the_example_log_is_what_the_simulator_makes(workplace):
    exec(blocks(ROOT / "examples" / "README.md", "python")[0], {})
    made, kept = Path("log.jsonl"), ROOT / "examples" / "side_by_side.jsonl"
    assert made.read_text() == kept.read_text()


def test_make_targets_do_their_own_set_up():
    text = (ROOT / "Makefile").read_text()
    for target in ("demo", "test", "check"):
        assert re.search(rf"^{target}: \$\((READY|INSTALLED)\)", text, flags=re.MULTILINE)
    assert (ROOT / ".ci" / "run").stat().st_mode & 0o111


@pytest.mark.long
@pytest.mark.parametrize("script", ["fit", "losses", "evaluate", "trees", "imports"])
def test_benchmarks_run(script):
    if peer := {"fit": "piqp", "trees": "lightgbm"}.get(script):
        pytest.importorskip(peer, reason="benchmarks need the group `bench`")
    command = [sys.executable, ROOT / "benchmarks" / f"{script}.py", "--quick"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture
def suite():
    spec = importlib.util.spec_from_file_location(
        "benchmark_suite", ROOT / "benchmarks" / "__main__.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_of_benchmarks_is_that_of_its_rows(suite):
    rows = suite.read(suite.HERE / "results.jsonl")
    assert {row["script"] for row in rows} == set(suite.SCRIPTS)
    assert (suite.DOCS / "benchmarks.md").read_text() == suite.page(rows)
    beside = {"__main__", "against", "measuring"}
    assert set(suite.SCRIPTS) | beside == {path.stem for path in suite.HERE.glob("*.py")}


def test_the_suite_keeps_the_rows_of_other_scripts(suite, tmp_path, monkeypatch):
    kept = tmp_path / "rows.jsonl"
    stamp = suite.machine()
    assert stamp["versions"]["numpy"] and stamp["cores"] > 0
    old = [{"script": name, "question": "old", "machine": stamp} for name in ("evaluate", "trees")]
    suite.write(kept, old[::-1])
    new = {"script": "evaluate", "question": "new", "seconds": 2.0, "machine": stamp}
    monkeypatch.setattr(suite, "rows_of", lambda script, quick: [new])
    monkeypatch.setattr(sys, "argv", ["benchmarks", "evaluate", "--quick", "-o", str(kept)])
    suite.main()
    assert [row["question"] for row in suite.read(kept)] == ["old", "new"]
    monkeypatch.setattr(sys, "argv", ["benchmarks", "nothing"])
    with pytest.raises(SystemExit):
        suite.main()


def test_a_failing_benchmark_stops_the_suite(suite, tmp_path, monkeypatch):
    (tmp_path / "bad.py").write_text("raise ValueError")
    (tmp_path / "good.py").write_text("print('{\"question\": 1}')")
    monkeypatch.setattr(suite, "HERE", tmp_path)
    assert suite.rows_of("good", False)[0]["script"] == "good"
    with pytest.raises(SystemExit, match=r"bad\.py failed"):
        suite.rows_of("bad", False)


SCRIPTS = sorted((ROOT / "examples" / "gallery").glob("plot_*.py"))
REFERENCE = (ROOT / "docs" / "reference" / "api.md").read_text()


SLOW = {
    "plot_active_against_random",
    "plot_audit",
    "plot_learn_and_bands",
    "plot_linear_ranker",
    "plot_trees",
}


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
    assert isinstance(figure, Figure) and any(
        axes.has_data() or axes.images for axes in figure.axes
    )
    pyplot.close("all")


def test_gallery_has_a_title_and_words_for_every_script():
    assert len(SCRIPTS) >= 12
    for script in SCRIPTS:
        assert re.match(r'"""\n[A-Z].*\n=+\n\n[A-Z`]', script.read_text()), script.name


PARTS = {"RankEval", "Witness", "Swaps", "Judgements", "Run"}
PARTS |= {"Objective", "soft_ranks", "exported"}
PUBLIC = sorted(
    name
    for name, value in OBJECTS.items()
    if not (inspect.isclass(value) and issubclass(value, Finding))
    and not name.startswith("plots.")
    and name.rpartition(".")[2] not in PARTS
)


def test_every_public_name_is_in_the_reference():
    named = re.findall(r"^   ([\w.]+)$", REFERENCE, flags=re.MULTILINE)
    assert {named_object(name) for name in named} == {*OBJECTS.values()}
    assert len(named) == len(OBJECTS)
    assert {name for name in named if "." not in name} == {*OBJECTS} & {*dcglearn.__all__}


@table("name", PUBLIC)
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
    dcg = dcglearn.DCG(
        [0, 0.4, 1], [1, 0.6], grade_names=["bad", "fair", "good"], notes=["made up"]
    )
    yield "dcg", dcg.to_dict()
    lists = np.random.default_rng(0).choice([-2, 0, 1, 2], (2, 300, 3))
    log = dcglearn.simulate.judge(dcglearn.DCG([0, 1, 3], [1, 0.6, 0.5], power=1.0), *lists)
    yield "dcg", dcglearn.bands(log, dcglearn.DCGLearner(power="free")).metric.to_dict()
    for metric in list_metrics(3, 2).values():
        yield "dcg" if isinstance(metric, dcglearn.DCG) else "list_utility", metric.to_dict()
    yield "utility", dcglearn.Utility([[0, 1], [0, 0.5]]).to_dict()
    yield (
        "list_utility",
        dcglearn.evaluation.ListUtility([0, 0.4, 1], [1, 0.6], stops=[0, 0.5, 1]).to_dict(),
    )
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
    assert {"learn", "ask", "export", "train"} <= {
        *re.findall(r"^### (\w+)$", page, flags=re.MULTILINE)
    }
    assert "dcglearn learn" in page and "--bands" in page
    assert re.findall("<[a-z]|x[<>]=", page) == []
    assert changes_page().startswith("# Changelog")
    sys.modules.pop("pages_from_code")


def test_each_option_of_reading_has_its_row(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "_extensions"))
    from pages_from_code import commands_page

    table = (ROOT / "docs" / "logs.md").read_text().split("## All options of reading")[1]
    rows = re.findall(r"^\| `(\w+)` \|(?: `--([\w-]+)`)? \|", table, flags=re.MULTILINE)
    options = [*inspect.signature(dcglearn.read_preferences).parameters][1:]
    assert sorted(name for name, _ in rows) == sorted(options)
    convert = commands_page().split("### convert")[1].split("\n### ")[0]
    assert [option for _, option in rows if option and f"`--{option}" not in convert] == []
    sys.modules.pop("pages_from_code")


def test_the_list_for_language_models_tells_each_page_in_a_sentence(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "_extensions"))
    llms = importlib.import_module("llms")
    names = [name for *_, names in LISTED for name in names.split()]
    pages = [name for name in names if (ROOT / "docs" / f"{name}.md").exists()]
    listed, whole = llms.texts({page: page.title() for page in pages}, ROOT / "docs")
    assert listed.startswith("# dcglearn\n\n> Learn the gains")
    rows = [line for line in listed.splitlines() if line.startswith("- ")]
    assert [line.count("](") for line in rows] == [1] * len(pages)
    assert "- [Logs](logs.html): A table of any form becomes a log in one call." in listed
    assert all((ROOT / "docs" / f"{page}.md").read_text().strip() in whole for page in pages)


def test_the_tables_of_bands_are_what_their_code_prints(capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    text = (ROOT / "docs" / "bands.md").read_text()
    tables = re.findall(r"```python\n(import polars.*?)```\n\n```text\n(.*?)```", text, re.DOTALL)
    assert len(tables) == 1
    for code, printed in tables:
        exec(code, {})
        assert capsys.readouterr().out == printed


def test_the_table_of_trees_is_that_of_its_check():
    rows = pl.read_csv(ROOT / "figures" / "calibration.csv").filter(check="trees")
    shown = re.findall(
        r"^\| (linear|nonlinear) \| ([^|]+) \| ([+-].*) \|$",
        (ROOT / "docs" / "rankers.md").read_text(),
        re.MULTILINE,
    )
    assert len(shown) == 6
    for data, metric, cell in shown:
        (row,) = rows.filter(truth=data, judge=metric).to_dicts()
        mean, low, high = (
            f"{row[name]:+.4f}".replace("0.", ".", 1) for name in ("mean", "low", "high")
        )
        assert cell == f"{mean} ({low} to {high})", (data, metric)
