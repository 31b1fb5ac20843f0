"""``dcglearn learn-answers`` and ``learn-experiments``: a DCG from what lists led to."""

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import dcglearn as dl
from dcglearn.cli.command import argument_row, examples, model_row
from dcglearn.cli.learn import OutputOptions
from dcglearn.cli.learn_options import BaselineOptions, CurveOptions, RidgeOption
from dcglearn.cli.reading import PlainReading
from dcglearn.plots import banded_figure

if TYPE_CHECKING:
    from dcglearn.learning.descriptions import DirectDescription


@dataclass(frozen=True, kw_only=True)
class OutcomeFile(PlainReading):
    """A file of outcomes, and how it is read."""

    file: str = argument_row(
        "JSON lines, delimited text or Parquet; - reads standard input.", ..., metavar="FILE"
    )


@dataclass(frozen=True, kw_only=True)
class ReaderOptions(CurveOptions):
    """How gains and discounts of a machine that reads are fitted."""

    discounts: Literal["free", "falling"] = model_row(
        "free: a later position may count for more; falling: none does.", "free"
    )

    def direct(self, log: Any) -> "DirectDescription":
        """Return what to fit to answers; without --zero, an empty place alone is worth nothing."""
        described = replace(super().direct(log), discounts=self.discounts)
        return described if self.zero is not None else replace(described, zero="none")


@examples(
    "dcglearn learn-answers answers.jsonl -o dcg.json",
    "dcglearn learn-answers answers.csv --prior exponential-log2 --plot dcg.png",
    "dcglearn learn-answers answers.jsonl --discounts falling",
)
def learn_answers(
    *, source: OutcomeFile, outputs: OutputOptions, curves: ReaderOptions, trust: BaselineOptions
) -> None:
    """Learn a DCG from a machine's answers, each right or wrong, to lists of passages.

    The columns are question, list and right; questions hold out their own pairs. An empty list is
    a question asked without any passage: such lines say how high the discounts are.
    """
    _check(source, outputs, trust, curves.prior)
    answers = dl.io.read_answers(source.file, mapping=source.log_mapping)
    _write(
        dl.learn_from_answers(
            answers, curves.direct(answers), baseline=trust.baseline, random_state=trust.seed
        ),
        outputs,
    )


@examples(
    "dcglearn learn-experiments tests.csv -o dcg.json",
    "dcglearn learn-experiments tests.jsonl --baseline linear-log2 --plot dcg.png",
)
def learn_experiments(
    *, source: OutcomeFile, outputs: OutputOptions, curves: RidgeOption, trust: BaselineOptions
) -> None:
    """Learn a DCG from experiments whose better arm is known, such as A/B tests.

    The columns are experiment, arm, unit, list and outcome.
    """
    _check(source, outputs, trust)
    tests = dl.io.read_experiments(source.file, mapping=source.log_mapping)
    ridge = {} if curves.ridge is None else {"ridge": curves.ridge}
    _write(
        dl.learn_from_experiments(tests, baseline=trust.baseline, random_state=trust.seed, **ridge),
        outputs,
    )


def _check(
    source: OutcomeFile, outputs: OutputOptions, trust: BaselineOptions, *metrics: str | None
) -> None:
    """Raise InputError for files that cannot be read or written, before any work."""
    trust.check(*metrics)
    outputs.check([source.file, source.mapping, trust.baseline, *metrics])


def _write(fit: Any, outputs: OutputOptions) -> None:
    draw = partial(banded_figure, fit.dcg)
    outputs.write(fit.dcg, fit.dcg.utility, fit, str(fit), draw)
