"""The learned DCG beside the QP and textbook DCGs on held-out pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dcglearn.foundation.intervals import Clusters, student_quantile
from dcglearn.foundation.progress import counted
from dcglearn.foundation.validation import Floats, Grades, InputError
from dcglearn.learning.descriptions import (
    DirectDescription,
    DirectFit,
    DirectLearner,
    Fit,
    QPDescription,
    warn_of,
)
from dcglearn.learning.fit_utility import fit_qp
from dcglearn.logs.preference_pairs import Metric
from dcglearn.metrics.dcg import DCG
from dcglearn.metrics.reading import BASELINE, MetricLike, metric_in_use
from dcglearn.metrics.textbook_lists import textbook_list_metrics
from dcglearn.reading.in_memory import as_preferences
from dcglearn.reading.preferences import Preferences
from dcglearn.trust.blend import best_textbook
from dcglearn.trust.calibration import Calibration
from dcglearn.trust.ceiling import ceiling_of
from dcglearn.trust.coins import tells_nothing
from dcglearn.trust.comparison import LEARNED, Comparison, Row
from dcglearn.trust.cross_validation import choose_C
from dcglearn.trust.fit_learner import fit_learner
from dcglearn.trust.held_out_frame import HeldOut
from dcglearn.trust.resampling import (
    FEWEST_HELD_OUT,
    decided_pairs,
    folds_of,
    sign_test,
    speaks_of,
    unit_of,
)


def compare_learners(
    train: Preferences,
    held_out: Preferences,
    learner: DirectLearner | None = None,
    *,
    baseline: MetricLike = BASELINE,
    C: float | str = "auto",
    by: str | None = None,
    random_state: int = 0,
) -> Comparison:
    """Learn from one log; compare the learners and the textbook DCGs on another.

    Rows of the result are the learned DCG, the QP's factors and utility, the textbook DCG that is
    best in training, the metric used now, and the `textbook_list_metrics` that are best in
    training. Raises InputError if the logs differ in shape, or one of them holds too little.

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
    by : {"pair", "rater", "query", "list"}, optional
        Unit of `held_out` that intervals are over; by default the coarsest of which there are
        three: raters, queries, lists that recur, or else pairs.
    random_state : int
        Seed of folds.

    See Also
    --------
    bands : How exactly the parameters are known.
    noise_ceiling : The share that any metric could reach.

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
    learned = fit_learner(train, DirectDescription.of(learner))
    warn_of(learned)
    return compare_dcg(
        learned, train, held_out, baseline=baseline, C=C, by=by, random_state=random_state
    )


def compare_dcg(
    learned: Fit,
    train: Preferences,
    held_out: Preferences,
    *,
    baseline: MetricLike,
    C: float | str,
    random_state: int,
    by: str | None = None,
) -> Comparison:
    """Compare what was learned from `train` with other metrics; see `compare_learners`."""
    held_out = held_out.decided
    if not len(held_out):
        raise InputError(
            "no held-out pair has a winner, so there is nothing to compare on: hold out more pairs"
        )
    unit = unit_of(held_out) if by is None else by

    # the QP, whose C needs a few pairs to be chosen
    if C == "auto":
        enough = len(train.merged()) >= 10
        C = choose_C(train, QPDescription(tol=1e-5), random_state=random_state).C if enough else 1.0
    qp = fit_qp(train, QPDescription(C=float(C)))
    factored = qp.factor().dcg

    # what was learned comes first
    dcg = learned.dcg if isinstance(learned, DirectFit) else learned.factor().dcg
    metrics: dict[str, Metric] = {LEARNED: dcg}
    if factored != dcg:
        metrics["QP + SVD"] = factored
    metrics["QP utility"] = qp.utility

    # then textbooks and the metric used now
    baseline_name, baseline_dcg = metric_in_use(baseline, train.n_grades, train.depth)
    name, textbook = best_textbook(train.decided)
    best = f"{name}@{train.depth}"
    metrics[_named(best, baseline_name)] = textbook
    metrics.setdefault(baseline_name, baseline_dcg)
    metrics |= _of_lists(train)

    # compare them by their verdicts
    verdicts = {name: held_out.verdicts(metric) for name, metric in metrics.items()}
    n_train, n_held_out = len(train.decided), len(held_out)
    tossed = tells_nothing(train) and tells_nothing(held_out)
    names = Comparison((), baseline_name, best, n_train, n_held_out, by=unit, tells_nothing=tossed)
    chances = _chances(learned.metric, held_out)
    return _with_numbers(names, held_out, verdicts, chances, random_state)


def _chances(metric: Any, pairs: Preferences) -> Floats | None:
    """Return the chance that who decides prefers as the pairs say, shape (n,); None if unknown."""
    judges = getattr(metric, "judges", None)
    if judges is None:
        return None
    shares = judges.chances(pairs.gaps(metric))
    chances: Floats = shares[:, 0] / (shares[:, 0] + shares[:, 2])
    return chances


def _named(best: str, baseline: str) -> str:
    """Return the name of the row of the best textbook DCG, which may be the metric used now."""
    return best if best == baseline else f"{best} (best textbook DCG in training)"


