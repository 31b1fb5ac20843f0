"""The rule of verdicts, that every row of claims can come out each way, and the page."""

import re
from dataclasses import replace
from functools import cache
from itertools import combinations, product
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.stats import beta, binomtest
from scipy.stats import t as student

import dcglearn as dl
from simulations import __main__ as everything
from simulations import claims as rule
from simulations import results, run
from simulations import study_f_two_similarities as study_f
from simulations import study_h_learners as study_h
from simulations.claims import (
    CONDITION,
    CONSTRUCTED,
    FAILS,
    HOLDS,
    PROVED,
    UNDECIDED,
    Claim,
    interval,
    select,
    share_interval,
)
from tests.makers import refused
from tests.tables import table

ROOT = Path(__file__).parents[2]


CALIBRATION = ROOT / "figures" / "calibration.csv"


@cache
def committed():
    """Return all claims on the committed tables, by program."""
    return everything.all_claims(ROOT / "figures")


def all_rows():
    return [claim for claims in committed().values() for claim in claims]


def made_up(claim, targets, noise=0.0, n_repeats=4):
    """Return the claim, as one that can fail, on a table of repeats whose means, branch by branch,
    are targets.
    """
    rows_of = {}
    for (rows, minus), target in zip(claim.branches, targets, strict=True):
        base = 0.0
        if minus is not None:
            base = rows_of.setdefault(str(minus), (minus, 0.0, 0.0))[1]
        rows_of.setdefault(str(rows), (rows, base + target, noise))
    records = [
        {**dict(setting), "repeat": repeat, claim.value: mean + (noise if repeat % 2 else -noise)}
        for rows, mean, noise in rows_of.values()
        for setting in settings(rows)
        for repeat in range(n_repeats)
    ]
    return replace(
        claim, table=pl.DataFrame(records, infer_schema_length=None), outcomes=0, cannot_fail=""
    )


def settings(rows):
    """Return one list of (column, value) for each setting that rows select."""
    values = {name: value if isinstance(value, tuple) else (value,) for name, value in rows.items()}
    return product(*([(name, value) for value in several] for name, several in values.items()))


def targets(claim):
    """Return a mean well within the claim's bounds, and one well outside them."""
    width = 1.0 if np.isinf(claim.high - claim.low) else max(claim.high - claim.low, 0.5)
    if np.isinf(claim.high):
        return claim.low + width, claim.low - width
    if np.isinf(claim.low):
        return claim.high - width, claim.high + width
    return (claim.low + claim.high) / 2, claim.high + width


