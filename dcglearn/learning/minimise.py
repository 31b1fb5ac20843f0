"""A small minimiser for smooth functions of a few parameters: L-BFGS-B within bounds, or Newton.

The direct fit has its own method (`trust_region`), which descends from many starts at once, and so
has the margin QP.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dcglearn.foundation.validation import Floats


@dataclass(frozen=True, eq=False)
class Minimum:
    """The end of a descent: the parameters `x`, shape (p,), and the function's value there.

    `gap` is the largest slope in a direction that the bounds leave open, 0 at a minimum.
    `converged` is False where the descent stopped at its limit of iterations.
    """

    x: Floats
    value: float
    gap: float
    n_iter: int
    converged: bool


def minimised(
    function: Callable[[Floats], tuple[float, Floats]],
    start: Floats,
    bounds: tuple[Floats | float, Floats | float] = (-np.inf, np.inf),
    *,
    max_iter: int = 15_000,
    tol: float = 1e7 * 2.0**-52,
    memory: int = 10,
) -> Minimum:
    """Minimise a function of p parameters by L-BFGS-B (Byrd, Lu, Nocedal and Zhu 1995).

    `function` returns the value and the gradient at parameters, shape (p,). `bounds` are the lower
    and the upper ones, shape (p,), or numbers for all. The descent ends where a step lowers the
    value by less than `tol` of it, or no slope exceeds 1e-5; it approximates the Hessian by its
    last `memory` steps.
    """
    from scipy.optimize import minimize  # which takes long to import

    low, high = (np.broadcast_to(end, len(start)) for end in bounds)
    limits = {"maxiter": max_iter, "maxcor": memory, "ftol": tol, "gtol": 1e-5}
    end = minimize(
        function,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=np.column_stack([low, high]),
        options=limits,
    )

    # slopes that a bound holds back do not count
    x, gradient = end.x, end.jac
    gap = _largest(x - np.clip(x - gradient, low, high))
    return Minimum(x, float(end.fun), gap, int(end.nit), bool(end.success))


def minimised_by_newton(
    function: Callable[[Floats], tuple[float, Floats, Floats]],
    start: Floats,
    *,
    max_iter: int = 100,
    tol: float = 1e-8,
    longest: float = 1.0,
) -> Minimum:
    """Minimise a function of p parameters by Newton's method, curves down taken as curves up.

    `function` returns the value, the gradient, shape (p,), and the Hessian at parameters: shape (p,
    p), or (p,) if it is diagonal. A step is at most `longest` in each parameter and is halved until
    the value does not rise; the descent ends before a step of at most `tol`, or where rounding
    errors are larger than what a step gains.
    """
    x = start
    value, gradient, hessian = function(x)
    for n_iter in range(max_iter):
        step = _newton_step(gradient, hessian, longest)
        if _largest(step) <= tol:
            return Minimum(x, value, _largest(gradient), n_iter, True)

        # halve the step until the value does not rise
        there = function(x + step)
        while there[0] > value and _largest(step) > tol / 10:
            step = step / 2
            there = function(x + step)
        if there[0] > value:
            return Minimum(x, value, _largest(gradient), n_iter, True)
        x = x + step
        value, gradient, hessian = there
    return Minimum(x, value, _largest(gradient), max_iter, False)


def _newton_step(gradient: Floats, hessian: Floats, longest: float) -> Floats:
    """Return the step to the minimum of the quadratic, its curvatures taken as positive."""
    flat = 1e-9

    # parameters that do not interact move independently
    if hessian.ndim == 1:
        return np.clip(-gradient / np.maximum(np.abs(hessian), flat), -longest, longest)

    # straight to the minimum or, where the function curves down, along the axes of the Hessian
    try:
        step = -solved_definite(hessian, gradient)
    except np.linalg.LinAlgError:
        curvatures, axes = np.linalg.eigh(hessian)
        step = -axes @ (axes.T @ gradient / np.maximum(np.abs(curvatures), flat))
    shortened: Floats = step * min(1.0, longest / max(_largest(step), 1e-300))
    return shortened


def solved_definite(matrix: Floats, right: Floats) -> Floats:
    """Return the solution x of ``A x = b``; raise LinAlgError unless A is positive definite."""
    if len(matrix) > 200:  # SciPy takes longer to import than smaller systems to solve
        from scipy.linalg import cho_factor, cho_solve

        return cho_solve(cho_factor(matrix), right)
    np.linalg.cholesky(matrix)
    return np.linalg.solve(matrix, right).astype(np.float64, copy=False)


def _largest(entries: Floats) -> float:
    return float(np.abs(entries).max(initial=0.0))
