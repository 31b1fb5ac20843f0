"""The report of ``dcglearn learn``: the DCG learned, and how far it can be trusted."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import dcglearn as dl
from dcglearn.cli.learn_options import LearnerOptions, TrustOptions, of_ratings
from dcglearn.cli.reading import describe, left_out, n_pairs, read_proxy
from dcglearn.foundation.plain_text import number_of
from dcglearn.foundation.progress import stage
from dcglearn.foundation.validation import Fields, InputError
from dcglearn.learning.checkpoint import NO_CHECKPOINT, Checkpointing
from dcglearn.learning.descriptions import (
    DirectDescription,
    DirectFit,
    QPDescription,
    QPFit,
    warn_of,
)
from dcglearn.learning.factoring import Factoring
from dcglearn.learning.fit_utility import fit_qp
from dcglearn.metric.dcg import DCG, Utility
from dcglearn.metric.list_utility import ListUtility
from dcglearn.parts.coin_test import NO_SIGNAL, tells_nothing
from dcglearn.parts.open_log import check_log
from dcglearn.parts.parted_log import PartedLog
from dcglearn.parts.usable_pairs import usable_pairs
from dcglearn.readers.preferences import Preferences
from dcglearn.trust.form_choice import OF_FORMS, FormChoice, fit_in_form
from dcglearn.trust.proxy import ProxyReport, proxy_dcg, proxy_report

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dcglearn.metric_coherence.dominance import Ranges
    from dcglearn.raters.rater_agreement import RaterAgreement
    from dcglearn.trust.bands import Bands
    from dcglearn.trust.cross_validation import ChosenC
    from dcglearn.trust.held_out import Comparison
    from dcglearn.trust.lack_of_fit import LackOfFit


@dataclass(frozen=True)
class Report:
    """A learned DCG and what to know about it; prints as a page of text.

    `factoring` belongs to the QP and `chosen` to C="auto"; `comparison` holds shares of held-out
    pairs, under a model that did not see them; `contradicted` is the weight of pairs that other
    pairs contradict (None for a log in parts); `seconds` is the time to learn, without reading the
    log; `raters` is the agreement of raters who judged the same; `no_bands` says why there are
    none, where they were asked for; `machine` is how far a proxy can be trusted; `no_signal` says
    so if no metric orders the pairs better than a coin.
    """

    learner: DirectFit | QPFit
    factoring: Factoring | None
    log: Preferences | PartedLog
    chosen: ChosenC | None
    comparison: Comparison | None
    held_out_by: str | None
    contradicted: float | None
    bands: Bands | None
    ranges: Ranges | None
    seconds: float = field(compare=False)
    raters: RaterAgreement | None = None
    no_bands: str = ""
    machine: ProxyReport | None = None
    no_signal: str = ""

    @property
    def dcg(self) -> DCG:
        """The DCG learned; the one that fits best, in another form."""
        return self.learner.dcg if isinstance(self.learner, DirectFit) else self._factored.dcg

    @property
    def _factored(self) -> Factoring:
        assert self.factoring is not None
        return self.factoring

    @property
    def metric(self) -> DCG | ListUtility:
        """The metric learned: the DCG, or in another form the list utility."""
        return self.learner.list_utility or self.dcg

    @property
    def utility(self) -> Utility:
        """The learned utility of every grade at every position."""
        return self.dcg.utility if isinstance(self.learner, DirectFit) else self.learner.utility

    def figure(self) -> Figure:
        """Return a figure of the learned DCG beside the usual one, and of the held-out shares."""
        from dcglearn.plots import add_shares, banded_figure, learned_figure
        from dcglearn.trust.held_out import CURRENT

        # metrics to draw beside the learned one
        others = {f"{CURRENT}@{self.log.depth}": DCG.standard(self.log.n_grades, self.log.depth)}
        bands = self.bands
        if self.machine is not None:
            others["machine"] = self.machine.machine.dcg
            bands = bands or self.machine.bands

        # the figure of the method, and the held-out shares below
        if self.factoring is not None:
            figure = learned_figure(self.factoring, others)
        else:
            figure = banded_figure(self.bands.dcg if self.bands else self.dcg, others, bands)
        if self.comparison is not None:
            add_shares(figure, self.comparison)
        return figure

    def to_dict(self) -> Fields:
        """Return the report as plain Python values, for programs."""
        log, learner = self.log, self.learner
        visible, recognised = learner.visible, getattr(log, "recognised", None)
        assert visible is not None

        # what was read, and how well it is fitted
        values = {
            "pairs": n_pairs(log),
            "total_weight": log.total_weight,
            "depth": log.depth,
            "n_grades": log.n_grades,
            "dropped": {**log.dropped, **learner.dropped},
            "recognised": {} if recognised is None else recognised.lines(),
            "no_signal": self.no_signal,
            "contradicted": self.contradicted,
            # the fit, and what of it the log can tell
            "objective": learner.objective,
            "n_iter": learner.n_iter,
            "visible": {
                "rank": visible.rank,
                "structural_rank": visible.structural_rank,
                "sentences": list(visible.sentences),
            },
            "dcg": self.dcg.to_dict(),
        }

        # how far it can be trusted
        if self.comparison is not None:
            units = {"bootstrap_by": self.comparison.by, "by": self.held_out_by}
            values["held_out"] = {**self.comparison.to_dict(), **units}
        if self.no_bands:
            values["bands"] = {"none": self.no_bands}
        elif self.bands is not None:
            values["bands"] = self.bands.to_dict()
        if self.ranges is not None:
            ends = {"gains": self.ranges.gains, "discounts": self.ranges.discounts}
            values["ranges"] = {name: part.tolist() for name, part in ends.items()}
        for name, part in (("raters", self.raters), ("machine", self.machine)):
            if part is not None:
                values[name] = part.to_dict()

        # what belongs to the method alone
        own = _direct_dict(learner) if isinstance(learner, DirectFit) else self._qp_dict(learner)
        return {**values, **own, "seconds": round(self.seconds, 3)}

    def _qp_dict(self, learner: QPFit) -> Fields:
        path = None
        if self.chosen is not None:
            c = self.chosen
            scores = zip(c.grid.tolist(), c.mean.tolist(), c.error.tolist(), strict=True)
            path = [{"C": C, "share": mean, "standard_error": error} for C, mean, error in scores]
        return {
            "method": "qp",
            "C": learner.description.C,
            "C_path": path,
            "gap": learner.gap,
            "explained": self._factored.explained,
            "sigma2_over_sigma1": self._factored.ratio,
            "utility": learner.utility.to_dict(),
        }

    def __str__(self) -> str:
        return "\n".join([*describe(self.log, self.log.dropped), self.findings()])

    def findings(self) -> str:
        """Return the report without the lines of `describe`, which say what was read."""
        # warnings about the log
        lines = [self.no_signal] if self.no_signal else []
        before, dropped = self.log.dropped, self.learner.dropped
        lines += left_out({reason: n for reason, n in dropped.items() if before.get(reason) != n})
        if self.contradicted and isinstance(self.log, Preferences):
            share = self.contradicted / self.log.decided.total_weight
            say = f"{self.contradicted:g} pairs ({share:.1%}) say the opposite of another pair"
            lines.append(f"contradicted: {say}")

        # what was learned
        lines += ["", *self._method_lines()]
        for part in (self.machine, self.raters):
            lines += [] if part is None else ["", str(part)]

        # how far it can be trusted
        if self.bands is not None or self.no_bands:
            lines += ["", self.no_bands or str(self.bands)]
        if self.ranges is not None:
            over = "over all DCGs that follow the log nearly as well as the best one"
            lines += ["", f"range of each number {over}:", str(self.ranges)]
        if self.comparison is not None:
            lines += ["", f"held out, by {self.held_out_by}: {self.comparison}"]
            if self.comparison.lack_of_fit is not None:
                lines += ["", f"is a DCG enough? {self.comparison.lack_of_fit}"]
        return "\n".join(lines)

    def _method_lines(self) -> list[str]:
        if isinstance(self.learner, DirectFit):
            return _direct_lines(self.learner)

        # the QP says how it was solved
        learner = self.learner
        chosen = " (chosen by validation)" if self.chosen is not None else ""
        return [
            "learned: a weight for each grade at each position, by the paper's quadratic programme "
            f"with C = {learner.description.C:g}{chosen}",
            "proof: no other weights lower what it minimises by more than a share of "
            f"{learner.gap:.1e} (duality gap)",
            *("", str(learner.visible), "", str(self._factored)),
        ]


def learn_report(
    log: Preferences | PartedLog,
    options: LearnerOptions,
    trust: TrustOptions,
    checkpointing: Checkpointing = NO_CHECKPOINT,
    *,
    strict_log: bool = False,
) -> Report:
    """Learn a DCG from a log, measure it on held-out pairs, and return the report.

    A log in parts can be learned from, not measured. The DCG is learned from the whole log,
    also with held-out data; `checkpointing` is of that fit. Raises InputError if the log cannot be
    learned from, or cannot be split; with `strict_log` also if no metric orders its pairs better
    than a coin.
    """
    began = time.perf_counter()

    # check the log, and read the proxy
    check_log(log, strict=strict_log)
    description, unit = options.description(log), trust.unit(log)
    pairs = log if isinstance(log, Preferences) else None
    verdicts = None if options.proxy is None else read_proxy(options.proxy, log.n_grades)
    with stage("machine"):
        proxy = proxy_dcg(verdicts, log)

    # measure on held-out pairs, then learn from all
    fitted = partial(_fitted, description=description, options=options, trust=trust, proxy=proxy)
    comparison = None
    if pairs is not None and trust.holdout is not None:
        comparison = _held_out(pairs, fitted, trust)
    with stage("learning"):
        learner, chosen = fitted(log, checkpointing=checkpointing)

    # what a log in memory can tell of the fit
    bands, no_bands = None, ""
    machine = ranges = raters = None
    if pairs is not None and isinstance(learner, DirectFit):
        bands, no_bands = _bands(pairs, learner, trust)
        if verdicts is not None and proxy is not None:
            n = len(verdicts[verdicts.differing].decided)
            machine = proxy_report(pairs, learner, n_machine=n, seed=trust.seed)

    # ranges and raters, for any learner
    if pairs is not None and trust.ranges:
        ranges = dl.consistent_ranges(pairs, n_grades=learner.description.n_grades)
    if pairs is not None and not of_ratings(pairs):
        raters = _agreement(pairs, learner)

    return Report(
        learner=learner,
        factoring=None if isinstance(learner, DirectFit) else learner.factor(),
        log=log,
        chosen=chosen,
        comparison=comparison,
        held_out_by=None if trust.holdout is None else unit,
        # how far it can be trusted
        contradicted=None if pairs is None else pairs.n_contradicted(),
        bands=bands,
        ranges=ranges,
        seconds=time.perf_counter() - began,
        raters=raters,
        no_bands=no_bands,
        machine=machine,
        no_signal=NO_SIGNAL if tells_nothing(log) else "",
    )


def _bands(log: Preferences, learner: DirectFit, trust: TrustOptions) -> tuple[Bands | None, str]:
    """Return the bands that are asked for, or why there are none."""
    if not trust.bands:
        return None, ""
    from dcglearn.trust.bands import why_no_bands

    reason = why_no_bands(log)
    if reason:
        return None, reason
    with stage("bands"):
        return dl.bootstrap_bands(log, learner, n_resamples=trust.bands, seed=trust.seed), ""


def _held_out(
    log: Preferences, fitted: Callable[[Preferences], tuple[Any, Any]], trust: TrustOptions
) -> Comparison:
    """Return how well a fit to one part of a log predicts the other, beside other metrics."""
    from dcglearn.trust.held_out import compare_dcg

    share = 1 - (trust.holdout or 0)
    train, test = usable_pairs(log).split(share, seed=trust.seed, by=trust.unit(log))

    # learn from one part, compare on the other
    with stage("held out"):
        learner, _ = fitted(train)
        reference_C = learner.description.C if isinstance(learner, QPFit) else "auto"
        metrics: Fields = {"current": trust.current, "utility": learner.list_utility}
        dcg = learner.dcg if isinstance(learner, DirectFit) else learner.factor().dcg
        comparison = compare_dcg(dcg, train, test, C=reference_C, seed=trust.seed, **metrics)

    # where it stays below the noise ceiling, ask why
    if not comparison.below_ceiling:
        return comparison
    return replace(comparison, lack_of_fit=_lack_of_fit(log, learner, trust.seed))


def _agreement(log: Preferences, learner: DirectFit | QPFit) -> RaterAgreement | None:
    """Return the raters' agreement; None if no pair was judged twice and no side is known."""
    if log.rater is None and log.swapped is None:
        return None
    agreement = dl.rater_agreement(log, errors=False)
    if log.swapped is None and not agreement.n_units:
        return None

    # errors of each rater take seconds on a large log
    if not isinstance(learner, DirectFit) or not learner.is_likelihood or len(log) > 200_000:
        return agreement
    return dl.rater_agreement(log, learner)


