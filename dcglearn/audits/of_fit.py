"""Parts of reports on a fit: what was learned, and what the log cannot tell."""

from itertools import zip_longest
from math import isfinite

from dcglearn.audits.section import Section
from dcglearn.foundation.finding import Finding
from dcglearn.foundation.plain_text import number_of
from dcglearn.foundation.validation import Fields
from dcglearn.learning.descriptions import DirectFit, Fit
from dcglearn.metrics.dcg import DCG
from dcglearn.trust.coins import ASSUMED


def learned_from_coins(dcg: DCG) -> Section:
    """Return that nothing was learned, with the DCG that was fitted."""
    sentence = f"no gain or discount; these are {ASSUMED}: {dcg.sentence}"
    return Section(sentence, dcg.notes, rows=_table(dcg))


def left_open(fit: Fit, *, coins: bool) -> Finding:
    """Return what the log cannot tell of a fit; of coin flips, that it is everything."""
    return Section("every gain and discount") if coins else fit.visible


def learned_section(fit: DirectFit) -> Section:
    """Return the gains and discounts that were learned, from what, and how the judges err."""
    # from how many judgements, and how
    total = number_of(round(fit.weighed_on), "judgements", ",")
    loss = "" if fit.members else f", with the {fit.loss} loss"
    fewer, recur = round(fit.n_effective), ""
    if fewer != round(fit.weighed_on):
        recur = f"; since lists recur, they tell as much as {fewer:,} independent ones"
    notes = [f"gains and discounts are learned from {total}{loss}{recur}"]

    # what it is made of and how the judges err, which fewer judgements than numbers do not tell
    if fit.n_effective >= fit.dcg.n_grades - 2 + fit.dcg.depth:
        notes += [*_of_members(fit), *_of_judges(fit)]
    notes += fit.dcg.notes
    return Section(fit.dcg.sentence, notes, rows=_table(fit.dcg))


def _table(dcg: DCG) -> list[Fields]:
    """Return the gains, the best grade first, with the discounts beside them."""
    names = dcg.grade_names or [""] * dcg.n_grades
    grades = [f"{grade} {name}".rstrip() for grade, name in enumerate(names)]
    gains = zip(grades[::-1], dcg.gains[::-1].tolist(), strict=True)
    rows = zip_longest(gains, enumerate(dcg.discounts.tolist(), 1), fillvalue=(None, None))
    head = ("grade", "gain", "position", "discount")
    return [dict(zip(head, (*gain, *discount), strict=True)) for gain, discount in rows]


def _of_members(fit: DirectFit) -> list[str]:
    """Return what a DCG was mixed from, and the textbook DCGs that may be as good."""
    notes = []
    for member in fit.members:
        share = ""
        if isfinite(member.share):
            # where all come out alike, nothing shows how far the share may be off
            error = f" ± {member.error:.1%}" if member.error else ""
            share = f", and orders {member.share:.1%}{error} of held-out judgements as people did"
        notes.append(f"{member.weight:.1%} of it is {member.meaning}{share}")
    if any(isfinite(member.share) for member in fit.members):
        notes.append(
            "how much of each is taken follows from these shares; the mix's own share of new "
            "judgements is measured by other mixes, made without these judgements, and can differ"
        )

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
