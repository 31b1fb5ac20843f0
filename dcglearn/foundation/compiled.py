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

from dcglearn.foundation import working_folder

numba = working_folder.import_numba()

BESIDE = Path(__file__).parents[1] / "__pycache__"
"""Folder beside the source, where compiled code is kept if it can be written."""

_PLACES = ("CACHE_DIR", "CACHE_LOCATOR_CLASSES")
"""Settings of numba that say where compiled code is kept."""


def njit(**options: Any) -> Callable[[Any], Any]:
    """Return numba's ``njit(**options)`` as a decorator; ``cache=True`` keeps compiled code in the `cache_folder`."""
    folder = cache_folder() if options.pop("cache", False) else None
    options.setdefault("no_cfunc_wrapper", True)  # C never calls a kernel, and the wrapper takes time to compile

    def compiled(function: Any) -> Any:
        before = {place: getattr(numba.config, place, "") for place in _PLACES}
        vars(numba.config).update(CACHE_DIR=str(folder or ""), CACHE_LOCATOR_CLASSES="")  # read when a cache is made
        try:
            kernel = numba.njit(cache=folder is not None, **options)(function)
        finally:
            vars(numba.config).update(before)
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
    numba.core.runtime.rtsys.initialize(target)
    with cache._guard_against_spurious_io_errors():
        return cache._load_overload(signature, target)


@functools.cache
def cache_folder() -> Path | None:
    """Return the folder that compiled code is kept in; None, with a warning, if there is none that can be written."""
    for folder in _folders():
        try:
            # An archive that was unpacked in the working folder can hold a cache.
            usable = folder == BESIDE or not working_folder.inside(folder)
            if usable:
                folder.mkdir(0o700, parents=True, exist_ok=True)
                usable = only_mine(folder)
            if not usable:
                if folder != BESIDE:
                    warnings.warn(
                        f"{folder} is not used for compiled code, which others could replace: it lies in the working "
                        "folder, another user owns it or what is in it, or group or others can write it or a folder "
                        "above it (chmod go-w); set NUMBA_CACHE_DIR to a folder elsewhere that only you can write",
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
    """Yield NUMBA_CACHE_DIR of the environment, `BESIDE`, and the user's cache folder."""
    named = os.environ.get("NUMBA_CACHE_DIR")
    if named:
        yield Path(named)
    yield BESIDE
    users = os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache"))  # noqa: PTH111, it raises no error
    yield Path(users) / "dcglearn"
