"""DCGs learned from answers: what retrieval explains of them at most, and whether the DCG follows
unseen answers.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dcglearn.foundation.intervals import LEVEL, normal_quantile
from dcglearn.foundation.progress import counted
from dcglearn.foundation.threads import one_blas_thread
from dcglearn.foundation.validation import UNKNOWN, Floats, InputError, filled
from dcglearn.learning.answer_likelihood import JudgedAnswers
from dcglearn.learning.descriptions import DirectDescription, DirectFit, DirectLearner, warn_of
from dcglearn.learning.fit_dcg import fit_dcg, zero_of
from dcglearn.learning.pair_loss import JudgedPairs
from dcglearn.learning.starts import WarmStart
from dcglearn.logs.preference_pairs import TIE_TOLERANCE, divided
from dcglearn.metric.dcg import DCG, DCGLike
from dcglearn.metric.reading import read_metric
from dcglearn.readers.answers import Answers
from dcglearn.trust.held_out import CURRENT, LEARNED, Row
from dcglearn.trust.resampling import FOLDS, mean_and_error

FEWEST_QUESTIONS, DRAWS = 30, 500
"""With fewer questions of a kind nothing is said; bootstrap samples of questions."""


@dataclass(frozen=True)
class OutcomesFit:
    """A DCG learned from outcomes, facts by name, and shares of held-out outcomes by kind; prints
    as a report.
    """

    dcg: DCG
    facts: dict[str, Any]
    held_out: dict[str, tuple[Row, ...]] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python values."""
        tables = {name: [vars(row) for row in rows] for name, rows in self.held_out.items()}
        return {"dcg": self.dcg.to_dict(), **self.facts, "held_out": tables, "level": LEVEL}

    def __str__(self) -> str:
        lines = [
            f"{name}: {f'{fact:,.4g}' if isinstance(fact, float) else fact}"
            for name, fact in self.facts.items()
        ]
        for name, rows in self.held_out.items():
            lines += [
                "",
                f"{name} (right: the learned DCG minus this, {LEVEL:.0%} interval)",
                *map(str, rows),
            ]
        return "\n".join(
            [*lines, *(f"  - {note}" for note in self.dcg.notes), "", self.dcg.table()]
        )


def compared_rows(
    shares: Floats, weight: Floats, clusters: Any, names: Sequence[str]
) -> tuple[Row, ...]:
    """Return the mean shares of metrics, shape (M, n), the learned one first, with its lead and the
    lead's interval.
    """
    means, errors = mean_and_error(np.concatenate([shares, shares[0] - shares]), weight, clusters)
    (own, ahead), reach = (
        means.reshape(2, -1).tolist(),
        normal_quantile(LEVEL) * errors[len(shares) :],
    )
    rows = zip(names, own, own, ahead, ahead - reach, ahead + reach, strict=True)
    return tuple(Row(name, *map(float, values)) for name, *values in rows)


def learn_from_answers(
    answers: Answers,
    learner: DirectLearner | None = None,
    *,
    current: DCGLike = CURRENT,
    seed: int = 0,
) -> OutcomesFit:
    """Learn a DCG from answers, and measure on held-out questions whether it follows them better
    than nDCG.

    Answers to a question that was asked with several lists are compared
    (`Answers.within_questions`): how hard it is cancels. For a question that was asked with one
    list, ``P(right) = sigma(a DCG + b)``, with a normal b by question. Between such questions, what
    makes a question hard may make its list bad too: the DCG then takes credit for it.

    The `facts` of the result say what share of the answers' variance retrieval explains at most,
    and `held_out` what share of comparisons of answers to held-out questions is ordered as these
    are. Raises InputError if no two answers can be compared, or the learner's loss is no
    likelihood.

    Parameters
    ----------
    answers : Answers
        What `read_answers` reads.
    learner : DCGLearner, optional
        Learner whose settings are used, by default ``DCGLearner(zero="none")``; "auto" stands for
        the logistic loss.
    current : DCG, file or name
        Gains and discounts of the nDCG. Its ideal is the best order of a list's documents, over the
        question's lists.
    seed : int
        Seed of folds and bootstrap.

    See Also
    --------
    read_answers : Read a file.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> lists = rng.integers(0, 2, (400, 2))
    >>> right = rng.random(400) < 0.2 + 0.6 * lists[:, 0]
    >>> lines = [{"question": i // 2, "list": lists[i].tolist(), "right": bool(right[i])} for i in range(400)]
    >>> bool(dl.learn_from_answers(dl.read_answers(lines)).dcg.discounts[1] < 0.5)
    True
    """
    description = DirectDescription.of(learner or DirectDescription(zero="none"))
    if description.loss not in ("auto", "logistic", "robust"):
        raise InputError(
            f'loss="{description.loss}" is no likelihood; answers are learned with "logistic" or "robust"'
        )
    description = replace(description, loss=description.loss.replace("auto", "logistic"))
    fit = fit_answers(answers, description)
    warn_of(fit)
    within, varied = answers.within_questions, answers.number[answers.varied]
    n_alike = len(np.unique(varied)) - len(np.unique(answers.number[within[0]]))
    facts = {
        "answers": len(answers),
        "questions": len(np.unique(answers.number)),
        "right": f"{answers.right.mean():.1%}",
        **answers.counted,
        **{f"left out, {reason}": n for reason, n in answers.dropped.items()},
        "comparisons within questions": float(within[2].sum()),
        "questions asked with one list": len(np.unique(answers.number[~answers.varied])),
        "left out, questions whose answers are equally right with every list": n_alike,
        "share of the answers' variance that retrieval explains at most": explained_at_most(
            answers, seed
        ),
    }
    return OutcomesFit(fit.dcg, facts, _held_out(answers, description, current, seed))