def _direct_dict(learner: DirectFit) -> Fields:
    """Return what belongs to a DCG fitted directly, as plain Python values."""
    names = ["loss", "error_rate", "rater_error", "scale", "n_effective"]
    if len(learner.curves.biases):
        names += ["position_bias", "rater_bias"]
    values = {"method": "dcg", **{name: getattr(learner, name) for name in names}}

    # what it was mixed from, and other forms
    if learner.members:
        values["members"] = [member.to_dict() for member in learner.members]
    if learner.description.form != "dcg":
        values["form"] = learner.form
        values["list_utility"] = learner.utility.to_dict()
        values["form_scores"] = {form: vars(row) for form, row in learner.form_scores.items()}
    return values


def _direct_lines(learner: DirectFit) -> list[str]:
    # what was learned from
    total = number_of(round(learner.weighed_on), "judgements", ",")
    loss = "" if learner.members else f", with the {learner.loss} loss"
    fewer, recur = round(learner.n_effective), ""
    if fewer != round(learner.weighed_on):
        recur = f"; since lists recur, they tell as much as {fewer:,} independent ones"
    lines = [f"learned: gains and discounts from {total}{loss}{recur}"]

    # how the judges err
    lines += _member_lines(learner)
    if learner.loss in ("blend", "robust"):
        lines.append(
            "judges: even where one list is far better, at least about "
            f"{learner.error_rate:.1%} of verdicts name the worse; "
            "close pairs are misjudged more often"
        )

    # the worst raters, and the side they prefer
    worst = sorted(learner.rater_error.items(), key=lambda item: -item[1])[:3]
    if worst and worst[0][1] > 2 * learner.error_rate:
        lines.append("most, by rater: " + ", ".join(f"{name} {error:.1%}" for name, error in worst))
    lines += _bias_lines(learner)

    # what stays open, and the numbers
    if learner.dcg.notes:
        notes = [f"  - {note}" for note in learner.dcg.notes]
        lines += ["", "what the log cannot tell:", *notes]
    return [*lines, *_form_lines(learner), "", learner.dcg.table()]


