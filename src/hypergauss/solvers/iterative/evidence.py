r"""The log evidence and its gradient, from solves: what hyperparameters are learned by at any size.

With C = K_tt + Sigma, alpha = C^-1 (z - mean), probes z as in `determinant`, u = W^1/2 B^-1 z and v = W^1/2 P^-1 z,

    d log evidence = alpha' dC alpha / 2 - tr(C^-1 dC) / 2,
    tr(C^-1 dC)    = tr(P~^-1 dP~) + mean over s of ( u' dC v - v' dP~ v ),

where P~ = Sigma + b I + Q D Q' is the preconditioner in C's place: its own trace is exact, and the probes estimate
only the difference. Everything that hyperparameters touch enters linearly, so the gradient is that of a small function
of a few numbers, found by JAX. Probes are the same at each evaluation: the objective is smooth, and only as random as
its reported standard error.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from hypergauss import parameters
from hypergauss.solvers.iterative.covariance import Forms, Skeleton
from hypergauss.solvers.iterative.determinant import Probes, log_determinant
from hypergauss.solvers.iterative.information import Curvature, Numbers, local_model
from hypergauss.solvers.iterative.leading_evidence import LeadingEvidence
from hypergauss.solvers.iterative.options import Iterative
from hypergauss.solvers.iterative.posterior import IterativePosterior, log_evidence
from hypergauss.solvers.iterative.system import FactorisedSystem, System, Workspace, evidence_system
from hypergauss.learning.search import EstimatedObjective
from hypergauss.learning.trust_region import LocalModel
from hypergauss.learning.priors import Matched, log_prior
from hypergauss.solvers.sites import Observations
from hypergauss.kernels import Kernel


class Slopes(NamedTuple):
    """Numbers that turn derivatives of K, Sigma, the mean, b and D into that of the log evidence."""

    forms: Forms
    noise: Any  # of each vertex's noise variance, block of shape (N, 1)
    mean: np.ndarray
    background: np.ndarray
    gains: np.ndarray

    def surrogate(self, structure: Skeleton, kernel: Kernel, ritz_values: np.ndarray) -> Array:
        """Return a function of the kernel whose gradient is the log evidence's, the noise aside."""
        background, gains = structure.deflated(kernel, jnp.asarray(ritz_values))
        return structure.bilinear(kernel, self.forms) + self.background * background + self.gains @ gains


class EvidenceTerms(NamedTuple):
    """What one evaluation of the log evidence of sites found."""

    quadratic: float  # (z - mean)' C^-1 (z - mean), summed over outputs
    probes: Probes
    alpha: Any  # block, shape (N, L)
    slopes: Slopes
    system: System  # loosely solved, for what is needed to a few digits


def evidence_terms(workspace: Workspace, kernel: Kernel, precision: Any, targets: Any) -> EvidenceTerms:
    """Solve for the targets, zero where nothing is observed, and for probes, and gather the slopes.

    Parameters
    ----------
    workspace : Workspace
        Of the kernel.
    kernel : Kernel
        At the hyperparameters wanted.
    precision : block, shape (N, 1)
        Of the sites.
    targets : block, shape (N, L)
        Pseudo-observations less the prior mean.
    """
    # One preconditioner for all solves: its derivatives must be those of the one that coloured the probes. Learning
    # solves again and again, so the leading eigenvectors pay; and they steady the log determinant.
    workspace.find_subspace()
    probed = evidence_system(workspace, kernel, precision)
    probes = log_determinant(probed)
    system = probed
    if not isinstance(probed, FactorisedSystem):
        system = System(workspace, kernel, precision, workspace.options.learning_tolerance)
    operator, root = system.operator, system.root
    alpha = operator.settle(root * system.solve(root * targets).x)
    outputs = targets.shape[1]
    u, v = root * probes.solved, operator.settle(root * probes.preconditioned)
    share = outputs / probes.preconditioned.shape[1]
    of_targets = system.covariance.forms(alpha, alpha)
    of_probes = probed.covariance.forms(u, v)
    zero = Forms(
        tuple(np.zeros_like(m) for m in of_targets.spectral),
        tuple((np.zeros_like(a), np.zeros_like(b)) for a, b in of_targets.features),
    )
    forms = zero.plus(of_targets, 0.5).plus(of_probes, -0.5 * share)
    diagonal, turned = probed.preconditioner.trace_parts()
    exact = outputs * diagonal * system.precision
    squares = share * (v**2).sum(axis=1)[:, None]
    noise = 0.5 * ((alpha**2).sum(axis=1)[:, None] - share * (u * v).sum(axis=1)[:, None] - exact + squares)
    background = 0.5 * operator.fetch((squares - exact).sum())
    subspace = workspace.subspace
    gains = np.zeros(0)
    if subspace is not None:
        along = operator.fetch(((subspace.vectors.T @ v) ** 2).sum(axis=1))
        gains = 0.5 * (share * along - outputs * turned)
    quadratic = float(operator.fetch(operator.dot(targets, alpha)).sum())
    slopes = Slopes(forms, operator.settle(noise), operator.fetch(alpha.sum(axis=0)), background, gains)
    return EvidenceTerms(quadratic, probes, alpha, slopes, probed)


