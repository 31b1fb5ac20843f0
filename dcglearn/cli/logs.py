"""Commands that write logs: ``dcglearn convert``, ``dcglearn ask``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from numpy.typing import ArrayLike

import dcglearn as dl
from dcglearn.cli.command import argument_row, examples, first_row, input_row, output_row
from dcglearn.cli.options import Force, OutputLog, Seed, check_outputs, say, write_lines, write_log
from dcglearn.cli.reading import (
    JoinOptions,
    MappingOptions,
    Reading,
    looked_up_lines,
    one_or_all,
    read_llm,
    recognised_mapping,
    say_reading,
)
from dcglearn.foundation.plain_text import left_out, number_of
from dcglearn.foundation.sources import LINES
from dcglearn.foundation.validation import InputError, suffix_among

if TYPE_CHECKING:
    from dcglearn.readers.mapping import LogMapping
    from dcglearn.readers.preferences import Preferences


@examples(
    "dcglearn convert spreadsheet.csv -o log.jsonl",
    'dcglearn convert answers.csv --winner-words "Left is better=a,Right is better=b,Same=tie" '
    "-o log.jsonl",
    "dcglearn convert vendor.csv --columns winner=Verdict --mapping-out vendor.toml -o log.jsonl",
    "dcglearn convert log.jsonl --qrels qrels.txt -o joined.jsonl",
    "dcglearn convert verdicts.csv --run-a old.txt --run-b new.txt --qrels qrels.txt -o log.jsonl",
    "dcglearn convert --ratings rated.csv -o log.parquet",
    "dcglearn convert answers.jsonl --prompts prompts.jsonl -o llm.jsonl",
    "dcglearn convert verdicts-*.jsonl --verdicts -o verdicts.jsonl",
)
def convert(
    *,
    log: list[str] = argument_row(
        "JSON lines or array, delimited text or Parquet, several files, or a folder; "
        "- reads standard input.",
        ...,
        metavar="LOG...",
    ),
    reading: MappingOptions,
    joins: JoinOptions,
    inconsistent: Literal["keep", "half", "tie"] = input_row(
        "What contradictory verdicts count, of one rater on a pair shown both ways.", "keep"
    ),
    prompts: str | None = first_row(
        "LOG holds an LLM's answers to the prompts in FILE: `dcglearn prompts`.", metavar="FILE"
    ),
    verdicts: bool = first_row(
        "LOG holds verdicts of the judging page: merge their lines, and name what is there twice.",
        False,
    ),
    output: OutputLog = None,
    mapping_out: Path | None = output_row("Write how the log was read here (TOML), for --mapping."),
    force: Force = False,
) -> None:
    """Turn a log of any form into the native one: a line a judgement, with a, b and winner.

    Tables with a column for each position or a row for each document become lists, words become
    grades and winners, and rated lists become the pairs that they imply. Sides, open questions and
    superseded verdicts stay as they are.
    """
    inputs = [*log, reading.mapping, prompts, *joins.inputs]
    check_outputs(reading.skip_bad, mapping_out, force=force, log=output, inputs=inputs)
    if verdicts:
        given = reading.log_mapping.given or reading.ratings or reading.skip_bad or joins.asked
        if given or prompts is not None or inconsistent != "keep" or mapping_out is not None:
            reason = "it keeps lines as they are"
            raise InputError(f"--verdicts goes with -o and --force alone: {reason}")
        _merge(log, output, force=force)
        return
    from dcglearn.readers.read_log import native_frame

    # how the log is read
    source = one_or_all(log)
    if (reading.cutoffs or "").startswith("learned:"):
        reading = _with_learned_cutoffs(source, reading, joins, prompts)
    mapping = reading.log_mapping
    if prompts is not None:
        source, mapping = _answers(source, prompts, reading, joins.asked)

    # read it: as pairs, or line for line
    counted: Mapping[str, int] = {}
    if reading.ratings or joins.asked or inconsistent != "keep":
        pairs = _pairs(source, mapping, reading, joins, inconsistent)
        frame, dropped, recognised = pairs.to_polars(), pairs.dropped, pairs.recognised
        counted = pairs.counted
    else:
        frame, dropped, recognised = native_frame(source, mapping, reading.skip_bad)

    # what was recognised, and left out
    say_reading(recognised)
    mapping = mapping if recognised is None else recognised.mapping
    if mapping.scale is not None:
        names = [f"{grade} = {name}" for grade, name in enumerate(mapping.scale)]
        say(f"grades: {', '.join(names)}")
    for line in [*looked_up_lines(counted), *left_out(dropped)]:
        say(line)

    # write the log, and how it was read
    depth = int(frame["a"].list.len().max() or 0)  # type: ignore[arg-type]
    write_log(frame, output, f"{len(frame):,} lines, {depth} positions", force=force)
    if mapping_out is not None:
        recognised_mapping(mapping, recognised).save(mapping_out, force=force)
        say(f"wrote: {mapping_out} (give it by --mapping)")


def _merge(files: list[str], output: Path | None, *, force: bool) -> None:
    """Write the verdicts of several files of the judging page as one log of its server."""
    from dcglearn.judge.verdict_log import contents, line_of, merged

    if output is not None:
        suffix_among(output, LINES, "verdicts")
    verdicts, sentences = merged(files)
    if not verdicts:
        raise InputError(f"{', '.join(files)}: no verdict; name the files that raters handed over")
    for sentence in sentences:
        say(sentence)
    say(f"merged: {contents(verdicts)}")
    write_lines((line_of(verdict).decode() for verdict in verdicts), output, force=force)


def _with_learned_cutoffs(
    log: Any, reading: Any, joins: JoinOptions, prompts: str | None
) -> MappingOptions:
    """Return how to read a log with N levels' best-fitting cut-offs, ``--cutoffs learned:N``."""
    n_levels = str(reading.cutoffs).removeprefix("learned:")
    if not n_levels.isdecimal() or log == "-" or prompts is not None:
        raise InputError(
            f"--cutoffs {reading.cutoffs}: give a number of levels, learned:4, say, and pairs in "
            "a file"
        )
    from dcglearn.learning.learned_cutoffs import FINE

    fine = replace(reading, cutoffs=FINE)
    cutoffs = dl.trust.learned_cutoffs(
        _pairs(log, fine.log_mapping, fine, joins, "keep"), int(n_levels)
    )
    return replace(reading, cutoffs=",".join(f"{cutoff:g}" for cutoff in cutoffs))


