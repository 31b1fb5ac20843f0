"""Findings on the first screen of the page of claims: each a sentence, its claims, a picture."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from simulations.claims import CONDITION, CONSTRUCTED, FAILS, HOLDS, PROVED, Claim


@dataclass(frozen=True)
class Finding:
    """A sentence that is true if claims have these verdicts.

    Parameters
    ----------
    text : str
        The sentence; ``{0}`` is the first claim's mean, and ``{points[0]}`` its size in points of
        100.
    stem, picture : str
        The picture's file name without suffix, and what it shows.
    rests_on : sequence of (str, str)
        The beginning of a claim's text, and the verdict that the sentence needs.
    """

    text: str
    stem: str
    picture: str
    rests_on: Sequence[tuple[str, str]]

    def sentence(self, claims: Mapping[str, Sequence[Claim]]) -> str | None:
        """Return the sentence with its numbers, or None.

        It is None if a claim is missing, or has another verdict than the sentence needs.
        """
        means = []
        for beginning, needed in self.rests_on:
            claim = next(
                (c for of in claims.values() for c in of if c.text.startswith(beginning)), None
            )
            if claim is None or claim.verdict != needed:
                return None
            means.append(claim.measured[0].mean)
        return self.text.format(*means, points=[100 * abs(mean) for mean in means])


AGREES = (HOLDS, CONDITION, PROVED, CONSTRUCTED)
"""Verdicts of a claim that bear out what it says."""


def headline(
    claims: Iterable[Claim],
    finding: str,
    neutral: str,
    *rests_on: str,
    verdicts: Sequence[str] = AGREES,
) -> str:
    """Return a panel's title: a finding if the claims bear it out, and a neutral title otherwise.

    Parameters
    ----------
    claims : iterable of Claim
        The claims of the panel's program.
    finding, neutral : str
        The title that states what was found, and the one that only says what is shown.
    rests_on : str
        Parts of claims' texts. Each part must occur, and every claim in which it occurs must have
        one of `verdicts`.
    verdicts : sequence of str
        ``(FAILS,)`` for a finding that contradicts the claims.
    """
    claims = list(claims)
    for part in rests_on:
        named = [claim for claim in claims if part in claim.text]
        if not named or any(not c.testable or c.verdict not in verdicts for c in named):
            return neutral
    return finding


FINDINGS = (
    Finding(
        "A DCG scores a list of results: each result counts by its grade (its gain) and its "
        "position (its discount). Which gains one takes matters: two metrics that both reward "
        "better grades agree on the best list, but with random gains order {0:.0%} of all pairs "
        "of lists differently from three grades on.",
        "figure_00_coherence",
        "disagreement of two metrics by number of grades",
        [
            ("3 to 6 grades", CONSTRUCTED),
            ("two compatible metrics", PROVED),
            ("two grades: compatible", PROVED),
        ],
    ),
    Finding(
        "The numbers can be learned from which of two lists is preferred: after 200 simulated "
        "judgements the method of Zhou et al. predicts {0:.0%} of further ones.",
        "figure_01_02",
        "precision by number of pairs",
        [("precision is close to .95", HOLDS), ("precision grows", HOLDS)],
    ),
    Finding(
        "`DCGLearner` (ours), which learns gains and discounts directly, is right on "
        "{points[0]:.0f} more of 100 new judgements than that method after 20 clean ones and on "
        "{points[1]:.0f} more after 200; after 20 to 200 of which a fifth is wrong, on "
        "{points[2]:.0f} more on average. All are simulated.",
        "study_h_learners",
        "precision of learners by number of pairs",
        [
            ("`DCGLearner` beats the paper's QP, 20 pairs, clean", HOLDS),
            ("`DCGLearner` beats the paper's QP, 200 pairs, clean", HOLDS),
            ("`DCGLearner` beats the paper's QP, 20 to 200 pairs, 20%", HOLDS),
        ],
    ),
    Finding(
        "It pays a little to choose which lists to ask about (ours): with a tenth of simulated "
        "judgements wrong, pairs that the learner chooses make it right on {points[0]:.1f} more "
        "of 100 new ones than random pairs.",
        "study_i_active",
        "chosen and random pairs",
        [("chosen pairs beat random ones, 40 to 140 judgements, 10%", HOLDS)],
    ),
    Finding(
        "Wrong judgements cost precision: {points[0]:.0f} points of 100 if 40 of 200 simulated "
        "ones are wrong. More make up for it up to a limit: 10,000 with a fifth wrong teach more "
        "than 200 right ones, with two fifths wrong less.",
        "study_b_flips_and_pairs",
        "precision by share of wrong judgements",
        [
            ("precision falls from 0 to 40 flipped", HOLDS),
            ("10,000 flipped pairs teach as much", CONDITION),
        ],
    ),
    Finding(
        "Some comparisons teach little. If one list of each pair is the best possible order of "
        "the same results, which every sensible metric prefers, more pairs do not help: 20 or 200 "
        "such simulated judgements let Zhou et al.'s method predict {points[1]:.0f}% of others.",
        "figure_09",
        "precision with optimal lists",
        [("precision does not grow", HOLDS), ("such pairs put no constraint", FAILS)],
    ),
    Finding(
        "Zhou et al.'s measure of success misleads: on simulated judgements its similarity stalls "
        "at {0:.2f} although the metric is learned almost perfectly, because re-ordering the same "
        "documents cannot show everything.",
        "study_f_two_similarities",
        "two similarities by number of pairs",
        [("on permutations the paper's", HOLDS), ("on permutations the identifiable", HOLDS)],
    ),
    Finding(
        "If only the best results count to (simulated) users, a ranker trained on the learned "
        "metric serves them better than one trained on a metric that takes all relevant results "
        "as equal: by {points[0]:.0f} points of NDCG on simulated queries and by {points[1]:.0f} "
        "on 251 real ones; and by {points[2]:.0f} than one trained on the usual exponential "
        "gains, on simulated queries.",
        "train_metric_matrix",
        "training on the learned metric minus others",
        [
            ("LETOR-shaped, steep truth: learned DCG beats binary1", HOLDS),
            ("LightGBM example, steep truth: learned DCG beats binary1", HOLDS),
            ("LETOR-shaped, steep truth: learned DCG beats exponential", HOLDS),
        ],
    ),
    Finding(
        "Sharper smoothing (Qin et al.) follows a ranking metric more closely but is harder to "
        "maximise: on simulated queries the sharpest (alpha = 300) ends {points[0]:.0f} points of "
        "NDCG below the bluntest (alpha = 3), even with the best of 20 random starts.",
        "theory_restarts",
        "NDCG by number of random starts",
        [
            ("LETOR-shaped: with 20 starts alpha = 300 trains better than 3", FAILS),
            ("NDCG@n: smaller error", HOLDS),
        ],
    ),
    Finding(
        "Wu et al.'s smoothed hinge ranks undo a wrong order, on simulated queries: from the "
        "worst possible one they reach the best one, where the plain smoothed metric does not "
        "move, and trees that follow them end {points[1]:.0f} points of NDCG above it. Mixed with "
        "regression they stay {points[2]:.0f} below an older method, GBRank.",
        "theory_hinge_ranks",
        "NDCG by gradient steps",
        [
            ("SHF-SDCG corrects scores in reverse order", CONSTRUCTED),
            ("Nonlinear queries: SHF-SDCG beats SDCG, gradients", HOLDS),
            ("Nonlinear queries: REG-SHF-SDCG beats GBRank, gradients", FAILS),
        ],
    ),
)
"""The ten findings, in the order of the page."""
