"""The main job in one call: a log in, a DCG out, with what a person should know before trusting it."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from dcglearn.cli.recognised import describe, left_out, n_pairs
from dcglearn.foundation.progress import stage
from dcglearn.foundation.validation import InputError
from dcglearn.learning.checkpoint import ALONE, Resources
from dcglearn.learning.fit_qp import fit_qp
from dcglearn.learning.fits import DirectDescription, DirectFit, QPDescription, QPFit, warn_of
from dcglearn.metric.dcg import DCG
from dcglearn.metric_coherence.ranges import Ranges, consistent_ranges
from dcglearn.parts.parts import PartedLog
from dcglearn.raters.rater_agreement import RaterAgreement, rater_agreement
from dcglearn.readers.preferences import Preferences
from dcglearn.trust.bands import Bands, bootstrap_bands
from dcglearn.trust.cross_validation import ChosenC, choose_C
from dcglearn.trust.form_choice import fit_in_form, scores_table
from dcglearn.trust.held_out import CURRENT, Comparison, compare_dcg
from dcglearn.trust.lack_of_fit import LackOfFit, lack_of_fit

MOST_JUDGED = 200_000
"""Logs of more pairs than this are reported without the errors of each rater, which would take seconds."""

if TYPE_CHECKING:
    import os

    from matplotlib.figure import Figure

    from dcglearn.learning.factoring import Factoring
    from dcglearn.metric.dcg import Utility
    from dcglearn.metric.list_utility import ListUtility


@dataclass(frozen=True)
class Report:
    """A learned DCG and what to know about it; prints as a page of text.

    `factoring` belongs to the QP and `chosen` to C="auto"; `comparison` holds shares of held-out pairs, under a model
    that did not see them; `contradicted` is the weight of pairs that other pairs contradict (None for a log in parts);
    `seconds` is the time to learn, without reading the log; `raters` is the agreement of raters who judged the same.
    """

    learner: DirectFit | QPFit
    dcg: DCG
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

    @property
    def metric(self) -> DCG | ListUtility:
        """The metric learned: the DCG, or in another form the list utility."""
        return _beyond(self.learner) or self.dcg

    @property
    def utility(self) -> Utility:
        """The learned worth of every grade at every position."""
        return self.dcg.utility if isinstance(self.learner, DirectFit) else self.learner.utility

    def figure(self) -> Figure:
        """Return a figure of the learned DCG beside the usual one, and of the held-out shares."""
        from dcglearn.plots import add_shares, banded_figure, learned_figure

        others = {f"{CURRENT}@{self.log.depth}": DCG.standard(self.log.n_grades, self.log.depth)}
        bands = None if self.bands is None else (self.bands.gain_band, self.bands.discount_band)
        learned = None if self.factoring is None else learned_figure(self.factoring, others)
        beyond = self.bands is not None and self.bands.utility is not None
        figure = learned or banded_figure(self.bands.dcg if self.bands and beyond else self.dcg, others, bands)
        if self.comparison is not None:
            add_shares(figure, self.comparison)
        return figure

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain Python values, for programs."""
        learner, visible = self.learner, self.learner.visible
        assert visible is not None
        common = {
            "pairs": n_pairs(self.log),
            "total_weight": self.log.total_weight,
            "depth": self.log.depth,
            "n_grades": self.log.n_grades,
            "dropped": {**self.log.dropped, **learner.dropped},
            "contradicted": self.contradicted,
            "objective": learner.objective,
            "n_iter": learner.n_iter,
            "visible": {
                "rank": visible.rank,
                "structural_rank": visible.structural_rank,
                "sentences": list(visible.sentences),
            },
            "dcg": self.dcg.to_dict(),
        }
        if self.comparison is not None:
            resampled = {"bootstrap_by": self.comparison.by}
            common["held_out"] = {**self.comparison.to_dict(), **resampled, "by": self.held_out_by}
        if self.bands is not None:
            common["bands"] = {"level": self.bands.level, "by": self.bands.by, "parameters": self.bands.table()}
        if self.ranges is not None:
            common["ranges"] = {"gains": self.ranges.gains.tolist(), "discounts": self.ranges.discounts.tolist()}
        if self.raters is not None:
            common["raters"] = self.raters.to_dict()
        return {**common, **self._method_dict(), "seconds": round(self.seconds, 3)}

    def _method_dict(self) -> dict[str, Any]:
        learner = self.learner
        if isinstance(learner, DirectFit):
            return {
                "method": "dcg",
                "loss": learner.loss,
                "error_rate": learner.error_rate,
                "rater_error": learner.rater_error,
                "scale": learner.scale,
                "n_effective": learner.n_effective,
                **_form_dict(learner),
            }
        assert self.factoring is not None
        return {
            "method": "qp",
            "C": learner.description.C,
            "C_path": None if self.chosen is None else _path(self.chosen),
            "gap": learner.gap,
            "explained": self.factoring.explained,
            "sigma2_over_sigma1": self.factoring.ratio,
            "utility": learner.utility.to_dict(),
        }

    def __str__(self) -> str:
        return "\n".join([*describe(self.log, self.log.dropped), self.findings()])

    def findings(self) -> str:
        """Return the report without the lines of `describe`, which say what was read."""
        known = self.log.dropped
        lines = left_out({reason: n for reason, n in self.learner.dropped.items() if known.get(reason) != n})
        if self.contradicted and isinstance(self.log, Preferences):
            share = self.contradicted / self.log.decided.total_weight
            lines.append(f"contradicted: {self.contradicted:g} pairs ({share:.1%}) say the opposite of another pair")
        lines += ["", *self._method_lines()]
        if self.raters is not None:
            lines += ["", str(self.raters)]
        if self.bands is not None:
            lines += ["", str(self.bands)]
        if self.ranges is not None:
            lines += ["", "ranges over all DCGs that respect the log:", str(self.ranges)]
        if self.comparison is not None:
            lines += ["", f"held out by {self.held_out_by}: {self.comparison}"]
        return "\n".join(lines)

    def _method_lines(self) -> list[str]:
        if isinstance(self.learner, DirectFit):
            return _direct_lines(self.learner)
        learner, visible = self.learner, self.learner.visible
        chosen = " (chosen by validation)" if self.chosen is not None else ""
        return [
            f"solved: QP with C = {learner.description.C:g}{chosen}, "
            f"objective {learner.objective:.6g} after {learner.n_iter} Newton steps",
            f"proof: no utility has an objective lower by more than a share of {learner.gap:.1e} (duality gap)",
            "",
            f"what the log cannot tell ({visible.rank} of {learner.utility.weights.size} directions are seen):",
            *([f"  - {sentence}" for sentence in visible.sentences] or ["  nothing is hidden"]),
            "",
            str(self.factoring),
        ]


