r"""The log evidence of several parts, its gradient and its average information, from solves with B.

With alpha = C^-1 r = W (r - h), h and g the posterior means, L outputs, and Z, M, U and A = U - T Z as in `joint`,

    in log c, log s, log s_u of a field:  (L d log det Q - g' dQ g - L tr(B^-1 dQ) - L tr(Z M^-1 Z' dQ)) / 2,
    in a scale T_k:                       alpha g_k - L W (T B^-1 - A M^-1 Z_k')_ii,
    in an own or a noise variance:        (alpha^2 - L (W - W H W)_ii) / 2,    H = T B^-1 T' + A M^-1 A',
    in a feature's variance v:            ((F' alpha)^2 - L (I - M^-1) / v) / 2,

since what is expected of a quadratic form in g given y is that of its mean, and a trace of its covariance. Traces of
B^-1 are by probes, all else is exact. Derivatives of C times alpha are

    t g + T K (t alpha)  with t = dT,    T dK T alpha = T (nu Delta (c + Delta)^-1 g, g without u, u u' g),
    dR alpha,  dSigma alpha,    F dV F' alpha,

and the average information is half of q_i' C^-1 q_j of these.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from hypergauss import parameters
from hypergauss.kernels import Kernel
from hypergauss.learning.trust_region import LocalModel
from hypergauss.operators import Block, scattered
from hypergauss.solvers.base import GaussianModel, Prior
from hypergauss.solvers.conjugate_gradients import conjugate_gradients
from hypergauss.solvers.markov.field import check_kernel
from hypergauss.solvers.markov.joint import CentredField, Joint, JointSystem, JointWorkspace
from hypergauss.solvers.markov.joint_posterior import JointPosterior
from hypergauss.solvers.markov.parts import Arrays
from hypergauss.solvers.pathwise import Estimate, PathwiseEvidence, log_evidence
from hypergauss.solvers.sites import Sites

#: Probes are solved so much more finely than those of a single field: a trace with dQ is off by as much as their
#: residual, and of fields that share the measurements by ten times that of one.
_FINER = 0.1
#: Relative residual of the systems of the information.
_SOLVED = 0.03
#: The least information in a direction, as a share of the largest.
_LEAST = 1e-10


class JointTerms(NamedTuple):
    """What one evaluation of the log evidence found.

    Attributes
    ----------
    quadratic : float
        r' C^-1 r, summed over outputs.
    log_det : Estimate
        log det(I + K_h W).
    answer : Joint
        The posterior means of the fields and of h.
    alpha : block, shape (N, L)
        C^-1 r, zero where nothing is observed.
    slopes : Arrays
        In what hyperparameters set.
    in_variance : array, shape (N,)
        In the variance of each site.
    system : JointSystem
        Solved as loosely as probes are.
    """

    quadratic: float
    log_det: Estimate
    answer: Joint
    alpha: Block
    slopes: Arrays
    in_variance: np.ndarray
    system: JointSystem


def joint_terms(workspace: JointWorkspace, kernel: Kernel, sites: Sites, targets: Block) -> JointTerms:
    """Solve for the targets, zero where nothing is observed, and for probes, and gather the slopes."""
    operator, options, outputs = workspace.operator, workspace.options, targets.shape[1]
    strict, loose = (
        JointSystem(workspace, kernel, sites.rows, sites.variance, tolerance)
        for tolerance in (options.learning_tolerance, _FINER * options.probe_tolerance)
    )
    W = strict.precision
    answer = strict.smoothed(W * targets)
    alpha = operator.settle(W * (targets - answer.h))
    probes = loose.log_determinant()
    share = outputs / probes.preconditioned[0].shape[1]
    seen = loose.seen(probes.solved)
    variances = share * (seen * loose.seen(probes.preconditioned)).sum(axis=1)
    in_fields, in_scales, in_weights = [], [], np.zeros(0)
    if workspace.features is not None:
        turned = strict.apart @ strict.root
        variances = variances + outputs * (turned**2).sum(axis=1)
        along = operator.fetch(workspace.features.T @ alpha)
        left = 1.0 - np.einsum("ij,ij->i", strict.root, strict.root)
        in_weights = 0.5 * ((along**2).sum(axis=1) - outputs * left / strict.arrays.weights)
    for k, one in enumerate(strict.fields):
        g, u, v = answer.fields[k], probes.solved[k], probes.preconditioned[k]
        slopes = outputs * one.slopes_of_log_det() - one.forms(g, g) - share * one.forms(u, v)
        along_scale = share * (seen * v).sum(axis=1)
        if strict.has_features:
            through = operator.settle(strict.through[k] @ strict.root)
            slopes -= outputs * one.forms(through, through)
            along_scale = along_scale - outputs * (turned * through).sum(axis=1)
        in_fields.append(0.5 * slopes)
        in_scale = operator.settle(((alpha * g).sum(axis=1) - W[:, 0] * along_scale)[:, None])
        in_scales.append(operator.array(in_scale)[:, 0])
    of_sites = (alpha**2).sum(axis=1) - outputs * W[:, 0] + W[:, 0] ** 2 * variances
    in_variance = operator.array(operator.settle(0.5 * of_sites[:, None]))[:, 0]
    found = Arrays(tuple(in_fields), tuple(in_scales), in_variance, in_weights)
    quadratic = float(operator.fetch(operator.dot(targets, alpha)).sum())
    return JointTerms(quadratic, probes.log_det, answer, alpha, found, in_variance, loose)


class JointEvidence(PathwiseEvidence[JointWorkspace]):
    """The log evidence of a kernel of several parts; parameters are those of `PathwiseEvidence`."""

    def _posterior(self, prior: Prior, sites: Sites) -> JointPosterior:
        return JointPosterior(prior, sites, self.workspace)

    def local_model(self, model: GaussianModel) -> LocalModel:  # noqa: D102
        check_kernel(model.kernel, learns=True, parts=True)
        workspace, observations = self.workspace, self.observations
        sites, outputs = observations.sites(model.noise_variance), len(model.mean)
        found = joint_terms(workspace, model.kernel, sites, self._residuals(model))
        own = workspace.arrays(model.kernel).own[sites.rows]
        whole = sites._replace(variance=sites.variance + own)
        value = self._noted(log_evidence(whole, found.quadratic, found.log_det, outputs))
        in_kernel = parameters.pull_back(model.kernel, workspace.parts.arrays, found.slopes)
        in_noise = observations.pull_back_noise(model.noise_variance, found.in_variance[sites.rows])
        in_mean = workspace.operator.fetch(found.alpha.sum(axis=0))
        slopes = {"kernel": in_kernel, "noise_variance": in_noise, "mean": in_mean}
        gradient, theta = parameters.gather(model, slopes), parameters.pack(model)

        @cache
        def curvature() -> np.ndarray:  # a step that is not taken never asks
            return self._information(model, found, sites)

        def gain(there: np.ndarray) -> tuple[float, np.ndarray]:
            step = there - theta
            bent = curvature() @ step
            return float(gradient @ step - step @ bent / 2), gradient - bent

        return LocalModel(value, gradient, gain)

    def _information(self, model: GaussianModel, found: JointTerms, sites: Sites) -> np.ndarray:
        """Return the average information in the coordinates of a model, shape (p, p)."""
        of_noise = np.zeros(len(parameters.pack(model)))
        if self.observations.known_variance is None:
            of_noise = parameters.gather(model, {"noise_variance": np.ones(np.shape(model.noise_variance))})
        by_noise = scattered(self.workspace.operator, sites.rows, 1.0 / self.observations.counts)
        of_mean = np.array([parameters.gather(model, {"mean": unit}) for unit in np.eye(len(model.mean))])
        return joint_information(model, found, of_mean, of_noise, by_noise)


def joint_information(
    model: Any,
    found: JointTerms,
    of_mean: np.ndarray,
    of_noise: np.ndarray | None = None,
    by_noise: Block | float = 0.0,
) -> np.ndarray:
    """Return the average information in the coordinates of a model, shape (p, p).

    Parameters
    ----------
    model : GaussianModel or LatentModel
        With the kernel of what was found.
    found : JointTerms
        At it.
    of_mean : array, shape (L, p)
        Derivatives of each output's mean in the coordinates.
    of_noise, by_noise : array, shape (p,), and block, shape (N, 1), optional
        Derivatives of a noise variance, and of the sites' variances in it.
    """
    system, alpha = found.system, found.alpha
    of_kernel = iter(parameters.tangents(model.kernel, system.workspace.parts.arrays))
    is_kernels = [slot.path[0] == "kernel" for slot in parameters.slots(model) for _ in range(slot.size)]
    images = []
    for j, is_kernel in enumerate(is_kernels):
        image = image_of(found, Arrays(*next(of_kernel))) if is_kernel else alpha * 0.0
        if of_noise is not None:
            image = image + of_noise[j] * by_noise * alpha
        # A mean counts twice, as the information is halved.
        images.append(image + np.sqrt(2.0) * of_mean[:, j])
    operator, W, outputs = system.operator, system.precision, alpha.shape[1]
    Q = operator.settle((W > 0) * operator.concatenate(images))
    solved = operator.settle(W * (Q - system.smoothed(W * Q, tolerance=_SOLVED).h))
    products = operator.fetch(Q.T @ solved).reshape(len(images), outputs, len(images), outputs)
    information = 0.5 * np.einsum("ilkl->ik", products)
    values, vectors = np.linalg.eigh((information + information.T) / 2)
    return (vectors * np.maximum(values, _LEAST * values[-1])) @ vectors.T


def bilinear(system: JointSystem, gamma: Block, of_gamma: Joint, alpha: Block, of_alpha: Joint) -> Arrays:
    """Return the slopes of gamma' K_h alpha, summed over columns, from what K_h gamma and K_h alpha have of each field.

    Those in what a vertex has of its own, which is not in K_h, are zero.
    """
    operator, in_fields, in_scales = system.operator, [], []
    for one, b, g in zip(system.fields, of_gamma.fields, of_alpha.fields, strict=True):
        in_fields.append(-one.forms(b, g))
        in_scale = operator.settle((gamma * g + alpha * b).sum(axis=1)[:, None])
        in_scales.append(operator.array(in_scale)[:, 0])
    F, in_weights = system.workspace.features, np.zeros(0)
    if F is not None:
        in_weights = (operator.fetch(F.T @ gamma) * operator.fetch(F.T @ alpha)).sum(axis=1)
    return Arrays(tuple(in_fields), tuple(in_scales), np.zeros(operator.size), in_weights)


def image_of(found: JointTerms, change: Arrays) -> Block:
    """Return dC alpha at every vertex, from the derivative of what hyperparameters set, noise aside."""
    system, alpha, operator = found.system, found.alpha, found.system.operator
    image = alpha * 0.0
    for one, g, numbers, scale in zip(system.fields, found.answer.fields, change.fields, change.scales, strict=True):
        inner = one_direction(system, one, g, numbers)
        if scale.any():
            t = operator.vector(np.asarray(scale)[:, None])
            image = image + t * g
            inner = inner + covariance_product(system, one, t * alpha)
        image = image + one.scale * inner
    if np.any(change.own):
        image = image + operator.vector(np.asarray(change.own)[:, None]) * alpha
    F = system.workspace.features
    if F is not None:
        image = image + F @ (change.weights[:, None] * operator.fetch(F.T @ alpha))
    return operator.settle(image)


def one_direction(system: JointSystem, one: CentredField, g: Block, numbers: np.ndarray) -> Block:
    """Return dK Q g of one field for a change of log c, log s and log s_u."""
    operator, u = one.term.operator, one.term.direction
    in_log_c, in_log_s, in_along = (float(number) for number in numbers)
    found = in_log_s * g
    if u is not None:
        found = found + u @ ((in_along - in_log_s) * (u.T @ g))
    if in_log_c != 0:
        rhs = operator.settle(operator.affine(operator.enter(g), float(one.field.nu), 0.0))
        solved = conjugate_gradients(
            lambda X: operator.affine(X, 1.0, one.field.c),
            rhs,
            tolerance=_SOLVED,
            max_iterations=system.workspace.options.max_iterations,
            blocks=operator,
        )
        found = found + in_log_c * operator.leave(solved.x)
    return operator.settle(found)


def covariance_product(system: JointSystem, one: CentredField, X: Block) -> Block:
    """Return Q^-1 X of one field, to a few digits."""
    operator = one.term.operator
    return conjugate_gradients(
        one.product,
        operator.settle(X),
        tolerance=_SOLVED,
        max_iterations=system.workspace.options.max_iterations,
        blocks=operator,
    ).x
