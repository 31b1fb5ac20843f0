"""A machine's many verdicts beside people's few: its DCG, and how far it can be trusted in place of people."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dcglearn.foundation.plain_text import aligned, number_of
from dcglearn.foundation.validation import Grades, InputError
from dcglearn.learning.fits import MACHINE, DirectDescription, DirectLearner, Member, fit_of
from dcglearn.metric.dcg import DCG
from dcglearn.parts.open_log import Log, opened_log
from dcglearn.parts.parts import PartedLog
from dcglearn.readers.preferences import Preferences, as_preferences
from dcglearn.readers.sense import SAMPLE, check_sense
from dcglearn.trust.bands import Bands, bootstrap_bands, why_no_bands
from dcglearn.trust.blend import check_same_shape, fit_blend, mean_dcg

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dcglearn.parts.parts import OpenLog

RESAMPLES, PAIRS = 20, 500
"""Bands' samples, of which the posterior gives ten times as many draws; pairs of lists that draws are asked for."""


def proxy_dcg(proxy: Log | DCG | None, log: OpenLog, *, as_is: bool = False) -> DCG | None:
    """Return the DCG of a machine: the proxy itself, or what is learned from its verdicts, on the scale of a log.

    None, with a warning, where nothing can be learned from them: one that always names the same side, or, unless
    `as_is`, whose verdicts all textbook DCGs contradict. Raise InputError if they cannot be read, their lists have
    another depth or scale, or the log holds no verdict to weigh them by.
    """
    if proxy is None or isinstance(proxy, DCG):
        return proxy
    if not isinstance(log, PartedLog) and not len(log[log.differing].decided):
        raise InputError(
            "the log holds no preference of people between two different lists, by which the proxy could be weighed: "
            "judge a few pairs first, or learn from the proxy as the log"
        )
    with opened_log(proxy, max(log.n_grades, getattr(proxy, "n_grades", 0))) as verdicts:
        check_same_shape(verdicts, log)
        try:
            if not (as_is or log.as_is):
                check_sense(verdicts.sample(SAMPLE) if isinstance(verdicts, PartedLog) else verdicts)
            return fit_blend(verdicts, DirectDescription(n_grades=log.n_grades)).dcg
        except InputError as error:
            warnings.warn(f"the proxy is left out, and people alone are followed: {error}", UserWarning, stacklevel=3)
            return None


@dataclass(frozen=True, eq=False)
class ProxyReport:
    """How far a machine can be trusted in place of people; prints as a table and sentences.

    Attributes
    ----------
    people, machine, both : DCG
        What people's verdicts teach by themselves, the machine's, and both (gains from 0 to 1, first discount 1).
    n_people, n_machine : int, int or None
        Numbers of preferences between different lists.
    members : tuple of Member
        The people's fit and the machine, with the shares of people's verdicts that they respect, which they were not
        learned from.
    weight : float
        Weight in the blend of the machine and of the fits that have it as their prior.
    bands : Bands or None
        What people's verdicts tell by themselves; None where they are too few.
    worth : float or None
        About how many more verdicts of people would teach as much as the machine does; None without bands.
    """

    people: DCG
    machine: DCG
    both: DCG
    n_people: int
    n_machine: int | None
    members: tuple[Member, ...]
    weight: float
    bands: Bands | None
    worth: float | None

    def table(self) -> list[dict[str, Any]]:
        """Return one row a parameter: people's value, its band with all at once, the machine's, and that with both.

        "outside" is 1 where the machine's value lies above the band, -1 where below, else 0.
        """
        ends = np.full((2, self.people.n_grades + self.people.depth), np.nan)
        if self.bands is not None:
            ends = np.hstack([self.bands.simultaneous.gain_band, self.bands.simultaneous.discount_band])
        values = [np.concatenate([dcg.gains, dcg.discounts]) for dcg in (self.people, self.machine, self.both)]
        beyond = np.subtract(values[1] > ends[1] + 1e-9, values[1] < ends[0] - 1e-9, dtype=np.int64)
        names = [f"gain of grade {grade}" for grade in range(self.people.n_grades)]
        names += [f"discount at {k}" for k in range(1, self.people.depth + 1)]
        columns = (names, values[0].tolist(), *ends.tolist(), *(x.tolist() for x in values[1:]), beyond.tolist())
        keys = ("parameter", "people", "low", "high", "machine", "both", "outside")
        return [dict(zip(keys, row, strict=True)) for row in zip(*columns, strict=True)]

    @property
    def sentences(self) -> tuple[str, ...]:
        """What differs, and how many verdicts of people the machine replaces."""
        its = (
            "its verdicts" if self.n_machine is None else f"the machine's {number_of(self.n_machine, 'verdicts', ',')}"
        )
        if self.worth is None:
            return (
                f"{number_of(self.n_people, 'verdicts')} of people are too few to say what the machine's are worth",
            )
        more = math.ceil(self.worth)
        worth = f"{its} are worth about {more:,} more of people's, of which there are {self.n_people:,}"
        if self.worth < 1:
            worth = f"{its} are worth less than one more of people's"
        return self._differences(), worth

    def _differences(self) -> str:
        own, machine = self.members
        if machine.share >= own.share:
            return "the machine respects people's verdicts as well as a fit to these does"
        n = self.people.n_grades
        sides = np.array([row["outside"] for row in self.table()])
        over = [f"grade {grade}" for grade in np.flatnonzero(sides[:n] > 0)]
        under = [f"grade {grade}" for grade in np.flatnonzero(sides[:n] < 0)]
        if lower := int(np.sign(sides[n:].sum())):  # discounts are relative to that of the top result
            (under if lower > 0 else over).append("the top result")
        told = [f"{verb} {', '.join(names)}" for verb, names in (("overrates", over), ("underrates", under)) if names]
        if not told:
            return "the machine's DCG lies within what people's verdicts leave open"
        return f"beyond what people's verdicts leave open, the machine {' and '.join(told)}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python values, for JSON."""
        rows = self.table()
        if self.bands is None:
            rows = [row | {"low": None, "high": None} for row in rows]
        counts = {name: getattr(self, name) for name in ("n_people", "n_machine", "weight", "worth")}
        members = [member.to_dict() for member in self.members]
        return {**counts, "members": members, "parameters": rows, "sentences": list(self.sentences)}

    def __str__(self) -> str:
        rows = [["parameter", "people", *([] if self.bands is None else ["90% band"]), "machine", "both", ""]]
        for row in self.table():
            band = [] if self.bands is None else [f"{row['low']:.3f} to {row['high']:.3f}"]
            numbers = [f"{row[name]:.4f}" for name in ("people", "machine", "both")]
            rows.append(
                [row["parameter"], numbers[0], *band, *numbers[1:], {0: "", 1: "over", -1: "under"}[row["outside"]]]
            )
        shares = [f"{member.share:.1%} ± {member.error:.1%}" for member in self.members]
        return "\n".join(
            [
                f"machine: it and the fits near it weigh {self.weight:.0%}; of people's verdicts it respects",
                f"{shares[1]}, a fit to the others of these {shares[0]}",
                *aligned(rows),
                *(f"{sentence[0].upper()}{sentence[1:]}." for sentence in self.sentences),
            ]
        )


