"""Parquet streamed into codes: the same answer in bounded memory, and every bad file named."""

import logging
import os
import subprocess
import sys
import textwrap

import numpy as np
import polars as pl
import pytest

import dcglearn as dl
from dcglearn.parts import parquet_log
from dcglearn.parts.parquet_log import ParquetLog, n_bytes
from dcglearn.parts.parquet_pieces import pieces
from dcglearn.parts.parted_log import SKETCH, Sketch, sketch_of
from dcglearn.readers.mapping import LogMapping
from dcglearn.readers.preferences import Preferences
from tests.makers import TRUTH, random_log, refused, rich_log

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


@pytest.fixture
def small_chunks(monkeypatch):
    monkeypatch.setattr(parquet_log, "CHUNK", 700)


def saved(log: Preferences, folder, n_files: int = 3):
    ends = np.linspace(0, len(log), n_files + 1).astype(int)
    for i in range(n_files):
        log[ends[i] : ends[i + 1]].save(folder / f"{i}.parquet")
    return folder


@pytest.mark.parametrize("memory", [None, 1])
@pytest.mark.parametrize(
    "settings",
    [{}, {"margin": "hamming"}, {"margin": "log", "tie_epsilon": 0.1}, {"margin": TRUTH}],
)
def test_the_qp_is_that_of_the_log_in_memory(tmp_path, small_chunks, memory, settings):
    log = rich_log(4000)
    local = dl.UtilityLearner(**settings).fit(log)
    with ParquetLog(saved(log, tmp_path), memory=memory) as stored:
        assert stored.on_disk == (memory == 1)
        assert len(stored) == len(log)
        far = dl.UtilityLearner(**settings).fit(stored)
        assert far.score(stored) == pytest.approx(local.score(log), rel=1e-9)
    assert far.objective_ == pytest.approx(local.objective_, rel=1e-9)
    assert far.gap_ <= 1e-8
    np.testing.assert_allclose(far.utility_.weights, local.utility_.weights, atol=1e-6)
    assert far.dropped_ == local.dropped_
    assert far.visible_.notes == local.visible_.notes


@pytest.mark.parametrize("loss", ["robust", "logistic"])
def test_gains_and_discounts_are_those_of_the_log_in_memory(tmp_path, small_chunks, loss):
    log = rich_log(3000)
    local = dl.DCGLearner(loss=loss).fit(log)
    far = dl.DCGLearner(loss=loss).fit(saved(log, tmp_path), memory=1)
    assert far.objective_ == pytest.approx(local.objective_, rel=1e-9)
    assert far.n_effective_ == local.n_effective_
    assert far.rater_error_ == pytest.approx(local.rater_error_, abs=1e-6)
    np.testing.assert_allclose(far.dcg_.gains, local.dcg_.gains, atol=1e-5)


def test_sides_are_those_of_the_log_in_memory(tmp_path, small_chunks):
    log = rich_log(3000).changed(swapped=np.random.default_rng(0).random(3000) < 0.3)
    local = dl.DCGLearner(loss="robust").fit(log)
    far = dl.DCGLearner(loss="robust").fit(saved(log, tmp_path), memory=1)
    assert (
        far.objective_ == pytest.approx(local.objective_, rel=1e-9) and local.position_bias_ > 0.2
    )
    assert far.rater_bias_ == pytest.approx(local.rater_bias_, abs=1e-5)
    random_log(300).save(tmp_path / "z.parquet")
    refused(
        r"says which list was shown first, .*z.parquet.* does not: .*--columns swapped=",
        dl.io.ParquetLog,
        tmp_path,
    )


def test_columns_that_some_files_lack_are_filled(tmp_path):
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
    far = dl.UtilityLearner(tie_epsilon=0.1).fit(
        [tmp_path / name for name in ("a.parquet", "b.parquet", "c.parquet")]
    )
    assert far.objective_ == pytest.approx(local.objective_, rel=1e-9)
    assert set(dl.DCGLearner().fit(tmp_path).rater_error_) == {"", "ann", "bob", "cy"}


def test_equal_lists_and_open_questions_are_left_out_and_counted(tmp_path):
    frame = random_log(50).to_polars()
    more = pl.concat([frame, frame.with_columns(b="a"), frame.with_columns(winner=pl.lit("open"))])
    more.write_parquet(tmp_path / "log.parquet")
    with ParquetLog(tmp_path) as stored:
        assert stored.dropped == {"open questions": 50}
        assert dl.UtilityLearner().fit(stored).dropped_ == {"pairs of equal lists": 50}
    frame.with_columns(winner=pl.lit("open")).write_parquet(
        tmp_path / "first.parquet"
    )  # a file without a pair
    assert ParquetLog(tmp_path).dropped == {"open questions": 100}


def test_large_row_groups_are_read_in_batches_and_small_files_together(tmp_path):
    log = random_log(3000)
    saved(log, tmp_path, 30)
    found = pieces(sorted(map(str, tmp_path.glob("*.parquet"))), LogMapping(), 1000)
    assert [piece.n for piece in found] == [1000, 1000, 1000]
    assert sum(len(piece.slices) for piece in found) == 30


def test_distinct_lists_are_counted_exactly_and_then_nearly():
    log = random_log(2000, "permutations")
    parts = [sketch_of(log[i::3]) for i in range(3)]
    assert sum(parts[1:], parts[0]).count == log.n_lists
    rng = np.random.default_rng(0)
    many = Sketch(np.sort(rng.integers(0, 2**64, 3 * SKETCH, dtype=np.uint64))[:SKETCH])
    assert many.count == pytest.approx(3 * SKETCH, rel=0.005)


