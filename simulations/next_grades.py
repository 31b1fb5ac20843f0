"""Which documents to grade next: how many grades fix the order of two runs, by four strategies.

python -m simulations.next_grades qrels.txt runs.txt
python -m simulations.next_grades qrels.txt runs.txt --metric exponential-log2@10 --repeats 100

Pairs of runs are drawn by the seed, as many as --repeats says. At first the documents that either
run has in its first places, as many as the metric looks at, are without a judgement, and all others
have theirs. Then they are graded one by one, as the judgements have it, until the exact bounds of
the mean difference exclude 0: the order is fixed, whatever the remaining grades.

The program writes next_grades.csv, .png and .pdf. The documentation shows the 63 runs of TREC Deep
Learning 2021 (passages), which are not part of the project.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any, ClassVar, cast

import numpy as np
import polars as pl
from matplotlib.ticker import PercentFormatter
from tqdm import tqdm

import dcglearn as dl
from dcglearn.evaluation.next_judgements import Difference, Document
from dcglearn.evaluation.unjudged import OpenQuery, Unjudged
from simulations.claims import Claim
from simulations.results import Program, produce
from simulations.run import STYLES, mapped, parser

TINY = 1e-9
"""Differences up to this size count as none."""

BATCH = 20
"""Documents that are chosen before any of them is graded: the default of `ask-grades`."""

STRATEGIES = {
    "narrowing": "narrowing most, one at a time",
    "twenties": f"narrowing most, {BATCH} at a time",
    "by rank": "by rank, query by query",
    "random": "at random",
}
"""Orders of grading: as `suggest_judgements` chooses, anew after every grade or in batches; first
places of all queries first, then second ones; by chance.
"""

DRAWN = ("narrowing", "by rank", "random")
"""Strategies of the picture."""

SIZES = {"below .02": (0.0, 0.02), "to .1": (0.02, 0.1), "from .1": (0.1, np.inf)}
"""True differences of the means, in size, and their ends."""


@dataclass(frozen=True)
class NextGrades:
    """The study, as `simulations.results.produce` takes it, for some judgements and runs."""

    judged: dl.io.Judgements = field(repr=False)
    runs: Sequence[dl.io.Run] = field(repr=False)
    metric: str = "nDCG@10"

    STEM: ClassVar = "next_grades"
    REPEATS: ClassVar = 60
    PANELS: ClassVar = 2
    FIGSIZE: ClassVar = (9.5, 3.8)

    def simulate(self, seed: int, repeats: int, quick: bool, jobs: int | str) -> Iterator[Any]:
        """Yield a record for each pair and strategy; `needed` is null where the runs are equal."""
        pairs = list(combinations(range(len(self.runs)), 2))
        drawn = np.random.default_rng(seed).permutation(len(pairs))[:repeats]
        if len(drawn) < 2:
            raise dl.InputError(f"{len(drawn)} pairs of runs: give at least 2 (three runs have 3)")
        tasks = [(seed, i, *pairs[number]) for i, number in enumerate(drawn)]
        with closing(mapped(partial(trial, self), tasks, jobs)) as results:
            for records in tqdm(results, total=len(tasks), disable=None, leave=False):
                yield from records

    def plot(self, table: pl.DataFrame, axes: Any) -> None:
        """Draw the shares of documents that had to be graded, and against the difference."""
        shares = with_shares(table)
        if shares.is_empty():
            raise dl.InputError("all judgements leave no difference between the runs drawn")
        medians = {}
        for style, strategy in zip(STYLES, DRAWN, strict=False):
            part = shares.filter(strategy=strategy).sort("share")
            label, medians[strategy] = STRATEGIES[strategy], part["share"].median()
            look = {key: style[key] for key in ("color", "linestyle")}
            x = np.concatenate([[0], part["share"], [1]])
            y = np.append(np.arange(len(part) + 1), len(part)) / len(part)
            axes[0].step(x, y, where="post", **look)
            axes[0].plot([], [], label=label, **style)
            dots = {**style, "linestyle": "none", "markersize": 4}
            axes[1].plot(part["difference"].abs(), part["share"], **dots)

        # words
        one, rank, _ = (f"{medians[name]:.0%}" for name in DRAWN)
        axes[0].set_title(f"Narrowing fixes half with {one} of the grades, by rank {rank}")
        axes[0].set(xlabel="graded, % of the open documents", ylabel="orders fixed, % of pairs")
        closest, *_, furthest = SIZES
        near, far = (
            shares.filter(size=size, strategy="narrowing")["share"].median()
            for size in (closest, furthest)
        )
        if near is not None and far is not None:
            axes[1].set_title(f"By narrowing, {near:.0%} for runs within .02, {far:.0%} from .1")
        axes[1].set(
            xlabel=f"size of the true difference in {table['metric'][0]}",
            ylabel="graded, % of the open documents",
            xlim=(0, None),
        )
        axes[0].set(xlim=(0, 1), ylim=(0, 1.02))
        for axis in (axes[0].xaxis, axes[0].yaxis, axes[1].yaxis):
            axis.set_major_formatter(PercentFormatter(1, 0))
        axes[0].legend(title=f"{shares['repeat'].n_unique()} pairs of runs, graded", fontsize=8)

    def claims(self, table: pl.DataFrame) -> Iterator[Claim]:
        """Yield what was expected before the study ran on real judgements."""
        ratios = with_ratios(table)
        claim = partial(Claim, ratios, "ours", "next grades")
        yield claim("narrowing by rank: ratio of grades", "to_by_rank", {}, high=0.9)
        yield claim("narrowing to random: ratio of grades", "to_random", {}, high=0.85)
        yield claim("by rank to random: ratio of grades", "rank_to_random", {}, high=1.0)
        yield claim("narrowing needs fewer than by rank: share of pairs", "fewer", {}, low=0.9)
        text = f"{BATCH} at a time cost little: ratio to one at a time"
        yield claim(text, "twenties_to_one", {}, high=1.05)
        if len(ratios.filter(size="from .1")) > 1:
            text = "a difference from .1 is fixed by less than 3/4 of the documents, narrowing"
            yield claim(text, "share", {"size": "from .1"}, high=0.75)
        text = "the estimate has the right sign for good in half of the grades, narrowing: ratio"
        yield claim(text, "sign_to_fixed", {}, high=0.5)


def trial(study: NextGrades, task: tuple[int, int, int, int]) -> list[dict[str, Any]]:
    """Return how many grades each strategy needs for a pair of runs."""
    seed, repeat, left, right = task
    runs = [study.runs[left], study.runs[right]]
    metric = dl.metric(study.metric, n_grades=study.judged.n_grades)
    documents = open_documents(study.judged, runs, metric.depth)
    evaluation = partial_evaluation(study, runs, documents)
    means = dl.evaluate(study.judged, runs, study.metric).means[:, 0]
    difference = float(means[1] - means[0])
    record = {"repeat": repeat, "left": runs[0].name, "right": runs[1].name}
    record |= {"metric": study.metric, "difference": difference, "open": len(documents)}

    # the documents by their number of the query, from the first place on
    numbers = {query: q for q, query in enumerate(evaluation.queries)}
    grades = {(numbers[row["query"]], row["document"]): row["grade"] for row in documents}
    chance = np.random.default_rng([seed, repeat]).permutation(len(grades))
    orders = {
        "narrowing": narrowing(evaluation.open, grades, 1),
        "twenties": narrowing(evaluation.open, grades, BATCH),
        "by rank": list(grades),
        "random": [list(grades)[i] for i in chance],
    }
    counts = {
        name: (None, None)
        if abs(difference) <= TINY
        else grades_needed(evaluation.open, order, grades, np.sign(difference))
        for name, order in orders.items()
    }
    return [
        {**record, "strategy": name, "needed": needed, "sign": sign}
        for name, (needed, sign) in counts.items()
    ]


def open_documents(
    judged: dl.io.Judgements, runs: Sequence[dl.io.Run], depth: int
) -> list[dict[str, Any]]:
    """Return query, document and true grade of the first places of runs, by place and query."""
    # trec_eval's order
    by = ["query", pl.col("score").cast(pl.Float32), "document"]
    ordered = [run.frame.sort(by, descending=[False, True, True]) for run in runs]
    tops = [one.group_by("query", maintain_order=True).head(depth) for one in ordered]
    ranked = pl.concat(
        [top.select("query", "document", rank=pl.int_range(pl.len()).over("query")) for top in tops]
    )
    first = ranked.join(judged.frame, on="query", how="semi").group_by(["query", "document"])
    graded = first.agg(pl.col("rank").min()).join(
        judged.frame, on=["query", "document"], how="left"
    )
    graded = graded.with_columns(pl.col("grade").fill_null(0).clip(0))
    return graded.sort("rank", "query", "document").to_dicts()


def partial_evaluation(
    study: NextGrades, runs: Sequence[dl.io.Run], documents: Sequence[Mapping[str, Any]]
) -> Any:
    """Return the first places of runs, evaluated by the judgements of all other documents."""
    names = pl.DataFrame(documents).select("query", "document")
    fewer = study.judged.frame.join(names, on=["query", "document"], how="anti")
    lost = set(study.judged.frame["query"]) - set(fewer["query"])
    if lost:
        raise dl.InputError(
            f"{study.judged.name}: query {min(lost)} has no judgement but those of the first "
            "documents of both runs; leave it out, or judge others"
        )
    tops = [
        replace(run, frame=run.frame.join(names, on=["query", "document"], how="semi"))
        for run in runs
    ]
    return dl.evaluate(replace(study.judged, frame=fewer), tops, study.metric, bounds=True)


def narrowing(left: Unjudged, grades: Mapping[Document, int], n: int) -> Iterator[Document]:
    """Yield the documents as `suggest_judgements` chooses them, n at a time, grades known then."""
    difference = Difference(left, 1, 0)
    while difference.narrowing:
        ahead = deepcopy(difference) if n > 1 else difference
        chosen: list[Document] = []
        while len(chosen) < n and ahead.narrowing:
            of = ahead.narrowing
            chosen.append(max(of, key=lambda one: (of[one], one)))
            if n > 1:
                ahead.give(chosen[-1])
        yield from chosen
        for document in chosen:
            difference.give(document, grades[document])


def grades_needed(
    left: Unjudged, order: Any, grades: Mapping[Document, int], sign: float
) -> tuple[int, int]:
    """Return after how many grades the bounds exclude 0, and the estimate's sign is right for good.

    The estimate counts unjudged documents as worth nothing. The difference has this sign.
    """
    queries, columns = map(list, zip(*left.pairs(1, 0, 0), strict=True))
    names = [column.to_list() for column in columns]
    ends = np.array([left.ends(query, 0) for query in queries])
    estimates = np.array([estimate(left, query) for query in queries])
    right, documents = 0, iter(order)
    for n in range(len(grades) + 1):
        if sign * estimates.mean() <= TINY:
            right = n + 1
        if (sign * ends.mean(axis=0)).min() > TINY:
            return n, right
        if n < len(grades):
            q, name = document = next(documents)
            i = names[q].index(name)
            del names[q][i]
            queries[q] = queries[q].graded(grades[document], i)
            ends[q], estimates[q] = left.ends(queries[q], 0), estimate(left, queries[q])
    raise AssertionError("all grades are given, and the order is not that of all judgements")


def estimate(left: Unjudged, query: OpenQuery) -> float:
    """Return a query's difference by the judged documents alone."""
    return left.ends(replace(query, weights=np.zeros(0)), 0)[0]


