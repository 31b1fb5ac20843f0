"""The cache of compiled code: where it cannot be written, it costs time and nothing else."""

import errno
import importlib.util
import os
import subprocess
import sys
import tempfile

import numba
import pytest

from dcglearn.foundation import compiled

KERNEL = """
from dcglearn.foundation.compiled import njit

@njit(cache=True, nogil=True)
def doubled(x):
    return 2 * x
"""


@pytest.fixture
def kernel(tmp_path, monkeypatch):
    """Return a function that imports a kernel anew, as another process does."""
    path = tmp_path / "kernel.py"
    path.write_text(KERNEL)
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setattr(compiled, "BESIDE", tmp_path / "beside")
    compiled.cache_folder.cache_clear()

    def load():
        spec = importlib.util.spec_from_file_location("kernel", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.doubled

    yield load
    compiled.cache_folder.cache_clear()


def test_code_is_kept_and_found_again(kernel, tmp_path):
    assert kernel()(3) == 6
    assert sorted(path.suffix for path in (tmp_path / "beside").rglob("kernel.doubled*")) == [".nbc", ".nbi"]
    again = kernel()
    assert again(3) == 6
    assert sum(again.stats.cache_hits.values()) == 1
    assert numba.config.CACHE_DIR == ""


@pytest.mark.posix
def test_code_is_never_loaded_from_a_folder_that_others_can_write(kernel, tmp_path, monkeypatch):
    shared = tmp_path / "shared"
    shared.mkdir()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(shared))
    for mode in (0o777, 0o1777, 0o770):
        shared.chmod(mode)
        compiled.cache_folder.cache_clear()
        with pytest.warns(RuntimeWarning, match="shared is not used for compiled code.*only you can write"):
            assert kernel()(3) == 6
    assert not list(shared.iterdir())
    shared.chmod(0o755)
    assert compiled.only_mine(shared)
    (shared / "planted.nbi").touch()
    for mode, expected in ((0o755, False), (0o700, True)):  # nobody can enter the second
        (shared / "planted.nbi").chmod(0o666)
        shared.chmod(mode)
        assert compiled.only_mine(shared) == expected
    for mode, expected in ((0o777, False), (0o1777, True)):
        tmp_path.chmod(mode)
        assert compiled.only_mine(shared) == expected
    if shared.stat().st_uid == 0:
        os.chown(shared / "planted.nbi", 12345, -1)
        assert not compiled.only_mine(shared)


def test_code_is_loaded_without_what_only_compiling_needs(kernel, tmp_path):
    code = "import sys; sys.path.insert(0, sys.argv[1]); import kernel; assert kernel.doubled(3) == 6; "
    code += "print(*kernel.doubled.stats.cache_hits.values(), 'numba.cpython.unicode' in sys.modules)"
    command, environment = [sys.executable, "-c", code, str(tmp_path)], {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    said = [subprocess.check_output(command, env=environment, text=True).split() for _ in range(2)]
    assert said == [["True"], ["1", "False"]]


def full(*_, **__):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_under_the_cache_ends_nothing(kernel, monkeypatch):
    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    with pytest.warns(RuntimeWarning, match="compiled code cannot be kept.*each process compiles anew"):
        assert kernel()(3) == 6


def test_a_disk_that_is_full_when_code_is_kept_ends_nothing(kernel, tmp_path, monkeypatch):
    function = kernel()
    monkeypatch.setattr(os, "replace", full)
    assert function(3) == 6
    assert not list((tmp_path / "beside").rglob("*.nbc"))


@pytest.mark.posix
def test_a_container_without_a_folder_for_the_cache(kernel, tmp_path, monkeypatch):
    (tmp_path / "beside").write_text("no folder can be made here, not even by root")
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null/cache")
    with pytest.warns(RuntimeWarning, match="no folder for it can be written.*NUMBA_CACHE_DIR"):
        function = kernel()
    assert function(3) == 6
    compiled.cache_folder.cache_clear()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    assert kernel()(3) == 6
    assert list((tmp_path / "cache").rglob("*.nbc"))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("XDG_CACHE_HOME", ""),
        ("XDG_CACHE_HOME", "{work}/cache"),
        ("HOME", "home"),
        ("HOME", "{work}"),
        ("NUMBA_CACHE_DIR", "cache"),
        ("NUMBA_CACHE_DIR", "{work}/cache"),
    ],
)
def test_code_is_never_kept_in_the_working_folder(kernel, tmp_path, monkeypatch, name, value):
    (tmp_path / "beside").write_text("")
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", "/dev/null")
    monkeypatch.setenv(name, value.format(work=tmp_path / "work"))
    with (
        pytest.warns(RuntimeWarning, match="no folder for it can be written"),
        pytest.warns(RuntimeWarning, match="it lies in the working folder"),
    ):
        assert kernel()(3) == 6
    assert not list((tmp_path / "work").iterdir())


def test_settings_of_numba_do_not_move_the_cache(kernel, tmp_path, monkeypatch):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setattr(numba.config, "CACHE_LOCATOR_CLASSES", "nowhere.Locator", raising=False)
    assert kernel()(3) == 6
    assert list((tmp_path / "beside").rglob("*.nbc")) and not (tmp_path / "elsewhere").exists()


LEFT = """
import importlib, pkgutil
from numba.core.caching import NullCache
from numba.core.dispatcher import Dispatcher
import dcglearn
from dcglearn.cli import doctor

names = [info.name for info in pkgutil.walk_packages(dcglearn.__path__, "dcglearn.")]
modules = [importlib.import_module(x) for x in names if not x.endswith(("__main__", "torch_losses"))]
doctor.use_kernels()
values = [value for module in modules for value in vars(module).values()]
kernels = [x for x in values if isinstance(x, Dispatcher) and not isinstance(x._cache, NullCache)]
assert len(kernels) > 50
print({kernel.py_func.__qualname__ for kernel in kernels if not kernel.signatures})
"""


@pytest.mark.long
def test_doctor_compiles_all_kernels_ahead(tmp_path):
    fresh = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", LEFT], env=fresh, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "set()"