class TestRule:
    @table(
        ("low", "high", "ends", "expected"),
        [
            (0.0, np.inf, (0.1, 0.2), HOLDS),
            (0.0, np.inf, (-0.2, -0.1), FAILS),
            (0.0, np.inf, (-0.1, 0.2), UNDECIDED),
            (0.0, np.inf, (0.0, 0.0), FAILS),  # no difference at all is not a positive one
            (-np.inf, 0.0, (-0.2, -0.1), HOLDS),
            (-np.inf, 0.0, (0.1, 0.2), FAILS),
            (-np.inf, 0.0, (-0.1, 0.1), UNDECIDED),
            (-0.1, 0.1, (-0.05, 0.1), HOLDS),
            (-0.1, 0.1, (-0.05, 0.2), UNDECIDED),
            (-0.1, 0.1, (-0.2, 0.2), UNDECIDED),
            (-0.1, 0.1, (-0.3, -0.2), FAILS),
            (-0.1, 0.1, (0.2, 0.3), FAILS),
            (1.0, 1.0, (1.0, 1.0), HOLDS),
            (1.0, 1.0, (0.98, 1.0), UNDECIDED),
        ],
    )
    def test_one_interval_gives_one_verdict(self, low, high, ends, expected):
        assert rule.verdict(rule.Interval(sum(ends) / 2, *ends, repeats=20), low, high) == expected

    @table(
        ("low", "outcomes", "expected"),
        [
            (0.04, 1900, HOLDS),
            (0.05, 1900, HOLDS),
            (0.051, 1900, FAILS),
            (0.04, 1899, UNDECIDED),
            (0.0, 40, UNDECIDED),
            (0.06, 40, FAILS),
        ],
    )
    def test_a_level_holds_if_it_is_not_exceeded_and_two_errors_are_a_hundredth(
        self, low, outcomes, expected
    ):
        found = rule.Interval(low + 0.01, low, low + 0.02, repeats=20)
        assert rule.verdict_on_level(found, 0.05, outcomes) == expected

    def test_a_condition_needs_both_branches(self):
        assert rule.conditional(HOLDS, FAILS) == CONDITION
        assert rule.conditional(HOLDS, HOLDS) == HOLDS
        assert rule.conditional(HOLDS, UNDECIDED) == UNDECIDED
        assert {rule.conditional(first, HOLDS) for first in (FAILS, UNDECIDED)} == {
            FAILS,
            UNDECIDED,
        }

    def test_the_interval_covers_the_true_mean_in_95_percent(self):
        rng = np.random.default_rng(0)
        intervals = [interval(rng.normal(3.0, 2.0, 6)) for _ in range(2000)]
        assert np.mean([i.low <= 3.0 <= i.high for i in intervals]) == pytest.approx(
            0.95, abs=0.015
        )

    @table("values", [[1.0], [1.0, np.nan], [1.0, np.inf]])
    def test_values_without_an_interval_are_refused(self, values):
        refused("finite value in each of at least two repeats", interval, values)
        refused("finite value in each of at least two repeats", share_interval, values)

    @table(("hits", "repeats"), [(0, 20), (20, 20), (1, 20), (13, 20), (199, 200)])
    def test_shares_have_clopper_and_pearsons_interval(self, hits, repeats):
        found = share_interval([1] * hits + [0] * (repeats - hits))
        exact = binomtest(hits, repeats).proportion_ci(0.95, "exact")
        assert (found.low, found.high) == pytest.approx((exact.low, exact.high))
        assert found.mean == hits / repeats and 0 <= found.low < found.high <= 1

    @table("share", [0.02, 0.3])
    @table(("together", "apart"), [(1, 1), (5, 1), (1, 5)])
    def test_intervals_of_shares_cover_whether_outcomes_come_together_or_not(
        self, share, together, apart
    ):
        rng = np.random.default_rng(0)
        drawn = rng.random((300, 30, apart)) < share
        outcomes = together * apart
        intervals = [share_interval(repeats.mean(axis=1), outcomes) for repeats in drawn]
        covered = np.mean([i.low <= share <= i.high for i in intervals])
        assert covered > 0.93
        known = [
            i.high - i.low
            for i, repeats in zip(intervals, drawn, strict=True)
            if 0 < repeats.mean() < 1
        ]
        alone = share_interval([1] * round(30 * share) + [0] * (30 - round(30 * share)))
        if apart > 1 and share == 0.3:
            assert np.mean(known) < 0.6 * (alone.high - alone.low)

    def test_splits_of_the_same_queries_are_corrected_for(self):
        rng, covered = np.random.default_rng(0), {0.0: 0, 1 / 3: 0}
        for _ in range(
            400
        ):  # the value of 60 queries says how far 20 others lie above 0, in ten splits of them all
            queries = rng.normal(size=100)
            splits = [rng.permutation(100) for _ in range(10)]
            values = [
                queries[order[60:80]].mean() - 0.5 * queries[order[:60]].mean() for order in splits
            ]
            for overlap in covered:
                found = interval(values, overlap)
                covered[overlap] += found.low <= 0 <= found.high
        assert covered[0.0] < 0.9 * 400 < 0.93 * 400 < covered[1 / 3]

    def test_what_lies_in_0_to_1_has_no_interval_beyond_it(self):
        rows = [
            (r, kind, float(kind == "a") * (1 - 0.2 * (r == 0))) for r in range(4) for kind in "ab"
        ]
        table = pl.DataFrame(rows, schema=["repeat", "kind", "x"], orient="row")
        claim = Claim(
            table,
            "ours",
            "here",
            "a is above b by half",
            "x",
            {"kind": "a"},
            {"kind": "b"},
            low=0.5,
        )
        assert interval(claim.differences()).high > 1 == claim.measured[0].high
        assert replace(claim, minus=None).measured[0].high == 1

    def test_a_proved_claim_shows_where_its_run_contradicts_it(self):
        table = pl.DataFrame({"repeat": [0, 1, 2], "x": [1, 1, 1]})
        claim = Claim(
            table, "ours", "here", "x is 1, always", "x", {}, low=1.0, high=1.0, cannot_fail=PROVED
        )
        assert claim.verdict == PROVED
        wrong = replace(claim, table=table.with_columns(x=pl.Series([1, 0, 1])))
        assert wrong.verdict == FAILS

    def test_differences_are_paired_by_repeat_in_any_order(self):
        rows = [(r, kind, 10.0 * r + (kind == "a") * r) for r in (2, 0, 1) for kind in "ba"]
        table = pl.DataFrame(rows, schema=["repeat", "kind", "x"], orient="row")
        claim = Claim(
            table, "ours", "here", "a is above b", "x", {"kind": "a"}, {"kind": "b"}, low=0.0
        )
        np.testing.assert_allclose(claim.differences(), [0, 1, 2])
        both = replace(claim, rows={"kind": ("a", "b")}, minus=None)
        np.testing.assert_allclose(both.differences(), [0, 10.5, 21])

    def test_claims_that_cannot_fail_and_conditions_without_a_test_are_refused(self):
        table = pl.DataFrame({"repeat": [0, 1], "x": [0.0, 1.0]})
        claimed = (table, "ours", "here", "x is positive", "x", {})
        refused("no mean could contradict", Claim, *claimed)
        refused("needs words", Claim, *claimed, low=0.0, condition="if the sun shines")
        refused("needs words", Claim, *claimed, low=0.0, otherwise=({}, None))


