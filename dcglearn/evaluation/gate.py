"""Gate for a new ranker: worse than a margin, not worse or undecided, by a paired interval."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from dcglearn.foundation.intervals import normal_quantile
from dcglearn.foundation.markup import Shown
from dcglearn.foundation.plain_text import markdown, one_line
from dcglearn.foundation.validation import InputError, PolarsFrame, one_of

UNMEASURED = (
    "every judged document is worth what the worst grade is, or neither run has a judged document"
)
"""Why a topic does not count."""


@dataclass(frozen=True)
class Verdict:
    """A gate's verdict on one run under one measure.

    `difference`, `low` and `high` are the mean difference from the baseline over topics and the
    limits of its interval. `verdict` is "worse" if `high` is below the margin, "not worse" if `low`
    is above it, else "undecided"; `passed` tells whether the rule lets the run through. `n_topics`
    are compared, `n_shared` are in both runs, `n_measured` have something to measure (see
    `SystemComparison`). `detectable` is the distance from the margin, in units of the measure, that
    these topics detect four times in five.
    """

    run: str
    baseline: str
    measure: str
    difference: float
    low: float
    high: float
    verdict: str
    passed: bool
    n_topics: int
    n_shared: int
    n_measured: int
    detectable: float


@dataclass(frozen=True)
class Gate(Shown):
    """The decision on the runs of a comparison; prints as text.

    `passed` is False if any run fails under any measure. For rules and error rates see
    `SystemComparison.gate`.
    """

    verdicts: tuple[Verdict, ...]
    min_difference: float
    rule: str
    level: float

    @property
    def passed(self) -> bool:
        """Whether every run passes under every measure."""
        return all(verdict.passed for verdict in self.verdicts)

    @property
    def error(self) -> float:
        """Probability of a wrong decision at a true difference of `min_difference`."""
        return (1 - self.level) / 2

    @property
    def _margin(self) -> str:
        return f"{self.min_difference:+.4f}" if self.min_difference else "0"

    def _sentence(self, row: Verdict) -> str:
        relation = "undecided against" if row.verdict == "undecided" else f"{row.verdict} than"
        interval = f"{100 * self.level:g}% interval {row.low:+.4f} to {row.high:+.4f}"
        counted = f"margin {self._margin}; {row.n_measured} of {row.n_topics} topics count"
        return one_line(
            f"{row.run}: {relation} {row.baseline} under {row.measure} "
            f"(difference {row.difference:+.4f}, {interval}, {counted})"
        )

    @property
    def rule_in_words(self) -> str:
        """The rule, with its error rate."""
        rule = f"a run fails if the upper limit of its {100 * self.level:g}% interval is below"
        if self.rule == "non-inferior":
            rule = rule.replace("fails if the upper", "passes only if the lower")
            rule = rule.replace("below", "above")
        return (
            f"{self.rule}, one-sided: {rule} {self._margin}; at a true difference of "
            f"{self._margin} that happens with a probability of {self.error:.2g}"
        )

    @property
    def power_in_words(self) -> tuple[str, ...]:
        """What the topics of each run and measure can show, a sentence each."""
        sentences = []
        for row in self.verdicts:
            # the difference that is detected
            loss = row.detectable - self.min_difference
            shown = f"a loss of {loss:.4f}"
            if loss < 0:
                shown = f"a true difference of {-loss:+.4f} to be worse"
            if self.rule == "non-inferior":
                least = self.min_difference + row.detectable
                shown = f"a true difference of {least:+.4f} to be not worse"

            whose = f"({row.run}, {row.measure})"
            sentence = f"these {row.n_topics} topics can show {shown} four times in five {whose}"
            sentences.append(one_line(sentence))
        return tuple(sentences)

    @property
    def pictures(self) -> list[dict[str, Any]]:
        """Differences with their intervals, and the verdicts."""
        rows = [
            (f"{row.run}, {row.measure}: {row.verdict}", row.difference, row.low, row.high)
            for row in self.verdicts
        ]
        return [{"title": f"{self.level:.0%} intervals; margin {self._margin}", "rows": rows}]

    def __str__(self) -> str:
        lines = [f"gate: {'passed' if self.passed else 'failed'}"]
        lines += [f"  {self._sentence(row)}" for row in self.verdicts]
        lines += [f"  {one_line(row.run)}: {shared}" for row, shared in self._partial]
        lines.append(f"rule: {self.rule_in_words}")
        lines += [f"power: {sentence}" for sentence in self.power_in_words]
        return "\n".join(lines)

    @property
    def _partial(self) -> list[tuple[Verdict, str]]:
        """Rows with topics that one run lacks, or that do not count, and how many these are."""
        shared = [
            (row, f"only {row.n_shared} of {row.n_topics} topics are in both runs")
            for row in self.verdicts
            if row.n_shared < row.n_topics
        ]
        measured = [
            (row, f"in {row.n_topics - row.n_measured} of {row.n_topics} topics {UNMEASURED}")
            for row in self.verdicts
            if row.n_measured < row.n_topics
        ]
        return shared + measured

    @property
    def _settings(self) -> dict[str, Any]:
        return {"rule": self.rule, "min_difference": self.min_difference, "level": self.level}

    def to_markdown(self) -> str:
        """Return the decision as Markdown, for the summary of a pull request."""
        lines = [f"**Gate {'passed' if self.passed else 'failed'}**", ""]
        for row in self.verdicts:
            lines.append(f"- {'✅' if row.passed else '❌'} {markdown(self._sentence(row))}")
        lines += [f"- {shared} ({markdown(row.run)})" for row, shared in self._partial]
        lines += ["", f"Rule: {self.rule_in_words}."]
        lines += [f"Power: {markdown(sentence)}." for sentence in self.power_in_words]
        return "\n".join(lines)

    def to_junit(self) -> str:
        """Return the decision as a JUnit report: a test case for each run and measure."""
        from xml.etree.ElementTree import Element, SubElement, indent, tostring

        # the suite and its settings
        failures = sum(not row.passed for row in self.verdicts)
        counts = {"tests": str(len(self.verdicts)), "failures": str(failures)}
        suites = Element("testsuites", counts)
        suite = SubElement(suites, "testsuite", {"name": "dcglearn compare", **counts})
        properties = SubElement(suite, "properties")
        for name, value in self._settings.items():
            SubElement(properties, "property", name=name, value=str(value))

        # a test case for each verdict
        group = f"dcglearn.gate.{self.rule}"
        for row, power in zip(self.verdicts, self.power_in_words, strict=True):
            sentence = self._sentence(row)
            name = one_line(f"{row.run} against {row.baseline}: {row.measure}")
            case = SubElement(suite, "testcase", classname=group, name=name, time="0")
            if not row.passed:
                failure = SubElement(case, "failure", type=row.verdict, message=sentence)
                failure.text = self.rule_in_words
            SubElement(case, "system-out").text = f"{sentence}\n{power}"

        indent(suites)
        return '<?xml version="1.0" encoding="utf-8"?>\n' + tostring(suites, encoding="unicode")

    def to_dict(self) -> dict[str, Any]:
        """Return the decision as plain Python values."""
        return {
            "passed": self.passed,
            **self._settings,
            "verdicts": [asdict(row) for row in self.verdicts],
        }


def gated(
    frame: PolarsFrame, samples: PolarsFrame, level: float, min_difference: float, rule: str
) -> Gate:
    """Return the decision on the rows of a comparison; see `SystemComparison.gate`."""
    one_of(rule, "rule", ("harm", "non-inferior"))
    if not abs(min_difference) < float("inf"):
        raise InputError(
            f"min_difference={min_difference!r} must be a finite number, such as -0.005"
        )

    verdicts = []
    for row, sample in zip(frame.iter_rows(named=True), samples.iter_rows(named=True), strict=True):
        _refuse_undecidable(row, sample)

        # where the interval lies
        verdict = "not worse" if row["low"] > min_difference else "undecided"
        if row["high"] < min_difference:
            verdict = "worse"

        # whether the rule lets it pass
        facts = {
            **row,
            **sample,
            "verdict": verdict,
            "passed": verdict != "worse" if rule == "harm" else verdict == "not worse",
            "detectable": detectable_difference(sample["spread"], sample["n_topics"], level),
        }
        verdicts.append(Verdict(**{field.name: facts[field.name] for field in fields(Verdict)}))
    return Gate(tuple(verdicts), float(min_difference), rule, level)


def _refuse_undecidable(row: Mapping[str, Any], sample: Mapping[str, Any]) -> None:
    """Raise InputError if the topics of two runs tell nothing of their difference."""
    # no topic, few or none that counts
    if not sample["n_shared"]:
        raise InputError(
            f"{row['run']} and {row['baseline']} share no judged topic; check the files",
            see="names",
        )

    absence = mostly_absent(row, sample)
    if absence:
        raise InputError(
            f"{absence}: it did not run as it should, so the gate decides nothing; run it again, "
            'or compare the topics of both by --missing skip (missing="skip")'
        )

    if not sample["n_measured"]:
        pair = one_line(f"{row['measure']} measures nothing of {row['run']} and {row['baseline']}")
        raise InputError(
            f"{pair}: in each of the {sample['n_topics']} topics {UNMEASURED}, so the gate decides "
            "nothing; check the grades of the judgements, and whether runs and judgements name the "
            "same documents",
            see="names",
        )


def mostly_absent(row: Mapping[str, Any], sample: Mapping[str, Any]) -> str:
    """Return a sentence on a run that lacks most topics of the other, empty if none does."""
    n_either = sample["n_run"] + sample["n_baseline"] - sample["n_shared"]
    if sample["n_topics"] == sample["n_shared"] or 2 * sample["n_shared"] >= n_either:
        return ""
    fewer = min("run", "baseline", key=lambda which: sample[f"n_{which}"])
    return one_line(f"{row[fewer]} has {sample[f'n_{fewer}']} of the {n_either} judged topics")


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
