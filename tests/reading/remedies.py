"""How frozen readings and odd files are read that one table does not hold: a recipe, or an option.

A recipe has the title of its section in docs/recipes.md, of which it is the same polars with the
names of columns of the file at hand.
"""

import io
import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import polars.selectors as cs

import dcglearn as dl


class Remedy(NamedTuple):
    """What a refusal names, the title of a recipe or an option, and the reading that it gives.

    `read` takes the path, the paths or the values of a reading, and options that still hold.
    """

    title: str
    read: Callable[..., dl.Preferences]


def by_options(*named: str, **options: Any) -> Remedy:
    """Return the remedy of an option; `named` are options that are taken back."""

    def read(source: Any, **given: Any) -> dl.Preferences:
        kept = {name: value for name, value in given.items() if name not in named}
        return dl.read_preferences(source, **(kept | options))

    return Remedy(f"{next(iter(options))}=", read)


def by_recipe(title: str, frame_of: Callable[[Any], pl.DataFrame], **options: Any) -> Remedy:
    """Return the remedy of a recipe, which makes a frame of the source, and of options with it."""

    def read(source: Any, **given: Any) -> dl.Preferences:
        kept = {name: value for name, value in given.items() if name in KEPT}
        return dl.read_preferences(frame_of(source), **(kept | options))

    return Remedy(title, read)


KEPT = {"n_grades", "depth", "pad", "scale", "winner_words", "as_is", "sides", "skip_bad"}
"""Options of a frozen reading that a recipe leaves as they are."""


def table(source: Any, **options: Any) -> pl.DataFrame:
    """Return a file, or records, as a frame."""
    if not isinstance(source, Path):
        return pl.DataFrame(source, infer_schema_length=None, strict=False)
    if source.suffix == ".parquet":
        return pl.read_parquet(source)
    if source.suffix == ".json":
        return pl.read_json(source, infer_schema_length=None)
    if source.suffix == ".jsonl":
        return pl.read_ndjson(source, infer_schema_length=None)
    if source.suffix == ".xlsx":
        return pl.read_excel(source, engine="openpyxl", **options)
    first = source.read_bytes().split(b"\n")[0]
    separator = next((mark for mark in ";\t" if mark.encode() in first), ",")
    return pl.read_csv(source, **({"separator": separator, "infer_schema_length": None} | options))


# forms and sheets


def two_lines_of_names(source: Any, n_above: int = 0) -> pl.DataFrame:
    lines = rows_of(source)[n_above:]
    over = pl.Series(lines[0]).fill_null(strategy="forward")
    pairs = zip(over, lines[1], strict=True)
    names = [f"{top}_{name}" if (name or "x").isdigit() else name or top for top, name in pairs]
    return pl.DataFrame(lines[2:], schema=names, orient="row")


def rows_of(source: Path) -> list[tuple[str | None, ...]]:
    """Return all lines of a sheet as texts."""
    if source.suffix == ".xlsx":
        sheet = pl.read_excel(source, has_header=False, engine="openpyxl").cast(pl.String)
        sheet = sheet.with_columns(pl.all().str.strip_chars().replace("", None))
        return sheet.filter(~pl.all_horizontal(pl.all().is_null())).rows()
    return table(source, has_header=False, infer_schema=False).rows()


def title_above(source: Path, skip_lines: int) -> pl.DataFrame:
    if source.suffix == ".xlsx":
        names, *rows = rows_of(source)[skip_lines:]
        return pl.DataFrame(rows, schema=names, orient="row")
    line = source.read_text().splitlines()[skip_lines]
    return pl.read_csv(source, skip_lines=skip_lines, separator=";" if ";" in line else ",")


def merged_cells(source: Any, column: str) -> pl.DataFrame:
    """Fill blank cells by a word: those of the frozen readings belong to no query."""
    return table(source).with_columns(pl.col(column).fill_null("unknown"))


def single_cells(source: Any, column: str) -> pl.DataFrame:
    """Leave out the rows of merged cells."""
    frame = table(source).with_columns(pl.col(column).forward_fill())
    return frame.filter(pl.len().over(column) == 1)


def outcomes(source: Any, a: str, b: str, tie: str | None = None) -> pl.DataFrame:
    frame = table(source)
    sides = {"a": a, "b": b} | ({} if tie is None else {"tie": tie})
    is_won = {side: pl.col(name).cast(float) == 1 for side, name in sides.items()}
    won = [pl.when(is_side).then(pl.lit(side)) for side, is_side in is_won.items()]
    return frame.with_columns(winner=pl.concat_str(won, ignore_nulls=True))


