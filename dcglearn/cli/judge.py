"""``dcglearn judge``: the judging page; ``dcglearn prompts``: its pairs as prompts for a model."""

from __future__ import annotations

import signal
import tempfile
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import typer

import dcglearn as dl
from dcglearn.cli.command import (
    argument_row,
    examples,
    first_row,
    input_row,
    model_row,
    option_name,
    output_row,
)
from dcglearn.cli.options import DryRun, Force, check_outputs, say
from dcglearn.cli.reading import Reading, read_llm
from dcglearn.foundation.files import written_beside
from dcglearn.foundation.plain_text import left_out, names_in, number_of
from dcglearn.foundation.sources import LINES
from dcglearn.foundation.validation import InputError, suffix_among

if TYPE_CHECKING:
    from dcglearn.judge.candidates import Candidates
    from dcglearn.judge.study import Rules, Study
    from dcglearn.readers.mapping import LogMapping


@dataclass(frozen=True)
class AskingOptions:
    """Which pairs are asked, of whom, and how."""

    raters: str | None = first_row(
        "Names, as ann,bob; without them the page asks for a name.", metavar="NAMES"
    )
    redundancy: int = model_row("Ask R raters about each pair.", 1, min=1, metavar="R")
    random: bool = model_row("Pairs at random, not the most informative ones.", False)
    balanced: bool = model_row("Ask all queries about equally often.", False)
    strengths: int = model_row("Strengths of preference.", 1, min=1, max=5, metavar="S")
    width: float = model_row("There are enough verdicts when the widest band is below this.", 0.1)
    no_practice: bool = model_row("Begin without three pairs to practise.", False)
    checks: float = model_row("Share of pairs that check attention.", 0.0, metavar="SHARE")
    images: bool = model_row(
        "Show the candidates' images, which are fetched from their hosts.", False
    )
    seed: int | None = model_row("Same seed, same draws of pairs and sides.", min=0)
    llm: str | None = model_row(
        "An LLM judge's verdicts: where people may differ is asked first.", metavar="LOG"
    )


@dataclass(frozen=True)
class CandidateOptions:
    """The pairs: a file of candidates, or two runs to compare."""

    file: str | None = argument_row(
        "Pairs that could be judged: a, b, and items to show.", metavar="[CANDIDATES]"
    )
    runs: tuple[str, str] | None = first_row(
        "Two TREC runs to compare, a pair a query.", metavar="OLD NEW"
    )
    qrels: str | None = first_row("With --runs: the judgements.", metavar="FILE")
    documents: Path | None = input_row(
        "JSON lines with docno, title and text, of --runs or of docs_a and docs_b."
    )
    topics: Path | None = input_row("With --runs: texts of the queries: name, tab, text.")
    unjudged: str = input_row(
        "With --runs: the grade of documents nobody has judged.", "worst", metavar="worst|best|drop"
    )
    depth: int | None = input_row("Cut lists to K positions; of runs, to 10.", metavar="K")

    def candidates(self, mapping: LogMapping) -> Candidates:
        """Return the pairs of a file or of two runs; raise InputError for neither or both."""
        from dcglearn.judge.candidates import candidates_from_runs, read_candidates

        if (self.file is None) == (self.runs is None):
            raise InputError("give a file of CANDIDATES, or --runs OLD NEW --qrels QRELS")
        if self.depth is not None:
            mapping = mapping.updated(depth=self.depth)

        # a file of pairs
        if self.file is not None:
            return read_candidates(self.file, mapping=mapping, documents=self.documents)

        # two runs, with grades to learn from
        if self.qrels is None or self.runs is None:
            raise InputError("--runs needs --qrels: a DCG is learned from grades")

        # by query
        return candidates_from_runs(
            self.qrels,
            list(self.runs),
            self.documents,
            self.topics,
            depth=mapping.depth or 10,
            n_grades=mapping.n_grades,
            unjudged=self.unjudged,
        )

    @property
    def inputs(self) -> list[str | Path | None]:
        """The files that are read."""
        return [self.file, *(self.runs or ()), self.qrels, self.documents, self.topics]


