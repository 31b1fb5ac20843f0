"""Values of a DCG from elsewhere beside ours, and the conventions that explain where they differ."""

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from dcglearn.evaluation.evaluate import Evaluation, as_metrics, evaluate, longest_list
from dcglearn.evaluation.other_measures import usual_name
from dcglearn.evaluation.ranked import TIES, in_order
from dcglearn.evaluation.tables import JudgementsLike, RunsLike, read_judgements, read_runs
from dcglearn.evaluation.trec import Judgements, Run
from dcglearn.foundation.inputs import is_path
from dcglearn.foundation.plain_text import number_of, one_line
from dcglearn.foundation.sources import content
from dcglearn.foundation.validation import Floats, InputError, errors_in, listed
from dcglearn.metric.dcg import DCG
from dcglearn.metric.textbook import textbook_discounts, textbook_gains
from dcglearn.readers.column_roles import Role, first_names
from dcglearn.readers.line_formats import NUMBER, Records, shown
from dcglearn.readers.openers import opener_of, opener_of_bytes

MOST_SEARCHED = 100
"""Number of queries on which all conventions are tried."""

WORDS: dict[str, dict[Any, str]] = {
    "gain": {
        **{
            "linear": "gain g (linear)",
            "exponential": "gain 2^g - 1 (exponential)",
            "2^g": "gain 2^g",
        },
        **{
            "binary1": "gain 1 from grade 1 on (binary1)",
            "binary2": "gain 1 from grade 2 on (binary2)",
        },
    },
    "discount": {
        **{
            "log2": "discount 1/log2(i + 1) (log2)",
            "off by one": "discount 1/log2(i + 2), off by one",
        },
        "letor": "discount 1/log2(i) from rank 2 on (letor)",
        **{"ln": "discount 1/ln(i + 1)", "log10": "discount 1/log10(i + 1)"},
        **{
            "reciprocal": "discount 1/i (reciprocal)",
            "sqrt": "discount 1/sqrt(i) (sqrt)",
            "flat": "no discount",
        },
    },
    "scale": {1: "shares", 100: "percentages"},
    "normalise": {True: "division by an ideal", False: "no division by an ideal (--raw)"},
    "ideal": {
        "judgements": "the ideal of all judged documents",
        "list": "the ideal of the run's own documents (--ideal list)",
        "top": "the ideal of the run's documents above the cut-off",
        "uncut": "an ideal that goes on below the cut-off",
    },
    "ties": {
        "docno-desc": "ties by descending names (--ties docno-desc)",
        "docno-asc": "ties by ascending names",
        "stable": "ties in the order of the file (--ties stable)",
        "reversed": "ties in the reverse order of the file",
        "average": "tied documents that share their gains",
        "file": "the order of the file, whatever the scores",
        "ascending": "the lowest score first",
    },
    "unjudged": {
        "worst": "unjudged documents as the worst",
        "drop": "unjudged documents left out (--unjudged drop)",
    },
    "empty": {
        0.0: "0 for a query without a relevant document",
        1.0: "1 for a query without a relevant document",
    },
}
"""Conventions of each kind, and what they are called; those of `evaluate` first, as far as it has
them.
"""

QUERY = ("query", "query_id", "qid", "q_id", "topic", "topic_id", "id", "index", "unnamed: 0", "")
ROLES = {
    "query": Role("name", QUERY, required=True),
    "run": Role("name", ("run", "run_id", "tag", "system", "name", "model")),
    "measure": Role("name", ("measure", "metric")),
    "value": Role("name", ("value", "score"), required=True),
}
"""The columns of values, the first name that a table has counts; that of values may also be called
as its measure.
"""

MEANS = ("all", "mean", "average", "avg", "amean", "overall")
"""Queries that stand for the mean."""

BLANK = ("", "-", "nan", "na", "n/a", "null", "none")
"""Values that are missing."""

CLOSE = 1e-4
"""Values that differ by no more than this agree, whatever their digits."""

Definition = Mapping[str, Any]
"""How a (N)DCG is computed: a convention of each kind ("" for the metric's own gains or discounts),
and the cut-off.
"""

Tried = list[tuple[Definition, Floats]]


