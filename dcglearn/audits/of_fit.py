"""Parts of reports on a fit: what was learned, and what the log cannot tell."""

from itertools import zip_longest

from dcglearn.audits.section import Section
from dcglearn.foundation.finding import Finding
from dcglearn.foundation.intervals import LEVEL, percentile_interval
from dcglearn.foundation.plain_text import number_of
from dcglearn.foundation.validation import Fields
from dcglearn.learning.fit import AnyFit, Fit
from dcglearn.metrics.dcg import DCG
from dcglearn.trust.coins import ASSUMED


def learned_from_coins(dcg: DCG) -> Section:
    """Return that nothing was learned, with the DCG that was fitted."""
    sentence = f"no gain or discount; these are {ASSUMED}: {dcg.sentence}"
    return Section(sentence, dcg.notes, rows=_table(dcg))


def left_open(fit: AnyFit, *, coins: bool) -> Finding:
    """Return what the log cannot tell of a fit; of coin flips, that it is everything."""
    return Section("every gain and discount") if coins else fit.visible


def learned_section(fit: Fit) -> Section:
    """Return the gains and discounts that were learned, from what, and how the judges err."""
    # from how many judgements, and how
    total = number_of(round(fit.weighed_on), "judgements", ",")
    fewer, recur = round(fit.n_effective), ""
    if fewer != round(fit.weighed_on):
        recur = f"; since lists recur, they tell as much as {fewer:,} independent ones"
    notes = [f"gains and discounts are learned from {total}{recur}"]

    # what it is made of and how the judges err, which fewer judgements than numbers do not tell
    if fit.n_effective >= fit.dcg.n_grades - 2 + fit.dcg.depth:
        notes += [*_of_members(fit), *_of_judges(fit)]
    notes += fit.dcg.notes
    said = f"{fit.dcg.sentence}{_of_lengths(fit)}"
    return Section(said, notes, rows=_table(fit.dcg))


def _of_lengths(fit: Fit) -> str:
    """Return whether people add up what they find or average it, where lists differ in length."""
    if fit.lead is None:
        return ""
    if fit.form == fit.options.plain:
        return (
            "; lists differ in length, but the log does not show that people average what they "
            "find, or that a useless result costs them anything"
        )

    # how near to an average, and what the worst grade costs
    power, worst = fit.dcg.power, fit.dcg.gains[0]
    which = (
        "come nearer to averaging what they find than to adding it up"
        if power > 0.5
        else "come nearer to adding up what they find than to averaging it"
    )
    draws = None if fit.dcg.judges is None else fit.dcg.judges.draws
    between, costs = "", ""
    if draws is not None and draws.powers is not None:
        low, high = percentile_interval(draws.powers)
        between = f", {LEVEL:.0%} interval {min(low, power):.2f} to {max(high, power):.2f}"
        low, high = percentile_interval(draws.gains[:, 0])
        if high < 0 and worst < 0:
            costs = (
                f"; a result of the worst grade costs {-worst:.0%} of what one of the best is "
                f"worth ({LEVEL:.0%} interval {-high:.0%} to {-low:.0%})"
            )
    return f"; these people {which} (p = {power:.2f}{between}){costs}"


def _table(dcg: DCG) -> list[Fields]:
    """Return the gains, the best grade first, with the discounts beside them."""
    names = dcg.grade_names or [""] * dcg.n_grades
    grades = [f"{grade} {name}".rstrip() for grade, name in enumerate(names)]
    gains = zip(grades[::-1], dcg.gains[::-1].tolist(), strict=True)
    rows = zip_longest(gains, enumerate(dcg.discounts.tolist(), 1), fillvalue=(None, None))
    head = ("grade", "gain", "position", "discount")
    return [dict(zip(head, (*gain, *discount), strict=True)) for gain, discount in rows]


NAMED = 0.05
"""Members with this weight at least are named."""


def _of_members(fit: Fit) -> list[str]:
    """Return what a DCG is the mean of, unless one makes up all but a hundredth of it."""
    members = sorted(fit.members, key=lambda member: -member.weight)
    if not members or members[0].weight > 0.99:
        return []
    large = [member for member in members if member.weight >= NAMED]
    parts = [f"{member.weight:.0%} {member.meaning}" for member in large]

    # the others together
    rest = 1 - sum(member.weight for member in large)
    if rest >= 0.005:
        parts.append(f"{rest:.0%} others, each less than {NAMED:.0%}")
    return [
        "it is a mean, by how probable it is that people follow each: "
        f"{'; '.join(parts)}; this log cannot tell them apart for certain"
    ]


def _of_judges(fit: Fit) -> list[str]:
    """Return the judges' error rate, the worst raters, and the side that they prefer."""
    notes = []
    if fit.options.loss == "robust":
        notes.append(
            f"about {fit.wrong_share:.1%} of the verdicts name the worse list; where it is far "
            f"worse, at least about {fit.error_rate:.1%} do"
        )
    worst = sorted(fit.rater_error.items(), key=lambda item: -item[1])[:3]
    if worst and worst[0][1] > 2 * fit.error_rate:
        notes.append("most, by rater: " + ", ".join(f"{name} {error:.1%}" for name, error in worst))

    # position bias, where sides are known
    if fit.points.biases is not None:
        from scipy.special import expit

        won = expit(fit.points.biases).mean()
        notes.append(
            f"position bias: of two equal lists, the one shown first wins {won:.0%} "
            "(50% is no bias)"
        )
    return notes
