"""Coherence of two metrics: a proof that they never disagree, or the lists where they most do."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dcglearn.coherence.rankings import (
    MAX_ENUMERATED,
    Rankings,
    list_values,
    scaled_weights,
    two_named,
)
from dcglearn.coherence.regret import ExhaustiveSearch, IntegerProgramme, LargestRegret, Search
from dcglearn.foundation.finding import Finding, table_of
from dcglearn.foundation.validation import Fields, Floats, Grades, PolarsFrame, scale_size, within
from dcglearn.metrics.dcg import DCG
from dcglearn.metrics.reading import AnyMetric, MetricLike, as_weights
from dcglearn.metrics.scales import warn_of_scale

_LOG = logging.getLogger(__name__)

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
    `rankings` are the lists compared.
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
    _pair: _Comparison = field(repr=False)

    _formats: ClassVar = {"chooser": ".6g", "loser": ".6g", "loss": ".1%"}
    _labels: ClassVar = {"chooser": "value to chooser", "loser": "value to loser"}

    @property
    def proved(self) -> bool:
        """Whether the regrets are proven to be the largest."""
        gaps = self.bound - self.regret, self.bound_reverse - self.regret_reverse
        return max(gaps) < NEGLIGIBLE

    @cached_property
    def tie_regret(self) -> float:
        """Largest difference under b of lists that a ties, as a share of b's range.

        Past 20 million lists it is a bound.
        """
        return self._pair.search.tie_regret().regret if self._pair.differ else 0.0

    @property
    def sentence(self) -> str:
        """The verdict, with the largest loss of either metric."""
        (a, b), where = self.names, f"over {self.rankings}"
        by = f" by {self.margin:.1%} of its range" if self.margin else ""
        if self.coherent:
            clear = f", where either prefers a list{by}" if by else ""
            return f"the metrics {a} and {b} never disagree {where}{clear}"

        # a disagreement, or no proof
        if self.coherent is None:
            most = max(self.bound, self.bound_reverse)
            return (
                f"it is not proved whether {a} and {b} ever disagree {where}: the search ended "
                f"before it found where (no loss exceeds {most:.3g} of a range); give it more time"
            )
        return (
            f"the metrics {a} and {b} disagree: a list that {a} prefers{by} can be worse under {b} "
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
                row = {"preferred_by": name, "grades": " ".join(map(str, witness.lists[i]))}
                row |= {"chooser": witness.first[i], "loser": witness.second[i]}
                rows.append(row | {"loss": None if i else regret})
        return table_of(rows)

    @property
    def witnesses(self) -> list[tuple[str, str, Witness, float]]:
        """Who chooses, who loses by it, between which lists, and how much, if they disagree."""
        a, b = self.names
        sides = (a, b, self.witness, self.regret), (b, a, self.witness_reverse, self.regret_reverse)
        return [(own, other, lists, loss) for own, other, lists, loss in sides if lists]

    @property
    def pictures(self) -> list[Fields]:
        """The two lists of each witness."""
        pictures = []
        for *names, witness, _ in self.witnesses:
            labels = [f"preferred by {name}" for name in names]
            rows = list(zip(labels, witness.lists.tolist(), strict=True))
            n_grades = self.rankings.n_grades
            pictures.append({"title": "grades by position", "lists": rows, "n_grades": n_grades})
        return pictures

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
        return notes


def coherence(
    a: MetricLike | ArrayLike,
    b: MetricLike | ArrayLike,
    documents: ArrayLike | None = None,
    margin: float = 0.0,
    *,
    time_limit: float = 60.0,
    n_grades: int | None = None,
    names: tuple[str, str] | None = None,
) -> Coherence:
    """Prove that two metrics never disagree, or find the rankings on which they differ most.

    Zhou et al. 2008, section 4, asks when metrics agree on all rankings. Here: ``max <W_b, y - x>``
    over pairs of rankings with ``<W_a, x - y> >= margin``, each metric scaled to a range of 1.
    Metrics that differ by a factor and by terms that no comparison depends on are coherent without
    a search. Up to 300,000 lists are sorted, which is exact for any margin. More are searched by
    integer programming (HiGHS), which ignores preferences below 2e-6 of the range; if that takes
    long, up to 20 million lists are sorted after all. Regrets up to 1e-5 do not count. Raises
    InputError if the numbers of grades differ, the documents do not fill the positions, a metric is
    constant, or the margin is not between 0 and 1. Warns with ScaleWarning if a metric has more
    grades than the documents.

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
        Time limit of each of the two integer programmes, in seconds; used if there are too many
        lists to enumerate.
    n_grades : int, optional
        Number of grades of the documents' scale, also for names. By default the number of
        the metrics.
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
    (a, b), names = two_named(a, b, names, documents, n_grades)
    if n_grades is not None:
        sizes = {name: metric.n_grades for name, metric in zip(names, (a, b), strict=True)}
        warn_of_scale(sizes, scale_size(n_grades, 0), "the scale of the documents", 2)

    # largest regret in both directions
    pair = _Comparison(*scaled_weights([a, b], names, documents), time_limit)
    there = back = LargestRegret()
    method = "one is a multiple of the other, plus what no comparison sees"
    if pair.differ:
        there, back, method = pair.searched(float(margin))
    if any(isinstance(metric, DCG) and metric.gains.min() < 0 for metric in (a, b)):
        method += (
            "; of full lists: in shorter ones a result of negative gain is worse than none, which "
            "is not compared"
        )

    # verdict by the regrets and their bounds
    coherent, answer = None, "not decided"
    if max(there.regret, back.regret) > NEGLIGIBLE:
        coherent, answer = False, "not coherent"
    elif max(there.bound, back.bound) <= NEGLIGIBLE:
        coherent, answer = True, "coherent"
    _LOG.info("%s and %s: %s, by %s", *names, answer, method)

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
        rankings=pair.rankings,
        names=names,
        _pair=pair,
    )


