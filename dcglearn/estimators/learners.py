"""The learners: `UtilityLearner`, the QP of Zhou et al. 2008, and `DCGLearner`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Concatenate, ParamSpec, TypeAlias

from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from dcglearn.foundation.sources import is_path
from dcglearn.foundation.threads import one_blas_thread
from dcglearn.foundation.validation import Counts, Floats, Grades, known
from dcglearn.learning.factoring import Factoring
from dcglearn.learning.fit import AnyFit, Fit, Member, warn_of
from dcglearn.learning.fit_qp import QPFit, fit_qp
from dcglearn.learning.options import DCGOptions, QPOptions
from dcglearn.logs.preference_pairs import Agreement
from dcglearn.logs.thinning import SAMPLE
from dcglearn.logs.visibility import Visibility
from dcglearn.metrics.dcg import DCG, Utility
from dcglearn.reading.in_memory import Log, as_preferences
from dcglearn.reading.preferences import Preferences
from dcglearn.trust.coins import check_log
from dcglearn.trust.fit_learner import finished, fit_learner, prepared, with_llm_learned

P = ParamSpec("P")

Constructor: TypeAlias = Callable[Concatenate[Any, P], None]
"""An `__init__` with given parameters."""


def parameters_of(options: Callable[P, Any]) -> Callable[[Any], Constructor[P]]:
    """Give a learner's `__init__` the parameters of its options, which become attributes."""
    signature = inspect.signature(options)
    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)

    def with_parameters(empty: Any) -> Constructor[P]:
        @functools.wraps(empty)
        def constructor(self: Any, *values: P.args, **named: P.kwargs) -> None:
            known(named, signature.parameters, type(self).__name__, "parameter")
            given = signature.bind(*values, **named)
            given.apply_defaults()
            vars(self).update(given.arguments)

        # what `help` and scikit-learn read
        shown = signature.replace(parameters=[own, *signature.parameters.values()])
        constructor.__signature__ = shown  # type: ignore[attr-defined]
        return constructor

    return with_parameters


@contextmanager
def opened(X: Any, engine: Any, *, as_is: bool, **shape: Any) -> Iterator[tuple[Any, Preferences]]:
    """Yield the `DaskLog` that an engine's workers keep, None without one, and the log.

    Of what workers read, a sample stands for the log. It is checked by `check_log`.
    """
    log = X if engine is not None and not in_memory(X) else as_preferences(X, **shape, as_is=as_is)
    if engine is None:
        # one limit for the whole fit: as often as it changes, threads of BLAS spin for a while
        with one_blas_thread():
            check_log(log, as_is=as_is)
            yield None, log
        return

    # over a cluster
    from dcglearn.distributed import spread

    with spread(log, engine, **shape) as far, one_blas_thread():
        log = log if in_memory(X) else far.pairs.thinned(SAMPLE)
        check_log(log, as_is=as_is, one_sided=far.one_sided)
        yield far, log


def in_memory(X: Any) -> bool:
    """Return whether a log is held by this process, rather than read by a cluster's workers."""
    return not is_path(X) and not hasattr(X, "to_delayed")


class PairLearner(BaseEstimator):
    """Base class of learners: the verdicts of the learned metric."""

    fit_: AnyFit

    @property
    def _repr_html_(self) -> Any:
        return self.fit_.metric._repr_html_ if hasattr(self, "fit_") else super()._repr_html_

    # notebooks take the representations one by one, not scikit-learn's bundle of them
    _repr_mimebundle_ = None

    def decision_function(self, X: Preferences | ArrayLike) -> Floats:
        """Return the first list's score minus the second list's for each pair, shape (n,)."""
        return self._read(X).gaps(self.fit_.metric)

    def predict(self, X: Preferences | ArrayLike) -> Grades:
        """Return 1 where a pair's first list is better, -1 for the second, 0 for a tie; (n,)."""
        return self._read(X).verdicts(self.fit_.metric)

    def agreement(self, X: Preferences | ArrayLike) -> Agreement:
        """Return the weight of pairs respected, tied by the metric, and violated."""
        return self._read(X).agreement(self.fit_.metric)

    def score(self, X: Preferences | ArrayLike, y: None = None) -> float:
        """Return the share of preferences respected; ties count half (see `agreement`)."""
        return self.agreement(X).share

    def _read(self, X: Preferences | ArrayLike) -> Preferences:
        """Return a log on the scale of the learned metric; raise NotFittedError without one."""
        check_is_fitted(self)
        return as_preferences(X, self.fit_.metric.n_grades)

    def _take(self, fit: AnyFit, learner: type[PairLearner]) -> None:
        """Set the results that a learner's class declares, and warn the user of `fit`.

        A result has the name that the fit gives it, with ``_`` behind it.
        """
        self.fit_ = fit
        for name in learner.__annotations__:
            if name != "fit_":
                setattr(self, name, getattr(fit, name.removesuffix("_")))
        warn_of(fit, ConvergenceWarning, stacklevel=4)


