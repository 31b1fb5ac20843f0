"""Calibration: do our intervals, bands, tests and gates keep what they promise?

python -m simulations.calibration                 run all checks into figures/calibration.csv
python -m simulations.calibration gate segments   run these checks again and keep the other rows
python -m simulations.calibration gate --quick    try a check in seconds and keep nothing

A check draws logs in cells: a truth, a judge, and a number n of judgements, topics or raters. A row
of the table says what is promised of one cell (or of several, counted together), what was seen,
with an exact interval of shares, and the verdict by the rule of `simulations.claims`. A row without
a promise is shown for the docs.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import chain, combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy.special import expit, ndtr, stdtr

import dcglearn as dl
from dcglearn.evaluation.paired_tests import corrected
from dcglearn.evaluation.rank_intervals import open_ranks
from dcglearn.trust.calibration import Calibration, shrunk
from dcglearn.trust.held_out import cross_fitted
from simulations.__main__ import parser
from simulations.claims import NEGLIGIBLE, Claim, select
from simulations.results import commit, rounded, write
from simulations.run import TRUTHS, repeated, validated
from simulations.study_h_learners import GRID
from simulations.study_s_proxy import drawn, taste
from simulations.truths_and_judges import JUDGES, KINDS, WRONG, judged, noise_of, pairs_of, truth_of

NAME = "calibration"
CELL = ("truth", "judge", "n")
"""Columns that name a cell."""

LARGE = 1e300
"""Bound of a claim about what is only shown."""

LEVEL = 0.9
"""Level of the bands and intervals."""

TEMPERATURE = 0.1
"""Noise of a logistic judge, as a share of the top gain."""

SURE = "logistic noise"
"""Name of that judge."""


@dataclass(frozen=True)
class Promise:
    """What is promised of the mean of a column, in each cell and over cells.

    Parameters
    ----------
    value : str
        Column of the records.
    words : str
        What it measures.
    low, high : float
        The mean lies between these if the promise is kept; if neither is finite, it is only shown.
    where : mapping
        Values of columns, or tuples of values, that the promise is about; all by default.
    level : float
        Instead of `low` and `high`, the level of a test, for the share of its false positives.
    outcomes : int
        Number of 0/1 outcomes of which a value is the share; 0 if it is no share, or a single one.
    """

    value: str
    words: str
    low: float = -np.inf
    high: float = np.inf
    where: Mapping[str, Any] = field(default_factory=dict)
    level: float = 0.0
    outcomes: int = 0


@dataclass(frozen=True)
class Check:
    """Cells, how often each is drawn, and what is promised of them.

    `trial` is called as ``trial(rng, truth, judge, n)``, in quick runs with options `quick`.
    `fresh` is added to the seed, so that promises are held on logs that nobody had seen.
    """

    trial: Callable[..., Any]
    truths: tuple[str, ...]
    judges: tuple[str, ...]
    sizes: tuple[int, ...]
    repeats: int
    promises: list[Promise]
    fresh: int = 0
    quick: Mapping[str, Any] = field(default_factory=dict)

    def settings(self) -> list[dict[str, Any]]:
        """Return all cells."""
        cells = product(self.truths, self.judges, self.sizes)
        return [dict(zip(CELL, cell, strict=True)) for cell in cells]

    def records(
        self, seed: int, repeats: int, settings: list[dict[str, Any]], jobs: int, quick: bool
    ) -> pl.DataFrame:
        """Return one record for each of these cells and repeat."""
        trial = partial(self.trial, **(self.quick if quick else {}))
        how = {"repeats": repeats, "seed": seed + self.fresh, "jobs": jobs}
        return pl.DataFrame(list(repeated(trial, settings, **how)), infer_schema_length=None)


# ---- the rows of the table


def rows_of(name: str, check: Check, table: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield a row for each promise and cell of the records of a check, and for cells together."""
    for number, promise in enumerate(check.promises):
        part = select(table, promise.where).drop_nulls(promise.value)
        several = [column for column in CELL if part[column].n_unique() > 1]
        margins = (combinations(several, count) for count in range(len(several) + 1))
        together = {column: _listed(promise.where.get(column, "all")) for column in CELL}
        for over in chain.from_iterable(margins):
            kept = [column for column in CELL if column not in over]
            groups = part.group_by(kept, maintain_order=True) if kept else [((), part)]
            for key, cell in groups:
                if cell["repeat"].n_unique() < 2:  # of a quick run
                    continue
                named = together | {k: str(v) for k, v in zip(kept, key, strict=True)}
                of = {"check": name, "promise": number, "measure": promise.words}
                yield of | named | _seen(name, promise, cell)


def _listed(values: Any) -> str:
    """Return the values of a column that are counted together."""
    return ", ".join(map(str, values)) if isinstance(values, tuple) else str(values)


def _seen(name: str, promise: Promise, cells: pl.DataFrame) -> dict[str, Any]:
    """Return promise, mean, interval and verdict of the records of some cells."""
    bounds = {"low": promise.low, "high": promise.high, "level": promise.level}
    shown_only = bounds == {"low": -np.inf, "high": np.inf, "level": 0.0}
    if shown_only:
        bounds["low"] = -LARGE
    claim = Claim(
        cells, "ours", name, promise.words, promise.value, {}, outcomes=promise.outcomes, **bounds
    )
    found = claim.measured[0]
    return {
        "must_be": "" if shown_only else claim.bounds,
        **{name: getattr(found, name) for name in ("mean", "low", "high", "repeats")},
        "values": len(cells),
        "verdict": "" if shown_only else claim.verdict,
    }


# ---- bands, and what is learned


