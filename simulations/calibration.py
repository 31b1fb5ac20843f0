"""Calibration: do our intervals, bands, tests and gates keep what they promise?

python -m simulations.calibration                 run all checks into figures/calibration.csv
python -m simulations.calibration gate segments   run these checks again and keep the other rows
python -m simulations.calibration gate --quick    try a check in seconds and keep nothing

A check draws logs in cells: a truth, a judge, and a number n of judgements, topics or raters. A row
of the table says what is promised of one cell (or of several, counted together), what was seen,
with an exact interval of shares, and the verdict by the rule of `simulations.claims`. A row without
a promise is shown for the docs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import dcglearn as dl
from simulations import draws_of_logs as logs
from simulations import draws_of_systems as systems
from simulations.__main__ import parser, run_or_refuse
from simulations.claims import NEGLIGIBLE, Claim, select
from simulations.results import commit, rounded, save
from simulations.run import TRUTHS, grid, repeated
from simulations.truths_and_judges import JUDGES, KINDS

NAME = "calibration"
CELL = ("truth", "judge", "n")
"""Columns that name a cell."""

LARGE = 1e300
"""Bound of a claim about what is only shown."""


@dataclass(frozen=True)
class Promise:
    """What is promised of the mean of a column, in each cell and over cells.

    Parameters
    ----------
    value : str
        Column of the records.
    words : str
        What it measures.
    low, high : float
        The mean lies between these if the promise is kept; if neither is finite, it is only shown.
    where : mapping
        Values of columns, or tuples of values, that the promise is about; all by default.
    level : float
        Instead of `low` and `high`, the level of a test, for the share of its false positives.
    outcomes : int
        Number of 0/1 outcomes of which a value is the share; 0 if it is no share, or a single one.
    """

    value: str
    words: str
    low: float = -np.inf
    high: float = np.inf
    where: Mapping[str, Any] = field(default_factory=dict)
    level: float = 0.0
    outcomes: int = 0

    def row(self, name: str, cells: pl.DataFrame) -> dict[str, Any]:
        """Return promise, mean, interval and verdict of the records of some cells of a check."""
        shown_only = not (self.level or np.isfinite([self.low, self.high]).any())
        low, count = -LARGE if shown_only else self.low, {"outcomes": self.outcomes}
        ends = {"low": low, "high": self.high, "level": self.level, **count}
        claim = Claim(cells, "ours", name, self.words, self.value, {}, **ends)
        found = claim.measured[0]
        return {
            "must_be": "" if shown_only else claim.bounds,
            **{column: getattr(found, column) for column in ("mean", "low", "high", "repeats")},
            "values": len(cells),
            "verdict": "" if shown_only else claim.verdict,
        }


@dataclass(frozen=True)
class Check:
    """Cells, how often each is drawn, and what is promised of them.

    `trial` is called as ``trial(rng, truth, judge, n)``, in quick runs with options `quick`.
    `fresh` is added to the seed, so that promises are held on logs that nobody had seen.
    """

    trial: Callable[..., Any]
    truths: tuple[str, ...]
    judges: tuple[str, ...]
    sizes: tuple[int, ...]
    repeats: int
    promises: list[Promise]
    fresh: int = 0
    quick: Mapping[str, Any] = field(default_factory=dict)

    def settings(self, quick: bool = False) -> list[dict[str, Any]]:
        """Return all cells; of a quick run one of each truth."""
        if quick:
            middle = self.sizes[(len(self.sizes) - 1) // 2]
            return grid(truth=self.truths, judge=self.judges[-1], n=middle)
        return grid(truth=self.truths, judge=self.judges, n=self.sizes)


def rows_of(name: str, check: Check, table: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield a row for each promise and cell of the records of a check, and for cells together."""
    for number, promise in enumerate(check.promises):
        part = select(table, promise.where).drop_nulls(promise.value)
        of = {"check": name, "promise": number, "measure": promise.words}
        several = [column for column in CELL if part[column].n_unique() > 1]
        margins = (combinations(several, count) for count in range(len(several) + 1))
        for over in chain.from_iterable(margins):
            kept = [column for column in CELL if column not in over]
            named = pl.struct(kept) if kept else pl.lit(0)
            for _, cells in part.group_by(named, maintain_order=True):
                if cells["repeat"].n_unique() < 2:  # of a quick run
                    continue
                cell = {c: together(promise.where.get(c, "all")) for c in CELL}
                cell |= {column: str(cells[column][0]) for column in kept}
                yield of | cell | promise.row(name, cells)


def together(values: Any) -> str:
    """Return the values of a column that are counted together."""
    return ", ".join(map(str, values)) if isinstance(values, tuple) else str(values)


# ---- what each check promises

