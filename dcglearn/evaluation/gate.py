"""Gate for a new ranker: pass, fail or unknown, by paired differences over topics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from dcglearn.foundation.finding import Finding, table_of
from dcglearn.foundation.intervals import fewest_of_one_sign, sign_flip_p, student_quantile
from dcglearn.foundation.plain_text import number_of, one_line, percent
from dcglearn.foundation.validation import Fields, Floats, InputError, PolarsFrame, one_of, within
from dcglearn.metrics.reading import BASELINE

UNMEASURED = (
    "every judged document is worth what the worst grade is, or neither run has a judged document"
)
"""Why a topic does not count."""


STATUS = {"fail": 1, "unknown": 3, "pass": 0}
"""Exit statuses of a gate's answers; 2 is bad input. Of several runs, the answer is the first of
these that one of them has."""

POWER = 0.8
"""Probability with which a detectable difference is shown."""

EASIER = 4
"""A pass says how many topics would show a loss this many times smaller."""


@dataclass(frozen=True, eq=False, repr=False)
class Gate(Finding):
    """The decision on the runs of a comparison.

    `table` has a row for each run and measure: the ``verdict`` pass, fail or unknown and its
    ``reason``, the ``difference`` with the ends of its interval, the one-sided p-values ``p_worse``
    and ``p_better`` that the true difference is below and above the margin, the numbers of topics
    of a `SystemComparison`, the distance from the margin that these topics show four times in five
    (``detectable``; null without spread), and the lower end of the number of 100 ``people`` who see
    a difference that take the run, where it is asked for. For rules and error rates see
    `SystemComparison.gate`.
    """

    table: PolarsFrame = field(repr=False)
    min_difference: float
    rule: str
    level: float
    at_least: float | None = None

    _formats: ClassVar = {"difference": "+.4f", "low": "+.4f", "people": ".1f"}
    _labels: ClassVar = {
        **dict.fromkeys(("baseline", "reason", "detectable"), ""),
        "p_worse": "p (worse)",
        "p_better": "p (better)",
        "n_topics": "topics",
        "n_shared": "in both runs",
        "n_measured": "that count",
        "people": "people, at least",
    }

    @property
    def answer(self) -> str:
        """The answer on all runs and measures.

        It is "fail" if one fails, else "unknown" if one is unknown, else "pass".
        """
        return next(answer for answer in STATUS if answer in self.table["verdict"])

    @property
    def passed(self) -> bool:
        """Whether every run passes under every measure."""
        return self.answer == "pass"

    @property
    def status(self) -> int:
        """Exit status: 0 pass, 1 fail, 3 unknown."""
        return STATUS[self.answer]

    @property
    def sentence(self) -> str:
        """The answer, and why: the reason of the run that decides it."""
        deciding = self.table.filter(verdict=self.answer).sort("difference", maintain_order=True)
        count = f"{len(deciding)} of {len(self.table)} comparisons; at the lowest difference, "
        several = len(self.table) > 1
        return f"{self.answer}: {count * several}{self._verdict(deciding.row(0, named=True))}"

    @property
    def notes(self) -> list[str]:
        """The rule with its error rate, and topics that do not count."""
        table, margin = self.table, f"{self.min_difference:.4g}"
        above = ", passes only if it is shown to be above" * (self.rule == "non-inferior")
        notes = [
            f"rule {self.rule}, one-sided: a run fails if its difference is shown to be below "
            f"{margin}{above}, by Student's t and by the exact test of signs; at a true difference "
            f"of {margin} this happens with a probability of at most {(1 - self.level) / 2:.2g}"
        ]

        # people, and topics that do not count
        if self.at_least is not None:
            notes.append(
                f"of 100 people who see a difference, {self.at_least:g} also have to take the run: "
                "it fails if their whole interval lies below, and is unknown if a part does"
            )
        if (table["n_shared"] < table["n_topics"]).any():
            notes.append("topics that are not in both runs count as 0 for the run without them")
        if (table["n_measured"] < table["n_topics"]).any():
            notes.append(f"in topics that do not count, {UNMEASURED}")
        return notes

    def _verdict(self, row: Fields) -> str:
        """Return the reason of a verdict with its numbers, in words."""
        interval = "no interval"
        if row["low"] is not None:
            interval = f"{percent(self.level)} interval {row['low']:+.4f} to {row['high']:+.4f}"
        counted = f"{row['n_measured']} of {number_of(row['n_topics'], 'topics')} count"
        if row["people"] is not None:
            counted += f"; of 100 people who see a difference at least {row['people']:.1f} take it"
        measure = row["measure"]
        if measure.partition("@")[0] == BASELINE:
            measure += ", the usual nDCG"
        return (
            f"{row['reason']} ({row['run']} against {row['baseline']} under {measure}: difference "
            f"{row['difference']:+.4f}, {interval}, margin {self.min_difference:.4g}, {counted})"
        )

    def to_dict(self) -> Fields:
        """Return the result as plain values, with the answer and whether all runs pass."""
        return super().to_dict() | {"answer": self.answer, "passed": self.passed}

    def to_junit(self) -> str:
        """Return the decision as a JUnit report: a test case for each run and measure.

        An unknown answer is an error, a failed one a failure.
        """
        from xml.etree.ElementTree import Element, SubElement, indent, tostring

        # the numbers of both
        answers, kinds = self.table["verdict"].to_list(), {"fail": "failure", "unknown": "error"}
        counts = {f"{kind}s": str(answers.count(answer)) for answer, kind in kinds.items()}
        suite = Element("testsuite", counts, name="dcglearn gate", tests=str(len(answers)))

        # a test case for each verdict
        for row in self.table.rows(named=True):
            name = one_line(f"{row['run']} against {row['baseline']}: {row['measure']}")
            case = SubElement(suite, "testcase", classname=f"dcglearn.{self.rule}", name=name)
            answer = row["verdict"]
            verdict = one_line(f"{answer}: {self._verdict(row)}")
            if answer in kinds:
                SubElement(case, kinds[answer], type=answer, message=verdict)
            SubElement(case, "system-out").text = verdict

        indent(suite)
        return tostring(suite, encoding="unicode", xml_declaration=True)


COLUMNS = (
    *("run", "baseline", "measure", "verdict", "reason", "difference", "low", "high"),
    *("p_worse", "p_better", "n_topics", "n_shared", "n_measured", "detectable", "people"),
)
"""Columns of a gate's table."""


