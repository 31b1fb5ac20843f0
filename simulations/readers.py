"""Readers of real logs: the gains and discounts that each follows, side by side.

python -m simulations.readers data news
python -m simulations.readers data news --names dcglearn/metrics/readers.json --force

PATH is a folder, or a file, of published data (see `simulations.reader_logs`): people in web
search, in search of news, with music and in a news feed; language models that answer from passages.
What is not there is left out. For each reader the program learns a DCG with bands, with free
discounts where the log speaks against falling ones; tests discounts and products; and compares
shares of held-out preferences with textbooks', by person, query or list, with intervals corrected
for splits that share their training data (Nadeau and Bengio).

Last, each reader is left out in turn: do the readers known by name, but itself, help as further
candidates beside the textbooks? The default learner is taught 20 to 60 judgements, with these
candidates and without. What was decided before any run: they belong among the default's candidates
only if the mean lead over all readers left out is above 0, with its whole interval, and none has an
interval, not corrected, that lies below 0.

The program writes readers.csv, .png and .pdf, and with --names the file of the names.
"""

from __future__ import annotations

import datetime
import json
import os
import re
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, cast

import numpy as np
import polars as pl
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator
from tqdm import tqdm

import dcglearn as dl
from simulations.claims import Claim, Interval, interval
from simulations.reader_logs import PASSAGES, SOURCES, exposure, found, places_of
from simulations.results import Program, produce, read
from simulations.run import mapped, parser

SHARE = 0.8
"""Share of people, queries or lists in training."""

OVERLAP = (1 - SHARE) / SHARE
"""Ratio of test to training units, for the correction of intervals."""

SIZES = (20, 30, 40, 60)
"""Numbers of judgements at which candidates are compared."""

LEFT_OUT = 5
"""Repeats of a reader left out, for each split of its shares."""

FEWEST_PEOPLE = 30
"""With fewer people, or questions, the picture shows bands without the curve."""

LEVEL = 0.9
"""Level of bands."""

SIDES = ("gains", "discounts")

COLOUR, TIME = (style["color"] for style in dl.plots.LINE_STYLES[:2])
"""Colours of what is learned, and of time in view."""

BEHIND: dict[str, Any] = {"color": "0.55", "lw": 1.2, "ls": (0, (4, 2))}
"""Look of the usual metric."""

NOTE = "* the people who grade the items\nalso rate the list (halo)\n"
"""What a star at a title means."""

USUAL = "exponential-log2"
TEXTBOOKS = (USUAL, "linear-log2", "exponential-flat")
"""Textbooks that stand beside what is learned; the first is the usual choice."""


@dataclass(frozen=True)
class Readers:
    """The study, as `simulations.results.produce` takes it, of the files of some readers."""

    files: Mapping[str, Path]

    STEM: ClassVar = "readers"
    REPEATS: ClassVar = 20
    PANELS: ClassVar = (3, 5)
    FIGSIZE: ClassVar = (11.0, 7.2)

    def simulate(self, seed: int, repeats: int, quick: bool, jobs: int | str) -> Iterator[Any]:
        """Yield the records of all parts."""
        tasks: list[tuple[Any, ...]] = []
        for name in self.files:
            tasks.append(("curves", name, seed, quick))
            if SOURCES[name].unit == "question":
                continue
            tasks += [("shares", name, seed, repeat) for repeat in range(repeats)]
            times = repeats if quick else LEFT_OUT * repeats
            tasks += [("left out", name, seed, repeat) for repeat in range(times)]
        with closing(mapped(partial(work, dict(self.files)), tasks, jobs)) as results:
            for records in tqdm(results, total=len(tasks), disable=None, leave=False):
                yield from records

    def plot(self, table: pl.DataFrame, axes: Any) -> None:
        """Draw people's discounts and gains, then exposure, and language models by place."""
        known = [name for name in SOURCES if name in table["reader"].unique()]
        people = [name for name in known if SOURCES[name].unit != "question"]
        models = [name for name in known if SOURCES[name].unit == "question"]
        for column, name in zip(axes.T, people, strict=False):
            draw_curve(column[0], table, name, "share")
            draw_curve(column[1], table, name, "gain")

        # the last row, and places without a panel
        last = iter(axes[2])
        for name in models:
            places = table.filter(part="place", metric="log odds", reader=name)
            lengths = places["n"].unique().sort().to_list()
            for chosen in (lengths[:3], lengths[4:]):
                if chosen:
                    draw_places(next(last), places, name, chosen)
        for panel in axes.flat:
            panel.set_axis_on() if panel.has_data() else panel.set_axis_off()

        # what the lines are
        key = axes[2, 3]
        lines = {
            "learned, with its 90% band": {"color": COLOUR, "marker": "o"},
            f"usual: {USUAL}": BEHIND,
            "share of time in view": {"color": TIME, "marker": "s", "ls": "--"},
        }
        handles = [Line2D([], [], **{"markersize": 4, **look}) for look in lines.values()]
        legend = key.legend(handles, lines, loc="upper left", title=NOTE, title_fontsize=9)
        legend.set_in_layout(False)

    def claims(self, table: pl.DataFrame) -> Iterator[Claim]:
        """Yield no claim: the program compares what it is given."""
        return iter(())


