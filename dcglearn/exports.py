"""A learned DCG in other tools: what each can hold, what would be lost, and callables where numbers do not suffice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dcglearn.evaluation.arrays import evaluate_arrays
from dcglearn.foundation.validation import InputError, whole_number
from dcglearn.losses import ApproxNDCG
from dcglearn.losses.boosting import descent

if TYPE_CHECKING:
    from collections.abc import Callable

    from dcglearn.foundation.arrays import Floats, Integers
    from dcglearn.losses import Loss
    from dcglearn.metric.dcg import DCG

    Callables = tuple[Callable[..., Any], Callable[..., Any]]

SCALE = 1000
"""trec_eval allocates a table of the largest gain, so gains are not scaled further than needed."""


def is_log2(dcg: DCG) -> bool:
    """Say whether the discounts are those of every tool, 1 / log2(rank + 1), up to a factor."""
    usual = 1 / np.log2(np.arange(2.0, dcg.depth + 2))
    first = dcg.discounts[0]
    return bool(first > 0 and np.allclose(dcg.discounts / first, usual, rtol=1e-9))


def _refuse_lost_discount(dcg: DCG, tool: str, remedy: str, *, lossy: bool) -> None:
    if not lossy and not is_log2(dcg):
        usual = 1 / np.log2(np.arange(2.0, dcg.depth + 2))
        worst = int(np.abs(dcg.discounts / dcg.discounts[0] - usual).argmax())
        raise InputError(
            f"{tool} has no discounts but 1 / log2(rank + 1): at rank {worst + 1} it would count {usual[worst]:.3f} of "
            f"the first where this metric counts {dcg.discounts[worst] / dcg.discounts[0]:.3f}; {remedy}, or say lossy "
            "(--lossy) to take the gains alone"
        )


def integer_gains(dcg: DCG, scale: int | None = None) -> list[int]:
    """Return gains as whole numbers from 0, as trec_eval, pytrec_eval and ranx need them.

    Parameters
    ----------
    dcg : DCG
        With gains that do not fall.
    scale : int, optional
        What the best grade becomes; by default the gains themselves where they are whole, else 1000. NDCG is then off
        by at most about 1 / scale.

    Raises
    ------
    InputError
        If gains fall from one grade to the next, or two grades of different gains would be one number.
    """
    gains = dcg.gains - dcg.gains[0]
    if (np.diff(gains) < 0).any() or gains[-1] <= 0:
        raise InputError("gains that fall from a grade to the next cannot be written as judgements of these tools")
    if scale is None and (gains == np.round(gains)).all() and gains[-1] <= 100 * SCALE:
        return [int(gain) for gain in gains]
    top = SCALE if scale is None else whole_number(scale, "scale", 1)
    found = np.round(gains / gains[-1] * top).astype(int)
    if ((np.diff(found) == 0) & (np.diff(gains) > 0)).any():
        raise InputError(f"scale={top} makes one number of different gains, {found.tolist()}; give a larger one")
    return [int(gain) for gain in found]


def to_trec_eval(dcg: DCG, scale: int | None = None, *, lossy: bool = False) -> dict[str, Any]:
    """Return what trec_eval, pytrec_eval and ranx take: grades to write into the judgements, and the measure.

    Parameters
    ----------
    dcg, scale
        See `integer_gains`.
    lossy : bool
        Take the gains without the discounts.

    Raises
    ------
    InputError
        If the discounts are not log2 and `lossy` is not set, or gains fall.
    """
    _refuse_lost_discount(dcg, "trec_eval", "evaluate with dcglearn or ir_measures, which carry them", lossy=lossy)
    gains = dict(enumerate(integer_gains(dcg, scale)))
    return {"relevance_of_grade": gains, "measure": f"ndcg_cut.{dcg.depth}", "ranx": f"ndcg@{dcg.depth}"}


def to_lightgbm(dcg: DCG, *, lossy: bool = False) -> dict[str, Any]:
    """Return LightGBM's parameters for this metric: ``label_gain``, and where it is evaluated.

    Its ``lambdarank`` and ``ndcg`` know no discounts but log2, and keep ``label_gain`` for the whole process; the
    callables of `lightgbm_callables` have neither limit.

    Raises
    ------
    InputError
        If the discounts are others and `lossy` is not set.
    """
    _refuse_lost_discount(dcg, "LightGBM", "use lightgbm_callables, which carry them", lossy=lossy)
    gains = (dcg.gains - dcg.gains[0]).tolist()
    return {"label_gain": gains, "eval_at": [dcg.depth], "lambdarank_truncation_level": dcg.depth}


def lightgbm_callables(dcg: DCG, loss: Loss | None = None) -> Callables:
    """Return an objective and a metric for ``lightgbm.train``: ``params["objective"]`` and ``feval``.

    Parameters
    ----------
    dcg : DCG
        The metric, any gains and discounts.
    loss : Loss, optional
        What to train against; ``ApproxNDCG(dcg)`` by default.

    Returns
    -------
    objective : callable
        ``objective(scores, dataset) -> (gradient, hessian)``: what `BoostedRanker` follows, to be minimised.
    metric : callable
        ``metric(scores, dataset) -> ("NDCG", value, True)``.
    """
    followed = ApproxNDCG(dcg) if loss is None else loss

    def objective(scores: Floats, data: Any) -> tuple[Floats, Floats]:
        return _descent(followed, scores, data.get_label(), np.asarray(data.get_group()))

    def metric(scores: Floats, data: Any) -> tuple[str, float, bool]:
        return "NDCG", _mean_ndcg(dcg, scores, data.get_label(), np.asarray(data.get_group())), True

    return objective, metric


def xgboost_callables(dcg: DCG, loss: Loss | None = None) -> Callables:
    """Return an objective and a metric for ``xgboost.train``: ``obj`` and ``custom_metric`` (``maximize=True``).

    Parameters and returns are as in `lightgbm_callables`; the data needs ``group`` or ``qid``.
    """
    followed = ApproxNDCG(dcg) if loss is None else loss

    def objective(scores: Floats, data: Any) -> tuple[Floats, Floats]:
        return _descent(followed, scores, data.get_label(), _xgboost_groups(data))

    def metric(scores: Floats, data: Any) -> tuple[str, float]:
        return "NDCG", _mean_ndcg(dcg, scores, data.get_label(), _xgboost_groups(data))

    return objective, metric


def _xgboost_groups(data: Any) -> Integers:
    ends = data.get_uint_info("group_ptr")
    if len(ends) < 2:
        raise InputError("the DMatrix has no groups: give it group= or qid=")
    return np.diff(ends.astype(np.int64))


def _descent(loss: Loss, scores: Floats, labels: Floats, sizes: Integers) -> tuple[Floats, Floats]:
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    return descent(loss, np.asarray(scores, dtype=np.float64), labels.astype(np.int64), offsets)


def _mean_ndcg(dcg: DCG, scores: Floats, labels: Floats, sizes: Integers) -> float:
    width = int(sizes.max())
    grades, values = np.full((len(sizes), width), -1, dtype=np.int8), np.zeros((len(sizes), width))
    rows, columns = np.repeat(np.arange(len(sizes)), sizes), np.concatenate([np.arange(size) for size in sizes])
    grades[rows, columns], values[rows, columns] = labels, scores
    found = evaluate_arrays(grades, values, dcg)
    assert isinstance(found, np.ndarray)
    return float(found.mean())


def sklearn_scorer(dcg: DCG) -> Callable[..., float]:
    """Return a scorer for scikit-learn's ``scoring=``: mean NDCG, a row of targets a query.

    ``scorer(estimator, X, y)`` takes ``y`` of shape (Q, N), grades, and compares with ``estimator.predict(X)``.
    """
    from sklearn.metrics import make_scorer

    def score(y_true: Any, y_score: Any) -> float:
        found = evaluate_arrays(y_true, y_score, dcg)
        assert isinstance(found, np.ndarray)
        return float(found.mean())

    return make_scorer(score)


def cwl_continuation(dcg: DCG) -> list[float]:
    """Return cwl_eval's continuation probabilities, ``C(i) = W(i+1) / W(i)``, 0 after the last position.

    Raises
    ------
    InputError
        If the discounts are not positive and decreasing: a user who goes on with a probability above 1 there is not.
    """
    falls = dcg.discounts
    if (falls <= 0).any() or (np.diff(falls) > 1e-12 * falls[0]).any():
        raise InputError("cwl_eval needs positive discounts that never rise from one position to the next")
    return [*np.minimum(falls[1:] / falls[:-1], 1.0).tolist(), 0.0]


def cwl_gains(dcg: DCG) -> list[float]:
    """Return cwl_eval's gains, from 0 to 1."""
    return dcg.normalised().gains.tolist()


def ir_measure(dcg: DCG, name: str = "DCGlearned", *, normalise: bool = True) -> Any:
    """Return a measure for ir_measures, and so for PyTerrier, with its provider registered.

    Parameters
    ----------
    dcg : DCG
        The metric.
    name : str
        What it is called.
    normalise : bool
        NDCG rather than DCG.

    Returns
    -------
    ir_measures.Measure
        For ``ir_measures.calc_aggregate([measure, nDCG @ 10], qrels, run)`` or PyTerrier's ``eval_metrics``.

    Raises
    ------
    InputError
        If ir_measures is not installed, or has another measure of this name.
    """
    try:
        from dcglearn.evaluation.into_ir_measures import measure_of
    except ImportError as error:
        raise InputError("ir_measures is not installed: pip install 'dcglearn[ir]'") from error
    return measure_of(dcg, name, normalise)
