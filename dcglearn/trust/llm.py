"""A machine's verdicts beside people's: its DCG, and how far it can stand in for people."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar

from numpy.typing import ArrayLike

from dcglearn.foundation.finding import Finding, table_of
from dcglearn.foundation.plain_text import number_of, percent
from dcglearn.foundation.validation import Fields, InputError, PolarsFrame
from dcglearn.learning.fit import LLM, NEAR_LLM, fit_of
from dcglearn.learning.options import DCGOptions, Learner
from dcglearn.metrics.dcg import DCG, as_curves
from dcglearn.reading.in_memory import as_preferences
from dcglearn.reading.preferences import Preferences
from dcglearn.trust.band_draws import Bands, bands, why_no_bands
from dcglearn.trust.coins import tells_nothing

if TYPE_CHECKING:
    from dcglearn.trust.comparison import Row


@dataclass(frozen=True, eq=False)
class LLMReport(Finding):
    """How far a machine can be trusted in place of people.

    `people` and `machine` are the free curves of people's verdicts and the LLM judge's DCG. `both`
    is what was learned, in which the machine and curves near it have this `weight`. `bands` are
    those of people's verdicts by themselves; where these are too few it is None, and `no_bands`
    says so. `rows` hold how people's DCG and the machine's order `n_held_out` verdicts, unless
    there are too few, with intervals that speak of `whom_of`. `tells_nothing` is set where no
    metric orders people's verdicts better than a coin: then nothing else is told.
    """

    people: DCG
    machine: DCG
    both: DCG
    weight: float
    bands: Bands | None = field(default=None, repr=False)
    no_bands: str = ""
    rows: tuple[Row, ...] = ()
    n_held_out: int = 0
    whom_of: str = ""
    tells_nothing: bool = False

    _labels: ClassVar = {
        "low": "band of all at once",
        "machine": "LLM judge",
        "differs": "LLM judge is",
    }

    @property
    def sentence(self) -> str:
        """How well the machine's DCG orders people's verdicts, and what it rates otherwise."""
        nobody = "nobody can say how far the LLM judge can be trusted"
        if self.tells_nothing:
            return f"{nobody}: no metric orders people's verdicts better than a coin"
        if not self.rows:
            return f"{nobody}: people's verdicts are too few to hold some out"
        people, machine = self.rows
        return (
            f"of {number_of(self.n_held_out, 'held-out verdicts', ',')}, a DCG learned from "
            f"people's alone orders {people.share:.1%} as they did; the LLM judge's DCG, "
            f"{machine.beside}, for {self.whom_of}{self._differences()}"
        )

    def _differences(self) -> str:
        """Return what the machine rates otherwise than people, in words."""
        if self.bands is None:
            return ""

        # discounts are relative to that of the top result, which it is about if all differ alike
        rows = self.table.select("parameter", "differs").drop_nulls().rows()
        ways = {way for parameter, way in rows if parameter.startswith("discount")}
        told: dict[str, dict[str, list[str]]] = {"over": {}, "under": {}}
        for parameter, way in rows:
            of_grade = parameter.startswith("gain")
            place = parameter.removeprefix("gain of ").removeprefix("discount at ")
            place = place.removeprefix("grade ")
            if of_grade or len(ways) == 2:
                told[way].setdefault("grade" if of_grade else "position", []).append(place)
            else:
                told["under" if way == "over" else "over"]["the top result"] = []

        # name each once
        named = []
        for way, kinds in told.items():
            names = [f"{kind} {', '.join(places)}".strip() for kind, places in kinds.items()]
            named += [f"{way}rates {', '.join(names)}"] * bool(names)
        if not named:
            return "; its DCG lies within people's bands"
        return f"; beyond people's bands it {' and '.join(named)}"

    @property
    def table(self) -> PolarsFrame:
        """A row for each parameter: people's value and band, the machine's, and both's.

        The band is for all parameters at once; `differs` tells where the machine lies over or under
        it.
        """
        if self.bands is None:
            return table_of([])
        dcgs = self.machine, self.both
        values = ([*dcg.gains.tolist(), *dcg.discounts.tolist()] for dcg in dcgs)
        rows = []
        for row, machine, both in zip(self.bands.table.rows(named=True), *values, strict=True):
            # rounding is no difference
            low, high, differs = row["all_low"], row["all_high"], None
            if machine > high + 1e-9:
                differs = "over"
            elif machine < low - 1e-9:
                differs = "under"
            people = {"people": row["estimate"], "low": low, "high": high}
            own = {"machine": machine, "both": both, "differs": differs}
            rows.append({"parameter": row["parameter"], **people, **own})
        return table_of(rows)

    @property
    def notes(self) -> list[str]:
        """What the machine's DCG weighs, and what the shares and bands are of."""
        weight = (
            f"the LLM judge's DCG and what is drawn to it make up {self.weight:.0%} of the result"
        )
        if self.tells_nothing:
            return [weight]

        # what the shares and bands are of
        notes = [weight, "shares are of people's verdicts that a DCG was not learned from"]
        if self.no_bands:
            notes.append(f"no bands of people's gains and discounts ({self.no_bands}): judge more")
        if self.bands is not None:
            notes.append(
                f"the bands of people hold all numbers at once in {percent(self.bands.level)} of "
                "such logs; a number over or under them is not what people's verdicts say"
            )
        return notes

    @property
    def pictures(self) -> list[Fields]:
        """People's gains and discounts with their bands, the machine's, and both's."""
        if self.bands is None:
            return []
        dcgs = {"people": self.bands.dcg, "LLM judge": self.machine, "both": self.both}
        return as_curves(dcgs, self.bands)


