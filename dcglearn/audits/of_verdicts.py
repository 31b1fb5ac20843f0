"""Part of an audit on the verdicts that decide what it concludes."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from dcglearn.audits.inputs import Inputs
from dcglearn.audits.section import Section
from dcglearn.foundation.finding import Finding
from dcglearn.foundation.validation import Fields
from dcglearn.metrics.dcg import parameter_names
from dcglearn.trust.conclusions import OfPeople, of_number, of_runs
from dcglearn.trust.deciding import deciding


def deciding_parts(
    inputs: Inputs, curves: Section, swaps: Sequence[Fields], judgements: Any, runs: Any
) -> dict[str, Finding]:
    """Return what decides whom people follow, the number furthest from the one in use, and a swap.

    There are none where no metric orders the pairs better than a coin, or the audit concludes
    nothing; all together take at most ten fits.
    """
    parts: dict[str, Finding] = {}
    if inputs.tells_nothing:
        return parts
    log, fit = inputs.log, inputs.fit

    # whom people follow
    comparison, followed = inputs.comparison, inputs.followed
    if followed and not isinstance(comparison, str):
        of_people = OfPeople.of(log, fit, inputs.metric, comparison, inputs.random_state, followed)
        parts["deciding"] = deciding(of_people, n_fits=5)

    # the gain or discount that lies furthest outside its band
    furthest = curves["furthest"]
    if furthest is not None:
        name, in_use = furthest["parameter"], furthest["in_use"]
        side, beyond = ("<", "below") if furthest["estimate"] < in_use else (">", "above")
        place = parameter_names(log.n_grades, log.depth, log.grade_names).index(name)
        claim = f"the {name} is {beyond} that of {inputs.name}, {in_use:.3f}"
        conclusion = replace(of_number(place, side, in_use, log, fit), claim=claim)
        parts["deciding a number"] = deciding(conclusion, n_fits=3)

    # systems that swap
    for swap in swaps[:1]:
        new, old = swap["better_when_learned"], swap["better_in_use"]
        swapped = of_runs(log, fit, new, old, judgements, runs)
        parts["deciding a swap"] = deciding(swapped, n_fits=1)
    return parts
