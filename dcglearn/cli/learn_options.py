"""Options of ``dcglearn learn``: what is fitted, and what is measured."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from dcglearn.cli.command import first_row, model_row, option_name
from dcglearn.cli.options import Seed
from dcglearn.foundation.validation import InputError
from dcglearn.metrics.reading import ONLY_DCG, SCORING, metric_or_name

if TYPE_CHECKING:
    from dcglearn.learning.options import DCGOptions, QPOptions
    from dcglearn.reading.answers import Answers
    from dcglearn.reading.preferences import Preferences


@dataclass(frozen=True)
class CurveOptions:
    """How gains and discounts are fitted."""

    ridge: float | None = model_row(
        "Expected strength of the prior for smooth curves (2), which the log corrects.", min=0.0
    )
    loss: Literal["robust", "logistic"] = model_row(
        "logistic: judges whose only errors are those on close pairs.", "robust"
    )
    prior: str | None = model_row(
        "Draw the curves to this file, GAIN-DISCOUNT, and weigh it beside "
        "textbooks; for small logs.",
        metavar="METRIC",
    )
    zero: str | None = model_row(
        "The grade with gain 0; none: an empty place alone; by default the worst, unless lists "
        "of different lengths say otherwise.",
        metavar="GRADE|none",
    )

    def direct(self, log: Preferences | Answers, seed: int = 0) -> DCGOptions:
        """Return what to fit to a log; draws that weigh have the seed."""
        from dcglearn.learning.options import DCGOptions

        ridge = DCGOptions.ridge if self.ridge is None else self.ridge
        zero = "auto" if self.zero is None else grade_of(self.zero, log)
        return DCGOptions(
            loss=self.loss, ridge=ridge, prior=self.prior, zero=zero, random_state=seed
        )


@dataclass(frozen=True)
class LearnerOptions(CurveOptions):
    """The learner and its parameters."""

    method: Literal["dcg", "qp"] = model_row(
        "dcg: gains and discounts; qp: the paper's QP, a weight for each grade at each position.",
        "dcg",
    )
    llm: str | None = first_row(
        "dcg: an LLM judge's verdicts, followed as far as LOG's agree.", metavar="LOG"
    )
    C: str | None = model_row(
        "qp: weight of violated pairs (1); auto validates 1e-5..1e5.",
        None,
        "--C",  # typer 0.19 would call it --c
        metavar="NUMBER|auto",
    )
    power: str | None = model_row(
        "dcg: how far people average what they find: 0 adds up, 1 averages; by default found out "
        "where lists differ in length.",
        metavar="P|free",
    )
    margin: Literal["unit", "hamming", "log"] = model_row(
        "qp: by how much the preferred list should win.", "unit"
    )

    def __post_init__(self) -> None:
        # C is a positive number, or chosen
        try:
            usable = self.C in (None, "auto") or 0 < float(self.C or 0) < float("inf")
        except ValueError:
            usable = False
        if not usable:
            raise InputError(f"--C {self.C}: give a positive number, or auto")

        # options of the other method keep their defaults
        needed, names = "qp", ["C", "margin"]
        if self.method == "qp":
            needed, names = "dcg", ["loss", "ridge", "prior", "zero", "power", "llm"]
        for name in names:
            if getattr(self, name) != getattr(LearnerOptions, name):
                raise InputError(f"{option_name(name)} goes with --method {needed}")

    def learner(self, log: Preferences, seed: int) -> DCGOptions | QPOptions:
        """Return what to fit to a log; C is 1 where it is to be chosen."""
        from dcglearn.learning.options import QPOptions

        if self.method == "dcg":
            return replace(self.direct(log, seed), power=power_of(self.power))
        C = 1.0 if self.C in (None, "auto") else float(self.C or 1)
        return QPOptions(C=C, margin=self.margin)


def power_of(word: str | None) -> float | str:
    """Return a power of the length; raise InputError for any other word than "free"."""
    if word in (None, "free"):
        return word or "auto"
    try:
        return float(word or "")
    except ValueError:
        raise InputError(f"--power {word}: give a number from 0 to 1, or free") from None


def grade_of(word: str, log: Preferences | Answers) -> int | str:
    """Return the grade of a name or number, or "none"; raise InputError for any other word."""
    numbers = [str(grade) for grade in range(log.n_grades)]
    names = [name.lower() for name in log.grade_names or numbers]
    for scale in (names, numbers):
        if word.lower() in scale:
            return scale.index(word.lower())
    if word != "none":
        raise InputError(f"--zero {word}: give none, or a grade of the log: {', '.join(names)}")
    return word


@dataclass(frozen=True)
class BaselineOptions:
    """The metric that is used now, to compare with, and the seed."""

    baseline: str = model_row(
        "The metric used now, to compare with.", "exponential-log2", metavar="METRIC"
    )
    seed: Seed = 0

    def check(self, prior: str | None = None) -> None:
        """Raise InputError if this, or the prior's, is no metric."""
        metric_or_name(self.baseline, accept=SCORING)
        if prior is not None:
            metric_or_name(prior, accept=ONLY_DCG)


@dataclass(frozen=True)
class TrustOptions(BaselineOptions):
    """What is measured to say how far the learned DCG can be trusted."""

    bands: int = first_row(
        "dcg: bands of each number and of all at once, of 90% or --level, from ten times N draws; "
        "200 is enough.",
        0,
        min=0,
    )
    level: float | None = model_row("Level of --bands, 0.9 by default.")
    holdout: float | None = first_row("Measure on this share, held out.", metavar="SHARE")
    holdout_by: Literal["pair", "rater", "query", "list"] | None = model_row(
        "What is held out whole; by default pair, for ratings rater or list."
    )

    calibrate: bool = first_row("Measure how sure people are in folds of the whole log.", False)
    what_if: str | None = first_row(
        'dcg: the few verdicts, raters and queries that decide it: "gain of 2 > 0.5" or "discount '
        'at 3 < 0.4".',
        metavar="CONCLUSION",
    )

    def __post_init__(self) -> None:
        for name, usual in (("holdout", 0.3), ("level", 0.95)):
            value = getattr(self, name)
            if value is not None and not 0 < value < 1:
                remedy = f"give a fraction between 0 and 1, such as {usual}"
                raise InputError(f"--{name} {value}: {remedy}")
        if self.bands == 1:
            raise InputError("--bands 1: give 2 or more; 200 is enough")
        if self.level is not None and not self.bands:
            raise InputError("--level is that of --bands: give --bands 200 too, or leave it out")

    def unit(self, log: Preferences) -> str:
        """Return the unit to hold out whole: a split by pair would leak the rated lists."""
        if self.holdout_by is not None or not of_ratings(log):
            return self.holdout_by or "pair"
        return "list" if log.rater is None else "rater"


def of_ratings(log: Preferences) -> bool:
    """Return whether a log was made of ratings."""
    return log.ratings is not None
