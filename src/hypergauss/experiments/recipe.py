r"""The paper's own training (Appendix A): small natural-gradient steps in turn with Adam, for a fixed number of steps.

Natural gradients and Adam both at rate 0.001; positive hyperparameters through the softplus function, starting from
nu = 1.5, lengthscale 5 and variance 1.
"""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import numpy as np

from hypergauss import parameters
from hypergauss.embedding.memberships import Memberships
from hypergauss.embedding.model import MapModel, Vertices
from hypergauss.embedding.objectives import LogPosterior
from hypergauss.embedding.starts import standardised
from hypergauss.hypergraph import Hypergraph
from hypergauss.inference.latent_model import LatentModel
from hypergauss.inference.variational import elbo, likelihood_sites
from hypergauss.kernels import Matern, SquaredExponential
from hypergauss.learning.adam import Adam
from hypergauss.solvers.base import ExactSolver
from hypergauss.solvers.sites import NaturalSites
from hypergauss.spectrum import Spectrum
from hypergauss.spectrum.coordinates import spectral_coordinates

RATE, NUM_STEPS = 1e-3, 1000

P = TypeVar("P", bound=parameters.Parametrised)


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


def map_as_the_paper(H: Hypergraph, *, steps: int = NUM_STEPS, rate: float = RATE) -> MapModel:
    """Place the vertices of a hypergraph by Adam from Zhou's map, at the paper's starting values.

    The paper's map model integrates its function out, so it has no variational parameters for natural gradients to
    move: what the recipe leaves is Adam. It does not say how many steps, nor where coordinates start.
    """
    data, spectrum = Memberships.of(H, None), Spectrum.of(H)
    start = standardised(spectral_coordinates(H, 2)[1], 2, np.random.default_rng(0))
    latent = SquaredExponential(start, fixed=("lengthscale", "variance"))
    model = MapModel(
        latent,
        Matern(spectrum, 1.5, 5.0, fixed=("nu", "lengthscale", "variance")),
        None,
        coordinates=start,
        latent_lengthscale=1.0,
        variance=1.0,
        noise_variance=0.01,
    )
    objective, adam = LogPosterior(model, data, Vertices(spectrum.vertex_vectors, None)), Adam(rate)
    for _ in range(steps):
        model = _stepped(model, objective.value_and_gradient(model)[1], adam)
    return model


def _stepped(model: P, gradient: np.ndarray, adam: Adam) -> P:
    """Return the model after a step of Adam in t, where each positive hyperparameter, as shown, is log(1 + e^t)."""
    free = parameters.slots(model)
    # One entry a number: which are positive, which are held as their inverse (nu), and how coordinates follow them.
    positive, inverted = (
        np.concatenate([np.full(slot.size, has(slot.coordinate)) for slot in free])
        for has in (lambda c: c.is_positive, lambda c: c.shown_as is not None)
    )
    held = np.concatenate([np.ravel(slot.value) for slot in free])
    slopes = np.concatenate([np.ravel(slot.coordinate.slope(slot.value)) for slot in free])
    shown = np.where(inverted, 1 / np.where(inverted, held, 1.0), held)
    in_shown = np.where(inverted, -1.0 / shown**2, 1.0) * gradient / slopes
    t = np.where(positive, np.log(np.expm1(np.where(positive, shown, 1.0))), shown)
    # d log(1 + e^t) / dt = 1 - e^-shown
    moved = t + adam.step(in_shown * np.where(positive, -np.expm1(-shown), 1.0))
    reached = np.where(positive, np.logaddexp(0.0, moved), moved)
    now_held = np.where(inverted, 1 / np.where(inverted, reached, 1.0), reached)
    parts = np.split(now_held, np.cumsum([slot.size for slot in free])[:-1])
    return parameters.replace(model, [part.reshape(slot.shape) for part, slot in zip(parts, free, strict=True)])