def raters(source: Any, names: Sequence[str]) -> pl.DataFrame:
    frame = table(source)
    columns = cs.by_name(names)
    rows = frame.unpivot(columns, index=~columns, variable_name="rater", value_name="winner")
    return rows.drop_nulls("winner").with_columns(pl.col("rater").str.strip_prefix("winner_"))


def votes(source: Any, **names: str) -> pl.DataFrame:
    frame = table(source).rename({own: name for name, own in names.items()})
    columns = cs.starts_with("votes_")
    rows = frame.unpivot(columns, index=~columns, variable_name="winner", value_name="weight")
    rows = rows.with_columns(pl.col("winner").str.strip_prefix("votes_"))
    return rows.filter(pl.col("weight") != 0)


def whole_votes(source: Any) -> pl.DataFrame:
    """Return the rows whose votes are numbers."""
    frame = table(source)
    are_numbers = pl.col("votes_a", "votes_b").cast(float, strict=False).is_not_null()
    return frame.filter(pl.all_horizontal(are_numbers)).with_columns(
        pl.col("votes_a", "votes_b").cast(float)
    )


def probabilities(source: Any, p: pl.Expr | None = None) -> pl.DataFrame:
    """Count a row of p as p for a and 1 - p for b, times its own weight."""
    frame = table(source)
    if "weight" not in frame.columns:
        frame = frame.with_columns(weight=pl.lit(1.0))
    p = pl.col("probability") if p is None else p
    weight = pl.col("weight").fill_null(1)
    for_a = frame.with_columns(winner=pl.lit("a"), weight=weight * p)
    for_b = frame.with_columns(winner=pl.lit("b"), weight=weight * (1 - p))
    return pl.concat([for_a, for_b]).filter(pl.col("weight") != 0)


def logprobs(source: Any) -> pl.DataFrame:
    frame = table(source)
    p = pl.lit(None)
    if "logprob_b" in frame.columns:
        p = 1 / (1 + (pl.col("logprob_b") - pl.col("logprob_a")).exp())
    if "logprob" in frame.columns:
        p = pl.coalesce(p, pl.col("logprob").exp())
    return probabilities(frame, p)


def chosen(source: Any) -> pl.DataFrame:
    frame = table(source).rename({"chosen": "a", "rejected": "b"})
    return frame.with_columns(winner=pl.lit("a"))


def likert(source: Any, middle: float, larger: str, name: str = "winner") -> pl.DataFrame:
    distance = (pl.col(name) - middle) * (1 if larger == "b" else -1)
    side = distance.sign().cast(int).replace_strict({-1: "a", 0: "tie", 1: "b"})
    frame = table(source).with_columns(said=side, strength=distance.abs().replace(0, 1))
    return frame.drop(name).rename({"said": "winner"})


# lists


def row_a_document(source: Any, keys: Sequence[str] = ("query",), **renamed: str) -> pl.DataFrame:
    rows = table(source) if not isinstance(source, pl.DataFrame) else source
    rows = rows.rename({own: name for name, own in renamed.items()})
    return dl.from_long(rows, keys=list(keys))


def said_by_document(source: Any) -> pl.DataFrame:
    """Return rows of documents without a winner, and perhaps without a query, as lists."""
    rows = table(source)
    if "query" in rows.columns:
        return row_a_document(rows)
    return row_a_document(rows.with_columns(query=pl.lit("q"))).drop("query")


OBJECT = r"\{[^{}]*?(?:[Gg]rade|[Rr]elevance)\W+([^,}]*?)['\"]?(?:,[^{}]*)?\}"
"""An object in a list, of which the first group is the grade."""


def objects(source: Any, **fields: str) -> pl.DataFrame:
    of = {side: pl.col(side).list for side in "ab"}
    grades = {
        side: of[side].eval(pl.element().struct.field(fields.get(side, "grade"))) for side in of
    }
    return table(source).with_columns(**grades)


def objects_in_text(source: Path) -> pl.DataFrame:
    """Return grades in place of objects, in cells of text or in lines of JSON."""
    if source.suffix == ".jsonl":
        return pl.read_ndjson(io.StringIO(re.sub(OBJECT, r'"\1"', source.read_text())))
    lists = pl.col("a", "b").str.replace_all(OBJECT, "$1")
    return table(source).with_columns(lists.str.strip_chars("[]").str.replace_all(", ", " "))


