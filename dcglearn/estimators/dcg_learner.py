"""`DCGLearner`: gains and discounts learned from judgements, with error rates."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from dcglearn.estimators.utility_learner import PairLearner, parameters_of
from dcglearn.foundation.inputs import is_path
from dcglearn.foundation.validation import Counts, Floats, one_of
from dcglearn.learning.dcg_model import Curves
from dcglearn.learning.descriptions import OFFERED, DirectDescription, DirectFit, Member
from dcglearn.learning.starts import WarmStart
from dcglearn.logs.visibility import Visibility
from dcglearn.metrics.dcg import DCG
from dcglearn.metrics.reading import ONLY_DCG, MetricLike, read_metric
from dcglearn.parts.open_log import Log, opened_log
from dcglearn.parts.parted_log import OpenLog
from dcglearn.reading.in_memory import as_preferences
from dcglearn.reading.preferences import Preferences
from dcglearn.trust.coins import check_log
from dcglearn.trust.fit_learner import fit_learner
from dcglearn.trust.llm import llm_dcg


class DCGLearner(PairLearner):
    """Learn gains and discounts directly from preferences, clean or noisy.

    Source: Zhou et al. 2008, section 5, case 1, with the likelihood in place of the margin. Pairs
    of the same few lists are not independent (all pairs of a list share its value beyond its
    grades), hence `n_effective_`. Strengths of preference are ordered verdicts; ties lie between
    them (Rao and Kupper 1967).

    Parameters
    ----------
    loss : {"auto", "robust", "logistic"}
        "auto" blends three members: the "robust" fit, a fit with the sigmoid loss, a soft count of
        the violated pairs, and the textbook DCG that respects most of the log, weighted by how
        probably each is the best (see `members_`). "robust" is a logistic likelihood that also
        estimates the judges' error rate; without errors it is "logistic" (Bradley and Terry).
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
        they are free. `metric_` is the same, as other learners have it.
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
        What the log can and cannot tell; number of pairs left out, by reason.
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
    dcg_: DCG
    metric_: DCG
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
        as_is: bool = False,
        llm: Log | DCG | None = None,
    ) -> DCGLearner:
        """Learn from a log.

        Raises the errors of `UtilityLearner.fit`; InputError also if `llm` or the start has
        other numbers of grades or positions, or the start another loss or impossible values.

        Parameters
        ----------
        X, engine, as_is
            As in `UtilityLearner.fit`.
        start : DCGLearner, Curves, DCG, file or name, optional
            The only start: a fitted learner, its `curves_`, or a DCG as `metric` reads it.
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
        with opened_log(X, description.n_grades, engine=engine) as log:
            check_log(log, as_is=as_is)

            # the machine's DCG comes first: it may be left out
            machine = llm_dcg(llm, log, as_is=as_is)
            warm = _warm_start(start, log)
            self._take(fit_learner(log, description, warm, refit=refit, llm=machine))
        return self

    @property
    def description(self) -> DirectDescription:
        """The parameters, frozen; raise InputError if one has no meaning."""
        one_of(self.loss, "loss", OFFERED)
        return DirectDescription(**self.get_params())

    def predict_proba(self, X: Preferences | ArrayLike) -> Floats:
        """Return the chances of a win of the first list, a tie, and its loss, shape (n, 3)."""
        check_is_fitted(self)
        return self.fit_.probabilities(as_preferences(X, self.dcg_.n_grades))


def _warm_start(start: Any, log: OpenLog) -> WarmStart | None:
    """Return the start that a fitted learner, `Curves`, a DCG, a file or a name stands for."""
    if start is None or not is_path(start):
        return None if start is None else WarmStart.of(start)
    dcg = read_metric(start, log.n_grades, log.depth, accept=ONLY_DCG, name="start")
    return WarmStart.of(dcg, f"start {start}")
