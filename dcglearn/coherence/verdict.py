"""Coherence of two metrics: a proof that they never disagree, or the lists where they most do."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dcglearn.coherence.rankings import (
    MAX_ENUMERATED,
    Rankings,
    caveats,
    common_rankings,
    two_named,
)
from dcglearn.coherence.regret import TIE, LargestRegret, enumerated_regrets, solved_regret
from dcglearn.foundation.finding import Finding, table_of
from dcglearn.foundation.validation import Floats, Grades, PolarsFrame, within
from dcglearn.metrics.dcg import Utility
from dcglearn.metrics.reading import AnyMetric, MetricLike

NEGLIGIBLE = 1e-5
"""Regrets up to this share of a metric's range do not count as disagreement."""


@dataclass(frozen=True, eq=False)
class Witness:
    """Two rankings that two metrics order differently.

    `lists`, shape (2, K), holds the ranking that the first metric prefers and the one that the
    second metric prefers; `first` and `second`, shape (2,), hold their values under the first and
    under the second metric, in its own units.
    """

    lists: Grades
    first: Floats
    second: Floats


@dataclass(frozen=True, eq=False)
class Coherence(Finding):
    """Whether two metrics ever disagree, with the rankings on which they differ most.

    `coherent` is None if the search ended without a proof. `regret` is the largest loss of b, as a
    share of b's range (best minus worst list), over pairs of which a prefers one list by at least
    `margin` of a's range and b prefers the other; no pair has a larger regret than `bound`, and
    `witness` is the pair with this regret. `regret_reverse`, `bound_reverse` and `witness_reverse`
    are the same with the roles of a and b exchanged. `method` says how the verdict was proved, and
    `rankings` are the lists compared, of which `caveats` say what they leave out.
    """

    coherent: bool | None
    regret: float
    regret_reverse: float
    bound: float
    bound_reverse: float
    witness: Witness | None
    witness_reverse: Witness | None
    margin: float
    method: str
    rankings: Rankings
    names: tuple[str, str]
    caveats: list[str]

    _formats: ClassVar = {"loss": ".1%"}

    @property
    def proved(self) -> bool:
        """Whether the regrets are proven to be the largest."""
        gap = max(self.bound - self.regret, self.bound_reverse - self.regret_reverse)
        return gap < NEGLIGIBLE

    @property
    def sentence(self) -> str:
        """The verdict, with the largest loss of either metric."""
        (a, b), where = self.names, f"over {self.rankings}"
        by = f" by {self.margin:.1%} of its range" if self.margin else ""
        if self.coherent:
            clear = f", where either prefers a list{by}" if by else ""
            return f"{a} and {b} never disagree {where}{clear}"

        # a disagreement, or no proof
        if self.coherent is None:
            most = max(self.bound, self.bound_reverse)
            return (
                f"it is not proved whether {a} and {b} ever disagree {where}: the search ended "
                f"before it found where (no loss exceeds {most:.3g} of a range); give it more time"
            )

        # how much either loses by the choice of the other
        return (
            f"{a} and {b} disagree: a list that {a} prefers{by} can be worse under {b} "
            f"by {self.regret:.1%} of its range, and one that {b} prefers{by} can be worse under "
            f"{a} by {self.regret_reverse:.1%}"
        )

    @property
    def table(self) -> PolarsFrame:
        """Two rows for each witness: the list that one metric chooses, and that of the other."""
        rows = []
        for chooser, loser, witness, regret in self.witnesses:
            # the loss stands beside the choice
            for i, name in enumerate((chooser, loser)):
                row = {
                    "preferred_by": name,
                    "grades": " ".join(map(str, witness.lists[i])),
                    "value_to_chooser": witness.first[i],
                    "value_to_loser": witness.second[i],
                    "loss": None if i else regret,
                }
                rows.append(row)
        return table_of(rows)

    @property
    def witnesses(self) -> list[tuple[str, str, Witness, float]]:
        """Who chooses, who loses by it, between which lists, and how much, if they disagree."""
        a, b = self.names
        sides = (a, b, self.witness, self.regret), (b, a, self.witness_reverse, self.regret_reverse)
        return [(own, other, lists, loss) for own, other, lists, loss in sides if lists]

    @property
    def notes(self) -> list[str]:
        """What the values and losses are, and how the verdict was proved."""
        notes = [f"compared: {self.rankings}; method: {self.method}"]

        # how to read the lists
        if self.witnesses:
            largest = "these losses are the largest"
            if not self.proved:
                largest = (
                    f"the search ended before its proof: losses are at most {self.bound:.1%} and "
                    f"{self.bound_reverse:.1%}"
                )
            notes.append(
                "of each two lists, the metric of the first chooses it; by this choice the metric "
                "of the second loses a share of its range (its best list minus its worst one); "
                + largest
            )
        return [*notes, *self.caveats]


