"""The loader of the kernels: libraries that it refuses, and arguments that must not reach C."""

import importlib.util
import os
import shutil
import subprocess
import sys
from inspect import signature
from pathlib import Path

import numpy as np
import pytest

from dcglearn.foundation.version import __version__
from dcglearn.kernels import build, library
from tests.tables import table

PACKAGE = Path(library.__file__).parents[1]

SMALL = ("__init__.py", "library.py", "build.py", "dcglearn.h", "library.c")
"""What a clone needs to compile a library in a second, without the kernels themselves."""

ROOT = Path(__file__).parents[2]

LOAD = "from dcglearn.kernels import library; print(library.library()._name)"


@pytest.fixture(autouse=True)
def no_variables(monkeypatch):
    for name in ("CC", "DCGLEARN_KERNELS"):
        monkeypatch.delenv(name, raising=False)


def small_clone(root):
    """Make a clone of the package that has the loader and few sources, and return its kernels."""
    package = root / "dcglearn"
    for path in PACKAGE.glob("__init__.py*"):
        package.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, package)

    skip = shutil.ignore_patterns("__pycache__")
    shutil.copytree(PACKAGE / "foundation", package / "foundation", ignore=skip)
    (package / "kernels").mkdir()
    for name in SMALL:
        shutil.copy(PACKAGE / "kernels" / name, package / "kernels")
    return package / "kernels"


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Return the kernels of a clone that are compiled; tests change copies of it."""
    kernels = small_clone(tmp_path_factory.mktemp("built"))
    builder(kernels).compile_kernels(kernels)
    return kernels


@pytest.fixture
def kernels(built, tmp_path):
    """Return the kernels of a clone of one's own, compiled."""
    shutil.copytree(built.parent, tmp_path / "clone" / "dcglearn")
    return tmp_path / "clone" / "dcglearn" / "kernels"


def builder(kernels):
    """Return the module that compiles the kernels of a clone."""
    spec = importlib.util.spec_from_file_location("clone_build", kernels / "build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(kernels, code=LOAD, **variables):
    """Run code with the package of a clone, and return the finished process."""
    root = kernels.parents[1]
    environment = os.environ | {"PYTHONPATH": str(root)} | variables
    command = [sys.executable, "-c", code]
    return subprocess.run(
        command, cwd=root, env=environment, capture_output=True, text=True, check=False
    )


def refused(path):
    """Assert that a library is refused in words that name it and the remedy, and return them."""
    with pytest.raises(ImportError) as error:
        library.load(path)

    said = str(error.value)
    assert str(path) in said and said.count("\n") == 0
    assert "build them with `pip install --editable .` in the clone" in said
    return said


# Libraries that are refused.


def test_a_library_that_is_missing_is_named(tmp_path):
    assert "is missing" in refused(tmp_path / "kernels.lib")


@pytest.mark.parametrize("length", [0, 20])
def test_the_beginning_of_a_library_is_refused(tmp_path, length):
    path = tmp_path / "kernels.lib"
    path.write_bytes(Path(library.library()._name).read_bytes()[:length])
    assert f"cannot be loaded on {sys.platform}: " in refused(path)


def test_a_text_file_is_refused(tmp_path):
    path = tmp_path / "kernels.lib"
    path.write_text("version https://git-lfs.github.com/spec/v1\n" * 100)
    assert f"cannot be loaded on {sys.platform}: " in refused(path)


@pytest.mark.parametrize("target", ["linux-aarch64", "macos-arm64"])
def test_a_library_of_another_platform_is_refused(tmp_path, built, target):
    module = builder(built)
    if target == build.this_platform():
        target = "linux-x86_64"
    if module._zig() is None:
        pytest.skip("only zig compiles for other platforms")

    path, *_ = module.compile_kernels(tmp_path, target)
    assert f"cannot be loaded on {sys.platform}: " in refused(path)


def test_a_library_of_another_version_is_refused(tmp_path, built):
    path, *_ = builder(built).compile_kernels(tmp_path, version="0.0.7")
    said = refused(path)
    assert "holds the kernels of dcglearn 0.0.7 for " in said
    assert f"but this is dcglearn {__version__}; " in said


def test_a_version_that_begins_like_this_one_is_another(tmp_path, built):
    path, *_ = builder(built).compile_kernels(tmp_path, version=f"{__version__}.1")
    assert f"dcglearn {__version__}.1 for " in refused(path)


def test_a_library_of_something_else_is_refused(tmp_path):
    other = importlib.util.find_spec("numpy._core._multiarray_umath").origin
    assert "is not the library of dcglearn's kernels" in refused(Path(other))


def test_an_import_without_the_library_says_what_to_do(kernels):
    (kernels / "kernels.lib").unlink()
    done = run(kernels)
    assert done.returncode == 1 and "KernelError: the kernels of dcglearn, " in done.stderr
    assert "is missing; build them with `pip install --editable .`" in done.stderr


def test_a_clone_that_hides_an_installed_package_uses_its_library_of_the_same_c(kernels, tmp_path):
    installed = tmp_path / "site" / "dcglearn" / "kernels"
    installed.mkdir(parents=True)
    for library_there in kernels.glob("*.lib"):
        library_there.rename(installed / library_there.name)
    about = tmp_path / "site" / "dcglearn-0.1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: dcglearn\nVersion: 0.1.0\n")
    (about / "RECORD").write_text("dcglearn/kernels/kernels.lib,,\n")

    # the clone comes first on the path, and the installed package after it
    path = os.pathsep.join([str(kernels.parents[1]), str(tmp_path / "site")])
    done = run(kernels, PYTHONPATH=path)
    assert not done.stderr and Path(done.stdout.strip()).parent == installed

    # another C is another clone's
    change(kernels)
    assert "is missing; build them with" in run(kernels, PYTHONPATH=path).stderr


