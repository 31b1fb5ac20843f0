"""The prior on log curves and judges, at many parameters at once, with derivatives.

The m bends of a log curve have the density ``exp(-rho h)``, where h is the sum of ``KNEE^2 (sqrt(1
+ (bend / KNEE)^2) - 1)``, so that a few sharp ones stay cheap. How straight curves are is not
known: rho is integrated out, and bends cost ``(f + m) log(1 + ridge h / f)`` with f = FREEDOM. (The
density of rho is ``rho^(f + m - 1) exp(-rho f / ridge) z(rho)^m``, with z the integral of
``exp(-rho h)`` over one bend; its mean is about `ridge`.) All else is a normal distribution of
linear functions of the parameters.
"""

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from dcglearn.foundation.validation import Floats
from dcglearn.kernels.library import function

KNEE = 0.3
"""Bends of the log curves beyond this size cost linearly rather than quadratically."""

FREEDOM = 4.0
"""How well the ridge is known before a log is seen; infinite if it were fixed."""

add_prior = function(
    "add_prior .n .p .linear of_gains bends curved #ridge #freedom #knee f[linear,p] f[linear] "
    "f[n,p] f[n]+ f[n,p]+ f[n*curved,p,p]+ f[linear+p]~"
)
"""Returns a `Prior` at B points, shape (B,), its gradients, (B, p), and its Hessians, (B, p, p).

Taken are the numbers of bends of the gains and of both curves, 1 for Hessians or 0, ridge, freedom
and knee; the linear functions that the prior charges, shape (q, p), bends first, and what they are
less, (q,); and parameters, (B, p).
"""


@dataclass(frozen=True)
class Prior:
    """Minus the log density of parameters theta, shape (p,), up to a constant.

    Charged are the entries of ``linear theta - centres``, shape (p,): first the bends of the gains,
    then those of the discounts, `n_bends` of the two, then what is standard normal.
    """

    linear: Floats
    centres: Floats
    n_bends: tuple[int, int]
    ridge: float

    def at(self, thetas: Floats, curved: bool = False) -> tuple[Floats, Floats, Floats]:
        """Return values (B,), gradients (B, p) and, if it is `curved`, Hessians (B, p, p)."""
        numbers = self.n_bends[0], sum(self.n_bends), int(curved), self.ridge, FREEDOM, KNEE
        sums: tuple[Floats, Floats, Floats]
        sums = add_prior(*numbers, self.linear, self.centres, thetas)
        return sums

    def draw(self, n: int, rng: np.random.Generator) -> Floats:
        """Return n draws of the parameters, shape (n, p)."""
        # what is charged: normal but for the bends
        charged = rng.normal(size=(n, len(self.linear)))
        of_curves = [self._bends(n, m, rng) for m in self.n_bends]
        charged[:, : sum(self.n_bends)] = np.hstack(of_curves)

        # the parameters that these are linear functions of
        drawn = np.linalg.solve(self.linear, (charged + self.centres).T).T
        return np.ascontiguousarray(drawn)

    def _bends(self, n: int, m: int, rng: np.random.Generator) -> Floats:
        """Return n draws of the m bends of a curve, shape (n, m)."""
        # draw rho, and bends at it by their distribution function
        x, below, log_weights = _by_ridge(m, self.ridge)
        weights = np.exp(log_weights - log_weights.max())
        rows = below[rng.choice(len(below), n, p=weights / weights.sum())]
        shares = rng.random((n, m))
        bends = [np.interp(u * row[-1], row, x) for u, row in zip(shares, rows, strict=True)]
        return np.array(bends)

    @cached_property
    def log_normaliser(self) -> float:
        """Log of the integral of the density that `at` gives, over all parameters."""
        n_normal = len(self.linear) - sum(self.n_bends)
        log_volume = 0.5 * n_normal * math.log(2 * math.pi)
        for m in self.n_bends:
            log_volume += float(np.logaddexp.reduce(_by_ridge(m, self.ridge)[2]))
        return log_volume - float(np.linalg.slogdet(self.linear)[1])


@lru_cache
def _by_ridge(m: int, ridge: float) -> tuple[Floats, Floats, Floats]:
    """Return a grid of bends, integrals of their density below each, and log weights of rho.

    The density of a bend is not normalised; the log weights are those of the joint density of
    rho and m bends, on a grid of rho. Shapes are (G,), (R, G) and (R,).
    """
    u, log_rho = np.linspace(-9, 9, 401), np.linspace(-7, 9, 401)
    x = KNEE * np.sinh(u)
    cost = KNEE**2 * (np.cosh(u) - 1)
    density = np.exp(-np.outer(np.exp(log_rho), cost)) * KNEE * np.cosh(u)
    below = np.cumsum(density, axis=1) * (u[1] - u[0])

    # a Gamma distribution of rho, times the integral over each bend
    strength, rate = FREEDOM + m, FREEDOM / ridge
    log_weights = strength * (log_rho + np.log(rate)) - rate * np.exp(log_rho)
    log_weights += m * np.log(below[:, -1]) - math.lgamma(strength)
    return x, below, log_weights + np.log(log_rho[1] - log_rho[0])
