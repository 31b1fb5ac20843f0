"""Scraper for sphinx-gallery that saves each figure of a script once, light and dark.

It finds figures of pyplot and of `dcglearn.plots`.
"""

from pathlib import Path
from weakref import WeakSet

import matplotlib.pyplot as plt
from dark_pictures import save_dark
from matplotlib.figure import Figure
from sphinx_gallery.scrapers import figure_rst

DPI = 150
_SHOWN = WeakSet()


def _scraped(block, variables, conf, **kwargs):
    paths = []
    for figure in [*map(plt.figure, plt.get_fignums()), *variables["example_globals"].values()]:
        if isinstance(figure, Figure) and figure not in _SHOWN:
            _SHOWN.add(figure)
            paths.append(next(variables["image_path_iterator"]))
            options = {"dpi": DPI, "bbox_inches": "tight", "pad_inches": 0.05}
            figure.savefig(paths[-1], **options)
            save_dark(figure, Path(paths[-1]).name, **options)
    plt.close("all")
    return figure_rst(paths, conf["src_dir"])


def _get_sg_image_scraper():
    return _scraped
