"""Which form beyond the DCG closes part of the gap between the learned DCG and the noise ceiling."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import clone

from dcglearn.learning.forms import FORMS
from dcglearn.learning.product_form import free_utility
from dcglearn.learning.resampling import resampled_weights

if TYPE_CHECKING:
    from dcglearn.learning.dcg_learner import DCGLearner
    from dcglearn.logs.counting import Metric
    from dcglearn.logs.preferences import Preferences

FREE = "weights free at each grade and position"
"""Name of the utility that is a sum still, but not one of gains times discounts."""

N_RESAMPLES = 200
"""Number of bootstrap samples."""

LEVEL = 0.9
"""Level of the intervals."""


@dataclass(frozen=True)
class ClosingForm:
    """A utility beyond the DCG on the pairs of the noise ceiling.

    `share` is the share of preferences that it respects, `lead` how far it is ahead of the learned DCG there, and
    `low`, `high` the lead's 90% bootstrap interval. `form` is the form of `DCGLearner`; None for free weights.
    """

    name: str
    form: str | None
    share: float
    lead: float
    low: float
    high: float

    def __str__(self) -> str:
        name = self.name if self.form is None else f"{self.name} (--form {self.form})"
        return f"  {self.share:.4f}  {name:<56}{self.lead:+.4f}  ({self.low:+.4f} to {self.high:+.4f})"


def closing_forms(
    train: Preferences, held_out: Preferences, learner: DCGLearner, unit: str, seed: int
) -> tuple[ClosingForm, ...]:
    """Return how far utilities beyond the DCG, learned from `train` like the learner, are ahead on held-out pairs."""
    metrics: dict[str, tuple[str | None, Metric]] = {FREE: (None, free_utility(train))}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the learner's own fit has warned
        for form in FORMS[1:]:
            fitted = clone(learner).set_params(form=form).fit(train, start=learner)
            metrics["the best result" if form == "best" else form] = form, fitted.utility_
    verdicts = [held_out.verdicts(metric) for metric in (learner.dcg_, *(metric for _, metric in metrics.values()))]
    right = (np.stack(verdicts) + 1) / 2
    weight = np.ones(len(held_out)) if held_out.weight is None else held_out.weight
    shares = right @ weight / weight.sum()
    samples = [right @ w / w.sum() for w in resampled_weights(held_out, unit, N_RESAMPLES, seed) if w.sum() > 0]
    leads = np.array(samples)[:, 1:] - np.array(samples)[:, :1]
    low, high = np.percentile(leads, (50 * (1 - LEVEL), 50 * (1 + LEVEL)), axis=0)
    return tuple(
        ClosingForm(name, form, *map(float, (shares[i + 1], shares[i + 1] - shares[0], low[i], high[i])))
        for i, (name, (form, _)) in enumerate(metrics.items())
    )