@dataclass(frozen=True)
class ExplainedValues:
    """What `explain_values` found; prints as sentences.

    `n_agreeing` of the `n` values agree with ours. `explained` tells whether some convention agrees
    with all of them; `changes` say where such conventions or, if there is none, the nearest differ
    from ours, the best first. `notes` are on missing queries and on the mean.
    """

    n: int
    n_agreeing: int
    explained: bool
    changes: tuple[str, ...]
    notes: tuple[str, ...]
    text: str

    def __str__(self) -> str:
        return self.text


def explain_values(
    values: Any,
    runs: RunsLike,
    judgements: JudgementsLike,
    metric: Any = "nDCG@10",
    **settings: Any,
) -> ExplainedValues:
    """Compare values of a (N)DCG from elsewhere with ours, and name the conventions that explain
    where they differ.

    Single changes of convention are tried first, then any two: gains, discounts (base of the
    logarithm, off by one), cut-off, the ideal ranking, order of ties, unjudged documents, queries
    without a relevant one. Raises InputError as in `evaluate`; if the metric is no DCG, or the
    values cannot be read or are of other queries, runs, measures.

    Parameters
    ----------
    values : path, data frame, or dict of query to value
        A table with columns of queries and values, and perhaps of runs and measures, under any of
        the usual names, or the output of ``trec_eval -q``, ir_measures or PyTerrier. A query "all"
        or "mean" is the mean.
    runs, judgements, metric, **settings
        As in `evaluate`, with one metric, a DCG.

    See Also
    --------
    evaluate : The values themselves.

    Examples
    --------
    >>> judged = {"q1": {"a": 3, "b": 1}, "q2": {"a": 2, "b": 1, "c": 0}}
    >>> run = {"mine": {"q1": {"b": 2.0, "a": 1.0}, "q2": {"c": 3.0, "b": 2.0, "a": 1.0}}}
    >>> print(explain_values({"q1": 0.7098, "q2": 0.5869}, run, judged))
    0 of 2 values agree with nDCG@10 to 0.0001; furthest is q1: 0.7098 there, 0.7967 here
    explained: all agree with gain 2^g - 1 (exponential) in place of gain g (linear)
    """
    duplicates = settings.get("duplicates", "error")
    judged, systems = read_judgements(judgements, duplicates), read_runs(runs, duplicates)
    evaluation = evaluate(systems, judged, metric, **settings)
    own = next(iter(as_metrics(metric, judged, systems).values()))
    if len(evaluation.metrics) > 1 or not isinstance(own, DCG):
        raise InputError(
            f"values are explained for one DCG or NDCG, not for {', '.join(evaluation.metrics)}"
        )
    theirs, tolerance, notes = read_values(values, evaluation.metrics[0], evaluation)
    n, present = int((~np.isnan(theirs)).sum()), np.flatnonzero(~np.isnan(theirs).all(axis=1))
    theirs, ours = theirs[present], np.nan_to_num(evaluation.values[present, 0])
    systems = [systems[r] for r in present]

    def fit(values: Floats, theirs: Floats = theirs) -> tuple[int, float]:
        """Return how many values agree, and minus the mean difference."""
        difference = np.abs(values - theirs)[~np.isnan(theirs)]
        return int((difference <= tolerance).sum()), -float(difference.mean())

    def furthest(values: Floats) -> str:
        r, q = np.unravel_index(np.nanargmax(np.abs(values - theirs)), theirs.shape)
        return one_line(
            f"; furthest is {evaluation.queries[q]}: {theirs[r, q]:.4f} there, {values[r, q]:.4f} here"
        )

    base = definition_of(own, **settings)
    tried = [(base, ours)] if fit(ours)[0] == n else _tried(base, systems, judged, own, theirs, fit)
    nearest, n_ours = tried[0][1], fit(ours)[0]
    n_nearest = fit(nearest)[0]
    changes = tuple(
        filter(
            None, (differences(way, base) for way, values in tried if fit(values)[0] == n_nearest)
        )
    )
    lines = [
        f"{n_ours} of {number_of(n, 'values')} agree with {evaluation.metrics[0]} to {tolerance:.1g}"
    ]
    lines[0] += furthest(ours) if n_ours < n else ""
    if n_ours < n_nearest == n:
        lines.append("\nor with ".join([f"explained: all agree with {changes[0]}", *changes[1:]]))
    elif n_ours < n:
        lines.append("not explained by one or two changes of convention")
        lines += (
            [f"nearest: {n_nearest} agree with {changes[0]}{furthest(nearest)}"]
            if n_ours < n_nearest
            else []
        )
    text = "\n".join([*lines, *(f"note: {note}" for note in notes)])
    return ExplainedValues(n, n_ours, n_nearest == n, changes, notes, text)