def test_an_installed_package_without_its_library_is_installed_again(kernels):
    for path in [kernels / "build.py", *kernels.glob("*.lib"), *kernels.glob("*.[ch]")]:
        path.unlink()
    said = run(kernels).stderr
    assert said.endswith("install them with `pip install --force-reinstall dcglearn`\n")


def test_an_installed_package_needs_neither_the_sources_nor_their_build(kernels):
    for path in [kernels / "build.py", *kernels.glob("*.[ch]")]:
        path.unlink()
    done = run(kernels)
    assert not done.stderr and Path(done.stdout.strip()).parent == kernels


# Clones whose C has changed.


def change(kernels):
    """Change a comment in the C of a clone."""
    source = kernels / "library.c"
    source.write_text(source.read_text() + "/* One more comment. */\n")


def test_kernels_whose_source_has_changed_are_built_once_and_say_so(kernels):
    change(kernels)
    before = (kernels / "kernels.lib").read_bytes()
    first = run(kernels)
    assert not first.returncode and "UserWarning: the C of the kernels has changed" in first.stderr

    # The library has changed, and stays.
    after = (kernels / "kernels.lib").read_bytes()
    times = {path: path.stat().st_mtime_ns for path in kernels.glob("*.lib")}
    assert after != before and builder(kernels).fingerprint().encode() in after
    second = run(kernels)
    assert not second.returncode and not second.stderr
    assert times == {path: path.stat().st_mtime_ns for path in kernels.glob("*.lib")}


def test_processes_that_build_at_once_all_load_what_was_built(kernels):
    change(kernels)
    environment = os.environ | {"PYTHONPATH": str(kernels.parents[1])}
    where = {"cwd": kernels.parents[1], "env": environment, "stderr": subprocess.DEVNULL}
    running = [subprocess.Popen([sys.executable, "-c", LOAD], **where) for _ in range(3)]
    assert [process.wait() for process in running] == [0, 0, 0]
    assert not run(kernels).stderr and not list(kernels.glob(".kernels-*"))


def test_source_that_does_not_compile_is_an_import_error_that_shows_the_compilers_words(kernels):
    source = kernels / "library.c"
    source.write_text(source.read_text() + "#error broken on purpose\n")
    done = run(kernels)
    assert done.returncode == 1 and "broken on purpose" in done.stderr
    assert "KernelError: the C of the kernels has changed, but they cannot be built" in done.stderr


def test_without_a_compiler_changed_source_is_an_import_error_with_a_remedy(kernels):
    change(kernels)
    nothing = kernels.parents[1] / "nothing"
    nothing.mkdir()
    done = run(kernels, f"import sys; sys.path.pop(); {LOAD}", CC="no-such-compiler")
    assert done.returncode == 1 and "no-such-compiler cannot be run" in done.stderr


# The library that is chosen.


def chosen(monkeypatch, kernels=None):
    """Return the path of the library that is loaded, with the variable or without it."""
    if kernels is not None:
        monkeypatch.setenv("DCGLEARN_KERNELS", str(kernels))
    return Path(library.library.__wrapped__()._name)


