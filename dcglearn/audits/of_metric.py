"""Parts of an audit on the metric: verdict, gains and discounts, held-out pairs, disagreement."""

import os
from datetime import UTC, datetime

import numpy as np

from dcglearn.audits.inputs import LEARNED, Inputs
from dcglearn.audits.section import Section
from dcglearn.coherence.disagreements import disagreement_matrix
from dcglearn.foundation.finding import Finding
from dcglearn.foundation.plain_text import percent
from dcglearn.foundation.progress import stage
from dcglearn.foundation.validation import Fields, Grades
from dcglearn.logs.columns import ties_of
from dcglearn.logs.unique_rows import list_numbers, pair_numbers
from dcglearn.metrics.dcg import as_curves
from dcglearn.reading.preferences import Preferences
from dcglearn.trust.coins import ASSUMED, NO_SIGNAL


def verdict_section(inputs: Inputs) -> Section:
    """Return whether to keep the metric, change it, or judge more; with dates of audit and data."""
    comparison, followed = inputs.comparison, inputs.followed
    row = None if isinstance(comparison, str) else comparison[comparison.baseline]

    # nothing to gain, or less than 1% of the judgements, at most
    alike = not inputs.tells_nothing and inputs.proof.coherent is True
    little = row is not None and row.high < 0.01 and not inputs.tells_nothing
    verdict = "judge more"
    if followed == "learned":
        verdict = "change"
    elif followed == "in use" or alike or little:
        verdict = "keep"

    why, held_out = f"not known which metric people follow: {comparison}", ""
    if not isinstance(comparison, str):
        why, held_out = comparison.whom, comparison.sentence

    # the dates of audit and judgements go with it
    date, last = _today(), None if inputs.log.time is None else max(inputs.log.time)[:10]
    numbers: Fields = {
        "verdict": verdict,
        "name": inputs.name,
        "no_signal": NO_SIGNAL if inputs.tells_nothing else "",
        "followed": followed,
        "alike": alike,
        "row": row,
        "why": why,
        "held_out": held_out,
        "date": date,
        "last": last,
    }

    # why, and what could be gained at most
    notes = []
    if inputs.tells_nothing:
        notes.append(NO_SIGNAL)
    else:
        same = "it orders all lists as the learned DCG does: nothing would change"
        notes.append(same if alike else why)
        if verdict != "change" and row is not None:
            notes.append(held_out)
        if verdict == "keep" and row is not None and not followed and not alike:
            most = max(100 * row.high, 0)
            notes.append(f"at most {most:.1f} percentage points could be gained")
    notes.append(f"audited on {date}{f'; the last judgement is of {last}' if last else ''}")
    sentence = {
        "change": f"change from {inputs.name} to the learned DCG",
        "keep": f"keep {inputs.name}",
        "judge more": f"judge more before you change {inputs.name}",
    }[verdict]
    return Section(sentence, notes, numbers=numbers)


