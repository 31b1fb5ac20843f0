"""Every sentence of an audit is true of some logs and comes out the other way on others."""

from dataclasses import replace

import numpy as np
import pytest

from dcglearn.audits.inputs import Inputs
from dcglearn.audits.of_decisions import next_section, systems_parts
from dcglearn.audits.of_fit import curves_section
from dcglearn.audits.of_log import log_parts
from dcglearn.audits.of_metric import disagreement_section, disputed, held_out_parts
from dcglearn.audits.of_metric import verdict_section as verdict_of
from dcglearn.audits.section import Section
from dcglearn.foundation.validation import UpsideDownError
from dcglearn.learning.weighing import weighed
from dcglearn.metrics.dcg import DCG
from dcglearn.reading.preferences import Preferences
from dcglearn.trust import band_draws
from dcglearn.trust.coins import ASSUMED, NO_SIGNAL
from tests.audits.makers import FLAT, STEEP, judged, known_of

RATERS = np.array(["ann", "bob", "cy", "di", "ed"])


@pytest.fixture(scope="module")
def steep():
    """What is known of a clean log whose metric is far from the one in use; five raters."""
    log = judged(300, rater=np.tile(RATERS, 60))
    known = known_of(log)
    return replace(known, bands=band_draws.bands(log, known.fit, n_resamples=20), no_bands="")


def verdict_section(known):
    return verdict_of(known, [], Section(""))


def log_section(known):
    return log_parts(known)["log"]


def said(finding):
    return " ".join([finding.sentence, *finding.notes, *getattr(finding, "asks", ())])


def turned(log, flip, **columns):
    """Return a log with some verdicts turned round."""
    sides = (log.preferred, log.other)
    return Preferences(
        *(np.where(flip[:, None], b, a) for a, b in (sides, sides[::-1])), n_grades=4, **columns
    )


def test_a_clean_log_has_nothing_that_stands_out(steep):
    finding = log_section(steep)
    assert (
        finding.sentence
        == "300 pairs, 5 raters; 4 positions, 4 grades: nothing in them stands out; left out: "
        "2 pairs of equal lists"
    )
    assert "no rater is shown to decide too much: without" in said(finding)
    assert "pairs judged twice: 0" in said(finding)
    assert "add the column swapped" in said(finding)
    assert "add the column rater" not in said(finding)
    assert "errs far more often" not in said(finding)
    bare = log_section(replace(steep, log=steep.log.changed(rater=None)))
    assert "add the column rater" in said(bare)
    assert [*log_parts(steep)] == ["log", "raters"]


def test_a_rater_who_errs_is_named():
    rater = np.repeat(RATERS, 60)
    flip = (rater == "cy") & (np.random.default_rng(0).random(300) < 0.45)
    known = known_of(turned(judged(300), flip, rater=rater))
    finding = log_section(known)
    assert "one rater errs far more often: cy" in finding.sentence
    assert log_parts(known)["raters"].table["error"][2] > 0.25


def test_a_rater_who_always_names_one_side_stands_out_as_left_out():
    rng = np.random.default_rng(0)
    rater = np.repeat(RATERS, 60)
    finding = log_section(
        known_of(judged(300, rater=rater, swapped=(rng.random(300) < 0.5) & (rater != "cy")))
    )
    assert "verdicts are left out: cy always names one side" in finding.sentence
    fair = log_section(known_of(judged(300, rater=rater, swapped=rng.random(300) < 0.5)))
    assert "verdicts are left out" not in said(fair)


def test_a_rater_who_decides_too_much_is_named():
    log, odd = judged(100, seed=1), judged(100, FLAT, seed=2)
    lists = [
        np.concatenate(side) for side in ((log.preferred, odd.preferred), (log.other, odd.other))
    ]
    rater = np.concatenate([np.tile(RATERS[:4], 25), np.full(100, "ed")])
    known = known_of(Preferences(*lists, n_grades=4, rater=rater))

    # free curves alone: textbooks do not move
    fit = weighed(known.fit, held=[1.0, *np.zeros(len(known.fit.members) - 1)])
    bands = band_draws.bands(known.log, fit, n_resamples=20, by="pair")
    known = replace(known, fit=fit, bands=bands)
    finding = log_section(known)
    assert "one rater is shown to decide too much: without ed" in said(finding)
    assert next(iter(finding["influence"])) == "ed"