def inside(source: Any, **columns: Sequence[str]) -> pl.DataFrame:
    """Take values of structs; of several paths of one role, the one that is not null."""

    def of(path: str) -> pl.Expr:
        name, *fields = path.split(".")
        value = pl.col(name)
        for field in fields:
            value = value.struct.field(field)
        return value

    frame = table(source)
    names = {role: pl.coalesce(*map(of, paths)) for role, paths in columns.items()}
    return frame.select(**names)


def lists_of(frame: pl.DataFrame, separator: str = " ") -> pl.DataFrame:
    """Return lists of texts as lists of numbers, decimal commas as points."""
    texts = pl.col("a", "b").str.replace_all(",", ".")
    return frame.with_columns(texts.str.split(separator).cast(pl.List(float), strict=False))


def fractions(frame: pl.DataFrame, cuts: Sequence[float]) -> pl.DataFrame:
    names = [f"{low:.4g}-{high:.4g}" for low, high in zip([0, *cuts], [*cuts, 1], strict=True)]
    level = sum((pl.element() >= cut).cast(int) for cut in cuts)
    level = level.replace_strict(dict(enumerate(names)))
    return frame.with_columns(pl.col("a", "b").list.eval(level))


def level_names(cuts: Sequence[float]) -> list[str]:
    return [f"{low:.4g}-{high:.4g}" for low, high in zip([0, *cuts], [*cuts, 1], strict=True)]


def equal_levels(frame: pl.DataFrame, n: int) -> list[float]:
    """Return cut-offs of levels of equally many grades."""
    grades = pl.concat([frame[side].explode() for side in "ab"]).drop_nulls()
    cuts = {grades.quantile(i / n, "higher") for i in range(1, n)}
    return sorted(cuts - {grades.min()})


def by_fractions(
    lists: Callable[[Any], pl.DataFrame], cuts: Sequence[float] | int, title: str = "Fractions"
) -> Remedy:
    """Return the remedy that cuts lists of numbers into levels."""

    def read(source: Any, **_: Any) -> dl.Preferences:
        frame = lists(source)
        at = equal_levels(frame, cuts) if isinstance(cuts, int) else cuts
        return dl.read_preferences(fractions(frame, at), scale=level_names(at))

    return Remedy(title, read)


def weight_with_comma(source: Any) -> pl.DataFrame:
    weight = pl.col("weight").cast(str).str.replace(",", ".").cast(float, strict=False)
    return table(source).with_columns(weight)


def as_json(source: Path) -> pl.DataFrame:
    """Return objects of JSON over several lines, one after another."""
    text = re.sub(r"\}\s*\{", "}, {", source.read_text())
    return pl.read_json(io.StringIO(f"[{text}]"), infer_schema_length=None)


def rated_documents(source: Any, **given: Any) -> dl.Preferences:
    rows = table(source).sort("position")
    lists = rows.group_by("list_id", maintain_order=True).agg("grade", pl.col("rating").first())
    return dl.read_ratings(lists.select(list="grade", rating="rating"), **given)


def tuples(source: Any, names: Sequence[str] = ("a", "b", "winner")) -> pl.DataFrame:
    return pl.DataFrame(source, schema=list(names), orient="row")


def rated_tuples(source: Any, **given: Any) -> dl.Preferences:
    return dl.read_ratings(tuples(source, ["list", "rating"]), **given)


def named_tuples(source: Any, names: Any = None, **given: Any) -> dl.Preferences:
    """Read tuples; of two values, the first list is preferred."""
    first = tuple(source[0])
    frame = tuples(source, names or ["a", "b", "winner"][: len(first)])
    if len(first) == 2:
        frame = frame.with_columns(winner=pl.lit("a"))
    return dl.read_preferences(frame, **given)


def several(sources: Sequence[Path], column: str) -> pl.DataFrame:
    frames = [table(source) for source in sources]
    frames = [frame.select(*{column, "a", "b", "winner"} & {*frame.columns}) for frame in frames]
    return pl.concat(frames, how="diagonal").with_columns(pl.col(column).fill_null("unknown"))


def names_with_blanks(source: Path, names: Sequence[str]) -> pl.DataFrame:
    """Return lists of names, some of which hold blanks."""
    marked = {name: name.replace(" ", "_") for name in names}
    lists = pl.col("a", "b").str.replace_many(marked).str.split(" ")
    return table(source).with_columns(lists.list.eval(pl.element().str.replace_all("_", " ")))


