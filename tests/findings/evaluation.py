"""Results of the evaluation of runs: means, comparisons, gates, explained values."""

from collections.abc import Iterator

import dcglearn as dl
from dcglearn.foundation.finding import Finding
from tests.makers import noisy_runs

NAMES = ("<b>old|</b>", "new `x`", "=third")
"""Names of runs that would be markup or a formula."""


def results() -> Iterator[Finding]:
    """Yield one result of each class, of several and of one run, and those without data."""
    judged, runs = noisy_runs(dict(zip(NAMES, (2.0, 0.7, 1.0), strict=True)), 12, 6)
    one = {"<i>": runs[NAMES[0]]}
    metrics = {"nDCG@3": "nDCG@3", "x_low": "exponential-log2@3", "x_high": "linear-flat@2"}
    machine = {f"{query}{copy}": grades for query, grades in judged.items() for copy in ("", "b")}
    doubled = {
        name: {f"{query}{copy}": run[query] for query in judged for copy in ("", "b")}
        for name, run in runs.items()
    }

    # means, with missing queries
    yield dl.evaluate(judged, runs, metrics)
    less = {query: scores for query, scores in one["<i>"].items() if query != "q00"}
    yield dl.evaluate(judged, {"<i>": less}, dl.DCG([-1, 0, 1, 2], [1, 0.5]), normalise=False)

    # comparisons and gates
    comparison = dl.compare_systems(judged, runs, [*metrics.values()], n_resamples=100)
    yield comparison
    yield comparison.gate(-0.1)
    yield dl.compare_systems(judged, doubled, "nDCG@3", llm=machine)

    # shares of people: by judges without draws, who rated lists
    judges = dl.evaluation.Judges(2.0, 0.5, 0.02, chose=False, largest=0.5, grades=(0, 1))
    known = dl.DCG([0, 1, 2, 3], [1, 0.5], judges=judges)
    of_people = dl.compare_systems(judged, runs, {"x_low": known}, n_resamples=100)
    yield of_people.people
    yield of_people.gate(at_least=52)
    two = {name: runs[name] for name in NAMES[:2]}
    yield dl.compare_systems(judged, two, n_resamples=100).gate(0.005, "non-inferior")

    # nothing that could differ
    zeros = {query: dict.fromkeys(grades, 0) for query, grades in judged.items()}
    yield dl.compare_systems(zeros, two, n_resamples=100)

    # values that agree, that a convention explains, that none explains
    for metric in ("nDCG@10", "exponential-log2@10"):
        values = dl.evaluate(judged, one, metric)
        theirs = dict(zip(values.queries, values.values[0, 0].tolist(), strict=True))
        yield dl.evaluation.explain_values(theirs, judged, one)
    yield dl.evaluation.explain_values(
        {"q00": 0.123, "q01": 0.456, "<u>": 1, "mean": 0.9}, judged, one
    )
