"""A machine's verdicts beside people's: its DCG, and how far it can stand in for people."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dcglearn.foundation.plain_text import aligned, number_of
from dcglearn.foundation.validation import Grades, InputError
from dcglearn.learning.descriptions import MACHINE, DirectDescription, DirectLearner, Member, fit_of
from dcglearn.metric.dcg import DCG
from dcglearn.parts.open_log import Log, opened_log
from dcglearn.parts.parted_log import OpenLog, PartedLog
from dcglearn.readers.preferences import Preferences, as_preferences
from dcglearn.readers.upside_down import CHECKED_PAIRS, check_sense
from dcglearn.trust.bands import Bands, bootstrap_bands, why_no_bands
from dcglearn.trust.blend import check_same_shape, fit_blend, mean_dcg


def proxy_dcg(proxy: Log | DCG | None, log: OpenLog, *, as_is: bool = False) -> DCG | None:
    """Return the proxy's DCG on the scale of a log: itself, or learned as by `machine_dcg`.

    Raise InputError as `machine_dcg` does, and if the log holds no verdict to weigh the machine by.
    """
    if proxy is None or isinstance(proxy, DCG):
        return proxy
    if not isinstance(log, PartedLog) and not len(log[log.differing].decided):
        raise InputError(
            "the log holds no preference of people between two different lists, by which the proxy "
            "could be weighed: judge a few pairs first, or learn from the proxy as the log"
        )
    return machine_dcg(proxy, log, as_is=as_is or log.as_is)


def machine_dcg(proxy: Log, like: DCG | OpenLog, *, as_is: bool = False) -> DCG | None:
    """Return what is learned from a machine's verdicts, on the scale of a log or a DCG.

    None, with a warning, where nothing can be learned from them: one that always names the same
    side, or, unless `as_is`, whose verdicts all textbook DCGs contradict. Raise InputError if they
    cannot be read, or their lists have another depth or scale.
    """
    with opened_log(proxy, max(like.n_grades, getattr(proxy, "n_grades", 0))) as verdicts:
        check_same_shape(verdicts, like)

        # people alone can do without it
        try:
            if not as_is:
                check_sense(
                    verdicts.thinned(CHECKED_PAIRS) if isinstance(verdicts, PartedLog) else verdicts
                )
            return fit_blend(verdicts, DirectDescription(n_grades=like.n_grades)).dcg
        except InputError as error:
            warnings.warn(
                f"the proxy is left out, and people alone are followed: {error}",
                UserWarning,
                stacklevel=4,
            )
            return None


@dataclass(frozen=True, eq=False)
class ProxyReport:
    """How far a machine can be trusted in place of people; prints as a table and sentences.

    `people` and `machine` are members of the blend: shares of people's verdicts that they were not
    learned from, and what they are. `both` is what was learned, in which the machine and the fits
    near it have this `weight`. `bands` are those of people's verdicts by themselves, and `worth` is
    about how many more of these would teach as much as the `n_machine` of the machine do; None
    where there are too few.
    """

    people: Member
    machine: Member
    both: DCG
    weight: float
    n_machine: int | None
    bands: Bands | None = None
    worth: float | None = None

    def table(self) -> list[dict[str, Any]]:
        """Return a row for each parameter: people's value and band, the machine's, and both's.

        The band is for all parameters at once.
        """
        if self.bands is None:
            return []
        dcgs = self.machine.dcg, self.both
        machine, both = (np.concatenate([dcg.gains, dcg.discounts]).tolist() for dcg in dcgs)
        rows = []
        for row, of_machine, of_both in zip(self.bands.table(), machine, both, strict=True):
            people = {"people": row["estimate"], "low": row["all_low"], "high": row["all_high"]}
            rows.append(
                {"parameter": row["parameter"], **people, "machine": of_machine, "both": of_both}
            )
        return rows

    @property
    def sentences(self) -> tuple[str, str]:
        """What differs, and how many verdicts of people the machine's are worth."""
        if self.worth is None:
            unknown = "people's verdicts are too few to say what the LLM judge's are worth"
            return self._difference(), unknown
        its, more = "its verdicts", "less than one more of people's"
        if self.n_machine is not None:
            its = f"its {number_of(self.n_machine, 'verdicts', ',')}"
        if self.worth >= 1:
            rounded = f"{float(f'{self.worth:.0g}'):,.0f}"
            more = f"about {rounded} more of people's, give or take an order of magnitude"
        return self._difference(), f"{its} are worth {more}"

    def _difference(self) -> str:
        """Return what the machine rates otherwise than people, in words."""
        if self.machine.share >= self.people.share:
            return (
                "the LLM judge's DCG orders people's verdicts as well as one learned from these "
                "does"
            )

        # discounts are relative to that of the top result
        over: list[str] = []
        under: list[str] = []
        for row in self.table():
            if beyond := _beyond(row):
                kind, _, place = row["parameter"].rpartition(" ")
                name = f"grade {place}" if kind == "gain of grade" else "the top result"
                (over if (beyond > 0) == (name != "the top result") else under).append(name)

        # name each once
        told = []
        for verb, names in (("overrates", over), ("underrates", under)):
            if names:
                told.append(f"{verb} {', '.join(dict.fromkeys(names))}")

        # where they differ
        where = "its DCG lies within people's bands"
        if told:
            where = f"beyond people's bands it {' and '.join(told)}"
        return (
            "the LLM judge's DCG orders fewer of people's verdicts rightly than one learned from "
            f"these; {where}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python values, for JSON."""
        counts = {name: getattr(self, name) for name in ("weight", "n_machine", "worth")}
        members = {name: getattr(self, name).to_dict() for name in ("people", "machine")}
        return {**counts, **members, "parameters": self.table(), "sentences": list(self.sentences)}

    def __str__(self) -> str:
        # the parameters, where there are bands
        rows = [["parameter", "people", "90% band", "LLM judge", "both", ""]]
        for row in self.table():
            people, machine, both = (f"{row[name]:.4f}" for name in ("people", "machine", "both"))
            band, side = f"{row['low']:.3f} to {row['high']:.3f}", ("", "over", "under")
            rows.append([row["parameter"], people, band, machine, both, side[_beyond(row)]])

        # the shares above them, the sentences below
        members = self.people, self.machine
        people, machine = (f"{member.share:.1%} ± {member.error:.1%}" for member in members)
        lines = [
            f"LLM judge: its DCG, and what is drawn to it, make up {self.weight:.0%} of the result",
            f"share of people's verdicts followed: by its DCG {machine}, by one learned from "
            f"others of them {people}",
            *(aligned(rows) if len(rows) > 1 else []),
        ]
        lines += [f"{sentence[0].upper()}{sentence[1:]}." for sentence in self.sentences]
        return "\n".join(lines)


def _beyond(row: dict[str, Any]) -> int:
    """Return whether the machine's value lies above people's band, 1, below it, -1, or within."""
    return int(row["machine"] > row["high"] + 1e-9) - int(row["machine"] < row["low"] - 1e-9)


def proxy_report(
    log: Preferences | ArrayLike,
    learner: DirectLearner,
    *,
    n_machine: int | None = None,
    seed: int = 0,
) -> ProxyReport:
    """Return how far a machine can be trusted in place of people.

    Raises InputError if the learner was not fitted with a proxy, or to lists of another shape.

    `worth` compares the expected shares of pairs of lists that are ordered wrongly: by the fit to
    people's verdicts alone, where the truth is drawn from its posterior; and by that with the
    machine, where it is drawn from the posterior of each member of the blend as often as this
    weighs. Such shares fall as the root of the number of verdicts.

    Parameters
    ----------
    log, learner : Preferences, DCGLearner
        People's verdicts, and what was learned from them with a `proxy`.
    n_machine, seed : int, optional
        Number of the machine's preferences, for the sentence; seed of the draws.

    See Also
    --------
    DCGLearner : Its `fit` takes the proxy.

    Examples
    --------
    >>> truth = dl.simulate.ground_truth("D1")
    >>> people = dl.simulate.preference_pairs(truth, 30, lists="free", seed=30)
    >>> machine = dl.simulate.preference_pairs(truth, 500, lists="free", seed=500)
    >>> report = proxy_report(people, dl.DCGLearner().fit(people, proxy=machine))
    >>> report.worth > 5
    True
    """
    # the fit and its log
    fit = fit_of(learner)
    if fit is None or fit.machine is None:
        raise InputError(
            "the learner was not fitted with a proxy: DCGLearner().fit(log, proxy=...)"
        )
    log = as_preferences(log, fit.dcg.n_grades)
    log = log[log.differing].decided
    check_same_shape(fit.dcg, log)

    # the members with the machine
    near = [member for member in fit.members if MACHINE in member.name]
    weights = [member.weight for member in near]
    weight = sum(weights)
    report = ProxyReport(fit.members[0], fit.machine, fit.dcg, weight, n_machine)
    if why_no_bands(log):
        return report

    # truths: draws for each member that is a fit
    draw = partial(bootstrap_bands, log, n_resamples=20, method="posterior", seed=seed)
    own = draw(fit.members[0].fit)
    truths = [own, *(draw(member.fit) if member.fit else member.dcg for member in near)]

    # shares of 500 pairs that are ordered wrongly, with the machine and without it
    lists = np.concatenate([log.preferred, log.other])
    lists = np.random.default_rng(seed).permutation(lists)[:1000]
    wrong = [_wrong(fit.dcg, truth, lists) for truth in truths]
    after = float(np.average(wrong, weights=[1 - weight, *weights]))
    alone = mean_dcg([member for member in fit.members if member not in near])

    # they fall as the root of the number of verdicts
    ratio = _wrong(alone, own, lists) / max(after, 1e-9)
    worth = min(len(log) * max(ratio**2 - 1, 0.0), math.inf if n_machine is None else n_machine)
    return replace(report, bands=own, worth=worth)


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
