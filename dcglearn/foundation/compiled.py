"""Numba's compiler, with a cache that cannot end a computation (`njit`).

Numba keeps compiled kernels beside the source or in the user's cache folder. Where neither can be written, as in a
container, where the disk is full, or where the cache is damaged, kernels are compiled anew instead.
"""

from __future__ import annotations

import functools
import hashlib
import os
import pickle
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numba
from numba.core import caching

if TYPE_CHECKING:
    from collections.abc import Callable

_CHECKSUM = hashlib.sha256().digest_size
_NO_CACHE = (
    "compiled code cannot be kept ({reason}): each process compiles anew, which takes some seconds; set "
    "NUMBA_CACHE_DIR to a folder that can be written"
)


def njit(**options: Any) -> Callable[[Any], Any]:
    """Return numba's ``njit(**options)`` as a decorator; with ``cache=True`` the cache is as this module says."""
    is_cached = options.pop("cache", False)
    options.setdefault("no_cfunc_wrapper", True)  # C never calls a kernel, and the wrapper takes time to compile

    def compiled(function: Any) -> Any:
        dispatcher = numba.njit(**options)(function)
        if is_cached:
            dispatcher._cache = _cache_of(function)  # as Dispatcher.enable_caching
        return dispatcher

    return compiled


def _cache_of(function: Any) -> Any:
    try:
        return _Cache(function)
    except RuntimeError:  # no folder for the cache
        _say("no folder for it can be written")
        return caching.NullCache()


def cache_folder() -> Path | None:
    """Return a folder that compiled code is kept in; None if there is none that can be written."""
    try:
        return Path(_Cache(cache_folder).cache_path)
    except RuntimeError:
        return None


@functools.cache
def _say(reason: str) -> None:
    """Warn that there is no cache, once in a process."""
    warnings.warn(_NO_CACHE.format(reason=reason), RuntimeWarning, stacklevel=2)


class _Folders(caching.CompileResultCacheImpl):
    """Where a cache may be: NUMBA_CACHE_DIR, beside the source, in the user's cache folder, if that is known."""

    def __init__(self, function: Any) -> None:
        wanted = {"UserProvidedCacheLocator", "InTreeCacheLocator"}
        # Without a home the user's folder is one in the working folder, from where code must not be loaded.
        if Path(caching.AppDirs("numba", False).user_cache_dir).is_absolute():
            wanted.add("UserWideCacheLocator")
        # Before numba 0.62 these names begin with an underscore.
        known = caching.CompileResultCacheImpl._locator_classes
        self._locator_classes = [kind for kind in known if kind.__name__.lstrip("_") in wanted]
        super().__init__(function)


class _CheckedFile(caching.IndexDataCacheFile):
    """Cache files whose content follows its SHA-256: damaged machine code must not run."""

    def _dump(self, obj: Any) -> bytes:
        data = super()._dump(obj)
        return hashlib.sha256(data).digest() + cast(bytes, data)

    def _load_index(self) -> dict[Any, str]:
        try:
            with Path(self._index_path).open("rb") as file:
                if pickle.load(file) != self._version:
                    return {}
                stamp, overloads = pickle.loads(_checked(file.read()))
        except Exception:  # missing, damaged, or of a version before the checksums: rebuilt
            return {}
        return overloads if stamp == self._source_stamp else {}

    def _load_data(self, name: str) -> Any:
        return pickle.loads(_checked(Path(self._data_path(name)).read_bytes()))


def _checked(content: bytes) -> bytes:
    data = content[_CHECKSUM:]
    if hashlib.sha256(data).digest() != content[:_CHECKSUM]:
        raise ValueError("damaged")
    return data


class _Cache(caching.FunctionCache):
    """A cache of a function that is rebuilt if it is damaged, and left out if it cannot be written."""

    _impl_class = _Folders

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        files = self._cache_file
        self._cache_file = _CheckedFile(self._cache_path, self._impl.filename_base, files._source_stamp)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # damaged, or of a library that is no longer there
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except OSError as error:
            self.disable()
            _say(os.strerror(error.errno) if error.errno else str(error))