class TestEveryRow:
    def test_every_row_can_come_out_each_way(self):
        for claim in all_rows():
            inside, outside = targets(claim)
            noise = 100.0 * (1 + abs(inside) + abs(outside))
            n = len(claim.branches)
            outcomes = {
                HOLDS: made_up(claim, [inside] * n),
                FAILS: made_up(claim, [outside] * n),
                UNDECIDED: made_up(claim, [inside] * n, noise),
            }
            if claim.level:  # few repeats cannot say that errors are as frequent as promised
                outcomes[HOLDS] = made_up(claim, [inside], n_repeats=2000)
                outcomes[UNDECIDED] = made_up(claim, [inside])
            if n == 2:
                outcomes[CONDITION] = made_up(claim, [inside, outside])
            for expected, made in outcomes.items():
                assert made.verdict == expected, f"{claim.place}: {claim.text}"

    def test_every_row_says_what_it_compares_on_all_repeats(self):
        for claim in all_rows():
            for branch, (rows, minus) in enumerate(claim.branches):
                assert claim.measured[branch].repeats == claim.table["repeat"].n_unique(), (
                    claim.text
                )
                if minus is not None:
                    table = claim.table.with_row_index("at")
                    assert not set(select(table, rows)["at"]) & set(select(table, minus)["at"]), (
                        claim.text
                    )
            assert claim.paper in rule.PAPERS
            assert len(claim.text) > 20

    def test_no_share_claims_more_than_it_covers(self):
        def outcomes_of(claim):
            values = [
                x
                for rows, _ in claim.branches
                for x in select(claim.table, rows)[claim.value].drop_nulls()
            ]
            return claim.branches[0][1] is None and set(values) <= {0, 1}

        shares = [
            claim
            for claim in all_rows()
            if claim.table[claim.value].dtype.is_integer() or claim.outcomes
        ]
        assert shares
        other = [claim for claim in all_rows() if outcomes_of(claim) and claim not in shares]
        # values that happen to be all 0 or all 1
        measures = ("bound", "NDCG", "what both lose", "loss against the other")
        assert [
            c.text
            for c in other
            if not c.cannot_fail and not any(name in c.text for name in measures)
        ] == []
        for claim in shares:
            for found in claim.measured:
                assert 0 <= found.low < found.high <= 1, claim.text

    def test_only_theorems_and_what_is_built_in_cannot_fail(self):
        sure = {claim.text: claim.cannot_fail for claim in all_rows() if claim.cannot_fail}
        assert set(sure.values()) == {PROVED, CONSTRUCTED} and len(sure) < 30
        assert all(claim.verdict == claim.cannot_fail for claim in all_rows() if claim.cannot_fail)
        assert all(claim.paper != "ours" for claim in all_rows() if claim.cannot_fail)

    def test_no_comparison_has_two_rows(self):
        texts = [claim.text for claim in all_rows()]
        assert len(set(texts)) == len(texts)

    def test_no_number_is_counted_twice(self):
        n_compared = 0
        for claims in committed().values():
            tested = [(claim, claim.differences()) for claim in claims if not claim.cannot_fail]
            for (one, values), (other, others) in combinations(tested, 2):
                if len(values) == len(others) and np.allclose(abs(values), abs(others), atol=1e-9):
                    assert not counted_twice(one, other), (one.text, other.text)
                n_compared += 1
        assert n_compared > 500

    def test_a_number_and_its_negative_are_found_as_one(self):
        table = pl.DataFrame({"repeat": [0, 1, 2], "x": [0.1, 0.3, 0.2]})
        table = table.with_columns(y=-pl.col("x"), z=pl.col("x") ** 2)
        gain, loss, other = (
            Claim(table, "ours", "here", f"{value} is positive", value, {}, low=0.0)
            for value in "xyz"
        )
        assert counted_twice(gain, loss) and not counted_twice(gain, other)
        assert not counted_twice(gain, replace(loss, cannot_fail=PROVED))
        assert not counted_twice(gain, replace(gain, low=0.5))


