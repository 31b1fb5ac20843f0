"""``dcglearn simulate``: a log whose true DCG is known."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from dcglearn.cli.command import examples, first_option, model_option, output_option
from dcglearn.cli.options import Force, OutputLog, Seed, check_outputs, write_log


@examples(
    "dcglearn simulate --pairs 400 --flips 40 --raters 8 -o log.jsonl --truth-file truth.json",
)
def simulate(
    output: OutputLog = None,
    truth: Annotated[
        str, first_option(help="D1 (gains 1..L), D2 (gains 2^l - 1), both over log; or a DCG's file or name with @K.")
    ] = "D1",
    pairs: Annotated[int, first_option(min=1, help="Number of pairs.")] = 200,
    lists: Annotated[
        Literal["permutations", "free"], model_option(help="Permutations of one multiset of grades, or free lists.")
    ] = "permutations",
    flips: Annotated[int, first_option(min=0, help="Number of pairs whose verdict is flipped.")] = 0,
    temperature: Annotated[float, model_option(min=0.0, help="Logistic noise of the judge, in units of DCG.")] = 0.0,
    tie_below: Annotated[float, model_option(min=0.0, help="Differences up to this become ties.")] = 0.0,
    raters: Annotated[int | None, first_option(min=1, help="Distribute the pairs over this many raters.")] = None,
    queries: Annotated[int | None, model_option(min=1, help="Distribute the pairs over this many queries.")] = None,
    seed: Seed = 0,
    truth_file: Annotated[Path | None, output_option(help="Write the true DCG here.")] = None,
    force: Force = False,
) -> None:
    """Write a log of preferences whose true DCG is known."""
    check_outputs(output, truth_file, force=force)
    from dcglearn.metric.reading import read_metric
    from dcglearn.simulate import ground_truth, preference_pairs

    dcg = ground_truth(truth) if truth in ("D1", "D2") else read_metric(truth, n_grades=5)
    log = preference_pairs(
        dcg,
        pairs,
        lists=lists,
        n_flips=flips,
        temperature=temperature,
        tie_below=tie_below,
        n_raters=raters,
        n_queries=queries,
        seed=seed,
    )
    if truth_file is not None:
        dcg.save(truth_file, force=force)
    write_log(log.to_polars(), output, str(log), force=force)
