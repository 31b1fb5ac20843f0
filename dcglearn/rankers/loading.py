"""Reading a saved model of any kind (`load_ranker`)."""

from __future__ import annotations

from dcglearn.foundation.validation import PathLike
from dcglearn.metrics.reading import MetricLike
from dcglearn.rankers.model_files import read_model
from dcglearn.rankers.ranker import Ranker


def load_ranker(path: PathLike, metric: MetricLike | None = None) -> Ranker:
    """Read a fitted ranker that `Ranker.save` wrote.

    Raises InputError if the folder is not a model, is damaged, of a later version, or was trained
    for other gains or discounts than those of a `metric` that is given.

    See Also
    --------
    read_queries : Read what is to be ranked.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> queries = dl.simulate.letor_queries(10, random_state=0)
    >>> ranker = dl.rankers.RidgeRanker().fit(queries)
    >>> with TemporaryDirectory() as folder:
    ...     ranker.save(f"{folder}/model")
    ...     again = dl.load_ranker(f"{folder}/model")
    >>> bool((again.predict(queries) == ranker.predict(queries)).all())
    True
    """
    from dcglearn.rankers.linear import LinearRanker
    from dcglearn.rankers.linear_model import RankSVMRanker, RidgeRanker
    from dcglearn.rankers.sparse import SparseRanker
    from dcglearn.rankers.trees import BoostedRanker

    linear = LinearRanker, SparseRanker, RidgeRanker, RankSVMRanker
    kinds = {kind.__name__: kind for kind in (*linear, BoostedRanker)}
    return read_model(path, kinds, metric)
