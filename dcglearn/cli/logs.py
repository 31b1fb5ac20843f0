"""``dcglearn convert``: a log of any form into the native one."""

from __future__ import annotations

from typing import Any, Literal

import dcglearn as dl
from dcglearn.cli.command import argument_row, examples, first_row, input_row
from dcglearn.cli.options import Force, OutputLog, check_outputs, say, write_log
from dcglearn.cli.reading import ConvertReading, JoinOptions, one_or_all, say_reading
from dcglearn.foundation.plain_text import left_out
from dcglearn.foundation.validation import InputError


@examples(
    "dcglearn convert spreadsheet.csv -o log.jsonl",
    'dcglearn convert answers.csv --winner-words "Left is better=a,Right is better=b,Same=tie" '
    "-o log.jsonl",
    "dcglearn convert vendor.csv --columns winner=Verdict -o log.jsonl",
    "dcglearn convert log.jsonl --qrels qrels.txt -o joined.jsonl",
    "dcglearn convert verdicts.csv --run-a old.txt --run-b new.txt --qrels qrels.txt -o log.jsonl",
    "dcglearn convert --ratings rated.csv -o log.parquet",
    "dcglearn convert answers.jsonl --prompts prompts.jsonl -o llm.jsonl",
)
def convert(
    *,
    log: list[str] = argument_row(
        "Parquet, JSON lines or array, delimited text or Excel, several files, or a folder; "
        "- reads standard input.",
        ...,
        metavar="LOG...",
    ),
    reading: ConvertReading,
    joins: JoinOptions,
    inconsistent: Literal["keep", "half", "tie"] = input_row(
        "What contradictory verdicts count, of one rater on a pair shown both ways.", "keep"
    ),
    prompts: str | None = first_row(
        "LOG holds an LLM's answers to the prompts in FILE: `dcglearn ask`.", metavar="FILE"
    ),
    output: OutputLog = None,
    force: Force = False,
) -> None:
    """Turn a log of any form into the native one: a line a judgement, with a, b and winner.

    Columns by position become lists, words become grades and winners, names of documents become
    grades. Rated lists (--ratings), sides, open questions and superseded verdicts stay as they are.
    Tables of other shapes become such a table by a recipe of the docs.
    """
    inputs = [*log, prompts, *joins.inputs]
    check_outputs(reading.skip_bad, force=force, log=output, inputs=inputs)
    from dcglearn.reading.read import native_frame

    # answers of a model, or lists of documents judged elsewhere
    source: Any = one_or_all(log)
    if prompts is not None:
        source, reading = _answers(source, prompts, reading, joins.asked)
    elif joins.asked:
        source, reading = joins.joined(source, reading)

    # read it: as pairs, or row for row
    if inconsistent != "keep":
        if reading.ratings:
            raise InputError("--inconsistent is for pairs: leave it out with --ratings")
        found: Any = dl.trust.reconciled(reading.read(source), inconsistent)
        frame, names = found.to_polars(), found.grade_names
    else:
        frame, found = native_frame(source, ratings=reading.ratings, **reading.options)
        names = found.scale.names

    # what was recognised, and left out
    say_reading(found.recognised)
    if names is not None:
        say(f"grades: {', '.join(f'{grade} = {name}' for grade, name in enumerate(names))}")
    for line in left_out(found.dropped):
        say(line)

    # write the log
    depth = int(frame["list" if reading.ratings else "a"].list.len().max() or 0)
    write_log(frame, output, f"{len(frame):,} lines, {depth} positions", force=force)


def _answers(
    log: Any, prompts: str, reading: ConvertReading, asked: list[str]
) -> tuple[Any, ConvertReading]:
    """Return a model's answers as verdicts, and how to read the prompts' lists; print counts."""
    if reading.ratings or reading.skip_bad or asked:
        option = (*asked, "--ratings or --skip-bad")[0]
        raise InputError(
            f"{option} does not go with --prompts, whose pairs have grades; what is not read is "
            "listed"
        )
    from dcglearn.judge.replies import read_replies

    verdicts, lines = read_replies(log, prompts, reading.winner_words)
    say("\n".join(lines))
    return verdicts, ConvertReading(grades=reading.grades, as_is=reading.as_is)