def few(table: pl.DataFrame, name: str) -> bool:
    """Return whether a reader's people, or questions, are too few for a curve without its band."""
    counted = pl.col("metric").is_in(["people", "queries", "questions"])
    sizes = table.filter(counted, part="size", reader=name)["value"]
    return bool(len(sizes)) and sizes.min() < FEWEST_PEOPLE


def draw_curve(axes: Any, table: pl.DataFrame, name: str, side: str) -> None:
    """Draw a reader's gains, or its discounts as shares of their sum, with their band.

    The usual ones stand behind; the share of time by position beside the discounts, where it is
    known.
    """
    rows = table.filter(part="curve", reader=name, curve=side)
    axes.plot(rows["at"], rows["textbook"], **BEHIND)
    axes.fill_between(rows["at"], rows["low"], rows["high"], color=COLOUR, alpha=0.2, lw=0)
    if not few(table, name):
        axes.plot(rows["at"], rows["value"], color=COLOUR, marker="o", markersize=3, lw=1.4)
    time = table.filter(part="exposure", reader=name) if side == "share" else rows.clear()
    if len(time):
        axes.plot(time["at"], time["value"], color=TIME, marker="s", markersize=3, lw=1.2, ls="--")

    # words
    mark = "*" if SOURCES[name].halo else ""
    axes.set_title(f"{SOURCES[name].title}{mark}")
    axes.set_ylim(0, None)
    axes.set_xlabel("grade" if side == "gain" else "position")
    if axes.get_subplotspec().is_first_col():
        axes.set_ylabel("gain" if side == "gain" else "discount, share of their sum")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=5))


def draw_places(axes: Any, places: pl.DataFrame, name: str, lengths: Sequence[int]) -> None:
    """Draw what is left of the first place's gain, by the place's share of the passages."""
    for style, n in zip(dl.plots.LINE_STYLES, lengths, strict=False):
        rows = places.filter(n=n).sort("at")
        x = np.append(0.0, (rows["at"].to_numpy() - 1) / (n - 1))
        y, low, high = (np.append(1.0, rows[key].to_numpy()) for key in ("value", "low", "high"))
        axes.plot(x, y, label=f"{n}", lw=1.3, markersize=3.5, **style)
        axes.fill_between(x, low, high, color=style["color"], alpha=0.1, lw=0)
    axes.axhline(1.0, color="0.6", lw=0.8)
    axes.set(ylim=(0, 1.5), xlabel="place among the passages", xticks=[0, 0.5, 1])
    axes.set_xticklabels(["first", "middle", "last"])
    axes.set_title(SOURCES[name].title)
    if axes.get_subplotspec().is_first_col():
        axes.set_ylabel("share of the first place's gain")
    room = {"columnspacing": 0.8, "handlelength": 1.4, "handletextpad": 0.4, "borderpad": 0.1}
    legend = {"fontsize": 7.5, "title": "passages", "title_fontsize": 7.5, "loc": "lower left"}
    axes.legend(ncols=len(lengths), **legend, **room)


