"""`audit`: a page on how well a metric follows users, where it errs, and what to do next."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import date
from operator import attrgetter

import numpy as np
from numpy.typing import ArrayLike

from dcglearn.audits import questions
from dcglearn.audits.inputs import Inputs
from dcglearn.foundation.finding import Finding, Report, Section
from dcglearn.foundation.validation import Fields
from dcglearn.foundation.version import __version__
from dcglearn.logs.unique_rows import numbered
from dcglearn.metrics.reading import BASELINE, MetricLike
from dcglearn.reading.in_memory import Log, as_preferences
from dcglearn.reading.judgements import JudgementsLike
from dcglearn.reading.preferences import Preferences
from dcglearn.reading.runs import RunsLike, read_both

Question = Callable[[Inputs], Finding | None]

OF_FIT: dict[str, Question] = {
    "log": questions.holdings,
    "raters": attrgetter("agreement"),
    "new judgements": attrgetter("comparison"),
    "learned": questions.learned,
    "how sure": questions.how_sure,
    "sum or average": questions.sum_or_average,
    "LLM judge": attrgetter("llm"),
    "left open": questions.left_open,
    "factored": attrgetter("factoring"),
}
"""The questions that `learn` and `audit` answer, by part of the report."""

OF_METRIC: dict[str, Question] = {
    "as sure as said?": attrgetter("calibration"),
    "beside": questions.beside,
    "disagreement": questions.disagreement,
    "largest disagreement": attrgetter("proof"),
    "disputed pairs": questions.disputed,
    "systems": attrgetter("order"),
    "survival": questions.survival,
    "people": questions.people,
    "next": questions.next_step,
}
"""The questions that `audit` answers beside those, if the log tells anything."""

FIRST = ("log", "new judgements", "learned", "how sure", "sum or average", "left open", "LLM judge")
"""The parts that `learn` prints, where they have something to say."""

HEADINGS = {
    "log": "The log and its raters",
    "new judgements": "Whom do people follow?",
    "learned": "What was learned",
    "how sure": "How sure each number is",
    "left open": "What the log cannot tell",
    "beside": "The metric in use beside what was learned",
    "disagreement": "Where the two metrics disagree",
    "systems": "Would the leaderboard change?",
    "survival": "What do all DCGs that the log allows agree on?",
    "people": "What would people take?",
    "next": "What to judge next",
    "made": "How this page was made",
}
"""Headings of parts that have another than their name."""


def answers(inputs: Inputs, asked: Mapping[str, Question] = OF_FIT) -> dict[str, Finding]:
    """Return the parts of a report that have something to say, by name."""
    parts = ((name, question(inputs)) for name, question in asked.items())
    return {name: part for name, part in parts if part is not None}


def report_of_fit(inputs: Inputs) -> Report:
    """Return what `learn` says of a log: what was learned, and how far to trust it."""
    say = "says" if inputs.log.n_judgements == 1 else "say"
    title = f"What {inputs.counted} {say} of gains and discounts"
    return Report(title, answers(inputs), HEADINGS, printed=FIRST)


def audit(
    log: Preferences | ArrayLike,
    metric: MetricLike = BASELINE,
    *,
    llm: Log | None = None,
    judgements: JudgementsLike | None = None,
    runs: RunsLike | None = None,
    anonymous: bool = False,
    random_state: int = 0,
    command: str = "",
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
    command : str
        The command that makes the page, which is named on it.

    See Also
    --------
    compare_learners : The comparison on held-out judgements alone.
    bands : The bands alone.
    coherence : Where two metrics disagree.

    Examples
    --------
    >>> truth = dl.simulate.ground_truth("D1", n_grades=3, depth=3)
    >>> log = dl.simulate.preference_pairs(truth, 60, lists="free", random_state=0)
    >>> audit(log, "linear-log2")["verdict"].verdict
    'judge more'
    """
    # read all, and learn from the log
    judged = as_preferences(log)
    if anonymous:
        judged = _numbered(judged)
    systems = None if judgements is None or runs is None else read_both(judgements, runs)
    inputs = replace(Inputs.of(judged, metric, random_state, llm=llm), systems=systems)

    # the questions in order
    later = {} if inputs.tells_nothing else OF_METRIC
    parts = answers(inputs, {"verdict": questions.verdict_on, **OF_FIT, **later})

    # how the page was made
    by = f"by `{command}` " if command else ""
    parts["made"] = Section(
        f"made on {date.today()} {by}with dcglearn {__version__}, Python "
        f"{platform.python_version()} and the seed {random_state}; on the same day, the same "
        "command with the same versions and files writes the same bytes"
    )

    # the usual nDCG is named as such
    about = ""
    if inputs.name.partition("@")[0] == BASELINE:
        about = " (the usual nDCG: gains 2^grade - 1, discounts 1 / log2(1 + position))"
    title = f"Audit of {inputs.name}{about}"
    return Report(title, parts, HEADINGS, printed=("verdict", *FIRST, *later))


def _numbered(log: Preferences) -> Preferences:
    """Return a log with numbers for names of raters and queries, without remarks on these."""
    columns: Fields = {"recognised": None}
    for name in ("rater", "query"):
        labels = getattr(log, name)
        if labels is not None:
            columns[name] = np.char.add(f"{name} ", (numbered(labels) + 1).astype(str))
    return log.changed(**columns)