def learn_report(
    log: Preferences | PartedLog,
    *,
    method: str = "dcg",
    C: float | str = 1.0,
    holdout: float | None = None,
    by: str = "pair",
    current: DCG | str = CURRENT,
    bands: int = 0,
    ranges: bool = False,
    seed: int = 0,
    checkpoint: str | os.PathLike[str] | None = None,
    resume: bool = False,
    **parameters: Any,
) -> Report:
    """Learn a DCG from a log, measure it on held-out pairs, and return the report.

    Parameters
    ----------
    log : Preferences or PartedLog
        The log. One in parts gives neither `holdout`, C="auto", `bands` nor `ranges`.
    method, C, **parameters
        ``"dcg"`` with parameters of `DCGLearner`, or ``"qp"`` with those of `UtilityLearner`; C="auto" cross-validates.
    holdout, by, current
        Share to hold out and what to keep together (see `Preferences.split`); the metric used now, to compare with. The
        returned DCG is learned from the whole log in any case.
    bands, ranges
        Number of bootstrap samples, 0 for none; whether to compute the ranges over all DCGs that respect the log.
    seed
        Seed of the split, the folds and the bootstrap.
    checkpoint, resume
        For the fit on the whole log; see `UtilityLearner.fit`.

    Raises
    ------
    InputError
        If the log cannot be learned from, or cannot be split.
    """
    began = time.perf_counter()
    comparison = None
    if isinstance(log, PartedLog):
        if holdout is not None or C == "auto" or bands or ranges:
            raise InputError(
                'holdout, C="auto", bands and ranges need the whole log in memory: give Preferences', see="whole-log"
            )
    elif holdout is not None:
        train, test = log.split(1 - holdout, seed=seed, by=by)
        with stage("held out"):
            learner, chosen = _fitted(train, method, C, by, seed, parameters, ALONE)
            reference_C = learner.description.C if isinstance(learner, QPFit) else C if C != 1.0 else "auto"
            metrics: dict[str, Any] = {"current": current, "utility": _beyond(learner)}
            comparison = compare_dcg(_dcg(learner)[0], train, test, C=reference_C, seed=seed, **metrics)
        if comparison.below_ceiling:
            comparison = replace(comparison, lack_of_fit=_lack_of_fit(log, learner, seed))
    if bands and method != "dcg":
        raise InputError('bands go with method="dcg"')
    resources = Resources(checkpoint=checkpoint, resume=resume)
    with stage("learning"):
        learner, chosen = _fitted(log, method, C, by, seed, parameters, resources)
    dcg, factoring = _dcg(learner)
    pairs = log if isinstance(log, Preferences) else None
    banded = None
    if pairs is not None and bands and isinstance(learner, DirectFit):
        with stage("bands"):
            banded = bootstrap_bands(pairs, learner, n_resamples=bands, seed=seed)
    return Report(
        learner=learner,
        dcg=dcg,
        factoring=factoring,
        log=log,
        chosen=chosen,
        comparison=comparison,
        held_out_by=by if holdout is not None else None,
        contradicted=pairs.n_contradicted() if pairs is not None else None,
        bands=banded,
        ranges=consistent_ranges(pairs, n_grades=learner.description.n_grades)
        if pairs is not None and ranges
        else None,
        seconds=time.perf_counter() - began,
    )


