"""Parquet read in pieces: one log of several files, and every bad file named."""

import numpy as np
import polars as pl
import pytest

import dcglearn as dl
from dcglearn.parts.parquet_pieces import pieces
from dcglearn.parts.parted_log import SKETCH, Sketch, sketch_of
from dcglearn.reading.preferences import Preferences
from tests.makers import TRUTH, random_log, refused, rich_log

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


def saved(log: Preferences, folder, n_files: int = 3):
    ends = np.linspace(0, len(log), n_files + 1).astype(int)
    for i in range(n_files):
        log[ends[i] : ends[i + 1]].save(folder / f"{i}.parquet")
    return folder


def test_columns_that_some_files_lack_are_filled(tmp_path, parted):
    plain, rich = random_log(300), rich_log(300, seed=1)
    plain.save(tmp_path / "a.parquet")
    rich.save(tmp_path / "b.parquet")
    plain.save(tmp_path / "c.parquet")
    both = Preferences(
        *(
            np.concatenate([getattr(x, side) for x in (plain, rich, plain)])
            for side in ("preferred", "other")
        ),
        n_grades=5,
        weight=np.concatenate([np.ones(300), rich.weight, np.ones(300)]),
        tie=np.concatenate([np.zeros(300, bool), rich.tie, np.zeros(300, bool)]),
    )
    local = dl.UtilityLearner(tie_epsilon=0.1).fit(both)
    with parted([tmp_path / name for name in ("a.parquet", "b.parquet", "c.parquet")]) as parts:
        far = dl.UtilityLearner(tie_epsilon=0.1).fit(parts)
        raters = set(dl.DCGLearner().fit(parts).rater_error_)
    assert far.objective_ == pytest.approx(local.objective_, rel=1e-9)
    assert raters == {"", "ann", "bob", "cy"}


def test_equal_lists_and_open_questions_are_left_out_and_counted(tmp_path, parted):
    frame = random_log(50).to_polars()
    more = pl.concat([frame, frame.with_columns(b="a"), frame.with_columns(winner=pl.lit("open"))])
    more.write_parquet(tmp_path / "log.parquet")
    with parted(tmp_path) as stored:
        assert stored.dropped == {"open questions": 50}
        assert dl.UtilityLearner().fit(stored).dropped_ == {"pairs of equal lists": 50}
    frame.with_columns(winner=pl.lit("open")).write_parquet(
        tmp_path / "first.parquet"
    )  # a file without a pair
    assert parted(tmp_path).dropped == {"open questions": 100}


def test_large_row_groups_are_read_in_batches_and_small_files_together(tmp_path):
    log = random_log(3000)
    saved(log, tmp_path, 30)
    found = pieces(sorted(map(str, tmp_path.glob("*.parquet"))), {}, 1000)
    assert [piece.n for piece in found] == [1000, 1000, 1000]
    assert sum(len(piece.slices) for piece in found) == 30


def test_distinct_lists_are_counted_exactly_and_then_nearly():
    log = random_log(2000, "permutations")
    parts = [sketch_of(log[i::3]) for i in range(3)]
    assert sum(parts[1:], parts[0]).count == log.n_lists
    rng = np.random.default_rng(0)
    many = Sketch(np.sort(rng.integers(0, 2**64, 3 * SKETCH, dtype=np.uint64))[:SKETCH])
    assert many.count == pytest.approx(3 * SKETCH, rel=0.005)


def test_bad_input_is_named(tmp_path, parted):
    log = random_log(100)
    refused(r"is a folder, and no file in it matches .*\.parquet", parted, tmp_path)
    refused("does not exist, and no file matches it as a pattern", parted, f"{tmp_path}/*.parquet")
    saved(log, tmp_path)
    bad = log.to_polars().with_columns(winner=pl.Series([*["a"] * 57, "c", *["a"] * 42]))
    bad.write_parquet(tmp_path / "3.parquet")
    refused(r"3\.parquet, row 58: winner", parted, tmp_path)
    Preferences(log.preferred[:, :7], log.other[:, :7]).save(tmp_path / "3.parquet")
    both = [tmp_path / "0.parquet", tmp_path / "3.parquet"]
    refused(r"3\.parquet holds lists of 7 positions, .*0.parquet of 10", parted, both)
    assert len(parted(tmp_path, depth=7)) > 0
    (tmp_path / "3.parquet").write_text("a,b,winner\n")
    refused(r"3\.parquet: not a Parquet file", parted, tmp_path)
    log.to_polars().drop("winner").write_parquet(tmp_path / "3.parquet")
    refused(r"3\.parquet: no 'winner'", parted, tmp_path)
    log.to_polars().clear().write_parquet(tmp_path / "3.parquet")
    assert len(parted(tmp_path)) == 100  # a file without a row is no harm
    refused("holds no row", parted, tmp_path / "3.parquet")
    refused("pad of a log in many parts needs a depth", parted, tmp_path, pad=True)
    with parted(tmp_path) as parts:
        refused('solver="cvxpy" needs the whole log', dl.UtilityLearner(solver="cvxpy").fit, parts)


def test_a_log_written_in_chunks_is_that_log(tmp_path):
    dl.simulate.write_log(
        tmp_path / "a.parquet", TRUTH, 2500, chunk=1000, tie_below=0.3, n_raters=4
    )
    log = dl.read_preferences(tmp_path / "a.parquet")
    assert (len(log), len(set(log.rater)), log.agreement(TRUTH).precision) == (2500, 4, 1)
    assert log.tie.sum() > 0
    dl.simulate.write_log(
        tmp_path / "b.parquet", TRUTH, 2500, chunk=1000, tie_below=0.3, n_raters=4
    )
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()
    assert pq.ParquetFile(tmp_path / "a.parquet").metadata.num_row_groups == 3


WHOLE = [dl.rater_agreement, dl.bands, dl.trust.choose_C, dl.noise_ceiling]


@pytest.mark.parametrize("analyse", [*WHOLE, lambda log: dl.compare_learners(log, log)])
def test_what_needs_the_whole_log_refuses_paths_and_parts_by_the_remedy(tmp_path, analyse, parted):
    random_log(10).save(tmp_path / "log.parquet")
    with parted(tmp_path) as stored:
        for log in (stored, tmp_path, str(tmp_path / "log.parquet")):
            refused(
                r"needs the whole log in memory.*give what read_preferences returns", analyse, log
            )