def counted_twice(one, other):
    """Return whether two tested claims are of the same number, or of it and its negative.

    They are if their values come from the same rows of the table. The worst of several settings
    may also be a claim of its own, and one number may have bounds in one direction twice.
    """
    if one.cannot_fail or other.cannot_fail or "worst of" in one.text + other.text:
        return False
    values = [claim.differences() for claim in (one, other)]
    shared = [name for name in one.table.columns if name in other.table.columns]
    rows = [
        pl.concat(select(claim.table, side) for side in claim.branches[0] if side is not None)
        .select(shared)
        .sort("repeat", maintain_order=True)
        for claim in (one, other)
    ]
    if not rows[0].equals(rows[1]):
        return False
    if np.allclose(*values, rtol=0, atol=1e-9):
        return (one.low, one.high) == (other.low, other.high)
    return np.allclose(values[0], -values[1], rtol=0, atol=1e-9)


def recounted(claim, branch):
    """Return the value of each repeat of a claim's branch, and all of the values, counted by
    hand."""
    parts = []
    for rows in claim.branches[branch]:
        if rows is None:
            continue
        of_repeat, chosen = {}, claim.table
        for name, value in rows.items():
            chosen = chosen.filter(
                pl.col(name).is_in([*value] if isinstance(value, tuple) else [value])
            )
        for repeat, value in chosen.select("repeat", claim.value).drop_nulls().iter_rows():
            of_repeat.setdefault(repeat, []).append(value)
        parts.append(of_repeat)
    first = {repeat: sum(values) / len(values) for repeat, values in parts[0].items()}
    other = (
        {repeat: sum(values) / len(values) for repeat, values in parts[1].items()}
        if len(parts) > 1
        else {}
    )
    return [first[repeat] - other.get(repeat, 0.0) for repeat in first], [
        x for part in parts for x in part.values()
    ]


