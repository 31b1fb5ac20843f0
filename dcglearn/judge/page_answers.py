"""Answers of the judging page: each becomes a line of the log, or is refused with a reason."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from dcglearn.foundation.validation import InputError
from dcglearn.judge.candidates import Pair
from dcglearn.judge.verdict_log import Verdict, check_fields

CHOICES = {
    "left": ("left", None),
    "right": ("right", None),
    "both good": ("tie", "both good"),
    "both bad": ("tie", "both bad"),
    "skip": ("open", None),
    "undo": ("open", None),
}
"""The answers of a rater, as winner and kind of tie."""


class Refused(Exception):
    """An answer that has no meaning; the message says why."""


@dataclass(frozen=True)
class AnswerReader:
    """Reads answers on the `pairs` of a study, by key.

    `kinds` says of pairs with a known answer what each is for, practice or check; `strengths` is
    the number of strengths of preference, and `scale` holds the names of the grades, if any.
    """

    pairs: Mapping[str, Pair]
    kinds: Mapping[str, str]
    strengths: int
    scale: Any

    def verdict(self, answer: Any, rater: str, said: Mapping[str, Verdict]) -> Verdict:
        """Return the line of an answer; raise Refused if it has no meaning.

        `said` are the lines before it, by id.
        """
        if not isinstance(answer, dict):
            raise Refused("not an object")
        name, choice, left = (str(answer.get(field)) for field in ("id", "choice", "shown_left"))
        if not re.fullmatch(r"[A-Za-z0-9_-]{8,64}", name):
            raise Refused("the id is not 8 to 64 letters and digits")
        pair = self.pairs.get(str(answer.get("pair")))
        if pair is None:
            raise Refused("the pair is not among the candidates of this study")
        if choice not in CHOICES or left not in ("a", "b"):
            raise Refused("no such answer")

        # a verdict on the lists, not on the sides
        winner, tie = CHOICES[choice]
        if winner in ("left", "right"):
            winner = "a" if (winner == "left") == (left == "a") else "b"
        check = None
        if pair.key in self.kinds:  # never a judgement
            check = f"{self.kinds[pair.key]} {'right' if winner == 'a' else 'wrong'}"
            winner, tie = "open", None

        # the line, checked as those of any log
        line = {
            "id": name,
            "query": pair.query or None,
            "a": list(pair.a),
            "b": list(pair.b),
            "items_a": pair.items_a and list(pair.items_a),
            "items_b": pair.items_b and list(pair.items_b),
            # what was said
            "winner": winner,
            "tie": tie,
            "strength": self._strength(answer.get("strength"), winner),
            "shown_left": left,
            "rater": rater,
            "time": datetime.now(UTC).isoformat(timespec="seconds"),
            # what is kept for audits
            "seconds": answer.get("seconds"),
            "note": answer.get("note"),
            "supersedes": _superseded(answer, rater, said),
            "check": check,
            "scale": self.scale,
        }

        try:
            check_fields(line)
        except InputError as error:
            raise Refused(str(error)) from error
        return line

    def _strength(self, strength: Any, winner: str) -> int | None:
        if winner not in ("a", "b") or self.strengths == 1:
            return None
        if type(strength) is not int or not 1 <= strength <= self.strengths:
            raise Refused(f"the strength of preference is 1 to {self.strengths}")
        return strength


def _superseded(answer: Mapping[str, Any], rater: str, said: Mapping[str, Verdict]) -> str | None:
    """Return the id of the verdict that an answer undoes, None unless it does."""
    supersedes = answer.get("supersedes")
    if answer["choice"] != "undo":
        if supersedes is not None:
            raise Refused("only an undo supersedes a verdict")
        return None
    target = said.get(str(supersedes))
    if target is None or target["rater"] != rater:
        raise Refused("the verdict to undo is not in the log")
    return str(supersedes)
