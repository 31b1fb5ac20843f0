"""Sections of the report on a learned DCG: what was read, what was learned, and from whom."""

from __future__ import annotations

from itertools import zip_longest
from math import isfinite
from typing import TYPE_CHECKING

from dcglearn.audits.section import Section
from dcglearn.cli.reading import describe
from dcglearn.foundation.finding import Cells
from dcglearn.foundation.plain_text import number_of
from dcglearn.metrics.dcg import DCG
from dcglearn.metrics.list_utility import ListUtility
from dcglearn.metrics.reading import metric_in_use
from dcglearn.parts.parted_log import PartedLog
from dcglearn.parts.usable_pairs import usable_pairs
from dcglearn.readers.preferences import Preferences
from dcglearn.trust.form_choice import OF_FORMS

if TYPE_CHECKING:
    from dcglearn.learning.descriptions import DirectFit, QPFit

POSITIONS = (1, 2, 3, 5, 10, 20, 50, 100)
"""Positions whose discounts a sentence names."""


def read_section(
    log: Preferences | PartedLog, contradicted: float | None, remarks: list[str]
) -> Section:
    """Return what was read, what of it was left out or is contradicted, and the remarks."""
    read, *notes = describe(log, log.dropped)
    if contradicted and isinstance(log, Preferences):
        share = contradicted / log.decided.total_weight
        notes.append(
            f"contradicted: {contradicted:g} pairs, {share:.1%} of those with a winner, say the "
            "opposite of another pair"
        )
    return Section(read.removeprefix("read: "), [*notes, *remarks])


def learned_section(fit: DirectFit) -> Section:
    """Return the gains and discounts that were learned, from what, and how the judges err."""
    # from how many judgements, and how
    total = number_of(round(fit.weighed_on), "judgements", ",")
    loss = "" if fit.members else f", with the {fit.loss} loss"
    fewer, recur = round(fit.n_effective), ""
    if fewer != round(fit.weighed_on):
        recur = f"; since lists recur, they tell as much as {fewer:,} independent ones"
    notes = [f"gains and discounts are learned from {total}{loss}{recur}"]

    # what it is made of, how the judges err, and what stays open
    notes += [*_of_members(fit), *_of_judges(fit), *fit.dcg.notes]
    texts = {}
    if fit.form != "dcg":
        notes.append(f"the learned metric is {OF_FORMS[fit.form]}; the DCG is the nearest to it")
        texts["Learned metric"] = str(fit.utility)
    return Section(_in_words(fit.metric), notes, shown=_table(fit.dcg), longer=texts)


def _in_words(metric: DCG | ListUtility) -> str:
    """Return the gains of all grades and the discounts of some positions in a sentence."""
    names = metric.grade_names or [str(grade) for grade in range(metric.n_grades)]
    gains = [f"{name} {gain:.2f}" for name, gain in zip(names, metric.gains, strict=True)]
    places = sorted({k for k in POSITIONS if k <= metric.depth} | {metric.depth})
    discounts = [f"{k} {metric.discounts[k - 1]:.2f}" for k in places]
    return (
        f"what a result is worth by its grade (gain): {', '.join(gains[::-1])}; times what its "
        f"position counts (discount): {', '.join(discounts)}"
    )


def _table(dcg: DCG) -> Cells:
    """Return the gains, the best grade first, with the discounts beside them."""
    names = dcg.grade_names or [""] * dcg.n_grades
    gains = []
    for grade, (name, gain) in enumerate(zip(names, dcg.gains, strict=True)):
        gains.append((f"{grade} {name}".rstrip(), f"{gain:.4f}"))
    discounts = [(str(k + 1), f"{discount:.4f}") for k, discount in enumerate(dcg.discounts)]
    rows = zip_longest(gains[::-1], discounts, fillvalue=("", ""))
    return [["grade", "gain", "position", "discount"], *([*a, *b] for a, b in rows)]


def _of_members(fit: DirectFit) -> list[str]:
    """Return what a DCG was mixed from, and the textbook DCGs that may be as good."""
    notes = []
    for member in fit.members:
        share = ""
        if isfinite(member.share):
            share = (
                f", and orders {member.share:.1%} ± {member.error:.1%} of held-out judgements as "
                "people did"
            )
        notes.append(f"{member.weight:.1%} of it is {member.meaning}{share}")

    # .16: chance that the one behind by a standard error is the better one
    textbook = [member for member in fit.members if member.fit is None and member.weight > 0.16]
    if textbook:
        names = " and ".join(member.name for member in textbook)
        notes.append(f"{names}: perhaps as good as what was learned; this log cannot tell")
    return notes


def _of_judges(fit: DirectFit) -> list[str]:
    """Return the judges' error rate, the worst raters, and the side that they prefer."""
    notes = []
    if fit.loss in ("blend", "robust"):
        notes.append(
            f"about {fit.wrong_share:.1%} of the verdicts name the worse list; where it is far "
            f"worse, at least about {fit.error_rate:.1%} do"
        )
    worst = sorted(fit.rater_error.items(), key=lambda item: -item[1])[:3]
    if worst and worst[0][1] > 2 * fit.error_rate:
        notes.append("most, by rater: " + ", ".join(f"{name} {error:.1%}" for name, error in worst))

    # position bias, where sides are known
    if len(fit.curves.biases):
        from scipy.special import expit

        won = expit(fit.curves.biases).mean()
        notes.append(
            f"position bias: of two equal lists, the one shown first wins {won:.0%} "
            "(50% is no bias)"
        )
    return notes


def unseen_section(log: Preferences | PartedLog, fit: DirectFit | QPFit, in_use: str) -> Section:
    """Return how the learned DCG does on judgements that it has not seen, beside that in use.

    The folds by which a blend weighs its members tell it; without them, the sentence says how to
    measure it.
    """
    members = getattr(fit, "members", ())
    learned = max((one for one in members if one.fit), key=lambda one: one.weight, default=None)
    if learned is None or not isfinite(learned.share) or not isinstance(log, Preferences):
        return Section("not measured; --holdout 0.3 measures on judgements that are held out")

    # a metric in use learns nothing, so all judgements are new to it
    name, baseline = metric_in_use(in_use, log.n_grades, log.depth)
    share = usable_pairs(log).agreement(baseline).share
    return Section(
        "of judgements that it was not learned from, the learned DCG orders "
        f"{learned.share:.1%} (± {learned.error:.1%}) as people did, and {name}, the metric in "
        f"use, {share:.1%}",
        ["--holdout 0.3 says whether one is ahead beyond chance"],
    )
