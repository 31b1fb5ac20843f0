"""``dcglearn ask``: which pairs of lists to judge next."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dcglearn.cli.learn import read_log
from dcglearn.cli.options import Force, Grades, check_outputs
from dcglearn.foundation.validation import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

commands = typer.Typer()


@commands.command(
    epilog="Examples: dcglearn ask candidates.jsonl --log log.jsonl -n 5 -o questions.jsonl    "
    "dcglearn ask --log log.jsonl -n 5    (candidates made from the log's own mix of grades)"
)
def ask(
    candidates: Annotated[
        str | None,
        typer.Argument(metavar="[CANDIDATES]", help="Pairs that could be judged, as a log with winner open; or none."),
    ] = None,
    log: Annotated[
        str | None, typer.Option(metavar="LOG", help="What was judged so far; none at the beginning.")
    ] = None,
    n: Annotated[int, typer.Option("-n", min=1, help="How many pairs to ask for.")] = 5,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write the questions here; else to standard output.")
    ] = None,
    grades: Grades = None,
    scale: Annotated[
        str | None, typer.Option(help="Grade names, worst first: Bad,Fair,Good,Excellent,Perfect.")
    ] = None,
    depth: Annotated[int | None, typer.Option(metavar="K", help="Cut lists to K positions.")] = None,
    generate: Annotated[
        int, typer.Option(min=2, metavar="N", help="Without CANDIDATES: how many lists to make and pair.")
    ] = 200,
    seed: Annotated[int, typer.Option(help="Of the lists made.")] = 0,
    force: Force = False,
) -> None:
    """Ask which pairs of lists to judge next: the answers that would teach most.

    Fill in winner (a, b or tie) and append the lines to the log; those left open are no judgements.
    """
    check_outputs(output, force=force)
    names = None if scale is None else [name.strip() for name in scale.split(",")]
    reading = {"n_grades": grades, "depth": depth, "pad": False, "scale": names}
    judged = None if log is None else read_log(log, False, None, False, reading)
    from dcglearn.learning.next_pairs import generated_lists, suggest_pairs
    from dcglearn.logs.readers import read_questions

    if candidates is not None:
        pool: ArrayLike = read_questions(candidates, grades, depth=depth, scale=names)
    elif judged is not None:
        pool = generated_lists(judged, generate, seed=seed)
    else:
        raise InputError(
            "nothing to choose from: give a file of CANDIDATES, or --log to make lists with its mix of grades"
        )
    questions = suggest_pairs(judged, pool, n, n_grades=grades, seed=seed)
    if output is None:
        typer.echo(questions.to_polars().write_ndjson(), nl=False)
        return
    questions.save(output, force=force)
    typer.echo(f"wrote: {output} ({len(questions)} questions; fill in winner and append them to the log)", err=True)
