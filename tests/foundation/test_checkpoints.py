"""Checkpoint files: whole parts come back; other trainings, formats and versions are refused by
name.
"""

import hashlib
import random

import pytest

from dcglearn.foundation.checkpoints import framed, read_checkpoint, write_checkpoint
from dcglearn.foundation.validation import InputError
from dcglearn.foundation.version import __version__
from tests.makers import refused

HEAD = f"dcglearn checkpoint 1 of dcglearn {__version__}\n".encode()


def test_parts_come_back_until_one_is_cut_short(tmp_path):
    path = tmp_path / "checkpoint"
    size = write_checkpoint(path, {"C": 1}, b"one", b"")
    assert path.stat().st_size == size
    with path.open("ab") as file:
        file.write(framed(b"three") + framed(b"four")[:-1])
    assert read_checkpoint(path, {"C": 1}) == (
        [b"one", b"", b"three"],
        size + len(framed(b"three")),
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            b"dcglearn checkpoint 4 of dcglearn 4.5.6\n{}\n",
            "by dcglearn 4.5.6 (checkpoint format 4; this version",
        ),
        (HEAD, "is not a dcglearn checkpoint, or damaged"),
        (HEAD + b"{}\n", "is not a dcglearn checkpoint, or damaged"),
        (b"", "is not a dcglearn checkpoint, or damaged"),
        (
            HEAD + b'%s {"C": 2}\n' % hashlib.sha256(b'{"C": 2}').hexdigest().encode(),
            "of another training: its C is 2, now it is 1; give what it was made with",
        ),
    ],
)
def test_other_files_are_refused(tmp_path, content, message):
    path = tmp_path / "checkpoint"
    path.write_bytes(content)
    with pytest.raises(InputError) as error:
        read_checkpoint(path, {"C": 1})
    assert str(error.value).startswith(f"{path} ") and message in str(error.value)
    assert "without resume" in str(error.value)
    assert path.read_bytes() == content


def test_no_file_to_resume_from(tmp_path):
    refused(
        r"no checkpoint to resume from .*start without resume",
        read_checkpoint,
        tmp_path / "none",
        {},
    )
    refused("cannot be the name of a file", read_checkpoint, tmp_path / "a\0b", {})


def test_any_damage_is_refused_or_costs_only_the_parts_behind_it(tmp_path):
    path, identity, whole = tmp_path / "checkpoint", {"C": 1}, [b"one", b"two" * 20, b"three"]
    write_checkpoint(path, identity, *whole)
    content = path.read_bytes()
    rng, kept = random.Random(0), 0
    for position in range(len(content)):
        for change in (rng.randrange(1, 256), 0x80):
            damaged = bytearray(content)
            damaged[position] ^= change
            path.write_bytes(damaged)
            try:
                parts, _ = read_checkpoint(path, identity)
            except InputError as error:
                assert "without resume" in str(error)
            else:
                kept += 1
                assert parts == whole[: len(parts)]
                assert len(parts) < len(whole) or position < content.index(
                    b"\n"
                )  # the version of dcglearn
    assert kept > 100


def test_zeros_behind_the_last_part_are_no_parts(tmp_path):
    # A crash of the machine may leave a file longer, with zeros in it.
    path = tmp_path / "checkpoint"
    size = write_checkpoint(path, {"C": 1}, b"one")
    with path.open("ab") as file:
        file.write(bytes(500))
    assert read_checkpoint(path, {"C": 1}) == ([b"one"], size)
