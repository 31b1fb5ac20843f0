"""Repeated judgements: units of agreement, and verdicts that contradict each other."""

import numpy as np

from dcglearn.foundation.validation import Indices, InputError, Integers, one_of
from dcglearn.logs.columns import Columns, ties_of, ways_of
from dcglearn.logs.preference_pairs import AnyLog
from dcglearn.logs.unique_rows import list_numbers, numbered, unique_rows


def units(log: Columns) -> tuple[Indices, Integers, Integers]:
    """Return what was judged, whichever list was preferred or shown first, and how.

    A unit is one query and two lists of documents or, without names, of grades; the first array,
    shape (n,), has its number for each row. The verdict is 0 for a tie, else 1 for one of its lists
    and -1 for the other; the way is 1 where the first of these was shown first and -1 where the
    other was, 0 where the log does not say.
    """
    # lists of documents, or of grades
    number = np.column_stack(list_numbers(log.preferred, log.other))
    if log.docs is not None:
        names = numbered(log.docs.astype(str)).reshape(-1, 2)
        number = np.where(log.docs == "", number, number.max(initial=0) + 1 + names)
    keys = [*np.sort(number).T]
    if log.query is not None:
        keys.append(numbered(log.query))

    # the unit, and which of its lists is ahead
    unit = unique_rows(np.column_stack(keys))[2]
    side = np.sign(np.diff(number))[:, 0]
    return unit, np.where(ties_of(log), 0, side), side * ways_of(log)


def reconciled(log: AnyLog, inconsistent: str) -> AnyLog:
    """Return a log with each rater's contradictory verdicts on a repeated pair resolved.

    Verdicts of one rater on one pair, shown both ways round, contradict each other if any two
    differ; strengths do not matter. Each of them counts half ("half"), or as a tie ("tie"). Raises
    InputError if the word is unknown, or the log has no column `swapped`.

    See Also
    --------
    rater_agreement : Who errs, and who favours a side.

    Examples
    --------
    >>> log = dl.Preferences([[2, 0], [0, 1]], [[0, 1], [2, 0]], swapped=[True, True])
    >>> dl.trust.reconciled(log, "half").weight.tolist()
    [0.5, 0.5]
    """
    import polars as pl

    one_of(inconsistent, "inconsistent", ("half", "tie"))
    if log.swapped is None:
        raise InputError(
            f"inconsistent={inconsistent!r} must know the list shown first: give the column swapped"
        )

    # one rater's verdicts on one pair, where both sides and verdicts differ
    unit, verdict, way = units(log)
    rows = pl.DataFrame({"rater": log.rater, "unit": unit, "way": way, "verdict": verdict})
    n_different = pl.col("way", "verdict").n_unique().over("rater", "unit")
    differ = rows.select(pl.all_horizontal(n_different > 1)).to_series().to_numpy()

    if inconsistent == "tie":
        return log.changed(tie=ties_of(log) | differ)
    return log.changed(weight=np.where(differ, 0.5, 1.0) * log.weights)
