"""Commands that write logs: ``dcglearn convert``, ``dcglearn ask``, ``dcglearn simulate``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from numpy.typing import ArrayLike

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
from dcglearn.cli.options import Force, OutputLog, Seed, check_outputs, say, write_log
from dcglearn.cli.reading import (
    JoinOptions,
    MappingOptions,
    Reading,
    looked_up_lines,
    one_or_all,
    read_proxy,
    recognised_mapping,
    say_reading,
)
from dcglearn.foundation.plain_text import number_of
from dcglearn.foundation.validation import Fields, InputError

if TYPE_CHECKING:
    from dcglearn.readers.mapping import LogMapping
    from dcglearn.readers.preferences import Preferences


@examples(
    "dcglearn convert spreadsheet.csv -o log.jsonl",
    'dcglearn convert answers.csv --winner-words "Left is better=a,Right is better=b,Same=tie" '
    "-o log.jsonl",
    "dcglearn convert vendor.csv --columns winner=Verdict --save-mapping vendor.toml -o log.jsonl",
    "dcglearn convert log.jsonl --qrels qrels.txt -o joined.jsonl",
    "dcglearn convert verdicts.csv --run-a old.txt --run-b new.txt --qrels qrels.txt -o log.jsonl",
    "dcglearn convert --ratings rated.csv -o log.parquet",
    "dcglearn convert answers.jsonl --prompts prompts.jsonl -o llm.jsonl",
)
def convert(
    *,
    log: list[str] = argument_row(
        ...,
        "JSON lines or array, delimited text or Parquet, several files, or a folder; "
        "- reads standard input.",
        metavar="LOG...",
    ),
    reading: MappingOptions,
    joins: JoinOptions,
    inconsistent: Literal["keep", "half", "tie"] = input_row(
        "keep", "What contradictory verdicts count, of one rater on a pair shown both ways."
    ),
    prompts: str | None = first_row(
        None,
        "LOG holds an LLM's answers to the prompts in FILE: `dcglearn prompts`.",
        metavar="FILE",
    ),
    output: OutputLog = None,
    save_mapping: Path | None = output_row(
        None, "Write how the log was read here (TOML), for --read.", metavar="FILE"
    ),
    force: Force = False,
) -> None:
    """Turn a log of any form into the native one: a line a judgement, with a, b and winner.

    Tables with a column for each position or a row for each document become lists, words become
    grades and winners, and rated lists become the pairs that they imply. Sides, open questions and
    superseded verdicts stay as they are.
    """
    inputs = [*log, reading.read, prompts, *joins.inputs]
    check_outputs(reading.skip_bad, save_mapping, force=force, log=output, inputs=inputs)
    from dcglearn.readers.read_log import native_frame

    # how the log is read
    source = one_or_all(log)
    if (reading.cutoffs or "").startswith("learned:"):
        reading = _with_learned_cutoffs(source, reading, joins, prompts)
    mapping = reading.mapping
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
    lines = [f"left out: {count:,} {reason}" for reason, count in dropped.items()]
    if mapping.scale is not None:
        names = [f"{grade} = {name}" for grade, name in enumerate(mapping.scale)]
        say(f"grades: {', '.join(names)}")
    for line in [*looked_up_lines(counted), *lines]:
        say(line)

    # write the log, and how it was read
    depth = int(frame["a"].list.len().max() or 0)  # type: ignore[arg-type]
    write_log(frame, output, f"{len(frame):,} lines, {depth} positions", force=force)
    if save_mapping is not None:
        recognised_mapping(mapping, recognised).save(save_mapping, force=force)
        say(f"wrote: {save_mapping} (give it by --read)")


def _with_learned_cutoffs(
    log: Any, reading: Any, joins: JoinOptions, prompts: str | None
) -> MappingOptions:
    """Return how to read a log with N levels' best-fitting cut-offs, ``--cutoffs learned:N``."""
    n_levels = str(reading.cutoffs).removeprefix("learned:")
    if not n_levels.isdecimal() or log == "-" or prompts is not None:
        remedy = "give a number of levels, learned:4, say, and pairs in a file"
        raise InputError(f"--cutoffs {reading.cutoffs}: {remedy}")
    from dcglearn.learning.learned_cutoffs import FINE

    fine = replace(reading, cutoffs=FINE)
    cutoffs = dl.trust.learned_cutoffs(
        _pairs(log, fine.mapping, fine, joins, "keep"), int(n_levels)
    )
    return replace(reading, cutoffs=",".join(f"{cutoff:g}" for cutoff in cutoffs))


