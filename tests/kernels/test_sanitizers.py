"""The kernels under sanitizers, which find reads and writes beyond arrays, and undefined behaviour.

Arrays that NumPy allocates are guarded too: it asks malloc for them, which is the sanitizer's. The
shapes of bits.py are at the edges of what the kernels promise, and their memory is never too large.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from dcglearn.kernels import build
from tests.kernels.test_bits import EXPECTED, choose

pytestmark = [pytest.mark.long, pytest.mark.posix]

ROOT = Path(__file__).parents[2]

TESTS = (
    "tests/learning/test_pairs.py",
    "tests/learning/test_objective.py",
    "tests/learning/test_search.py",
    "tests/learning/test_pair_sums.py",
    "tests/metrics/test_smooth_discount.py",
    "tests/coherence/test_disagreement.py",
    "tests/evaluation/test_evaluate.py",
    "-k",
    "not test_evaluate.py or arrays",
)
"""Tests that call every kernel, beside those of this folder."""

ADDRESSES = (
    ("gcc", ("-fsanitize=address",), "libasan.so"),
    ("clang", ("-fsanitize=address", "-shared-libasan"), "libclang_rt.asan-x86_64.so"),
    ("clang", ("-fsanitize=address", "-shared-libasan"), "libclang_rt.asan-aarch64.so"),
)
"""Compilers with AddressSanitizer: their options, and their library of it."""

UNDEFINED = "undefined,float-cast-overflow"

BITS = ("-m", "tests.kernels.bits")


class Sanitized(NamedTuple):
    """Kernels with a sanitizer in them, and the variables of a process that uses them."""

    kernels: Path
    variables: dict[str, str]


def compiled(folder, monkeypatch, compiler, options):
    """Compile the kernels with more options, and return the library of any processor."""
    choose(monkeypatch, compiler)
    flags = [flag for flag in build.FLAGS if flag not in ("-s", "-g0")]
    monkeypatch.setattr(build, "FLAGS", [*flags, "-O1", "-g", *options])
    return build.compile_kernels(folder)[0]


@pytest.fixture(scope="module")
def addresses(tmp_path_factory):
    """Return kernels with AddressSanitizer."""
    if not sys.platform.startswith("linux"):
        pytest.skip("a sanitizer is put before Python's own libraries as Linux does it")
    found = [(*row[:2], runtime_of(row[0], row[2])) for row in ADDRESSES]
    found = [row for row in found if row[2] is not None]
    if not found:
        pytest.skip("neither gcc nor clang has AddressSanitizer here")

    compiler, options, runtime = found[0]
    folder = tmp_path_factory.mktemp("addresses")
    with pytest.MonkeyPatch.context() as patch:
        kernels = compiled(folder, patch, compiler, options)
    wanted = ["detect_leaks=0", "alloc_dealloc_mismatch=0", f"log_path={folder / 'report'}"]
    variables = {
        "LD_PRELOAD": f"{runtime} libstdc++.so.6",  # C++ throws errors through the sanitizer
        "ASAN_OPTIONS": ":".join(wanted),
        "PYTHONMALLOC": "malloc",
    }
    return Sanitized(kernels, variables)


def runtime_of(compiler, name):
    """Return the library of a compiler's sanitizer, if it has one."""
    if not shutil.which(compiler):
        return None
    command = [compiler, f"-print-file-name={name}"]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    return found if Path(found).is_absolute() and Path(found).exists() else None


@pytest.fixture(scope="module")
def undefined(tmp_path_factory):
    """Return kernels that stop where what they do is undefined."""
    folder = tmp_path_factory.mktemp("undefined")
    options = (f"-fsanitize={UNDEFINED}", f"-fsanitize-trap={UNDEFINED}")
    with pytest.MonkeyPatch.context() as patch:
        return Sanitized(compiled(folder, patch, "zig", options), {})


def run(sanitized, *command):
    """Run Python with sanitized kernels; return its status, output and the sanitizer's report."""
    variables = {"PYTHONPATH": str(ROOT), "DCGLEARN_KERNELS": str(sanitized.kernels)}
    done = subprocess.run(
        [sys.executable, *command],
        cwd=ROOT,
        env=os.environ | variables | sanitized.variables,
        capture_output=True,
        text=True,
        check=False,
    )
    report = ""
    for path in sanitized.kernels.parent.glob("report.*"):
        report += path.read_text()
        path.unlink()
    return done.returncode, done.stdout + done.stderr, report