COVERS = "90% bands cover: share of gains and discounts"
AT_ONCE = "90% bands of all at once cover"
WIDTH = Promise("width", "width of 90% bands")
DRAWN = Promise("drawn", "draws alone cover: share of gains and discounts", outcomes=10)
BANDS = [
    Promise("covered", COVERS, 0.85, outcomes=logs.PARAMETERS),
    Promise("all_covered", AT_ONCE, 0.80),
    WIDTH,
    Promise("all_width", "width of 90% bands of all at once"),
    DRAWN,
]
"""What is promised of the bands that are printed, and what is shown beside."""
COVERED = "90% intervals cover"
POSITIONS, SEGMENTS = "the test of positions rejects", "the segment test finds two"
STOPPED = "stopped as upside down"
BELOW, ABOVE = "lower share minus ceiling", "upper share minus ceiling"
SURER = "predicted minus held-out chances"
WRONG_10, LAST = ("10% wrong",), {"n": 300}
NOVEL = KINDS[:4]
HALVED = ("D1, halved from rank 4", "D2, halved from rank 4")
OTHERS = ("half zeros", "Laplace", "one outlier")
FEW, TOPICS, UNITS = (2, 3, 5), (6, 10, 25, 50), (3, 5, 10, 30)
INTERVAL = [Promise("covered", COVERED, 0.85, 0.95)]
WEIGHTED = [Promise("positions", POSITIONS, level=0.05), Promise("segments", SEGMENTS, level=0.05)]
GATES = [
    Promise(value, words, where={"n": n}, level=systems.GATE_ERROR, outcomes=systems.DRAWS)
    for value, words in {
        "fails": "the gate fails an equally good system",
        "passes": "the gate passes a system at the margin as non-inferior",
        "worse": "compare calls an equally good system worse",
        "better": "compare calls an equally good system better",
    }.items()
    for n in (FEW, TOPICS)
]
AGREE, USELESS = {"judge": systems.LLMS[:3]}, {"judge": systems.LLMS[3]}
TEXTBOOK = {"judge": "textbook"}
STEEP = [{"truth": data, "judge": tuple(systems.METRICS)[1:]} for data in ("linear", "nonlinear")]
RANKS = "95% ranks hold all true ones"
DIFFER_AT_50 = {"truth": "means that differ", "n": 50}
ALL_BUT_TWO_ERRORS = 0.95 - 2 * (0.95 * 0.05 / 1000) ** 0.5
"""Least share of a thousand boards whose ranks hold all true ones at once."""

FIRST = [Promise("first", "the clean grader has the largest share", 0.8, where={"n": 50})]
NOT_WORSE = [Promise("false", "one of five graders is called worse who is not", level=0.05)]
"""Two graders with as many wrong labels err on other documents: one of them is a little worse."""

PEOPLE = [
    Promise("covered", COVERED, 0.86),
    Promise("off", "distance from the truth, of 100 people"),
    Promise("width", "width of 90% intervals, of 100 people"),
]


def by_size(
    value: str, words: str, low: float, where: Mapping[str, Any], sizes: tuple[int, ...]
) -> list[Promise]:
    """Return a promise of each size, where sizes decide whether it is kept."""
    return [Promise(value, words, low, where={**where, "n": n}) for n in sizes]