def agreement_of(log: Preferences | PartedLog, learner: DirectFit | QPFit) -> RaterAgreement | None:
    """Return how far the raters of a log agree; None where no pair was judged twice and no side is known."""
    if not isinstance(log, Preferences) or (log.rater is None and log.swapped is None):
        return None
    agreement = rater_agreement(log, errors=False)
    if log.swapped is None and not agreement.n_units:
        return None
    if not isinstance(learner, DirectFit) or not learner.is_likelihood or len(log) > MOST_JUDGED:
        return agreement
    return rater_agreement(log, learner)


def _direct_lines(learner: DirectFit) -> list[str]:
    lines = [
        f"learned: gains and discounts directly ({learner.loss} loss, objective {learner.objective:.4g}; "
        f"the log counts as {learner.n_effective:,.0f} independent judgements)"
    ]
    if learner.loss == "robust":
        lines.append(f"judges: name the wrong list of a clear pair about {learner.error_rate:.1%} of the time")
    worst = sorted(learner.rater_error.items(), key=lambda item: -item[1])[:3]
    if worst and worst[0][1] > 2 * learner.error_rate:
        lines.append("raters who err most: " + ", ".join(f"{name} {error:.1%}" for name, error in worst))
    notes = [f"  - {note}" for note in learner.dcg.notes]
    return [
        *lines,
        *(["", "what the log cannot tell:", *notes] if notes else []),
        *_form_lines(learner),
        "",
        learner.dcg.table(),
    ]


def _beyond(learner: DirectFit | QPFit) -> ListUtility | None:
    """Return the list utility of a learner in another form than the DCG."""
    return learner.list_utility if isinstance(learner, DirectFit) else None


def _form_dict(learner: DirectFit) -> dict[str, Any]:
    """Return the form, its metric and the scores of all forms, unless a DCG was asked for."""
    if learner.description.form == "dcg":
        return {}
    scores = {form: vars(score) for form, score in learner.form_scores.items()}
    return {"form": learner.form, "list_utility": learner.utility.to_dict(), "form_scores": scores}


def _form_lines(learner: DirectFit) -> list[str]:
    """Return the scores of the forms and, in a form beyond the DCG, its metric."""
    scores = learner.form_scores
    lines = [scores_table(scores, learner.form)] if scores else []
    if learner.form == "dcg":
        return lines
    return [*lines, "", f"list utility ({learner.form}):", learner.utility.table(), "", "the DCG that fits best:"]


def _lack_of_fit(log: Preferences, learner: DirectFit | QPFit, seed: int) -> LackOfFit | None:
    """Return what a DCG cannot express of a log; None for a learner beyond it, or if too little can be held out."""
    if not isinstance(learner, DirectFit) or learner.description.form != "dcg":
        return None
    try:
        return lack_of_fit(log, learner=learner, seed=seed)
    except InputError:
        return None


def _dcg(learner: DirectFit | QPFit) -> tuple[DCG, Factoring | None]:
    if isinstance(learner, DirectFit):
        return learner.dcg, None
    factoring = learner.factor()
    return factoring.dcg, factoring


def _fitted(
    log: Preferences | PartedLog,
    method: str,
    C: float | str,
    by: str,
    seed: int,
    parameters: dict[str, Any],
    resources: Resources,
) -> tuple[DirectFit | QPFit, ChosenC | None]:
    if method == "dcg":
        fit = fit_in_form(log, DirectDescription(**parameters), resources=resources)
        warn_of(fit)
        return fit, None
    chosen, description = None, QPDescription(**parameters)
    if C == "auto" and isinstance(log, Preferences):
        folds_by = "pair" if by == "list" else by
        chosen = choose_C(log, description, by=folds_by, seed=seed)
        C = chosen.C
    solved = fit_qp(log, replace(description, C=float(C)), resources=resources)
    warn_of(solved)
    return solved, chosen


def _path(chosen: ChosenC) -> list[dict[str, float]]:
    rows = zip(chosen.grid.tolist(), chosen.mean.tolist(), chosen.error.tolist(), strict=True)
    return [{"C": C, "share": mean, "standard_error": error} for C, mean, error in rows]