def with_shares(table: pl.DataFrame) -> pl.DataFrame:
    """Return the pairs whose runs differ, with the share graded and the size of the difference."""
    size = pl.lit(None, pl.String)
    for name, (low, high) in SIZES.items():
        size = (
            pl.when(pl.col("difference").abs().is_between(low, high, "left"))
            .then(pl.lit(name))
            .otherwise(size)
        )
    share = pl.col("needed") / pl.col("open")
    return table.drop_nulls("needed").with_columns(share=share, size=size)


def with_ratios(table: pl.DataFrame) -> pl.DataFrame:
    """Return a row for each pair: what narrowing needs, and ratios of numbers of grades."""
    shares = with_shares(table)
    needed = shares.pivot(on="strategy", index="repeat", values="needed", maintain_order=True)
    one, rank, chance = (pl.col(name) for name in ("narrowing", "by rank", "random"))
    ratios = needed.with_columns(
        to_by_rank=one / rank,
        to_random=one / chance,
        rank_to_random=rank / chance,
        twenties_to_one=pl.col("twenties") / one,
        fewer=(one < rank).cast(pl.Int64),
    )
    of_one = shares.filter(strategy="narrowing")
    of_one = of_one.with_columns(sign_to_fixed=pl.col("sign") / pl.col("needed"))
    return of_one.join(ratios, on="repeat")