CHECKS = {
    "bands": Check(
        logs.bands, tuple(logs.LOGS), WRONG_10, (50, 200, 1000, 3000), 150, BANDS, fresh=99
    ),
    # why steep discounts are covered least at 50: curves that are held smoother
    "bands, smoother": Check(
        partial(logs.bands, ridge=8.0),
        ("flat", "steep", "random steps"),
        WRONG_10,
        (50,),
        150,
        [Promise("covered", COVERS, outcomes=logs.PARAMETERS), WIDTH, DRAWN],
        fresh=100,
    ),
    "bands of any truth": Check(
        logs.any_truth,
        KINDS,
        JUDGES,
        (100, 300),
        40,
        [
            Promise("covered", COVERS, 0.86, outcomes=10),
            Promise("all_covered", AT_ONCE, 0.84),
            WIDTH,
            Promise("off_gains", "distance of gains from the truth"),
            Promise("off_discounts", "distance of discounts from the truth"),
            Promise("wrong_share", "expected wrong verdicts, 15% are", 0.12, 0.18),
            Promise("lead_covered", "90% intervals of leads cover", 0.85, 0.95),
            Promise("lead", "lead over the best textbook", 0.0, where=LAST | {"truth": NOVEL}),
            Promise("lead", "lead over the best textbook", 0.0, where=LAST | {"truth": "textbook"}),
            Promise("lead_over_qp", "lead over the QP", 0.0, where=LAST),
            DRAWN,
        ],
        fresh=59,
        quick={"n_new": 1000},
    ),
    "test of positions": Check(
        logs.position_test,
        (*TRUTHS, *HALVED),
        ("logistic noise",),
        (200, 500),
        110,
        [
            Promise("rejected", POSITIONS, where={"truth": TRUTHS}, level=0.05),
            *by_size("rejected", POSITIONS, 0.8, {"truth": HALVED}, (200, 500)),
        ],
        quick={"n_resamples": 19},
    ),
    "segments": Check(
        logs.segments,
        tuple(logs.POPULATIONS),
        ("logistic noise",),
        (50, 150),
        100,
        [
            Promise("found", SEGMENTS, where={"truth": "one population"}, level=0.05),
            *by_size("found", SEGMENTS, 0.8, {"truth": "two populations"}, (50, 150)),
        ],
    ),
    "unequal weights": Check(
        logs.unequal_weights,
        ("D1 or D2",),
        ("1 to 5", "counts", "log-normal"),
        (100, 200, 500),
        40,
        WEIGHTED,
        fresh=94,
    ),
    # more logs of the cell where a first run rejected most often
    "unequal weights, again": Check(
        logs.unequal_weights, ("D1 or D2",), ("1 to 5",), (200,), 160, WEIGHTED, fresh=95
    ),
    "upside down": Check(
        partial(logs.upside_down, kinds=("honest", "reversed")),
        ("honest, reversed",),
        ("up to 35% wrong",),
        (50, 100, 200, 500),
        4000,
        [
            Promise("stopped", STOPPED, 0.0, 0.001, {"truth": "honest"}),
            Promise("stopped", STOPPED, 0.99, where={"truth": "reversed"}),
        ],
        fresh=1,
    ),
    "upside down, more wrong": Check(
        partial(logs.upside_down, kinds=("winners", "grades")),
        ("winners, grades",),
        ("up to 35% wrong",),
        (50, 100, 200, 500),
        1333,
        [
            Promise("stopped", STOPPED, 0.99, where={"judge": ("0% wrong", "10% wrong")}),
            Promise("stopped", STOPPED, where={"judge": ("20% wrong", "30% wrong")}),
            *by_size("stopped", STOPPED, 0.99, {"judge": "35% wrong"}, (50, 100, 200, 500)),
        ],
        fresh=1,
    ),
    "alpha": Check(logs.alpha, ("D1",), ("four raters",), (150,), 400, INTERVAL),
    "error rate of a rater": Check(
        logs.rater_error, ("D1",), ("four raters",), (150,), 400, INTERVAL
    ),
    "lead on held-out pairs": Check(logs.held_out_pairs, ("D1",), WRONG_10, (150,), 400, INTERVAL),
    "lead by raters": Check(logs.held_out_raters, ("D1",), ("tastes",), UNITS, 400, INTERVAL),
    **{
        name: Check(
            logs.graders,
            ("users who average",),
            ("thumbs",),
            sizes,
            repeats,
            [
                Promise("shares", f"{COVERED}: share of a grader", 0.88, 0.92, outcomes=5),
                Promise("differences", f"{COVERED}: differences", 0.88, 0.92, outcomes=10),
                Promise("worse", "a grader who is as good is called worse", level=0.05),
                *also,
            ],
            fresh=fresh,
        )
        for name, sizes, repeats, fresh, also in (
            ("graders", (10, 50), 250, 93, FIRST),
            ("graders, again", (10,), 1100, 96, NOT_WORSE),
            ("graders, more users", (50,), 400, 96, FIRST + NOT_WORSE),
        )
    },
    "noise ceiling": Check(
        logs.noise_ceiling,
        ("beyond a sum",),
        ("ratings", "ratings, a fifth careless", "judged pairs"),
        (200, 400, 1000, 3000),
        200,
        [
            Promise("below", BELOW, high=0.0),
            Promise("above", ABOVE, low=0.0),
            Promise("below", BELOW, -0.01, where={"n": 3000}),
        ],
        fresh=80,
    ),
    **{
        f"people, {queries} queries": Check(
            partial(logs.people, queries=queries),
            NOVEL,
            JUDGES[:2],
            (50, 100, 300, 1000),
            20,
            PEOPLE + near,
            fresh=58,
            quick={"population": 500},
        )
        for queries, near in ((50, []), (500, [replace(PEOPLE[1], high=2.5, where=LAST)]))
    },
    "chances": Check(
        logs.chances,
        TRUTHS,
        tuple(logs.NOISE),
        (100, 300, 1000),
        10,
        [
            Promise("slope", "slope of held-out verdicts", 0.8, 1.2),
            Promise("surer", SURER, -0.03, 0.03),
            Promise("distance", f"{SURER}, distance"),
            Promise("surer_as_fitted", f"{SURER}, fit alone"),
            Promise("surer_if_shown", f"{SURER}, corrected where shown"),
        ],
        fresh=59,
    ),
    "gate": Check(
        systems.gate,
        ("normal", *OTHERS),
        ("equal systems",),
        tuple(sorted({*FEW, *TOPICS, *UNITS})),
        20,
        [
            *GATES,
            Promise("kept", "losses shown, less .9 of a t test's", 0.0),
            Promise("covered", COVERED, 0.88, 0.92, {"truth": "normal"}, outcomes=systems.DRAWS),
            Promise("covered", COVERED, 0.88, where={"truth": OTHERS}, outcomes=systems.DRAWS),
        ],
    ),
    "ranks": Check(
        systems.board,
        ("means that differ", "equal means"),
        ("noise of .1",),
        (10, 50),
        1000,
        [
            Promise("covered", RANKS, ALL_BUT_TWO_ERRORS, where={"truth": "means that differ"}),
            Promise("missed", "a true rank is missed", where={"truth": "equal means"}, level=0.05),
            Promise("narrower", "width of ranks, less by Holm", high=0.0, where=DIFFER_AT_50),
            Promise("width", "width of ranks"),
            Promise("width_holm", "width of ranks, single t tests by Holm"),
            Promise("width_single", "width of ranks, single t tests"),
            Promise("covered_holm", f"{RANKS}: single t tests by Holm"),
            Promise("covered_single", f"{RANKS}: single t tests"),
        ],
    ),
    "these topics": Check(
        systems.these_topics,
        ("two runs",),
        systems.LLMS,
        (10, 15, 25),
        500,
        [
            Promise("covered_these", f"{COVERED}: these topics", 0.86, 0.94),
            Promise("covered_all", f"{COVERED}: all topics there could be"),
            Promise("width", "width, by people's alone", high=0.9, where=AGREE),
            Promise("width", "width, by people's alone", high=1.1, where=USELESS),
            Promise("right", "signs right, less people's", 0.0, where=AGREE),
        ],
    ),
    "trees": Check(
        systems.trees,
        ("linear", "nonlinear"),
        tuple(systems.METRICS),
        (470,),
        20,
        [
            Promise("lead", "trees minus lambdarank", -NEGLIGIBLE, where=TEXTBOOK),
            Promise("lead", "trees minus lambdarank", 0.0, where=STEEP[0]),
            Promise("lead", "trees minus lambdarank", 0.0, where=STEEP[1]),
        ],
        quick={"n_trees": 10},
    ),
}


