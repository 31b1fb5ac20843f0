"""The learned DCG beside the QP and textbook DCGs on held-out pairs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import starmap
from typing import Any

import numpy as np

from dcglearn.foundation.intervals import student_quantile
from dcglearn.foundation.validation import Floats, Indices, InputError
from dcglearn.learning.fit import AnyFit, Fit, fit_of, warn_of
from dcglearn.learning.fit_qp import QPFit, fit_qp
from dcglearn.learning.options import DCGOptions, Learner, QPOptions
from dcglearn.logs.preference_pairs import Metric, PreferencePairs
from dcglearn.metrics.dcg import DCG, textbook_dcgs
from dcglearn.metrics.reading import BASELINE, MetricLike, metric_in_use
from dcglearn.metrics.textbook import textbook_scores
from dcglearn.reading.in_memory import as_preferences
from dcglearn.reading.preferences import Preferences
from dcglearn.trust.calibration import Calibration
from dcglearn.trust.ceiling import ceiling_of
from dcglearn.trust.coins import tells_nothing
from dcglearn.trust.comparison import ADDED_UP, LEARNED, LIST_VALUES, QP, Comparison, Row
from dcglearn.trust.cross_validation import choose_C
from dcglearn.trust.fit_learner import fit_learner
from dcglearn.trust.held_out_frame import HeldOut, held_out_frame, values_of
from dcglearn.trust.resampling import (
    FEWEST_HELD_OUT,
    FEWEST_TESTED,
    FOLDS_OF_LISTS,
    decided_pairs,
    folds,
    half_test,
    no_more_lists,
    speaks_of,
    unit_of,
)


def compare_learners(
    train: Preferences,
    held_out: Preferences,
    learner: Learner | None = None,
    *,
    baseline: MetricLike = BASELINE,
    C: float | str = "auto",
    random_state: int = 0,
) -> Comparison:
    """Learn from one log; compare the learners and the textbook DCGs on another.

    Rows of the result are the learned DCG, the QP's utility, the textbook DCG that is best in
    training, and the metric used now. Intervals are over the coarsest unit of `held_out` of which
    there are three: raters, queries, lists that recur, or else pairs. Raises InputError if the logs
    differ in shape, or one of them holds too little.

    Parameters
    ----------
    train, held_out : Preferences
        Two logs, such as the two parts of `Preferences.split`.
    learner : DCGLearner, optional
        Learner whose settings are used; by default ``DCGLearner()``.
    baseline : DCG, ListUtility, file or name
        The metric used now, as `metric` reads it; a name without ``@K`` is as deep as the lists of
        the log.
    C : float or "auto"
        C of the paper's QP; "auto" chooses it by cross-validation on the training part.
    random_state : int
        Seed of folds.

    See Also
    --------
    bands : How exactly the parameters are known.
    noise_ceiling : Two shares, between which lies what any metric could reach.

    Examples
    --------
    >>> truth = dl.simulate.ground_truth("D2")
    >>> log = dl.simulate.preference_pairs(truth, 600, n_flips=60, random_state=0)
    >>> comparison = compare_learners(*log.split(0.5, random_state=0))
    >>> comparison["learned DCG"].share > comparison["QP utility"].share
    True
    """
    # the logs are of one shape
    train, held_out = as_preferences(train), as_preferences(held_out)
    if (train.n_grades, train.depth) != (held_out.n_grades, held_out.depth):
        raise InputError(
            f"the training log has {train.n_grades} grades and {train.depth} positions, the "
            f"held-out log {held_out.n_grades} and {held_out.depth}: read both with the same "
            "n_grades= and depth="
        )

    # learn, and compare
    learned = fit_learner(train, DCGOptions.of(learner))
    warn_of(learned)
    return compare_dcg(learned, train, held_out, baseline=baseline, C=C, random_state=random_state)


def compare_dcg(
    learned: AnyFit,
    train: Preferences,
    held_out: Preferences,
    *,
    baseline: MetricLike,
    C: float | str,
    random_state: int,
) -> Comparison:
    """Compare what was learned from `train` with other metrics; see `compare_learners`."""
    held_out = held_out.decided
    if not len(held_out):
        raise InputError(
            "no held-out pair has a winner, so there is nothing to compare on: hold out more pairs"
        )

    # the QP, whose C needs a few pairs to be chosen
    if C == "auto":
        enough = len(decided_pairs(train.merged())) >= FEWEST_TESTED
        C = choose_C(train, QPOptions(tol=1e-5), random_state=random_state).C if enough else 1.0
    qp = fit_qp(train, QPOptions(C=float(C)))

    # all pairs are one fold
    dcg = learned.dcg if isinstance(learned, Fit) else learned.factor().dcg
    return _compared(
        held_out,
        [(train, np.arange(len(held_out)))],
        {LEARNED: lambda _: dcg, **_added_up(learned), QP: lambda _: qp.utility},
        baseline=baseline,
        unit=unit_of(held_out),
        random_state=random_state,
        coins=tells_nothing(train) and tells_nothing(held_out),
    )


def cross_fitted(
    log: Preferences,
    learner: Learner | QPFit | None = None,
    *,
    baseline: MetricLike = BASELINE,
    random_state: int = 0,
) -> Comparison:
    """Compare the learned metric, the best textbook DCG and the current one on all pairs of a log.

    Each pair is judged by what was learned, or chosen, from the folds without it. Raters or queries
    are held out whole where there are ten of them; intervals are over the coarsest unit of which
    there are three. Raises InputError if too few pairs can be held out.
    """
    pairs = decided_pairs(log)
    if isinstance(learner, QPFit):
        qp = replace(learner.options, n_grades=pairs.n_grades)

        def learn(train: Preferences) -> DCG:
            return fit_qp(train, qp).factor(normalise_gains=True).dcg

    else:
        options = replace(DCGOptions.of(learner), n_grades=pairs.n_grades)

        def learn(train: Preferences) -> DCG:
            return fit_learner(train, options).dcg

    held_out_by = unit_of(pairs, fewest=FEWEST_HELD_OUT)
    no_more = no_more_lists(pairs, held_out_by, FOLDS_OF_LISTS, FEWEST_HELD_OUT)
    parts = folds(pairs.clusters(held_out_by), random_state, fewest=30, remedy=no_more)
    return _compared(
        pairs,
        [(pairs[train], test) for train, test in parts],
        {LEARNED: learn, **_added_up(learner)},
        baseline=baseline,
        unit=unit_of(pairs),
        random_state=random_state,
        coins=tells_nothing(log),
    )


def _added_up(learner: Any) -> dict[str, Callable[[Preferences], Metric]]:
    """Return the learner of the plain form, where another was chosen."""
    fit = learner if isinstance(learner, QPFit) else fit_of(learner)
    if not isinstance(fit, Fit) or fit.lead is None or fit.form == fit.options.plain:
        return {}
    plain = replace(fit.options.plain, n_grades=fit.dcg.n_grades)
    return {ADDED_UP: lambda train: fit_learner(train, plain).dcg}


def _compared(
    held_out: Preferences,
    parts: Sequence[tuple[Preferences, Indices]],
    learners: Mapping[str, Callable[[Preferences], Metric]],
    *,
    baseline: MetricLike,
    unit: str,
    random_state: int,
    coins: bool,
) -> Comparison:
    """Return the comparison of metrics on pairs that they were learned, or chosen, without.

    `parts` hold a log to learn from, and the rows of `held_out` that it lacks. `learners` return
    the metric of a log, the learned one first; beside them stand the best textbook DCG and the
    metric in use.
    """
    baseline_name, in_use = metric_in_use(baseline, held_out.n_grades, held_out.depth)
    chosen = []

    def values_without(train: Preferences, test: Indices) -> Floats:
        """Return the values of the pairs of a fold."""
        name, textbook = best_textbook(train.decided)
        chosen.append(baseline_name if textbook == in_use else f"{name}@{held_out.depth}")
        metrics = [*(learn(train) for learn in learners.values()), textbook, in_use]
        return np.stack([values_of(metric, held_out[test]) for metric in metrics], axis=1)

    units = held_out.clusters(unit)
    frame = held_out_frame(held_out, units, parts, starmap(values_without, parts), "held out")

    # a row each, one where the best textbook DCG is the metric in use
    textbook = max(chosen, key=chosen.count)
    best = f"{textbook} (best textbook DCG in training)"
    names = [*learners, textbook if textbook == baseline_name else best, baseline_name]
    rows = {name: place for place, name in enumerate(names)}
    frame = replace(frame, values=frame.values[:, [*rows.values()]])

    # the pairs on which the learned metric and the one in use choose different lists
    learned, other = 2 * frame.right[[0, -1]] - 1
    signs = np.where(learned * other < 0, learned, 0.0)
    p_value, with_learned = half_test(signs, frame.weight, frame.clusters)

    # the ceiling, and what is reached on its pairs by the learned metric and by list values
    held_out = held_out[frame.rows]
    ceiling, no_ceiling = ceiling_of(held_out, random_state)
    recurring: tuple[Row, ...] = ()
    if ceiling is not None:
        right = np.stack([frame.right[0, ceiling.rows], ceiling.right])
        same = HeldOut.of(held_out, held_out.clusters(unit), ceiling.rows, right[None])
        recurring = rows_of([LEARNED, LIST_VALUES], same)

    # how sure people are, beside how sure they were said to be
    chances = np.exp(frame.values[1, 0])
    calibration = None
    if not np.isnan(chances).any():
        calibration = Calibration.of(chances, frame.weight, frame.clusters)

    # rows and tests together
    return Comparison(
        rows=rows_of([*rows], frame),
        baseline=baseline_name,
        textbook=textbook,
        n_train=max(len(train.decided) for train, _ in parts),
        n_held_out=len(held_out),
        by=unit,
        whom_of=speaks_of(held_out, unit),
        ceiling=ceiling,
        recurring=recurring,
        no_ceiling=no_ceiling,
        apart=int(np.count_nonzero(signs)),
        with_learned=with_learned,
        p_value=p_value,
        calibration=calibration,
        tells_nothing=coins,
        rated=held_out.ratings is not None,
    )


def best_textbook(pairs: PreferencePairs) -> tuple[str, DCG]:
    """Return the name of the textbook DCG that respects most of the preferences, and this."""
    shape = pairs.n_grades, pairs.depth
    best = int(np.argmax(pairs.verdicts(textbook_scores(*shape)) @ pairs.weights))
    return [*textbook_dcgs(*shape).items()][best]


def rows_of(names: Sequence[str], frame: HeldOut) -> tuple[Row, ...]:
    """Return a row for each metric: the share of held-out pairs, and the first metric's lead.

    Beside the pairs, a lead counts half a pair on average of which nobody knows for either metric,
    as in Agresti and Min 2005: that few pairs, or none, tell two metrics apart does not prove that
    they are equally good.
    """
    shares = frame.right @ frame.weight / frame.weight.sum()

    # leads with the pairs that nobody knows, of which the number ahead has the variance 1
    (behind, *_), (errors, *_), n_units = frame.leads()
    n = len(frame.rows)
    leads = np.append(0.0, -behind[1:] * n / (n + 2))
    reach = student_quantile(n_units) * np.hypot(errors * n, 1.0) / (n + 2)
    reach[0] = 0.0

    # a row each
    ends = (leads - reach, leads + reach)
    columns = np.column_stack([shares, shares[0] - shares, *ends]).tolist()
    return tuple(Row(name, *row) for name, row in zip(names, columns, strict=True))
