"""The pictures of the first page, light and dark.

Each build draws them from the log that ships with the project.
"""

from pathlib import Path

import matplotlib as mpl
from dark_pictures import save_dark

import dcglearn as dl

LOG = Path(__file__).parents[2] / "examples" / "side_by_side.jsonl"


def _draw(app):
    log = dl.read_preferences(LOG)
    learner = dl.DCGLearner().fit(log)
    usual = {"exponential-log2@10": dl.DCG.standard(5, 10)}
    figure = dl.plots.banded_figure(learner, usual, dl.bands(log, learner))
    folder = Path(app.srcdir) / "generated"
    folder.mkdir(exist_ok=True)
    with mpl.rc_context({"svg.hashsalt": "dcglearn"}):  # the same file at each build
        figure.savefig(folder / "front.svg", transparent=True, metadata={"Date": None})
        save_dark(figure, "front.svg", metadata={"Date": None})


def setup(app):
    """Draw before the sources are read."""
    app.connect("builder-inited", _draw)
    return {"parallel_read_safe": True}