def by_strategy(table: pl.DataFrame, by: Sequence[str] = ()) -> pl.DataFrame:
    """Return quartiles of the grades needed, the median share and that until the sign is right."""
    needed, rows = pl.col("needed"), with_shares(table)
    return rows.group_by([*by, "strategy"], maintain_order=True).agg(
        pairs=pl.len(),
        lower=needed.quantile(0.25, "linear"),
        median=needed.median(),
        upper=needed.quantile(0.75, "linear"),
        share=pl.col("share").median(),
        sign=pl.col("sign").median(),
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Read judgements and runs, make table and picture, and print them with their claims."""
    options = parser(__doc__ or "")
    options.add_argument("judgements", type=Path)
    options.add_argument(
        "runs", type=Path, help="one TREC file of all runs; the sixth column names them"
    )
    options.add_argument("--metric", default=NextGrades.metric, help="default: %(default)s")
    # the options of a table do not tell which judgements and runs it is of
    options.set_defaults(force=True)
    chosen = options.parse_args(arguments)
    judged, runs = dl.read_judgements(chosen.judgements), dl.read_runs(chosen.runs)
    study = NextGrades(judged, runs, chosen.metric)
    claims = produce(cast(Program, study), chosen)

    # tables, and what was expected
    table = pl.read_csv(chosen.folder / f"{study.STEM}.csv", comment_prefix="#")
    equal = table.filter(pl.col("needed").is_null())["repeat"].n_unique()
    print(f"left out, since all judgements leave no difference: {equal} of the pairs drawn")
    with pl.Config(tbl_rows=-1, tbl_hide_dataframe_shape=True, float_precision=2):
        sizes = by_strategy(table, ["size"]).sort(
            pl.col("size").cast(pl.Enum(list(SIZES))), maintain_order=True
        )
        print(by_strategy(table), sizes, *claims, sep="\n")


if __name__ == "__main__":
    try:
        main()
    except dl.InputError as error:
        print(f"next_grades: {error}", file=sys.stderr)
        sys.exit(2)
