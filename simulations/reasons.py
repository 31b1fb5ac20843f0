"""Why claims do not hold, in a sentence each, by how the claim's text begins."""

REASONS = {
    "D1 and D2: `DCGLearner` beats the best textbook alone": (
        "Two of 42 textbooks order as D1 and D2 do: choosing beats learning twelve numbers."
    ),
    "the best two gains of D2 lie closer": (
        "They are also the largest; relative to their size they err less (ours)."
    ),
    "SmoothAP beats RankSVM": (
        "It does not hold here: RankSVM counts all pairs of documents alike, which is near to what "
        "AP counts."
    ),
    "RSRank beats": (
        "It does not hold here: RSRank leaves features out, and 30 of our simulator's 45 carry a "
        "signal."
    ),
    "`DCGLearner` has a precision of 0.95 after 40 pairs of another truth": (
        "No textbook in the blend orders as a truth of random steps and falls does."
    ),
    "half of everybody's verdicts say left, sides in the log: loss against none": (
        "The other half loses .016 by itself; nobody can tell which was meant."
    ),
    "the top three discounts lie closer": (
        "The top discounts are also the largest; relative to their size they err less (ours)."
    ),
    "such pairs put no constraint": (
        "Winning by a margin makes discounts fall, which alone orders more than half of the pairs "
        "rightly."
    ),
    "LETOR-shaped, NDCG, alpha = 100: the bound": (
        "The bound is set by the two closest scores of a query, and among 35 to 120 documents two "
        "nearly tie; the error itself is a five-hundredth of it."
    ),
    "LETOR-shaped, NDCG, alpha = 1e+04: the bound": "As above.",
    "LightGBM example, NDCG, alpha = 100: the bound": (
        "As above; and 11 of the 251 queries hold equal documents, for which no alpha helps."
    ),
    "5 random scores": (
        "The example's closest scores are .067 apart; of five random scores the closest two are "
        "often nearer."
    ),
    "1,000 random scores": (
        "The paper keeps that gap; of 1,000 random scores two nearly tie, and the bound is half "
        "their number."
    ),
    "LETOR-shaped: with 20 starts alpha = 300": (
        "A sharp objective is flat but for many small maxima, where a run ends. The paper "
        "compares alpha = 50, 100 and 300, with 100 starts."
    ),
    "LightGBM example: with 20 starts alpha = 300": "As above.",
    "LETOR-shaped, no conflict: annealing ends at a higher training": (
        "From least squares, the paper's start, sigma = 2^-6 is not stuck; in three trials from "
        "random starts annealing ended .015 to .02 above it."
    ),
    "LETOR-shaped, no conflict: annealing ends at a higher test": (
        "A larger sigma overfits less (section 5.2); annealing ends at 2^-6."
    ),
    "LETOR-shaped: annealing ends at a higher training": "As above.",
    "LETOR-shaped: annealing ends at a higher test": "As above.",
    "LETOR-shaped: SmoothNDCG beats least squares": (
        "Below sigma = 2^3 training NDCG still rises, but test NDCG falls, in the end below that "
        "of the start."
    ),
    "LETOR-shaped: at sigma = 2^6": (
        "2^6 is not large for features of unit variance and lambda = .01: the minimiser returns "
        "to w0 from about 2^9 on."
    ),
    "LETOR-shaped: the bound is below 1": (
        "It multiplies squares of the number of documents and of the norms of features and "
        "weights: it says how the gap falls, not how large it is."
    ),
    "LETOR-shaped, SmoothNDCG: training @50": "As for ApproxNDCG.",
    "LETOR-shaped, ApproxNDCG: training @50": (
        "With conflict the best document for the first place is not the best for the first fifty, "
        "so that NDCG@k needs its own ranker."
    ),
    "LETOR-shaped: share of features kept": (
        "It does not hold here: 30 of our simulator's 45 features carry a signal."
    ),
    "LETOR-shaped: half the features cost less than 0.75%": (
        "It does not hold here: of 45 features 30 carry a signal, so that half of them lack some; "
        "and the penalty also shrinks those that stay."
    ),
    "LETOR-shaped: no penalty costs 0.75%": (
        "It does not hold here: the largest penalties leave one or two of 45 features, of which "
        "30 carry a signal."
    ),
    "LETOR-shaped: no penalty costs 2%": "It does not hold here, as above.",
    "with gradients the listwise part first outweighs": (
        "Both weigh the same half-way, but the regression's gradient has shrunk to a tenth of the "
        "listwise one by then."
    ),
    "it falls all along": (
        "When regression hands over, gradients that count for the top of a list undo orders "
        "further down."
    ),
    "Nonlinear queries: REG-SHF-SDCG beats GBRank": (
        "Constant steps along gradients hold it back: on lambdas it ends above GBRank (ours)."
    ),
    "Nonlinear queries, NDCG@1: REG-SHF-SDCG beats GBRank": "As by NDCG@5.",
    "ten positions too many: precision lost, 200 pairs": (
        "200 pairs do not tell that ten further discounts are 0; with 1,000, .01 is lost."
    ),
    "20 documents, 100 starts: alpha": (
        "The sharper the objective, the sooner a run ends in a small maximum near its start."
    ),
    "20 documents: ApproxNDCG beats SoftRank, training": (
        "As above: of table 5's alphas the bluntest, 50, trains best, and SoftRank is blunter."
    ),
    "random labels, rankings, as printed": (
        "The ranking that is best for pairs need not be the best for NDCG."
    ),
    "certain labels, any pairwise classifier, as printed": (
        "A classifier may prefer in a circle: no ranking follows it, and its loss is small."
    ),
    "mean chance of held-out verdicts is that predicted, to .03: 100": (
        "A fit to 100 verdicts follows some of their errors, and predicts too surely."
    ),
    "90% bands of D1 and D2 cover, mean of all cells": ("They lie in the middle of a wide prior."),
    "their coverage: D1, 0% wrong, 50 judgements": "As above.",
    "it leaves the DCG in logs of ERR, 300": ("The search of that run often ended near the DCG."),
    "it leaves the DCG in logs of ERR, 1000": "As above.",
    "bands by rater, of raters who differ": (
        "What is learned from people who differ is not the centre of their tastes."
    ),
    "lead over the best textbook: textbook truth": (
        "The textbook is the truth there: what is learned cannot be ahead of it."
    ),
    "weights of 1 to 5, 200 pairs: three tests reject at most 5%": (
        "The test of position-dependent gains counts a weight as that many verdicts."
    ),
    "two populations are found in over 80% of logs of 50": (
        "50 pairs of each are too few; with 150 nearly eight of ten are found."
    ),
    "at least 99% of logs whose winners or grades are reversed are stopped, 35%": (
        "35% wrong: few judgements look like chance; of 500, nearly all are stopped."
    ),
}


def reason(text: str) -> str:
    """Return why the claim of this text fails, "" if nothing is known of it."""
    return next((words for beginning, words in REASONS.items() if text.startswith(beginning)), "")
