"""LETOR's five-fold protocol over all methods, resumable and parallel (`letor_experiment`)."""

import hashlib
import json
import time
import warnings
from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from operator import call
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from dcglearn.foundation.files import written_beside
from dcglearn.foundation.inputs import read_json_object
from dcglearn.foundation.plain_text import number_of
from dcglearn.foundation.processes import in_processes
from dcglearn.foundation.progress import bar
from dcglearn.foundation.threads import one_blas_thread
from dcglearn.foundation.validation import (
    Floats,
    InputError,
    PathLike,
    as_path,
    one_of,
    whole_number,
)
from dcglearn.foundation.version import __version__
from dcglearn.rankers.linear_model import spread_of_scores
from simulations.letor import CHOICES, GRIDS
from simulations.letor.folds import Fold, find_folds, read_fold
from simulations.letor.measures import MEASURES, Convention
from simulations.letor.methods import METHODS, Setting, method_named
from simulations.letor.results import LetorResult, Trial


@dataclass(frozen=True, eq=False)
class Plan:
    """Folds and settings of an experiment, checked before training.

    `fingerprints` are those of each fold's files.
    """

    folds: tuple[Fold, ...]
    fingerprints: tuple[str, ...]
    methods: tuple[str, ...]
    convention: Convention
    grid: str
    seed: int

    @classmethod
    def of(
        cls,
        folder: PathLike,
        methods: Sequence[str] | None = None,
        metric: str = "letor",
        grid: str = "default",
        n_features: int | None = None,
        seed: int = 0,
    ) -> Self:
        """Read the folds and check the settings.

        Parameters and errors are those of `letor_experiment`.
        """
        one_of(grid, "grid", GRIDS)
        names = tuple(
            METHODS
            if methods is None
            else dict.fromkeys(method_named(name).name for name in methods)
        )
        trees = ", ".join(name for name in names if METHODS[name].model == "trees")
        if trees and find_spec("lightgbm") is None:
            remedy = f"pip install 'dcglearn[trees]', or leave {trees} out with --ranker"
            raise InputError(f"LightGBM is not installed: {remedy}")
        files = find_folds(folder)
        folds = tuple(read_fold(paths, n_features) for paths in files)
        for fold, paths in zip(folds, files, strict=True):
            if fold.train.shape[1] != folds[0].train.shape[1]:
                raise InputError(
                    f"{paths.train} has {fold.train.shape[1]} features, but {files[0].train} has "
                    f"{folds[0].train.shape[1]}; give folds of one set of features, "
                    "or, where zeros are left out, "
                    f"--features {max(f.train.shape[1] for f in folds)}"
                )
        convention = Convention.named(metric, max(2, *(fold.n_grades for fold in folds)))
        return cls(
            folds, tuple(paths.fingerprint() for paths in files), names, convention, grid, seed
        )

    def tasks(self) -> list[tuple[Fold, str, str]]:
        """Return fold, method and fingerprint of each trial, the longest trials first."""
        trials = [
            (fold, name, fingerprint_of(fingerprint, name, self.convention, self.grid, self.seed))
            for fold, fingerprint in zip(self.folds, self.fingerprints, strict=True)
            for name in self.methods
        ]
        return sorted(trials, key=lambda task: -METHODS[task[1]].cost)

    def __str__(self) -> str:
        lines = [
            f"{fold.name}: {fold.train} to train, "
            f"{number_of(len(fold.vali), 'queries')} to validate, {len(fold.test)} to test"
            for fold in self.folds
        ]
        return "\n".join(
            [*lines, f"methods: {', '.join(self.methods)}", f"metric: {self.convention.name}"]
        )


