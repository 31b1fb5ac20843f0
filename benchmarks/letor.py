"""What does each method of the papers reach under LETOR's protocol, and in what time? JSON lines, one a method.

Five folds of 106 queries of `simulate.letor_queries` (45 features, 35 to 320 documents), the default grids, two
processes; seconds are of a processor, for all five folds. With --data, folds of one's own. With --write, the means go
to ``benchmarks/letor_synthetic.csv`` and the numbers in ``docs/rankers.md`` are renewed from it.

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

HERE = Path(__file__).parent
TABLE = HERE / "letor_synthetic.csv"
PAGE = HERE.parent / "docs" / "rankers.md"
SUMMARY = ("NDCG@1", "NDCG@3", "NDCG@5", "NDCG@10")


def synthetic(folder: Path, n_queries: int = 106) -> None:
    """Write the synthetic folds."""
    dl.write_folds(dl.letor_folds(dl.simulate.letor_queries(n_queries, seed=0)), folder)


def means(found: object) -> pl.DataFrame:
    """Return a row a method: means over folds, of the blend, and seconds over all folds."""
    wide = found.frame().filter(pl.col("fold") == "mean").pivot("measure", index="method", values="value")
    seconds = {m: sum(t.seconds for t in found.trials if t.method == m) for m in found.methods}
    return wide.select(
        "method",
        *SUMMARY,
        "MAP",
        pl.mean_horizontal(*SUMMARY).alias("mean"),
        pl.col("method").replace_strict(seconds, return_dtype=pl.Float64).round(1).alias("seconds"),
    )


def renewed(page: str, rows: list[dict[str, object]]) -> str:
    """Return the page with the table and each method's figure taken from rows."""
    head = ["method", *SUMMARY, "MAP", "mean of NDCG", "seconds"]
    lines = [head, ["---", *["---:"] * (len(head) - 1)]]
    lines += [
        [row["method"], *(f"{row[name]:.4f}" for name in (*SUMMARY, "MAP", "mean")), f"{row['seconds']:.0f}"]
        for row in rows
    ]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    page = re.sub(
        r"(<!-- table -->\n).*?(<!-- end -->)", lambda m: f"{m[1]}{table}\n{m[2]}", page, count=1, flags=re.DOTALL
    )
    for row in rows:
        mark = re.escape(f"<!-- {row['method']} -->")
        page = re.sub(rf"({mark})(?:\d\.\d+)?", lambda m, row=row: f"{m[1]}{row['mean']:.3f}", page)
    return page


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--output", type=Path, help="keep results here, and go on from them")
    parser.add_argument("--write", action="store_true")
    chosen = parser.parse_args()
    if chosen.write and (chosen.quick or chosen.data):
        parser.error("--write is for the default grids on the synthetic folds")
    methods = ["ridge", "RankSVM", "ListNet"] if chosen.quick else None
    with tempfile.TemporaryDirectory() as folder:
        if chosen.data is None:
            synthetic(Path(folder), 20 if chosen.quick else 106)
        data = chosen.data or folder
        keep = {} if chosen.output is None else {"output": chosen.output, "resume": True}
        grid = "quick" if chosen.quick else "default"
        found = means(dl.letor_experiment(data, methods, grid=grid, jobs=chosen.jobs, progress=False, **keep))
    for row in found.iter_rows(named=True):
        print(json.dumps(row))
    if chosen.write:
        found.write_csv(TABLE)
        PAGE.write_text(renewed(PAGE.read_text(), found.to_dicts()))


if __name__ == "__main__":
    main()
