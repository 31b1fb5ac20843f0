"""The working folder, where strangers' files may lie: no settings, compiled code or modules are taken from it."""

import contextlib
import importlib
import logging
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_LOG = logging.getLogger(__name__)

_HIDING = threading.Lock()
"""Held while a file of settings is hidden."""


def inside(folder: Path) -> bool:
    """Return whether a path is relative, or lies in the working folder, by its name or once links are followed."""
    try:
        here = Path.cwd()
    except FileNotFoundError:  # the working folder was removed
        return False
    return any(place.is_relative_to(here) for place in (here / folder, Path(os.path.realpath(folder))))


def import_numba() -> Any:
    """Return numba, imported and kept without the settings of ``.numba_config.yaml``, unless it was imported before.

    That file can name folders that machine code is loaded from, and files that are written.
    """
    name = ".numba_config.yaml"
    known = "numba" in sys.modules
    numba = _imported("numba", name)
    if not known:
        numba.config._config_fname = ""  # which it reads again whenever it compiles
    return numba


def import_matplotlib() -> Any:
    """Return matplotlib, imported without the settings of ``matplotlibrc``, unless it was imported before.

    That file can name a module that is imported to draw, and have TeX run. The user's own settings are read.
    """
    return _imported("matplotlib", "matplotlibrc")


def _imported(module: str, settings: str) -> Any:
    """Return a module; while it is imported, its file of settings in the working folder seems not to exist."""
    if module not in sys.modules and os.path.lexists(settings):
        _LOG.info("%s in the working folder is not read", settings)
        with _hidden(settings):
            return importlib.import_module(module)
    return importlib.import_module(module)


@contextlib.contextmanager
def _hidden(name: str) -> Iterator[None]:
    """Let `os.path.exists` deny a file of the working folder, which both libraries ask before they read theirs."""
    with _HIDING:
        exists = os.path.exists
        os.path.exists = lambda path: path != name and exists(path)
        try:
            yield
        finally:
            os.path.exists = exists
