"""The main job in one call: a log in, a DCG out, with everything a person should know before trusting it."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from dcglearn.dcg import DCG, textbook_dcgs
from dcglearn.learn import ChosenC, UtilityLearner, choose_C

if TYPE_CHECKING:
    from dcglearn.factoring import Factoring
    from dcglearn.preferences import Preferences

HABIT = "exponential-log2"


@dataclass(frozen=True)
class HeldOut:
    """How metrics order pairs that none of them saw.

    Attributes
    ----------
    n_pairs, n_train : int
        Decided pairs held out, and left to learn from.
    by : str
        What was held out whole: pair, rater, query or list.
    utility, dcg : float
        Share respected (ties of a metric count half) by the learned W and by its gains and discounts.
    textbook : dict of str to float
        The same for each textbook DCG.
    best_on_train : str
        The textbook DCG that orders the training part best.
    error : float
        Standard error of `dcg`, NaN for weighted pairs (which are not independent).
    """

    n_pairs: int
    n_train: int
    by: str
    utility: float
    dcg: float
    textbook: dict[str, float]
    best_on_train: str
    error: float

    def lines(self) -> list[str]:
        """Return the table as text."""
        best_held_out = max(self.textbook, key=lambda name: self.textbook[name])
        rows = [
            ("learned gains x discounts", self.dcg),
            ("learned utility W (QP)", self.utility),
            (f"{self.best_on_train} (best textbook DCG on the training part)", self.textbook[self.best_on_train]),
        ]
        if self.best_on_train != HABIT:
            rows.append((f"{HABIT} (the habit)", self.textbook[HABIT]))
        if best_held_out not in (HABIT, self.best_on_train):
            rows.append((f"{best_held_out} (best of all on these pairs, in hindsight)", self.textbook[best_held_out]))
        error = "" if np.isnan(self.error) else f", standard error about {self.error:.3f}"
        how = f"learned from {self.n_train} others, held out by {self.by}{error}"
        return [
            f"share of {self.n_pairs} held-out pairs respected ({how}):",
            *(f"  {share:.4f}  {name}" for name, share in rows),
        ]


@dataclass(frozen=True)
class Report:
    """A learned DCG and what to know about it; prints as a page of plain words.

    Attributes
    ----------
    learner : UtilityLearner
        Fitted on the whole log.
    factoring : Factoring
        Its gains and discounts.
    log : Preferences
        What it was learned from.
    chosen : ChosenC or None
        How C was chosen, where it was.
    held_out : HeldOut or None
        Measured on a model that did not see the held-out pairs.
    contradicted : float
        Weight of pairs that other pairs contradict.
    seconds : float
        Time to learn, without reading the log.
    """

    learner: UtilityLearner
    factoring: Factoring
    log: Preferences
    chosen: ChosenC | None
    held_out: HeldOut | None
    contradicted: float
    seconds: float = field(compare=False)

    @property
    def dcg(self) -> DCG:
        """The learned gains and discounts."""
        return self.factoring.dcg

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain Python values, for programs."""
        learner, visible = self.learner, self.learner.visible_
        return {
            "pairs": len(self.log),
            "total_weight": self.log.total_weight,
            "depth": self.log.depth,
            "n_grades": self.log.n_grades,
            "dropped": {**self.log.dropped, **learner.dropped_},
            "contradicted": self.contradicted,
            "C": learner.C,
            "C_path": None if self.chosen is None else _path(self.chosen),
            "objective": learner.objective_,
            "gap": learner.gap_,
            "n_iter": learner.n_iter_,
            "visible": {
                "rank": visible.rank,
                "structural_rank": visible.structural_rank,
                "sentences": list(visible.sentences),
            },
            "explained": self.factoring.explained,
            "sigma2_over_sigma1": self.factoring.ratio,
            "dcg": self.dcg.to_dict(),
            "utility": learner.utility_.to_dict(),
            "held_out": None if self.held_out is None else _held_out_dict(self.held_out),
            "seconds": round(self.seconds, 3),
        }

    def __str__(self) -> str:
        learner, visible = self.learner, self.learner.visible_
        chosen = " (chosen by validation)" if self.chosen is not None else ""
        lines = [*describe(self.log), *_dropped_lines({**self.log.dropped, **learner.dropped_})]
        if self.contradicted:
            share = self.contradicted / self.log.decided.total_weight
            lines.append(f"contradicted: {self.contradicted:g} pairs ({share:.1%}) say the opposite of another pair")
        lines += [
            "",
            f"solved: QP with C = {learner.C:g}{chosen}, "
            f"objective {learner.objective_:.6g} after {learner.n_iter_} Newton steps",
            f"proof: no utility has an objective lower by more than a share of {learner.gap_:.1e} (duality gap)",
            "",
            f"what the log cannot tell ({visible.rank} of {learner.utility_.weights.size} directions are seen):",
            *([f"  - {sentence}" for sentence in visible.sentences] or ["  nothing is hidden"]),
            "",
            str(self.factoring),
        ]
        if self.held_out is not None:
            lines += ["", *self.held_out.lines()]
        return "\n".join(lines)


