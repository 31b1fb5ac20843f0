"""Study x: does the test of falling discounts find readers who also attend to the end?

The study also asks what free discounts gain or cost.
"""

from functools import partial

import numpy as np

import dcglearn as dl
from simulations.claims import Claim
from simulations.run import curves, legend, main, repeated

STEM, REPEATS, PANELS, FIGSIZE = "study_x_free_discounts", 70, 1, (5.0, 3.4)
LEVEL, TEMPERATURE, N_UNSEEN = 0.05, 0.1, 2000
SIZES = (100, 200, 500)
FALLING = 1 / np.log2(np.arange(2.0, 12.0))
READERS = {"top": FALLING, "both ends": np.maximum(FALLING, FALLING[::-1])}
"""Discounts of readers who read from the top, and of those who lose what stands in the middle."""


def trial(rng, reader, n):
    """Test one log of free lists, and learn from it with falling and with free discounts.

    A tenth of the verdicts is wrong.
    """
    truth = dl.DCG(np.arange(5) / 4, READERS[reader])
    log = dl.simulate.preference_pairs(
        truth, n, lists="free", temperature=TEMPERATURE, n_flips=n // 10, random_state=rng
    )
    unseen = dl.simulate.preference_pairs(truth, N_UNSEEN, lists="free", random_state=rng)
    falling, free = (
        dl.DCGLearner(discounts=word).fit(log).score(unseen) for word in ("falling", "free")
    )
    p = dl.trust.rising_discounts(log).p_value
    return {
        "p_value": p,
        "rejected": int(p <= LEVEL),
        "falling": falling,
        "free": free,
        "gain": free - falling,
    }


def simulate(seed, repeats, quick, jobs):
    """Yield one record per reader, number of pairs and repeat."""
    settings = [
        {"reader": reader, "n": n} for reader in READERS for n in ((100,) if quick else SIZES)
    ]
    yield from repeated(trial, settings, repeats=repeats, seed=seed, jobs=jobs)


def plot(table, axes):
    """Draw the rejection rate against the number of pairs."""
    curves(table, axes, "n", "rejected", lines="reader")
    axes.axhline(LEVEL, color="0.4", lw=0.8, ls=(0, (4, 3)))
    axes.set(
        xscale="log", xlabel="number of pairs", ylabel="share of logs rejected", ylim=(-0.02, 1.02)
    )
    axes.set_xticks(sorted(table["n"].unique()), [f"{n:,}" for n in sorted(table["n"].unique())])
    axes.minorticks_off()
    axes.set_title("Logs rejected by the test of\nfalling discounts")
    legend(axes, "reader starts at", fontsize=7)


def claims(table):
    """Yield our claims."""
    claim = partial(Claim, table, "ours", "study x")
    for n in SIZES:
        text = f"a test of falling discounts rejects at most 5% of the top's readers, {n} pairs"
        yield claim(text, "rejected", {"reader": "top", "n": n}, level=0.05)
    for n in (200, 500):
        text = f"it detects readers of both ends in over 80% of logs of {n} pairs, a tenth wrong"
        yield claim(text, "rejected", {"reader": "both ends", "n": n}, low=0.8)
    text = "free discounts respect at least 2% more of their unseen pairs from 200 pairs"
    yield claim(text, "gain", {"reader": "both ends", "n": 200}, low=0.02)
    text = (
        "free discounts cost less than 1% of the unseen pairs of readers from the top at 200 pairs"
    )
    yield claim(text, "gain", {"reader": "top", "n": 200}, low=-0.01)


if __name__ == "__main__":
    main(__name__)