def fit_answers(answers: Answers, description: DirectDescription) -> DirectFit:
    """Return the fit to both kinds of answers: from comparisons alone, and from there with the
    likelihood.
    """
    (rows, wrong, weight), alone = answers.within_questions, np.flatnonzero(~answers.varied)
    log = answers.preferences(answers.within_questions, answers.across_questions)
    if not len(log):
        raise InputError(
            "no two answers from different lists differ, so no list is better than another"
        )
    with one_blas_thread():
        fit, _ = fit_dcg(log, description, independent=True)
        if not len(alone):
            return fit
        one = np.ones(1, np.int8), np.zeros(1, np.int32)
        lists = filled(answers.lists, zero_of(log, description.zero)[0] or UNKNOWN)
        pairs = JudgedPairs(lists[rows], lists[wrong], *one, weight)
        _, first, number = np.unique(answers.number[alone], return_index=True, return_inverse=True)
        right, count = (
            np.bincount(number, x).astype(float)
            for x in (answers.right[alone], np.ones(len(alone)))
        )
        judged = JudgedAnswers(pairs, lists[alone][first], right, count)
        return fit_dcg(
            log, description, WarmStart.of(fit), kept=lambda _: judged, independent=True
        )[0]


def explained_at_most(answers: Answers, seed: int = 0) -> str:
    """Return the share of the answers' variance that is within questions, with its interval, in
    words.
    """
    several = answers[answers.varied]
    number, n = several.number, len(np.unique(several.question))
    if n < FEWEST_QUESTIONS:
        return "unknown: too few questions were asked with several lists"
    size = np.bincount(number)
    mean = np.bincount(number, several.right) / size
    within = np.bincount(number, (several.right - mean[number]) ** 2) / (size - 1)
    draws = (
        np.vstack(
            [np.ones(n), np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), DRAWS)]
        )
        / n
    )
    between = draws @ mean**2 - (draws @ mean) ** 2 - draws @ (within / size)
    shares = draws @ within / np.maximum(draws @ within + np.maximum(between, 0), 1e-300)
    return with_interval(shares, ".1%")


def with_interval(values: Floats, form: str) -> str:
    """Return the first value with the interval of the others, those of bootstrap samples, in
    words.
    """
    ends = np.percentile(values[1:], (50 * (1 - LEVEL), 50 * (1 + LEVEL)))
    return f"{values[0]:{form}} ({LEVEL:.0%} interval {ends[0]:{form}} to {ends[1]:{form}})"


def _held_out(
    answers: Answers, description: DirectDescription, current: DCGLike, seed: int
) -> dict[str, tuple[Row, ...]]:
    """Return how well DCGs learned without some of the questions, and nDCG, follow the answers to
    these.
    """
    few = answers.number.max() < FEWEST_QUESTIONS
    folds = (
        [] if few else divided((answers.number, answers.number), FOLDS, np.random.default_rng(seed))
    )
    metric = read_metric(current, answers.n_grades, answers.depth)
    parts: dict[str, list[Any]] = {"within_questions": [], "across_questions": []}
    for train, test in counted(folds, len(folds), "held-out questions"):
        held_out = answers[test]
        values = (
            fit_answers(answers[train], description).dcg.score(held_out.lists),
            ndcg(held_out, metric),
        )
        for kind, columns in parts.items():
            right, wrong, weight = getattr(held_out, kind)
            respected = np.array([_respected(value[right], value[wrong]) for value in values])
            columns.append((respected, weight, held_out.question[right], held_out.question[wrong]))
    tables = {}
    for kind, columns in parts.items() if folds else ():
        respected, weight, *ends = (
            np.concatenate(column, axis=-1) for column in zip(*columns, strict=True)
        )
        questions, numbers = np.unique(ends, return_inverse=True)
        if len(questions) >= FEWEST_QUESTIONS:
            first, second = numbers.reshape(2, -1)
            name = f"held-out comparisons {kind.replace('_', ' ')}, the share ordered as the answers are"
            tables[name] = compared_rows(respected, weight, (first, second), (LEARNED, "nDCG"))
    return tables


def ndcg(answers: Answers, metric: DCG) -> Floats:
    """Return the nDCG of each answer's list; the ideal is the best order of one of its question's
    lists.
    """
    counts = (answers.lists[:, :, None] == np.arange(answers.n_grades)).sum(axis=1)
    ideal = np.zeros(answers.number.max() + 1)
    np.maximum.at(ideal, answers.number, metric.ideal_of_counts(counts))
    return metric.score(answers.lists) / np.maximum(ideal, 1e-300)[answers.number]


def _respected(right: Floats, wrong: Floats) -> Floats:
    """Return 1 for comparisons whose right answer has the larger value, 1/2 for ties, else 0."""
    ties = np.abs(right - wrong) <= TIE_TOLERANCE * np.maximum(np.abs(right), np.abs(wrong))
    return np.where(ties, 0.5, right > wrong)
