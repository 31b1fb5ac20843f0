"""Outputs: written whole or not at all, through links and into devices, with the mode of what they
replace.
"""

import os
import stat
import tempfile
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from dcglearn.foundation.files import refuse_unwritable, written_beside
from dcglearn.foundation.validation import InputError
from dcglearn.plots import save_figure
from dcglearn.rankers import RidgeRanker
from dcglearn.rankers.simulated_queries import letor_queries
from dcglearn.reading.read import read_preferences
from dcglearn.trust.next_pairs import Questions
from tests.makers import TRUTH, random_log, refused
from tests.tables import table


def write(path, text: str = "new") -> None:
    with written_beside(path) as temporary:
        temporary.write_text(text)


def names() -> list[str]:
    return sorted(path.name for path in Path().iterdir())


@pytest.mark.posix
def test_a_link_stays_a_link(here):
    (here / "real").mkdir()
    Path("real/dcg.json").write_text("old")
    for name in ("link", "dangling"):
        Path(name).symlink_to(Path("real") / ("dcg.json" if name == "link" else "none"))
        write(name)
        assert Path(name).is_symlink()
    assert Path("real/dcg.json").read_text() == Path("real/none").read_text() == "new"
    refused("link exists; choose another name, or --force", refuse_unwritable, "link", force=False)


@pytest.mark.posix
def test_the_mode_of_a_replaced_file_stays(here):
    for mode in (0o600, 0o640, 0o755):
        path = Path(f"file-{mode}")
        path.write_text("old")
        path.chmod(mode)
        write(path)
        assert stat.S_IMODE(path.stat().st_mode) == mode
    before = os.umask(0o027)
    write("fresh")
    os.umask(before)
    assert stat.S_IMODE(Path("fresh").stat().st_mode) == 0o640


@pytest.mark.posix
def test_devices_and_pipes_are_refused(here):
    os.mkfifo("pipe")
    for path in ("/dev/null", "pipe"):
        refused(f"{path} is a folder or a device; name a file", write, path)


def test_what_cannot_be_written_is_known_before(here):
    Path("locked").mkdir()
    for path, message in (
        ("x" * 300 + ".json", "cannot write there .*too long"),
        ("a\0b", "cannot be the name of a file"),
        ("none/x", "the folder none does not exist"),
        ("locked", "is a folder"),
    ):
        refused(message, refuse_unwritable, path)
    name = "é" * 120 + ".json"  # 245 bytes, of at most 255
    refuse_unwritable(name, force=False)
    write(name)
    assert Path(name).read_text() == "new"
    assert names() == sorted([name, "locked"])


LOG = random_log(30)
QUERIES = letor_queries(6, n_features=4, sizes=(6, 9), random_state=0)

OUTPUTS = {
    "DCG": TRUTH.save,
    "log": LOG.save,
    "ranker": lambda path: RidgeRanker().fit(QUERIES).save(path),
    "questions": lambda path: Questions(np.zeros((1, 2, 3), np.int8), *np.zeros((2, 1))).save(path),
    "picture": lambda path: save_figure(Figure(), path),
    "bad lines": lambda path: read_preferences("log.jsonl", skip_bad=path),
}


@table("write", OUTPUTS.values())
@table("name", [3, 1.5, b"x", ["x"], Path("a\0b"), "\ud800"])
def test_a_name_that_no_file_can_have_is_refused(here, write, name):
    LOG.save("log.jsonl")
    refused("cannot be the name of a file: give text or a path", write, name)
    assert {path.name for path in here.iterdir()} == {"log.jsonl"}


@table("write", [TRUTH.save, LOG.save, lambda path: RidgeRanker().fit(QUERIES).save(path)])
def test_none_is_no_name_and_path_objects_are(here, write):
    class Named(os.PathLike):
        def __fspath__(self):
            return "result"

    refused("None cannot be the name", write, None)
    write(Named())
    assert [path.name for path in here.iterdir()] == ["result"]


def test_no_room_is_known_before(here, monkeypatch):
    def full(**_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    refused(r"x: cannot write there .*No space", refuse_unwritable, "x")
    assert not names()


def test_two_writers_of_one_file_do_not_meet(here):
    with written_beside("dcg.json") as outer:
        outer.write_text("outer")
        write("dcg.json", "inner")
        assert Path("dcg.json").read_text() == "inner"
    assert names() == ["dcg.json"]
    assert Path("dcg.json").read_text() == "outer"


def test_an_error_leaves_the_old_file(here, monkeypatch):
    Path("x").write_text("old")
    with pytest.raises(KeyError), written_beside("x") as temporary:
        temporary.write_text("half")
        raise KeyError

    def fails(*_: Path) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", fails)
        refused(r"x: not written .Input/output error.; nothing was changed", write, "x")
    assert names() == ["x"]
    assert Path("x").read_text() == "old"


def test_an_error_of_polars_names_the_file(here):
    import polars as pl

    Path("x.parquet").write_text("old")
    error = pl.exceptions.ComputeError("underlying IO error: No space left on device")
    message = r"x\.parquet: not written .*No space.*; nothing was changed"
    with pytest.raises(InputError, match=message), written_beside("x.parquet"):
        raise error
    assert names() == ["x.parquet"]
    assert Path("x.parquet").read_text() == "old"