def work(files: Mapping[str, Path], task: tuple[Any, ...]) -> list[dict[str, Any]]:
    """Return the records of a task: a part of the study of one reader."""
    part, name, seed, which = task
    parts = {"curves": curves, "shares": shares, "left out": left_out}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        records = [*parts[part](name, files[name], seed, which)]
    return [{"reader": name, **record} for record in records]


def curves(name: str, path: Path, seed: int, quick: bool) -> Iterator[dict[str, Any]]:
    """Yield a reader's size, tests, and gains and discounts with their bands."""
    log, source = SOURCES[name].read(path), SOURCES[name]
    if source.unit == "question":
        yield from of_answers(name, path, log, seed, quick)
        return

    # how large the log is
    n_lists = log.n_lists if log.ratings is None else int(log.ratings.weight.sum())
    kind = "verdicts" if log.ratings is None else "rated lists"
    yield {"part": "size", "metric": kind, "value": len(log) if log.ratings is None else n_lists}
    labels = {"rater": log.rater, "query": log.query}.get(source.unit)
    if labels is not None:
        of = {"rater": "people", "query": "queries"}[source.unit]
        yield {"part": "size", "metric": of, "value": len(np.unique(labels))}
    yield {"part": "size", "metric": "different pairs", "value": len(log.decided)}

    # the nested tests
    rising = dl.trust.rising_discounts(log)
    tested = dl.trust.position_dependence(log, n_resamples=39 if quick else 199, random_state=seed)
    yield {"part": "test", "metric": "rising discounts", "value": rising.p_value}
    yield {"part": "test", "metric": "position dependence", "value": tested.p_value}

    # the curves of both shapes, and bands of the one that the log supports
    own = "free" if rising.p_value <= 0.05 else "falling"
    for shape in ("falling", "free"):
        learner = dl.DCGLearner(discounts=shape)
        draws = ()
        if shape == own:
            drawn = dl.bands(log, learner, random_state=seed, n_resamples=20 if quick else 200)
            draws = (drawn.gains, drawn.discounts)
        dcg = learner.fit(log).dcg_
        part = "curve" if shape == own else "other shape"
        yield from curve_rows(part, shape, dcg, *draws)

    # where people look
    if name == "news-feed":
        seen = exposure(path)
        for (position,), rows in seen.group_by("position", maintain_order=True):
            share = interval(rows["share"])
            ends = {"value": share.mean, "low": share.low, "high": share.high}
            yield {"part": "exposure", "at": position, **ends}


def curve_rows(part: str, shape: str, dcg: dl.DCG, *draws: Any) -> Iterator[dict[str, Any]]:
    """Yield rows of gains, of discounts, and of discounts as shares of their sum.

    `draws` are gains, shape (B, L), and discounts, shape (B, K). A band that the curve lies beyond
    ends there.
    """
    usual = dl.DCG.standard(dcg.n_grades, dcg.depth).normalised()
    first = (dcg.gains, usual.gains, *draws[:1])
    second = (dcg.discounts, usual.discounts, *draws[1:])
    share = tuple(curve / curve.sum(axis=-1, keepdims=True) for curve in second)
    sides = {"gain": first, "discount": second, "share": share}
    for side, (values, textbook, *drawn) in sides.items():
        ends = {}
        if drawn:
            low, high = np.percentile(drawn[0], [50 * (1 - LEVEL), 50 * (1 + LEVEL)], axis=0)
            ends = {"low": np.minimum(low, values), "high": np.maximum(high, values)}
        columns = {"value": values, "textbook": textbook, **ends}
        for i in range(len(values)):
            row = {"part": part, "metric": shape, "curve": side, "at": i + (side != "gain")}
            yield row | {name: float(column[i]) for name, column in columns.items()}