def interval_by_hand(claim, branch):
    """Return mean, low and high of a claim's branch by the formulas of the page."""
    values, all_values = recounted(claim, branch)
    n, mean = len(values), sum(values) / len(values)
    variance = sum((x - mean) ** 2 for x in values) / (n - 1)
    outcomes = claim.outcomes or int(claim.table[claim.value].dtype.is_integer())
    if outcomes and claim.branches[branch][1] is None:
        outcomes *= sum(len(some) for some in all_values) / n
        count = float(n)
        if outcomes > 1 and variance > 0:
            wider = student.ppf(0.975, n * outcomes - 1) / student.ppf(0.975, n - 1)
            count = min(mean * (1 - mean) * n / variance * wider**2, n * outcomes)
        hits = mean * count
        low = 0.0 if hits == 0 else beta.ppf(0.025, hits, count - hits + 1)
        return mean, low, 1.0 if hits == count else beta.ppf(0.975, hits + 1, count - hits)
    reach = student.ppf(0.975, n - 1) * (variance / n) ** 0.5
    known = claim.table[claim.value].drop_nulls()
    least, most = -np.inf, np.inf
    if known.min() >= 0 and known.max() <= 1:
        least, most = 0.0 if claim.branches[branch][1] is None else -1.0, 1.0
    return mean, max(mean - reach, least), min(mean + reach, most)


def verdict_by_hand(low, high, above, below, outcomes=None):
    """Return the verdict on an interval; 1e-12 is rounding. Of a level, `outcomes` are counted."""
    if outcomes is not None:
        precise = 2 * np.sqrt(below * (1 - below) / outcomes) <= 0.01
        return FAILS if low > below else HOLDS if precise else UNDECIDED
    slack = 1e-12 if np.isfinite(above) and np.isfinite(below) else -1e-12
    if low >= above - slack and high <= below + slack:
        return HOLDS
    return FAILS if high < above - slack or low > below + slack else UNDECIDED


def test_every_verdict_recounted_by_hand_from_the_tables_is_that_of_claims_csv():
    """Every program's table is read, and every row of claims.csv recomputed, without the code of
    the rule.
    """
    rows = pl.read_csv(ROOT / "figures" / "claims.csv").to_dicts()
    rows = [row for row in rows if row["program"] != "calibration"]
    listed = {(row["program"], row["claim"], row["branch"]): row for row in rows}
    assert len(listed) == len(rows)
    for stem, claims in committed().items():
        for claim in claims:
            name = f"{claim.text}, {claim.condition}" if claim.condition else claim.text
            by_hand = []
            for branch, place in enumerate(("", "elsewhere")[: len(claim.branches)]):
                row = listed.pop((stem, name, place))
                assert row["must_be"] == claim.bounds
                found = interval_by_hand(claim, branch)
                assert found == pytest.approx(
                    (row["mean"], row["low"], row["high"]), rel=2e-5, abs=1e-9
                ), name
                n = None
                if claim.level:
                    n = len(select(claim.table, claim.rows)[claim.value].drop_nulls())
                    n *= max(claim.outcomes, 1)
                by_hand.append(verdict_by_hand(*found[1:], claim.low, claim.high, n))
                assert row["verdict"] == by_hand[1] if branch else True, name
                if not branch:
                    written = row["verdict"]
            reached = by_hand[0]
            if claim.condition and reached == HOLDS:
                reached = {FAILS: CONDITION}.get(by_hand[1], by_hand[1])
            if written in (PROVED, CONSTRUCTED):
                assert claim.low - 1e-12 <= interval_by_hand(claim, 0)[0] <= claim.high + 1e-12
            else:
                assert written == reached, name
    assert listed == {}


