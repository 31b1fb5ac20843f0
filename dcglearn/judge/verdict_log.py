"""The log of verdicts on disk: lines are appended, written through, and never changed; merging."""

import contextlib
import json
import logging
import os
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dcglearn.foundation import disk
from dcglearn.foundation.inputs import Paths, read_bytes, refuse_constant
from dcglearn.foundation.plain_text import number_of, one_line
from dcglearn.foundation.sources import lines_of
from dcglearn.foundation.validation import Fields, InputError, PathLike, errors_in
from dcglearn.judge.candidates import Candidates, checked_items, pair_key
from dcglearn.readers.cell_values import shown
from dcglearn.readers.openers import log_files
from dcglearn.readers.preferences import Preferences

_LOG = logging.getLogger(__name__)

FIELDS = {
    "id": None,
    "query": "label",
    "a": None,
    "b": None,
    "items_a": None,
    "items_b": None,
    "winner": None,
    "tie": "text",
    "strength": "positive",
    "shown_left": None,
    "rater": "label",
    "time": "label",
    "seconds": "number",
    "note": "text",
    "supersedes": "identity",
    "check": "text",
    "scale": None,
}
"""The fields of a line, in this order, and the kinds of those that are checked as in any log."""

Verdict = Fields


class NotSaved(Exception):
    """Verdicts that could not be written; the message says why, for the rater."""


class VerdictLog:
    """An open log of verdicts as JSON lines, created if missing, that no other server can open.

    `verdicts` holds every line by its id, in order, without repeated ones; `changes` counts how
    often another program has changed the log; `cut_short` is the file with the end of a line that a
    crash had cut short, or None. Raises InputError if the file cannot be written, another server
    has it open, or a line is none of `FIELDS`.
    """

    def __init__(self, path: PathLike) -> None:
        self.path = Path(path)
        if not self.path.parent.is_dir():
            raise InputError(
                f"{self.path}: the folder {self.path.parent} does not exist; make it first"
            )
        self.verdicts: dict[str, Verdict] = {}
        self.changes = 0
        self.cut_short: Path | None = None
        self._file = -1
        self._state: tuple[int, int, int] | None = None
        self._open()

    def append(self, verdicts: Sequence[Verdict]) -> None:
        """Write verdicts, in `FIELDS`, to the disk; raise NotSaved if nothing was written."""
        self.refresh()
        lines = b"".join(line_of(verdict) for verdict in verdicts)
        before = os.fstat(self._file).st_size

        # write all or nothing
        try:
            disk.appended(self._file, lines)
        except OSError as error:
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, before)  # half a line would spoil the log

            # for the rater
            raise NotSaved(
                f"{self.path.name} could not be written ({error.strerror or error}); make room "
                "and try again"
            ) from error
        finally:
            self._state = _state(os.fstat(self._file))

        # they count from here
        self.verdicts.update({verdict["id"]: verdict for verdict in verdicts})
        n, n_all = len(verdicts), len(self.verdicts)
        _LOG.info("%s: verdicts written: %d, in all: %d", self.path, n, n_all)

    def refresh(self) -> bool:
        """Read the log again if another program has changed it, and return whether it has.

        Raises NotSaved if it is damaged.
        """
        try:
            now = _state(self.path.stat())
        except OSError:
            now = None
        if now == self._state and self._file >= 0:
            return False

        # open another file, or read the longer one
        try:
            if now is None or self._state is None or now[0] != self._state[0] or self._file < 0:
                self.close()
                self._open()
            else:
                self._read()
        except InputError as error:
            raise NotSaved(f"the log was changed by another program: {error}") from error
        self.changes += 1
        return True

    def check_shape(self, candidates: Candidates) -> None:
        """Raise InputError unless the verdicts are on lists like the candidates'."""
        depth, n_grades = candidates.depth, candidates.n_grades
        for verdict in self.verdicts.values():
            place = f"{self.path}, verdict {verdict['id']}"
            for side in ("a", "b"):
                # grades of all positions
                grades = verdict[side]
                whole = all(type(grade) is int and grade >= -1 for grade in grades)
                if not whole or len(grades) != depth:
                    other = f"{side} = {grades}, where the candidates have {depth} grades"
                    remedy = "name another log, or give the candidates this log was made with"
                    raise InputError(f"{place}: {other}; {remedy}")

                # of the candidates' scale
                if max(grades) >= n_grades:
                    other = f"grade {max(grades)}, the candidates 0 to {n_grades - 1}"
                    remedy = f"--grades {max(grades) + 1} if the scale is the same"
                    raise InputError(
                        f"{place}: {side} holds {other}; name another log, or {remedy}"
                    )

            # another scale, or winner
            names = candidates.grade_names
            if names is not None and verdict["scale"] not in (None, names):
                other = f"the scale is {verdict['scale']}, that of the candidates {names}"
                raise InputError(f"{place}: {other}; name another log")
            if verdict["winner"] not in ("a", "b", "tie", "open"):
                raise InputError(f"{place}: winner is {verdict['winner']!r}; use a, b, tie or open")

    def close(self) -> None:
        """Release the file."""
        if self._file >= 0:
            os.close(self._file)
        self._file = -1

    def _open(self) -> None:
        new = not self.path.exists()
        if not (new or self.path.is_file()):
            raise InputError(f"{self.path} is a folder, a pipe or a device; name a file")
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)
        try:
            self._file = os.open(self.path, flags, 0o644)
        except OSError as error:
            raise InputError(
                f"{self.path}: cannot be written ({error.strerror}); name another log"
            ) from error

        # lock and read it, or release it
        try:
            try:
                disk.lock(self._file)
            except OSError as error:
                raise InputError(
                    f"{self.path}: another server writes to this log; stop it, or name another"
                ) from error

            # a new file is entered into its folder
            if new:
                disk.entered(self.path.parent)
            self._read()
        except BaseException:
            self.close()
            raise

    def _read(self) -> None:
        data = read_bytes(self.path)
        end = data.rfind(b"\n") + 1
        if end < len(data):
            self._mend(data[:end], data[end:])
            data = read_bytes(self.path)

        # the first line of each id
        verdicts: dict[str, Verdict] = {}
        for number, line in enumerate(data.split(b"\n"), 1):
            if line.strip():
                verdict = parsed(line, f"{self.path}, line {number}")
                verdicts.setdefault(verdict["id"], verdict)
        self.verdicts = verdicts
        self._state = _state(os.fstat(self._file))

    def _mend(self, whole: bytes, rest: bytes) -> None:
        """Close a last line that lacks its end; set it aside if it is not a line at all."""
        with contextlib.suppress(InputError):
            parsed(rest, "")
            disk.appended(self._file, b"\n")
            return

        # set it aside, but not into a pipe
        self.cut_short = self.path.with_name(self.path.name + ".cut-short")
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NONBLOCK", 0)
        try:
            with os.fdopen(os.open(self.cut_short, flags, 0o644), "ab") as file:
                file.write(rest + b"\n")
        except OSError as error:
            raise InputError(
                f"{self.path} ends within a line, which cannot be put into {self.cut_short} "
                f"({error.strerror}); move that away, make room, or let this user write there"
            ) from error

        # the log ends with its last whole line
        os.ftruncate(self._file, len(whole))
        os.fsync(self._file)


