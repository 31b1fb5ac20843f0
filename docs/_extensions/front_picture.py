"""The pictures of the first page: that of the project, and two lists that change places.

Each build makes them from the log that ships with the project.
"""

import json
from pathlib import Path
from string import Template

import matplotlib as mpl
from dark_pictures import save_dark
from draw_picture import LOG, STYLE, picture, turned_pair

import dcglearn as dl


def turned_lists(log, learned):
    """Return the page's lists that change places where log2's discounts become the learned ones."""
    log2 = dl.DCG(learned.gains, dl.DCG.standard(log.n_grades, log.depth).discounts)
    lists = [grades.tolist() for grades in turned_pair(log, log2, learned)]

    # numbers of the page, and of its script
    values = [[f"{dcg.score(one):.2f}" for one in lists] for dcg in (log2, learned)]
    curves = {
        "gains": learned.gains.round(4).tolist(),
        "lists": lists,
        "log2": log2.discounts.round(4).tolist(),
        "learned": learned.discounts.round(4).tolist(),
    }
    bars = "".join(
        f'<i class="turn-bar" style="--d:{d:.3f}">{k}</i>'
        for k, d in enumerate(curves["learned"], 1)
    )
    rows = [
        f'<div class="turn-grid turn-list" style="--place:{i}"><b>{"AB"[i]}</b>'
        + "".join(f'<span style="--g:{learned.gains[g]:.3f}">{g}</span>' for g in grades)
        + f"<output>{values[1][i]}</output></div>"
        for i, grades in enumerate(lists)
    ]
    return Template((Path(__file__).parent / "front.html").read_text()).substitute(
        curves=json.dumps(curves),
        bars=bars,
        lists="\n".join(rows),
        n=len(log),
        log2=f"{values[0][1]} to {values[0][0]}",
        learned=f"{values[1][0]} to {values[1][1]}",
    )


def _draw(app):
    log = dl.read_preferences(LOG)
    folder = Path(app.srcdir) / "generated"
    folder.mkdir(exist_ok=True)
    (folder / "front.html").write_text(turned_lists(log, dl.DCGLearner().fit(log).dcg_))

    for name, narrow in (("front.svg", False), ("front_narrow.svg", True)):
        figure = picture(log, narrow)
        with mpl.rc_context(STYLE):
            figure.savefig(folder / name, transparent=True, metadata={"Date": None})
            save_dark(figure, name, metadata={"Date": None})


def setup(app):
    """Draw before the sources are read."""
    app.connect("builder-inited", _draw)
    return {"parallel_read_safe": True}
