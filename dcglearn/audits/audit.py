"""`audit`: a page on how well a metric follows users, where it errs, and what to do next."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dcglearn.audits.inputs import Inputs, finding_of
from dcglearn.audits.of_decisions import (
    drift_finding,
    next_finding,
    systems_finding,
    then_and_now,
    tools_finding,
)
from dcglearn.audits.of_log import log_finding
from dcglearn.audits.of_metric import (
    curves_finding,
    disagreement_finding,
    held_out_finding,
    verdict_finding,
)
from dcglearn.evaluation.tables import JudgementsLike, RunsLike
from dcglearn.foundation.files import written_beside
from dcglearn.foundation.markup import rendered
from dcglearn.foundation.validation import PathLike
from dcglearn.foundation.version import __version__
from dcglearn.logs.columns import COLUMNS
from dcglearn.metric.dcg import DCGLike
from dcglearn.readers.preferences import Preferences, as_preferences
from dcglearn.trust.held_out import CURRENT


@dataclass(frozen=True, eq=False)
class Audit:
    """Findings about a metric; prints as sentences.

    `findings` are by part, in the order of the page: the `finding` in a sentence, `notes`, and the
    numbers.
    """

    title: str
    findings: Mapping[str, dict[str, Any]]

    def __getitem__(self, part: str) -> dict[str, Any]:
        """Return one part."""
        return self.findings[part]

    def to_dict(self) -> dict[str, Any]:
        """Return the sentences and the numbers of all parts, as plain Python values."""
        return {"title": self.title, **self.findings}

    def __str__(self) -> str:
        parts = [(part, values["finding"]) for part, values in self.findings.items()]
        return "\n".join([self.title, *(f"  {part}: {text}" for part, text in parts if text)])

    @cached_property
    def page(self) -> str:
        """The page: one HTML document that needs no other file, no network and no script."""
        return rendered("audits/page.html", title=self.title, parts=self.findings)

    def _repr_html_(self) -> str:
        return rendered("audits/cell.html", parts=self.findings)

    def save(self, path: PathLike, *, force: bool = True) -> None:
        """Write the page, whole or not at all; ``force=False`` refuses an existing file."""
        with written_beside(path, force=force) as temporary:
            temporary.write_text(self.page, encoding="utf-8")


def audit(
    log: Preferences | ArrayLike,
    metric: DCGLike = "exponential-log2",
    *,
    runs: RunsLike | None = None,
    qrels: JudgementsLike | None = None,
    since: str | None = None,
    later: Preferences | ArrayLike | None = None,
    anonymous: bool = False,
    seed: int = 0,
    strict_log: bool = False,
    made: Mapping[str, str] | None = None,
) -> Audit:
    """Audit a metric: how well it follows users, where it errs, how sure that is, what to do next.

    The result's `save` writes one HTML file, its `to_dict` returns the same numbers. Raises
    InputError if nothing can be learned from the log, or the metric lacks grades of it. People are
    said to follow a metric where an exact test of held-out judgements has p <= .05, and some metric
    orders the log's pairs better than a coin.

    Parameters
    ----------
    log : Preferences, or array_like of int, shape (n, 2, K)
        The judgements.
    metric : DCG, file or name
        The metric in use; a name without ``@K`` is as deep as the lists of the log.
    runs, qrels : optional
        Runs of two systems or more, and judgements of their documents, as in `evaluate`: whether
        the leaderboard changes under the learned DCG.
    since, later : str, Preferences or array_like, optional
        A date such as "2026-03-01", for a log with the column `time`; or later judgements, in a log
        of their own: whether the metric of then still holds.
    anonymous : bool
        Replace the names of raters and queries by numbers; names of documents are never shown.
    seed : int
        Seed of everything random.
    strict_log : bool
        Raise InputError, rather than warn, where no metric orders the log's pairs better than a
        coin.
    made : mapping of str to str, optional
        Further facts on how the page was made, such as the command and digests of files, by
        name.

    See Also
    --------
    compare_learners : The comparison on held-out judgements alone.
    bootstrap_bands : The bands alone.
    coherence : Where two metrics disagree.

    Examples
    --------
    >>> truth = dl.simulate.ground_truth("D1", n_grades=3, depth=3)
    >>> log = dl.simulate.preference_pairs(truth, 60, lists="free", seed=0)
    >>> audit(log, "linear-log2")["disagreement"]["judgements"] < 10
    True
    """
    # learn from the log
    judged = as_preferences(log)
    if anonymous:
        judged = _numbered(judged)
    times = then_and_now(judged, None if later is None else as_preferences(later), since)
    inputs = Inputs.of(judged, metric, seed, strict=strict_log)

    # the sections, in the order of the page
    findings = {
        "verdict": verdict_finding(inputs),
        "log": log_finding(inputs),
        "curves": curves_finding(inputs),
        "held_out": held_out_finding(inputs),
        "disagreement": disagreement_finding(inputs),
        # what follows from it
        "systems": systems_finding(inputs, runs, qrels),
        "next": next_finding(inputs),
        "drift": drift_finding(times, seed),
        "tools": tools_finding(inputs),
    }

    # what would let them say more, and how the page was made
    asks = [ask for part in findings.values() for ask in part["asks"]]
    findings["more"] = finding_of("this page can say more" if asks else "", asks)
    findings["made"] = _made(judged, seed, made or {})
    about = ""
    if inputs.name.partition("@")[0] == CURRENT:
        about = " (the usual NDCG: gains 2^grade - 1, discounts 1 / log2(1 + position))"
    return Audit(f"Audit of {inputs.name}{about}", findings)


def _numbered(log: Preferences) -> Preferences:
    """Return a log with numbers for the names of its raters and queries."""
    columns = {}
    for name in ("rater", "query"):
        labels = getattr(log, name)
        if labels is not None:
            numbers = np.unique(labels, return_inverse=True)[1] + 1
            columns[name] = np.char.add(f"{name} ", numbers.astype(str))
    return log.changed(**columns)


def _made(log: Preferences, seed: int, more: Mapping[str, str]) -> dict[str, Any]:
    """Return how the page was made: what the caller says, versions, seed, and the log's digest."""
    columns = {name: getattr(log, name) for name in ("preferred", "other", *COLUMNS)}
    values = {name: None if column is None else column.tolist() for name, column in columns.items()}
    facts = {
        **more,
        "dcglearn": __version__,
        "Python": platform.python_version(),
        **{name: version(name) for name in ("numpy", "scipy")},
        "seed": str(seed),
        "judgements (SHA-256)": hashlib.sha256(json.dumps(values).encode()).hexdigest(),
    }
    same = "the same command with the same versions and files writes the same bytes"
    return finding_of(f"on the same day, {same}") | facts
