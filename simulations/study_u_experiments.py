"""Study u: is a DCG learned from experiments more sensitive than nDCG to new ones?

The study also asks whether it raises more false alarms.
"""

from functools import partial

import numpy as np
import polars as pl
from scipy.special import ndtr

import dcglearn as dl
from simulations.claims import Claim
from simulations.findings import headline
from simulations.run import curves, legend_below, main, repeated

STEM, REPEATS, PANELS, FIGSIZE = "study_u_experiments", 50, 3, (12.0, 3.6)
SIZES, QUICK_SIZES = (30, 100), (30,)
"""Numbers of experiments with a known outcome to learn from; half as many A/A tests are beside
them.
"""

TRUTHS = {
    "harmful": dl.DCG([-0.3, 0.3, 1.0], [1.0, 0.6, 0.4, 0.3, 0.25]),
    "textbook": dl.DCG.standard(3, 5),
}
"""What users' satisfaction follows: where the worst grade does harm, and the curves of nDCG."""

USERS, LISTS, ALIKE = 200, 2, 0.7
"""Users an arm, lists of each, and the spread between users of what they get, against 1 within."""

CUTS, CHANGE, WRONG = (0.0, 0.8), 0.3, 0.1
"""Where grades end, how much a treatment moves and spreads them at a position, and the share of
wrong outcomes.
"""

FILLED = (1.0, 1.0, 0.95, 0.9, 0.8)
"""Shares of lists that have a result at a position."""

NEW = 150
"""New experiments of each kind, known and A/A, on which a DCG is measured."""


def shares(moved, spread):
    """Return the shares of grades at positions, shape (K, L).

    `moved` and `spread` say by how much the results at a position move and spread.
    """
    scale = np.sqrt(ALIKE**2 + np.exp(2 * spread))
    below = [
        np.zeros(len(moved)),
        *(ndtr((cut - moved) / scale) for cut in CUTS),
        np.ones(len(moved)),
    ]
    return np.diff(np.array(below), axis=0).T * np.array(FILLED)[:, None]


def experiments(rng, truth, n_known, n_alike, wrong=0.0):
    """Return the lists of experiments as `dcglearn.io.read_experiments` reads them."""
    frames = []
    for number in range(n_known + n_alike):
        change = rng.normal(0, CHANGE, (2, len(FILLED))) * (number < n_known)
        effect = np.vdot(
            truth.utility.weights, shares(*change) - shares(*np.zeros((2, len(FILLED))))
        )
        outcome = "better" if (effect > 0) != (rng.random() < wrong) else "worse"
        for arm, (moved, spread) in (("control", np.zeros((2, 1))), ("treatment", change)):
            user = np.repeat(np.arange(USERS), LISTS)
            noise = rng.normal(size=(len(user), len(FILLED))) * np.exp(spread)
            grades = np.digitize(moved + noise + rng.normal(0, ALIKE, USERS)[user][:, None], CUTS)
            filled = rng.random(len(user))[:, None] < FILLED
            columns = {
                f"g{k}": np.where(filled[:, k], grades[:, k], -1) for k in range(len(FILLED))
            }
            about = {
                "outcome": outcome if number < n_known else "A/A",
                "arm": arm,
                "experiment": str(number),
            }
            unit = {"unit": [f"{arm}{i}" for i in user]}
            frames.append(
                pl.DataFrame(columns | unit).with_columns(
                    **{key: pl.lit(x) for key, x in about.items()}
                )
            )
    places = [pl.col(f"g{k}").replace(-1, None) for k in range(len(FILLED))]
    frame = pl.concat(frames).with_columns(list=pl.concat_list(places))
    return dl.io.read_experiments(
        frame.select("experiment", "arm", "unit", "list", "outcome"), n_grades=3
    )


def measured(z, outcome):
    """Return shares of significant, wrong and alarming tests, and the mean z-score.

    Alarms are of A/A tests; the other measures are of tests with a known outcome.
    """
    signed = (z * outcome)[outcome != 0]
    alarms = (np.abs(z[outcome == 0]) > 1.96).mean()
    return {
        "found": (signed > 1.96).mean(),
        "sign": (signed < -1.96).mean(),
        "alarms": alarms,
        "z": signed.mean(),
    }


