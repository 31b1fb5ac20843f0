"""Formulas as MathML, which browsers draw without a script or a network."""

from docutils import nodes
from latex2mathml.converter import convert


def _inline(self, node):
    self.body.append(convert(node.astext()))
    raise nodes.SkipNode


def _block(self, node):
    self.body.append(convert(node.astext(), display="block"))
    raise nodes.SkipNode


def setup(app):
    """Register the renderer `mathml`."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True}
