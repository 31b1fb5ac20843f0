"""Parts of an audit on what follows: systems, further judgements, other tools, and whether the
metric still holds.
"""

import json
import re
import warnings
from itertools import combinations
from typing import Any
from urllib.parse import quote

import numpy as np

from dcglearn.audits.known import LEARNED, Finding, Known, said
from dcglearn.evaluation.compare_systems import interval_of_mean
from dcglearn.evaluation.evaluate import evaluate
from dcglearn.evaluation.tables import read_judgements, read_runs
from dcglearn.exports.targets import exported
from dcglearn.foundation.progress import stage
from dcglearn.foundation.validation import InputError
from dcglearn.metric.dcg import DCG
from dcglearn.metric.reading import read_metric
from dcglearn.metric.scales import ScaleWarning
from dcglearn.metric_coherence.system_order import system_order
from dcglearn.parts.parts import joined
from dcglearn.readers.preferences import Preferences
from dcglearn.trust.next_pairs import generated_lists, suggest_pairs
from dcglearn.trust.segment_test import segment_test

LISTS, PAIRS, SWAPS, DRAWN, RESAMPLES = 200, 20, 20, 100, 1000
"""Lists made to be paired, pairs to ask next, swaps with intervals, draws of the bands, bootstrap
samples of topics.
"""


def systems_finding(known: Known, runs: Any, qrels: Any) -> Finding:
    """Return the order of systems under both metrics, its swaps, and what survives every DCG that
    the log allows.
    """
    if runs is None or qrels is None:
        return said("systems", systems=[])
    judged, systems = read_judgements(qrels), read_runs(runs)
    current = read_metric(known.given, max(judged.n_grades, 2), known.log.depth)
    with stage("systems"):
        order = system_order(
            systems, judged, {known.name: current, LEARNED: known.fit.dcg}, seed=known.seed
        )
    values, names, (swaps,) = order.evaluation.filled, order.evaluation.runs, order.swaps.values()
    pairs = np.array(
        [*combinations(range(len(names)), 2)]
    )  # by falling means under the metric in use
    held = None
    if known.bands is not None:
        draws = np.linspace(0, len(known.bands.gains) - 1, DRAWN).astype(int).tolist()
        dcgs = {str(i): DCG(known.bands.gains[i], known.bands.discounts[i]) for i in draws}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ScaleWarning)  # given for the learned DCG before
            drawn = evaluate(
                sorted(systems, key=lambda run: names.index(run.name)), judged, dcgs
            ).means
        held = (drawn[pairs[:, 0]] > drawn[pairs[:, 1]]).mean(axis=1)
    shown = []
    for (first, second), solid in sorted(
        zip(swaps.pairs, swaps.solid, strict=True), key=lambda swap: not swap[1]
    )[:SWAPS]:
        gaps = values[names.index(second)] - values[names.index(first)]
        ends = [
            (
                float(np.nanmean(gap)),
                *interval_of_mean(gap[~np.isnan(gap)], 0.95, RESAMPLES, known.seed),
            )
            for gap in gaps
        ]
        shown.append({"first": first, "second": second, "solid": solid, "differences": ends})
    return said(
        "systems",
        name=known.name,
        systems=[
            {"run": run, "means": means, "ranks": ranks}
            for run, means, ranks in zip(
                names, order.evaluation.means.tolist(), order.ranks.tolist(), strict=True
            )
        ],
        n_pairs=len(pairs),
        n_swapped=len(swaps.pairs),
        n_solid=sum(swaps.solid),
        swaps=shown,
        survive=None if held is None else int((held == 1).sum()),
        overturned=None if held is None else int((held == 0).sum()),
    )


def next_finding(known: Known) -> Finding:
    """Return how many more judgements make bands half as wide, and the pairs to ask next."""
    log, lines = known.log, ""
    try:
        lists = generated_lists(log, LISTS, seed=known.seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # fewer pairs than wanted
            pairs = suggest_pairs(
                log, lists, PAIRS, known.fit, n_grades=log.n_grades, seed=known.seed
            )
        lines = pairs.to_polars().write_ndjson()
    except InputError:  # nothing is left to ask
        pairs = None
    more, by = (None, "") if known.bands is None else (3 * known.bands.n_units, known.bands.by)
    n_units = 0 if known.bands is None else known.bands.n_units
    questions = [] if pairs is None else pairs.pairs.tolist()
    asked = {"questions": questions, "file": f"data:application/x-ndjson,{quote(lines)}"}
    return said("next", more=more, by=by, n_units=n_units, no_bands=known.no_bands, **asked)


def tools_finding(known: Known) -> Finding:
    """Return what to paste into other tools for the learned DCG."""
    made = {
        tool: exported(known.fit.dcg, "dcg.json", tool)
        for tool in ("lightgbm", "sql", "ir-measures")
    }
    return {
        "finding": "the learned DCG as a file, dcg.json, and what other tools need: paste it there",
        "notes": [],
        "asks": [],
        "file": f"data:application/json,{quote(json.dumps(known.fit.dcg.to_dict()))}",
        "paste": {
            tool: one.settings if one.text is None else one.text for tool, one in made.items()
        },
    }


def then_and_now(
    log: Preferences, later: Preferences | None, since: str | None
) -> Preferences | None:
    """Return judgements of two times as segments of one log; None without a second time, InputError
    if it is none.
    """
    if later is not None:
        if later.depth != log.depth:
            raise InputError(
                f"the log has {log.depth} positions, the later one {later.depth}: read both with one depth="
            )
        both = joined([log, later], max(log.n_grades, later.n_grades), log.grade_names)
        return both.changed(segment=np.where(np.arange(len(both)) < len(log), "then", "now"))
    if since is None:
        return None
    if log.time is None:
        raise InputError(
            "since= needs to know when pairs were judged: give the column time, or a second log (later=)"
        )
    other = [
        time for time in (since, *np.unique(log.time)) if not re.match(r"\d{4}-\d\d-\d\d", time)
    ]
    if other:
        raise InputError(
            f"time {str(other[0])!r} is no date such as 2026-03-01 or 2026-03-01T09:30: write all of them so"
        )
    return log.changed(segment=np.where(log.time < since, "then", "now"))


def drift_finding(both: Preferences | None, seed: int) -> Finding:
    """Return whether a DCG for the judgements of then and one for those of now are better than one
    for both.
    """
    if both is None:
        return said("drift", test=None, reason="")
    try:
        with stage("drift"):
            test = segment_test(both, seed=seed)
    except InputError as error:
        return said("drift", test=None, reason=str(error))
    return said("drift", test=test.to_dict(), reason="")
