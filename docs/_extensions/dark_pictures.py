"""Dark forms of the site's figures, which the theme's switch shows instead of the light ones."""

import colorsys
import importlib
import re
import shutil
from pathlib import Path

import numpy as np
from matplotlib.colors import to_rgba_array
from sphinx_gallery.utils import scale_image

from simulations import results

ROOT = Path(__file__).parents[2]
DRAWN = ROOT / "docs" / "generated" / "dark"
COLOURS = ("color", "facecolor", "edgecolor", "markerfacecolor", "markeredgecolor")
IMAGE = re.compile(r'<img ([^>]*?src="[^"]*_images/([^"/]+)"[^>]*)>')
GROUND, INK, HUES = 0.09, 0.87, 0.55  # lightness of white, of black and of the darkest colour


def dark(colours):
    """Return colours for a dark ground.

    Dark greys become light, light greys dark; other colours become light enough to be seen.
    """
    changed = to_rgba_array(colours)
    for colour in changed:
        hue, lightness, saturation = colorsys.rgb_to_hls(*colour[:3])
        lightness = (
            max(lightness, HUES) if np.ptp(colour[:3]) > 0.1 else INK - (INK - GROUND) * lightness
        )
        colour[:3] = colorsys.hls_to_rgb(hue, lightness, min(saturation, 0.75))
    return changed[0] if len(changed) == 1 else changed


def recoloured(figure):
    """Recolour a figure for a dark ground; images and the texts on them keep their colours."""
    figure.draw_without_rendering()  # makes the ticks
    of_cells = {id(text) for axes in figure.axes if axes.images for text in axes.texts}
    for artist in figure.findobj(lambda one: not hasattr(one, "patch") and id(one) not in of_cells):
        if getattr(artist, "get_array", lambda: None)() is None:
            has = [
                name
                for name in COLOURS
                if hasattr(artist, f"get_{name}") and hasattr(artist, f"set_{name}")
            ]
            values = {name: getattr(artist, f"get_{name}")() for name in has}
            artist.set(
                **{name: dark(value) for name, value in values.items() if len(to_rgba_array(value))}
            )


def save_dark(figure, file, **options):
    """Recolour a figure for a dark ground and write it to the folder of dark pictures."""
    recoloured(figure)
    DRAWN.mkdir(parents=True, exist_ok=True)
    figure.savefig(DRAWN / file, transparent=True, **options)
    if file.endswith("_001.png"):
        scale_image(DRAWN / file, DRAWN / file.replace("_001", "_thumb"), 800, 540)


def _both(match):
    """Return an image of the light and, if it is drawn, that of the dark."""
    image, file = match.groups()
    if "only-" in image or not (DRAWN / file).exists():
        return match[0]
    image = image if ' class="' in image else f'class="" {image}'
    light, other = (
        image.replace('class="', f'class="only-{kind} ', 1) for kind in ("light", "dark")
    )
    return f"<img {light}><img {other.replace(f'/{file}', f'/dark/{file}')}>"


def _finish(app, exception):
    if exception is not None or app.builder.format != "html":
        return
    images = Path(app.outdir) / "_images"
    for table in (ROOT / "figures").glob("*.csv"):
        of_kind = table.stem.startswith(("figure_", "study_", "theory_", "train_"))
        if of_kind and (images / f"{table.stem}.png").exists():
            module = importlib.import_module(f"simulations.{table.stem}")
            drawn = results.picture(module, results.read(table.parent, table.stem))
            save_dark(drawn, f"{table.stem}.png", dpi=200)
    shutil.copytree(DRAWN, images / "dark", dirs_exist_ok=True)
    for page in Path(app.outdir).rglob("*.html"):
        page.write_text(IMAGE.sub(_both, page.read_text()))


def setup(app):
    """Put the two forms beside each other when the pages are written."""
    app.connect("build-finished", _finish)
    return {"parallel_read_safe": True}
