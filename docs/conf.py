"""Sphinx configuration of the site: `make docs`."""

import sys
from pathlib import Path

from pygments.lexers.special import TextLexer
from sphinx.highlighting import lexers

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "_extensions"), str(HERE), str(HERE.parent)]

from dcglearn.foundation.version import __version__  # noqa: E402

project = "dcglearn"
author = "The dcglearn authors"
copyright = "2026, the dcglearn authors"
version = release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "sphinx_copybutton",
    "pages_from_code",
    "dark_pictures",
    "front_picture",
    "llms",
    "mathml",
    "search_words",
]
templates_path = ["_templates"]
exclude_patterns = [
    "_extensions",
    "_templates",
    "gallery/**/*.zip",
    "gallery/sg_execution_times.rst",
    "sg_execution_times.rst",
]
nitpicky = False

myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 4
html_math_renderer = "mathml"

autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_default_options = {  # scikit-learn adds these, with links into its own pages
    "exclude-members": "set_fit_request, set_score_request, "
    "set_predict_request, set_predict_proba_request, get_metadata_routing"
}
lexers["mermaid"] = TextLexer()  # the diagram is drawn where the file is read on GitHub
numpydoc_show_class_members = False

sphinx_gallery_conf = {
    "image_scrapers": ("dcg_figures",),
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/\w+\.py$",
    "ignore_pattern": r"/_",
    "download_all_examples": True,
    "remove_config_comments": True,
    "abort_on_example_error": True,
    "show_memory": False,
    "capture_repr": (),  # a last line that shows a figure in a notebook
    "thumbnail_size": (800, 540),
    "min_reported_time": 1e9,
}

copybutton_prompt_text = r">>> |\.\.\. "
copybutton_prompt_is_regexp = True
copybutton_exclude = ".linenos, .gp, .go"

html_theme = "pydata_sphinx_theme"
html_title = "dcglearn"
html_logo = html_favicon = "_static/logo.svg"
html_sidebars = {"index": [], "**": ["pages"]}
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "dcglearn"},
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "navbar_center": [],
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
