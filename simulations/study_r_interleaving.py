"""Study r: how near do DCGs learned from clicks on interleaved rankings come to the users' own?

The study compares gains and discounts.
"""

from functools import partial

import numpy as np

import dcglearn as dl
from simulations.claims import Claim, in_every_cell
from simulations.findings import headline
from simulations.run import STYLES, beside, draw_means, legend, main, repeated, share_scale, summary

STEM, REPEATS, PANELS, FIGSIZE = "study_r_interleaving", 20, 2, (8.0, 3.6)
ATTRACTION = np.array([0.05, 0.2, 0.4, 0.65, 0.9])
EXAMINATION = 1 / np.log2(np.arange(10) + 2)
HALF = len(EXAMINATION) // 2
"""Positions of each ranking that are sure to be shown."""

SETTINGS = {
    "team draft": {},
    "balanced": {"method": "balanced"},
    "stops after half of the clicks": {"stop": 0.5},
    "rankings much alike": {"spread": 1.0},
}
"""Users who click by position and the way of interleaving; the other settings differ in one thing
from the first.
"""

NEAR = 0.1
"""Largest error of a gain or discount that is called near."""


def truth():
    """Return the DCG of the expected clicks of users who never stop.

    Its gains go from 0 to 1.
    """
    return dl.DCG(ATTRACTION, EXAMINATION).normalised()


def trial(rng, setting, n):
    """Learn from the clicks of n impressions of one kind."""
    options = {"method": "team-draft", "spread": 3.0, "stop": 0.0, **SETTINGS[setting]}
    user = dl.simulate.ClickModel(ATTRACTION, EXAMINATION, stop=options.pop("stop"))
    impressions, judgements = dl.simulate.click_log(user, n, **options, random_state=rng)
    log = dl.io.preferences_from_interleaving(impressions, judgements, method=options["method"])
    learned = dl.DCGLearner().fit(log).dcg_.normalised()
    true = truth()
    gains = [
        ("gains", grade, learned.gains[grade], true.gains[grade])
        for grade in range(1, true.n_grades - 1)
    ]
    discounts = [
        ("discounts", k, learned.discounts[k - 1], true.discounts[k - 1])
        for k in range(2, true.depth + 1)
    ]
    return [
        {"curve": curve, "place": at, "value": one, "error": one - other}
        for curve, at, one, other in gains + discounts
    ]


def simulate(seed, repeats, quick, jobs):
    """Yield one record per setting, grade or position, and repeat.

    The ends, which are fixed at 0 or 1, have no record.
    """
    settings = [{"setting": name, "n": 400 if quick else 8000} for name in SETTINGS]
    yield from repeated(trial, settings, repeats=repeats, seed=seed, jobs=jobs)


def plot(table, axes):
    """Draw the errors of gains and discounts, a line per setting, around 0."""
    claimed, finding = list(claims(table)), "Discounts of the lower half are too small"
    near = headline(claimed, "Gains of grade 1 are near", "Gains", "gain of grade 1 is near")
    small = headline(claimed, finding, "Discounts", "are too small")
    labels = {"gains": ("grade", near), "discounts": ("position", small)}
    for ax, (curve, (x, title)) in zip(axes, labels.items(), strict=True):
        part = table.filter(curve=curve)
        for i, (style, name) in enumerate(zip(STYLES, SETTINGS, strict=False)):
            means = summary(part.filter(setting=name), ["place"], ["error"])
            draw_means(ax, means, "place", "error", style, beside(ax, i, len(SETTINGS)), label=name)
        ax.axhspan(-NEAR, NEAR, color="0.93", zorder=0)
        ax.axhline(0, color="0.2", lw=0.9, zorder=1)
        ax.set(xlabel=x, ylabel="learned minus true", title=title)
        ax.set_xticks(sorted(part["place"].unique()))
    share_scale(axes)
    legend(axes[0], f"shaded: nearer than {NEAR:g}", loc="lower left")


def claims(table):
    """Yield our claims."""
    claim = partial(Claim, table, "ours", "study r", value="error")
    upper, lower = tuple(range(2, HALF + 1)), tuple(range(HALF + 1, len(EXAMINATION) + 1))
    both, near = ("team draft", "balanced"), {"low": -NEAR, "high": NEAR}
    for name in both:
        gain = {"setting": name, "curve": "gains", "place": 1}
        yield claim(f"{name}: gain of grade 1 is near", rows=gain, **near)
        of_discounts = {"setting": name, "curve": "discounts"}
        each = [
            claim(f"{name}: discount {k} is near", rows={**of_discounts, "place": k}, **near)
            for k in upper
        ]
        yield in_every_cell(each)
    text = f"{' and '.join(both)}: discounts below {HALF} are too small"
    yield claim(text, rows={"setting": both, "curve": "discounts", "place": lower}, high=0)
    minus = {"setting": "team draft", "curve": "discounts", "place": 2}
    stopping = {**minus, "setting": "stops after half of the clicks"}
    yield claim("users who stop lower the discount at 2", rows=stopping, minus=minus, high=0)


if __name__ == "__main__":
    main(__name__)
