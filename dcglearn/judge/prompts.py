"""Prompts that ask a language model which list of a pair is better, and its replies read back.

Nothing is sent from here: prompts and replies are files, as batches of providers hold them.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from string import Template
from typing import Any

import polars as pl

from dcglearn.foundation.files import write_whole
from dcglearn.foundation.plain_text import number_of
from dcglearn.foundation.validation import Fields, InputError
from dcglearn.judge.candidates import Candidates, Item, plain_json
from dcglearn.reading.columns import find
from dcglearn.reading.contract import JUDGEMENT, Role
from dcglearn.reading.tables import table_of
from dcglearn.reading.texts import text
from dcglearn.reading.winners import own_words

TEMPLATE = "two-lists"
"""Name of the prompt's template, with which the id of each request begins."""

REPLY = {
    "custom_id": Role("text", "custom_id key", required=True),
    "answer": Role("text", "answer content text output"),
    "response": Role("text", "response result"),
    "error": Role("text", "error"),
    "model": Role("text", "model"),
}
"""The columns of a file of replies: a text, or the provider's object around it or its error."""

NAMES = {*JUDGEMENT["winner"].names.split(), "answer"}
"""Keys of a verdict in JSON."""

TEXT_STEPS = "response result body message choices candidates output content parts text"
"""Keys that lead to the text in the objects of providers."""

ERROR_STEPS = "error response result body"
"""Keys that lead to the error in the objects of providers."""

_KEY = re.compile(r'\s*"((?:[^"\\]|\\.)*)"\s*:\s*')
"""A key of an object in JSON, up to its value."""

_AFTER = re.compile(r"\s*[,}]")
"""What follows the value of a key."""

_DECODER = json.JSONDecoder()


def pairs_beside(prompts: str | Path) -> Path:
    """Return the file of the pairs, with grades, that the prompts in a file ask about."""
    return Path(prompts).with_suffix(".pairs.jsonl")


def write_prompts(candidates: Candidates, path: Path, *, shape: str, model: str) -> None:
    """Write two requests a pair, in both orders, by key, and the pairs beside them.

    Raises InputError if a pair has no texts.
    """
    # texts that a model can read
    if candidates.n_bare:
        raise InputError(
            f"no texts that a model could read in {candidates.n_bare:,} of "
            f"{number_of(len(candidates), 'pairs', ',')}: give items_a and items_b, or docs_a and "
            "docs_b with --documents"
        )

    # requests in both orders
    text = (Path(__file__).parent / "templates" / f"{TEMPLATE}.txt").read_text(encoding="utf-8")
    template = Template(text)
    requests, questions = [], []
    for pair, row in zip(candidates.pairs, candidates.open_rows, strict=True):
        key = f"{TEMPLATE}-{pair.key}"
        questions.append({"id": key, **row})
        a, b = _as_text(pair.items_a or ()), _as_text(pair.items_b or ())
        asked = {"query": pair.text or pair.query, "intent": pair.intent}

        # both orders
        for order, first, second in (("ab", a, b), ("ba", b, a)):
            prompt = template.substitute(asked, first=first, second=second)
            requests.append(_request(f"{key}-{order}", prompt, shape, model))

    # the pairs beside them
    for file, objects in ((pairs_beside(path), questions), (path, requests)):
        write_whole(file, "".join(f"{json.dumps(line)}\n" for line in objects))


def _request(key: str, text: str, shape: str, model: str) -> Fields:
    """Return a request: a batch line for OpenAI, Anthropic or Gemini, or the messages alone."""
    body = {"model": model, "messages": [{"role": "user", "content": text}]}
    if shape == "openai":
        url = "/v1/chat/completions"
        return {"custom_id": key, "method": "POST", "url": url, "body": body}
    if shape == "anthropic":
        return {"custom_id": key, "params": {"max_tokens": 1_000, **body}}
    if shape == "gemini":
        contents = [{"role": "user", "parts": [{"text": text}]}]
        return {"key": key, "request": {"contents": contents}}
    return {"custom_id": key, **body}


