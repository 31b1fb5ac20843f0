"""`DCGLearner`: gains and discounts learned from judgements, with error rates."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from dcglearn.estimators.utility_learner import PairLearner, in_memory, opened, parameters_of
from dcglearn.foundation.validation import Counts, Floats
from dcglearn.learning.fit import Fit, Member
from dcglearn.learning.options import DCGOptions
from dcglearn.logs.visibility import Visibility
from dcglearn.metrics.dcg import DCG
from dcglearn.reading.in_memory import Log
from dcglearn.reading.preferences import Preferences
from dcglearn.trust.fit_learner import finished, fit_learner, prepared, with_llm_learned


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
