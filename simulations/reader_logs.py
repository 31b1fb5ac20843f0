"""Logs of real readers: published files of people and of language models, each as one log.

The files stay where they are. `SOURCES` says what each is, and by which name a file is recognised.
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

import dcglearn as dl

PASSAGES = 20
"""Number of passages of the answers from which a language model's reader is learned."""

NUMBERS = ("num_documents", "gold_index", "right", "imp_position", "satisfaction", "feedback_1to6")
LABELS = ("model", "condition", "question", "user", "topic", "grades_by_displayed_rank")
TYPES: dict[str, Any] = {
    **dict.fromkeys(NUMBERS, pl.Int64),
    **dict.fromkeys(("userid", "taskid"), pl.Int64),
    **dict.fromkeys(("post_pref", "viewport_time"), pl.Float64),
    **dict.fromkeys(LABELS, pl.String),
}
"""What the columns of published tables hold."""
MAY_BE_BLANK = ("num_documents", "gold_index", "post_pref")


@dataclass(frozen=True)
class Source:
    """A reader's log: who reads, the published file, what is held out whole, and its reading.

    `cite` is the paper, `unit` one of "rater", "query", "list" and "question". With `halo`, one
    person grades the items and rates the list. `read` makes the log of a path.
    """

    title: str
    file: str
    unit: str
    cite: str
    halo: bool
    read: Callable[[Path], Any] = field(repr=False)


def of_satisfaction(path: Path, n_grades: int) -> dl.Preferences:
    """Read lists of ten results with grades of usefulness, and the satisfaction with each."""
    lists, ratings = [], []
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        try:
            _, _, grades, satisfaction = line.split("\t")
            lists.append(json.loads(grades))
            ratings.append(int(satisfaction))
        except ValueError:
            raise dl.InputError(
                f"{path}, line {number}: {line[:60]!r} is not reformulation, clicks, grades and "
                "satisfaction, tab-separated; give the file as it was published"
            ) from None
    with errors_of(path):
        return dl.Preferences.from_ratings(lists, ratings, n_grades=n_grades, depth=10)


def of_shuffled(path: Path) -> dl.Preferences:
    """Read lists whose order was shuffled by user; compared are those of a user and topic."""
    columns = ["user", "topic", "grades_by_displayed_rank", "feedback_1to6"]
    table = read_table(path, columns, separator="\t")
    codes, lists = {"u": "-1", ".": "-2"}, []
    for number, row in enumerate(table["grades_by_displayed_rank"].to_list(), start=2):
        try:
            lists.append([int(codes.get(grade, grade)) for grade in row.split(",")])
        except ValueError:
            raise dl.InputError(
                f"{path}, line {number}: {row[:60]!r} does not hold grades, u and . alone; "
                "give the file as it was published"
            ) from None
    labels = {"group": "user", "segment": "topic"}
    named = {role: table[name].cast(pl.String).to_numpy() for role, name in labels.items()}
    with errors_of(path):
        return dl.Preferences.from_ratings(
            lists, table["feedback_1to6"].to_numpy(), n_grades=3, depth=10, **named
        )


def read_feed(path: Path) -> pl.DataFrame:
    """Read shown news with grades from 0, -1 where there is none, and the list's satisfaction."""
    shown = read_table(path, ["userid", "taskid", "imp_position", "post_pref", "viewport_time"])
    tasks = read_table(path.with_name("tasks.csv"), ["userid", "taskid", "satisfaction"])
    grade = (pl.col("post_pref").cast(pl.Int64) - 1).fill_null(-1)
    joined = shown.with_columns(grade=grade).join(tasks, on=["userid", "taskid"])
    if joined.is_empty():
        raise dl.InputError(f"{path}: no list has a satisfaction in tasks.csv beside it")
    return joined.sort("userid", "taskid", "imp_position")


def of_feed(path: Path) -> dl.Preferences:
    """Read lists of fifteen news that their reader rated, and the satisfaction with each list."""
    lists = read_feed(path).group_by("userid", "taskid", maintain_order=True)
    table = lists.agg(pl.col("grade"), pl.col("satisfaction").first())
    with errors_of(path):
        return dl.Preferences.from_ratings(
            table["grade"].to_list(),
            table["satisfaction"].to_numpy(),
            table["userid"].cast(pl.String).to_numpy(),
            n_grades=5,
        )


def exposure(path: Path) -> pl.DataFrame:
    """Return each person's share of viewport time by position: userid, position, share."""
    seen = read_feed(path).group_by("userid", "imp_position").agg(pl.col("viewport_time").sum())
    share = pl.col("viewport_time") / pl.col("viewport_time").sum().over("userid")
    return seen.select("userid", position="imp_position", share=share).sort("userid", "position")


