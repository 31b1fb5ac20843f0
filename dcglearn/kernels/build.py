"""Compilation of the C kernels into shared libraries, by zig or another C compiler.

This file needs nothing but Python and the C beside it: the build of a wheel loads it by its path,
and ``python dcglearn/kernels/build.py`` compiles in place. Wheels hold the libraries without it.
"""

import hashlib
import importlib.machinery
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).resolve().parent

SOURCES = sorted(path for path in FOLDER.iterdir() if path.suffix in {".c", ".h"})
"""The C files and headers of the kernels, by name."""

LIBRARY = "kernels.lib"
"""Name of the library on every platform, so that one pattern finds it."""

AVX2_LIBRARY = "kernels.avx2.lib"
"""Name of the second library of x86-64: the same sources, for processors with AVX2."""

TARGETS = {
    "linux-x86_64": "x86_64-linux-musl",
    "linux-aarch64": "aarch64-linux-musl",
    "macos-x86_64": "x86_64-macos.10.13",
    "macos-arm64": "aarch64-macos.11.0",
    "windows-x86_64": "x86_64-windows-gnu",
    "windows-arm64": "aarch64-windows-gnu",
}
"""Platforms that zig compiles for, with zig's own names.

The libraries for Linux call no libc: they load where glibc is in use as well as musl.
"""

FLAGS = [
    "-O3",
    "-std=c11",
    "-shared",
    "-ffp-contract=off",  # no fused multiply-adds: the same bits on every processor
    "-fno-fast-math",
    "-fno-math-errno",  # sqrt is one instruction; -fno-fast-math would undo it if it came later
    "-fvisibility=hidden",
    "-g0",
    "-s",
]
"""Options of every compiler."""

VERSION_FILE = FOLDER.parent / "foundation" / "version.py"


class BuildError(RuntimeError):
    """There is no C compiler, or it refused the kernels."""


class Compiler(NamedTuple):
    """A C compiler: its command, and whether it is the zig of the package index."""

    command: list[str]
    is_zig: bool


def fingerprint() -> str:
    """Return 16 hexadecimal digits of the sources, of this file's flags and of the version."""
    digest = hashlib.sha256()

    for path in (*SOURCES, Path(__file__), VERSION_FILE):
        content = path.read_bytes().replace(b"\r\n", b"\n")  # as git on Windows writes lines
        digest.update(f"{path.name} {len(content)}\n".encode())
        digest.update(content)

    return digest.hexdigest()[:16]


def package_version() -> str:
    """Return the version of dcglearn, without importing it."""
    found = re.search(r'__version__ = "(.+)"', VERSION_FILE.read_text())
    if found is None:
        raise BuildError(f"{VERSION_FILE} names no __version__")

    return found[1]


def this_platform() -> str:
    """Return the platform of this Python, such as linux-x86_64 or macos-arm64."""
    name = sysconfig.get_platform()
    if name.startswith("macosx"):
        return f"macos-{platform.machine()}"  # the name of a universal build has no processor

    return {"win-amd64": "windows-x86_64", "win-arm64": "windows-arm64"}.get(name, name)


def wants_zig(target: str | None = None) -> bool:
    """Return whether a build takes zig if it is installed: no CC is set, or another target."""
    if target is not None:
        return True

    return not os.environ.get("CC") and this_platform() in TARGETS


def find_compiler(target: str | None = None) -> Compiler:
    """Return the compiler to use.

    The variable CC names it, unless a target is given; else it is the zig of the package
    ``ziglang``; else the first of cc, gcc and clang on the PATH.

    Parameters
    ----------
    target : str, optional
        A platform of `TARGETS` to compile for, which zig alone can; by default this one.

    Raises
    ------
    BuildError
        If there is none.
    """
    if target is not None and target not in TARGETS:
        raise BuildError(f"{target!r} is no platform with wheels; those are {', '.join(TARGETS)}")

    # zig, where it serves
    zig = _zig() if wants_zig(target) else None
    if zig is not None:
        return Compiler([str(zig), "cc"], is_zig=True)
    if target is not None:
        raise BuildError(f"compiling for {target} needs zig: pip install ziglang")

    # the compiler of the user or the system
    command = _named_compiler() or _system_compiler()
    if not command:
        raise BuildError(
            "the C kernels of dcglearn cannot be compiled, for there is no C compiler: "
            "pip install ziglang, or set the variable CC to the name of a compiler"
        )
    return Compiler(command, is_zig=False)


def _zig() -> Path | None:
    """Return the program zig of the package ziglang, but none that lies in the working folder."""
    folders = [folder for folder in sys.path if folder and not _is_working_folder(folder)]
    spec = importlib.machinery.PathFinder.find_spec("ziglang", folders)
    if spec is None or spec.origin is None:
        return None

    zig = Path(spec.origin).with_name("zig.exe" if os.name == "nt" else "zig")
    return zig if zig.exists() else None


