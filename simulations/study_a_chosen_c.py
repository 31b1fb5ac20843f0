"""Which C does an independent validation set pick as noise grows, and what is lost with C = 1 instead?"""

import sys

import numpy as np
import polars as pl

import dcglearn as dl
from simulations.run import TRUTHS, Claim, at, curves, legend, main, recovery, repeated, shown, validated

STEM, REPEATS, PANELS, FIGSIZE = "study_a_chosen_c", 50, 2, (7.5, 3.2)
RATES = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.45)


def one(rng, truth, n, flip_rate, n_test):
    """Choose C on another set with as many flips; record it, and the precision with it and with C = 1."""
    true = dl.simulate.ground_truth(truth)
    test = dl.simulate.preference_pairs(true, n_test, seed=rng)
    flips = round(flip_rate * n)
    train, validation = (dl.simulate.preference_pairs(true, n, n_flips=flips, seed=rng) for _ in range(2))
    chosen = validated(train, validation)
    plain = recovery(dl.UtilityLearner(C=1.0).fit(train), true, test)
    found = recovery(chosen, true, test)
    return {"log10_C": np.log10(chosen.C), "chosen": found["precision"], "C_1": plain["precision"]}


def simulate(seed, repeats, quick, jobs, progress):
    """Yield a record a truth, share of flips and repeat."""
    rates, n_test = ((0.0, 0.3), 1000) if quick else (RATES, 5000)
    settings = [{"truth": t, "n": 200, "flip_rate": rate, "n_test": n_test} for t in TRUTHS for rate in rates]
    yield from repeated(one, settings, repeats=repeats, seed=seed, jobs=jobs, progress=progress)


def plot(table, axes):
    """Draw the chosen C, and the precision with it beside that with C = 1."""
    curves(table, axes[0], "flip_rate", "log10_C")
    axes[0].set(xlabel="share of 200 pairs flipped", ylabel="chosen C (mean of log10)")
    legend(axes[0], "truth")
    both = pl.concat(
        table.select("flip_rate", precision=name, line=pl.col("truth") + label)
        for name, label in (("chosen", ", C chosen"), ("C_1", ", C = 1"))
    )
    curves(both, axes[1], "flip_rate", "precision", lines="line")
    axes[1].set(xlabel="share of 200 pairs flipped", ylabel="precision on unseen clean pairs")
    legend(axes[1], fontsize=7)


def claims(table):
    """Return what the table says."""
    rates = (0.0, 0.3, table["flip_rate"].max())
    found = {t: [at(table, "log10_C", truth=t, flip_rate=rate) for rate in rates] for t in TRUTHS}
    gained = {
        t: at(table, "chosen", truth=t, flip_rate=0.3)[0] - at(table, "C_1", truth=t, flip_rate=0.3)[0] for t in TRUTHS
    }
    number = "; ".join(
        f"{t}: log10 C {shown(clean)} without flips, {shown(noisy)} at 30%, {shown(most)} at {rates[-1]:.0%}; "
        f"choosing gains {gained[t]:+.3f} of precision at 30%"
        for t, (clean, noisy, most) in found.items()
    )
    falls = all(noisy[0] < clean[0] for clean, noisy, _ in found.values())
    back = any(most[0] > noisy[0] for _, noisy, most in found.values())
    yield Claim(
        "a",
        "validation picks a smaller C as noise grows",
        number,
        "does not hold" if not falls else "holds with a condition" if back else "holds",
        "200 pairs; the grid goes from 1e-5 to 1e5 in steps of ten. Past 30% flips a validation set as noisy hardly "
        "tells one C from another.",
    )


if __name__ == "__main__":
    main(sys.modules[__name__])