def test_the_fastest_library_that_this_processor_runs_is_chosen(monkeypatch):
    faster = library.load(library.HERE / library.BASELINE).dcglearn_has_avx2()
    wanted = library.AVX2 if faster else library.BASELINE
    assert chosen(monkeypatch) == chosen(monkeypatch, "") == library.HERE / wanted


def test_the_variable_chooses_the_baseline_or_a_library_by_its_path(monkeypatch, tmp_path):
    assert chosen(monkeypatch, "baseline") == library.HERE / library.BASELINE
    copy = shutil.copy(library.HERE / library.BASELINE, tmp_path / "own.lib")
    assert chosen(monkeypatch, copy) == tmp_path / "own.lib"


def test_a_path_in_the_variable_that_holds_no_library_is_refused(monkeypatch, tmp_path):
    with pytest.raises(ImportError, match=r"none\.lib, is missing"):
        chosen(monkeypatch, tmp_path / "none.lib")


def test_the_variable_is_honoured_without_a_build(kernels, tmp_path):
    change(kernels)
    own = shutil.copy(kernels / "kernels.lib", tmp_path / "own.lib")
    done = run(kernels, DCGLEARN_KERNELS=str(own))
    assert done.stdout.strip() == str(own) and not done.stderr


# Arguments.

TYPES = {"floats": np.float64, "int8s": np.int8, "int32s": np.int32, "int64s": np.int64}


@pytest.fixture(params=TYPES)
def argument(request):
    """Return the check of arrays of a type, and the type."""
    return getattr(library, request.param), np.dtype(TYPES[request.param])


def test_arrays_of_another_type_are_refused(argument):
    check, dtype = argument
    others = {np.dtype(name) for name in "?bhilqBHILQefd"} - {dtype}
    others |= {np.dtype(object), dtype.newbyteorder()} - {dtype}
    for other in others:
        with pytest.raises(TypeError, match=rf"a kernel takes 3 entries of {dtype} in C's order"):
            check(np.zeros(3, other), 3)


def test_arrays_in_another_order_are_refused(argument):
    check, dtype = argument
    table = np.zeros((4, 6), dtype)
    others = [table.T, table[:, ::2], table[::2], table[::-1], table[:, 1:], table[:, 0]]
    others += [np.asfortranarray(table), np.broadcast_to(table[0], (4, 6))]
    for other in others:
        with pytest.raises(TypeError, match="with strides"):
            check(other, 1)

        other.flags.writeable = False
        with pytest.raises(TypeError, match="with strides"):
            check(other, 1)


def test_arrays_that_are_too_short_are_refused(argument):
    check, dtype = argument
    for shape, size in (((3,), 4), ((2, 3), 7), ((0,), 1), ((3, 0), 1), ((), 2)):
        with pytest.raises(TypeError, match=f"takes {size} entries of {dtype} .* of shape"):
            check(np.zeros(shape, dtype), size)


def test_arrays_of_the_type_and_length_are_taken_where_they_lie(argument):
    check, dtype = argument
    types = [*2 * [library.COUNT], *2 * [library.ARRAY]]
    seen = library.plain_function("elementary", types, None)
    for shape in ((0,), (3,), (2, 3), (), (1, 1, 1)):
        array = np.zeros(shape, dtype)
        for writeable in (True, False):
            array.flags.writeable = writeable
            seen(0, 0, check(array, array.size), check(array, 0))

    # A kernel reads a read-only array, and writes to another.
    if dtype == np.float64:
        x, y = np.arange(3.0), np.empty(3)
        x.flags.writeable = False
        seen(0, 3, check(x, 3), check(y, 3))
        np.testing.assert_allclose(y, np.exp(x), rtol=1e-15)


def test_an_argument_keeps_the_memory_of_its_array(argument):
    check, dtype = argument
    array = np.zeros(1000, dtype)
    kept = check(array, 1000)
    with pytest.raises(ValueError, match="resize"):
        array.resize(10**6)
    del kept


@table("letter", "fbil")
def test_a_prototype_checks_each_array_by_its_formula(letter):
    kernel = library.function(f"elementary (m) which n {letter}[n*m] {letter}[n+1]?")
    dtype = {"f": np.float64, "b": np.int8, "i": np.int32, "l": np.int64}[letter]
    x, y = np.zeros(6, dtype), np.zeros(4, dtype)
    kernel(2, 0, 0, x, y)
    kernel(2, 0, 0, x, None)
    for arrays, said in (
        ((x[:5].copy(), y), "takes 6 entries"),
        ((x, y[:3].copy()), "takes 4 entries"),
        ((x.astype(np.complex128), y), "not complex128"),
        ((x, y[::-1]), "with strides"),
    ):
        with pytest.raises(TypeError, match=said):
            kernel(2, 0, 3, *arrays)
    with pytest.raises(AttributeError, match="None"):
        kernel(2, 0, 0, None, y)


