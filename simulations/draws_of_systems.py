"""One draw of a comparison of systems: gates, ranks, an LLM judge beside people, and trees.

Each function ``f(rng, truth, judge, n)`` is a trial of `simulations.calibration`: it draws systems
and n topics, and returns the outcomes that are promised.
"""

from functools import partial

import numpy as np
import polars as pl
from scipy.special import stdtr

import dcglearn as dl
from dcglearn.evaluation.paired_tests import corrected
from dcglearn.evaluation.rank_intervals import open_ranks
from simulations.train_trees import SHAPE, SHAPES

LEVEL = 0.9
"""Level of the intervals."""

DRAWS = 100
"""Comparisons of a repeat: 2,000 a cell, so that two standard errors of .025 are .007."""

GRADES = 121
"""Grades of two documents a topic, which make a number of two digits: a value of fine steps."""

METRIC = dl.DCG(np.linspace(0, 1, GRADES), [1.0, 1 / GRADES])
GATE, GATE_ERROR = 0.95, 0.025
"""Level of the gate and the comparison, and the error of one side that it leaves."""


def gate(rng, truth, judge, n):
    """Compare equally good systems on n topics; return how often each side errs, and power."""
    values = differences(rng, truth, n)
    found = compared(values, GATE)

    ends = compared(values, LEVEL, 100).table.drop_nulls("low")
    beyond = found.table.filter(pl.col("p_corrected") < 1 - GATE)["difference"]
    record = {
        "fails": answers(found.gate(), "fail"),
        "passes": answers(found.gate(0.0, "non-inferior"), "pass"),
        "worse": float((beyond < 0).sum()) / DRAWS,
        "better": float((beyond > 0).sum()) / DRAWS,
        "covered": ((ends["low"] <= 0) & (ends["high"] >= 0)).mean(),
        "kept": None,
    }

    # power: a loss that the t test shows about four times in five
    if n in (25, 50):
        wider = {"half zeros": 0.7, "one outlier": (1 + 99 / n) ** 0.5}.get(truth, 1.0)
        found = compared(values - 2.9 * wider / n**0.5, GATE)
        by_t = (pl.col("difference") < 0) & (pl.col("p_t") <= 2 * GATE_ERROR)
        t_shows = len(found.table.filter(by_t)) / DRAWS
        record["kept"] = answers(found.gate(), "fail") - 0.9 * t_shows
    return record


def differences(rng, kind, n):
    """Return differences of n topics, shape (DRAWS, n), symmetric around 0."""
    shape = DRAWS, n
    values = rng.laplace(size=shape) / 2**0.5 if kind == "Laplace" else rng.normal(size=shape)
    if kind == "half zeros":
        values *= rng.random(shape) < 0.5
    if kind == "one outlier":
        values[:, 0] *= 10
    return values


def compared(values, level, n_resamples=2000, fine=200):
    """Return the comparison of a run for each row of values with a run that they differ from.

    A standard deviation is this many fine steps.
    """
    half = GRADES**2 // 2
    steps = np.clip(half + np.round(fine * values), 0, GRADES**2 - 1).astype(int)
    named = zip(["old", *map(str, range(DRAWS))], [[half] * values.shape[1], *steps], strict=True)
    judgements = {f"{q}": {} for q in range(values.shape[1])}
    runs = {}
    for name, row in named:
        runs[name] = {q: {f"{name} {i}": 2.0 - i for i in (0, 1)} for q in judgements}
        for q, step in zip(judgements, row, strict=True):
            digits = enumerate(divmod(step, GRADES))
            judgements[q] |= {f"{name} {i}": int(digit) for i, digit in digits}
    how = {"normalise": False, "level": level, "correction": "none", "n_resamples": n_resamples}
    judgements = dl.read_judgements(judgements, n_grades=GRADES)
    return dl.compare_systems(judgements, runs, METRIC, **how)