def _as_text(items: Sequence[Item]) -> str:
    """Return the items of a list by position, without empty positions at its end."""
    while items and not items[-1]:
        items = items[:-1]
    texts = ("\n   ".join(item.values()) or "(no result)" for item in items)
    return "\n".join(f"{n}. {text}" for n, text in enumerate(texts, 1)) or "(no results)"


def read_replies(
    path: Any, prompts: str, winner_words: Mapping[Any, str] | str | None = None
) -> tuple[list[Fields], list[str]]:
    """Return the verdicts in provider replies as records of a log, and lines about what was read.

    The file is a provider's batch of results, or a table of `custom_id` and `answer`. A verdict is
    A (the list shown first), B or tie, or one of `winner_words`, in JSON or at the beginning of the
    text; thoughts before it are left out. Lines count the requests that failed by cause, and name
    each answer that is not clear. Raises InputError if no reply can be read, one is to none of the
    prompts, or the pairs beside the prompts are missing.
    """
    beside = pairs_beside(prompts)
    if not beside.exists():
        raise InputError(f"{beside} does not exist: `dcglearn ask` writes it beside {prompts}")
    pairs = {pair.pop("id", ""): pair for pair in table_of(beside).frame.to_dicts()}
    meanings = {word: word for word in ("a", "b", "tie")}
    meanings |= {word: side.split(":")[0] for word, side in own_words(winner_words).items()}

    # the verdict of every reply, on the pair whose order it saw
    verdicts: list[Fields] = []
    unread: list[str] = []
    failed: dict[str, list[str]] = defaultdict(list)
    told: dict[str, dict[str, str]] = defaultdict(dict)
    for place, custom_id, said, model, cause in _replies(path):
        # the prompt that it answers
        key, _, order = custom_id.rpartition("-")
        if key not in pairs or order not in ("ab", "ba"):
            raise InputError(
                f"{place}: this answers {custom_id!r}, which is no prompt of {prompts}"
            )
        verdict = verdict_of(said, meanings)
        if verdict is None and cause:
            failed[cause.partition(": ")[0]].append(f"{cause} ({place})")
        elif verdict is None:
            unread.append(f"{place}: {repr(said) if said else 'no text'}")

        # the list that the sides mean in this order, by the model that said so
        else:
            sides = {"left": order[0], "a": order[0], "right": order[1], "b": order[1]}
            winner, rater = sides.get(verdict, verdict), model or TEMPLATE
            told[key][order] = winner
            own = {"winner": winner, "rater": rater, "swapped": order == "ba"}
            verdicts.append({**pairs[key], **own})

    # some must be clear
    if not verdicts:
        first = [*unread, *(places[0] for places in failed.values())][0]
        raise InputError(f"{path}: no answer can be read; {first}")

    # what was read, and what was not
    both = [{*winners.values()} for winners in told.values() if len(winners) == 2]
    changed = sum(len(winners) > 1 for winners in both)
    lines = [
        f"answers: {number_of(len(verdicts), 'verdicts')} to "
        f"{number_of(2 * len(pairs), 'prompts')}; {number_of(len(both), 'pairs')} in both orders, "
        f"of which {changed:,} changed the winner with the order"
    ]

    # requests that failed, and answers that are not clear
    lines += [
        f"left out: {number_of(len(places), 'requests')} that failed, first {places[0]}"
        for places in failed.values()
    ]
    if unread:
        lines.append(f"left out: {number_of(len(unread), 'answers')} that cannot be read")
    return verdicts, [*lines, *(f"  {place}" for place in unread)]


