"""Study s: how well is a DCG learned from a few verdicts of people and many of a machine?

The machine's taste equals people's, is near it, far from it or opposite, or always takes the left
list.
"""

from functools import partial

import numpy as np
import polars as pl
from scipy.optimize import minimize
from scipy.special import expit

import dcglearn as dl
from simulations.claims import Claim, headline
from simulations.run import STYLES, curves, draw_means, grid, legend, summary

REPEATS, PANELS, FIGSIZE = 20, 2, (9.0, 3.6)
N_GRADES, DEPTH, WRONG, WRONG_MACHINE = 5, 10, 0.1, 0.15
KINDS = {
    "equal": "people's taste",
    "near": "near people's",
    "far": "far from people's",
    "opposite": "opposite",
    "left": "always left",
}
"""Names of the machines, and what they go by."""

SIZES, MACHINE_SIZES = (10, 30, 100, 300), (200, 2000, 20_000)
PEOPLE, MACHINE, N_TEST = 30, 2000, 5000
"""Numbers of verdicts: people's vary with 2,000 of the machine, and the machine's with 30 of
people.
"""

RIDGE = 1.0
"""Strength of the prior of the rival."""

METHODS = {
    "people": "people alone",
    "machine": "the machine alone",
    "both": "both: DCGLearner",
    "powered": "both: prediction-powered",
    "predicted": "the same, by its DCG",
}
"""Names of what is learned. The rival asks the machine about people's pairs, or takes what its DCG
says of all.
"""


def taste(rng):
    """Return a DCG that people may go by."""
    steps, falls = rng.dirichlet(np.full(N_GRADES - 1, 2.0)), rng.gamma(1.5, 0.2, DEPTH - 1)
    return dl.DCG(np.append(0, np.cumsum(steps)), np.exp(-np.append(0, np.cumsum(falls))))


def machine_of(kind, people, rng):
    """Return the DCG that a machine goes by; None for one that goes by the side."""
    if kind == "near":
        steps = np.diff(people.gains) * np.exp(0.7 * rng.normal(size=N_GRADES - 1))
        falls = -np.diff(np.log(people.discounts)) * np.exp(0.7 * rng.normal(size=DEPTH - 1))
        return dl.DCG(
            np.append(0, np.cumsum(steps)), np.exp(-np.append(0, np.cumsum(falls)))
        ).normalised()
    falls = rng.gamma(1.5, 0.5, DEPTH - 1)
    if kind == "far":  # gains bent the other way, and the top results count for nearly all
        return dl.DCG(
            people.gains[-1] - people.gains[::-1], np.exp(-np.append(0, np.cumsum(falls)))
        )
    return {
        "equal": people,
        "opposite": dl.DCG(people.gains[::-1], people.discounts),
        "left": None,
    }[kind]


def verdicts(metric, lists, wrong, rng):
    """Return the verdicts on pairs as a log, and whether each prefers the first list.

    `lists` has shape (2, n, K).
    """
    n = lists.shape[1]
    first = (
        rng.random(n) < 0.5 if metric is None else metric.score(lists[0]) >= metric.score(lists[1])
    )
    first = first ^ (rng.random(n) < (0.0 if metric is None else wrong))
    return dl.Preferences(*np.where(first[:, None], lists, lists[::-1]), n_grades=N_GRADES), first


def drawn(n, rng):
    """Return n pairs of random lists, shape (2, n, K)."""
    return rng.integers(0, N_GRADES, (2, n, DEPTH)).astype(np.int8)


def trial(rng, kind, sizes):
    """Learn from people, from the machine and from both.

    The records hold the share of new pairs that each learned DCG orders rightly.
    """
    people = taste(rng)
    metric = machine_of(kind, people, rng)
    test, _ = verdicts(people, drawn(N_TEST, rng), 0.0, rng)
    lists, further = drawn(max(SIZES), rng), drawn(max(MACHINE_SIZES), rng)
    human, first = verdicts(people, lists, WRONG, rng)
    _, on_people = verdicts(metric, lists, WRONG_MACHINE, rng)
    machine, on_further = verdicts(metric, further, WRONG_MACHINE, rng)
    alone = {n: dl.DCGLearner().fit(human[:n], as_is=True).dcg_ for n in {n for n, _ in sizes}}
    proxies = {m: machine_dcg(machine[:m]) for m in {m for _, m in sizes}}
    records = []
    for n, m in sizes:
        proxy, shares = proxies[m], {"people": alone[n], "machine": proxies[m], "both": alone[n]}
        if proxy is not None:
            shares["both"] = dl.DCGLearner(llm=proxy).fit(human[:n], as_is=True).dcg_
        if m == MACHINE:
            pairs = encoded(lists[:, :n]), encoded(further[:, :m])
            shares["powered"] = powered(*pairs, first[:n], on_people[:n], on_further[:m])
            sides = [
                proxy and proxy.score(x[0]) >= proxy.score(x[1])
                for x in (lists[:, :n], further[:, :m])
            ]
            shares["predicted"] = proxy and powered(*pairs, first[:n], *sides)
        found = {name: dcg and test.agreement(dcg).share for name, dcg in shares.items()}
        empty = dict.fromkeys(METHODS)
        records.append({"n": n, "n_machine": m, **empty, **found})
    return records


