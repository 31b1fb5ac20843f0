"""Pictures: results onto axes, and whole figures for print."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dcglearn.foundation.files import written_beside
from dcglearn.foundation.validation import InputError

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dcglearn.evaluation.compare_systems import SystemComparison
    from dcglearn.foundation.arrays import Floats
    from dcglearn.learning.factoring import Factoring
    from dcglearn.metric.dcg import DCG
    from dcglearn.metric_coherence.coherence import Coherence, RegretCurve, Witness
    from dcglearn.metric_coherence.disagreement import DisagreementMatrix
    from dcglearn.metric_coherence.system_order import Swaps, SystemOrder

LINE_STYLES = (
    {"color": "#0072B2", "marker": "o", "linestyle": "-"},
    {"color": "#D55E00", "marker": "s", "linestyle": "--", "markerfacecolor": "white"},
    {"color": "#009E73", "marker": "^", "linestyle": "-."},
    {"color": "#CC79A7", "marker": "D", "linestyle": ":", "markerfacecolor": "white"},
    {"color": "#E69F00", "marker": "v", "linestyle": (0, (5, 1, 1, 1, 1, 1))},
    {"color": "#56B4E9", "marker": "P", "linestyle": (0, (1, 1))},
)
"""Okabe and Ito's colours, told apart by the colour-blind; marker and dash tell lines apart in black and white."""

PRINT_STYLE: dict[Any, Any] = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "legend.frameon": False,
    "figure.dpi": 100,
    "savefig.dpi": 200,
    "pdf.fonttype": 42,
}
"""What `matplotlib.rc_context` takes for a figure in print."""


def plot_gains(dcgs: Mapping[str, DCG], axes: Axes) -> Axes:
    """Draw gains against grades, one line a DCG, each scaled so that worst is 0 and best is 1.

    Parameters
    ----------
    dcgs : mapping of str to DCG
        Legend entries and metrics.
    axes : Axes

    Returns
    -------
    Axes
    """
    longest = max(dcgs.values(), key=lambda dcg: dcg.n_grades)
    for style, (name, dcg) in zip(_styles(len(dcgs)), dcgs.items(), strict=True):
        span = dcg.gains[-1] - dcg.gains[0]
        axes.plot(np.arange(dcg.n_grades), (dcg.gains - dcg.gains[0]) / (span or 1.0), label=name, **style)
    names = longest.grade_names or [str(grade) for grade in range(longest.n_grades)]
    axes.set_xticks(range(longest.n_grades), names)
    axes.set(xlabel="grade (worst to best)", ylabel="gain (worst = 0, best = 1)")
    return axes


def plot_discounts(dcgs: Mapping[str, DCG], axes: Axes) -> Axes:
    """Draw discounts against positions, one line a DCG, each scaled so that its largest is 1.

    Parameters
    ----------
    dcgs : mapping of str to DCG
        Legend entries and metrics.
    axes : Axes

    Returns
    -------
    Axes
    """
    for style, (name, dcg) in zip(_styles(len(dcgs)), dcgs.items(), strict=True):
        largest = np.abs(dcg.discounts).max()
        axes.plot(np.arange(1, dcg.depth + 1), dcg.discounts / (largest or 1.0), label=name, **style)
    depth = max(dcg.depth for dcg in dcgs.values())
    axes.set_xticks(np.unique(np.linspace(1, depth, min(depth, 10)).round().astype(int)))
    axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
    axes.set(xlabel="position", ylabel="discount (largest = 1)")
    return axes


def plot_weights(weights: Floats, axes: Axes, *, limit: float | None = None, title: str = "") -> Any:
    """Draw a heat map of utility weights, positions downwards, grades worst to best.

    Parameters
    ----------
    weights : ndarray, shape (K, L)
        NaN is left white.
    axes : Axes
    limit : float, optional
        The colour scale runs from -limit to limit; by default the largest weight in size.
    title : str

    Returns
    -------
    AxesImage
        For a colour bar.
    """
    limit = limit or float(np.nanmax(np.abs(weights))) or 1.0
    image = axes.imshow(weights, cmap="PuOr_r", vmin=-limit, vmax=limit, aspect="auto")
    axes.set_xticks(range(weights.shape[1]))
    axes.set_yticks(range(weights.shape[0]), [str(k + 1) for k in range(weights.shape[0])])
    axes.grid(visible=False)
    axes.set(xlabel="grade (worst to best)", ylabel="position", title=title)
    return image


def dcg_figure(dcgs: Mapping[str, DCG]) -> Figure:
    """Return gains and discounts of one or several DCGs side by side.

    Raises
    ------
    InputError
        If there is no DCG to draw.
    """
    if not dcgs:
        raise InputError("no DCG to draw")
    with _print_style():
        figure = _figure(7.0, 3.0)
        left, right = figure.subplots(1, 2)
        plot_gains(dcgs, left)
        plot_discounts(dcgs, right)
        if len(dcgs) > 1:
            left.legend()
    return figure


