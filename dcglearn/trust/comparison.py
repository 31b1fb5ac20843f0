"""Rows of metrics on held-out pairs, and their comparison as a result."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from dcglearn.foundation.finding import Finding, table_of
from dcglearn.foundation.intervals import LEVEL
from dcglearn.foundation.validation import Fields, Floats, PolarsFrame
from dcglearn.trust.calibration import Calibration
from dcglearn.trust.ceiling import NoiseCeiling

LEARNED = "learned DCG"
"""Name of the learned DCG's row."""

FOLLOWED_LEVEL = 0.05
"""People follow a metric if the test of a half has at most this p-value."""


@dataclass(frozen=True)
class Row:
    """One metric on held-out pairs.

    `share` and `precision` are the share of preferences respected, where ties of the metric count
    half, or nothing; `difference` is the share of the first metric, the learned one, minus that of
    this metric, and `low` and `high` are the ends of its 90% interval, NaN where it is not known.
    """

    name: str
    share: float
    precision: float
    difference: float
    low: float
    high: float

    @property
    def cells(self) -> Fields:
        """The row of a table; the first metric has no lead, since that is over itself."""
        shown: Fields = {"metric": self.name, "share": self.share}
        lead = {"lead": self.difference, "low": self.low, "high": self.high}
        if self.low < self.high:
            return shown | lead

        # no lead over itself, or no interval
        return shown | dict.fromkeys(lead) | ({"lead": lead["lead"]} if lead["lead"] else {})

    @property
    def beside(self) -> str:
        """The share, and how it differs from that of the first metric, in words."""
        verdict = "not clearly different"
        if self.low > 0 or self.high < 0:
            verdict = "which is worse" if self.low > 0 else "which is better"
        gap, low, high = -100 * self.difference, -100 * self.high, -100 * self.low
        interval = f"{LEVEL:.0%} interval {low:+z.1f} to {high:+z.1f}"
        if np.isnan(low):
            interval = "no interval"
        return f"{self.share:.1%}, {verdict} ({gap:+z.1f} percentage points, {interval})"


LEAD_FORMATS = dict.fromkeys(("lead", "low", "high"), "+.4f")
LEAD_LABELS = {"low": f"{LEVEL:.0%} interval"}
"""How tables of rows show leads."""