def passes(sanitized, *command):
    """Assert that a command ends well and that there is no report; return its output."""
    status, output, report = run(sanitized, *command)
    assert status == 0 and not report, f"{report}\n{output}"
    return output


@pytest.fixture(params=["addresses", "undefined"])
def sanitized(request):
    return request.getfixturevalue(request.param)


def test_the_kernels_are_clean_at_every_edge_and_have_the_same_bits(sanitized):
    output = passes(sanitized, *BITS)
    assert all(f'"{name}": "{digest}",' in output for name, digest in EXPECTED.items())


def test_the_tests_of_the_kernels_are_clean(sanitized):
    output = passes(sanitized, "-m", "pytest", "-p", "no:cacheprovider", *TESTS)
    assert " passed" in output and "failed" not in output


# Proofs that the sanitizers would find an error.

SHORT = """
import numpy as np
from dcglearn.kernels.library import ARRAY, COUNT, plain_function

elementary = plain_function("elementary", [COUNT, COUNT, ARRAY, ARRAY], None)
x, y = np.zeros(1000), np.zeros(1000)
whole = {whole}
if whole == "x":
    y = np.zeros(998)
if whole == "y":
    x = np.zeros(998)
elementary(0, 1000, x.ctypes.data, y.ctypes.data)
"""


@pytest.mark.parametrize(("whole", "what"), [("x", "WRITE of size"), ("y", "READ of size")])
def test_an_array_that_is_16_bytes_short_is_found(addresses, whole, what):
    status, _, report = run(addresses, "-c", SHORT.format(whole=repr(whole)))
    assert status != 0 and "heap-buffer-overflow" in report and what in report
    assert " in elementary " in report
    assert run(addresses, "-c", SHORT.format(whole=repr("both")))[::2] == (0, "")


LESS_MEMORY = """
from dcglearn import {folder}
from dcglearn.{folder} import {module}
from tests.kernels import bits

names = {names}
wanted = names["{name}"]
names["{name}"] = lambda *sizes: {less}
bits.digests_of(20)
"""

MEMORY = [
    ("learning", "pairs", "judgement_sums", "work_of_judgements", "wanted(*sizes) - 121"),
    ("learning", "objective", "add_in_parameters", "work_of_parameters", "wanted(*sizes) // 2"),
    ("learning", "pair_sums", "_add_pairs", "work_of_pairs", "wanted(*sizes) - 2"),
]
"""Functions that say how much memory a kernel needs, where they stand, and what is too little."""


@pytest.mark.parametrize(("folder", "module", "kernel", "name", "less"), MEMORY)
def test_too_little_memory_for_a_kernel_is_found(addresses, folder, module, kernel, name, less):
    names = f"{module}.{kernel}.__globals__"
    code = LESS_MEMORY.format(folder=folder, module=module, names=names, name=name, less=less)
    status, _, report = run(addresses, "-c", code)
    assert status != 0 and "heap-buffer-overflow" in report


OVERFLOW = """
#include "dcglearn.h"
EXPORT i64 product_of(i64 a, i64 b) { return a * b; }
EXPORT i64 whole_of(double x) { return (i64)x; }
"""

CALL = """
import ctypes, sys

loaded = ctypes.CDLL(sys.argv[1])
loaded.product_of.argtypes = [ctypes.c_int64] * 2
loaded.whole_of.argtypes = [ctypes.c_double]
loaded.product_of(int(sys.argv[2]), 2**40)
loaded.whole_of(float(sys.argv[3]))
"""


@pytest.mark.parametrize(
    ("factor", "number", "ends_well"),
    [("1", "1e9", True), (str(2**40), "1e9", False), ("1", "nan", False)],
)
def test_undefined_behaviour_is_found(undefined, tmp_path, monkeypatch, factor, number, ends_well):
    for path in build.SOURCES:
        if path.name in ("dcglearn.h", "library.c"):
            shutil.copy(path, tmp_path)
    (tmp_path / "overflow.c").write_text(OVERFLOW)

    # the same compilation, of other sources
    monkeypatch.setattr(build, "FOLDER", tmp_path)
    monkeypatch.setattr(build, "SOURCES", sorted(tmp_path.glob("*.[ch]")))
    options = (f"-fsanitize={UNDEFINED}", f"-fsanitize-trap={UNDEFINED}")
    library = compiled(tmp_path, monkeypatch, "zig", options)
    status, *_ = run(undefined, "-c", CALL, str(library), factor, number)
    assert (status == 0) == ends_well