def learned_figure(factoring: Factoring, others: Mapping[str, DCG] | None = None) -> Figure:
    """Return the picture of a learned DCG: gains, discounts (beside other metrics), W and its rank-one part."""
    with _print_style():
        figure = _figure(7.0, 5.6)
        (gains, discounts), (whole, part) = figure.subplots(2, 2)
        dcgs = {"learned": factoring.dcg, **(others or {})}
        plot_gains(dcgs, gains)
        plot_discounts(dcgs, discounts)
        gains.legend()
        limit = float(np.nanmax(np.abs(factoring.visible_weights)))
        plot_weights(factoring.visible_weights, whole, limit=limit, title="learned utility W")
        share = f"gains × discounts ({factoring.explained:.0%} of W)"
        image = plot_weights(factoring.rank_one, part, limit=limit, title=share)
        figure.colorbar(image, ax=[whole, part], label="worth of the grade at the position")
    return figure


def banded_figure(
    dcg: DCG,
    others: Mapping[str, DCG] | None = None,
    bands: tuple[Floats, Floats] | None = None,
) -> Figure:
    """Return a learned DCG beside other metrics, within its bands.

    Parameters
    ----------
    dcg : DCG
        Gains from 0 to 1, first discount 1.
    others : mapping of str to DCG, optional
        Legend entries and metrics.
    bands : (ndarray, ndarray), optional
        Lower and upper ends, shapes (2, L) and (2, K), on the same scale.

    Returns
    -------
    Figure
    """
    with _print_style():
        figure = _figure(7.0, 3.0)
        gains, discounts = figure.subplots(1, 2)
        dcgs = {"learned": dcg, **(others or {})}
        plot_gains(dcgs, gains)
        plot_discounts(dcgs, discounts)
        for axes, first, band in zip((gains, discounts), (0, 1), bands or (), strict=False):
            ranks = np.arange(first, first + band.shape[1])
            axes.fill_between(ranks, *band, color=LINE_STYLES[0]["color"], alpha=0.2, lw=0, label="90% band of learned")
        gains.legend()
    return figure


def witness_figure(found: Coherence) -> Figure:
    """Return the rankings on which two metrics differ most, as graded lists with what each metric gives them.

    Raises
    ------
    InputError
        If no disagreement was found.
    """
    told = [
        (names, witness, regret)
        for names, witness, regret in (
            (found.names, found.witness, found.regret),
            (found.names[::-1], found.witness_reverse, found.regret_reverse),
        )
        if witness is not None
    ]
    if not told:
        raise InputError("there is no disagreement to draw")
    with _print_style():
        figure = _figure(7.0, 1.9 * len(told))
        panels = figure.subplots(len(told), 1, squeeze=False)[:, 0]
        for axes, (names, witness, regret) in zip(panels, told, strict=True):
            _draw_witness(axes, names, witness, regret, found.rankings.n_grades)
    return figure


def _draw_witness(axes: Axes, names: Sequence[str], witness: Witness, regret: float, n_grades: int) -> None:
    lists, depth = witness.lists, witness.lists.shape[1]
    axes.imshow(lists, cmap="cividis", vmin=0, vmax=n_grades - 1, aspect="auto")
    if depth <= 30:
        for (row, column), grade in np.ndenumerate(lists):
            dark = grade < (n_grades - 1) / 2
            axes.text(column, row, str(grade), ha="center", va="center", color="white" if dark else "black")
    labels = [f"preferred by\n{name}" for name in names]
    axes.set_yticks([0, 1], labels)
    ticks = np.unique(np.linspace(0, depth - 1, min(depth, 10)).round().astype(int))
    axes.set_xticks(ticks, [str(tick + 1) for tick in ticks])
    right = axes.secondary_yaxis("right")
    values = [
        "\n".join(f"{name}: {worth:.4g}" for name, worth in zip(names, pair, strict=True))
        for pair in zip(witness.first, witness.second, strict=True)
    ]
    right.set_yticks([0, 1], values)
    for one in (axes, right):
        one.tick_params(length=0)
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    right.spines[:].set_visible(False)
    axes.set_title(f"{names[0]} prefers the upper ranking; {names[1]} would lose {regret:.3f} of its span", fontsize=9)
    axes.set_xlabel("position")


def regret_figure(curve: RegretCurve) -> Figure:
    """Return the largest regret against how sure the metric that prefers has to be."""
    a, b = curve.names
    with _print_style():
        figure = _figure(4.2, 3.0)
        axes = figure.subplots()
        for style, label, values in zip(
            _styles(2),
            (f"{a} prefers, {b} loses", f"{b} prefers, {a} loses"),
            (curve.regret, curve.regret_reverse),
            strict=True,
        ):
            axes.plot(curve.margin, values, label=label, **style)
        axes.set(xlabel="margin (share of the span)", ylabel="largest regret (share of the span)")
        axes.set_ylim(bottom=0)
        axes.legend()
    return figure


