"""Every sentence of an audit is true of some logs and comes out the other way on others."""

from dataclasses import replace

import numpy as np
import pytest

from dcglearn.audits.audit import OF_METRIC, answers, audit
from dcglearn.audits.inputs import Inputs
from dcglearn.audits.questions import (
    beside,
    disagreement,
    disputed,
    holdings,
    how_sure,
    next_step,
    verdict_on,
)
from dcglearn.foundation.validation import UpsideDownError
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


def said(finding):
    return " ".join([finding.sentence, *finding.notes])


def turned(log, flip, **columns):
    """Return a log with some verdicts turned round."""
    sides = (log.preferred, log.other)
    return Preferences(
        *(np.where(flip[:, None], b, a) for a, b in (sides, sides[::-1])), n_grades=4, **columns
    )


def test_a_clean_log_has_nothing_that_stands_out(steep):
    finding = holdings(steep)
    assert (
        finding.sentence
        == "300 pairs, 5 raters; 4 positions, 4 grades: nothing in them stands out; left out: "
        "2 pairs of equal lists"
    )
    assert finding.notes == []
    assert "add the column swapped" in said(next_step(steep))
    assert "add the column rater" not in said(next_step(steep))
    bare = replace(steep, log=steep.log.changed(rater=None))
    assert "add the column rater" in said(next_step(bare))


def test_a_rater_who_errs_is_named():
    rater = np.repeat(RATERS, 60)
    flip = (rater == "cy") & (np.random.default_rng(0).random(300) < 0.45)
    known = known_of(turned(judged(300), flip, rater=rater))
    finding = holdings(known)
    assert "raters who err far more often: cy" in finding.sentence
    assert known.agreement.table["error"][2] > 0.25


def test_a_rater_who_always_names_one_side_stands_out_as_left_out():
    rng = np.random.default_rng(0)
    rater = np.repeat(RATERS, 60)
    finding = holdings(
        known_of(judged(300, rater=rater, swapped=(rng.random(300) < 0.5) & (rater != "cy")))
    )
    assert "raters who always name one side are left out: cy" in finding.sentence
    fair = holdings(known_of(judged(300, rater=rater, swapped=rng.random(300) < 0.5)))
    assert "one side" not in said(fair)


@pytest.mark.parametrize(
    ("bias", "words"), [(2.5, "shown first"), (-2.5, "shown second"), (0.0, None)]
)
def test_judges_who_favour_a_side(bias, words):
    log, rng = judged(250, seed=3), np.random.default_rng(3)
    difference = (STEEP.score(log.preferred) - STEEP.score(log.other)) / 0.15
    swapped = rng.random(250) < 0.5
    flip = rng.random(250) > 1 / (1 + np.exp(-difference - bias * np.where(swapped, -1, 1)))
    finding = said(holdings(known_of(turned(log, flip, swapped=swapped ^ flip))))
    assert (f"favour the list {words}: all" in finding) if words else ("favour" not in finding)


def test_a_metric_outside_the_bands_and_one_within(steep):
    finding, bands = beside(steep), steep.bands.simultaneous
    ends = (bands.gain_band, FLAT.gains), (bands.discount_band, FLAT.discounts)
    gains, discounts = (np.flatnonzero((x < band[0]) | (x > band[1])) for band, x in ends)

    # which are named: of discounts at least the last, far above the truth
    assert gains.tolist() == [1, 2] and 3 in discounts
    places = ", ".join(f"discount at {k + 1}" for k in discounts)
    assert finding.sentence == (
        "gains and discounts of flat outside the 90% bands of all at once: gain of grade 1, gain "
        f"of grade 2, {places}"
    )
    row = finding.table.row(1, named=True)
    assert (row["flat"], row["low"]) == (0.8, bands.gain_band[0, 1])
    middle = DCG(np.median(steep.bands.gains, axis=0), np.median(steep.bands.discounts, axis=0))
    within = beside(replace(steep, baseline=middle)).sentence
    assert within.endswith("all at once: none")


def test_a_log_too_short_for_bands_says_so():
    known = Inputs.of(judged(12), "exponential-log2", 0)
    assert known.bands is None
    assert "fewer than 20" in how_sure(known).sentence and beside(known) is None


