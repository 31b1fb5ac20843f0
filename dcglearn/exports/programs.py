"""A DCG as a program: a scorer for Quepid in JavaScript, a query in standard SQL, a few lines of Python."""

from __future__ import annotations

from string import Template

import numpy as np

from dcglearn.exports.settings import carried
from dcglearn.foundation.plain_text import one_line
from dcglearn.foundation.validation import Floats, InputError
from dcglearn.foundation.version import __version__
from dcglearn.metric.dcg import DCG, DCGLike

PROGRAM = Template('''\
# $title. It needs Python alone.
import struct

GAINS = [$gains]  # of grades 0, 1, ..., worst first
DISCOUNTS = [$discounts]  # of ranks 1, 2, ...


def dcg(grades):
    """Return the DCG of grades by rank; None is a document without a grade, which counts as the worst one."""
    return sum(d * GAINS[max(g or 0, 0)] for d, g in zip(DISCOUNTS, grades))


def ndcg(run, judged):
    """Return the NDCG of a query: run maps documents to scores, judged maps documents to grades."""
    order = sorted(run, key=lambda doc: (struct.unpack("f", struct.pack("f", run[doc])), doc), reverse=True)
    pool = [GAINS[max(g, 0)] for g in judged.values()] + [max(GAINS[0], 0.0)] * (len(DISCOUNTS) - len(judged))
    ideal = sum(d * g for d, g in zip(sorted(DISCOUNTS, reverse=True), sorted(pool, reverse=True)))
    return dcg(judged.get(doc) for doc in order) / ideal if ideal > 0 else 0.0
''')

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

QUERY = Template("""\
-- $title.
-- Change the first two parts to your tables:
--   runs:  one row for each ranked document: run, query_id, doc_id, score (the higher, the better)
--   qrels: one row for each judged document: query_id, doc_id, grade (0 to $highest; below 0 counts as 0)
-- Each document once for a query. Documents of equal scores are ranked in descending order of doc_id. A document
-- without a judgement counts as the worst grade. The ideal ranking is made from the judgements$filled.
-- A judged query that a run lacks has the value 0; a grade above $highest makes the values of its query NULL.
WITH ranking AS (
  SELECT run, query_id, doc_id, CAST(score AS REAL) AS score FROM runs
),
judgement AS (
  SELECT query_id, doc_id, CASE WHEN grade < 0 THEN 0 ELSE grade END AS grade FROM qrels
),
position_weight AS (  -- the discount of each rank, and the same in descending order, for the ideal ranking
$discounts
),
graded AS (
  SELECT query_id, doc_id,
    CASE grade $gains END AS gain
  FROM judgement
),
topic AS (
  SELECT query_id, COUNT(*) AS n_judged, COUNT(gain) AS n_known FROM graded GROUP BY query_id
),
pool AS (
  SELECT query_id, gain FROM graded$unjudged
),
best AS (
  SELECT query_id, gain, ROW_NUMBER() OVER (PARTITION BY query_id ORDER BY gain DESC) AS pos FROM pool
),
ideal AS (
  SELECT best.query_id, SUM(position_weight.ideal * best.gain) AS ideal
  FROM best JOIN position_weight ON position_weight.pos = best.pos GROUP BY best.query_id
),
ranked AS (
  SELECT run, query_id, doc_id,
    ROW_NUMBER() OVER (PARTITION BY run, query_id ORDER BY score DESC, doc_id DESC) AS pos FROM ranking
),
found AS (
  SELECT ranked.run, ranked.query_id, SUM(position_weight.discount * COALESCE(graded.gain, $worst)) AS dcg
  FROM ranked
  JOIN position_weight ON position_weight.pos = ranked.pos
  LEFT JOIN graded ON graded.query_id = ranked.query_id AND graded.doc_id = ranked.doc_id
  GROUP BY ranked.run, ranked.query_id
)
SELECT
  one.run,
  topic.query_id,
  CASE WHEN topic.n_known = topic.n_judged THEN COALESCE(found.dcg, $zero) END AS dcg,
  CASE WHEN topic.n_known < topic.n_judged THEN NULL
    WHEN ideal.ideal > 0 THEN COALESCE(found.dcg, $zero) / ideal.ideal ELSE $zero END AS ndcg
FROM (SELECT DISTINCT run FROM ranking) AS one
CROSS JOIN topic
JOIN ideal ON ideal.query_id = topic.query_id
LEFT JOIN found ON found.run = one.run AND found.query_id = topic.query_id
ORDER BY one.run, topic.query_id
$notes""")

UNJUDGED = Template("""
  UNION ALL  -- unjudged documents, where a query has fewer judged ones than positions
  SELECT topic.query_id, $filler FROM topic JOIN position_weight ON position_weight.pos > topic.n_judged""")

NOTES = """\
-- The mean of each run: SELECT run, AVG(ndcg) FROM (the query above) AS one GROUP BY run.
-- REAL has 32 bits here, as in trec_eval: scores that agree in them are equal. doc_id must be text.
-- Tested on DuckDB and SQLite alone. What other systems need, from their manuals:
--   BigQuery has no REAL: write score instead of CAST(score AS REAL).
--   BigQuery, Snowflake and SQLite compare 64 bits: scores that differ past the seventh digit are not equal there.
--   PostgreSQL compares names by language: write doc_id COLLATE "C" DESC.
--   Spark runs it as it is.
"""


