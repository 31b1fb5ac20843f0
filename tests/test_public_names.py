"""The public names: few at the top, each where a reader looks, and an answer for the others."""

import inspect
import re
from pathlib import Path

import pytest

import dcglearn
from tests.public_face import TOPICS, named_object

PACKAGE = Path(dcglearn.__file__).parent


def test_the_top_fits_on_a_screen_and_all_names_can_be_imported():
    assert len(dcglearn.__all__) <= 41  # 32 names, eight modules, the version
    for module in (dcglearn, *(named_object(topic) for topic in TOPICS)):
        assert {*module.__all__} <= {*dir(module)}
        assert all(hasattr(module, name) for name in module.__all__)


def test_a_name_that_there_is_not_is_refused():
    for module in ("dcglearn", "trust"):
        with pytest.raises(AttributeError, match=rf"module .*{module}' has no attribute 'xyzzy'"):
            named_object("xyzzy" if module == "dcglearn" else f"{module}.xyzzy")


def test_no_file_hides_a_public_function():
    for topic in TOPICS:
        files = {path.stem for path in (PACKAGE / topic).glob("*.py")}
        assert not files & {*named_object(topic).__all__}, topic


def test_the_module_of_coherence_is_called_as_its_function():
    module = dcglearn.coherence
    assert inspect.signature(module) == inspect.signature(module.coherence)
    metrics = [dcglearn.DCG([0, 1, 2], [1, 0.5]), dcglearn.DCG([0, 1, 3], [1, 0.5])]
    assert module(*metrics).to_dict() == module.coherence(*metrics).to_dict()


BUILT = {"generated", "docs/gallery"}
"""Folders of pages that `make docs` writes."""


def written_names():
    """Yield each ``dl.NAME`` of docs, examples, messages and programs, with its file."""
    root = PACKAGE.parent
    files = [root / "README.md"]
    for folder in ("dcglearn", "docs", "examples", "simulations", "benchmarks"):
        files += sorted((root / folder).rglob("*"))
    for file in files:
        name = str(file.relative_to(root))
        built = any(folder in name for folder in BUILT)
        if file.suffix in {".py", ".md"} and not built:
            for word in re.findall(r"\bdl\.([A-Za-z]\w*(?:\.[A-Za-z]\w*)?)", file.read_text()):
                yield word, name


def test_every_name_that_is_written_is_there():
    wrong = []
    for word, file in written_names():
        first, _, second = word.partition(".")
        known = hasattr(dcglearn, first)
        if known and first in TOPICS and second:
            known = hasattr(getattr(dcglearn, first), second)
        if not known:
            wrong.append(f"{file}: dl.{word}")
    assert wrong == []
