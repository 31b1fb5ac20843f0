"""Changes of verdicts from the run before, in ``claims_before.csv``, by what caused them."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import polars as pl

from simulations.claims import CANNOT_FAIL, UNDECIDED, VERDICTS
from simulations.results import first_line
from simulations.run import SEED

BEFORE = "claims_before.csv"
"""Name of the table of all claims as it was before this round's run."""

CAUSES = {
    "moved": "counted for another paper",
    "rule": "other bounds",
    "code": "another seed and commit",
    "seed": "another seed alone",
}
"""Causes of a change, the first that applies, and what differs between the runs."""

WORST = r", worst of \d+$"
"""End of the texts of claims made of several settings, of which they name the one that came out
nearest to failing.
"""


def section(after: pl.DataFrame, folder: Path) -> str:
    """Return the page's section on verdicts that new seeds changed; "" without verdicts before.

    Parameters
    ----------
    after : DataFrame
        The table of all claims, of `simulations.claims_page.summary_table`.
    folder : Path
        The folder of the tables, and of the verdicts before.
    """
    if not (folder / BEFORE).is_file():
        return ""
    stems = after["program"].unique().to_list()
    again = [
        stem for stem in stems if first_line(folder / f"{stem}.csv").startswith(f"# seed={SEED} ")
    ]
    return described(pl.read_csv(folder / BEFORE), after, again)


def described(before: pl.DataFrame, after: pl.DataFrame, again: Collection[str]) -> str:
    """Return how many verdicts of the programs that ran again changed, and a table of the changes.

    The table counts claims by their verdict before, in rows, and after, in columns.
    """
    programs = after["program"].n_unique()
    done = (
        "Every program has"
        if len(again) == programs
        else f"So far {len(again)} of {programs} programs have"
    )
    words = (
        f"**Run once more.** {done} run again with a new seed, claims and repeats frozen: "
        "the run shown here.\n"
    )
    both, fewer, more = compared(before, after, again)
    if not len(both):
        return words
    changed = both.filter(pl.col("verdict") != pl.col("verdict_after"))
    near = changed.filter(
        (pl.col("verdict") == UNDECIDED) | (pl.col("verdict_after") == UNDECIDED)
    ).height
    words += (
        f"Of {len(both)} claims tested [before](../figures/{BEFORE}) and after, "
        f"the verdicts of {len(changed)} changed, {near} of them\n"
        f"from or to undecided; {more} are new or reworded, {fewer} gone, reworded, "
        "or shown as ones that cannot fail. By cause:\n"
    )
    parts = [
        f"{cause} ({difference}) {changed.filter(cause=cause).height} of "
        f"{both.filter(cause=cause).height}"
        for cause, difference in CAUSES.items()
    ]
    words += f"{', '.join(parts)}.\n\n"
    head = f"| before, after: | {' | '.join(VERDICTS)} |\n|{' --- |' * (len(VERDICTS) + 1)}\n"
    rows = [
        [both.filter(verdict=old, verdict_after=new).height for new in VERDICTS] for old in VERDICTS
    ]
    lines = [
        f"| {old} | {' | '.join(map(str, row))} |\n"
        for old, row in zip(VERDICTS, rows, strict=True)
    ]
    return words + head + "".join(lines)


def compared(
    before: pl.DataFrame, after: pl.DataFrame, again: Collection[str]
) -> tuple[pl.DataFrame, int, int]:
    """Return the claims that these programs tested both before and after, and two counts.

    The claims have their "cause"; the counts are of claims tested only before, and only after.
    """
    old, new = (
        _tested(table).filter(pl.col("program").is_in(list(again))) for table in (before, after)
    )
    keys = ["program", "key"]
    later = ("paper", "above", "below", "commit", "verdict")
    new_rows = new.select(*keys, pl.col(*later).name.suffix("_after"))
    both = old.join(new_rows, on=keys, maintain_order="left").with_columns(cause=_cause())
    return both, len(old) - len(both), len(new) - len(both)


def _cause() -> pl.Expr:
    """Return the key of `CAUSES` of each claim of two runs."""

    def differs(name: str) -> pl.Expr:
        return pl.col(name).ne_missing(pl.col(f"{name}_after"))

    same_code = ~differs("commit") & (pl.col("commit") != "unknown")
    return (
        pl.when(differs("paper"))
        .then(pl.lit("moved"))
        .when(differs("above") | differs("below"))
        .then(pl.lit("rule"))
        .when(same_code)
        .then(pl.lit("seed"))
        .otherwise(pl.lit("code"))
    )


def _tested(table: pl.DataFrame) -> pl.DataFrame:
    """Return the claims that can fail, each with a key by which two runs are joined.

    Tables of earlier rounds name no commits.

    The key is the claim's text. If the text ends with the worst of several settings, which may
    differ between runs, the key numbers such claims within their program.
    """
    rows = table.filter(
        pl.col("branch").fill_null("") == "", pl.col("verdict").is_in(CANNOT_FAIL).not_()
    )
    worst = pl.col("claim").str.contains(WORST)
    count = worst.cum_sum().over("program").cast(pl.String)
    if "commit" not in table.columns:
        rows = rows.with_columns(commit=pl.lit("unknown"))
    return rows.with_columns(
        key=pl.when(worst).then(pl.format("worst {}", count)).otherwise("claim")
    )
