"""Small checks of formulas by Qin et al., Chapelle and Wu, and Wu et al.

These are theorem 1, table 1 and equation 17 of Qin et al., sections 4.3 and 5.1 of Chapelle and
Wu, and equation 11 of Wu et al.
"""

from functools import partial

import numpy as np
from scipy.special import expit

import dcglearn as dl
from simulations.claims import CONSTRUCTED, FAILS, PROVED, Claim
from simulations.findings import headline
from simulations.run import STYLES, draw_means, legend, main, repeated, summary

STEM, REPEATS, PANELS, FIGSIZE = "theory_smoothing", 100, 2, (8.0, 3.6)
EXAMPLE = {4.20074: 2.00118, 3.12378: 4.0, 4.40918: 1.0, 1.55258: 5.0, 4.1333: 2.99882}
"""Scores of table 1, and the positions printed for alpha = 100."""

SETTINGS = ((5, 100.0), (1000, 200.0))
"""Numbers of documents and alphas of the text around equation 21."""

SHIFTS, LENGTH = np.linspace(0, 1, 201), 20
"""Values of gamma in equation 17, and the positions that are tried."""


def positions(scores):
    """Return the position of each document, the best 1, shape (n,)."""
    return np.argsort(np.argsort(-scores)) + 1.0


def theorem_1(rng):
    """Yield the share of random scores' positions that are within the bound of equation 19.

    The largest bound by equation 20 and the largest error follow.
    """
    for n, alpha in SETTINGS:
        scores = rng.normal(size=n)
        error = np.abs(dl.losses.soft_ranks(scores, alpha) - positions(scores))
        order = np.argsort(scores)
        gaps = np.diff(scores[order])
        nearest = np.empty(n)
        nearest[order] = np.minimum(np.append(np.inf, gaps), np.append(gaps, np.inf))
        bound = (n - 1) * expit(-alpha * nearest)
        yield {"what": f"within, n = {n}", "value": float(np.mean(error <= bound + 1e-9))}
        yield {"what": f"bound, n = {n}", "value": float(bound.max())}
        yield {"what": f"error, n = {n}", "value": float(error.max())}


def best_shift(beta, k, shown):
    """Return the gamma of equation 17 with the least largest error over some positions."""
    wrong = np.abs((shown <= k)[:, None] - expit(beta * (k + SHIFTS - shown[:, None]))).max(axis=0)
    return float(SHIFTS[np.argmin(wrong)])


def trial(rng, quick):
    """Return the records of one repeat."""
    table_1 = np.abs(
        dl.losses.soft_ranks(np.array([*EXAMPLE]), 100.0) - np.array([*EXAMPLE.values()])
    ).max()
    beta, k = float(10 ** rng.uniform(0, 1)), int(rng.integers(1, LENGTH))
    whole, between = np.arange(1.0, LENGTH + 1), np.linspace(1, LENGTH, 100 * LENGTH)
    grades, scores = rng.integers(0, 3, LENGTH), rng.normal(size=LENGTH)
    grades[0] = 2
    sigma, dcg = float(2.0 ** rng.uniform(-12, 0)), dl.DCG.standard(3, LENGTH)
    value, slope = dl.losses.SmoothNDCG(dcg, sigma=sigma)(scores, grades)
    gaps = np.diff(np.sort(scores))
    exact = dcg.score(grades[np.argsort(-scores)]) / dcg.score(np.sort(grades)[::-1])
    bound = LENGTH * (LENGTH - 1) * np.exp(-(gaps.min() ** 2) / sigma)
    step, pair = 1e-6, rng.normal(size=2)
    slopes = [
        (dl.losses.soft_ranks(pair + d, 1.0) - dl.losses.soft_ranks(pair - d, 1.0))
        for d in step * np.eye(2)
    ]
    return [
        *theorem_1(rng),
        {"what": "table 1", "value": float(table_1)},
        {"what": "shift, whole", "value": best_shift(beta, k, whole)},
        {"what": "shift, between", "value": best_shift(beta, k, between)},
        {
            "what": "sum of slopes",
            "value": float(abs(slope.sum()) / max(np.abs(slope).max(), 1e-30)),
        },
        {"what": "within 5.1", "value": float(abs(value - exact) <= bound + 1e-9)},
        {
            "what": "equation 11",
            "value": float(max(abs(both.sum()) for both in slopes) / (2 * step)),
        },
    ]


