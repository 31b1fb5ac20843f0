"""A DCG as a scorer for Quepid, in JavaScript."""

from __future__ import annotations

from string import Template
from typing import TYPE_CHECKING

from dcglearn.exports.carried import carried_into_program, numbers, title

if TYPE_CHECKING:
    from dcglearn.metric.dcg import DCGLike

SCORER = Template("""\
// $title.
// Scale of the scorer in Quepid: $scale (0 = worst).
// A result without a rating counts as the worst grade. The ideal ranking is made from all ratings of the query, also
// of documents that are not among the results$filled.
var k = $depth; // @Rank
(function () {
  var gains = [$gains];
  var discounts = [$discounts];
  function gainOf(rating) {
    if (rating === undefined || rating === null || rating === "") { return gains[0]; }
    var gain = gains[Math.max(Number(rating), 0)];
    if (gain === undefined) { throw new Error("rating " + rating + " has no gain: the scale is $scale"); }
    return gain;
  }
  function descending(a, b) { return b - a; }
  function total(values, weights) {
    return weights.reduce(function (sum, weight, i) { return sum + weight * values[i]; }, 0);
  }
  var found = discounts.map(function (_, i) {
    return i < numReturned() ? gainOf(hasDocRating(i) ? docRating(i) : null) : 0;
  });
  var rated = topRatings(1000000).map(gainOf); // all of them
  var unrated = discounts.slice(rated.length).map(function () { return Math.max(gains[0], 0); });
  var ideal = total(rated.concat(unrated).sort(descending), discounts.slice().sort(descending));
  setScore(ideal > 0 ? total(found, discounts) / ideal : 0);
})();
""")
"""Quepid may refuse loops, and may run a scorer again in the same context, which ``var`` outlives and ``const`` not."""


def to_quepid(dcg: DCGLike, name: str = "the metric") -> str:
    """Return the NDCG of a DCG as a scorer for Quepid, in JavaScript.

    The scorer calls Quepid's ``docRating``, ``hasDocRating``, ``numReturned``, ``topRatings`` and ``setScore``. Its
    value is that of `evaluate`: a result without a rating counts as the worst grade, and the ideal ranking is made from
    all ratings of the query.

    Parameters
    ----------
    dcg : DCG or file
        Any gains; discounts of 0 or more.
    name : str
        What to call the metric in the first line.

    Raises
    ------
    InputError
        If the best grade gains nothing, or a discount is below 0.

    See Also
    --------
    exports.to_python : The same in Python.

    Examples
    --------
    >>> from dcglearn.metric.dcg import DCG
    >>> print(to_quepid(DCG([0, 0.5, 3], [1, 0.6])).splitlines()[6].strip())
    var gains = [0.0, 0.5, 3.0];
    """
    known = carried_into_program(dcg, "quepid")
    return SCORER.substitute(
        title=title(known, name),
        scale=",".join(map(str, range(known.n_grades))),
        filled=", followed by unrated ones" if known.gains[0] > 0 else "",
        depth=known.depth,
        gains=numbers(known.gains),
        discounts=numbers(known.discounts),
    )