def bands(rng, truth, judge, n):
    """Return how far 90% bands cover a truth, of logs of one kind each (`LOGS`).

    Free lists identify all its parameters. The judges name the worse list in a tenth of the
    verdicts: of any pairs, or of the close ones where they say how clearly a list wins or rate it.
    """
    true = LOGS[truth](rng).normalised()
    by = None
    if truth == "raters who differ":
        log, by = of_raters(TASTE.normalised(), n, rng), "rater"
    elif truth == "strengths":
        log = with_strengths(true, n, rng)
    elif truth == "rated lists":
        log = rated_lists(true, n, rng)
    else:
        log = dl.simulate.preference_pairs(true, n, lists="free", n_flips=n // 10, random_state=rng)
    return covered(dl.bands(log, by=by, random_state=int(rng.integers(2**31))), true)


TASTE = dl.simulate.ground_truth("D1")
"""The middle of the tastes of raters who differ."""


def with_discounts(low: float, high: float) -> Callable[[np.random.Generator], dl.DCG]:
    """Return a function to DCGs with discounts 1/rank^q, with q drawn from low to high."""
    gains, ranks = dl.DCG.standard(5, 10).gains, np.arange(1.0, 11)
    return lambda rng: dl.DCG(gains, ranks ** -rng.uniform(low, high))


def random_steps(rng):
    """Return a DCG with independent random steps, some near 0 and some large."""
    steps, falls = rng.exponential(size=4) ** 2, rng.exponential(size=10) ** 2
    return dl.DCG(np.concatenate([[0], np.cumsum(steps)]), np.cumsum(falls[::-1])[::-1])


@cache
def learned_from_all() -> dl.DCG:
    """Return what endless raters who differ teach, from 4,000 of them."""
    log = of_raters(TASTE.normalised(), 40_000, np.random.default_rng(1), 4000)
    return dl.DCGLearner().fit(log).fit_.free


def usual(rng: np.random.Generator) -> dl.DCG:
    """Return exponential gains and logarithmic discounts."""
    return dl.DCG.standard(5, 10)


LOGS: Mapping[str, Callable[[np.random.Generator], dl.DCG]] = {
    "flat": with_discounts(0.1, 0.4),
    "steep": with_discounts(1.3, 2.5),
    "exponential-log2": usual,
    "random steps": random_steps,
    "raters who differ": lambda rng: learned_from_all(),
    "strengths": usual,
    "rated lists": usual,
}
"""Kinds of logs, and the truth that bands are to hold: of raters who differ, what many teach."""


def of_raters(true, n, rng, n_raters=25, spread=0.5):
    """Return n verdicts by raters with a taste each around a DCG."""
    steps, falls = np.diff(true.gains), -np.diff(np.log(true.discounts))
    sides = []
    for _ in range(n_raters):
        own_steps, own_falls = (
            x * np.exp(spread * rng.normal(size=len(x))) for x in (steps, falls)
        )
        gains, discounts = np.cumsum(own_steps), np.exp(-np.append(0, np.cumsum(own_falls)))
        log = dl.simulate.preference_pairs(
            dl.DCG(np.append(0, gains), discounts),
            n // n_raters,
            lists="free",
            flip_rate=0.1,
            random_state=rng,
        )
        sides.append(np.stack([log.preferred, log.other], axis=1))
    rater = np.repeat(np.arange(n_raters), n // n_raters).astype(str)
    return dl.Preferences(np.concatenate(sides), n_grades=true.n_grades, rater=rater)


def with_strengths(true, n, rng):
    """Return n verdicts of graded judges, a third of them at each of three strengths."""
    lists = rng.integers(0, true.n_grades, (2, n, true.depth)).astype(np.int8)
    z = true.score(lists[0]) - true.score(lists[1])
    felt = z + noise_of(z, 0.1) * rng.logistic(size=n)
    pairs = np.where((felt > 0)[:, None], lists, lists[::-1])
    strength = 1.0 + np.searchsorted(np.quantile(np.abs(felt), [1 / 3, 2 / 3]), np.abs(felt))
    return dl.Preferences(*pairs, n_grades=true.n_grades, strength=strength)


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


PARAMETERS = 12
"""Gains and discounts that vary between fits, of D1, D2 and DCGs with random steps."""


def covered(found, true):
    """Return the share of parameters covered, whether all are covered at once, and the widths.

    The bands are those of the draws alone: the bands shown also hold what was learned, so they
    cover no less. Worst and best gain and the first discount are the same in every fit.
    """
    values = np.array([np.nan, *true.gains[1:-1], np.nan, np.nan, *true.discounts[1:]])
    ends = np.concatenate([found.drawn, found.simultaneous.drawn])
    low, high, all_low, all_high = ends[:, ~np.isnan(values) & (ends[1] > ends[0])]
    values = values[~np.isnan(values) & (ends[1] > ends[0])]
    return {
        "covered": float(((low <= values) & (values <= high)).mean()),
        "all_covered": int(((all_low <= values) & (values <= all_high)).all()),
        "width": float((high - low).mean()),
        "all_width": float((all_high - all_low).mean()),
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
    clean = judged_right(true, new)
    textbooks = dl.textbook_dcgs(true.n_grades, true.depth).values()
    textbook = max(textbooks, key=lambda dcg: log.agreement(dcg).share)
    precision = clean.agreement(learned).precision
    found["lead"] = precision - clean.agreement(textbook).precision
    qp = validated(log, held_out, GRID).utility_
    found["lead_over_qp"] = precision - clean.agreement(qp).precision

    # the interval of the lead over exponential-log2 on held-out verdicts
    usual = dl.DCG.standard(true.n_grades, true.depth)
    row = dl.compare_learners(log, held_out, C=1.0)["exponential-log2"]
    ahead = new.agreement(learned).share - new.agreement(usual).share
    return {**found, "lead_covered": int(row.low <= ahead <= row.high)}


def judged_right(true, log):
    """Return the log with the verdicts that the truth would give."""
    right = true.score(log.preferred) > true.score(log.other)
    lists = np.array([log.preferred, log.other])
    return dl.Preferences(*np.where(right[:, None], lists, lists[::-1]), n_grades=true.n_grades)


def prior(rng, truth, judge, n, n_test=5000):
    """Return precision with the default prior, and its leads over weaker ones and the QP.

    The truths have steps, which the prior of smooth curves does not expect.
    """
    true = random_steps(rng) if truth == "random steps" else dl.metric(truth, 5, 10)
    test = dl.simulate.preference_pairs(true, n_test, lists="free", random_state=rng)
    log = dl.simulate.preference_pairs(true, n, lists="free", n_flips=n // 10, random_state=rng)
    weak, default, strong = (
        test.agreement(dl.DCGLearner(ridge=ridge).fit(log).dcg_).share for ridge in (0.1, 2.0, 20.0)
    )
    qp = test.agreement(dl.UtilityLearner(C=0.1).fit(log).factor().dcg).share
    return {
        "share": default,
        "over_weak": default - weak,
        "over_qp": default - qp,
        "strong_over_qp": strong - qp,
    }


SHAPES = {
    "more_grades": ({"n_grades": 7}, 10),
    "longer": ({}, 20),
    "shorter": ({}, 5),
    "fewer_grades": ({"merged": True}, 10),
}
"""Wrong numbers of grades and positions that the learner sees; the truth has five and ten."""


def wrong_shape(rng, truth, judge, n, n_test=5000, length=20):
    """Return the share of pairs lost by each wrong number; ties of a metric count half."""
    ten = dl.simulate.ground_truth(truth)
    true = dl.DCG(ten.gains, np.concatenate([ten.discounts, np.zeros(length - 10)]))
    train = dl.simulate.preference_pairs(true, n, lists="free", flip_rate=0.1, random_state=rng)
    test = dl.simulate.preference_pairs(true, n_test, lists="free", random_state=rng)

    def share(options, depth):
        dcg = dl.DCGLearner().fit(seen_as(train, depth, **options)).dcg_
        return seen_as(test, depth, **options).agreement(dcg).share

    right = share({}, 10)
    return {wrong: right - share(*shape) for wrong, shape in SHAPES.items()}


def seen_as(log, depth, n_grades=5, merged=False):
    """Return the log with other numbers of positions and grades; merged, five grades are three."""
    lists = [side[:, :depth] for side in (log.preferred, log.other)]
    if merged:
        lists, n_grades = [np.array([0, 1, 1, 2, 2])[side] for side in lists], 3
    return dl.Preferences(np.stack(lists, axis=1), n_grades=n_grades)


LEFT = {
    f"{share:.0%} of {who}": (who, share)
    for who in ("raters", "verdicts")
    for share in (0.0, 0.1, 0.2, 0.3, 0.5)
}
"""Verdicts that say left, whatever is shown: all of some raters, or some of all raters."""


def always_left(rng, truth, judge, n, n_test=5000, n_raters=10, wrong=0.1):
    """Return what verdicts that always say "left" cost, and what known sides gain.

    `known` has the sides, so the fit has position biases; `honest` has the other verdicts alone.
    """
    who, share = LEFT[judge]
    true = taste(rng)
    lists, test = drawn(n, rng), drawn(n_test, rng)
    first = (true.score(lists[0]) >= true.score(lists[1])) ^ (rng.random(n) < wrong)
    rater = rng.permutation(np.arange(n) % n_raters)
    left = rater < round(share * n_raters)
    if who == "verdicts":
        left = rng.permutation(n) < round(share * n)
    new = judged_right(true, dl.Preferences(*test, n_grades=5))

    def precision(first, kept, sides):
        pairs = np.where(first[:, None], lists, lists[::-1])[:, kept]
        swapped = {"swapped": ~first[kept]} if sides else {}
        log = dl.Preferences(*pairs, n_grades=5, rater=rater[kept], **swapped)
        return new.agreement(dl.DCGLearner().fit(log, as_is=True).dcg_).share

    everything = slice(None)
    known = precision(first | left, everything, sides=True)
    return {
        "lost_to_none": precision(first, everything, sides=True) - known,
        "lost_to_rest": precision(first | left, ~left, sides=True) - known,
        "gain_of_sides": known - precision(first | left, everything, sides=False),
    }


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
    log = logistic(true, n, rng)
    seed = int(rng.integers(2**31))
    result = dl.trust.position_dependence(log, n_resamples=n_resamples, random_state=seed)
    return {"rejected": int(result.p_value <= 0.05)}


def logistic(truth, n, rng):
    """Return n pairs of free lists, judged with logistic noise."""
    return dl.simulate.preference_pairs(
        truth, n, lists="free", temperature=TEMPERATURE, random_state=rng
    )


POPULATIONS = {
    "one population": dl.DCG([0, 0.1, 0.2, 0.6, 1], 1 / np.arange(1, 6)),
    "two populations": dl.DCG([0, 0.6, 0.8, 0.9, 1], 1 / np.log2(np.arange(5) + 2)),
}
"""DCG of the second of two segments: that of the first, who look for the best document on top; or
that of people who read on and take any relevant document."""


def segments(rng, truth, judge, n):
    """Return whether the segment test finds segments in one log of two times n pairs."""
    first = POPULATIONS["one population"]
    parts = [logistic(dcg, n, rng) for dcg in (first, POPULATIONS[truth])]
    pairs = np.concatenate([np.stack([x.preferred, x.other], axis=1) for x in parts])
    segment = np.repeat(["first", "second"], n)
    log = dl.Preferences(pairs, n_grades=first.n_grades, segment=segment)
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
    lists = np.array([log.preferred[rows], log.other[rows]])
    return dl.Preferences(*np.where(agrees[:, None], lists, lists[::-1]), n_grades=log.n_grades)


def in_halves(verdicts, rng):
    """Return a log with two segments, of half the judges each; a row counts those who agree."""
    number = rng.permutation(len(verdicts)) % 2
    parts = [verdicts[np.flatnonzero(number == half)].merged() for half in range(2)]
    pairs = np.concatenate([np.stack([x.preferred, x.other], axis=1) for x in parts])
    weight = np.concatenate([part.weight for part in parts])
    segment = np.repeat(["first", "second"], [len(part) for part in parts])
    return dl.Preferences(pairs, n_grades=verdicts.n_grades, weight=weight, segment=segment)


def upside_down(rng, truth, judge, n, kinds, n_grades=5, depth=10):
    """Read one log of each kind, and return whether it is stopped as upside down.

    Each log has a random share of wrong verdicts; "reversed" logs, whose winners are exchanged or
    whose grades are turned round, at most a tenth. Cells are named by kind and share.
    """
    records = []
    for kind in kinds:
        shares = (0.0, 0.1) if kind == "reversed" else (0.0, 0.1, 0.2, 0.3, 0.35)
        wrong = float(rng.choice(shares))
        read_as = str(rng.choice(["winners", "grades"])) if kind == "reversed" else kind
        table = table_of(rng, n, wrong, n_grades, depth)[read_as]
        cell = {"truth": kind, "judge": f"{wrong:.0%} wrong"}
        records.append({**cell, "stopped": stopped(table, n_grades)})
    return records


def table_of(rng, n, wrong, n_grades, depth):
    """Return the table of one log as it is, with exchanged winners, and with turned grades."""
    gains = np.append(0, np.cumsum(rng.exponential(1, n_grades - 1)))
    true = dl.DCG(gains, np.sort(rng.random(depth))[::-1] + 0.1)
    lists = str(rng.choice(["free", "permutations"]))
    log = dl.simulate.preference_pairs(
        true, n, lists=lists, n_flips=round(wrong * n), random_state=rng
    )
    b_wins, b_left = rng.random((2, n)) < 0.5
    a = np.where(b_wins[:, None], log.other, log.preferred)
    b = np.where(b_wins[:, None], log.preferred, log.other)

    # who won, by name or by the side of the screen
    others = {"rater": rng.integers(0, 5, n), "shown_left": np.where(b_left, "b", "a")}
    named = {"winner": np.where(b_wins, "b", "a"), **others}
    on_screen = {"winner": np.where(b_wins == b_left, "left", "right"), **others}
    return {
        "honest": {"a": a, "b": b, **on_screen},
        "winners": {"a": b, "b": a, **named},
        "grades": {"a": n_grades - 1 - a, "b": n_grades - 1 - b, **named},
    }


def stopped(columns, n_grades):
    """Return 1 if a log is stopped as upside down, else 0."""
    table = pl.DataFrame({name: values.tolist() for name, values in columns.items()})
    try:
        dl.read_preferences(table, n_grades)
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
    return dl.rater_agreement(log, errors=False).nominal.value


def alpha(rng, truth, judge, n):
    """Return whether the interval of Krippendorff's alpha covers it."""
    found = dl.rater_agreement(by_four_raters(rng, n), errors=False, level=LEVEL).nominal
    return {"covered": int(found.low <= true_alpha() <= found.high)}


def rater_error(rng, truth, judge, n):
    """Return whether the interval of a rater's error rate covers it; the rater is drawn."""
    found = dl.rater_agreement(by_four_raters(rng, n), level=LEVEL)
    rater = found.table.row(int(rng.integers(len(ERRORS))), named=True)
    return {"covered": int(rater["error_low"] <= ERRORS[rater["rater"]] <= rater["error_high"])}


def held_out_pairs(rng, truth, judge, n):
    """Return whether the interval of a lead on n held-out pairs covers it."""
    true = dl.simulate.ground_truth(truth)
    logs = [
        dl.simulate.preference_pairs(true, size, lists="free", flip_rate=0.1, random_state=rng)
        for size in (n, n, 20_000)
    ]
    return lead_covered(dl.DCGLearner(), *logs)


def held_out_raters(rng, truth, judge, n):
    """Return whether the interval of a lead for raters, of whom n were asked, covers it."""
    logs = [tastes(rng, truth, n_raters) for n_raters in (10, n, 400)]
    return lead_covered(dl.DCGLearner(), *logs)


def lead_covered(learner, train, held_out, many):
    """Return whether the interval of a learner's lead over exponential-log2 covers it."""
    learned, usual = learner.fit(train).dcg_, dl.DCG.standard(5, 10)
    row = dl.compare_learners(train, held_out, learner, C=1.0)["exponential-log2"]
    true = many.agreement(learned).share - many.agreement(usual).share
    return {"covered": int(row.low <= true <= row.high)}


def tastes(rng, truth, n_raters, each=20, spread=0.7):
    """Return a log of raters, each of whom judges by gains of their own."""
    truth = dl.simulate.ground_truth(truth)
    sides, raters = [], np.repeat([f"rater {i}" for i in range(n_raters)], each)
    for _ in range(n_raters):
        steps = np.diff(truth.gains, prepend=0.0) * np.exp(spread * rng.normal(size=5))
        own = dl.DCG(np.cumsum(steps), truth.discounts)
        log = dl.simulate.preference_pairs(own, each, lists="free", flip_rate=0.1, random_state=rng)
        sides.append(np.stack([log.preferred, log.other], axis=1))
    return dl.Preferences(np.concatenate(sides), n_grades=5, rater=raters)


GRADERS = {"clean": 0.0, "noisy": 0.4, "as noisy": 0.4, "upside down": 0.0, "lacks a third": 0.0}
"""Graders, and the share of the documents that each grades at random."""


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
    judged = {
        name: pl.DataFrame(
            [
                {"query": f"q{q}", "doc": f"d{d}", "grade": grade}
                for (q, d), grade in np.ndenumerate(own)
                if grade >= 0
            ]
        )
        for name, own in labels.items()
    }
    asked, new = (thumbs_of(rng, grades, users) for users in (n, many))
    found = dl.compare_graders(asked, judged)

    # the shares of new users that metrics of all these verdicts follow
    true = []
    for own in judged.values():
        logs = [dl.read_ratings(dl.with_grades(rows, own), 4, as_is=True) for rows in (asked, new)]
        learned = dl.DCGLearner().fit(logs[0], as_is=True)
        true.append(logs[1].agreement(learned.dcg_).share)
    true = np.array(true)
    table, differ = found.table, found.differences
    gaps, above = true[:, None] - true, np.triu_indices(len(true), 1)
    shares = (table["low"].to_numpy() <= true) & (true <= table["high"].to_numpy())
    both = (differ.low <= gaps) & (gaps <= differ.high)
    twins = [[*GRADERS].index(name) for name in ("noisy", "as noisy")]
    return {
        "shares": shares.mean(),
        "differences": both[above].mean(),
        "worse": int(differ.p_values[tuple(twins)] <= 0.05),
        "first": int(table["grader"][int(table["share"].arg_max())] == "clean"),
    }


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
    swap = rng.random(n) > chances[first, second]
    return dl.Preferences(POOL[np.where(swap, second, first)], POOL[np.where(swap, first, second)])


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
    train, held_out = (
        dl.simulate.preference_pairs(true, size, lists="free", random_state=rng, **noise)
        for size in (n, n_held_out)
    )

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


# ---- comparisons of systems, the gate, and an LLM judge beside people

DRAWS = 100
"""Comparisons of a repeat: 2,000 a cell, so that two standard errors of .025 are .007."""

GRADES = 121
"""Grades of two documents a topic, which make a number of two digits: a value of fine steps."""

METRIC = dl.DCG(np.linspace(0, 1, GRADES), [1.0, 1 / GRADES])
GATE, GATE_ERROR = 0.95, 0.025
"""Level of the gate and the comparison, and the error of one side that it leaves."""


def gate(rng, truth, judge, n):
    """Compare equally good systems on n topics; return how often each side errs, and power."""
    values = differences(rng, truth, n)
    found = compared(values, GATE)
    ends = compared(values, LEVEL, 100).table.drop_nulls("low")
    beyond = found.table.filter(pl.col("p_corrected") < 1 - GATE)["difference"]
    record = {
        "fails": answers(found.gate(), "fail"),
        "passes": answers(found.gate(0.0, "non-inferior"), "pass"),
        "worse": float((beyond < 0).sum()) / DRAWS,
        "better": float((beyond > 0).sum()) / DRAWS,
        "covered": ((ends["low"] <= 0) & (ends["high"] >= 0)).mean(),
        "kept": None,
    }

    # power: a loss that the t test shows about four times in five
    if n in (25, 50):
        wider = {"half zeros": 0.7, "one outlier": (1 + 99 / n) ** 0.5}.get(truth, 1.0)
        found = compared(values - 2.9 * wider / n**0.5, GATE)
        by_t = (pl.col("difference") < 0) & (pl.col("p_t") <= 2 * GATE_ERROR)
        t_shows = len(found.table.filter(by_t)) / DRAWS
        record["kept"] = answers(found.gate(), "fail") - 0.9 * t_shows
    return record


def differences(rng, kind, n):
    """Return differences of n topics, shape (DRAWS, n), symmetric around 0."""
    shape = DRAWS, n
    values = rng.laplace(size=shape) / 2**0.5 if kind == "Laplace" else rng.normal(size=shape)
    if kind == "half zeros":
        values *= rng.random(shape) < 0.5
    if kind == "one outlier":
        values[:, 0] *= 10
    return values


def compared(values, level, n_resamples=2000, fine=200):
    """Return the comparison of a run for each row of values with a run that they differ from.

    A standard deviation is this many fine steps.
    """
    half = GRADES**2 // 2
    steps = np.clip(half + np.round(fine * values), 0, GRADES**2 - 1).astype(int)
    named = zip(["old", *map(str, range(DRAWS))], [[half] * values.shape[1], *steps], strict=True)
    judgements = {f"{q}": {} for q in range(values.shape[1])}
    runs = {}
    for name, row in named:
        runs[name] = {q: {f"{name} {i}": 2.0 - i for i in (0, 1)} for q in judgements}
        for q, step in zip(judgements, row, strict=True):
            digits = enumerate(divmod(step, GRADES))
            judgements[q] |= {f"{name} {i}": int(digit) for i, digit in digits}
    how = {"normalise": False, "level": level, "correction": "none", "n_resamples": n_resamples}
    judgements = dl.read_judgements(judgements, n_grades=GRADES)
    return dl.compare_systems(judgements, runs, METRIC, **how)


def answers(gate, answer):
    """Return how often a gate gives an answer."""
    return gate.table["verdict"].to_list().count(answer) / DRAWS


def gate_of_rankers(rng, truth, judge, n, draws=DRAWS):
    """Return how often gates of two rankers err at their true difference, on n topics."""
    *tables, true = population()
    found = []
    for _ in range(draws):
        judgements, runs = as_dictionaries(*tables, rng.integers(0, len(tables[0]), n))
        comparison = dl.compare_systems(judgements, runs, level=GATE, n_resamples=2000)
        found.append([comparison.gate(true, rule).answer for rule in ("harm", "non-inferior")])
    harm, non_inferior = zip(*found, strict=True)
    return {"fails": harm.count("fail") / draws, "passes": non_inferior.count("pass") / draws}


@cache
def population(n=4000, documents=15):
    """Return grades, the scores of two rankers, and by how much the second is better."""
    rng = np.random.default_rng(0)
    grades = graded_topics(rng, n, documents)
    shared = grades + rng.normal(size=grades.shape)
    old, new = (shared + noise * rng.normal(size=grades.shape) for noise in (0.8, 0.9))
    values = dl.evaluate(*as_dictionaries(grades, old, new, range(n))).values[:, 0]
    return grades, old, new, float((values[1] - values[0]).mean())


def graded_topics(rng, n, documents):
    """Return the grades of documents of n topics, each with a relevant one."""
    grades = rng.choice(4, p=[0.55, 0.25, 0.15, 0.05], size=(n, documents))
    grades[:, 0] = np.maximum(grades[:, 0], 1)
    return grades


def as_dictionaries(grades, old, new, topics):
    """Return judgements and runs of topics, some of which may be drawn several times."""
    tables = [
        {
            f"{i}": {f"d{j}": x for j, x in enumerate(row.tolist())}
            for i, row in enumerate(table[list(topics)])
        }
        for table in (grades, old, new)
    ]
    return tables[0], {"old": tables[1], "new": tables[2]}


def board(rng, truth, judge, n, n_systems=20, spread=0.06, noise=0.1, n_flips=10_000):
    """Return whether the open ranks of a board's systems hold all true ones, and their width.

    Beside them stand the ranks of single t tests, corrected by Holm and not corrected.
    """
    means = np.zeros(n_systems) if truth == "equal means" else rng.normal(0, spread, n_systems)
    values = means[:, None] + rng.normal(0, noise, (n_systems, n))
    ranks = {
        "": open_ranks(values[None], GATE, n_flips, int(rng.integers(2**31))),
        "_holm": ranks_by_t(values, GATE, "holm"),
        "_single": ranks_by_t(values, GATE, "none"),
    }

    # systems of equal means share their ranks
    record = {}
    first = 1 + (means > means[:, None]).sum(axis=1)
    last = n_systems - (means < means[:, None]).sum(axis=1)
    for name, (best, worst) in ranks.items():
        record[f"covered{name}"] = int(((best <= first) & (last <= worst)).all())
        record[f"width{name}"] = float((worst - best).mean())
    record["missed"] = 1 - record["covered"]
    return record | {"narrower": record["width"] - record["width_holm"]}


def ranks_by_t(values, level, correction):
    """Return the best and the worst ranks that t tests of all pairs leave open."""
    n_systems, n = values.shape
    first, second = np.triu_indices(n_systems, 1)
    gaps = values[first] - values[second]
    t = gaps.mean(axis=1) / gaps.std(axis=1, ddof=1) * n**0.5
    certain = corrected(2 * stdtr(n - 1, -abs(t)), correction) <= 1 - level

    # which of each pair is better
    better = np.zeros((n_systems, n_systems), dtype=bool)
    better[first, second] = certain & (t > 0)
    better[second, first] = certain & (t < 0)
    return 1 + better.sum(axis=0), n_systems - better.sum(axis=1)


LLMS = ("careless", "lenient", "leaning", "useless")
"""LLM judges that grade a quarter of the documents by chance, half of them a grade too high, half
of those in the new run's first five places a grade too high, or all by chance."""


def these_topics(rng, truth, judge, n, topics=53, documents=12):
    """Return whether intervals cover people's mean over all topics, of which they judged n.

    An LLM judged all; compared are people alone, and both, of these topics and of all.
    """
    grades = graded_topics(rng, topics, documents)
    shared = grades + rng.normal(size=grades.shape)
    old, new = (shared + noise * rng.normal(size=grades.shape) for noise in (0.9, 0.7))
    judgements, runs = as_dictionaries(grades, old, new, range(topics))
    llm, _ = as_dictionaries(by_llm(judge, grades, new, rng), old, new, range(topics))
    values = dl.evaluate(judgements, runs, "nDCG@10").values[:, 0]
    true = float(np.mean(values[1] - values[0]))

    # people's topics are a random part
    some = {q: judgements[q] for q in rng.choice(sorted(judgements), n, replace=False)}
    how = {"level": LEVEL, "n_resamples": 100}
    comparison = partial(dl.compare_systems, some, runs, "nDCG@10", **how)
    nothing = {q: dict.fromkeys(grades, 1) for q, grades in judgements.items()}
    these, of_all, alone = (
        comparison(llm=graded, topics=way).table.row(0, named=True)
        for graded, way in ((llm, "these"), (llm, "all"), (nothing, "these"))
    )
    signs = [int(row["difference"] * true > 0) for row in (these, alone)]
    return {
        "covered_these": int(these["low"] <= true <= these["high"]),
        "covered_all": int(of_all["low"] <= true <= of_all["high"]),
        "width": (these["high"] - these["low"]) / (alone["high"] - alone["low"]),
        "right": float(signs[0] - signs[1]),
    }


def by_llm(kind, grades, new, rng):
    """Return an LLM judge's grades, shape (topics, documents)."""
    chance, half = rng.integers(0, 4, grades.shape), rng.random(grades.shape) < 0.5
    higher = np.minimum(grades + 1, 3)
    ahead = np.argsort(np.argsort(-new, axis=1), axis=1) < 5
    return {
        "careless": np.where(rng.random(grades.shape) < 0.25, chance, grades),
        "lenient": np.where(half, higher, grades),
        "leaning": np.where(half & ahead, higher, grades),
        "useless": chance,
    }[kind]


# ---- trees

METRICS = {
    "textbook": (lambda g: 2.0**g - 1, 1 / np.log2(np.arange(2, 12))),
    "steep gains, flat discounts": (
        lambda g: np.where(g > 0, 5.0**g, 0) / 5,
        (1.0, 0.95, 0.9, 0.85, 0.8),
    ),
    "flat gains, steep discounts": (
        lambda g: np.where(g > 0, 0.9 + 0.1 * g, 0),
        (1.0, 0.4, 0.2, 0.1, 0.05),
    ),
}
"""Gains of grades g, and discounts."""

TEXTBOOK = {"judge": "textbook"}
STEEP = [{"truth": data, "judge": tuple(METRICS)[1:]} for data in ("linear", "nonlinear")]

SHAPE = {"num_leaves": 15, "learning_rate": 0.1, "min_data_in_leaf": 20, "num_threads": 1}


def trees(rng, truth, judge, n, n_trees=100):
    """Return the lead in test NDCG of trees on a DCG over LightGBM's lambdarank.

    Both grow equally many trees of equal size with the metric's gains; the number of trees is the
    one that is best on validation queries. Training sets have the shape of a fold of MQ2008.
    """
    import lightgbm

    train, valid, test = queries(rng, truth, n)
    gains, discounts = METRICS[judge]
    n_grades = max(part.n_grades for part in (train, valid, test))
    dcg = dl.DCG(gains(np.arange(n_grades, dtype=float)), discounts)

    # lambdarank with the metric's gains, and the default loss
    settings = {"objective": "lambdarank", "label_gain": list(dcg.gains), "force_col_wise": True}
    settings |= {**SHAPE, "verbose": -1, "deterministic": True}
    data = lightgbm.Dataset(train.features, train.grades, group=train.sizes)
    theirs = lightgbm.train(settings, data, n_trees)
    ours = dl.BoostedRanker(dl.losses.RegSHFSDCG(dcg), n_trees=n_trees, **SHAPE).fit(train).booster_

    # test NDCG
    scores = [scored(model, test, chosen(model, valid, dcg)) for model in (ours, theirs)]
    values = [float(test.evaluate(score, dcg).mean()) for score in scores]
    return {"lead": values[0] - values[1]}


def queries(rng, data, n, n_valid=157, n_test=400):
    """Return training, validation and test queries."""
    total, how = n + n_valid + n_test, {"n_features": 46, "random_state": rng}
    if data == "linear":
        made = dl.simulate.letor_queries(total, n_redundant=16, sizes=(6, 33), **how)
    else:
        made = dl.simulate.nonlinear_queries(total, 19, n_grades=3, noise=0.8, **how)
    return made[:n], made[n:-n_test], made[-n_test:]


def scored(model, queries, n_trees, first=0):
    """Return the scores of some trees of a model."""
    some = {"start_iteration": first, "num_iteration": n_trees, "num_threads": 1}
    return model.predict(queries.features, **some)


def chosen(model, valid, dcg, every=5):
    """Return the number of trees that is best on the validation queries."""
    scores, values = np.zeros(valid.shape[0]), []
    for first in range(0, model.num_trees(), every):
        scores += scored(model, valid, every, first)
        values.append(valid.evaluate(scores, dcg).mean())
    return every * (int(np.argmax(values)) + 1)


# ---- what each check promises

COVERS = "90% bands cover: share of gains and discounts"
AT_ONCE = "90% bands of all at once cover"
WIDTH = Promise("width", "width of 90% bands")
COVERED = "90% intervals cover"
LOST = "precision lost"
POSITIONS, SEGMENTS = "the test of positions rejects", "the segment test finds two"
STOPPED = "stopped as upside down"
BELOW, ABOVE = "lower share minus ceiling", "upper share minus ceiling"
SURER = "predicted minus held-out chances"
LARGER = {"n": (100, 300, 1000)}
SMOOTH, RANDOM = {"truth": "binary2-log2"}, {"truth": "random steps"}
MANY_PAIRS = {"n": 1000}
WRONG_10, MORE, LAST = ("10% wrong",), {"n": (200, 1000)}, {"n": 300}
ALONE = {"judge": "50% of verdicts"}  # raters who always say left are left out of the fit
SILENT = {"judge": "50% of raters"}
MANY, NO_LEFT = (
    {"judge": tuple(f"{share} of {who}" for share in shares for who in ("raters", "verdicts"))}
    for shares in (("30%", "50%"), ("0%",))
)
NOVEL = KINDS[:4]
HALVED = ("D1, halved from rank 4", "D2, halved from rank 4")
OTHERS = ("half zeros", "Laplace", "one outlier")
FEW, TOPICS, UNITS = (2, 3, 5), (6, 10, 25, 50), (3, 5, 10, 30)
INTERVAL = [Promise("covered", COVERED, 0.85, 0.95)]
WEIGHTED = [Promise("positions", POSITIONS, level=0.05), Promise("segments", SEGMENTS, level=0.05)]
GATES = [
    Promise(value, words, where={"n": n}, level=GATE_ERROR, outcomes=DRAWS)
    for value, words in {
        "fails": "the gate fails an equally good system",
        "passes": "the gate passes a system at the margin as non-inferior",
        "worse": "compare calls an equally good system worse",
        "better": "compare calls an equally good system better",
    }.items()
    for n in (FEW, TOPICS)
]
RANKS = "95% ranks hold all true ones"
DIFFER_AT_50 = {"truth": "means that differ", "n": 50}
ALL_BUT_TWO_ERRORS = 0.95 - 2 * (0.95 * 0.05 / 1000) ** 0.5
"""Least share of a thousand boards whose ranks hold all true ones at once."""

PEOPLE = [
    Promise("covered", COVERED, 0.86),
    Promise("off", "distance from the truth, of 100 people"),
    Promise("width", "width of 90% intervals, of 100 people"),
]


def _of(column: str, *values: Any) -> dict[str, Any]:
    """Return rows of these values of a column."""
    return {column: values}


def _by_size(
    value: str, words: str, low: float, where: Mapping[str, Any], sizes: tuple[int, ...]
) -> list[Promise]:
    """Return a promise of each size, where sizes decide whether it is kept."""
    return [Promise(value, words, low, where={**where, "n": n}) for n in sizes]


CHECKS = {
    "bands": Check(
        bands,
        tuple(LOGS),
        WRONG_10,
        (50, 200, 1000, 3000),
        30,
        [
            Promise("covered", COVERS, 0.85, outcomes=PARAMETERS),
            Promise("all_covered", AT_ONCE, 0.80),
            WIDTH,
            Promise("all_width", "width of 90% bands of all at once"),
        ],
        fresh=91,
    ),
    "bands of any truth": Check(
        any_truth,
        KINDS,
        JUDGES,
        (100, 300),
        40,
        [
            Promise("covered", COVERS, 0.86, outcomes=10),
            Promise("all_covered", AT_ONCE, 0.84),
            WIDTH,
            Promise("off_gains", "distance of gains from the truth"),
            Promise("off_discounts", "distance of discounts from the truth"),
            Promise("wrong_share", "expected wrong verdicts, 15% are", 0.12, 0.18),
            Promise("lead_covered", "90% intervals of leads cover", 0.85, 0.95),
            Promise("lead", "lead over the best textbook", 0.0, where=LAST | _of("truth", *NOVEL)),
            Promise("lead", "lead over the best textbook", 0.0, where=LAST | {"truth": "textbook"}),
            Promise("lead_over_qp", "lead over the QP", 0.0, where=LAST),
        ],
        fresh=58,
        quick={"n_new": 1000},
    ),
    "prior": Check(
        prior,
        ("binary2-log2", "random steps"),
        WRONG_10,
        (30, 100, 300, 1000),
        20,
        [
            Promise("share", "precision"),
            Promise("over_weak", "ridge 2 minus ridge .1", -NEGLIGIBLE, where=SMOOTH),
            Promise("over_weak", "ridge 2 minus ridge .1", -NEGLIGIBLE, where=RANDOM),
            Promise("over_qp", "ridge 2 minus QP + SVD", -NEGLIGIBLE),
            Promise(
                "strong_over_qp", "ridge 20 minus QP + SVD", -NEGLIGIBLE, where=SMOOTH | LARGER
            ),
            Promise(
                "strong_over_qp", "ridge 20 minus QP + SVD", -NEGLIGIBLE, where=RANDOM | LARGER
            ),
        ],
        quick={"n_test": 1000},
    ),
    "wrong shape": Check(
        wrong_shape,
        TRUTHS,
        WRONG_10,
        (50, 200, 1000),
        50,
        [
            Promise("more_grades", f"{LOST}: two grades too many", high=NEGLIGIBLE, where=MORE),
            Promise("longer", f"{LOST}: ten positions too many", high=0.02, where={"n": 200}),
            Promise("longer", f"{LOST}: ten positions too many", high=0.02, where=MANY_PAIRS),
            Promise("shorter", f"{LOST}: five positions too few", 0.05, where=MORE),
            Promise("fewer_grades", f"{LOST}: five grades merged into three", 0.05, where=MORE),
        ],
        quick={"n_test": 1000},
    ),
    "always left": Check(
        always_left,
        ("people's taste",),
        tuple(LEFT),
        (200,),
        20,
        [
            Promise("lost_to_none", f"{LOST} to a log without", high=0.02, where=SILENT),
            Promise("lost_to_none", f"{LOST} to a log without", high=0.02, where=ALONE),
            Promise("lost_to_rest", f"{LOST} to the rest alone", high=0.02, where=ALONE),
            Promise("gain_of_sides", "gained by sides in the log", 0.0, where=MANY),
            Promise(
                "gain_of_sides", "gained by sides, nobody left", -NEGLIGIBLE, NEGLIGIBLE, NO_LEFT
            ),
        ],
        quick={"n_test": 1000},
    ),
    "test of positions": Check(
        position_test,
        (*TRUTHS, *HALVED),
        (SURE,),
        (200, 500),
        110,
        [
            Promise("rejected", POSITIONS, where=_of("truth", *TRUTHS), level=0.05),
            *_by_size("rejected", POSITIONS, 0.8, _of("truth", *HALVED), (200, 500)),
        ],
        quick={"n_resamples": 19},
    ),
    "segments": Check(
        segments,
        tuple(POPULATIONS),
        (SURE,),
        (50, 150),
        100,
        [
            Promise("found", SEGMENTS, where={"truth": "one population"}, level=0.05),
            *_by_size("found", SEGMENTS, 0.8, {"truth": "two populations"}, (50, 150)),
        ],
    ),
    "unequal weights": Check(
        unequal_weights,
        ("D1 or D2",),
        ("1 to 5", "counts", "log-normal"),
        (100, 200, 500),
        40,
        WEIGHTED,
    ),
    # more logs of the cell where a first run rejected most often
    "unequal weights, again": Check(
        unequal_weights, ("D1 or D2",), ("1 to 5",), (200,), 160, WEIGHTED, fresh=1
    ),
    "upside down": Check(
        partial(upside_down, kinds=("honest", "reversed")),
        ("honest, reversed",),
        ("up to 35% wrong",),
        (50, 100, 200, 500),
        4000,
        [
            Promise("stopped", STOPPED, 0.0, 0.001, {"truth": "honest"}),
            Promise("stopped", STOPPED, 0.99, where={"truth": "reversed"}),
        ],
        fresh=1,
    ),
    "upside down, more wrong": Check(
        partial(upside_down, kinds=("winners", "grades")),
        ("winners, grades",),
        ("up to 35% wrong",),
        (50, 100, 200, 500),
        1333,
        [
            Promise("stopped", STOPPED, 0.99, where=_of("judge", "0% wrong", "10% wrong")),
            Promise("stopped", STOPPED, where=_of("judge", "20% wrong", "30% wrong")),
            *_by_size("stopped", STOPPED, 0.99, {"judge": "35% wrong"}, (50, 100, 200, 500)),
        ],
        fresh=1,
    ),
    "alpha": Check(alpha, ("D1",), ("four raters",), (150,), 400, INTERVAL),
    "error rate of a rater": Check(rater_error, ("D1",), ("four raters",), (150,), 400, INTERVAL),
    "lead on held-out pairs": Check(held_out_pairs, ("D1",), WRONG_10, (150,), 400, INTERVAL),
    "lead by raters": Check(held_out_raters, ("D1",), ("tastes",), UNITS, 400, INTERVAL),
    "graders": Check(
        graders,
        ("users who average",),
        ("thumbs",),
        (10, 50),
        40,
        [
            Promise("shares", "90% intervals cover: share of a grader", 0.88, 0.92, outcomes=5),
            Promise("differences", "90% intervals cover: differences", 0.88, 0.92, outcomes=10),
            Promise("worse", "a grader who is as good is called worse", level=0.05),
            Promise("first", "the clean grader has the largest share", 0.8, where={"n": 50}),
        ],
    ),
    "noise ceiling": Check(
        noise_ceiling,
        ("beyond a sum",),
        ("ratings", "ratings, a fifth careless", "judged pairs"),
        (200, 400, 1000, 3000),
        200,
        [
            Promise("below", BELOW, high=0.0),
            Promise("above", ABOVE, low=0.0),
            Promise("below", BELOW, -0.01, where=_of("n", 3000)),
        ],
        fresh=80,
    ),
    "people, 50 queries": Check(
        partial(people, queries=50),
        NOVEL,
        JUDGES[:2],
        (50, 100, 300, 1000),
        20,
        PEOPLE,
        fresh=58,
        quick={"population": 500},
    ),
    "people, 500 queries": Check(
        partial(people, queries=500),
        NOVEL,
        JUDGES[:2],
        (50, 100, 300, 1000),
        20,
        [*PEOPLE, replace(PEOPLE[1], high=2.5, where=LAST)],
        fresh=58,
        quick={"population": 500},
    ),
    "chances": Check(
        chances,
        TRUTHS,
        tuple(NOISE),
        (100, 300, 1000),
        10,
        [
            Promise("slope", "slope of held-out verdicts", 0.8, 1.2),
            Promise("surer", SURER, -0.03, 0.03),
            Promise("distance", f"{SURER}, distance"),
            Promise("surer_as_fitted", f"{SURER}, fit alone"),
            Promise("surer_if_shown", f"{SURER}, corrected where shown"),
        ],
        fresh=59,
    ),
    "gate": Check(
        gate,
        ("normal", *OTHERS),
        ("equal systems",),
        tuple(sorted({*FEW, *TOPICS, *UNITS})),
        20,
        [
            *GATES,
            Promise("kept", "losses shown, less .9 of a t test's", 0.0),
            Promise("covered", COVERED, 0.88, 0.92, {"truth": "normal"}, outcomes=DRAWS),
            Promise("covered", COVERED, 0.88, where=_of("truth", *OTHERS), outcomes=DRAWS),
        ],
    ),
    "gate of rankers": Check(
        gate_of_rankers, ("rankers",), ("equal to the margin",), (3, 5, *TOPICS), 20, GATES[:4]
    ),
    "ranks": Check(
        board,
        ("means that differ", "equal means"),
        ("noise of .1",),
        (10, 50),
        1000,
        [
            Promise("covered", RANKS, ALL_BUT_TWO_ERRORS, where={"truth": "means that differ"}),
            Promise("missed", "a true rank is missed", where={"truth": "equal means"}, level=0.05),
            Promise("narrower", "width of ranks, less by Holm", high=0.0, where=DIFFER_AT_50),
            Promise("width", "width of ranks"),
            Promise("width_holm", "width of ranks, single t tests by Holm"),
            Promise("width_single", "width of ranks, single t tests"),
            Promise("covered_holm", f"{RANKS}: single t tests by Holm"),
            Promise("covered_single", f"{RANKS}: single t tests"),
        ],
    ),
    "these topics": Check(
        these_topics,
        ("two runs",),
        LLMS,
        (10, 15, 25),
        500,
        [
            Promise("covered_these", f"{COVERED}: these topics", 0.86, 0.94),
            Promise("covered_all", f"{COVERED}: all topics there could be"),
            Promise("width", "width, by people's alone", high=0.9, where=_of("judge", *LLMS[:3])),
            Promise("width", "width, by people's alone", high=1.1, where=_of("judge", LLMS[3])),
            Promise("right", "signs right, less people's", 0.0, where=_of("judge", *LLMS[:3])),
        ],
    ),
    "trees": Check(
        trees,
        ("linear", "nonlinear"),
        tuple(METRICS),
        (470,),
        20,
        [
            Promise("lead", "trees minus lambdarank", -NEGLIGIBLE, where=TEXTBOOK),
            Promise("lead", "trees minus lambdarank", 0.0, where=STEEP[0]),
            Promise("lead", "trees minus lambdarank", 0.0, where=STEEP[1]),
        ],
        quick={"n_trees": 10},
    ),
}


# ---- the program


def main() -> None:
    """Run checks from the command line; bad settings end with status 2 and one line."""
    options = parser(__doc__ or "")
    options.add_argument("checks", nargs="*", metavar="CHECK", help=", ".join(CHECKS))
    arguments = options.parse_args()
    try:
        run(arguments)
    except dl.InputError as error:
        print(f"{NAME}: {error}", file=sys.stderr)
        sys.exit(2)


def run(arguments: Any) -> None:
    """Run the chosen checks, print their rows, and keep those of a whole run."""
    unknown = sorted(set(arguments.checks) - set(CHECKS))
    if unknown:
        raise dl.InputError(f"{unknown[0]!r} is none of {', '.join(CHECKS)}")
    for name in arguments.checks or CHECKS:
        rows = checked(name, arguments)
        with pl.Config(tbl_rows=-1, tbl_cols=-1, fmt_str_lengths=60, tbl_width_chars=200):
            print(rows.drop("check", "promise", "repeats", "seed", "commit"))
        if not arguments.quick and arguments.repeats is None:
            keep(rows, arguments.folder)


def checked(name: str, arguments: Any) -> pl.DataFrame:
    """Return the rows of one check; a quick run has two repeats of one cell of each truth."""
    check, settings = CHECKS[name], CHECKS[name].settings()
    repeats = arguments.repeats or (2 if arguments.quick else check.repeats)
    if arguments.quick:
        first = {"judge": check.judges[-1], "n": check.sizes[(len(check.sizes) - 1) // 2]}
        settings = [cell for cell in settings if cell == {**cell, **first}]
    table = check.records(arguments.seed, repeats, settings, arguments.jobs, arguments.quick)
    of_run = {"seed": arguments.seed, "commit": commit()}
    return rounded(pl.DataFrame([row | of_run for row in rows_of(name, check, table)]))


def keep(rows: pl.DataFrame, folder: Path) -> None:
    """Put the rows of a check into the folder's table, in the order of `CHECKS`."""
    path = folder / f"{NAME}.csv"
    if path.is_file():
        others = pl.read_csv(path, schema=rows.schema)
        kept = [name for name in CHECKS if name != rows["check"][0]]
        rows = pl.concat([others.filter(pl.col("check").is_in(kept)), rows])
    order = pl.col("check").cast(pl.Enum(list(CHECKS)))
    write(path, rows.sort(order, maintain_order=True).write_csv().encode())


if __name__ == "__main__":
    main()