def test_a_prototype_names_the_type_of_the_result():
    assert library.function("work_of_pairs depth block -> n")(3, 5) > 0
    value = library.function("inversions n l[n] f[n] l[n] f[n] -> #")
    keys, sizes = np.array([2, 1]), np.array([2.0, 3.0])
    assert value(2, keys, sizes, np.empty(2, np.int64), np.empty(2)) == 6.0


def test_a_call_finds_lengths_and_makes_arrays():
    keys, sizes = np.array([2, 1]), np.array([2.0, 3.0])
    assert library.function("inversions .n l[n] f[n] l[n]~ f[n]~ -> #")(keys, sizes) == 6.0
    assert keys.tolist() == [1, 2]  # sorted in place

    # lengths of arrays with one more entry, or in formulas alone
    x, ends = np.arange(3.0), np.arange(4)
    exponential = library.function("elementary which .n f[n] f[n]!")(0, x)
    np.testing.assert_allclose(exponential, np.exp(x), rtol=1e-15)
    product = library.function("sums_from_top .segments l[segments+1] f[n] f[n+segments+1]+")
    assert product(ends, x).tolist() == [0.0, 0.0, 0.0, 1.0, 0.0, 2.0, 0.0]
    with pytest.raises(TypeError, match="takes 3 entries"):
        library.function("elementary which .n f[n] f[n]")(0, x, np.empty(2))
    with pytest.raises(KeyError, match="m"):
        library.function("elementary which .m f[n] f[n]!")


def test_a_call_finds_the_dimensions_of_arrays_and_makes_arrays_of_them():
    gradients, hessians, far = np.array([[1.0, -2.0]]), np.eye(2)[None], np.full((1, 2), 9.0)
    steps = library.function(
        "dense_steps .n .p f[n,p] f[n,p,p] f[n,p] f[n,p] f[n] f[n] f[n,p]+ f[p*(p+1)]~ l[p]~"
    )
    given = gradients, hessians, -far, far, np.array([5.0])
    assert steps(*given, np.zeros(1)).tolist() == [[-1.0, 2.0]]
    with pytest.raises(TypeError, match="takes 4 entries"):
        steps(gradients, hessians[:, :1], *given[2:], np.zeros(1))

    # several arrays in one piece of memory
    pairs, rest = library.function("elementary which .n f[n] f[2,2;n-4]!")(0, np.arange(5.0))
    assert pairs.shape == (2, 2)
    np.testing.assert_allclose([*pairs.ravel(), *rest], np.exp(np.arange(5.0)), rtol=1e-15)


def test_a_chunk_is_given_first_and_memory_is_made_for_the_call():
    kernel = library.function(
        "expected_dcg .m .depth longest first last #sigma f[n] f[n] l[m+1] f[depth] f[m] f[n] "
        "f[work_of_expected_dcg(depth,longest)]~ -> #"
    )
    assert [*signature(kernel).parameters][:4] == ["first", "last", "longest", "sigma"]

    # in the order of C, the first document nearly always on top
    scores, gains, offsets = np.array([9.0, 1.0]), np.array([3.0, 0.0]), np.array([0, 2])
    arrays = scores, gains, offsets, np.array([1.0, 0.5]), np.array([2.0]), np.zeros(2)
    assert kernel(0, 2, 2, 1e-3, *arrays) == pytest.approx(6.0)


def test_the_command_line_refuses_a_missing_library_in_one_line(tmp_path):
    command = [sys.executable, "-m", "dcglearn", "show", "linear-log2@3"]
    environment = {
        **os.environ,
        "DCGLEARN_KERNELS": str(tmp_path / "none.lib"),
        "PYTHONPATH": str(ROOT),
    }
    words = [
        sys.executable,
        "-m",
        "dcglearn",
        "learn",
        str(ROOT / "examples" / "side_by_side.jsonl"),
    ]
    for arguments, status in ((command, 0), (words, 1)):  # what needs no kernel goes on
        done = subprocess.run(
            arguments, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == status, done.stderr
    read, refusal = done.stderr.splitlines()
    assert read == "winners: a (500)" and "none.lib, is missing; build them" in refusal
