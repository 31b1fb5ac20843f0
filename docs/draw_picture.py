"""Draw the picture of the project: what is learned from the example's log, and why it matters.

`python docs/draw_picture.py` writes it for README, light and dark; `picture.png` has the size of a
social card, 1280 x 640. Each build of the site draws it too. It needs the libraries of `make docs`.
"""

import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

import dcglearn as dl

HERE = Path(__file__).parent
LOG = HERE.parent / "examples" / "side_by_side.jsonl"
BLUE, ORANGE = "#0072B2", "#D55E00"
STYLE = {
    "font.size": 14,
    "axes.titlesize": 16,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.hashsalt": "dcglearn",  # the same file at each build
}


def turned_pair(log, usual, own):
    """Return the lists of the pair on which two metrics disagree, the second as the rater does.

    Of such pairs it is the one on which both are surest, by shares of the ideal value.
    """
    leads = [
        (dcg.score(log.preferred) - dcg.score(log.other)) / dcg.ideal(log.preferred)
        for dcg in (usual, own)
    ]
    pair = int(np.argmax(np.minimum(-leads[0], leads[1])))
    return log.preferred[pair], log.other[pair]


def picture(log, narrow=False):
    """Return the figure, twice as wide as high; if narrow, for a phone."""
    learner, usual = dl.DCGLearner().fit(log), dl.DCG.standard(log.n_grades, log.depth)
    own, bands = learner.dcg_, dl.bands(log, learner)
    found = dl.audit(log)["new judgements"]
    right = [found.rows[0].share, found[found.baseline].share]
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(5, 12) if narrow else (12.8, 6.4), layout="constrained")
        figure.get_layout_engine().set(w_pad=0.15, h_pad=0.12, wspace=0.03, hspace=0.04)
        end = "\n" if narrow else " "
        figure.suptitle(
            f"dcglearn learns from people's verdicts{end}what nDCG takes for granted",
            fontsize=16 if narrow else 23,
            fontweight="bold",
        )
        figure.supxlabel(
            f"{len(log)} verdicts of simulated raters: examples/{LOG.name}",
            fontsize=10,
            ha="left",
            x=0.02,
        )
        if narrow:
            cells = figure.add_gridspec(4, 1, height_ratios=[1.3, 1.3, 0.8, 1])
            places = [cells[row] for row in range(4)]
        else:
            cells = figure.add_gridspec(2, 3, height_ratios=[1, 1.1], width_ratios=[1, 1, 1.1])
            places = [cells[:, 0], cells[:, 1], cells[0, 2], cells[1, 2]]
        gains, discounts, wrong, lists = map(figure.add_subplot, places)

        # what is learned
        _curve(
            gains, range(own.n_grades), own.gains, usual.gains / usual.gains[-1], bands.gain_band
        )
        gains.set(title="what a grade is worth", xlabel="grade", ylim=(0, 1.05))
        gains.text(1.9, 0.62, "learned", color=BLUE, ha="right", weight="bold")
        gains.text(2.75, 0.25, "usual: $2^g - 1$", color=ORANGE, ha="left", va="top")

        places = range(1, own.depth + 1)
        _curve(discounts, places, own.discounts, usual.discounts, bands.discount_band)
        discounts.set(title="how much a position counts", xlabel="position", ylim=(0, 1.05))
        discounts.text(3.2, 0.86, "learned, with its\n90% band", color=BLUE, weight="bold")
        discounts.text(6.2, 0.38, "usual: log2", color=ORANGE)

        # why it matters
        for place, share, color, name in zip(
            (1, 0), right, (BLUE, ORANGE), ("learned", "usual"), strict=True
        ):
            wrong.barh(place, 1 - share, color=color, height=0.5)
            wrong.text(0, place + 0.3, name, color=color, weight="bold", va="bottom")
            wrong.text(1.005 - share, place, f"{1 - share:.0%}", va="center", color=color)
        wrong.set(xlim=(0, 1.15 - min(right)), ylim=(-0.4, 1.75))
        wrong.set_title("new verdicts it gets wrong")
        wrong.axis("off")
        _lists(lists, turned_pair(log, usual, own), usual, own)
    return figure


def _curve(axes, places, own, usual, band):
    """Draw a learned curve with its band, and the usual one."""
    axes.fill_between(places, *band, color=BLUE, alpha=0.2, lw=0)
    axes.plot(places, usual, "s--", color=ORANGE, lw=2)
    axes.plot(places, own, "o-", color=BLUE, lw=3)
    axes.set_xticks(places)


def _lists(axes, lists, usual, own):
    """Draw two lists by their grades, and which of them each metric prefers."""
    for row, (name, grades) in enumerate(zip("AB", lists, strict=True)):
        axes.text(-0.8, row, name, weight="bold", va="center", ha="center")
        for place, grade in enumerate(grades):
            box = mpl.patches.Rectangle(
                (place - 0.45, row - 0.4), 0.9, 0.8, fc=BLUE, ec="none", alpha=0.1 + 0.2 * grade
            )
            axes.add_patch(box)
            axes.text(place, row, str(grade), va="center", ha="center")
    better = ["AB"[int(dcg.score(lists[1]) > dcg.score(lists[0]))] for dcg in (usual, own)]
    axes.text(-1, 1.75, "the rater says A", va="center")
    axes.text(-1, 2.35, f"usual DCG says {better[0]}", color=ORANGE, va="center")
    axes.text(-1, 2.95, f"learned DCG says {better[1]}", color=BLUE, weight="bold", va="center")
    axes.set(xlim=(-1.2, len(lists[0]) - 0.4), ylim=(3.3, -0.5))
    axes.set_title("which list is better?")
    axes.axis("off")


def told(figure):
    """Return what a figure says: its texts, and its curves to two digits."""
    texts = [text.get_text() for axes in figure.axes for text in (axes.title, *axes.texts)]
    curves = [line.get_ydata().round(2).tolist() for axes in figure.axes for line in axes.lines]
    return f"{texts} {curves}"


if __name__ == "__main__":
    sys.path[:0] = [str(HERE / "_extensions")]
    from dark_pictures import GROUND, recoloured

    figure = picture(dl.read_preferences(LOG))
    written = {"Description": told(figure)}
    figure.savefig(HERE / "picture.png", dpi=100, facecolor="white", metadata=written)
    recoloured(figure)
    ground = (GROUND, GROUND, GROUND)
    figure.savefig(HERE / "picture_dark.png", dpi=100, facecolor=ground, metadata=written)
