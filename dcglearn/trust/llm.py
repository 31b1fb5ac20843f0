"""A machine's verdicts beside people's: its DCG, and how far it can stand in for people."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dcglearn.foundation.finding import Finding, table_of
from dcglearn.foundation.plain_text import number_of, percent
from dcglearn.foundation.validation import Fields, Grades, InputError, PolarsFrame
from dcglearn.learning.descriptions import MACHINE, DirectDescription, DirectLearner, Member, fit_of
from dcglearn.learning.usable_pairs import usable_pairs
from dcglearn.metrics.dcg import DCG, as_curves
from dcglearn.parts.open_log import Log, opened_log
from dcglearn.parts.parted_log import SAMPLE, OpenLog, PartedLog
from dcglearn.reading.direction import check_sense
from dcglearn.reading.in_memory import as_preferences
from dcglearn.reading.preferences import Preferences
from dcglearn.trust import band_draws
from dcglearn.trust.band_draws import Bands, why_no_bands
from dcglearn.trust.blend import check_same_shape, fit_blend, held_out_members, mean_dcg
from dcglearn.trust.coins import tells_nothing
from dcglearn.trust.held_out_frame import HeldOut
from dcglearn.trust.resampling import speaks_of, unit_of

if TYPE_CHECKING:
    from dcglearn.trust.comparison import Row


def llm_dcg(llm: Log | DCG | None, log: OpenLog, *, as_is: bool = False) -> DCG | None:
    """Return the LLM judge's DCG on the scale of a log: itself, or learned as by `machine_dcg`.

    Raise InputError as `machine_dcg` does, and if the log holds no verdict to weigh the machine by.
    """
    if llm is None or isinstance(llm, DCG):
        return llm
    if not isinstance(log, PartedLog) and not len(log[log.differing].decided):
        raise InputError(
            "the log holds no preference of people between two different lists, by which the LLM "
            "judge could be weighed: judge a few pairs first, or learn from its log alone"
        )
    return machine_dcg(llm, log, as_is=as_is or log.as_is)


def machine_dcg(llm: Log, like: DCG | OpenLog, *, as_is: bool = False) -> DCG | None:
    """Return what is learned from a machine's verdicts, on the scale of a log or a DCG.

    None, with a warning, where nothing can be learned from them: one that always names the same
    side, or, unless `as_is`, whose verdicts all textbook DCGs contradict. Raise InputError if they
    cannot be read, or their lists have another depth or scale.
    """
    with opened_log(llm, max(like.n_grades, getattr(llm, "n_grades", 0))) as verdicts:
        check_same_shape(verdicts, like)

        # people alone can do without it
        try:
            if not as_is:
                check_sense(verdicts)
            return fit_blend(verdicts, DirectDescription(n_grades=like.n_grades)).dcg

        # the warning stands at the caller's line
        except InputError as error:
            warnings.warn(
                f"the LLM judge is left out, and people alone are followed: {error}",
                UserWarning,
                stacklevel=4,
            )
            return None


@dataclass(frozen=True, eq=False)
class LLMReport(Finding):
    """How far a machine can be trusted in place of people.

    `people` and `machine` are members of the blend. `both` is what was learned, in which the
    machine and the fits near it have this `weight`. `bands` are those of people's verdicts by
    themselves, and `worth` is about how many more of these would teach as much as the `n_llm` of
    the LLM judge do; where there are too few, both are None, and `no_bands` says so. `rows` hold
    how people's DCG and the machine's order `n_held_out` verdicts, unless there are too few, with
    intervals that speak of `whom_of`. `tells_nothing` is set where no metric orders people's
    verdicts better than a coin: then nothing else is told.
    """

    people: Member
    machine: Member
    both: DCG
    weight: float
    n_llm: int | None
    bands: Bands | None = field(default=None, repr=False)
    worth: float | None = None
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
        dcgs = self.machine.dcg, self.both
        values = (np.concatenate([dcg.gains, dcg.discounts]).tolist() for dcg in dcgs)
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
        """What the machine's verdicts are worth, and what they weigh."""
        weight = (
            f"the LLM judge's DCG and what is drawn to it make up {self.weight:.0%} of the result"
        )
        if self.tells_nothing:
            return [weight]

        # what the shares and bands are of
        notes = [
            self._worth(),
            weight,
            "shares are of people's verdicts that a DCG was not learned from",
        ]
        if self.bands is not None:
            notes.append(
                f"the bands of people hold all numbers at once in {percent(self.bands.level)} of "
                "such logs; a number over or under them is not what people's verdicts say"
            )
        return notes

    def _worth(self) -> str:
        """Return how many verdicts of people the machine's are worth, in words."""
        if self.worth is None:
            unknown = "people's verdicts are too few to say what the LLM judge's are worth"
            return f"{unknown} ({self.no_bands}): judge more"
        its = "its verdicts"
        more = "less than one more of people's"
        if self.n_llm is not None:
            its = f"its {number_of(self.n_llm, 'verdicts', ',')}"
        if self.worth >= 1:
            rounded = f"{float(f'{self.worth:.0g}'):,.0f}"
            more = f"about {rounded} more of people's, give or take an order of magnitude"
        return f"{its} are worth {more}"

    @property
    def pictures(self) -> list[Fields]:
        """People's gains and discounts with their bands, the machine's, and both's."""
        if self.bands is None:
            return []
        dcgs = {"people": self.bands.dcg, "LLM judge": self.machine.dcg, "both": self.both}
        return as_curves(dcgs, self.bands)


