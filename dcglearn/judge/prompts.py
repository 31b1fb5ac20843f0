"""Prompts that ask a language model which list of a pair is better; nothing is sent from here."""

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from dcglearn.foundation.files import written_beside
from dcglearn.foundation.inputs import read_bytes
from dcglearn.foundation.validation import Fields, InputError, errors_in
from dcglearn.judge.candidates import Candidates, Item
from dcglearn.readers.line_formats import decoded


def pairs_beside(prompts: str | Path) -> Path:
    """Return the file of the pairs, with grades, that the prompts in a file ask about."""
    return Path(prompts).with_suffix(".pairs.jsonl")


def write_prompts(
    candidates: Candidates,
    path: Path,
    *,
    template: Path | None,
    shape: str,
    model: str | None,
    force: bool,
) -> None:
    """Write two requests a pair, in both orders, by key, and the pairs beside them.

    The name of the template's file is its name, by default "two-lists". Raises InputError if a pair
    has no texts, or the template lacks a list.
    """
    template = template or Path(__file__).parent / "templates" / "two-lists.txt"
    with errors_in(str(template)):
        text = decoded(read_bytes(template))
    name = re.sub(r"[^A-Za-z0-9_-]", "-", template.stem)[:40]

    # what the template and the pairs must hold
    places = re.compile(r"\{(query|intent|first|second)\}")
    if not {"first", "second"} <= {*places.findall(text)}:
        raise InputError(
            f"{template}: a template has {{query}}, {{intent}}, and the lists as {{first}} and "
            "{second}"
        )

    # texts that a model can read
    if bare := sum(pair.items_a is None for pair in candidates.pairs):
        raise InputError(
            f"{bare:,} of {len(candidates):,} pairs have no texts that a model could read: give "
            "items_a and items_b, or docs_a and docs_b with --documents"
        )

    # requests in both orders
    requests, questions = [], []
    for pair in candidates.pairs:
        key, a, b = f"{name}-{pair.key}", _as_text(pair.items_a or ()), _as_text(pair.items_b or ())
        asked = {"query": pair.text or pair.query, "intent": pair.intent}
        questions.append(
            {"id": key, "query": pair.query, "a": pair.a, "b": pair.b, "winner": "open"}
        )
        for order, first, second in (("ab", a, b), ("ba", b, a)):
            texts = {**asked, "first": first, "second": second}
            prompt = places.sub(lambda place, texts=texts: texts[place[1]], text)  # type: ignore[misc]
            requests.append(request(f"{key}-{order}", prompt, shape, model))

    # the pairs beside them
    for file, lines in ((pairs_beside(path), questions), (path, requests)):
        write_objects(lines, file, force=force)


def write_objects(lines: Iterable[Fields], path: Path, *, force: bool) -> None:
    """Write JSON lines, whole or not at all."""
    with written_beside(path, force=force) as part:
        part.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def request(key: str, text: str, shape: str, model: str | None) -> Fields:
    """Return a request: a batch line for OpenAI, Anthropic or Gemini, or the messages alone."""
    named = {} if model is None else {"model": model}
    body = {**named, "messages": [{"role": "user", "content": text}]}
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
    filled = [n for n, item in enumerate(items, 1) if item]
    lines = []
    for n, item in enumerate(items[: max(filled, default=0)], 1):
        text = "\n   ".join(shown_texts(item))
        lines.append(f"{n}. {text or '(no result)'}")
    return "\n".join(lines) or "(no results)"


def shown_texts(item: Item) -> list[str]:
    """Return the texts of an item that a model is shown."""
    return [item[name] for name in ("title", "snippet", "url") if name in item]
