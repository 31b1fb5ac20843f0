"""Check the archives of a release: run by `make wheels`.

Usage: python wheels.py FOLDER
"""

import re
import struct
import sys
import tarfile
import zipfile
from pathlib import Path

PLATFORMS = {
    "manylinux_2_17_x86_64.musllinux_1_1_x86_64": ("linux-x86_64", "elf", 62),
    "manylinux_2_17_aarch64.musllinux_1_1_aarch64": ("linux-aarch64", "elf", 183),
    "macosx_10_13_x86_64": ("macos-x86_64", "mach-o", 0x1000007),
    "macosx_11_0_arm64": ("macos-arm64", "mach-o", 0x100000C),
    "win_amd64": ("windows-x86_64", "pe", 0x8664),
    "win_arm64": ("windows-arm64", "pe", 0xAA64),
}
"""Tags of wheels: the platform, and the format and the processor of its libraries."""

KERNELS = "dcglearn/kernels/"


def kind_of(library: bytes) -> tuple[str, int]:
    """Return the format of a library, and the number of the processor that it is for."""
    if library.startswith(b"\x7fELF"):
        return "elf", struct.unpack_from("<H", library, 18)[0]

    if library.startswith(b"\xcf\xfa\xed\xfe"):
        return "mach-o", struct.unpack_from("<I", library, 4)[0]

    if library.startswith(b"MZ"):
        (header,) = struct.unpack_from("<I", library, 0x3C)
        return "pe", struct.unpack_from("<H", library, header + 4)[0]

    raise AssertionError(f"{library[:4]!r} begins no library")


def kernels_in(path: Path) -> dict[str, bytes]:
    """Return an archive's files of the kernels with their content, without Python's modules."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as wheel:
            found = {name: wheel.read(name) for name in wheel.namelist()}
    else:
        with tarfile.open(path) as archive:
            files = [member for member in archive.getmembers() if member.isfile()]
            found = {
                member.name.partition("/")[2]: archive.extractfile(member).read()
                for member in files  # below one folder, named for the version
            }

    # nothing of them lies elsewhere
    inside = {name for name in found if name.startswith(KERNELS)}
    lost = [name for name in found.keys() - inside if name.endswith((".lib", ".c", ".h"))]
    assert not lost, f"{path.name} holds {', '.join(lost)}"

    return {
        name.removeprefix(KERNELS): found[name]
        for name in inside
        if not name.endswith(".py") or name == f"{KERNELS}build.py"
    }


def check_wheel(path: Path) -> str:
    """Assert that a wheel holds its platform's libraries and no sources; return what they say."""
    *_, tag = path.stem.split("-", 4)
    place, *kind = PLATFORMS[tag]
    assert f"-py3-none-{tag}.whl" in path.name

    # as many libraries as the platform has
    libraries = kernels_in(path)
    wanted = {"kernels.lib"} | ({"kernels.avx2.lib"} if place.endswith("x86_64") else set())
    assert libraries.keys() == wanted, f"{path.name} holds {', '.join(libraries)}"

    # for this platform, of one source
    said = set()
    for name, library in libraries.items():
        assert [*kind_of(library)] == kind, f"{name} of {path.name} is {kind_of(library)}"
        said |= set(re.findall(rb"dcglearn [\w.+]+ for [\w-]+, sources [0-9a-f]{16}", library))
    assert len(said) == 1, f"the libraries of {path.name} say {said}"

    # of the version in the name
    (words,) = said
    version = path.name.split("-")[1]
    assert words.startswith(f"dcglearn {version} for {place}, ".encode()), words
    return words.decode()


def check_sources(path: Path) -> None:
    """Assert that a source archive holds what libraries are made from, and no library."""
    names = kernels_in(path).keys()
    assert {"build.py", "dcglearn.h", "library.c"} <= names
    assert not [name for name in names if name.endswith(".lib")], f"{path.name} holds a library"


def main(folder: str) -> None:
    """Check that all wheels and the source archive are there, of the same sources."""
    archives = list(Path(folder).glob("*.tar.gz"))
    wheels = sorted(Path(folder).glob("*.whl"))
    assert len(archives) == 1, archives
    check_sources(archives[0])

    # each wheel, and all of them
    said = {path: check_wheel(path) for path in wheels}
    missing = PLATFORMS.keys() - {path.stem.split("-", 4)[-1] for path in wheels}
    assert not missing, f"no wheel for {', '.join(missing)}"
    assert len({words.partition("sources ")[2] for words in said.values()}) == 1

    for path, words in said.items():
        print(f"{path.name}: {path.stat().st_size:,} bytes, {words}")


if __name__ == "__main__":
    main(sys.argv[1])
