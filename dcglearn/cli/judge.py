"""``dcglearn judge``, the judging page, and ``dcglearn prompts``, the same pairs as prompts for a
model.
"""

from __future__ import annotations

import signal
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

import dcglearn as dl
from dcglearn.cli.command import examples, first_option, input_option, model_option
from dcglearn.cli.options import DryRun, Force, check_outputs
from dcglearn.cli.reading import Reading, left_out, read_proxy
from dcglearn.foundation.plain_text import number_of
from dcglearn.foundation.sources import LINES
from dcglearn.foundation.validation import InputError, suffix_among

if TYPE_CHECKING:
    from dcglearn.judge.candidates import Candidates
    from dcglearn.judge.study import Rules
    from dcglearn.readers.mapping import LogMapping


@dataclass(frozen=True)
class AskingOptions:
    """Which pairs are asked, of whom, and how."""

    raters: Annotated[
        str | None,
        first_option(
            metavar="NAMES", help="Names, as ann,bob; without them the page asks for a name."
        ),
    ] = None
    redundancy: Annotated[
        int, model_option(min=1, metavar="R", help="Ask R raters about each pair.")
    ] = 1
    random: Annotated[
        bool, model_option("--random", help="Pairs at random, not the most telling ones.")
    ] = False
    queries: Annotated[
        bool, model_option("--queries", help="Ask all queries about equally often.")
    ] = False
    strengths: Annotated[
        int, model_option(min=1, max=5, metavar="S", help="Strengths of preference.")
    ] = 1
    width: Annotated[
        float, model_option(help="There are enough verdicts when the widest band is below this.")
    ] = 0.1
    no_practice: Annotated[
        bool, model_option("--no-practice", help="Begin without three pairs to practise.")
    ] = False
    checks: Annotated[
        float, model_option(metavar="SHARE", help="Share of pairs that check attention.")
    ] = 0.0
    images: Annotated[
        bool,
        model_option(
            "--images", help="Show the candidates' images, which are fetched from their hosts."
        ),
    ] = False
    seed: Annotated[
        int | None, model_option(min=0, help="Same seed, same draws of pairs and sides.")
    ] = None
    proxy: Annotated[
        str | None,
        model_option(
            metavar="LOG", help="An LLM judge's verdicts: where people may differ is asked first."
        ),
    ] = None


@dataclass(frozen=True)
class CandidateOptions:
    """The pairs: a file of candidates, or two runs to compare."""

    file: Annotated[
        str | None,
        typer.Argument(
            metavar="[CANDIDATES]", help="Pairs that could be judged: a, b, and items to show."
        ),
    ] = None
    runs: Annotated[
        tuple[str, str] | None,
        first_option(metavar="OLD NEW", help="Two TREC runs to compare, a pair a query."),
    ] = None
    qrels: Annotated[
        str | None, first_option(metavar="QRELS", help="With --runs: the judgements.")
    ] = None
    documents: Annotated[
        Path | None,
        input_option(
            metavar="FILE",
            help="JSON lines with docno, title and text, of --runs or of docs_a and docs_b.",
        ),
    ] = None
    topics: Annotated[
        Path | None,
        input_option(metavar="FILE", help="With --runs: texts of the queries: name, tab, text."),
    ] = None
    unjudged: Annotated[
        str,
        input_option(
            metavar="worst|best|drop", help="With --runs: the grade of documents nobody has judged."
        ),
    ] = "worst"
    depth: Annotated[
        int | None, input_option(metavar="K", help="Cut lists to K positions; of runs, to 10.")
    ] = None

    def candidates(self, mapping: LogMapping) -> Candidates:
        """Return the pairs of a file or of two runs; raise InputError if neither is given, or
        both.
        """
        from dcglearn.judge.candidates import candidates_from_runs, read_candidates

        if (self.file is None) == (self.runs is None):
            raise InputError("give a file of CANDIDATES, or --runs OLD NEW --qrels QRELS")
        if self.depth is not None:
            mapping = mapping.updated(depth=self.depth)
        if self.file is not None:
            return read_candidates(self.file, mapping=mapping, documents=self.documents)
        if self.qrels is None or self.runs is None:
            raise InputError("--runs needs --qrels: a DCG is learned from grades")
        how: dict[str, Any] = {"n_grades": mapping.n_grades, "unjudged": self.unjudged}
        how["depth"] = mapping.depth or 10
        return candidates_from_runs(list(self.runs), self.qrels, self.documents, self.topics, **how)

    @property
    def inputs(self) -> list[str | Path | None]:
        """The files that are read."""
        return [self.file, *(self.runs or ()), self.qrels, self.documents, self.topics]


@dataclass(frozen=True)
class PlaceOptions:
    """Where the server listens."""

    host: Annotated[
        str,
        model_option(
            help="Address to listen on; another than this machine's own is plain http on your "
            "network."
        ),
    ] = "127.0.0.1"
    port: Annotated[
        int, first_option(min=1, max=65535, help="Port; if it is taken, the next free one.")
    ] = 8765
    token: Annotated[
        str | None,
        model_option(
            metavar="TEXT", help="Token in the address; by default a new one at each start."
        ),
    ] = None
    no_browser: Annotated[
        bool, model_option("--no-browser", help="Print the address, and open no browser.")
    ] = False