def of_answers(
    name: str, path: Path, answers: Any, seed: int, quick: bool
) -> Iterator[dict[str, Any]]:
    """Yield the size, test, curves and shares of a language model's answers."""
    # as it is learned
    fit = dl.learn_from_answers(answers, random_state=seed)
    for fact in ("answers", "questions"):
        yield {"part": "size", "metric": fact, "value": fit.facts[fact]}
    test = dl.trust.rising_discounts(answers, dl.DCGLearner(zero="none"))
    yield {"part": "test", "metric": "rising discounts", "value": test.p_value}
    for rows in fit.held_out.values():
        for row in rows:
            lead = {"lead": row.difference, "low": row.low, "high": row.high}
            yield {"part": "held out", "metric": row.name, "value": row.share, **lead}

    # bands by drawing questions
    rng = np.random.default_rng(seed)
    rows_of = [np.flatnonzero(answers.question == one) for one in np.unique(answers.question)]
    draws = []
    for _ in range(3 if quick else 100):
        chosen = rng.integers(0, len(rows_of), len(rows_of))
        lines = [
            {
                "question": i,
                "list": answers.lists[row][answers.lists[row] > -2].tolist(),
                "right": float(answers.right[row]),
            }
            for i, question in enumerate(chosen)
            for row in rows_of[question]
        ]
        draws.append(dl.learn_from_answers(dl.io.read_answers(lines)).dcg)
    gains, discounts = (np.array([getattr(x, side) for x in draws]) for side in SIDES)
    yield from curve_rows("curve", "free", fit.dcg, gains, discounts)

    # what is left of the gain by place, for all numbers of passages
    for passages, places in places_of(path, name).items():
        asked = SOURCES[name].read(path, passages=passages, places=places)
        for row in dl.learn_from_answers(asked, random_state=seed).by_place:
            if row["of_the_gain_from"] == "the first place":
                place = {"at": places[row["place"] - 1] + 1, "n": passages}
                for metric, key in (("log odds", "share"), ("probability", "in_probability")):
                    ends = {end: row[f"{key}_{end}"] for end in ("low", "high")}
                    more = {"value": row[key], "right": row["right"], **ends}
                    yield {"part": "place", "metric": metric, **place, **more}


def shares(name: str, path: Path, seed: int, repeat: int) -> Iterator[dict[str, Any]]:
    """Yield the shares of the preferences of a split's held-out people, queries or lists."""
    log, source = SOURCES[name].read(path), SOURCES[name]
    train, test = log.split(SHARE, random_state=seed + repeat, by=source.unit)
    default = dl.DCGLearner().fit(train)
    textbook = dl.textbook_dcgs(log.n_grades, log.depth)
    best = max(textbook.values(), key=lambda dcg: train.agreement(dcg).share)
    metrics = {
        "default": default.dcg_,
        "free discounts": dl.DCGLearner(discounts="free").fit(train).dcg_,
        "best textbook in training": best,
        **{word: textbook[word] for word in TEXTBOOKS},
    }

    # discounts as people's time
    if name == "news-feed":
        people = exposure(path).filter(
            pl.col("userid").cast(pl.String).is_in(np.unique(train.rater))
        )
        seen = people.group_by("position").agg(pl.col("share").mean()).sort("position")["share"]
        prior = dl.DCG(textbook["linear-flat"].gains, (seen / seen[0]).to_numpy())
        metrics["exposure as prior"] = dl.DCGLearner(prior=prior).fit(train).dcg_
        metrics["exposure as discounts"] = prior
    for metric, dcg in metrics.items():
        share = test.agreement(dcg).share
        yield {"part": "share", "metric": metric, "repeat": repeat, "value": share}


