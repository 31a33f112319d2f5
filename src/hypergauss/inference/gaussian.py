"""The Gaussian model: its log evidence, and learning by it."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from hypergauss import parameters
from hypergauss.solvers.choose import Evidence, Solver, choose_solver, evidence_of, iterative_options
from hypergauss.solvers.iterative.evidence import IterativeEvidence
from hypergauss.solvers.iterative.spectral_evidence import SpectralEvidence
from hypergauss.learning.search import Learned, Objective, maximise
from hypergauss.solvers.base import Prior
from hypergauss.learning.priors import Matched, log_prior
from hypergauss.solvers.projection import Inducing
from hypergauss.solvers.sites import Observations
from hypergauss.kernels import Kernel


class GaussianModel(eqx.Module):
    """y = mean + f(vertex) + noise: a kernel, a noise variance, and a constant mean for each of L outputs."""

    kernel: Kernel
    noise_variance: Array = parameters.positive(1e-6, 1e4)
    # A bound, since a nearly constant eigenvector of large variance can offset any mean.
    mean: Array = parameters.bounded(-1e3, 1e3)
    fixed: tuple[str, ...] = eqx.field(static=True, default=())

    def prior(self) -> Prior:
        """Return the prior of the latent function."""
        return Prior(self.kernel, np.asarray(self.mean))

    def rescaled(self, centre: np.ndarray, scale: float) -> GaussianModel:
        """Return the model of centre + scale * y."""
        return GaussianModel(
            self.kernel.scaled(scale**2),
            self.noise_variance * scale**2,
            jnp.asarray(centre) + scale * self.mean,
            self.fixed,
        )

    def log_evidence(self, evidence: Evidence) -> Float[Array, ""]:
        """Evaluate the log evidence at these hyperparameters."""
        return evidence(self.kernel, self.noise_variance, self.mean)


class EvidenceObjective(Objective):
    """The log evidence of observations, as a function of a Gaussian model's hyperparameters."""

    def __init__(
        self,
        model: GaussianModel,
        observations: Observations,
        solver: Solver = "auto",
        inducing: Inducing | None = None,
    ) -> None:
        self.model = model
        # On the device once, not at every evaluation.
        self.evidence = jax.tree.map(jnp.asarray, evidence_of(model.kernel, observations, solver, inducing))
        self._size = observations.mean.size

    @property
    def num_observations(self) -> int:  # noqa: D102
        return self._size

    def value_and_gradient(self, theta: np.ndarray, priors: Matched) -> tuple[float, np.ndarray]:  # noqa: D102
        value, gradient = _value_and_gradient(jnp.asarray(theta), self.model, self.evidence, priors)
        return float(value), np.asarray(gradient)

    def value(self, theta: np.ndarray, priors: Matched) -> float:  # noqa: D102
        return float(_value(jnp.asarray(theta), self.model, self.evidence, priors))


def learn(
    model: GaussianModel,
    observations: Observations,
    *,
    solver: Solver = "auto",
    inducing: Inducing | None = None,
    **options: Any,
) -> Learned:
    """Return the model at the hyperparameters of highest log evidence (plus log prior).

    Parameters
    ----------
    model : GaussianModel
        Its hyperparameters are the first start.
    observations : Observations
        The data.
    solver, inducing
        As for `condition`.
    **options
        As for `maximise`: ``priors``, ``n_starts``, ``max_iterations``, ``seed``, ``report``.
    """
    return maximise(_objective(model, observations, solver, inducing), model, **options)


def _objective(
    model: GaussianModel, observations: Observations, solver: Solver, inducing: Inducing | None
) -> Objective:
    """Return the log evidence in closed form where there is one, else its estimate by the iterative solver."""
    is_estimated = (
        inducing is None
        and choose_solver(model.kernel, len(observations.rows), solver) == "iterative"
        and not SpectralEvidence.applies(model.kernel, observations)
    )
    if is_estimated:
        return IterativeEvidence(model, observations, iterative_options(solver))
    return EvidenceObjective(model, observations, solver, inducing)


@eqx.filter_jit
def _value(theta: Array, template: GaussianModel, evidence: Evidence, priors: Matched) -> Array:
    """Return log evidence + log prior at coordinates theta.

    The template and the data are arguments, not constants, so that another spectrum of the same shape does not
    compile again. Eigenvectors among them that no formula touches are never copied to JAX.
    """
    model = parameters.unpack(template, theta)
    return model.log_evidence(evidence) + log_prior(model, priors)


@eqx.filter_jit
def _value_and_gradient(
    theta: Array, template: GaussianModel, evidence: Evidence, priors: Matched
) -> tuple[Array, Array]:
    """Return the same and its gradient."""
    return jax.value_and_grad(_value)(theta, template, evidence, priors)
