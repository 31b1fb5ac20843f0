"""DCGs learned from experiments: power on held-out experiments, and false alarms in A/A tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dcglearn.foundation.intervals import normal_quantile
from dcglearn.foundation.plain_text import number_of
from dcglearn.foundation.progress import counted
from dcglearn.foundation.validation import Fields, Floats, InputError, InputTypeError
from dcglearn.learning.descriptions import DirectDescription
from dcglearn.learning.mean_encodings import MeanEncodings
from dcglearn.metrics.reading import BASELINE, ONLY_DCG, MetricLike, read_metric
from dcglearn.readers.cell_values import shown
from dcglearn.readers.experiments import Experiments
from dcglearn.trust.answers import OutcomesFit, compared_rows, with_interval
from dcglearn.trust.comparison import LEARNED, UTILITY, Row
from dcglearn.trust.resampling import N_RESAMPLES, bootstrap_counts, folds_of_units


def learn_from_experiments(
    experiments: Experiments,
    *,
    ridge: float = DirectDescription.ridge,
    baseline: MetricLike = BASELINE,
    random_state: int = 0,
) -> OutcomesFit:
    """Learn a DCG from experiments, and compare its sensitivity with nDCG's on held-out ones.

    Raises InputError if no outcome is known.

    The DCG is the most likely to have the signs of the outcomes: minus the log of ``e + (1 - 2 e)
    Phi(z)`` is least, z being the difference of its mean between the arms in standard errors, and
    e, learned too, the share of wrong outcomes. A/A tests are not learned from. The `held_out` of
    the result are shares of tests at 5%, ``|z| > 1.96``: known outcomes with the right and with the
    wrong sign, and A/A tests (Jeunen and Ustimenko 2024). Its `facts` say how many users a test
    needs for the power that it has with another metric: (mean z of the other / mean z of the
    learned DCG)^2.

    Parameters
    ----------
    experiments : Experiments
        What `read_experiments` reads.
    ridge : float
        Strength of the prior for smooth curves, as in `DCGLearner`.
    baseline : DCG, file or name
        The DCG used now, to compare with; so is the utility of the QP and, where lists are known,
        nDCG.
    random_state : int
        Seed of folds and bootstrap.

    See Also
    --------
    io.read_experiments : Read a file.

    Examples
    --------
    >>> arms = {"control": [[0.5, 0.5], [0.5, 0.5]], "treatment": [[0.4, 0.6], [0.5, 0.5]]}
    >>> line = {**arms, "outcome": "better", "covariance": (np.eye(4) / 100).tolist()}
    >>> lines = [{**line, "experiment": i} for i in range(3)]
    >>> dl.learn_from_experiments(dl.io.read_experiments(lines)).dcg.discounts.round(2).tolist()
    [1.0, 0.76]
    """
    if not isinstance(experiments, Experiments):
        raise InputTypeError(
            f"experiments is {shown(experiments)}; give what dl.io.read_experiments(path) returns"
        )

    # learn from the known outcomes
    decided = experiments[experiments.outcome != 0]
    if not len(decided):
        raise InputError(
            "no experiment has a known outcome, better or worse, so there is nothing to learn from"
        )
    ridge = DirectDescription(ridge=ridge).ridge
    fitted = _signed(decided)
    dcg = fitted.dcg(ridge)
    fewest = 10

    # with few, nothing is held out
    facts: dict[str, Any] = {"experiments": len(experiments), "with a known outcome": len(decided)}
    facts |= {f"left out, {reason}": n for reason, n in experiments.dropped.items()}
    about: Fields = {
        "source": f"{number_of(len(decided), 'experiments', ',')} with a known outcome",
        "claim": "makes {} of the known outcomes that were held out significant",
        "missing": f"it takes at least {fewest} known outcomes",
    }
    if len(decided) < fewest:
        return OutcomesFit(dcg, facts, **about)

    # the metrics to compare with
    in_use = read_metric(baseline, len(dcg.gains), dcg.depth, accept=ONLY_DCG, name="baseline")
    usual = in_use.utility.weights
    if usual.shape != dcg.utility.weights.shape:
        raise InputError(
            f"baseline is of shape {usual.shape}; "
            f"the experiments are of {dcg.utility.weights.shape}"
        )
    names = [LEARNED, UTILITY, baseline if isinstance(baseline, str) else "the metric in use"]
    names += ["nDCG"] * bool(np.isfinite(experiments.ndcg).all())

    # what they make of experiments that they were not learned from
    held_out, needed = _held_out(experiments, fitted, usual, names, ridge, random_state)
    return OutcomesFit(dcg, facts | needed, held_out, **about)


def _held_out(
    experiments: Experiments,
    fitted: MeanEncodings,
    usual: Floats,
    names: Sequence[str],
    ridge: float,
    random_state: int,
) -> tuple[dict[str, tuple[Row, ...]], dict[str, str]]:
    """Return the shares of significant tests by kind and metric, and the users that tests need.

    `fitted` are the experiments with known outcomes, `usual`, shape (K, L), the weights of the
    metric used now, and `names` those of the metrics, the learned DCG first.
    """
    decided, alike = experiments[experiments.outcome != 0], experiments[experiments.outcome == 0]

    def z_scores(some: Experiments, learned: MeanEncodings) -> Floats:
        """Return the z-score of each experiment by each metric, shape (M, n)."""
        weights = (learned.dcg(ridge).utility.weights, learned.qp().weights, usual)
        return np.array([*map(some.z_scores, weights), some.ndcg])[: len(names)]

    # hold out known outcomes; A/A tests are not learned from
    folds = folds_of_units(np.arange(len(decided)), random_state)
    signed = np.zeros((len(names), len(decided)))
    for train, test in counted(folds, len(folds), "held-out experiments"):
        signed[:, test] = z_scores(decided[test], _signed(decided[train])) * decided.outcome[test]
    kinds = {
        "held-out known outcomes that are significant": signed,
        "held-out known outcomes with the wrong sign": -signed,
        "held-out A/A tests that are significant": np.abs(z_scores(alike, fitted)),
    }

    # the share of significant ones
    held_out, needed = {}, {}
    for name, z in kinds.items():
        if z.shape[1]:
            significant = (z > normal_quantile(0.95)).astype(float)
            each = np.arange(z.shape[1])
            held_out[name] = compared_rows(significant, np.ones(len(each)), (each, each), names)

    # how many users a test needs, in samples of experiments; a mean z-score counts as .01 at least
    draws = bootstrap_counts(np.ones(len(decided)), N_RESAMPLES, random_state)
    means = np.maximum(draws @ signed.T / len(decided), 0.01)
    for name, mean in zip(names[1:], means.T[1:], strict=True):
        share = with_interval((mean / means[:, 0]) ** 2, ".2g")
        needed[f"users that an experiment needs, as a share of those with {name}"] = share
    return held_out, needed


def _signed(known: Experiments) -> MeanEncodings:
    """Return the differences of experiments with known outcomes, the better arm first."""
    difference = known.difference * known.outcome[:, None, None]
    return MeanEncodings(difference, known.covariance, known.grade_names)
