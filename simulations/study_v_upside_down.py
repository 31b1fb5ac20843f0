"""Study v: how many honest logs are stopped as upside down, and how many that are?"""

from functools import partial

import numpy as np
import polars as pl

import dcglearn as dl
from simulations.claims import Claim, select
from simulations.findings import headline
from simulations.run import curves, legend, main, repeated

STEM, REPEATS, PANELS, FIGSIZE = "study_v_upside_down", 4000, 4, (12.0, 3.4)
FEWER = 3
"""How many times fewer repeats the kinds have of which no claim says 1 of 1,000, which takes 3,700
logs to show.
"""

SIZES, WRONG = (50, 100, 200, 500), (0.0, 0.1, 0.2, 0.3, 0.35)
N_GRADES, DEPTH, RATERS = 5, 10, 5
KINDS = {
    "honest": "Honest logs",
    "winners": "Winners exchanged",
    "grades": "Grades turned round",
    "sides": "Half the winners exchanged",
}
REVERSED = "reversed"
"""Kind of logs of which the winners are exchanged or the grades turned round, with at most a tenth
wrong.
"""

"""How a log is read, and the title of its panel; "sides" takes what was shown on the left for the
list a.
"""


def truth(rng):
    """Return a DCG of random steps between grades and random falls between positions."""
    gains = np.append(0, np.cumsum(rng.exponential(1, N_GRADES - 1)))
    return dl.DCG(gains, np.sort(rng.random(DEPTH))[::-1] + 0.1)


def files(rng, n, wrong):
    """Return the table of one log for each kind, with its options."""
    log = dl.simulate.preference_pairs(
        truth(rng),
        n,
        lists=str(rng.choice(["free", "permutations"])),
        n_flips=round(wrong * n),
        random_state=rng,
    )
    b_wins, b_left = rng.random((2, n)) < 0.5
    a, b = (
        np.where(b_wins[:, None], *lists)
        for lists in ((log.other, log.preferred), (log.preferred, log.other))
    )
    raters = {"rater": rng.integers(0, RATERS, n), "shown_left": np.where(b_left, "b", "a")}
    verdicts = {"winner": np.where(b_wins, "b", "a"), **raters}
    on_screen = {"winner": np.where(b_wins == b_left, "left", "right"), **raters}
    return {
        "honest": ({"a": a, "b": b, **on_screen}, {}),
        "winners": ({"a": b, "b": a, **verdicts}, {}),
        "grades": ({"a": N_GRADES - 1 - a, "b": N_GRADES - 1 - b, **verdicts}, {}),
        "sides": ({"a": a, "b": b, **on_screen}, {"sides": "listed"}),
    }


def stopped(columns, options):
    """Return 1 if a log is stopped as upside down, else 0."""
    table = pl.DataFrame({name: values.tolist() for name, values in columns.items()})
    try:
        dl.Preferences.from_frame(table, N_GRADES, **options)
    except dl.UpsideDownError:
        return 1
    return 0


def trial(rng, logs, n, kinds, shares):
    """Read one log of each kind, and record whether it is stopped.

    Each log has a random share of wrong verdicts.
    """
    records = []
    for kind in kinds:
        few = [share for share in shares if share <= 0.1] if kind == REVERSED else shares
        wrong = float(rng.choice(few))
        read_as = str(rng.choice(["winners", "grades"])) if kind == REVERSED else kind
        record = {"wrong": wrong, "kind": kind, "stopped": stopped(*files(rng, n, wrong)[read_as])}
        records.append(record)
    return records


def simulate(seed, repeats, quick, jobs):
    """Yield one record per size, kind of log and repeat.

    Each log has its own share of wrong verdicts.
    """
    sizes, shares = (SIZES[:1], WRONG[1:2]) if quick else (SIZES, WRONG)
    logs = [{"logs": 1, "n": n} for n in sizes]
    parts = {
        ("honest", REVERSED): repeats,
        ("winners", "grades", "sides"): max(repeats // FEWER, 2),
    }
    for kinds, times in parts.items():
        part = partial(trial, kinds=kinds, shares=shares)
        yield from repeated(part, logs, repeats=times, seed=seed, jobs=jobs)


def plot(table, axes):
    """Draw the share of logs that are stopped against that of wrong verdicts."""
    for panel, (kind, title) in zip(axes, KINDS.items(), strict=True):
        curves(
            table.filter(kind=kind).sort("n"),
            panel,
            "wrong",
            "stopped",
            lines="n",
            outcomes=int(table["logs"].max()),
        )
        panel.set(title=title, xlabel="share of wrong verdicts", ylim=(-0.02, 1.02))
    finding, part = "Honest logs pass", "honest logs"
    axes[0].set_title(headline(claims(table), finding, KINDS["honest"], part))
    axes[0].set_ylabel("share of logs stopped")
    legend(axes[0], "judgements")


def claims(table):
    """Yield our claims."""
    claim = partial(
        Claim, paper="ours", place="study v", value="stopped", outcomes=int(table["logs"].max())
    )
    for n in sorted(table["n"].unique()):
        of_size = table.filter(n=n)
        text = f"at most 1 of 1,000 honest logs of {n} judgements is stopped, up to 35% wrong"
        rows = {"kind": "honest"}
        yield claim(of_size.filter(**rows), text=text, rows=rows, low=0.0, high=0.001)
        for some in ((0.0, 0.1), (0.35,)):
            text = (
                "at least 99% of logs whose winners or grades are reversed are stopped, "
                f"{some[-1]:.0%} wrong, {n} judgements"
            )
            rows = {"kind": ("winners", "grades", REVERSED)}
            part = select(of_size, {**rows, "wrong": some})
            yield claim(part, text=text, rows=rows, low=0.99)


if __name__ == "__main__":
    main(__name__)