def _answers(
    log: Any, prompts: str, reading: MappingOptions, asked: list[str]
) -> tuple[Any, LogMapping]:
    """Return a model's answers as verdicts, and how to read the prompts' lists; print counts."""
    if reading.ratings or reading.skip_bad or asked:
        option = (*asked, "--ratings or --skip-bad")[0]
        reason = "whose pairs have grades; what is not read is listed"
        raise InputError(f"{option} does not go with --prompts, {reason}")
    from dcglearn.judge.replies import read_replies

    verdicts, lines = read_replies(log, prompts, reading.mapping)
    say("\n".join(lines))
    return verdicts, Reading(grades=reading.grades, as_is=reading.as_is).mapping


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
    "dcglearn ask --log human.jsonl --proxy llm.jsonl -n 5 -o questions.jsonl",
    "dcglearn ask --log log.jsonl -n 5  # candidates made from the log's own mix of grades",
)
def ask(
    *,
    reading: Reading,
    candidates: str | None = argument_row(
        None, "Pairs that could be judged, as a log with winner open.", metavar="[CANDIDATES]"
    ),
    log: str | None = first_row(
        None, "The judgements so far; leave it out at the beginning.", metavar="LOG"
    ),
    n: int = first_row(5, "How many pairs to ask for.", "-n", min=1),
    output: OutputLog = None,
    generate: int = input_row(
        200, "Without CANDIDATES: how many lists to make and pair.", min=2, metavar="N"
    ),
    proxy: str | None = first_row(
        None,
        "An LLM judge's verdicts: ask where people may differ, or else of its pairs.",
        metavar="LOG",
    ),
    seed: Seed = 0,
    force: Force = False,
) -> None:
    """Ask which pairs of lists to judge next: those whose answers would tell most.

    Fill in winner (a, b or tie) and append the lines to the log; lines left open do not count as
    judgements.
    """
    check_outputs(force=force, log=output, inputs=[candidates, log, proxy])
    from dcglearn.learning.descriptions import DirectDescription
    from dcglearn.readers.shared_ids import refuse_other_lists
    from dcglearn.trust.form_choice import fit_in_form
    from dcglearn.trust.next_pairs import generated_lists
    from dcglearn.trust.proxy import proxy_dcg

    # the judgements so far, of people and of a machine
    mapping = reading.mapping
    judged = None if log is None else dl.read_preferences(log, mapping=mapping)
    fit = verdicts = None
    if proxy is not None:
        if judged is None or log is None:
            reason = "people's verdicts say how far to follow the LLM judge's"
            raise InputError(f"--proxy goes with --log: {reason}")
        refuse_other_lists(log, proxy, mapping)
        verdicts = read_proxy(proxy, judged.n_grades)
        of_people = DirectDescription(n_grades=judged.n_grades)
        fit = fit_in_form(judged, of_people, proxy=proxy_dcg(verdicts, judged))

    # the pairs to choose from
    if candidates is not None:
        pool: Preferences | ArrayLike = dl.read_questions(candidates, mapping=mapping)
    elif verdicts is not None:
        pool = verdicts
    elif judged is not None:
        pool = generated_lists(judged, generate, seed=seed)
    else:
        remedy = "give CANDIDATES, or --log to make lists with its mix of grades"
        raise InputError(f"nothing to choose from: {remedy}")

    # choose, and write
    questions = dl.suggest_pairs(judged, pool, n, fit, n_grades=mapping.n_grades, seed=seed)
    contents = f"{number_of(len(questions), 'questions')}; fill in winner and append to the log"
    write_log(questions.to_polars(), output, contents, force=force)


