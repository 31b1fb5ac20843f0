"""``dcglearn ask``: pairs to judge next, as a page for people, prompts for a model, or a table."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

import dcglearn as dl
from dcglearn.cli.command import (
    argument_row,
    examples,
    first_row,
    input_row,
    model_row,
    option_name,
)
from dcglearn.cli.options import Force, Seed, check_outputs, say, write_log
from dcglearn.cli.reading import Reading, one_or_all, read_llm, say_reading
from dcglearn.foundation.files import written_beside
from dcglearn.foundation.plain_text import left_out, number_of
from dcglearn.foundation.sources import LINES
from dcglearn.foundation.validation import InputError, Integers, suffix_among
from dcglearn.reading.contract import CANDIDATE, QUESTION

if TYPE_CHECKING:
    from dcglearn.judge.candidates import Candidates
    from dcglearn.learning.fit import Fit
    from dcglearn.reading.preferences import Preferences
    from dcglearn.trust.next_pairs import Questions

PER_PAGE, PER_TABLE = 20, 5
"""Pairs that are asked by default: on each page, and in a table."""

N_GENERATED = 200
"""Lists that are made and paired where no candidates are given."""


@dataclass(frozen=True)
class CandidateOptions:
    """The pairs that could be judged: a file of them, or two runs to compare."""

    candidates: list[str] | None = argument_row(
        "Pairs that could be judged: a, b, and items to show; or two runs, with --qrels.",
        metavar="[CANDIDATES]",
    )
    qrels: str | None = input_row("The judgements of two runs.", metavar="FILE")
    documents: Path | None = input_row(
        "JSON lines with docno, title and text, of runs or of docs_a and docs_b."
    )
    topics: Path | None = input_row("Texts of the runs' queries: name, tab, text.")

    @property
    def inputs(self) -> list[str | Path | None]:
        """The files that are read."""
        return [*(self.candidates or ()), self.qrels, self.documents, self.topics]

    def read(self, reading: Reading) -> Candidates:
        """Return the pairs of a file or of two runs; raise InputError for anything else."""
        from dcglearn.judge.candidates import candidates_from_runs, read_candidates

        # a file of pairs
        files = self.candidates or []
        if self.qrels is None and self.topics is None and len(files) == 1:
            return read_candidates(
                files[0], documents=self.documents, **reading.of_lists(CANDIDATE)
            )

        # two runs, with grades to learn from
        if self.qrels is None or len(files) != 2:
            raise InputError("give a file of CANDIDATES, or two runs and --qrels QRELS")
        return candidates_from_runs(
            self.qrels, files, self.documents, self.topics, n_grades=reading.grades
        )


@dataclass(frozen=True)
class PageOptions:
    """How pairs are dealt out to pages."""

    pages: int = model_row("Deal the pairs out to so many pages.", 1, min=1)
    redundancy: int = model_row("Raters for each pair, each with a page of their own.", 1, min=1)
    checks: float = model_row(
        "Share of pairs with a known answer, which check attention.",
        0.05,
        min=0,
        max=0.5,
        metavar="SHARE",
    )

    def __post_init__(self) -> None:
        if self.redundancy > self.pages:
            raise InputError(
                f"--redundancy {self.redundancy} --pages {self.pages}: a page holds each pair "
                f"once; give --pages {self.redundancy} or more, or a lower --redundancy"
            )


@dataclass(frozen=True)
class RequestOptions:
    """The form of requests to a language model."""

    model: str | None = first_row(
        "Write prompts for this model rather than a table.", metavar="NAME"
    )
    shape: Literal["openai", "anthropic", "gemini", "messages"] = model_row(
        "With --model: whose batch files the prompts are, or the messages alone.", "openai", "--for"
    )


@examples(
    "dcglearn ask candidates.jsonl -o page.html",
    "dcglearn ask candidates.jsonl --log 'verdicts-*.jsonl' -o page2.html",
    "dcglearn ask candidates.jsonl --pages 5 --redundancy 2 -o page.html",
    "dcglearn ask old.txt new.txt --qrels qrels.txt --documents docs.jsonl -o page.html",
    "dcglearn ask candidates.jsonl --model MODEL -o prompts.jsonl",
    "dcglearn ask candidates.jsonl --log log.jsonl -n 5 -o questions.jsonl",
    "dcglearn ask --log log.jsonl  # candidates made from the log's own mix of grades",
)
def ask(
    *,
    reading: Reading,
    source: CandidateOptions,
    output: Path | None = first_row(
        "page.html for people, prompts.jsonl with --model, else a table (.jsonl, .parquet).",
        None,
        "-o",
        "--output",
    ),
    log: str | None = first_row(
        "The judgements so far; leave it out at the beginning.", metavar="LOG"
    ),
    llm: str | None = first_row(
        "An LLM judge's verdicts: ask where people may differ, or else of its pairs.", metavar="LOG"
    ),
    n: int | None = first_row(
        "How many pairs: by default 20 a page, 5 in a table, all as prompts.", None, "-n", min=1
    ),
    page: PageOptions,
    form: RequestOptions,
    seed: Seed = 0,
    force: Force = False,
) -> None:
    """Ask which pairs of lists to judge next: those whose answers would tell most.

    A page works without a server or a network: raters hand their verdicts over as a file, which is
    a log. Prompts ask a language model about each pair in both orders; send them as a batch, and
    read the answers by convert --prompts. In a table, fill in winner (a, b or tie) and append the
    lines to the log; lines left open do not count as judgements.
    """
    from dcglearn.judge.pages import PAGES, page_names

    # the form of the output
    is_page = output is not None and output.suffix.lower() in PAGES
    model = form.model
    is_table = not is_page and model is None
    _refuse_other_form(page, "-o page.html", refused=not is_page)
    remedy = "-o prompts.jsonl" if is_page else "--model NAME"
    _refuse_other_form(form, remedy, refused=is_page or is_table)

    # a table
    inputs = [*source.inputs, log, llm]
    if is_table:
        if source.documents or source.topics:
            raise InputError("--documents and --topics are for pages and prompts, not for a table")
        check_outputs(reading.skip_bad, force=force, log=output, inputs=inputs)
        questions = _questions(reading, source, log, llm, n or PER_TABLE, seed)
        number = number_of(len(questions), "questions")
        contents = f"{number}; fill in winner and append to the log"
        write_log(questions.to_polars(), output, contents, force=force)
        return

    # pairs with what is shown of them
    if output is None:
        raise InputError("prompts are written to a file, with their pairs beside: -o prompts.jsonl")
    names = page_names(output, page.pages) if is_page else _prompt_files(output)

    check_outputs(*names, log=reading.skip_bad, force=force, inputs=inputs)
    pairs = source.read(reading)
    for line in [*(_candidate_lines(pairs) if is_page else ()), *left_out(pairs.dropped)]:
        say(line)
    if is_page and n is None:
        n = max(PER_PAGE * page.pages // page.redundancy, 1)
    chosen, lacking = _chosen(reading, pairs, log, llm, n, page.redundancy)

    # write them
    if is_page:
        _write_pages(pairs, chosen, lacking, page, names, seed, force=force)
    elif model is not None:
        _write_prompts(pairs, chosen, names, model, form.shape, force=force)


def _refuse_other_form(options: Any, remedy: str, *, refused: bool) -> None:
    """Raise InputError for an option that is given and belongs to another form of output."""
    for name, value in vars(options).items():
        if refused and value != getattr(type(options), name):
            option = "--for" if name == "shape" else option_name(name)
            raise InputError(f"{option} goes with {remedy}")


def _judgements(
    reading: Reading, log: str | None, llm: str | None, n_grades: int = 0
) -> tuple[Preferences | None, Preferences | None, Fit | None]:
    """Return people's judgements, a machine's, and a fit to both, where they are given.

    The judgements have at least `n_grades` grades.
    """
    judged = None if log is None else dl.read_preferences(log, **reading.options)
    if judged is not None:
        say_reading(judged.recognised)
    if judged is not None and judged.n_grades < n_grades:
        judged = judged.rescaled(n_grades)

    if llm is None:
        return judged, None, None
    if judged is None or log is None:
        raise InputError(
            "--llm goes with --log: people's verdicts say how far to follow the LLM judge's"
        )

    from dcglearn.learning.options import DCGOptions
    from dcglearn.trust.fit_learner import fit_learner

    # the machine's are followed as far as people agree
    verdicts = read_llm(llm, judged.n_grades)
    of_both = DCGOptions(n_grades=judged.n_grades, llm=verdicts)
    return judged, verdicts, fit_learner(judged, of_both)


def _questions(
    reading: Reading, source: CandidateOptions, log: str | None, llm: str | None, n: int, seed: int
) -> Questions:
    """Return the pairs of a table: of candidates, of an LLM judge's, or made for the log."""
    from dcglearn.trust.next_pairs import generated_lists

    judged, verdicts, fit = _judgements(reading, log, llm)
    n_grades = reading.grades

    # the pairs to choose from
    pool: Preferences | ArrayLike
    if source.qrels is not None:
        pairs = source.read(reading)
        pool, n_grades = pairs.lists, pairs.n_grades

    # questions, the machine's pairs, or lists that are made
    elif source.candidates:
        pool = dl.read_questions(one_or_all(source.candidates), **reading.of_lists(QUESTION))
    elif verdicts is not None:
        pool = verdicts
    elif judged is not None:
        pool = generated_lists(judged, N_GENERATED, random_state=seed)
    else:
        raise InputError(
            "nothing to choose from: give CANDIDATES, or --log to make lists with its mix of grades"
        )
    return dl.suggest_pairs(judged, pool, n, fit, n_grades=n_grades, random_state=seed)