def proxy_report(
    log: Preferences | ArrayLike, learner: DirectLearner, *, n_machine: int | None = None, seed: int = 0
) -> ProxyReport:
    """Return how far a machine can be trusted in place of people.

    Parameters
    ----------
    log : Preferences
        People's verdicts.
    learner : DCGLearner
        Learned from these with a `proxy`.
    n_machine, seed : int, optional
        Number of the machine's preferences, for the sentence; seed of the draws.

    Raises
    ------
    InputError
        If the learner was not fitted with a proxy, or to lists of another shape.

    See Also
    --------
    DCGLearner : Its `fit` takes the proxy.

    Notes
    -----
    `worth` compares the expected shares of pairs of lists that are ordered wrongly: by the fit to people's verdicts
    alone, where the truth is drawn from its posterior; and by that with the machine, where it is drawn from the
    posterior of each member of the blend as often as this weighs. Such shares fall as the root of the number of
    verdicts.

    Examples
    --------
    >>> truth = dl.simulate.ground_truth("D1")
    >>> people, machine = (dl.simulate.preference_pairs(truth, n, lists="free", seed=n) for n in (30, 500))
    >>> report = proxy_report(people, dl.DCGLearner().fit(people, proxy=machine))
    >>> report.machine.depth, report.worth > 5
    (10, True)
    """
    fit = fit_of(learner)
    if fit is None or fit.machine is None:
        raise InputError("the learner was not fitted with a proxy: DCGLearner().fit(log, proxy=...)")
    judged = as_preferences(log, fit.dcg.n_grades)
    judged = judged[judged.differing].decided
    check_same_shape(fit.dcg, judged)
    near = [member for member in fit.members if MACHINE in member.name]
    alone = [member for member in fit.members if member not in near]
    drawn: list[Bands | None] = [None, *(None for _ in near)]
    if not why_no_bands(judged):
        draw = partial(bootstrap_bands, judged, n_resamples=RESAMPLES, method="posterior", seed=seed)
        drawn = [member.fit and draw(member.fit) for member in (alone[0], *near)]
    people, worth = mean_dcg(alone), None
    if drawn[0] is not None:
        lists = np.random.default_rng(seed).permutation(np.concatenate([judged.preferred, judged.other]))[: 2 * PAIRS]
        wrong = [_wrong(fit.dcg, bands or fit.machine.dcg, lists) for bands in drawn]
        weights = [sum(member.weight for member in alone), *(member.weight for member in near)]
        ratio = _wrong(people, drawn[0], lists) / max(float(np.average(wrong, weights=weights)), 1e-9)
        worth = min(len(judged) * max(ratio**2 - 1, 0.0), math.inf if n_machine is None else n_machine)
    return ProxyReport(
        people=people,
        machine=fit.machine.dcg,
        both=fit.dcg,
        n_people=len(judged),
        n_machine=n_machine,
        members=(alone[0], fit.machine),
        weight=sum(member.weight for member in near),
        bands=drawn[0],
        worth=worth,
    )


def _wrong(dcg: DCG, truth: Bands | DCG, lists: Grades) -> float:
    """Return the share of pairs of lists that a DCG orders otherwise than the truth, a mean over draws of that."""
    first, second = np.array_split(lists[: len(lists) // 2 * 2], 2)
    lead, gains, discounts = dcg.score(first) - dcg.score(second), *map(np.atleast_2d, (truth.gains, truth.discounts))
    gains = np.hstack([gains, np.zeros((len(gains), 1))])  # the grade -1 is worth nothing
    leads = np.einsum("bnk,bk->bn", gains[:, first] - gains[:, second], discounts)
    return float(np.mean(np.sign(leads) != np.sign(lead)))
