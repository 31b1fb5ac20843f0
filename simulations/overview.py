"""Pictures that belong to no single study: all claims' differences, and the true DCGs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from matplotlib import rc_context
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

NAMES = {
    "zhou": "Zhou et al. 2008",
    "qin": "Qin et al. 2010",
    "chapelle-wu": "Chapelle and Wu 2010",
    "sun": "Sun et al. 2009",
    "wu": "Wu et al. 2009",
    "ours": "Ours, beyond the papers",
}
"""Titles of the panels."""

REACH, LINEAR = 100.0, 2.0
"""Largest distance drawn, and half the width of the axis's linear part.

Points farther out are drawn at this distance.
"""


def save(figure: Figure, path: Path) -> None:
    """Write a figure beside its place, then rename it.

    The file holds nothing that changes from run to run.
    """
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
    discounts.plot(
        range(1, 11),
        dl.simulate.ground_truth("D1").discounts,
        color="0.25",
        marker="o",
        markersize=5,
    )
    gains.set(
        xlabel="grade (worst to best)",
        ylabel="gain",
        title="(a) Gains: D1 in equal steps, D2 doubling",
    )
    gains.set_xticks(range(5))
    discounts.set(
        xlabel="position",
        ylabel="discount, 1 / log(position + 1)",
        title="(b) Discounts: the same in both",
    )
    discounts.set_xticks(range(1, 11))
    discounts.set_ylim(bottom=0)
    return figure


def forest(claims: pl.DataFrame) -> Figure:
    """Return a figure with a panel per paper, which shows each claim's distance from its edge.

    The distance says how far the mean lies within the edge, in half-widths of its interval. At
    1 or more the whole interval lies on the claim's side, so that it holds, and at -1 or less it
    does not.
    """
    rows = claims.filter(pl.col("verdict").is_in(CANNOT_FAIL).not_(), branch="")
    papers = rows["paper"].unique(maintain_order=True).to_list()
    heights = [stacked(rows.filter(paper=paper))[1].max() + 2 for paper in papers]
    figure = Figure(
        figsize=(8.0, 1.2 + 0.075 * sum(heights) + 0.45 * len(papers)), layout="constrained"
    )
    panels = figure.subplots(len(papers), 1, squeeze=False, sharex=True, height_ratios=heights)[
        :, 0
    ]
    for axes, paper, height in zip(panels, papers, heights, strict=True):
        part = rows.filter(paper=paper)
        x, y = stacked(part)
        for name, look in VERDICT_LOOKS.items():
            of_verdict = (part["verdict"] == name).to_numpy()
            axes.plot(x[of_verdict], y[of_verdict], linestyle="", markersize=4, **look)
        axes.axvspan(-1, 1, color="0.93", zorder=0)
        axes.axvline(0, color="0.2", lw=0.9)
        axes.set_xscale("symlog", linthresh=LINEAR)
        axes.set(xlim=(-1.3 * REACH, 1.3 * REACH), ylim=(-1, height))
        axes.set_yticks([])
        axes.grid(visible=False, axis="y")
        axes.set_title(
            f"{NAMES.get(paper, paper)}: {len(part)} claims tested", loc="left", fontsize=8
        )
    ticks = (-100, -10, -1, 0, 1, 10, 100)
    panels[-1].set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    panels[-1].set_xticks([], minor=True)
    panels[-1].set_xlabel(
        "distance of the mean from the claim's edge, in half-widths of its 95% interval", fontsize=8
    )
    for name, look in VERDICT_LOOKS.items():
        panels[0].plot(
            [], [], linestyle="", label=f"{name} ({rows.filter(verdict=name).height})", **look
        )
    figure.legend(loc="outside upper center", ncols=4, fontsize=8, handletextpad=0.1)
    return figure


def stacked(rows: pl.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Return the points of claims: distances, and heights at which no two points overlap."""
    x = np.array(
        [distance(*row) for row in rows.select("low", "mean", "high", "above", "below").iter_rows()]
    )
    places = np.round(6 * np.sign(x) * np.log1p(np.abs(x) / LINEAR)).astype(int)
    y = np.zeros(len(x))
    for place in np.unique(places):
        (at,) = np.nonzero(places == place)
        y[at[np.argsort(x[at], kind="stable")]] = np.arange(len(at))
    return x, y


def distance(low: float, mean: float, high: float, above: float, below: float) -> float:
    """Return how far a mean lies within a claim's edges, in half-widths of its interval.

    The distance is at most `REACH`, on either side.
    """

    def within(inside: float, toward: float, back: float) -> float:
        width = toward if inside >= 0 else back
        return inside / width if width > 0 else np.copysign(REACH, inside)

    down, up = mean - low, high - mean
    return float(
        np.clip(min(within(mean - above, down, up), within(below - mean, up, down)), -REACH, REACH)
    )
