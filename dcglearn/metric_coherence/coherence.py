"""Coherence of two metrics: a proof that they never disagree, or the lists where they most do."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from dcglearn.foundation.markup import Shown
from dcglearn.foundation.plain_text import one_line
from dcglearn.foundation.validation import Fields, Floats, Grades, finite_array, scale_size, within
from dcglearn.metric.dcg import DCG
from dcglearn.metric.scales import warn_of_scale
from dcglearn.metric_coherence.rankings import (
    MAX_ENUMERATED,
    Metric,
    Rankings,
    as_weights,
    list_values,
    resolved,
    scaled_weights,
    shape_of,
)
from dcglearn.metric_coherence.regret import (
    ExhaustiveSearch,
    IntegerProgramme,
    LargestRegret,
    Search,
)

_LOG = logging.getLogger(__name__)

NEGLIGIBLE = 1e-5
"""Regrets up to this share of a metric's span do not count as disagreement."""


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
class Coherence(Shown):
    """Whether two metrics ever disagree; prints as a verdict with its witness.

    `coherent` is None if the search ended without a proof. `regret` is the largest loss of b, as a
    share of b's span (best minus worst list), over pairs of which a prefers one list by at least
    `margin` of a's span and b prefers the other; no pair has a larger regret than `bound`, and
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

    @property
    def proved(self) -> bool:
        """Whether the regrets are proven to be the largest."""
        gaps = self.bound - self.regret, self.bound_reverse - self.regret_reverse
        return max(gaps) < NEGLIGIBLE

    @cached_property
    def tie_regret(self) -> float:
        """Largest difference under b of lists that a ties, as a share of b's span.

        Past 20 million lists it is a bound.
        """
        return self._pair.search.tie_regret().regret if self._pair.differ else 0.0

    @property
    def pictures(self) -> list[Fields]:
        """The two lists of the witness."""
        if self.witness is None:
            return []
        lists = self.witness.lists.tolist()
        labels = [f"preferred by {name}" for name in self.names]
        rows = list(zip(labels, lists, strict=True))
        n_grades = max(map(max, lists)) + 1
        return [{"title": "grades by position", "lists": rows, "n_grades": n_grades}]

    def __str__(self) -> str:
        a, b = map(one_line, self.names)
        by = f" by {self.margin:.1%} of its own range" if self.margin else ""
        where = f"over {self.rankings}"

        # the verdict in a sentence
        verdict = f"not coherent: {a} and {b} disagree {where}"
        if self.coherent:
            clear = f", where either prefers{by}" if by else ""
            verdict = f"coherent: {a} and {b} never disagree {where}{clear}"
        elif self.coherent is None:
            most = max(self.bound, self.bound_reverse)
            verdict = (
                f"not proved: no disagreement of {a} and {b} was found {where}, but the search "
                f"ended before its proof (no regret can exceed {most:.3g}); give it more time"
            )

        # the largest regret of either metric
        lines = [verdict]
        for names, witness, regret, bound in (
            ((a, b), self.witness, self.regret, self.bound),
            ((b, a), self.witness_reverse, self.regret_reverse, self.bound_reverse),
        ):
            if witness is not None:
                lines += ["", *_witness_lines(names, witness, by, regret, bound)]
        return "\n".join([*lines, "", f"proof: {self.method}"])


def _witness_lines(
    names: tuple[str, str], witness: Witness, by: str, regret: float, bound: float
) -> list[str]:
    own, other = names

    # how large, and whether that is proved
    proved = bound - regret < NEGLIGIBLE
    best = "the largest" if proved else f"the largest found; at most {bound:.1%}"
    width = max(map(len, names))
    lists = "  ".join(" ".join(map(str, grades)) for grades in witness.lists)

    # both lists, with their values under either metric
    rows = [
        f"a list that {own} prefers{by} can be worse under {other} by {regret:.1%} of what lies "
        f"between its best and its worst list ({best}):",
        f"  {'':{width}}  preferred by {own:<{width}}  preferred by {other}",
        f"  {'grades':<{width}}  {lists}",
    ]
    for name, (better, worse) in zip(names, (witness.first, witness.second), strict=True):
        rows.append(f"  {name:<{width}}  {better:.6g} against {worse:.6g}")
    return rows


def coherence(
    a: Metric,
    b: Metric,
    grades: ArrayLike | None = None,
    margin: float = 0.0,
    *,
    time_limit: float = 60.0,
    n_grades: int | None = None,
    names: tuple[str, str] | None = None,
) -> Coherence:
    """Prove that two metrics never disagree, or find the rankings on which they differ most.

    Zhou et al. 2008, section 4, asks when metrics agree on all rankings. Here: ``max <W_b, y - x>``
    over pairs of rankings with ``<W_a, x - y> >= margin``, each metric scaled to a span of 1.
    Metrics that differ by a factor and by terms that no comparison depends on are coherent without
    a search. Up to 300,000 lists are sorted, which is exact for any margin. More are searched by
    integer programming (HiGHS), which ignores preferences below 2e-6 of the span; if that takes
    long, up to 20 million lists are sorted after all. Regrets up to 1e-5 do not count. Raises
    InputError if the numbers of grades differ, the documents do not fill the positions, a metric is
    constant, or the margin is not between 0 and 1. Warns with ScaleWarning if a metric has more
    grades than the documents.

    Parameters
    ----------
    a, b : DCG, Utility, array_like of shape (K, L), file or name
        The metrics; positions below the depth of the shallower one have no weight in it. A name
        without ``@K`` is as deep as the other metric, or as there are documents.
    grades : array_like of int, shape (N,), optional
        Grades of the documents that are ranked (0 = worst), N >= K; by default every list of grades
        is a ranking, so that a proof holds for all queries.
    margin : float
        Least preference that counts, as a share of a metric's span (best minus worst list). 0 finds
        any disagreement; 0.01 to 0.05 leave out those that nobody would notice.
    time_limit : float
        Time limit of each of the two integer programmes, in seconds; used if there are too many
        lists to enumerate.
    n_grades : int, optional
        Number of grades of the documents' scale, also for names. By default the number of
        the metrics.
    names : (str, str), optional
        Names of the metrics in print.

    See Also
    --------
    disagreement : How often two metrics disagree.
    regret_curve : By how much, for clear preferences.
    system_order : Whether it matters for systems.

    Examples
    --------
    >>> linear = dl.DCG.standard(5, 10, "linear")
    >>> exponential = dl.DCG.standard(5, 10, "exponential")
    >>> verdict = coherence(linear, exponential, grades=[4, 4, 3, 3, 2, 2, 1, 1, 0, 0])
    >>> verdict.coherent, round(verdict.regret, 4)
    (False, 0.337)
    >>> verdict.witness.lists
    array([[2, 3, 3, 2, 1, 1, 4, 4, 0, 0],
           [4, 0, 0, 4, 1, 1, 3, 3, 2, 2]], dtype=int8)
    """
    within(margin, "margin", 1, "it is a share of the span between best and worst list")
    (a, b), labels = resolved([a, b], names or "ab", grades, n_grades)
    names = names or (labels[0] or "a", labels[1] or "b")
    if n_grades is not None:
        sizes = {
            name: shape_of(metric, name)[1] for name, metric in zip(names, (a, b), strict=True)
        }
        warn_of_scale(sizes, scale_size(n_grades, 0), "the scale of the documents", 2)

    # largest regret in both directions
    pair = _Comparison(*scaled_weights([a, b], names, grades), time_limit)
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
    """Two metrics, scaled to spans of 1, over rankings; the time limit is in seconds."""

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


def _witness(first: Metric, second: Metric, largest: LargestRegret) -> Witness | None:
    """Return the lists of a regret with their values in the metrics' own units."""
    pair = largest.pair
    if pair is None or largest.regret <= NEGLIGIBLE:
        return None
    tables = [as_weights(metric, "metric") for metric in (first, second)]
    values = [list_values(table, pair[:, : len(table)]) for table in tables]
    return Witness(pair, *values)