class UtilityLearner(PairLearner):
    """Learn the utility of each grade at each position from preferences, by the paper's QP.

    Source: Zhou et al. 2008, eq. 1 (unit margin), 4 (Hamming margin), 6 (documents).

    Parameters
    ----------
    C : float
        Weight of the shortfalls against the norm of W. 1 suits clean logs; noisy ones a smaller C,
        see `choose_C`.
    margin : {"unit", "hamming", "log"}, or a metric, file or name
        By how much the preferred list should win: 1; the number of positions whose grades differ
        (-1 and -2 do not); the log's own `margin` column (its `strength` where there is none); or
        the difference of the two under that metric. A metric that is about right beats 1 if you
        have one; "hamming" does not.
    monotone : bool
        Whether a better grade has at least the same utility (ignored for logs of documents).
    solver : {"newton", "cvxpy"}
        Newton's method, or the independent slow reference, for `constraints` or to check a result.
    tie_epsilon : float, optional
        Largest difference that a tie of the log allows; None leaves ties out, counted in
        `dropped_`.
    constraints : callable, optional
        For ``solver="cvxpy"``: from the cvxpy variable W, shape (K, L), to a list of further
        constraints.
    n_grades : int, optional
        L where it is larger than the log's.
    tol, max_iter : float, int
        Relative duality gap at which to stop; maximum Newton steps.

    Attributes
    ----------
    utility_, metric_ : Utility
        W, shape (K, L), columns worst to best.
    objective_, gap_ : float
        ``||W||^2 + C sum v xi^2`` at W, and the duality gap relative to it: no W can be better by
        more (with cvxpy, the gap between the solver's own primal and dual values).
    n_iter_ : int
        Newton steps.
    visible_, dropped_ : Visibility, dict of str to int
        What the log can and cannot tell; number of pairs left out, by reason.
    fit_ : QPFit
        All of these in one frozen object.

    See Also
    --------
    DCGLearner : Gains and discounts directly; needs fewer judgements.
    trust.identifiable_similarity : Compare two utilities by what a log can tell.

    Examples
    --------
    >>> truth = dl.simulate.ground_truth("D1")
    >>> log = dl.simulate.preference_pairs(truth, 500, random_state=0)
    >>> learner = UtilityLearner(C=1.0).fit(log)
    >>> held_out = dl.simulate.preference_pairs(truth, 2000, random_state=1)
    >>> learner.gap_ < 1e-8, learner.score(held_out) > 0.9
    (True, True)
    """

    fit_: QPFit
    metric_: Utility
    utility_: Utility
    objective_: float
    gap_: float
    n_iter_: int
    visible_: Visibility
    dropped_: Counts

    @parameters_of(QPOptions)
    def __init__(self) -> None: ...

    def fit(
        self, X: Log, y: None = None, *, as_is: bool = False, engine: Any = None
    ) -> UtilityLearner:
        """Learn from a log.

        Raises InputError if a parameter has no meaning, the log cannot tell any two lists apart, or
        a file is damaged; UpsideDownError if the textbook DCGs contradict the log, or most of its
        raters, far more often than by chance; RuntimeError if a cluster's scheduler is lost.

        Parameters
        ----------
        X : Preferences, array_like of int, table, records or path
            Pairs of shape (n, 2, K), the preferred list first; or files, by paths, a folder or a
            pattern; or, with an `engine`, a Dask dataframe. The `y` that scikit-learn passes is
            ignored.
        as_is : bool
            Learn from a log even if it seems to be upside down.
        engine : distributed.Client, str or int, optional
            Learn on a Dask cluster: a client, a scheduler's address, or a number of processes to
            start on this machine.
        """
        options = self.options
        with opened(X, engine, as_is=as_is, n_grades=options.n_grades) as (far, log):
            fit = fit_qp(log, options) if far is None else far.fit(options)
            self._take(fit, UtilityLearner)
        return self

    def factor(self, *, normalise_gains: bool = False) -> Factoring:
        """Return the nearest gains and discounts, and how near they are; see `factoring.factor`."""
        check_is_fitted(self)
        return self.fit_.factor(normalise_gains=normalise_gains)

    @property
    def options(self) -> QPOptions:
        """The parameters, frozen."""
        return QPOptions(**self.get_params())


