r"""The paper's own training (Appendix A): small natural-gradient steps in turn with Adam, for a fixed number of steps.

Natural gradients and Adam both at rate 0.001; positive hyperparameters through the softplus function, starting from
nu = 1.5, lengthscale 5 and variance 1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hypergauss import parameters
from hypergauss.inference.latent_model import LatentModel
from hypergauss.inference.variational import elbo, likelihood_sites
from hypergauss.kernels import Kernel, Matern
from hypergauss.learning.adam import Adam
from hypergauss.solvers.base import ExactSolver
from hypergauss.solvers.sites import NaturalSites

RATE, NUM_STEPS = 1e-3, 1000


class Trained(NamedTuple):
    """What a training leaves: the model, its sites, and the bound before each step and after the last."""

    model: LatentModel
    sites: NaturalSites
    trace: np.ndarray


def train_as_the_paper(
    model: LatentModel, solver: ExactSolver, y: np.ndarray, *, steps: int = NUM_STEPS, rate: float = RATE
) -> Trained:
    """Train a model with a Matern kernel by the paper's recipe; the class means stay at zero, as the paper has none.

    Parameters
    ----------
    model : LatentModel
        Where to start.
    solver : ExactSolver
        Prepared for the kernel at the observed vertices.
    y : array, shape (n,)
        What was observed there.
    steps, rate : int, float
        How many steps, and their length.
    """
    if not isinstance(model.kernel, Matern):
        raise TypeError(f"The paper's recipe trains a Matern kernel. Got {type(model.kernel).__name__}.")
    adam, trace = Adam(rate), []
    sites = NaturalSites.empty(len(y), model.likelihood.num_latents)
    for _ in range(steps):
        marginals = solver.marginals(model.kernel, model.mean, sites)
        found = model.likelihood.expectation(marginals.mean, marginals.total_variance, y)
        trace.append(elbo(marginals, sites, found))
        target = likelihood_sites(model.likelihood, marginals.mean, marginals.total_variance, y)
        sites = sites.towards(target, rate)
        kernel = _stepped(model.kernel, elbo_gradient(model, solver, y, sites), adam)
        model = parameters.with_value(model, ("kernel",), kernel)
    marginals = solver.marginals(model.kernel, model.mean, sites)
    found = model.likelihood.expectation(marginals.mean, marginals.total_variance, y)
    return Trained(model, sites, np.array([*trace, elbo(marginals, sites, found)]))


def elbo_gradient(model: LatentModel, solver: ExactSolver, y: np.ndarray, sites: NaturalSites) -> np.ndarray:
    r"""Return the bound's gradient in the kernel's coordinates at any sites, held, shape (p,).

    Away from the best sites the bound also has slopes in the marginals, u in means m and v in variances. With
    A = K^-1 S = (I + B K)^-1 and alpha = K^-1 (m - prior mean), dm = A' dK alpha and dS = A' dK A, so that they are
    slopes (A u) alpha' + A diag(v) A' in K.
    """
    marginals = solver.marginals(model.kernel, model.mean, sites)
    found = model.likelihood.expectation(marginals.mean, marginals.total_variance, y)
    of_partition, _ = solver.pull_back(model.kernel, model.mean, sites, found.in_variance.sum(axis=1))
    alphas = sites.shift - sites.precision * marginals.mean
    eye = np.eye(len(y))
    K = solver.multiply(model.kernel, eye)
    left, right = [], []
    for latent, b in enumerate(sites.precision.T):
        A = np.linalg.inv(eye + b[:, None] * K)
        u, v = found.in_mean[:, latent] - alphas[:, latent], found.in_variance[:, latent] + b / 2
        left += [(A @ u)[:, None], A]
        right += [alphas[:, latent, None], A * v]
    return of_partition + solver.pull_back_product(model.kernel, np.hstack(left), np.hstack(right))


def _stepped(kernel: Kernel, gradient: np.ndarray, adam: Adam) -> Kernel:
    """Return the kernel after a step of Adam in t, where each hyperparameter, as it is shown, is log(1 + e^t)."""
    free = parameters.slots(kernel)
    inverted = np.array([slot.coordinate.shown_as is not None for slot in free])  # nu is held as 1 / nu
    held = np.array([slot.value for slot in free])
    shown = np.where(inverted, 1 / held, held)
    in_held = gradient / np.array([slot.coordinate.slope(slot.value) for slot in free])
    in_shown = np.where(inverted, -in_held / shown**2, in_held)
    t = np.log(np.expm1(shown))
    moved = np.logaddexp(0.0, t + adam.step(in_shown * -np.expm1(-shown)))  # d log(1 + e^t) / dt = 1 - e^-shown
    return parameters.replace(kernel, np.where(inverted, 1 / moved, moved))
