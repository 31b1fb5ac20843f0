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
    verdict, followed, held_out = _verdict(inputs), inputs.followed, inputs.held_out

    # the headline, where people follow one in verdicts of 100
    sentence = SENTENCES[verdict].format(inputs.name)
    if held_out is not None and followed:
        share, theirs = held_out.with_learned, LEARNED
        if followed == "in use":
            share, theirs = 1 - share, inputs.name
        sentence += (
            f": where the two metrics differ, {100 * share:.0f} of 100 verdicts go with {theirs}"
        )

    # when it is said, and of what
    last = None if inputs.log.time is None else max(inputs.log.time)[:10]
    date = _today()
    dates = f"audited on {date}{f'; the last judgement is of {last}' if last else ''}"
    numbers = {"verdict": verdict, "name": inputs.name, "followed": followed}
    return Section(
        sentence,
        [*_why(inputs, verdict), dates],
        numbers=numbers | {"date": date, "last": last},
        # what the first screen shows beside them
        pictures=pictures,
        figures=_figures(inputs),
        todo=later.sentence,
        files={} if inputs.tells_nothing else {"dcg.json": json_address(inputs.dcg.to_dict())},
    )


def _verdict(inputs: Inputs) -> str:
    """Return the verdict: to keep, where the learned DCG is ahead by less than 1% at most, too."""
    if inputs.tells_nothing:
        return "check the log"
    if inputs.followed == "learned":
        return "change"
    keep = inputs.followed == "in use" or inputs.alike or _most_gained(inputs) < 0.01
    return "keep" if keep else "judge more"


def _most_gained(inputs: Inputs) -> float:
    """Return the most that the learned DCG is ahead, at the upper end of its interval."""
    held_out = inputs.held_out
    return float("inf") if held_out is None else held_out[held_out.baseline].high


def _why(inputs: Inputs, verdict: str) -> list[str]:
    """Return why, and what could be gained at most where nobody is shown to follow a metric."""
    if inputs.tells_nothing:
        return []
    if inputs.alike:
        return ["it orders all lists as the learned DCG does: nothing would change"]
    if inputs.held_out is None:
        return [f"not known which metric people follow: {inputs.comparison}"]
    notes = [inputs.held_out.whom]
    if verdict == "keep" and not inputs.followed:
        most = max(100 * _most_gained(inputs), 0)
        notes.append(f"at most {most:.1f} percentage points could be gained")
    return notes


def _figures(inputs: Inputs) -> list[tuple[str, str]]:
    """Return up to three figures, each with what it is: shares of held-out verdicts, and the log.

    Verdicts where the two metrics differ are told of only if people are shown to follow one.
    """
    log, held_out, figures = inputs.log, inputs.held_out, []
    if held_out is not None:
        learned, in_use = held_out.rows[0].share, held_out[held_out.baseline].share
        shares = f"{learned:.0%} against {in_use:.0%}"
        of = f"of {held_out.n_held_out:,} held-out verdicts are ordered as people did"
        figures.append((shares, f"{of} by {LEARNED}, and by {inputs.name}"))

    # of those that tell the two metrics apart
    if held_out is not None and held_out.followed:
        where = f"where the two differ ({held_out.apart:,} held-out verdicts)"
        share = f"{100 * held_out.with_learned:.0f} of 100"
        figures.append((share, f"verdicts go with {LEARNED}, {where}"))
    judged = "judgements" if log.ratings is None else "ratings"
    return [*figures, (number_of(log.n_judgements, judged, ","), contents(log))]


def _today() -> str:
    """Return the audit's date, or SOURCE_DATE_EPOCH's, which makes a page reproducible."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    now = datetime.fromtimestamp(int(epoch), UTC) if epoch.isdigit() else datetime.now(UTC)
    return f"{now:%Y-%m-%d}"


def held_out_parts(inputs: Inputs) -> dict[str, Finding]:
    """Return the comparison on held-out pairs, and what belongs to it, by part of the audit."""
    if inputs.held_out is None:
        return {"new judgements": Section(str(inputs.comparison))}
    return inputs.held_out.by_part


def disagreement_section(inputs: Inputs) -> Section:
    """Return how often two metrics disagree, whom judges follow there, and pairs that show it.

    Of a DCG that was learned from coin flips none of it is told.
    """
    if inputs.tells_nothing:
        return Section(f"not told: the learned DCG is {ASSUMED}")
    log, held_out = inputs.pairs, inputs.held_out
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
    judgements = 0 if held_out is None else held_out.apart
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

    # the lists of the first three, that of the first metric's choice ahead
    tie, pairs = ties_of(log), []
    for row in once[order][:3]:
        lists, best = np.stack([log.preferred[row], log.other[row]]), first[row]
        if mine[row] <= 0:
            lists, best = lists[::-1], second[row]

        # verdicts for the first, for neither, for the second
        ahead, judged = first == best, np.where(number == number[row], log.weights, 0.0)
        kinds = (~tie & ahead, tie, ~tie & ~ahead)
        pairs.append({"lists": lists, "verdicts": [float(judged[kind].sum()) for kind in kinds]})
    return pairs
