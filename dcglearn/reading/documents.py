"""Documents of queries with their grades or scores, from files, frames and dictionaries."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from dcglearn.foundation.sources import content, expand_paths, is_path, keys_once
from dcglearn.foundation.validation import InputError, errors_in, listed, one_of
from dcglearn.reading.columns import OwnNames, find, unused
from dcglearn.reading.contract import JUDGED, Contract, plain
from dcglearn.reading.scale import BAD, COMMAS, NO_GRADE, Scale
from dcglearn.reading.tables import Refusals, Table, joined, table_of, table_of_bytes
from dcglearn.reading.texts import text, twins
from dcglearn.reading.trec import ORDER, lines_of

MISSING = (*NO_GRADE, "nan", "none")
"""Words in place of a number that nobody knows, in lower case."""

ALONE = re.compile(rb'(?m)^("[^"\n]*"|[^",;\r\n]+)[,;]*(?=\r?$)')
"""A line with one cell that is not blank, the first."""

USUAL = {"q0", "iteration", "iter", "querytext", "docid"}
"""Plain names of columns that stand beside those that are read in TREC's files and PyTerrier."""


def judged_documents(
    judgements: Any, duplicates: str, n_grades: int | None, scale: Any, columns: Any
) -> tuple[str, pl.DataFrame, tuple[str, ...] | None]:
    """Return the name of judgements, their documents, and the names of their grades.

    The arguments are those of `read_judgements`. A document has one grade.
    """
    # the documents in files, or in one table
    own, levels = columns or {}, Scale.of(scale, n_grades)
    sources = [("judgements", judgements)]
    if is_path(judgements):
        sources = [opened(path, JUDGED) for path in expand_paths(judgements)]
    tables = [_graded(documents_of(name, one, JUDGED, own), levels) for name, one in sources]
    table = joined(tables)
    name = table.name if len(tables) == 1 else f"{len(tables):,} files"
    warn_of_twins(name, table.frame["query"])

    # no grade is a slip, unless the scale names it
    frame = without_duplicates(table, duplicates)
    if levels.names is None:
        _refuse_slip(table, n_grades)
    return name, frame, levels.names


def opened(path: str, contract: Contract) -> tuple[str, Any]:
    """Return the name of a file, and the table or the dictionary by query that it holds."""
    judged = contract is JUDGED
    name, data = content(path, "one judgement a line" if judged else "one document a line")
    if data[:4] != b"PAR1":
        _check_text(name, data)
        table = lines_of(name, data, judged=judged)
        if table is not None:
            return name, table

        # Python writes NaN, which JSON does not know
        if data.lstrip()[:1] == b"{":
            data = re.sub(rb'(?<!\\)(":\s*)NaN(?=\s*[,}])', rb"\1null", data)
            value = _of_json(name, data)
            if value is not None:
                return name, value

    # a query without ratings has a line of its name alone in Quepid's files
    header = data.partition(b"\n")[0].decode(errors="replace")
    if judged and plain(header) == "querydocidrating":
        data = ALONE.sub(b"", data)
    return name, table_of_bytes(name, data)


def documents_of(name: str, value: Any, contract: Contract, own: OwnNames) -> Table:
    """Return the documents in a table, or in a dictionary by query, as columns by role.

    Names are texts, and numbers as they are; a warning names columns that are not used.
    """
    number = "grade" if contract is JUDGED else "score"
    with errors_in(name):
        table = table_of(_of_dictionary(value, number) if isinstance(value, Mapping) else value)
        table = replace(table, places=table.places.with_columns(file=pl.lit(name)))
        names = table.frame.columns

        # where the columns are; BEIR's judgements have scores
        if contract is JUDGED and {*map(plain, names)} >= {"corpusid", "score"}:
            contract = {**JUDGED, "grade": replace(JUDGED["grade"], names="score")}
        found = find(names, contract, own)
        if not {"grade", "score", "rank"} & found.keys():
            raise InputError(
                f"no {number!r} ({contract[number].names}); found {listed(names)}; "
                f"columns={{{number!r}: '...'}} names it; if the files are exchanged: {ORDER}"
            )

    # those that are not used; if one has the name of a role, the user has chosen another
    usual = USUAL | contract.keys()
    others = [one for one in unused(names, found) if plain(one) not in usual]
    if others:
        warnings.warn(f"{name}: columns that are not used: {listed(others)}", stacklevel=2)

    # names as text
    refusals, columns = Refusals(table), {}
    for role, its in found.items():
        cells = table.frame[its[0]]
        is_name = contract[role].kind == "label" and not table.words
        columns[role] = _names(role, cells, refusals) if is_name else cells
    refusals.check()
    return replace(table, frame=pl.DataFrame(columns))