def disagreement_figure(found: DisagreementMatrix) -> Figure:
    """Return a heat map of how often metrics disagree, like beside like, under the tree that orders them."""
    from scipy.cluster.hierarchy import dendrogram

    n = len(found.names)
    order = found.order()
    size = max(3.5, 0.19 * n + 2.2)
    with _print_style():
        figure = _figure(size + 0.8, size + 0.6)
        top, axes = figure.subplots(2, 1, height_ratios=[1, 6])
        if n > 2:
            dendrogram(found.tree(), ax=top, no_labels=True, color_threshold=0, above_threshold_color="0.4")
        top.set_axis_off()
        image = axes.imshow(found.share[np.ix_(order, order)], cmap="cividis", vmin=0, aspect="auto")
        names = [found.names[i] for i in order]
        axes.set_xticks(range(n), names, rotation=90, fontsize=7)
        axes.set_yticks(range(n), names, fontsize=7)
        axes.grid(visible=False)
        figure.colorbar(image, ax=axes, label="share of pairs ordered differently", pad=0.02)
    return figure


def slope_figure(order: SystemOrder) -> Figure:
    """Return a slope chart of the systems' ranks under every metric; those whose swaps are solid are in colour."""
    found, ranks = order.evaluation, order.ranks
    coloured = {name for swaps in order.swaps.values() for pair, solid in _verdicts(swaps) if solid for name in pair}
    n, columns = len(found.runs), np.arange(len(found.metrics))
    with _print_style():
        figure = _figure(3.6 + 1.4 * len(columns), max(2.5, 0.155 * n + 0.8))
        axes = figure.subplots()
        for name, row in zip(found.runs, ranks, strict=True):
            colour, width = (LINE_STYLES[1]["color"], 1.6) if name in coloured else ("0.45", 0.9)
            axes.plot(columns, row, marker="o", markersize=2.5, color=colour, lw=width)
            axes.text(-0.06, row[0], name, ha="right", va="center", fontsize=6.5)
            axes.text(columns[-1] + 0.06, row[-1], name, ha="left", va="center", fontsize=6.5)
        axes.set_xticks(columns, found.metrics)
        axes.set_xlim(-0.9, columns[-1] + 0.9)
        axes.set_ylim(n + 0.7, 0.3)
        axes.set_yticks([])
        axes.spines[:].set_visible(False)
        axes.grid(visible=False)
        axes.xaxis.tick_top()
        words = "in colour: systems whose order changes beyond chance" if coloured else "every crossing may be chance"
        axes.set_xlabel(f"rank, best at the top ({words})")
    return figure


def forest_figure(found: SystemComparison) -> Figure:
    """Return differences from the baseline with their intervals, so that one sees whether they depend on the metric."""
    frame = found.frame
    runs, measures = list(dict.fromkeys(frame["run"])), list(dict.fromkeys(frame["measure"]))
    with _print_style():
        figure = _figure(6.0, max(2.2, 0.16 * len(frame) + 0.25 * len(runs) + 0.9))
        axes = figure.subplots()
        for m, (style, measure) in enumerate(zip(_styles(len(measures)), measures, strict=True)):
            part = frame.filter(measure=measure)
            at = np.array([runs.index(run) for run in part["run"]]) + 0.8 * ((m + 0.5) / len(measures) - 0.5)
            middle = part["difference"].to_numpy()
            ends = np.abs(np.stack([part["low"].to_numpy(), part["high"].to_numpy()]) - middle)
            marks = {**style, "linestyle": "", "label": measure}
            axes.errorbar(middle, at, xerr=ends, elinewidth=1.2, capsize=2, **marks)
        axes.axvline(0.0, color="0.4", lw=0.8)
        axes.set_yticks(range(len(runs)), runs)
        axes.set_ylim(len(runs) - 0.4, -0.6)
        axes.set_xlabel(f"difference from {frame['baseline'][0]} ({found.level:.0%} interval)")
        if len(measures) > 1:
            figure.legend(loc="outside upper center", ncols=min(len(measures), 3))
    return figure


def _verdicts(swaps: Swaps) -> list[tuple[tuple[str, str], bool]]:
    return list(zip(swaps.pairs, swaps.solid, strict=True))


def save_figure(figure: Figure, path: str | os.PathLike[str], *, force: bool = True) -> None:
    """Write a figure beside `path` and rename it; the suffix says the format (png, pdf, svg).

    Raises
    ------
    InputError
        If the suffix is none of these, or the file cannot be written.
    """
    refuse_format(path)
    with written_beside(path, force=force) as temporary, _print_style():
        figure.savefig(temporary)


def refuse_format(path: str | os.PathLike[str]) -> None:
    """Refuse a picture's path with a suffix other than .png, .pdf or .svg, before any work is done.

    Raises
    ------
    InputError
        With the remedy.
    """
    if Path(path).suffix.lower() not in (".png", ".pdf", ".svg"):
        raise InputError(f"{path}: pictures are written as .png, .pdf or .svg")


def _styles(n: int) -> Sequence[dict[str, Any]]:
    return [{"markersize": 4, "linewidth": 1.4, **LINE_STYLES[i % len(LINE_STYLES)]} for i in range(n)]


def _figure(width: float, height: float) -> Figure:
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def _print_style() -> Any:
    import matplotlib as mpl

    return mpl.rc_context(PRINT_STYLE)