def left_out(name: str, path: Path, seed: int, repeat: int) -> Iterator[dict[str, Any]]:
    """Yield held-out shares after few judgements, without the other readers and with them."""
    log, source = SOURCES[name].read(path), SOURCES[name]
    train, test = log.split(SHARE, random_state=seed + repeat, by=source.unit)
    others = [f"reader:{other}" for other in SOURCES if other != name]
    weight = np.ones(len(train)) if train.weight is None else np.asarray(train.weight)
    rng = np.random.default_rng([seed, repeat])
    for n in SIZES:
        drawn = rng.choice(len(train), n, p=weight / weight.sum())
        few = train.reweighted(np.bincount(drawn, minlength=len(train)))
        row = {"part": "left out", "repeat": repeat, "n": n}
        for metric, candidates in (("textbooks", ()), ("and readers", others)):
            dcg = dl.DCGLearner(candidates=candidates).fit(few).dcg_
            yield {**row, "metric": metric, "value": test.agreement(dcg).share}


def leads(table: pl.DataFrame) -> pl.DataFrame:
    """Return the mean lead of further candidates by reader left out, and over all readers.

    The interval of a reader is not corrected for what splits share, that over all readers is.
    """
    rows = table.filter(part="left out")
    if rows.is_empty():
        raise dl.InputError("no reader was left out: only logs of people are; name one")
    both = rows.pivot(on="metric", index=["reader", "repeat", "n"], values="value")
    by_repeat = both.group_by("reader", "repeat", maintain_order=True).agg(
        pl.col("textbooks", "and readers").mean(),
        lead=(pl.col("and readers") - pl.col("textbooks")).mean(),
    )
    records = []
    for (name,), part in by_repeat.group_by("reader", maintain_order=True):
        records.append(_lead_row(name, part, interval(part["lead"])))
    every = by_repeat.group_by("repeat", maintain_order=True).agg(
        pl.col("textbooks", "and readers", "lead").mean()
    )
    records.append(_lead_row("all", every, interval(every["lead"], OVERLAP)))
    return pl.DataFrame(records)


def _lead_row(name: str, part: pl.DataFrame, lead: Interval) -> dict[str, Any]:
    means = {column: part[column].mean() for column in ("textbooks", "and readers")}
    return {"left_out": name, **means, "lead": lead.mean, "low": lead.low, "high": lead.high}


def verdict(table: pl.DataFrame) -> str:
    """Return whether readers belong among the default's candidates, by the rule stated above."""
    rows = leads(table)
    rises = rows.filter(left_out="all")["low"][0] > 0
    fall = rows.filter((pl.col("left_out") != "all") & (pl.col("high") < 0))["left_out"].to_list()
    if rises and not fall:
        return "by the rule, readers belong among the default's candidates"
    reason = "" if rises else "the share does not rise clearly"
    worse = f"it falls on {', '.join(fall)}" if fall else ""
    reasons = " and ".join(filter(None, [reason, worse]))
    return f"by the rule, readers do not belong among the default's candidates: {reasons}"


def held_out_shares(table: pl.DataFrame) -> pl.DataFrame:
    """Return each metric's mean share by reader, and the default's lead over it with its interval.

    Of language models, shares are those of held-out comparisons within questions.
    """
    records = []
    rows = table.filter(part="share")
    for (name,), part in rows.group_by("reader", maintain_order=True):
        own = part.filter(metric="default").sort("repeat")["value"]
        for (metric,), one in part.group_by("metric", maintain_order=True):
            values = one.sort("repeat")["value"]
            lead = interval(own - values, OVERLAP)
            ends = (None, None, None) if metric == "default" else (lead.mean, lead.low, lead.high)
            records.append((name, metric, float(values.mean()), *ends))
    for row in table.filter(part="held out").iter_rows(named=True):
        ends = (row["lead"], row["low"], row["high"]) if row["lead"] else (None, None, None)
        records.append((row["reader"], row["metric"], row["value"], *ends))
    columns = ["reader", "metric", "share", "lead", "low", "high"]
    return pl.DataFrame(records, schema=columns, orient="row", infer_schema_length=None)


