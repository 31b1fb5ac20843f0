"""Folders as LETOR has them: Fold1 to Fold5, each with a training, a validation and a test file."""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path

import numpy as np

from dcglearn.foundation.files import written_beside
from dcglearn.foundation.plain_text import number_of
from dcglearn.foundation.validation import InputError, PathLike, as_path, whole_number
from dcglearn.rankers.queries import Queries
from dcglearn.rankers.svmlight import read_queries

PARTS = ("train", "vali", "test")
NAMES = {
    "train": ("train", "training", "trainingset", "trainset"),
    "vali": ("vali", "valid", "validation", "validationset", "valiset"),
    "test": ("test", "testing", "testset", "testingset"),
}
"""Names of a fold's files, up to the first dot."""
ENDINGS = re.compile(r"(\.(txt|svm|svmlight|dat|letor))?(\.(gz|xz|zst))?", re.IGNORECASE)
_FOLD = re.compile(r"fold[ _-]?(\d+)", re.IGNORECASE)


@dataclass(frozen=True)
class FoldFiles:
    """Paths of a fold's files; `name` is ``Fold1``, ..."""

    name: str
    train: Path
    vali: Path
    test: Path

    def fingerprint(self) -> str:
        """Return a digest of the files' bytes."""
        digest = hashlib.sha256()
        for part in PARTS:
            with getattr(self, part).open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
        return digest.hexdigest()


@dataclass(frozen=True, eq=False)
class Fold:
    """The three sets of queries of a fold, on one scale of grades and features."""

    name: str
    train: Queries
    vali: Queries
    test: Queries

    @property
    def n_grades(self) -> int:
        """Number of grades, L."""
        return self.train.n_grades or 1


def find_folds(folder: PathLike) -> list[FoldFiles]:
    """Return the folds in a folder, or in the only folder inside it with folds, by number."""
    root = as_path(folder)
    if not root.is_dir():
        raise InputError(f"{root} is not a folder; give the one that holds Fold1, Fold2, ...")
    folders = _folds_in(root)
    if not folders:
        inner = [path for path in sorted(root.rglob("*")) if path.is_dir() and _folds_in(path)]
        if len(inner) > 1:
            shown = ", ".join(str(path.relative_to(root)) for path in inner[:5])
            raise InputError(f"{root} has folds in several folders ({shown}); name one of them")
        folders = _folds_in(inner[0]) if inner else {}
    if not folders:
        inside = ", ".join(sorted(path.name for path in root.iterdir())[:5]) or "nothing"
        raise InputError(
            f"{root} has no folds: expected folders Fold1, Fold2, ..., "
            f"each with train.txt, vali.txt and test.txt; it holds {inside}"
        )
    return [
        FoldFiles(f"Fold{n}", *(_file_of(folders[n], part) for part in PARTS))
        for n in sorted(folders)
    ]


def _folds_in(folder: Path) -> dict[int, Path]:
    """Return the folders of folds in a folder, by their numbers."""
    matched = [
        (match, path)
        for path in folder.iterdir()
        if path.is_dir() and (match := _FOLD.fullmatch(path.name))
    ]
    folders = {int(match[1]): path for match, path in matched}
    if len(folders) < len(matched):
        names = ", ".join(sorted(path.name for _, path in matched))
        raise InputError(f"{folder} has two folders for one fold: {names}")
    return folders


def _file_of(folder: Path, part: str) -> Path:
    """Return the file of a part of a fold, under any of its names."""
    files = [
        path
        for path in sorted(folder.iterdir())
        if path.is_file()
        and (stem := path.name.split(".")[0]).lower() in NAMES[part]
        and ENDINGS.fullmatch(path.name[len(stem) :])
    ]
    if len(files) == 1:
        return files[0]
    if files:
        raise InputError(
            f"{folder}: both {files[0].name} and {files[1].name} could be the {part} file; keep one"
        )
    inside = ", ".join(sorted(path.name for path in folder.iterdir())[:6]) or "nothing"
    names = ", ".join(f"{name}.txt" for name in NAMES[part])
    raise InputError(
        f"{folder}: no {part} file ({names}, also .gz, .xz and .zst); it holds {inside}"
    )