def llm_report(
    log: Preferences | ArrayLike, learner: Learner, *, random_state: int = 0
) -> LLMReport:
    """Return how far a machine can be trusted in place of people.

    Raises InputError if the learner was not fitted with an LLM judge, or to lists of another shape.

    Parameters
    ----------
    log, learner : Preferences, DCGLearner
        People's verdicts, and what was learned from them with `llm`.
    random_state : int
        Seed of folds and draws.

    See Also
    --------
    DCGLearner : Its parameter `llm` takes the LLM judge's log.

    Examples
    --------
    >>> truth = dl.simulate.ground_truth("D1")
    >>> people = dl.simulate.preference_pairs(truth, 30, lists="free", random_state=30)
    >>> machine = dl.simulate.preference_pairs(truth, 500, lists="free", random_state=500)
    >>> report = llm_report(people, dl.DCGLearner(llm=machine).fit(people))
    >>> report.weight > 0.1
    True
    """
    # the fit and its log
    fit = fit_of(learner)
    if fit is None or fit.llm is None:
        raise InputError(
            "the learner was not fitted with an LLM judge: DCGLearner(llm=...).fit(log)"
        )
    log = as_preferences(log, fit.dcg.n_grades, fit.options.depth)
    log = log.differing_pairs.decided
    if log.depth != fit.dcg.depth:
        raise InputError(
            f"the learner has {fit.dcg.depth} positions, the log {log.depth}: give the log that it "
            "was fitted to"
        )

    weight = sum(member.weight for member in fit.members if member.name in (LLM, NEAR_LLM))
    report = LLMReport(fit.free, fit.llm, fit.dcg, weight)
    if tells_nothing(log):
        return replace(report, tells_nothing=True)

    # how both order held-out verdicts, and what people's alone tell
    alone = replace(fit.options, llm=None)
    report = _with_rows(report, log, alone, random_state)
    if problem := why_no_bands(log):
        return replace(report, no_bands=problem)
    return replace(report, bands=bands(log, alone, random_state=random_state))


def _with_rows(
    report: LLMReport, log: Preferences, options: DCGOptions, random_state: int
) -> LLMReport:
    """Return the report with how both DCGs order held-out verdicts, if some can be held out."""
    from dcglearn.trust.held_out import cross_fitted  # takes long to import

    try:
        compared = cross_fitted(log, options, baseline=report.machine, random_state=random_state)
    except InputError:  # too few
        return report
    people, machine = compared.rows[0], compared[compared.baseline]
    rows = replace(people, name="people"), replace(machine, name="LLM judge")
    return replace(report, rows=rows, n_held_out=compared.n_held_out, whom_of=compared.whom_of)
