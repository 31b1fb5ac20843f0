"""The build of the kernels: libraries, errors, wheels and source archives."""

import ctypes
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

import pytest

from dcglearn.foundation.version import __version__
from dcglearn.kernels import build
from tests import wheels
from tests.tables import table

ROOT = Path(__file__).parents[2]

HOOK = ("hatch_build.py", "pyproject.toml", "README.md", "LICENSE", ".gitignore")
"""What a build needs beside the package."""

SMALL = ("dcglearn.h", "library.c")
"""Sources that compile in a second, without the others."""

FUSED = """
#include "dcglearn.h"
EXPORT double product_and_sum(double a, double b, double c) { return a * b + c; }
"""

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


@pytest.fixture(autouse=True)
def no_variables(monkeypatch):
    """Take away the variables that choose a compiler or a platform."""
    for name in ("CC", "DCGLEARN_TARGET"):
        monkeypatch.delenv(name, raising=False)


def copy_of_project(root, sources=SMALL):
    """Copy what a wheel is built from, with some of the kernels' sources."""
    kernels = root / "dcglearn" / "kernels"
    shutil.copytree(ROOT / "dcglearn" / "foundation", root / "dcglearn" / "foundation")
    kernels.mkdir()
    for name in ("__init__.py", "build.py", "library.py", *sources):
        shutil.copy(ROOT / "dcglearn" / "kernels" / name, kernels)

    for name in HOOK:
        shutil.copy(ROOT / name, root)
    return root


@pytest.fixture
def project(tmp_path):
    """Return a copy of the project, with few sources."""
    root = tmp_path / "project"
    root.mkdir()
    copy_of_project(root)
    return root


@pytest.fixture
def kernels(project):
    return project / "dcglearn" / "kernels"


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def has_avx2(folder):
    return ctypes.CDLL(str(folder / "kernels.lib")).dcglearn_has_avx2()


def said_by(library):
    function = ctypes.CDLL(str(library)).dcglearn_library
    function.restype = ctypes.c_char_p
    return function().decode()


# libraries


def test_a_library_says_what_it_was_made_from(kernels, tmp_path):
    module = load(kernels / "build.py")
    made = module.compile_kernels(tmp_path)

    names = ["kernels.lib", "kernels.avx2.lib"][: 1 + module.this_platform().endswith("x86_64")]
    assert [path.name for path in made] == names
    place, fingerprint = module.this_platform(), module.fingerprint()
    assert re.fullmatch("[0-9a-f]{16}", fingerprint)
    for path in made:
        assert said_by(path) == f"dcglearn {__version__} for {place}, sources {fingerprint}"

    other = tmp_path / "other"
    other.mkdir()
    path, *_ = module.compile_kernels(other, version="7.8")
    assert said_by(path).startswith("dcglearn 7.8 for ")


def test_a_build_leaves_nothing_but_the_libraries(kernels, tmp_path):
    home, before = tmp_path / "home", set(kernels.iterdir())
    home.mkdir()
    variables = {"HOME": str(home), "XDG_CACHE_HOME": str(home), "LOCALAPPDATA": str(home)}

    command = [sys.executable, "-B", str(kernels / "build.py")]
    environment = os.environ | variables
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)

    new = {path.name for path in set(kernels.iterdir()) - before}
    assert new == {Path(line.split(": ")[0]).name for line in done.stdout.splitlines()[:-1]}
    assert "kernels.lib" in new and new <= {"kernels.lib", "kernels.avx2.lib"}
    assert not list(home.iterdir())


def test_builds_at_once_do_not_hurt_each_other(kernels):
    module = load(kernels / "build.py")
    module.compile_kernels(kernels, version="0.0")
    if os.name == "posix":  # on Windows a library that is in use cannot be replaced
        assert "dcglearn 0.0" in said_by(kernels / "kernels.lib")

    command = [sys.executable, str(kernels / "build.py")]
    running = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for _ in range(3)]
    assert [process.wait() for process in running] == [0, 0, 0]

    wanted = f"dcglearn {__version__} for {module.this_platform()}, sources {module.fingerprint()}"
    for path in kernels.glob("*.lib"):
        copy = shutil.copy(path, path.with_suffix(".copy"))  # a loaded library is known by its name
        assert said_by(copy) == wanted
    assert not list(kernels.glob(".kernels-*"))


