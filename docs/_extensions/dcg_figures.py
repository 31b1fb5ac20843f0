"""A scraper for sphinx-gallery: the figures of a script that are no pyplot figures, as those of `dcglearn.plots`."""

from matplotlib.figure import Figure
from sphinx_gallery.scrapers import figure_rst


def _scraped(block, variables, conf, **kwargs):
    paths = []
    for value in variables["example_globals"].values():
        if isinstance(value, Figure) and not hasattr(value, "number"):
            paths.append(next(variables["image_path_iterator"]))
            value.savefig(paths[-1], dpi=100)
    return figure_rst(paths, conf["src_dir"])


def _get_sg_image_scraper():
    return _scraped