def _chosen(
    reading: Reading,
    pairs: Candidates,
    log: str | None,
    llm: str | None,
    n: int | None,
    redundancy: int,
) -> tuple[Integers, list[int]]:
    """Return the numbers of the n pairs to ask, and how many raters each lacks.

    Without n they are all pairs, in their order.
    """
    from dcglearn.judge.pages import raters_lacking
    from dcglearn.trust.next_pairs import most_informative

    # the pairs that too few raters have judged
    judged, _, fit = _judgements(reading, log, llm, pairs.n_grades)
    lacking = raters_lacking(pairs, judged, redundancy)
    left = np.flatnonzero(lacking)
    if not len(left):
        raise InputError("every pair is judged already; give more candidates or --redundancy")

    # of them the most telling
    if n is not None:
        n_grades = max(pairs.n_grades, 0 if judged is None else judged.n_grades)
        _, first, _ = most_informative(judged, pairs.lists[left], n, fit, n_grades)
        left = left[first]
    return left, lacking[left].tolist()


def _write_pages(
    pairs: Candidates,
    chosen: Integers,
    lacking: list[int],
    page: PageOptions,
    names: list[Path],
    seed: int,
    *,
    force: bool,
) -> None:
    """Write pages, say what each holds, and what to do with what is handed over."""
    from dcglearn.judge.pages import asked_by_page, page_of

    asked = asked_by_page(pairs, chosen, lacking, page.pages, checks=page.checks, random_state=seed)
    names_of = {None: "pairs", "practice": "pairs of practice", "check": "checks of attention"}
    for name, held in zip(names, asked, strict=True):
        content = page_of(pairs, held, name.stem)
        with written_beside(name, force=force) as beside:
            beside.write_bytes(content)

        # what it holds
        kinds = Counter(one.known for one in held)
        counts = [number_of(kinds[kind], names_of[kind]) for kind in names_of if kinds[kind]]
        say(f"wrote: {name} ({', '.join(counts)}; {len(content) / 1e6:.2f} MB)")
    if all(pair.items_a for pair in pairs.pairs):
        say("the pages hold the grades, unseen but readable in their source")
    scale = f" --grades {pairs.n_grades}" if pairs.grade_names is None else ""
    say(f"next: dcglearn learn verdicts-*.jsonl{scale}, with the files that raters hand over")


