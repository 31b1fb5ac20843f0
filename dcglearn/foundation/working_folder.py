"""Import of matplotlib without the working folder's settings, which may be a stranger's."""

import contextlib
import importlib
import logging
import os
import sys
import threading
from collections.abc import Iterator
from typing import Any

_LOG = logging.getLogger(__name__)

_HIDING = threading.Lock()
"""Held while a file of settings is hidden."""


def import_matplotlib() -> Any:
    """Return matplotlib; a first import does not read ``matplotlibrc`` of the working folder.

    That file can name a module that is imported to draw, and have TeX run. The user's own settings
    are read.
    """
    settings = "matplotlibrc"
    if "matplotlib" not in sys.modules and os.path.lexists(settings):
        _LOG.info("%s in the working folder is not read", settings)
        with _hidden(settings):
            return importlib.import_module("matplotlib")
    return importlib.import_module("matplotlib")


@contextlib.contextmanager
def _hidden(name: str) -> Iterator[None]:
    """Let `os.path.exists`, which matplotlib asks, deny a file of the working folder."""
    with _HIDING:
        exists = os.path.exists
        os.path.exists = lambda path: path != name and exists(path)
        try:
            yield
        finally:
            os.path.exists = exists
