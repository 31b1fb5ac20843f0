"""Learning-to-rank files: svmlight text with qid, plain or compressed."""

from __future__ import annotations

import io
import re
from typing import Any

from dcglearn.foundation.sources import content, refuse_beyond_memory
from dcglearn.foundation.validation import InputError, PathLike, as_path
from dcglearn.rankers.queries import Queries

_EXPECTED = "a document a line, such as: 2 qid:1 1:0.3 2:1.5"
"""What is expected in a file, for messages."""

_ODD = "write numbers as 10, not 1_0, and queries as qid:NUMBER"
"""The remedy for words that scikit-learn's reader takes for others."""


def read_queries(
    path: PathLike,
    *,
    n_grades: int | None = None,
    n_features: int | None = None,
    zero_based: bool = False,
) -> Queries:
    r"""Read documents with features and grades: lines ``2 qid:7 1:0.3 4:1.5 # docid = D12``.

    A feature that a line leaves out is 0, as in LightGBM, and ``4:nan`` is a missing value.

    Raises InputError if the file cannot be read or a line is wrong; it names file, line and value.

    Parameters
    ----------
    path : path
        Svmlight text with qid, also .gz and .zst, the features of a line in order. Names of
        documents are read from LETOR's comments if every line has one.
    n_grades, n_features : int, optional
        L and d; by default the largest in the file.
    zero_based : bool
        Whether features are numbered from 0; by default column ``i`` is feature ``i + 1``, as in
        LETOR.

    See Also
    --------
    load_ranker : Read a model to rank them.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "train.svm").write_text("2 qid:1 1:0.5 2:1\n0 qid:1 1:0.1\n")
    ...     read_queries(f"{folder}/train.svm")
    Queries(1 query, 2 documents, 2 features, 3 grades)
    """
    data = content(as_path(path), _EXPECTED)[1]
    features, labels, qid = _loaded(str(path), data, n_features, zero_based)
    n, d = features.shape
    if len(qid) < n or not n:
        raise InputError(
            f"{path}: {n - len(qid)} of {n} lines have no qid; expected {_EXPECTED}; numbers "
            "of documents a query are taken by Queries.from_groups in Python"
        )
    size = f"{path}: the table of {n:,} documents and {d:,} features"
    remedy = "number the features without gaps, or give Queries a sparse matrix"
    refuse_beyond_memory(16.0 * n * d, size, remedy)

    # the names of all documents
    names = re.findall(rb"#\s*docid\s*=\s*(\S+)", data)
    documents = None
    if len(names) == n:
        documents = [name.decode("utf-8", "replace") for name in names]

    try:
        return Queries(features.toarray(), labels, qid, n_grades, documents)
    except InputError as error:
        row_named = re.match(r"(?:qid|grades|features)\[(\d+)", error.args[0])
        line = f", line {_line_of_row(data, int(row_named[1]))}" if row_named else ""
        raise InputError(f"{path}{line}: {error}") from None


def _line_of_row(data: bytes, row: int) -> int:
    """Return the number of the line that holds a row; blank lines and comments hold none."""
    lines = data.split(b"\n")
    return [number for number, line in enumerate(lines, 1) if line.split(b"#")[0].strip()][row]


def _loaded(
    name: str, data: bytes, n_features: int | None, zero_based: bool
) -> tuple[Any, Any, Any]:
    """Return features (CSR), labels and qid (of the lines that have one) of a text.

    An error names the line.
    """
    from sklearn.datasets import load_svmlight_file

    # scikit-learn reads 1_0 as a number, and qid0x1:2 as a qid
    for odd in re.finditer(rb"_|[^\S\n]qid(?!:)", data):
        start = data.rfind(b"\n", 0, odd.start()) + 1
        if b"#" not in data[start : odd.start()]:
            raise _error_of_line(name, data, data.count(b"\n", 0, start), _ODD)

    def load(text: bytes) -> Any:
        options = {"zero_based": zero_based, "n_features": n_features}
        return load_svmlight_file(io.BytesIO(text), query_id=True, **options)

    try:
        return load(data)
    except (ValueError, OverflowError) as error:
        problem = str(error)

    # halve the lines until the one is left that cannot be read
    lines = data.split(b"\n")
    first, last = 0, len(lines)
    while last - first > 1:
        middle = (first + last) // 2
        try:
            load(b"\n".join(lines[first:middle]))
            first = middle
        except (ValueError, OverflowError):
            last = middle
    raise _error_of_line(name, data, first, problem)


def _error_of_line(name: str, data: bytes, line: int, problem: str) -> InputError:
    """Return the error of a line, counted from 0, that is not svmlight text."""
    text = data.split(b"\n")[line].decode("ascii", "backslashreplace").strip()
    return InputError(
        f"{name}, line {line + 1}: {text[:80]!r} is not GRADE qid:NUMBER FEATURE:NUMBER ..., the "
        f"features in order from 1, or from 0 with zero_based=True ({problem}); a table is read by "
        "fit(X, y, qid) in Python"
    )