def letor_experiment(
    folder: PathLike,
    methods: Sequence[str] | None = None,
    *,
    metric: str = "letor",
    grid: str = "default",
    choice: str = "blend",
    output: PathLike | None = None,
    resume: bool = False,
    n_features: int | None = None,
    jobs: int = 1,
    seed: int = 0,
) -> LetorResult:
    """Train methods on each fold, choose on its validation file, and measure on its test file.

    Raises InputError if the folds cannot be used, a name is unknown, or `output` holds other
    results.

    Parameters
    ----------
    folder : path
        Holds Fold1, Fold2, ..., each with a training, a validation and a test file, see
        `find_folds`.
    methods : sequence of str, optional
        Names in `simulations.letor.methods.METHODS`; all by default.
    metric : str
        ``letor``, ``standard``, ``GAIN-DISCOUNT[@K]``, or a DCG's file: see `Convention`.
    grid : {"default", "quick", "papers"}
        Candidates: regularised ones from good starts; a few of these; or the papers' own, where
        they state them.
    choice : {"blend", "best"}
        Show the result of the mean scores of all candidates within one standard error of the best
        on the validation file, or of the best candidate, as published rows do.
    output, resume : path, bool
        Folder to write each trial to as it ends, and the tables; and whether to skip the trials
        that it holds already, for the result of an uninterrupted run.
    n_features : int, optional
        Number of features, for files that leave zeros out.
    jobs, seed : int
        Number of processes; with more than one, a script needs ``if __name__ == "__main__"``. Same
        seed, same result.

    See Also
    --------
    letor_folds : Make folds of one file.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import dcglearn as dl
    >>> from simulations.letor.folds import letor_folds, write_folds
    >>> queries = dl.simulate.letor_queries(15, n_features=6, sizes=(10, 20), random_state=0)
    >>> with TemporaryDirectory() as folder:
    ...     write_folds(letor_folds(queries, 3), folder)
    ...     result = letor_experiment(folder, ["ridge", "RankSVM"], grid="quick")
    >>> result.mean("ridge", "NDCG@10") > 0.3
    True
    """
    one_of(choice, "choice", CHOICES)
    whole_number(jobs, "jobs")
    if resume and output is None:
        raise InputError("resume: name the output folder that holds the results so far")
    plan = Plan.of(folder, methods, metric, grid, n_features, seed)
    target = None if output is None else as_path(output)
    trials = run_plan(plan, target, resume, jobs)
    result = LetorResult(trials, plan.convention, choice, published=metric == "letor")
    if target is not None:
        result.save(target)
    return result


def run_plan(plan: Plan, output: Path | None, resume: bool, jobs: int) -> tuple[Trial, ...]:
    """Run the trials that `output` does not hold, and return all trials, by method and fold.

    Each trial is written to `output` as it ends.
    """
    tasks = plan.tasks()
    done = {} if output is None else _saved_trials(output, tasks, resume)
    left = [task for task in tasks if (task[0].name, task[1]) not in done]
    with (
        bar(len(tasks), "trials", initial=len(done)) as shown,
        closing(_trials(left, plan, min(jobs, max(len(left), 1)))) as trials,
    ):
        for trial in trials:
            done[trial.fold, trial.method] = trial
            if output is not None:
                file = file_of(output, trial.fold, trial.method)
                file.parent.mkdir(exist_ok=True)
                with written_beside(file) as beside:
                    beside.write_text(
                        json.dumps(trial.to_dict(), allow_nan=False), encoding="utf-8"
                    )
            shown.set_postfix_str(f"{trial.method}, {trial.fold}")
            shown.update()
    return tuple(done[fold.name, name] for name in plan.methods for fold in plan.folds)


def _trials(
    tasks: list[tuple[Fold, str, str]], plan: Plan, jobs: int
) -> Generator[Trial, None, None]:
    """Yield trials as they end."""
    calls = [
        partial(run_trial, fold, name, plan.convention, plan.grid, plan.seed, mark)
        for fold, name, mark in tasks
    ]
    return (
        (run() for run in calls) if jobs == 1 else in_processes(call, calls, jobs, in_order=False)
    )


def file_of(output: Path, fold: str, method: str) -> Path:
    """Return the file of a trial in an output folder."""
    return output / fold / f"{method.replace(' ', '-')}.json"


