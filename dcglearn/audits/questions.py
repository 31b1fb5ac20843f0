"""The questions of an audit in order: what a log holds, what was learned, and what to do."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dcglearn.audits.inputs import LEARNED, Inputs
from dcglearn.coherence.disagreements import DisagreementMatrix, disagreement_matrix
from dcglearn.evaluation.people import People, drawn_metrics, shares_of_people
from dcglearn.evaluation.run_values import evaluate
from dcglearn.foundation.finding import Finding, Section, table_of
from dcglearn.foundation.plain_text import left_out, number_of
from dcglearn.foundation.validation import Fields
from dcglearn.learning.fit import Fit, fit_of
from dcglearn.learning.fit_qp import QPFit
from dcglearn.learning.usable_pairs import REASON, one_sided_raters, usable_pairs
from dcglearn.logs.columns import ties_of
from dcglearn.metrics.dcg import as_curves
from dcglearn.metrics.saved_metric import ScaleWarning
from dcglearn.trust.band_draws import FEWEST_DRAWN
from dcglearn.trust.coins import ASSUMED, NO_SIGNAL
from dcglearn.trust.resampling import no_more_lists

NAMED = 0.05
"""Members with this weight at least are named."""


def holdings(inputs: Inputs) -> Section:
    """Return the contents of the log, and what stands out."""
    # raters who name one side, whatever the lists
    log, fit, table = inputs.log, fit_of(inputs.fit), inputs.agreement.table
    raters: Fields = {"raters who always name one side are left out": one_sided_raters(log)}

    # raters who favour a side, or err far more often than judges do
    if "favours" in table.columns:
        for side in ("first", "second"):
            raters[f"favour the list shown {side}"] = table.filter(favours=side)["rater"]
    if fit is not None and "error" in table.columns:
        erring = table.filter(table["error_low"] > max(0.05, 2 * fit.error_rate))
        raters["raters who err far more often"] = erring["rater"]

    # all that stands out
    striking = [f"{who}: {', '.join(names)}" for who, names in raters.items() if len(names)]
    striking += [NO_SIGNAL] * inputs.tells_nothing
    striking += [*getattr(log.recognised, "notes", ()), *inputs.fit.cautions]

    # the sentence counts, and names what stands out most
    first, *others = striking or ["nothing in them stands out"]
    dropped = {**log.dropped, **inputs.fit.dropped, REASON: 0}
    said = left_out({reason: n for reason, n in dropped.items() if ": " not in reason})
    if n := log.n_contradicted():
        share = n / log.decided.total_weight
        pairs = f"{number_of(round(n, 1), 'pairs', ',.10g')}, {share:.1%} of those with a winner"
        said.insert(0, f"contradicted by another pair: {pairs}")
    return Section(f"{log.contents}: {'; '.join([first, *said])}", others)


def learned(inputs: Inputs) -> Section:
    """Return the gains and discounts that were learned, from what, and how the judges err."""
    fit, dcg = inputs.fit, inputs.dcg
    sentence, notes = dcg.sentence, [*dcg.notes]

    # coins teach nothing
    if inputs.tells_nothing:
        sentence = f"no gain or discount; these are {ASSUMED}: {sentence}"

    # the QP says how it was solved
    elif isinstance(fit, QPFit):
        sentence += (
            "; it is the nearest DCG to weights of each grade at each position, which the paper's "
            f"quadratic programme learned with C = {fit.options.C:g}"
        )
        proof = "proof: no other weights lower what it minimises by more than a share of"
        notes.insert(0, f"{proof} {fit.gap:.1e} (duality gap)")
    else:
        notes = [*_learned_from(fit), *notes]
    return Section(sentence, notes, rows=dcg.side_by_side)


def _learned_from(fit: Fit) -> list[str]:
    """Return from how many judgements a fit was made, what it is a mean of, and how judges err."""
    total, fewer = round(fit.pairs.total_weight), round(fit.n_effective)
    recur = f"; since lists recur, they tell as much as {fewer:,} independent ones"
    notes = [
        f"gains and discounts are learned from {number_of(total, 'judgements', ',')}"
        f"{'' if fewer == total else recur}"
    ]

    # of fewer judgements than numbers no share is told
    if fit.n_effective < fit.dcg.n_grades - 2 + fit.dcg.depth:
        return notes

    # what the DCG is a mean of, unless one makes up nearly all of it
    members = sorted(fit.members, key=lambda member: -member.weight)
    large = [f"{one.weight:.0%} {one.meaning}" for one in members if one.weight >= NAMED]
    if members and members[0].weight <= 0.99:
        notes.append(
            f"it is a mean, by how probable it is that people follow each: {'; '.join(large)}; "
            f"others have less than {NAMED:.0%} each; this log cannot tell them apart for certain"
        )
    wrong = f"about {fit.wrong_share:.1%} of the verdicts name the worse list; where it is far"
    return [*notes, f"{wrong} worse, at least about {fit.error_rate:.1%} do"]


def how_sure(inputs: Inputs) -> Finding:
    """Return the bands of gains and discounts, or why there are none."""
    return inputs.bands or Section(inputs.no_bands)


def sum_or_average(inputs: Inputs) -> Section | None:
    """Return whether people add up what they find or average it, where lists differ in length."""
    # lists of one length do not tell
    fit, dcg = fit_of(inputs.fit), inputs.dcg
    if inputs.tells_nothing or fit is None or fit.lead is None:
        return None
    if fit.form == fit.options.plain:
        return Section(
            "lists differ in length, but the log does not show that people average what they "
            "find, or that a useless result costs them anything"
        )

    # how near to an average, and what the worst grade costs, with their bands
    between, costs, bands = "", "", inputs.bands
    if bands is not None and bands.power_band is not None:
        between = ", 90% interval {:.2f} to {:.2f}".format(*bands.power_band)
        low, high = 100 * -bands.gain_band[:, 0]
        if high > 0:
            costs = (
                f"; a result of the worst grade costs {-dcg.gains[0]:.0%} of what one of the best "
                f"is worth (90% interval {high:.0f}% to {low:.0f}%)"
            )

    # what comes nearer
    which = "averaging what they find than to adding it up"
    if dcg.power <= 0.5:
        which = "adding up what they find than to averaging it"
    return Section(f"these people come nearer to {which} (p = {dcg.power:.2f}{between}){costs}")


def left_open(inputs: Inputs) -> Finding:
    """Return what the log cannot tell."""
    return Section("every gain and discount") if inputs.tells_nothing else inputs.fit.visible


SENTENCES = {
    "check the log": "check the grades and the verdicts first, not the metric: no metric is shown "
    "to order these pairs better than a coin",
    "change": "change from {} to the learned DCG",
    "keep": "keep {}{}",
    "judge more": "judge more before you change {}{}",
}
"""The headline of each verdict, with places for the name of the metric in use, and how far people
follow it."""


@dataclass(frozen=True, eq=False)
class Verdict(Section):
    """Whether to keep the metric, change it, or judge more, with what a first screen shows.

    `verdict` is a key of `SENTENCES`. Beside the curves, a page shows `figures`, each with what it
    is, and what `todo` says to do.
    """

    verdict: str = ""
    figures: Sequence[tuple[str, str]] = ()
    todo: str = ""


def verdict_on(inputs: Inputs) -> Verdict:
    """Return the verdict; its figures are shares of held-out verdicts, and the log."""
    held_out, (verdict, why) = inputs.held_out, _verdict(inputs)
    follow, figures = ": how far people follow it is not known", []

    # shares of held-out verdicts, if there are any
    if held_out is not None:
        share = held_out[held_out.baseline].share
        follow = f", which orders {100 * share:.0f} of 100 held-out verdicts as people did"
        shares = f"{held_out.rows[0].share:.0%} against {share:.0%}"
        ordered = (
            f"of {held_out.n_held_out:,} held-out verdicts are ordered as people did by {LEARNED}, "
            f"and by {inputs.name}"
        )
        figures.append((shares, ordered))

    # where people follow one of the two, in verdicts of 100
    sentence = SENTENCES[verdict].format(inputs.name, follow)
    if held_out is not None and held_out.followed:
        share, theirs = held_out.with_learned, LEARNED
        if held_out.followed == "in use":
            share, theirs = 1 - share, inputs.name
        of_100, go = f"{100 * share:.0f} of 100", f"verdicts go with {theirs}"
        sentence += f": where the two metrics differ, {of_100} {go}"
        figures.append((of_100, f"{go}, of {held_out.apart:,} on which the two differ"))
    figures.append((inputs.counted, inputs.log.contents))

    # the curves, and what to do next
    curves = as_curves({"learned": inputs.dcg, inputs.name: inputs.baseline}, inputs.bands)
    todo = _how_many_more(inputs)
    return Verdict(sentence, [why], (), "", curves, verdict, figures, todo)


def _verdict(inputs: Inputs) -> tuple[str, str]:
    """Return the verdict and why: to keep, where the learned DCG is ahead by less than 1%, too."""
    held_out = inputs.held_out

    # what comes before any comparison
    if inputs.tells_nothing:
        return "check the log", f"nothing is told that goes by the learned DCG: it is {ASSUMED}"
    if inputs.proof.coherent:
        return "keep", "it orders all lists as the learned DCG does: nothing would change"

    # whom people follow
    if held_out is None:
        return "judge more", f"not known which metric people follow: {inputs.comparison.sentence}"
    if held_out.followed:
        return "change" if held_out.followed == "learned" else "keep", held_out.whom

    # the most that could be gained, at the upper end of its interval
    most = held_out[held_out.baseline].high
    gained = f"at most {max(100 * most, 0):.1f} percentage points could be gained"
    return ("keep", f"{held_out.whom}; {gained}") if most < 0.01 else ("judge more", held_out.whom)


def beside(inputs: Inputs) -> Section | None:
    """Return where gains and discounts of the metric in use lie outside the bands."""
    import polars as pl

    usual, name, bands = inputs.baseline, inputs.name, inputs.bands
    if bands is None:
        return None

    # the power is the last row, where it is free
    ends = bands.table.select("parameter", low="all_low", high="all_high")
    in_use = [*usual.gains, *usual.discounts, usual.power][: len(ends)]
    table = ends.insert_column(1, pl.Series(name, in_use))

    # numbers whose band leaves out the metric in use
    outside = table.filter(~pl.col(name).is_between("low", "high"))["parameter"]
    which = ", ".join(outside) or "none"
    sentence = f"gains and discounts of {name} outside the 90% bands of all at once: {which}"
    return Section(sentence, rows=table.to_dicts())


def disagreement(inputs: Inputs) -> DisagreementMatrix:
    """Return how often the two metrics disagree."""
    return disagreement_matrix(inputs.metrics, random_state=inputs.random_state)


def disputed(inputs: Inputs) -> Section:
    """Return three pairs of the log on which the metrics disagree, those most judged first.

    Beside the list that each metric prefers stands the weight of the verdicts for it.
    """
    log = usable_pairs(inputs.log)
    mine, theirs = (log.verdicts(metric) for metric in inputs.metrics.values())
    apart = mine * theirs == -1

    # the list that each metric prefers, and the weight of the verdicts
    log, mine = log[apart], mine[apart]
    tie, sides = ties_of(log), (log.preferred, log.other)
    ahead = np.where(mine[:, None] > 0, sides, sides[::-1]).astype(int)
    columns = dict(zip((f"{name} prefers" for name in inputs.metrics), ahead, strict=True))
    judged = np.ones(len(log), int) if log.weight is None else log.weight
    for_first = judged * (mine > 0) * ~tie
    verdicts = {"judged": judged, "tied": judged * tie, "for the first": for_first}

    # each pair once
    pairs = table_of(columns | verdicts).group_by([*columns], maintain_order=True).sum()
    rows = pairs.sort("judged", descending=True, maintain_order=True).head(3).to_dicts()
    differ = number_of(len(pairs), "different pairs of lists", ",")
    return Section(f"the two metrics disagree on {differ} of the log", rows=rows)


def survival(inputs: Inputs) -> Section | None:
    """Return how many conclusions on systems survive every DCG that the log allows, of 100."""
    order, systems = inputs.order, inputs.systems
    draws = drawn_metrics(inputs.dcg, 100)
    if order is None or systems is None or not draws:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ScaleWarning)  # given for the learned DCG before
        drawn = evaluate(*systems, draws)

    # pairs of systems by falling means under the metric in use
    means = drawn.means[[drawn.runs.index(run) for run in order.evaluation.runs]]
    first, second = np.triu_indices(len(means), 1)
    held = (means[first] > means[second]).mean(axis=1)

    # those that all draws order alike, either way
    survive, overturned = int((held == 1).sum()), int((held == 0).sum())
    return Section(
        f"of {number_of(len(held), 'pairs of systems', ',')} every DCG that these verdicts allow "
        f"orders {survive:,} as {inputs.name} and {overturned:,} the other way; left open: "
        f"{len(held) - survive - overturned:,}",
        rows=[{"pairs": len(held), "survive": survive, "overturned": overturned}],
    )


def people(inputs: Inputs) -> People | None:
    """Return shares of people for the best system under the learned DCG and the best in use.

    Where they are one, the next best under the learned DCG stands for the latter.
    """
    if inputs.order is None:
        return None

    # the best in use comes first
    evaluation = inputs.order.evaluation
    best, second = np.argsort(-evaluation.means[:, 1], kind="stable")[:2].tolist()
    return shares_of_people(evaluation, [(best, 0 if best else second)], 0.95, inputs.random_state)


def next_step(inputs: Inputs) -> Section:
    """Return how many more judgements to collect, and the columns that would tell more.

    Rated lists need none of these.
    """
    columns = {
        "swapped": "add the column swapped, or shown_left: it tells whether judges favour a side",
        "rater": "add the column rater: it tells who errs, and how far raters agree",
    }
    log = inputs.log
    asks = [
        ask for name, ask in columns.items() if log.ratings is None and getattr(log, name) is None
    ]
    return Section(_how_many_more(inputs), asks)


def _how_many_more(inputs: Inputs) -> str:
    """Return how many more judgements make bands half as wide.

    A log that tells nothing is to be checked first.
    """
    bands = inputs.bands
    if inputs.tells_nothing:
        return (
            "check first how winners, ratings and grades were read: more judgements like these "
            "would tell nothing either"
        )
    if bands is None:
        return inputs.no_bands

    # four times as many make bands half as wide
    more = 3 * bands.n_units
    units = "queries" if bands.by == "query" else f"{bands.by}s"
    return (
        no_more_lists(inputs.log, bands.by, bands.n_units + more, FEWEST_DRAWN)
        or f"to halve the width of the bands, collect judgements of about {more:,} more {units}; "
        f"this log has {bands.n_units:,} to learn from (the width falls with the root of their "
        "number)"
    )
