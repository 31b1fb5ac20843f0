"""Changes of verdicts from the run before, in ``claims_before.csv``, to the run with new seeds."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import polars as pl

from simulations.claims import CANNOT_FAIL, UNDECIDED, VERDICTS
from simulations.run import SEED, first_line

BEFORE = "claims_before.csv"
"""Name of the table of all claims as it was before this round's run."""

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
        f"from or to undecided; {more} are new, {fewer} gone.\n\n"
    )
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

    The counts are of claims tested only before, and of claims tested only after.
    """
    old, new = (
        _tested(table).filter(pl.col("program").is_in(list(again))) for table in (before, after)
    )
    keys = ["program", "key"]
    both = old.join(new.select(*keys, verdict_after="verdict"), on=keys, maintain_order="left")
    return both, len(old) - len(both), len(new) - len(both)


def _tested(table: pl.DataFrame) -> pl.DataFrame:
    """Return the claims that can fail, each with a key by which two runs are joined.

    The key is the claim's text. If the text ends with the worst of several settings, which may
    differ between runs, the key numbers such claims within their program.
    """
    rows = table.filter(
        pl.col("branch").fill_null("") == "", pl.col("verdict").is_in(CANNOT_FAIL).not_()
    )
    worst = pl.col("claim").str.contains(WORST)
    count = worst.cum_sum().over("program").cast(pl.String)
    return rows.with_columns(
        key=pl.when(worst).then(pl.format("worst {}", count)).otherwise("claim")
    )
