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
    "add_curvatures": "6805e0d9175b14ae",
    "add_listed_judgements": "e94fe54fc538ac98",
    "verdicts": "3499080740fb9054",
    "log_chances": "5836b209a9c7acc8",
    "chances": "5211267cfb3b1536",
    "fill_points": "fdc0f6576d1cdd8d",
    "add_prior": "1836878243245d3d",
    "add_in_parameters": "d6722a7e81db8867",
    "dense_steps": "437221e1ecccbd70",
    "add_pairs": "07639c68bccfe765",
    "add_wide_pairs": "8472bbeafee19466",
    "fill_discounts": "9b20823bfb36cf52",
    "grade_shares": "5122649e9923d5c3",
    "inversions": "5468950ae6c9fc4c",
    "elementary": "6cb133a07ac806f4",
    "truncated_sums": "9a2e2ba83e44f834",
    "over_soft_rank_ideals": "a6ac4a90187cafac",
    "dcg_of_ranks": "62253b9dcf30cad3",
    "over_whole_rank_ideals": "ae38f46cdc26ab76",
    "find_relevant": "70a619958cfc7a87",
    "average_precision": "dc06bbd15f07628b",
    "soft_positions": "72c6804148dbd64b",
    "precision_of_means": "05f0ea5908afe1b4",
    "dcg_of_means": "cb11fe1391b9ae3b",
    "soft_positions_vjp": "a098bf8a3fae2c1d",
    "expected_dcg": "5b9b6e09b8ad595a",
    "complementary_errors": "a743e44ebf00c532",
    "weighted_pairs": "ab2e978f79bfe8d5",
    "over_pairs": "b8b2c58145544007",
    "hinge": "199dc256a5ba7419",
    "lambdas": "695854d04841004e",
    "sweep": "84a54eef04001f2a",
    "sort_queries": "886f79ecae4d4a5e",
    "fill_cosines": "dabd70fbda5d2fd0",
    "prepare": "f76624b0bc4a208f",
    "condense": "5cfae11b207cd1ef",
    "soft_ranks": "3497ca5ac353200a",
    "soft_ranks_vjp": "685a175ad8c4220c",
    "by_class": "b5c48f4b0cdbc393",
    "hinge_ranks": "e7290c930ded047c",
    "widest_ranks": "38edbb69cd18c99b",
    "sums_from_top": "d433b5326f383aa0",
    "sums_from_bottom": "232e7822703d77e0",
    "hinge_ranks_vjp": "438e29a6855dc078",
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
