"""Learning-to-rank files: svmlight with qid, or with a file of group sizes beside it; plain, .gz, .xz or .zst."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dcglearn.foundation.files import read_bytes
from dcglearn.foundation.sources import decompressed
from dcglearn.foundation.validation import InputError
from dcglearn.rankers.queries import Queries, group_labels

if TYPE_CHECKING:
    import os

_DOCUMENT = re.compile(rb"#\s*docid\s*=\s*(\S+)")
_FIELD = re.compile(r"(\d+):(\S+)")


def read_queries(
    path: str | os.PathLike[str],
    groups: str | os.PathLike[str] | None = None,
    *,
    n_grades: int | None = None,
    n_features: int | None = None,
    zero_based: bool = False,
    sparse: bool = False,
) -> Queries:
    r"""Read documents with features and grades: lines ``2 qid:7 1:0.3 4:1.5 # docid = D12``.

    Parameters
    ----------
    path : path
        Svmlight text, also .gz, .xz and .zst. Document names are taken from LETOR's comments where every line has one.
    groups : path, optional
        A file with the number of documents of each query, one a line, for data without qid; by default
        LightGBM's ``NAME.query`` beside the data, where there is one.
    n_grades, n_features : int, optional
        L and d, where the file does not show the largest.
    zero_based : bool
        Whether features are numbered from 0; without it, column ``i`` is feature ``i + 1``, as in LETOR.
    sparse : bool
        Keep the features as a CSR matrix.

    Raises
    ------
    InputError
        If the file cannot be read or a line is wrong; it names file, line, value and remedy.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder) / "train.svm"
    ...     _ = file.write_text("2 qid:1 1:0.5 2:1\n0 qid:1 1:0.1\n")
    ...     read_queries(file)
    Queries(1 queries, 2 documents, 2 features, 3 grades)
    """
    data = _bytes(Path(path))
    features, labels, qid = _loaded(str(path), data, n_features, zero_based)
    lines = _Lines(data)
    wrong = ~((labels >= 0) & (labels == np.floor(labels)))
    if wrong.any():
        row = int(wrong.argmax())
        raise InputError(f"{path}, line {lines[row]}: label {labels[row]:g} is not a grade; grades are 0, 1, 2, ...")
    if not np.isfinite(features.data).all():
        at = int((~np.isfinite(features.data)).argmax())
        row = int(np.searchsorted(features.indptr, at, side="right")) - 1
        raise InputError(f"{path}, line {lines[row]}: feature value {features.data[at]} is not a finite number")
    qid = _grouped(Path(path), groups, data, qid, len(labels))
    names = [name.decode("utf-8", "replace") for name in _DOCUMENT.findall(data)]
    try:
        return Queries(
            features if sparse else features.toarray(),
            labels,
            qid,
            n_grades,
            names if len(names) == len(labels) else None,
        )
    except InputError as error:
        found = re.match(r"(?:qid|grades)\[(\d+)\]", str(error))
        where = f", line {lines[int(found[1])]}" if found else ""
        raise InputError(f"{path}{where}: {error}") from error


class _Lines:
    """The line of each row, worked out when one is asked for: comments and blank lines are no rows."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def __getitem__(self, row: int) -> int:
        full = [i for i, line in enumerate(self._data.splitlines(), 1) if line.split(b"#")[0].strip()]
        return full[row]


def _bytes(path: Path) -> bytes:
    data = decompressed(str(path), read_bytes(path))
    if not data.strip():
        raise InputError(f"{path} is empty; expected a document a line, such as: 2 qid:1 1:0.3 2:1.5")
    return data.removeprefix(b"\xef\xbb\xbf")


def _loaded(name: str, data: bytes, n_features: int | None, zero_based: bool) -> tuple[Any, Any, Any]:
    """Return features (CSR), labels and qid (or an empty array); what scikit-learn refuses is looked at by line."""
    from sklearn.datasets import load_svmlight_file

    def load(text: bytes) -> tuple[Any, Any, Any]:
        return load_svmlight_file(io.BytesIO(text), zero_based=zero_based, query_id=True, n_features=n_features)

    try:
        return load(data)
    except (ValueError, OverflowError) as error:
        ordered = _careful(name, data, zero_based, n_features)
        try:
            return load(ordered)
        except (ValueError, OverflowError):
            raise InputError(f"{name}: not svmlight text ({error})") from error


def _careful(name: str, data: bytes, zero_based: bool, n_features: int | None) -> bytes:
    """Return the lines with their features in order, or name the line that is wrong."""
    found = []
    for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), 1):
        words = line.split("#")[0].split()
        if not words:
            found.append("")
            continue
        try:
            float(words[0])
        except ValueError:
            raise InputError(f"{name}, line {number}: label {words[0]!r} is not a number") from None
        query, numbers = _line_fields(f"{name}, line {number}", words[1:])
        if numbers and not zero_based and min(numbers) == 0:
            raise InputError(f"{name}, line {number}: feature 0, but features count from 1; say zero_based=True")
        if numbers and n_features is not None and max(numbers) >= n_features + (not zero_based):
            raise InputError(f"{name}, line {number}: feature {max(numbers)}, but there are {n_features} features")
        found.append(" ".join([words[0], *query, *(f"{i}:{numbers[i]}" for i in sorted(numbers))]))
    return "\n".join(found).encode()


def _line_fields(place: str, words: list[str]) -> tuple[list[str], dict[int, str]]:
    query: list[str] = []
    numbers: dict[int, str] = {}
    for word in words:
        if word.startswith("qid:"):
            if not re.fullmatch(r"qid:-?\d+", word):
                raise InputError(f"{place}: {word!r}: a query in such a file is a whole number")
            query = [word]
            continue
        parts = _FIELD.fullmatch(word)
        try:
            index, _ = int(parts[1]), float(parts[2])  # type: ignore[index]
        except (TypeError, ValueError):
            raise InputError(f"{place}: {word!r} is not FEATURE:NUMBER") from None
        if index in numbers:
            raise InputError(f"{place}: feature {index} occurs twice")
        numbers[index] = parts[2]  # type: ignore[index]
    return query, numbers


def _grouped(path: Path, groups: str | os.PathLike[str] | None, data: bytes, qid: Any, n: int) -> Any:
    """Return the query of each document, from qid or from group sizes."""
    if groups is None and len(qid) == n and re.search(rb"^[^#\n]*\bqid:", data, re.MULTILINE):
        return qid
    if b"qid:" in data:
        if groups is not None:
            raise InputError(f"{path} has qid, so its queries are known; leave the group sizes {groups} out")
        raise InputError(f"{path}: {n - len(qid)} of {n} lines have no qid")
    beside = Path(groups) if groups is not None else path.with_name(re.sub(r"\.(gz|xz|zst)$", "", path.name) + ".query")
    if groups is None and not beside.exists():
        raise InputError(f"{path} has no qid, and no {beside.name} lies beside it; give groups, a file of group sizes")
    try:
        sizes = [int(word) for word in _bytes(beside).split()]
    except ValueError as error:
        raise InputError(f"{beside}: not a whole number a line, the documents of each query ({error})") from error
    try:
        return group_labels(sizes, n)
    except InputError as error:
        raise InputError(f"{beside}: {error}") from error
