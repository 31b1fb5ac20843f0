"""Pictures that belong to no single study: all claims' differences, and the true DCGs of the simulations."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import dcglearn as dl
from simulations.claims import CANNOT_FAIL, CONDITION, FAILS, HOLDS, UNDECIDED
from simulations.run import TRUTH_STYLES, TRUTHS

VERDICT_LOOKS: dict[str, dict[str, Any]] = {
    HOLDS: {"color": "#0072B2", "marker": "o"},
    CONDITION: {"color": "#56B4E9", "marker": "D"},
    UNDECIDED: {"color": "#8C8C8C", "marker": "s", "markerfacecolor": "white"},
    FAILS: {"color": "#D55E00", "marker": "v"},
}
"""Colours of the verdicts, told apart by every kind of colour vision, each with a marker."""

REACH, LINEAR = 2.0, 0.01
"""Largest distance drawn, beyond which an arrow stands, and half the width of the axis's linear part."""


def save(figure: Figure, path: Path) -> None:
    """Write a figure beside its place, then rename it, without anything that changes from run to run."""
    temporary = path.with_suffix(".new.png")
    figure.savefig(temporary, metadata={"Software": None})
    temporary.replace(path)


def draw(claims: pl.DataFrame, folder: Path) -> None:
    """Draw the table of `simulations.claims_page.summary_table` and the true DCGs into a folder."""
    with rc_context(dl.plots.PRINT_STYLE):
        if len(claims):
            save(forest(claims), folder / "claims.png")
        save(truths(), folder / "truths.png")


def truths() -> Figure:
    """Return a figure of the gains and discounts of D1 and D2."""
    figure = Figure(figsize=(7.0, 2.8), layout="constrained")
    gains, discounts = figure.subplots(1, 2)
    for name in TRUTHS:
        dcg, look = dl.simulate.ground_truth(name), {**TRUTH_STYLES[name], "markersize": 5}
        gains.plot(range(dcg.n_grades), dcg.gains, label=name, **look)
        gains.annotate(
            name,
            (dcg.n_grades - 1, dcg.gains[-1]),
            (-6, 2),
            textcoords="offset points",
            ha="right",
            color=look["color"],
        )
    discounts.plot(range(1, 11), dl.simulate.ground_truth("D1").discounts, color="0.25", marker="o", markersize=5)
    gains.set(xlabel="grade (worst to best)", ylabel="gain", title="(a) Gains: D1 in equal steps, D2 doubling")
    gains.set_xticks(range(5))
    discounts.set(xlabel="position", ylabel="discount, 1 / log(position + 1)", title="(b) Discounts: the same in both")
    discounts.set_xticks(range(1, 11))
    discounts.set_ylim(bottom=0)
    return figure


def forest(claims: pl.DataFrame) -> Figure:
    """Return a figure with a row per claim: how far its mean and interval lie on the claim's side of its edge."""
    rows = claims.filter(pl.col("verdict").is_in(CANNOT_FAIL).not_(), branch="")
    figure = Figure(figsize=(8.5, 0.9 + 0.135 * len(rows)), layout="constrained")
    axes = figure.subplots()
    for y, row in enumerate(rows.iter_rows(named=True)):
        _draw_row(axes, y, row)
    for y, papers in enumerate(pairwise(rows["paper"])):
        if papers[0] != papers[1]:
            axes.axhline(y + 0.5, color="0.7", lw=0.6)
    axes.axvline(0, color="0.2", lw=0.9)
    axes.set_xscale("symlog", linthresh=LINEAR)
    axes.set(xlim=(-REACH, REACH), ylim=(len(rows) - 0.4, -0.6))
    ticks = (-1, -0.1, -0.01, 0, 0.01, 0.1, 1)
    axes.set_xticks(ticks, [f"{x:g}" for x in ticks])
    axes.tick_params(axis="x", top=True, labeltop=True)
    words = [row["claim"].replace("`", "") for row in rows.iter_rows(named=True)]
    names = [f"{text[:84]}{'…' if len(text) > 84 else ''}" for text in words]
    axes.set_yticks(range(len(rows)), names, fontsize=5.5)
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False, axis="y")
    axes.set_xlabel("distance from the claim's edge, positive where the claim holds (95% interval)", fontsize=7)
    for name, look in VERDICT_LOOKS.items():
        axes.plot([], [], linestyle="", label=f"{name} ({rows.filter(verdict=name).height})", **look)
    figure.legend(loc="outside upper center", ncols=4, fontsize=8, handletextpad=0.1)
    return figure


def _draw_row(axes: Axes, y: int, row: dict[str, float | str]) -> None:
    """Draw one claim's mean and interval, or an arrow if it lies beyond the axis."""
    look = VERDICT_LOOKS[str(row["verdict"])]
    low, middle, high = distances(*(float(row[name]) for name in ("low", "mean", "high", "above", "below")))
    axes.plot(np.clip([low, high], -REACH, REACH), [y, y], color=look["color"], lw=1.2, solid_capstyle="butt")
    if abs(middle) < REACH:
        axes.plot(middle, y, linestyle="", markersize=3.2, **look)
    else:
        side = 1 if middle > 0 else -1
        axes.plot(side * REACH * 0.93, y, marker=">" if side > 0 else "<", markersize=4, color=look["color"])


def distances(low: float, mean: float, high: float, above: float, below: float) -> tuple[float, float, float]:
    """Return how far the interval and the mean lie within a claim's edges: least, at the mean, and largest."""
    points = np.array([low, mean, high])
    inside = np.minimum(points - above, below - points)
    largest = inside.max()
    if np.isfinite(below - above) and low <= (above + below) / 2 <= high:
        largest = (below - above) / 2
    return float(inside.min()), float(inside[1]), float(largest)
