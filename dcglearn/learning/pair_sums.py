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
    "add_pairs start stop depth width counted block margins weights b[stop*depth] b[stop*depth] "
    "f[min(stop,stop**margins)] f[min(stop,stop**weights)] f[depth*width] "
    # loss and slope, shortfalls by code, and counts of codes and of pairs of them
    "f[2]! f[depth,width**2]+ f[counted,width**2]+ "
    "f[(counted>0)*depth*(depth-1)//2,width**2,width**2]+ f[work_of_pairs(depth,block)]~"
)
_add_wide_pairs = function(
    "add_wide_pairs start stop depth width margins weights b[stop*depth] b[stop*depth] "
    "f[min(stop,stop**margins)] f[min(stop,stop**weights)] f[depth*width] "
    "f[depth*width,depth*width]+"
)

BLOCK = 2048
"""Pairs that are gathered before they are counted."""

MAX_TABLE = 1 << 19
"""Maximum entries of a chunk's table of joint counts; wider scales add each pair to the Hessian."""


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

    def evaluate(self, weights: Floats, curvature: bool = True) -> PairSums:
        """Return the sums over the pairs at the utility W, shape (K, L).

        The `curvature` takes about ten times as long as the rest. Linear in n; the only temporary
        memory is one table of fixed size a chunk. Chunks depend on n alone and are added in order:
        threads do not change a byte.
        """
        # column g + 1 is for grade g, so that -1 gains 0
        table = np.hstack([np.zeros((len(weights), 1)), weights])
        depth, width = table.shape
        counted = curvature and depth * (depth - 1) // 2 * width**4 <= MAX_TABLE

        # the row of d of a code a * width + b holds +1 at a, -1 at b
        unit = np.eye(width)
        sign = (unit[:, None, :] - unit[None, :, :]).reshape(-1, width)

        # margins and weights are one for all pairs, or one a pair
        varies = int(len(self.margin) > 1), int(len(self.weight) > 1)
        first, second = map(np.ascontiguousarray, (self.first, self.second))
        columns = first, second, self.margin, self.weight, table.ravel()

        def part(start: int, stop: int) -> PairSums:
            # count the codes at each position and at pairs of positions
            sizes = start, stop, depth, width
            table_sizes = depth if counted else 0, BLOCK
            sums = _add_pairs(*sizes, *table_sizes, *varies, *columns)
            (loss, slope), shortfalls, single, joint = sums

            # the Hessian, without the columns of unknown grades
            hessian = np.zeros((0, 0))
            if curvature:
                if counted:
                    both = _contract(single, joint, sign)
                else:
                    both = _add_wide_pairs(*sizes, *varies, *columns)
                graded = np.arange(depth * width) % width > 0
                hessian = both[np.ix_(graded, graded)]
            return PairSums(float(loss), float(slope), (shortfalls @ sign)[:, 1:], hessian)

        return sum_over_chunks(part, len(self))


def _contract(single: Floats, joint: Floats, sign: Floats) -> Floats:
    """Return ``sum v d d^T`` from the counts of codes at one position and at pairs of positions."""
    depth, width = len(single), sign.shape[1]

    # blocks on the diagonal
    blocks = np.zeros((depth, depth, width, width))
    blocks[np.arange(depth), np.arange(depth)] = sign.T @ (single[:, :, None] * sign)

    # and off it, which are symmetric
    rows, columns = np.tril_indices(depth, -1)
    between = sign.T @ joint @ sign
    blocks[rows, columns] = between
    blocks[columns, rows] = between.transpose(0, 2, 1)
    return blocks.transpose(0, 2, 1, 3).reshape(depth * width, depth * width)
