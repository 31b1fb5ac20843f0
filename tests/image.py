"""Build the image of `Dockerfile` and learn a DCG in it: `make image`.

Without a Docker daemon or buildah, an empty environment for each stage carries out the lines of the
file in their order, as the user who runs this and in folders below a temporary one. It says which
of the two it did.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
LOG = ROOT / "examples" / "side_by_side.jsonl"
LEARN = ("learn", "log.jsonl", "-o", "dcg.json")


def lines() -> list[tuple[str, str]]:
    """Return the instructions of the Dockerfile with their arguments."""
    text = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
    return [
        (line.split(" ", 1)[0], line.split(" ", 1)[1])
        for line in text.splitlines()
        if re.match("[A-Z]", line)
    ]


def builder() -> str | None:
    """Return the tool that can build images here."""
    if (
        shutil.which("docker")
        and not subprocess.run(["docker", "info"], capture_output=True, check=False).returncode
    ):
        return "docker"
    return "buildah" if shutil.which("buildah") else None


def built(tool: str, place: Path) -> None:
    """Build the image, and learn in a container of it."""
    subprocess.run([tool, "build", "--tag", "dcglearn", str(ROOT)], check=True)
    place.chmod(0o777)
    command = ("run", "--rm", "--volume", f"{place}:/data", "dcglearn")
    if tool == "buildah":
        subprocess.run([tool, "from", "--name", "dcglearn-try", "dcglearn"], check=True)
        command = ("run", "--volume", f"{place}:/data", "dcglearn-try", "dcglearn")
    subprocess.run([tool, *command, *LEARN], check=True)


class Stage:
    """A stage of the image: a folder as its root, with an empty environment in it."""

    def __init__(self, root: Path) -> None:
        self.root = self.folder = root
        root.mkdir()
        venv.create(root / "python", with_pip=True)
        self.variables = {
            "PATH": f"{root}/python/bin:{no_compiler(root / 'bin')}",
            "HOME": str(root / "home"),
            **{name: value for name, value in os.environ.items() if name.startswith("PIP_")},
        }

    def path(self, name: str) -> Path:
        """Return where a path of the image lies."""
        return self.root / name.lstrip("/") if name.startswith("/") else self.folder / name

    def run(self, *command: str) -> None:
        """Run a command in the stage's folder."""
        subprocess.run(command, cwd=self.folder, env=self.variables, check=True)


def no_compiler(folder: Path) -> Path:
    """Return a folder of links to the system's programs, but no C compiler: the image has none."""
    folder.mkdir()
    for name in ("sh", "uname"):
        (folder / name).symlink_to(shutil.which(name, path="/usr/bin:/bin"))
    return folder


def carried_out(place: Path) -> None:
    """Carry out the lines in an empty environment for each stage, and learn in the last folder."""
    stages: dict[str, Stage] = {}
    for instruction, argument in lines():
        if instruction == "FROM":
            name = argument.partition(" AS ")[2]
            stage = stages[name] = Stage(place / f"stage-{name}")
        elif instruction == "WORKDIR":
            stage.folder = stage.path(argument)
            stage.folder.mkdir(parents=True, exist_ok=True)
        elif instruction == "COPY":
            copy(argument.split(), stage, stages)
        elif instruction == "RUN" and not argument.startswith("useradd"):
            stage.run("sh", "-ec", argument.replace("/opt/", f"{stage.root}/opt/"))
        elif instruction == "ENTRYPOINT":
            shutil.copy(place / "log.jsonl", stage.folder)
            begin = time.perf_counter()
            stage.run(*json.loads(argument), *LEARN)
            print(f"learned in {time.perf_counter() - begin:.1f} s")
            shutil.copy(stage.folder / "dcg.json", place)


def copy(words: list[str], stage: Stage, stages: dict[str, Stage]) -> None:
    """Copy files or folders of the project, or of an earlier stage, into a stage."""
    *names, target = words
    find = ROOT.joinpath
    if names[0].startswith("--from="):
        find = stages[names.pop(0).partition("=")[2]].path

    for source in map(find, names):
        goal = stage.path(target)
        if source.is_dir():
            shutil.copytree(source, goal, ignore=shutil.ignore_patterns("__pycache__", "*.lib"))
        else:
            shutil.copy(source, goal)


def main() -> None:
    """Try the image, and see that a metric was learned."""
    with tempfile.TemporaryDirectory() as folder:
        place, tool = Path(folder), builder()
        shutil.copy(LOG, place / "log.jsonl")
        print(
            f"with {tool}"
            if tool
            else "without Docker and buildah: the lines of the file, one by one",
            flush=True,
        )
        if tool:
            built(tool, place)
        else:
            carried_out(place)
        metric = json.loads((place / "dcg.json").read_text())
        if len(metric["gains"]) != 5:
            sys.exit("no metric was learned")


if __name__ == "__main__":
    main()
