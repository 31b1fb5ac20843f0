"""``dcglearn ask``: which pairs of lists to judge next."""

from __future__ import annotations

from typing import Annotated

import typer
from numpy.typing import ArrayLike

from dcglearn.cli.command import examples, first_option, input_option
from dcglearn.cli.options import Force, Output, Seed, check_outputs, write_log
from dcglearn.cli.reading_options import Reading, convert_line
from dcglearn.foundation.plain_text import number_of
from dcglearn.foundation.validation import InputError


@examples(
    "dcglearn ask candidates.jsonl --log log.jsonl -n 5 -o questions.jsonl",
    "dcglearn ask --log log.jsonl -n 5  # candidates made from the log's own mix of grades",
)
def ask(
    reading: Reading,
    candidates: Annotated[
        str | None,
        typer.Argument(metavar="[CANDIDATES]", help="Pairs that could be judged, as a log with winner open."),
    ] = None,
    log: Annotated[
        str | None, first_option(metavar="LOG", help="The judgements so far; leave it out at the beginning.")
    ] = None,
    n: Annotated[int, first_option("-n", min=1, help="How many pairs to ask for.")] = 5,
    output: Output = None,
    generate: Annotated[
        int, input_option(min=2, metavar="N", help="Without CANDIDATES: how many lists to make and pair.")
    ] = 200,
    seed: Seed = 0,
    force: Force = False,
) -> None:
    """Ask which pairs of lists to judge next: those whose answers would tell most.

    Fill in winner (a, b or tie) and append the lines to the log; lines left open do not count as judgements.
    """
    check_outputs(output, force=force, inputs=[candidates, log])
    from dcglearn.readers.readers import read_preferences, read_questions
    from dcglearn.trust.next_pairs import generated_lists, suggest_pairs

    mapping = reading.mapping
    with convert_line(log or ""):
        judged = None if log is None else read_preferences(log, mapping=mapping)
    if candidates is not None:
        with convert_line(candidates):
            pool: ArrayLike = read_questions(candidates, mapping=mapping)
    elif judged is not None:
        pool = generated_lists(judged, generate, seed=seed)
    else:
        raise InputError(
            "nothing to choose from: give a file of CANDIDATES, or --log to make lists with its mix of grades"
        )
    questions = suggest_pairs(judged, pool, n, n_grades=mapping.n_grades, seed=seed)
    number = number_of(len(questions), "questions")
    write_log(questions.to_polars(), output, f"{number}; fill in winner and append to the log", force=force)