def gated(
    rows: Sequence[Fields],
    differences: Sequence[Floats | None],
    level: float,
    min_difference: float | None,
    rule: str,
    at_least: float | None = None,
) -> Gate:
    """Return the decision on the rows of a comparison; see `SystemComparison.gate`.

    `differences` are those of each row's topics, None where the row rests on an LLM judge too.
    """
    # check the rule and its margin
    one_of(rule, "rule", ("harm", "non-inferior"))
    if rule == "non-inferior" and min_difference is None:
        raise InputError(
            "the rule non-inferior needs a margin: give the largest loss that is tolerable, as "
            "min_difference=-0.01 (--min-difference -0.01)"
        )

    # the margin, and the fewest people
    margin = float(min_difference or 0.0)
    if not abs(margin) < float("inf"):
        raise InputError(f"min_difference={margin!r} must be a finite number, such as -0.005")
    if at_least is not None:
        within(at_least, "at_least", 100)

    # decide on each row
    verdicts = []
    for row, of_topics in zip(rows, differences, strict=True):
        _refuse_absence(row)
        people = row.get("people_decided_low") if at_least is not None else None
        facts = {**row, **_p_values(row, of_topics, margin), "people": people}
        facts["detectable"] = detectable_difference(row["spread"], row["n_topics"], level)
        verdict, reason = _decided(facts, level, margin, rule)

        # whether people would take it, where the metric knows its judges
        if verdict == "pass" and at_least is not None and row.get("people_decided") is not None:
            of_100 = f"{at_least:g} of 100 people take {row['run']} rather than {row['baseline']}"
            if (row["people_decided_high"] or 100) < at_least:
                verdict, reason = "fail", f"fewer than {of_100}"
            elif (people or 0) < at_least:
                verdict, reason = "unknown", f"nobody can say whether {of_100}"
        verdicts.append(facts | {"verdict": verdict, "reason": reason})
    return Gate(table_of(verdicts).select(COLUMNS), margin, rule, level, at_least)


def _refuse_absence(row: Fields) -> None:
    """Raise InputError if a run lacks most topics of the other, though they share some."""
    n_either = row["n_run"] + row["n_baseline"] - row["n_shared"]
    if not row["n_shared"] or row["n_topics"] == row["n_shared"] or 2 * row["n_shared"] >= n_either:
        return
    n, fewer = min((row["n_run"], row["run"]), (row["n_baseline"], row["baseline"]))
    raise InputError(
        one_line(f"{fewer} has {n} of the {n_either} judged topics") + ": it did not run as it "
        "should, so the gate decides nothing; run it again, or compare the topics of both, "
        'missing="skip" in Python'
    )


