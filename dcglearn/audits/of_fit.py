"""Parts of reports on a fit: what was learned, how sure that is, and what the log cannot tell."""

from dcglearn.audits.inputs import Inputs
from dcglearn.audits.section import Section
from dcglearn.foundation.finding import Finding
from dcglearn.foundation.intervals import LEVEL, percentile_interval
from dcglearn.foundation.plain_text import number_of, percent
from dcglearn.foundation.validation import Fields
from dcglearn.learning.fit import Fit, cautions_of
from dcglearn.metrics.dcg import DCG, as_curves
from dcglearn.trust.coins import ASSUMED


def fit_parts(inputs: Inputs) -> dict[str, Finding]:
    """Return what was learned, how sure that is, and what the log leaves open, by part."""
    coins, fit = inputs.tells_nothing, inputs.fit
    parts: dict[str, Finding | None] = {
        "learned": learned_section(inputs),
        "how sure": curves_section(inputs),
        "sum or average": None if coins else sum_or_average(fit, inputs.dcg),
        "LLM judge": inputs.llm,
        "left open": Section("every gain and discount") if coins else fit.visible,
        "factored": inputs.factoring,
    }
    return {name: part for name, part in parts.items() if part is not None}


def learned_section(inputs: Inputs) -> Section:
    """Return the gains and discounts that were learned, from what, and how the judges err."""
    fit, dcg = inputs.fit, inputs.dcg
    if inputs.tells_nothing:
        sentence = f"no gain or discount; these are {ASSUMED}: {dcg.sentence}"
        return Section(sentence, dcg.notes, rows=dcg.side_by_side)

    # the QP says how it was solved
    if not isinstance(fit, Fit):
        chosen = "" if inputs.chosen is None else " (chosen by validation)"
        return Section(
            f"{dcg.sentence}; it is the nearest DCG to weights of each grade at each position, "
            f"which the paper's quadratic programme learned with C = {fit.options.C:g}{chosen}",
            [
                "proof: no other weights lower what it minimises by more than a share of "
                f"{fit.gap:.1e} (duality gap)",
                *cautions_of(inputs.log, fit),
            ],
            rows=dcg.side_by_side,
        )

    # from how many judgements
    total = number_of(round(fit.weighed_on), "judgements", ",")
    fewer, recur = round(fit.n_effective), ""
    if fewer != round(fit.weighed_on):
        recur = f"; since lists recur, they tell as much as {fewer:,} independent ones"
    notes = [f"gains and discounts are learned from {total}{recur}"]

    # what it is made of and how the judges err, which fewer judgements than numbers do not tell
    if fit.n_effective >= dcg.n_grades - 2 + dcg.depth:
        notes += [*_of_members(fit), *_of_judges(fit)]
    return Section(dcg.sentence, [*notes, *dcg.notes], rows=dcg.side_by_side)


def sum_or_average(fit: object, dcg: DCG) -> Section | None:
    """Return whether people add up what they find or average it, where lists differ in length.

    `dcg` is that of the fit, with draws of its judges.
    """
    if not isinstance(fit, Fit) or fit.lead is None:
        return None
    if fit.form == fit.options.plain:
        return Section(
            "lists differ in length, but the log does not show that people average what they "
            "find, or that a useless result costs them anything"
        )

    # how near to an average
    power, worst = dcg.power, dcg.gains[0]
    which = "adding up what they find than to averaging it"
    if power > 0.5:
        which = "averaging what they find than to adding it up"

    # with intervals, and what the worst grade costs
    draws = None if dcg.judges is None else dcg.judges.draws
    between, costs = "", ""
    if draws is not None and draws.powers is not None:
        low, high = percentile_interval(draws.powers)
        between = f", {LEVEL:.0%} interval {min(low, power):.2f} to {max(high, power):.2f}"

        # whose interval lies below 0
        low, high = percentile_interval(draws.gains[:, 0])
        if high < 0 and worst < 0:
            costs = (
                f"; a result of the worst grade costs {-worst:.0%} of what one of the best is "
                f"worth ({LEVEL:.0%} interval {-high:.0%} to {-low:.0%})"
            )
    return Section(f"these people come nearer to {which} (p = {power:.2f}{between}){costs}")


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
    """Return the judges' error rate, and the worst raters."""
    notes = []
    if fit.options.loss == "robust":
        notes.append(
            f"about {fit.wrong_share:.1%} of the verdicts name the worse list; where it is far "
            f"worse, at least about {fit.error_rate:.1%} do"
        )
    worst = sorted(fit.rater_error.items(), key=lambda item: -item[1])[:3]
    if worst and worst[0][1] > 2 * fit.error_rate:
        notes.append("most, by rater: " + ", ".join(f"{name} {error:.1%}" for name, error in worst))
    return notes