def numbers(role: str, table: Table, remedy: str = "") -> pl.Series:
    """Return the numbers of a column, null where they are missing; refuse other cells."""
    cells = table.frame[role]
    is_text = cells.dtype == pl.String
    if is_text or cells.dtype.is_numeric():
        values = cells.cast(pl.Float64, strict=False).fill_nan(None)
        if not (is_text and values.has_nulls()):
            return values

    # words for numbers, or for those that are missing
    texts = text(cells)
    lower = texts.str.to_lowercase()
    if role == "grade":  # a score is never one of two answers
        lower = lower.replace({"true": "1", "false": "0"})
    values = lower.cast(pl.Float64, strict=False).fill_nan(None)
    is_wrong = values.is_null() & ~lower.is_in(MISSING)
    table.refuse(is_wrong, f"{role} is", f"write a number such as 0.5; {remedy}{COMMAS}", texts)
    return values


def warn_of_twins(name: str, *queries: pl.Series) -> None:
    """Warn of queries whose names differ in capitals or in Unicode's form alone."""
    alike = twins(pl.concat(queries))
    if len(alike):
        warnings.warn(
            f"{name}: names of queries that differ in form alone count as different: "
            f"{listed(alike)}",
            stacklevel=2,
        )


def _check_text(name: str, data: bytes) -> None:
    """Raise InputError for bytes that are not UTF-8, and for a mark where files were joined."""
    if data.isascii():
        return
    problem = "begins with a byte order mark, as where files were joined; delete it"
    mark = re.search(rb"(?m)^\xef\xbb\xbf", data) if b"\xef" in data else None
    at = mark.start() if mark else -1
    try:
        data.decode()
    except UnicodeDecodeError as error:
        at = error.start
        problem = f"the byte {data[at]:#x} is not UTF-8 text; save the file as UTF-8"
    if at >= 0:
        row = data.count(b"\n", 0, at) + 1
        raise InputError(f"{name}, line {row}: {problem}")


def _of_json(name: str, data: bytes) -> Any:
    """Return the dictionary by query in JSON, or OpenSearch's ratings, or None for other tables.

    Documents that could not be rated have no rating.
    """
    with errors_in(name):
        try:
            value = json.loads(data, object_pairs_hook=keys_once)
        except (json.JSONDecodeError, RecursionError):
            return None

    if "judgmentRatings" not in value:
        return value if all(isinstance(part, dict) for part in value.values()) else None
    try:
        return [
            {"query": rated["query"], "docId": one["docId"], "rating": one.get("rating")}
            for rated in value["judgmentRatings"]
            for one in [*rated["ratings"], *rated.get("failures", [])]
        ]
    except (AttributeError, KeyError, TypeError) as error:
        raise InputError(f"{name}: a judgement list without {error}") from error


def _of_dictionary(queries: Mapping[Any, Any], number: str) -> pl.DataFrame:
    """Return a row for each document of a dictionary ``{query: {document: number}}``."""
    rows: list[Any] = []
    for query, part in queries.items():
        if not isinstance(part, Mapping):
            cure = "dict.fromkeys([...], 1), with the names, takes all for relevant"
            if number == "score":
                cure = "{d: -i for i, d in enumerate(documents)} keeps their order"
            raise InputError(
                f"expected {{query: {{document: {number}}}}}; found {part!r} for the query "
                f"{query!r}; {cure}"
            )

        # what is no number stays a text, which is refused by its row
        for document, value in part.items():
            is_one = value is None or np.isscalar(value)
            rows.append((query, document, value if is_one else str(value)))
    if not rows:
        raise InputError("there is no document")

    # names as text; numbers as they are, or all as text where one is
    names: Any = {"query": pl.String, "document": pl.String, number: None}
    try:
        return pl.DataFrame(rows, names, orient="row", strict=False, infer_schema_length=None)
    except (ValueError, TypeError, pl.exceptions.PolarsError) as error:
        raise InputError(
            f"a query, document or {number} cannot be read ({error}); use plain text and numbers"
        ) from error


def _names(role: str, cells: pl.Series, refusals: Refusals) -> pl.Series:
    """Return names as text, which every row has."""
    texts = text(cells)
    refusals.add(texts == "", f"{role} is missing")
    if texts.str.contains_any(["[", "{", "\n", "\r"]).any():  # faster than the patterns
        has_lines = texts.str.contains(r"[\n\r]")
        refusals.add(has_lines, f"{role} holds a line end:", "is a quotation mark missing?", texts)
        is_list = texts.str.contains(r"^(\[(\]|[\[\{\"0-9-])|\{[\}\"])")
        refusals.add(is_list, f"{role} is", "use text or an integer", texts)
    return texts


def _graded(table: Table, levels: Scale) -> Table:
    """Return the documents that have a grade, a number or a place on a scale; warn of others."""
    if levels.names is None:
        remedy = (
            "scale= (--scale Bad,Fair,Good) gives names of grades, worst first, and "
            "columns={'grade': '...'} another column; "
        )
        grade = numbers("grade", table, remedy)
        table.refuse(grade.is_infinite(), "grade is", "", grade)
    else:
        texts = text(table.frame["grade"])
        codes = levels.codes(texts)
        first = texts[int((codes == BAD).argmax())]
        table.refuse(codes == BAD, f"grade holds {levels.problem(first)}")

        # numbers below 0 are worth nothing
        is_below = (texts.cast(pl.Float64, strict=False) < 0).fill_null(False)
        grade = pl.Series(codes, dtype=pl.Float64).replace(-1.0, None).set(is_below, 0.0)

    # documents without a grade are not judged
    frame = table.frame.select("query", "document", grade.alias("grade"))
    missing = grade.is_null().arg_true().to_list()
    if len(missing) == len(frame):
        raise InputError(f"{table.name} holds no grade; judge some documents first")
    table = replace(table, frame=frame)
    if missing:
        warnings.warn(
            f"{table.name}: no grade of {len(missing):,} of {len(frame):,} documents, which count "
            f"as not judged; the first is in {table.place(missing[0])}",
            stacklevel=2,
        )
        table = table.without(missing)
    return table