def answers(gate, answer):
    """Return how often a gate gives an answer."""
    return gate.table["verdict"].to_list().count(answer) / DRAWS


def graded_topics(rng, n, documents):
    """Return the grades of documents of n topics, each with a relevant one."""
    grades = rng.choice(4, p=[0.55, 0.25, 0.15, 0.05], size=(n, documents))
    grades[:, 0] = np.maximum(grades[:, 0], 1)
    return grades


def as_dictionaries(grades, old, new, topics):
    """Return judgements and runs of topics, some of which may be drawn several times."""
    tables = [
        {
            f"{i}": {f"d{j}": x for j, x in enumerate(row.tolist())}
            for i, row in enumerate(table[list(topics)])
        }
        for table in (grades, old, new)
    ]
    return tables[0], {"old": tables[1], "new": tables[2]}


def board(rng, truth, judge, n, n_systems=20, spread=0.06, noise=0.1, n_flips=10_000):
    """Return whether the open ranks of a board's systems hold all true ones, and their width.

    Beside them stand the ranks of single t tests, corrected by Holm and not corrected.
    """
    means = np.zeros(n_systems) if truth == "equal means" else rng.normal(0, spread, n_systems)
    values = means[:, None] + rng.normal(0, noise, (n_systems, n))
    ranks = {
        "": open_ranks(values[None], GATE, n_flips, int(rng.integers(2**31))),
        "_holm": ranks_by_t(values, GATE, "holm"),
        "_single": ranks_by_t(values, GATE, "none"),
    }

    # systems of equal means share their ranks
    record = {}
    first = 1 + (means > means[:, None]).sum(axis=1)
    last = n_systems - (means < means[:, None]).sum(axis=1)
    for name, (best, worst) in ranks.items():
        record[f"covered{name}"] = int(((best <= first) & (last <= worst)).all())
        record[f"width{name}"] = float((worst - best).mean())
    record["missed"] = 1 - record["covered"]
    return record | {"narrower": record["width"] - record["width_holm"]}


def ranks_by_t(values, level, correction):
    """Return the best and the worst ranks that t tests of all pairs leave open."""
    n_systems, n = values.shape
    first, second = np.triu_indices(n_systems, 1)
    gaps = values[first] - values[second]
    t = gaps.mean(axis=1) / gaps.std(axis=1, ddof=1) * n**0.5
    certain = corrected(2 * stdtr(n - 1, -abs(t)), correction) <= 1 - level

    # which of each pair is better
    better = np.zeros((n_systems, n_systems), dtype=bool)
    better[first, second] = certain & (t > 0)
    better[second, first] = certain & (t < 0)
    return 1 + better.sum(axis=0), n_systems - better.sum(axis=1)


LLMS = ("careless", "lenient", "leaning", "useless")
"""LLM judges that grade a quarter of the documents by chance, half of them a grade too high, half
of those in the new run's first five places a grade too high, or all by chance."""


def these_topics(rng, truth, judge, n, topics=53, documents=12):
    """Return whether intervals cover people's mean over all topics, of which they judged n.

    An LLM judged all; compared are people alone, and both, of these topics and of all.
    """
    grades = graded_topics(rng, topics, documents)
    shared = grades + rng.normal(size=grades.shape)
    old, new = (shared + noise * rng.normal(size=grades.shape) for noise in (0.9, 0.7))
    judgements, runs = as_dictionaries(grades, old, new, range(topics))
    llm, _ = as_dictionaries(by_llm(judge, grades, new, rng), old, new, range(topics))
    values = dl.evaluate(judgements, runs, "nDCG@10").values[:, 0]
    true = float(np.mean(values[1] - values[0]))

    # people's topics are a random part
    some = {q: judgements[q] for q in rng.choice(sorted(judgements), n, replace=False)}
    how = {"level": LEVEL, "n_resamples": 100}
    comparison = partial(dl.compare_systems, some, runs, "nDCG@10", **how)
    nothing = {q: dict.fromkeys(grades, 1) for q, grades in judgements.items()}

    these, of_all, alone = (
        comparison(llm=graded, topics=way).table.row(0, named=True)
        for graded, way in ((llm, "these"), (llm, "all"), (nothing, "these"))
    )
    signs = [int(row["difference"] * true > 0) for row in (these, alone)]
    return {
        "covered_these": int(these["low"] <= true <= these["high"]),
        "covered_all": int(of_all["low"] <= true <= of_all["high"]),
        "width": (these["high"] - these["low"]) / (alone["high"] - alone["low"]),
        "right": float(signs[0] - signs[1]),
    }