@dataclass(frozen=True)
class PageOptions:
    """Pages for raters without a server."""

    export: Path | None = first_row(
        "Start no server: write the page to a file, for raters who hand theirs back.",
        metavar="PAGE.html",
    )
    files: int = first_row(
        "With --export: deal the pairs out to N pages, each to --redundancy of them.", 1, min=1
    )
    pairs: int | None = output_row("With --export: only the N pairs to be asked first.", min=1)
    force: Force = False

    def refuse(self, asking: AskingOptions, place: PlaceOptions, log: Path | None) -> None:
        """Raise InputError for options that do not go with a page, or with a server."""
        # a server writes to a log
        if self.export is None:
            for name, value in vars(self).items():
                if value != getattr(PageOptions, name):
                    raise InputError(f"{option_name(name)} goes with --export")
            if log is None:
                remedy = "--log verdicts.jsonl, or --export page.html for a page without a server"
                raise InputError(f"name the file for the verdicts: {remedy}")
            return

        # a page has no server, no network and no bands
        for options, names in ((place, vars(place)), (asking, ("images", "width"))):
            for name in names:
                if getattr(options, name) != getattr(type(options), name):
                    reason = "a page without a server loads and learns nothing"
                    raise InputError(f"{option_name(name)} does not go with --export: {reason}")

        # each pair in as many files as raters are wanted
        if asking.redundancy > self.files:
            asked = f"--redundancy {asking.redundancy} --files {self.files}"
            remedy = f"give --files {asking.redundancy} or more, or a lower --redundancy"
            raise InputError(f"{asked}: a file holds each pair once; {remedy}")

        # verdicts so far
        if log is not None and not log.exists():
            reason = "with --export it holds the verdicts so far"
            raise InputError(f"--log {log} does not exist: {reason}; leave it out at the beginning")
        if asking.llm is not None and log is None:
            reason = "people's verdicts say how far to follow the LLM judge's"
            raise InputError(f"--llm with --export goes with --log: {reason}")


@dataclass(frozen=True)
class RequestOptions:
    """The form of requests to a language model."""

    shape: Literal["openai", "anthropic", "gemini", "messages"] = first_row(
        "The provider whose batch files have this form, or the messages alone.", "openai", "--for"
    )
    model: str | None = first_row("The model that each request names.", metavar="NAME")


@dataclass(frozen=True)
class PlaceOptions:
    """Where the server listens."""

    host: str = model_row(
        "Address to listen on; another than this machine's own is plain http on your network.",
        "127.0.0.1",
        metavar="ADDRESS",
    )
    port: int = first_row("Port; if it is taken, the next free one.", 8765, min=1, max=65535)
    token: str | None = model_row("Token in the address; by default a new one at each start.")
    no_browser: bool = model_row("Print the address, and open no browser.", False)


@examples(
    "dcglearn judge candidates.jsonl --log verdicts.jsonl",
    "dcglearn judge candidates.jsonl --log verdicts.jsonl --raters ann,bob --redundancy 2",
    "dcglearn judge candidates.jsonl --log verdicts.jsonl --llm llm.jsonl",
    "dcglearn judge --runs old.txt new.txt --qrels qrels.txt --documents docs.jsonl "
    "--log verdicts.jsonl",
    "dcglearn judge candidates.jsonl --export page.html --files 5 --redundancy 2",
)
def judge(
    *,
    reading: Reading,
    asking: AskingOptions,
    place: PlaceOptions,
    log: Path | None = first_row("The verdicts; an existing log is continued.", metavar="LOG"),
    source: CandidateOptions,
    page: PageOptions,
    dry_run: DryRun = False,
) -> None:
    """Judge pairs of lists in the browser, and learn a DCG meanwhile.

    The page shows two lists side by side and takes a verdict by one key; every verdict is on the
    disk before the next pair counts. Stop with Ctrl-C; the same command continues. --export writes
    the page as a file for raters without a server, who hand their verdicts over as a file.
    """
    from dcglearn.judge.study import Study
    from dcglearn.trust.llm import machine_dcg

    # read the pairs, and the verdicts of a machine
    page.refuse(asking, place, log)
    if log is not None:
        suffix_among(log, LINES, "verdicts")
    pages = _page_files(page, [*source.inputs, log, asking.llm, reading.mapping])
    pairs = source.candidates(reading.log_mapping)
    machine = None
    if asking.llm is not None:
        scale = dl.DCG.standard(pairs.n_grades, pairs.depth)
        machine = machine_dcg(read_llm(asking.llm, pairs.n_grades), scale)
    say("\n".join(_candidate_lines(pairs)))
    if dry_run:
        return
    if log is None or pages:
        _export(pairs, log, asking, machine, page, pages)
        return

    # the server is an extra
    try:
        from dcglearn.judge.server import Place, serve
    except ModuleNotFoundError as error:
        raise InputError(
            "the judging page needs Starlette and uvicorn: pip install 'dcglearn[judge]'"
        ) from error

    # open the log, and say what it holds
    study = Study(pairs, log, _rules(asking), machine)
    before = study.n_verdicts
    _say_cut_short(study)
    if before:
        say(f"continuing {log}: {number_of(before, 'verdicts')} so far")

    # serve until interrupted
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        serve(study, Place(**vars(place)), typer.echo)
    except KeyboardInterrupt:
        pass
    finally:
        n, command = study.n_verdicts, study.next_command(log, asking.llm)
        study.close()
        say(f"{log}: {number_of(n, 'verdicts')}, {n - before} of them new")
        say(f"next: {command}")


