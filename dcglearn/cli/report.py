"""The report of ``dcglearn learn``: the DCG learned, and how far it can be trusted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from dcglearn.audits.of_fit import learned_from_coins, learned_section, left_open
from dcglearn.audits.section import Section
from dcglearn.cli.reading import describe
from dcglearn.foundation.finding import Finding
from dcglearn.foundation.findings import Findings
from dcglearn.foundation.plain_text import left_out, number_of, one_line
from dcglearn.foundation.validation import Fields
from dcglearn.learning.factoring import Factoring
from dcglearn.learning.fit import AnyFit, Fit, cautions_of
from dcglearn.learning.fit_utility import QPFit
from dcglearn.metrics.dcg import DCG, Utility
from dcglearn.metrics.reading import BASELINE
from dcglearn.raters.repeats import contradiction
from dcglearn.reading.preferences import Preferences
from dcglearn.trust.llm import LLMReport

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dcglearn.raters.rater_agreement import RaterAgreement
    from dcglearn.trust.band_draws import Bands
    from dcglearn.trust.comparison import Comparison
    from dcglearn.trust.cross_validation import ChosenC


def read_section(log: Preferences, contradicted: float, remarks: list[str]) -> Section:
    """Return what was read, what of it was left out or is contradicted, and the remarks."""
    read, *notes = describe(log, log.dropped)
    if contradicted:
        notes.append(contradiction(log))
    return Section(read.removeprefix("read: "), [*notes, *remarks])


ASKED = ("what if", "what if, by rater", "what if, by query", "LLM judge")
"""Parts that are printed too where an option asks for them."""

OF_JUDGES = {"error_rate", "wrong_share", "rater_error", "position_bias", "rater_bias"}
"""Values that say how judges err, of which coin flips tell nothing."""


@dataclass(frozen=True, eq=False)
class Report(Findings):
    """A learned DCG and what to know about it; prints as a sentence for each part.

    `factoring` belongs to the QP and `chosen` to C="auto"; `comparison` holds shares of held-out
    pairs, under a model that did not see them; `contradicted` is the weight of pairs that other
    pairs contradict; `seconds` is the time to learn, without reading the log; `raters` is the
    agreement of raters who judged the same; `no_bands` says why there are none, where they were
    asked for or nothing was learned; `machine` is how far an LLM judge can be trusted; `no_signal`
    says so if no metric orders the pairs better than a coin; `not_measured` says why there is no
    comparison, and `deciding` tells what decides a conclusion, by the name of the part.
    """

    learner: AnyFit
    factoring: Factoring | None
    log: Preferences
    chosen: ChosenC | None
    comparison: Comparison | None
    held_out_by: str | None
    contradicted: float
    bands: Bands | None
    seconds: float
    raters: RaterAgreement | None = None
    no_bands: str = ""
    machine: LLMReport | None = None
    no_signal: str = ""
    not_measured: str = ""
    deciding: Mapping[str, Finding] = field(default_factory=dict)

    @property
    def dcg(self) -> DCG:
        """The DCG learned."""
        return self.learner.dcg if isinstance(self.learner, Fit) else self._factored.dcg

    @property
    def _factored(self) -> Factoring:
        assert self.factoring is not None
        return self.factoring

    @property
    def utility(self) -> Utility:
        """The learned utility of every grade at every position."""
        return self.dcg.utility if isinstance(self.learner, Fit) else self.learner.utility

    def figure(self) -> Figure:
        """Return a figure of the learned DCG beside the usual one."""
        from dcglearn.plots import banded_figure, learned_figure

        # metrics to draw beside the learned one
        others = {f"{BASELINE}@{self.log.depth}": DCG.standard(self.log.n_grades, self.log.depth)}
        bands = self.bands
        if self.machine is not None:
            others["machine"] = self.machine.machine
            bands = bands or self.machine.bands

        # the figure of the method
        if self.factoring is not None:
            return learned_figure(self.factoring, others)
        return banded_figure(self.bands.dcg if self.bands else self.dcg, others, bands)

    def to_dict(self) -> Fields:
        """Return the report as plain Python values, for programs."""
        log, learner = self.log, self.learner
        visible, recognised = learner.visible, log.recognised

        # what was read, and how well it is fitted
        values = {
            "pairs": len(log),
            "total_weight": log.total_weight,
            "depth": log.depth,
            "n_grades": log.n_grades,
            "dropped": {**log.dropped, **learner.dropped},
            "recognised": {} if recognised is None else recognised.to_dict(),
            "sentences": {name: part.sentence for name, part in self.shown.items()},
            "no_signal": self.no_signal,
            "cautions": cautions_of(self.log, self.learner),
            "contradicted": self.contradicted,
            # the fit, and what of it the log can tell
            "objective": learner.objective,
            "n_iter": learner.n_iter,
            "visible": {
                "rank": visible.rank,
                "structural_rank": visible.structural_rank,
                "sentences": list(visible.notes),
            },
            "dcg": self.dcg.to_dict(),
        }

        # how far it can be trusted
        if self.comparison is not None:
            by = self.comparison.by
            units = {"intervals_by": by, "by": self.held_out_by or by}
            values["held_out"] = {**self.comparison.to_dict(), **units}
        if self.no_bands:
            values["bands"] = {"none": self.no_bands}
        elif self.bands is not None:
            values["bands"] = self.bands.to_dict()
        for name, part in (("raters", self.raters), ("machine", self.machine)):
            if part is not None:
                values[name] = part.to_dict()
        if self.deciding:
            values["what_if"] = [part.to_dict() for part in self.deciding.values()]

        # what belongs to the method alone
        own = _direct_dict(learner) if isinstance(learner, Fit) else self._qp_dict(learner)
        if self.no_signal:
            own |= dict.fromkeys(own.keys() & OF_JUDGES)
        return {**values, **own, "seconds": round(self.seconds, 3)}

    def _qp_dict(self, learner: QPFit) -> Fields:
        path = None
        if self.chosen is not None:
            names = {"value": "C", "held_out_share": "share"}
            path = self.chosen.table.rename(names).to_dicts()
        return {
            "method": "qp",
            "C": learner.options.C,
            "C_path": path,
            "gap": learner.gap,
            "explained": self._factored.explained,
            "sigma2_over_sigma1": self._factored.ratio,
            "utility": learner.utility.to_dict(),
        }

    @property
    def remarks(self) -> list[str]:
        """Lines of warning: no signal, and what of the log was left out."""
        before, dropped = self.log.dropped, self.learner.dropped
        new = {reason: n for reason, n in dropped.items() if before.get(reason) != n}
        return [*filter(None, [self.no_signal]), *left_out(new)]

    @cached_property
    def parts(self) -> Mapping[str, Finding]:
        """The parts of the report: six that say in a sentence what to know, then further ones."""
        learned = self._learned()
        cautions = cautions_of(self.log, self.learner)
        parts: dict[str, Finding | None] = {
            "read": read_section(self.log, self.contradicted, self.remarks),
            "learned": replace(learned, notes=[*learned.notes, *cautions]),
            "how sure": self.bands or Section(self.no_bands or self._without_bands),
            "new judgements": Section(self.not_measured),
            "left open": left_open(self.learner, coins=bool(self.no_signal)),
        }

        # what belongs to some logs and methods
        parts |= {"factored": self.factoring, "LLM judge": self.machine, "raters": self.raters}
        parts |= self.deciding
        if self.comparison is not None:
            parts |= self.comparison.by_part
        return {name: part for name, part in parts.items() if part is not None}

    @property
    def _without_bands(self) -> str:
        """How to get the bands that were not asked for."""
        method = "" if self.factoring is None else "--method dcg "
        return f"not measured; {method}--bands 200 gives 90% bands of every gain and discount"

    def _learned(self) -> Section:
        if self.no_signal:
            return learned_from_coins(self.dcg)
        if isinstance(self.learner, Fit):
            return learned_section(self.learner)

        # the QP says how it was solved
        learner = self.learner
        chosen = " (chosen by validation)" if self.chosen is not None else ""
        return Section(
            f"{self.dcg.sentence}; it is the nearest DCG to weights of each grade at each "
            "position, which the paper's quadratic programme learned with "
            f"C = {learner.options.C:g}{chosen}",
            [
                "proof: no other weights lower what it minimises by more than a share of "
                f"{learner.gap:.1e} (duality gap)"
            ],
        )

    @cached_property
    def title(self) -> str:
        """Title of the page."""
        n = self.log.n_judgements
        says = "says" if n == 1 else "say"
        what = "judgements" if self.log.ratings is None else "ratings"
        return f"What {number_of(n, what, ',')} {says} of gains and discounts"

    def text(self, *, read: bool = False, full: bool = False) -> str:
        """Return the lines of the report, or all its parts in full; `read` leaves out the first."""
        if full:
            return f"\n{self.in_full}"
        asked = ASKED if self.held_out_by is None else (*ASKED, "as sure as said?")
        names = ["read", "learned", "how sure", "new judgements", "left open"]
        names += [name for name in asked if name in self.parts]
        first, *lines = [one_line(f"{name}: {self.parts[name].sentence}") for name in names]
        head = self.remarks if read else [first, *map(one_line, self.parts["read"].notes)]
        return "\n".join([*head, *lines])

    def __str__(self) -> str:
        return self.text()


def _direct_dict(learner: Fit) -> Fields:
    """Return what belongs to a DCG fitted directly, as plain Python values."""
    names = ["error_rate", "wrong_share", "rater_error", "scale", "n_effective"]
    if learner.points.biases is not None:
        names += ["position_bias", "rater_bias"]
    values = {"method": "dcg", **{name: getattr(learner, name) for name in names}}

    # what it is a mean of
    if learner.members:
        values["members"] = [member.to_dict() for member in learner.members]
    return values
