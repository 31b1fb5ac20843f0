"""Study j: what are the false-positive rate and power of the test of position-dependent gains?"""

from functools import partial

import dcglearn as dl
from simulations.claims import Claim
from simulations.run import TRUTHS, curves, legend, main, repeated

STEM, REPEATS, PANELS, FIGSIZE = "study_j_position_test", 110, 1, (5.0, 3.4)
SIZES = {"product": (200, 500), "dependent": (200, 500)}
LEVEL, RESAMPLES, TEMPERATURE = 0.05, 39, 0.1


def dependent(truth):
    """Return a utility whose middle grades have half the gain from the fourth position on."""
    weights = truth.utility.weights.copy()
    weights[3:, 1:-1] *= 0.5
    return dl.Utility(weights)


def trial(rng, truth, kind, n, n_resamples):
    """Test one log of free lists, judged with logistic noise at a tenth of the top gain."""
    true = dl.simulate.ground_truth(truth).normalised()
    judge = true if kind == "product" else dependent(true)
    log = dl.simulate.preference_pairs(
        judge, n, lists="free", temperature=TEMPERATURE, random_state=rng
    )
    result = dl.trust.position_dependence(
        log, n_resamples=n_resamples, random_state=int(rng.integers(2**31))
    )
    return {"p_value": result.p_value, "rejected": int(result.p_value <= LEVEL)}


def simulate(seed, repeats, quick, jobs):
    """Yield one record per true DCG, kind of utility, number of pairs and repeat."""
    settings = [
        {"truth": t, "kind": kind, "n": n}
        for kind, sizes in SIZES.items()
        for t in (TRUTHS[:1] if quick else TRUTHS)
        for n in ((100,) if quick else sizes)
    ]
    tested = partial(trial, n_resamples=19 if quick else RESAMPLES)
    yield from repeated(tested, settings, repeats=repeats, seed=seed, jobs=jobs)


def plot(table, axes):
    """Draw the rejection rate against the number of pairs."""
    labels = {"product": "gains x discounts", "dependent": "gains halved from rank 4"}
    curves(table.sort("kind", descending=True), axes, "n", "rejected", dashes="kind", labels=labels)
    axes.axhline(LEVEL, color="0.4", lw=0.8, ls=(0, (4, 3)))
    axes.text(
        (table["n"].min() * table["n"].max()) ** 0.5,
        LEVEL + 0.01,
        "level of the test",
        fontsize=7,
        color="0.3",
        ha="center",
        va="bottom",
    )
    axes.set(
        xscale="log", xlabel="number of pairs", ylabel="share of logs rejected", ylim=(-0.02, 1.02)
    )
    axes.set_xticks(sorted(table["n"].unique()), [f"{n:,}" for n in sorted(table["n"].unique())])
    axes.minorticks_off()
    axes.set_title("Logs rejected by the test of\nposition-dependent gains")
    legend(axes, fontsize=7)


def claims(table):
    """Yield our claims, on both true DCGs together."""
    claim = partial(Claim, table, "ours", "study j")
    for n in sorted(table["n"].unique()):
        text = f"a test of position-dependent gains rejects at most 5% of true DCGs, {n} pairs"
        yield claim(text, "rejected", {"kind": "product", "n": n}, level=0.05)
    halved = "gains halved from rank 4 on"
    for n in (500, 200):
        text = f"it detects {halved} in over 80% of logs of {n} pairs"
        yield claim(text, "rejected", {"kind": "dependent", "n": n}, low=0.8)


if __name__ == "__main__":
    main(__name__)
