"""`DCGLearner`: gains and discounts learned directly from judgements, with the judges' error rates;
its saved file.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from dcglearn.estimators.utility_learner import PairLearner
from dcglearn.foundation.files import write_json
from dcglearn.foundation.inputs import is_path, read_json_object
from dcglearn.foundation.validation import Floats, InputError, PathLike, finite_array
from dcglearn.learning.checkpoint import Keeping
from dcglearn.learning.dcg_model import Curves
from dcglearn.learning.descriptions import FORMS, DirectDescription, DirectFit, FormScore, Member
from dcglearn.learning.starts import WarmStart
from dcglearn.logs.visibility import Visibility
from dcglearn.metric.dcg import DCG, DCGLike
from dcglearn.metric.list_utility import ListUtility
from dcglearn.metric.saved_metric import check_format, check_numbers, fields_of, read_saved
from dcglearn.parts.open_log import Log, check_log, opened_log
from dcglearn.readers.preferences import Preferences, as_preferences
from dcglearn.trust.form_choice import fit_in_form
from dcglearn.trust.proxy import proxy_dcg

KIND, VERSION = "dcg_learner", 1
"""Kind and version of the file format; files of other versions are refused."""

TYPES: dict[str, type] = {
    "description": dict,
    "loss": str,
    "dcg": dict,
    "curves": dict,
    "raters": list,
    "ties": bool,
    "objective": float,
    "n_effective": float,
    "n_iter": int,
    "dropped": dict,
    "warm": bool,
    "form": str,
    "form_scores": dict,
    "list_utility": object,
    "members": list,
    "weighed_on": float,
}
"""The keys of a file, which are fields of `DirectFit`, each with the type of its value."""

OF_CURVES = ("gains", "discounts", "sharpness", "errors", "thresholds", "biases")
"""The keys of "curves"; "thresholds" holds those of the strengths, without the infinite one at the
end.
"""


class DCGLearner(PairLearner):
    """Learn gains and discounts directly from preferences, clean or noisy.

    Source: Zhou et al. 2008, section 5, case 1, with the likelihood in place of the margin. Pairs
    of the same few lists are not independent (all pairs of a list share its worth beyond its
    grades), hence `n_effective_`. Strengths of preference are ordered verdicts; ties lie between
    them (Rao and Kupper 1967).

    Parameters
    ----------
    loss : {"auto", "robust", "logistic", "sigmoid", "squared_hinge"}
        "auto" blends three members: the "robust" fit, the "sigmoid" fit and the textbook DCG that
        respects most of the log, weighted by how probably each is the best (see `members_`); in a
        form beyond the DCG it is "robust". "robust" is a logistic likelihood that also estimates
        the judges' error rate: near 0 it is "logistic" (Bradley and Terry), near 1/2 it is
        "sigmoid", a soft count of the violated pairs. "squared_hinge" is the paper's loss, with the
        log's strengths or margins over their mean size as its margins.
    ridge : float
        Strength of the prior that gains and discounts follow smooth curves; 0 leaves them free.
        Keep 2, or let `ridge_path` choose. For a metric with one large step between grades and a
        few dozen pairs, 0.1 is better.
    prior : DCG, file or name, optional
        A metric to shrink to, for logs of a few dozen pairs. Take the one that you use now. The
        blend has it too.
    n_starts : int
        Number of descents from the best of the starts (textbook DCGs, a family of curves, the
        factored QP, `prior`). More take longer and can find a lower objective.
    n_grades : int, optional
        L where it is larger than the log's.
    max_iter : int
        Maximum iterations of each descent. Raise it after a ConvergenceWarning.
    form : {"dcg", "saturation", "best", "auto"}
        What a list is worth: the sum of gains times discounts, or a `ListUtility` with stop
        probabilities, or with a share of the best result. "auto" leaves the DCG only for a form
        that fits the log better than nearly all logs simulated from the DCG, and predicts held-out
        judgements no worse.
    zero : int or "none"
        The grade that is worth nothing, as an empty place (-2) is; worse grades have negative
        gains. With "none", the log tells how much worse an empty place is than the best grade, if
        one list of a pair has a result where the other has none. A grade that is not known (-1)
        counts as the worst, with any zero.
    discounts : {"falling", "free"}
        "free" lets discounts rise too, for readers that need not start at the top, such as language
        models.

    Attributes
    ----------
    dcg_ : DCG
        Gains up to 1, from 0 unless `zero` says otherwise, and discounts from 1, decreasing unless
        they are free; whatever the form, the DCG that fits the log best.
    form_ : str
        The form chosen.
    utility_, metric_ : ListUtility, DCG or ListUtility
        The metric in that form, on the scale of `dcg_`; `metric_` is the `DCG` itself where the
        form is "dcg".
    form_scores_ : dict of str to FormScore
        With ``form="auto"`` how well each form fits and predicts; else empty.
    scale_, tie_threshold_ : float
        Size of a difference of 1 in `dcg_`, and of the largest likely tie, in units of the judges'
        noise.
    error_rate_, rater_error_ : float, dict of str to float
        How often judges name the worse list though the other is far better; 0 if not estimated. By
        rater, if several.
    position_bias_, rater_bias_ : float, dict of str to float
        By how much judges prefer the list shown first, in units of their noise: of two equal lists,
        the log-odds that it wins. 0 where the log does not tell sides (`shown_left`), or the loss
        is no likelihood. By rater, if several.
    loss_, members_ : str, tuple of Member
        The loss used, or "blend" and the members of the blend: name, weight, held-out share and its
        error, DCG and fit.
    objective_, n_effective_ : float
        Loss of `n_effective_` independent judgements plus prior: the log's weight, but at most its
        number of lists. Of a blend, the robust loss of its curves, with the judges that fit best
        with these.
    n_iter_, warm_ : int, bool
        Iterations of the last descent, and whether the fit is that from the `start`.
    visible_, dropped_ : Visibility, dict of str to int
        What the log can and cannot tell, which is not saved; number of pairs left out, by reason.
    curves_ : Curves
        The fitted metric and judges.
    fit_ : DirectFit
        All of these in one frozen object.

    See Also
    --------
    UtilityLearner : The paper's quadratic programme.
    bootstrap_bands : How exactly the log determines the result.
    suggest_pairs : Choose the next pairs to judge.
    compare_learners : Compare learners on held-out pairs.

    Examples
    --------
    >>> truth = dl.simulate.ground_truth("D1")
    >>> learner = DCGLearner().fit(dl.simulate.preference_pairs(truth, 100, n_flips=10, seed=0))
    >>> learner.score(dl.simulate.preference_pairs(truth, 2000, seed=1)) > 0.9
    True
    """

    fit_: DirectFit
    metric_: DCG | ListUtility
    dcg_: DCG
    utility_: ListUtility
    form_: str
    form_scores_: Mapping[str, FormScore]
    scale_: float
    error_rate_: float
    rater_error_: dict[str, float]
    position_bias_: float
    rater_bias_: dict[str, float]
    tie_threshold_: float
    loss_: str
    members_: tuple[Member, ...]
    objective_: float
    n_effective_: float
    n_iter_: int
    warm_: bool
    visible_: Visibility
    dropped_: dict[str, int]
    curves_: Curves

    def __init__(
        self,
        loss: str = "auto",
        ridge: float = 2.0,
        prior: DCGLike | None = None,
        n_starts: int = 6,
        n_grades: int | None = None,
        max_iter: int = 2000,
        form: str = "dcg",
        zero: int | str = 0,
        discounts: str = "falling",
    ) -> None:
        self.loss = loss
        self.ridge = ridge
        self.prior = prior
        self.n_starts = n_starts
        self.n_grades = n_grades
        self.max_iter = max_iter
        self.form = form
        self.zero = zero
        self.discounts = discounts

    def fit(
        self,
        X: Log,
        y: None = None,
        start: DCGLearner | Curves | DCG | PathLike | None = None,
        *,
        refit: str = "never",
        engine: Any = None,
        memory: str | int | None = None,
        checkpoint: PathLike | None = None,
        resume: bool = False,
        as_is: bool = False,
        proxy: Log | DCG | None = None,
    ) -> DCGLearner:
        """Learn from a log.

        Raises the errors of `UtilityLearner.fit`; InputError also if the proxy or the start has
        other numbers of grades or positions, the start another loss or impossible values, or a form
        beyond the DCG is asked of a log in parts, with a checkpoint, or with a proxy.

        Parameters
        ----------
        X, engine, memory, checkpoint, resume, as_is
            As in `UtilityLearner.fit`.
        start : DCGLearner, path, Curves or DCG, optional
            The only start: a fitted learner or its saved file, its `curves_`, or a DCG or its file.
            A learner that was fitted to nearly the same log saves most of the time: each member of
            a blend starts from its own, and the weights are kept until the log has grown or shrunk
            by a tenth.
        refit : {"never", "if_worse"}
            With a `start`: "if_worse" tries all starts too if one of them has a lower objective
            than the warm fit, and keeps the better fit, and finds the weights of a blend anew. The
            objective is not convex.
        proxy : log or DCG, optional
            Many verdicts of a machine, such as a language model, on other pairs or the same; or the
            DCG that was learned from them. It becomes a member of the blend, and so do fits that
            have it as their prior at three strengths, weighed by the people's own verdicts: a
            machine that disagrees with people loses its weight. It is left out, with a warning,
            where nothing can be learned from it. By default that of the start.
        """
        description, keeping = self.description, Keeping(checkpoint, resume)
        with opened_log(X, description.n_grades, engine=engine, memory=memory) as log:
            check_log(log, as_is=as_is)
            machine = proxy_dcg(proxy, log, as_is=as_is)
            self._take(
                fit_in_form(
                    log,
                    description,
                    _warm_start(start),
                    refit=refit,
                    keeping=keeping,
                    proxy=machine,
                )
            )
        return self

    @property
    def description(self) -> DirectDescription:
        """The parameters, frozen."""
        return DirectDescription(**self.get_params())

    def predict_proba(self, X: Preferences | ArrayLike) -> Floats:
        """Return the probabilities that a judge prefers the first list, calls a tie, prefers the
        second; shape (n, 3).

        Raises InputError if the loss is not a likelihood, so that verdicts have no probabilities.
        """
        check_is_fitted(self)
        return self.fit_.probabilities(as_preferences(X, self.dcg_.n_grades))

    def save(self, path: PathLike, *, force: bool = True) -> None:
        """Write the fitted learner, without its log, as strict JSON; ``force=False`` refuses an
        existing file.

        Raises NotFittedError or InputError if the learner is not fitted; or the file cannot be
        written (or replaced).
        """
        check_is_fitted(self)
        save_fit(self.fit_, path, force=force)

    @classmethod
    def load(cls, path: PathLike) -> DCGLearner:
        """Read what `save` wrote, to predict or to start a fit from. Raises InputError as in
        `DCG.load`.
        """
        fit = read_saved(path, _fit_of)
        learner = cls(**vars(fit.description))
        learner._take(fit)
        return learner


def _warm_start(start: Any) -> WarmStart | None:
    """Return the start that a fitted learner, its file, `Curves`, a DCG or its file stands for."""
    if start is None or not is_path(start):
        return None if start is None else WarmStart.of(start)
    is_metric = read_json_object(start).get("format") == f"dcglearn.{DCG._kind}"
    return WarmStart.of(
        DCG.load(start) if is_metric else read_saved(start, _fit_of), f"start {start}"
    )


def save_fit(fit: DirectFit, path: PathLike, *, force: bool = True) -> None:
    """Write a fit, apart from what its log can tell, as `DCGLearner.save` says."""
    write_json(
        path, {"format": f"dcglearn.{KIND}", "version": VERSION, **_fields(fit)}, force=force
    )


def _fields(fit: DirectFit) -> dict[str, Any]:
    """Return the fields of a file."""
    prior = fit.description.prior_of(fit.dcg.n_grades, fit.dcg.depth)
    curves = {key: np.asarray(getattr(fit.curves, key)).tolist() for key in OF_CURVES}
    return {
        **{key: getattr(fit, key) for key in TYPES},
        "description": {
            **vars(fit.description),
            "prior": None if prior is None else prior.to_dict(),
        },
        "dcg": fit.dcg.to_dict(),
        "raters": list(fit.raters),
        "curves": {**curves, "thresholds": curves["thresholds"][1:-1]},
        "form_scores": {form: asdict(score) for form, score in fit.form_scores.items()},
        "list_utility": None if fit.list_utility is None else fit.list_utility.to_dict(),
        "members": [
            {
                **member.to_dict(),
                "dcg": member.dcg.to_dict(),
                "fit": None if member.fit is None else _fields(member.fit),
            }
            for member in fit.members
        ],
    }


def _fit_of(values: dict[str, Any]) -> DirectFit:
    """Return the fit of a file's fields; raise InputError if one is damaged, or they do not belong
    together.
    """
    check_format(values, [KIND], VERSION)
    return _fit_of_fields(fields_of(values, TYPES, (), "a saved learner"))


def _fit_of_fields(values: dict[str, Any]) -> DirectFit:
    _check(values)
    dcg, curves, raters = (
        DCG.from_dict(values["dcg"]),
        _curves(values["curves"]),
        tuple(values["raters"]),
    )
    prior = values["description"].get("prior")
    description = {
        **values["description"],
        "prior": None if prior is None else DCG.from_dict(prior),
    }
    numbers = {key: float(values[key]) for key, kind in TYPES.items() if kind is float}
    utility = values["list_utility"]
    try:
        values |= {
            "description": DirectDescription(**description),
            "form_scores": {
                form: FormScore(**score) for form, score in values["form_scores"].items()
            },
            "list_utility": None if utility is None else ListUtility.from_dict(utility),
            "members": tuple(map(_member, values["members"])),
        }
    except (TypeError, AttributeError) as error:
        problem = (
            f"the parameters are not those of a DCGLearner, or the scores none of forms ({error})"
        )
        raise InputError(problem) from error
    if values["form"] not in FORMS or (utility is None) != (values["form"] == "dcg"):
        raise InputError(
            f"the form is {values['form']!r}, {'without' if utility is None else 'with'} a list utility"
        )
    if dcg.n_grades != len(curves.gains) or dcg.depth != len(curves.discounts):
        raise InputError('"dcg" and "curves" have different numbers of grades or positions')
    if len(raters) not in (0, len(curves.errors)) or len(curves.biases) not in (
        0,
        len(curves.errors),
    ):
        held = f"{len(curves.errors)} error rates and {len(curves.biases)} position biases"
        raise InputError(f"{len(raters)} raters for {held}")
    return DirectFit(**{**values, **numbers, "dcg": dcg, "curves": curves, "raters": raters})


def _member(values: dict[str, Any]) -> Member:
    values = fields_of(
        values, {field.name: object for field in fields(Member)}, (), "a member of a blend"
    )
    numbers = {}
    for key in ("weight", "share", "error"):
        value = math.nan if values[key] is None and key != "weight" else values[key]
        if not isinstance(value, int | float) or isinstance(value, bool) or value < 0:
            raise InputError(
                f'"{key}" of a member holds {value!r}, expected a number of at least 0'
            )
        numbers[key] = float(value)
    if not isinstance(values["name"], str):
        raise InputError(f'"name" of a member holds {values["name"]!r}, expected a text')
    fit = values["fit"]
    if fit is not None:
        fit = _fit_of_fields(fields_of(fit, TYPES, (), "the fit of a member"))
    return Member(values["name"], **numbers, dcg=DCG.from_dict(values["dcg"]), fit=fit)


def _check(values: dict[str, Any]) -> None:
    """Raise InputError if a value is of another type."""
    for key, kind in TYPES.items():
        value = values[key]
        if kind is float:
            check_numbers(value, key)
        if not isinstance(value, (int, float) if kind is float else kind) or (
            kind is int and isinstance(value, bool)
        ):
            raise InputError(f'"{key}" holds {value!r}, expected {kind.__name__}')
    if not all(isinstance(name, str) for name in values["raters"]):
        raise InputError('"raters" must be a list of texts')
    check_numbers([*values["dropped"].values()], "dropped")
    scores = [score for score in values["form_scores"].values() if isinstance(score, dict)]
    check_numbers([x for score in scores for x in score.values() if x is not None], "form_scores")


def _curves(values: dict[str, Any]) -> Curves:
    if sorted(values) != sorted(OF_CURVES):
        raise InputError(
            f'"curves" holds {", ".join(values) or "nothing"}, expected {", ".join(OF_CURVES)}'
        )
    for key in OF_CURVES:
        check_numbers(values[key], key)
    thresholds, biases = (
        finite_array(values[key], key, 1) if values[key] != [] else np.zeros(0)
        for key in ("thresholds", "biases")
    )
    return Curves(
        gains=finite_array(values["gains"], "gains", 1),
        discounts=finite_array(values["discounts"], "discounts", 1),
        sharpness=float(finite_array(values["sharpness"], "sharpness", 0)),
        errors=finite_array(values["errors"], "errors", 1),
        thresholds=np.concatenate([[0.0], thresholds, [np.inf]]),
        biases=biases,
    )
