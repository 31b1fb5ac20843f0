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
    "add_judgements": "73c08dca0caed51e",
    "fill_values": "02341dae278ca168",
    "spread_slopes": "1739c20237e91aa6",
    "fill_factors": "42f7e8033edb3c34",
    "verdicts": "6a5f5995c8cc9e4b",
    "log_chances": "82cbc88ce2254208",
    "chances": "2fba819d9645f19a",
    "fill_points": "44669a4e9fa4c08a",
    "add_prior": "ebcec01dcf732635",
    "add_in_parameters": "cb5b732c32839369",
    "dense_steps": "7e71b8a3de170f04",
    "add_pairs": "368982a5c049dbaa",
    "add_wide_pairs": "2f0e67ec9e6c8fb7",
    "fill_discounts": "015c14bdfc033650",
    "inversions": "799737b5227dfcf4",
    "elementary": "23a6ec663efcd1b8",
    "truncated_sums": "d7a50350dfd54e2d",
    "over_soft_rank_ideals": "0812c6dab2818626",
    "dcg_of_ranks": "45438b028ec5cb76",
    "over_whole_rank_ideals": "2dfce804d588f09e",
    "find_relevant": "477766a7a923cd33",
    "average_precision": "e0466ba3f361cc6a",
    "soft_positions": "39d23437f6e376ba",
    "precision_of_means": "d9cd9f6e56d41d98",
    "dcg_of_means": "4cae692b09339c85",
    "soft_positions_vjp": "e66e3f8060a5233f",
    "expected_dcg": "3f1f77c85a33d266",
    "complementary_errors": "73a4bd90740336db",
    "weighted_pairs": "6974cb99fe0b3c77",
    "over_pairs": "3946d405e91b1b6f",
    "hinge": "e0c6393289d5443f",
    "lambdas": "ace635b1bc34a711",
    "sweep": "b9d287c0208de47b",
    "sort_queries": "23e48871a299e3de",
    "fill_cosines": "dabd70fbda5d2fd0",
    "prepare": "eb4ad4ebf4d22fca",
    "condense": "a9db2eedd7b38643",
    "soft_ranks": "095fb7054f58cc97",
    "soft_ranks_vjp": "25f851367ecd47d0",
    "by_class": "1aad7fc31dc8b42d",
    "hinge_ranks": "fe594d4f9e57f450",
    "widest_ranks": "bcf526c48a3d6a43",
    "sums_from_top": "d737cfde0520de36",
    "sums_from_bottom": "d95ce3a3dd50666c",
    "hinge_ranks_vjp": "0ecf3b16f80f76c2",
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