def definition_of(own: DCG, **settings: Any) -> Definition:
    """Return the definition of a metric with settings of `evaluate`."""
    gain = next(
        (x for x in WORDS["gain"] if np.array_equal(_gains(x, own.n_grades), own.gains)), ""
    )
    discount = next(
        (x for x in WORDS["discount"] if np.array_equal(_discounts(x, own.depth), own.discounts)),
        "",
    )
    usual = {kind: next(iter(words)) for kind, words in WORDS.items()}
    known = {kind: value for kind, value in settings.items() if kind in WORDS}
    known |= {"normalise": False} if own.plain else {}
    return {**usual, "cut-off": own.depth, "gain": gain, "discount": discount, **known}


def _gains(word: str, n_grades: int) -> Floats:
    grades = np.arange(n_grades, dtype=np.float64)
    return np.exp2(grades) if word == "2^g" else textbook_gains(word, grades)


def _discounts(word: str, depth: int) -> Floats:
    if word == "off by one":
        return textbook_discounts("log2", depth + 1)[1:]
    base = {"ln": np.e, "log10": 10}.get(word)
    return (
        textbook_discounts("log2", depth) * np.log2(base)
        if base
        else textbook_discounts(word, depth)
    )


def differences(way: Definition, base: Definition) -> str:
    """Return in words where a definition differs from another one."""

    def words(kind: str, value: Any) -> str:
        return WORDS.get(kind, {}).get(value) or (
            f"{kind} {value}" if value else f"the metric's own {kind}"
        )

    kinds = [kind for kind in way if way[kind] != base[kind]]
    return ", and ".join(
        f"{words(kind, way[kind])} in place of {words(kind, base[kind])}" for kind in kinds
    )


def changes_of(base: Definition, longest: int) -> list[Definition]:
    """Return the single changes that make another definition."""
    cutoffs = sorted(
        {1, 3, 5, 10, 20, 50, 100, 1000, base["cut-off"] - 1, base["cut-off"] + 1, longest}
    )
    words = {**WORDS, "cut-off": [cutoff for cutoff in cutoffs if 1 <= cutoff <= longest]}
    return [{kind: word} for kind in words for word in words[kind] if word != base[kind]]


def _tried(
    base: Definition,
    runs: Sequence[Run],
    judged: Judgements,
    own: DCG,
    theirs: Floats,
    fit: Callable[[Floats, Floats], tuple[int, float]],
) -> Tried:
    """Return definitions with their values, the best first: the base, single changes, pairs of
    them.
    """
    import polars as pl

    known = np.flatnonzero(~np.isnan(theirs).all(axis=0))
    chosen = known[np.unique(np.linspace(0, len(known) - 1, MOST_SEARCHED).astype(int))]
    queries = judged.frame["query"].unique().sort().gather(chosen)
    kept = pl.col("query").is_in(queries.implode())
    sample = (
        [Run(run.frame.filter(kept), run.name) for run in runs],
        replace(judged, frame=judged.frame.filter(kept)),
    )
    changes = changes_of(base, max(own.depth, longest_list(judged, *runs)))
    pairs = [{**a, **b} for a, b in combinations(changes, 2) if a.keys() != b.keys()]
    best: list[Definition] = [base]
    for more in (changes, pairs):
        with errors_in("the queries of the values"):
            searched = valued([{**base, **change} for change in more], *sample, own)
        searched.sort(key=lambda way: fit(way[1], theirs[:, chosen]), reverse=True)
        best += [way for way, _ in searched[:5]]  # the best are tried on all queries
        tried = sorted(
            valued(best, runs, judged, own), key=lambda way: fit(way[1], theirs), reverse=True
        )
        if fit(tried[0][1], theirs)[0] == (~np.isnan(theirs)).sum():
            break
    return tried


