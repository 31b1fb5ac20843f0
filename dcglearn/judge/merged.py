"""Several files of verdicts as one log: each line once, and one verdict of a rater on a pair."""

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from dcglearn.foundation.inputs import Paths
from dcglearn.foundation.plain_text import number_of, one_line
from dcglearn.foundation.sources import lines_of
from dcglearn.judge.verdict_log import Verdict, key_of, parsed, standing
from dcglearn.readers.line_formats import shown
from dcglearn.readers.openers import log_files


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
    again: Counter[tuple[str, str]] = Counter()
    first: dict[tuple[str, str], tuple[Line, Line]] = {}
    sentences = []
    for place, verdict in _read(files):
        name = verdict["id"]
        if name not in verdicts:
            verdicts[name], places[name] = verdict, place
            continue

        # the same line, or another under its id
        before = places[name]
        if verdict == verdicts[name]:
            again[place.file, before.file] += 1
            first.setdefault((place.file, before.file), (place, before))
        else:
            parts = [part for part in verdict if verdict[part] != verdicts[name][part]]
            sentences.append(
                f"left out: {place}, has the id {shown(name)} of {before}, but another "
                f"{', '.join(parts)}; if it is the right one, remove the other"
            )

    # files handed over twice
    for key, n in again.items():
        here, there = first[key]
        sentences.append(
            f"left out: {number_of(n, 'lines')} of {key[0]} that {'is' if n == 1 else 'are'} in "
            f"{key[1]} already, from line {here.number} (there line {there.number}) on"
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