class DCGLearner(PairLearner):
    """Learn gains and discounts directly from preferences, clean or noisy.

    Source: Zhou et al. 2008, section 5, case 1, with the likelihood in place of the margin. Pairs
    of the same few lists are not independent (all pairs of a list share its value beyond its
    grades), hence `n_effective_`. Strengths of preference are ordered verdicts; ties lie between
    them (Rao and Kupper 1967).

    Parameters
    ----------
    loss : {"robust", "logistic"}
        "robust" is a logistic likelihood that also estimates how often judges err, rater by rater;
        without errors it is "logistic" (Bradley and Terry).
    discounts : {"falling", "free"}
        "free" lets discounts rise too, for readers that need not start at the top, such as language
        models.
    zero : "auto", int or "none"
        The grade whose gain is 0, like an empty place's (-2); worse grades have negative
        gains. With "none", the log tells how much worse an empty place is than the best grade, if
        one list of a pair has a result where the other has none. "auto" is the worst grade or
        "none", see `power`. A grade that is not known (-1) counts as the worst, with any zero.
    power : "auto", float or "free"
        How far people average what they find: the value of a list with n results is divided by
        ``n^power``. 0 adds up, 1 averages, "free" learns the number. Where lists differ in length,
        "auto" fits the sum, and a free power with a free worth of the worst grade, beside textbooks
        of the same form, and takes the form with more evidence; else, and with a `prior` or `llm`,
        it is 0.
    prior : DCG, file or name, optional
        A metric to shrink to, for logs of a few dozen pairs. Take the one that you use now. It is
        also weighed beside the textbook DCGs.
    llm : log or DCG, optional
        Many verdicts of a machine, such as a language model, on other pairs or the same; or the DCG
        that was learned from them. It is weighed by the people's own verdicts: a machine that
        disagrees with people loses its weight. It is left out, with a warning, where nothing can be
        learned from it.
    ridge : float
        Expected strength of the prior that gains and discounts follow smooth curves; how smooth
        they are is learned with them. Keep 2. For a metric with one large step between grades and
        a few dozen pairs, 0.1 is better.
    start : DCG, file or name, optional
        The only start of the descent, in place of many.
    n_grades, depth : int, optional
        L where it is larger than the log's; the number of positions, where lists are longer, of
        which the rest then does not count, or shorter.
    random_state : int
        Seed of the draws by which free curves and textbooks are weighed.

    Attributes
    ----------
    dcg_ : DCG
        Gains up to 1, from 0 unless `zero` says otherwise, and discounts from 1, decreasing unless
        they are free; with a power. `metric_` is the same, as other learners have it.
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
        the log-odds that it wins. 0 where the log does not tell sides (`shown_left`). By rater, if
        several.
    members_ : tuple of Member
        What `dcg_` is the weighted mean of: the free curves that were learned, the textbook DCGs,
        `prior`, `llm`, and curves drawn to that; each with the probability that people follow it.
    objective_, n_effective_ : float
        Loss of `n_effective_` independent judgements plus prior, at the free curves: the log's
        weight, but at most its number of lists.
    n_iter_ : int
        Iterations of the last descent.
    visible_, dropped_ : Visibility, dict of str to int
        What the log can and cannot tell; number of pairs left out, by reason.
    fit_ : Fit
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

    fit_: Fit
    dcg_: DCG
    metric_: DCG
    scale_: float
    error_rate_: float
    wrong_share_: float
    rater_error_: dict[str, float]
    position_bias_: float
    rater_bias_: dict[str, float]
    tie_threshold_: float
    members_: tuple[Member, ...]
    objective_: float
    n_effective_: float
    n_iter_: int
    visible_: Visibility
    dropped_: Counts

    @parameters_of(DCGOptions)
    def __init__(self) -> None: ...

    def fit(self, X: Log, y: None = None, *, as_is: bool = False, engine: Any = None) -> DCGLearner:
        """Learn from a log.

        Raises the errors of `UtilityLearner.fit`; InputError also if `prior`, `llm` or `start` has
        other numbers of grades or positions.

        Parameters
        ----------
        X, as_is, engine
            As in `UtilityLearner.fit`.
        """
        options = self.options
        shape = {"n_grades": options.n_grades, "depth": options.depth}
        with opened(X, engine, as_is=as_is, **shape) as (far, log):
            options = with_llm_learned(options, log, as_is=as_is)
            if far is None:
                fit = fit_learner(log, options)
            else:
                n_judgements = None if in_memory(X) else len(far.pairs)
                fit = finished(far.fit(prepared(options, log)), log, n_judgements)
            self._take(fit, DCGLearner)
        return self

    @property
    def options(self) -> DCGOptions:
        """The parameters, frozen; raise InputError if one has no meaning."""
        return DCGOptions(**self.get_params())

    def predict_proba(self, X: Preferences | ArrayLike) -> Floats:
        """Return the chances of a win of the first list, a tie, and its loss, shape (n, 3)."""
        log = self._read(X)
        return self.fit_.probabilities(log)