def _prompt_files(output: Path) -> list[Path]:
    """Return the files of prompts: the prompts, and their pairs."""
    from dcglearn.judge.prompts import pairs_beside

    suffix_among(output, LINES, "prompts")
    return [output, pairs_beside(output)]


def _write_prompts(
    pairs: Candidates, chosen: Integers, names: list[Path], model: str, shape: str, *, force: bool
) -> None:
    """Write two prompts for each pair, and say how their answers are read."""
    from dcglearn.judge.prompts import write_prompts

    asked = replace(pairs, pairs=tuple(pairs.pairs[number] for number in chosen))
    output, beside = names
    write_prompts(asked, output, shape=shape, model=model, force=force)
    say(f"wrote: {output} ({2 * len(asked):,} prompts)")
    say(f"wrote: {beside}")
    say(f"next: dcglearn convert ANSWERS --prompts {output} -o log.jsonl")


def _candidate_lines(pairs: Candidates) -> list[str]:
    """Return lines on the candidates of a page."""
    queries = len({pair.query for pair in pairs.pairs})
    bare = sum(pair.items_a is None for pair in pairs.pairs)
    shown = "raters see grades alone; --documents, or items_a and items_b, show more"
    return [
        f"candidates: {number_of(len(pairs), 'pairs')}, {number_of(queries, 'queries')}; "
        f"{number_of(pairs.depth, 'positions')}, {number_of(pairs.n_grades, 'grades')}",
        *([f"without documents: {number_of(bare, 'pairs')}, of which {shown}"] if bare else []),
    ]
