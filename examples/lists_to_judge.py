"""Print 240 pairs of result lists, to try `dcglearn ask` with.

The queries are the 40 made-up ones of `topics.txt`. Grades are 0 (beside the point), 1 (touches the
query), 2 (answers it among other things) and 3 (answers it).
"""

import json
from pathlib import Path

import numpy as np

DEPTH, PAIRS = 5, 6


def documents(
    query: str, fact: str, subject: str, neighbour: str, namesake: str
) -> list[tuple[int, str, str]]:
    """Return grade, title and snippet of ten documents."""
    capital, fact_first = (text[0].upper() + text[1:] for text in (subject, fact))
    return [
        (
            3,
            f"{query.capitalize()}: the answer",
            f"{fact_first}. Tried by us, with pictures of each step.",
        ),
        (3, f"{capital} in one minute", f"In short: {fact}."),
        (
            2,
            f"Everything about {subject}",
            f"A long guide with twelve chapters. Chapter 9 has it: {fact}.",
        ),
        (
            2,
            f"Ten questions on {subject}",
            "Readers ask, we reply. Question 7 is yours, though the reply is brief.",
        ),
        (
            1,
            f"{capital}: a short history",
            "Where it comes from and who is said to have been first.",
        ),
        (
            1,
            f"Forum: who knows about {subject}?",
            "Four replies. Two say yes, one says no, one sells something.",
        ),
        (
            1,
            f"{neighbour.capitalize()}, step by step",
            f"A guide to {neighbour}. Much of it holds for {subject} too.",
        ),
        (0, namesake[0].upper() + namesake[1:], "Opening hours, directions and the latest news."),
        (
            0,
            f"Buy {subject} - best prices",
            "This page has moved. See our offers of the week instead.",
        ),
        (
            0,
            f"{neighbour.capitalize()} of the year",
            "Our readers have voted. The winners and a gallery.",
        ),
    ]


def main() -> None:
    """Print a pair a line, as JSON."""
    rng = np.random.default_rng(19)
    topics = Path(__file__).with_name("topics.txt").read_text(encoding="utf-8").splitlines()[1:]
    for number, topic in enumerate(topics, 1):
        query, intent, *rest = (field.strip() for field in topic.split("|"))
        pool = documents(query, *rest)
        for _ in range(PAIRS):
            pair: dict = {"query": query, "intent": f"The person wants to know: {intent}."}
            while "a" not in pair or pair["a"] == pair["b"]:
                for side in "ab":
                    ranked = rng.permutation(len(pool))[:DEPTH].tolist()
                    pair[side] = [pool[i][0] for i in ranked]
                    pair[f"items_{side}"] = [
                        {
                            "title": pool[i][1],
                            "snippet": pool[i][2],
                            "url": f"https://example.org/{number}/{i + 1}",
                        }
                        for i in ranked
                    ]
            print(json.dumps(pair, ensure_ascii=False))


if __name__ == "__main__":
    main()
