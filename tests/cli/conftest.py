"""Fixtures of commands that read files."""

import pytest


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """A folder with judgements and two runs, which is the working folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "qrels.txt").write_text("1 0 D1 1\n1 0 D2 0\n2 0 D1 1\n2 0 D2 0\n")
    for tag, scores in (("a", (2, 1)), ("b", (1, 2))):
        lines = [f"{q} Q0 D{d} {d} {s * q} {tag}\n" for q in (1, 2) for d, s in enumerate(scores, 1)]
        (tmp_path / f"{tag}.txt").write_text("".join(lines))
    return tmp_path
