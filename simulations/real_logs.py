"""Compare all learners on real logs of rated lists by their held-out shares.

One table holds the means over random splits.

python -m simulations.real_logs satisfaction.jsonl other.jsonl --splits 10

python -m simulations.real_logs satisfaction.jsonl --by session
    holds out ratings; lists recur in both parts

python -m simulations.real_logs users.jsonl --pad --depth 10
    holds out raters if the log has groups, else lists

python -m simulations.real_logs pairs.jsonl --judgements
    side-by-side judgements; holds out queries, if named
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray
from tqdm import tqdm

import dcglearn as dl
from simulations.run import paired


def unit_of(log: dl.Preferences) -> str:
    """Return what is held out whole: raters, else queries, else lists."""
    return "rater" if log.rater is not None else "query" if log.query is not None else "list"


def of_sessions(
    log: dl.Preferences, share: float, seed: int
) -> tuple[dl.Preferences, dl.Preferences]:
    """Return the logs of two random parts of the ratings of a log."""
    counts = log.ratings
    assert counts is not None
    n = counts.weight.astype(int)
    drawn = np.random.default_rng(seed).binomial(n, share)

    def of(times: NDArray[np.int_]) -> dl.Preferences:
        kept = times > 0
        group = None if log.rater is None else counts.group[kept].astype(str)
        lists, rating = counts.lists[counts.list[kept]], counts.rating[kept]
        return dl.Preferences.from_ratings(
            lists, rating, group, weight=times[kept], n_grades=log.n_grades
        )

    return of(drawn), of(n - drawn)


def shares(log: dl.Preferences, share: float, seed: int, by: str) -> dict[str, float]:
    """Return the share of held-out preferences that each learner respects."""
    train, test = (
        of_sessions(log, share, seed)
        if by == "session"
        else log.split(share, random_state=seed, by=by)
    )
    textbook = dl.textbook_dcgs(log.n_grades, log.depth)
    best = max(textbook.values(), key=lambda dcg: train.agreement(dcg).share)
    qp = dl.UtilityLearner(C=dl.trust.choose_C(train, random_state=seed).C).fit(train)
    metrics = {
        "direct (default)": dl.DCGLearner().fit(train).dcg_,
        "direct, robust": dl.DCGLearner(loss="robust").fit(train).dcg_,
        "direct, logistic": dl.DCGLearner(loss="logistic").fit(train).dcg_,
        "QP": qp.utility_,
        "QP + SVD": qp.factor().dcg,
        "best textbook in training": best,
        "exponential-log2": textbook["exponential-log2"],
    }
    return {name: test.agreement(metric).share for name, metric in metrics.items()}


def table(
    logs: dict[str, dl.Preferences], share: float, splits: int, seed: int, by: str | None = None
) -> pl.DataFrame:
    """Return one row per log and learner: its mean share and its leads.

    `ahead` is its lead over the textbook DCG chosen in training, `behind` the default learner's
    lead over it.
    """
    rows = []
    for name, log in logs.items():
        progress = tqdm(range(splits), desc=name, disable=not sys.stderr.isatty())
        by_split = pl.DataFrame(
            [shares(log, share, seed + i, by or unit_of(log)) for i in progress]
        )
        for learner in by_split.columns:
            ahead, error = paired(by_split[learner], by_split["best textbook in training"], share)
            behind, its_error = paired(by_split["direct (default)"], by_split[learner], share)
            leads = {"ahead": ahead, "error": error, "behind": behind, "behind_error": its_error}
            rows.append(
                {"log": name, "learner": learner, "share": by_split[learner].mean(), **leads}
            )
    return pl.DataFrame(rows)


def learner_rows(results: pl.DataFrame) -> list[str]:
    """Return one line per log and learner."""
    head = (
        "lead over the textbook DCG that is best in training, "
        "and the default learner's lead over it"
    )
    lines = [f"{'log':<12}{'learner':<28}{'share':>8}   {head}"]
    for row in results.iter_rows(named=True):
        leads = (
            f"{row['ahead']:+.4f} ± {row['error']:.4f}   "
            f"{row['behind']:+.4f} ± {row['behind_error']:.4f}"
        )
        lines.append(f"{row['log']:<12}{row['learner']:<28}{row['share']:>8.4f}   {leads}")
    return lines


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the logs that exist and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "logs", nargs="+", metavar="LOG", help="files that `dcglearn learn --ratings` reads"
    )
    parser.add_argument(
        "--judgements", action="store_true", help="the files hold preferences, not rated lists"
    )
    parser.add_argument(
        "--by", choices=("session", "list", "rater", "query"), help="what is held out"
    )
    parser.add_argument("--splits", type=int, default=10, help="random splits (default 10)")
    parser.add_argument(
        "--share",
        type=float,
        default=0.8,
        help="share of lists or raters in training (default 0.8)",
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--grades", type=int)
    parser.add_argument("--depth", type=int)
    parser.add_argument("--pad", action="store_true")
    parser.add_argument("-o", "--output", type=Path, help="also write the table to this CSV file")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore", UserWarning)
    logs = {}
    for path in options.logs:
        if not Path(path).exists():
            print(f"{path} does not exist and is left out", file=sys.stderr)
            continue
        read = dl.read_preferences if options.judgements else dl.read_ratings
        logs[Path(path).stem] = read(path, options.grades, depth=options.depth, pad=options.pad)
    if not logs:
        print("none of the logs exists; nothing to compare", file=sys.stderr)
        return
    if options.splits < 2:
        raise dl.InputError(f"--splits {options.splits}: must be at least 2")
    results = table(logs, options.share, options.splits, options.seed, options.by)
    lines = learner_rows(results)
    print("\n".join(lines))
    if options.output is not None:
        results.write_csv(options.output)


if __name__ == "__main__":
    try:
        main()
    except dl.InputError as error:
        print(f"real_logs: {error}", file=sys.stderr)
        sys.exit(2)