def _replies(path: Any) -> Iterator[tuple[str, str, str, str, str]]:
    """Yield of each reply its place, the id of its prompt, its text, its model, and why none is."""
    table = table_of(path)
    columns = find(table.frame.columns, REPLY)
    texts = {role: text(table.frame[names[0]]) for role, names in columns.items()}
    if not texts.keys() & {"answer", "response", "error"}:
        raise InputError(f"{path}: no 'answer' beside custom_id, nor a provider's 'response'")

    # a column that there is not is empty
    for number, row in enumerate(pl.DataFrame(texts).iter_rows(named=True)):
        cells = dict.fromkeys(REPLY, "") | row
        said = cells["response"] or cells["answer"]
        answer = plain_json(said)

        # the text within a provider's object, unless it is the model's own JSON
        objects = [*_objects(answer, TEXT_STEPS)]
        if not (isinstance(answer, dict) and NAMES & answer.keys()):
            said = _first(objects, "text")
        model = cells["model"] or _first(objects, "model modelVersion")
        cause = "" if said else _cause({"error": plain_json(cells["error"]), "result": answer})
        yield table.place(number), cells["custom_id"], said, model, cause


def _objects(value: Any, steps: str) -> Iterator[Fields]:
    """Yield a provider's object and those that the keys in `steps` lead to, without thoughts.

    A text counts as an object that holds it under "text".
    """
    if isinstance(value, str):
        yield {"text": value}
    elif isinstance(value, list):
        for part in value:
            yield from _objects(part, steps)
    elif isinstance(value, dict) and not value.get("thought"):
        yield value
        for step in steps.split():
            yield from _objects(value.get(step), steps)


def _first(objects: Sequence[Fields], names: str) -> str:
    """Return the first text that the objects have under one of the names; "" if there is none."""
    values = (one.get(name) for one in objects for name in names.split())
    return next((value for value in values if value and isinstance(value, str)), "")


def _cause(reply: Fields) -> str:
    """Return the code and message of the innermost error in a reply; "" if there is none."""
    cause = ""
    for one in _objects(reply, ERROR_STEPS):
        parts = [one.get(name) for name in ("code", "type", "message", "text")]
        said = [str(part) for part in parts if isinstance(part, str | int) and part != "succeeded"]
        cause = ": ".join(filter(None, said)) or cause
    return cause


def verdict_of(text: str, meanings: Mapping[str, str]) -> str | None:
    """Return the meaning of the verdict in a text, from JSON or its first word; None if unclear.

    Thoughts in ``<think>`` are left out, those that are cut off or began in the prompt, too.
    """
    text = re.sub(r"(?is)(?:\A|<think(?:ing)?>)(?:(?!<think).)*?</think(?:ing)?>", "", text)
    text = re.split(r"(?i)<think(?:ing)?>", text)[0]

    # JSON that agrees
    named = {meanings.get(value) for value in _named(text)}
    if named:
        return named.pop() if len(named) == 1 else None

    # a word alone in its line, or before a stop or colon, so that "A good list" is none
    either = "|".join(sorted(map(re.escape, meanings), key=len, reverse=True))
    begins = rf"(?:(?:answer|winner|verdict)\W+)?(?:list )?({either})(?=\W*$|[.:;)])"
    first = re.match(begins, _plain(text.strip().partition("\n")[0]))
    return None if first is None else meanings[first[1]]


def _named(text: str) -> set[str]:
    """Return the plain values that objects of JSON in a text have under their own `NAMES`.

    Of an object that is cut off or damaged they are those before the damage, and the text ends
    with it: what follows may be inside of it.
    """
    named: set[str] = set()
    end = 0
    while (start := text.find("{", end)) >= 0:
        end = start + 1
        while key := _KEY.match(text, end):
            try:
                value, end = _DECODER.raw_decode(text, key.end())
            except (ValueError, RecursionError):
                return named

            # what is cut off after its last quote is whole; a number may lack digits
            after = _AFTER.match(text, end)
            is_whole = after or (isinstance(value, str) and not text[end:].strip())
            if is_whole and key[1].lower() in NAMES:
                named.add(_plain(value))
            if after is None:
                return named
            end = after.end()
            if after[0].endswith("}"):
                break

        # braces without a key are no object
        else:
            if end > start + 1:
                return named
    return named


def _plain(value: Any) -> str:
    """Return a text in lower case without marks of Markdown, and without "list" before a name."""
    bare = re.sub(r"[*_`\"'\[\]#>]", "", str(value)).strip().lower()
    return re.sub(r"^list (?=\w$)", "", bare)