def _p_values(row: Fields, differences: Floats | None, margin: float) -> Fields:
    """Return the one-sided p-values that a difference lies below and above the margin.

    Each is the larger of those by Student's t and by sign flips. The t alone holds where an LLM
    judge takes part; the flips alone where the differences have no spread.
    """
    from scipy.special import stdtr

    p_values, n = {}, row["n_topics"]
    for name, sign in (("p_worse", 1), ("p_better", -1)):
        tests = []
        if row["p_t"] is not None:
            distance = sign * (row["difference"] - margin) * n**0.5 / row["spread"]
            tests.append(float(stdtr(n - 1, distance)))
        if differences is not None:
            # these promise their level for any differences that chance makes as often as not
            tests.append(sign_flip_p(sign * (margin - differences), two_sided=False))
        p_values[name] = max(tests, default=1.0)
    return p_values


def _decided(facts: Fields, level: float, margin: float, rule: str) -> tuple[str, str]:
    """Return the verdict on a row and its reason."""
    unknown = _why_unknown(facts, level)
    if unknown:
        return "unknown", unknown

    # what it would mean to lie below the margin
    run, other = facts["run"], facts["baseline"]
    worse = f"worse than {other}" + (f" by more than {_size(margin)}" if margin else "")
    if margin > 0:
        worse = f"less than {_size(margin)} better than {other}"

    # what is shown, each at half of one minus the level
    alpha = (1 - level) / 2
    if facts["p_worse"] <= alpha:
        return "fail", f"{run} is shown to be {worse}"
    if facts["p_better"] <= alpha:
        return "pass", f"{run} is shown not to be {worse}"
    if rule == "harm":
        words = f"{run} is not shown to be {worse}" if margin > 0 else _unseen(facts, margin)
        return "pass", words
    return "unknown", f"{run} is neither shown to be {worse} nor shown not to be"


def _why_unknown(facts: Fields, level: float) -> str:
    """Return why the topics of two runs cannot decide at this level; empty if they can."""
    pair = one_line(f"{facts['run']} and {facts['baseline']}")
    if not facts["n_shared"]:
        return f"{pair} share no judged topic; check whether the files name the same topics"
    n = facts["n_measured"]
    if not n:
        return (
            f"{one_line(facts['measure'])} measures nothing of {pair} in "
            f"{number_of(facts['n_topics'], 'topics')}: {UNMEASURED}; check the grades of the "
            "judgements, and whether runs and judgements name the same documents"
        )

    # topics whose differences could all have one sign by chance
    fewest = fewest_of_one_sign(level)
    if n >= fewest:
        return ""
    return (
        f"{number_of(n, 'topics')} cannot decide at the level {percent(level)}: it takes {fewest}, "
        "since fewer differences have all one sign by chance with a probability above "
        f"{(1 - level) / 2:.2g}"
    )


def _unseen(facts: Fields, margin: float) -> str:
    """Return that no harm is shown, and how large a loss may go unseen, in words."""
    shown = f"no harm beyond a loss of {_size(margin)} shown" if margin else "no harm shown"
    n, reach = facts["n_topics"], facts["detectable"]
    if reach is None:
        why = f"the differences of the {n} topics have no spread" if n > 2 else "topics are few"
        return f"{shown}: {why}, so nobody can say how large a loss may go unseen"

    # what these topics leave unseen, and what more of them would show
    smaller = float(f"{reach / EASIER:.1g}")
    more = float(f"{n * (reach / smaller) ** 2:.2g}")
    return (
        f"{shown}: with {n} topics a loss below {_size(reach - margin)} may go unseen; about "
        f"{more:,.0f} topics would show {_size(smaller - margin)}"
    )


def _size(number: float) -> str:
    return f"{abs(number):.2g}"


def detectable_difference(spread: float, n_topics: int, level: float) -> float | None:
    """Return the distance from the margin at which a gate decides four times in five.

    It is ``(t[(1 + level) / 2] + t[.8]) * spread / sqrt(n_topics)`` with quantiles t of
    Student's distribution with ``n_topics - 1`` degrees of freedom: the sample size formula of a
    one-sided paired t test, solved for the difference. `spread` is the standard deviation of the
    paired differences, `level` the confidence level of their two-sided interval. Without spread,
    and below three topics, it is None.

    Examples
    --------
    >>> round(detectable_difference(0.1, 53, 0.9), 4)
    0.0347
    """
    quantiles = student_quantile(n_topics, level) + student_quantile(n_topics, 2 * POWER - 1)
    reach = quantiles * spread / n_topics**0.5
    return reach if reach > 0 else None
