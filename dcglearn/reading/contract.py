"""Contracts of the tables that are read: the role of each column, its kind, its accepted names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import TypeAlias


@dataclass(frozen=True)
class Role:
    """A column of a table: how its cells are read, and the names that it may have.

    `kind` is a key of `values.READERS`, or "grades", "winner", "system" or "scale". `names` are
    separated by blanks; capitals, blanks and punctuation make no difference. A list of grades is
    one column, or has a column for each position, ``a_1, a_2``, of these names or of those
    `by_position`. Of two accepted names in one table both are refused, unless `first_counts`.
    """

    kind: str
    names: str
    by_position: str = ""
    required: bool = False
    first_counts: bool = False


first_of = partial(Role, first_counts=True)
"""A role of several accepted names, of which a table may have more than one."""

Contract: TypeAlias = Mapping[str, Role]
"""The roles of a table's columns."""

Found: TypeAlias = dict[str, list[str]]
"""The column of each role in a table, or its columns by position."""

QUERY = "query query_id qid q_id question_id topic topic_id prompt_id search_term"
RATER = (
    "rater rater_id judge judge_id annotator annotator_id assessor assessor_id user user_id worker "
    "worker_id participant participant_id evaluator evaluator_id completed_by email"
)

JUDGEMENT: Contract = {
    "query": Role("name", QUERY),
    "a": Role("grades", "a left list_a grades_a", "l grade_a", required=True),
    "b": Role("grades", "b right list_b grades_b", "r grade_b", required=True),
    "winner": Role("winner", "winner preferred preference choice verdict label", required=True),
    "supersedes": Role("text", "supersedes"),
    "id": Role("text", "id"),
    "rater": Role("name", RATER),
    "weight": Role("positive", "weight count"),
    "strength": Role("positive", "strength"),
    "margin": Role("number", "margin"),
    "swapped": Role("flag", "swapped shown_first shown_left"),
    "docs_a": Role("documents", "docs_a documents_a"),
    "docs_b": Role("documents", "docs_b documents_b"),
    "segment": Role("name", "segment"),
    "time": Role("label", "time timestamp"),
    "tie_kind": Role("label", "tie tie_kind"),
    "status": Role("status", "status assignment_status approved"),
    "system_a": Role("system", "system_a model_a left_system left_model"),
    "system_b": Role("system", "system_b model_b right_system right_model"),
    "scale": Role("scale", "scale"),
}
"""The columns of a judgement of two lists."""

QUESTION: Contract = {role: JUDGEMENT[role] for role in ("a", "b", "scale")}
"""The columns of two lists that could be judged."""

RATED_LIST: Contract = {
    "list": Role("grades", "list grades results", "grade", required=True),
    "rating": Role("rating", "rating satisfaction score thumb thumbs feedback", required=True),
    "group": Role("name", f"group session session_id {RATER}"),
    **{role: JUDGEMENT[role] for role in ("segment", "weight", "status", "scale")},
}
"""The columns of a rated list."""

DOCUMENT: Contract = {
    "side": Role("label", "side panel which system", required=True),
    "position": Role("number", "position pos rank", required=True),
    "grade": Role("text", "grade relevance rel", required=True),
    "winner": replace(JUDGEMENT["winner"], required=False),
}
"""The columns of a table of judgements with a row a document, for `from_long`."""

LISTED: Contract = {
    "query": Role("label", QUERY, required=True),
    "docs_a": first_of("label", "docs_a documents_a a left list_a"),
    "docs_b": first_of("label", "docs_b documents_b b right list_b"),
    "docs": first_of("label", "docs documents list results"),
}
"""The columns of lists of documents that are judged elsewhere, for `with_grades`."""

KEYS: Contract = {
    "query": first_of("label", "query_id qid q_id query topic topic_id query_text", required=True),
    "document": first_of(
        "label", "document docno doc_id doc document_id product_id product corpus_id", required=True
    ),
}

JUDGED: Contract = {
    **KEYS,
    "grade": Role("score", "grade relevance rel label rating judgement judgment esci_label"),
    "rater": first_of("label", RATER),
}
"""The columns of judgements of documents.

In PyTerrier's frames, `query` is the text of `qid`, and `docid` the number of `docno` in an index;
of several accepted names the first counts.
"""

RUN: Contract = {
    **KEYS,
    "score": first_of("score", "score sim pred prediction"),
    "rank": first_of("score", "rank position doc_position"),
    "run": first_of("label", "run run_id tag system snapshot_name"),
}
"""The columns of a run; a table has scores, or ranks in place of them."""

VALUE: Contract = {
    "query": first_of("label", f"{QUERY} id", required=True),
    "run": first_of("label", "run run_id tag system name model"),
    "measure": first_of("label", "measure metric"),
    "value": first_of("label", "value score"),
}
"""The columns of a metric's values of queries, as other programs give them.

Without values, each other column has those of one measure.
"""

CANDIDATE: Contract = {
    **{role: JUDGEMENT[role] for role in ("a", "b", "docs_a", "docs_b", "scale")},
    "query": Role("label", QUERY),
    "items_a": Role("text", "items_a items_left"),
    "items_b": Role("text", "items_b items_right"),
    "text": Role("text", "query_text topic_text"),
    "intent": Role("text", "intent description narrative"),
}
"""The columns of two lists that people or models are asked to compare."""

RECIPES = {
    "Rated lists with a row for each document": {"position grade rating", "position satisfaction"},
    "A row for each document": {"side position grade", "side rank grade", "system rank rel"}
    | {"system position grade", "system rank grade"},
    "Chosen and rejected": {"chosen rejected"},
    "A column for each outcome": {"winnermodela winnermodelb", "winnera winnerb"},
    "Votes": {"votesa votesb", "avotes bvotes", "na nb"},
    "Probabilities": {"probability", "proba", "probabilitya", "pabetter"},
    "Logprobs": {"logprob", "logproba", "logprobability"},
    "Ranks": {"ranka rankb"},
    "Documents judged elsewhere": {"docsa docsb", "docida docidb", "docs", "documents"},
    "Quepid's snapshots": {"snapshotname docid"},
    "Argilla": {"fields responses"},
    "Label Studio": {"annotations data"},
    "LangSmith": {"runid feedbackgroupid"},
}
"""Recipes of the documentation, by the plain names of columns that call for them."""

OF_WINNERS = {"A column for each outcome", "Votes", "Probabilities", "Logprobs", "Ranks"}
"""Recipes that give a table its winners."""

READERS = {
    "dl.read_ratings (--ratings)": {"list rating", "list satisfaction"},
    "dcglearn convert --prompts FILE": {"customid"},
    "dl.read_preferences (without --ratings)": {"a b winner", "left right winner"},
}
"""Readers of logs, by the plain names of columns that call for them."""


@lru_cache(maxsize=1024)
def plain(name: str) -> str:
    """Return a name in lower case without blanks and punctuation: ``Query ID`` is ``queryid``."""
    return re.sub(r"[\W_]+", "", name.lower())