def test_held_out_judgements_speak_for_either_metric_or_for_neither(steep):
    better = replace(steep, log=steep.log[:120])
    assert better.held_out.followed == "learned"
    assert "people follow the learned DCG" in better.comparison.whom
    assert better.held_out.rows[0].share > 0.9
    changed = verdict_on(better)
    assert changed.sentence.startswith("change from flat to the learned DCG: where the two metrics")
    assert changed.sentence.endswith(" of 100 verdicts go with the learned DCG")
    assert [figure for figure, _ in changed.figures][-1] == "120 judgements"
    same = replace(steep, metric=STEEP, baseline=STEEP, name="steep")
    assert same.held_out.followed == "" and "are not shown to follow either" in same.comparison.whom
    share = same.held_out[same.held_out.baseline].share
    orders = f", which orders {100 * share:.0f} of 100 held-out verdicts as people did"
    assert verdict_on(same).sentence == f"keep steep{orders}" and share > 0.9
    assert "points could be gained" in said(verdict_on(same))
    short = replace(same, metric=FLAT, log=judged(40, noise=0.3))
    more = verdict_on(short).sentence
    assert more.startswith("judge more before you change steep, which orders ")
    rising = DCG([0, 0.05, 0.2, 1], [0.1, 0.4, 0.7, 1])  # which the learned DCG cannot be
    worse = replace(steep, metric=rising, log=judged(300, rising))
    assert worse.held_out.followed == "in use"
    assert "people follow the metric used now" in worse.comparison.whom
    assert verdict_on(worse).sentence.startswith("keep flat, which orders ")
    assert " as people did: where the two metrics differ, " in verdict_on(worse).sentence
    one = replace(steep, log=judged(1))
    assert one.comparison.sentence.startswith("0 pairs can be held out")


def test_an_audit_of_coins_says_so_and_nothing_else(steep):
    log = judged(300, seed=9, noise=0.5, rater=np.tile(RATERS, 60))
    tossed = replace(steep, log=log, bands=None, no_bands=f"not at all: {ASSUMED}")
    assert tossed.tells_nothing and tossed.held_out.followed == ""
    verdict = verdict_on(tossed)
    assert verdict.sentence == (
        "check the grades and the verdicts first, not the metric: no metric is shown to order "
        "these pairs better than a coin"
    )
    assert [figure for figure, _ in verdict.figures][1:] == ["300 judgements"]
    assert verdict.todo.startswith("check first how winners")
    assert ASSUMED in verdict.notes[0]
    assert (
        holdings(tossed).sentence
        == f"300 pairs, 5 raters; 4 positions, 4 grades: {NO_SIGNAL}; left out: 2 pairs of equal "
        "lists"
    )
    assert "are not shown to follow either" in said(tossed.comparison)
    words = " ".join(said(finding) for finding in answers(tossed).values())
    for claim in ("exact test", "judges name", "noise ceiling", "outside the", "err far more"):
        assert claim not in words
    assert "error" not in tossed.agreement.table.columns

    # nothing that is known by the learned DCG
    with pytest.warns(UserWarning, match="better than a coin"):
        whole = audit(log, FLAT)
    assert not {*whole.parts} & {*OF_METRIC}
    assert whole["how sure"].sentence == f"not at all: bands are those of {ASSUMED}"
    clear = " ".join(said(finding) for finding in answers(steep).values())
    assert NO_SIGNAL not in clear and "follows the prior" not in clear


def test_two_metrics_that_disagree_and_two_that_cannot(steep):
    share = disagreement(steep).share[0, 1]
    assert disagreement(steep).sentence == (
        f"the learned DCG and flat order {share:.1%} of pairs differently"
    )
    assert steep.proof.coherent is False and len(disputed(steep).rows) == 3
    same = replace(steep, baseline=steep.fit.dcg)
    assert same.proof.coherent and disputed(same).rows == []
    assert (
        disputed(same).sentence
        == "the two metrics disagree on 0 different pairs of lists of the log"
    )
    assert verdict_on(same).notes[0].endswith("nothing would change")


def followed_by(log):
    """Return what people are said to follow; nothing where the log is refused since it seems to be
    upside down.
    """
    try:
        return Inputs.of(log, FLAT, 0).held_out.followed
    except UpsideDownError:
        return ""


@pytest.mark.long
def test_a_followed_metric_is_named_in_few_logs_of_coins_and_where_the_difference_is_clear():
    coins = [followed_by(judged(300, seed=seed, noise=0.5)) for seed in range(1000, 1200)]
    assert sum(name != "" for name in coins) <= 10
    clear = [followed_by(judged(300, seed=seed, noise=0.1)) for seed in range(2000, 2050)]
    assert clear.count("learned") >= 48


def test_disputed_pairs_stand_with_what_judges_said(steep):
    a, b, c = [2, 0, 0], [1, 1, 0], [0, 2, 2]
    log = Preferences(
        [a, a, b, c, a], [b, b, a, a, b], tie=[False, False, False, False, True], n_grades=3
    )
    mine, theirs = DCG([0, 0.1, 1], [1, 0.5, 0.3]), DCG([0, 0.9, 1], [1, 1, 1])
    known = replace(steep, log=log, baseline=theirs)
    known.__dict__["dcg"] = mine
    finding = disputed(known)
    assert [[*row.values()] for row in finding.rows] == [[a, b, 4, 1, 2], [a, c, 1, 0, 0]]
    assert finding.sentence == "the two metrics disagree on 2 different pairs of lists of the log"
