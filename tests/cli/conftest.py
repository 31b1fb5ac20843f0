"""A working folder with a small file of every kind."""

import pytest


@pytest.fixture(autouse=True)
def few_draws(monkeypatch):
    """Bands of a hundred draws: what commands say does not depend on how many there are."""
    monkeypatch.setattr("dcglearn.trust.band_draws.N_DRAWS", 100)


@pytest.fixture
def inputs(here):
    """Judgements, two runs, a log and training data in the working folder, which is returned."""
    (here / "qrels.txt").write_text("1 0 D1 1\n1 0 D2 0\n2 0 D1 1\n2 0 D2 0\n")
    for tag, scores in (("a", (2, 1)), ("b", (1, 2))):
        lines = [
            f"{q} Q0 D{d} {d} {s * q} {tag}\n" for q in (1, 2) for d, s in enumerate(scores, 1)
        ]
        (here / f"{tag}.txt").write_text("".join(lines))
    rows = [
        '{"a": [1, 0], "b": [0, 1], "winner": "a"}\n',
        '{"a": [0, 0], "b": [1, 0], "winner": "b"}\n',
    ]
    (here / "log.jsonl").write_text("".join(rows))
    features = ["1 qid:1 1:0.5 2:1\n0 qid:1 1:0.1 2:2\n", "1 qid:2 1:0.4 2:1\n0 qid:2 1:0.3 2:2\n"]
    (here / "train.svm").write_text("".join(features))
    return here