def _answers(
    log: Any, prompts: str, reading: MappingOptions, asked: list[str]
) -> tuple[Any, LogMapping]:
    """Return a model's answers as verdicts, and how to read the prompts' lists; print counts."""
    if reading.ratings or reading.skip_bad or asked:
        option = (*asked, "--ratings or --skip-bad")[0]
        raise InputError(
            f"{option} does not go with --prompts, whose pairs have grades; what is not read is "
            "listed"
        )
    from dcglearn.judge.replies import read_replies

    verdicts, lines = read_replies(log, prompts, reading.log_mapping)
    say("\n".join(lines))
    return verdicts, Reading(grades=reading.grades, as_is=reading.as_is).log_mapping


def _pairs(
    log: Any, mapping: LogMapping, reading: MappingOptions, joins: JoinOptions, inconsistent: str
) -> Preferences:
    """Return a log not read line by line: rated lists, joined lists, or reconciled verdicts."""
    skip_bad = reading.skip_bad
    if reading.ratings:
        if joins.asked or inconsistent != "keep":
            option = (*joins.asked, "--inconsistent")[0]
            raise InputError(f"{option} is for pairs: leave it out with --ratings")
        equal = reading.equal_groups
        return dl.read_ratings(log, skip_bad=skip_bad, equal_groups=equal, mapping=mapping)

    # pairs, with their verdicts reconciled if asked
    if joins.asked:
        pairs = joins.joined(log, mapping, skip_bad)
    else:
        pairs = dl.read_preferences(log, skip_bad=skip_bad, mapping=mapping)
    return pairs if inconsistent == "keep" else pairs.reconciled(inconsistent)


@examples(
    "dcglearn ask candidates.jsonl --log log.jsonl -n 5 -o questions.jsonl",
    "dcglearn ask --log human.jsonl --llm llm.jsonl -n 5 -o questions.jsonl",
    "dcglearn ask --log log.jsonl -n 5  # candidates made from the log's own mix of grades",
)
def ask(
    *,
    reading: Reading,
    candidates: str | None = argument_row(
        "Pairs that could be judged, as a log with winner open.", metavar="[CANDIDATES]"
    ),
    log: str | None = first_row(
        "The judgements so far; leave it out at the beginning.", metavar="LOG"
    ),
    n: int = first_row("How many pairs to ask for.", 5, "-n", "--pairs", min=1),
    output: OutputLog = None,
    generate: int = input_row("Without CANDIDATES: how many lists to make and pair.", 200, min=2),
    llm: str | None = first_row(
        "An LLM judge's verdicts: ask where people may differ, or else of its pairs.", metavar="LOG"
    ),
    seed: Seed = 0,
    force: Force = False,
) -> None:
    """Ask which pairs of lists to judge next: those whose answers would tell most.

    Fill in winner (a, b or tie) and append the lines to the log; lines left open do not count as
    judgements.
    """
    check_outputs(force=force, log=output, inputs=[candidates, log, llm])
    from dcglearn.learning.descriptions import DirectDescription
    from dcglearn.readers.read_table import refuse_other_lists
    from dcglearn.trust.form_choice import fit_in_form
    from dcglearn.trust.llm import llm_dcg
    from dcglearn.trust.next_pairs import generated_lists

    # the judgements so far, of people and of a machine
    mapping = reading.log_mapping
    judged = None if log is None else dl.read_preferences(log, mapping=mapping)
    fit = verdicts = None
    if llm is not None:
        if judged is None or log is None:
            raise InputError(
                "--llm goes with --log: people's verdicts say how far to follow the LLM judge's"
            )
        refuse_other_lists(log, llm, mapping)
        verdicts = read_llm(llm, judged.n_grades)
        of_people = DirectDescription(n_grades=judged.n_grades)
        fit = fit_in_form(judged, of_people, llm=llm_dcg(verdicts, judged))

    # the pairs to choose from
    if candidates is not None:
        pool: Preferences | ArrayLike = dl.read_questions(candidates, mapping=mapping)
    elif verdicts is not None:
        pool = verdicts
    elif judged is not None:
        pool = generated_lists(judged, generate, random_state=seed)
    else:
        raise InputError(
            "nothing to choose from: give CANDIDATES, or --log to make lists with its mix of grades"
        )

    # choose, and write
    questions = dl.suggest_pairs(judged, pool, n, fit, n_grades=mapping.n_grades, random_state=seed)
    contents = f"{number_of(len(questions), 'questions')}; fill in winner and append to the log"
    write_log(questions.to_polars(), output, contents, force=force)
