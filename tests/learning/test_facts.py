"""Facts of a log: those of its parts, added, are those of the whole."""

from dataclasses import replace

import numpy as np

from dcglearn.foundation.added import Tally
from dcglearn.learning.fit_qp import qp_part
from dcglearn.learning.options import QPOptions
from dcglearn.learning.pairs import VerdictSums, coded, facts_of, pairs_of
from dcglearn.learning.usable_pairs import learnable, left_out, sides_of, usable_pairs
from tests.makers import rich_log


def log_of_many_strengths():
    """Return a log with empty places, repeated pairs, and a rater who always names one side."""
    log = rich_log(400)
    rng = np.random.default_rng(1)
    lists = log.other.copy()
    lists[:90, 7:] = -2
    lists[90:120] = log.preferred[90:120]
    rater = rng.choice(["ann", "bob", "cy"], 400)
    swapped = np.where(rater == "cy", True, rng.random(400) < 0.5)
    columns = {"rater": rater, "swapped": swapped, "strength": rng.gamma(2.0, 1.0, 400)}
    log = log.changed(other=lists, **columns)
    return log[np.concatenate([np.arange(400), np.arange(100)])]


def test_parts_tell_what_the_whole_tells():
    log = log_of_many_strengths()
    whole = pairs_of(log)
    parts = [log[i : i + 64] for i in range(0, len(log), 64)]

    # as a cluster adds them
    one_sided = sum(map(sides_of, parts[1:]), sides_of(parts[0])).always_one()
    assert one_sided.tolist() == ["cy"]
    used = [usable_pairs(part, one_sided) for part in parts]
    told = sum(map(VerdictSums.of, used[1:]), VerdictSums.of(used[0]))
    n_differing = sum(int(part.differing.sum()) for part in parts)
    dropped = left_out(len(log), n_differing, sum(map(len, used)), told.n_ties)
    facts = facts_of(told, log[:0], log.visible(), dropped, "robust")

    # the same facts and the same rows
    of_whole = vars(replace(whole.facts, log=None, visible=facts.visible))
    steps, of_steps = vars(facts).pop("steps"), of_whole.pop("steps")
    assert vars(facts) == of_whole and len(steps) == 6
    np.testing.assert_array_equal(steps, of_steps)
    facts = replace(whole.facts, log=None)
    rows = [coded(part, facts) for part in used]
    for name in ("first", "second", "level", "rater", "weight", "way"):
        column = np.concatenate([getattr(part, name) for part in rows])
        np.testing.assert_array_equal(column, getattr(whole, name))


def test_pairs_of_the_qp_are_counted_in_parts():
    log, dropped = learnable(log_of_many_strengths())
    assert dropped == {
        "pairs of equal lists": 40,
        "verdicts of raters who always name one side": 500 - 40 - len(log),
    }
    for options in (QPOptions(), QPOptions(margin="hamming", tie_epsilon=0.1)):
        pairs, counts = qp_part(log, options)
        halves = [qp_part(log[i::2], options) for i in (0, 1)]
        assert (halves[0][1] + halves[1][1]).tolist() == counts.tolist()
        assert sum(len(half) for half, _ in halves) == len(pairs)
        assert counts[0] == len(log.ties) > 0


def test_a_tally_adds_weights_of_equal_values():
    letters = Tally.of(np.array(["b", "a", "b"]), np.array([1.0, 2.0, 4.0]))
    both = letters + Tally.of(np.array(["abc", "b"]))
    assert both.values.tolist() == ["a", "abc", "b"]
    assert both.weight.tolist() == [2.0, 1.0, 6.0]