@dataclass(frozen=True)
class MachineOptions:
    """Who judges: people, or a machine with its taste, errors and side."""

    judge: Literal["people", "machine"] = first_row(
        "people", "People, or a language model that sees each pair in both orders."
    )
    taste: str | None = model_row(None, "machine: its metric; else the truth.", metavar="METRIC")
    error: float = model_row(0.1, "machine: share of pairs that it gets wrong, by its taste.")
    side: float = model_row(0.1, "machine: share of verdicts that name the first list unread.")
    consistency: float = model_row(
        0.9, "machine: share of repeated pairs on which it repeats its verdict."
    )

    def refuse(self, **of_people: Any) -> None:
        """Raise InputError for an option of the other kind of judge."""
        other, options = "people", of_people
        defaults: Fields = {}
        if self.judge == "people":
            other, options, defaults = "machine", vars(self), vars(MachineOptions())
        for name, value in options.items():
            if (value or None) != (defaults.get(name) or None):
                raise InputError(f"{option_name(name)} goes with --judge {other}")


@examples(
    "dcglearn simulate --pairs 400 --flips 40 --raters 8 -o log.jsonl --truth-file truth.json",
    "dcglearn simulate --judge machine --taste exponential-log2 --side 0.3 --pairs 1000 "
    "-o machine.jsonl",
)
def simulate(
    *,
    machine: MachineOptions,
    output: OutputLog = None,
    truth: str = first_row(
        "D1", "D1 (gains 1..L), D2 (gains 2^l - 1), both over log; or a DCG's file or name with @K."
    ),
    pairs: int = first_row(200, "Number of pairs.", min=1),
    lists: Literal["permutations", "free"] = model_row(
        "permutations", "Permutations of one multiset of grades, or free lists."
    ),
    flips: int = first_row(0, "Number of pairs whose verdict is flipped.", min=0),
    temperature: float = model_row(0.0, "Logistic noise of the judge, in units of DCG.", min=0.0),
    tie_below: float = model_row(0.0, "Differences up to this become ties.", min=0.0),
    raters: int | None = first_row(None, "Distribute the pairs over this many raters.", min=1),
    queries: int | None = model_row(None, "Distribute the pairs over this many queries.", min=1),
    seed: Seed = 0,
    truth_file: Path | None = output_row(None, "Write the true DCG here."),
    force: Force = False,
) -> None:
    """Write a log of preferences whose true DCG is known."""
    check_outputs(truth_file, force=force, log=output)
    from dcglearn.metrics.reading import metric as read_metric
    from dcglearn.simulate import ground_truth, machine_verdicts, preference_pairs

    # options of one kind of judge refuse the other
    dcg = ground_truth(truth) if truth in ("D1", "D2") else read_metric(truth, n_grades=5)
    noise: Fields = {"temperature": temperature, "tie_below": tie_below}
    machine.refuse(**noise, flips=flips, raters=raters, queries=queries)

    # simulate verdicts
    if machine.judge == "machine":
        taste = dcg
        if machine.taste is not None:
            taste = read_metric(machine.taste, dcg.n_grades, dcg.depth, name="taste")
        shares = {name: getattr(machine, name) for name in ("error", "side", "consistency")}
        log = machine_verdicts(taste, pairs, lists=lists, **shares, seed=seed)
    else:
        noise |= {"n_flips": flips, "n_raters": raters, "n_queries": queries}
        log = preference_pairs(dcg, pairs, lists=lists, seed=seed, **noise)

    # write the truth and the log
    if truth_file is not None:
        dcg.save(truth_file, force=force)
    write_log(log.to_polars(), output, str(log), force=force)
