"""Prompts that ask a language model which list of a pair is better, and its answers; nothing is
sent from here.
"""

import contextlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dcglearn.foundation.files import written_beside
from dcglearn.foundation.inputs import read_bytes
from dcglearn.foundation.plain_text import number_of
from dcglearn.foundation.validation import InputError, errors_in
from dcglearn.judge.candidates import Candidates, Item
from dcglearn.readers.column_roles import PREFERENCE, Role
from dcglearn.readers.line_formats import decoded, shown
from dcglearn.readers.mapping import LogMapping
from dcglearn.readers.openers import records_of
from dcglearn.readers.winner_words import MEANINGS, WINNERS, word_of

TEMPLATE = Path(__file__).parent / "templates" / "two-lists.txt"
"""The prompt where no other is given; the name of its file is its name."""

PLACES = re.compile(r"\{(query|intent|first|second)\}")
"""The placeholders of a template."""

ANSWER = {
    "custom_id": Role("text", ("custom_id", "key"), required=True),
    "answer": Role(
        "text", ("response", "result", "answer", "content", "text", "output"), required=True
    ),
    "model": Role("text", ("model",)),
}
"""The columns of a file of answers; `answer` is a text, or the provider's object around it."""

STEPS = (
    "response",
    "result",
    "body",
    "message",
    "choices",
    "candidates",
    "output",
    "content",
    "parts",
    "text",
)
"""Keys that lead to the text of an answer in the objects of providers."""

FIRST_WORD = r"(?:(?:answer|winner|verdict)\W+)?(?:list )?({})(?=\W*$|[.:;)])"
"""A verdict that begins a text: alone in its line, or before a full stop or colon, so that "A good
list" is none.
"""


def pairs_beside(prompts: str | Path) -> Path:
    """Return the file of the pairs that the prompts in a file ask about: requests have no place for
    grades.
    """
    return Path(prompts).with_suffix(".pairs.jsonl")


def write_prompts(
    candidates: Candidates,
    path: Path,
    *,
    template: Path = TEMPLATE,
    shape: str,
    model: str | None,
    force: bool,
) -> None:
    """Write two requests a pair, in both orders, by key, and the pairs beside them; raise
    InputError without texts.
    """
    with errors_in(str(template)):
        text, name = (
            decoded(read_bytes(template)),
            re.sub(r"[^A-Za-z0-9_-]", "-", template.stem)[:40],
        )
    if not {"first", "second"} <= {*PLACES.findall(text)}:
        raise InputError(
            f"{template}: a template has {{query}}, {{intent}}, and the lists as {{first}} and {{second}}"
        )
    if bare := sum(pair.items_a is None for pair in candidates.pairs):
        problem = f"{bare:,} of {len(candidates):,} pairs have no texts that a model could read"
        raise InputError(
            f"{problem}: give items_a and items_b, or docs_a and docs_b with --documents"
        )
    requests, questions = [], []
    for pair in candidates.pairs:
        key, a, b = f"{name}-{pair.key}", _as_text(pair.items_a or ()), _as_text(pair.items_b or ())
        questions.append(
            {"id": key, "query": pair.query, "a": pair.a, "b": pair.b, "winner": "open"}
        )
        for order, first, second in (("ab", a, b), ("ba", b, a)):
            texts = {
                "query": pair.text or pair.query,
                "intent": pair.intent,
                "first": first,
                "second": second,
            }
            prompt = PLACES.sub(lambda place, texts=texts: texts[place[1]], text)  # type: ignore[misc]
            requests.append(request(f"{key}-{order}", prompt, shape, model))
    for file, lines in ((pairs_beside(path), questions), (path, requests)):
        with written_beside(file, force=force) as temporary:
            temporary.write_text(
                "".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8"
            )


def request(key: str, text: str, shape: str, model: str | None) -> dict[str, Any]:
    """Return the request for an answer: a line of a batch for OpenAI, Anthropic or Gemini, or the
    messages alone.
    """
    body = {
        **({} if model is None else {"model": model}),
        "messages": [{"role": "user", "content": text}],
    }
    shapes: dict[str, dict[str, Any]] = {
        "openai": {"custom_id": key, "method": "POST", "url": "/v1/chat/completions", "body": body},
        "anthropic": {"custom_id": key, "params": {"max_tokens": 1_000, **body}},
        "gemini": {
            "key": key,
            "request": {"contents": [{"role": "user", "parts": [{"text": text}]}]},
        },
        "messages": {"custom_id": key, **body},
    }
    return shapes[shape]