def _saved_trials(
    output: Path, tasks: list[tuple[Fold, str, str]], resume: bool
) -> dict[tuple[str, str], Trial]:
    """Return the trials that the output folder holds, by fold and method.

    Make the folder if it does not exist. Raise InputError if it holds trials and `resume` is false,
    or if a trial is of other data or settings.
    """
    if output.exists() and not output.is_dir():
        raise InputError(f"{output} is a file; results are a folder, name another")
    if not output.parent.is_dir():
        raise InputError(f"{output}: the folder {output.parent} does not exist; make it first")
    output.mkdir(exist_ok=True)
    tasks = [task for task in tasks if file_of(output, task[0].name, task[1]).exists()]
    if tasks and not resume:
        raise InputError(
            f"{output} holds {len(tasks)} results; keep them with --resume, or name another folder"
        )
    trials: dict[tuple[str, str], Trial] = {}
    for fold, name, fingerprint in tasks:
        file = file_of(output, fold.name, name)
        try:
            trial = Trial.from_dict(read_json_object(file))
        except InputError as error:
            raise InputError(f"{file}: {error}; remove it to train again") from error
        if trial.fingerprint != fingerprint:
            raise InputError(
                f"{file} is of other data or settings (metric, grid, seed, version); "
                "name another folder, or use the data and settings that it was made with"
            )
        trials[fold.name, name] = trial
    return trials


def candidates_of(plan: Plan) -> dict[str, int]:
    """Return the number of candidates of each method."""
    setting = Setting(plan.folds[0].train, plan.convention.dcg, plan.grid, plan.seed)
    return {name: sum(1 for _ in METHODS[name].candidates(setting)) for name in plan.methods}


def fingerprint_of(data: str, method: str, convention: Convention, grid: str, seed: int) -> str:
    """Return the digest of everything that a trial's numbers depend on.

    `data` is the fingerprint of the fold's files.
    """
    settings = [
        data,
        method,
        grid,
        seed,
        __version__,
        convention.counts_empty,
        repr(convention.dcg.to_dict()),
    ]
    return hashlib.sha256(repr(settings).encode()).hexdigest()


def run_trial(
    fold: Fold, name: str, convention: Convention, grid: str, seed: int, fingerprint: str = ""
) -> Trial:
    """Train a method's grid on a fold, choose by validation, and measure on the test queries.

    Candidates are ranked by validation NDCG@10, or by MAP if the method aims at MAP. There are two
    choices, since the best of many candidates is a noisy one: ``best``, and ``blend``, the mean of
    the scores of all `within_error` of it, each in units of its spread within validation queries.
    Test queries serve the final measures alone.
    """
    method = method_named(name)
    started = time.process_time()
    setting = Setting(fold.train, convention.dcg, grid, seed, fold.vali)
    column = MEASURES.index("NDCG@10" if method.aim == "NDCG" else "MAP")
    labels: list[str] = []
    valid: list[Floats] = []
    scores: list[Floats] = []
    with one_blas_thread(), warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore", message="no leaf can be split"
        )  # validation rejects these
        for candidate in method.candidates(setting):
            ranker = candidate.fit(fold.train, fold.vali)
            labels.append(candidate.label)
            vali_scores = ranker.predict(fold.vali)
            valid.append(convention.measures(fold.vali, vali_scores)[:, column])
            scores.append(
                ranker.predict(fold.test)
                / (spread_of_scores(vali_scores, fold.vali.offsets) or 1.0)
            )
    means, used = within_error(np.array(valid))
    order = np.argsort(-means, kind="stable")  # of equal means, the first of the grid
    chosen = {"blend": sum(scores[i] for i in order if used[i]), "best": scores[order[0]]}
    return Trial(
        fold.name,
        method.name,
        fingerprint,
        [str(query) for query in fold.test.names],
        {
            choice: convention.measures(fold.test, np.asarray(blend))
            for choice, blend in chosen.items()
        },
        [(labels[i], float(means[i]), bool(used[i])) for i in order],
        time.process_time() - started,
    )


def within_error(values: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """Return each candidate's mean over queries, and whether it is nearly as good as the best.

    Nearly means that its mean difference from the best, by query, is at most one standard error.
    """
    counted = values[:, ~np.isnan(values[0])]
    n = counted.shape[1]
    if n < 2:
        means = counted.mean(axis=1) if n else np.zeros(len(values))
        return means, means == means.max()
    means = counted.mean(axis=1)
    behind = counted[np.argmax(means)] - counted
    return means, behind.mean(axis=1) <= behind.std(axis=1, ddof=1) / np.sqrt(n) + 1e-12