def names_with_points(source: Path) -> pl.DataFrame:
    """Return lists of names that are numbers with a point."""
    names = {0.0: "0.0", 1.0: "1.0", 2.5: "2.50"}
    frame = table(source)
    if frame["a"].dtype == pl.String:
        frame = frame.with_columns(pl.col("a", "b").str.split(" "))
    lists = pl.col("a", "b").cast(pl.List(float))
    return frame.with_columns(lists.list.eval(pl.element().replace_strict(names)))


def lists_of_one(source: Path) -> pl.DataFrame:
    return table(source).with_columns(
        pl.concat_list("a").alias("a"), pl.concat_list("b").alias("b")
    )


def number_names(lists: Callable[[Any], pl.DataFrame]) -> Callable[[Any], pl.DataFrame]:
    """Return lists of fractions as names of grades, such as 0.25 and 1."""
    names = {0.1: "0.1", 0.25: "0.25", 0.5: "0.5", 1.0: "1"}
    eval_ = pl.col("a", "b").list.eval(pl.element().replace_strict(names))
    return lambda source: lists(source).with_columns(eval_)


def wide_with_commas(source: Path) -> pl.DataFrame:
    frame = table(source, decimal_comma=True)
    lists = {side: pl.concat_list(cs.matches(f"^{side}[0-9]")) for side in "ab"}
    return frame.with_columns(**lists)


def long_with_commas(source: Path) -> pl.DataFrame:
    frame = table(source, decimal_comma=True).with_columns(query=pl.lit("q"))
    lists = row_a_document(frame).drop("query")
    return lists.with_columns(pl.col("a", "b").cast(pl.List(float)))


def doubled(source: Path) -> pl.DataFrame:
    return table(source).unique(["a", "b", "winner", "rater"], keep="first", maintain_order=True)


def no_names(source: Path, **names: int) -> pl.DataFrame:
    """Name columns that have none, a number of them for each name."""
    new = [f"{name}_{i + 1}" if n > 1 else name for name, n in names.items() for i in range(n)]
    return pl.read_csv(source, has_header=False, new_columns=new)


def encoded(source: Path, encoding: str, **options: Any) -> pl.DataFrame:
    return pl.read_csv(source, encoding=encoding, **options)


POLARS = "No names, titles above, another encoding, another sheet"
LONG = "A row for each document"
COMMAS = "Numbers with commas, names with blanks"
SHAPES = {
    "Grade a 01": by_options(columns={"a": "Grade a {}", "b": "Grade b {}"}),
    "a row for each document": by_recipe(LONG, row_a_document),
    "a row for each document, positions from 0, in any order": by_recipe(LONG, row_a_document),
    "a row for each document, JSON array": by_recipe(LONG, row_a_document),
    "own words": by_options(
        winner_words={"Left is better": "a", "Right, clearly": "b", "Same": "tie"}
    ),
    "lists by system, order AB or BA": by_options(columns={"swapped": "order"}),
    "1 and 2, order AB or BA": by_options(
        columns={"swapped": "presentation_order"}, winner_words={"1": "left", "2": "right"}
    ),
    "a column of strengths in words": by_recipe(
        COMMAS,
        lambda source: table(source).with_columns(
            pl.col("strength").replace_strict({"much": 3, "slightly": 1})
        ),
        winner_words=None,
    ),
    "-3 to 3, positive is a": by_recipe("Likert numbers", partial(likert, middle=0, larger="a")),
    "-3 to 3, positive is b": by_recipe("Likert numbers", partial(likert, middle=0, larger="b")),
    "-3 to 3, in JSON": by_recipe("Likert numbers", partial(likert, middle=0, larger="a")),
    "1 to 7": by_recipe("Likert numbers", partial(likert, middle=4, larger="a")),
    "1 to 7, 1 is a": by_recipe("Likert numbers", partial(likert, middle=4, larger="b")),
    "1 to 5": by_recipe("Likert numbers", partial(likert, middle=3, larger="b")),
    "0 to 4": by_recipe("Likert numbers", partial(likert, middle=2, larger="b")),
    "probabilities": by_recipe("Likert numbers", partial(likert, middle=0.5, larger="a")),
    "names of grades, a column for each position": by_options(columns={"a": "l{}", "b": "r{}"}),
    "best grade first in the scale": by_options("best_grade", scale=["Bad", "Fair", "Good"]),
    "1 is best": by_options("best_grade", scale=["3", "2", "1"]),
    "0 is best": by_options("best_grade", scale=["2", "1", "0"]),
    "1 is best, of five grades": by_options("best_grade", scale=["5", "4", "3", "2", "1"]),
    "letters as grades, A the best": by_options("best_grade", scale=["C", "B", "A"]),
    "Windows-1252": by_recipe(POLARS, partial(encoded, encoding="cp1252")),
    "Unicode text of Excel": by_recipe(POLARS, partial(encoded, encoding="utf-16", separator="\t")),
    "an Excel workbook, cells of the header merged": by_recipe(
        "Two lines of names",
        two_lines_of_names,
        columns={"a": "Production {}", "b": "Candidate {}"},
    ),
    "an Excel workbook, a title above": by_recipe(POLARS, partial(title_above, skip_lines=1)),
    "Arena, a column for each outcome": by_recipe(
        "A column for each outcome",
        partial(outcomes, a="winner_model_a", b="winner_model_b", tie="winner_tie"),
        columns={"a": "response_a", "b": "response_b"},
    ),
    "a column for each outcome, JSON lines": by_recipe(
        "A column for each outcome", partial(outcomes, a="winner_a", b="winner_b", tie="winner_tie")
    ),
}
"""Remedies of the shapes of test_file_shapes.py, by name."""

