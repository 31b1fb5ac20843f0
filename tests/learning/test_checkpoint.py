"""Fits that are killed and resume to the same bytes."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

import dcglearn as dl
from dcglearn.foundation import disk
from dcglearn.learning.checkpoint import Checkpoint
from dcglearn.logs.pair_sums import PairSums
from tests.makers import random_log, refused

KILLED_FIT = """
    import os, signal, sys
    import dcglearn as dl
    from dcglearn.learning import checkpoint
    at = int(sys.argv[4])
    whole = checkpoint.Checkpoint.answer
    n = 0
    def answer(self, *arguments):
        global n
        n += 1
        if n == at:
            os.kill(os.getpid(), signal.SIGKILL)
        return whole(self, *arguments)
    checkpoint.Checkpoint.answer = answer
    learner = getattr(dl, sys.argv[1])()
    learner.fit(dl.read_preferences(sys.argv[2]), checkpoint=sys.argv[3])
"""


@pytest.mark.posix
@pytest.mark.parametrize(("name", "passes"), [("UtilityLearner", 6), ("DCGLearner", 20)])
def test_a_killed_process_goes_on_to_the_same_bytes(tmp_path, name, passes):
    log = random_log(3000, noise=0.1)
    log.save(tmp_path / "log.parquet")
    file = tmp_path / "fit.checkpoint"
    call = [
        sys.executable,
        "-c",
        textwrap.dedent(KILLED_FIT),
        name,
        tmp_path / "log.parquet",
        file,
        str(passes),
    ]
    done = subprocess.run(call, capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL
    whole = getattr(dl, name)().fit(log)
    resumed = getattr(dl, name)().fit(log, checkpoint=file, resume=True)
    for one, other in zip(*(metric_arrays(model) for model in (whole, resumed)), strict=True):
        assert one.tobytes() == other.tobytes()
    assert resumed.objective_ == whole.objective_
    again = getattr(dl, name)().fit(
        log, checkpoint=file, resume=True
    )  # a fit that is done resumes without a pass
    assert again.objective_ == whole.objective_


def metric_arrays(model):
    metric = model.metric_
    return [metric.weights] if hasattr(metric, "weights") else [metric.gains, metric.discounts]


def a_checkpoint(path, n: int = 4):
    """Return the file of a checkpoint with `n` answers."""
    with Checkpoint(path, {"pairs": 3}) as kept:
        for i in range(n):
            sums = PairSums(float(i), 1.0, np.full((2, 2), i), np.zeros((0, 0)))
            kept.answer(("sums", np.array([i])), PairSums, lambda sums=sums: sums)
    return path


def replayed(path, n: int) -> int:
    with Checkpoint(path, {"pairs": 3}, resume=True) as kept:
        for i in range(n):
            asked = PairSums(i, 1.0, np.full((2, 2), i), np.zeros((0, 0)))
            sums = kept.answer(("sums", np.array([i])), PairSums, lambda asked=asked: asked)
            assert sums.loss == i and (sums.moment == i).all()
        return kept.n_replayed


def test_an_answer_cut_short_anywhere_is_asked_for_again(tmp_path):
    content = a_checkpoint(tmp_path / "whole").read_bytes()
    three = len(a_checkpoint(tmp_path / "three", 3).read_bytes())
    for end in (three, three + 1, three + 20, three + 40, len(content) - 1):
        file = tmp_path / f"cut{end}"
        file.write_bytes(content[:end])
        assert replayed(file, 4) == 3
        assert replayed(file, 4) == 4
    flipped = bytearray(content)
    flipped[three + 60] ^= 1
    file = tmp_path / "flipped"
    file.write_bytes(flipped)
    assert replayed(file, 4) == 3


@pytest.mark.posix
def test_a_kill_in_the_middle_of_writing_leaves_whole_files(tmp_path):
    code = """
        import sys, numpy as np, dcglearn as dl
        from dcglearn.learning.checkpoint import Checkpoint
        from dcglearn.logs.pair_sums import PairSums
        folder = sys.argv[1]
        print("ready", flush=True)
        with Checkpoint(folder + "/fit.checkpoint", {"pairs": 3}) as kept:
            for i in range(10**6):
                sums = PairSums(float(i), 1.0, np.full((2, 2), i), np.zeros((0, 0)))
                kept.answer(("sums", np.array([i])), PairSums, lambda: sums)
                dl.DCG([0, 1 + i], [1, 0.5]).save(folder + "/dcg.json")
    """
    for wait in (0.02, 0.05, 0.11):
        folder = tmp_path / str(wait)
        folder.mkdir()
        process = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(code), str(folder)], stdout=subprocess.PIPE
        )
        assert process.stdout.readline() == b"ready\n"
        while not (folder / "dcg.json").exists():
            time.sleep(0.005)
        time.sleep(wait)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()
        n = int(dl.DCG.load(folder / "dcg.json").gains[1])
        assert replayed(folder / "fit.checkpoint", n) == n


def test_a_full_disk_is_told_with_the_file_and_the_fit_resumes(tmp_path, monkeypatch):
    file = a_checkpoint(tmp_path / "fit.checkpoint", 3)
    size = file.stat().st_size
    written = []

    def full(handle, data):
        written.append(os.pwrite(handle, data[:7], size))
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(disk, "appended", full)
        refused(r"fit\.checkpoint: not written .No space left.*resume from it", replayed, file, 4)
    assert written == [7]
    assert replayed(file, 4) == 3
    assert replayed(file, 4) == 4


def test_checkpoints_of_other_fits_are_refused(tmp_path):
    log = random_log(500, noise=0.1)
    file = tmp_path / "fit.checkpoint"
    dl.UtilityLearner().fit(log, checkpoint=file)
    refused("exists; resume from it", dl.UtilityLearner().fit, log, checkpoint=file)
    again = {"checkpoint": file, "resume": True}
    refused(
        r"another training: its C is 1\.0, now it is 2\.0",
        dl.UtilityLearner(C=2.0).fit,
        log,
        **again,
    )
    refused(
        "another training: its contents", dl.UtilityLearner().fit, random_log(500, seed=1), **again
    )
    refused("another training: its learner", dl.DCGLearner().fit, log, checkpoint=file, resume=True)
    refused(
        "no checkpoint to resume from",
        dl.UtilityLearner().fit,
        log,
        checkpoint=tmp_path / "none",
        resume=True,
    )
    refused(
        "is a folder; name a file in it for the checkpoint",
        dl.UtilityLearner().fit,
        log,
        checkpoint=tmp_path,
    )
    refused("give checkpoint=FILE", dl.UtilityLearner().fit, log, resume=True)
    (tmp_path / "text").write_text("something else")
    refused(
        "not a dcglearn checkpoint",
        dl.UtilityLearner().fit,
        log,
        checkpoint=tmp_path / "text",
        resume=True,
    )
    with Checkpoint(a_checkpoint(tmp_path / "asked"), {"pairs": 3}, resume=True) as kept:
        other = ("sums", np.array([5]))
        refused(
            "pass 1 of that fit asked something else", kept.answer, other, PairSums, lambda: None
        )
