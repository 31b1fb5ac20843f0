"""What a log identifies: the structural ranks, and words for what it does not."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dcglearn.logs import visibility
from dcglearn.logs.visibility import encode
from dcglearn.reading.preferences import Preferences
from tests.makers import PAPER_LIST, random_log
from tests.tables import table


class TestWhatTheLogCanSee:
    """The structural rank of each kind of lists, and its sentence."""

    @table(
        ("kind", "rank", "words"), [("permutations", 36, 2), ("free", 40, 1), ("unknown", 50, 0)]
    )
    def test_structural_ranks(self, kind, rank, words):
        visible = random_log(600, kind).visible()
        assert (visible.rank, visible.structural_rank, visible.missing) == (rank, rank, 0)
        assert len(visible.notes) == words + 1
        assert visible.table["numbers"].to_list() == [rank, 0, 50 - rank]
        assert visible.invisible.shape == (50 - rank, 10, 5)

    @pytest.mark.parametrize("grade", [0, -1])
    def test_one_pair_beyond_the_sample_counts(self, grade, monkeypatch):
        monkeypatch.setattr(visibility, "SAMPLE", 300)
        log = random_log(600, "free")
        first = log.preferred.copy()
        first[1, 0] = grade
        visible = Preferences(first, log.other, n_grades=5).visible()
        assert visible.rank == visible.structural_rank == (40 if grade == 0 else 41)

        # without a sample
        monkeypatch.setattr(visibility, "SAMPLE", 601)
        whole = Preferences(first, log.other, n_grades=5).visible()
        assert np.allclose(visible.project(np.eye(10, 5)), whole.project(np.eye(10, 5)))

    def test_documents(self):
        lists = np.array([np.random.default_rng(i).permutation(6) for i in range(400)])
        visible = Preferences.from_documents(lists[:200], lists[200:]).visible()
        assert visible.rank == visible.structural_rank == 25
        assert "a document" in visible.sentence and "document" in visible.notes[0]

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
        assert visible.sentence.endswith(
            " or the exact worth of grade 0, 1, 2, 3, 4 at each position"
        )
        assert visible.notes[-2].startswith("at least 21 more pairs that differ there")
        assert visible.table["numbers"].to_list() == [15, 21, 14]
        assert random_log(36, "permutations").visible().rank == 36

    def test_unseen_grades_are_named(self):
        rng = np.random.default_rng(0)
        visible = Preferences(
            rng.choice([0, 2], (200, 4)), rng.choice([0, 2], (200, 4)), n_grades=4
        ).visible()
        assert visible.unseen_grades == (1, 3)
        assert visible.rank == visible.structural_rank == 4
        assert visible.sentence.startswith("the log cannot tell the worth of grade 1, 3 or")
        assert visible.notes[0] == "no list of the log holds grade 1, 3"

    def test_grades_are_called_by_their_names(self):
        names = ("Bad", "Fair", "Good", "Perfect")
        one = Preferences([[2, 0], [2, 1]], [[1, 0], [0, 1]], grade_names=names)
        sentence = one.visible().sentence
        assert "the worth of grade Perfect or " in sentence
        assert sentence.endswith(" or the exact worth of grade Bad, Fair, Good at position 2")

    def test_open_weights_are_named_by_grade_and_position(self):
        rng = np.random.default_rng(0)
        lists = np.repeat(rng.integers(0, 4, (300, 1, 6)), 2, axis=1)
        lists[:, :, [0, 2, 3]] = rng.integers(
            0, 4, (300, 2, 3)
        )  # no pair differs at positions 2, 5 and 6
        visible = Preferences(*lists.swapaxes(0, 1)).visible()
        assert "the exact worth of grade 0, 1, 2, 3 at position 2, 5, 6" in visible.sentence
        assert "at least 9 more pairs" in visible.notes[-2]
        lists[:, :, 1] = rng.integers(0, 4, (300, 2))
        lists[:, :, 4:] = rng.integers(0, 4, (300, 2, 2))
        assert "exact" not in str(Preferences(*lists.swapaxes(0, 1)).visible())

    def test_open_weights_are_those_of_some_grades_where_lists_may_be_shorter(self):
        lists = np.random.default_rng(0).integers(-1, 3, (2, 300, 3))
        lists[lists == -1] = -2
        lists[:, lists[:, :, 0].max(axis=0) == 2, 0] = -2  # grade 2 occurs, but not at position 1
        visible = Preferences(*lists).visible()
        assert visible.sentence.endswith("the exact worth of grade 2 at position 1")

    def test_only_positions_that_can_be_empty_have_a_level(self):
        rng = np.random.default_rng(0)
        lists = rng.integers(0, 3, (2, 300, 4))
        lists[:, :, 2:][rng.random((2, 300, 2)) < 0.3] = -1
        visible = Preferences(*lists).visible()
        assert visible.free_rows == (0, 1)
        assert visible.rank == visible.structural_rank == 10
        none = "the log cannot tell whether a result of the worst grade is better than none"
        assert visible.sentence == f"{none} at position 1, 2"
        assert "position 1, 2, so" in visible.notes[0] and "other positions" in visible.notes[0]

        # one position alone
        lists[:, ::5, 1] = -1
        lists[0, ::10, 1] = 0
        visible = Preferences(*lists).visible()
        assert visible.sentence == f"{none} at position 1" and "position 1," in visible.notes[0]

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
        visible = random_log(600, "permutations").visible()
        head, *_, level, steps, counts = str(visible).split("\n")
        assert head == (
            "The log cannot tell whether a result of the worst grade is better than none at each "
            "position or how high the discounts are."
        )
        assert level.endswith("or a convention.") and "steps between" in steps
        assert counts.startswith("- Numbers are the weights of each grade or document")

    def test_it_says_so_where_nothing_is_hidden(self):
        lists = np.random.default_rng(0).integers(-1, 2, (2, 300, 3))
        lists[lists == -1] = -2
        assert Preferences(*lists).visible().sentence == (
            "the log tells all that any number of judgements of such lists could tell"
        )
