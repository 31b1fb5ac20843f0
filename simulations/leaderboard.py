"""Draw how the choice of gains changes a leaderboard of real systems.

A second picture shows the differences of the systems from one of them.

python -m simulations.leaderboard qrels.txt runs.txt --baseline NAME

The program writes leaderboard.png and systems.png. The documentation shows both for the 63 runs of
TREC Deep Learning 2021 (passages), which are not part of the project.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import dcglearn as dl

METRICS = ("nDCG@10", "exponential-log2@10", "binary2-log2@10")


def main(arguments: Sequence[str] | None = None) -> None:
    """Read judgements and runs, and draw both pictures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("judgements", type=Path)
    parser.add_argument(
        "runs", type=Path, help="one TREC file of all runs; the sixth column names them"
    )
    parser.add_argument("--baseline", help="run to compare others with (default: the best)")
    parser.add_argument(
        "--every", type=int, default=5, help="compare every Nth run by rank (default 5)"
    )
    parser.add_argument("--folder", type=Path, default=Path("docs"))
    options = parser.parse_args(arguments)
    judged, runs = dl.read_judgements(options.judgements), dl.read_runs(options.runs)
    order = dl.system_order(judged, runs, METRICS)
    dl.plots.save_figure(dl.plots.slope_figure(order), options.folder / "leaderboard.png")
    ranked = [
        name for _, name in sorted(zip(order.ranks[:, 0], order.evaluation.runs, strict=True))
    ]
    baseline = options.baseline or ranked[0]
    compared = [baseline, *(name for name in ranked[:: options.every] if name != baseline)]
    by_name = {run.name: run for run in runs}
    comparison = dl.compare_systems(judged, [by_name[name] for name in compared], METRICS[:2])
    dl.plots.save_figure(dl.plots.forest_figure(comparison), options.folder / "systems.png")


if __name__ == "__main__":
    main()
