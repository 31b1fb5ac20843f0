"""One draw of a log, and how what is said of it fares: bands, tests, intervals, chances, people.

Each function ``f(rng, truth, judge, n)`` is a trial of `simulations.calibration`: it draws a log of
n verdicts, raters or ratings of a truth by a judge, and returns the outcomes that are promised.
"""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import polars as pl
from scipy.special import expit, ndtr

import dcglearn as dl
from dcglearn.trust.calibration import Calibration, shrunk
from dcglearn.trust.held_out import cross_fitted
from simulations.draws_of_systems import as_dictionaries
from simulations.run import TRUTHS, best_textbook, validated
from simulations.study_h_learners import GRID
from simulations.truths_and_judges import WRONG, judged, named, noise_of, pairs_of, truth_of

LEVEL = 0.9
"""Level of the bands and intervals."""

TEMPERATURE = 0.1
"""Noise of a logistic judge, as a share of the top gain."""


# ---- logs


def free(true, n, rng, **noise):
    """Return n pairs of free lists, which identify all parameters of a truth."""
    return dl.simulate.preference_pairs(true, n, lists="free", random_state=rng, **noise)


def flipped(true, n, rng):
    """Return n pairs, of which a tenth name the worse list."""
    return free(true, n, rng, n_flips=n // 10)


def logistic(true, n, rng):
    """Return n pairs, judged with logistic noise."""
    return free(true, n, rng, temperature=TEMPERATURE)


def joined(logs, **columns):
    """Return the pairs of several logs as one, with columns of their own."""
    pairs = np.concatenate([np.stack([x.preferred, x.other], axis=1) for x in logs])
    return dl.Preferences(pairs, n_grades=logs[0].n_grades, **columns)


def of_raters(own, n_raters, each, rng):
    """Return a log of raters, each of whom judges by a DCG ``own(rng)`` and errs in a tenth."""
    logs = [free(own(rng), each, rng, flip_rate=0.1) for _ in range(n_raters)]
    return joined(logs, rater=np.repeat([f"rater {i}" for i in range(n_raters)], each))


def judged_right(true, log):
    """Return the log with the verdicts that the truth would give."""
    lists = np.array([log.preferred, log.other])
    return named(lists, log.gaps(true) > 0, true.n_grades)


# ---- bands, and what is learned


def bands(rng, truth, judge, n, ridge=2.0):
    """Return how far 90% bands cover a truth, of logs of one kind each (`LOGS`).

    The judges name the worse list in a tenth of the verdicts: of any pairs, or of the close ones
    where they say how clearly a list wins or rate it.
    """
    of_truth, log_of = LOGS[truth]
    true = of_truth(rng).normalised()
    by = "rater" if truth == "raters who differ" else None
    log = log_of(true, n, rng)
    seed = int(rng.integers(2**31))
    return covered(dl.bands(log, dl.DCGLearner(ridge=ridge), by=by, random_state=seed), true)


def with_discounts(low, high):
    """Return a function to DCGs with discounts 1/rank^q, with q drawn from low to high."""
    gains, ranks = dl.DCG.standard(5, 10).gains, np.arange(1.0, 11)
    return lambda rng: dl.DCG(gains, ranks ** -rng.uniform(low, high))


def random_steps(rng):
    """Return a DCG with independent random steps, some near 0 and some large."""
    steps, falls = rng.exponential(size=4) ** 2, rng.exponential(size=10) ** 2
    return dl.DCG(np.concatenate([[0], np.cumsum(steps)]), np.cumsum(falls[::-1])[::-1])


def usual(rng):
    """Return exponential gains and logarithmic discounts."""
    return dl.DCG.standard(5, 10)


def near_taste(rng, spread=0.5):
    """Return the DCG of a rater whose steps and falls are near those of D1."""
    middle = dl.simulate.ground_truth("D1").normalised()
    steps, falls = (
        x * np.exp(spread * rng.normal(size=len(x)))
        for x in (np.diff(middle.gains), -np.diff(np.log(middle.discounts)))
    )
    return dl.DCG(np.append(0, np.cumsum(steps)), np.exp(-np.append(0, np.cumsum(falls))))


@cache
def learned_from_all():
    """Return what endless raters who differ teach, from 4,000 of them."""
    log = of_raters(near_taste, 4000, 10, np.random.default_rng(1))
    return dl.DCGLearner().fit(log).fit_.free


def with_strengths(true, n, rng):
    """Return n verdicts of graded judges, a third of them at each of three strengths."""
    lists = rng.integers(0, true.n_grades, (2, n, true.depth)).astype(np.int8)
    z = true.score(lists[0]) - true.score(lists[1])
    felt = z + noise_of(z, 0.1) * rng.logistic(size=n)
    strength = 1.0 + np.searchsorted(np.quantile(np.abs(felt), [1 / 3, 2 / 3]), np.abs(felt))
    return named(lists, felt > 0, true.n_grades, strength=strength)


def rated_lists(true, n, rng, each=10):
    """Return n ratings from 1 to 5, `each` of them by one rater."""
    lists = rng.integers(0, true.n_grades, (n, true.depth))
    value = true.score(lists)
    noise = noise_of(value - value[::-1], 0.1) / np.sqrt(2)
    felt = value + noise * rng.logistic(size=n)
    rating = 1 + np.searchsorted(np.quantile(felt, [0.2, 0.4, 0.6, 0.8]), felt)
    rater = [f"rater {i // each}" for i in range(n)]
    frame = pl.DataFrame({"list": lists.tolist(), "rating": rating, "group": rater})
    return dl.read_ratings(frame, n_grades=true.n_grades)


LOGS: Mapping[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "flat": (with_discounts(0.1, 0.4), flipped),
    "steep": (with_discounts(1.3, 2.5), flipped),
    "exponential-log2": (usual, flipped),
    "random steps": (random_steps, flipped),
    "raters who differ": (
        lambda rng: learned_from_all(),
        lambda true, n, rng: of_raters(near_taste, 25, n // 25, rng),
    ),
    "strengths": (usual, with_strengths),
    "rated lists": (usual, rated_lists),
}
"""Kinds of logs: the truth that bands are to hold, and the log; of raters who differ, the truth is
what many teach.
"""


PARAMETERS = 12
"""Gains and discounts that vary between fits, of D1, D2 and DCGs with random steps."""


def covered(found, true):
    """Return the share of parameters covered, whether all are covered at once, and the widths.

    The bands are those that are printed, which also hold what was learned; `drawn` is the share
    that the draws alone cover. Worst and best gain and the first discount are the same in every
    fit.
    """
    values = np.concatenate([true.gains, true.discounts])
    whole, drawn = found.simultaneous, found.drawn
    each = np.hstack([found.gain_band, found.discount_band])
    at_once = np.hstack([whole.gain_band, whole.discount_band])
    varies = drawn[1] > drawn[0]
    varies[[0, true.n_grades - 1, true.n_grades]] = False

    # one by one, and all at once
    holds = [(ends[0] <= values) & (values <= ends[1]) for ends in (each, at_once, drawn)]
    return {
        "covered": float(holds[0][varies].mean()),
        "all_covered": int(holds[1][varies].all()),
        "drawn": float(holds[2][varies].mean()),
        "width": float(np.ptp(each, axis=0)[varies].mean()),
        "all_width": float(np.ptp(at_once, axis=0)[varies].mean()),
    }


def any_truth(rng, truth, judge, n, n_new=20_000):
    """Return what bands, errors and leads of one log say, and what is true.

    Truths and judges are those of `simulations.truths_and_judges`, none of them the learner's own.
    """
    true, skewed = truth_of(truth, rng), bool(rng.random() < 0.5)
    log, held_out, new = (
        judged(true, pairs_of(true, size, skewed, rng), judge, rng) for size in (n, n, n_new)
    )
    fit = dl.DCGLearner().fit(log, as_is=True)
    learned = fit.dcg_.normalised()

    # bands, and how far off gains and discounts are
    found = covered(dl.bands(log, fit, random_state=int(rng.integers(2**31))), true)
    found["off_gains"] = float(np.abs(learned.gains - true.gains)[1:-1].mean())
    found["off_discounts"] = float(np.abs(learned.discounts - true.discounts)[1:].mean())

    # errors, and the share of new pairs that are ordered as the truth does
    found["wrong_share"] = fit.wrong_share_
    qp = validated(log, held_out, GRID).utility_
    rivals = {"lead": best_textbook(log), "lead_over_qp": qp}
    clean = judged_right(true, new)
    for name, rival in rivals.items():
        found[name] = clean.agreement(learned).precision - clean.agreement(rival).precision
    return {**found, "lead_covered": lead_covered(learned, log, held_out, new)}


def lead_covered(learned, train, held_out, many):
    """Return whether the interval of a lead over exponential-log2 covers that on many verdicts."""
    usual = dl.DCG.standard(many.n_grades, many.depth)
    row = dl.compare_learners(train, held_out, C=1.0)["exponential-log2"]
    true = many.agreement(learned).share - many.agreement(usual).share
    return int(row.low <= true <= row.high)


# ---- tests


def position_test(rng, truth, judge, n, n_resamples=39):
    """Return whether the test of position-dependent gains rejects one log of free lists."""
    name, _, halved = truth.partition(", ")
    true = dl.simulate.ground_truth(name).normalised()
    if halved:
        # middle grades have half the gain from the fourth position on
        weights = true.utility.weights.copy()
        weights[3:, 1:-1] *= 0.5
        true = dl.Utility(weights)
    log, seed = logistic(true, n, rng), int(rng.integers(2**31))
    result = dl.trust.position_dependence(log, n_resamples=n_resamples, random_state=seed)
    return {"rejected": int(result.p_value <= 0.05)}


POPULATIONS = {
    "one population": dl.DCG([0, 0.1, 0.2, 0.6, 1], 1 / np.arange(1, 6)),
    "two populations": dl.DCG([0, 0.6, 0.8, 0.9, 1], 1 / np.log2(np.arange(5) + 2)),
}
"""DCG of the second of two segments: that of the first, who look for the best document on top; or
that of people who read on and take any relevant document."""


def segments(rng, truth, judge, n):
    """Return whether the segment test finds segments in one log of two times n pairs."""
    logs = [logistic(POPULATIONS[name], n, rng) for name in ("one population", truth)]
    log = joined(logs, segment=np.repeat(["first", "second"], n))
    result = dl.trust.segment_test(log, random_state=int(rng.integers(2**31)))
    return {"found": int(result.found)}


def unequal_weights(rng, truth, judge, n):
    """Return whether two tests reject one log of D1 or D2 whose judgements have unequal weights.

    Every rejection is a false one. Of logs that count judges, each judge has a segment, and those
    who agree are counted within it: of a pair that was merged before, judges who disagree would be
    two opposed rows, and two segments with one of them each disagree by design.
    """
    true = dl.simulate.ground_truth(str(rng.choice(TRUTHS))).normalised()
    verdicts = weighted(true, n, judge, rng)
    log, halves = verdicts.merged(), in_halves(verdicts, rng)
    with warnings.catch_warnings():
        # a log that weighs more than it has lists is warned of
        warnings.simplefilter("ignore", UserWarning)
        positions = dl.trust.position_dependence(log, n_resamples=39).p_value
        segments = dl.trust.segment_test(halves).p_value
    return {"positions": int(positions <= 0.05), "segments": int(segments <= 0.05)}


def weighted(truth, n, weights, rng):
    """Return n pairs with weights.

    With weights "1 to 5" or "log-normal", each pair has one judgement, whose weight does not
    depend on it. With "counts", three judges decide a third of the pairs, a row each.
    """
    log = logistic(truth, n, rng)
    if weights == "1 to 5":
        return log.changed(weight=rng.integers(1, 6, n).astype(float))
    if weights == "log-normal":
        return log.changed(weight=np.exp(1.5 * rng.normal(size=n)))

    # two more judges of a third of the pairs
    rows = np.concatenate([np.arange(n), *2 * [rng.permutation(n)[: n // 3]]])
    agrees = rng.random(len(rows)) < expit(log.gaps(truth)[rows] / TEMPERATURE)
    agrees[:n] = True
    return named(np.array([log.preferred[rows], log.other[rows]]), agrees, log.n_grades)


def in_halves(verdicts, rng):
    """Return a log with two segments, of half the judges each; a row counts those who agree."""
    number = rng.permutation(len(verdicts)) % 2
    halves = [verdicts[np.flatnonzero(number == half)].merged() for half in range(2)]
    weight = np.concatenate([half.weight for half in halves])
    segment = np.repeat(["first", "second"], [len(half) for half in halves])
    return joined(halves, weight=weight, segment=segment)


def upside_down(rng, truth, judge, n, kinds):
    """Read one log of each kind, and return whether it is stopped as upside down.

    Each log has a random share of wrong verdicts; "reversed" logs, whose winners are exchanged or
    whose grades are turned round, at most a tenth. Cells are named by kind and share.
    """
    records = []
    for kind in kinds:
        shares = (0.0, 0.1) if kind == "reversed" else (0.0, 0.1, 0.2, 0.3, 0.35)
        wrong = float(rng.choice(shares))
        read_as = str(rng.choice(["winners", "grades"])) if kind == "reversed" else kind
        cell = {"truth": kind, "judge": f"{wrong:.0%} wrong"}
        records.append({**cell, "stopped": stopped(tables_of(rng, n, wrong)[read_as])})
    return records


def tables_of(rng, n, wrong):
    """Return the table of one log as it is, with exchanged winners, and with turned grades."""
    gains = np.append(0, np.cumsum(rng.exponential(1, 4)))
    true = dl.DCG(gains, np.sort(rng.random(10))[::-1] + 0.1)
    how = {"lists": str(rng.choice(["free", "permutations"])), "n_flips": round(wrong * n)}
    log = dl.simulate.preference_pairs(true, n, random_state=rng, **how)
    b_wins, b_left = rng.random((2, n)) < 0.5
    sides = np.array([log.preferred, log.other])
    a, b = np.where(b_wins[:, None], sides[::-1], sides)

    # who won, by name or by the side of the screen
    others = {"rater": rng.integers(0, 5, n), "shown_left": np.where(b_left, "b", "a")}
    named = {"winner": np.where(b_wins, "b", "a"), **others}
    on_screen = {"winner": np.where(b_wins == b_left, "left", "right"), **others}
    return {
        "honest": {"a": a, "b": b, **on_screen},
        "winners": {"a": b, "b": a, **named},
        "grades": {"a": 4 - a, "b": 4 - b, **named},
    }


def stopped(columns):
    """Return 1 if a log is stopped as upside down, else 0."""
    table = pl.DataFrame({name: values.tolist() for name, values in columns.items()})
    try:
        dl.read_preferences(table, 5)
    except dl.io.UpsideDownError:
        return 1
    return 0


# ---- intervals of agreement, held-out leads, the noise ceiling, and people

ERRORS = {"ann": 0.02, "bob": 0.1, "cem": 0.2, "dea": 0.3}
"""Error rates of four raters of the same pairs."""


def by_four_raters(rng, n):
    """Return n pairs, each judged by four raters who err."""
    first, second = np.split(dl.simulate.free_lists(5, 10, 2 * n, random_state=rng), 2)
    sides = (np.tile(side, (len(ERRORS), 1)) for side in (first, second))
    rater = np.repeat(list(ERRORS), n)
    return dl.simulate.judge(
        dl.simulate.ground_truth("D1"), *sides, rater=rater, rater_error=ERRORS, random_state=rng
    )


@cache
def true_alpha():
    """Return the alpha of very many pairs."""
    log = by_four_raters(np.random.default_rng(0), 20_000)
    return dl.rater_agreement(log, errors=False).alpha


def alpha(rng, truth, judge, n):
    """Return whether the interval of Krippendorff's alpha covers it."""
    found = dl.rater_agreement(by_four_raters(rng, n), errors=False, level=LEVEL)
    return {"covered": int(found.low <= true_alpha() <= found.high)}


def rater_error(rng, truth, judge, n):
    """Return whether the interval of a rater's error rate covers it; the rater is drawn."""
    found = dl.rater_agreement(by_four_raters(rng, n), level=LEVEL)
    rater = found.table.row(int(rng.integers(len(ERRORS))), named=True)
    return {"covered": int(rater["error_low"] <= ERRORS[rater["rater"]] <= rater["error_high"])}


def held_out_pairs(rng, truth, judge, n):
    """Return whether the interval of a lead on n held-out pairs covers it."""
    true = dl.simulate.ground_truth(truth)
    train, *others = (free(true, size, rng, flip_rate=0.1) for size in (n, n, 20_000))
    return {"covered": lead_covered(dl.DCGLearner().fit(train).dcg_, train, *others)}


def held_out_raters(rng, truth, judge, n):
    """Return whether the interval of a lead for raters, of whom n were asked, covers it."""
    middle = dl.simulate.ground_truth(truth)

    def own(rng):
        steps = np.diff(middle.gains, prepend=0.0) * np.exp(0.7 * rng.normal(size=5))
        return dl.DCG(np.cumsum(steps), middle.discounts)

    train, *others = (of_raters(own, n_raters, 20, rng) for n_raters in (10, n, 400))
    return {"covered": lead_covered(dl.DCGLearner().fit(train).dcg_, train, *others)}


GRADERS = {"clean": 0.0, "noisy": 0.4, "as noisy": 0.4, "upside down": 0.0, "lacks a third": 0.0}
"""Graders, and the share of the documents that each grades at random."""

NOISY, AS_NOISY = 1, 2
"""Rows of two graders who are equally good."""


def graders(rng, truth, judge, n, many=1000):
    """Return whether intervals of graders' shares and differences cover what new users say.

    n users rate eight lists each, by how good their results are on average; what holds is read from
    `many` others, so many that their own chance does not count.
    """
    grades = rng.choice(4, (40, 12), p=[0.4, 0.3, 0.2, 0.1])
    labels = {}
    for name, error in GRADERS.items():
        own = np.where(rng.random(grades.shape) < error, rng.integers(0, 4, grades.shape), grades)
        labels[name] = 3 - own if name == "upside down" else own
    labels["lacks a third"][rng.random(grades.shape) < 1 / 3] = -1

    # rated lists of names, and of new users the pairs by each grader's grades
    judged = {name: graded(own) for name, own in labels.items()}
    asked, new = (thumbs_of(rng, grades, users) for users in (n, many))
    found = dl.compare_graders(asked, judged)

    # the shares of new users that metrics of all these verdicts follow
    true = []
    for own in judged.values():
        logs = [dl.read_ratings(dl.with_grades(rows, own), 4, as_is=True) for rows in (asked, new)]
        learned = dl.DCGLearner().fit(logs[0], as_is=True)
        true.append(logs[1].agreement(learned.dcg_).share)
    true = np.array(true)

    # what intervals and tests say
    table, differ = found.table, found.differences
    gaps, above = true[:, None] - true, np.triu_indices(len(true), 1)
    shares = (table["low"].to_numpy() <= true) & (true <= table["high"].to_numpy())
    both = (differ.low <= gaps) & (gaps <= differ.high)
    called_worse = (differ.p_values <= 0.05) & (differ.points < 0)
    return {
        "shares": shares.mean(),
        "differences": both[above].mean(),
        "worse": int(differ.p_values[NOISY, AS_NOISY] <= 0.05),
        "false": int((called_worse & (gaps >= 0)).any()),
        "first": int(table["grader"][int(table["share"].arg_max())] == "clean"),
    }


def graded(grades):
    """Return a table of the documents that have a grade."""
    query, document = np.nonzero(grades >= 0)
    names = {"query": [f"q{q}" for q in query], "doc": [f"d{d}" for d in document]}
    return pl.DataFrame({**names, "grade": grades[query, document]})


def thumbs_of(rng, grades, n_users, each=8):
    """Return rows of lists of names of documents that users rate up or down."""
    rows = []
    for user in range(n_users):
        for query in rng.choice(len(grades), each, replace=False).tolist():
            shown = rng.choice(grades.shape[1], rng.integers(3, 8), replace=False)
            up = grades[query][shown].mean() + rng.logistic(0, 0.25) > 1
            names = [f"d{document}" for document in shown]
            about = {"query": f"q{query}", "user": f"u{user}", "docs": names}
            rows.append({**about, "rating": "up" if up else "down"})
    return rows


POOL = np.array(list(product(range(2), repeat=5)), dtype=np.int8)
CUTS = np.concatenate([[-np.inf], np.arange(-1.5, 4), [np.inf]])
"""Ends of the ratings -2 to 4, on the scale of a list's worth."""


def noise_ceiling(rng, truth, judge, n):
    """Return how far the two shares of one log are from its noise ceiling, which is known."""
    worth = POOL @ np.array([1.0, 0.6, 0.5, 0.4, 0.3]) + rng.normal(0, 0.4, len(POOL))
    if judge == "judged pairs":
        chances = expit(2 * (worth[:, None] - worth[None, :]))
        log = recurring_pairs(rng, chances, n)
    else:
        careless = 0.2 if "careless" in judge else 0.0
        chances = rating_chances(worth, careless)
        log = rated(rng, worth, n, careless)
    ceiling = dl.noise_ceiling(log, random_state=int(rng.integers(2**31)))

    # the true ceiling of the pairs that it covers
    sides = (ceiling.pairs.preferred, ceiling.pairs.other)
    first, second = (lists @ (2 ** np.arange(4, -1, -1)) for lists in sides)
    best = np.maximum(chances, chances.T)[first, second]
    true = float(np.average(best, weights=ceiling.pairs.weight))
    return {"below": ceiling.below - true, "above": ceiling.above - true}


def rating_chances(worth, careless):
    """Return P(first list is rated above the second | they differ) for all pairs, shape (L, L)."""
    chance = np.diff(ndtr(CUTS[None, :] - worth[:, None]), axis=1)
    chance = careless / chance.shape[1] + (1 - careless) * chance
    above = chance @ (np.cumsum(chance, axis=1) - chance).T
    return above / (above + above.T)


def rated(rng, worth, n, careless):
    """Return a log of n ratings from -2 to 4, of which a share is drawn at random."""
    lists = rng.integers(0, len(POOL), n)
    ratings = np.clip(np.round(worth[lists] + rng.normal(0, 1, n)), -2, 4)
    ratings = np.where(rng.random(n) < careless, rng.integers(-2, 5, n), ratings)
    return dl.read_ratings(pl.DataFrame({"list": POOL[lists], "rating": ratings}))


def recurring_pairs(rng, chances, n):
    """Return a log of n judged pairs of different lists of the pool."""
    first, second = rng.integers(0, len(POOL), (2, n))
    second = np.where(first == second, (first + 1) % len(POOL), second)
    wins = rng.random(n) <= chances[first, second]
    return named(POOL[np.array([first, second])], wins, 2)


def people(rng, truth, judge, n, queries, population=5000):
    """Return how far off the said share of people who take the new system's list is."""
    true, skewed = truth_of(truth, rng), bool(rng.random() < 0.5)
    pairs = pairs_of(true, n, skewed, rng)
    log = judged(true, pairs, judge, rng)
    fit = dl.DCGLearner().fit(log, as_is=True)
    seed = int(rng.integers(2**31))
    metric = dl.bands(log, fit, random_state=seed, n_resamples=50).metric

    # what is said of a sample of queries, by the metric and its judges
    judgements, runs = as_dictionaries(*systems(true, skewed, queries, rng), range(queries))
    judgements = dl.evaluation.read_judgements(judgements, n_grades=true.n_grades)
    how = {"level": LEVEL, "n_resamples": 100, "random_state": seed}
    compared = dl.compare_systems(judgements, runs, {"learned": metric}, **how)
    row = compared.people.table.row(0, named=True)

    # and the truth, over many
    gaps = true.score(pairs[0]) - true.score(pairs[1])
    share = 100 * taken(true, judge, gaps, *systems(true, skewed, population, rng))
    return {
        "off": abs(row["take"] - share),
        "width": row["take_high"] - row["take_low"],
        "covered": int(row["take_low"] <= share <= row["take_high"]),
    }


def systems(true, skewed, n, rng, documents=30):
    """Return the grades of documents of n queries, and scores of an old and a new system."""
    chance = 0.5 ** np.arange(true.n_grades) if skewed else np.ones(true.n_grades)
    grades = rng.choice(true.n_grades, (n, documents), p=chance / chance.sum())
    shared = grades + 2 * rng.normal(size=grades.shape)
    return grades, *(shared + noise * rng.normal(size=grades.shape) for noise in (2.0, 1.5))


def taken(true, judge, gaps, grades, old, new):
    """Return the share of people who take the new system's list, over queries."""
    order = [np.argsort(-scores, axis=1)[:, : true.depth] for scores in (new, old)]
    values = [true.score(np.take_along_axis(grades, rows, axis=1)) for rows in order]
    gap = values[0] - values[1]
    if judge == "graded":
        return float(expit(gap / noise_of(gaps, WRONG)).mean())
    return float((0.5 + (0.5 - WRONG) * np.sign(gap)).mean())


NOISE = {
    "careless": {"flip_rate": 0.15},
    "graded": {"temperature": 0.04},
    "careless and graded": {"flip_rate": 0.1, "temperature": 0.02},
}
"""Judges who err on all pairs, on close pairs, or on both; temperatures in the best list's value.
"""


def chances(rng, truth, judge, n, n_held_out=2000):
    """Return how sure new verdicts are, by the chance of the list that the fit puts first.

    By the judges as `learn` has them, whose slope is the prior with what folds of the log measure;
    by those of the fit alone; and by those who are corrected only where folds show them too sure.
    """
    true, noise = dl.simulate.ground_truth(truth), dict(NOISE[judge])
    if "temperature" in noise:
        noise["temperature"] *= true.gains[-1] * true.discounts.sum()
    train, held_out = (free(true, size, rng, **noise) for size in (n, n_held_out))

    # the judges of the fit, and what folds of its log say of them
    metric = dl.DCGLearner().fit(train).dcg_
    folds = cross_fitted(train, random_state=0).calibration
    shown = folds.slope if folds.overconfident else 1.0
    rules = {
        "": shrunk(metric.judges, folds),
        "_as_fitted": metric.judges,
        "_if_shown": replace(metric.judges, slope=shown),
    }

    # further verdicts
    gaps = held_out.gaps(metric)
    observed = np.mean(np.sign(gaps) + 1) / 2
    clusters, weight = held_out.clusters("pair"), np.ones(len(gaps))
    record = {}
    for rule, judges in rules.items():
        chance = judges.chances(gaps)[:, 0]
        surer = np.maximum(chance, 1 - chance).mean() - observed
        record |= {f"surer{rule}": surer, f"distance{rule}": abs(surer)}
        record[f"slope{rule}"] = Calibration.of(chance, weight, clusters).slope
    return record