def machine_dcg(log):
    """Return the DCG of a machine's verdicts, as `DCGLearner` learns it from a log.

    Return None if the fit raises `InputError`.
    """
    try:
        return dl.DCGLearner().fit(log).dcg_
    except dl.InputError:
        return None


def encoded(lists):
    """Return the first list minus the second of each pair, one-hot, shape (n, K, L)."""
    return np.subtract(*(np.eye(N_GRADES, dtype=np.int8)[side] for side in lists)).astype(
        np.float64
    )


def curves_of(theta):
    """Return gains and discounts from the logarithms of steps and falls, and their slopes.

    The slopes have shapes (p, L) and (p, K).
    """
    steps, falls = np.exp(theta[: N_GRADES - 1]), np.exp(theta[N_GRADES - 1 :])
    gains, discounts = np.append(0, np.cumsum(steps)), np.exp(-np.append(0, np.cumsum(falls)))
    of_gains, of_discounts = np.zeros((len(theta), N_GRADES)), np.zeros((len(theta), DEPTH))
    of_gains[: N_GRADES - 1] = steps[:, None] * (
        np.arange(N_GRADES) > np.arange(N_GRADES - 1)[:, None]
    )
    of_discounts[N_GRADES - 1 :] = (
        -falls[:, None] * discounts * (np.arange(DEPTH) > np.arange(DEPTH - 1)[:, None])
    )
    return gains, discounts, of_gains, of_discounts


def differences(theta, pairs):
    """Return the differences of pairs and their slopes, shapes (n,) and (n, p)."""
    gains, discounts, of_gains, of_discounts = curves_of(theta)
    by_gain, by_discount = np.einsum("nkl,k->nl", pairs, discounts), pairs @ gains
    return by_discount @ discounts, by_gain @ of_gains.T + by_discount @ of_discounts.T


def powered(people_pairs, machine_pairs, people, on_people, further):
    """Return the DCG that minimises the prediction-powered loss.

    The loss is people's + lambda (machine's on further pairs - machine's on people's pairs). Each
    is the logistic loss, with a prior on curvature as weak as one verdict; lambda has the smallest
    estimated variance (Angelopoulos, Duchi and Zrnic 2023, section 6), at the fit to people alone.
    """
    n, sides = len(people), [np.where(x, 1.0, -1.0) for x in (people, on_people, further)]
    bends = np.zeros((N_GRADES + DEPTH - 4, N_GRADES + DEPTH - 2))
    rows = [i for i in range(N_GRADES + DEPTH - 3) if i != N_GRADES - 2]
    bends[np.arange(len(rows)), rows], bends[np.arange(len(rows)), np.array(rows) + 1] = -1.0, 1.0

    def loss(theta, share):
        value, slope = (
            RIDGE / n * np.sum((bends @ theta) ** 2),
            2 * RIDGE / n * bends.T @ (bends @ theta),
        )
        of_people, of_machine = differences(theta, people_pairs), differences(theta, machine_pairs)
        for (z, slopes), side, weight in zip(
            (of_people, of_people, of_machine), sides, (1.0, -share, share), strict=True
        ):
            value += weight * np.mean(np.logaddexp(0, -side * z))
            slope = slope + weight * (-side * expit(-side * z)) @ slopes / len(z)
        return value, slope

    bounds = [(-6.0, 5.0)] * (N_GRADES - 1) + [(-6.0, 1.5)] * (DEPTH - 1)
    fitted = partial(minimize, loss, jac=True, method="L-BFGS-B", bounds=bounds)
    start = np.append(np.full(N_GRADES - 1, 0.0), np.full(DEPTH - 1, -1.5))
    theta = fitted(start, args=(0.0,)).x
    share = tuned(theta, people_pairs, sides[0], sides[1], machine_pairs)
    gains, discounts, *_ = curves_of(fitted(theta, args=(share,)).x)
    return dl.DCG(gains / gains[-1], discounts)


def tuned(theta, pairs, people, on_people, machine_pairs):
    """Return lambda, from 0 to 1, with the smallest trace of the estimated variance."""
    z, slopes = differences(theta, pairs)
    of_people, of_machine = (
        (-side * expit(-side * z))[:, None] * slopes for side in (people, on_people)
    )
    z_all, slopes_all = (
        np.concatenate(both)
        for both in zip((z, slopes), differences(theta, machine_pairs), strict=True)
    )
    chance = expit(z_all)
    curvature = (slopes_all * (chance * (1 - chance))[:, None]).T @ slopes_all / len(z_all)
    inverse = np.linalg.inv(curvature + np.eye(len(theta)) * (RIDGE / len(pairs)))
    centred = [x - x.mean(axis=0) for x in (of_people, of_machine)]
    cross, own = (centred[0].T @ centred[1] / len(z), centred[1].T @ centred[1] / len(z))
    both = np.trace(inverse @ (cross + cross.T) @ inverse)
    return float(
        np.clip(
            both / (2 * (1 + len(z) / len(machine_pairs)) * np.trace(inverse @ own @ inverse)), 0, 1
        )
    )


