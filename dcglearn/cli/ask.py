"""``dcglearn ask``: pairs to judge next, as a page for people, prompts for a model, or a table."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

import dcglearn as dl
from dcglearn.cli.logs import read_log
from dcglearn.cli.options import (
    Force,
    Seed,
    input_option,
    method_option,
    option,
    output_to,
    say,
    write_log,
)
from dcglearn.foundation.finding import table_of
from dcglearn.foundation.plain_text import left_out, number_of
from dcglearn.foundation.sources import LINES, WRITTEN
from dcglearn.foundation.validation import InputError

if TYPE_CHECKING:
    from dcglearn.judge.candidates import Candidates
    from dcglearn.judge.pages import Asked

PER_PAGE, PER_TABLE = 20, 5
"""Pairs that are asked by default: on each page, and in a table."""

PAGES = (".html", ".htm")
"""Suffixes of a page."""

SHAPES = ("openai", "anthropic", "gemini", "messages")
"""Whose batch files prompts are; messages: those alone."""


def ask(
    candidates: Annotated[
        list[str],
        typer.Argument(
            help="Pairs that could be judged: a, b, and items to show; or two runs, with --qrels.",
            metavar="CANDIDATES",
        ),
    ],
    output: Annotated[
        Path | None,
        output_to(
            "page.html for people, prompts.jsonl with --model, else a table (.jsonl, .parquet).",
            (*PAGES, *WRITTEN),
            "questions",
        ),
    ] = None,
    log: Annotated[
        str | None, option("The judgements so far; leave it out at the beginning.", metavar="LOG")
    ] = None,
    llm: Annotated[
        str | None, option("An LLM judge's verdicts: ask where people may differ.", metavar="LOG")
    ] = None,
    n: Annotated[
        int | None,
        option("How many pairs: by default 20 a page, 5 in a table, all as prompts.", "-n", min=1),
    ] = None,
    pages: Annotated[int, method_option("Deal the pairs out to so many pages.", min=1)] = 1,
    redundancy: Annotated[
        int, method_option("Raters for each pair, each with a page of their own.", min=1)
    ] = 1,
    checks: Annotated[
        float,
        method_option(
            "Share of a page's pairs with a known answer, which check attention.", min=0, max=0.5
        ),
    ] = 0.05,
    qrels: Annotated[
        str | None, input_option("The judgements of two runs.", metavar="FILE")
    ] = None,
    documents: Annotated[
        Path | None,
        input_option(
            "JSON lines with docno, title and text, of runs or of docs_a and docs_b; or with query "
            "and text."
        ),
    ] = None,
    model: Annotated[
        str | None,
        option(
            "Write prompts for this model rather than a table: as OpenAI's batch files, or "
            "anthropic/NAME, gemini/NAME, messages/NAME.",
            metavar="[SHAPE/]NAME",
        ),
    ] = None,
    seed: Seed = 0,
    force: Force = False,
) -> None:
    """Ask which pairs of lists to judge next: those whose answers would tell most.

    A page works without a server or a network: raters hand their verdicts over as a file, which is
    a log. Prompts ask a language model about each pair in both orders; send them as a batch, and
    read the answers by convert --prompts. In a table, fill in winner (a, b or tie) and append the
    lines to the log; lines left open do not count as judgements.
    """
    from dcglearn.judge.pages import asked_by_page, raters_lacking
    from dcglearn.trust.next_pairs import most_informative

    # options that do not go together
    suffix = None if output is None else output.suffix.lower()
    is_page = suffix in PAGES
    if not is_page and (pages, redundancy, checks) != (1, 1, 0.05):
        raise InputError("--pages, --redundancy and --checks go with -o page.html")
    if model is not None and suffix not in LINES:
        raise InputError("--model goes with -o prompts.jsonl, with whose pairs it is written")
    if redundancy > pages:
        raise InputError(
            f"--redundancy {redundancy} --pages {pages}: a page holds each pair once; give "
            f"--pages {redundancy} or more, or a lower --redundancy"
        )

    # pairs with what is shown of them
    pairs = _candidates(candidates, qrels, documents)
    for line in [*(pairs.about if is_page else ()), *left_out(pairs.dropped)]:
        say(line)

    # those that too few raters have judged
    judged, learner = _judgements(log, llm, pairs.n_grades)
    lacking = raters_lacking(pairs, judged, redundancy)
    left = np.flatnonzero(lacking)
    if not len(left):
        raise InputError("every pair is judged already; give more candidates or --redundancy")

    # of them the most telling, unless all are asked
    if n is None and is_page:
        n = max(PER_PAGE * pages // redundancy, 1)
    elif n is None:
        n = PER_TABLE if model is None else len(left)
    if n < len(left) or model is None:
        n_grades = pairs.n_grades if judged is None else judged.n_grades
        left = left[most_informative(judged, pairs.lists[left], n, learner, n_grades)[1]]
    chosen = replace(pairs, pairs=tuple(pairs.pairs[number] for number in left))
    if is_page:
        n_raters = lacking[left].tolist()
        asked = asked_by_page(pairs, left, n_raters, pages, checks=checks, random_state=seed)
        _write_pages(pairs, asked, output)
    elif model is None:
        contents = f"{number_of(len(chosen), 'questions')}; fill in winner and append to the log"
        write_log(table_of(chosen.open_rows), output, contents)
    else:
        _write_prompts(chosen, output, model)


def _candidates(files: list[str], qrels: str | None, documents: Path | None) -> Candidates:
    """Return the pairs of a file or of two runs."""
    from dcglearn.judge.candidates import candidates_from_runs, read_candidates

    if len(files) != (1 if qrels is None else 2):
        raise InputError("give a file of CANDIDATES, or two runs and --qrels QRELS")
    if qrels is None:
        return read_candidates(files[0], documents)
    return candidates_from_runs(qrels, files, documents)


def _judgements(
    log: str | None, llm: str | None, n_grades: int
) -> tuple[dl.Preferences | None, dl.DCGLearner | None]:
    """Return people's judgements, and what follows an LLM judge's as far as people agree.

    The judgements have at least `n_grades` grades.
    """
    if log is None:
        if llm is not None:
            raise InputError("--llm goes with --log, which says how far to follow the LLM judge")
        return None, None
    judged = read_log([log])
    judged = judged.rescaled(max(judged.n_grades, n_grades))
    if llm is None:
        return judged, None
    return judged, dl.DCGLearner(n_grades=judged.n_grades, llm=llm).fit(judged)


def _write_pages(pairs: Candidates, pages: list[list[Asked]], output: Any) -> None:
    """Write pages, say what each holds, and what to do with what raters hand over."""
    from dcglearn.judge.pages import page_names, write_page

    for path, asked in zip(page_names(output, len(pages)), pages, strict=True):
        say(f"wrote: {path} ({write_page(pairs, asked, path)})")
    if not pairs.n_bare:
        say("the pages hold the grades, unseen but readable in their source")
    scale = f" --grades {pairs.n_grades}" if pairs.grade_names is None else ""
    say(f"next: dcglearn learn verdicts-*.jsonl{scale}, with the files that raters hand over")


def _write_prompts(asked: Candidates, output: Any, model: str) -> None:
    """Write two prompts for each pair, and say how their answers are read."""
    from dcglearn.judge.prompts import pairs_beside, write_prompts

    # a name with a slash may be one of a provider's own
    shape, _, name = model.partition("/")
    if shape not in SHAPES:
        shape, name = SHAPES[0], model
    write_prompts(asked, output, shape=shape, model=name)
    say(f"wrote: {output} ({2 * len(asked):,} prompts)")
    say(f"wrote: {pairs_beside(output)}")
    say(f"next: dcglearn convert ANSWERS --prompts {output} -o log.jsonl")
