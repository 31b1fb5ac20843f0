"""The pairs of the QP, and its kernel: sums over them, computed from int8 grades.

Let ``d_i = s(a_i) - s(b_i)`` be the difference of two lists' binary encodings (K x L, never
formed), ``v_i`` the weight of the pair, ``m_i`` its margin and ``xi_i = max(0, m_i - <W, d_i>)``
its shortfall. A squared hinge needs ``sum v xi^2``, ``sum v xi m``, ``sum v xi d``, and ``sum v d
d^T`` over the pairs with ``xi_i > 0``. Sums over parts of a log add up to the sums over the log.
"""

from dataclasses import dataclass

import numpy as np

from dcglearn.foundation.added import AddedByField
from dcglearn.foundation.threads import sum_over_chunks
from dcglearn.foundation.validation import Floats, Grades
from dcglearn.kernels.library import function
from dcglearn.logs.thinning import Weighted

_add_pairs = function(
    "add_pairs start stop depth width curved margins weights b[stop*depth] b[stop*depth] "
    "f[min(stop,stop**margins)] f[min(stop,stop**weights)] f[depth*width] f[2]! f[depth,width]+ "
    "f[depth,curved*width,depth,curved*width]+ l[depth]~ l[depth]~ f[depth]~"
)


@dataclass(frozen=True)
class PairSums(AddedByField):
    """Sums over pairs at one W; parts add with ``+``.

    `loss` is ``sum v xi^2``, `slope` ``sum v xi m``, `moment` ``sum v xi d``, shape (K, L), and
    `curvature` ``sum v d d^T`` over the pairs with ``xi > 0``, shape (K*L, K*L), or (0, 0) if it
    was not computed.
    """

    loss: float
    slope: float
    moment: Floats
    curvature: Floats


@dataclass(frozen=True)
class QPPairs(Weighted):
    """Preferred and other lists, int8, (n, K), -1 = no known grade; margins and weights.

    These have the shape (n,), or (1,) for all.
    """

    first: Grades
    second: Grades
    margin: Floats
    weight: Floats

    def __len__(self) -> int:
        return len(self.first)

    @property
    def depth(self) -> int:
        """K."""
        return int(self.first.shape[1])

    def evaluate(self, weights: Floats, curvature: bool = True) -> PairSums:
        """Return the sums over the pairs at the utility W, shape (K, L).

        The `curvature` takes about ten times as long as the rest. Linear in n, without temporary
        memory. Chunks depend on n alone and are added in order: threads do not change a byte.
        """
        # column g + 1 is for grade g, so that -1 gains 0
        table = np.hstack([np.zeros((self.depth, 1)), weights])

        # margins and weights are one for all pairs, or one a pair
        varies = int(len(self.margin) > 1), int(len(self.weight) > 1)
        lists = map(np.ascontiguousarray, (self.first, self.second))
        columns = *lists, self.margin, self.weight, table.ravel()

        def part(start: int, stop: int) -> PairSums:
            sizes = start, stop, *table.shape, int(curvature)
            (loss, slope), moment, below = _add_pairs(*sizes, *varies, *columns)
            below = below[:, 1:, :, 1:].reshape(2 * [curvature * weights.size])
            whole = below + np.tril(below, -1).T
            return PairSums(float(loss), float(slope), moment[:, 1:], whole)

        return sum_over_chunks(part, len(self))
