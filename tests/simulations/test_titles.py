"""Titles of pictures: a finding stands only where the rows of claims.csv bear it out."""

import importlib
import re
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from simulations import results, run
from simulations.claims import AGREES, FAILS, HOLDS, UNDECIDED, Claim, headline
from tests.tables import each

ROOT = Path(__file__).parents[2]
PROGRAMS = sorted(
    path.stem
    for path in (ROOT / "simulations").glob("*.py")
    if path.stem.startswith(("figure_", "study_", "theory_", "train_"))
)
OF_TREES = ("train_trees",)
"""Programs that need LightGBM."""
STATES = re.compile(
    r"\b(is|are|do|does|beats?|helps?|falls?|grows?|rises?|pays?|keeps?|costs?|teach(es)?"
    r"|reach(es)?|nears?|stalls?|stays?|moves?|arrives?|exceeds?|makes?|needs?|tells?"
    r"|agrees?|disagrees?|overfits?|detects?|passe?s?|fails?|holds|harms?)\b"
)
"""Verbs of sentences, which only findings have."""
COUNTED = re.compile(r"(?:: ahead of (\d) of 5|, gradients: (\d) of 5 leads hold)")


@cache
def rows():
    """Return the verdicts of claims.csv, one row a claim."""
    return pl.read_csv(ROOT / "figures" / "claims.csv").filter(pl.col("branch").fill_null("") == "")


def drawn(name, monkeypatch):
    """Return the titles of a program's panels, and the calls of `headline` that made them."""
    module, calls = importlib.import_module(f"simulations.{name}"), []

    def spy(claims, finding, neutral, *rests_on, verdicts=AGREES):
        title = headline(claims, finding, neutral, *rests_on, verdicts=verdicts)
        calls.append((title, finding, rests_on, verdicts))
        return title

    monkeypatch.setattr(results, "headline", spy)
    figure = results.picture(module, results.read(ROOT / "figures", name))
    titles = [ax.get_title(loc="left") for ax in figure.axes]
    return [*titles, figure.get_suptitle()], calls


@pytest.mark.filterwarnings("ignore:No artists with labels")
@pytest.mark.parametrize("trees", [False, True])
def test_a_title_states_a_finding_only_if_claims_csv_bears_it_out(trees, monkeypatch):
    if trees:
        pytest.importorskip("lightgbm")
    names = [name for name in PROGRAMS if (name in OF_TREES) == trees]
    each(lambda name: bears_out(name, monkeypatch), [(name,) for name in names])


def bears_out(name, monkeypatch):
    titles, calls = drawn(name, monkeypatch)
    own = rows().filter(program=name)
    for title, finding, rests_on, verdicts in calls:
        named = [own.filter(pl.col("claim").str.contains(part, literal=True)) for part in rests_on]
        assert named and all(len(part) for part in named), f"no row says {rests_on}"
        borne_out = all(part["verdict"].is_in(verdicts).all() for part in named)
        assert (title == finding) == borne_out, title
    findings = [title for title, finding, *_ in calls if title == finding]
    for title in titles:
        stated = any(finding in title for finding in findings)
        counted = "How often" in title or COUNTED.search(title)
        assert stated or counted or not STATES.search(title), title


@pytest.mark.parametrize(
    ("name", "kind"), [("train_metric_matrix", "learned DCG beats"), ("train_trees", ", gradients")]
)
def test_titles_count_the_rows_that_hold(name, kind, monkeypatch):
    if name == "train_trees":
        pytest.importorskip("lightgbm")
    titles, _ = drawn(name, monkeypatch)
    counted = [int(next(filter(None, m.groups()))) for m in map(COUNTED.search, titles) if m]
    own = rows().filter(pl.col("claim").str.contains(kind, literal=True), program=name)
    each = own["verdict"].to_numpy().reshape(len(counted), -1)
    assert counted == (each == HOLDS).sum(axis=1).tolist()


def test_a_headline_is_neutral_unless_all_rows_named_have_the_verdict():
    table = pl.DataFrame({"repeat": [0, 1, 2], "x": [1.0, 1.1, 0.9]})
    claims = [
        Claim(table, "ours", "here", text, "x", {}, low=low)
        for text, low in (("one row", 0.0), ("one more row", 2.0), ("an open row", 1.0))
    ]
    assert [claim.verdict for claim in claims] == [HOLDS, FAILS, UNDECIDED]
    for parts, verdicts, states in (
        (["one row"], AGREES, True),
        (["one"], AGREES, False),
        (["open"], AGREES, False),
        (["more"], (FAILS,), True),
        (["one row", "more"], AGREES, False),
        (["a row that is not there"], AGREES, False),
    ):
        title = headline(claims, "finding", "neutral", *parts, verdicts=verdicts)
        assert title == ("finding" if states else "neutral"), parts


def test_lines_stand_beside_each_other_and_limits_stay():
    from matplotlib.figure import Figure

    panels, ends = Figure().subplots(1, 2), []
    table = pl.DataFrame({"n": [10, 500] * 4, "repeat": [0, 0, 1, 1] * 2, "y": range(8)})
    table = table.with_columns(line=pl.Series(["a"] * 4 + ["b"] * 4))
    for ax, apart in zip(panels, (0.0, run.APART), strict=True):
        run.curves(table, ax, "n", "y", lines="line", apart=apart)
        ax.set_xscale("log")
        at = [line.lines[0].get_transform().transform((10, 1))[0] for line in ax.containers]
        ends.append((ax.get_xlim(), at[1] - at[0]))
    assert ends[0][0] == ends[1][0]
    np.testing.assert_allclose([ends[0][1], ends[1][1]], [0, run.APART / 72 * 100], atol=1e-9)
