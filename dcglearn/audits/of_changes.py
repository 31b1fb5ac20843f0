"""Part of an audit on changes: what differs from an earlier audit, beyond chance or not."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from itertools import pairwise
from typing import Any
from urllib.parse import unquote

from dcglearn.audits.section import Section
from dcglearn.foundation.finding import Finding
from dcglearn.foundation.inputs import read_bytes
from dcglearn.foundation.validation import Fields, InputError, PathLike

FILE = "audit.json"
"""Name of the numbers that a page carries."""

DIGEST = "judgements (SHA-256)"
"""Name of the digest of the log among what tells how a page was made."""

Ends = tuple[float, float, float]
"""A value, and the ends of its interval."""


@dataclass(frozen=True)
class Change:
    """A number then and now, each with the ends of its interval."""

    name: str
    then: Ends
    now: Ends

    @property
    def is_beyond(self) -> bool:
        """Whether the two intervals have nothing in common."""
        (_, low, high), (_, now_low, now_high) = self.then, self.now
        return low > now_high or now_low > high


def earlier_audit(source: PathLike | Finding | Mapping[str, Any]) -> Fields:
    """Return the numbers of an earlier audit: the audit, its page or JSON, or a mapping.

    Raises InputError if the file holds none, or some that no audit has.
    """
    if isinstance(source, Finding):
        source = source.to_dict()
    if isinstance(source, Mapping):
        values: Any = dict(source)
    else:
        # a page holds them as a link to a file
        text = read_bytes(source).decode("utf-8", errors="replace")
        link = re.search(rf'href="data:application/json,([^"]*)" download="{FILE}"', text)
        try:
            values = json.loads(unquote(link[1]) if link else text)
        except ValueError:
            values = None

    # an audit can be compared with itself
    try:
        _compared(values, values)
    except (KeyError, TypeError, ValueError):
        name = "the mapping" if isinstance(source, Mapping) else source
        reason = f"{name}: no numbers of an audit, or not all of them"
        raise InputError(
            f"{reason}; give a page (.html) or .json that `dcglearn audit` wrote"
        ) from None
    return values


def changes_section(now: Mapping[str, Finding], before: Fields | None, digest: str) -> Section:
    """Return which numbers of an audit differ from those of an earlier one, beyond chance or not.

    `digest` is that of the log. A number has changed where its intervals then and now have nothing
    in common: 90% bands of all at once for gains and discounts, 90% and 95% intervals for the lead
    and the raters' agreement.
    """
    if before is None:
        return Section.told("changes", {})

    parts = {name: part.to_dict() for name, part in now.items()}
    changes, numbers = _compared(before, {**parts, "made": {DIGEST: digest}})
    beyond = [change for change in changes if change.is_beyond]

    # a row for each number
    names = [f"{when}{end}" for when in ("then", "now") for end in ("", "_low", "_high")]
    rows = [
        {
            "number": change.name,
            **dict(zip(names, [*change.then, *change.now], strict=True)),
            "change": "beyond chance" if change in beyond else "",
        }
        for change in changes
    ]
    return Section.told(
        "changes",
        numbers,
        caption=f"{len(changes)} numbers with their intervals, then and now",
        rows=rows,
        formats=dict.fromkeys(names, ".3f"),
        pictures=_drawn(beyond),
    )


def _compared(before: Fields, now: Fields) -> tuple[list[Change], Fields]:
    """Return the numbers that both audits know, and what the sentences are made of."""
    curves = _curves(before, now)
    changes = [*curves, *_lead(before, now), *_agreement(before, now)]
    verdicts = before["verdict"], now["verdict"]
    judgements = [int(one["log"]["judgements"]) for one in (before, now)]
    digests = [one.get("made", {}).get(DIGEST) for one in (before, now)]
    if min(judgements) < 0:
        raise ValueError(f"{min(judgements)} judgements")
    return changes, {
        "date": date.fromisoformat(verdicts[0]["date"]).isoformat(),
        "verdicts": [verdict["sentence"] for verdict in verdicts],
        "judgements": judgements,
        "same_log": None not in digests and digests[0] == digests[1],
        "same_metric": verdicts[0]["name"] == verdicts[1]["name"],
        "same_shape": bool(curves),
        "why_not": "" if curves else _why_not(before, now),
        # numbers then and now
        "n_compared": len(changes),
        "beyond": [vars(change) for change in changes if change.is_beyond],
    }


def _why_not(before: Fields, now: Fields) -> str:
    """Return why gains and discounts of two audits cannot be compared."""
    for name, one in (("the earlier audit", before), ("this audit", now)):
        curves = one["curves"]
        if curves["no_signal"]:
            return f"by {name}, no metric orders the judgements better than a coin"
        if curves["bands"] is None:
            return f"{name} has {curves['no_bands'] or 'no bands'}"
    return "the audits have other grades or another depth"


def _curves(before: Fields, now: Fields) -> list[Change]:
    """Return the changes of learned gains and discounts.

    There are none where grades or depth differ, or one of the logs has nothing to learn from.
    Grades of an audit without their names are told by number.
    """
    bands = [one["curves"]["bands"] for one in (before, now)]
    if None in bands or any(one["curves"]["no_signal"] for one in (before, now)):
        return []
    tables = [one["table"] for one in bands]
    names = [tuple(str(row["parameter"]) for row in table) for table in tables]

    # names of grades, where an audit has them, go before numbers
    shapes = {(sum(name.startswith("gain of ") for name in one), len(one)) for one in names}
    named = {one for one in names if "gain of grade 0" not in one}
    if len(shapes) > 1 or len(named) > 1:
        return []
    was, is_now = ([_ends(row, "estimate", "all_") for row in table] for table in tables)
    numbers = zip(*(named or names[:1]), was, is_now, strict=True)
    return [Change(*number) for number in numbers if number[1][1] < number[1][2]]


def _lead(before: Fields, now: Fields) -> list[Change]:
    """Return the change of the learned DCG's lead over the metric in use, if that is the same."""
    rows = [one["verdict"]["row"] for one in (before, now)]
    if None in rows or before["verdict"]["name"] != now["verdict"]["name"]:
        return []
    name = "lead of the learned DCG on held-out judgements"
    return [Change(name, *(_ends(row, "difference") for row in rows))]


def _agreement(before: Fields, now: Fields) -> list[Change]:
    """Return the change of the raters' agreement, where both audits know it."""
    alphas = [one["raters"]["ordinal"] for one in (before, now) if "raters" in one]
    ends = ("value", "low", "high")
    if len(alphas) < 2 or any(alpha[end] is None for alpha in alphas for end in ends):
        return []
    return [Change("agreement of raters (alpha)", *(_ends(alpha, "value") for alpha in alphas))]


def _ends(row: Fields, value: str, ends: str = "") -> Ends:
    """Return a value and the ends of its interval; raise ValueError if these are none.

    Gains, discounts, leads and agreement are from -1 to 1, and lie within their intervals.
    """
    found, low, high = (float(row[name]) for name in (value, f"{ends}low", f"{ends}high"))
    if not all(below <= above + 1e-9 for below, above in pairwise((-1, low, found, high, 1))):
        raise ValueError(f"{found} ({low} to {high})")
    return found, low, high


def _drawn(beyond: list[Change]) -> list[Fields]:
    """Return the picture of the numbers that have changed, then and now."""
    rows = []
    for change in beyond[:6]:
        rows += [(f"{change.name}: then", *change.then), (f"{change.name}: now", *change.now)]
    title = "what has changed beyond chance (with intervals)"
    return [{"title": title, "rows": rows}] if rows else []
