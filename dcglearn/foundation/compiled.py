"""Numba's compiler, with a cache that is left out where it cannot be written (`njit`)."""

import contextlib
import functools
import os
import stat
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numba
from numba.core.runtime import rtsys

BESIDE = Path(__file__).parents[1] / "__pycache__"
"""Folder beside the source, where compiled code is kept if it can be written."""

_CONFIG: Any = numba.config


def njit(**options: Any) -> Callable[[Any], Any]:
    """Return numba's ``njit(**options)`` as a decorator; ``cache=True`` keeps compiled code in the `cache_folder`."""
    folder = cache_folder() if options.pop("cache", False) else None
    options.setdefault("no_cfunc_wrapper", True)  # C never calls a kernel, and the wrapper takes time to compile

    def compiled(function: Any) -> Any:
        before = _CONFIG.CACHE_DIR
        _CONFIG.CACHE_DIR = "" if folder is None else str(folder)  # read when a cache is made, below
        try:
            kernel = numba.njit(cache=folder is not None, **options)(function)
        finally:
            _CONFIG.CACHE_DIR = before
        if folder is not None:
            kernel._cache.save_overload = functools.partial(_save, kernel._cache.save_overload)
            kernel._cache.load_overload = functools.partial(_load, kernel._cache)
        return kernel

    return compiled


def _save(save: Callable[..., None], *overload: Any) -> None:
    """Keep compiled code, unless the disk is full by now or went away."""
    with contextlib.suppress(OSError):
        save(*overload)


def _load(cache: Any, signature: Any, target: Any) -> Any:
    """Return compiled code from the cache, or None, without loading the declarations that only compiling needs."""
    rtsys.initialize(target)
    with cache._guard_against_spurious_io_errors():
        return cache._load_overload(signature, target)


@functools.cache
def cache_folder() -> Path | None:
    """Return the folder that compiled code is kept in; None, with a warning, if there is none that can be written."""
    for folder in _folders():
        try:
            folder.mkdir(0o700, parents=True, exist_ok=True)
            if not only_mine(folder):
                if folder != BESIDE:
                    warnings.warn(
                        f"{folder} is not used for compiled code, which others could replace: another user owns it or "
                        "what is in it, or group or others can write it or a folder above it (chmod go-w); set "
                        "NUMBA_CACHE_DIR to a folder that only you can write",
                        RuntimeWarning,
                        stacklevel=2,
                    )
                continue
            with tempfile.TemporaryFile(dir=folder) as file:
                file.write(bytes(1 << 16))  # the disk may be full
        except OSError:
            continue
        return folder
    warnings.warn(
        "compiled code cannot be kept (no folder for it can be written): each process compiles anew, which takes some "
        "seconds; set NUMBA_CACHE_DIR to a folder that only you can write",
        RuntimeWarning,
        stacklevel=2,
    )
    return None


def only_mine(folder: Path) -> bool:
    """Return whether a folder and its content are this user's or root's, and nobody else can change them."""
    if not hasattr(os, "getuid"):
        return True
    folder = folder.resolve()
    own, inside = folder.stat(), [place.lstat() for place in folder.rglob("*")]
    can_enter = own.st_mode & 0o077
    return (
        all(about.st_uid in (os.getuid(), 0) for about in (own, *inside))
        and not any(about.st_mode & 0o022 for about in (own, *(inside if can_enter else ())))
        and not any(
            mode & 0o022 and not mode & stat.S_ISVTX for mode in (above.stat().st_mode for above in folder.parents)
        )
    )


def _folders() -> Iterator[Path]:
    """Yield NUMBA_CACHE_DIR, `BESIDE`, and the user's cache folder unless it lies in the working folder."""
    if _CONFIG.CACHE_DIR:
        yield Path(_CONFIG.CACHE_DIR)
    yield BESIDE
    users = Path(os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache")))  # noqa: PTH111, it raises no error
    if users.is_absolute():  # without a home it is relative, and code must not be loaded from where one works
        yield users / "dcglearn"
