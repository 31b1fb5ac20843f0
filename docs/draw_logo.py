"""Draw the logo: bars of falling discounts beside a curve of gains.

`python docs/draw_logo.py` writes it.
"""

from pathlib import Path

LOGO = Path(__file__).parent / "_static" / "logo.svg"
BLUE, ORANGE = "#3B9BD8", "#E4782B"
"""Okabe and Ito's blue and vermilion, lightened so that both stand out on white and on black."""

DISCOUNTS = (1, 0.631, 0.5, 0.431)
"""Heights of the bars: 1 / log2(position + 1)."""

GAINS = ((4, 50), (20, 42), (36, 26), (56, 4))
"""Points of the curve, from the left: steep like 2^grade - 1."""


def logo() -> str:
    """Return the logo as SVG, 60 units square."""
    bars = [
        f'<rect x="{4 + 14 * place}" y="{56 - 52 * height:.1f}" '
        f'width="10" height="{52 * height:.1f}" rx="2"/>'
        for place, height in enumerate(DISCOUNTS)
    ]
    line = " ".join(f"{x},{y}" for x, y in GAINS)
    dots = [f'<circle cx="{x}" cy="{y}" r="4"/>' for x, y in GAINS]
    parts = [
        (
            '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 60 60" '
            'role="img" aria-label="dcglearn">'
        ),
        f'<g fill="{BLUE}">{"".join(bars)}</g>',
        (
            f'<polyline points="{line}" fill="none" stroke="{ORANGE}" '
            'stroke-width="4" stroke-linejoin="round"/>'
        ),
        f'<g fill="{ORANGE}">{"".join(dots)}</g>',
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    LOGO.write_text(logo())
