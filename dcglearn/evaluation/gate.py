"""Gate for a new ranker: pass, fail or unknown, by paired differences over topics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import ClassVar

from dcglearn.foundation.finding import Finding, table_of
from dcglearn.foundation.intervals import fewest_of_one_sign, sign_flip_p, student_quantile
from dcglearn.foundation.plain_text import number_of, one_line, percent
from dcglearn.foundation.validation import Fields, Floats, InputError, PolarsFrame, one_of, within

UNMEASURED = (
    "every judged document is worth what the worst grade is, or neither run has a judged document"
)
"""Why a topic does not count."""


STATUS = {"pass": 0, "fail": 1, "unknown": 3}
"""Exit statuses of the answers of a gate; 2 is bad input."""

EASIER = 4
"""A pass says how many topics would show a loss this many times smaller."""


@dataclass(frozen=True)
class Verdict:
    """A gate's verdict on one run under one measure.

    `verdict` is "pass", "fail" or "unknown", and `reason` says why, in words. `difference`, `low`
    and `high` are the mean difference from the baseline over topics and the ends of its interval,
    None where that is not known. `p_worse` and `p_better` are the one-sided p-values that the true
    difference is below and above the margin. `n_topics` are compared, `n_shared` are in both runs,
    `n_measured` have something to measure (see `SystemComparison`). `detectable` is the distance
    from the margin, in units of the measure, that these topics show four times in five; None
    without spread. `people` is the lower end of the number of 100 people who see a difference that
    take the run, None unless asked for.
    """

    run: str
    baseline: str
    measure: str
    verdict: str
    reason: str
    difference: float
    low: float | None
    high: float | None
    p_worse: float
    p_better: float
    n_topics: int
    n_shared: int
    n_measured: int
    detectable: float | None
    people: float | None = None


@dataclass(frozen=True)
class Gate(Finding):
    """The decision on the runs of a comparison.

    For rules and error rates see `SystemComparison.gate`.
    """

    verdicts: tuple[Verdict, ...] = field(repr=False)
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
        answers = {row.verdict for row in self.verdicts}
        return next(answer for answer in ("fail", "unknown", "pass") if answer in answers)

    @property
    def passed(self) -> bool:
        """Whether every run passes under every measure."""
        return self.answer == "pass"

    @property
    def status(self) -> int:
        """Exit status: 0 pass, 1 fail, 3 unknown."""
        return STATUS[self.answer]

    @property
    def error(self) -> float:
        """Most probable error of a decision at a true difference of `min_difference`."""
        return (1 - self.level) / 2

    @property
    def sentence(self) -> str:
        """The answer, and why: the reason of the run that decides it."""
        deciding = [row for row in self.verdicts if row.verdict == self.answer]
        lowest = min(deciding, key=lambda row: row.difference)
        n = len(self.verdicts)
        count = f"{'all ' if len(deciding) == n else f'{len(deciding)} of '}{n} comparisons; "
        count += "at the lowest difference, "
        return f"{self.answer}: {count if n > 1 else ''}{self._verdict(lowest)}"

    @property
    def table(self) -> PolarsFrame:
        """A row for each verdict."""
        return table_of(map(asdict, self.verdicts))

    @property
    def notes(self) -> list[str]:
        """The rule with its error rate, and topics that do not count."""
        notes = [self._rule]
        if self.at_least is not None:
            notes.append(
                f"it also takes at least {self.at_least:g} of 100 people who see a difference, by "
                "the lower end of the interval"
            )
        if any(row.n_shared < row.n_topics for row in self.verdicts):
            notes.append("topics that are not in both runs count as 0 for the run without them")
        if any(row.n_measured < row.n_topics for row in self.verdicts):
            notes.append(f"in topics that do not count, {UNMEASURED}")
        return notes

    def _verdict(self, row: Verdict) -> str:
        """Return the reason of a verdict with its numbers, in words."""
        interval = "no interval"
        if row.low is not None:
            interval = f"{percent(self.level)} interval {row.low:+.4f} to {row.high:+.4f}"
        counted = f"{row.n_measured} of {number_of(row.n_topics, 'topics')} count"
        if row.people is not None:
            counted += f"; of 100 people who see a difference at least {row.people:.1f} take it"
        return (
            f"{row.reason} ({row.run} against {row.baseline} under {row.measure}: difference "
            f"{row.difference:+.4f}, {interval}, margin {_signed(self.min_difference)}, {counted})"
        )

    @property
    def _rule(self) -> str:
        """The rule, with its error rate."""
        margin = _signed(self.min_difference)
        rule = f"a run fails if its difference is shown to be below {margin}"
        if self.rule == "non-inferior":
            rule += ", passes only if it is shown to be above"
        return (
            f"rule {self.rule}, one-sided: {rule}, by Student's t and by the exact test of signs; "
            f"at a true difference of {margin} this happens with a probability of at most "
            f"{self.error:.2g}"
        )

    @property
    def extra_values(self) -> Fields:
        """The answer, and whether all runs pass."""
        return {"answer": self.answer, "passed": self.passed}

    def to_junit(self) -> str:
        """Return the decision as a JUnit report: a test case for each run and measure.

        An unknown answer is an error, a failed one a failure.
        """
        from xml.etree.ElementTree import Element, SubElement, indent, tostring

        # the suite and its settings
        answers = [row.verdict for row in self.verdicts]
        counts = {
            "tests": str(len(answers)),
            "failures": str(answers.count("fail")),
            "errors": str(answers.count("unknown")),
        }
        suites = Element("testsuites", counts)
        suite = SubElement(suites, "testsuite", {"name": "dcglearn compare", **counts})
        properties = SubElement(suite, "properties")
        for name in ("rule", "min_difference", "level"):
            SubElement(properties, "property", name=name, value=str(getattr(self, name)))

        # a test case for each verdict
        group = f"dcglearn.gate.{self.rule}"
        kinds = {"fail": "failure", "unknown": "error"}
        for row in self.verdicts:
            verdict = one_line(f"{row.verdict}: {self._verdict(row)}")
            name = one_line(f"{row.run} against {row.baseline}: {row.measure}")
            case = SubElement(suite, "testcase", classname=group, name=name, time="0")
            if row.verdict in kinds:
                told = SubElement(case, kinds[row.verdict], type=row.verdict, message=verdict)
                told.text = self._rule
            SubElement(case, "system-out").text = verdict

        indent(suites)
        return '<?xml version="1.0" encoding="utf-8"?>\n' + tostring(suites, encoding="unicode")


def gated(
    table: PolarsFrame,
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
    margin = 0.0 if min_difference is None else float(min_difference)
    if not abs(margin) < float("inf"):
        raise InputError(f"min_difference={margin!r} must be a finite number, such as -0.005")
    if at_least is not None:
        within(at_least, "at_least", 100)

    # decide on each row
    verdicts = []
    for row, of_topics in zip(table.iter_rows(named=True), differences, strict=True):
        absence = mostly_absent(row)
        if absence and row["n_shared"]:
            raise InputError(
                f"{absence}: it did not run as it should, so the gate decides nothing; run it "
                'again, or compare the topics of both by --missing skip (missing="skip")'
            )
        facts = {
            **row,
            **_p_values(row, of_topics, margin),
            "detectable": detectable_difference(row["spread"], row["n_topics"], level),
            "people": row.get("people_decided_low") if at_least is not None else None,
        }
        facts["verdict"], facts["reason"] = _decided(facts, level, margin, rule, at_least)
        verdicts.append(Verdict(**{one.name: facts[one.name] for one in fields(Verdict)}))
    return Gate(tuple(verdicts), margin, rule, level, at_least)


def _p_values(row: Fields, differences: Floats | None, margin: float) -> Fields:
    """Return the one-sided p-values that a difference lies below and above the margin.

    Each is the larger of those by Student's t and by sign flips. The t alone holds where an LLM
    judge takes part; the flips alone where the differences have no spread.
    """
    from scipy.special import stdtr

    # Student's t
    p_values = {"p_worse": 1.0, "p_better": 1.0}
    if row["p_t"] is not None:
        distance = (row["difference"] - margin) * row["n_topics"] ** 0.5 / row["spread"]
        below = float(stdtr(row["n_topics"] - 1, distance))
        p_values = {"p_worse": below, "p_better": 1 - below}
    if differences is None:
        return p_values

    # sign flips, which promise their level for any differences that chance makes as often as not
    for name, sign in (("p_worse", -1), ("p_better", 1)):
        p_flips = sign_flip_p(sign * (differences - margin), two_sided=False)
        p_values[name] = p_flips if row["p_t"] is None else max(p_flips, p_values[name])
    return p_values


def _decided(
    facts: Fields, level: float, margin: float, rule: str, at_least: float | None
) -> tuple[str, str]:
    """Return the verdict on a row and its reason."""
    # what cannot be decided
    unknown = _why_unknown(facts, level)
    if unknown:
        return "unknown", unknown

    # what is shown, each at half of one minus the level
    alpha = (1 - level) / 2
    shown_worse, shown_better = (facts[name] <= alpha for name in ("p_worse", "p_better"))
    verdict = "pass" if rule == "harm" or shown_better else "unknown"
    verdict = "fail" if shown_worse else verdict

    # whether people would take it
    run, other = facts["run"], facts["baseline"]
    if verdict == "pass" and at_least is not None and (facts["people"] or 0.0) < at_least:
        return "fail", f"too few people are shown to take {run} rather than {other}"

    # the reason
    if verdict == "fail":
        return verdict, f"{run} is shown to be {_worse_than(other, margin)}"
    if rule == "harm" and margin > 0:
        return verdict, f"{run} is not shown to be {_worse_than(other, margin)}"
    if rule == "harm":
        return verdict, _unseen(facts, margin)
    if verdict == "pass":
        return verdict, f"{run} is shown not to be {_worse_than(other, margin)}"
    return verdict, f"{run} is neither shown to be {_worse_than(other, margin)} nor shown not to be"


def _why_unknown(facts: Fields, level: float) -> str:
    """Return why the topics of two runs cannot decide at this level; empty if they can."""
    pair = one_line(f"{facts['run']} and {facts['baseline']}")
    if not facts["n_shared"]:
        return f"{pair} share no judged topic; check whether the files name the same topics"
    n = facts["n_measured"]
    if not n:
        return (
            f"{one_line(facts['measure'])} measures nothing of {pair}: in each of the "
            f"{facts['n_topics']} topics {UNMEASURED}; check the grades of the judgements, and "
            "whether runs and judgements name the same documents"
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


def _worse_than(other: str, margin: float) -> str:
    """Return what a run is whose difference from the other lies below the margin, in words."""
    if margin > 0:
        return f"less than {_size(margin)} better than {other}"
    return f"worse than {other}" + (f" by more than {_size(margin)}" if margin else "")


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


def _signed(number: float) -> str:
    return f"{number:+.4f}" if number else "0"


def _size(number: float) -> str:
    return f"{abs(number):.2g}"


def mostly_absent(row: Fields) -> str:
    """Return a sentence on a run that lacks most topics of the other, empty if none does."""
    n_either = row["n_run"] + row["n_baseline"] - row["n_shared"]
    if row["n_topics"] == row["n_shared"] or 2 * row["n_shared"] >= n_either:
        return ""
    fewer = min("run", "baseline", key=lambda which: row[f"n_{which}"])
    return one_line(f"{row[fewer]} has {row[f'n_{fewer}']} of the {n_either} judged topics")


def detectable_difference(
    spread: float, n_topics: int, level: float, power: float = 0.8
) -> float | None:
    """Return the distance from the margin at which a gate decides with probability `power`.

    It is ``(t[(1 + level) / 2] + t[power]) * spread / sqrt(n_topics)`` with quantiles t of
    Student's distribution with ``n_topics - 1`` degrees of freedom: the sample size formula of a
    one-sided paired t test, solved for the difference. `spread` is the standard deviation of the
    paired differences, `level` the confidence level of their two-sided interval. Without spread,
    and below three topics, it is None.

    Examples
    --------
    >>> round(detectable_difference(0.1, 53, 0.9), 4)
    0.0347
    """
    quantiles = student_quantile(n_topics, level) + student_quantile(n_topics, 2 * power - 1)
    reach = quantiles * spread / n_topics**0.5
    return reach if reach > 0 else None