PATHS = {"a": ["left.grades"], "b": ["right.grades", "right.Grades"], "winner": ["answer.value"]}
CUTS = [0.2, 0.5]
OTHERS = {
    "test_chosen_lists_are_preferred_to_rejected_ones": by_recipe("Chosen and rejected", chosen),
    "test_lists_of_own_names_are_read_with_votes_and_probabilities #1": by_recipe(
        "Votes", partial(votes, votes_a="ja", votes_b="nein"), columns={"a": "links", "b": "rechts"}
    ),
    "test_lists_of_own_names_are_read_with_votes_and_probabilities #2": by_recipe(
        "Probabilities",
        partial(probabilities, p=pl.col("model").struct.field("p")),
        columns={"a": "links", "b": "rechts"},
    ),
    "test_bad_rows_of_a_long_table_are_set_aside_and_can_be_corrected": by_recipe(
        LONG, row_a_document
    ),
    "test_a_query_may_be_judged_by_several_raters_or_several_times #1": by_recipe(
        LONG, partial(row_a_document, keys=["query", "rater"])
    ),
    "test_a_query_may_be_judged_by_several_raters_or_several_times #2": by_recipe(
        LONG, partial(row_a_document, keys=["query", "pair"])
    ),
    "test_rated_lists_in_tables #1": Remedy(
        "columns=",
        lambda source, **given: dl.read_ratings(source, columns={"list": "grade_{}"}, **given),
    ),
    "test_rated_lists_in_tables #2": Remedy(
        "Rated lists with a row for each document", rated_documents
    ),
    "test_records_are_read[tuples]": by_recipe("Tuples", tuples),
    "test_records_are_read[wide]": by_options(columns={"a": "l{}", "b": "r{}"}),
    "test_tuples_may_be_named_and_words_be_grades": Remedy("Tuples", named_tuples),
    "test_rated_arrays #5": Remedy("Tuples", rated_tuples),
    "test_votes_are_verdicts_with_weights": by_recipe("Votes", votes),
    "test_probabilities_of_nought_and_one_are_verdicts": by_recipe("Probabilities", probabilities),
    "test_a_probability_of_another_name": by_recipe(
        "Probabilities", partial(probabilities, p=pl.col("p_a"))
    ),
    "test_a_row_for_each_document_without_a_winner[votes_a,votes_b-3,1] #1": by_recipe(
        LONG, lambda source: votes(said_by_document(source))
    ),
    "test_a_row_for_each_document_without_a_winner[votes_a,votes_b-3,1] #2": by_recipe(
        "Votes", votes
    ),
    "test_a_row_for_each_document_without_a_winner[probability,weight-0.75,4] #1": by_recipe(
        LONG, lambda source: probabilities(said_by_document(source))
    ),
    "test_a_row_for_each_document_without_a_winner[probability,weight-0.75,4] #2": by_recipe(
        "Probabilities", probabilities
    ),
    "test_a_row_for_each_document_without_a_winner[winner_a,winner_b-1,0] #1": by_recipe(
        LONG, lambda source: outcomes(said_by_document(source), a="winner_a", b="winner_b")
    ),
    "test_a_row_for_each_document_without_a_winner[winner_a,winner_b-1,0] #2": by_recipe(
        "A column for each outcome", partial(outcomes, a="winner_a", b="winner_b")
    ),
    "test_a_row_for_each_document_without_a_winner[logprob_a,logprob_b--0.1,-2] #1": by_recipe(
        LONG, lambda source: logprobs(said_by_document(source))
    ),
    "test_a_row_for_each_document_without_a_winner[logprob_a,logprob_b--0.1,-2] #2": by_recipe(
        "Logprobs", logprobs
    ),
    "test_a_bad_row_of_votes_by_document_is_named_and_set_aside": by_recipe(
        LONG, lambda source: votes(whole_votes(said_by_document(source)))
    ),
    "test_a_bad_line_of_votes_is_set_aside_once": by_recipe(
        "Votes", lambda source: votes(whole_votes(source))
    ),
    "test_logarithms": by_recipe("Logprobs", logprobs),
    "test_documents_as_objects #1": by_recipe(
        "Documents as objects", partial(objects, b="Relevance")
    ),
    "test_documents_as_objects #2": by_recipe("Documents as objects", objects),
    "test_documents_as_objects #3": by_recipe("Documents as objects", objects_in_text),
    "test_lists_of_objects": by_recipe("Documents as objects", objects_in_text),
    "test_lists_as_databases_and_python_write_them[{}]": by_recipe(
        COMMAS, lambda source: table(source).with_columns(pl.col("a", "b").str.strip_chars("{}"))
    ),
    "test_grades_of_objects_are_cut_named_and_found_as_those_of_plain_lists #1": by_fractions(
        objects, 3, "Documents as objects"
    ),
    "test_grades_of_objects_are_cut_named_and_found_as_those_of_plain_lists #2": by_fractions(
        lambda source: lists_of(table(source)), 3
    ),
    "test_grades_of_objects_are_cut_named_and_found_as_those_of_plain_lists #3": by_fractions(
        objects, CUTS, "Documents as objects"
    ),
    "test_grades_of_objects_are_cut_named_and_found_as_those_of_plain_lists #4": by_fractions(
        lambda source: lists_of(table(source)), CUTS
    ),
    "test_a_wide_table_without_a_header #1": by_recipe(
        POLARS, partial(no_names, query=1, a=3, b=3, winner=1)
    ),
    "test_a_wide_table_without_a_header #2": by_recipe(
        "Values inside objects",
        lambda source: table(source).with_columns(
            a=pl.concat_list("best", "then"), b=pl.concat_list("other", "last")
        ),
    ),
    "test_a_wide_table_without_a_header #3": by_options(columns={"a": "x..y", "b": "z..w"}),
    "test_columns_by_a_path #1": by_recipe("Values inside objects", partial(inside, **PATHS)),
    "test_columns_by_a_path": by_recipe(
        "Values inside objects", partial(inside, **{**PATHS, "b": ["right.Grades"]})
    ),
    "test_names_of_grades_with_a_blank": by_recipe(
        COMMAS, partial(names_with_blanks, names=["Very good"])
    ),
    "test_names_of_grades_that_are_numbers_with_a_point": by_recipe(COMMAS, names_with_points),
    "test_cells_that_are_not_available": by_recipe(COMMAS, weight_with_comma),
    "test_a_word_such_as_na_is_what_an_option_says": by_recipe(COMMAS, lists_of_one),
    "test_decimal_commas": by_recipe(COMMAS, weight_with_comma),
    "test_rows_by_the_name_of_a_system": by_recipe(LONG, partial(row_a_document, side="system")),
    "test_headers_of_no_line_of_two_and_further_down[2 0": by_recipe(
        POLARS, partial(no_names, a=1, b=1, winner=1)
    ),
    "test_headers_of_no_line_of_two_and_further_down[left": by_recipe(
        "Two lines of names", two_lines_of_names, columns={"winner": "said"}
    ),
    "test_headers_of_no_line_of_two_and_further_down[query": by_recipe(
        "Two lines of names", two_lines_of_names
    ),
    "test_headers_of_no_line_of_two_and_further_down[Report": by_recipe(
        POLARS, partial(title_above, skip_lines=3)
    ),
    "test_ids_and_statuses_are_kept_with_what_is_said_of_them": by_recipe(
        "Rejected and repeated rows", doubled
    ),
    **{
        f"test_merged_cells_are_refused_and_read_once_they_are_filled[{column}] #{n}": by_recipe(
            "Merged cells", partial(several if n == 1 else merged_cells, column=column)
        )
        for column in ("query", "rater", "segment")
        for n in (1, 4, 5, 6)
    },
    **{
        f"test_merged_cells_are_refused_and_read_once_they_are_filled[{column}] #2": by_recipe(
            "Merged cells", partial(single_cells, column=column)
        )
        for column in ("query", "rater", "segment")
    },
    **{
        f"test_grades_with_decimal_commas[{start}": (
            by_fractions(lists, CUTS, title),
            by_recipe(LONG if title == LONG else COMMAS, number_names(lists)),
        )
        for start, title, lists in [
            ("a;b;winner\\n0,5 1", COMMAS, lambda source: lists_of(table(source))),
            ("a;b;winner\\n0,5|1", "Fractions", lambda source: lists_of(table(source), "|")),
            ("a1;a2", "Fractions", wide_with_commas),
            ("side", LONG, long_with_commas),
        ]
    },
}
"""Remedies of the tests of other shapes, by how the name of the reading begins."""


