"""The reference: every public object has an example and a "See also", and stands on the page of names."""

import inspect
import re
from pathlib import Path

import pytest

import dcglearn as dl

ROOT = Path(__file__).parents[1]
MODULES = ("exports", "simulate")


def found(name):
    value = dl
    for part in name.split("."):
        value = getattr(value, part)
    return value


def documented(module, prefix=""):
    names = getattr(module, "__all__", None) or [name for name in vars(module) if not name.startswith("_")]
    values = {prefix + name: getattr(module, name) for name in names}
    objects = {name for name, value in values.items() if inspect.isfunction(value) or inspect.isclass(value)}
    return sorted(objects)


PUBLIC = [*documented(dl), *(name for module in MODULES for name in documented(getattr(dl, module), f"{module}."))]


@pytest.mark.parametrize("name", PUBLIC)
def test_public_objects_have_an_example_and_lead_on(name):
    text = inspect.cleandoc(found(name).__doc__)
    assert ">>>" in text, "its docstring has no example"
    section = re.search(r"^See Also\n-+\n(.*?)(?:\n\n|\Z)", text, flags=re.MULTILINE | re.DOTALL)
    assert section, "its docstring has no See Also"
    for line in section[1].splitlines():
        other, why = line.split(" : ")
        assert found(other) is not found(name)
        assert why.endswith(".")