def valued(ways: Iterable[Definition], runs: Sequence[Run], judged: Judgements, own: DCG) -> Tried:
    """Return definitions, those without a meaning left out, with their values, shape (R, Q), 0 for
    missing queries.
    """
    longest = max(own.depth, longest_list(judged, *runs))
    alike: dict[tuple[Any, ...], list[Definition]] = {}
    for way in ways:
        cut = way["cut-off"] if way["ideal"] in ("top", "uncut") else None
        if way["ties"] != "average" or (cut is None and way["unjudged"] != "drop"):
            shared = (way[kind] for kind in ("normalise", "ideal", "ties", "unjudged", "empty"))
            alike.setdefault((*shared, cut), []).append(way)
    tried: Tried = []
    for (normalise, ideal, ties, unjudged, empty, cut), group in alike.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of scales, as the metric's own evaluation has warned
            evaluation = evaluate(
                [_reordered(run, ties, cut) for run in runs],
                judged,
                {str(i): _metric(way, own, longest) for i, way in enumerate(group)},
                normalise=normalise,
                ties=ties if ties in TIES else "stable",
                unjudged=unjudged,
                ideal="list" if ideal in ("list", "top") else "judgements",
                empty=empty,
            )
        values = np.nan_to_num(evaluation.values)
        tried += [(way, values[:, m] * way["scale"]) for m, way in enumerate(group)]
    return tried


def _metric(way: Definition, own: DCG, longest: int) -> DCG:
    """Return the DCG of a definition; `own` has the gains and discounts without a name."""
    gains = _gains(way["gain"], own.n_grades) if way["gain"] else own.gains
    depth = longest if way["ideal"] == "uncut" else way["cut-off"]
    return DCG(
        gains, _discounts(way["discount"], depth) if way["discount"] else own.discounts[:depth]
    )


def _reordered(run: Run, ties: str, cut: int | None) -> Run:
    """Return the run in an order of `WORDS`, for ``ties="stable"`` where that has no such order,
    down to a rank.
    """
    import polars as pl

    frame = {
        "docno-asc": lambda frame: frame.sort("document", maintain_order=True),
        "reversed": pl.DataFrame.reverse,
        "ascending": lambda frame: frame.with_columns(-pl.col("score")),
        "file": lambda frame: frame.with_columns(
            score=-pl.int_range(pl.len()).over("query").cast(pl.Float64)
        ),
    }.get(ties, pl.DataFrame.clone)(run.frame)
    if cut is not None:
        frame = in_order(frame, ties).group_by("query", maintain_order=True).head(cut)
    return Run(frame, run.name)


def read_values(
    values: Any, metric: str, evaluation: Evaluation
) -> tuple[Floats, float, tuple[str, ...]]:
    """Return values for the runs and queries of an evaluation, shape (R, Q), NaN where there is
    none.

    Also up to which difference values agree, by their digits, and notes. For parameters see
    `explain_values`.
    """
    name, rows = _rows(values, metric, evaluation)
    with errors_in(name):
        measures = {row["measure"] for _, row in rows}
        chosen = sorted(word for word in measures if _same(word, metric)) or sorted(measures)
        if len(chosen) != 1:
            raise InputError(
                f"values of {listed(chosen)}, but not of {metric}: name one of them as the metric"
            )
        rows = [(place, row) for place, row in rows if row["measure"] == chosen[0]]
        named = sorted({row["run"] for _, row in rows})
        runs = named if len(named) == len(evaluation.runs) == 1 else list(evaluation.runs)
        if not {*named} & {*runs}:
            theirs = listed(filter(None, named)) or "no run"
            raise InputError(f"values of {theirs}, where the runs are {listed(runs)}; give one run")
        found: dict[tuple[str, str], float] = {}
        for place, row in rows:
            key, number = (row["run"], row["query"]), row["value"].replace(",", ".")
            if key in found:
                raise InputError(f"{place}: the query {shown(key[1])} occurs twice")
            if number.lower() not in BLANK and not NUMBER.fullmatch(number):
                raise InputError(f"{place}: the value {shown(row['value'])} is not a number")
            found[key] = np.nan if number.lower() in BLANK else float(number)
        table = np.array(
            [[found.get((run, query), np.nan) for query in evaluation.queries] for run in runs]
        )
        others = sorted(
            {query for _, query in found if query.lower() not in MEANS}.difference(
                evaluation.queries
            )
        )
        if np.isnan(table).all():
            raise InputError(
                f"no value of a judged query, such as {evaluation.queries[0]}; found {listed(others[:3])}"
            )
    means = {run: value for (run, query), value in found.items() if query.lower() in MEANS}
    notes = [f"left out, as they are not judged: {listed(others)}"] if others else []
    known = table[~np.isnan(table)]
    digits = next(
        (d for d in range(10) if np.allclose(np.round(known, d), known, rtol=0, atol=1e-12)), 10
    )
    close = max(CLOSE, 0.5 * 10.0**-digits) + 1e-9  # half a unit of the last digit
    return (
        table,
        close,
        (*notes, *_of_missing(table, [means.get(run) for run in runs], evaluation, close)),
    )


