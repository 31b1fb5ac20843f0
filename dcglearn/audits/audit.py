"""`audit`: a page on how well a metric follows users, where it errs, and what to do next."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping
from importlib.metadata import version

import numpy as np
from numpy.typing import ArrayLike

from dcglearn.audits.inputs import Inputs
from dcglearn.audits.of_decisions import next_section, systems_parts
from dcglearn.audits.of_fit import fit_parts
from dcglearn.audits.of_log import log_parts
from dcglearn.audits.of_metric import disagreement_section, held_out_parts, verdict_section
from dcglearn.audits.section import Section
from dcglearn.foundation.finding import Finding
from dcglearn.foundation.findings import Report
from dcglearn.foundation.plain_text import number_of
from dcglearn.foundation.validation import Fields
from dcglearn.foundation.version import __version__
from dcglearn.logs.columns import COLUMNS
from dcglearn.metrics.reading import BASELINE, MetricLike
from dcglearn.reading.in_memory import Log, as_preferences
from dcglearn.reading.judgements import JudgementsLike
from dcglearn.reading.preferences import Preferences
from dcglearn.reading.runs import RunsLike

FIRST = ("log", "new judgements", "learned", "how sure", "sum or average", "left open")
"""The parts that `learn` prints, where they have something to say."""

HEADINGS = {
    "log": "The log and its raters",
    "new judgements": "Whom do people follow?",
    "learned": "What was learned",
    "how sure": "How sure each number is",
    "left open": "What the log cannot tell",
    "disagreement": "Where the two metrics disagree",
    "systems": "Would the leaderboard change?",
    "survival": "What do all DCGs that the log allows agree on?",
    "people": "What would people take?",
    "next": "What to judge next",
    "more": "What would tell more",
    "made": "How this page was made",
}
"""Headings of parts that have another than their name."""


def parts_of_fit(inputs: Inputs) -> dict[str, Finding]:
    """Return the parts that `learn` and `audit` share: log, held-out judgements, and the fit."""
    return {**log_parts(inputs), **held_out_parts(inputs), **fit_parts(inputs)}


def report_of_fit(inputs: Inputs) -> Report:
    """Return what `learn` says of a log: what was learned, and how far to trust it."""
    n, rated = inputs.log.n_judgements, inputs.log.ratings is not None
    judged = number_of(n, "ratings" if rated else "judgements", ",")
    title = f"What {judged} {'says' if n == 1 else 'say'} of gains and discounts"
    return Report(title, parts_of_fit(inputs), HEADINGS, printed=(*FIRST, "LLM judge"))


def audit(
    log: Preferences | ArrayLike,
    metric: MetricLike = BASELINE,
    *,
    llm: Log | None = None,
    judgements: JudgementsLike | None = None,
    runs: RunsLike | None = None,
    anonymous: bool = False,
    random_state: int = 0,
    made: Mapping[str, str] | None = None,
) -> Report:
    """Audit a metric: how well it follows users, where it errs, how sure that is, what to do next.

    The result is a report; its `save` writes one HTML file, its `to_dict` returns the same numbers.
    Raises InputError if nothing can be learned from the log, or the metric in use lacks grades of
    it. People are said to follow a metric where a test of held-out judgements has p <= .05, and
    some metric orders the log's pairs better than a coin.

    Parameters
    ----------
    log : Preferences, or array_like of int, shape (n, 2, K)
        The judgements.
    metric : DCG, file or name
        The metric in use; a name without ``@K`` is as deep as the lists of the log.
    llm : Preferences, optional
        An LLM judge's verdicts, followed as far as people's agree.
    judgements, runs : optional
        Judgements of documents, and runs of two systems or more, as in `evaluate`: whether the
        leaderboard changes under the learned DCG.
    anonymous : bool
        Replace the names of raters and queries by numbers; names of documents are never shown.
    random_state : int
        Seed of everything random.
    made : mapping of str to str, optional
        Further facts on how the page was made, such as the command and digests of files, by
        name.

    See Also
    --------
    compare_learners : The comparison on held-out judgements alone.
    bands : The bands alone.
    coherence : Where two metrics disagree.

    Examples
    --------
    >>> truth = dl.simulate.ground_truth("D1", n_grades=3, depth=3)
    >>> log = dl.simulate.preference_pairs(truth, 60, lists="free", random_state=0)
    >>> audit(log, "linear-log2")["disagreement"]["judgements"] < 10
    True
    """
    # learn from the log
    judged = as_preferences(log)
    if anonymous:
        judged = _numbered(judged)
    inputs = Inputs.of(judged, metric, random_state, llm=llm)

    # the parts that say what to do, and those behind them
    shared = parts_of_fit(inputs)
    later = next_section(inputs)
    findings: dict[str, Finding] = {
        "verdict": verdict_section(inputs, shared["how sure"].pictures, later),
        **shared,
        "disagreement": disagreement_section(inputs),
        **systems_parts(inputs, judgements, runs),
        "next": later,
    }

    # what would let them say more, and how the page was made
    asks = [ask for part in findings.values() for ask in getattr(part, "asks", ())]
    findings["more"] = Section("".join(asks[:1]), asks[1:])
    about = ""
    if inputs.name.partition("@")[0] == BASELINE:
        about = " (the usual nDCG: gains 2^grade - 1, discounts 1 / log2(1 + position))"
    title = f"Audit of {inputs.name}{about}"
    findings["made"] = _made(_digest(judged), random_state, made or {})
    return Report(title, findings, HEADINGS, printed=("verdict", *FIRST, *LATER))


LATER = ("LLM judge", "disagreement", "systems", "survival", "people", "next", "more")
"""The parts that `audit` prints after those of `learn`."""


def _numbered(log: Preferences) -> Preferences:
    """Return a log with numbers for names of raters and queries, without remarks on these."""
    columns: Fields = {"recognised": None}
    for name in ("rater", "query"):
        labels = getattr(log, name)
        if labels is not None:
            numbers = np.unique(labels, return_inverse=True)[1] + 1
            columns[name] = np.char.add(f"{name} ", numbers.astype(str))
    return log.changed(**columns)


def _digest(log: Preferences) -> str:
    """Return the SHA-256 of all columns of a log."""
    columns = {name: getattr(log, name) for name in ("preferred", "other", *COLUMNS)}
    values = {name: None if column is None else column.tolist() for name, column in columns.items()}
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()


def _made(digest: str, random_state: int, more: Mapping[str, str]) -> Section:
    """Return how the page was made: what the caller says, versions, seed, and the log's digest."""
    facts = {
        **more,
        "dcglearn": __version__,
        "Python": platform.python_version(),
        **{name: version(name) for name in ("numpy", "scipy")},
        "seed": str(random_state),
        "judgements (SHA-256)": digest,
    }

    # a page can be made again from them
    same = "the same command with the same versions and files writes the same bytes"
    return Section(
        f"on the same day, {same}",
        numbers=facts,
        caption="Versions, seed and digests",
        rows=[{"what": name, "value": value} for name, value in facts.items()],
    )
