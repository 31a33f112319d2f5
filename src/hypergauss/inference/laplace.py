r"""Laplace's approximation: a Gaussian at the posterior's mode, with the likelihood's curvature there as sites.

Newton's method moves the sites to

    precision = -d^2/df^2 log p(y | f),    shift = d/df log p(y | f) + precision * f,

both at the current mean f, with steps that never lower log p(y | f) - (f - mean)' K^-1 (f - mean) / 2. Then

    log p(y) ~ log Z + sum of ( log p(y | f) - log site(f) )    at the mode.

Sites treat latents one by one, so of several latents' curvature only the diagonal is kept: the mode is exact, the
covariance leaves out how a likelihood ties latents together. With one latent it is the textbook's approximation
(Rasmussen and Williams, 2006, section 3.4).

**Gradient.** The mode solves f = mean + K g(f), g the slope of log p, so it moves by (I + K W)^-1 (dK g + dmean), W the
curvature in full. The approximate evidence has the slope c = -(1/2) d/df sum of variance * precision in f: with
u = (I + W K)^-1 c, the mode's moving adds u' (dK g + dmean).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.sparse.linalg import LinearOperator, gmres

from hypergauss import parameters
from hypergauss.exceptions import NumericalError
from hypergauss.inference.latent_model import LatentModel
from hypergauss.inference.site_objective import TIGHT, Settled, SiteObjective, Tried, move_sites
from hypergauss.likelihoods import Likelihood
from hypergauss.solvers.base import ExactSolver
from hypergauss.solvers.sites import NaturalSites

#: The step of differences in a likelihood's own hyperparameters.
_DIFFERENCE = 1e-5


def mode_sites(
    model: LatentModel, solver: ExactSolver, y: np.ndarray, start: NaturalSites, tolerance: float = TIGHT
) -> Settled:
    """Move sites by Newton steps to the posterior's mode."""

    def attempt(sites: NaturalSites) -> Tried:
        marginals = solver.marginals(model.kernel, model.mean, sites)
        f = marginals.mean
        alpha = sites.shift - sites.precision * f  # K^-1 (f - mean)
        value = float(model.likelihood.log_density(f, y).sum() - (alpha * (f - model.mean)).sum() / 2)
        return Tried(value, marginals, curvature_sites(model.likelihood, f, y))

    return move_sites(model, start, attempt, tolerance)


def curvature_sites(likelihood: Likelihood, f: np.ndarray, y: np.ndarray) -> NaturalSites:
    """Return the second-order expansion of log p(y | f) around f, latent by latent."""
    precision = _own_curvature(likelihood, f, y)
    if likelihood.is_log_concave:
        precision = np.maximum(precision, 0.0)
    return NaturalSites(likelihood.slope(f, y) + precision * f, precision)


def _own_curvature(likelihood: Likelihood, f: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the diagonal of W, shape (n, L)."""
    return np.diagonal(likelihood.curvature(f, y), axis1=1, axis2=2)


class LaplaceObjective(SiteObjective):
    """The approximate log evidence at given hyperparameters; `check_mode` tells which likelihoods it is for."""

    def settle(self, model: LatentModel) -> Settled:  # noqa: D102
        found = mode_sites(model, self.solver, self.y, self.sites, self.tolerance)
        # The evidence is not flat in f as the posterior is: a full step more squares what is left of the error.
        newton = curvature_sites(model.likelihood, found.marginals.mean, self.y)
        f = self.solver.marginals(model.kernel, model.mean, newton).mean
        sites = curvature_sites(model.likelihood, f, self.y)
        marginals = self.solver.marginals(model.kernel, model.mean, sites)._replace(mean=f)
        of_sites = (sites.shift * f - sites.precision * f**2 / 2).sum()
        value = marginals.log_partition + model.likelihood.log_density(f, self.y).sum() - of_sites
        return Settled(sites, marginals, float(value))

    def gradient(self, model: LatentModel, found: Settled) -> np.ndarray:  # noqa: D102
        likelihood, f, variance = model.likelihood, found.marginals.mean, found.marginals.variance
        nothing = np.zeros(len(self.y))
        in_kernel, in_mean = self.solver.pull_back(model.kernel, model.mean, found.sites, nothing)
        u = self._moving(model, found, -likelihood.curvature_slope(f, self.y, variance) / 2)
        in_kernel = in_kernel + self.solver.pull_back_product(model.kernel, u, likelihood.slope(f, self.y))
        Ku = self.solver.multiply(model.kernel, u)

        def of_likelihood(own: Likelihood) -> float:
            explicit = own.log_density(f, self.y).sum() - (variance * _own_curvature(own, f, self.y)).sum() / 2
            return float(explicit + (Ku * own.slope(f, self.y)).sum())

        gradients = {
            "kernel": in_kernel,
            "likelihood": _difference_gradient(likelihood, of_likelihood),
            "mean": in_mean + u.sum(axis=0),
        }
        return parameters.gather(model, gradients)

    def _moving(self, model: LatentModel, found: Settled, c: np.ndarray) -> np.ndarray:
        """Return u = (I + W K)^-1 c; (I + B K)^-1 = I - B S for the diagonal B of W solves it, or all but solves it."""
        smooth = found.marginals.smooth
        assert smooth is not None

        def by_latent(x: np.ndarray) -> np.ndarray:
            return x - found.sites.precision * smooth(x)

        if c.shape[1] == 1:
            return by_latent(c)
        W = model.likelihood.curvature(found.marginals.mean, self.y)

        def product(flat: np.ndarray) -> np.ndarray:
            x = flat.reshape(c.shape)
            return (x + np.einsum("nlm,nm->nl", W, self.solver.multiply(model.kernel, x))).ravel()

        shape = (c.size, c.size)
        approximate = LinearOperator(shape, matvec=lambda flat: by_latent(flat.reshape(c.shape)).ravel(), dtype=float)
        whole = LinearOperator(shape, matvec=product, dtype=float)
        flat, failed = gmres(whole, c.ravel(), rtol=1e-10, atol=1e-12, restart=30, maxiter=10, M=approximate)
        if failed:
            raise NumericalError("The slope of the posterior's mode could not be found. Use variational inference.")
        return flat.reshape(c.shape)


def check_mode(likelihood: Likelihood) -> None:
    """Refuse a likelihood without slopes."""
    if not likelihood.has_mode:
        raise ValueError(
            f"Laplace's approximation needs a likelihood with slopes. Got {type(likelihood).__name__}, whose "
            "log density is flat but for jumps. Use softmax, or variational inference."
        )


def _difference_gradient(likelihood: Likelihood, value: Callable[[Likelihood], float]) -> np.ndarray:
    """Return a gradient in the likelihood's own coordinates by central differences: its formulas are real."""
    theta = parameters.pack(likelihood)
    steps = _DIFFERENCE * np.eye(len(theta))
    ends = [(parameters.unpack(likelihood, theta + s), parameters.unpack(likelihood, theta - s)) for s in steps]
    return np.array([(value(ahead) - value(behind)) / (2 * _DIFFERENCE) for ahead, behind in ends])
