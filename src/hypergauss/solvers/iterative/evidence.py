r"""The log evidence and its gradient, from solves: what hyperparameters are learned by at any size.

With C = K_tt + Sigma, alpha = C^-1 (z - mean), probes z as in `determinant`, u = W^1/2 B^-1 z and v = W^1/2 P^-1 z,

    d log evidence = alpha' dC alpha / 2 - tr(C^-1 dC) / 2,
    tr(C^-1 dC)    = tr(P~^-1 dP~) + mean over s of ( u' dC v - v' dP~ v ),

where P~ = Sigma + b I + Q D Q' is the preconditioner in C's place: its own trace is exact, and the probes estimate
only the difference. Everything that hyperparameters touch enters linearly, so the gradient is that of a few numbers
(`numbers`), times their slopes. Probes are the same at each evaluation: the objective is smooth, and only as random as
its reported standard error.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hypergauss.kernels import Kernel
from hypergauss.learning.priors import Matched
from hypergauss.learning.trust_region import LocalModel
from hypergauss.operators import Block, scattered
from hypergauss.solvers.base import GaussianModel, Prior
from hypergauss.solvers.iterative.determinant import Probes, log_determinant
from hypergauss.solvers.iterative.information import Information, Loss, Numbers, local_model
from hypergauss.solvers.iterative.leading_evidence import LeadingEvidence
from hypergauss.solvers.iterative.numbers import Deflated, Forms, Layout
from hypergauss.solvers.iterative.posterior import IterativePosterior
from hypergauss.solvers.iterative.system import FactorisedSystem, System, Workspace, evidence_system
from hypergauss.solvers.pathwise import Estimate, PathwiseEvidence, log_evidence
from hypergauss.solvers.sites import Observations, Sites


class Slopes(NamedTuple):
    """Numbers that turn derivatives of K, Sigma, the mean, b and D into that of the log evidence.

    Attributes
    ----------
    targets, probes : Forms
        alpha' dK alpha / 2, and minus half of the mean over probes of u' dK v.
    noise : block, shape (N, 1)
        Of each vertex's noise variance.
    mean : array, shape (L,)
        Of each output's mean.
    deflation : Deflated
        Of b and D.
    """

    targets: Forms
    probes: Forms
    noise: Block
    mean: np.ndarray
    deflation: Deflated

    @property
    def lengths(self) -> tuple[int, ...]:
        """How many coefficients of each spectral term they meet."""
        return tuple(max(pair) for pair in zip(self.targets.lengths, self.probes.lengths, strict=True))

    def in_numbers(self, layout: Layout) -> np.ndarray:
        """Return the slopes in a kernel's numbers, shape (q,)."""
        return layout.slopes(self.targets, self.deflation) + layout.slopes(self.probes)


class EvidenceTerms(NamedTuple):
    """What one evaluation of the log evidence of sites found."""

    quadratic: float  # (z - mean)' C^-1 (z - mean), summed over outputs
    probes: Probes
    alpha: Block  # shape (N, L)
    slopes: Slopes
    system: System  # loosely solved, for what is needed to a few digits

    @property
    def log_det(self) -> Estimate:
        """Log det(I + K W) with its standard error."""
        return self.probes.estimate


def evidence_terms(workspace: Workspace, kernel: Kernel, precision: Block, targets: Block) -> EvidenceTerms:
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
    of_targets = system.covariance.forms(alpha, alpha).times(0.5)
    of_probes = probed.covariance.forms(u, v).times(-0.5 * share)
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
    of_means = operator.fetch(alpha.sum(axis=0))
    slopes = Slopes(of_targets, of_probes, operator.settle(noise), of_means, Deflated(background, gains))
    return EvidenceTerms(quadratic, probes, alpha, slopes, probed)


class IterativeEvidence(PathwiseEvidence[Workspace]):
    """The log evidence by solves with B; parameters are those of `PathwiseEvidence`."""

    def __init__(self, workspace: Workspace, observations: Observations) -> None:
        super().__init__(workspace, observations)
        counts, is_known = observations.counts, observations.known_variance is not None
        #: The derivative of the sites' variances in the noise variance.
        self._unit_noise = np.zeros(len(counts)) if is_known else 1.0 / counts

    def _posterior(self, prior: Prior, sites: Sites) -> IterativePosterior:
        return IterativePosterior(prior, sites, self.workspace)

    def local_model(self, model: GaussianModel) -> LocalModel:  # noqa: D102
        workspace, rows = self.workspace, self.observations.rows
        sites = self.observations.sites(model.noise_variance)
        precision = scattered(workspace.operator, rows, 1.0 / sites.variance)
        targets = self._residuals(model)
        found = evidence_terms(workspace, model.kernel, precision, targets)
        value = self._noted(log_evidence(sites, found.quadratic, found.probes.estimate, targets.shape[1]))
        layout = Layout(workspace.terms, found.slopes.lengths, workspace.ritz_values)
        numbers = Numbers(layout, "noise_variance", "mean")
        in_noise = workspace.operator.array(found.slopes.noise, rows)[:, 0] @ self._unit_noise
        slopes = np.concatenate([found.slopes.in_numbers(layout), [in_noise], found.slopes.mean])
        of_kernel, of_noise, of_mean = np.split(numbers.tangents(model), [layout.size, layout.size + 1], axis=1)
        information = Information.of(
            found.system,
            found.alpha,
            layout,
            kernel=of_kernel,
            mean=of_mean,
            noise=of_noise[:, 0],
            unit_noise=scattered(workspace.operator, rows, self._unit_noise),
        )
        by_number = np.column_stack([information.kernel, information.noise, information.mean])
        losses = [Loss(by_number, information.half_inverse)]
        return local_model(model, value, numbers, slopes, losses, self._log_offset)

    def further_starts(self, model: GaussianModel, priors: Matched) -> list[np.ndarray]:
        """Return the top of the evidence of the leading eigenvectors, where there is one."""
        leading = LeadingEvidence.of(self.workspace, self.observations)
        return [] if leading is None else [leading.highest(model, priors)]