def standing(verdicts: Collection[Verdict]) -> list[Verdict]:
    """Return the verdicts that count, in order: neither superseded nor withdrawing another."""
    gone = {verdict["supersedes"] for verdict in verdicts}
    gone |= {v["id"] for v in verdicts if v["winner"] == "open" and v["supersedes"] is not None}
    return [verdict for verdict in verdicts if verdict["id"] not in gone]


def key_of(verdict: Verdict) -> str:
    """Return the key of the pair that a verdict is about."""
    lists = (verdict[name] for name in ("a", "b", "items_a", "items_b"))
    return pair_key(verdict["query"] or "", *lists)


def as_log(verdicts: Sequence[Verdict], n_grades: int) -> Preferences:
    """Return verdicts with an answer as `read_preferences` does, on a scale of `n_grades`."""
    lists = np.array([(v["a"], v["b"]) for v in verdicts], np.int8)
    second = np.array([v["winner"] == "b" for v in verdicts])
    lists[second] = lists[second][:, ::-1]
    tie = [v["winner"] == "tie" for v in verdicts]

    # columns that hold anything
    columns: Fields = {}
    for name in ("rater", "query", "time"):
        labels = [v.get(name) or "" for v in verdicts]
        if any(labels):
            columns[name] = labels
    if any(v["strength"] for v in verdicts):
        columns["strength"] = [v["strength"] or 1.0 for v in verdicts]

    # whether the preferred list was shown second
    shown = np.array([v["shown_left"] or "" for v in verdicts])
    if (shown != "").all():
        columns["swapped"] = (shown == "b") != second
    return Preferences(lists, n_grades=n_grades, tie=tie if any(tie) else None, **columns)


def line_of(verdict: Verdict) -> bytes:
    """Return the line of a verdict, with its end."""
    fields = {name: verdict.get(name) for name in FIELDS}
    line = json.dumps(fields, ensure_ascii=False, allow_nan=False)
    for mark in "\x85\u2028\u2029":  # some programs end a line at these
        line = line.replace(mark, f"\\u{ord(mark):04x}")
    return line.encode() + b"\n"


def parsed(line: bytes, place: str) -> Verdict:
    """Return a line of the log; raise InputError unless it has the fields that a study needs."""
    try:
        verdict = json.loads(line, parse_constant=refuse_constant)
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{place}: not valid JSON ({error}); correct the line, or name another log"
        ) from error

    # fields of the right types
    fields = verdict if isinstance(verdict, dict) else {}
    needed = {"id": str, "a": list, "b": list, "winner": str}
    if not all(isinstance(fields.get(name), kind) for name, kind in needed.items()):
        raise InputError(
            f"{place}: not a verdict of the judging page, which has {', '.join(needed)}; "
            "name another log"
        )
    with errors_in(place):
        check_fields(fields)
    return {name: fields.get(name) for name in FIELDS}