def read_fold(files: FoldFiles, n_features: int | None = None) -> Fold:
    """Read a fold, whose files must have the same features and share no query.

    `n_features` is the number of features, for files that leave zeros out. Raise InputError if the
    numbers of features differ, or a query is in two files.
    """
    queries = {part: read_queries(getattr(files, part), n_features=n_features) for part in PARTS}
    width = queries["train"].shape[1]
    for part in PARTS[1:]:
        if (other := queries[part].shape[1]) != width:
            raise InputError(
                f"{getattr(files, part)} has {other} features, but {files.train} has {width}; "
                "give files of one set of features, or, where zeros are left out, "
                f"--features {max(width, other)}"
            )
    for first, second in combinations(PARTS, 2):
        shared = np.intersect1d(queries[first].names, queries[second].names)
        if len(shared):
            shown = ", ".join(map(str, shared[:5])) + (", ..." if len(shared) > 5 else "")
            raise InputError(
                f"{getattr(files, first)} and {getattr(files, second)} share {len(shared)} queries "
                f"({shown}); split by query, so that no query of one part is in another"
            )
    top = max(part.n_grades or 1 for part in queries.values())
    return Fold(files.name, *(replace(queries[part], n_grades=top) for part in PARTS))


def letor_folds(queries: Queries, n_folds: int = 5) -> list[Fold]:
    """Split queries into folds as LETOR does, so that each part is the test set of one fold.

    In each fold the part before the test set validates, and the others train. The `n_folds` parts,
    3 or more, are of consecutive queries; their sizes differ by at most one. Raises InputError if
    there are fewer queries than parts.

    See Also
    --------
    letor_experiment : Compare methods on them.

    Examples
    --------
    >>> import dcglearn as dl
    >>> folds = letor_folds(dl.simulate.letor_queries(106, sizes=(5, 9), random_state=0))
    >>> [(len(fold.train), len(fold.vali), len(fold.test)) for fold in folds][:2]
    [(64, 21, 21), (63, 21, 22)]
    """
    whole_number(n_folds, "n_folds", 3)
    if len(queries) < n_folds:
        raise InputError(
            f"{number_of(len(queries), 'queries')} cannot make {n_folds} folds; "
            f"give {n_folds} or more"
        )
    parts = np.array_split(np.arange(len(queries)), n_folds)
    folds = []
    for number in range(n_folds):
        order = [(number + step) % n_folds for step in range(n_folds)]
        chosen = [
            np.concatenate([parts[i] for i in order[:-2]]),
            parts[order[-2]],
            parts[order[-1]],
        ]
        folds.append(Fold(f"Fold{number + 1}", *(queries[index] for index in chosen)))
    return folds


def write_folds(folds: Sequence[Fold], folder: PathLike) -> None:
    """Write folds as LETOR has them, ``Fold1/train.txt`` and so on.

    Names of documents go into comments. Raises InputError if the folder cannot be written.

    See Also
    --------
    letor_folds : Make the folds.

    Examples
    --------
    >>> import dcglearn as dl
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> queries = dl.simulate.letor_queries(10, sizes=(5, 9), random_state=0)
    >>> with TemporaryDirectory() as folder:
    ...     write_folds(letor_folds(queries), folder)
    ...     sorted(path.name for path in Path(folder, "Fold1").iterdir())
    ['test.txt', 'train.txt', 'vali.txt']
    """
    for fold in folds:
        target = as_path(folder) / fold.name
        try:
            target.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{target}: cannot be made ({error.strerror})") from error
        for part in PARTS:
            with (
                written_beside(target / f"{part}.txt") as beside,
                beside.open("w", encoding="utf-8") as file,
            ):
                file.writelines(_lines(getattr(fold, part)))


def _lines(queries: Queries) -> list[str]:
    """Return svmlight lines, a document each."""
    features = (
        queries.features.toarray() if hasattr(queries.features, "tocsr") else queries.features
    )
    lines = []
    for row, values in enumerate(features.tolist()):
        fields = " ".join(f"{i}:{value!r}" for i, value in enumerate(values, 1))
        name = "" if queries.documents is None else f" #docid = {queries.documents[row]}"
        lines.append(f"{queries.grades[row]} qid:{queries.qid[row]} {fields}{name}\n")
    return lines
