"""``dcglearn audit``: one page on whether a metric follows the users of a log."""

import hashlib
import shlex
import sys
from pathlib import Path

import dcglearn as dl
from dcglearn.cli.command import argument_row, examples, first_row, output_row
from dcglearn.cli.options import AsJson, Force, Output, Seed, check_outputs, print_result, say
from dcglearn.cli.reading import CheckedReading, say_reading
from dcglearn.foundation.finding import FORMS
from dcglearn.foundation.inputs import expand_paths, read_bytes
from dcglearn.foundation.validation import InputError, suffix_among
from dcglearn.metrics.reading import ONLY_DCG, metric_or_name
from dcglearn.metrics.textbook import is_metric_file


@examples(
    "dcglearn audit log.jsonl --baseline exponential-log2 -o audit.html",
    "dcglearn audit log.jsonl --baseline nDCG@10 --qrels qrels.txt --runs runs/*.txt -o audit.html",
    "dcglearn audit log.jsonl --anonymous -o audit.html",
    "dcglearn audit satisfaction.jsonl --ratings --baseline dcg.json --json",
    "dcglearn audit thumbs.csv --labels gpt.csv --labels claude.csv --labels llama.csv",
)
def audit(
    *,
    reading: CheckedReading,
    log: str = argument_row(
        "The judgements: JSON lines, delimited text or Parquet.", ..., metavar="LOG"
    ),
    baseline: str = first_row(
        "The metric in use: a file, or GAIN-DISCOUNT[@K].", "exponential-log2", metavar="METRIC"
    ),
    runs: list[str] | None = first_row(
        "Runs of systems; --qrels judges their documents.", metavar="RUN..."
    ),
    more_runs: list[str] | None = argument_row("Further runs.", metavar="[RUN]..."),
    qrels: str | None = first_row("Judgements of the runs' documents.", metavar="FILE"),
    labels: list[str] | None = first_row(
        "Whose grades of documents do people follow? A file for each grader, or one with a column "
        "grader; LOG holds lists of documents. Nothing else is audited then.",
        metavar="[NAME=]FILE",
    ),
    anonymous: bool = output_row("Numbers instead of the names of raters and queries.", False),
    output: Output = None,
    seed: Seed = 0,
    as_json: AsJson = False,
    force: Force = False,
) -> None:
    """Audit a metric on one page: how well it follows users, where it errs, and what to do next."""
    metric_or_name(baseline, accept=ONLY_DCG)
    systems = [*(runs or []), *(more_runs or [])]
    if bool(systems) != (qrels is not None):
        raise InputError("--runs and --qrels go together: runs, and judgements of their documents")

    if labels and systems:
        raise InputError("--labels compares graders alone: leave out --runs and --qrels")

    # files that are read
    graders = dict(_named(word) for word in labels or ())
    if len(graders) < len(labels or ()):
        raise InputError("--labels: two graders have one name; give --labels NAME=FILE")
    files = [log, *systems, *([qrels] if qrels else []), *graders.values()]
    if is_metric_file(baseline):
        files.append(baseline)
    check_outputs(output, log=reading.skip_bad, force=force, inputs=files)
    if output is not None:
        suffix_among(output, FORMS, "findings")

    if graders:
        only = [*graders.values()]
        given = graders if len(only) > 1 or "=" in (labels or [""])[0] else only[0]
        found = dl.compare_graders(log, given, baseline, columns=reading.columns, random_state=seed)
        if output is not None:
            found.save(output, force=force)
            say(f"wrote: {output}")
        print_result(found, as_json)
        return

    # how the page was made: the command, and the digest of every file
    made = {"command": shlex.join(["dcglearn", *sys.argv[1:]])}
    for file in expand_paths(files, "**/*"):
        if str(file) != "-":
            made[f"{file} (SHA-256)"] = hashlib.sha256(read_bytes(file)).hexdigest()

    # read the log, and audit
    judged = reading.read(log)
    say_reading(judged.recognised)
    result = dl.audit(
        judged,
        baseline,
        judgements=qrels,
        runs=systems or None,
        anonymous=anonymous,
        random_state=seed,
        strict_log=reading.strict_log,
        made=made,
    )

    # write the page, and print the sentences
    if output is not None:
        result.save(output, force=force)
        say(f"wrote: {output}")
    print_result(result, as_json)


def _named(word: str) -> tuple[str, str]:
    """Return the name and the file of a grader, ``NAME=FILE``; a file is named by itself."""
    name, mark, file = word.partition("=")
    return (name, file) if mark else (Path(word).stem, word)