@pytest.mark.parametrize("compiler", ["zig", "cc"])
def test_no_library_multiplies_and_adds_at_once(kernels, monkeypatch, compiler):
    if compiler == "cc":
        if sys.platform == "win32" or not shutil.which("cc"):
            pytest.skip("there is no cc")
        monkeypatch.setenv("CC", "cc")
    (kernels / "fused.c").write_text(FUSED)
    load(kernels / "build.py").compile_kernels(kernels)

    names = ["kernels.lib", "kernels.avx2.lib"] if has_avx2(kernels) else ["kernels.lib"]
    for name in names:
        function = ctypes.CDLL(str(kernels / name)).product_and_sum
        function.argtypes, function.restype = [ctypes.c_double] * 3, ctypes.c_double
        assert function(0.1, 0.1, -(0.1 * 0.1)) == 0.0  # a fused one gives the product's rounding


def test_the_fingerprint_changes_with_the_c_and_the_version(kernels):
    seen = [load(kernels / "build.py").fingerprint()]
    version = kernels.parent / "foundation" / "version.py"
    for path in (kernels / "library.c", kernels / "dcglearn.h", version):
        path.write_text(path.read_text() + "\n")
        seen.append(load(kernels / "build.py").fingerprint())
    (kernels / "library.c").rename(kernels / "other.c")
    seen.append(load(kernels / "build.py").fingerprint())
    assert len(set(seen)) == 5

    (kernels / "kernels.lib").touch()
    (kernels / "other.c").write_bytes((kernels / "other.c").read_bytes().replace(b"\n", b"\r\n"))
    assert load(kernels / "build.py").fingerprint() == seen[-1]
    assert [path.name for path in load(kernels / "build.py").SOURCES] == ["dcglearn.h", "other.c"]


# errors


def refused(function, *arguments):
    with pytest.raises(build.BuildError) as error:
        function(*arguments)
    return str(error.value)


def test_without_a_compiler_one_line_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "path", [])
    said = refused(build.compile_kernels, tmp_path)
    assert said.count("\n") == 0 and "pip install ziglang" in said and "CC" in said
    said = refused(build.find_compiler, "macos-arm64")
    assert said.count("\n") == 0 and "pip install ziglang" in said
    assert "'macos'" in refused(build.find_compiler, "macos") and not list(tmp_path.iterdir())


def test_no_compiler_is_taken_from_the_working_folder(tmp_path, monkeypatch):
    trap = "raise SystemExit" if os.name == "nt" else "#!/bin/sh\nexit 1\n"
    (tmp_path / "ziglang").mkdir()
    for name in ("ziglang/__init__.py", "ziglang/zig", "ziglang/zig.exe", "cc", "cc.exe"):
        (tmp_path / name).write_text(trap)
        (tmp_path / name).chmod(0o755)

    monkeypatch.chdir(tmp_path)
    for here in ("", ".", str(tmp_path)):
        monkeypatch.setenv("PATH", here)
        monkeypatch.setattr(sys, "path", [here])
        assert "no C compiler" in refused(build.find_compiler)


def test_the_compiler_that_cc_names_is_used(monkeypatch, tmp_path):
    monkeypatch.setenv("CC", f'"{sys.executable}" -O1')
    assert not build.find_compiler().is_zig and build.find_compiler().command[-1] == "-O1"
    monkeypatch.setenv("CC", sys.executable)
    assert build.find_compiler() == ([sys.executable], False)
    monkeypatch.setenv("CC", "no-such-compiler")
    assert "no-such-compiler cannot be run" in refused(build.compile_kernels, tmp_path)


