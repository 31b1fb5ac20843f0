"""Study s: how well is a DCG learned from a few verdicts of people and many of a machine?

The machine's taste equals people's, is near it, far from it or opposite, or always takes the left
list.
"""

from functools import partial

import numpy as np
import polars as pl

import dcglearn as dl
from simulations.claims import Claim
from simulations.run import STYLES, curves, draw_means, grid, legend, summary, ticks
from simulations.truths_and_judges import named

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

METHODS = {"people": "people alone", "machine": "the machine alone", "both": "both: DCGLearner"}
"""Names of what is learned."""


def dcg_of(steps, falls):
    """Return the DCG of steps between gains, and of falls of the logarithm of discounts."""
    return dl.DCG(np.append(0, np.cumsum(steps)), np.exp(-np.append(0, np.cumsum(falls))))


def taste(rng):
    """Return a DCG that people may go by."""
    steps = rng.dirichlet(np.full(N_GRADES - 1, 2.0))
    return dcg_of(steps, rng.gamma(1.5, 0.2, DEPTH - 1))


def machine_of(kind, people, rng):
    """Return the DCG that a machine goes by; None for one that goes by the side."""
    if kind == "near":
        steps = np.diff(people.gains) * np.exp(0.7 * rng.normal(size=N_GRADES - 1))
        falls = -np.diff(np.log(people.discounts)) * np.exp(0.7 * rng.normal(size=DEPTH - 1))
        return dcg_of(steps, falls).normalised()

    # far: gains bent the other way, and the top results count for nearly all
    falls = rng.gamma(1.5, 0.5, DEPTH - 1)
    if kind == "far":
        return dcg_of(np.diff(people.gains)[::-1], falls)
    opposite = dl.DCG(people.gains[::-1], people.discounts)
    return {"equal": people, "opposite": opposite, "left": None}[kind]


def verdicts(metric, lists, wrong, rng):
    """Return the verdicts on pairs of lists, shape (2, n, K), as a log."""
    if metric is None:
        return named(lists, rng.random(lists.shape[1]) < 0.5)
    first = metric.score(lists[0]) >= metric.score(lists[1])
    return named(lists, first ^ (rng.random(len(first)) < wrong))


def drawn(n, rng):
    """Return n pairs of random lists, shape (2, n, K)."""
    return rng.integers(0, N_GRADES, (2, n, DEPTH)).astype(np.int8)


def trial(rng, kind, sizes):
    """Learn from people, from the machine and from both.

    The records hold the share of new pairs that each learned DCG orders rightly.
    """
    people = taste(rng)
    metric = machine_of(kind, people, rng)
    test = verdicts(people, drawn(N_TEST, rng), 0.0, rng)
    lists, further = drawn(max(SIZES), rng), drawn(max(MACHINE_SIZES), rng)
    human = verdicts(people, lists, WRONG, rng)
    verdicts(metric, lists, WRONG_MACHINE, rng)  # the machine's on people's pairs
    machine = verdicts(metric, further, WRONG_MACHINE, rng)

    # each alone, and both
    alone = {n: dl.DCGLearner().fit(human[:n], as_is=True).dcg_ for n in {n for n, _ in sizes}}
    machines = {m: machine_dcg(machine[:m]) for m in {m for _, m in sizes}}

    records = []
    for n, m in sizes:
        learned = {"people": alone[n], "machine": machines[m], "both": alone[n]}
        if machines[m] is not None:
            learner = dl.DCGLearner(llm=machines[m])
            learned["both"] = learner.fit(human[:n], as_is=True).dcg_
        shares = {name: dcg and test.agreement(dcg).share for name, dcg in learned.items()}
        records.append({"n": n, "n_machine": m, **shares})
    return records


def machine_dcg(log):
    """Return the DCG of a machine's verdicts, as `DCGLearner` learns it from a log.

    Return None if the fit raises `InputError`.
    """
    try:
        return dl.DCGLearner().fit(log).dcg_
    except dl.InputError:
        return None


def settings(quick):
    """Return a setting for each machine, with all numbers of verdicts."""
    kinds, sizes = tuple(KINDS), [(n, MACHINE) for n in SIZES]
    sizes += [(PEOPLE, m) for m in MACHINE_SIZES if m != MACHINE]
    if quick:
        kinds, sizes = ("equal", "far"), [(PEOPLE, MACHINE)]
    return grid(kind=kinds, sizes=(tuple(sizes),))


def derived(table):
    """Return the table with regrets, losses and gains."""
    best = pl.max_horizontal("people", pl.col("machine").fill_null(0.0))
    gain = pl.col("both") - pl.col("people")
    return table.with_columns(regret=best - pl.col("both"), loss=-gain, gain=gain)


def plot(table, axes, headline):
    """Draw the precision of what is learned with each machine.

    The left panel is by the number of people's verdicts; the right one compares the methods with 30
    verdicts of people.
    """
    usual = table.filter(n_machine=MACHINE)
    left, right = axes

    # by the number of people's verdicts
    curves(usual, left, "n", "both", lines="kind", labels=KINDS)
    alone, look = (
        summary(usual, ["n"], ["people"]),
        {"color": "0.3", "linestyle": ":", "marker": "x"},
    )
    draw_means(left, alone, "n", "people", look, label="people alone")
    left.set(xscale="log", xlabel="number of people's verdicts")
    ticks(left, SIZES)

    finding, part = "verdicts of a machine help if it agrees", "what both gain over people"
    words = headline(finding, "verdicts of a machine beside people's", part)
    left.set_title(f"{MACHINE:,} {words}")
    legend(left, "the machine goes by")

    # by machine and method
    kinds = [kind for kind in KINDS if kind in table["kind"].unique()]
    places = pl.col("kind").replace_strict(kinds, range(len(kinds)), default=None)
    for number, (method, name) in enumerate(METHODS.items()):
        means = summary(usual.filter(n=PEOPLE).drop_nulls(method), ["kind"], [method])
        means = means.with_columns(x=places + 0.12 * (number - 1))
        draw_means(right, means, "x", method, {**STYLES[number], "linestyle": "none"}, label=name)

    names = [KINDS[kind].replace(" ", "\n", 1) for kind in kinds]
    right.set_xticks(range(len(kinds)), names, fontsize=8)
    right.set(xlabel="what the machine goes by", title=f"With {PEOPLE} verdicts of people")
    legend(right)
    for ax in axes:
        ax.set_ylabel("share of new pairs ordered rightly")


def claims(table):
    """Yield our claims."""
    table = derived(table)
    claim = partial(Claim, table, "ours", "study s")
    for n in (30, 100):
        rows = {"n": n, "n_machine": MACHINE}
        few = f"{n} verdicts of people, {MACHINE:,} of a machine"
        text = f"both together are as good as the better of both logs, {few}: regret"
        yield claim(text, "regret", rows, high=0.015)
        for kind in ("far", "left"):
            most = 0.02 if n == 30 else 0.01
            text = f"{few} ({KINDS[kind]}): what both lose to people alone"
            yield claim(text, "loss", {**rows, "kind": kind}, high=most)

        for kind in ("equal", "near"):
            text = f"{few} ({KINDS[kind]}): what both gain over people alone"
            yield claim(text, "gain", {**rows, "kind": kind}, low=0.0)

    # more of a machine
    most, fewest = MACHINE_SIZES[-1], MACHINE_SIZES[0]
    more, fewer = ({"n": PEOPLE, "n_machine": m, "kind": "equal"} for m in (most, fewest))
    text = f"{most:,} verdicts of a machine of people's taste teach more than {fewest}"
    yield claim(text, "both", more, fewer, low=0.0)
