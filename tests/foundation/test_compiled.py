"""The cache of compiled code: missing, damaged or full, it costs time and nothing else."""

import errno
import importlib.util
import warnings
from pathlib import Path

import pytest
from numba.core import caching

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
    monkeypatch.setattr(caching.config, "CACHE_DIR", "")
    compiled._say.cache_clear()

    def load():
        spec = importlib.util.spec_from_file_location("kernel", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.doubled

    return load


def files(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "__pycache__").glob("kernel.doubled*"))


def test_code_is_kept_and_found_again(kernel, tmp_path):
    assert kernel()(3) == 6
    assert [path.suffix for path in files(tmp_path)] == [".nbc", ".nbi"]
    again = kernel()
    assert again(3) == 6
    assert sum(again.stats.cache_hits.values()) == 1


@pytest.mark.parametrize("place", [0, 10, 40, 200, -1])
@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
def test_a_damaged_cache_is_rebuilt(kernel, tmp_path, suffix, place):
    kernel()(3)
    (path,) = (path for path in files(tmp_path) if path.suffix == suffix)
    content = path.read_bytes()
    for damaged in (content[:place], content[:place] + bytes([content[place] ^ 85]) + content[place:][1:]):
        path.write_bytes(damaged)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert kernel()(3) == 6
        again = kernel()
        assert again(3) == 6
        assert sum(again.stats.cache_hits.values()) == 1


def test_a_full_disk_under_the_cache_ends_nothing(kernel, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(compiled._CheckedFile, "_save_data", full)
    with pytest.warns(RuntimeWarning, match=r"cannot be kept \(No space left on device\): each process compiles anew"):
        assert kernel()(3) == 6


@pytest.mark.posix
def test_a_container_without_a_folder_for_the_cache(kernel, tmp_path, monkeypatch):
    (tmp_path / "__pycache__").write_text("no folder can be made here, not even by root")
    monkeypatch.setenv("HOME", "/dev/null")
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null/cache")
    with pytest.warns(RuntimeWarning, match="no folder for it can be written.*NUMBA_CACHE_DIR"):
        function = kernel()
    assert function(3) == 6
    monkeypatch.setattr(caching.config, "CACHE_DIR", str(tmp_path / "cache"))
    assert kernel()(3) == 6
    assert list((tmp_path / "cache").rglob("*.nbc"))


def test_code_is_never_kept_in_the_working_folder(kernel, tmp_path, monkeypatch):
    (tmp_path / "__pycache__").write_text("")
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    with pytest.warns(RuntimeWarning, match="no folder for it can be written"):
        assert kernel()(3) == 6
    assert not list((tmp_path / "work").iterdir())