class TestPage:
    def test_page_and_table_are_those_of_the_committed_tables(self):
        table = everything.claims_table(ROOT / "figures")
        assert (ROOT / "figures" / "claims.csv").read_text() == table.write_csv()
        page = (ROOT / "docs" / "claims.md").read_text()
        assert rule.renewed(page, table) == page

    def test_the_page_has_a_row_a_claim_and_is_short(self):
        assert list(committed()) == [results.stem(module) for module in everything.programs()]
        text = (ROOT / "docs" / "claims.md").read_text()
        assert len(re.findall(r"\S*\w\S*", text)) <= 6200  # not the rules of tables
        rows = [line for line in text.splitlines() if line.startswith("| [")]
        assert len(rows) == len(all_rows()) + len(rule.of_calibration(CALIBRATION))
        for row in rows:
            assert row.count("|") == 6
            number = r"-?[\d.]+(?:e[-+]\d+)?"
            interval_of_all = (
                rf"{number} (\({number}, {number}\)|in all \d+ repeats)(; elsewhere|$)"
            )
            assert re.match(interval_of_all, row.split("|")[4].strip()), row
        for target in set(re.findall(r"\]\(([^)#]+)[^)]*\)", text)):
            assert (ROOT / "docs" / target).exists(), target

    def test_the_page_counts_each_verdict_and_renewing_it_keeps_the_rest(self):
        table = pl.DataFrame(
            [
                ("zhou", "section 1", "a", "x", "", ">0", 1.0, 0.5, 1.5, 9, CONDITION),
                ("zhou", "section 1", "a", "x", "elsewhere", ">0", -1.0, -1.5, -0.5, 9, FAILS),
                ("ours", "study b", "b", "y", "", "<0", -1.0, -1.5, 0.5, 9, UNDECIDED),
                ("qin", "theorem 1", "c", "z", "", "=1", 1.0, 1.0, 1.0, 9, PROVED),
            ],
            schema=pl.read_csv(ROOT / "figures" / "claims.csv").columns,
            orient="row",
        )
        page = rule.renewed("before\n<!-- claims -->\nformer rows\n<!-- end -->\nafter\n", table)
        assert page.startswith("before\n<!-- claims -->\nOf 2 claims") and "former" not in page
        assert page.endswith("<!-- end -->\nafter\n")
        assert "holds 0, holds with a condition 1, does not hold 0, undecided 1. 1 more" in page
        assert "1.0 (0.5, 1.5); elsewhere -1.0 (-1.5, -0.5) | **holds with a condition** |" in page
        assert "[Zhou §1](../figures/a.png)" in page and "[study b](../figures/b.png)" in page

    def test_a_claim_prints_the_numbers_of_both_branches(self):
        claim = next(claim for claim in all_rows() if claim.condition and not claim.cannot_fail)
        assert str(claim).count("(") >= 2
        assert claim.condition in str(claim)
        assert "; elsewhere " in str(claim)


