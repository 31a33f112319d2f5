r"""The log evidence of a Markov field, its gradient and its average information, from solves with Q + W.

With x = S W r, alpha = W (r - x) = C^-1 r at the sites, C = K_tt + Sigma, and L outputs,

    log evidence = -(r' alpha + L log det(I + K W) - L sum of log w + L n log 2 pi) / 2,
    its slope in log c or log s = (L d log det Q - x' dQ x - L tr(S dQ)) / 2,
    its slope in a noise variance = (alpha^2 - L (w - w^2 S_ii)) / 2,

tr(S dQ) and S_ii as the mean over probes of u' dQ v and u v, u = B^-1 z, v = P^-1 z. Derivatives of C times alpha are

    in log s: x,    in log c: nu Delta (c + Delta)^-1 x,    in log noise: Sigma alpha,

and the average information is half of q_i' C^-1 q_j of these (see `iterative.information`). Where q = K d for a known
d, as Q x of x, C^-1 q = W S d: nothing cancels, and a few digits are enough.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from hypergauss.kernels import Kernel
from hypergauss.learning.trust_region import LocalModel
from hypergauss.operators import Block, scattered
from hypergauss.solvers.base import GaussianModel, Prior
from hypergauss.solvers.iterative.information import Loss, half_inverse, local_model
from hypergauss.solvers.markov.determinant import log_determinant
from hypergauss.solvers.markov.field import FieldNumbers, check_kernel, step_jacobian
from hypergauss.solvers.markov.posterior import MarkovPosterior
from hypergauss.solvers.markov.system import System, Workspace
from hypergauss.solvers.pathwise import Estimate, PathwiseEvidence, log_evidence
from hypergauss.solvers.sites import Observations, Sites

#: Relative residual of the systems of the information. That of noise is a difference: where noise is a tenth of the
#: variance, this leaves a tenth of an error.
_SOLVED = 0.03
#: The least share of measurements' variance that noise is taken for.
_LEAST_SHARE = 1e-3


class FieldTerms(NamedTuple):
    """What one evaluation of the log evidence of sites found.

    Attributes
    ----------
    quadratic : float
        r' C^-1 r, summed over outputs.
    log_det : Estimate
        log det(I + K W).
    x, alpha : blocks, shape (N, L)
        The posterior mean less the prior's, and C^-1 r, zero where nothing is observed.
    in_field : array, shape (2,)
        Slopes in log c and log s.
    in_variance : block, shape (N, 1)
        Slope in the variance of each site.
    in_mean : array, shape (L,)
        Slopes in the prior means.
    system : System
        Solved as loosely as probes are.
    """

    quadratic: float
    log_det: Estimate
    x: Block
    alpha: Block
    in_field: np.ndarray
    in_variance: Block
    in_mean: np.ndarray
    system: System


def field_terms(
    workspace: Workspace, kernel: Kernel, precision: Block, targets: Block, start: Block | None = None
) -> FieldTerms:
    """Solve for the targets, zero where nothing is observed, and for probes, and gather the slopes.

    Parameters
    ----------
    workspace : Workspace
        Of the kernel.
    kernel : Matern
        At the hyperparameters wanted.
    precision : block, shape (N, 1)
        Of the sites.
    targets : block, shape (N, L)
        Pseudo-observations less the prior mean.
    start : block, shape (N, L), optional
        Where the targets' solve begins.
    """
    operator, options, outputs = workspace.operator, workspace.options, targets.shape[1]
    system = System(workspace, kernel, precision, options.learning_tolerance)
    x = system.solve(operator.settle(precision * targets), start).x
    alpha = operator.settle(precision * (targets - x))
    loose = System(workspace, kernel, precision, options.probe_tolerance)
    probes = log_determinant(loose)
    u, v = probes.solved, probes.preconditioned
    share = outputs / v.shape[1]
    of_log_det = np.array([system.field.log_det_in_log_c(), -float(operator.size)])
    in_field = 0.5 * (outputs * of_log_det - system.forms(x, x).array - share * loose.forms(u, v).array)
    variances = share * (u * v).sum(axis=1)[:, None]
    in_variance = 0.5 * ((alpha**2).sum(axis=1)[:, None] - outputs * precision + precision**2 * variances)
    quadratic = float(operator.fetch(operator.dot(targets, alpha)).sum())
    in_mean = operator.fetch(alpha.sum(axis=0))
    return FieldTerms(quadratic, probes.log_det, x, alpha, in_field, operator.settle(in_variance), in_mean, loose)


def information(found: FieldTerms, in_log_noise: Block | None = None) -> np.ndarray:
    """Return the average information in log c, log s, log noise if there is one, and each output's mean, (Q, Q).

    A mean has information of its own, m_i' C^-1 m_j with m_j its derivative: it counts twice, since the information is
    halved. What it has in common with others is zero on average, and of no matter here.

    Parameters
    ----------
    found : FieldTerms
        At the hyperparameters.
    in_log_noise : block, shape (N, 1), optional
        The derivative of the sites' variances in the log noise variance.
    """
    system, x, alpha = found.system, found.x, found.alpha
    operator, outputs, W = system.workspace.operator, x.shape[1], system.precision
    means = [x * 0.0 + np.sqrt(2.0) * unit for unit in np.eye(outputs)]
    images = [system.in_log_c(x), x, *means]
    behind = [-1.0 * system.precision_product(x, in_log_c=True), *map(system.precision_product, [x, *means])]
    noisy = [] if in_log_noise is None else [alpha]
    solved = system.solve(operator.settle(operator.concatenate([*behind, *noisy])), tolerance=_SOLVED).x
    solved = operator.settle(W * solved)
    if in_log_noise is not None:
        images.append(in_log_noise * alpha)
        cut = outputs * len(behind)
        solved = operator.settle(operator.concatenate([solved[:, :cut], alpha - solved[:, cut:]]))
    q = operator.settle((W > 0) * operator.concatenate(images))
    products = operator.fetch(q.T @ solved).reshape(len(images), outputs, len(images), outputs)
    by_image = 0.5 * np.einsum("ilkl->ik", products)
    order = np.r_[:2, len(images) - 1 : len(images) - 1 + len(noisy), 2 : 2 + outputs]
    by_number = by_image[np.ix_(order, order)]
    return (by_number + by_number.T) / 2


class MarkovEvidence(PathwiseEvidence[Workspace]):
    """The log evidence by solves with Q + W; parameters are those of `PathwiseEvidence`."""

    def __init__(self, workspace: Workspace, observations: Observations) -> None:
        super().__init__(workspace, observations)
        self._latest: Block | None = None  # the last solution, where the next one begins

    def _posterior(self, prior: Prior, sites: Sites) -> MarkovPosterior:
        return MarkovPosterior(prior, sites, self.workspace)

    def local_model(self, model: GaussianModel) -> LocalModel:  # noqa: D102
        check_kernel(model.kernel, learns=True)
        operator, rows = self.workspace.operator, self.observations.rows
        sites = self.observations.sites(model.noise_variance)
        precision = scattered(operator, rows, 1.0 / sites.variance)
        targets = self._residuals(model)
        found = field_terms(self.workspace, model.kernel, precision, targets, self._latest)
        self._latest = found.x
        value = self._noted(log_evidence(sites, found.quadratic, found.log_det, targets.shape[1]))
        # In log noise a site's variance moves by itself, unless it is known.
        has_noise = self.observations.known_variance is None
        moving = scattered(operator, rows, sites.variance if has_noise else np.zeros(len(rows)))
        in_noise = operator.fetch(operator.dot(found.in_variance, moving)) if has_noise else np.zeros(0)
        slopes = np.concatenate([found.in_field, in_noise, found.in_mean])
        numbers, in_offset = FieldNumbers(has_noise=has_noise), self._log_offset(model)[1]
        gradient = numbers.tangents(model) @ (slopes @ self._jacobian(model)) + in_offset

        @cache
        def surroundings() -> LocalModel:  # a step that is not taken never asks
            return self._surroundings(model, value, found, slopes, moving if has_noise else None)

        return LocalModel(value, gradient, lambda theta: surroundings().gain(theta))

    def _jacobian(self, model: GaussianModel) -> np.ndarray:
        """Return derivatives of log c, log s, log noise and means (rows) in the numbers that steps are taken in."""
        jacobian = np.eye(3 + np.size(model.mean) - (self.observations.known_variance is not None))
        jacobian[:2, :2] = step_jacobian(model.kernel)  # type: ignore[arg-type]
        return jacobian

    def _surroundings(
        self, model: GaussianModel, value: float, found: FieldTerms, slopes: np.ndarray, in_log_noise: Block | None
    ) -> LocalModel:
        """Return what is linear in the model's numbers less the loss by the average information."""
        jacobian, curvature, rest = self._jacobian(model), information(found, in_log_noise), 0.0
        if in_log_noise is not None:
            # Were all of a measurement's variance noise, the information, the field learned too, would be n / 2.
            alone = curvature[2, 2] - curvature[2, :2] @ np.linalg.lstsq(curvature[:2, :2], curvature[:2, 2])[0]
            share = float(np.sqrt(np.clip(2.0 * alone / self.num_observations, _LEAST_SHARE**2, 1.0)))
            jacobian[2, 2], rest = 1.0 / share, float(model.noise_variance) * (1.0 / share - 1.0)
        slopes, curvature = slopes @ jacobian, jacobian.T @ curvature @ jacobian
        loss = Loss(2.0 * curvature, half_inverse(curvature))
        numbers = FieldNumbers(has_noise=in_log_noise is not None, rest=rest)
        return local_model(model, value, numbers, slopes, [loss], self._log_offset)