def test_an_error_of_the_compiler_shows_its_command(kernels, tmp_path):
    (kernels / "library.c").write_text("#error nothing compiles this\n")
    module = load(kernels / "build.py")
    with pytest.raises(module.BuildError) as error:
        module.compile_kernels(tmp_path)
    said = str(error.value)
    assert "-ffp-contract=off" in said and "library.c" in said and "nothing compiles this" in said
    assert not list(tmp_path.glob("*.lib"))

    command = [sys.executable, str(kernels / "build.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "nothing compiles this" in done.stderr and "Traceback" not in done.stderr


# archives


def archive_of(root, kind, **variables):
    """Build a wheel or a source archive, and return its path."""
    folder = root.parent / f"dist-{len(list(root.parent.iterdir()))}"
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(folder)]
    subprocess.run(command, cwd=root, env=os.environ | variables, check=True, capture_output=True)
    (path,) = folder.iterdir()
    return path


@pytest.fixture
def littered(project, kernels):
    """Return a copy of the project with libraries in it, and the rest of an interrupted build."""
    pytest.importorskip("hatchling")
    (kernels / ".kernels-1").mkdir()
    names = ("kernels.lib", "kernels.avx2.lib", ".kernels-1/kernels.lib", ".kernels-1/library.o")
    for name in names:
        (kernels / name).write_text("no library")
    return project


@table("target", [build.this_platform(), "macos-arm64"])
def test_a_wheel_holds_the_libraries_of_its_platform_alone(littered, target):
    wheel = archive_of(littered, "wheel", DCGLEARN_TARGET=target)
    assert wheels.check_wheel(wheel).startswith(f"dcglearn {__version__} for {target}, ")


def test_a_source_archive_holds_no_library_and_makes_wheels(littered, tmp_path):
    archive = archive_of(littered, "sdist")
    wheels.check_sources(archive)
    with tarfile.open(archive) as file:
        assert f"dcglearn-{__version__}/hatch_build.py" in file.getnames()
        assert not [name for name in file.getnames() if ".kernels-" in name]
        file.extractall(tmp_path / "unpacked", filter="data")

    wheel = archive_of(tmp_path / "unpacked" / f"dcglearn-{__version__}", "wheel")
    wheels.check_wheel(wheel)


@pytest.mark.posix
def test_the_wheel_of_another_compiler_is_for_this_system(littered):
    if not shutil.which("cc"):
        pytest.skip("there is no cc")
    wheel = archive_of(littered, "wheel", CC="cc")
    assert "manylinux" not in wheel.name and "any" not in wheel.name
    assert "kernels.lib" in wheels.kernels_in(wheel)


def hook_of(root):
    return load(root / "hatch_build.py").KernelHook(str(root), {}, None, None, "", "wheel")


def test_zig_is_installed_for_a_build_that_uses_it(project, monkeypatch):
    pytest.importorskip("hatchling")
    needed = PROJECT["dependency-groups"]["build"]
    (pinned,) = (line for line in needed if line.startswith("ziglang=="))
    expected = [pinned] if build.this_platform() in build.TARGETS else []
    assert hook_of(project).dependencies() == expected
    monkeypatch.setenv("CC", "gcc")
    assert hook_of(project).dependencies() == []
    monkeypatch.setenv("DCGLEARN_TARGET", "macos-arm64")
    assert hook_of(project).dependencies() == [pinned]


def test_an_editable_installation_compiles_in_place(project, kernels):
    pytest.importorskip("hatchling")
    data = {"force_include": {}}
    hook = hook_of(project)
    hook.initialize("editable", data)
    hook.finalize("editable", data, "")
    said = said_by(kernels / "kernels.lib")
    assert said.startswith(f"dcglearn {__version__} for {build.this_platform()}")
    assert not data["force_include"] and not data["pure_python"]


def test_without_a_compiler_a_build_ends_with_one_line(project, tmp_path, monkeypatch):
    pytest.importorskip("hatchling")
    hook = hook_of(project)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "path", [])
    with pytest.raises(SystemExit, match=r"^the C kernels .* pip install ziglang.*$"):
        hook.initialize("standard", {"force_include": {}})


def test_each_list_of_platforms_is_the_same():
    pytest.importorskip("hatchling")
    tags = load(ROOT / "hatch_build.py").TAGS
    named = re.search(r"^PLATFORMS := (.+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)[1]
    assert [*build.TARGETS] == [*tags] == named.split()
    checked = {place: tag for tag, (place, *_) in wheels.PLATFORMS.items()}
    assert tags == checked


@pytest.mark.long
def test_all_wheels_are_made_on_one_machine(tmp_path, capsys):
    pytest.importorskip("hatchling")
    root, dist = tmp_path / "project", tmp_path / "dist"
    root.mkdir()
    dist.mkdir()
    copy_of_project(root, [path.name for path in build.SOURCES])

    made = [archive_of(root, "sdist")]
    made += [archive_of(root, "wheel", DCGLEARN_TARGET=target) for target in build.TARGETS]
    for path in made:
        path.rename(dist / path.name)

    wheels.main(str(dist))
    assert len(capsys.readouterr().out.splitlines()) == len(build.TARGETS)
    (dist / made[-1].name).unlink()
    with pytest.raises(AssertionError, match="no wheel for"):
        wheels.main(str(dist))
