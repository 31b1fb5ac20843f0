"""Rows of metrics on held-out pairs, and their comparison as a result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dcglearn.foundation.finding import Finding, table_of
from dcglearn.foundation.intervals import LEVEL, interval_text, p_text
from dcglearn.foundation.validation import Fields, PolarsFrame
from dcglearn.metrics.reading import BASELINE
from dcglearn.trust.calibration import Calibration
from dcglearn.trust.ceiling import NoiseCeiling

LEARNED = "learned DCG"
"""Name of the learned DCG's row."""

ADDED_UP = "the learned DCG that adds up"
"""Name of the row of the DCG of the plain form, where another was learned."""

QP = "QP utility"
"""Name of the row of the paper's weights of each grade at each position."""

OF_QP = (
    ": it weighs each grade at each place freely, which no DCG can; see whether gains depend on "
    "the position (position_dependence)"
)
"""What the QP can do that is clearly better than the learned DCG."""

LIST_VALUES = "list values, where lists recur"
"""Name of the row of the noise ceiling's table of list values, on the pairs of the ceiling."""

FOLLOWED_LEVEL = 0.05
"""People follow a metric if the test of a half has at most this p-value."""


@dataclass(frozen=True)
class Row:
    """One metric on held-out pairs.

    `share` is the share of preferences respected, where ties of the metric count half; `difference`
    is the share of the first metric, the learned one, minus that of this metric, and `low` and
    `high` are the ends of its 90% interval, NaN where it is not known.
    """

    name: str
    share: float
    difference: float
    low: float
    high: float

    @property
    def cells(self) -> Fields:
        """The row of a table; the first metric has no lead, since that is over itself."""
        lead: Fields = {"lead": self.difference, "low": self.low, "high": self.high}

        # no interval, or no lead over itself
        if not self.low < self.high:
            lead = {"lead": self.difference or None, "low": None, "high": None}
        return {"metric": self.name, "share": self.share, **lead}

    @property
    def beside(self) -> str:
        """The share, and how it differs from that of the first metric, in words."""
        verdict = "not clearly different"
        if self.low > 0 or self.high < 0:
            verdict = "which is worse" if self.low > 0 else "which is better"
        interval = interval_text(-100 * self.high, -100 * self.low, "+z.1f")
        gap = f"{-100 * self.difference:+z.1f} percentage points"
        return f"{self.share:.1%}, {verdict} ({gap}, {interval})"


LEAD_FORMATS = dict.fromkeys(("lead", "low", "high"), "+.4f")
LEAD_LABELS = {"low": f"{LEVEL:.0%} interval"}
"""How tables of rows show leads."""