@dataclass(frozen=True, eq=False)
class RegretCurve:
    """Largest regret as a function of the margin by which one metric prefers a list.

    All arrays have shape (n,). `margin` is a share of the span of the metric that prefers, `regret`
    the largest regret of b where a prefers by it, `bound` its proven bound; `regret_reverse` and
    `bound_reverse` exchange a and b.
    """

    margin: Floats
    regret: Floats
    regret_reverse: Floats
    bound: Floats
    bound_reverse: Floats
    names: tuple[str, str]

    def __str__(self) -> str:
        a, b = map(one_line, self.names)
        head = f"{'margin':>8}  {f'{b} loses':>16}  {f'{a} loses':>16}"
        rows = zip(self.margin, self.regret, self.regret_reverse, strict=True)
        return "\n".join([head, *(f"{m:>8.3f}  {r:>16.4f}  {s:>16.4f}" for m, r, s in rows)])


def regret_curve(
    a: Metric,
    b: Metric,
    grades: ArrayLike | None = None,
    margins: ArrayLike = (0.0, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5),
    *,
    time_limit: float = 60.0,
    names: tuple[str, str] = ("a", "b"),
) -> RegretCurve:
    """Return the largest regret at each of several margins; for parameters see `coherence`.

    See Also
    --------
    coherence : The largest regret, with its witness.
    plots.regret_figure : Draw it.

    Examples
    --------
    >>> linear = dl.DCG.standard(5, 10, "linear")
    >>> exponential = dl.DCG.standard(5, 10, "exponential")
    >>> documents = [4, 4, 3, 3, 2, 2, 1, 1, 0, 0]
    >>> curve = regret_curve(linear, exponential, documents, margins=[0.05, 0.1, 0.2])
    >>> curve.regret.round(4)
    array([0.2804, 0.2265, 0.1328])
    """
    taus = finite_array(margins, "margins", 1)
    for margin in taus:
        within(margin, "margin", 1, "it is a share of the span between best and worst list")
    pair = _Comparison(*scaled_weights([a, b], names, grades), time_limit)
    regrets = [[LargestRegret()] * len(taus)] * 2
    if pair.differ:
        regrets = [[pair.search.regret(first, tau) for tau in taus] for first in (0, 1)]

    # arrays by direction
    regret, regret_reverse = (np.array([one.regret for one in side]) for side in regrets)
    bound, bound_reverse = (np.array([one.bound for one in side]) for side in regrets)
    return RegretCurve(taus, regret, regret_reverse, bound, bound_reverse, names)
