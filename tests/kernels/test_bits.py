"""The kernels' results have the same bits from every library, compiler and processor."""

import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dcglearn.kernels import build, library
from tests.kernels import bits

ROOT = Path(__file__).parents[2]

EXPECTED = {
    "add_judgements": "711fd0ecb0162282",
    "fill_values": "3f58b5a96f99b0e3",
    "spread_slopes": "1aa25222d996c0bc",
    "fill_factors": "501f0dbe1d24fd02",
    "verdicts": "832fb5e46ea26493",
    "log_chances": "9784b2bb8ff67968",
    "chances": "5f73dfef97568d3a",
    "fill_points": "b9c1f13a49f04dfa",
    "add_prior": "6854296c9020fc28",
    "add_in_parameters": "234d4813b7924580",
    "dense_steps": "56c29a6b6c30aa83",
    "add_pairs": "d9239c94158def2a",
    "add_wide_pairs": "a3aeaa4984156a4d",
    "fill_discounts": "555e91508085a115",
    "inversions": "c8b4ad00183fe8cf",
    "elementary": "5b94d7ed4dafb5e3",
    "truncated_sums": "2d1026fb2039cff3",
    "over_soft_rank_ideals": "c54c501136f4f34b",
    "dcg_of_ranks": "2d9704ae42113a39",
    "over_whole_rank_ideals": "ed835d687e99bbd7",
    "find_relevant": "f879a4710ae123df",
    "average_precision": "c55b561d34e18c41",
    "soft_positions": "1a22d54ade863287",
    "precision_of_means": "006816b45a511efe",
    "dcg_of_means": "428ca8816482de3d",
    "soft_positions_vjp": "d1d81f626a1b8e0f",
    "expected_dcg": "36723aa89500d370",
    "complementary_errors": "8027976d2e03f6d3",
    "weighted_pairs": "21e55dc9f3b4329a",
    "over_pairs": "1f9a1c17a3f553a5",
    "hinge": "71e308882cd429b9",
    "lambdas": "192be965ed357199",
    "sweep": "96ebde6dc7a0103c",
    "sort_queries": "06ea674a1b9c6102",
    "fill_cosines": "dabd70fbda5d2fd0",
    "prepare": "a1b0f6b5a406285d",
    "condense": "7b3b3ad56e7db6fd",
    "soft_ranks": "8e605ac4ad4a55c1",
    "soft_ranks_vjp": "4e83dffebb8bbb6b",
    "by_class": "e100a1d8bb6d8ca4",
    "hinge_ranks": "d79ca1679b4cb455",
    "widest_ranks": "8c787d6cb57ae005",
    "sums_from_top": "3aa3b3fac23358e0",
    "sums_from_bottom": "82330dd5b36dd515",
    "hinge_ranks_vjp": "5260793f63986708",
}
"""The digests that `python -m tests.kernels.bits` prints. They change if the order of a sum, or an
elementary function, is changed on purpose; otherwise a platform computes something else."""


def run(*command, **variables):
    """Run Python in a process of its own and return what it prints."""
    environment = os.environ | {"PYTHONPATH": str(ROOT)} | variables
    command = [sys.executable, *command]
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def digests_in(module, *arguments, **variables):
    """Return the digests that a module prints."""
    lines = run("-m", module, *arguments, **variables).splitlines()
    return dict(line.rstrip(",").replace('"', "").split(": ") for line in lines)


def digests_with(kernels):
    """Return the digests of the kernels that the variable chooses."""
    return digests_in("tests.kernels.bits", DCGLEARN_KERNELS=str(kernels))


def has_avx2():
    return library.load(library.HERE / library.BASELINE).dcglearn_has_avx2()


# Bits of the kernels.


def test_every_kernel_has_the_bits_of_all_platforms():
    assert bits.digests_of() == EXPECTED


def test_the_library_of_any_processor_has_the_same_bits():
    assert digests_with("baseline") == EXPECTED


def test_every_kernel_that_is_exported_has_its_digest():
    about = {"dcglearn_library", "dcglearn_has_avx2"}
    exported = set()
    for path in build.SOURCES:
        for line in path.read_text().splitlines():
            if line.startswith("EXPORT") and "(" in line:
                exported.add(line.partition("(")[0].split()[-1].strip("*"))

    sizes = {name for name in exported if name.startswith("work_of_")}
    assert exported - about - sizes == EXPECTED.keys()


