r"""Inducing variables: few numbers c ~ N(0, W) that stand for a whole latent function.

Whatever they are, vertices' values or spectral coefficients, the latent function splits into what they explain and an
independent rest,

    f = F c + g,    F W F' = Q = K_fc K_cc^-1 K_cf,    Var g = diag(K - Q),

so that a sparse model is a low-rank one, with the kernel Q, and variance added where the likelihood looks.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Float

from hypergauss import _checks
from hypergauss.kernels import Kernel
from hypergauss.spectrum import Spectrum

#: Added to the covariance of inducing vertices, relative to its mean variance, before it is factorised.
_JITTER = 1e-10


class Inducing(eqx.Module):
    """Which inducing variables to use."""

    @abstractmethod
    def check(self, kernel: Kernel) -> None:
        """Refuse a kernel that these variables do not suit."""

    @abstractmethod
    def features(self, kernel: Kernel, inputs: Any) -> Float[Array, "n J"]:
        """Return F at gathered inputs of the kernel."""

    @abstractmethod
    def weights(self, kernel: Kernel) -> Float[Array, " J"]:
        """Return the prior variances W of the inducing variables."""

    def project(self, kernel: Kernel) -> Projection:
        """Return the kernel Q that the inducing variables explain."""
        return Projection(kernel, self)


class InducingVertices(Inducing):
    """The values u = f(Z) at J vertices, whitened: c = L^-1 u with K_ZZ = L L', so F = K_fZ L'^-1 and W = I."""

    rows: np.ndarray
    inputs: Any

    @classmethod
    def of(cls, kernel: Kernel, rows: np.ndarray) -> InducingVertices:
        """Gather the kernel's inputs at the inducing vertices, given by distinct indices."""
        return cls(rows, kernel.inputs(rows))

    def check(self, kernel: Kernel) -> None:  # noqa: D102
        if kernel.num_vertices <= int(self.rows.max()):
            raise ValueError(f"Inducing vertices must lie in 0..{kernel.num_vertices - 1}. Got {self.rows.max()}.")

    def features(self, kernel: Kernel, inputs: Any) -> Float[Array, "n J"]:  # noqa: D102
        K = kernel.cross(self.inputs, self.inputs)
        factor = jnp.linalg.cholesky(K + _JITTER * jnp.mean(jnp.diagonal(K)) * jnp.eye(K.shape[0]))
        return solve_triangular(factor, kernel.cross(self.inputs, inputs), lower=True).T

    def weights(self, kernel: Kernel) -> Float[Array, " J"]:  # noqa: D102, ARG002
        return jnp.ones(len(self.rows))


class SpectralFeatures(Inducing):
    """The coefficients c = U_J' f on the J leading eigenvectors: F = U_J and W = phi(l), a diagonal prior.

    Parameters
    ----------
    num_features : int
        J, how many eigenvectors.

    Notes
    -----
    No factorisation of a covariance is needed, F does not depend on hyperparameters, and among all J linear functions
    of f these explain most of the prior variance. They suit a kernel, or a sum of kernels, on one spectrum.
    """

    num_features: int = eqx.field(static=True)

    def __init__(self, num_features: int) -> None:
        self.num_features = _checks.count("num_features", num_features)

    def check(self, kernel: Kernel) -> None:  # noqa: D102
        if not isinstance(kernel.basis, Spectrum):
            raise ValueError(
                f"Spectral features need a kernel on one spectrum. Got {type(kernel).__name__} with features of "
                "several kinds. Use inducing vertices."
            )
        if self.num_features > kernel.basis.rank:
            raise ValueError(
                f"`num_features` must be at most the rank of the spectrum, {kernel.basis.rank}. "
                f"Got {self.num_features}."
            )

    def features(self, kernel: Kernel, inputs: Any) -> Float[Array, "n J"]:  # noqa: D102
        return jnp.asarray(kernel.features(inputs))[:, : self.num_features]

    def weights(self, kernel: Kernel) -> Float[Array, " J"]:  # noqa: D102
        return kernel.weights()[: self.num_features] + kernel.remainder(None)


class Projection(Kernel):
    """Q = F W F', what inducing variables explain of a kernel."""

    kernel: Kernel
    inducing: Inducing

    @property
    def num_vertices(self) -> int:  # noqa: D102
        return self.kernel.num_vertices

    @property
    def rank(self) -> int:  # noqa: D102
        return len(self.weights())

    @property
    def has_uniform_remainder(self) -> bool:  # noqa: D102
        return True

    @property
    def has_positive_weights(self) -> bool:  # noqa: D102
        return True

    def inputs(self, rows: np.ndarray) -> Any:  # noqa: D102
        return self.kernel.inputs(rows)

    def features(self, inputs: Any) -> Float[Array, "n J"]:  # noqa: D102
        return self.inducing.features(self.kernel, inputs)

    def weights(self) -> Float[Array, " J"]:  # noqa: D102
        return self.inducing.weights(self.kernel)

    def remainder(self, inputs: Any) -> Float[Array, ""]:  # noqa: D102, ARG002
        return jnp.zeros(())

    def cross(self, left: Any, right: Any) -> Float[Array, "n m"]:  # noqa: D102
        return (self.features(left) * self.weights()) @ self.features(right).T

    def variances(self, inputs: Any) -> Float[Array, " n"]:  # noqa: D102
        return self.features(inputs) ** 2 @ self.weights()

    def unexplained(self, inputs: Any) -> Float[Array, " n"]:
        """Return the diagonal of K - Q, which rounding must not take below zero."""
        return jnp.maximum(self.kernel.variances(inputs) - self.variances(inputs), 0.0)

    def prior_draws(self, rows: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
        """Draw the inducing variables, and what they explain."""
        root = np.sqrt(np.asarray(self.weights()))[:, None]
        return np.asarray(self.features(self.inputs(rows))) @ (root * rng.standard_normal((self.rank, size)))

    def scaled(self, factor: float) -> Self:  # noqa: D102
        return eqx.tree_at(lambda q: q.kernel, self, self.kernel.scaled(factor))
