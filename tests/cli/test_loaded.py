"""What commands import: the core alone, unless they are asked for what needs more."""

import subprocess
import sys

import numpy as np
import pytest

from dcglearn.readers.preferences import Preferences
from tests.makers import random_log

HEAVY = ("sklearn", "pandas", "cvxpy", "matplotlib", "scipy.stats")

COMMANDS = {
    "learn": "learn log.jsonl -o dcg.json --holdout 0.4 --bands 2",
    "learn by the QP": "learn log.jsonl -o dcg.json --method qp",
    "show": "show exponential-log2@5",
    "export": "export exponential-log2@5 --to quepid",
    "evaluate": "evaluate qrels.txt a.txt b.txt --metric exponential-log2@5 --grades 3",
    "coherence": "coherence exponential-log2@5 linear-log2@5",
    "ask": "ask --log log.jsonl -n 2",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder, log = tmp_path_factory.mktemp("inputs"), random_log(60, seed=0)
    rater, swapped = np.array(["ann", "bob"] * 30), np.arange(60) % 3 == 0
    Preferences(log.preferred, log.other, rater=rater, swapped=swapped).save(folder / "log.jsonl")
    rows = [(f"q{q}", f"d{i}", (3 * i + q) % 5) for q in range(8) for i in range(5)]
    (folder / "qrels.txt").write_text("".join(f"{q} 0 {d} {n % 3}\n" for q, d, n in rows))
    for run in "ab":
        lines = (f"{q} Q0 {d} 0 {n if run == 'a' else -n} {run}\n" for q, d, n in rows)
        (folder / f"{run}.txt").write_text("".join(lines))
    return folder


@pytest.mark.parametrize("name", COMMANDS)
def test_commands_load_no_estimator_and_no_frame(name, folder):
    code = (
        f"import sys\nfrom dcglearn.cli.app import main\nsys.argv = ['dcglearn', *{COMMANDS[name].split()!r}]\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code\n"
        f"print(*(name for name in {HEAVY} if name in sys.modules), file=sys.stderr)"
    )
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=folder)
    assert run.stdout + run.stderr and run.stderr.splitlines()[-1] == ""
    for file in folder.glob("dcg.json"):
        file.unlink()
