"""Few judgements by people and many of a machine: check values, ppi-python as referee, coverage,
and comparisons.
"""

import json

import numpy as np
import pytest

import dcglearn as dl
from dcglearn.evaluation.prediction_powered import powered_mean
from tests.makers import refused, write_trec
from tests.tables import table

PEOPLE = np.array([0.10, -0.05, 0.20, 0.00, 0.15, 0.05, -0.10, 0.25])
MACHINE = np.array([0.12, 0.00, 0.15, 0.05, 0.10, 0.02, -0.05, 0.20])
FURTHER = np.array([0.05, 0.10, -0.02, 0.20, 0.15, 0.00, 0.08, 0.12, -0.05, 0.03, 0.18, 0.07])


def test_check_values():
    found = powered_mean(PEOPLE, MACHINE, FURTHER, cross_fitted=False)
    assert (found.mean, found.share) == (
        pytest.approx(0.076749, abs=1e-6),
        pytest.approx(0.8395, abs=1e-4),
    )
    variance = (PEOPLE - found.share * MACHINE).var(ddof=1) / 8 + found.share**2 * FURTHER.var(
        ddof=1
    ) / 12
    assert found.error == pytest.approx(variance**0.5)
    assert found.worth == pytest.approx(8 * (PEOPLE.var(ddof=1) / 8 / variance - 1))
    low, high = (found.tests(0.9)[end] for end in ("low", "high"))
    assert low + high == pytest.approx(2 * found.mean) and high - low == pytest.approx(
        2 * 1.8946 * found.error, rel=1e-4
    )
    alone = powered_mean(
        PEOPLE, np.full(8, 0.3), np.full(12, 0.1)
    )  # says the same of every case: no help
    assert (alone.mean, alone.share, alone.worth) == (pytest.approx(0.075), 0, pytest.approx(0))
    assert alone.error == pytest.approx(0.0433, abs=1e-4)


def test_a_share_that_is_cross_fitted_never_sees_its_own_case():
    found = powered_mean(PEOPLE, MACHINE, FURTHER)
    outcomes = []
    for i in range(8):
        others = np.arange(8) != i
        share = powered_mean(PEOPLE[others], MACHINE[others], FURTHER, cross_fitted=False).share
        outcomes.append(PEOPLE[i] - share * (MACHINE[i] - FURTHER.mean()))
    assert found.mean == pytest.approx(np.mean(outcomes))
    many = np.tile(PEOPLE, 4), np.tile(MACHINE, 4), FURTHER  # 32 cases
    assert powered_mean(*many) == powered_mean(*many, cross_fitted=False)


def test_a_mean_of_these_cases_by_hand():
    found = powered_mean(PEOPLE, MACHINE, FURTHER, these=True, cross_fitted=False)
    everything = np.append(MACHINE, FURTHER)
    share = np.cov(PEOPLE, MACHINE, ddof=0)[0, 1] / everything.var(ddof=1)
    assert found.share == pytest.approx(min(share, 1))
    outcomes = PEOPLE + found.share * (everything.mean() - MACHINE)
    assert found.mean == pytest.approx(outcomes.mean())
    assert found.error**2 == pytest.approx(outcomes.var(ddof=1) / 8 * 12 / 20)
    n = 8 + found.worth  # as many of the 20 cases judged by people
    assert PEOPLE.var(ddof=1) / n * (1 - n / 20) == pytest.approx(found.error**2)
    without = powered_mean(PEOPLE, np.full(8, 0.3), np.full(12, 0.3), these=True)
    assert (without.mean, without.worth) == (pytest.approx(PEOPLE.mean()), pytest.approx(0))


@pytest.mark.parametrize("seed", range(5))
def test_agreement_with_ppi_python(seed):
    ppi_py = pytest.importorskip("ppi_py", reason="ppi-python is the referee: .ci/weekly peers")
    rng = np.random.default_rng(seed)
    n, n_further = int(rng.integers(5, 300)), int(rng.integers(5, 900))
    people, further = rng.normal(0.1, 1, n), rng.normal(0.3, 2, n_further)
    machine = rng.uniform(-0.5, 2) * people + rng.normal(0.3, 1, n)
    found = powered_mean(people, machine, further, cross_fitted=False)
    assert found.mean == pytest.approx(
        ppi_py.ppi_mean_pointestimate(people, machine, further)[0], abs=1e-12
    )
    low, high = (float(end[0]) for end in ppi_py.ppi_mean_ci(people, machine, further, alpha=0.1))
    rectified = (
        people - found.share * machine
    ).var() / n  # theirs: quantiles of the normal, sums divided by n
    variance = rectified + found.share**2 * further.var() / n_further
    assert (high - low) / 2 == pytest.approx(1.6448536 * variance**0.5, rel=1e-6)
    assert found.error**2 == pytest.approx(
        rectified * n / (n - 1) + found.share**2 * further.var(ddof=1) / n_further
    )


MACHINES = {
    "near": lambda d, rng: d + rng.normal(0, 0.05, len(d)),
    "far": lambda d, rng: 0.3 * d + rng.normal(0.05, 0.2, len(d)),
    "unrelated": lambda d, rng: rng.normal(0.1, 0.2, len(d)),
    "opposite": lambda d, rng: -d,
}


def coverage(kind, n, n_further, repeats):
    """Return how often the 90% interval holds the true mean of differences, of which a third are
    0."""
    rng = np.random.default_rng(n + n_further)
    held = 0
    for _ in range(repeats):
        d = rng.laplace(0.03, 0.15, n + n_further) * (rng.random(n + n_further) > 1 / 3)
        p = MACHINES[kind](d, rng)
        tests = powered_mean(d[:n], p[:n], p[n:]).tests(0.9)
        held += tests["low"] is not None and tests["low"] <= 0.02 <= tests["high"]
    return held / repeats