def remedy_of(name: str) -> Remedy | None:
    """Return the remedy of a frozen reading; None if it has none."""
    test = name.split("::")[1]
    if shape := re.fullmatch(r"test_a_shape_is_read_or_refused\[(.*)\] #1", test, re.DOTALL):
        return SHAPES.get(shape[1])
    for start, remedy in OTHERS.items():
        if test.startswith(start):
            return remedy[int(test[-1]) - 1] if type(remedy) is tuple else remedy
    return None


# odd files


def wide(source: Path, a: str = "^Left", b: str = "^Right", **options: Any) -> pl.DataFrame:
    """Return a table with a column for each position as one with lists."""
    frame = table(source, **options)
    return frame.with_columns(a=pl.concat_list(cs.matches(a)), b=pl.concat_list(cs.matches(b)))


def wide_fractions(source: Path) -> pl.DataFrame:
    return wide(source, "^a[0-9]", "^b[0-9]").select("query", "a", "b", "winner")


def quepid(source: Path) -> pl.DataFrame:
    folder = source.parent
    shown = {side: table(folder / f"27_quepid_snapshot_{side}.csv") for side in "ab"}
    rows = pl.concat([frame.with_columns(side=pl.lit(side)) for side, frame in shown.items()])
    rows = rows.rename({"Query Text": "query", "Doc Position": "position", "Rating": "grade"})
    return row_a_document(rows.join(table(folder / "27_verdicts.csv"), on="query"))


