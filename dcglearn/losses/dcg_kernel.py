"""A DCG and an average precision at real-valued ranks, and weights over ideal values."""

from dcglearn.foundation.validation import Integers
from dcglearn.kernels.library import function
from dcglearn.losses.objective import Batch

truncated_sums = function("truncated_sums kind .size longest #edge #beta f[size] f[longest+1]!")
"""The running sums of ``D(r) sigma(beta (edge - r))`` at ranks r = 1..longest, (longest + 1,).

D has the kind and the numbers of a `SmoothDiscount`. There is no truncation if `edge` is infinite.
"""

over_soft_rank_ideals = function(
    "over_soft_rank_ideals (longest) .m .grades l[n] l[m+1] f[grades] l[grades] f[longest+1] f[m] "
    "f[m]! l[grades]~"
)
"""Each query's weight over its value with the largest gains first, or 0, shape (n_queries,).

Taken are the number of documents of the longest query, grades, offsets, gains, grades by falling
gain, the sums of the discounts of ranks, and weights.
"""

over_whole_rank_ideals = function(
    "over_whole_rank_ideals (longest) .m .grades .depth l[n] l[m+1] f[grades] l[grades] f[depth] "
    "f[m] f[m]! l[grades]~ f[max(longest,depth)]~"
)
"""Each query's weight over its `DCG.ideal`, or 0 unless that is positive, shape (n_queries,).

It takes falling discounts in place of sums. Positive ones take the largest gains above 0, negative
ones the smallest below; other positions stay empty.
"""

dcg_of_ranks = function(
    "dcg_of_ranks .m edges kind .size #beta f[n] l[n] l[n] l[m+1] f[grades] f[size] "
    "f[m**(edges>1)] f[m] f[n]! -> #"
)
"""``sum_q factor_q sum_i G_i D(r_i) sigma(beta (edge_q - r_i))``, and its slope in r.

Taken are the number of edges, one for each query or one for all; the kind of D; beta; ranks of the
documents `order`, sorted by query; grades, offsets, gains, the numbers of D, edges and factors.
"""

average_precision = function(
    "average_precision .m f[n] l[relevant] f[relevant] l[m+1] f[m] f[n]+ f[relevant]! -> #"
)
"""The weighted sum of average precisions, and its slopes in both kinds of rank.

It is the mean over relevant documents of (rank among the relevant) / (rank among all). Taken are
the latter ranks of all sorted documents, the numbers of the relevant ones, the former ranks of
these, the ends of queries among them, and weights.
"""

_find_relevant = function("find_relevant .m min_grade l[n] l[n] l[m+1] l[n]! l[m+1]! -> n")


def relevant_documents(order: Integers, batch: Batch, min_grade: int) -> tuple[Integers, Integers]:
    """Return the positions of relevant documents in the sorted `order`, and queries' offsets."""
    n, relevant, ends = _find_relevant(min_grade, order, batch.grades, batch.offsets)
    return relevant[:n].copy(), ends