def of_answers(
    path: Path, model: str, passages: int = PASSAGES, places: Sequence[int] | None = None
) -> Any:
    """Read answers of a language model to questions whose right passage stood at several places.

    Those given without any passage, and with the right one alone, belong to them. Lists hold all
    passages, or those at some `places`, from 0, alone.
    """
    columns = ["model", "condition", "num_documents", "gold_index", "question", "right"]
    every = read_table(path, columns).filter(pl.col("model") == model)
    asked = every.filter(num_documents=passages)
    if asked.is_empty():
        raise dl.InputError(f"{path}: {model} has no answers from {passages} passages")

    # the same questions without any, and with the right passage alone
    others = every.filter(pl.col("condition").is_in(["oracle", "closedbook"]))
    others = others.join(asked.select("question").unique(), on="question", how="semi")
    lines = []
    for row in pl.concat([asked, others]).iter_rows(named=True):
        grades = {"oracle": [1], "closedbook": []}.get(row["condition"])
        if grades is None:
            shown = range(passages) if places is None else places
            grades = [int(place == row["gold_index"]) for place in shown]
        right = bool(row["right"])
        lines.append({"question": row["question"], "list": grades, "right": right})
    return dl.io.read_answers(lines)


def places_of(path: Path, model: str) -> dict[int, list[int]]:
    """Return the places of the right passage, from 0, by number of passages."""
    every = read_table(path, ["model", "num_documents", "gold_index"]).drop_nulls()
    own = every.filter(pl.col("model") == model).sort("num_documents", "gold_index")
    places = own.group_by("num_documents", maintain_order=True).agg(pl.col("gold_index").unique())
    return {n: sorted(asked) for n, asked in places.iter_rows()}


def read_table(path: Path, columns: Sequence[str], separator: str = ",") -> pl.DataFrame:
    """Read columns of a table.

    Raises InputError if the file or a column is missing, or a cell holds no value of its column.
    """
    if not path.is_file():
        raise dl.InputError(f"{path} does not exist; give the folder as it was published")
    try:
        data = lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()
        table = pl.read_csv(data, separator=separator, infer_schema=False)
    except (lzma.LZMAError, pl.exceptions.PolarsError) as error:
        raise dl.InputError(f"{path}: cannot be read as a table ({error})") from error
    if missing := [name for name in columns if name not in table.columns]:
        found = ", ".join(table.columns)
        raise dl.InputError(f"{path} has no column {missing[0]!r}; it has {found}")

    # the first cell that is blank, or no number where numbers are wanted
    values = table.select(pl.col(name).cast(TYPES[name], strict=False) for name in columns)
    for name in columns:
        bad = values[name].is_null()
        if name in MAY_BE_BLANK:
            bad &= table[name].is_not_null()
        if bad.any():
            row = int(bad.arg_max() or 0)
            raise dl.InputError(
                f"{path}, line {row + 2}: {name} is {table[name][row] or ''!r}; "
                "give the file as it was published"
            )
    return values


@contextmanager
def errors_of(path: Path) -> Iterator[None]:
    """Put a file before the message of an InputError."""
    try:
        yield
    except dl.InputError as error:
        raise dl.InputError(f"{path}: {error}") from error


THUIR = "TianGong, after Chen and others, CIKM 2021"
LOST = "repository zhs2326/lost-in-the-middle-2026, after Liu and others, TACL 2024"

SOURCES = {
    "web-search-fsd": Source(
        "web search (FSD)",
        "fsd_train.txt",
        "list",
        THUIR,
        True,
        partial(of_satisfaction, n_grades=5),
    ),
    "web-search-qref": Source(
        "web search (QRef)",
        "qref_train.txt",
        "list",
        THUIR,
        True,
        partial(of_satisfaction, n_grades=4),
    ),
    "news-search": Source(
        "search of news",
        "derived_lists_core18grades.tsv",
        "rater",
        "Pathak, Azzopardi and Halvey, CHIIR 2024",
        False,
        of_shuffled,
    ),
    "music": Source(
        "similar music",
        "side_by_side.jsonl",
        "query",
        "Urbano and Marrero, ECIR 2015",
        False,
        dl.read_preferences,
    ),
    "news-feed": Source(
        "news feed", "logs.csv", "rater", "Lu, Zhang and Ma, SIGIR 2018", True, of_feed
    ),
    "claude-sonnet-4-6": Source(
        "Claude Sonnet 4.6",
        "answers.csv.xz",
        "question",
        LOST,
        False,
        partial(of_answers, model="claude-sonnet-4-6"),
    ),
    "deepseek-chat": Source(
        "DeepSeek chat",
        "answers.csv.xz",
        "question",
        LOST,
        False,
        partial(of_answers, model="deepseek-chat"),
    ),
}
"""Readers by name: people in search, with music and in a feed; language models."""


def found(paths: Sequence[Path]) -> dict[str, Path]:
    """Return the file of each reader that is in the folders, or is one of the files.

    A language model without answers in its file is left out. Raises InputError for a path that does
    not exist, or holds none of the files.
    """
    by_file: dict[str, Path] = {}
    names = sorted({source.file for source in SOURCES.values()})
    for path in paths:
        if not path.exists():
            raise dl.InputError(f"{path} does not exist; name a folder with published files")
        files = [path] if path.is_file() else sorted(path.rglob("*"))
        here = {file.name: file for file in files if file.name in names}
        if not here:
            raise dl.InputError(f"{path} holds none of {', '.join(names)}")
        by_file |= here
    files = {
        name: by_file[source.file] for name, source in SOURCES.items() if source.file in by_file
    }
    return {
        name: file
        for name, file in files.items()
        if SOURCES[name].unit != "question" or places_of(file, name)
    }
