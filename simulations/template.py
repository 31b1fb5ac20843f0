"""Study template: how many judgements does a learned DCG need to beat the textbook?

``python -m simulations --new NAME`` copies this file to ``study_NAME.py``.

Change from top to bottom: what one repeat does (`trial`), for which settings (`simulate`), the
picture (`plot`), and what you claim before you look (`claims`).
"""

import dcglearn as dl
from simulations.claims import Claim
from simulations.findings import headline
from simulations.run import curves, legend, main, repeated, zero_line

STEM, REPEATS, PANELS, FIGSIZE = "template", 20, 1, (4.5, 3.2)
COUNTS = (20, 50, 100, 200)
TRUTHS = {
    "mine": dl.DCG(
        gains=[0, 0.2, 0.6, 0.9, 1], discounts=[1, 0.9, 0.7, 0.5, 0.4, 0.3, 0.2, 0.2, 0.1, 0.1]
    ),
    "exponential-log2": dl.DCG.standard(5, 10),
}
"""What your people may value, by name: any DCG, or another metric."""


def trial(rng, truth, n):
    """Learn from `n` judgements; return the precision of the learned and the textbook DCG.

    Precision is the share of new pairs that a DCG orders as the truth does.
    """
    true = TRUTHS[truth]
    train = dl.simulate.preference_pairs(true, n, lists="free", flip_rate=0.1, random_state=rng)
    test = dl.simulate.preference_pairs(true, 2000, lists="free", random_state=rng)
    learned = dl.DCGLearner(n_grades=5, loss="robust").fit(train).score(test)
    textbook = test.agreement(dl.DCG.standard(5, 10)).precision
    return {"learned": learned, "textbook": textbook, "gain": learned - textbook}


def simulate(seed, repeats, quick, jobs):
    """Yield one record per true DCG, number of judgements and repeat."""
    counts = COUNTS[:1] + COUNTS[-1:] if quick else COUNTS
    settings = [{"truth": truth, "n": n} for truth in TRUTHS for n in counts]
    yield from repeated(trial, settings, repeats=repeats, seed=seed, jobs=jobs)


def plot(table, axes):
    """Draw how far the learned DCG is ahead of the textbook."""
    curves(table, axes, "n", "gain")
    zero_line(axes)
    axes.set(xlabel="judgements, 10% wrong", ylabel="precision: learned minus textbook")
    finding, part = "The learned DCG beats a textbook that is wrong", "beats exponential-log2"
    axes.set_title(headline(claims(table), finding, "Lead over the textbook", part))
    legend(axes, "true DCG")


def claims(table):
    """Yield what is claimed before the run: a range of the mean, for rows of the table."""
    behind = (
        "the learned DCG is at most .05 behind where exponential-log2 is the truth: {} judgements"
    )
    least = {
        "mine": ("the learned DCG beats exponential-log2 with {} judgements", 0.0),
        "exponential-log2": (behind, -0.05),
    }
    for truth, (text, low) in least.items():
        for n in (COUNTS[0], COUNTS[-1]):
            rows = {"truth": truth, "n": n}
            study = STEM.replace("_", " ")
            yield Claim(table, "ours", study, text.format(n), "gain", rows, low=low)


if __name__ == "__main__":
    main(__name__)