def names_of(table: pl.DataFrame, date: str) -> dict[str, Any]:
    """Return the file of readers by name: their curves, bands, sizes and sources."""
    readers = {}
    for (name,), rows in table.filter(part="curve").group_by("reader", maintain_order=True):
        sizes = table.filter(part="size", reader=name)
        free = rows["metric"][0] == "free"
        entry: dict[str, Any] = {
            "title": SOURCES[name].title,
            "source": SOURCES[name].cite,
            "size": ", ".join(
                f"{n:,.0f} {kind}" for kind, n in sizes.select("metric", "value").rows()
            ),
            "learned": f"{'free' if free else 'falling'} discounts",
            "date": date,
        }
        for side, band in (("gain", "gain"), ("discount", "share")):
            entry[f"{side}s"] = _rounded(rows, side, "value")
            entry[f"{band}_band"] = [_rounded(rows, band, end) for end in ("low", "high")]
        if SOURCES[name].unit == "question":
            entry["learned"] += f", {PASSAGES} passages of which one is right"
        readers[name] = entry
    return {"format": "dcglearn.readers", "version": 1, "readers": readers}


def _rounded(rows: pl.DataFrame, curve: str, column: str) -> list[float]:
    return [round(x, 4) for x in rows.filter(curve=curve).sort("at")[column]]


def write_names(table: pl.DataFrame, path: Path, *, force: bool) -> None:
    """Write the file of names, whole or not at all; raise InputError if it exists, or cannot be."""
    if path.exists() and not force:
        raise dl.InputError(f"{path} exists; --force replaces it")
    text = json.dumps(names_of(table, datetime.date.today().isoformat()), indent=1)
    text = re.sub(r"\[\s+([^][]*?)\s+\]", lambda row: f"[{' '.join(row[1].split())}]", text)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_text(f"{text}\n", encoding="utf-8")
        temporary.replace(path)
    except OSError as error:
        raise dl.InputError(f"{path}: not written ({error.strerror})") from error
    finally:
        temporary.unlink(missing_ok=True)


def _refuse_others(study: Readers, chosen: Any) -> None:
    """Raise InputError if the table that would be kept is of other readers."""
    if chosen.force or chosen.redraw or not (chosen.folder / f"{study.STEM}.csv").is_file():
        return
    kept = set(read(chosen.folder, study.STEM)["reader"])
    if kept != set(study.files):
        raise dl.InputError(
            f"{chosen.folder / study.STEM}.csv holds {', '.join(sorted(kept))}; give another "
            "--folder, or --force to replace it"
        )


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the logs, make table and picture, and print shares and the result for candidates."""
    options = parser(__doc__ or "")
    options.add_argument("paths", type=Path, nargs="+", metavar="PATH")
    options.add_argument("--names", type=Path, metavar="FILE", help="write the readers' names here")
    chosen = options.parse_args(arguments)
    study = Readers(found(chosen.paths))
    if chosen.names is not None and chosen.names.exists() and not chosen.force:
        raise dl.InputError(f"{chosen.names} exists; --force replaces it")
    missing = [name for name in SOURCES if name not in study.files]
    if missing:
        print(f"left out, since no PATH holds them: {', '.join(missing)}", file=sys.stderr)
    _refuse_others(study, chosen)
    produce(cast(Program, study), chosen)

    # what was found
    table = read(chosen.folder, study.STEM)
    tests = table.filter(pl.col("part").is_in(["size", "test"])).select("reader", "metric", "value")
    with pl.Config(tbl_rows=-1, tbl_cols=-1, tbl_hide_dataframe_shape=True, float_precision=4):
        print(tests, held_out_shares(table), sep="\n")
        if "left out" in table["part"]:
            print(leads(table), verdict(table), sep="\n")
    if chosen.names is not None:
        write_names(table, chosen.names, force=chosen.force)


if __name__ == "__main__":
    try:
        main()
    except dl.InputError as error:
        print(f"readers: {error}", file=sys.stderr)
        sys.exit(2)
