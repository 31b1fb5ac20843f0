"""``dcglearn ask-grades``: which documents to judge next, as a file to fill in and as prompts."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path

from dcglearn.cli.command import examples, first_row, input_row, output_row
from dcglearn.cli.evaluate import GatedRuns
from dcglearn.cli.judge import RequestOptions
from dcglearn.cli.metric_options import ScaleOptions
from dcglearn.cli.options import Force, Output, check_outputs, say, write_text
from dcglearn.evaluation.next_judgements import OpenGrades, read_open_grades, suggest_judgements
from dcglearn.foundation.plain_text import number_of, spreadsheet
from dcglearn.foundation.validation import InputError, PolarsFrame


@dataclass(frozen=True)
class PromptOptions:
    """Requests to a language model for the grades."""

    prompts: Path | None = output_row("Also write a request to a language model for each grade.")
    documents: Path | None = input_row("With --prompts: JSON lines with docno, title and text.")
    topics: Path | None = input_row("With --prompts: texts of the queries: name, tab, text.")

    def write(self, asked: OpenGrades, form: RequestOptions, *, force: bool) -> None:
        """Write the requests, if they are asked for."""
        if self.prompts is None or self.documents is None:
            return
        from dcglearn.judge.grade_prompts import write_grade_prompts

        write_grade_prompts(
            asked, self.prompts, self.documents, self.topics, **vars(form), force=force
        )
        say(f"wrote: {self.prompts} ({number_of(len(asked.table), 'prompts')})")


@examples(
    "dcglearn ask-grades qrels.txt old.txt new.txt --metric dcg.json -n 50 -o to_grade.csv",
    "dcglearn ask-grades --fill to_grade.csv --answers answers.jsonl -o graded.csv",
)
def ask_grades(
    *,
    source: GatedRuns,
    scale: ScaleOptions,
    n: int = first_row("How many documents to ask for.", 20, "-n", "--documents-to-grade", min=1),
    baseline: str | None = first_row(
        "Compare the others with this run; by default the first.", metavar="RUN"
    ),
    fill: Path | None = input_row("Instead: a file of this command, to fill in by --answers."),
    answers: str | None = input_row(
        "With --fill: a language model's answers to the prompts.", metavar="FILE"
    ),
    prompting: PromptOptions,
    form: RequestOptions,
    output: Output = None,
    force: Force = False,
) -> None:
    """Ask which documents to grade next: those that narrow the bounds of a difference most.

    Fill in grade, and evaluate by --graded FILE; lines left open do not count.
    """
    inputs = [*source.inputs, prompting.documents, prompting.topics, fill, answers]
    check_outputs(output, prompting.prompts, force=force, inputs=inputs)
    if prompting.prompts is not None and prompting.documents is None:
        raise InputError("--prompts needs --documents: a model grades texts")
    if (fill is None) != (answers is None):
        raise InputError("--fill FILE goes with --answers FILE: the questions, and their answers")

    # new questions
    if fill is None or answers is None:
        asked = source.evaluated(scale, partial(suggest_judgements, n=n, baseline=baseline))
        prompting.write(asked, form, force=force)
        _write(asked.table, output, force=force)
        say("\n".join([asked.sentence, *asked.notes]))
        return

    # or a language model's answers
    if source.judgements is not None or prompting.prompts is not None:
        raise InputError("--fill takes no judgements, runs or --prompts: leave them out")
    from dcglearn.judge.grade_prompts import filled_in

    table, lines = filled_in(read_open_grades(fill, source.grades), answers, source.grades)
    _write(table, output, force=force)
    say("\n".join(lines))


def _write(table: PolarsFrame, output: Path | None, *, force: bool) -> None:
    """Write the questions as JSON lines or, by default, as CSV."""
    is_lines = output is not None and output.suffix == ".jsonl"
    text = table.write_ndjson() if is_lines else spreadsheet(table)
    write_text(text.rstrip("\n"), output, force=force)