def learn_report(
    log: Preferences,
    *,
    C: float | str = 1.0,
    holdout: float | None = None,
    by: str = "pair",
    seed: int = 0,
    progress: bool = False,
    **parameters: Any,
) -> Report:
    """Learn a DCG from a log, and measure it on held-out pairs.

    Parameters
    ----------
    log : Preferences
        The log.
    C : float or "auto"
        "auto" chooses it by cross-validation.
    holdout : float, optional
        Share to hold out and measure on. The returned DCG is learned from the whole log all the same.
    by : {"pair", "rater", "query", "list"}
        What to hold out whole; see `Preferences.split`.
    seed : int
        Of the split and of the folds.
    progress : bool
        Show a bar on long work.
    **parameters
        Of `UtilityLearner`.

    Returns
    -------
    Report

    Raises
    ------
    InputError
        If the log cannot be learned from, or cannot be split so.
    """
    began = time.perf_counter()
    held_out = None
    if holdout is not None:
        train, test = log.split(1 - holdout, seed=seed, by=by)
        model, _ = _fitted(train, C, by, seed, progress, parameters)
        held_out = _measure(model, train, test, by)
    learner, chosen = _fitted(log, C, by, seed, progress, parameters)
    return Report(
        learner=learner,
        factoring=learner.factor(),
        log=log,
        chosen=chosen,
        held_out=held_out,
        contradicted=log.n_contradicted(),
        seconds=time.perf_counter() - began,
    )


def describe(log: Preferences) -> list[str]:
    """Return what a log holds, in words."""
    counts = [f"{len(log)} pairs"]
    if log.weight is not None:
        counts.append(f"total weight {log.total_weight:,.0f}")
    if log.tie is not None:
        counts.append(f"{int(log.tie.sum())} ties")
    counts += [
        f"{len(np.unique(x))} {name}" for name, x in (("raters", log.rater), ("queries", log.query)) if x is not None
    ]
    return [f"read: {', '.join(counts)}; {log.depth} positions, {log.n_grades} grades"]


def _dropped_lines(dropped: dict[str, int]) -> list[str]:
    return [f"left out: {count:,} {reason}" for reason, count in dropped.items() if count]


def _fitted(
    log: Preferences, C: float | str, by: str, seed: int, progress: bool, parameters: dict[str, Any]
) -> tuple[UtilityLearner, ChosenC | None]:
    chosen = None
    if C == "auto":
        folds_by = "pair" if by == "list" else by
        chosen = choose_C(log, UtilityLearner(**parameters), by=folds_by, seed=seed, progress=progress)
        C = chosen.C
    return UtilityLearner(**{**parameters, "C": float(C)}).fit(log), chosen


def _measure(model: UtilityLearner, train: Preferences, test: Preferences, by: str) -> HeldOut:
    textbook = textbook_dcgs(train.n_grades, train.depth)
    on_train = {name: train.agreement(dcg).share for name, dcg in textbook.items()}
    dcg = test.agreement(model.factor().dcg).share
    n = len(test.decided)
    return HeldOut(
        n_pairs=n,
        n_train=len(train.decided),
        by=by,
        utility=model.score(test),
        dcg=dcg,
        textbook={name: test.agreement(other).share for name, other in textbook.items()},
        best_on_train=max(on_train, key=lambda name: on_train[name]),
        error=float(np.sqrt(dcg * (1 - dcg) / n)) if test.weight is None else np.nan,
    )


def _path(chosen: ChosenC) -> list[dict[str, float]]:
    rows = zip(chosen.grid.tolist(), chosen.mean.tolist(), chosen.error.tolist(), strict=True)
    return [{"C": C, "share": mean, "standard_error": error} for C, mean, error in rows]


def _held_out_dict(held_out: HeldOut) -> dict[str, Any]:
    values = dict(vars(held_out))
    values["error"] = None if np.isnan(held_out.error) else held_out.error
    return values
