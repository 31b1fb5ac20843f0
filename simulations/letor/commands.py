"""Commands of LETOR's five-fold protocol, run by ``python -m simulations``.

``folds`` makes folds, and ``letor`` runs methods on them.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import typer

from dcglearn.cli.app import main as run_program
from dcglearn.cli.command import (
    argument_row,
    examples,
    first_row,
    input_row,
    model_row,
    output_row,
    program,
    scale_row,
)
from dcglearn.cli.metric_options import ScaleOptions
from dcglearn.cli.options import DryRun, Groups, Seed, print_result, say
from dcglearn.foundation.plain_text import spreadsheet
from dcglearn.foundation.validation import InputError
from simulations.letor import Choice, Grid


@examples(
    "python -m simulations folds all.svm --folder data",
    "python -m simulations folds --folder data --queries 106  # synthetic ones",
)
def folds(
    *,
    output: Path = first_row("Write Fold1, Fold2, ... in here.", ..., "--folder", metavar="FOLDER"),
    data: Path | None = argument_row(
        "Svmlight text with qid, also .gz, .xz and .zst; without it, synthetic.",
        None,
        metavar="[DATA]",
    ),
    n_folds: int = first_row("Number of folds.", 5, "--folds", min=3, metavar="N"),
    groups: Groups = None,
    n_queries: int = model_row("Number of synthetic queries.", 106, "--queries", min=3),
    seed: Seed = 0,
) -> None:
    """Split learning-to-rank data into LETOR's folds: train.txt, vali.txt and test.txt in each."""
    from dcglearn.rankers.svmlight import read_queries
    from dcglearn.rankers.synthetic import letor_queries
    from simulations.letor.folds import letor_folds, write_folds

    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise InputError(f"{output} exists and is not empty; name a new folder")
    if not output.parent.is_dir():
        raise InputError(f"{output}: the folder {output.parent} does not exist; make it first")
    queries = (
        letor_queries(n_queries, random_state=seed) if data is None else read_queries(data, groups)
    )
    write_folds(letor_folds(queries, n_folds), output)
    say(f"wrote: {output} ({n_folds} folds of {queries})")


@dataclass(frozen=True)
class Experiment:
    """Folds, methods and how they are trained."""

    folder: Path = argument_row(
        "Holds Fold1, Fold2, ...; also .gz, .xz and .zst.", ..., metavar="DIR"
    )
    ranker: list[str] | None = first_row(
        "One ranker each time; all by default.", None, metavar="NAME"
    )
    metric: str = first_row(
        "letor (discount 1 at ranks 1 and 2), standard, GAIN-DISCOUNT[@K], or a DCG's file.",
        "letor",
    )
    grid: Grid = model_row(
        "Candidates: regularised, from good starts; a few, for a first look; the papers' own.",
        "default",
    )
    features: int | None = input_row(
        "Number of features, where zeros are left out.", None, metavar="D"
    )
    seed: Seed = 0


@examples(
    "python -m simulations letor OHSUMED --grid quick",
    "python -m simulations letor OHSUMED --jobs 2 --folder results",
    "python -m simulations letor OHSUMED --folder results --resume",
    "python -m simulations letor OHSUMED --ranker approxndcg --ranker ridge --format json",
)
def letor(
    *,
    experiment: Experiment,
    choice: Choice = model_row(
        "Show a blend of all candidates that validation cannot tell from the best, or the best.",
        "blend",
    ),
    baseline: str | None = model_row("The method that others are tested against; ridge.", None),
    output: Path | None = first_row(
        "Keep each result, and the tables, here.", None, "--folder", metavar="FOLDER"
    ),
    resume: bool = scale_row("Keep the results that the output folder holds.", False),
    jobs: int | None = first_row(
        "Processes; by default one per processor, up to 8.", None, min=1, metavar="N"
    ),
    form: Literal["text", "markdown", "csv", "json"] = output_row(
        "How to print: the main measures (text, markdown), or all of each fold (csv, json).",
        "text",
        "--format",
    ),
    dry_run: DryRun = False,
) -> None:
    """Train the papers' methods on each fold, and print test results beside published ones.

    The validation file of each fold chooses among a method's candidates.
    """
    from dcglearn.foundation.threads import threads
    from simulations.letor.methods import method_named
    from simulations.letor.protocol import Plan, candidates_of, letor_experiment

    # the baseline is one of the methods
    if baseline is not None:
        baseline = method_named(baseline).name
        names = {method_named(name).name for name in experiment.ranker or [baseline]}
        if baseline not in names:
            remedy = f"add --ranker {baseline!r}"
            raise InputError(f"--baseline {baseline} is not among the methods; {remedy}")

    # read everything, and stop there if asked
    settings: dict[str, Any] = {
        name: getattr(experiment, name) for name in ("metric", "grid", "seed")
    }
    settings |= {"n_features": experiment.features, "methods": experiment.ranker}
    if dry_run:
        with ScaleOptions().watched(None):
            plan = Plan.of(experiment.folder, **settings)
        sizes = ", ".join(f"{name} {n}" for name, n in candidates_of(plan).items())
        typer.echo(f"{plan}\ncandidates: {sizes}\nwould write: {output or 'nothing'}")
        return

    # train, choose and measure
    settings |= {"choice": choice, "output": output, "resume": resume}
    with ScaleOptions().watched(None):
        results = letor_experiment(experiment.folder, jobs=jobs or min(threads(), 8), **settings)

    # print the tables
    if form == "csv":
        typer.echo(spreadsheet(results.frame()), nl=False)
    elif form == "markdown":
        typer.echo(results.to_markdown())
    else:
        print_result(results, as_json=form == "json")
    if form == "text" and len(results.methods) > 1:
        typer.echo(f"\n{results.tests(baseline)}")
    if output is not None:
        say(f"wrote: {output}")


app = program("Split queries into folds, and run LETOR's protocol.", {"LETOR": (folds, letor)})


def main() -> None:
    """Run the command that the arguments name."""
    run_program("python -m simulations", __name__)