@pytest.mark.parametrize(
    ("bias", "words"), [(2.5, "shown first"), (-2.5, "shown second"), (0.0, None)]
)
def test_judges_who_favour_a_side(bias, words):
    log, rng = judged(250, seed=3), np.random.default_rng(3)
    difference = (STEEP.score(log.preferred) - STEEP.score(log.other)) / 0.15
    swapped = rng.random(250) < 0.5
    flip = rng.random(250) > 1 / (1 + np.exp(-difference - bias * np.where(swapped, -1, 1)))
    finding = said(log_section(known_of(turned(log, flip, swapped=swapped ^ flip))))
    assert (
        (f"one side is favoured, that {words}" in finding) if words else ("favoured" not in finding)
    )


def test_a_metric_outside_the_bands_and_one_within(steep):
    finding = curves_section(steep)
    bands = steep.bands.simultaneous
    low, high = bands.gain_band[:, 1]
    beside = finding.notes[0]
    assert f"furthest, the gain of grade 1 (0.800, band {low:.3f} to {high:.3f})" in beside
    assert finding.sentence == steep.bands.sentence
    assert beside.startswith(
        f"outside the 90% bands of all at once lie {len(finding['outside'])} of 5"
    )

    # which are named: of discounts at least the last, far above the truth
    ends = (bands.gain_band, FLAT.gains), (bands.discount_band, FLAT.discounts)
    gains, discounts = (np.flatnonzero((x < band[0]) | (x > band[1])) for band, x in ends)
    assert gains.tolist() == [1, 2] and 3 in discounts
    places = ", ".join(str(k + 1) for k in discounts)
    words = f"of flat: the gain of grade 1, 2 and the discount at {places}; furthest"
    assert words in beside
    middle = DCG(np.median(steep.bands.gains, axis=0), np.median(steep.bands.discounts, axis=0))
    assert (
        curves_section(replace(steep, baseline=middle))
        .notes[0]
        .startswith("all gains and discounts of flat lie")
    )


def test_a_log_too_short_for_bands_says_so():
    known = Inputs.of(judged(12), "exponential-log2", 0)
    assert known.bands is None
    assert "fewer than 20" in curves_section(known).sentence


def test_held_out_judgements_speak_for_either_metric_or_for_neither(steep):
    better = replace(steep, log=steep.log[:120])
    assert better.followed == "learned"
    assert "people follow the learned DCG" in better.comparison.whom
    assert held_out_parts(better)["new judgements"].rows[0].share > 0.9
    changed = verdict_section(better)
    assert changed.sentence.startswith("change from flat to the learned DCG: where the two metrics")
    assert changed.sentence.endswith(" of 100 verdicts go with the learned DCG")
    assert [figure for figure, _ in changed.figures][-1] == "120 judgements"
    same = replace(steep, metric=STEEP, baseline=STEEP, name="steep")
    assert same.followed == "" and "are not shown to follow either" in same.comparison.whom
    assert verdict_section(same).sentence == "keep steep"
    assert "points could be gained" in said(verdict_section(same))
    short = replace(same, metric=FLAT, log=judged(40, noise=0.3))
    assert verdict_section(short).sentence == "judge more before you change steep"
    rising = DCG([0, 0.05, 0.2, 1], [0.1, 0.4, 0.7, 1])  # which the learned DCG cannot be
    worse = replace(steep, metric=rising, log=judged(300, rising))
    assert worse.followed == "in use"
    assert "people follow the metric used now" in worse.comparison.whom
    assert verdict_section(worse).sentence.startswith("keep flat: where the two metrics differ, ")
    one = held_out_parts(replace(steep, log=judged(1)))["new judgements"]
    assert one.sentence.startswith("0 pairs can be held out")


