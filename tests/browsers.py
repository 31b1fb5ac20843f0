"""Chromium for the tests of pages, which `make browser` runs."""

import os
import shutil
from contextlib import contextmanager

import pytest

CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")

playwright = pytest.importorskip(
    "playwright.sync_api", reason="the browser tests need playwright: make browser"
)

IN_BROWSER = [
    pytest.mark.skipif(
        not shutil.which(CHROMIUM), reason=f"no browser at {CHROMIUM}: make browser"
    ),
    pytest.mark.skipif(
        "DCGLEARN_BROWSER" not in os.environ, reason="run by make browser, apart from make test"
    ),
]
"""Marks of a file of such tests."""


@contextmanager
def chromium(*arguments):
    """Yield a browser with further arguments."""
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", *arguments]
        )
        yield browser
        browser.close()