def _rows(
    values: Any, metric: str, evaluation: Evaluation
) -> tuple[str, list[tuple[str, dict[str, str]]]]:
    """Return the name of the values, and the place and the cells by role of each row."""
    name, n_added = "values", 0
    if isinstance(values, Mapping):
        open_with: Any = partial(
            Records, [{"query": query, "value": value} for query, value in values.items()]
        )
    elif is_path(values):
        name, data = content(values, "one value a line")
        header = _lacking_header(data, evaluation)
        open_with, n_added = opener_of_bytes(name, header + data), header.count(b"\n")
    else:
        indexed = (
            values.reset_index() if hasattr(values, "reset_index") else values
        )  # pandas' index
        name, open_with = opener_of(indexed, ROLES)
    rows = []
    with errors_in(name):
        source = open_with(_roles(open_with({}).names, metric))
        for number, item in source:
            place = f"{source.unit} {number - n_added}"
            with errors_in(place):
                record = source.record(item)
            rows.append(
                (
                    place,
                    {role: "" if record.get(role) is None else str(record[role]) for role in ROLES},
                )
            )
    return name, rows


def _lacking_header(data: bytes, evaluation: Evaluation) -> bytes:
    """Return the header that a text lacks whose first line has a value: trec_eval and ir_measures
    print none.
    """
    lines = data.decode(errors="replace").strip().splitlines()
    mark = next((mark for mark in "\t;," if mark in lines[0]), "\t")
    fields = lines[0].split(mark)
    if len(fields) not in (2, 3) or not NUMBER.fullmatch(fields[-1].strip().replace(",", ".")):
        return b""
    by_query = {line.split(mark)[0].strip() for line in lines} & set(evaluation.queries)
    names = ("query", "measure", "value") if by_query else ("measure", "query", "value")
    return (mark.join(names if len(fields) == 3 else ("query", "value")) + "\n").encode()


def _roles(names: Sequence[str], metric: str) -> dict[str, Role]:
    """Return the roles of columns: queries may be in the first, and values in one called as the
    metric, or the rest.
    """
    roles, lower = first_names(names, ROLES), [name.strip().lower() for name in names]
    if len(lower) == 1:
        return roles
    if not {*QUERY} & {*lower}:
        roles["query"] = replace(roles["query"], names=tuple(lower[:1]))
    taken = {word for role in (*roles.values(), ROLES["query"]) for word in role.names}
    rest = [word for word in lower if word not in taken]
    rest = [word for word in rest if _same(word, metric)] or rest
    if not {*roles["value"].names} & {*lower}:
        accepted = tuple(rest) if len(rest) == 1 else (*roles["value"].names, metric.lower())
        roles["value"] = replace(roles["value"], names=accepted)
    return roles


def _same(word: str, metric: str) -> bool:
    return usual_name(word).lower() == usual_name(metric).lower()


def _of_missing(
    table: Floats, means: Sequence[float | None], evaluation: Evaluation, close: float
) -> Iterator[str]:
    """Yield notes on judged queries without a value, and on what the means count."""
    for r, (run, mean) in enumerate(zip(evaluation.runs, means, strict=True)):
        lacking = np.isnan(table[r])
        n = number_of(int(lacking.sum()), "judged queries")
        if lacking.any() and not lacking.all():
            absent = ", which the run does not have (--missing skip)"
            yield f"{run}: no value of {n}{absent if np.isnan(evaluation.values[r, 0][lacking]).all() else ''}"
        if mean is not None and not lacking.all():
            of_values, of_all = np.nanmean(table[r]), np.nansum(table[r]) / len(lacking)
            what = (
                f"counts {n} as 0"
                if abs(of_all - mean) <= 2 * close
                else "is not that of the values"
            )
            what = "is that of the values" if abs(of_values - mean) <= 2 * close else what
            yield f"{run}: the mean {mean:g} {what}"
