"""Plots: results drawn on axes, and whole figures for print and notebooks."""

from __future__ import annotations

import os
from collections.abc import Mapping
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np

from dcglearn.foundation.figure_style import (
    LINE_STYLES,
    PRINT_STYLE,
    print_style,
    printed,
    save_figure,
)
from dcglearn.foundation.plain_text import percent
from dcglearn.foundation.validation import Fields, InputError, Integers
from dcglearn.metrics.reading import labelled, resolved

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dcglearn.coherence.disagreements import DisagreementMatrix
    from dcglearn.coherence.verdict import Coherence
    from dcglearn.evaluation.system_tests import SystemComparison
    from dcglearn.metrics.dcg import DCG
    from dcglearn.trust.band_draws import Bands

__all__ = [
    "LINE_STYLES",
    "PRINT_STYLE",
    "banded_figure",
    "dcg_figure",
    "disagreement_figure",
    "forest_figure",
    "plot_curves",
    "save_figure",
    "witness_figure",
]  # fmt: skip

_COLOR = LINE_STYLES[0]["color"]
"""The colour of what was learned."""

_LINES = [{"markersize": 4, "linewidth": 1.4, **style} for style in LINE_STYLES]
"""Looks of lines in the figures here."""


def __dir__() -> list[str]:
    return __all__


def plot_curves(dcgs: Any, gains: Axes, discounts: Axes) -> None:
    """Draw gains against grades and discounts against positions, a line for each DCG, up to 1.

    A DCG whose best gain is 1, as that of a learned one is, is drawn as it is: its worst grade may
    cost something. Of others the worst grade is drawn at 0.

    `dcgs` is a DCG, its file or name (with others that tell its scale), a fitted learner, a list of
    these, or maps legend entries to them. The DCG with the most grades names them.
    """
    dcgs = _by_name(dcgs)
    for style, (name, dcg) in zip(cycle(_LINES), dcgs.items(), strict=False):
        rise = dcg.gains - (0.0 if dcg.gains[-1] == 1 else dcg.gains[0])
        gains.plot(range(dcg.n_grades), rise / (rise[-1] or 1.0), label=name, **style)
        largest = np.abs(dcg.discounts).max() or 1.0
        discounts.plot(np.arange(1, dcg.depth + 1), dcg.discounts / largest, label=name, **style)

    # grades by name
    most_grades = max(dcgs.values(), key=lambda dcg: dcg.n_grades)
    names = most_grades.grade_names or [str(grade) for grade in range(most_grades.n_grades)]
    gains.set_xticks(range(len(names)), names)
    gains.set(xlabel="grade (worst to best)", ylabel="gain (best = 1)")

    # positions, with 0 and room for the first
    discounts.set_xticks(_ticks(max(dcg.depth for dcg in dcgs.values())))
    low, high = discounts.get_ylim()
    discounts.set_ylim(min(0.0, low), max(1.04, high))
    discounts.set(xlabel="position", ylabel="discount (largest = 1)")


def _ticks(depth: int) -> Integers:
    """Return at most ten positions from 1 to the last."""
    return np.unique(np.linspace(1, depth, min(depth, 10)).round().astype(int))


def dcg_figure(dcgs: Any) -> Figure:
    """Return a figure of the gains and discounts of a DCG, a learner, or a dictionary by name.

    Raises InputError if there is no DCG to draw, or something has none.
    """
    # gains at the left, discounts at the right
    with printed(7.0, 3.0) as figure:
        left, right = figure.subplots(1, 2)
        plot_curves(dcgs, left, right)
        if len(left.lines) > 1:
            left.legend()
    return figure


def banded_figure(
    dcg: Any, others: Mapping[str, Any] | None = None, bands: Bands | None = None
) -> Figure:
    """Return a figure of a learned DCG with its bands, beside other metrics.

    The best gain and the first discount are 1.

    `dcg` may be the fitted learner. Inner bands are for each parameter alone, outer ones for all
    at once.
    """
    figure = dcg_figure({"learned": dcg, **(others or {})})
    gains, discounts = figure.axes

    # what the panels show
    with print_style():
        gains.set_title("what a grade is worth")
        discounts.set_title("how much a position counts")

        # bands, the wider first; grades begin at 0, positions at 1
        parts = [] if bands is None else [(bands.simultaneous, "all", 0.15), (bands, "each", 0.25)]
        for part, which, alpha in parts:
            look = {"color": _COLOR, "lw": 0, "alpha": alpha}
            look["label"] = f"{percent(part.level)} band of {which}"
            gains.fill_between(range(part.gain_band.shape[1]), *part.gain_band, **look)
            places = range(1, part.discount_band.shape[1] + 1)
            discounts.fill_between(places, *part.discount_band, **look)
        gains.legend()
    return figure