@dataclass(frozen=True, eq=False)
class _Comparison:
    """Two metrics, scaled to ranges of 1, over rankings; the time limit is in seconds."""

    rankings: Rankings
    weights: list[Floats]
    time_limit: float

    enumerated_first = 300_000
    """Up to this many lists are enumerated before integer programming is tried."""

    first_limit = 2.0
    """Time limit of the integer programme if the lists can be enumerated instead, in seconds."""

    @cached_property
    def differ(self) -> bool:
        """Whether lists show that neither metric is a positive multiple of the other."""
        a, b = map(self._visible, self.weights)
        # the factor by least squares
        factor = float(np.vdot(a, b) / np.vdot(a, a))
        largest = max(1.0, float(np.abs(self.weights[1]).max()))
        return factor <= 0 or bool(np.abs(b - factor * a).max() > 1e-12 * largest)

    def _visible(self, weights: Floats) -> Floats:
        """Subtract constants that lists share: per position and, if all are ranked, per grade."""
        # centred by position, then by grade
        visible = weights[:, self.rankings.present]
        visible = visible - visible.mean(axis=1, keepdims=True)
        return visible - visible.mean(axis=0) if self.rankings.full else visible

    @cached_property
    def search(self) -> Search:
        """An exhaustive search if the lists can be enumerated, else an integer programme."""
        if self.rankings.n_lists <= MAX_ENUMERATED:
            return ExhaustiveSearch(self.rankings.enumerated(self.weights))
        return IntegerProgramme(self.rankings, self.weights, self.time_limit)

    def searched(self, tau: float) -> tuple[LargestRegret, LargestRegret, str]:
        """Return the largest regret of b and of a, and how they were found."""
        # integer programming, which proves most verdicts sooner
        n_lists = self.rankings.n_lists
        if n_lists > self.enumerated_first:
            seconds = self.time_limit
            if n_lists <= MAX_ENUMERATED:
                seconds = min(self.first_limit, seconds)
            programme = IntegerProgramme(self.rankings, self.weights, seconds)
            there, back = (programme.regret(first, tau) for first in (0, 1))
            method = "integer programming over all lists"
            if max(there.bound - there.regret, back.bound - back.regret) < NEGLIGIBLE:
                return there, back, f"{method}; the scores of the two were computed again"
            if n_lists > MAX_ENUMERATED:
                return there, back, f"{method}, stopped by its time limit"

        # all lists
        there, back = (self.search.regret(first, tau) for first in (0, 1))
        return there, back, f"all {n_lists:,} lists were compared"


def _witness(first: AnyMetric, second: AnyMetric, largest: LargestRegret) -> Witness | None:
    """Return the lists of a regret with their values in the metrics' own units."""
    pair = largest.pair
    if pair is None or largest.regret <= NEGLIGIBLE:
        return None
    tables = [as_weights(metric, "metric")[: pair.shape[1]] for metric in (first, second)]
    values = [list_values(table, pair[:, : len(table)]) for table in tables]
    return Witness(pair, *values)