def check_fields(verdict: Verdict) -> None:
    """Check the fields as those of any log, and make them of one type; else raise InputError."""
    from dcglearn.readers.kinds import checked  # it imports polars

    for name, kind in FIELDS.items():
        if kind is not None and verdict.get(name) is not None:
            value = checked(verdict[name], name, kind)
            if not isinstance(value, float):  # numbers stay as they are
                verdict[name] = value

    # what a page shows of the lists
    for side in ("a", "b"):
        checked_items(verdict.get(f"items_{side}"), f"items_{side}", len(verdict[side]))
    if verdict.get("shown_left") not in (None, "a", "b"):
        raise InputError(f"shown_left is {shown(verdict['shown_left'])}; use a or b")


def _state(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_ino, status.st_size, status.st_mtime_ns


class Line(NamedTuple):
    """A line of a file, from 1."""

    file: str
    number: int

    def __str__(self) -> str:
        return f"{self.file}, line {self.number}"


def merged(files: Paths) -> tuple[list[Verdict], list[str]]:
    """Return the verdicts of the judging page's files, in their order, and sentences on doubles.

    A line that is there twice counts once. Of several verdicts of one rater on a pair the earliest
    stays, as the server takes no second one. Raises InputError, naming file and line, for a line
    that is no verdict of the page.
    """
    verdicts: dict[str, Verdict] = {}
    places: dict[str, Line] = {}
    again: dict[tuple[str, str], list[tuple[Line, Line]]] = defaultdict(list)
    sentences = []
    for place, verdict in _read(files):
        name = verdict["id"]
        if name not in verdicts:
            verdicts[name], places[name] = verdict, place
            continue

        # the same line, or another under its id
        before = places[name]
        if verdict == verdicts[name]:
            again[place.file, before.file].append((place, before))
        else:
            parts = [part for part in verdict if verdict[part] != verdicts[name][part]]
            sentences.append(
                f"left out: {place}, has the id {shown(name)} of {before}, but another "
                f"{', '.join(parts)}; if it is the right one, remove the other"
            )

    # files handed over twice
    for (file, other), twice in again.items():
        n, (here, there) = len(twice), twice[0]
        sentences.append(
            f"left out: {number_of(n, 'lines')} of {file} that {'is' if n == 1 else 'are'} in "
            f"{other} already, from line {here.number} (there line {there.number}) on"
        )

    gone, said = _second(verdicts, places)
    return [v for name, v in verdicts.items() if name not in gone], [*sentences, *said]


def _read(files: Paths) -> Iterator[tuple[Line, Verdict]]:
    for file in log_files(files):
        for number, line in lines_of(file):
            if line.strip():
                place = Line(str(file), number)
                yield place, parsed(line, str(place))


def _second(verdicts: dict[str, Verdict], places: dict[str, Line]) -> tuple[set[str], list[str]]:
    """Return the ids of verdicts on a pair that the rater had judged before, and sentences."""
    judged = [
        v for v in standing(verdicts.values()) if v["winner"] != "open" and v["check"] is None
    ]
    judged.sort(key=lambda v: v["time"] or "")
    earliest: dict[tuple[str, str], Verdict] = {}
    gone, sentences = set(), []
    for verdict in judged:
        of = verdict["rater"] or "", key_of(verdict)
        before = earliest.setdefault(of, verdict)
        if before is verdict:
            continue

        # say whether the two agree
        winner = "the same" if _winner(before) == _winner(verdict) else "another"
        sentences.append(
            f"left out: {places[verdict['id']]}: {of[0] or 'a rater'} judges the pair of "
            f"{shown(verdict['query'] or '')} again, with {winner} winner; the earlier verdict, "
            f"{places[before['id']]}, stays"
        )
        gone.add(verdict["id"])

    # people who share a name
    if gone:
        sentences.append(
            f"{number_of(len(gone), 'verdicts')} by a name that had judged: give them names of "
            "their own in one of the files if these are two people"
        )
    return gone, list(map(one_line, sentences))


def _winner(verdict: Verdict) -> Any:
    """Return the list that wins, whichever of the two it is called; the word of a tie."""
    side = verdict["winner"]
    return side if side == "tie" else (verdict[side], verdict[f"items_{side}"])


def contents(verdicts: list[Verdict]) -> str:
    """Return what the merged log holds, in words."""
    counting = standing(verdicts)
    judged = [v for v in counting if v["winner"] != "open"]
    known = sum(v["check"] is not None for v in counting)
    skipped = len(counting) - len(judged) - known

    # what counts, and what does not
    raters = len({v["rater"] for v in judged})
    pairs = len({key_of(v) for v in judged})
    words = [
        f"{number_of(len(judged), 'verdicts')} of {number_of(raters, 'raters')} on "
        f"{number_of(pairs, 'pairs')}"
    ]
    aside = {"skipped": skipped, "of practice and checks": known}
    aside["undone or undoing"] = len(verdicts) - len(counting)
    words += [f"{n:,} {kind}" for kind, n in aside.items() if n]
    return ", ".join(words)
