"""Figure 10: the optimal list against lists with other grades: precision grows, slower than in figure 1."""

import sys

from simulations import figure_01_02, figure_09
from simulations.run import TRUTHS, Claim, at, curves, main, shown

STEM, REPEATS, PANELS, FIGSIZE = "figure_10", 50, 1, (4.2, 3.2)


def simulate(seed, repeats, quick, jobs, progress):
    """Yield the records of figure 9 with lists of free grades, then those of figure 1 to compare with."""
    options = {"seed": seed, "repeats": repeats, "quick": quick, "jobs": jobs, "progress": progress}
    yield from figure_09.simulate(**options, lists="optimal-free")
    for record in figure_01_02.simulate(**options):
        yield {**record, "lists": "permutations"}


def plot(table, axes):
    """Draw precision against the number of pairs, the optimal list's pairs beside random ones."""
    named = {"optimal-free": "one list optimal", "permutations": "random lists (figure 1)"}
    lines = table["truth"] + table["lists"].replace_strict(named).map_elements(lambda name: f", {name}", str)
    curves(table.with_columns(line=lines), axes, "n", "precision", lines="line")
    axes.set(xlabel="training pairs", ylabel="precision on unseen pairs")
    axes.legend(fontsize=7)


def claims(table):
    """Return what the table says of the paper's claim."""
    rises = {}
    for lists in ("optimal-free", "permutations"):
        rows = table.filter(lists=lists)
        first, last = rows["n"].min(), rows["n"].max()
        rises[lists] = {t: [at(rows, "precision", truth=t, n=n) for n in (first, last)] for t in TRUTHS}
    number = "; ".join(
        f"{t}: {shown(rises['optimal-free'][t][0])} to {shown(rises['optimal-free'][t][1])}, "
        f"random lists reach {shown(rises['permutations'][t][1])}"
        for t in TRUTHS
    )
    grows = all(low[0] < high[0] for low, high in rises["optimal-free"].values())
    slower = all(rises["optimal-free"][t][1][0] < rises["permutations"][t][1][0] for t in TRUTHS)
    yield Claim(
        "10",
        "pairs of the optimal list and lists with other grades teach, but less than random pairs",
        number,
        "holds" if grows and slower else "does not hold",
        "Tested on pairs of permutations, as in figure 1.",
    )


if __name__ == "__main__":
    main(sys.modules[__name__])