@examples(
    "dcglearn judge candidates.jsonl --log verdicts.jsonl",
    "dcglearn judge candidates.jsonl --log verdicts.jsonl --raters ann,bob --redundancy 2",
    "dcglearn judge candidates.jsonl --log verdicts.jsonl --proxy llm.jsonl",
    "dcglearn judge --runs old.txt new.txt --qrels qrels.txt --documents docs.jsonl "
    "--log verdicts.jsonl",
)
def judge(
    reading: Reading,
    asking: AskingOptions,
    place: PlaceOptions,
    log: Annotated[
        Path, first_option(metavar="LOG", help="The verdicts; an existing log is continued.")
    ],
    source: CandidateOptions,
    dry_run: DryRun = False,
) -> None:
    """Judge pairs of lists in the browser, and learn a DCG meanwhile.

    The page shows two lists side by side and takes a verdict by one key; every verdict is on the
    disk before the next pair counts. Stop with Ctrl-C; the same command continues.
    """
    from dcglearn.judge.study import Study
    from dcglearn.trust.proxy import machine_dcg

    # read the pairs, and the verdicts of a machine
    suffix_among(log, LINES, "verdicts")
    pairs = source.candidates(reading.mapping)
    proxy, machine = asking.proxy, None
    if proxy is not None:
        scale = dl.DCG.standard(pairs.n_grades, pairs.depth)
        machine = machine_dcg(read_proxy(proxy, pairs.n_grades), scale)
    typer.echo("\n".join(_candidate_lines(pairs)), err=True)
    if dry_run:
        return

    # the server is an extra
    try:
        from dcglearn.judge.server import Place, serve
    except ModuleNotFoundError as error:
        remedy = "pip install 'dcglearn[judge]'"
        raise InputError(f"the judging page needs Starlette and uvicorn: {remedy}") from error

    # open the log, and say what it holds
    where = Place(place.host, place.port, place.token, browser=not place.no_browser)
    study = Study(pairs, log, _rules(asking), machine)
    before, cut_short = study.n_verdicts, study.log.cut_short
    if cut_short is not None:
        typer.echo(f"the log ended within a line, which was put into {cut_short}", err=True)
    if before:
        typer.echo(f"continuing {log}: {number_of(before, 'verdicts')} so far", err=True)

    # serve until interrupted
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        serve(study, where, typer.echo)
    except KeyboardInterrupt:
        pass
    finally:
        n, command = study.n_verdicts, study.next_command(log, proxy)
        study.close()
        typer.echo(f"{log}: {number_of(n, 'verdicts')}, {n - before} of them new", err=True)
        typer.echo(f"next: {command}", err=True)


def _candidate_lines(pairs: Candidates) -> list[str]:
    """Return what the candidates hold, and what was left out of them."""
    queries = len({pair.query for pair in pairs.pairs})
    held = f"{number_of(len(pairs), 'pairs')}, {number_of(queries, 'queries')}"
    scale = f"{number_of(pairs.depth, 'positions')}, {number_of(pairs.n_grades, 'grades')}"
    return [f"candidates: {held}; {scale}", *left_out(pairs.dropped)]


def _rules(asking: AskingOptions) -> Rules:
    """Return the rules of the study that the options describe."""
    from dcglearn.judge.study import Rules

    names = [name.strip() for name in (asking.raters or "").split(",")]
    same = ("redundancy", "strengths", "width", "images", "checks", "seed")
    return Rules(
        tuple(filter(None, names)),
        active=not asking.random,
        balanced=asking.queries,
        practice=not asking.no_practice,
        **{name: getattr(asking, name) for name in same},
    )


@examples(
    "dcglearn prompts candidates.jsonl --model MODEL --template shop.txt -o prompts.jsonl",
    "dcglearn prompts --runs old.txt new.txt --qrels qrels.txt --documents docs.jsonl "
    "--for anthropic -o prompts.jsonl",
)
def prompts(
    reading: Reading,
    output: Annotated[
        Path,
        first_option(
            "-o",
            "--output",
            metavar="FILE",
            help="Write prompts here, and their pairs to a file beside it.",
        ),
    ],
    source: CandidateOptions,
    shape: Annotated[
        Literal["openai", "anthropic", "gemini", "messages"],
        first_option(
            "--for", help="The provider whose batch files have this form, or the messages alone."
        ),
    ] = "openai",
    model: Annotated[
        str | None, first_option(metavar="NAME", help="The model that each request names.")
    ] = None,
    template: Annotated[
        Path | None,
        input_option(
            metavar="FILE",
            help="Text with {query}, {intent}, {first} and {second}, in place of ours.",
        ),
    ] = None,
    force: Force = False,
) -> None:
    """Write prompts that ask a language model which list of each pair is better, in both orders.

    Nothing is sent: send the file as a batch, and read the answers by convert --prompts.
    """
    from dcglearn.judge.prompts import TEMPLATE, pairs_beside, write_prompts

    beside = pairs_beside(output)
    check_outputs(output, beside, force=force, inputs=[*source.inputs, template])

    # write two prompts for each pair
    pairs = source.candidates(reading.mapping)
    template = template or TEMPLATE
    write_prompts(pairs, output, template=template, shape=shape, model=model, force=force)

    # what was written, and what comes next
    named = "" if model or shape == "gemini" else "; they name no model: --model does"
    wrote = [f"wrote: {output} ({2 * len(pairs):,} prompts{named})", f"wrote: {beside}"]
    line = f"next: dcglearn convert ANSWERS --prompts {output} -o log.jsonl"
    typer.echo("\n".join([*left_out(pairs.dropped), *wrote, line]), err=True)