def test_the_verdict_has_the_dates_of_the_audit_and_of_the_last_judgement(steep, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1767225600")
    assert verdict_section(steep).notes[-1] == "audited on 2026-01-01"
    timed = replace(
        steep,
        log=steep.log.changed(
            time=np.array([f"2025-{1 + i % 12:02}-03T10:00" for i in range(300)])
        ),
    )
    assert (
        verdict_section(timed).notes[-1]
        == "audited on 2026-01-01; the last judgement is of 2025-12-03"
    )


def test_an_audit_of_coins_says_so_and_nothing_else(steep):
    tossed = replace(steep, log=judged(300, seed=9, noise=0.5, rater=np.tile(RATERS, 60)))
    assert tossed.tells_nothing and tossed.followed == ""
    assert verdict_section(tossed).sentence == (
        "check the grades and the verdicts first, not the metric: no metric is shown to order "
        "these pairs better than a coin"
    )
    assert [figure for figure, _ in verdict_section(tossed).figures][1:] == ["300 judgements"]
    assert (
        log_section(tossed).sentence
        == f"300 pairs, 5 raters; 4 positions, 4 grades: {NO_SIGNAL}; left out: 2 pairs of equal "
        "lists"
    )
    assert curves_section(tossed).sentence == f"not at all: bands are those of {ASSUMED}"
    held_out = held_out_parts(tossed)
    assert [*held_out] == ["new judgements"]
    assert "are not shown to follow either" in said(held_out["new judgements"])
    words = " ".join(
        said(finding)
        for finding in (log_section(tossed), curves_section(tossed), held_out["new judgements"])
    )
    assert (
        "exact test" not in words
        and "judges name" not in words
        and "noise ceiling" not in words
        and "outside the" not in words
    )

    # nothing that is known by the learned DCG
    assert disagreement_section(tossed).sentence == f"not told: the learned DCG is {ASSUMED}"
    runs = {name: {"q": {"d1": 1.0, "d2": score}} for name, score in (("old", 0.0), ("new", 2.0))}
    systems = systems_parts(tossed, {"q": {"d1": 3, "d2": 1}}, runs)
    assert [*systems] == ["systems"] and systems["systems"].sentence.startswith("not told: ")
    parts = log_parts(tossed)
    assert parts["log"].rows == [] and parts["raters"].pictures == []
    assert curves_section(tossed)["bands"] is None

    # what follows: check the log, and use nothing of it
    following = next_section(tossed)
    assert following.sentence.startswith("check first how winners") and not following.files
    clear = " ".join(
        said(finding(steep)) for finding in (verdict_section, log_section, curves_section)
    )
    assert NO_SIGNAL not in clear and "follows the prior" not in clear


def test_two_metrics_that_disagree_and_two_that_cannot(steep):
    finding = disagreement_section(steep)
    assert f"{steep.comparison.apart} held-out judgements are on such pairs" in finding.sentence
    assert finding["coherent"] is False and len(finding["pairs"]) == 3
    same = disagreement_section(replace(steep, baseline=steep.fit.dcg))
    assert (
        same.sentence == "the learned DCG and flat can never disagree: they order all lists alike"
    )
    assert same["pairs"] == []


def test_a_log_without_a_disputed_pair(steep):
    alike = Preferences([[3, 3, 3, 3]] * 40, [[0, 0, 0, 0]] * 40, n_grades=4)
    known = replace(steep, log=alike)
    finding = disagreement_section(known)
    assert "no judgement of the log is on such a pair" in finding.sentence
    assert finding["pairs"][0]["verdicts"] is None


def followed_by(log):
    """Return what people are said to follow; nothing where the log is refused since it seems to be
    upside down.
    """
    try:
        return Inputs.of(log, FLAT, 0).followed
    except UpsideDownError:
        return ""


@pytest.mark.long
def test_a_followed_metric_is_named_in_few_logs_of_coins_and_where_the_difference_is_clear():
    coins = [followed_by(judged(300, seed=seed, noise=0.5)) for seed in range(1000, 1200)]
    assert sum(name != "" for name in coins) <= 10
    clear = [followed_by(judged(300, seed=seed, noise=0.1)) for seed in range(2000, 2050)]
    assert clear.count("learned") >= 48


def test_disputed_pairs_are_the_shortest_with_what_judges_said():
    a, b, c = [2, 0, 0], [1, 1, 0], [0, 2, 2]
    log = Preferences(
        [a, a, b, c, a], [b, b, a, a, b], tie=[False, False, False, False, True], n_grades=3
    )
    mine, theirs = (
        log.verdicts(DCG([0, 0.1, 1], [1, 0.5, 0.3])),
        log.verdicts(DCG([0, 0.9, 1], [1, 1, 1])),
    )
    pairs = disputed(log, mine, theirs)
    assert [pair["lists"].tolist() for pair in pairs] == [[a, b], [a, c]]
    assert [pair["verdicts"] for pair in pairs] == [[2.0, 1.0, 1.0], [0.0, 0.0, 1.0]]