def _today() -> str:
    """Return the audit's date, or SOURCE_DATE_EPOCH's, which makes a page reproducible."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    now = datetime.fromtimestamp(int(epoch), UTC) if epoch.isdigit() else datetime.now(UTC)
    return f"{now:%Y-%m-%d}"


def curves_section(inputs: Inputs) -> Section:
    """Return the learned gains and discounts with bands, beside those of the metric in use."""
    # rows of parameters that are not fixed, and those whose band leaves out the metric in use
    learned, bands = inputs.fit.dcg, None if inputs.tells_nothing else inputs.bands
    in_use = inputs.baseline.table["value"]
    rows: list[Fields] = []
    if bands is not None:
        table = zip(bands.table.to_dicts(), in_use, strict=True)
        rows = [
            {**row, "in_use": value} for row, value in table if row["all_low"] < row["all_high"]
        ]
    outside = [row for row in rows if not row["all_low"] <= row["in_use"] <= row["all_high"]]

    # where they lie, in words, and the one that lies furthest out
    where = []
    for kind in ("gain of" if learned.grade_names else "gain of grade", "discount at"):
        names = [row["parameter"] for row in outside if row["parameter"].startswith(kind)]
        places = ", ".join(name.removeprefix(f"{kind} ") for name in names)
        where += [f"the {kind} {places}"] if places else []
    furthest = max(outside, key=_distance, default=None)

    # beside the curves themselves
    numbers: Fields = {
        "no_bands": inputs.no_bands,
        "no_signal": inputs.tells_nothing,
        "in_use": {"name": inputs.name, **inputs.baseline.to_dict()},
        "learned": learned,
        "bands": bands,
        # where they differ
        "free": len(rows),
        "outside": outside,
        "where": " and ".join(where),
        "furthest": furthest,
    }
    # both metrics, with the bands of the learned one
    caption, curves = "Gains and discounts", learned.table.rename({"value": "estimate"})
    if bands is not None:
        caption += f", with {percent(bands.level)} bands by {bands.by}"
        curves = bands.table.drop("standard_error")
    curves.insert_column(1, in_use.alias(inputs.name))
    return Section(
        _of_curves(inputs, numbers),
        [bands.sentence] if bands is not None else [],
        numbers=numbers,
        caption=caption,
        rows=curves.to_dicts(),
        formats=dict.fromkeys(curves.columns, ".3f"),
        labels={**({} if bands is None else bands._labels), "estimate": "learned"},
        pictures=as_curves({"learned": learned, inputs.name: inputs.baseline}, bands),
    )


def _of_curves(inputs: Inputs, numbers: Fields) -> str:
    """Return where the metric in use lies outside the bands, in words."""
    if inputs.no_bands:
        return inputs.no_bands
    if inputs.tells_nothing:
        return (
            "no gain or discount can be learned from judgements that no metric orders better than "
            "a coin: what is drawn follows the prior"
        )
    outside, furthest = numbers["outside"], numbers["furthest"]
    if not outside:
        within = f"all gains and discounts of {inputs.name} lie within the 90% bands"
        return f"{within} of all at once: the log allows it"

    # the one that lies furthest out, of several, with its band
    lie = "lies" if len(outside) == 1 else "lie"
    which = f"; furthest, the {furthest['parameter']}" if len(outside) > 1 else ""
    in_use, low, high = (furthest[name] for name in ("in_use", "all_low", "all_high"))
    return (
        f"outside the 90% bands of all at once {lie} {len(outside)} of {numbers['free']} gains and "
        f"discounts of {inputs.name}: {numbers['where']}{which} "
        f"({in_use:.3f}, band {low:.3f} to {high:.3f})"
    )


def _distance(row: Fields) -> float:
    """Return how far the metric in use lies outside the band of a parameter."""
    return float(abs(row["in_use"] - np.clip(row["in_use"], row["all_low"], row["all_high"])))


def held_out_parts(inputs: Inputs) -> dict[str, Finding]:
    """Return the comparison on held-out pairs, and what belongs to it, by part of the audit."""
    comparison = inputs.comparison
    if isinstance(comparison, str):
        return {"held_out": Section(comparison)}
    parts = comparison.by_part
    return {"held_out": parts.pop("new judgements"), **parts}


def disagreement_section(inputs: Inputs) -> Section:
    """Return how often two metrics disagree, whom judges follow there, and pairs that show it.

    Of a DCG that was learned from coin flips none of it is told.
    """
    if inputs.tells_nothing:
        return Section(f"not told: the learned DCG is {ASSUMED}")
    log, comparison = inputs.pairs, inputs.comparison
    metrics = {LEARNED: inputs.fit.dcg, inputs.name: inputs.baseline}

    # prove or refute
    proof = inputs.proof
    with stage("coherence"):
        share = float(disagreement_matrix(metrics, random_state=inputs.random_state).share[0, 1])

    # pairs that show it: of the log, or the witness
    pairs = disputed(log, *(log.verdicts(metric) for metric in metrics.values()))
    if not pairs and proof.witness is not None:
        pairs = [{"lists": proof.witness.lists, "verdicts": None}]
    for pair in pairs:
        pair["scores"] = [metric.score(pair["lists"]).tolist() for metric in metrics.values()]
        pair["lists"] = pair["lists"].tolist()

    # how often, and how many held-out judgements tell
    judgements = 0 if isinstance(comparison, str) else comparison.apart
    if proof.coherent:
        sentence = f"{LEARNED} and {inputs.name} can never disagree: they order all lists alike"
    else:
        told = "; no judgement of the log is on such a pair: ask for some"
        if judgements:
            told = f"; {judgements:,} held-out judgements are on such pairs"
        of_pairs = "pairs of the same grades" if proof.rankings.reordered else "all pairs of lists"
        order = f"{LEARNED} and {inputs.name} order {100 * share:.1f}% of {of_pairs}"
        sentence = f"{order} differently{told}"
    unproven = "it is not proven whether they can disagree at all"
    numbers: Fields = {
        "name": inputs.name,
        "coherent": proof.coherent,
        "disagreement": share,
        "judgements": judgements,
        "pairs": pairs,
        "proof": str(proof),
    }
    return Section(
        sentence,
        [unproven] if proof.coherent is None else [],
        numbers=numbers,
        pictures=[_drawn(pair, inputs.log.n_grades) for pair in pairs],
        texts={"The largest disagreement of all lists": str(proof)},
    )


def _drawn(pair: Fields, n_grades: int) -> Fields:
    """Return the picture of two lists on which the metrics disagree."""
    lists = []
    for which, grades, mine, theirs in zip(
        ("first", "second"), pair["lists"], *pair["scores"], strict=True
    ):
        lists.append((f"{which}: learned {mine:.3f}, in use {theirs:.3f}", grades))
    title = "nobody has judged this pair"
    if pair["verdicts"]:
        first, tied, second = pair["verdicts"]
        title = f"judges: {first:g} for the first, {second:g} for the second, {tied:g} tied"
    return {"title": title, "lists": lists, "n_grades": n_grades}


def disputed(log: Preferences, mine: Grades, theirs: Grades) -> list[Fields]:
    """Return a few pairs on which two metrics differ, those alike at most positions first.

    `mine` and `theirs` are the metrics' verdicts on the pairs of the log, shape (n,). The `lists`
    of a pair have the choice of the first metric first; `verdicts` is the weight of those for the
    first, for neither, for the second.
    """
    # one row of each pair on which they differ, those alike at most positions and most judged first
    first, second = list_numbers(log.preferred, log.other)
    number, rows = pair_numbers(first, second), np.flatnonzero(mine * theirs == -1)
    once = rows[np.unique(number[rows], return_index=True)[1]]
    differing = (log.preferred[once] != log.other[once]).sum(axis=1)
    order = np.lexsort((-np.bincount(number)[number[once]], differing))

    # the lists of the first three, and their verdicts
    weight = log.weights
    tie = ties_of(log)
    pairs = []
    for row in once[order][:3]:
        best, lists = first, np.stack([log.preferred[row], log.other[row]])
        if mine[row] <= 0:
            best, lists = second, lists[::-1]

        # verdicts for the first, for neither, for the second
        of, ahead = number == number[row], first == best[row]
        kinds = (~tie & ahead, tie, ~tie & ~ahead)
        verdicts = [float(weight[of & kind].sum()) for kind in kinds]
        pairs.append({"lists": lists, "verdicts": verdicts})
    return pairs
