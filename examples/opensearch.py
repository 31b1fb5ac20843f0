"""Print a made-up judgement list of OpenSearch, or the runs of hybrid searches.

Without a word it prints the judgement list of the Search Relevance Workbench; with "runs" the
rankings of hybrid searches whose lexical score has the weight 0, 0.1, ..., 1. Lexical search finds
exact products; neural search finds those that also serve.
"""

import json
import sys
from typing import Any

import numpy as np

N_QUERIES, N_DOCUMENTS = 80, 30


def catalogue(rng: np.random.Generator) -> tuple[Any, Any]:
    """Return grades, 0 to 3, and normalised scores of lexical and neural search by query."""
    grades = rng.choice(4, (N_QUERIES, N_DOCUMENTS), p=[0.5, 0.2, 0.2, 0.1])
    means = np.array([[0, 0, 0.2, 1.5], [0, 0.4, 1.5, 1.6]])[:, grades]
    scores = means + rng.normal(size=means.shape)
    low, high = scores.min(axis=2, keepdims=True), scores.max(axis=2, keepdims=True)
    return grades, (scores - low) / (high - low)


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


def main(word: str = "judgments") -> None:
    """Print what the word says."""
    grades, scores = catalogue(np.random.default_rng(7))
    if word == "judgments":
        print(json.dumps(judgments(grades)))
    else:
        print("run,query,document,score")
        for weight in np.arange(11) / 10:
            for query, row in enumerate(weight * scores[0] + (1 - weight) * scores[1]):
                for document, score in enumerate(row):
                    print(f"lexical {weight:.1f},query {query},p{document},{score:.6f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