def llm_report(
    log: Preferences | ArrayLike,
    learner: DirectLearner,
    *,
    n_llm: int | None = None,
    random_state: int = 0,
) -> LLMReport:
    """Return how far a machine can be trusted in place of people.

    Raises InputError if the learner was not fitted with an LLM judge, or to lists of another shape.

    `worth` compares the expected shares of pairs of lists that are ordered wrongly: by the fit to
    people's verdicts alone, where the truth is drawn from its posterior; and by that with the
    machine, where it is drawn from the posterior of each member of the blend as often as this
    weighs. Such shares fall as the root of the number of verdicts.

    Parameters
    ----------
    log, learner : Preferences, DCGLearner
        People's verdicts, and what was learned from them with `llm`.
    n_llm, random_state : int, optional
        Number of the LLM judge's preferences, for the sentence; seed of the draws.

    See Also
    --------
    DCGLearner : Its `fit` takes the LLM judge's log.

    Examples
    --------
    >>> truth = dl.simulate.ground_truth("D1")
    >>> people = dl.simulate.preference_pairs(truth, 30, lists="free", random_state=30)
    >>> machine = dl.simulate.preference_pairs(truth, 500, lists="free", random_state=500)
    >>> report = llm_report(people, dl.DCGLearner().fit(people, llm=machine))
    >>> report.worth > 5
    True
    """
    # the fit and its log
    fit = fit_of(learner)
    if fit is None or fit.machine is None:
        raise InputError(
            "the learner was not fitted with an LLM judge: DCGLearner().fit(log, llm=...)"
        )
    log = as_preferences(log, fit.dcg.n_grades)
    log = log[log.differing].decided
    check_same_shape(fit.dcg, log)

    # the members with the machine
    near = [member for member in fit.members if MACHINE in member.name]
    weights = [member.weight for member in near]
    weight = sum(weights)
    report = LLMReport(fit.members[0], fit.machine, fit.dcg, weight, n_llm)
    if tells_nothing(log):
        return replace(report, tells_nothing=True)
    report = _with_rows(report, log, fit.description)
    if problem := why_no_bands(log):
        return replace(report, no_bands=problem)

    # truths: draws for each member that is a fit
    draw = partial(band_draws.bands, log, n_resamples=20, random_state=random_state)
    own = draw(fit.members[0].fit)
    truths = [own, *(draw(member.fit) if member.fit else member.dcg for member in near)]

    # shares of 500 pairs that are ordered wrongly, with the machine and without it
    lists = np.concatenate([log.preferred, log.other])
    lists = np.random.default_rng(random_state).permutation(lists)[:1000]
    wrong = [_wrong(fit.dcg, truth, lists) for truth in truths]
    after = float(np.average(wrong, weights=[1 - weight, *weights]))
    alone = mean_dcg([member for member in fit.members if member not in near])

    # they fall as the root of the number of verdicts
    ratio = _wrong(alone, own, lists) / max(after, 1e-9)
    worth = min(len(log) * max(ratio**2 - 1, 0.0), math.inf if n_llm is None else n_llm)
    return replace(report, bands=own, worth=worth)


def _with_rows(report: LLMReport, log: Preferences, description: DirectDescription) -> LLMReport:
    """Return the report with how both DCGs order held-out verdicts, if some can be held out."""
    pairs = usable_pairs(log.thinned(SAMPLE))
    members = {"people": report.people, "LLM judge": report.machine}
    frame = held_out_members([*members.values()], pairs, description)
    if frame is None:
        return report

    from dcglearn.trust.held_out import rows_of  # takes long to import

    unit = unit_of(pairs)
    rows = rows_of([*members], HeldOut.of(pairs, unit, frame.rows, frame.values))
    whom_of = speaks_of(pairs, unit)
    return replace(report, rows=rows, n_held_out=len(frame.rows), whom_of=whom_of)


def _wrong(dcg: DCG, truth: Bands | DCG, lists: Grades) -> float:
    """Return the share of pairs of lists that a DCG orders unlike the truth.

    If the truth is bands, the share is the mean over their draws.
    """
    # the pairs, and their order by the DCG
    first, second = np.array_split(lists[: len(lists) // 2 * 2], 2)
    lead = dcg.score(first) - dcg.score(second)

    # their order by each draw; the last gains are of the grades -2 and -1, as in DCGs
    gains, discounts = np.atleast_2d(truth.gains), np.atleast_2d(truth.discounts)
    gains = np.hstack([gains, np.zeros((len(gains), 1)), np.minimum(gains[:, :1], 0.0)])
    leads = np.einsum("bnk,bk->bn", gains[:, first] - gains[:, second], discounts)
    return float(np.mean(np.sign(leads) != np.sign(lead)))