MACHADO = {
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
"""Colours as they are seen with each deficiency, on linear RGB (Machado, Oliveira and Fernandes
2009).
"""


def as_seen(colour, deficiency):
    """Return a colour's CIE Lab coordinates as seen with a deficiency."""
    rgb = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    seen = np.clip(np.array(MACHADO[deficiency]) @ linear, 0, 1)
    xyz = (
        np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
        @ seen
    )
    f = np.cbrt(xyz / [0.9505, 1.0, 1.089])
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


class TestPictures:
    @table("deficiency", MACHADO)
    @table("looks", [run.STYLES, run.CLEAR])
    def test_colours_differ_for_every_kind_of_colour_vision(self, looks, deficiency):
        seen = [as_seen(look["color"], deficiency) for look in looks]
        assert (
            min(np.linalg.norm(a - b) for a, b in combinations(seen, 2)) > 15
        )  # 2.3 is just noticeable
        assert len({look["marker"] for look in looks}) == len(looks)

    def test_bars_are_the_intervals_of_the_verdicts(self):
        beginning, column = "precision is close to .95 at 200 pairs", "n"  # a mean of D1 and D2
        claim = next(claim for claim in all_rows() if claim.text.startswith(beginning))
        others = {name: value for name, value in claim.rows.items() if name != column}
        means = run.summary(select(claim.table, others), [column], [claim.value])
        row = means.filter(pl.col(column) == claim.rows[column]).row(0, named=True)
        found = claim.measured[0]
        ends = (row[claim.value], row[f"{claim.value}_low"], row[f"{claim.value}_high"])
        assert ends == pytest.approx((found.mean, found.low, found.high))

    def test_differences_are_taken_from_the_same_repeat(self):
        rows = [
            (r, n, kind, r + n + (kind == "b") * r) for r in (0, 1) for n in (5, 6) for kind in "ab"
        ]
        table = pl.DataFrame(rows, schema=["repeat", "n", "kind", "x"], orient="row")
        against = run.against(table, "x", "kind", "a", ["n"])
        assert against["difference"].to_list() == [0, 0, 1, 1]
        assert set(against["kind"]) == {"b"}


README_ROWS = {
    "beats the paper's QP, none wrong": (
        "`DCGLearner` beats the paper's QP, 20 to 200 pairs, clean",
        "`DCGLearner` beats the QP, another truth, clean",
    ),
    "beats the paper's QP, 20% wrong": (
        "`DCGLearner` beats the paper's QP, 20 to 200 pairs, 20% flipped",
        "`DCGLearner` beats the QP, another truth, 20% flipped",
    ),
    "against the best textbook, 20% wrong": tuple(
        f"{which}: `DCGLearner` beats the best textbook alone, 20 to 200 pairs, 20% flipped"
        for which in ("D1 and D2", "another truth")
    ),
}
"""Rows of the README's table, and the claims whose numbers they show."""


def test_the_readme_shows_the_figures_of_the_claims_page():
    table = pl.read_csv(ROOT / "figures" / "claims.csv")
    text = (ROOT / "README.md").read_text().partition("## How sure")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (.*?) \| ([-+][.\d]+ .*) \| ([-+][.\d]+ .*) \|$", text, re.MULTILINE)
    assert [row[0] for row in rows] == [*README_ROWS]
    for name, *cells in rows:
        for cell, claim in zip(cells, README_ROWS[name], strict=True):
            (found,) = table.filter(program="study_h_learners", claim=claim).to_dicts()
            assert found["verdict"] == HOLDS or name.startswith("against"), claim
            mean, low, high = (
                f"{found[key]:.3f}".replace("0.", ".", 1) for key in ("mean", "low", "high")
            )
            assert cell == f"{mean if mean[0] == '-' else '+' + mean} ({low} to {high})"
    bands = pl.read_csv(CALIBRATION).filter(
        pl.col("truth") != "all",
        pl.col("n") != "all",
        check="bands",
        measure="90% bands cover: share of gains and discounts",
    )
    differ = pl.col("truth") == "raters who differ"
    parts = [bands.filter(part)["mean"] for part in (~differ, differ)]
    assert [len(part) for part in parts] == [24, 4]
    most, some = (f"{part.min():.0%} to {part.max():.0%}" for part in parts)
    assert f"in {most} of logs, in {some} where raters differ in taste" in text


def test_the_readme_says_for_which_truths_its_numbers_are():
    text = (ROOT / "README.md").read_text()
    table = pl.read_csv(ROOT / "figures" / "study_h_learners.csv", comment_prefix="#")
    kinds = (("D1", "D2"), ("another",))
    few = table.filter(pl.col("n").is_between(20, 200)).pivot(
        "learner", index=["truth", "n", "flip_rate", "repeat"], values="precision"
    )
    for noise, rate in (("none wrong", 0.0), ("20% wrong", 0.2)):
        parts = [few.filter(pl.col("truth").is_in(truths), flip_rate=rate) for truths in kinds]
        leads = [
            f"{(part['direct'] - part['QP']).mean():+.3f}".replace("0.", ".", 1) for part in parts
        ]
        (shown,) = re.findall(rf"^\| beats the paper's QP, {noise} \|(.*)$", text, re.MULTILINE)
        assert re.findall(r"[-+][.\d]+", shown) == leads
    after = table.filter(n=40, flip_rate=0.1, learner="direct")
    shares = [
        f"{after.filter(pl.col('truth').is_in(truths))['precision'].mean():.1%}" for truths in kinds
    ]
    (sentence,) = re.findall(r"After 40 judgements, a tenth wrong.*", text)
    assert re.findall(r"[\d.]+%", sentence) == shares


def test_the_gain_over_people_is_over_the_people_of_the_same_log():
    table = pl.read_csv(ROOT / "figures" / "study_s_proxy.csv", comment_prefix="#").filter(
        n_machine=2000
    )
    claims = [
        claim for claim in committed()["study_s_proxy"] if "gain over people alone" in claim.text
    ]
    assert len(claims) == 4
    left_open = [claim.rows for claim in claims if claim.verdict != HOLDS]
    assert left_open == [{"n": 100, "n_machine": 2000, "kind": "near"}]
    for claim in claims:
        part = table.filter(kind=claim.rows["kind"], n=claim.rows["n"])
        assert claim.measured[0].mean == pytest.approx(
            (part["both"] - part["people"]).mean(), abs=1e-12
        )


@pytest.mark.long
def test_bands_of_discounts_unlike_log2_miss_them_no_more_than_one_in_seven_times():
    rng, above, below = np.random.default_rng(4926), 0, 0
    for _ in range(40):
        true = study_h.truth_of("another", rng).normalised()
        log = dl.simulate.preference_pairs(true, 200, lists="free", n_flips=20, random_state=rng)
        low, high = dl.bands(log, random_state=int(rng.integers(2**31))).discount_band[:, 1:5]
        above += (true.discounts[1:5] > high).sum()
        below += (true.discounts[1:5] < low).sum()
    assert above + below <= 40 * 4 / 7


@table("truth", ["D1", "D2"])
def test_f_similarity_stalls_at_the_cosine_of_shifted_discounts(truth):
    true = dl.simulate.ground_truth(truth)
    log = dl.simulate.preference_pairs(true, 20_000, random_state=0)
    learner = dl.UtilityLearner(C=100.0).fit(log)
    weights = learner.utility_.weights
    assert run.recovery(learner, true, log)["similarity"] == pytest.approx(
        study_f.similarity_limit(truth), abs=0.005
    )
    assert np.ptp(weights[-1]) < 1e-3 * np.ptp(
        weights[0]
    )  # the last position has equal weights for all grades
    unconstrained = dl.UtilityLearner(C=100.0, monotone=False).fit(log)
    assert (
        run.recovery(unconstrained, true, log)["similarity"] < 0.5
    )  # all constants are zero, which is another limit


def test_b_flips_shift_the_solution_for_d2_more_than_for_d1():
    similarity = {}
    for truth in ("D1", "D2"):
        true = dl.simulate.ground_truth(truth)
        test = dl.simulate.preference_pairs(true, 5000, random_state=1)
        log = dl.simulate.preference_pairs(true, 100_000, n_flips=10_000, random_state=0)
        similarity[truth] = run.recovery(dl.UtilityLearner(C=1.0).fit(log), true, test)[
            "gauge_free"
        ]
    assert similarity["D1"] > 0.999
    assert 0.98 < similarity["D2"] < 0.996
