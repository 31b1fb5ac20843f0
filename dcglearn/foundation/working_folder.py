"""Import of matplotlib without the working folder's settings, which may be a stranger's."""

import importlib
import os
import threading
from typing import Any

_HIDING = threading.Lock()
"""Held while a file of settings is hidden."""


def import_matplotlib() -> Any:
    """Return matplotlib; a first import does not read ``matplotlibrc`` of the working folder.

    That file can name a module that is imported to draw, and have TeX run. The user's own settings
    are read.
    """
    with _HIDING:
        exists = os.path.exists
        # which matplotlib asks
        os.path.exists = lambda path: path != "matplotlibrc" and exists(path)
        try:
            return importlib.import_module("matplotlib")
        finally:
            os.path.exists = exists
