"""What a right passage is worth to a reader, by its place: shares of its gain, from answers alone.

With p0 the share of right answers without any passage (closed book), p1 that with a right passage
alone or at the first place, and p that with it at some place among others, the share of the gain
that is left is ``(logit p - logit p0) / (logit p1 - logit p0)``, or in probability ``(p - p0) / (p1
- p0)``.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby

import numpy as np

from dcglearn.foundation.intervals import percentile_interval
from dcglearn.foundation.validation import EMPTY, Fields, Flags, Floats
from dcglearn.reading.answers import Answers
from dcglearn.trust.resampling import N_RESAMPLES, bootstrap_counts

ALONE = "the right passage alone"
FIRST = "the first place"
"""What the gain of a place is a share of."""


def gain_by_place(answers: Answers, fewest: int, random_state: int = 0) -> Iterator[Fields]:
    """Yield what is left of the gain of a right passage, a row for each place and comparison.

    A list counts if it holds one passage of the best grade, and all others have the worst.
    Compared are the answers to questions that were also asked without any passage, and with what
    the gain is a share of, if there are `fewest` of them. Intervals are those of a bootstrap
    of questions. Half an answer is added to the right and to the wrong ones, so that log odds are
    finite.
    """
    # lists with one right passage: their lengths, and its place
    lists = answers.lists
    best = answers.n_grades - 1
    length = (lists != EMPTY).sum(axis=1)
    others = ((lists == 0) | (lists == EMPTY)).sum(axis=1)
    is_one = ((lists == best).sum(axis=1) == 1) & (others == answers.depth - 1)
    place = np.argmax(lists == best, axis=1) + 1
    closed = _means(answers, answers.closed_book)

    # each against the right passage alone, and at the first place of as many
    for n in np.unique(length[is_one]).tolist():
        for reference, of in ((1, ALONE), (n, FIRST)):
            whole = _means(answers, is_one & (length == reference) & (place == 1))
            same_length = is_one & (length == n)
            for k in np.unique(place[same_length]).tolist():
                # a place is no share of itself
                if (n, k) == (reference, 1):
                    continue

                # the questions that were asked in all three ways
                at = _means(answers, same_length & (place == k))
                means = np.array([closed, whole, at])
                common = means[:, ~np.isnan(means).any(axis=0)]
                if common.shape[1] >= fewest:
                    yield {
                        "passages": n,
                        "place": k,
                        "of_the_gain_from": of,
                        "questions": common.shape[1],
                        "right_without": float(common[0].mean()),
                        "right_with": float(common[1].mean()),
                        "right": float(common[2].mean()),
                        **_shares(common, random_state),
                    }


def _means(answers: Answers, rows: Flags) -> Floats:
    """Return how right the chosen answers to each question are, nan where there is none."""
    number = answers.number
    n = int(answers.number.max()) + 1
    count = np.bincount(number[rows], minlength=n)
    total = np.bincount(number[rows], answers.right[rows], n)
    return np.where(count, total / np.maximum(count, 1), np.nan)


def left_by_place(rows: Sequence[Fields]) -> Iterator[tuple[str, str]]:
    """Yield names and words for the rows of `gain_by_place`, of each number of passages."""
    for (n, of), group in groupby(rows, lambda row: (row["passages"], row["of_the_gain_from"])):
        places = []
        for row in (same := list(group)):
            odds, chance = (
                f"{row[kind]:.0%} ({row[f'{kind}_low']:.0%} to {row[f'{kind}_high']:.0%})"
                for kind in ("share", "in_probability")
            )
            places.append(f"at {row['place']}: {odds}, in probability {chance}")

        # where the gain begins and ends
        without, whole = same[0]["right_without"], same[0]["right_with"]
        ends = f"{without:.1%} are right without any passage, {whole:.1%} with {of}"
        yield f"share of the gain from {of} left, of {n} passages", f"{'; '.join(places)}; {ends}"


def _shares(means: Floats, random_state: int) -> Fields:
    """Return shares of the gain, with intervals, from the means of questions, shape (3, n)."""
    # how right in each sample of questions
    n = means.shape[1]
    draws = bootstrap_counts(np.ones(n), N_RESAMPLES, random_state)
    p = draws @ means.T / n
    smooth = (n * p + 0.5) / (n + 1)

    # in log odds, and in probability
    shares: Fields = {}
    for name, x in {"share": np.log(smooth / (1 - smooth)), "in_probability": p}.items():
        gain = x[:, 1] - x[:, 0]
        with np.errstate(divide="ignore", invalid="ignore"):
            values = np.where(gain > 0, (x[:, 2] - x[:, 0]) / gain, np.nan)
        low, high = percentile_interval(values[1:]).tolist()
        shares |= {name: float(values[0]), f"{name}_low": low, f"{name}_high": high}
    return shares
