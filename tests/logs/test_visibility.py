"""What a log identifies: the structural ranks, and words for what it does not."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dcglearn.logs.preference_pairs import encode
from dcglearn.readers.preferences import Preferences
from tests.makers import PAPER_LIST, random_log


class TestWhatTheLogCanSee:
    """The structural rank of each kind of lists, and its sentence."""

    @pytest.mark.parametrize(
        ("kind", "rank", "words"), [("permutations", 36, 2), ("free", 40, 1), ("unknown", 50, 0)]
    )
    def test_structural_ranks(self, kind, rank, words):
        visible = random_log(600, kind).visible()
        assert (visible.rank, visible.structural_rank, visible.missing) == (rank, rank, 0)
        assert len(visible.sentences) == words
        assert visible.invisible.shape == (50 - rank, 10, 5)

    def test_documents(self):
        lists = np.array([np.random.default_rng(i).permutation(6) for i in range(400)])
        visible = Preferences.from_documents(lists[:200], lists[200:]).visible()
        assert visible.rank == visible.structural_rank == 25
        assert "document" in visible.sentences[0]

    def test_the_mix_may_vary_between_pairs(self):
        rng = np.random.default_rng(0)
        first = rng.integers(0, 5, (400, 10))
        visible = Preferences(first, rng.permuted(first, axis=1), n_grades=5).visible()
        assert visible.rank == visible.structural_rank == 36

    def test_cut_permutations_see_the_mix(self):
        lists = np.random.default_rng(0).permuted(np.tile(PAPER_LIST, (800, 1)), axis=1)[:, :5]
        visible = Preferences(lists[:400], lists[400:]).visible()
        assert visible.rank == visible.structural_rank == 20

    def test_too_few_pairs_are_told_from_structure(self):
        visible = random_log(15, "permutations").visible()
        assert (visible.structural_rank, visible.rank, visible.missing) == (36, 15, 21)
        open_ = (
            "the worth of grade 0-4 at position 1-10, in part: "
            "to tell it takes at least 21 more pairs"
        )
        assert visible.sentences[-1].startswith(open_)
        assert random_log(36, "permutations").visible().rank == 36

    def test_unseen_grades_are_named(self):
        rng = np.random.default_rng(0)
        visible = Preferences(
            rng.choice([0, 2], (200, 4)), rng.choice([0, 2], (200, 4)), n_grades=4
        ).visible()
        assert visible.unseen_grades == (1, 3)
        assert visible.rank == visible.structural_rank == 4
        assert visible.sentences[0] == "the worth of grade 1, 3, which never occurs in the log"

    def test_open_weights_are_named_by_grade_and_position(self):
        rng = np.random.default_rng(0)
        lists = np.repeat(rng.integers(0, 4, (300, 1, 6)), 2, axis=1)
        lists[:, :, [0, 2, 3]] = rng.integers(
            0, 4, (300, 2, 3)
        )  # no pair differs at positions 2, 5 and 6
        open_ = (
            "the worth of grade 0-3 at position 2, 5-6, in part: "
            "to tell it takes at least 9 more pairs"
        )
        assert open_ in str(Preferences(*lists.swapaxes(0, 1)).visible())
        lists[:, :, 1] = rng.integers(0, 4, (300, 2))
        lists[:, :, 4:] = rng.integers(0, 4, (300, 2, 2))
        assert "in part" not in str(Preferences(*lists.swapaxes(0, 1)).visible())

    def test_open_weights_are_those_of_some_grades_where_lists_may_be_shorter(self):
        lists = np.random.default_rng(0).integers(-1, 3, (2, 300, 3))
        lists[lists == -1] = -2
        lists[:, lists[:, :, 0].max(axis=0) == 2, 0] = -2  # grade 2 occurs, but not at position 1
        assert "the worth of grade 2 at position 1, in part: " in str(Preferences(*lists).visible())

    def test_only_positions_that_can_be_empty_have_a_level(self):
        rng = np.random.default_rng(0)
        lists = rng.integers(0, 3, (2, 300, 4))
        lists[:, :, 2:][rng.random((2, 300, 2)) < 0.3] = -1
        visible = Preferences(*lists).visible()
        assert visible.free_rows == (0, 1)
        assert visible.rank == visible.structural_rank == 10
        assert "positions 1-2" in visible.sentences[0]

    @given(
        st.integers(0, 2**32),
        st.sampled_from(["permutations", "free", "unknown"]),
        st.integers(1, 80),
    )
    def test_no_pair_sees_the_invisible_and_some_pair_sees_the_rest(self, seed, kind, n):
        log = random_log(n, kind, seed)
        visible = log.visible()
        d = (encode(log.preferred, 5).astype(int) - encode(log.other, 5)).reshape(n, -1)
        assert visible.rank == np.linalg.matrix_rank(d)
        hidden = visible.invisible.reshape(len(visible.invisible), 50)
        np.testing.assert_allclose(d @ hidden.T, 0, atol=1e-6)
        weights = np.random.default_rng(seed).normal(size=(10, 5))
        np.testing.assert_allclose(
            d @ visible.project(weights).ravel(), d @ weights.ravel(), atol=1e-6
        )

    def test_it_prints(self):
        head, level, steps = str(random_log(600, "permutations").visible()).split("\n")
        assert (
            head == "what the log cannot tell:"
            and "worst counts as 0" in level
            and "steps between" in steps
        )

    def test_it_says_so_where_nothing_is_hidden(self):
        lists = np.random.default_rng(0).integers(-1, 2, (2, 300, 3))
        lists[lists == -1] = -2
        assert str(Preferences(*lists).visible()).endswith(
            "nothing that more judgements of such lists would not"
        )
