"""Parts of an audit on the metric: verdict, held-out pairs, disagreement."""

import os
from datetime import UTC, datetime

import numpy as np

from dcglearn.audits.inputs import LEARNED, Inputs
from dcglearn.audits.section import Section, json_address
from dcglearn.coherence.disagreements import disagreement_matrix
from dcglearn.foundation.finding import Finding
from dcglearn.foundation.plain_text import number_of
from dcglearn.foundation.progress import stage
from dcglearn.foundation.validation import Fields, Grades
from dcglearn.logs.columns import ties_of
from dcglearn.logs.contents import contents
from dcglearn.logs.unique_rows import list_numbers, pair_numbers
from dcglearn.reading.preferences import Preferences
from dcglearn.trust.coins import ASSUMED

SENTENCES = {
    "check the log": "check the grades and the verdicts first, not the metric: no metric is shown "
    "to order these pairs better than a coin",
    "change": "change from {} to the learned DCG",
    "keep": "keep {}",
    "judge more": "judge more before you change {}",
}
"""The headline of each verdict, with a place for the name of the metric in use."""


def verdict_section(inputs: Inputs, pictures: list[Fields], later: Section) -> Section:
    """Return whether to keep the metric, change it, or judge more, with what a first screen shows.

    `pictures` are the curves, and `later` says what to judge next.
    """
    comparison, followed, coins = inputs.comparison, inputs.followed, inputs.tells_nothing
    row = None if isinstance(comparison, str) else comparison[comparison.baseline]

    # nothing to gain, or less than 1% of the judgements, at most
    alike = not coins and inputs.proof.coherent is True
    little = row is not None and row.high < 0.01
    verdict = "judge more"
    if coins:
        verdict = "check the log"
    elif followed == "learned":
        verdict = "change"
    elif followed or alike or little:
        verdict = "keep"

    # the headline, and why, where people follow one in verdicts of 100
    sentence, notes = SENTENCES[verdict].format(inputs.name), []
    if alike:
        notes.append("it orders all lists as the learned DCG does: nothing would change")
    elif isinstance(comparison, str):
        notes.append(f"not known which metric people follow: {comparison}")
    elif not coins:
        notes.append(comparison.whom)
    if followed and not isinstance(comparison, str):
        share, theirs = comparison.with_learned, LEARNED
        if followed == "in use":
            share, theirs = 1 - share, inputs.name
        sentence += f": where the two metrics differ, {100 * share:.0f} of 100 verdicts go with"
        sentence += f" {theirs}"

    # what could be gained at most, and when that was
    if verdict == "keep" and row is not None and not followed and not alike:
        most = max(100 * row.high, 0)
        notes.append(f"at most {most:.1f} percentage points could be gained")
    last = None if inputs.log.time is None else max(inputs.log.time)[:10]
    date = _today()
    notes.append(f"audited on {date}{f'; the last judgement is of {last}' if last else ''}")

    # what the first screen shows beside them
    numbers = {"verdict": verdict, "name": inputs.name, "followed": followed, "row": row}
    return Section(
        sentence,
        notes,
        numbers=numbers | {"date": date, "last": last},
        pictures=pictures,
        figures=_figures(inputs),
        todo=later.sentence,
        files={} if coins else {"dcg.json": json_address(inputs.dcg.to_dict())},
    )


def _figures(inputs: Inputs) -> list[tuple[str, str]]:
    """Return up to three figures, each with what it is: shares of held-out verdicts, and the log.

    Verdicts where the two metrics differ are told of only if people are shown to follow one.
    """
    log, comparison = inputs.log, inputs.comparison
    judged = "judgements" if log.ratings is None else "ratings"
    whole = number_of(log.n_judgements, judged, ","), contents(log)
    if isinstance(comparison, str):
        return [whole]

    # held-out verdicts, and those that tell the two metrics apart
    learned, in_use = comparison.rows[0].share, comparison[comparison.baseline].share
    ordered = (
        f"of {comparison.n_held_out:,} held-out verdicts are ordered as people did by {LEARNED}, "
        f"and by {inputs.name}"
    )
    figures = [(f"{learned:.0%} against {in_use:.0%}", ordered)]
    if comparison.followed:
        where = f"where the two differ ({comparison.apart:,} held-out verdicts)"
        share = f"{100 * comparison.with_learned:.0f} of 100"
        figures.append((share, f"verdicts go with {LEARNED}, {where}"))
    return [*figures, whole]


def _today() -> str:
    """Return the audit's date, or SOURCE_DATE_EPOCH's, which makes a page reproducible."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    now = datetime.fromtimestamp(int(epoch), UTC) if epoch.isdigit() else datetime.now(UTC)
    return f"{now:%Y-%m-%d}"


def held_out_parts(inputs: Inputs) -> dict[str, Finding]:
    """Return the comparison on held-out pairs, and what belongs to it, by part of the audit."""
    comparison = inputs.comparison
    if isinstance(comparison, str):
        return {"new judgements": Section(comparison)}
    return comparison.by_part


def disagreement_section(inputs: Inputs) -> Section:
    """Return how often two metrics disagree, whom judges follow there, and pairs that show it.

    Of a DCG that was learned from coin flips none of it is told.
    """
    if inputs.tells_nothing:
        return Section(f"not told: the learned DCG is {ASSUMED}")
    log, comparison = inputs.pairs, inputs.comparison
    metrics = {LEARNED: inputs.dcg, inputs.name: inputs.baseline}

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
    both = f"{LEARNED} and {inputs.name}"
    sentence = f"{both} can never disagree: they order all lists alike"
    if not proof.coherent:
        told = "no judgement of the log is on such a pair: ask for some"
        if judgements:
            told = f"{judgements:,} held-out judgements are on such pairs"
        of_pairs = "pairs of the same grades" if proof.rankings.reordered else "all pairs of lists"
        sentence = f"{both} order {100 * share:.1f}% of {of_pairs} differently; {told}"
    unproven = ["it is not proven whether they can disagree at all"]
    numbers: Fields = {"coherent": proof.coherent, "disagreement": share, "judgements": judgements}
    return Section(
        sentence,
        unproven if proof.coherent is None else [],
        numbers=numbers | {"pairs": pairs},
        pictures=[_drawn(pair, inputs.log.n_grades) for pair in pairs],
        texts={"The largest disagreement of all lists": str(proof)},
    )


def _drawn(pair: Fields, n_grades: int) -> Fields:
    """Return the picture of two lists on which the metrics disagree."""
    both = zip(("first", "second"), pair["lists"], *pair["scores"], strict=True)
    lists = [
        (f"{which}: learned {mine:.3f}, in use {theirs:.3f}", grades)
        for which, grades, mine, theirs in both
    ]
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
