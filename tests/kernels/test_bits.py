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
    "add_judgements": "208408f725f14664",
    "add_pairs": "23b01d57d6a73f04",
    "add_wide_pairs": "acaa90d3bf37be87",
    "verdicts": "bdd4839fd448d583",
    "chances": "a76b23df5c0dacbb",
    "fill_points": "e51cb4f0ddbabd0e",
    "add_prior": "53d7161650ec38db",
    "add_in_parameters": "971f0eabcac59d56",
    "dense_steps": "9b81714539e67e9d",
    "fill_discounts": "ea92bd66aad43a61",
    "inversions": "996a5ae480bd15fd",
    "elementary": "1349b58e91ff5bfa",
    "truncated_sums": "d0b60ba9850f5704",
    "over_soft_rank_ideals": "cd672db3b49aca2b",
    "dcg_of_ranks": "f9fa76618d800005",
    "over_whole_rank_ideals": "5927641926397374",
    "find_relevant": "b25851b74779815a",
    "average_precision": "20a5ad5a102f52a4",
    "soft_positions": "85bd676a0ffe887e",
    "precision_of_means": "cb6fea8161b3d16b",
    "dcg_of_means": "147bc2d0b8b3ee1e",
    "soft_positions_vjp": "7f429eebd29bed24",
    "expected_dcg": "f8cb0fee33892438",
    "complementary_errors": "25fe006e2f34de04",
    "weighted_pairs": "43e2e8cc98ba5e1d",
    "over_pairs": "c3d8ffe626bd2944",
    "hinge": "d813f28ef7f29dca",
    "lambdas": "0992b1a6f4f78bbf",
    "sweep": "22ed27ffb578fc75",
    "sort_queries": "ce27930120ec1070",
    "fill_cosines": "dabd70fbda5d2fd0",
    "prepare": "a3946609976f96ad",
    "condense": "a2e929af80b6b6b4",
    "soft_ranks": "f3172c134bd6501c",
    "soft_ranks_vjp": "0f948894d1c41a71",
    "by_class": "a2c8af12e6fff044",
    "hinge_ranks": "d7813cb5d61680f7",
    "widest_ranks": "4bf048d6867e0a6a",
    "sums_from_top": "087884941af1597f",
    "sums_from_bottom": "eef86a4eeb35d4d1",
    "hinge_ranks_vjp": "78bd6e2ce7d28bf4",
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
