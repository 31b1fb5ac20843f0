"""Try an installation without extras: run by `make dist` with the Python of an empty environment, in an empty folder.

Usage: python installed.py LOG
"""

import subprocess
import sys
from pathlib import Path

import dcglearn


def main(log: str) -> None:
    """Import every public name, learn a DCG from a log by the command, and load it."""
    assert not (Path(__file__).parents[1] / "dcglearn").samefile(Path(dcglearn.__file__).parent), (
        "the source, not the wheel"
    )
    for name in dcglearn.__all__:
        getattr(dcglearn, name)
    command = Path(sys.executable).with_name("dcglearn")
    subprocess.run([command, "learn", log, "-o", "dcg.json", "--plot", "dcg.png"], check=True)
    metric = dcglearn.DCG.load("dcg.json")
    queries = dcglearn.simulate.letor_queries(n_queries=2, seed=0)
    try:
        dcglearn.BoostedRanker(dcglearn.losses.RegSHFSDCG(metric)).fit(queries)
    except dcglearn.InputError as error:
        assert "dcglearn[trees]" in str(error), error
    else:
        raise AssertionError("the extra is installed: this is no empty environment")
    print(f"dcglearn {dcglearn.__version__}: {len(dcglearn.__all__)} public names, {metric.n_grades} grades learned")


if __name__ == "__main__":
    main(sys.argv[1])
