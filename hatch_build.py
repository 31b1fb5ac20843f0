"""Hatchling's build hook: compile the C kernels into the wheel, or into the tree of a clone.

Without more, zig compiles for this platform. CC names another compiler, and zig is not installed
then. DCGLEARN_TARGET, such as macos-arm64, names another platform.
"""

import importlib.util
import os
import tempfile
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from packaging.requirements import Requirement
from packaging.tags import platform_tags

TAGS = {
    "linux-x86_64": "manylinux_2_17_x86_64.musllinux_1_1_x86_64",
    "linux-aarch64": "manylinux_2_17_aarch64.musllinux_1_1_aarch64",
    "macos-x86_64": "macosx_10_13_x86_64",
    "macos-arm64": "macosx_11_0_arm64",
    "windows-x86_64": "win_amd64",
    "windows-arm64": "win_arm64",
}
"""Platforms, as `dcglearn/kernels/build.py` names them, and those of wheels that zig compiled."""


class KernelHook(BuildHookInterface):
    """Compiles the kernels, and names the platform in the wheel's tag."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """Return zig, of the version in pyproject.toml, unless another compiler is used."""
        if not load_build(self.root).wants_zig(target()):
            return []

        project = tomllib.loads(Path(self.root, "pyproject.toml").read_text(encoding="utf-8"))
        needed = project["dependency-groups"]["build"]
        return [line for line in needed if Requirement(line).name == "ziglang"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, into the tree for an editable installation, else into the wheel alone."""
        build = load_build(self.root)
        kernels = Path(self.root, "dcglearn", "kernels")
        is_editable = version == "editable"
        wanted = None if is_editable else target()

        # compile
        self._folder = tempfile.TemporaryDirectory()
        try:
            compiler = build.find_compiler(wanted)
            place = kernels if is_editable else Path(self._folder.name)
            libraries = build.compile_kernels(place, wanted)
        except build.BuildError as error:
            raise SystemExit(str(error)) from None

        # what the wheel holds, and where it can be installed
        if not is_editable:
            added = {str(path): f"dcglearn/kernels/{path.name}" for path in libraries}
            build_data["force_include"].update(added)
        tag = TAGS[wanted or build.this_platform()] if compiler.is_zig else system_tag()
        build_data["tag"] = f"py3-none-{tag}"
        build_data["pure_python"] = False

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the libraries, which are in the wheel by now."""
        self._folder.cleanup()


def load_build(root: str) -> ModuleType:
    """Return `dcglearn/kernels/build.py`, loaded by its path: the package is not installed yet."""
    path = Path(root, "dcglearn", "kernels", "build.py")
    spec = importlib.util.spec_from_file_location("dcglearn_build", path)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{path} cannot be loaded")

    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def target() -> str | None:
    """Return the platform that DCGLEARN_TARGET names."""
    return os.environ.get("DCGLEARN_TARGET") or None


def system_tag() -> str:
    """Return the tag of wheels for this very system: its C library may be linked to."""
    tags = (tag for tag in platform_tags() if not tag.startswith(("manylinux", "musllinux")))
    return next(tags)