def test_no_result_depends_on_what_memory_held_before(monkeypatch):
    empty, empty_like = np.empty, np.empty_like

    def littered(make):
        def made(*arguments, **options):
            array = make(*arguments, **options)
            array.view(np.uint8).fill(0xFF)  # not a number, or -1
            return array

        return made

    monkeypatch.setattr(np, "empty", littered(empty))
    monkeypatch.setattr(np, "empty_like", littered(empty_like))
    assert np.isnan(np.empty(1)).all()
    assert bits.digests_of() == EXPECTED


BUILDS = [("zig", "-O1"), ("gcc", "-O1"), ("gcc", "-O3"), ("clang", "-O3")]
"""Compilers and how far they optimise, beside that of the wheels: zig, -O3."""


@pytest.mark.long
@pytest.mark.parametrize(("compiler", "level"), BUILDS)
def test_every_compiler_gives_the_same_bits(monkeypatch, tmp_path, compiler, level):
    choose(monkeypatch, compiler)
    monkeypatch.setattr(build, "FLAGS", [*build.FLAGS, level])
    made = build.compile_kernels(tmp_path)
    for path in made if has_avx2() else made[:1]:
        assert digests_with(path) == EXPECTED, path.name


def choose(monkeypatch, compiler):
    """Let the kernels be compiled by one compiler, or skip the test where it is missing."""
    monkeypatch.delenv("CC", raising=False)
    if compiler == "zig":
        if not build.wants_zig() or build._zig() is None:
            pytest.skip("there is no zig")
    elif shutil.which(compiler):
        monkeypatch.setenv("CC", compiler)
    else:
        pytest.skip(f"there is no {compiler}")


@pytest.mark.long
def test_webassembly_gives_the_same_bits(monkeypatch, tmp_path):
    pytest.importorskip("wasmtime")
    choose(monkeypatch, "zig")
    from tests.kernels import webassembly

    path = tmp_path / "kernels.wasm"
    webassembly.compile_to(path)
    assert digests_in("tests.kernels.webassembly", str(path)) == EXPECTED


# Digits of fits, whose linear algebra is BLAS's: its bits depend on the processor.

FITS = """
import sys
import dcglearn as dl

digits, errors = sys.argv[1], {f"rater {i}": i / 20 for i in (1, 2, 3)}
options = (
    {},
    {"flip_rate": 0.1},
    {"temperature": 1.0},
    {"n_raters": 3, "rater_error": errors},
    {"lists": "free", "flip_rate": 0.05},
)
for i in range(10):
    truth = dl.simulate.ground_truth(("D1", "D2")[i % 2])
    log = dl.simulate.preference_pairs(truth, 80 + 20 * i, random_state=i, **options[i % 5])
    metric, utility = dl.DCGLearner().fit(log).dcg_, dl.UtilityLearner().fit(log).utility_
    for numbers in (metric.gains, metric.discounts, utility.weights.ravel()):
        print(*(format(x, digits) for x in numbers.round(12) + 0.0))
"""


def fits(digits, **variables):
    """Return what is printed of 20 fits."""
    return run("-c", FITS, digits, **variables)


CORES = {"Prescott": False, "Nehalem": False, "Haswell": True, "Zen": True}
"""Processors for which OpenBLAS has kernels, and whether they need AVX2."""


@pytest.mark.long
def test_the_digits_that_are_printed_of_fits_do_not_depend_on_the_processor():
    cores = [core for core, needed in CORES.items() if has_avx2() or not needed]
    if platform.machine().lower() not in ("x86_64", "amd64"):
        cores = ["ARMV8", "CORTEXA57", "NEOVERSEN1"]

    wanted = fits(".5g")
    assert len(wanted.splitlines()) == 30
    for core in cores:
        assert fits(".5g", OPENBLAS_CORETYPE=core) == wanted, core


@pytest.mark.long
def test_fits_have_the_same_bits_with_the_library_of_any_processor():
    assert fits("", DCGLEARN_KERNELS="baseline") == fits("")