def _as_text(items: tuple[Item, ...]) -> str:
    """Return the items of a list by position, without the positions at its end that hold
    nothing.
    """
    last = max((n for n, item in enumerate(items, 1) if item), default=0)
    texts = [
        "\n   ".join(item[name] for name in ("title", "snippet", "url") if name in item)
        for item in items[:last]
    ]
    return (
        "\n".join(f"{n}. {text or '(no result)'}" for n, text in enumerate(texts, 1))
        or "(no results)"
    )


def read_answers(
    path: str, prompts: str, mapping: LogMapping
) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the verdicts in a file of answers as records of a log, and lines that say what was
    read and what was not.

    The file is a provider's batch of results, or a table of `custom_id` and `answer`. A verdict is
    A (the list shown first), B or tie, or a word of the mapping, in JSON or at the beginning of the
    text. Raises InputError if no answer can be read, one is to none of the prompts, or the pairs
    beside the prompts are missing.
    """
    if not pairs_beside(prompts).exists():
        raise InputError(
            f"{pairs_beside(prompts)} does not exist: `dcglearn prompts` writes it beside {prompts}"
        )
    pairs = {
        pair.pop("id", ""): pair for _, pair in records_of(str(pairs_beside(prompts)), PREFERENCE)
    }
    codes = {word: WINNERS[word] for word in ("a", "b", "tie")} | mapping.own_words.codes
    keys = {*mapping.roles(PREFERENCE)["winner"].names, "answer"}
    verdicts, unread, winners = [], [], {}  # type: ignore[var-annotated]
    for place, answer in records_of(path, ANSWER):
        key, _, order = str(answer["custom_id"]).rpartition("-")
        if key not in pairs or order not in ("ab", "ba"):
            raise InputError(
                f"{place}: this answers {shown(answer['custom_id'])}, which is no prompt of {prompts}"
            )
        text = _leaf(answer["answer"], "text", "content")
        code = verdict_of(text, codes, keys)
        if code is None:
            unread.append(f"  {place}: {shown(text) if text else 'no text'}")
            continue
        winner = {"left": order[0], "right": order[1], "a": order[0], "b": order[1]}.get(
            MEANINGS[code], MEANINGS[code]
        )
        rater = (
            answer.get("model")
            or _leaf(answer["answer"], "model", "modelVersion")
            or key.rpartition("-")[0]
        )
        verdicts.append({**pairs[key], "winner": winner, "rater": rater, "swapped": order == "ba"})
        winners.setdefault(key, {}).setdefault(order, set()).add(winner)
    if not verdicts:
        raise InputError(
            f"{path}: no answer can be read{unread[0].replace('  ', '; ', 1) if unread else ''}"
        )
    both = [set.union(*ways.values()) for ways in winners.values() if len(ways) == 2]
    read = (
        f"answers: {number_of(len(verdicts), 'verdicts')} to {number_of(2 * len(pairs), 'prompts')}"
    )
    turned = f"of which {sum(len(ways) > 1 for ways in both):,} changed the winner with the order"
    left_out = (
        [f"left out: {number_of(len(unread), 'answers')} that cannot be read"] if unread else []
    )
    return verdicts, [
        f"{read}; {number_of(len(both), 'pairs')} in both orders, {turned}",
        *left_out,
        *unread,
    ]


def verdict_of(text: str, codes: Mapping[str, int], keys: set[str]) -> int | None:
    """Return the code of the verdict in a text; None unless it is clear, from JSON that agrees or
    the first word.
    """
    said = set()
    for found in re.findall(r"\{[^{}]*\}", text):
        with contextlib.suppress(ValueError, RecursionError):  # braces without JSON
            said |= {
                codes.get(_plain(value))
                for key, value in json.loads(found).items()
                if key.lower() in keys
            }
    if said:
        return said.pop() if len(said) == 1 else None
    words = "|".join(sorted(map(re.escape, codes), key=len, reverse=True))
    first = re.match(FIRST_WORD.format(words), _plain(text.strip().partition("\n")[0]))
    return None if first is None else codes[first[1]]


def _plain(value: Any) -> str:
    """Return a text in lower case without the marks of Markdown, and without "list" before the name
    of a list.
    """
    return re.sub(
        r"^list (?=\w$)", "", re.sub(r"[*_`\"'\[\]#>]", "", word_of(value)).strip().lower()
    )


def _leaf(value: Any, *names: str) -> str:
    """Return the first text under one of the names in a provider's object, empty if there is none;
    no thoughts.
    """
    if isinstance(value, list):
        return next((text for part in value if (text := _leaf(part, *names))), "")
    if not isinstance(value, Mapping):
        return value if isinstance(value, str) and "text" in names else ""
    own = next((value[name] for name in names if isinstance(value.get(name), str)), "")
    return "" if value.get("thought") else own or _leaf([value.get(key) for key in STEPS], *names)
