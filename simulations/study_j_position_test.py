"""Study j: what are the false-positive rate and the power of the test of position-dependent gains?"""

import numpy as np
import polars as pl

import dcglearn as dl
from simulations.run import TRUTHS, Claim, curves, legend, main, repeated

STEM, REPEATS, PANELS, FIGSIZE = "study_j_position_test", 100, 1, (5.0, 3.4)
SIZES = {"product": (200, 500), "dependent": (200, 500, 1000)}
LEVEL, RESAMPLES, TEMPERATURE = 0.05, 39, 0.1


def dependent(truth):
    """Return a utility whose middle grades have half the gain from the fourth position on."""
    weights = truth.utility.weights.copy()
    weights[3:, 1:-1] *= 0.5
    return dl.Utility(weights)


def trial(rng, truth, kind, n):
    """Test one log of free lists, judged with logistic noise at a tenth of the top gain."""
    true = dl.simulate.ground_truth(truth).normalised()
    judge = true if kind == "product" else dependent(true)
    log = dl.simulate.preference_pairs(judge, n, lists="free", temperature=TEMPERATURE, seed=rng)
    result = dl.position_dependence(log, n_resamples=RESAMPLES, seed=int(rng.integers(2**31)))
    return {"p_value": result.p_value, "rejected": int(result.p_value <= LEVEL)}


def simulate(seed, repeats, quick, jobs, progress):
    """Yield one record per true DCG, kind of utility, number of pairs and repeat."""
    settings = [
        {"truth": t, "kind": kind, "n": n}
        for kind, sizes in SIZES.items()
        for t in TRUTHS
        for n in ((100,) if quick else sizes)
    ]
    yield from repeated(trial, settings, repeats=repeats, seed=seed, jobs=jobs, progress=progress)


def plot(table, axes):
    """Draw the rejection rate against the number of pairs."""
    named = table.with_columns(
        line=pl.col("truth")
        + pl.col("kind").replace_strict({"product": ", gains x discounts", "dependent": ", gains halved from rank 4"})
    )
    curves(named, axes, "n", "rejected", lines="line")
    axes.axhline(LEVEL, color="0.5", lw=0.8, ls=":")
    axes.set(xscale="log", xlabel="number of pairs", ylabel=f"rejection rate (p ≤ {LEVEL})", ylim=(-0.02, 1.02))
    legend(axes, "true utility")


def claims(table):
    """Yield the claims, with the table's numbers and verdicts."""
    null = table.filter(kind="product")["rejected"].to_numpy()
    error = np.sqrt(LEVEL * (1 - LEVEL) / len(null))
    yield Claim(
        "j",
        "the test of position-dependent gains has a false-positive rate of 5% on logs of a DCG",
        f"{null.mean():.3f} on {len(null)} logs (standard error {error:.3f})",
        "holds" if 0.03 <= null.mean() <= 0.08 else "does not hold",
        "D1 and D2, free lists, logistic noise; the null distribution is simulated from the fitted DCG.",
    )
    power = {n: table.filter(kind="dependent", n=n)["rejected"].mean() for n in sorted(table["n"].unique())}
    reached = [n for n, share in power.items() if share > 0.8]
    yield Claim(
        "j",
        "the test detects gains that differ by a factor of two between positions",
        "power " + ", ".join(f"{share:.2f} with {n:,} pairs" for n, share in power.items()),
        "holds" if reached and min(reached) <= 500 else "holds with a condition" if reached else "does not hold",
        "Middle grades have half the gain from the fourth position on; mean of D1 and D2.",
    )


if __name__ == "__main__":
    main(__name__)