@dataclass(frozen=True)
class Comparison(Finding):
    """How metrics order held-out pairs.

    `rows` hold the learned metric first; `baseline` and `textbook` name the metric in use, and the
    textbook DCG that is best on the training pairs. `n_train` and `n_held_out` count the decided
    pairs, `by` is the unit that intervals are over, and `whom_of` says of whom they speak.
    `ceiling` is the noise ceiling of the held-out pairs, and `recurring` holds the rows of the
    learned metric and of the ceiling's list values on its pairs; where there is none, `no_ceiling`
    says why. `tells_nothing` is set where no metric orders the log's pairs better than a coin:
    nobody follows a metric there. `rated` is set for rated lists, which may be of several queries.

    `apart` counts the pairs on which the learned metric and the one used now choose different
    lists, `with_learned` is the share of these, by weight, that are as the learned one says, and
    `p_value` that of a test of a half, see `half_test`. `calibration` tells whether people are
    as sure as the learned metric and its judges say, None where these are not known.
    """

    rows: tuple[Row, ...]
    baseline: str
    textbook: str
    n_train: int
    n_held_out: int
    by: str
    whom_of: str
    ceiling: NoiseCeiling | None = None
    recurring: tuple[Row, ...] = ()
    no_ceiling: str = ""
    apart: int = 0
    with_learned: float = 0.5
    p_value: float = 1.0
    calibration: Calibration | None = None
    tells_nothing: bool = False
    rated: bool = False

    _formats: ClassVar = LEAD_FORMATS
    _labels: ClassVar = LEAD_LABELS

    def __getitem__(self, name: str) -> Row:
        """Return the row of this name, or else the first whose name begins with it."""
        rows = [row for row in self.rows if row.name.startswith(name)]
        if not rows:
            raise KeyError(name)
        return min(rows, key=lambda row: row.name.partition(" (")[0] != name)

    @property
    def sentence(self) -> str:
        """What share each metric orders as people did, the one used now last, in words."""
        in_use, best = self[self.baseline], self[self.textbook]
        clauses = [
            f"of {self.n_held_out:,} held-out pairs, the {LEARNED} orders {self.rows[0].share:.1%} "
            "as people did"
        ]
        usual = self.baseline.partition("@")[0] == BASELINE
        named = f"{self.baseline}, {'the usual nDCG' if usual else 'the metric in use'}, "
        if self.tells_nothing:
            return f"{clauses[0]}; {named}{in_use.share:.1%}; a coin, 50%"

        # what is ahead, what adds up, and the best textbook DCG where it is not behind
        for row in self.rows[1:-1]:
            if row.high < 0 or row.name == ADDED_UP or (row is best and row.low <= 0):
                name = row.name.replace(" (", ", the ").replace(")", ",")
                can = OF_QP if row.name == QP and row.high < 0 else ""
                clauses.append(f"{name} {row.beside}{can}")

        # the metric used now, and of whom the intervals speak
        advice = ": keep that, or get more judgements" if in_use.high < 0 else ""
        speaks = f"intervals are for {self.whom_of}"
        if np.isnan(in_use.low):
            speaks = f"too few were asked to know how that would be for {self.whom_of}"
        if max(row.share for row in self.rows) < 0.5:
            speaks += "; a coin orders 50%: are the winners, the runs or the grades exchanged?"
        if self.rated:
            speaks += "; DCGs are not divided by the ideal of a query, which a log does not hold"
        return "; ".join([*clauses, f"{named}{in_use.beside}{advice}", speaks])

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
            return f"{pairs} the {LEARNED} and {self.baseline} never choose different lists"

        # nobody follows a metric in a log of coins
        if self.tells_nothing:
            return "people are not shown to follow either of the two metrics"

        # counts and the test
        follow = "are not shown to follow either"
        if self.followed:
            follow = f"follow {f'the {LEARNED}' if self.followed == 'learned' else self.baseline}"
        return (
            f"where the two metrics differ, people {follow} ({self.with_learned:.0%} of "
            f"{self.apart:,} held-out pairs are as the {LEARNED} says; {p_text(self.p_value)}, a "
            f"test against a half by {self.by})"
        )

    @property
    def below_ceiling(self) -> bool:
        """Whether the noise ceiling is shown to lie above the learned metric."""
        return not self.tells_nothing and any(row.high < 0 for row in self.recurring[1:])

    @property
    def room(self) -> str:
        """How far the learned metric is from the noise ceiling, in words.

        Without a ceiling, it says why there is none.
        """
        if self.ceiling is None:
            return self.no_ceiling
        learned, of_lists = self.recurring
        return (
            f"noise ceiling, which people's disagreement sets: on {self.ceiling.about}, "
            f"the {LEARNED} orders {learned.share:.1%} as people did; a table of list values "
            f"{of_lists.beside}; no function of the grades more than {self.ceiling.above:.1%}"
        )

    @property
    def caption(self) -> str:
        """What the table is of."""
        return f"{self.n_held_out:,} held-out pairs, each by what {self.n_train:,} others teach"

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
            f"lead of the {LEARNED}, learned from {self.n_train:,} other pairs, over each metric, "
            f"with its {LEVEL:.0%} interval (Student's t, by {self.by})",
        ]
        if any(row.name == QP for row in self.rows):
            notes.append(f"{QP}: the paper's weights of each grade at each position")
        notes.append(self.whom)
        if self.tells_nothing:
            return notes

        # as sure as said, and the ceiling
        notes += [] if self.calibration is None else [self.calibration.sentence]
        return [*notes, self.room] if self.room else notes