def settings(quick):
    """Return a setting for each LLM judge, with all numbers of verdicts."""
    kinds, sizes = tuple(KINDS), [(n, MACHINE) for n in SIZES]
    sizes += [(PEOPLE, m) for m in MACHINE_SIZES if m != MACHINE]
    if quick:
        kinds, sizes = ("equal", "far"), [(PEOPLE, MACHINE)]
    return grid(kind=kinds, sizes=(tuple(sizes),))


def derived(table):
    """Return the table with regrets, losses, gains and leads."""
    best = pl.max_horizontal("people", pl.col("machine").fill_null(0.0))
    return table.with_columns(
        regret=best - pl.col("both"),
        loss=pl.col("people") - pl.col("both"),
        gain=pl.col("both") - pl.col("people"),
        rival_loss=pl.col("people") - pl.max_horizontal("powered", "predicted"),
        lead=pl.col("both") - pl.max_horizontal("powered", "predicted"),
    )


def plot(table, axes):
    """Draw the precision of what is learned with each machine.

    The left panel is by the number of people's verdicts; the right one compares the methods with 30
    verdicts of people.
    """
    usual = table.filter(n_machine=MACHINE)
    left, right = axes
    curves(usual, left, "n", "both", lines="kind", labels=KINDS)
    alone = summary(usual, ["n"], ["people"])
    draw_means(
        left,
        alone,
        "n",
        "people",
        {"color": "0.3", "linestyle": ":", "marker": "x"},
        label="people alone",
    )
    left.set(
        xscale="log",
        xlabel="number of people's verdicts",
        ylabel="share of new pairs ordered rightly",
    )
    left.set_xticks(SIZES, [str(n) for n in SIZES])
    left.minorticks_off()
    finding, part = "verdicts of a machine help if it agrees", "what both gain over people"
    words = headline(claims(table), finding, "verdicts of a machine beside people's", part)
    left.set_title(f"{MACHINE:,} {words}")
    legend(left, "the machine goes by")
    kinds = [kind for kind in KINDS if kind in table["kind"].unique()]
    places = pl.col("kind").replace_strict(kinds, range(len(kinds)), default=None)
    for number, (method, name) in enumerate(METHODS.items()):
        means = summary(usual.filter(n=PEOPLE).drop_nulls(method), ["kind"], [method])
        means = means.with_columns(x=places + 0.12 * (number - 2))
        draw_means(right, means, "x", method, {**STYLES[number], "linestyle": "none"}, label=name)
    right.set_xticks(
        range(len(kinds)), [KINDS[kind].replace(" ", "\n", 1) for kind in kinds], fontsize=8
    )
    right.set(xlabel="what the machine goes by", ylabel="share of new pairs ordered rightly")
    right.set_title(f"With {PEOPLE} verdicts of people")
    legend(right)


def claims(table):
    """Yield our claims."""
    table = derived(table)
    claim = partial(Claim, table, "ours", "study s")
    for n in (30, 100):
        rows = {"n": n, "n_machine": MACHINE}
        few = f"{n} verdicts of people, {MACHINE:,} of a machine"
        yield claim(
            f"both together are as good as the better of both logs, {few}: regret",
            "regret",
            rows,
            high=0.015,
        )
        for kind in ("far", "left"):
            most = 0.02 if n == 30 else 0.01
            text = f"{few} ({KINDS[kind]}): what both lose to people alone"
            yield claim(text, "loss", {**rows, "kind": kind}, high=most)
        yield claim(f"`DCGLearner` beats the prediction-powered loss, {few}", "lead", rows, low=0.0)
        for kind in ("equal", "near"):
            text = f"{few} ({KINDS[kind]}): what both gain over people alone"
            yield claim(text, "gain", {**rows, "kind": kind}, low=0.0)
    for kind in ("far", "left"):
        rows = {"n": 30, "n_machine": MACHINE, "kind": kind}
        text = (
            f"30 verdicts of people ({KINDS[kind]}): "
            "what the prediction-powered loss loses to people alone"
        )
        yield claim(text, "rival_loss", rows, high=0.02)
    more, fewer = (
        {"n": PEOPLE, "n_machine": m, "kind": "equal"}
        for m in (MACHINE_SIZES[-1], MACHINE_SIZES[0])
    )
    text = (
        f"{MACHINE_SIZES[-1]:,} verdicts of a machine of people's taste "
        f"teach more than {MACHINE_SIZES[0]}"
    )
    yield claim(text, "both", more, fewer, low=0.0)