@dataclass(frozen=True)
class Comparison(Finding):
    """How metrics order held-out pairs.

    `rows` hold the learned metric first; `baseline` and `textbook` name the metric in use, and the
    textbook DCG that is best on the training pairs. `n_train` and `n_held_out` count the decided
    pairs, `by` is the unit that intervals are over, and `whom_of` says of whom they speak.
    `ceiling` is the noise ceiling of the held-out pairs, and `reached` the share of its pairs that
    the learned metric respects; where there is none, `no_ceiling` says why. `tells_nothing` is set
    where no metric orders the log's pairs better than a coin: nobody follows a metric there.

    `apart` counts the pairs on which the learned metric and the one used now choose different
    lists, `with_learned` is the share of these, by weight, that are as the learned one says, and
    `p_value` that of a test of a half, see `sign_test`. `signs`, shape (n,), are 1 for pairs that
    are as the learned one says, -1 for those that are as the other says, and else 0. `calibration`
    tells whether people are as sure as the learned metric and its judges say, None where these are
    not known.
    """

    rows: tuple[Row, ...]
    baseline: str
    textbook: str
    n_train: int
    n_held_out: int
    by: str
    whom_of: str = ""
    ceiling: NoiseCeiling | None = None
    reached: float | None = None
    no_ceiling: str = ""
    apart: int = 0
    with_learned: float = 0.5
    p_value: float = 1.0
    calibration: Calibration | None = None
    tells_nothing: bool = False
    signs: Floats = field(default_factory=lambda: np.zeros(0), repr=False, compare=False)

    _formats: ClassVar = LEAD_FORMATS
    _labels: ClassVar = LEAD_LABELS

    def __getitem__(self, name: str) -> Row:
        """Return the row of this name, or else the first whose name begins with it."""
        rows = [row for row in self.rows if row.name.startswith(name)]
        if not rows:
            raise KeyError(name)
        return min(rows, key=lambda row: row.name.partition(" (")[0] != name)

    @property
    def learned(self) -> str:
        """What the first row is called in a sentence."""
        return f"the {self.rows[0].name.partition(' (')[0]}"

    @property
    def sentence(self) -> str:
        """What share each metric orders as people did, the one used now last, in words."""
        row, best = self[self.baseline], self[self.textbook]
        head = f"of {self.n_held_out:,} held-out pairs, {self.learned} orders"
        clauses = [f"{head} {self.rows[0].share:.1%} as people did"]
        in_use = f"{self.baseline}, the metric in use, "
        if self.tells_nothing:
            return f"{clauses[0]}; {in_use}{row.share:.1%}; a coin, 50%"

        # a third metric that is ahead, and the best textbook DCG where it is not behind
        others = [other for other in self.rows[1:] if other.high < 0 and other not in (row, best)]
        if others:
            ahead = min(others, key=lambda other: other.difference)
            clauses.append(f"{ahead.name} {ahead.beside}")
        if self.textbook != self.baseline and best.low <= 0:
            clauses.append(f"{self.textbook}, the best textbook DCG in training, {best.beside}")

        # the metric used now, and of whom the intervals speak
        advice = ": keep that, or get more judgements" if row.high < 0 else ""
        speaks = f"intervals are for {self.whom_of}"
        if np.isnan(row.low):
            speaks = f"too few were asked to know how that would be for {self.whom_of}"
        clauses.append(f"{in_use}{row.beside}{advice}")
        return "; ".join([*clauses, *[speaks] * bool(self.whom_of)])

    @property
    def followed(self) -> str:
        """The metric that people follow where both differ: "learned", "in use", or "" for none."""
        if self.tells_nothing or self.p_value > FOLLOWED_LEVEL:
            return ""
        return "learned" if self.with_learned > 0.5 else "in use"

    @property
    def whom(self) -> str:
        """Whom people follow where the learned metric and the one used now differ, in words."""
        if not self.apart:
            pairs = f"on the {self.n_held_out:,} held-out pairs"
            return f"{pairs} {self.learned} and {self.baseline} never choose different lists"

        # nobody follows a metric in a log of coins
        if self.tells_nothing:
            return "people are not shown to follow either of the two metrics"

        # counts and the test
        follow = "are not shown to follow either"
        if self.followed:
            follow = f"follow {self.learned if self.followed == 'learned' else self.baseline}"
        p_value = "p < .001" if self.p_value < 0.001 else f"p = {self.p_value:.3f}"
        return (
            f"where the two metrics differ, people {follow} ({self.with_learned:.0%} of "
            f"{self.apart:,} held-out pairs are as {self.learned} says; {p_value}, a test against "
            f"a half by {self.by})"
        )

    @property
    def below_ceiling(self) -> bool:
        """Whether the noise ceiling is shown to lie above the learned metric."""
        if self.tells_nothing or self.ceiling is None or self.reached is None:
            return False
        return self.ceiling.interval[0] > self.reached

    @property
    def room(self) -> str:
        """How far the learned metric is from the noise ceiling, in words.

        Without a ceiling, it says why there is none.
        """
        if self.ceiling is None or self.reached is None:
            return self.no_ceiling
        share = self.ceiling.share
        if not self.below_ceiling:
            return (
                f"no function of the grades is shown to be better there than {self.learned} "
                f"({self.reached:.1%} of the preferences; the noise ceiling is about {share:.1%})"
            )
        return (
            f"{self.learned} orders {self.reached:.1%} of these pairs rightly, and about "
            f"{share:.1%} is all that any function of the grades could reach: "
            f"{100 * (share - self.reached):.1f} points are left"
        )

    @property
    def by_part(self) -> dict[str, Finding]:
        """The comparison and the calibration, as parts of a report."""
        parts: dict[str, Finding | None] = {
            "new judgements": replace(self, calibration=None),
            "as sure as said?": None if self.tells_nothing else self.calibration,
        }
        return {name: part for name, part in parts.items() if part is not None}

    @property
    def caption(self) -> str:
        """What the table is of."""
        return f"{self.n_held_out:,} held-out pairs, each by what {self.n_train:,} others teach"

    @property
    def pictures(self) -> list[Fields]:
        """Leads of the first metric, and how far it is above the noise ceiling."""
        rows: list[tuple[Any, ...]] = [
            (f"{row.name.partition(' (')[0]}: {row.share:.1%}", row.difference, row.low, row.high)
            for row in self.rows[1:]
            if not np.isnan(row.low)
        ]
        if self.ceiling is not None and self.reached is not None and not self.tells_nothing:
            label = f"noise ceiling, where lists recur: {self.ceiling.share:.1%}"
            ends = (self.ceiling.share, *self.ceiling.interval[::-1])
            rows.append((label, *(self.reached - end for end in ends)))
        title = f"how far {self.learned} is ahead ({LEVEL:.0%} intervals)"
        return [{"title": title, "rows": rows}]

    @property
    def table(self) -> PolarsFrame:
        """A row for each metric: its share, and the first one's lead over it with its interval."""
        return table_of(row.cells for row in self.rows)

    @property
    def notes(self) -> list[str]:
        """What the columns mean, and how far the noise ceiling is."""
        notes = [
            f"share of {self.n_held_out:,} held-out pairs that each metric orders as the judges "
            "did; its ties count half",
            f"lead of {self.learned}, learned from {self.n_train:,} other pairs, over each metric, "
            f"with its {LEVEL:.0%} interval (Student's t, by {self.by})",
        ]
        meanings = {
            "QP utility": "the paper's weights of each grade at each position",
            "QP + SVD": "the DCG nearest to the paper's weights",
        }
        names = [row.name for row in self.rows]
        notes += [f"{name}: {meanings[name]}" for name in meanings if name in names]
        notes.append(self.whom)
        if self.tells_nothing:
            return notes

        # the ceiling, between two shares that are reached
        ceiling = self.ceiling
        if ceiling is not None and self.reached is not None:
            unit = ceiling.unit
            notes += [
                f"noise ceiling, the most that people's disagreement leaves to reach, on "
                f"{ceiling.about}: {ceiling.sentence}",
                f"the lists' own values reach {ceiling.lower:.1%} on held-out {unit}s, and "
                f"{ceiling.upper:.1%} on the same {unit}s (too high)",
            ]
        notes += [] if self.calibration is None else [self.calibration.sentence]
        return [*notes, self.room] if self.room else notes
