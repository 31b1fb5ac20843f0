"""Time of the imports and of the command `learn`, in a process each.

One JSON line per step, in the least processor seconds of five processes, less those of Python
alone. Of the import of a learner, most is that of scikit-learn's base class, which its contract
needs.

    python benchmarks/imports.py [--quick]
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from measuring import QUICK, process_seconds, show

import dcglearn as dl

STEPS = {
    "import of DCGLearner": "import dcglearn; dcglearn.DCGLearner",
    "of this, NumPy": "import numpy",
    "of this, NumPy and sklearn.base": "import numpy, sklearn.base",
    "import dcglearn": "import dcglearn",
}
LEARN = "from dcglearn.cli.app import main; main()"


def main() -> None:
    repeats = 1 if QUICK else 5
    bare = process_seconds("pass", repeats=repeats)
    seconds = {name: process_seconds(code, repeats=repeats) for name, code in STEPS.items()}

    # the command line
    with tempfile.TemporaryDirectory() as folder:
        log, dcg = (str(Path(folder, name)) for name in ("log.jsonl", "dcg.json"))
        truth = dl.simulate.ground_truth("D1")
        pairs = dl.simulate.preference_pairs(truth, 500, flip_rate=0.1, random_state=0)
        pairs.save(log)
        learn = ("learn", log, "-o", dcg, "--force")
        seconds["dcglearn learn, 500 pairs, with bands"] = process_seconds(LEARN, learn, repeats)
    for name, of_step in seconds.items():
        show("imports", what=name, seconds=round(of_step - bare, 3))


if __name__ == "__main__":
    main()