def _named_compiler() -> list[str]:
    """Return the command that CC holds: a program, or a program with options."""
    named = os.environ.get("CC", "").strip()
    if shutil.which(named):
        return [named]

    return shlex.split(named, posix=os.name != "nt")


def _system_compiler() -> list[str]:
    """Return the first C compiler on the PATH, but none that lies in the working folder."""
    for name in ("cc", "gcc", "clang"):
        found = shutil.which(name)
        if found and not _is_working_folder(Path(found).parent):
            return [found]

    return []


def _is_working_folder(folder: str | Path) -> bool:
    return os.path.realpath(folder) == os.path.realpath(os.curdir)


def compile_kernels(
    folder: Path, target: str | None = None, version: str | None = None
) -> list[Path]:
    """Compile the kernels, and return the libraries that were written.

    A library is written whole and then renamed, so that several processes can compile into one
    folder at once.

    Parameters
    ----------
    folder : Path
        Where the libraries go: `LIBRARY`, and for x86-64 `AVX2_LIBRARY` too.
    target : str, optional
        A platform of `TARGETS` to compile for; by default this one.
    version : str, optional
        The version that the libraries state; by default the package's.

    Raises
    ------
    BuildError
        If there is no compiler, or it fails; the message holds its command and its words.
    """
    compiler = find_compiler(target)
    place = target or this_platform()
    label = f"dcglearn {version or package_version()} for {place}, sources {fingerprint()}"

    # one library, or two
    names = [LIBRARY]
    if place.endswith("x86_64"):
        names.append(AVX2_LIBRARY)

    # compile beside the place of the libraries, and rename
    with tempfile.TemporaryDirectory(prefix=".kernels-", dir=folder) as work:

        def compile_one(name: str) -> None:
            options = _options(compiler, place, name)
            _run([*compiler.command, *options, f'-DDCGLEARN_LIBRARY="{label}"'], name, Path(work))

        with ThreadPoolExecutor() as pool:
            list(pool.map(compile_one, names))
        return [_put(Path(work) / name, Path(folder) / name) for name in names]


def _options(compiler: Compiler, place: str, name: str) -> list[str]:
    """Return the options for a library: for any processor of the platform, or one with AVX2."""
    is_x86_64, is_windows = place.endswith("x86_64"), place.startswith("windows")
    has_avx2 = name == AVX2_LIBRARY
    options = list(FLAGS)

    # zig: no libc; on Windows its own runtime, which holds the check of large stack frames
    if compiler.is_zig:
        options += ["-target", TARGETS[place], "-nostdlib"]
        options += ["-rtlib=compiler-rt"] if is_windows else ["-fPIC"]
        if is_x86_64:
            options.append("-mcpu=x86_64+avx2" if has_avx2 else "-mcpu=x86_64")
        if place.startswith("macos"):
            options.append(f"-Wl,-install_name,@rpath/{name}")
        return options

    # another compiler: never for this very processor, whose fused instructions change the bits
    options += ["-nostartfiles"] if is_windows else ["-fPIC"]  # library.c starts it on Windows
    if is_x86_64:
        options += ["-march=x86-64"]
        options += ["-mavx2", "-mno-fma"] if has_avx2 else []
    return options


def _run(command: list[str], name: str, work: Path) -> None:
    """Compile one library in a folder of work, which holds zig's caches too."""
    sources = [path.name for path in SOURCES if path.suffix == ".c"]
    command = [*command, *sources, "-o", str(work / name)]

    # zig's caches: the user's, if variables name them, and none that stays
    environment = dict(os.environ)
    environment.setdefault("ZIG_GLOBAL_CACHE_DIR", str(work / "zig"))
    environment.setdefault("ZIG_LOCAL_CACHE_DIR", str(work / "zig-local"))

    # compile, and say why it failed
    try:
        done = subprocess.run(
            command,
            cwd=FOLDER,
            env=environment,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
    except OSError as error:
        raise BuildError(f"the compiler {command[0]} cannot be run: {error}") from error

    if done.returncode:
        what = "the C kernels of dcglearn could not be compiled"
        raise BuildError(f"{what}:\n{shlex.join(command)}\n{done.stdout}{done.stderr}")


def _put(made: Path, place: Path) -> Path:
    """Move a library to its place, over the one that may be there."""
    try:
        made.replace(place)
    except PermissionError as error:
        remedy = "end the programs that use it, or see whether you may write there"
        raise BuildError(f"{place} cannot be replaced: {remedy}") from error

    return place


def main() -> None:
    """Compile in place, and print what was built."""
    try:
        libraries = compile_kernels(FOLDER)
    except BuildError as error:
        sys.exit(str(error))

    for path in libraries:
        print(f"{path}: {path.stat().st_size:,} bytes")
    print(f"dcglearn {package_version()} for {this_platform()}, sources {fingerprint()}")


if __name__ == "__main__":
    main()
