r"""The low-rank solver: Woodbury's identity in the r features of a structured kernel. O(n r^2), no n x n matrix.

With K + Sigma = F W F' + D, W = diag(weights) and D = diag(remainder + site variance), all follows from the r x r

    G = F' D^-1 F,    P = (I + G W)^-1,    C = W P = (W^-1 + G)^-1,

by  log det(K + Sigma) = log det D + log det(I + G W),
    (K + Sigma)^-1 = D^-1 - D^-1 F C F' D^-1.

No square root of W is taken: a filter that rises with the eigenvalue has negative weights, and everything still holds.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg
from jax.scipy.linalg import cho_solve, lu_factor, lu_solve, solve_triangular
from jaxtyping import Array, Float

from hypergauss.exceptions import NumericalError
from hypergauss.solvers.base import LeaveOneOut, Posterior, Prior, leave_one_out
from hypergauss.solvers.sites import Observations, Sites
from hypergauss.kernels import Kernel
from hypergauss.kernels.base import feature_weights, remainder

#: Rows of features gathered at once, to keep memory at what the spectrum itself takes.
_CHUNK = 8192


@jax.custom_vjp
def capacitance(G: Float[Array, "r r"], B: Float[Array, "r L"], w: Float[Array, " r"]) -> tuple[Array, Array]:
    """Return log det(I + G W) and the sum over columns b of b' C b.

    Derivatives by hand, from one inverse: d log det = tr(C dG) + sum of (P G)_ii dw_i, and with u = P b, x = W u,
    d(b' C b) = 2 x' db - x' dG x + sum of u_i^2 dw_i.
    """
    value, _ = _capacitance_forward(G, B, w)
    return value


def _capacitance_forward(G: Array, B: Array, w: Array) -> tuple[tuple[Array, Array], tuple[Array, ...]]:
    factor = lu_factor(jnp.eye(G.shape[0]) + G * w)
    # A positive determinant: I + G W is similar to a positive definite matrix.
    log_det = jnp.log(jnp.abs(jnp.diagonal(factor[0]))).sum()
    u = lu_solve(factor, B)
    quadratic = (B * (w[:, None] * u)).sum()
    return (log_det, quadratic), (*factor, G, u, w)


def _capacitance_backward(saved: tuple[Array, ...], gradient: tuple[Array, Array]) -> tuple[Array, Array, Array]:
    lu, pivots, G, u, w = saved
    d_log_det, d_quadratic = gradient
    P = lu_solve((lu, pivots), jnp.eye(G.shape[0]))
    x = w[:, None] * u
    d_G = d_log_det * (w[:, None] * P) - d_quadratic * (x @ x.T)
    d_B = 2 * d_quadratic * x
    d_w = d_log_det * (P * G.T).sum(axis=1) + d_quadratic * (u**2).sum(axis=1)
    return d_G, d_B, d_w


capacitance.defvjp(_capacitance_forward, _capacitance_backward)


@jax.custom_vjp
def positive_capacitance(G: Float[Array, "r r"], B: Float[Array, "r L"], w: Float[Array, " r"]) -> tuple[Array, Array]:
    """Return what `capacitance` does, for w >= 0, at half the cost: by the Cholesky factor of M = I + R G R, R = W^1/2.

    C = R M^-1 R and P = I - G C, so with M = L L' and T = L^-1 R G, (P G)_ii = G_ii - sum of T_ki^2.
    """
    value, _ = _positive_forward(G, B, w)
    return value


def _positive_forward(G: Array, B: Array, w: Array) -> tuple[tuple[Array, Array], tuple[Array, ...]]:
    root = jnp.sqrt(w)[:, None]
    M = root * G * root.T
    # As much as rounding may have taken off M's least eigenvalue, so that huge weights do not end the factorisation.
    slack = 2 * jnp.finfo(M.dtype).eps * jnp.trace(M)
    factor = jnp.linalg.cholesky((1 + slack) * jnp.eye(G.shape[0]) + M)
    # x = C b first: b - G x loses every digit where weights are large, and x / w does where they are small.
    x = root * cho_solve((factor, True), root * B)
    large = (w > 1.0)[:, None]
    u = jnp.where(large, x / jnp.where(large, w[:, None], 1.0), B - G @ x)
    log_det = 2 * jnp.log(jnp.diagonal(factor)).sum()
    return (log_det, (B * x).sum()), (factor, G, u, x, w)


def _positive_backward(saved: tuple[Array, ...], gradient: tuple[Array, Array]) -> tuple[Array, Array, Array]:
    factor, G, u, x, w = saved
    d_log_det, d_quadratic = gradient
    root = jnp.sqrt(w)[:, None]
    T = solve_triangular(factor, root * G, lower=True)
    # C, in full, is needed only where G itself depends on the hyperparameters; otherwise this is never computed.
    C = root * cho_solve((factor, True), jnp.diag(root[:, 0]))
    d_w = d_log_det * (jnp.diagonal(G) - (T**2).sum(axis=0)) + d_quadratic * (u**2).sum(axis=1)
    return d_log_det * C - d_quadratic * (x @ x.T), 2 * d_quadratic * x, d_w


positive_capacitance.defvjp(_positive_forward, _positive_backward)


def capacitance_of(kernel: Kernel, G: Any, B: Array, w: Array) -> tuple[Array, Array]:
    """Return log det(I + G W) and the quadratic form by the cheaper factorisation that the kernel's weights allow."""
    if not kernel.has_positive_weights:
        return capacitance(G, B, w)
    return positive_capacitance(G, B, jnp.maximum(w, 0.0))  # rounding can take a weight that is zero below it


class UniformEvidence(eqx.Module):
    """The log evidence when D is one number d: the data enter only through F'F, F'y and y'y, reduced once.

    Each evaluation then costs O(r^3), however many vertices are observed.
    """

    gram: np.ndarray  # F'F, (r, r)
    feature_targets: np.ndarray  # F'Y, (r, L)
    feature_sums: np.ndarray  # F'1, (r,)
    target_squares: np.ndarray  # Y'Y summed over outputs, ()
    target_sums: np.ndarray  # 1'Y, (L,)
    count: np.ndarray  # n, ()

    @classmethod
    def of(cls, kernel: Kernel, observations: Observations) -> UniformEvidence:
        """Reduce the observations to their sufficient statistics, a chunk of rows at a time."""
        rank, y = _rank(kernel), observations.mean
        gram, feature_targets, feature_sums = (
            np.zeros((rank, rank)),
            np.zeros((rank, y.shape[1])),
            np.zeros(rank),
        )
        for part, F in _feature_chunks(kernel, observations.rows):
            gram += F.T @ F
            feature_targets += F.T @ y[part]
            feature_sums += F.sum(axis=0)
        return cls(
            gram,
            feature_targets,
            feature_sums,
            np.asarray((y**2).sum()),
            y.sum(axis=0),
            np.asarray(float(len(y))),
        )

    def __call__(self, kernel: Kernel, noise_variance: Array, mean: Array) -> Float[Array, ""]:
        """Return log N(y | mean, F W F' + d I)."""
        d = kernel.remainder(None) + noise_variance
        B = self.feature_targets - self.feature_sums[:, None] * mean
        squares = self.target_squares - 2 * (mean * self.target_sums).sum() + self.count * (mean**2).sum()
        # W / d stands with F'F as W does with F'F / d, and leaves F'F without a gradient.
        log_det, quadratic = capacitance_of(kernel, self.gram, B, kernel.weights() / d)
        log_det = log_det + self.count * jnp.log(2 * jnp.pi * d)
        return -0.5 * ((squares - quadratic) / d + mean.shape[0] * log_det)


class GeneralEvidence(eqx.Module):
    """The log evidence when D differs between vertices: G is formed anew, O(n r^2) an evaluation."""

    observations: Observations
    inputs: Any

    @classmethod
    def of(cls, kernel: Kernel, observations: Observations) -> GeneralEvidence:
        """Gather the kernel's inputs at the observed vertices."""
        return cls(observations, kernel.inputs(observations.rows))

    def __call__(self, kernel: Kernel, noise_variance: Array, mean: Array) -> Float[Array, ""]:
        """Return log N(y | mean, F W F' + D)."""
        sites = self.observations.sites(noise_variance)
        d = kernel.remainder(self.inputs) + jnp.asarray(sites.variance)
        F = jnp.asarray(kernel.features(self.inputs))
        targets = sites.mean - mean
        scaled = F / d[:, None]
        log_det, quadratic = capacitance_of(kernel, scaled.T @ F, scaled.T @ targets, kernel.weights())
        log_det = log_det + jnp.log(2 * jnp.pi * d).sum()
        squares = (targets**2 / d[:, None]).sum()
        return -0.5 * (squares - quadratic + mean.shape[0] * log_det) + sites.log_offset


def low_rank_evidence(kernel: Kernel, observations: Observations) -> UniformEvidence | GeneralEvidence:
    """Return the cheaper form that fits."""
    uniform = kernel.has_uniform_remainder and observations.is_uniform
    return UniformEvidence.of(kernel, observations) if uniform else GeneralEvidence.of(kernel, observations)


class LowRankPosterior(Posterior):
    r"""Conditioning in feature space.

    Write f = F c + g with coefficients c ~ N(0, W) and g ~ N(0, remainder) of each vertex's own. Given the sites, c has
    mean C b and covariance C, with b = F' D^-1 z. At an observed vertex g takes up the share
    rho = remainder / (remainder + site variance) of what F c leaves unexplained.
    """

    solver: ClassVar[str] = "low-rank"

    def __init__(self, prior: Prior, sites: Sites) -> None:
        super().__init__(prior, sites)
        rank = _rank(prior.kernel)
        self._weights = np.asarray(feature_weights(prior.kernel))
        self._d = self._remainder(sites.rows) + np.asarray(sites.variance)
        G = np.zeros((rank, rank))
        for part, F in _feature_chunks(prior.kernel, sites.rows):
            G += (F / self._d[part, None]).T @ F
        capacity = np.eye(rank) + G * self._weights
        lu, pivots = scipy.linalg.lu_factor(capacity, overwrite_a=True, check_finite=False)
        diagonal = np.abs(np.diagonal(lu))
        if not (np.isfinite(diagonal).all() and (diagonal > 0).all()):
            raise NumericalError(
                f"The system of the {rank} features is singular or not finite. Likely causes: a noise variance too "
                "small for the kernel's variance, or hyperparameters at the edge of their range."
            )
        C = self._weights[:, None] * scipy.linalg.lu_solve((lu, pivots), np.eye(rank), check_finite=False)
        self._coefficient_covariance = (C + C.T) / 2
        targets = np.asarray(sites.mean) - prior.mean
        b = self._project(targets)
        outputs = targets.shape[1]
        # Sites of a likelihood that is not log-concave may have negative variances; then this is no evidence.
        log_det = np.log(diagonal).sum() + np.log(2 * np.pi * np.abs(self._d)).sum()
        quadratic = (targets**2 / self._d[:, None]).sum() - (b * (self._coefficient_covariance @ b)).sum()
        self.log_evidence = float(-0.5 * (quadratic + outputs * log_det) + sites.log_offset)

    def _smooth(self, rows: np.ndarray, residual: np.ndarray) -> np.ndarray:
        coefficients = self._coefficient_covariance @ self._project(residual)
        result = np.empty((len(rows), residual.shape[1]))
        for part, F in _feature_chunks(self.prior.kernel, rows):
            result[part] = F @ coefficients
        seen, share = self._share(rows)
        result[seen] += share[seen, None] * (residual[self._position[rows[seen]]] - result[seen])
        return result

    def observation_weights(self, rows: np.ndarray) -> np.ndarray:
        """Return F_* C F' D^-1, and at an observed vertex the share rho of what that leaves of its own site."""
        result = np.empty((len(rows), len(self.sites.rows)))
        thinned = self.prior.kernel.features(self.prior.kernel.inputs(rows)) @ self._coefficient_covariance
        for part, F in _feature_chunks(self.prior.kernel, self.sites.rows):
            result[:, part] = thinned @ F.T / self._d[part]
        seen, share = self._share(rows)
        result[seen] *= (1 - share[seen])[:, None]
        result[seen, self._position[rows[seen]]] += share[seen]
        return result

    def dual_weights(self) -> np.ndarray:  # noqa: D102
        targets = np.asarray(self.sites.mean) - self.prior.mean
        coefficients = self._coefficient_covariance @ self._project(targets)
        fitted = np.empty_like(targets)
        for part, F in _feature_chunks(self.prior.kernel, self.sites.rows):
            fitted[part] = F @ coefficients
        return (targets - fitted) / self._d[:, None]

    def variance(self, rows: np.ndarray) -> np.ndarray:  # noqa: D102
        result = np.empty(len(rows))
        for part, F in _feature_chunks(self.prior.kernel, rows):
            result[part] = ((F @ self._coefficient_covariance) * F).sum(axis=1)
        _, share = self._share(rows)
        # remainder * site variance / d = (1 - share) * remainder; an unobserved vertex keeps all of it.
        return np.maximum((1 - share) ** 2 * result + (1 - share) * self._remainder(rows), 0.0)

    def covariance(self, rows: np.ndarray) -> np.ndarray:  # noqa: D102
        F = self.prior.kernel.features(self.prior.kernel.inputs(rows))
        _, share = self._share(rows)
        thinned = (1 - share)[:, None] * F
        own = (1 - share) * self._remainder(rows)
        # A vertex asked for twice is one vertex: its own part is shared.
        return thinned @ self._coefficient_covariance @ thinned.T + np.where(rows[:, None] == rows, own, 0.0)

    def leave_one_out(self) -> LeaveOneOut:  # noqa: D102
        leverage = np.empty(len(self.sites.rows))
        for part, F in _feature_chunks(self.prior.kernel, self.sites.rows):
            leverage[part] = ((F @ self._coefficient_covariance) * F).sum(axis=1)
        return leave_one_out(self.sites, self.prior, self.dual_weights(), (1 - leverage / self._d) / self._d)

    def _project(self, residual: np.ndarray) -> np.ndarray:
        """Return F' D^-1 residual."""
        total = np.zeros((len(self._weights), residual.shape[1]))
        for part, F in _feature_chunks(self.prior.kernel, self.sites.rows):
            total += F.T @ (residual[part] / self._d[part, None])
        return total

    def _remainder(self, rows: np.ndarray) -> np.ndarray:
        kernel = self.prior.kernel
        inputs = None if kernel.has_uniform_remainder else kernel.inputs(rows)
        return np.broadcast_to(np.asarray(remainder(kernel, inputs)), len(rows))

    def _share(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return which rows are observed, and rho at each row, 0 if it is not."""
        position = self._position[rows]
        seen = position >= 0
        share = np.zeros(len(rows))
        d = self._d[position[seen]]
        share[seen] = 1 - np.asarray(self.sites.variance)[position[seen]] / d
        return seen, share


def _rank(kernel: Kernel) -> int:
    if kernel.rank is None:
        raise ValueError(
            f"The low-rank solver needs a kernel with features. Got {type(kernel).__name__}, which has none. "
            "Use `solver='dense'`."
        )
    return kernel.rank


def _feature_chunks(kernel: Kernel, rows: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
    for start in range(0, len(rows), _CHUNK):
        part = slice(start, start + _CHUNK)
        yield part, np.asarray(kernel.features(kernel.inputs(rows[part])))