def test_amounts_of_memory():
    assert [n_bytes(text) for text in ("2GB", "512MB", "1.5 GiB", 7)] == [
        2 << 30,
        512 << 20,
        3 << 29,
        7,
    ]
    for text in ("", "lots", "-1GB", "0", "nan", "infGB"):
        refused("such as 2GB", n_bytes, text)


def test_bad_input_is_named(tmp_path):
    log = random_log(100)
    refused(
        r"is a folder, and no file in it matches .*\.parquet", dl.UtilityLearner().fit, tmp_path
    )
    refused(
        "does not exist, and no file matches it as a pattern",
        dl.UtilityLearner().fit,
        f"{tmp_path}/*.parquet",
    )
    saved(log, tmp_path)
    bad = log.to_polars().with_columns(winner=pl.Series([*["a"] * 57, "c", *["a"] * 42]))
    bad.write_parquet(tmp_path / "3.parquet")
    refused(r"3\.parquet, row 58: winner", dl.UtilityLearner().fit, tmp_path)
    Preferences(log.preferred[:, :7], log.other[:, :7]).save(tmp_path / "3.parquet")
    both = [tmp_path / "0.parquet", tmp_path / "3.parquet"]
    refused(r"3\.parquet holds lists of 7 positions, the part before of 10", ParquetLog, both)
    assert len(ParquetLog(tmp_path, depth=7)) > 0
    (tmp_path / "3.parquet").write_text("a,b,winner\n")
    refused(r"3\.parquet: not a Parquet file", dl.UtilityLearner().fit, tmp_path)
    log.to_polars().drop("winner").write_parquet(tmp_path / "3.parquet")
    refused(r"3\.parquet: no 'winner'", dl.UtilityLearner().fit, tmp_path)
    log.to_polars().clear().write_parquet(tmp_path / "3.parquet")
    assert len(ParquetLog(tmp_path)) == 100  # a file without a row is no harm
    refused("holds no row", ParquetLog, tmp_path / "3.parquet")
    refused("pad of a log in many parts needs a depth", ParquetLog, tmp_path, pad=True)
    refused("memory= bounds the reading", dl.UtilityLearner().fit, log, memory="1GB")
    refused('solver="cvxpy" needs the whole log', dl.UtilityLearner(solver="cvxpy").fit, tmp_path)


@pytest.mark.posix
def test_a_full_disk_is_told_before_and_during_the_reading(tmp_path, monkeypatch):
    saved(random_log(20_000), tmp_path)
    monkeypatch.setattr(
        parquet_log.shutil, "disk_usage", lambda _: type("Usage", (), {"free": 1000})
    )
    refused(r"the codes take .* GB and 1e-06 GB are free", ParquetLog, tmp_path, memory=1)
    code = f"""
        import resource, signal
        from dcglearn.parts.parquet_log import ParquetLog
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
        ParquetLog({str(tmp_path)!r}, memory=1)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=False
    )
    assert "no room for the codes" in done.stderr


@pytest.mark.posix
def test_codes_on_disk_leave_nothing_behind_and_take_little_memory(tmp_path):
    import resource

    folder = tmp_path / "codes"
    folder.mkdir()
    dl.simulate.write_log(tmp_path / "log.parquet", TRUTH, 300_000, lists="free", flip_rate=0.1)
    with ParquetLog(tmp_path / "log.parquet", memory=1, folder=folder) as stored:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        dl.UtilityLearner().fit(stored)
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        # Files without a name.
        assert os.listdir(folder) == []  # noqa: PTH208
    assert after - before < 100_000


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


def test_what_was_read_and_where_it_is_kept_is_logged(tmp_path, caplog):
    caplog.set_level(logging.INFO, logger="dcglearn.parts.parquet_log")
    for name in ("a", "b"):
        random_log(50).save(tmp_path / f"{name}.parquet")
    with ParquetLog(tmp_path), ParquetLog(tmp_path, memory="1MB", folder=tmp_path):
        lines = [record.getMessage() for record in caplog.records]
    assert lines == [
        "Parquet files: 2, pairs: 100, kept in memory",
        f"Parquet files: 2, pairs: 100, kept on disk in {tmp_path}",
    ]


WHOLE = [dl.rater_agreement, dl.bands, dl.trust.choose_C, dl.noise_ceiling]


@pytest.mark.parametrize("analyse", [*WHOLE, lambda log: dl.compare_learners(log, log)])
def test_what_needs_the_whole_log_refuses_paths_and_parts_by_the_remedy(tmp_path, analyse):
    random_log(10).save(tmp_path / "log.parquet")
    with dl.io.ParquetLog(tmp_path) as stored:
        for log in (stored, tmp_path, str(tmp_path / "log.parquet")):
            refused(
                r"needs the whole log in memory.*give what read_preferences returns", analyse, log
            )


def test_fit_reads_files_whose_rows_are_no_judgements(tmp_path):
    rows = [
        {"query": query, "side": side, "position": position, "grade": grade, "winner": "left"}
        for query in "pq"
        for side, grades in (("left", [2, 0]), ("right", [0, 1]))
        for position, grade in enumerate(grades, 1)
    ]
    pl.DataFrame(rows).write_parquet(tmp_path / "log.parquet")
    read = dl.read_preferences(tmp_path)
    for log in (tmp_path, tmp_path / "log.parquet"):
        fitted = dl.UtilityLearner().fit(log)
        assert fitted.gap_ == dl.UtilityLearner().fit(read).gap_
    with pytest.raises(dl.InputError, match=r"no judgements of two lists as they stand.*convert"):
        dl.UtilityLearner().fit(tmp_path, memory="1GB")
