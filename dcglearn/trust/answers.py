"""DCGs learned from answers, the share of answers that retrieval explains, and held-out answers."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from dcglearn.foundation.finding import Finding, table_of
from dcglearn.foundation.intervals import LEVEL, percentile_interval
from dcglearn.foundation.progress import counted
from dcglearn.foundation.threads import one_blas_thread
from dcglearn.foundation.validation import (
    Fields,
    Floats,
    Grades,
    Indices,
    InputError,
    PolarsFrame,
    at_depth,
)
from dcglearn.learning.fit import DirectLearner, Fit, fit_dcg, warn_of
from dcglearn.learning.options import DCGOptions
from dcglearn.learning.pairs import known_or_none, pairs_of
from dcglearn.logs.preference_pairs import order_of
from dcglearn.metrics.dcg import DCG, as_curves
from dcglearn.metrics.reading import BASELINE, ONLY_DCG, MetricLike, read_metric
from dcglearn.reading.answers import Answers
from dcglearn.trust.comparison import LEAD_FORMATS, LEAD_LABELS, LEARNED, Row
from dcglearn.trust.held_out import rows_of
from dcglearn.trust.held_out_frame import HeldOut
from dcglearn.trust.resampling import N_RESAMPLES, bootstrap_counts, folds

FEWEST_QUESTIONS = 30
"""With fewer questions of a kind nothing is said."""


@dataclass(frozen=True)
class OutcomesFit(Finding):
    """A DCG learned from answers, with facts and held-out shares.

    The facts are by name, and the shares, of comparisons of held-out answers, by kind; there are
    none where too few questions have answers that can be compared.
    """

    dcg: DCG
    facts: dict[str, Any]
    held_out: dict[str, tuple[Row, ...]] = field(default_factory=dict)

    _formats: ClassVar = LEAD_FORMATS
    _labels: ClassVar = LEAD_LABELS

    @property
    def sentence(self) -> str:
        """What the learned DCG reaches on held-out answers, beside the metric used now."""
        n_answers, n_questions = self.facts["answers"], self.facts["questions"]
        learned = f"a DCG was learned from {n_answers:,} answers to {n_questions:,} questions"
        if not self.held_out:
            return (
                f"{learned}, and not tested: it takes at least {FEWEST_QUESTIONS} questions whose "
                "answers can be compared"
            )

        # the last metric is the usual one
        first, *_, usual = next(iter(self.held_out.values()))
        return (
            f"{learned}; it orders {first.share:.1%} of the comparisons of held-out answers as "
            f"these are, and {usual.name} {usual.beside}"
        )

    @property
    def table(self) -> PolarsFrame:
        """A row for each kind of held-out outcomes and metric; gains and discounts without any."""
        if not self.held_out:
            return self.dcg.table
        return table_of(
            {"held_out": kind} | row.cells for kind, rows in self.held_out.items() for row in rows
        )

    @property
    def notes(self) -> list[str]:
        """The gains and discounts, the facts, and what the columns mean."""
        notes = []
        for name, fact in self.facts.items():
            notes.append(f"{name}: {f'{fact:,.4g}' if isinstance(fact, float) else fact}")
        if self.held_out:
            values = [
                f"{row['parameter']}: {row['value']:.4f}" for row in self.dcg.table.rows(named=True)
            ]
            n_gains = self.dcg.n_grades
            notes = [", ".join(values[:n_gains]), ", ".join(values[n_gains:]), *notes]
            notes.append(
                f"lead of the learned DCG over each metric, with its {LEVEL:.0%} interval, on "
                "outcomes that it was not learned from"
            )
        return [*notes, *self.dcg.notes]

    @property
    def pictures(self) -> list[Fields]:
        """Gains and discounts as curves, and the leads with their intervals."""
        return [*as_curves({"learned": self.dcg}), *super().pictures]


def learn_from_answers(
    answers: Answers,
    learner: DirectLearner | None = None,
    *,
    baseline: MetricLike = BASELINE,
    random_state: int = 0,
) -> OutcomesFit:
    """Learn a DCG from answers, and compare it with nDCG on held-out questions.

    Answers to a question that was asked with several lists are compared
    (`Answers.within_questions`): how hard it is cancels. For a question that was asked with one
    list, ``P(right) = sigma(a DCG + b)``, with one b for all. Between such questions, what makes a
    question hard may make its list bad too: the DCG then takes credit for it.

    Where the lists of a question hold the same grades in another order, answers tell differences of
    discounts, and their level is a convention. Questions asked without any passage too (an empty
    list) give it.

    The `facts` of the result say what share of the answers' variance retrieval explains at most,
    and what the level of the discounts is; `held_out` says what share of comparisons of answers to
    held-out questions is ordered as these are, without those with an answer given without any
    passage. Raises InputError if no two answers can be compared.

    Parameters
    ----------
    answers : Answers
        What `read_answers` reads.
    learner : DCGLearner, optional
        Learner whose settings are used, by default ``DCGLearner(loss="logistic", zero="none",
        discounts="free")``: readers may attend to the end of a list.
    baseline : DCG, file or name
        Gains and discounts of the nDCG. Its ideal is the best order of a list's documents, over the
        question's lists.
    random_state : int
        Seed of folds and bootstrap.

    See Also
    --------
    io.read_answers : Read a file.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> lists = rng.integers(0, 2, (400, 2))
    >>> right = rng.random(400) < 0.2 + 0.6 * lists[:, 0]
    >>> answered = enumerate(zip(lists.tolist(), right.tolist()))
    >>> lines = [{"question": i // 2, "list": list_, "right": r} for i, (list_, r) in answered]
    >>> bool(dl.trust.learn_from_answers(dl.io.read_answers(lines)).dcg.discounts[1] < 0.5)
    True
    """
    if not isinstance(answers, Answers):
        raise InputError(f"answers is {answers!r}; give what dl.io.read_answers(path) returns")

    # the fit; by default distractors may cost, and the end of a list may count
    default = DCGOptions(loss="logistic", zero="none", discounts="free")
    options = DCGOptions.of(learner or default).plain
    if options.power != 0:
        raise InputError(f"power={options.power!r}: a DCG of answers adds up, so it is 0")
    if options.depth is not None:
        answers = replace(answers, lists=at_depth(answers.lists, options.depth))
    fit = fit_answers(answers, options)
    warn_of(fit)

    # what was asked and answered
    compared, _, times = answers.within_questions
    varied = answers.number[answers.varied]
    n_compared = _n_different(answers.number[compared])
    n_alike = _n_different(varied) - n_compared
    facts: dict[str, Any] = {
        "answers": len(answers),
        "questions": _n_different(answers.number),
        "right": f"{answers.right.mean():.1%}",
    }
    facts |= {f"left out, {reason}": n for reason, n in answers.dropped.items()}

    # what can be compared, and explained
    facts["comparisons within questions"] = round(float(times.sum()))
    facts["questions asked with one list"] = _n_different(answers.number[~answers.varied])
    facts["left out, questions whose answers are equally right with every list"] = n_alike
    explained = "share of the answers' variance that retrieval explains at most"
    facts[explained] = explained_at_most(answers, random_state)

    facts["level of the discounts"] = _level(answers, options.zero)
    return OutcomesFit(
        dcg=fit.dcg, facts=facts, held_out=_held_out(answers, options, baseline, random_state)
    )


def _level(answers: Answers, zero: int | str) -> str:
    """Return what the level of the discounts is, in words.

    Adding a constant to what a grade is worth at every place changes a comparison by the number of
    such passages that one list has more. Comparisons tell the level if no such constants, with one
    for the best grade, leave all of them as they are.
    """
    # how many more passages of each grade
    log = answers.preferences(answers.within_questions, answers.across_questions)
    sides = (log.preferred, log.other)
    preferred, other = (passages_by_grade(lists, log.n_grades) for lists in sides)
    steps = np.unique(preferred - other, axis=0)

    # one grade may be worth nothing by definition
    if zero == "none" and not steps.sum(axis=1).any():
        zero = 0  # lists of one length have no empty place
    if isinstance(zero, int):
        steps = np.delete(steps, zero, axis=1)

    # constants that no comparison shows, one of them that of the best grade
    with_best = np.vstack([steps, np.eye(steps.shape[1], dtype=int)[-1]])
    if np.linalg.matrix_rank(steps) < np.linalg.matrix_rank(with_best):
        return (
            "a convention, since the answers tell places apart, and not what a right passage is "
            "worth at any; ask questions without any passage too (an empty list), and with the "
            "right one alone"
        )

    # what told the level
    n_closed = int((answers.closed_book & answers.varied).sum())
    if not n_closed:
        return "learned from lists that hold different grades"
    return (
        f"learned from {n_closed:,} answers without any passage: a discount is the share of the "
        "gain from the first place, before what other passages cost"
    )


def _n_different(numbers: Indices) -> int:
    return len(np.unique(numbers))


def fit_answers(answers: Answers, options: DCGOptions) -> Fit:
    """Return the fit to both kinds of answers.

    Comparisons are preferences. A right answer to a question that was asked with one list prefers
    this list to none, a wrong one none to it, with a position bias: how easy questions are. Raise
    InputError if nothing can be compared.
    """
    # the comparisons
    rows, wrong, weight = answers.within_questions
    log = answers.preferences(answers.within_questions, answers.across_questions)
    if not len(log):
        raise InputError(
            "no two answers from different lists differ, so no list is better than another"
        )
    options.check(log.n_grades, graded=log.graded)
    pairs = pairs_of(log, by_rater=False)

    # answers to questions that were asked with one list, shown first, beside none
    alone = np.flatnonzero(~answers.varied)
    if len(alone):
        assert pairs.facts is not None
        lists, right = known_or_none(answers.lists), answers.right[alone]
        asked, nothing = lists[alone], np.full_like(lists[alone], -1)

        # right, then wrong, each by its share
        pairs = pairs.changed(
            first=np.concatenate([lists[rows], asked, nothing]),
            second=np.concatenate([lists[wrong], nothing, asked]),
            weight=np.concatenate([weight, right, 1 - right]),
            way=np.repeat([0, 1, -1], [len(rows), len(alone), len(alone)]).astype(np.int8),
            facts=replace(pairs.facts, sided=True),
        )
    with one_blas_thread():
        return fit_dcg(pairs, options, independent=True)


def explained_at_most(answers: Answers, random_state: int = 0) -> str:
    """Return the share of the answers' variance within questions, with its interval, in words."""
    # questions that were asked with several lists
    several = answers[answers.varied]
    number = several.number
    n = len(np.unique(several.question))
    if n < FEWEST_QUESTIONS:
        return "unknown: too few questions were asked with several lists"

    # the variance of answers to each
    size = np.bincount(number)
    mean = np.bincount(number, several.right) / size
    within = np.bincount(number, (several.right - mean[number]) ** 2) / (size - 1)

    # compare with that between questions, in samples of them
    draws = bootstrap_counts(np.ones(n), N_RESAMPLES, random_state) / n
    between = draws @ mean**2 - (draws @ mean) ** 2 - draws @ (within / size)
    shares = draws @ within / np.maximum(draws @ within + np.maximum(between, 0), 1e-300)
    return with_interval(shares, ".1%")


def with_interval(values: Floats, form: str) -> str:
    """Return the first value, and the bootstrap interval of the others, in words."""
    low, high = percentile_interval(values[1:])
    return f"{values[0]:{form}} ({LEVEL:.0%} interval {low:{form}} to {high:{form}})"


def _held_out(
    answers: Answers, options: DCGOptions, baseline: MetricLike, random_state: int
) -> dict[str, tuple[Row, ...]]:
    """Return how well nDCG, and DCGs learned without a fold, order the answers in the fold."""
    if answers.number.max() < FEWEST_QUESTIONS:
        return {}

    parts = folds((answers.number, answers.number), random_state)
    metric = read_metric(
        baseline, answers.n_grades, answers.depth, accept=ONLY_DCG, name="baseline"
    )

    # compare the answers to the questions of each fold
    kinds: dict[str, list[Any]] = {"within_questions": [], "across_questions": []}
    for train, test in counted(parts, "held-out questions"):
        held_out = answers[test]
        dcg = fit_answers(answers[train], options).dcg
        values = dcg.score(held_out.lists), ndcg(held_out, metric)
        for kind, columns in kinds.items():
            right, wrong, weight = getattr(held_out, kind)

            # nobody chooses between a list and none
            kept = ~(held_out.closed_book[right] | held_out.closed_book[wrong])
            right, wrong, weight = right[kept], wrong[kept], weight[kept]

            # which of the two lists each metric puts first
            order = np.array([order_of(value[right], value[wrong]) for value in values])
            columns.append(
                ((order + 1) / 2, weight, held_out.question[right], held_out.question[wrong])
            )

    # a table for each kind of comparisons, where there are enough
    tables = {}
    for kind, columns in kinds.items():
        joined = (np.concatenate(column, axis=-1) for column in zip(*columns, strict=True))
        respected, weight, *ends = joined
        questions, numbers = np.unique(ends, return_inverse=True)
        if len(questions) >= FEWEST_QUESTIONS:
            first, second = numbers.reshape(2, -1)
            pairs = np.arange(len(weight))
            frame = HeldOut(pairs, weight, (first, second), respected[None])
            title = f"held-out comparisons {kind.replace('_', ' ')}"
            tables[f"{title}, the share ordered as the answers are"] = rows_of(
                (LEARNED, "nDCG"), frame
            )
    return tables


def ndcg(answers: Answers, metric: DCG) -> Floats:
    """Return the normalised value of each answer's list.

    The ideal is the largest value of any order of any of the question's lists.
    """
    ideal = np.zeros(answers.number.max() + 1)
    np.maximum.at(ideal, answers.number, metric.ideal(answers.lists))
    return metric.score(answers.lists) / np.maximum(ideal, 1e-300)[answers.number]


def passages_by_grade(lists: Grades, n_grades: int) -> Indices:
    """Return how many passages of each grade lists, shape (n, K), hold, shape (n, L)."""
    return np.asarray((lists[:, :, None] == np.arange(n_grades)).sum(axis=1))
