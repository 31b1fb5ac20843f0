"""Build the image of `Dockerfile` and learn a DCG in it: `make image`.

Without a Docker daemon or buildah, an empty environment carries out the lines of the file in their order, as the user
who runs this and in folders below a temporary one. It says which of the two it did.
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
    return [(line.split(" ", 1)[0], line.split(" ", 1)[1]) for line in text.splitlines() if re.match("[A-Z]", line)]


def builder() -> str | None:
    """Return the tool that can build images here."""
    if shutil.which("docker") and not subprocess.run(["docker", "info"], capture_output=True, check=False).returncode:
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


def carried_out(place: Path) -> None:
    """Carry out the lines in an empty environment, and learn in its last folder."""
    venv.create(place / "python", with_pip=True)
    variables = {
        "PATH": f"{place}/python/bin:/usr/bin:/bin",
        "HOME": str(place / "home"),
        **{name: value for name, value in os.environ.items() if name.startswith("PIP_")},
    }
    folder = place
    for instruction, argument in lines():
        if instruction == "WORKDIR":
            folder = place / argument.lstrip("/")
            folder.mkdir(parents=True, exist_ok=True)
        elif instruction == "COPY":
            *sources, target = argument.split()
            for source in map(ROOT.joinpath, sources):
                (shutil.copytree if source.is_dir() else shutil.copy)(source, folder / target)
        elif instruction == "RUN" and not argument.startswith("useradd"):
            subprocess.run(["sh", "-ec", argument], cwd=folder, env=variables, check=True)
        elif instruction == "ENTRYPOINT":
            shutil.copy(place / "log.jsonl", folder)
            begin = time.perf_counter()
            subprocess.run([*json.loads(argument), *LEARN], cwd=folder, env=variables, check=True)
            print(f"learned in {time.perf_counter() - begin:.1f} s")
            shutil.copy(folder / "dcg.json", place)


def main() -> None:
    """Try the image, and see that a metric was learned."""
    with tempfile.TemporaryDirectory() as folder:
        place, tool = Path(folder), builder()
        shutil.copy(LOG, place / "log.jsonl")
        print(f"with {tool}" if tool else "without Docker and buildah: the lines of the file, one by one", flush=True)
        if tool:
            built(tool, place)
        else:
            carried_out(place)
        metric = json.loads((place / "dcg.json").read_text())
        if len(metric["gains"]) != 5:
            sys.exit("no metric was learned")


if __name__ == "__main__":
    main()
