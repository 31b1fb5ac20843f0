"""Try an installation without extras: run by `make dist` with the Python of an empty environment,
in an empty folder.

Usage: python installed.py LOG, or python installed.py --kernels where no other library is installed
"""

import ctypes
import subprocess
import sys
import sysconfig
from pathlib import Path

import dcglearn


def load_kernels() -> None:
    """Load the kernels that lie in the wheel, with nothing of what they are made from, and print
    what they say.
    """
    package = Path(dcglearn.__file__).parent
    assert not (Path(__file__).parents[1] / "dcglearn").samefile(package), (
        "the source, not the wheel"
    )

    folder = package / "kernels"
    assert not [*folder.glob("*.[ch]"), *folder.glob("build.py")]

    libraries = sorted(folder.glob("*.lib"))
    assert libraries
    for path in libraries:
        library = ctypes.CDLL(str(path))
        library.dcglearn_library.restype = ctypes.c_char_p
        said = library.dcglearn_library().decode()
        print(f"{path.name}: {said}")
        assert said.startswith(f"dcglearn {dcglearn.__version__} for ")


def main(log: str) -> None:
    """Import every public name, learn a DCG from a log by the command, and load it."""
    load_kernels()
    if log == "--kernels":
        return

    for name in dcglearn.__all__:
        getattr(dcglearn, name)
    command = Path(sysconfig.get_path("scripts"), "dcglearn")
    subprocess.run([command, "learn", log, "-o", "dcg.json", "--plot", "dcg.png"], check=True)
    metric = dcglearn.DCG.load("dcg.json")
    queries = dcglearn.simulate.letor_queries(n_queries=2, random_state=0)
    try:
        dcglearn.BoostedRanker(dcglearn.losses.RegSHFSDCG(metric)).fit(queries)
    except dcglearn.InputError as error:
        assert "dcglearn[trees]" in str(error), error
    else:
        raise AssertionError("the extra is installed: this is no empty environment")
    print(
        f"dcglearn {dcglearn.__version__}: {len(dcglearn.__all__)} public names, "
        f"{metric.n_grades} grades learned"
    )


if __name__ == "__main__":
    main(sys.argv[1])
