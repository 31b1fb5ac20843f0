"""Results that compare metrics and systems."""

import numpy as np

import dcglearn as dl
from dcglearn import DCG

DOCUMENTS = [3, 3, 2, 1, 0, 0]
NAMES = ("<b>a|b</b>", "b_low")


def results():
    linear, exponential = DCG.standard(4, 6, "linear"), DCG.standard(4, 6, "exponential")
    copy = DCG(linear.gains + 1, 2 * linear.discounts)
    deep = DCG.standard(5, 30, "linear"), DCG.standard(5, 30, "exponential")

    # verdicts: a disagreement, also of clear preferences; a proof; a search that has no time
    yield dl.coherence(linear, exponential, DOCUMENTS, names=NAMES)
    yield dl.coherence(linear, exponential, DOCUMENTS, 0.05)
    yield dl.coherence(linear, copy, DOCUMENTS, 0.05)
    yield dl.coherence(*deep, np.arange(40) % 5, time_limit=1e-3)

    # the theory, and how often metrics disagree
    yield dl.coherence.two_grade_theorem(DCG([0, 1], [1, 0.5]), DCG([1, 4], [2, 1]))
    yield dl.coherence.two_grade_theorem(linear, exponential)
    yield dl.disagreement(linear, exponential, DOCUMENTS, names=NAMES)
    yield dl.disagreement(*deep, n_pairs=100)
    yield dl.coherence.disagreement_matrix(dl.textbook_dcgs(4, 6))
    yield dl.coherence.disagreement_matrix(dict(zip(NAMES, deep, strict=True)), max_lists=10)

    # systems that two metrics swap, and under one metric
    judged = {f"q{i}": {"a": 3, "b": 1, "c": 1, "d": 0} for i in range(8)}
    ranked = {NAMES[0]: (4, 1, 2, 3), NAMES[1]: (1, 4, 3, 0), "c": (0, 0, 0, 1)}
    runs = {
        name: {query: dict(zip("abcd", map(float, scores), strict=True)) for query in judged}
        for name, scores in ranked.items()
    }
    metrics = {"steep": DCG([0, 0, 0, 1], [1, 0.9]), "flat": DCG([0, 1, 1, 1.0], [1, 1.0])}
    order = dl.system_order(judged, runs, metrics)
    yield order
    yield dl.system_order(judged, runs, "nDCG@5")
