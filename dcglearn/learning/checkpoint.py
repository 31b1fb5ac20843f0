"""A fit that can be killed: the sums of every pass are kept, and a resumed fit is answered from them.

The solvers are deterministic and see the log only through these sums. So a fit that starts again asks the same
questions in the same order; those already answered cost nothing, and from there it goes on to the same bytes.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import re
import struct
import zlib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from dcglearn.foundation.files import CHECKPOINT_VERSION, refuse_existing, refuse_other_checkpoint, written_beside
from dcglearn.foundation.validation import InputError
from dcglearn.learning.pair_loss import LossSums
from dcglearn.logs.pair_sums import PairSums

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dcglearn.foundation.arrays import Floats


_HEADER = re.compile(rb"dcglearn checkpoint (\d+)\n(.*\n)?")
"""The first two lines of a file: the version of its format, and the identity of its fit."""
_FRAME = struct.Struct("<QI16s")
"""Before each answer: its length, its checksum, the digest of its question."""


class Checkpoint:
    """The answers of a fit so far, in a file to which each is appended as it comes.

    Parameters
    ----------
    path : path
        The file.
    identity : dict
        What the fit is of: parameters, and the log's checksum.
    resume : bool
        Whether to go on from what is there. Otherwise the file must not exist.

    Raises
    ------
    InputError
        If there is a file and `resume` is false, none and `resume` is true, or it is no checkpoint of this fit.

    Notes
    -----
    An answer cut short, as by a kill in the middle of writing, fails its checksum and is asked for again.
    """

    def __init__(self, path: str | os.PathLike[str], identity: dict[str, Any], *, resume: bool = False) -> None:
        self.path = Path(path)
        self.n_replayed = 0
        self._answers: list[tuple[bytes, bytes]] = []
        header = f"dcglearn checkpoint {CHECKPOINT_VERSION}\n{json.dumps(identity, sort_keys=True)}\n".encode()
        if resume:
            end = self._load(identity)
        else:
            if self.path.exists():
                raise InputError(f"{path} exists; resume from it (resume=True, --resume), or remove it")
            refuse_existing(self.path, force=False)
            with written_beside(self.path) as temporary:
                temporary.write_bytes(header)
            end = len(header)
        try:
            self._file = self.path.open("r+b")
            self._file.truncate(end)
            self._file.seek(end)
        except OSError as error:
            raise InputError(f"{path}: cannot be written ({error.strerror})") from error
        self._next = 0

    @classmethod
    @contextlib.contextmanager
    def optional(
        cls, path: str | os.PathLike[str] | None, resume: bool, identity: Callable[[], dict[str, Any]]
    ) -> Iterator[Checkpoint | NoCheckpoint]:
        """Yield a checkpoint, closed afterwards, or what stands for none where no path is given."""
        if path is None:
            if resume:
                raise InputError("resume needs to know from what: give checkpoint=FILE (--checkpoint FILE)")
            yield NoCheckpoint()
            return
        with cls(path, identity(), resume=resume) as kept:
            yield kept

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def pairs(self, source: Any) -> KeptPairs:
        """Return a source of pairs (`margin_qp.PairSource`, or judgements) whose sums are kept here."""
        return KeptPairs(source, self)

    def answer(self, question: tuple[Any, ...], kind: type, ask: Callable[[], Any]) -> Any:
        """Return the kept answer to a question, or ask, and keep it.

        Raises
        ------
        InputError
            If the question kept here is another, or the answer cannot be written.
        """
        asked = _digest(question)
        if self._next < len(self._answers):
            kept, data = self._answers[self._next]
            if kept != asked:
                raise InputError(
                    f"{self.path}: pass {self._next + 1} of that fit asked something else; it was made by another "
                    "version of the libraries, or on another machine: start anew, without resume"
                )
            self._next += 1
            self.n_replayed += 1
            return _unpacked(kind, data)
        found = ask()
        data = _packed(found)
        try:
            self._file.write(_FRAME.pack(len(data), zlib.crc32(data), asked) + data)
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise InputError(f"{self.path}: not written ({error.strerror}); what it holds stays good") from error
        self._answers.append((asked, b""))
        self._next += 1
        return found

    def _load(self, identity: dict[str, Any]) -> int:
        """Read the answers; return where the last whole one ends."""
        try:
            content = self.path.read_bytes()
        except OSError as error:
            raise InputError(f"{self.path}: no checkpoint to resume from ({error.strerror})") from error
        header = _HEADER.match(content)
        if header is not None:
            refuse_other_checkpoint(self.path, int(header[1]))
        if header is None or header[2] is None:
            raise InputError(f"{self.path} is not a dcglearn checkpoint")
        end, kept = header.end(), json.loads(header[2])
        wanted = json.loads(json.dumps(identity))
        for name in {**wanted, **kept}:
            if kept.get(name) != wanted.get(name):
                raise InputError(
                    f"{self.path} is of another fit: its {name} is {kept.get(name)}, now it is {wanted.get(name)}"
                )
        while end + _FRAME.size <= len(content):
            length, checksum, asked = _FRAME.unpack_from(content, end)
            data = content[end + _FRAME.size : end + _FRAME.size + length]
            if len(data) < length or zlib.crc32(data) != checksum:
                break
            self._answers.append((asked, data))
            end += _FRAME.size + length
        return end


class NoCheckpoint:
    """Nothing is kept."""

    def pairs(self, source: Any) -> Any:
        """Return the source itself."""
        return source


@dataclass(frozen=True)
class KeptPairs:
    """A source of pairs or judgements whose sums over the whole log are kept in a checkpoint."""

    source: Any
    checkpoint: Checkpoint

    def __len__(self) -> int:
        return len(self.source)

    @property
    def depth(self) -> int:
        """K."""
        return int(self.source.depth)

    @property
    def total_weight(self) -> float:
        """Sum of the weights."""
        return float(self.source.total_weight)

    def every(self, step: int) -> Any:
        """Return every `step`-th pair."""
        return self.source.every(step)

    def evaluate(self, weights: Floats, curvature: bool = True) -> PairSums:
        """Return the sums over the pairs at W."""
        question = ("sums", weights, curvature)
        found: PairSums = self.checkpoint.answer(question, PairSums, lambda: self.source.evaluate(weights, curvature))
        return found

    def loss(self, weights: Floats, thresholds: Floats, errors: Floats, kind: int) -> LossSums:
        """Return the loss and its slopes."""
        question = ("loss", weights, thresholds, errors, kind)
        found: LossSums = self.checkpoint.answer(
            question, LossSums, lambda: self.source.loss(weights, thresholds, errors, kind)
        )
        return found


def _digest(question: tuple[Any, ...]) -> bytes:
    found = hashlib.blake2b(digest_size=16)
    for item in question:
        found.update(item.tobytes() if isinstance(item, np.ndarray) else repr(item).encode())
    return found.digest()


def _packed(sums: Any) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **{field.name: getattr(sums, field.name) for field in fields(sums)})
    return buffer.getvalue()


def _unpacked(kind: type, data: bytes) -> Any:
    with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
        values = {name: arrays[name] for name in arrays.files}
    return kind(**{name: float(value) if value.ndim == 0 else value for name, value in values.items()})
