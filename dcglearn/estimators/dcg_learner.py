"""`DCGLearner`: gains and discounts learned from judgements, with error rates; its saved file."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from dcglearn.estimators.utility_learner import PairLearner, parameters_of
from dcglearn.foundation.files import write_json
from dcglearn.foundation.inputs import is_path, read_json_object
from dcglearn.foundation.validation import (
    Counts,
    Fields,
    Floats,
    InputError,
    PathLike,
    finite_array,
)
from dcglearn.learning.checkpoint import Checkpointing
from dcglearn.learning.dcg_model import Curves
from dcglearn.learning.descriptions import (
    CANDIDATE,
    FORMS,
    DirectDescription,
    DirectFit,
    FormScore,
    Member,
)
from dcglearn.learning.starts import WarmStart
from dcglearn.logs.visibility import Visibility
from dcglearn.metrics.dcg import DCG
from dcglearn.metrics.list_utility import ListUtility
from dcglearn.metrics.reading import ONLY_DCG, MetricLike, read_metric
from dcglearn.metrics.saved_metric import check_format, check_numbers, fields_of, read_saved
from dcglearn.metrics.textbook import is_metric_file
from dcglearn.parts.open_log import Log, check_log, opened_log
from dcglearn.parts.parted_log import OpenLog
from dcglearn.readers.preferences import Preferences, as_preferences
from dcglearn.trust.form_choice import fit_in_form
from dcglearn.trust.llm import llm_dcg

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
    "wrong_share": float,
}
"""The keys of a file, which are fields of `DirectFit`, each with the type of its value."""

OF_CURVES = tuple(Curves.__dataclass_fields__)
"""Keys of "curves"; "thresholds" are those of the strengths, without the infinite last one."""


class DCGLearner(PairLearner):
    """Learn gains and discounts directly from preferences, clean or noisy.

    Source: Zhou et al. 2008, section 5, case 1, with the likelihood in place of the margin. Pairs
    of the same few lists are not independent (all pairs of a list share its value beyond its
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
        Keep 2. For a metric with one large step between grades and a few dozen pairs, 0.1 is
        better.
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
        Value of a list: the sum of gains times discounts, or a `ListUtility` with stop
        probabilities, or with a share of the best result. "auto" leaves the DCG only for a form
        that fits the log better than nearly all logs simulated from the DCG, and predicts held-out
        judgements no worse.
    zero : int or "none"
        The grade whose gain is 0, like an empty place's (-2); worse grades have negative
        gains. With "none", the log tells how much worse an empty place is than the best grade, if
        one list of a pair has a result where the other has none. A grade that is not known (-1)
        counts as the worst, with any zero.
    discounts : {"falling", "free"}
        "free" lets discounts rise too, for readers that need not start at the top, such as language
        models.
    candidates : sequence or mapping of DCG, file or name
        Metrics that stand beside the textbook DCGs in the blend, such as ``["reader:news-feed"]``:
        its textbook member is that which respects most of the log. Unless discounts are free,
        theirs are cut where they rise.

    Attributes
    ----------
    dcg_ : DCG
        Gains up to 1, from 0 unless `zero` says otherwise, and discounts from 1, decreasing unless
        they are free; in every form, the DCG that fits the log best.
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
    wrong_share_ : float
        The share of the log's decided verdicts that is expected to name the worse list: those of
        careless judges, and those on close pairs; 0 if not estimated.
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
    bands : How exactly the log determines the result.
    suggest_pairs : Choose the next pairs to judge.
    compare_learners : Compare learners on held-out pairs.

    Examples
    --------
    >>> truth = dl.simulate.ground_truth("D1")
    >>> log = dl.simulate.preference_pairs(truth, 100, n_flips=10, random_state=0)
    >>> learner = DCGLearner().fit(log)
    >>> learner.score(dl.simulate.preference_pairs(truth, 2000, random_state=1)) > 0.9
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
    wrong_share_: float
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
    dropped_: Counts
    curves_: Curves

    @parameters_of(DirectDescription)
    def __init__(self) -> None: ...

    def fit(
        self,
        X: Log,
        y: None = None,
        start: DCGLearner | Curves | MetricLike | None = None,
        *,
        refit: str = "never",
        engine: Any = None,
        memory: str | int | None = None,
        checkpoint: PathLike | None = None,
        resume: bool = False,
        as_is: bool = False,
        llm: Log | DCG | None = None,
    ) -> DCGLearner:
        """Learn from a log.

        Raises the errors of `UtilityLearner.fit`; InputError also if `llm` or the start has
        other numbers of grades or positions, the start another loss or impossible values, or a form
        beyond the DCG is asked of a log in parts, with a checkpoint, or with `llm`.

        Parameters
        ----------
        X, engine, memory, checkpoint, resume, as_is
            As in `UtilityLearner.fit`.
        start : DCGLearner, Curves, DCG, file or name, optional
            The only start: a fitted learner or its saved file, its `curves_`, or a DCG as `metric`
            reads it.
            A learner that was fitted to nearly the same log saves most of the time: each member of
            a blend starts from its own, and the weights are kept until the log has grown or shrunk
            by a tenth.
        refit : {"never", "if_worse"}
            With a `start`: "if_worse" tries all starts too if one of them has a lower objective
            than the warm fit, keeps the better fit, and computes new weights of a blend. The
            objective is not convex.
        llm : log or DCG, optional
            Many verdicts of a machine, such as a language model, on other pairs or the same; or the
            DCG that was learned from them. It becomes a member of the blend, and so do fits that
            have it as their prior at three strengths, weighed by the people's own verdicts: a
            machine that disagrees with people loses its weight. It is left out, with a warning,
            where nothing can be learned from it. By default the start's.
        """
        description = self.description
        checkpointing = Checkpointing(checkpoint, resume)
        with opened_log(X, description.n_grades, engine=engine, memory=memory) as log:
            check_log(log, as_is=as_is)

            # the machine's DCG comes first: it may be left out
            machine = llm_dcg(llm, log, as_is=as_is)
            warm = _warm_start(start, log)
            self._take(
                fit_in_form(
                    log, description, warm, refit=refit, checkpointing=checkpointing, llm=machine
                )
            )
        return self

    @property
    def description(self) -> DirectDescription:
        """The parameters, frozen."""
        return DirectDescription(**self.get_params())

    def predict_proba(self, X: Preferences | ArrayLike) -> Floats:
        """Return the probabilities of a win of the first list, a tie, and its loss; shape (n, 3).

        Raises InputError if the loss is not a likelihood, so that verdicts have no probabilities.
        """
        check_is_fitted(self)
        return self.fit_.probabilities(as_preferences(X, self.dcg_.n_grades))

    def save(self, path: PathLike, *, force: bool = True) -> None:
        """Write the fitted learner, without its log, as strict JSON; only `force` replaces a file.

        Raises NotFittedError or InputError if the learner is not fitted; or the file cannot be
        written (or replaced).
        """
        check_is_fitted(self)
        save_fit(self.fit_, path, force=force)

    @classmethod
    def load(cls, path: PathLike) -> DCGLearner:
        """Read what `save` wrote, to predict or start a fit from; for errors see `DCG.load`."""
        fit = read_saved(path, _fit_of)

        # as if it had been fitted here
        learner = cls(**vars(fit.description))
        learner._take(fit)
        return learner


def _warm_start(start: Any, log: OpenLog) -> WarmStart | None:
    """Return the start that a fitted learner, `Curves`, a DCG, a file or a name stands for."""
    if start is None or not is_path(start):
        return None if start is None else WarmStart.of(start)

    # a file may hold a learner
    if is_metric_file(start) and read_json_object(start).get("format") == f"dcglearn.{KIND}":
        saved: Any = read_saved(start, _fit_of)
    else:
        saved = read_metric(start, log.n_grades, log.depth, accept=ONLY_DCG, name="start")
    return WarmStart.of(saved, f"start {start}")


def save_fit(fit: DirectFit, path: PathLike, *, force: bool = True) -> None:
    """Write a fit, apart from what its log can tell, as `DCGLearner.save` says."""
    head = {"format": f"dcglearn.{KIND}", "version": VERSION}
    write_json(path, {**head, **_fields(fit)}, force=force)


def _fields(fit: DirectFit) -> Fields:
    """Return the fields of a file."""
    # the prior and candidates as DCGs
    shape = fit.dcg.n_grades, fit.dcg.depth
    description = {**vars(fit.description), "prior": _dict_of(fit.description.prior_of(*shape))}
    further = {
        name.removeprefix(CANDIDATE): dcg.to_dict()
        for name, dcg in fit.description.candidates_of(*shape)
    }
    description.pop("candidates")
    if further:
        description["candidates"] = further

    # the curves as numbers, thresholds without the infinite one
    curves = {key: np.asarray(getattr(fit.curves, key)).tolist() for key in OF_CURVES}
    curves["thresholds"] = curves["thresholds"][1:-1]

    # members hold fits of their own
    members = []
    for member in fit.members:
        own = None if member.fit is None else _fields(member.fit)
        members.append({**member.to_dict(), "dcg": member.dcg.to_dict(), "fit": own})

    # the rest as it is
    return {
        **{key: getattr(fit, key) for key in TYPES},
        "description": description,
        "dcg": fit.dcg.to_dict(),
        "raters": list(fit.raters),
        "curves": curves,
        "form_scores": {form: asdict(score) for form, score in fit.form_scores.items()},
        "list_utility": _dict_of(fit.list_utility),
        "members": members,
    }


def _dict_of(metric: DCG | ListUtility | None) -> Fields | None:
    return None if metric is None else metric.to_dict()


def _fit_of(values: Fields) -> DirectFit:
    """Return the fit of a file's fields; raise InputError for damaged or contradictory ones."""
    check_format(values, [KIND], VERSION)
    return _fit_of_fields(_known_fields(values, "a saved learner"))


def _known_fields(values: Fields, thing: str) -> Fields:
    """Return the fields of a file; files of before may not tell the share of wrong verdicts."""
    return fields_of({"wrong_share": 0.0, **values}, TYPES, (), thing)


def _fit_of_fields(values: Fields) -> DirectFit:
    """Return the fit of the fields of a file, or of a member."""
    # read numbers and curves
    _check(values)
    dcg = DCG.from_dict(values["dcg"])
    curves = _curves(values["curves"])
    raters = tuple(values["raters"])
    utility: Any = values["list_utility"]

    # read what other classes hold
    prior = values["description"].get("prior")
    prior = None if prior is None else DCG.from_dict(prior)
    further = values["description"].get("candidates", {})

    # their errors are those of the file
    try:
        candidates = {name: DCG.from_dict(dcg) for name, dcg in further.items()}
        own = {"prior": prior, "candidates": candidates or ()}
        description = DirectDescription(**{**values["description"], **own})
        scores = {form: FormScore(**score) for form, score in values["form_scores"].items()}
        members = tuple(map(_member, values["members"]))
        utility = None if utility is None else ListUtility.from_dict(utility)
    except InputError:
        raise
    except (TypeError, AttributeError) as error:
        raise InputError(
            f"the parameters are not those of a DCGLearner, or the scores none of forms ({error})"
        ) from error

    # check that they belong together
    if values["form"] not in FORMS or (utility is None) != (values["form"] == "dcg"):
        held = "without" if utility is None else "with"
        raise InputError(f"the form is {values['form']!r}, {held} a list utility")
    if dcg.n_grades != len(curves.gains) or dcg.depth != len(curves.discounts):
        raise InputError('"dcg" and "curves" have different numbers of grades or positions')

    # each rater has numbers of its own
    n_judges, n_biases = len(curves.errors), len(curves.biases)
    if len(raters) not in (0, n_judges) or n_biases not in (0, n_judges):
        raise InputError(
            f"{len(raters)} raters for {n_judges} error rates and {n_biases} position biases"
        )

    # numbers may be whole in the file
    numbers = {key: float(values[key]) for key, kind in TYPES.items() if kind is float}
    read = {"description": description, "dcg": dcg, "curves": curves, "raters": raters}
    read |= {"form_scores": scores, "list_utility": utility, "members": members}
    return DirectFit(**{**values, **numbers, **read})


def _member(values: Fields) -> Member:
    """Return a member of a blend from its fields."""
    # fields of the member
    values = fields_of(values, Member.__dataclass_fields__, (), "a member of a blend")
    if not isinstance(values["name"], str):
        raise InputError(f'"name" of a member holds {values["name"]!r}, expected a text')

    # its numbers, of which two may not be known
    numbers = {}
    for key in ("weight", "share", "error"):
        value = math.nan if values[key] is None and key != "weight" else values[key]
        if not isinstance(value, int | float) or isinstance(value, bool) or value < 0:
            raise InputError(
                f'"{key}" of a member holds {value!r}, expected a number of at least 0'
            )
        numbers[key] = float(value)

    # its fit, if it is one
    fit = values["fit"]
    if fit is not None:
        fit = _fit_of_fields(_known_fields(fit, "the fit of a member"))
    return Member(values["name"], **numbers, dcg=DCG.from_dict(values["dcg"]), fit=fit)


def _check(values: Fields) -> None:
    """Raise InputError if a value is of another type."""
    # the type of each field; a truth value is no number
    for key, kind in TYPES.items():
        value = values[key]
        if kind is float:
            check_numbers(value, key)
        right = isinstance(value, (int, float) if kind is float else kind)
        if not right or (kind is int and isinstance(value, bool)):
            raise InputError(f'"{key}" holds {value!r}, expected {kind.__name__}')

    # what they hold
    if not all(isinstance(name, str) for name in values["raters"]):
        raise InputError('"raters" must be a list of texts')
    check_numbers([*values["dropped"].values()], "dropped")
    scores = [score for score in values["form_scores"].values() if isinstance(score, dict)]
    check_numbers([x for score in scores for x in score.values() if x is not None], "form_scores")


def _curves(values: Fields) -> Curves:
    """Return metric and judges from the field "curves"."""
    fields_of(values, OF_CURVES, (), '"curves"')

    def array(key: str, ndim: int = 1) -> Any:
        """Return the finite numbers of a field; some may have none."""
        check_numbers(values[key], key)
        if values[key] == [] and key in ("thresholds", "biases"):
            return np.zeros(0)
        return finite_array(values[key], key, ndim)

    arrays = {key: array(key) for key in OF_CURVES if key != "sharpness"}
    arrays["thresholds"] = np.concatenate([[0.0], arrays["thresholds"], [np.inf]])
    return Curves(**arrays, sharpness=float(array("sharpness", 0)))
