"""Prompts that ask a language model which list of a pair is better; nothing is sent from here."""

import json
from collections.abc import Sequence
from pathlib import Path
from string import Template

from dcglearn.foundation.files import write_whole
from dcglearn.foundation.plain_text import number_of
from dcglearn.foundation.validation import Fields, InputError
from dcglearn.judge.candidates import TEXT_LIMITS, Candidates, Item

TEMPLATE = "two-lists"
"""Name of the prompt's template, with which the id of each request begins."""


def pairs_beside(prompts: str | Path) -> Path:
    """Return the file of the pairs, with grades, that the prompts in a file ask about."""
    return Path(prompts).with_suffix(".pairs.jsonl")


def write_prompts(candidates: Candidates, path: Path, *, shape: str, model: str) -> None:
    """Write two requests a pair, in both orders, by key, and the pairs beside them.

    Raises InputError if a pair has no texts.
    """
    # texts that a model can read
    if bare := sum(pair.items_a is None for pair in candidates.pairs):
        raise InputError(
            f"no texts that a model could read in {bare:,} of "
            f"{number_of(len(candidates), 'pairs', ',')}: give items_a and items_b, or docs_a and "
            "docs_b with --documents"
        )

    # requests in both orders
    text = (Path(__file__).parent / "templates" / f"{TEMPLATE}.txt").read_text(encoding="utf-8")
    template = Template(text)
    requests, questions = [], []
    for pair in candidates.pairs:
        key = f"{TEMPLATE}-{pair.key}"
        a, b = _as_text(pair.items_a or ()), _as_text(pair.items_b or ())
        asked = {"query": pair.text or pair.query, "intent": pair.intent}
        questions.append(
            {"id": key, "query": pair.query, "a": pair.a, "b": pair.b, "winner": "open"}
        )

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
    filled = [n for n, item in enumerate(items, 1) if item]
    lines = []
    for n, item in enumerate(items[: max(filled, default=0)], 1):
        texts = [item[name] for name in TEXT_LIMITS if name in item]
        lines.append(f"{n}. " + ("\n   ".join(texts) or "(no result)"))
    return "\n".join(lines) or "(no results)"
