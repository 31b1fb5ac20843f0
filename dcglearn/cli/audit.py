"""``dcglearn audit``: one page on whether a metric follows the users of a log."""

import hashlib
import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

import dcglearn as dl
from dcglearn.cli.options import (
    RESULTS,
    AsIs,
    Columns,
    Force,
    Grades,
    InUse,
    Llm,
    Logs,
    Output,
    Ratings,
    Seed,
    check_outputs,
    joined,
    option,
    output_option,
    say,
    write_results,
)
from dcglearn.cli.reading import one_or_all, read_llm, read_log
from dcglearn.foundation.inputs import expand_paths, read_bytes
from dcglearn.foundation.validation import InputError
from dcglearn.metrics.reading import BASELINE, ONLY_DCG, metric_or_name
from dcglearn.metrics.textbook import is_metric_file


def audit(
    log: Logs,
    output: Output = None,
    metric: InUse = BASELINE,
    labels: Annotated[
        list[str],
        option(
            "Whose grades of documents do people follow? A file for each grader, or one with a "
            "column grader; LOG holds lists of documents. Nothing else is audited then.",
            metavar="[NAME=]FILE",
        ),
    ] = [],
    qrels: Annotated[
        str | None, option("Judgements of the runs' documents.", metavar="FILE")
    ] = None,
    run: Annotated[
        list[str], option("A run whose documents --qrels judges; repeat for several.")
    ] = [],
    llm: Llm = None,
    anonymous: Annotated[
        bool, output_option("Numbers instead of the names of raters and queries.", "--anonymous")
    ] = False,
    ratings: Ratings = False,
    columns: Columns = [],
    grades: Grades = None,
    as_is: AsIs = False,
    seed: Seed = 0,
    force: Force = False,
) -> None:
    """Audit a metric on one page: how well it follows users, where it errs, and what to do next."""
    metric_or_name(metric, accept=ONLY_DCG)
    if bool(run) != (qrels is not None):
        raise InputError("--run and --qrels go together: runs, and judgements of their documents")
    if labels and run:
        raise InputError("--labels compares graders alone: leave out --run and --qrels")

    # files that are read
    graders = dict(_named(word) for word in labels)
    if len(graders) < len(labels):
        raise InputError("--labels: two graders have one name; give --labels NAME=FILE")
    files = [*log, *run, *([qrels] if qrels else []), *([llm] if llm else []), *graders.values()]
    if is_metric_file(metric):
        files.append(metric)
    check_outputs(output, force=force, forms=RESULTS, inputs=files)

    if graders:
        only = [*graders.values()]
        given = graders if len(only) > 1 or "=" in labels[0] else only[0]
        found = dl.compare_graders(
            one_or_all(log), given, metric, columns=joined(columns), random_state=seed
        )
        write_results("", {"graders": found}, output, force=force)
        if output is not None:
            typer.echo(str(found))
        return

    # how the page was made: the command, and the digest of every file
    made = {"command": shlex.join(["dcglearn", *sys.argv[1:]])}
    for file in expand_paths(files):
        if str(file) != "-":
            made[f"{file} (SHA-256)"] = hashlib.sha256(read_bytes(file)).hexdigest()

    # read the log, and audit
    judged = read_log(log, ratings=ratings, columns=columns, grades=grades, as_is=as_is)
    result = dl.audit(
        judged,
        metric,
        llm=None if llm is None else read_llm(llm, judged.n_grades),
        judgements=qrels,
        runs=run or None,
        anonymous=anonymous,
        random_state=seed,
        made=made,
    )

    # write the page, and print the sentences
    if output is not None:
        result.save(output, force=force)
        say(f"wrote: {output}")
    typer.echo(str(result))


def _named(word: str) -> tuple[str, str]:
    """Return the name and the file of a grader, ``NAME=FILE``; a file is named by itself."""
    name, mark, file = word.partition("=")
    return (name, file) if mark else (Path(word).stem, word)
