"""The prior: its formula, its derivatives, and draws from it."""

import numpy as np
import pytest
from scipy.integrate import quad

from dcglearn.learning.prior import FREEDOM, KNEE, Prior
from tests.learning.makers import plain_model


def prior_of(bends, normals, ridge):
    """Return the prior of the bends ``rows theta - offsets`` of both curves, and normals."""
    rows = [*(of_curve for of_curve, _ in bends), *(x / spread for x, _, spread in normals)]
    means = [np.full(len(x), mean / spread) for x, mean, spread in normals]
    centres = np.concatenate([*(offsets for _, offsets in bends), *means])
    return Prior(np.vstack(rows), centres, tuple(len(offsets) for _, offsets in bends), ridge)


def random_prior(seed):
    """Return a prior, the parts that it is made of, and parameters, (B, p)."""
    rng = np.random.default_rng(seed)
    p = 8
    sizes = [(0, 4), (1, 2), (3, 5)][seed % 3]
    bends = [(rng.normal(size=(n, p)), rng.normal(size=n)) for n in sizes]
    normals = [(rng.normal(size=(n, p)), *rng.uniform(0.5, 2, 2)) for n in (2, 0, 1)]
    ridge = [0.0, 1.0, 7.0][seed % 3]
    return prior_of(bends, normals, ridge), bends, normals, ridge, rng.normal(0, 1, (3, p))


@pytest.mark.parametrize("seed", range(6))
def test_it_is_the_sum_of_its_parts(seed):
    prior, bends, normals, ridge, thetas = random_prior(seed)
    values, *_ = prior.at(thetas)
    for theta, value in zip(thetas, values, strict=True):
        total = 0.0
        for rows, offsets in bends:
            bend = rows @ theta - offsets
            h = KNEE**2 * (np.sqrt(1 + (bend / KNEE) ** 2) - 1).sum()
            total += (FREEDOM + len(bend)) * np.log(1 + ridge * h / FREEDOM)
        for rows, mean, spread in normals:
            total += 0.5 * (((rows @ theta - mean) / spread) ** 2).sum()
        assert value == pytest.approx(total)


@pytest.mark.parametrize("seed", range(6))
def test_gradient_and_hessian_are_finite_differences(seed):
    prior, *_, thetas = random_prior(seed)
    _, gradients, hessians = prior.at(thetas, curved=True)
    for i, step in enumerate(1e-5 * np.eye(thetas.shape[1])):
        up, down = prior.at(thetas + step), prior.at(thetas - step)
        slope, row = ((above - below) / 2e-5 for above, below in zip(up[:2], down[:2], strict=True))
        np.testing.assert_allclose(gradients[:, i], slope, rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(hessians[:, i], row, rtol=1e-6, atol=1e-7)


def test_the_cost_of_bends_is_that_of_a_ridge_that_is_integrated_out():
    ridge, m = 2.0, 3
    rng = np.random.default_rng(0)
    none = np.zeros((0, m)), np.zeros(0)
    prior = prior_of([(np.eye(m), np.zeros(m)), none], [], ridge)

    def z(rho):
        """Return the integral of exp(-rho h) over one bend."""

        def density(x):
            return np.exp(-rho * KNEE**2 * (np.sqrt(1 + (x / KNEE) ** 2) - 1))

        return 2 * quad(density, 0, KNEE)[0] + 2 * quad(density, KNEE, np.inf)[0]

    def log_density(h):
        def of_rho(rho):
            shape = rho ** (FREEDOM + m - 1) * np.exp(-rho * FREEDOM / ridge) * z(rho) ** m
            return shape * (np.exp(-rho * h) / z(rho) ** m)

        return np.log(quad(of_rho, 0, 60)[0])

    costs, expected = [], []
    for scale in (0.0, 0.1, 1.0, 10.0):
        bends = scale * rng.normal(size=m)
        costs.append(prior.at(bends[None])[0][0])
        h = KNEE**2 * (np.sqrt(1 + (bends / KNEE) ** 2) - 1).sum()
        expected.append(log_density(0.0) - log_density(h))
    np.testing.assert_allclose(costs, expected, rtol=1e-5, atol=1e-9)


MODELS = [
    plain_model(10, 5, ridge=2.0),
    plain_model(2, 2, ridge=2.0),
    plain_model(3, 3, ridge=0.5, falling=False, ties=True),
    plain_model(4, 6, ridge=6.0, zero=6, sided=True, n_levels=3),
]


@pytest.mark.parametrize("model", MODELS)
def test_mean_slopes_are_charged_as_strongly_as_the_ridge(model):
    # straight lines bend nowhere: along them the prior of their mean slopes is all that changes
    at, ranks = model.places, np.arange(1.0, model.depth + 1)
    falls = np.diff(np.log(ranks))
    for slope, spread in ((-0.7, 2.5), (1.5, 2.5)) if model.falling else ((0.4, 1.0), (2.0, 1.0)):
        ends = np.zeros((2, at.n))
        ends[0, at.delta] = np.log(falls) + slope if model.falling else falls * slope
        centre = -1.2 if model.falling else 0.0
        ends[1, at.delta] = np.log(falls) + centre if model.falling else falls * centre
        rise, none = model.prior.at(ends)[0]
        cost = 0.5 * model.ridge * ((slope - centre) / spread) ** 2
        assert rise - none == pytest.approx(cost, abs=1e-9)


@pytest.mark.parametrize("model", MODELS)
def test_draws_have_the_density_of_the_prior(model):
    # by parts, the mean of slope times parameter is 1, and 0 for two parameters
    prior, n = model.prior, 40_000
    draws = prior.draw(n, np.random.default_rng(0))
    _, gradients, _ = prior.at(draws)
    x = draws @ prior.linear.T - prior.centres
    slopes = np.linalg.solve(prior.linear.T, gradients.T).T
    products = x[:, :, None] * slopes[:, None, :]
    errors = products.std(axis=0) / n**0.5
    assert (np.abs(products.mean(axis=0) - np.eye(x.shape[1])) < 5 * errors + 1e-3).all()


def test_quantiles_of_one_bend_are_those_of_its_density():
    model = plain_model(3, 2, ridge=2.0)
    prior = model.prior
    assert prior.n_bends == (0, 1)
    draws = prior.draw(40_000, np.random.default_rng(1))
    bends = draws @ prior.linear[0] - prior.centres[0]

    def density(x):
        h = KNEE**2 * (np.sqrt(1 + (x / KNEE) ** 2) - 1)
        return (1 + 2.0 * h / FREEDOM) ** -(FREEDOM + 1)

    whole = quad(density, -np.inf, 0)[0] * 2
    for at in (-3.0, -1.0, -0.3, 0.0, 0.5, 2.0):
        share = quad(density, -np.inf, min(at, 0))[0] + quad(density, 0, max(at, 0))[0]
        assert (bends <= at).mean() == pytest.approx(share / whole, abs=0.01)