def arena(source: Path) -> pl.DataFrame:
    frame = table(source).rename({"question_id": "query"})
    return dl.with_grades(frame, source.parent / "23_qrels.csv")


GERMAN = {
    "columns": {"a": "Links {}", "b": "Rechts {}", "winner": "Urteil"},
    "winner_words": "Links=a,Rechts=b,Gleich=tie",
}
TIES = "tie (bothbad)=tie,tie=tie,model_a=a,model_b=b"
BARE = ["query", "rater", *(f"{side}_{i}" for side in ("a", "b") for i in range(5)), "winner"]
ODD = {
    "06_likert_1_7.csv": by_recipe(
        "Likert numbers", partial(likert, middle=4, larger="b", name="Preferred")
    ),
    "06b_likert_1_5.csv": by_recipe(
        "Likert numbers", partial(likert, middle=3, larger="b", name="Preferred")
    ),
    "06d_likert_minus3.csv": by_recipe(
        "Likert numbers", partial(likert, middle=0, larger="b", name="Preferred")
    ),
    "06f_minus1_0_1.csv": by_recipe(
        "Likert numbers", partial(likert, middle=0, larger="b", name="Preferred")
    ),
    "08b_decimal_comma.csv": by_recipe(COMMAS, partial(table, decimal_comma=True)),
    "10_two_row_header.csv": by_recipe("Two lines of names", two_lines_of_names),
    "19_row_per_doc.csv": by_recipe(LONG, partial(row_a_document, keys=["query", "rater"])),
    "20_llm_both_orders.jsonl": by_options(columns={"swapped": "order"}),
    "23c_lmsys_onehot.csv": by_recipe(
        "A column for each outcome",
        partial(outcomes, a="winner_model_a", b="winner_model_b", tie="winner_tie"),
        columns={"a": "response_a", "b": "response_b"},
    ),
    '24_fractional.jsonl {"cutoffs": "5"}': by_fractions(table, 5),
    "24_fractional.jsonl": by_fractions(table, [0.2, 0.5, 0.8]),
    '24b_fractional.csv {"cutoffs": "5"}': by_fractions(wide_fractions, 5),
    "24b_fractional.csv": by_fractions(wide_fractions, [0.2, 0.5, 0.8]),
    '24c_quarters.jsonl {"cutoffs"': by_fractions(table, [0.2, 0.5, 0.8]),
    "25_chosen_rejected.jsonl": by_recipe("Chosen and rejected", chosen),
    "28_grades_1_best.csv": by_options("best_grade", scale=["5", "4", "3", "2", "1"]),
    "29_no_header.csv": by_recipe(POLARS, partial(no_names, query=1, rater=1, a=5, b=5, winner=1)),
    "30_preamble.csv": by_recipe(POLARS, partial(title_above, skip_lines=3)),
    "32b_pos_first.csv": by_options(columns={"a": "Pos{}_L", "b": "Pos{}_R"}),
    "37c_strength_col.csv": by_recipe(
        COMMAS,
        lambda source: table(source).with_columns(
            pl.col("Strength").replace_strict({"much": 3, "better": 2, "slightly": 1})
        ),
        winner_words=None,
    ),
}
"""Remedies of odd files, by how the name of the frozen reading begins."""