def curves_section(inputs: Inputs) -> Section:
    """Return how sure the gains and discounts are, with bands, beside those of the metric in use.

    Of judgements that no metric orders better than a coin it says so.
    """
    learned, usual = inputs.dcg, inputs.baseline
    bands = None if inputs.tells_nothing else inputs.bands
    caption, curves = "Gains and discounts", learned.table.rename({"value": "estimate"})
    if bands is not None:
        caption += f", with {percent(bands.level)} bands by {bands.by}"
        curves = bands.table.drop("standard_error")

    # the metric in use beside them; the power, if any, is the last row
    in_use = [*usual.gains, *usual.discounts, usual.power]
    rows = [
        {"parameter": row.pop("parameter"), inputs.name: value, **row}
        for row, value in zip(curves.to_dicts(), in_use, strict=False)
    ]
    numbers: Fields = {"in_use": {"name": inputs.name, **usual.to_dict()}, "learned": learned}
    numbers |= {"bands": bands, "no_bands": inputs.no_bands}
    shown: Fields = {
        "caption": caption,
        "rows": rows,
        "formats": dict.fromkeys(rows[0], ".3f"),
        "labels": {"estimate": "learned"},
        "pictures": as_curves({"learned": learned, inputs.name: usual}, bands),
    }

    # without bands there is a reason
    if bands is None:
        sentence = inputs.no_bands
        if inputs.tells_nothing:
            sentence = f"not at all: bands are those of {ASSUMED}"
        return Section(sentence, numbers=numbers, **shown)

    # numbers that are not fixed, and those whose band leaves out the metric in use
    free = [row for row in rows if row["all_low"] < row["all_high"]]
    outside = [row for row in free if not row["all_low"] <= row[inputs.name] <= row["all_high"]]
    shown["labels"] |= bands._labels
    notes = [_beside(inputs, len(free), outside), *bands.notes]
    return Section(bands.sentence, notes, numbers=numbers | {"outside": outside}, **shown)


def _beside(inputs: Inputs, n_free: int, outside: list[Fields]) -> str:
    """Return where the metric in use lies outside the bands, in words."""
    if not outside:
        within = f"all gains and discounts of {inputs.name} lie within the 90% bands"
        return f"{within} of all at once: the log allows it"

    # where they lie, in words
    where = []
    for kind in ("gain of" if inputs.dcg.grade_names else "gain of grade", "discount at"):
        names = [row["parameter"] for row in outside if row["parameter"].startswith(kind)]
        places = ", ".join(name.removeprefix(f"{kind} ") for name in names)
        where += [f"the {kind} {places}"] if places else []

    # the one that lies furthest out, of several, with its band
    columns = ("parameter", inputs.name, "all_low", "all_high")
    ends = [tuple(row[column] for column in columns) for row in outside]
    parameter, in_use, low, high = max(ends, key=lambda row: max(row[2] - row[1], row[1] - row[3]))
    lie = "lies" if len(outside) == 1 else "lie"
    which = f"; furthest, the {parameter}" if len(outside) > 1 else ""
    return (
        f"outside the 90% bands of all at once {lie} {len(outside)} of {n_free} gains and "
        f"discounts of {inputs.name}: {' and '.join(where)}{which} "
        f"({in_use:.3f}, band {low:.3f} to {high:.3f})"
    )
