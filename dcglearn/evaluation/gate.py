"""Gate for a new ranker: worse than a margin, not worse or undecided, by a paired interval."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import ClassVar

from dcglearn.foundation.finding import Finding, table_of
from dcglearn.foundation.intervals import normal_quantile
from dcglearn.foundation.plain_text import one_line, percent
from dcglearn.foundation.validation import Fields, InputError, PolarsFrame, one_of, within

UNMEASURED = (
    "every judged document is worth what the worst grade is, or neither run has a judged document"
)
"""Why a topic does not count."""


END_BOUNDS = ("low_least", "low_most", "high_least", "high_most")
"""Columns of a comparison: the least and the most of both ends of an interval."""


@dataclass(frozen=True)
class Verdict:
    """A gate's verdict on one run under one measure.

    `difference`, `low` and `high` are the mean difference from the baseline over topics and the
    limits of its interval. `verdict` is "worse" if `high` is below the margin, "not worse" if `low`
    is above it, else "undecided"; with bounds it is "open" where documents without a judgement
    could turn the decision, and "too few" where fewer people than asked for take the run, by the
    lower end `people` of the interval (None unless asked for). `passed` tells whether the rule lets
    the run through. `n_topics` are compared, `n_shared` are in both runs, `n_measured` have
    something to measure (see `SystemComparison`). `detectable` is the distance from the margin, in
    units of the measure, that these topics detect four times in five.
    """

    run: str
    baseline: str
    measure: str
    verdict: str
    passed: bool
    difference: float
    low: float
    high: float
    n_topics: int
    n_shared: int
    n_measured: int
    detectable: float
    people: float | None = None


@dataclass(frozen=True)
class Gate(Finding):
    """The decision on the runs of a comparison.

    `passed` is False if any run fails under any measure. For rules and error rates see
    `SystemComparison.gate`.
    """

    verdicts: tuple[Verdict, ...] = field(repr=False)
    min_difference: float
    rule: str
    level: float
    at_least: float | None = None

    _formats: ClassVar = {"difference": "+.4f", "low": "+.4f", "people": ".1f"}
    _labels: ClassVar = {
        "baseline": "",
        "n_topics": "topics",
        "n_shared": "in both runs",
        "n_measured": "that count",
        "detectable": "",
        "people": "people, at least",
    }

    @property
    def passed(self) -> bool:
        """Whether every run passes under every measure."""
        return all(verdict.passed for verdict in self.verdicts)

    @property
    def open(self) -> bool:
        """Whether no run fails, and unjudged documents could turn a decision."""
        verdicts = [row.verdict for row in self.verdicts if not row.passed]
        return bool(verdicts) and set(verdicts) == {"open"}

    @property
    def error(self) -> float:
        """Probability of a wrong decision at a true difference of `min_difference`."""
        return (1 - self.level) / 2

    @property
    def sentence(self) -> str:
        """The decision, and the verdict on the run that fails, or is nearest to failing."""
        failed = [row for row in self.verdicts if not row.passed]
        lowest = self._verdict(min(failed or self.verdicts, key=lambda row: row.difference))
        decision = f"the gate {'is open' if self.open else 'fails' if failed else 'passes'}"
        n = len(self.verdicts)
        if n == 1:
            return f"{decision}: {lowest}"
        count = f"{len(failed)} of {n}" if failed else f"all {n}"
        return f"{decision} in {count} comparisons; at the lowest difference, {lowest}"

    @property
    def table(self) -> PolarsFrame:
        """A row for each verdict."""
        return table_of(map(asdict, self.verdicts))

    @property
    def notes(self) -> list[str]:
        """The rule with its error rate, what the topics can show, and topics that do not count."""
        notes = [self._rule, *map(self._power, self.verdicts)]
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

    @property
    def _margin(self) -> str:
        return f"{self.min_difference:+.4f}" if self.min_difference else "0"

    def _verdict(self, row: Verdict) -> str:
        """Return a verdict with its numbers, in words."""
        # how the run stands to the other
        run, other = row.run, row.baseline
        relations = {
            "undecided": f"it is undecided whether {run} is worse than {other}",
            "open": f"documents without a judgement decide whether {run} passes against {other}",
            "too few": f"too few people are shown to take {run} rather than {other}",
        }
        relation = relations.get(row.verdict, f"{run} is {row.verdict} than {other}")

        # by how much, and what counts
        interval = f"{percent(self.level)} interval {row.low:+.4f} to {row.high:+.4f}"
        counted = f"margin {self._margin}; {row.n_measured} of {row.n_topics} topics count"
        if row.people is not None:
            counted += f"; of 100 people who see a difference at least {row.people:.1f} take it"
        return (
            f"{relation} under {row.measure} (difference {row.difference:+.4f}, {interval}, "
            f"{counted})"
        )

    @property
    def _rule(self) -> str:
        """The rule, with its error rate."""
        rule = f"a run fails if the upper limit of its {percent(self.level)} interval is below"
        if self.rule == "non-inferior":
            rule = rule.replace("fails if the upper", "passes only if the lower")
            rule = rule.replace("below", "above")
        return (
            f"rule {self.rule}, one-sided: {rule} {self._margin}; at a true difference of "
            f"{self._margin} that happens with a probability of {self.error:.2g}"
        )

    def _power(self, row: Verdict) -> str:
        """Return what the topics of a run and a measure can show, in words."""
        shown = f"{self.min_difference - row.detectable:+.4f} to be worse"
        if self.rule == "non-inferior":
            shown = f"{self.min_difference + row.detectable:+.4f} to be not worse"
        return (
            f"these {row.n_topics} topics show a true difference of {shown} four times in five "
            f"({row.run}, {row.measure})"
        )

    @property
    def extra_values(self) -> Fields:
        """Whether all runs pass."""
        return {"passed": self.passed}

    def to_junit(self) -> str:
        """Return the decision as a JUnit report: a test case for each run and measure."""
        from xml.etree.ElementTree import Element, SubElement, indent, tostring

        # the suite and its settings
        failures = sum(not row.passed for row in self.verdicts)
        counts = {"tests": str(len(self.verdicts)), "failures": str(failures)}
        suites = Element("testsuites", counts)
        suite = SubElement(suites, "testsuite", {"name": "dcglearn compare", **counts})
        properties = SubElement(suite, "properties")
        for name in ("rule", "min_difference", "level"):
            SubElement(properties, "property", name=name, value=str(getattr(self, name)))

        # a test case for each verdict
        group = f"dcglearn.gate.{self.rule}"
        for row in self.verdicts:
            verdict = one_line(self._verdict(row))
            name = one_line(f"{row.run} against {row.baseline}: {row.measure}")
            case = SubElement(suite, "testcase", classname=group, name=name, time="0")
            if not row.passed:
                failure = SubElement(case, "failure", type=row.verdict, message=verdict)
                failure.text = self._rule
            SubElement(case, "system-out").text = f"{verdict}\n{one_line(self._power(row))}"

        indent(suites)
        return '<?xml version="1.0" encoding="utf-8"?>\n' + tostring(suites, encoding="unicode")


def gated(
    table: PolarsFrame,
    level: float,
    min_difference: float,
    rule: str,
    at_least: float | None = None,
) -> Gate:
    """Return the decision on the rows of a comparison; see `SystemComparison.gate`."""
    one_of(rule, "rule", ("harm", "non-inferior"))
    if not abs(min_difference) < float("inf"):
        raise InputError(
            f"min_difference={min_difference!r} must be a finite number, such as -0.005"
        )

    if at_least is not None:
        within(at_least, "at_least", 100)

    verdicts = []
    for row in table.iter_rows(named=True):
        _refuse_undecidable(row)

        # where the interval lies
        verdict = "not worse" if row["low"] > min_difference else "undecided"
        if row["high"] < min_difference:
            verdict = "worse"

        # whether the rule lets it pass, and whether what is not judged could turn that
        passed = verdict != "worse" if rule == "harm" else verdict == "not worse"
        if _may_turn(row, min_difference, rule, passed=passed):
            verdict, passed = "open", False

        # whether people would take it
        people = row.get("people_decided_low") if at_least is not None else None
        if passed and people is not None and people < at_least:
            verdict, passed = "too few", False
        facts = {
            **row,
            "people": people,
            "verdict": verdict,
            "passed": passed,
            "detectable": detectable_difference(row["spread"], row["n_topics"], level),
        }
        verdicts.append(Verdict(**{one.name: facts[one.name] for one in fields(Verdict)}))
    return Gate(tuple(verdicts), float(min_difference), rule, level, at_least)


def _may_turn(row: Fields, margin: float, rule: str, *, passed: bool) -> bool:
    """Return whether grades of the unjudged could turn the decision, as far as is known."""
    if row.get("low_least") is None:
        return False
    if rule == "harm":
        return bool(row["high_least"] < margin if passed else row["high_most"] >= margin)
    return bool(row["low_least"] <= margin if passed else row["low_most"] > margin)


def _refuse_undecidable(row: Fields) -> None:
    """Raise InputError if the topics of two runs tell nothing of their difference."""
    # no topic, few or none that counts
    if not row["n_shared"]:
        raise InputError(
            f"{row['run']} and {row['baseline']} share no judged topic; check the files",
            see="names",
        )

    absence = mostly_absent(row)
    if absence:
        raise InputError(
            f"{absence}: it did not run as it should, so the gate decides nothing; run it again, "
            'or compare the topics of both by --missing skip (missing="skip")'
        )

    if not row["n_measured"]:
        pair = one_line(f"{row['measure']} measures nothing of {row['run']} and {row['baseline']}")
        raise InputError(
            f"{pair}: in each of the {row['n_topics']} topics {UNMEASURED}, so the gate decides "
            "nothing; check the grades of the judgements, and whether runs and judgements name the "
            "same documents",
            see="names",
        )


def mostly_absent(row: Fields) -> str:
    """Return a sentence on a run that lacks most topics of the other, empty if none does."""
    n_either = row["n_run"] + row["n_baseline"] - row["n_shared"]
    if row["n_topics"] == row["n_shared"] or 2 * row["n_shared"] >= n_either:
        return ""
    fewer = min("run", "baseline", key=lambda which: row[f"n_{which}"])
    return one_line(f"{row[fewer]} has {row[f'n_{fewer}']} of the {n_either} judged topics")


def detectable_difference(spread: float, n_topics: int, level: float, power: float = 0.8) -> float:
    """Return the distance from the margin at which a gate decides with probability `power`.

    It is ``(z[(1 + level) / 2] + z[power]) * spread / sqrt(n_topics)`` with quantiles z of the
    normal distribution: the sample size formula of a one-sided paired z test, solved for the
    difference. `spread` is the standard deviation of the paired differences, `level` the confidence
    level of their two-sided interval.

    Examples
    --------
    >>> round(detectable_difference(0.1, 53, 0.9), 4)
    0.0342
    """
    quantiles = normal_quantile(level) + normal_quantile(2 * power - 1)
    return quantiles * spread / n_topics**0.5