def simulate(seed, repeats, quick, jobs):
    """Yield the records of each repeat."""
    yield from repeated(trial, [{"quick": quick}], repeats=repeats, seed=seed, jobs=jobs)


def plot(table, axes):
    """Draw error and bound of positions, and the shift of equation 17."""
    left, right = axes
    for i, (style, name) in enumerate(zip(STYLES, ("bound", "error"), strict=False)):
        parts = table.filter(table["what"].is_in([f"{name}, n = {n}" for n, _ in SETTINGS]))
        means = summary(parts, ["what"], ["value"]).with_columns(
            x=np.array([1.0, 0.0]) + 0.1 * (i - 0.5)
        )
        draw_means(
            left,
            means,
            "x",
            "value",
            {**style, "linestyle": "none"},
            label=f"largest {name} of a position",
        )
    left.set_xticks([0, 1], [f"n = {n},\n$\\alpha = {alpha:g}$" for n, alpha in SETTINGS])
    left.set(yscale="log", ylabel="positions", xlim=(-0.5, 1.5))
    claimed, part = list(claims(table)), "bound is as small as the example's"
    finding = "Random scores are closer than the\nexample's"
    words = headline(claimed, finding, "Positions of random\nscores", part, verdicts=(FAILS,))
    left.set_title(f"{words} (Qin et al., equation 21)")
    legend(left)
    bins = np.arange(-0.025, 1.05, 0.05)
    for style, (what, label) in zip(
        STYLES, {"whole": "whole", "between": "any number"}.items(), strict=False
    ):
        right.hist(
            table.filter(what=f"shift, {what}")["value"],
            bins,
            color=style["color"],
            alpha=0.6,
            label=label,
        )
    right.set(xlabel="best $\\gamma$", ylabel="repeats")
    finding, part = "1/2 is best of whole positions", "1/2 is the best shift"
    right.set_title(headline(claimed, finding, "The best shift", part) + " (equation 17)")
    right.legend(title="positions", fontsize=8, title_fontsize=8)


def claims(table):
    """Yield the claims of the three papers."""
    claim = partial(Claim, table, value="value")
    qin, chapelle, wu = (partial(claim, paper) for paper in ("qin", "chapelle-wu", "wu"))
    within = {"what": tuple(f"within, n = {n}" for n, _ in SETTINGS)}
    text = "random scores: share of positions within the bound of equation 19"
    yield qin("theorem 1", text, rows=within, low=1.0, high=1.0, cannot_fail=PROVED)
    text = "the example's approximate positions are those printed: largest distance"
    yield qin("table 1", text, rows={"what": "table 1"}, high=6e-6, cannot_fail=CONSTRUCTED)
    for (n, alpha), printed in zip(SETTINGS, (0.00471, 0.001386), strict=True):
        text = f"{n:,} random scores, alpha = {alpha:g}: the bound is as small as the example's"
        yield claim(
            "ours", "Qin, equation 21", text, rows={"what": f"bound, n = {n}"}, high=printed
        )
    text = "1/2 is the best shift of a soft cut-off"
    whole, between = ({"what": f"shift, {which}"} for which in ("whole", "between"))
    words = {"condition": "if positions are whole, not any numbers", "otherwise": (between, None)}
    yield qin(
        "equation 17", text, rows=whole, low=0.49, high=0.51, **words, cannot_fail=CONSTRUCTED
    )
    text = "the slopes of a list's documents add to 0: absolute sum over the largest"
    yield chapelle(
        "section 4.3", text, rows={"what": "sum of slopes"}, high=1e-6, cannot_fail=PROVED
    )
    text = "the error is within m (m - 1) exp(-mu / sigma): share of lists"
    yield chapelle(
        "section 5.1", text, rows={"what": "within 5.1"}, low=1.0, high=1.0, cannot_fail=PROVED
    )
    text = "SDCG's two documents of a pair move each other's rank oppositely: sum of the slopes"
    yield wu(
        "equation 11", text, rows={"what": "equation 11"}, low=-1e-6, high=1e-6, cannot_fail=PROVED
    )


if __name__ == "__main__":
    main(__name__)
