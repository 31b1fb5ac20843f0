"""Shared parts of all simulations: repeats, means, drawing, and how well a metric is recovered."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import polars as pl
from joblib import Parallel, delayed
from matplotlib.axes import Axes
from matplotlib.transforms import ScaledTranslation, Transform
from tqdm import tqdm

import dcglearn as dl
from simulations.claims import LEVEL, interval, means_of_repeats, measured

SEED = 2028
"""Seed of this round: that of every program, unless --seed gives another."""
STYLES = dl.plots.LINE_STYLES
TRUTHS = ("D1", "D2")
"""Names of the true DCGs of `dcglearn.simulate.ground_truth`."""
DASHES: tuple[dict[str, Any], ...] = (
    {"linestyle": "-"},
    {"linestyle": "--", "markerfacecolor": "white"},
    {"linestyle": ":", "markerfacecolor": "white"},
    {"linestyle": "-.", "markerfacecolor": "white"},
)
"""Dashes and markers of conditions, by which lines of one colour are told apart."""
CLEAR: tuple[dict[str, Any], ...] = (
    {"color": "#0072B2", "marker": "o"},
    {"color": "#D55E00", "marker": "v"},
    {"color": "#8C8C8C", "marker": "s", "markerfacecolor": "white"},
)
"""Looks of a difference that is clearly positive, clearly negative, or undecided."""
DASHED: dict[str, Any] = {"color": "0.4", "ls": (0, (4, 3))}
"""Look of a line to compare with: guessing, a limit, or the truth."""

APART, WIDEST = 2.5, 10.0
"""Points between the bars of neighbouring lines at one x, and at most between first and last."""

MEASURES = {
    "precision": "precision on clean test pairs",
    "similarity": "similarity (Zhou et al.)",
    "gauge_free": "identifiable similarity",
}
"""Axis labels of the columns that `recovery` computes."""


def grid(**values: Any) -> list[dict[str, Any]]:
    """Return a setting for each combination of values; what is no tuple is the same in all."""
    several = [value if isinstance(value, tuple) else (value,) for value in values.values()]
    return [dict(zip(values, cell, strict=True)) for cell in product(*several)]


def repeated(
    function: Callable[..., Mapping[str, Any] | list[Mapping[str, Any]]],
    settings: Sequence[Mapping[str, Any]],
    *,
    repeats: int,
    seed: int,
    jobs: int = 1,
) -> Iterator[dict[str, Any]]:
    """Run a function `repeats` times in each setting and yield its records.

    Parameters
    ----------
    function : callable
        A module-level function, so that processes can import it; ``function(rng=Generator,
        **setting)`` returns one record or a list of records.
    settings : sequence of mappings
        Keyword arguments of the function, copied into its records unless they are tuples.
    repeats, seed : int
        Repeat r draws from ``default_rng([seed, r])`` in every setting, so that settings share
        their random lists.
    jobs : int
        Number of processes. Records and their order do not depend on it.

    Yields
    ------
    dict
        ``{**setting, "repeat": r, **record}``.

    Raises
    ------
    InputError
        If `repeats` is less than 2 (the fewest with a standard error), `jobs` less than 1, or
        `seed` negative.
    """
    for name, value, least in (("repeats", repeats, 2), ("jobs", jobs, 1), ("seed", seed, 0)):
        if value < least:
            raise dl.InputError(f"{name}={value}: must be at least {least}")
    tasks = [(dict(setting), repeat) for setting in settings for repeat in range(repeats)]
    run_task = partial(_run_task, function, seed)
    for records in tqdm(mapped(run_task, tasks, jobs), total=len(tasks), disable=None, leave=False):
        yield from records


def mapped(run_task: Callable[..., Any], tasks: Sequence[Any], jobs: int) -> Iterator[Any]:
    """Yield what a function returns for each task, in their order, from so many processes."""
    return Parallel(n_jobs=jobs, return_as="generator")(delayed(run_task)(task) for task in tasks)


def _run_task(
    function: Callable[..., Any], seed: int, task: tuple[dict[str, Any], int]
) -> list[dict[str, Any]]:
    setting, repeat = task
    result = function(rng=np.random.default_rng([seed, repeat]), **setting)
    records = result if isinstance(result, list) else [result]
    copied = {name: value for name, value in setting.items() if not isinstance(value, tuple)}
    return [{**copied, "repeat": repeat, **record} for record in records]


def summary(table: pl.DataFrame, by: Sequence[str], values: Sequence[str]) -> pl.DataFrame:
    """Return each value's mean over repeats and the interval that verdicts use, ordered by `by`.

    The interval's ends are columns ``VALUE_low`` and ``VALUE_high``.
    """
    records = []
    for key, rows in table.partition_by(by, as_dict=True).items():
        record = dict(zip(by, key, strict=True))
        for value in values:
            means = means_of_repeats(rows, value)
            each = rows[value].count() / max(len(means), 1)
            found = measured(means["mean"].to_numpy(), table[value], each)
            record |= {value: found.mean, f"{value}_low": found.low, f"{value}_high": found.high}
        records.append(record)
    return pl.DataFrame(records, infer_schema_length=None).sort(by)


def curves(
    table: pl.DataFrame,
    axes: Axes,
    x: str,
    y: str,
    lines: str = "truth",
    dashes: str | None = None,
    labels: Mapping[str, str] | None = None,
    apart: float = APART,
) -> None:
    """Draw the mean of `y` against `x` with intervals, in lines that differ by colour and dash.

    Each value of the column `lines` has a colour, and each value of the column `dashes` a dash. The
    true DCGs have the same colours everywhere; the first condition is solid.
    `apart` is that of `beside`.
    """
    by = [lines, *([dashes] if dashes else [])]
    means = summary(table, [*by, x], [y])
    kinds = table[dashes].unique(maintain_order=True).to_list() if dashes else [None]
    names = table[lines].unique(maintain_order=True).to_list()
    for i, (style, name) in enumerate(zip(STYLES, names, strict=False)):
        for j, (dash, kind) in enumerate(zip(DASHES, kinds, strict=False)):
            part = means.filter(**dict(zip(by, (name, kind), strict=False)))
            words = [
                (labels or {}).get(str(key), str(key)) for key in (name, kind) if key is not None
            ]
            place = beside(axes, i * len(kinds) + j, len(names) * len(kinds), apart)
            look = {"color": style["color"], "marker": style["marker"], **dash}
            draw_means(axes, part, x, y, look, place, label=", ".join(words))


def beside(axes: Axes, i: int, n: int, apart: float = APART) -> Transform:
    """Return where `draw_means` is to draw line `i` of `n`, off the others' bars.

    Neighbours are `apart` points from each other, or less where there are many.
    """
    step = min(apart, WIDEST / max(n - 1, 1))
    moved = ScaledTranslation(step * (i - (n - 1) / 2) / 72, 0, axes.figure.dpi_scale_trans)
    return axes.transData + moved


def against(
    table: pl.DataFrame, value: str, column: str, base: str, by: Sequence[str]
) -> pl.DataFrame:
    """Return the rows whose `column` is not `base`, with the "difference" from the row of `base`.

    The difference is taken in the column `value`. Rows are paired if they agree in the columns `by`
    and in "repeat".
    """
    keys = [*by, "repeat"]
    bases = table.filter(pl.col(column) == base).select(*keys, _base=pl.col(value))
    others = table.filter(pl.col(column) != base).join(bases, on=keys, maintain_order="left")
    return others.with_columns(difference=pl.col(value) - pl.col("_base")).drop("_base")


def zero_line(axes: Axes) -> None:
    """Draw the line of no difference."""
    axes.axhline(0, color="0.2", lw=0.9, zorder=1)


def forest(axes: Axes, names: Sequence[str], differences: Sequence[Any]) -> None:
    """Draw the mean and 95% interval of several differences over repeats, a row each.

    The colour says whether the interval lies above 0, below 0, or across it.
    """
    for y, values in enumerate(differences):
        found = interval(values)
        side = CLEAR[0] if found.low > 0 else CLEAR[1] if found.high < 0 else CLEAR[2]
        axes.plot(
            [found.low, found.high], [y, y], lw=1.6, color=side["color"], solid_capstyle="butt"
        )
        axes.plot(found.mean, y, linestyle="", markersize=5, **side)
    axes.axvline(0, color="0.2", lw=0.9, zorder=1)
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.grid(visible=False, axis="y")


def draw_means(
    axes: Axes,
    means: pl.DataFrame,
    x: str,
    y: str,
    style: Mapping[str, Any],
    place: Transform | None = None,
    **options: Any,
) -> None:
    """Draw the means that `summary` returns of `y` against `x`, with their intervals.

    `place` is what `beside` returns; the limits of the axes do not depend on it.
    """
    look = {"capsize": 2, "markersize": 4, "lw": 1.3, **style, **options}
    drawn = axes.errorbar(means[x], means[y], bars(means, y), **look)
    if place is not None:
        for artist in drawn.get_children():
            artist.set_transform(place)


def bars(means: pl.DataFrame, value: str) -> np.ndarray:
    """Return how far the intervals of `summary` reach below and above the means, shape (2, n)."""
    mean, low, high = (means[name].to_numpy() for name in (value, f"{value}_low", f"{value}_high"))
    return np.maximum([mean - low, high - mean], 0.0)


def draw_measures(
    table: pl.DataFrame, axes: Sequence[Axes], x: str, xlabel: str, titles: Sequence[str]
) -> None:
    """Draw each of `MEASURES` against `x` in its own panel, with a line for each true DCG.

    All panels share their scale.
    """
    for ax, (measure, label), title in zip(axes, MEASURES.items(), titles, strict=True):
        curves(table, ax, x, measure)
        ax.set(xlabel=xlabel, ylabel=label, title=title)
    share_scale(axes)
    legend(axes[0], "true DCG")


def draw_falls(
    table: pl.DataFrame,
    axes: Sequence[Axes],
    x: str,
    xlabel: str,
    headline: Callable[..., str],
    first: int,
) -> None:
    """Draw two measures that are said to fall, in figures of the paper from number `first` on."""
    titles = []
    for number, name in enumerate(("Precision", "Similarity"), first):
        words = headline(f"{name} falls", name, f"{name.lower()} falls")
        titles.append(f"{words} (figure {number})")
    draw_measures(table, axes, x, xlabel, [*titles, "Identifiable similarity (ours)"])


CHOICES = tuple(10.0**power for power in range(-5, 6))
"""Values of C among which validation pairs choose."""


def share_scale(axes: Iterable[Axes]) -> None:
    """Give panels that are compared the same vertical scale."""
    axes = list(axes)
    ends = np.array([ax.get_ylim() for ax in axes])
    for ax in axes:
        ax.set_ylim(ends[:, 0].min(), ends[:, 1].max())


def same_width(axes: Iterable[Axes]) -> None:
    """Give panels that are compared the same horizontal scale."""
    axes = list(axes)
    ends = np.array([ax.get_xlim() for ax in axes])
    for ax in axes:
        ax.set_xlim(ends[:, 0].min(), ends[:, 1].max())


def ticks(axes: Axes, values: Sequence[int]) -> None:
    """Name these values below the panel, and no others."""
    axes.set_xticks(values, [f"{value:,}" for value in values])
    axes.minorticks_off()


def legend(axes: Axes, title: str | None = None, **options: Any) -> None:
    """Draw the legend, with the meaning of the error bars below its title."""
    words = f"bars: {LEVEL:.0%} intervals"
    axes.legend(
        title=f"{title}\n({words})" if title else words,
        **{"fontsize": 8, "title_fontsize": 7, **options},
    )


def logs(
    truth: dl.DCG, rng: np.random.Generator, *sizes: int, **options: Any
) -> list[dl.Preferences]:
    """Return a log of each size, of `dcglearn.simulate.preference_pairs` with these options."""
    return [dl.simulate.preference_pairs(truth, n, random_state=rng, **options) for n in sizes]


def best_textbook(log: dl.Preferences) -> dl.DCG:
    """Return the textbook DCG that follows a log best."""
    textbooks = dl.textbook_dcgs(log.n_grades, log.depth).values()
    return max(textbooks, key=lambda dcg: log.agreement(dcg).share)


def validated(
    train: dl.Preferences,
    validation: dl.Preferences,
    choices: Sequence[float] = CHOICES,
    **parameters: Any,
) -> dl.UtilityLearner:
    """Return the learner whose C is best on the validation set, the smallest C among equals."""
    learners = [dl.UtilityLearner(C=C, **parameters).fit(train) for C in choices]
    return max(learners, key=lambda learner: learner.score(validation))


def recovery(learner: dl.UtilityLearner, truth: dl.DCG, test: dl.Preferences) -> dict[str, float]:
    """Return how well a learner recovers the true DCG: precision and two similarities.

    Precision and the first similarity are the paper's (section 6.2). The other similarity leaves
    out what the test pairs cannot identify.
    """
    return {
        "precision": test.agreement(learner.utility_).precision,
        "similarity": dl.trust.similarity(learner.utility_, truth),
        "gauge_free": dl.trust.identifiable_similarity(learner.utility_, truth, test.visible()),
    }


def wrong_grades(log: dl.Preferences, rng: np.random.Generator, **noise: Any) -> dl.Preferences:
    """Return the log with noisy grades in its lists; the preferred list of each pair stays.

    `dcglearn.simulate.noisy_grades` draws the grades, with the options `noise`.
    """
    pairs = np.stack([log.preferred, log.other], axis=1)
    return dl.Preferences(dl.simulate.noisy_grades(pairs, random_state=rng, **noise), n_grades=5)
