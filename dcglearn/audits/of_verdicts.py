"""Part of an audit on the verdicts that decide what it concludes."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from dcglearn.audits.inputs import Inputs
from dcglearn.audits.section import Section
from dcglearn.trust.conclusions import OfDCG, OfPeople, conclusion_of, of_runs
from dcglearn.trust.deciding import Deciding, deciding


def deciding_section(
    inputs: Inputs, curves: Section, systems: Section, judgements: Any, runs: Any
) -> Section:
    """Return what decides whom people follow, the number furthest from the one in use, and a swap.

    The section says nothing where no metric orders the pairs better than a coin, or the audit
    concludes nothing.
    """
    found: list[Deciding] = []
    if not inputs.tells_nothing:
        found = [*_decided(inputs, curves, systems, judgements, runs)]
    sentences = [one.sentence for one in found]
    return Section(
        "".join(sentences[:1]),
        sentences[1:],
        numbers={"found": [_numbers(one) for one in found]},
        heading="What would change our mind?",
        caption="The verdicts",
        cells=found[0].cells if found else [],
    )


def _decided(
    inputs: Inputs, curves: Section, systems: Section, judgements: Any, runs: Any
) -> Iterator[Deciding]:
    """Yield what decides each conclusion, in at most ten fits together."""
    log, fit = inputs.log, inputs.fit

    # whom people follow
    comparison, followed = inputs.comparison, inputs.followed
    if followed and not isinstance(comparison, str):
        of_people = OfPeople.of(log, fit, inputs.metric, comparison, inputs.random_state, followed)
        yield deciding(of_people, n_fits=5)

    # the gain or discount that lies furthest outside its band
    furthest = curves["furthest"]
    if furthest is not None:
        name, in_use = furthest["parameter"], furthest["in_use"]
        side, beyond = ("<", "below") if furthest["estimate"] < in_use else (">", "above")
        of_number = conclusion_of(f"{name} {side} {in_use!r}", log, fit)
        assert isinstance(of_number, OfDCG)
        claim = f"the {name} is {beyond} that of {inputs.name}, {in_use:.3f}"
        yield deciding(replace(of_number, claim=claim), n_fits=3)

    # systems that swap
    for swap in systems.numbers.get("swaps", [])[:1]:
        new, old = swap["second"], swap["first"]
        yield deciding(of_runs(log, fit, new, old, judgements, runs), n_fits=1)


def _numbers(found: Deciding) -> dict[str, Any]:
    """Return a finding as plain values, without its table."""
    values = found.to_dict()
    return {name: value for name, value in values.items() if name not in ("table", "notes")}