def by_llm(kind, grades, new, rng):
    """Return an LLM judge's grades, shape (topics, documents)."""
    chance, half = rng.integers(0, 4, grades.shape), rng.random(grades.shape) < 0.5
    higher = np.minimum(grades + 1, 3)
    ahead = np.argsort(np.argsort(-new, axis=1), axis=1) < 5
    return {
        "careless": np.where(rng.random(grades.shape) < 0.25, chance, grades),
        "lenient": np.where(half, higher, grades),
        "leaning": np.where(half & ahead, higher, grades),
        "useless": chance,
    }[kind]


# ---- trees

METRICS = {"textbook": (SHAPES["exponential gains, log2"][0], 1 / np.log2(np.arange(2, 12)))}
METRICS |= {
    name: SHAPES[name] for name in ("steep gains, flat discounts", "flat gains, steep discounts")
}
"""Gains of grades g, and discounts."""

ONE_THREAD = {**SHAPE, "num_threads": 1}


def trees(rng, truth, judge, n, n_trees=100):
    """Return the lead in test NDCG of trees on a DCG over LightGBM's lambdarank.

    Both grow equally many trees of equal size with the metric's gains; the number of trees is the
    one that is best on validation queries. Training sets have the shape of a fold of MQ2008.
    """
    import lightgbm

    train, valid, test = queries(rng, truth, n)
    gains, discounts = METRICS[judge]
    n_grades = max(part.n_grades for part in (train, valid, test))
    dcg = dl.DCG(gains(np.arange(n_grades, dtype=float)), discounts)

    # lambdarank with the metric's gains, and the default loss
    settings = {"objective": "lambdarank", "label_gain": list(dcg.gains), "force_col_wise": True}
    settings |= {**ONE_THREAD, "verbose": -1, "deterministic": True}
    data = lightgbm.Dataset(train.features, train.grades, group=train.sizes)
    theirs = lightgbm.train(settings, data, n_trees)
    ours = (
        dl.BoostedRanker(dl.losses.RegSHFSDCG(dcg), n_trees=n_trees, **ONE_THREAD)
        .fit(train)
        .booster_
    )

    # test NDCG
    scores = [scored(model, test, chosen(model, valid, dcg)) for model in (ours, theirs)]
    values = [float(test.evaluate(score, dcg).mean()) for score in scores]
    return {"lead": values[0] - values[1]}


def queries(rng, data, n, n_valid=157, n_test=400):
    """Return training, validation and test queries."""
    total, how = n + n_valid + n_test, {"n_features": 46, "random_state": rng}
    if data == "linear":
        made = dl.simulate.letor_queries(total, n_redundant=16, sizes=(6, 33), **how)
    else:
        made = dl.simulate.nonlinear_queries(total, 19, n_grades=3, noise=0.8, **how)
    return made[:n], made[n:-n_test], made[-n_test:]


def scored(model, queries, n_trees):
    """Return the scores of the first trees of a model."""
    return model.predict(queries.features, num_iteration=n_trees, num_threads=1)


def chosen(model, valid, dcg, every=5):
    """Return the number of trees that is best on the validation queries."""
    counts = range(every, model.num_trees() + every, every)
    values = [valid.evaluate(scored(model, valid, n), dcg).mean() for n in counts]
    return counts[int(np.argmax(values))]