def witness_figure(coherence: Coherence) -> Figure:
    """Return a figure of the rankings on which two metrics differ most, with their values.

    Raises InputError if no disagreement was found.
    """
    drawn = coherence.witnesses
    if not drawn:
        raise InputError("there is no disagreement to draw")

    # one panel for each direction: grades as colours, and as numbers where there is room
    best = coherence.rankings.n_grades - 1
    with printed(7.0, 1.9 * len(drawn)) as figure:
        panels = figure.subplots(len(drawn), 1, squeeze=False)[:, 0]
        for axes, (first, second, witness, regret) in zip(panels, drawn, strict=True):
            lists, depth = witness.lists, witness.lists.shape[1]
            axes.imshow(lists, cmap="cividis", vmin=0, vmax=best, aspect="auto")
            for (row, column), grade in np.ndenumerate(lists if depth <= 30 else lists[:0]):
                color = "white" if grade < best / 2 else "black"
                axes.text(column, row, str(grade), ha="center", va="center", color=color)

            # who prefers each, and its values
            sides = zip((first, second), witness.first, witness.second, strict=True)
            texts = [
                f"preferred by {name}\n{first}: {value:.4g}\n{second}: {other:.4g}"
                for name, value, other in sides
            ]
            axes.set_yticks([0, 1], texts)
            ticks = _ticks(depth)
            axes.set_xticks(ticks - 1, [str(tick) for tick in ticks])

            # no frame around the grades
            axes.tick_params(length=0)
            axes.spines[:].set_visible(False)
            axes.grid(visible=False)
            would = (
                f"{first} prefers the upper ranking; {second} would lose {regret:.1%} of its range"
            )
            axes.set_title(would, fontsize=9)
            axes.set_xlabel("position")
    return figure


def forest_figure(comparison: SystemComparison) -> Figure:
    """Return dots with intervals: differences from the baseline, a row for each run and metric.

    Dotted bars below them are what judging all documents could make of the differences.
    """
    table = comparison.table
    at = np.arange(len(table))
    middle, low, high = (table[name].to_numpy() for name in ("difference", "low", "high"))
    with printed(7.0, max(2.2, 0.22 * len(table) + 1.1)) as figure:
        axes = figure.subplots()

        # dots with intervals, and their bounds
        ends = np.maximum([middle - low, high - middle], 0.0)
        axes.errorbar(middle, at, xerr=ends, fmt="o", markersize=4, elinewidth=1.2, capsize=2)
        bars = f"{percent(comparison.level)} interval"
        if "least" in table.columns:
            axes.hlines(at + 0.25, table["least"], table["most"], color=_COLOR, ls=":", lw=1.5)
            bars += "; dotted: any grades of the unjudged"

        # rows by name, from top to bottom, and what runs are compared with
        axes.axvline(0.0, color="0.4", lw=0.8)
        axes.set_yticks(at, [", ".join(name) for name in table.select("run", "measure").rows()])
        axes.set_ylim(len(table) - 0.4, -0.6)
        axes.set_xlabel(f"difference from {table['baseline'][0]}\n({bars})")
    return figure


def _by_name(metrics: Any) -> dict[Any, DCG]:
    """Return DCGs by name; words have the others' scale and depth, a learner is `learned`.

    Raise InputError if there is none, or something has none.
    """
    # learners and objects
    named = {"learned": metrics} if hasattr(metrics, "fit") else labelled(metrics)
    if not named:
        raise InputError("no DCG to draw")
    drawn: Fields = {}
    for name, metric in named.items():
        drawn[name] = metric if isinstance(metric, (str, os.PathLike)) else _dcg_of(metric)

    # words
    made, _ = resolved([*drawn.values()], [*drawn])
    return {name: _dcg_of(metric) for name, metric in zip(drawn, made, strict=True)}


def _dcg_of(metric: Any) -> DCG:
    """Return a DCG itself, a fitted learner's, or the nearest one to a utility."""
    source = metric.factor() if hasattr(metric, "factor") else metric
    drawn = getattr(source, "dcg_", getattr(source, "dcg", source))
    if not hasattr(drawn, "gains"):
        kind = type(metric).__name__
        raise InputError(f"a DCG or a fitted learner can be drawn, not {kind}; fit a learner first")
    return drawn


def disagreement_figure(matrix: DisagreementMatrix) -> Figure:
    """Return a heat map of how often metrics disagree, those that agree most side by side."""
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    condensed = squareform(matrix.share, checks=False)
    order = leaves_list(linkage(condensed, "average", optimal_ordering=True))

    # a square for every two
    n, names = len(matrix.names), [matrix.names[i] for i in order]
    size = max(3.5, 0.19 * n + 2.2)
    with printed(size + 0.8, size) as figure:
        axes = figure.subplots()
        shares = matrix.share[np.ix_(order, order)]
        image = axes.imshow(shares, cmap="cividis", vmin=0, aspect="auto")

        # metrics by name, and what the colours mean
        axes.set_xticks(range(n), names, rotation=90, fontsize=7)
        axes.set_yticks(range(n), names, fontsize=7)
        axes.grid(visible=False)
        figure.colorbar(image, ax=axes, label="share of pairs ordered differently", pad=0.02)
    return figure