def _member_lines(learner: DirectFit) -> list[str]:
    """Return what a DCG was mixed from, and the textbook DCGs that may be as good."""
    if not learner.members:
        return []
    head = (
        "mixed from (weight, share of held-out preferences ordered as the judges did, what it is):"
    )
    lines = [head, *map(str, learner.members)]

    # .16: chance that the one behind by a standard error is the better one
    textbook = [member for member in learner.members if member.fit is None and member.weight > 0.16]
    if textbook:
        names = " and ".join(member.name for member in textbook)
        lines.append(f"{names}: perhaps as good as what was learned; this log cannot tell")
    return lines


def _bias_lines(learner: DirectFit) -> list[str]:
    """Return how much the judges prefer the list shown first; nothing where it is not known."""
    if not len(learner.curves.biases):
        return []
    from scipy.special import expit

    won = expit(learner.curves.biases).mean()
    return [
        f"position bias: of two equal lists, the one shown first wins {won:.0%} (50% is no bias)"
    ]


def _form_lines(learner: DirectFit) -> list[str]:
    """Return the scores of the forms and, in a form beyond the DCG, its metric."""
    scores = learner.form_scores
    lines = [str(FormChoice(scores, learner.form))] if scores else []
    if learner.form == "dcg":
        return lines
    head = f"learned metric: {OF_FORMS[learner.form]}"
    return [*lines, "", head, learner.utility.table(), "", "of plain DCGs, the one that fits best:"]


