"""Options that several commands share: outputs are checked before any work."""

import os
from pathlib import Path

import pytest

from dcglearn.cli.options import refuse_overwriting
from tests.makers import refused


@pytest.mark.posix
def test_an_input_is_no_output(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("logs").mkdir()
    for name in ("log.jsonl", "logs/part.parquet", "dcg.json"):
        Path(name).write_text("x")
    Path("link").symlink_to("log.jsonl")
    os.link("log.jsonl", "hard")
    for output, read in (
        ("log.jsonl", ["log.jsonl"]),
        ("link", ["none", "log.jsonl"]),
        ("hard", ["-", "log.jsonl"]),
        ("logs/part.parquet", ["logs"]),
        ("logs/part.parquet", ["logs/*.parquet"]),
    ):
        refused("is an input of this command; name another", refuse_overwriting, [output], read)
    refuse_overwriting(["dcg.json", "none", "/dev/null"], ["log.jsonl", "logs", "exponential-log2", "-"])
