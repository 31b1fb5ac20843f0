"""NDCG and time of each method under LETOR's protocol.

One JSON line per method, on five folds of 106 queries of `simulate.letor_queries` (45 features, 35
to 320 documents) with the default grids and two processes; seconds are processor time for all five
folds. --data names other folds. --write saves the means to ``benchmarks/letor_synthetic.csv`` and
updates the numbers in ``docs/rankers.md``.

    python benchmarks/letor.py [--quick] [--jobs N] [--data DIR] [--write]
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
from pathlib import Path

import polars as pl

import dcglearn as dl
from simulations.letor.folds import Fold, letor_folds, write_folds
from simulations.letor.protocol import letor_experiment

HERE = Path(__file__).parent
TABLE = HERE / "letor_synthetic.csv"
PAGE = HERE.parent / "docs" / "rankers.md"
SUMMARY = ("NDCG@1", "NDCG@3", "NDCG@5", "NDCG@10")


def synthetic(n_queries: int = 106) -> list[Fold]:
    """Return the synthetic folds."""
    return letor_folds(dl.simulate.letor_queries(n_queries, random_state=0))


def means(result: object) -> pl.DataFrame:
    """Return one row per method: means over the folds, and seconds over all folds.

    The columns hold the NDCG measures, MAP, the mean of these NDCG measures, and the seconds.
    """
    wide = (
        result.frame()
        .filter(pl.col("fold") == "mean")
        .pivot("measure", index="method", values="value")
    )
    seconds = {m: sum(t.seconds for t in result.trials if t.method == m) for m in result.methods}
    return wide.select(
        "method",
        *SUMMARY,
        "MAP",
        pl.mean_horizontal(*SUMMARY).alias("mean"),
        pl.col("method").replace_strict(seconds, return_dtype=pl.Float64).round(1).alias("seconds"),
    )


def renewed(page: str, rows: list[dict[str, object]]) -> str:
    """Return the page with the table and each method's mean replaced by those of the rows."""
    head = ["method", *SUMMARY, "MAP", "mean of NDCG", "seconds"]
    lines = [head, ["---", *["---:"] * (len(head) - 1)]]
    lines += [
        [
            row["method"],
            *(f"{row[name]:.4f}" for name in (*SUMMARY, "MAP", "mean")),
            f"{row['seconds']:.0f}",
        ]
        for row in rows
    ]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    page = re.sub(
        r"(<!-- table -->\n).*?(<!-- end -->)",
        lambda m: f"{m[1]}{table}\n{m[2]}",
        page,
        count=1,
        flags=re.DOTALL,
    )
    for row in rows:
        mark = re.escape(f"<!-- {row['method']} -->")
        page = re.sub(rf"({mark})(?:\d\.\d+)?", lambda m, row=row: f"{m[1]}{row['mean']:.3f}", page)
    return page


def main() -> None:
    """Run the experiment and print its rows."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--data", type=Path)
    parser.add_argument(
        "--output", type=Path, help="save results in this folder, and resume from them"
    )
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    if options.write and (options.quick or options.data):
        parser.error("--write is for the default grids on the synthetic folds")
    methods = ["ridge", "RankSVM", "ListNet"] if options.quick else None
    with tempfile.TemporaryDirectory() as folder:
        if options.data is None:
            write_folds(synthetic(20 if options.quick else 106), folder)
        data = options.data or folder
        keep = {} if options.output is None else {"output": options.output, "resume": True}
        grid = "quick" if options.quick else "default"
        table = means(letor_experiment(data, methods, grid=grid, jobs=options.jobs, **keep))
    for row in table.iter_rows(named=True):
        print(json.dumps(row))
    if options.write:
        table.write_csv(TABLE)
        PAGE.write_text(renewed(PAGE.read_text(), table.to_dicts()))


if __name__ == "__main__":
    main()