def _refuse_slip(table: Table, n_grades: int | None) -> None:
    """Raise InputError for a grade above the scale, or for one that is a slip, as 30 beside 3.

    A slip is the top one of few levels where it stands apart and is rare.
    """
    grades, few_levels, rare = table.frame["grade"], 10, 0.005
    top: Any = grades.max()
    is_top, problem = grades == top, ""

    # above the scale
    if n_grades is not None:
        problem = off_scale(top, n_grades) if top >= n_grades else ""

    # or rare and far from the next; a grade below 0 counts as 0
    elif is_top.sum() <= rare * len(grades):
        levels = grades.clip(0.0).unique().sort()
        if 1 < len(levels) <= few_levels and top - levels[-2] > 1:
            problem = (
                f"the grade {top:g} ({is_top.sum():,} of {len(grades):,}) stands far above the "
                f"others, up to {levels[-2]:g}; correct it, or n_grades={int(top) + 1} insists on "
                "it"
            )
    if problem:
        raise InputError(f"{table.place(int(is_top.arg_max() or 0))}: {problem}")


def off_scale(top: float, size: int) -> str:
    """Return the refusal of a grade above a scale."""
    return (
        f"grade {top:g} lies outside 0..{size - 1}; raise n_grades={size} (--grades) or correct it"
    )


def without_duplicates(
    table: Table, duplicates: str, keys: Sequence[str] = ("query", "document")
) -> pl.DataFrame:
    """Return a frame with one row per key; raise InputError if a key recurs on "error"."""
    one_of(duplicates, "duplicates", ("error", "first", "last"))
    frame = table.frame
    hashes = np.sort(frame.select(keys).hash_rows().to_numpy())  # faster than n_unique
    if (hashes[1:] != hashes[:-1]).all():
        return frame

    # the first of those that occur again
    if duplicates == "error":
        twice = frame.select(keys).is_duplicated()
        problem = "occurs more than once for its query: the document"
        remedy = (
            'in Python, duplicates="first" or "last" keeps one; or see the recipe '
            "'Grades of several raters'"
        )
        table.refuse(twice, problem, remedy, frame["document"])
    keep: Any = duplicates
    return frame.unique(keys, keep=keep, maintain_order=True)


def scored(table: Table) -> Table:
    """Return documents with scores, or with ranks in their place where no row has a score."""
    frame = table.frame
    score = numbers("score", table) if "score" in frame else None
    if score is not None and not score.is_null().all():
        remedy = "columns={'score': ''} takes the ranks" if "rank" in frame else ""
        table.refuse(score.is_null(), "score is missing", remedy)
        frame = frame.with_columns(score=score)
        if "rank" in frame:
            _check_ranks(table.name, frame)
        return replace(table, frame=frame.drop("rank", strict=False))

    # ranks alone
    if "rank" not in frame:
        raise InputError(f"{table.name} holds no score")
    rank = numbers("rank", table)
    keys = [role for role in ("run", "query") if role in frame]
    frame = frame.with_columns(score=-rank).drop("rank")
    is_shared = frame.select(*keys, "score").is_duplicated() | rank.is_null()
    problem = "is missing, or occurs twice in the query, and there are no scores: the rank"
    table.refuse(is_shared, problem, "", rank)
    return replace(table, frame=frame)


def _check_ranks(name: str, frame: pl.DataFrame) -> None:
    """Raise InputError if ranks and scores are exchanged; warn if rank 1 scores worst."""
    rank = frame["rank"].cast(pl.Float64, strict=False)
    if rank.has_nulls():
        return
    if (rank % 1 != 0).any():
        if (frame["score"] % 1 == 0).all():
            raise InputError(f"{name}: rank and score seem exchanged: the rank {rank[0]:g} is none")
        return

    # on the first lines, then on all
    keys = [role for role in ("run", "query") if role in frame]
    score, ranked = pl.col("score"), frame.with_columns(rank)
    is_worst = (score.get(pl.col("rank").arg_min()) == score.min()) & (score.n_unique() > 1)
    for lines in (ranked[:1000], ranked):
        if not lines.group_by(keys).agg(is_worst=is_worst)["is_worst"].all():
            return
    warnings.warn(
        f"{name}: the document of rank 1 has the lowest score in every query, and the highest "
        "counts as the best: negate the scores, or columns={'score': ''} takes the ranks",
        stacklevel=2,
    )