ODD_BY_TRUTH = {
    "02_german_latin1.csv": by_recipe(
        POLARS, partial(encoded, encoding="latin-1", separator=";"), **GERMAN
    ),
    "02b_german_cp1252_mac.csv": by_recipe(
        POLARS, partial(encoded, encoding="mac-roman", separator=";"), **GERMAN
    ),
    "03_german_utf16.txt": by_recipe(
        POLARS, partial(encoded, encoding="utf-16", separator="\t"), **GERMAN
    ),
    "04_german_sep.csv": by_recipe(
        POLARS, lambda source: pl.read_csv(source, separator=";", skip_lines=1), **GERMAN
    ),
    "06i_bool.csv": by_recipe(
        "Likert numbers",
        lambda source: pl.read_csv(source, infer_schema=False).with_columns(
            winner=pl.col("Left better").fill_null("tie")
        ),
        winner_words="TRUE=a,FALSE=b,tie=tie",
    ),
    "10b_repeated_headers.csv": by_recipe(
        POLARS, lambda source: pl.read_csv(source, skip_rows=1, has_header=False, new_columns=BARE)
    ),
    "13b_cells_digits.csv": by_recipe(
        COMMAS,
        lambda source: pl.read_csv(source, infer_schema=False).with_columns(
            pl.col("a", "b").str.extract_all(".")
        ),
    ),
    "16_two_judges_columns.csv": by_recipe(
        "A column for each rater",
        lambda source: raters(source, ["winner_anna", "winner_bob"]).filter(rater="anna"),
    ),
    "16b_winner_and_preferred.csv": by_options(columns={"winner": "preferred"}),
    "20c_llm_nested.jsonl": by_recipe(
        "Values inside objects",
        partial(inside, a=["a.grades"], b=["b.grades"], winner=["verdict.winner"]),
    ),
    "20d_arena_pos.jsonl": by_options(
        columns={"a": "list_1", "b": "list_2", "winner": "g1_winner"},
        winner_words={"model_1": "a", "model_2": "b", "tie": "tie"},
    ),
    "21_argilla.json": by_recipe(
        "Argilla",
        lambda source: (
            table(source)
            .unnest("fields", "responses")
            .explode("preference")
            .unnest("preference", separator="_")
        ),
        columns={"winner": "preference_value", "rater": "preference_user_id"},
    ),
    "22_label_studio.json": by_recipe(
        "Label Studio",
        lambda source: (
            table(source)
            .unnest("data")
            .explode("annotations")
            .unnest("annotations", separator="_")
            .explode("annotations_result")
            .unnest("annotations_result", separator="_")
            .unnest("annotations_result_value")
        ),
        columns={"winner": "selected"},
    ),
    "22b_label_studio_min.json": by_recipe(
        "Values inside objects",
        lambda source: table(source).with_columns(winner=pl.col("pw").struct.field("selected")),
    ),
    "23_arena.jsonl": by_recipe("Documents judged elsewhere", arena, winner_words=TIES),
    "27_verdicts.csv": by_recipe("Quepid's snapshots", quepid),
    "32_case_odd.csv": by_options(
        columns={"a": "Left result #{}", "b": "Right result #{}", "winner": "Which is better?"}
    ),
}
"""Remedies of odd files that were not read before, or that hold the truth in another shape."""
