"""What boosted trees follow in place of the gradient: forces of what exchanging two documents would change."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dcglearn.foundation.threads import in_chunks
from dcglearn.losses import swap_kernel
from dcglearn.losses.rank_kernel import parts_of

if TYPE_CHECKING:
    from dcglearn.foundation.arrays import Floats
    from dcglearn.losses.objective import Batch
    from dcglearn.metric.dcg import DCG


COST = 16.0
"""What a pair costs here, in terms of one of soft ranks."""


def swap_lambdas(
    batch: Batch,
    dcg: DCG,
    discounts: Floats,
    alpha: float,
    kind: int,
    factor: Floats,
    damped: bool,
) -> tuple[Floats, Floats]:
    """Return the force on each document towards higher scores, and its curvature, shapes (n,).

    Parameters
    ----------
    batch : Batch
    dcg : DCG
        Where the gains come from.
    discounts : ndarray, shape (longest,)
    alpha : float
        Sharpness, per unit of score.
    kind : int
        The shape of a pair's step.
    factor : ndarray, shape (n_queries,)
        What each query's DCG is multiplied by, its weight left aside.
    damped : bool
        Whether the forces of a query that sum to S are brought to log2(1 + S).
    """
    values, classes = np.unique(dcg.gains, return_inverse=True)
    gains, ranks = dcg.gains[batch.grades], classes.astype(np.int64)[batch.grades]
    forces, curvature = np.empty(len(gains)), np.empty(len(gains))

    def part(_: int, first: int, last: int) -> None:
        swap_kernel.exchange(
            batch.scores, ranks, len(values), gains, batch.offsets, discounts, alpha, kind, damped, factor,
            first, last, forces, curvature,
        )  # fmt: skip

    in_chunks(part, batch.n_queries, min(parts_of(COST * batch.n_pairs), batch.n_queries))
    weight = np.repeat(batch.weight, np.diff(batch.offsets))
    return weight * forces, weight * curvature