# ---- the program


def main() -> None:
    """Parse the command line, and run."""
    options = parser(__doc__ or "")
    options.add_argument("checks", nargs="*", metavar="CHECK", help=", ".join(CHECKS))
    run_or_refuse(options, run)


def run(arguments: Any) -> None:
    """Run the chosen checks, print their rows, and keep those of a whole run."""
    unknown = sorted(set(arguments.checks) - set(CHECKS))
    if unknown:
        raise dl.InputError(f"{unknown[0]!r} is none of {', '.join(CHECKS)}")
    for name in arguments.checks or CHECKS:
        rows = checked(name, arguments)
        with pl.Config(tbl_rows=-1, tbl_cols=-1, fmt_str_lengths=60, tbl_width_chars=200):
            print(rows.drop("check", "promise", "repeats", "seed", "commit"))
        if not arguments.quick and arguments.repeats is None:
            keep(rows, arguments.folder)


def checked(name: str, arguments: Any) -> pl.DataFrame:
    """Return the rows of one check; a quick run has two repeats of one cell of each truth."""
    check, quick = CHECKS[name], arguments.quick
    trial = partial(check.trial, **check.quick) if quick else check.trial
    repeats = arguments.repeats or (2 if quick else check.repeats)
    how = {"repeats": repeats, "seed": arguments.seed + check.fresh, "jobs": arguments.jobs}
    records = list(repeated(trial, check.settings(quick), **how))

    table = pl.DataFrame(records, infer_schema_length=None)
    of_run = {"seed": arguments.seed, "commit": commit()}
    return rounded(pl.DataFrame([row | of_run for row in rows_of(name, check, table)]))


def keep(rows: pl.DataFrame, folder: Path) -> None:
    """Put the rows of a check into the folder's table, in the order of `CHECKS`."""
    path = folder / f"{NAME}.csv"
    if path.is_file():
        others = pl.read_csv(path, schema=rows.schema)
        kept = [name for name in CHECKS if name != rows["check"][0]]
        rows = pl.concat([others.filter(pl.col("check").is_in(kept)), rows])
    order = pl.col("check").cast(pl.Enum(list(CHECKS)))
    save(path, rows.sort(order, maintain_order=True))


if __name__ == "__main__":
    main()