def _lack_of_fit(log: Preferences, learner: DirectFit | QPFit, seed: int) -> LackOfFit | None:
    """Return what a DCG cannot express; None for another learner, or too little to hold out."""
    if not isinstance(learner, DirectFit) or learner.description.form != "dcg":
        return None
    try:
        return dl.lack_of_fit(log, learner=learner, seed=seed)
    except InputError:
        return None


def _fitted(
    log: Preferences | PartedLog,
    description: DirectDescription | QPDescription,
    options: LearnerOptions,
    trust: TrustOptions,
    proxy: DCG | None,
    checkpointing: Checkpointing = NO_CHECKPOINT,
) -> tuple[DirectFit | QPFit, ChosenC | None]:
    """Return the fit to a log and, of a QP, how C was chosen."""
    # gains and discounts, or the QP with C chosen by validation
    fit: DirectFit | QPFit
    chosen = None
    if isinstance(description, DirectDescription):
        fit = fit_in_form(log, description, checkpointing=checkpointing, proxy=proxy)
    else:
        if options.C == "auto" and isinstance(log, Preferences):
            unit = trust.unit(log)
            by = "pair" if unit == "list" else unit
            chosen = dl.choose_C(log, description, by=by, seed=trust.seed)
            description = replace(description, C=chosen.C)
        fit = fit_qp(log, description, checkpointing=checkpointing)
    warn_of(fit)
    return fit, chosen