def coherence(
    a: MetricLike | ArrayLike,
    b: MetricLike | ArrayLike,
    documents: ArrayLike | None = None,
    margin: float = 0.0,
    *,
    time_limit: float = 60.0,
    names: tuple[str, str] | None = None,
) -> Coherence:
    """Prove that two metrics never disagree, or find the rankings on which they differ most.

    Zhou et al. 2008, section 4, asks when metrics agree on all rankings. Here: ``max <W_b, y - x>``
    over pairs of rankings with ``<W_a, x - y> >= margin``, each metric scaled to a range of 1.
    Metrics that differ by a factor and by terms that no comparison depends on are coherent without
    a search. A list is compared with every other, but with the other orders of its own grades alone
    where the notes of a metric say that it was learned from such pairs: that only the steps between
    its discounts are learned, and their level is a convention. Up to 20 million lists are
    enumerated, without those that others surpass, which is exact for any margin. More are searched
    by integer programming (HiGHS), which ignores preferences below 2e-6 of the range. Regrets up to
    1e-5 do not count. Raises InputError if the numbers of grades differ, a metric is constant, or
    the margin is not between 0 and 1.

    Parameters
    ----------
    a, b : DCG, Utility, array_like of shape (K, L), file or name; see `metric`
        The metrics; positions below the depth of the shallower one have no weight in it. A name
        without ``@K`` is as deep as the other metric, or as there are documents.
    documents : array_like of int, shape (N,), optional
        Grades of the documents that are ranked (0 = worst); of fewer than K, the positions below
        the last stay empty. By default every list of grades is a ranking, so that a proof holds for
        all queries.
    margin : float
        Least preference that counts, as a share of a metric's range (best minus worst list). 0
        finds any disagreement; 0.01 to 0.05 leave out those that nobody would notice.
    time_limit : float
        Time limit of each of the two integer programmes, in seconds; used if there are more than 20
        million lists.
    names : (str, str), optional
        Names of the metrics in print; by default those of names and files, else a and b.

    See Also
    --------
    disagreement : How often two metrics disagree.
    system_order : Whether it matters for systems.

    Examples
    --------
    >>> linear = dl.DCG.standard(5, 10, "linear")
    >>> exponential = dl.DCG.standard(5, 10, "exponential")
    >>> verdict = coherence(linear, exponential, documents=[4, 4, 3, 3, 2, 2, 1, 1, 0, 0])
    >>> verdict.coherent, round(verdict.regret, 4)
    (False, 0.337)
    >>> verdict.witness.lists
    array([[2, 3, 3, 2, 1, 1, 4, 4, 0, 0],
           [4, 0, 0, 4, 1, 1, 3, 3, 2, 2]], dtype=int8)
    """
    within(margin, "margin", 1, "it is a share of the range between best and worst list")
    (a, b), names = two_named(a, b, names, documents)

    # metrics on a span of 1
    rankings = common_rankings((a, b), names, documents)
    scaled = [rankings.scaled(*named) for named in zip((a, b), names, strict=True)]

    # largest regret in both directions
    bound = _largest_difference(rankings, *scaled)
    if bound <= NEGLIGIBLE:
        there = back = LargestRegret(0.0, bound)
        method = "one is a multiple of the other, but for rounding and what no comparison sees"
    elif rankings.n_lists <= MAX_ENUMERATED:
        there, back = enumerated_regrets(rankings, scaled, margin)
        method = f"all {rankings.n_lists:,} lists were compared"
    else:
        there, back = (
            solved_regret(rankings, pair, margin, time_limit) for pair in permutations(scaled)
        )
        method = "integer programming over all lists; the scores of the two were computed again"

    # verdict by the regrets and their bounds
    coherent = None
    if max(there.regret, back.regret) > NEGLIGIBLE:
        coherent = False
    elif max(there.bound, back.bound) <= NEGLIGIBLE:
        coherent = True

    return Coherence(
        coherent=coherent,
        regret=there.regret,
        regret_reverse=back.regret,
        bound=there.bound,
        bound_reverse=back.bound,
        witness=_witness(a, b, there),
        witness_reverse=_witness(b, a, back),
        margin=margin,
        method=method,
        rankings=rankings,
        names=names,
        caveats=caveats((a, b), names, rankings),
    )


def _largest_difference(rankings: Rankings, a: Utility, b: Utility) -> float:
    """Return a bound of any regret between two metrics on a span of 1; 0 if they order alike.

    It is the range of their differences over all lists, without what no order of lists depends on:
    one constant for each position and, if all documents are ranked, one for each grade.
    """
    possible = np.array(rankings.counts or [1] * rankings.n_grades) > 0
    difference = (b.weights - a.weights)[:, possible]
    for axis in (1, 0) if rankings.full else (1,):
        difference = difference - difference.mean(axis=axis, keepdims=True)
    bound = float(np.ptp(difference, axis=1).sum())
    return bound if bound > TIE * max(1.0, float(np.abs(b.weights).max())) else 0.0


def _witness(first: AnyMetric, second: AnyMetric, largest: LargestRegret) -> Witness | None:
    """Return the lists of a regret with their values in the metrics' own units."""
    pair = largest.pair
    if pair is None or largest.regret <= NEGLIGIBLE:
        return None
    return Witness(pair, first.score(pair), second.score(pair))
