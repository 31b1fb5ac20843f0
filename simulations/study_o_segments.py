"""Study o: what are the false-positive rate and the power of the segment test?

It tests whether segments need DCGs of their own.
"""

from functools import partial

import numpy as np

import dcglearn as dl
from simulations.claims import Claim
from simulations.run import curves, legend, main, repeated

STEM, REPEATS, PANELS, FIGSIZE = "study_o_segments", 100, 1, (5.0, 3.4)
SIZES = (50, 150)
LISTS, DEPTH, TEMPERATURE = "free", 5, 0.1
FIRST = dl.DCG([0, 0.1, 0.2, 0.6, 1], 1 / np.arange(1, DEPTH + 1))
"""The DCG of those who look for the best document, on top."""

OTHERS = {
    "one population": FIRST,
    "two populations": dl.DCG([0, 0.6, 0.8, 0.9, 1], 1 / np.log2(np.arange(DEPTH) + 2)),
}
"""The DCG of the second segment: the same, or that of those who read on and take any relevant
document.
"""


def trial(rng, kind, n):
    """Test one log of two segments of n pairs each.

    The judgements have logistic noise at a tenth of the top gain.
    """
    parts = [
        dl.simulate.preference_pairs(
            truth, n, lists=LISTS, temperature=TEMPERATURE, random_state=rng
        )
        for truth in (FIRST, OTHERS[kind])
    ]
    preferred, other = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("preferred", "other")
    )
    log = dl.Preferences(
        preferred, other, n_grades=FIRST.n_grades, segment=np.repeat(["first", "second"], n)
    )
    result = dl.trust.segment_test(log, random_state=int(rng.integers(2**31)))
    return {"gain": result.gain, "error": result.error, "found": int(result.found)}


def simulate(seed, repeats, quick, jobs):
    """Yield one record per kind of log, size and repeat."""
    settings = [{"kind": kind, "n": n} for kind in OTHERS for n in (SIZES[:1] if quick else SIZES)]
    yield from repeated(trial, settings, repeats=repeats, seed=seed, jobs=jobs)


def plot(table, axes):
    """Draw how often segments are found against the number of pairs."""
    curves(table, axes, "n", "found", lines="kind")
    axes.set_title("How often populations that differ are found")
    axes.axhline(0.05, color="0.5", lw=0.8, ls=":")
    axes.set(
        xscale="log",
        xlabel="pairs in each segment",
        ylabel="share of logs with segments found",
        ylim=(-0.02, 1.02),
    )
    axes.set_xticks(SIZES, [str(n) for n in SIZES])
    axes.minorticks_off()
    legend(axes, "truth")


def claims(table):
    """Yield our claims."""
    claim = partial(Claim, table, "ours", "study o", value="found")
    for n in SIZES:
        text = f"one population is called two in at most 5% of logs of {n} pairs each"
        yield claim(text, rows={"kind": "one population", "n": n}, level=0.05)
    for n in SIZES:
        text = f"two populations are found in over 80% of logs of {n} pairs each"
        yield claim(text, rows={"kind": "two populations", "n": n}, low=0.8)


if __name__ == "__main__":
    main(__name__)
