"""The 200 frozen logs: how they were drawn, and what the learners make of each.

The logs are stored, so that the frozen numbers depend on no simulator. `draw_all` draws them again,
with NumPy alone.
"""

import json
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import dcglearn as dl

FOLDER = Path(__file__).parent / "frozen"
EXAMPLES = Path(__file__).parents[2] / "examples"
LOGS = FOLDER / "logs.npz"

LABELS = ("query", "rater", "segment")
NUMBERS = ("weight", "strength", "margin", "tie", "swapped")
"""The columns that a frozen log may have beside its lists."""

SIZES = (20, 40, 80, 120, 200, 300, 400)
DEPTHS = (5, 10, 3, 7, 4, 8, 6)
SCALES = (5, 3, 4, 2, 6)
"""Numbers of pairs, positions and grades; the logs go through each in turn."""


# how the logs are drawn


def curves(name: str, n_grades: int, depth: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """Return the gains and discounts of a kind of truth, shapes (L,) and (K,)."""
    grade = np.arange(n_grades)
    rank = np.arange(depth)
    log_discounts = 1 / np.log(rank + 2.0)
    if name == "random-steps":
        gains = np.cumsum(rng.exponential(size=n_grades))
        return gains, np.cumsum(rng.exponential(size=depth))[::-1]
    return {
        "D1": (grade + 1.0, log_discounts),
        "D2": (2.0 ** (grade + 1) - 1, log_discounts),
        "D3": (np.sqrt(grade), 1 / (rank + 1.0)),
        "exponential-log2": (2.0**grade - 1, 1 / np.log2(rank + 2)),
        "linear-zipf": (1.0 * grade, 1 / (rank + 1.0)),
        "persistence": (1.0 * grade, 0.8**rank),
        "steep": (2.0**grade - 1, 0.4**rank),
        "flat": (1.0 * grade, np.ones(depth)),
        "one-jump": (1.0 * (grade >= n_grades / 2), 1 / np.log2(rank + 2)),
    }[name]


TRUTHS = (
    *("D1", "D2", "D3", "exponential-log2", "linear-zipf", "persistence", "steep", "flat"),
    *("one-jump", "random-steps"),
)


@dataclass(frozen=True)
class Kind:
    """How a log is drawn and judged; the noise is in units of the scores' standard deviation."""

    truth: str
    n: int
    depth: int
    n_grades: int
    lists: str = "free"
    # how judges err
    temperature: float = 0.3
    flips: float = 0.0
    n_raters: int = 0
    rater_flips: tuple[float, ...] = ()
    # how sides matter
    sided: bool = False
    bias: float = 0.0
    one_sided: int = 0
    # what judges can say
    tie_below: float = 0.0
    strengths: bool = False
    margins: bool = False
    # further columns
    weights: bool = False
    queries: bool = False
    segments: bool = False


def lists_of(kind: Kind, rng: np.random.Generator) -> np.ndarray:
    """Return two lists for each pair, shape (n, 2, K)."""
    shape = kind.n, 2, kind.depth
    drawn = rng.integers(0, kind.n_grades, shape)
    if kind.lists == "permutations":
        documents = np.resize(np.arange(kind.n_grades), kind.depth)
        drawn = rng.permuted(np.broadcast_to(documents, shape), axis=2)
    elif kind.lists == "repeated":
        few = rng.integers(0, kind.n_grades, (8, kind.depth))
        drawn = few[[rng.choice(8, 2, replace=False) for _ in range(kind.n)]]
    elif kind.lists == "equal":
        drawn[:, 1] = drawn[:, 0]

    # grades that are not known, and places without a result
    if kind.lists in ("unknown", "both"):
        drawn[rng.random(shape) < 0.15] = -1
    if kind.lists in ("empty", "both"):
        length = rng.integers(1, kind.depth + 1, shape[:2])
        drawn[np.arange(kind.depth) >= length[..., None]] = -2
    return drawn.astype(np.int8)


def scores(lists: np.ndarray, gains: np.ndarray, discounts: np.ndarray) -> np.ndarray:
    """Return the DCG of lists; an unknown grade and an empty place count as the worst grade."""
    return (gains - gains[0])[np.maximum(lists, 0)] @ discounts


def judged(kind: Kind, seed: int) -> dl.Preferences:
    """Draw the lists of a kind and judge them."""
    rng = np.random.default_rng((2026, seed))
    gains, discounts = curves(kind.truth, kind.n_grades, kind.depth, rng)
    lists = lists_of(kind, rng)
    value = scores(lists, gains, discounts)
    columns: dict[str, Any] = {}

    # the lead of the list shown first, as the judge feels it
    lead = (value[:, 0] - value[:, 1]) / max(value.std(), 1e-9)
    lead = lead + kind.temperature * rng.logistic(size=kind.n) + kind.bias
    flips = np.full(kind.n, kind.flips)
    if kind.n_raters:
        rater = rng.integers(kind.n_raters, size=kind.n)
        columns["rater"] = np.array([f"rater {i + 1}" for i in rater])
        flips = flips + np.resize(kind.rater_flips or (0.0,), kind.n_raters)[rater]
        lead[rater < kind.one_sided] = 1.0
    lead[rng.random(kind.n) < flips] *= -1

    # the verdict, with the winner first
    second_wins = lead < 0
    lists[second_wins] = lists[second_wins, ::-1]
    size = np.abs(lead)
    tie = size <= kind.tie_below
    if kind.tie_below:
        columns["tie"] = tie
    if kind.sided:
        columns["swapped"] = second_wins
    if kind.strengths:
        columns["strength"] = np.where(tie, 1, 1 + np.digitize(size, [0.7, 1.6]))
    if kind.margins:
        columns["margin"] = np.round(size, 2) + 0.01

    # further columns
    if kind.weights:
        columns["weight"] = np.round(rng.exponential(size=kind.n), 3) + 0.001
    if kind.queries:
        columns["query"] = np.array([f"q{i}" for i in rng.integers(kind.n // 4 + 1, size=kind.n)])
    if kind.segments:
        columns["segment"] = rng.choice(["desktop", "mobile"], kind.n)
    return dl.Preferences(lists, n_grades=kind.n_grades, **columns)


def rated(number: int, seed: int) -> dl.Preferences:
    """Return a log of lists rated from 1 to 5 by a few raters, some lists more than once."""
    rng = np.random.default_rng((2027, seed))
    n_grades, depth = SCALES[number % 5], DEPTHS[number % 7]
    gains, discounts = curves(TRUTHS[number % len(TRUTHS)], n_grades, depth, rng)
    different = rng.integers(0, n_grades, (12 + 2 * number, depth))

    # by rater or query, each of which rates a few of the lists
    shown = different[rng.integers(len(different), size=40 + 5 * number)]
    value = scores(shown, gains, discounts)
    felt = (value - value.mean()) / max(value.std(), 1e-9) + 0.4 * rng.normal(size=len(value))
    ratings = np.clip(np.round(3 + 1.3 * felt), 1, 5)
    group = None if number % 3 == 0 else [f"g{i}" for i in rng.integers(8, size=len(shown))]
    table = pl.DataFrame({"list": shown, "rating": ratings})
    table = table if group is None else table.with_columns(group=pl.Series(group))
    return dl.read_ratings(table, n_grades=n_grades, equal_groups=number % 3 == 2)


def examples() -> dict[str, dl.Preferences]:
    """Return the logs of the examples, and parts of them.

    Two logs of answers are as they were stored: what compared these answers has left the package.
    """
    whole = dl.read_preferences(EXAMPLES / "side_by_side.jsonl")
    stored = read_logs()
    kinds = ("within", "across")
    return {
        "example-side-by-side": whole,
        "example-side-by-side-first-60": whole[:60],
        **{(name := f"example-answers-{kind}-questions"): stored[name] for kind in kinds},
    }


def kinds() -> dict[str, Kind]:
    """Return the kinds of the simulated logs by name."""
    found: dict[str, Kind] = {}

    def add(name: str, **options: Any) -> None:
        number = len(found)
        shape = {
            "truth": TRUTHS[number % len(TRUTHS)],
            "n": SIZES[number % 7],
            "depth": DEPTHS[(number // 2) % 7],
            "n_grades": SCALES[(number // 3) % 5],
        }
        kind = Kind(**{**shape, **options})
        found[f"{name}-{kind.truth}-{kind.lists}-{kind.n}-{number}"] = kind

    # every truth, with lists and noise of every kind
    for truth in TRUTHS:
        for lists in ("free", "permutations"):
            add("clean", truth=truth, lists=lists, temperature=0.0)
            add("noisy", truth=truth, lists=lists)
        add("flipped", truth=truth, temperature=0.0, flips=0.12)

    # ties, strengths, margins and weights
    for i in range(16):
        add("ties", tie_below=(0.1, 0.4)[i % 2], lists=("free", "permutations")[i // 8])
        add("strengths", strengths=True, tie_below=(0.0, 0.3)[i % 2])
    for i in range(4):
        add("margins", margins=True, tie_below=(0.0, 0.2)[i % 2])
    for i in range(10):
        add("weights", weights=True, tie_below=(0.0, 0.2)[i % 2])

    _add_raters_and_gaps(add)
    return found


def _add_raters_and_gaps(add: Callable[..., None]) -> None:
    """Add the kinds of logs that are told by their raters, sides and lists."""
    # raters and sides
    for i in range(12):
        contrary = (0.0, 0.1, 0.3, 0.9) if i % 4 == 3 else (0.0, 0.1, 0.3)
        add("raters", n_raters=3 + i, rater_flips=contrary)
        add("sides", sided=True, bias=(0.0, 0.5, -1.0)[i % 3], tie_below=(0.0, 0.2)[i % 2])
    for i in range(4):
        add("one-sided-raters", sided=True, n_raters=5, one_sided=1 + i % 2, n=120)

    # lists with gaps, or few of them; coins; everything at once; long logs
    for lists in ("unknown", "empty", "both"):
        for _ in range(8):
            add("gaps", lists=lists)
    for _ in range(8):
        add("few-lists", lists="repeated")
    for i in range(10):
        add("coins", temperature=1e6, n_raters=(0, 4)[i % 2])
    for i in range(10):
        add(
            "everything",
            lists=("free", "both")[i % 2],
            n_raters=4,
            rater_flips=(0.0, 0.1, 0.2),
            sided=True,
            bias=0.3,
            tie_below=0.2,
            strengths=i % 2 == 0,
            weights=True,
            queries=True,
            segments=True,
        )
    add("upside-down", flips=0.95, n=200, temperature=0.0)
    add("upside-down", flips=1.0, n=400, lists="permutations")
    add("equal-lists", lists="equal")
    add("only-ties", tie_below=1e9)
    add("only-one-sided", sided=True, n_raters=2, one_sided=2)
    for truth in ("D1", "D2", "steep", "random-steps"):
        add("long", truth=truth, n=1000, depth=10, n_grades=5, flips=0.05)


def draw_all() -> dict[str, dl.Preferences]:
    """Draw the 200 logs by name."""
    logs = {name: judged(kind, seed) for seed, (name, kind) in enumerate(kinds().items())}
    n_rated = 200 - len(logs) - len(examples())
    logs |= {f"rated-{i}": rated(i, seed=i) for i in range(n_rated)}
    return logs | examples()


# how they are stored


def write_logs(logs: dict[str, dl.Preferences]) -> None:
    """Write logs to one file: the columns of all of them, one after the other."""
    about: dict[str, Any] = {}
    values: dict[str, list[np.ndarray]] = {"grades": []}
    for name, log in logs.items():
        both = np.stack([log.preferred, log.other], axis=1)
        values["grades"].append(both.ravel().astype(np.int8))
        about[name] = {"shape": both.shape, "n_grades": log.n_grades}

        # numbers as they are, labels as codes
        for column in NUMBERS:
            if (entries := getattr(log, column)) is not None:
                values.setdefault(column, []).append(entries)
                about[name][column] = True
        for column in LABELS:
            if (entries := getattr(log, column)) is not None:
                words, code = np.unique(entries.astype(str), return_inverse=True)
                values.setdefault(column, []).append(code.astype(np.int16))
                about[name][column] = words.tolist()

    # one array a column, and what there is of each log
    arrays = {column: np.concatenate(parts) for column, parts in values.items()}
    text = json.dumps(about).encode()
    np.savez_compressed(LOGS, about=np.frombuffer(text, np.uint8), **arrays)
    _without_times(LOGS)


def _without_times(path: Path) -> None:
    """Write an archive again without the time of writing, so that equal logs are equal bytes."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, part in parts.items():
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            archive.writestr(entry, part, zipfile.ZIP_DEFLATED, 9)


def read_logs() -> dict[str, dl.Preferences]:
    """Return the stored logs by name."""
    with np.load(LOGS, allow_pickle=False) as file:
        arrays = {column: file[column] for column in file.files}
    about = json.loads(arrays.pop("about").tobytes())
    start = dict.fromkeys(arrays, 0)

    def next_of(column: str, size: int) -> np.ndarray:
        part = arrays[column][start[column] : start[column] + size]
        start[column] += size
        return part

    logs = {}
    for name, facts in about.items():
        n = facts["shape"][0]
        lists = next_of("grades", int(np.prod(facts["shape"]))).reshape(facts["shape"])
        columns = {column: next_of(column, n) for column in NUMBERS if column in facts}
        for column in LABELS:
            if column in facts:
                columns[column] = np.array(facts[column])[next_of(column, n)]
        logs[name] = dl.Preferences(lists, n_grades=facts["n_grades"], **columns)
    return logs


# what is frozen of each


def objective_of(learner: Any) -> float:
    """Return the objective at a learner's solution: what a fit of either learner minimises.

    A rewritten learner that keeps it elsewhere, or has another constant in it, changes this
    function alone.
    """
    return float(learner.objective_)


def fitted(learner: Any, log: dl.Preferences, into: dict[str, Any]) -> Any:
    """Fit a learner; a log that it refuses is learned from as it is, or not at all."""
    name = type(learner).__name__
    try:
        return learner.fit(log)
    except dl.InputError as error:
        into[f"{name} raises"] = type(error).__name__
    try:
        return learner.fit(log, as_is=True)
    except dl.InputError as error:
        into[f"{name} raises, as it is"] = type(error).__name__
        return None


def _factored(programme: Any) -> dict[str, Any]:
    """Return the factors of a utility, or the class of the error."""
    try:
        factors = programme.factor()
    except dl.InputError as error:
        return {"SVD raises": type(error).__name__}
    return {
        "SVD gains": factors.dcg.gains.tolist(),
        "SVD discounts": factors.dcg.discounts.tolist(),
        "SVD explained": factors.explained,
    }


def fits_of(log: dl.Preferences) -> dict[str, Any]:
    """Return what is frozen of a log: the free curves, the quadratic programme and its factors."""
    values: dict[str, Any] = {}

    # the free curves of a sum, with their judges
    direct = fitted(dl.DCGLearner(zero=0, power=0.0), log, values)
    if direct is not None:
        fit = direct.fit_
        points = fit.model.points(fit.theta[None])
        (gains,), (discounts,) = points.scaled
        biases = points.biases[0] if fit.facts.sided else np.zeros(0)
        values |= {"gains": gains.tolist(), "discounts": discounts.tolist()}
        values["scale"] = float(points.discounts[0, 0] * points.gains[0, -1])
        values["tie threshold"] = float(points.thresholds[0, 1]) if fit.facts.ties else 0.0
        values["error rate"] = float(points.errors.mean())
        values["position bias"] = float(biases.mean()) if len(biases) else 0.0

        # raters are sorted by name
        of_raters = {"rater_error_": points.errors[0], "rater_bias_": biases}
        for column, numbers in of_raters.items():
            if fit.raters and len(numbers):
                values[column] = numbers.tolist()
        values["effective judgements"] = direct.n_effective_
        values["objective"] = objective_of(direct)

    # the quadratic programme and its factors
    programme = fitted(dl.UtilityLearner(), log, values)
    if programme is not None:
        values["QP utility"] = programme.utility_.weights.ravel().tolist()
        values["QP objective"] = objective_of(programme)
        values["QP gap below 1e-8"] = bool(programme.gap_ <= 1e-8)
        values |= _factored(programme)

    # other quadratic programmes
    others = {"free": {"monotone": False}, "hamming": {"margin": "hamming"}}
    if log.strength is not None or log.margin is not None:
        others["log"] = {"margin": "log"}
    if log.tie is not None:
        others["ties"] = {"tie_epsilon": 0.1}
    for name, options in others.items():
        if programme is not None:
            other = fitted(dl.UtilityLearner(**options), log, {})
            values[f"QP objective, {name}"] = None if other is None else objective_of(other)
    return values
