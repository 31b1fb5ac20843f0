"""``dcglearn convert``: a log of any form into the native one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

import dcglearn as dl
from dcglearn.cli.options import (
    AsIs,
    Columns,
    Force,
    Logs,
    OutputLog,
    Ratings,
    Scale,
    input_option,
    joined,
    option,
)
from dcglearn.cli.outputs import say, write_log
from dcglearn.cli.reading import say_reading
from dcglearn.foundation.plain_text import number_of
from dcglearn.foundation.validation import Fields, InputError

if TYPE_CHECKING:
    from dcglearn.reading.tables import Table

SHOWN = 10
"""Documents of each run that a verdict is on, unless --depth says another number."""


def convert(
    log: Logs,
    output: OutputLog = None,
    columns: Columns = [],
    winner_words: Annotated[
        str | None,
        input_option(
            'What winners mean: "Left is better=a,Left is much better=a:2,Same=tie".',
            metavar="WORD=a,...",
        ),
    ] = None,
    scale: Scale = None,
    sides: Annotated[
        Literal["shown", "listed"] | None,
        input_option(
            "Whether winners name what was shown there, or the lists a and b wherever shown."
        ),
    ] = None,
    middle: Annotated[
        float | None,
        input_option(
            "Winners are numbers, larger ones prefer b: what is a tie, 4 on 1..7.", metavar="NUMBER"
        ),
    ] = None,
    depth: Annotated[int | None, input_option("Cut lists to K positions.", metavar="K")] = None,
    qrels: Annotated[
        str | None,
        option("Grades of the documents that lists name: TREC or a table.", metavar="FILE"),
    ] = None,
    run_a: Annotated[
        str | None, option("With --run-b: LOG holds query and winner.", metavar="RUN")
    ] = None,
    run_b: Annotated[str | None, option("The other run.", metavar="RUN")] = None,
    prompts: Annotated[
        str | None,
        option(
            "LOG holds an LLM's answers to the prompts in FILE: `dcglearn ask`.", metavar="FILE"
        ),
    ] = None,
    ratings: Ratings = False,
    as_is: AsIs = False,
    force: Force = False,
) -> None:
    """Turn a log of any form into the native one: a line a judgement, with a, b and winner.

    Columns by position become lists, words become grades and winners, names of documents become
    grades. Rated lists (--ratings), sides, open questions and superseded verdicts stay as they are.
    Tables of other shapes become such a table by a recipe of the docs.
    """
    from dcglearn.reading.read import native_frame

    if ratings and (winner_words or sides or middle is not None):
        raise InputError(
            "--winner-words, --sides and --middle are for pairs: leave them out with --ratings"
        )
    if middle is not None and winner_words is not None:
        raise InputError("--middle is for winners that are numbers: leave out --winner-words")
    if (run_a, run_b) != (None, None) and None in (run_a, run_b, qrels):
        raise InputError(
            "--run-a, --run-b and --qrels go together: two runs, and the grades of their documents"
        )
    if prompts is not None and (ratings or qrels or columns or scale):
        raise InputError(
            "--prompts goes with --winner-words, --as-is and -o alone: its pairs have grades"
        )

    # how the log is read
    options: Fields = {"columns": joined(columns), "scale": scale, "depth": depth}
    if not ratings:
        options |= {"winner_words": winner_words if middle is None else middle, "sides": sides}
    source: Any = log

    # answers of a model, or lists of documents judged elsewhere
    if prompts is not None:
        from dcglearn.judge.replies import read_replies

        source, lines = read_replies(log if log[1:] else log[0], prompts, winner_words)
        say("\n".join(lines))
        options = {}
    elif qrels is not None:
        source, options = _with_documents(source, qrels, run_a, run_b, options)

    # read it: as pairs, or row for row
    frame, found = native_frame(source, ratings=ratings, as_is=as_is, **options)

    # what was recognised, and left out
    say_reading(found)
    if found.scale.names is not None:
        names = enumerate(found.scale.names)
        say(f"grades: {', '.join(f'{grade} = {name}' for grade, name in names)}")

    # write the log
    most = int(frame["list" if ratings else "a"].list.len().max() or 0)  # type: ignore[arg-type]
    sizes = f"{number_of(len(frame), 'lines', ',')}, {number_of(most, 'positions')}"
    write_log(frame, output, sizes)


def _say_sides(table: Table, own: Mapping[str, str]) -> None:
    """Print the columns that say which run stood where."""
    from dcglearn.reading.columns import find
    from dcglearn.reading.run_lists import LISTS

    given = {role: name for role, name in own.items() if role in LISTS}
    found = find(table.frame.columns, LISTS, given)
    if found:
        sides = [f"{role[-1]} is the run in the column {names[0]}" for role, names in found.items()]
        say(f"columns: {', '.join(sides)}")


def _with_documents(
    log: Any, qrels: str, run_a: str | None, run_b: str | None, options: Fields
) -> tuple[Table, Fields]:
    """Return a log with grades in place of documents, and the options that read it."""
    from dcglearn.reading.columns import own_names
    from dcglearn.reading.tables import table_of

    # the lists of two runs, or those that the log names
    own, table = own_names(options["columns"]), table_of(log)
    if run_a is not None and run_b is not None:
        depth = options["depth"] or SHOWN
        frame = dl.io.with_runs(table, run_a, run_b, depth=depth, columns=own)
        _say_sides(table, own)
        table = replace(table, frame=frame)
        read = {"query", "winner", "a", "b", "system_a", "system_b"}
        own = {role: name for role, name in own.items() if role not in read}

    # the grades of their documents, whose scale the lists have
    judged = dl.read_judgements(qrels, scale=options["scale"])
    table = replace(table, frame=dl.with_grades(table, judged, columns=own))
    n_grades = None if judged.grade_names is not None else max(judged.n_grades or 2, 2)

    # lists have their usual names
    gone = {"a", "b", "docs_a", "docs_b", "list", "scale"}
    kept = {role: name for role, name in own.items() if role not in gone}
    return table, options | {"n_grades": n_grades, "scale": None, "columns": kept}
