r"""Where to begin: the log evidence of the leading eigenvectors and a constant background, in closed form.

With K ~ b I + Q D Q' (`spectrum.leading`) and one noise variance s, C = d I + Q_t D Q_t' at the n sites, d = s + b, and

    log det C = n log d + log det(I + D^1/2 G D^1/2 / d),    G = Q_t' Q_t,

need only G, Q_t' y, Q_t' 1 and sums. Noise and background come only as the sum d, so nothing tells them apart: a
log-normal prior on the share of background does.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Float
from scipy.optimize import minimize

from hypergauss import parameters
from hypergauss.solvers.iterative.covariance import Skeleton
from hypergauss.solvers.iterative.system import Workspace
from hypergauss.learning.priors import Matched, log_prior
from hypergauss.solvers.sites import Observations

#: The share of background in d that is expected, and the spread of its logarithm.
_SHARE, _SPREAD = 0.03, 1.0
#: Keeps roots of gains differentiable where they vanish.
_LEAST_GAIN = 1e-12


class LeadingEvidence(NamedTuple):
    """The log evidence of a Gaussian model whose kernel is taken for its leading eigenvectors and a background."""

    template: Any
    skeleton: Skeleton
    priors: Matched
    ritz_values: np.ndarray
    gram: np.ndarray  # G, shape (k, k)
    along: np.ndarray  # Q_t' [y, 1], shape (k, L + 1)
    products: np.ndarray  # [y, 1]' [y, 1], shape (L + 1, L + 1)

    @classmethod
    def of(cls, model: Any, observations: Observations, workspace: Workspace, priors: Matched) -> Self | None:
        """Gather the sums, or return None where they are not enough.

        That is where sites have noise of their own, where there are no eigenvectors, or where no term of the kernel is
        a plain filter of the Laplacian that these belong to.
        """
        workspace.find_subspace()
        subspace = workspace.subspace
        is_plain = any(
            is_first and weights is None for _, weights, _, is_first in workspace.structure.skeleton.spectral
        )
        if subspace is None or not observations.is_uniform or not is_plain:
            return None
        Q = workspace.operator.array(subspace.vectors, observations.rows).astype(np.float64)
        data = np.hstack([observations.mean, np.ones((len(observations.rows), 1))])
        skeleton = workspace.structure.skeleton
        return cls(model, skeleton, priors, subspace.values, Q.T @ Q, Q.T @ data, data.T @ data)

    def highest(self, start: np.ndarray) -> np.ndarray:
        """Return the coordinates at its top, found from a start."""
        limits = parameters.bounds(self.template)

        def loss(theta: np.ndarray) -> tuple[float, np.ndarray]:
            value, gradient = _value_and_gradient(jnp.asarray(theta), self)
            return -float(value) / self._size, -np.asarray(gradient) / self._size

        # The prior on the share is a few nats of many thousand: the search must not end before it is felt.
        tight = {"ftol": 1e-14, "gtol": 1e-9}
        return minimize(loss, start, jac=True, method="L-BFGS-B", bounds=limits, options=tight).x

    @property
    def _size(self) -> Any:
        """How many sites there are."""
        return self.products[-1, -1]

    def log_evidence(self, theta: Array) -> Float[Array, ""]:
        """Return the log evidence plus log priors at coordinates theta."""
        model = parameters.unpack(self.template, theta)
        background, gains = self.skeleton.deflated(model.kernel, jnp.asarray(self.ritz_values))
        d = model.noise_variance + background
        centring = jnp.vstack([jnp.eye(len(model.mean)), -model.mean])  # [y, 1] times this is y - mean
        squares = jnp.diagonal(centring.T @ self.products @ centring).sum()
        root = jnp.sqrt(gains + _LEAST_GAIN)
        factor = jnp.linalg.cholesky(jnp.eye(len(root)) + root[:, None] * self.gram * root / d)
        inside = solve_triangular(factor, root[:, None] * (self.along @ centring), lower=True) / d
        n, outputs = self._size, len(model.mean)
        log_det = n * jnp.log(d) + 2 * jnp.log(jnp.diagonal(factor)).sum()
        quadratic = squares / d - (inside**2).sum()
        value = -0.5 * (quadratic + outputs * (log_det + n * jnp.log(2 * jnp.pi)))
        of_share = -0.5 * (jnp.log(background / d / _SHARE) / _SPREAD) ** 2
        return value + of_share + log_prior(model, self.priors)


@eqx.filter_jit
def _value_and_gradient(theta: Array, evidence: LeadingEvidence) -> tuple[Array, Array]:
    return jax.value_and_grad(evidence.log_evidence)(theta)
