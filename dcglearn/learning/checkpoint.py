"""Checkpoints of learners: the sums of every pass are kept, and answer a resumed fit.

The solvers are deterministic and see the log only through these sums. So a fit that starts again
asks the same questions in the same order; those already answered cost nothing, and the rest leads
to the same bytes.
"""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

from dcglearn.foundation import disk
from dcglearn.foundation.checkpoints import (
    fingerprint_of,
    framed,
    packed,
    read_checkpoint,
    unpacked,
    write_checkpoint,
)
from dcglearn.foundation.validation import Fields, Floats, InputError, PathLike, as_path
from dcglearn.learning.pair_loss import LossSums, Points
from dcglearn.logs.pair_sums import PairSums


class Checkpoint:
    """The answers of a fit so far, in a file to which each new one is appended.

    With `resume` the file must be a checkpoint of the same `identity` (parameters, and checksum of
    the log), otherwise it must not exist: else an InputError. An answer cut short fails its
    checksum and is asked for again.
    """

    def __init__(self, path: PathLike, identity: Fields, *, resume: bool = False) -> None:
        self.path = as_path(path)
        self.n_replayed = self._next = 0
        self._answers: list[bytes] = []

        # the former answers, or a new file
        if resume:
            self._answers, end = read_checkpoint(path, identity)
        elif self.path.is_dir():
            raise InputError(f"{path} is a folder; name a file in it for the checkpoint")
        elif self.path.exists():
            raise InputError(f"{path} exists; resume from it (resume=True, --resume), or remove it")
        else:
            end = write_checkpoint(path, identity)

        # without a buffer, nothing is left to write when it is closed
        try:
            self._file = self.path.open("r+b", buffering=0)
            self._file.truncate(end)
            self._file.seek(end)
        except OSError as error:
            raise InputError(f"{path}: cannot be written ({error.strerror})") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def answer(self, question: tuple[Any, ...], kind: type, ask: Callable[[], Any]) -> Any:
        """Return the kept answer, or ask and keep it; raise InputError if another is kept."""
        digest = fingerprint_of(*question).encode()
        self._next += 1

        # an answer that is kept
        if self._next <= len(self._answers):
            kept = self._answers[self._next - 1]
            if not kept.startswith(digest):
                raise InputError(
                    f"{self.path}: pass {self._next} of that fit asked something else; it was made "
                    "by another version of the libraries, or on another machine: start again, "
                    "without resume",
                    see="checkpoints",
                )

            # as good as asked for
            self.n_replayed += 1
            return kind(**unpacked(kept[len(digest) :]))

        # a new one
        sums = ask()
        try:
            disk.appended(self._file.fileno(), framed(digest + packed(**vars(sums))))
        except OSError as error:
            raise InputError(
                f"{self.path}: not written ({error.strerror}); what it holds stays good: make room "
                "and resume from it (resume=True, --resume)"
            ) from error
        return sums


@dataclass(frozen=True)
class Checkpointing:
    """Where the sums of a fit are kept; the parameters of that name of `UtilityLearner.fit`."""

    checkpoint: PathLike | None = None
    resume: bool = False

    @contextlib.contextmanager
    def opened(self, identity: Callable[[], Fields]) -> Iterator[Callable[[Any], Any]]:
        """Yield a function that makes a source of pairs keep its sums, if there is a checkpoint."""
        if self.checkpoint is None:
            if self.resume:
                raise InputError(
                    "resume needs a checkpoint to resume from: give checkpoint=FILE (--checkpoint "
                    "FILE)"
                )
            yield lambda source: source
            return
        with Checkpoint(self.checkpoint, identity(), resume=self.resume) as checkpoint:
            yield partial(CheckpointedPairs, checkpoint=checkpoint)


NO_CHECKPOINT = Checkpointing()
"""Sums are not kept."""


@dataclass(frozen=True)
class CheckpointedPairs:
    """A source of pairs or judgements whose sums over the whole log are kept in a checkpoint."""

    source: Any
    checkpoint: Checkpoint

    def __len__(self) -> int:
        return len(self.source)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.source, name)  # depth, total_weight and every

    def evaluate(self, weights: Floats, curvature: bool = True) -> PairSums:
        """Return the sums over the pairs at W."""
        ask = partial(self.source.evaluate, weights, curvature)
        return self.checkpoint.answer(("sums", weights, curvature), PairSums, ask)

    def sums(self, points: Points, kind: int, order: int) -> LossSums:
        """Return the losses at the points; see `JudgedPairs.sums`."""
        question = "losses", *points.arrays, kind, order
        ask = partial(self.source.sums, points, kind, order)
        return self.checkpoint.answer(question, LossSums, ask)