def to_python(dcg: DCGLike, name: str = "the metric") -> str:
    """Return a program of twenty lines with the functions ``dcg(grades)`` and ``ndcg(run, judged)``.

    Values are those of `evaluate`; a document without a judgement counts as the worst grade, the ideal ranking is made
    from the judgements, and a grade above the metric's raises an IndexError.

    Parameters
    ----------
    dcg, name : DCG or file, str
        Any gains, discounts of 0 or more; and what to call the metric in the first line.

    Raises
    ------
    InputError
        If the best grade gains nothing, or a discount is below 0.

    See Also
    --------
    exports.to_sql : The same in a data base.

    Examples
    --------
    >>> names = {}
    >>> exec(to_python(dl.DCG([0, 0.5, 3], [1, 0.6])), names)
    >>> round(names["ndcg"]({"a": 2.0, "b": 1.0}, {"a": 1, "b": 2}), 4)
    0.697
    """
    metric = _carried(dcg, "python")
    return PROGRAM.substitute(title=_title(metric, name), gains=_row(metric.gains), discounts=_row(metric.discounts))


def to_quepid(dcg: DCGLike, name: str = "the metric") -> str:
    """Return the NDCG of a DCG as a scorer for Quepid, in JavaScript; parameters and errors are those of `to_python`.

    The value is that of `evaluate`; the ideal ranking is made from all ratings of the query.

    See Also
    --------
    exports.to_sql : The same in a data base.

    Examples
    --------
    >>> print(to_quepid(dl.DCG([0, 0.5, 3], [1, 0.6])).splitlines()[6].strip())
    var gains = [0.0, 0.5, 3.0];
    """
    metric = _carried(dcg, "quepid")
    return SCORER.substitute(
        title=_title(metric, name),
        scale=",".join(map(str, range(metric.n_grades))),
        filled=", followed by unrated ones" if metric.gains[0] > 0 else "",
        depth=metric.depth,
        gains=_row(metric.gains),
        discounts=_row(metric.discounts),
    )


def to_sql(dcg: DCGLike, name: str = "the metric") -> str:
    """Return a query in standard SQL for DCG and NDCG of every query of every run.

    Values are those of `evaluate`; comments tell what other systems than DuckDB and SQLite need. Parameters and errors
    are those of `to_python`.

    See Also
    --------
    exports.to_python : The same in Python.

    Examples
    --------
    >>> print(to_sql(dl.DCG([0, 0.5, 3], [1, 0.6])).splitlines()[19].strip())
    CASE grade WHEN 0 THEN 0e0 WHEN 1 THEN 0.5e0 WHEN 2 THEN 3e0 END AS gain
    """
    metric = _carried(dcg, "sql")
    filler = max(float(metric.gains[0]), 0.0)
    fills = filler > 0 or metric.gains.min() < 0
    return QUERY.substitute(
        title=_title(metric, name),
        highest=metric.n_grades - 1,
        filled=", followed by unjudged\n-- documents" if fills else "",
        discounts=_weights(metric),
        gains=" ".join(f"WHEN {grade} THEN {_double(gain)}" for grade, gain in enumerate(metric.gains)),
        unjudged=UNJUDGED.substitute(filler=_double(filler)) if fills else "",
        worst=_double(metric.gains[0]),
        zero=_double(0.0),
        notes=NOTES,
    )


def _carried(metric: DCGLike, tool: str) -> DCG:
    """Return the DCG to carry into a program, as `carried`; raise InputError for discounts below 0 too."""
    dcg = carried(metric, tool)
    if dcg.discounts.min() < 0:
        rank = int(dcg.discounts.argmin())
        raise InputError(
            f"{tool}: rank {rank + 1} has the discount {dcg.discounts[rank]:g}, and programs are written for discounts "
            "of 0 or more alone; evaluate with dcglearn, which takes any"
        )
    return dcg


def _title(dcg: DCG, name: str) -> str:
    """Return the first words of a program: what it computes, from which metric, by which version."""
    return f"NDCG@{dcg.depth} of {one_line(name)}, written by dcglearn {__version__}"


def _row(values: Floats) -> str:
    """Return numbers separated by commas, each with all its digits."""
    return ", ".join(map(repr, values.tolist()))


def _weights(dcg: DCG) -> str:
    """Return rows of rank, discount and the discount in descending order, as selections that every dialect has."""
    rows = zip(dcg.discounts, np.sort(dcg.discounts)[::-1], strict=True)
    names = (" AS pos", " AS discount", " AS ideal"), ("", "", "")
    return " UNION ALL\n".join(
        f"  SELECT {k + 1}{p}, {_double(discount)}{d}, {_double(ideal)}{i}"
        for k, (discount, ideal) in enumerate(rows)
        for p, d, i in [names[min(k, 1)]]
    )


def _double(value: float) -> str:
    """Return a number in the notation that makes it floating-point, with all its digits: ``0.5e0``."""
    text = repr(float(value)).removesuffix(".0")
    return text if "e" in text else f"{text}e0"
