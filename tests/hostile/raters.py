"""Raters who judge while the server is killed, from tabs that were duplicated, beside half-open
connections.

python -m tests.hostile.raters --kills 20

Each rater keeps unsaved verdicts in an outbox and sends them again, as the page does. In the end
every verdict that was acknowledged must be in the log, once, and no rater may have two verdicts on
a pair that stand.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np

from tests.makers import write_lines

TOKEN = "0123456789abcdef0123"
RATERS = ("ann", "bob", "cy")
HALF_OPEN = 150
"""Connections that send half a request to each server."""


class Server:
    """``dcglearn judge`` in a process of its own."""

    def __init__(self, folder: Path, port: int) -> None:
        rng = np.random.default_rng(0)
        sides = rng.integers(0, 4, (400, 2, 4)).tolist()
        pairs = write_lines(
            folder / "pairs.jsonl",
            [{"query": f"q{i % 9}", "a": a, "b": b} for i, (a, b) in enumerate(sides)],
        )
        self.log = folder / "verdicts.jsonl"
        self._command = [
            sys.executable,
            "-m",
            "dcglearn",
            "judge",
            pairs,
            "--log",
            self.log,
            "--no-browser",
        ]
        self._command += ["--port", port, "--token", TOKEN, "--redundancy", 2]
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(
            list(map(str, self._command)),
            stdout=subprocess.PIPE,
            text=True,
            stderr=subprocess.DEVNULL,
        )
        assert self.process.stdout is not None
        url = next(line for line in self.process.stdout if line.startswith("open: "))
        self.host = urlsplit(url.removeprefix("open: ")).netloc

    def post(self, path: str, body: dict) -> dict:
        """Return the answer; raise OSError or HTTPException if there is none."""
        connection = http.client.HTTPConnection(self.host, timeout=10)
        with contextlib.closing(connection):
            cookie = f"dcglearn_judge_{self.host.rpartition(':')[2]}={TOKEN}"
            connection.request(
                "POST",
                path,
                json.dumps(body),
                {"content-type": "application/json", "cookie": cookie},
            )
            answer = connection.getresponse()
            assert answer.status == 200, answer.read()
            return json.loads(answer.read())


class Page:
    """A rater's tab, without a browser; a duplicate has the pairs and the name of the first."""

    def __init__(self, rater: str, tab: str, rng: random.Random) -> None:
        self.rater, self.tab, self.rng = rater, tab, rng
        self.queue: list[dict] = []
        self.outbox: list[dict] = []
        self.saved: set[str] = set()
        self.refused: set[str] = set()

    def duplicate(self) -> Page:
        other = Page(self.rater, self.tab, self.rng)
        other.queue = list(self.queue)
        return other

    def judge(self) -> None:
        if not self.queue:
            return
        pair = self.queue.pop(0)
        name = f"{self.rng.getrandbits(64):016x}"
        choice = self.rng.choice(["left", "right", "both good", "skip"])
        self.outbox.append(
            {"id": name, "pair": pair["pair"], "choice": choice, "shown_left": pair["shown_left"]}
        )
        if self.rng.random() < 0.1:
            self.outbox.append(
                {**self.outbox[-1], "id": f"{name}-u", "choice": "undo", "supersedes": name}
            )
            self.queue.insert(0, pair)

    def send(self, server: Server) -> None:
        """Send what is not saved; what the answer says is gone from the outbox."""
        body = {
            "rater": self.rater,
            "tab": self.tab,
            "holding": [pair["pair"] for pair in self.queue][:10],
        }
        answer = server.post("/api/verdicts", {**body, "verdicts": self.outbox})
        self.saved |= set(answer["saved"])
        self.refused |= {item["id"] for item in answer["refused"]}
        self.outbox = [one for one in self.outbox if one["id"] not in self.saved | self.refused]
        held = {pair["pair"] for pair in self.queue}
        self.queue += [pair for pair in answer["pairs"] if pair["pair"] not in held]


def run(kills: int, seed: int) -> Counter[str]:
    """Kill the server at random moments while pages judge; return counts, of which `failures` must
    be 0.
    """
    rng = random.Random(seed)
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as held:
        server = Server(Path(name), 8800 + seed % 90)
        pages = [Page(rater, f"{rater}'s tab", rng) for rater in RATERS]
        for _ in range(kills):
            for _ in range(HALF_OPEN):
                connection = held.enter_context(
                    socket.create_connection(server.host.split(":"), timeout=5)
                )
                connection.sendall(b"POST /api/verdicts HTTP/1.1\r\nHost: 127")
            for page in pages:
                page.send(server)
                page.judge()
                page.send(server)
            killed_at = time.monotonic() + rng.uniform(0.1, 1.0)
            if not (child := os.fork()):
                time.sleep(max(0.0, killed_at - time.monotonic()))
                os.kill(server.process.pid, signal.SIGKILL)
                os._exit(0)
            while server.process.poll() is None:
                page = rng.choice(pages)
                page.judge()
                with contextlib.suppress(OSError, http.client.HTTPException):
                    page.send(server)
                if len(pages) < 8 and rng.random() < 0.05:
                    pages.append(page.duplicate())
            os.waitpid(child, 0)
            counts["kills"] += 1
            server.start()
        for page in pages:
            page.send(server)
        server.process.send_signal(signal.SIGINT)
        server.process.wait(20)
        lines = [json.loads(line) for line in server.log.read_text().splitlines()]
    ids = [line["id"] for line in lines]
    gone = {line["supersedes"] for line in lines}
    standing = [line for line in lines if line["id"] not in gone and not line["supersedes"]]
    pairs = Counter(
        (line["rater"], json.dumps(line["query"]), *sorted(map(str, (line["a"], line["b"]))))
        for line in standing
    )
    saved = set().union(*(page.saved for page in pages))
    counts.update(
        {
            "verdicts": len(ids),
            "tabs": len(pages),
            "second verdicts refused": len(set().union(*(p.refused for p in pages))),
        },
        lost=len(saved - set(ids)) + sum(len(page.outbox) for page in pages),
        twice=len(ids) - len(set(ids)),
        contradictory=sum(n > 1 for n in pairs.values()),
    )
    counts["failures"] = counts["lost"] + counts["twice"] + counts["contradictory"]
    return counts


def devices() -> int:
    """Return how many logs that are a pipe, a device or a folder are not refused within some
    seconds, in one line.
    """
    failures = 0
    with tempfile.TemporaryDirectory() as name:
        pairs = write_lines(Path(name, "pairs.jsonl"), [{"a": [1, 0], "b": [0, 1]}])
        os.mkfifo(Path(name, "pipe"))
        for log in (Path(name, "pipe"), Path("/dev/zero"), Path("/dev/full"), Path(name)):
            command = [
                sys.executable,
                "-m",
                "dcglearn",
                "judge",
                pairs,
                "--log",
                log,
                "--no-browser",
            ]
            done = subprocess.run(
                list(map(str, command)), capture_output=True, text=True, check=False, timeout=30
            )
            last = done.stderr.splitlines()[-1]
            failures += done.returncode != 2 or not re.fullmatch(
                "dcglearn: .* a pipe or a device; name a file", last
            )
    return failures


if __name__ == "__main__":
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--kills", type=int, default=20)
    options.add_argument(
        "--seed", type=int, default=int(time.strftime("%Y%m%d")), help="by default the date's"
    )
    given = options.parse_args()
    result = run(given.kills, given.seed)
    result["failures"] += devices()
    print(f"seed {given.seed}:", json.dumps(dict(sorted(result.items()))))
    sys.exit(bool(result["failures"]))