class IterativeEvidence(EstimatedObjective):
    """The log evidence of observations as a function of a Gaussian model's hyperparameters, estimated.

    Parameters
    ----------
    model : GaussianModel
        Kernel, noise variance and constant mean.
    observations : Observations
        What was measured.
    options : Iterative
        Settings.
    """

    def __init__(self, model: Any, observations: Observations, options: Iterative) -> None:
        self.model, self.observations, self.options = model, observations, options
        self.workspace = Workspace(model.kernel, options)
        self._targets = self._scattered(observations.mean)
        self._observed = self._scattered(np.ones((len(observations.rows), 1)))
        self._standard_error = np.nan

    @property
    def num_observations(self) -> int:  # noqa: D102
        return int(self.observations.mean.size)

    @property
    def standard_error(self) -> float:  # noqa: D102
        return self._standard_error

    @property
    def state(self) -> Workspace:
        """The terms and the subspace, for what comes after learning."""
        return self.workspace

    def value(self, theta: np.ndarray, priors: Matched) -> float:  # noqa: D102
        model = parameters.unpack(self.model, theta)
        sites = self.observations.sites(model.noise_variance)
        posterior = IterativePosterior(model.prior(), sites, self.options, self.workspace)
        self._standard_error = posterior.log_evidence_estimate.standard_error
        return posterior.log_evidence + float(log_prior(model, priors))

    def local_model(self, theta: np.ndarray, priors: Matched) -> LocalModel:  # noqa: D102
        # Learning solves again and again: the leading eigenvectors pay, and steady the log determinant.
        self.workspace.find_subspace()
        model = parameters.unpack(self.model, theta)
        sites = self.observations.sites(model.noise_variance)
        variance = np.asarray(sites.variance)
        precision = self._scattered((1.0 / variance)[:, None])
        targets = self._targets - self._observed * np.asarray(model.mean)
        found = evidence_terms(self.workspace, model.kernel, precision, targets)
        estimate = log_evidence(sites, found.quadratic, found.probes, self.observations.mean.shape[1])
        self._standard_error = estimate.standard_error
        operator = self.workspace.operator
        subspace = self.workspace.subspace
        lengths = found.system.covariance.lengths
        at_sites = operator.array(found.slopes.noise, self.observations.rows)[:, 0]
        setting = _Setting(
            self.model,
            self.workspace.structure.skeleton,
            lengths,
            found.slopes._replace(noise=at_sites),
            self.observations,
            np.zeros(0) if subspace is None else subspace.values,
            priors,
        )
        value = estimate.value + float(log_prior(model, priors))
        return local_model(
            theta,
            value,
            setting,
            lambda tangents: [Curvature.of(found.system, found.alpha, tangents[0], self.observations.rows)],
        )

    def further_starts(self, theta: np.ndarray, priors: Matched) -> list[np.ndarray]:
        """Return the top of the evidence of the leading eigenvectors, where there is one."""
        leading = LeadingEvidence.of(self.model, self.observations, self.workspace, priors)
        return [] if leading is None else [leading.highest(theta)]

    def _scattered(self, at_rows: np.ndarray) -> Any:
        whole = np.zeros((self.workspace.operator.size, at_rows.shape[1]))
        whole[self.observations.rows] = at_rows
        return self.workspace.operator.vector(whole)


class _Setting(NamedTuple):
    """What the evidence is a function of hyperparameters with."""

    template: Any
    skeleton: Skeleton
    lengths: tuple[int, ...]
    slopes: Slopes
    observations: Observations
    ritz_values: np.ndarray
    priors: Matched

    def linear(self, theta: Array) -> Array:
        """Return a function with the gradient of log evidence + log prior: linear in C, and in the mean."""
        model = parameters.unpack(self.template, theta)
        sites = self.observations.sites(model.noise_variance)
        return (
            self.slopes.surrogate(self.skeleton, model.kernel, self.ritz_values)
            + self.slopes.noise @ jnp.asarray(sites.variance)
            + self.slopes.mean @ model.mean
            + sites.log_offset
            + log_prior(model, self.priors)
        )

    def numbers(self, theta: Array) -> list[Numbers]:
        """Return all that the evidence depends on."""
        model = parameters.unpack(self.template, theta)
        noise = jnp.asarray(self.observations.sites(model.noise_variance).variance)
        return [Numbers(self.skeleton.coefficients(model.kernel, self.lengths), noise, model.mean)]