def cross_fitted(
    log: Preferences,
    learner: DirectLearner | None = None,
    *,
    baseline: MetricLike = BASELINE,
    random_state: int = 0,
    llm: DCG | None = None,
) -> Comparison:
    """Compare the learned metric, the best textbook DCG and the current one on all pairs of a log.

    Each pair is judged by what was learned, or chosen, from the folds without it. Raters or queries
    are held out whole where there are ten of them; intervals are over the coarsest unit of which
    there are three. `llm` is the DCG of an LLM judge, which knows
    nothing of the log. Raises InputError if too few pairs can be held out.
    """
    pairs = decided_pairs(log)
    description = replace(DirectDescription.of(learner), n_grades=pairs.n_grades)
    unit = unit_of(pairs)
    baseline_name, baseline_dcg = metric_in_use(baseline, pairs.n_grades, pairs.depth)

    # verdicts of the learned metric and of the best textbook, learned and chosen without the pairs
    verdicts = np.zeros((2, len(pairs)), np.int8)
    chosen = []
    chances = np.full(len(pairs), np.nan)
    folds = folds_of(pairs, unit_of(pairs, fewest=FEWEST_HELD_OUT), random_state)
    for train, test in counted(folds, len(folds), "held out"):
        part = pairs[train]
        fitted = fit_learner(part, description, llm=llm)
        name, textbook = best_textbook(part)
        chosen.append(name)

        # their verdicts on the others
        verdicts[:, test] = [pairs[test].verdicts(metric) for metric in (fitted.metric, textbook)]
        chances[test] = _chances(fitted.metric, pairs[test])

    # beside them the metric used now
    best = f"{max(chosen, key=chosen.count)}@{pairs.depth}"
    of_metrics = {LEARNED: verdicts[0], _named(best, baseline_name): verdicts[1]}
    of_metrics[baseline_name] = pairs.verdicts(baseline_dcg)
    n_train = max(len(train) for train, _ in folds)
    says_nothing = tells_nothing(log)
    names = Comparison(
        (), baseline_name, best, n_train, len(pairs), by=unit, tells_nothing=says_nothing
    )
    return _with_numbers(names, pairs, of_metrics, chances, random_state)


def _with_numbers(
    names: Comparison,
    held_out: Preferences,
    verdicts: Mapping[str, Grades],
    chances: Floats | None,
    random_state: int,
) -> Comparison:
    """Return a comparison, of which `names` says what is compared, with rows and tests.

    `verdicts` are those of the metrics on the held-out pairs, shape (n,) each, the learned metric's
    first; `chances`, shape (n,), are those that it gives the preferences, NaN or None where it does
    not know its judges.
    """
    # a row each
    unit = names.by
    table = np.stack([*verdicts.values()])
    frame = HeldOut.of(held_out, unit, np.arange(len(held_out)), (table[None] + 1) / 2)
    weight = frame.weight
    rows = rows_of([*verdicts], frame)

    # the pairs on which the learned metric and the one used now choose different lists
    learned = table[0]
    signs = np.where(learned * verdicts[names.baseline] < 0, learned, 0.0)
    p_value, with_learned = half_test(signs, weight, frame.clusters)

    # how far the ceiling is
    ceiling, no_ceiling = ceiling_of(held_out, random_state)
    reached = None
    if ceiling is not None:
        reached = float(frame.shares(ceiling.rows)[0])

    # how sure people are, beside how sure they were said to be
    calibration = None
    if chances is not None and not np.isnan(chances).any():
        calibration = Calibration.of(chances, weight, frame.clusters)

    # rows and tests together
    return replace(
        names,
        rows=rows,
        whom_of=speaks_of(held_out, unit),
        ceiling=ceiling,
        reached=reached,
        no_ceiling=no_ceiling,
        apart=int(np.count_nonzero(signs)),
        with_learned=with_learned,
        p_value=p_value,
        calibration=calibration,
        signs=signs,
    )


def rows_of(names: Sequence[str], frame: HeldOut) -> tuple[Row, ...]:
    """Return a row for each metric: the share of held-out pairs, and the first metric's lead.

    Beside the pairs, a lead counts half a pair on average of which nobody knows for either metric,
    as in Agresti and Min 2005: that few pairs, or none, tell two metrics apart does not prove that
    they are equally good.
    """
    shares = frame.means()[0]
    precisions = (frame.right == 1) @ frame.weight / frame.weight.sum()

    # leads with the pairs that nobody knows, of which the number ahead has the variance 1
    (behind, *_), (errors, *_), n_units = frame.leads()
    n = len(frame.rows)
    leads = np.append(0.0, -behind[1:] * n / (n + 2))
    reach = student_quantile(n_units) * np.hypot(errors * n, 1.0) / (n + 2)
    reach[0] = 0.0

    # a row each
    ends = (leads - reach, leads + reach)
    columns = np.column_stack([shares, precisions, shares[0] - shares, *ends]).tolist()
    return tuple(Row(name, *row) for name, row in zip(names, columns, strict=True))


def half_test(signs: Floats, weight: Floats, clusters: Clusters) -> tuple[float, float]:
    """Return the p-value of signs, shape (n,), and the share of positive ones; 0 is neither."""
    apart = np.flatnonzero(signs)
    if not len(apart):
        return 1.0, 0.5
    first, second = clusters
    p_value = sign_test(signs[apart], weight[apart], (first[apart], second[apart]))
    return p_value, float(np.average(signs[apart] > 0, weights=weight[apart]))


def _of_lists(train: Preferences) -> dict[str, Metric]:
    """Return the textbook metrics of lists, each with the parameter that is best in training."""
    chosen: dict[str, Metric] = {}
    for family in textbook_list_metrics(train.n_grades, train.depth).values():
        shares = {name: train.agreement(metric).share for name, metric in family.items()}
        name = max(shares, key=shares.__getitem__)
        chosen[f"{name} (fitted in training)" if len(family) > 1 else name] = family[name]
    return chosen
