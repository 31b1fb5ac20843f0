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
    "add_judgements": "a71f016c1735fd47",
    "fill_values": "0fececb848f2b8b8",
    "spread_slopes": "9701c69b3e318544",
    "fill_slopes": "71b8b3a10f183b2f",
    "fill_factors": "501f0dbe1d24fd02",
    "add_curvatures": "f8b3a8d90fa57dd4",
    "add_listed_judgements": "175d0db71d1746ec",
    "verdicts": "c0651e459b1fb56d",
    "log_chances": "0b31fb23e288256a",
    "chances": "ec8bfe55eb31dadf",
    "fill_points": "970abe077c72f35f",
    "add_prior": "679052a67153ec42",
    "add_in_parameters": "7f4454a7f7c04b6c",
    "dense_steps": "90459ad50fa19b87",
    "add_pairs": "be5fa04573e3adb0",
    "add_wide_pairs": "84672a6528ecdbe2",
    "fill_discounts": "ee1424f62643963e",
    "grade_shares": "6068cc3703c5ce08",
    "inversions": "b80524c9e86b6eee",
    "elementary": "4b91c434d730701c",
    "truncated_sums": "9a7cc294ef09d455",
    "over_soft_rank_ideals": "dcb9a55d3a5ab29b",
    "dcg_of_ranks": "c608d08ba72a2f4e",
    "over_whole_rank_ideals": "19a3b5cf291b62db",
    "find_relevant": "dde4ce1b71973a31",
    "average_precision": "2f3bea824169ad9e",
    "soft_positions": "cdb178fa08bc73fe",
    "precision_of_means": "a3bb6fe8322f13c5",
    "dcg_of_means": "1c7a499c2c00ab2f",
    "soft_positions_vjp": "cf9c3ee1fee0a74a",
    "expected_dcg": "ec89d34329cd8f97",
    "complementary_errors": "e73ba065be08e729",
    "weighted_pairs": "2c275a40771a4338",
    "over_pairs": "c2c746efb0ab35b8",
    "hinge": "9a5a2b8215dc02b2",
    "lambdas": "94f3bdfd4c9d862b",
    "sweep": "89556b7202a26087",
    "sort_queries": "82035ff6b19b18fa",
    "fill_cosines": "dabd70fbda5d2fd0",
    "prepare": "c9e324abaee4f9df",
    "condense": "59dcf1d3ed03c65f",
    "soft_ranks": "6451ef849f84bb43",
    "soft_ranks_vjp": "0ff2f3b71ad07ae8",
    "by_class": "899633f23d33b5f6",
    "hinge_ranks": "3048f7e1c0780d64",
    "widest_ranks": "b44cc44f1d6f3aa9",
    "sums_from_top": "42f1c7b59915751b",
    "sums_from_bottom": "55f3f3160c82a838",
    "hinge_ranks_vjp": "9e57281eca8c30b5",
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
