"""A judging page in a browser, and the server behind it, for the browser tests."""

import re
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "lists_to_judge.jsonl"
PICTURES = ROOT / "build" / "judge"
SHOWN = "document.querySelector('#query').textContent + '|' + document.querySelector('#lists').innerText"


class Server:
    """``dcglearn judge`` in a process of its own."""

    def __init__(self, log, candidates=EXAMPLE, port=8900, *options):
        self.log, self._command = log, [sys.executable, "-m", "dcglearn", "judge", candidates, "--log", log]
        self._command += ["--no-browser", "--port", port, *options]
        self.start()

    def start(self):
        command = list(map(str, self._command))
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        for line in self.process.stdout:
            found = re.match(r"open: (\S+)", line)
            if found:
                self.url = found[1]
                return
        raise AssertionError("the server did not start")

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(10)

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        self.process.wait(20)


def enter(context, server, name="ann"):
    """Open the page as a rater does."""
    page = context.new_page()
    page.errors = []
    page.on("pageerror", lambda error: page.errors.append(str(error)))
    page.goto(server.url)
    page.wait_for_selector("#start[open]")
    page.keyboard.type(name)
    page.keyboard.press("Enter")
    page.wait_for_selector("#left li")
    return page


def shown(page):
    """Return what tells the pair on the page from others."""
    return page.evaluate(SHOWN)


def wait_for_next(page, before):
    page.wait_for_function(f"before => {SHOWN} !== before", arg=before, timeout=15_000)


def give(page, key):
    """Press a key once there is a pair to judge, and wait for what follows it."""
    page.wait_for_selector("#lists:not([hidden])", timeout=15_000)
    before = shown(page)
    page.keyboard.press(key)
    wait_for_next(page, before)


def wait_until_saved(page):
    page.wait_for_function(
        "() => document.querySelector('#saved').textContent === 'All verdicts saved'", timeout=20_000
    )


def picture(page, name, **options):
    PICTURES.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=PICTURES / f"{name}.png", **options)