def trial(rng, truth, n):
    """Learn from one set of experiments, and measure on new ones."""
    true = TRUTHS[truth]
    fit = dl.learn_from_experiments(experiments(rng, true, n, n // 2, WRONG))
    new = experiments(rng, true, NEW, NEW)
    of_metric = {"learned": new.z_scores(fit.dcg.utility.weights), "nDCG": new.ndcg}
    of_metric["DCG"] = new.z_scores(dl.DCG.standard(3, len(FILLED)).utility.weights)
    of_metric["true"] = new.z_scores(true.utility.weights)
    values = {name: measured(z, new.outcome) for name, z in of_metric.items()}
    said = fit.facts["users that an experiment needs, as a share of those with nDCG"]
    record = {
        f"{kind} of {name}": float(x) for name, kinds in values.items() for kind, x in kinds.items()
    }
    for name in ("nDCG", "DCG", "true"):
        record[f"users against {name}"] = (values[name]["z"] / values["learned"]["z"]) ** 2
    more = values["learned"]["found"] - values["nDCG"]["found"]
    return {
        **record,
        "more found": more,
        "said": float(said.split()[0]) - record["users against nDCG"],
    }


def simulate(seed, repeats, quick, jobs):
    """Yield one record per truth, number of experiments and repeat."""
    settings = [
        {"truth": truth, "n": n} for truth in TRUTHS for n in (QUICK_SIZES if quick else SIZES)
    ]
    yield from repeated(trial, settings, repeats=repeats, seed=seed, jobs=jobs)


def plot(table, axes):
    """Draw sensitivity, false alarms, and the users that an experiment needs."""
    kinds = {
        f"{kind} of {name}": (kind, name)
        for kind in ("found", "alarms")
        for name in ("learned", "nDCG", "true")
    }
    long = table.unpivot(
        list(kinds), index=["truth", "n", "repeat"], value_name="share"
    ).with_columns(
        kind=pl.col("variable").replace({key: kind for key, (kind, _) in kinds.items()}),
        metric=pl.col("variable").replace({key: name for key, (_, name) in kinds.items()}),
    )
    claimed, part = list(claims(table)), "A/A tests at 5% alarm"
    titles = {
        "found": "Known outcomes found significant",
        "alarms": headline(claimed, "A/A tests alarm in about 5%", "A/A tests that alarm", part),
    }
    for ax, (kind, title) in zip(axes, titles.items(), strict=False):
        curves(long.filter(kind=kind), ax, "n", "share", lines="metric", dashes="truth")
        ax.set(title=title, xlabel="experiments learned from", ylabel="share of new experiments")
    axes[1].axhline(0.05, color="0.4", lw=0.8)
    curves(table, axes[2], "n", "users against DCG", lines="truth")
    part = f"nDCG's curves without the ideal: harmful, {SIZES[-1]}"
    finding = f"Fewer users than with nDCG's curves,\n{SIZES[-1]} experiments, harmful users"
    title = headline(claimed, finding, "Users needed, against nDCG's curves", part)
    axes[2].set(title=title, xlabel="experiments learned from", ylabel="users needed, as a share")
    legend_below(axes[0], "metric, users", fontsize=7)
    legend_below(axes[2], "users", fontsize=7)


def claims(table):
    """Yield our claims, stated before the run."""
    claim = partial(Claim, table, "ours", "study u")
    for n in table["n"].unique().sort().to_list():
        harmful, textbook = ({"truth": truth, "n": n} for truth in TRUTHS)
        where = f"harmful, {n} experiments"
        text = (
            "the learned DCG makes at least as many new known outcomes significant "
            f"as nDCG: {where}"
        )
        yield claim(text, "more found", harmful, low=0.0)
        yield claim(
            f"an experiment needs at most as many users as with nDCG: {where}",
            "users against nDCG",
            harmful,
            high=1,
        )
        text = (
            "an experiment needs at most 10% more users than with the true DCG: "
            f"textbook, {n} experiments"
        )
        yield claim(text, "users against true", textbook, high=1.1)
        for truth, rows in (("harmful", harmful), ("textbook", textbook)):
            text = f"A/A tests at 5% alarm in 3.5% to 6.5% of cases: {truth}, {n} experiments"
            yield claim(text, "alarms of learned", rows, low=0.035, high=0.065, outcomes=NEW)
            text = (
                "at most 1% of known outcomes are significant with the wrong sign: "
                f"{truth}, {n} experiments"
            )
            yield claim(text, "sign of learned", rows, high=0.01, outcomes=NEW)
    large, small = ({"truth": "harmful", "n": n} for n in (SIZES[-1], SIZES[0]))
    text = (
        "an experiment needs at most 95% of the users "
        f"of nDCG's curves without the ideal: harmful, {SIZES[-1]} experiments"
    )
    yield claim(text, "users against DCG", large, high=0.95)
    text = f"{SIZES[-1]} experiments teach more than {SIZES[0]}: fewer users against the true DCG"
    yield claim(text, "users against true", large, small, high=0.0)
    text = f"held-out experiments say the users needed to .15 on average, {SIZES[-1]} experiments"
    yield claim(text, "said", large, low=-0.15, high=0.15)


if __name__ == "__main__":
    main(__name__)
