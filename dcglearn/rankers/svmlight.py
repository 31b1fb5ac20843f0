"""Learning-to-rank files: svmlight with qid, or with group sizes beside it, plain or compressed."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import numpy as np

from dcglearn.foundation.inputs import refuse_beyond_memory
from dcglearn.foundation.sources import content
from dcglearn.foundation.validation import InputError, PathLike, as_path, errors_in
from dcglearn.rankers.queries import LARGEST_FEATURE, Queries, group_labels, unusable_features


def read_queries(
    path: PathLike,
    groups: PathLike | None = None,
    *,
    n_grades: int | None = None,
    n_features: int | None = None,
    zero_based: bool = False,
    sparse: bool = False,
    missing: bool = False,
) -> Queries:
    r"""Read documents with features and grades: lines ``2 qid:7 1:0.3 4:1.5 # docid = D12``.

    Raises InputError if the file cannot be read or a line is wrong; it names file, line and value.

    Parameters
    ----------
    path : path
        Svmlight text, also .gz and .zst. Names of documents are read from LETOR's comments if
        every line has one.
    groups : path, optional
        Numbers of documents of each query, one a line, for data without qid; by default
        ``NAME.query`` beside the data.
    n_grades, n_features : int, optional
        L and d; by default the largest in the file.
    zero_based : bool
        Whether features are numbered from 0; by default column ``i`` is feature ``i + 1``, as in
        LETOR.
    sparse : bool
        Keep the features as a CSR matrix. Take it where most features are 0.
    missing : bool
        Read ``4:nan`` as a missing value, which trees take. A feature that a line leaves out is 0,
        as in LightGBM.

    See Also
    --------
    load_ranker : Read a model to rank them.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "train.svm").write_text("2 qid:1 1:0.5 2:1\n0 qid:1 1:0.1\n")
    ...     read_queries(f"{folder}/train.svm")
    Queries(1 query, 2 documents, 2 features, 3 grades)
    """
    file = as_path(path)
    data = _bytes(file)
    features, labels, qid = _loaded(str(path), data, n_features, zero_based)
    _check_values(path, data, features, labels, missing=missing)
    if not sparse:
        n, d = features.shape
        size = f"{path}: the table of {n:,} documents and {d:,} features"
        remedy = "number the features without gaps, or read with sparse=True"
        refuse_beyond_memory(16.0 * n * d, size, remedy)

    # queries, and the names of all documents
    qid = _grouped(file, groups, data, qid, len(labels))
    names = re.findall(rb"#\s*docid\s*=\s*(\S+)", data)
    documents = None
    if len(names) == len(labels):
        documents = [name.decode("utf-8", "replace") for name in names]

    try:
        table = features if sparse else features.toarray()
        return Queries(table, labels, qid, n_grades, documents, missing)
    except InputError as error:
        row_named = re.match(r"(?:qid|grades)\[(\d+)\]", error.args[0])
        line = f", {_line(data, int(row_named[1]))}" if row_named else ""
        raise error.at(f"{path}{line}") from None


def _check_values(path: PathLike, data: bytes, features: Any, labels: Any, missing: bool) -> None:
    """Raise InputError, with the line, unless all labels are grades and all features numbers."""
    grades = (labels >= 0) & (labels == np.floor(labels))
    if not grades.all():
        row = int((~grades).argmax())
        fact = f"label {labels[row]:g} is not a grade"
        raise InputError(
            f"{path}, {_line(data, row)}: {fact}; grades are 0, 1, 2, ..., and 0 the worst"
        )

    for row, _, value in unusable_features(features, missing=missing):
        remedy = "fill it in, or train trees" if np.isnan(value) else "scale the features"
        fact = f"feature value {value:g} is not a finite number up to {LARGEST_FEATURE:g}"
        raise InputError(f"{path}, {_line(data, row)}: {fact}; {remedy}")


def _line(data: bytes, row: int) -> str:
    """Return ``line N`` of a row; blank lines and comments hold no row."""
    lines = [
        number for number, line in enumerate(data.split(b"\n"), 1) if line.split(b"#")[0].strip()
    ]
    return f"line {lines[row]}"


def _bytes(path: Path) -> bytes:
    """Return the text of a file, decompressed."""
    return content(path, "a document a line, such as: 2 qid:1 1:0.3 2:1.5")[1]


def _loaded(
    name: str, data: bytes, n_features: int | None, zero_based: bool
) -> tuple[Any, Any, Any]:
    """Return features (CSR), labels and qid (or an empty array) of a text.

    An error names the line.
    """
    from sklearn.datasets import load_svmlight_file

    # Python's numbers may have underscores
    spread = re.search(rb"^[^#\n]*_", data, re.MULTILINE) if b"_" in data else None
    if spread:
        line = data.count(10, 0, spread.end()) + 1
        raise InputError(f"{name}, line {line}: '_' in a number; write 10, not 1_0")

    # scikit-learn reads qid0x1:2 as a qid
    for odd in re.finditer(rb"[^\S\n]qid(?!:)\S*", data):
        if b"#" not in data[data.rfind(b"\n", 0, odd.start()) + 1 : odd.start()]:
            word = odd[0].strip().decode("ascii", "backslashreplace")
            line = data.count(10, 0, odd.start()) + 1
            raise InputError(f"{name}, line {line}: {word!r}: write qid:NUMBER")

    # features out of order are put in order
    options = {"zero_based": zero_based, "query_id": True, "n_features": n_features}
    try:
        return load_svmlight_file(io.BytesIO(data), **options)
    except (ValueError, OverflowError) as error:
        ordered = _ordered(name, data, zero_based, n_features)
        try:
            return load_svmlight_file(io.BytesIO(ordered), **options)
        except (ValueError, OverflowError):
            raise InputError(f"{name}: not svmlight text ({error})") from error


def _ordered(name: str, data: bytes, zero_based: bool, n_features: int | None) -> bytes:
    """Return the lines with their features in order; an error names the line."""
    lines = []
    for number, line in enumerate(data.split(b"\n"), 1):
        # words at white space of ASCII alone
        words = line.split(b"#")[0].split()
        label, *fields = [word.decode("ascii", "backslashreplace") for word in words] or [""]
        if not label:
            lines.append("")
            continue

        # label, query and features
        place = f"{name}, line {number}"
        try:
            float(label)
        except ValueError:
            hint = ""
            if number == 1 and (not fields or not name.endswith((".svm", ".txt"))):
                hint = "; svmlight text is read, and a table by fit(X, y, qid) in Python"
            raise InputError(f"{place}: label {label!r} is not a number{hint}") from None
        query, values = _line_fields(place, fields)

        if values and not zero_based and min(values) == 0:
            raise InputError(
                f"{place}: feature 0, but features count from 1; say zero_based=True (--zero-based)"
            )
        if values and n_features is not None and max(values) >= n_features + (not zero_based):
            raise InputError(f"{place}: feature {max(values)}, but there are {n_features} features")
        lines.append(" ".join([label, *query, *(f"{i}:{values[i]}" for i in sorted(values))]))
    return "\n".join(lines).encode()


def _line_fields(place: str, fields: list[str]) -> tuple[list[str], dict[int, str]]:
    """Return the ``qid:`` field, if any, and the value of each feature."""
    query: list[str] = []
    values: dict[int, str] = {}
    for field in fields:
        # the query, once
        if field.startswith("qid:"):
            if not re.fullmatch(r"qid:-?\d+", field):
                raise InputError(f"{place}: {field!r}: a qid must be a whole number")
            if query:
                raise InputError(
                    f"{place}: {query[0]} and {field}: a document belongs to one query"
                )
            query = [field]
            continue

        # a feature, once
        match = re.fullmatch(r"(\d+):(\S+)", field)
        try:
            index, _ = int(match[1]), float(match[2])  # type: ignore[index]
        except (TypeError, ValueError):
            raise InputError(f"{place}: {field!r} is not FEATURE:NUMBER") from None
        if index in values:
            raise InputError(f"{place}: feature {index} occurs twice")
        values[index] = match[2]  # type: ignore[index]
    return query, values


def _group_sizes(path: Path) -> Path:
    """Return the file beside `path` that LightGBM reads group sizes from."""
    return path.with_name(re.sub(r"\.(gz|zst)$", "", path.name) + ".query")


def _grouped(path: Path, groups: PathLike | None, data: bytes, qid: Any, n: int) -> Any:
    """Return the query of each document, from qid or from group sizes."""
    if groups is None and len(qid) == n and re.search(rb"^[^#\n]*\bqid:", data, re.MULTILINE):
        return qid
    if b"qid:" in data:
        if groups is not None:
            raise InputError(
                f"{path} has qid, so its queries are known; leave the group sizes {groups} out"
            )
        raise InputError(f"{path}: {n - len(qid)} of {n} lines have no qid")

    # group sizes, in a file of their own
    beside = _group_sizes(path) if groups is None else as_path(groups)
    if groups is None and not beside.exists():
        raise InputError(
            f"{path} has no qid, and no {beside.name} lies beside it; give groups (--groups), a "
            "file of group sizes"
        )
    try:
        sizes = [int(word) for word in _bytes(beside).split()]
    except ValueError as error:
        raise InputError(
            f"{beside}: not a whole number a line, the documents of each query ({error})"
        ) from error
    with errors_in(beside):
        return group_labels(sizes, n)
