"""Provider replies: what a language model answered to prompts, as batches of providers hold it."""

import contextlib
import json
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from dcglearn.foundation.plain_text import number_of
from dcglearn.foundation.validation import Fields, InputError
from dcglearn.judge.prompts import pairs_beside
from dcglearn.reading.columns import find
from dcglearn.reading.contract import JUDGEMENT, Role
from dcglearn.reading.tables import table_of
from dcglearn.reading.texts import text
from dcglearn.reading.winners import own_words

REPLY = {
    "custom_id": Role("text", "custom_id key", required=True),
    "answer": Role("text", "response result answer content text output", required=True),
    "model": Role("text", "model"),
}
"""The columns of a file of replies; `answer` is a text, or the provider's object around it."""


def read_replies(
    path: Any, prompts: str, winner_words: Mapping[Any, str] | str | None = None
) -> tuple[list[Fields], list[str]]:
    """Return the verdicts in provider replies as records of a log, and lines about what was read.

    The file is a provider's batch of results, or a table of `custom_id` and `answer`. A verdict is
    A (the list shown first), B or tie, or one of `winner_words`, in JSON or at the beginning of the
    text. Raises InputError if no reply can be read, one is to none of the prompts, or the pairs
    beside the prompts are missing.
    """
    beside = pairs_beside(prompts)
    if not beside.exists():
        raise InputError(f"{beside} does not exist: `dcglearn ask` writes it beside {prompts}")
    pairs = {pair.pop("id", ""): pair for pair in table_of(beside).frame.to_dicts()}
    meanings = {word: word for word in ("a", "b", "tie")}
    meanings |= {word: side.split(":")[0] for word, side in own_words(winner_words).items()}
    names = {*JUDGEMENT["winner"].names.split(), "answer"}

    # the verdict of every reply, on the pair whose order it saw
    verdicts: list[Fields] = []
    unread: list[str] = []
    told: dict[str, set[tuple[str, str]]] = defaultdict(set)
    table = table_of(path)
    columns = find(table.frame.columns, REPLY)
    cells = {role: text(table.frame[its[0]]).to_list() for role, its in columns.items()}

    for row, custom_id in enumerate(cells["custom_id"]):
        place, answer = table.place(row), _plain_json(cells["answer"][row])
        key, _, order = custom_id.rpartition("-")
        if key not in pairs or order not in ("ab", "ba"):
            raise InputError(
                f"{place}: this answers {custom_id!r}, which is no prompt of {prompts}"
            )

        # what the reply says
        said = _leaf(answer, "text", "content")
        if isinstance(answer, Mapping) and names & answer.keys():
            said = cells["answer"][row]
        verdict = verdict_of(said, meanings, names)
        if verdict is None:
            unread.append(f"{place}: {repr(said) if said else 'no text'}")
            continue

        # the list that the sides mean in this order
        sides = {"left": order[0], "a": order[0], "right": order[1], "b": order[1]}
        winner = sides.get(verdict, verdict)
        told[key].add((order, winner))

        # by the model that gave it
        model = cells.get("model", [""] * (row + 1))[row] or _leaf(answer, "model", "modelVersion")
        rater = model or key.rpartition("-")[0]
        verdicts.append({**pairs[key], "winner": winner, "rater": rater, "swapped": order == "ba"})
    if not verdicts:
        raise InputError("; ".join([f"{path}: no answer can be read", *unread[:1]]))

    # what was read, and what was not
    both = [answers for answers in told.values() if len({order for order, _ in answers}) == 2]
    changed = sum(len({winner for _, winner in answers}) > 1 for answers in both)
    lines = [
        f"answers: {number_of(len(verdicts), 'verdicts')} to "
        f"{number_of(2 * len(pairs), 'prompts')}; {number_of(len(both), 'pairs')} in both orders, "
        f"of which {changed:,} changed the winner with the order"
    ]
    return verdicts, [*lines, *_left_unread(unread)]


def _plain_json(cell: str) -> Any:
    """Return what JSON in a cell holds; other text as it is."""
    if cell.startswith(("{", "[")):
        with contextlib.suppress(ValueError, RecursionError):
            return json.loads(cell)
    return cell


def _left_unread(places: Sequence[str]) -> list[str]:
    """Return lines about the answers that cannot be read, given their places and texts."""
    if not places:
        return []
    head = f"left out: {number_of(len(places), 'answers')} that cannot be read"
    return [head, *(f"  {place}" for place in places)]


def verdict_of(text: str, meanings: Mapping[str, str], keys: set[str]) -> str | None:
    """Return the meaning of the verdict in a text, from JSON or its first word; None if unclear."""
    # JSON that agrees
    named = {meanings.get(value) for value in _named(text, keys)}
    if named:
        return named.pop() if len(named) == 1 else None

    # a word alone in its line, or before a stop or colon, so that "A good list" is none
    either = "|".join(sorted(map(re.escape, meanings), key=len, reverse=True))
    begins = rf"(?:(?:answer|winner|verdict)\W+)?(?:list )?({either})(?=\W*$|[.:;)])"
    first = re.match(begins, _plain(text.strip().partition("\n")[0]))
    return None if first is None else meanings[first[1]]


def _named(text: str, keys: set[str]) -> set[str]:
    """Return the plain values that JSON in a text has under the keys."""
    named = set()
    for braces in re.findall(r"\{[^{}]*\}", text):
        with contextlib.suppress(ValueError, RecursionError):  # braces without JSON
            named |= {
                _plain(value) for key, value in json.loads(braces).items() if key.lower() in keys
            }
    return named


def _plain(value: Any) -> str:
    """Return a text in lower case without marks of Markdown, and without "list" before a name."""
    bare = re.sub(r"[*_`\"'\[\]#>]", "", str(value)).strip().lower()
    return re.sub(r"^list (?=\w$)", "", bare)


def _leaf(value: Any, *names: str) -> str:
    """Return the first text under one of the names in a provider's object; "" for thoughts."""
    if isinstance(value, Mapping):
        own = next((value[name] for name in names if isinstance(value.get(name), str)), "")
        if own or value.get("thought"):
            return "" if value.get("thought") else own

        # keys that lead to the text in the objects of providers
        steps = "response result body message choices candidates output content parts text"
        value = [value.get(step) for step in steps.split()]
    if isinstance(value, list):
        return next((text for part in value if (text := _leaf(part, *names))), "")
    return value if isinstance(value, str) and "text" in names else ""