def _page_files(page: PageOptions, inputs: list[str | Path | None]) -> list[Path]:
    """Return the files of the pages to write, none for a server, if all can be written."""
    from dcglearn.judge.exported import page_names

    if page.export is None:
        return []
    names = page_names(page.export, page.files)
    check_outputs(*names, force=page.force, inputs=inputs)
    return names


def _export(
    pairs: Candidates,
    log: Path | None,
    asking: AskingOptions,
    machine: dl.DCG | None,
    page: PageOptions,
    names: list[Path],
) -> None:
    """Write pages, say what each holds, and how what is handed over is merged."""
    from dcglearn.judge.exported import asked_by_file, page_of
    from dcglearn.judge.study import Study

    # choose pairs as the server would, with the verdicts so far
    with tempfile.TemporaryDirectory() as folder:
        so_far = log or Path(folder) / "verdicts.jsonl"
        with closing(Study(pairs, so_far, _rules(asking), machine)) as study:
            _say_cut_short(study)
            asked = asked_by_file(study, page.files, page.pairs)
            pages = [page_of(study, *of) for of in zip(asked, [n.stem for n in names], strict=True)]

    # write them, and say what they hold
    for name, held, content in zip(names, asked, pages, strict=True):
        with written_beside(name, force=page.force) as beside:
            beside.write_bytes(content)
        kinds = Counter(one.known or "" for one in held)
        names_of = {"": "pairs", "practice": "pairs of practice", "check": "checks of attention"}
        counts = [number_of(kinds[kind], names_of[kind]) for kind in names_of if kinds[kind]]
        say(f"wrote: {name} ({', '.join(counts)}; {len(content) / 1e6:.2f} MB)")
    if all(pair.items_a for pair in pairs.pairs):
        say("the pages hold the grades, unseen but readable in their source")
    merged = "" if log is None else f"{log} "
    say(f"next: dcglearn convert {merged}verdicts-*.jsonl --verdicts -o all.jsonl")


def _say_cut_short(study: Study) -> None:
    if study.log.cut_short is not None:
        say(f"the log ended within a line, which was put into {study.log.cut_short}")


def _candidate_lines(pairs: Candidates) -> list[str]:
    """Return lines on the candidates, and on what was left out."""
    queries = len({pair.query for pair in pairs.pairs})
    bare = sum(pair.items_a is None for pair in pairs.pairs)
    shown = "raters see grades alone; --documents, or items_a and items_b, show more"
    return [
        f"candidates: {number_of(len(pairs), 'pairs')}, {number_of(queries, 'queries')}; "
        f"{number_of(pairs.depth, 'positions')}, {number_of(pairs.n_grades, 'grades')}",
        *([f"without documents: {number_of(bare, 'pairs')}, of which {shown}"] if bare else []),
        *left_out(pairs.dropped),
    ]


def _rules(asking: AskingOptions) -> Rules:
    """Return the rules of the study that the options describe."""
    from dcglearn.judge.study import Rules

    names = names_in(asking.raters or "")
    same = ("redundancy", "strengths", "width", "images", "checks", "seed", "balanced")
    return Rules(
        tuple(filter(None, names)),
        active=not asking.random,
        practice=not asking.no_practice,
        **{name: getattr(asking, name) for name in same},
    )


@examples(
    "dcglearn prompts candidates.jsonl --model MODEL --template shop.txt -o prompts.jsonl",
    "dcglearn prompts --runs old.txt new.txt --qrels qrels.txt --documents docs.jsonl "
    "--for anthropic -o prompts.jsonl",
)
def prompts(
    *,
    reading: Reading,
    output: Path = first_row(
        "Write prompts here, and their pairs to a file beside it.", ..., "-o", "--output"
    ),
    source: CandidateOptions,
    form: RequestOptions,
    template: Path | None = input_row(
        "Text with {query}, {intent}, {first} and {second}, in place of ours."
    ),
    force: Force = False,
) -> None:
    """Write prompts that ask a language model which list of each pair is better, in both orders.

    Nothing is sent: send the file as a batch, and read the answers by convert --prompts.
    """
    from dcglearn.judge.prompts import pairs_beside, write_prompts

    beside = pairs_beside(output)
    check_outputs(output, beside, force=force, inputs=[*source.inputs, template])

    # write two prompts for each pair
    pairs = source.candidates(reading.log_mapping)
    write_prompts(pairs, output, template=template, **vars(form), force=force)

    # what was written, and what comes next
    named = "" if form.model or form.shape == "gemini" else "; they name no model: --model does"
    wrote = [f"wrote: {output} ({2 * len(pairs):,} prompts{named})", f"wrote: {beside}"]
    line = f"next: dcglearn convert ANSWERS --prompts {output} -o log.jsonl"
    say("\n".join([*left_out(pairs.dropped), *wrote, line]))