@table("kind", MACHINES)
def test_intervals_hold_what_they_promise(kind):
    assert coverage(kind, 40, 300, 1000) == pytest.approx(0.9, abs=0.035)


@pytest.mark.long
def test_coverage_of_90_percent_intervals(capsys):
    rows = {(n, kind): coverage(kind, n, 300, 10_000) for n in (10, 30, 100) for kind in MACHINES}
    with capsys.disabled():
        for (n, kind), share in rows.items():
            print(f"{n:>4} people  {kind:<10} {share:.4f}")
    assert all(-0.02 <= share - 0.9 <= (0.02 if n > 10 else 0.03) for (n, _), share in rows.items())


def judged(n_people=25, n_machine=120, seed=0):
    """Return judgements by people and by a machine that errs in few grades, and two runs."""
    rng = np.random.default_rng(seed)
    people, machine, runs = {}, {}, {"old": {}, "new": {}}
    for q in range(n_machine):
        grades = rng.integers(0, 4, 12)
        wrong = np.where(rng.random(12) < 0.04, rng.integers(0, 4, 12), grades)
        for name, noise in (("old", 1.6), ("new", 1.2)):
            scores = grades + rng.normal(0, noise, 12)
            runs[name][f"q{q:03}"] = {f"d{d}": float(score) for d, score in enumerate(scores)}
        machine[f"q{q:03}"] = {f"d{d}": int(grade) for d, grade in enumerate(wrong)}
        if q % 4 == 1 and len(people) < n_people:
            people[f"q{q:03}"] = {f"d{d}": int(grade) for d, grade in enumerate(grades)}
    return people, machine, runs


def test_comparisons_rest_on_people_and_machine():
    people, machine, runs = judged()
    alone = dl.compare_systems(people, runs, ["nDCG@10", "ERR@10"], level=0.9)
    both = dl.compare_systems(people, runs, ["nDCG@10", "ERR@10"], level=0.9, llm=machine)
    values = [dl.evaluate(judgements, runs).values[:, 0] for judgements in (people, machine)]
    places = [sorted(machine).index(query) for query in sorted(people)]
    further = np.delete(np.arange(120), places)
    for column, (d, p) in {
        "difference": [v[1] - v[0] for v in values],
        "mean": [v[1] for v in values],
    }.items():
        assert both.table[column][0] == pytest.approx(powered_mean(d, p[places], p[further]).mean)
    width = [(found.table["high"] - found.table["low"]).to_list() for found in (alone, both)]
    assert width[1][0] < 0.9 * width[0][0] and both.table["worth"][0] > 8
    assert both.table["p_permutation"].null_count() == 2
    assert "p (permutation)" not in str(both)
    assert (
        "25 queries; 90% intervals by Student's t; t test corrected (holm) for 2 rows"
        in both.notes[0]
    )
    assert both.cells[0][-1] == "worth" and both.cells[1][-1] == f"{both.table['worth'][0]:.0f}"
    assert "as many more queries judged by people as it is worth" in both.notes[-1]
    gates = [found.gate().table.row(0, named=True) for found in (alone, both)]
    assert gates[1]["detectable"] < 0.9 * gates[0]["detectable"] and gates[1]["n_topics"] == 25
    same = dl.compare_systems(people, {"old": runs["old"], "new": runs["old"]}, llm=machine).table
    assert (same["difference"][0], same["low"][0], same["p_corrected"][0]) == (0, None, 1)


def test_a_comparison_of_these_topics_says_so_and_is_closer():
    people, machine, runs = judged()
    every, these = (
        dl.compare_systems(people, runs, level=0.9, llm=machine, topics=topics)
        for topics in ("all", "these")
    )
    width = [(found.table["high"] - found.table["low"])[0] for found in (every, these)]
    assert width[1] < 0.8 * width[0]
    assert "over these 120 queries, 90% interval" in these.sentence
    assert "over all queries there could be, 90% interval" in every.sentence
    refused("goes with judgements of a machine", dl.compare_systems, people, runs, topics="these")
    refused("topics='some'", dl.compare_systems, people, runs, llm=machine, topics="some")


def test_the_machine_must_judge_what_people_judged_and_more():
    people, machine, runs = judged()
    words = "the machine has judged 24 of 25 queries that people judged, and 95 others"
    lacking = {query: grades for query, grades in machine.items() if query != "q001"}
    refused(words, dl.compare_systems, people, runs, llm=lacking)
    refused(
        "and 0 others",
        dl.compare_systems,
        people,
        runs,
        llm={query: machine[query] for query in people},
    )


def test_the_command_and_its_gate(dcglearn, misuse, here):
    people, machine, runs = judged()
    write_trec(here, people, runs)
    (here / "machine.json").write_text(json.dumps(machine))
    files = ["qrels.txt", "old.txt", "new.txt", "--llm-qrels", "machine.json", "--level", ".9"]
    status, out, err = dcglearn(
        "gate", *files, "--rule", "non-inferior", "--min-difference", "-.01"
    )
    assert (status, err) == (0, "") and "Pass: new is shown not" in out and "  worth\n" in out
    dcglearn("compare", *files, "-o", "compared.json")
    [row] = json.loads((here / "compared.json").read_text())["table"]
    assert row["p_permutation"] is None and 0 < row["lambda"] <= 1
    assert row["p_corrected"] == row["p_t"]
    words = "25 of 25 queries that people judged, and 0 others"
    err = misuse(words, "compare", *files[:3], "--llm-qrels", "qrels.txt")
    assert err.count("\n") == 1
