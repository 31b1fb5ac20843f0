"""Print a made-up test of two search configurations on OpenSearch: events, judgements or runs.

Without a word it prints UBI events of 4,000 searches in which "lexical" and "neural" were
interleaved by team drafting; with "judgments" the judgement list of the Search Relevance Workbench;
with "runs" the rankings of hybrid searches whose lexical score has the weight 0, 0.1, ..., 1.

Lexical search finds exact products; neural search finds those that also serve. Users take a
substitute nearly as readily as the exact product, and look far down.
"""

import json
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

import dcglearn as dl

N_QUERIES, N_DOCUMENTS, N_SEARCHES, DEPTH = 80, 30, 4_000, 10
USER = dl.simulate.ClickModel(
    attraction=[0.05, 0.15, 0.55, 0.6],
    examination=[1, 0.93, 0.86, 0.8, 0.74, 0.68, 0.62, 0.57, 0.52, 0.48],
)


def catalogue(rng: np.random.Generator) -> tuple[Any, Any]:
    """Return grades, 0 to 3, and normalised scores of lexical and neural search by query."""
    grades = rng.choice(4, (N_QUERIES, N_DOCUMENTS), p=[0.5, 0.2, 0.2, 0.1])
    means = np.array([[0, 0, 0.2, 1.5], [0, 0.4, 1.5, 1.6]])[:, grades]
    scores = means + rng.normal(size=means.shape)
    low, high = scores.min(axis=2, keepdims=True), scores.max(axis=2, keepdims=True)
    return grades, (scores - low) / (high - low)


def team_draft(rankings: dict[str, list[int]], rng: np.random.Generator) -> dict[int, str]:
    """Return the documents shown, from the top, and the configuration that each is from."""
    shown: dict[int, str] = {}
    while len(shown) < DEPTH:
        for name in rng.permutation([*rankings]).tolist():
            if len(shown) < DEPTH:
                shown[next(document for document in rankings[name] if document not in shown)] = name
    return shown


def events(grades: Any, scores: Any, rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    """Yield the documents of the indices ubi_queries and ubi_events."""
    orders = np.argsort(-scores, axis=2).tolist()
    for number in range(N_SEARCHES):
        # a search, and what it shows
        query = int(rng.integers(N_QUERIES))
        head = {"application": "shop", "query_id": f"search-{number}", "client_id": "browser"}
        yield {**head, "user_query": f"query {query}", "query_attributes": {}}
        shown = team_draft({"lexical": orders[0][query], "neural": orders[1][query]}, rng)

        # an impression of each document, and the clicks
        made = []
        for place, (document, name) in enumerate(shown.items()):
            thing = {"object_id": f"p{document}", "object_id_field": "sku", "search_config": name}
            made.append({"object": thing, "position": {"ordinal": place}})
        for attributes in made:
            yield {**head, "action_name": "impression", "event_attributes": attributes}
        for click in USER.clicks(grades[query][[*shown]].tolist(), rng):
            yield {**head, "action_name": "click", "event_attributes": made[click - 1]}


def judgments(grades: Any) -> dict[str, Any]:
    """Return the judgement list, with the ratings of ESCI labels."""
    ratings = [
        {
            "query": f"query {query}",
            "ratings": [
                {"docId": f"p{document}", "rating": f"{[0, 1, 10, 100][grade]:.3f}"}
                for document, grade in enumerate(row)
            ],
        }
        for query, row in enumerate(grades)
    ]
    return {"name": "made up", "type": "IMPORT_JUDGMENT", "judgmentRatings": ratings}


def main(word: str = "events") -> None:
    """Print what the word says."""
    rng = np.random.default_rng(7)
    grades, scores = catalogue(rng)
    if word == "events":
        for event in events(grades, scores, rng):
            print(json.dumps(event))
    elif word == "judgments":
        print(json.dumps(judgments(grades)))
    else:
        print("run,query,document,score")
        for weight in np.arange(11) / 10:
            for query, row in enumerate(weight * scores[0] + (1 - weight) * scores[1]):
                for document, score in enumerate(row):
                    print(f"lexical {weight:.1f},query {query},p{document},{score:.6f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
