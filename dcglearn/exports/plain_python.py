"""A DCG as a few lines of Python without dependencies, for a service."""

from __future__ import annotations

from string import Template
from typing import TYPE_CHECKING

from dcglearn.exports.carried import carried_into_program, numbers, title

if TYPE_CHECKING:
    from dcglearn.metric.dcg import DCGLike

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


def to_python(dcg: DCGLike, name: str = "the metric") -> str:
    """Return a program of twenty lines with the functions ``dcg(grades)`` and ``ndcg(run, judged)``.

    Values are those of `evaluate`: documents of equal scores (as float32) are ranked in descending order of their
    names, a document without a judgement counts as the worst grade, and the ideal ranking is made from the judgements.
    A grade above the metric's raises an IndexError.

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
    exports.to_sql : The same in a data base.

    Examples
    --------
    >>> from dcglearn.metric.dcg import DCG
    >>> names = {}
    >>> exec(to_python(DCG([0, 0.5, 3], [1, 0.6])), names)
    >>> round(names["ndcg"]({"a": 2.0, "b": 1.0}, {"a": 1, "b": 2}), 4)
    0.697
    """
    known = carried_into_program(dcg, "python")
    return PROGRAM.substitute(title=title(known, name), gains=numbers(known.gains), discounts=numbers(known.discounts))
