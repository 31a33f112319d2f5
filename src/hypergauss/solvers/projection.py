r"""Inducing variables: few numbers c ~ N(0, W) that stand for a whole latent function.

Whatever they are, vertices' values or spectral coefficients, the latent function splits into what they explain and an
independent rest,

    f = F c + g,    F W F' = Q = K_fc K_cc^-1 K_cf,    Var g = diag(K - Q),

so that a sparse model is a low-rank one, with the kernel Q, and variance added where the likelihood looks. A solver
asks for these three arrays (`Inducing.project`), and hands back slopes in them (`Inducing.pull_back`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple, Self

import numpy as np
from scipy.linalg import solve_triangular

from hypergauss import _checks, parameters
from hypergauss.exceptions import NumericalError
from hypergauss.kernels import Kernel
from hypergauss.kernels.base import Inputs, Structure
from hypergauss.parameters import Number, Parametrised
from hypergauss.spectrum import EigenSpectrum

#: Added to the covariance of inducing vertices, relative to its mean variance, before it is factorised.
_JITTER = 1e-10


class Projected(NamedTuple):
    """What hyperparameters set of f = F c + g at n vertices.

    Attributes
    ----------
    features : array, shape (n, J)
        F.
    weights : array, shape (J,)
        The diagonal of W, the prior variances of c.
    unexplained : array, shape (n,)
        The diagonal of K - Q, not below zero.
    """

    features: np.ndarray
    weights: np.ndarray
    unexplained: np.ndarray


class Inducing(Parametrised, ABC):
    """Which inducing variables to use."""

    @abstractmethod
    def check(self, kernel: Kernel) -> None:
        """Refuse a kernel that these variables do not suit."""

    @abstractmethod
    def features(self, kernel: Kernel, inputs: Inputs) -> np.ndarray:
        """Return F at gathered inputs of the kernel, shape (n, J)."""

    @abstractmethod
    def weights(self, kernel: Kernel) -> np.ndarray:
        """Return the prior variances W of the inducing variables, shape (J,)."""

    def project(self, kernel: Kernel, inputs: Inputs) -> Projected:
        """Return features, weights and what they leave unexplained at gathered inputs of the kernel."""
        F, W = self.features(kernel, inputs), self.weights(kernel)
        return Projected(F, W, np.maximum(kernel.variances(inputs) - F**2 @ W, 0.0))

    def pull_back(
        self,
        kernel: Kernel,
        inputs: Inputs,
        in_features: np.ndarray,
        in_weights: np.ndarray,
        in_unexplained: np.ndarray,
    ) -> np.ndarray:
        r"""Return the gradient, shape (p,), of a number that has the given slopes in `project`'s three arrays.

        The unexplained variance v - F^2 W passes its slopes e on: e to v, -2 e F W to F, and -e'F^2 to W; nothing
        where rounding would have taken it below zero.

        Parameters
        ----------
        kernel, inputs
            Those that were projected.
        in_features, in_weights, in_unexplained : arrays, shape (n, J), (J,) and (n,)
            Slopes.
        """
        F, W = self.features(kernel, inputs), self.weights(kernel)
        e = np.where(kernel.variances(inputs) > F**2 @ W, in_unexplained, 0.0)
        of_features = self.pull_back_features(kernel, inputs, in_features - 2 * e[:, None] * F * W, F)
        of_weights = self.pull_back_weights(kernel, in_weights - e @ F**2)
        return of_features + of_weights + kernel.pull_back_variances(inputs, e)

    @abstractmethod
    def pull_back_features(
        self, kernel: Kernel, inputs: Inputs, adjoint: np.ndarray, features: np.ndarray
    ) -> np.ndarray:
        """Return the gradient of a number with slopes ``adjoint`` in the ``features`` there."""

    @abstractmethod
    def pull_back_weights(self, kernel: Kernel, adjoint: np.ndarray) -> np.ndarray:
        """Return the gradient of a number with slopes ``adjoint`` in the weights."""


class InducingVertices(Inducing):
    """The values u = f(Z) at J vertices, whitened: c = L^-1 u with K_ZZ = L L', so F = K_fZ L'^-1 and W = I.

    Parameters
    ----------
    rows : array of int, shape (J,)
        Z, distinct vertices by index.
    inputs
        The kernel's inputs there; `InducingVertices.of` gathers them.
    """

    def __init__(self, rows: np.ndarray, inputs: Inputs) -> None:
        self.rows = rows
        self.inputs = inputs

    @classmethod
    def of(cls, kernel: Kernel, rows: np.ndarray) -> InducingVertices:
        """Gather the kernel's inputs at the inducing vertices, given by distinct indices."""
        return cls(rows, kernel.inputs(rows))

    def check(self, kernel: Kernel) -> None:  # noqa: D102
        if kernel.num_vertices <= int(self.rows.max()):
            raise ValueError(f"Inducing vertices must lie in 0..{kernel.num_vertices - 1}. Got {self.rows.max()}.")

    def features(self, kernel: Kernel, inputs: Inputs) -> np.ndarray:  # noqa: D102
        return solve_triangular(self._factor(kernel), kernel.cross(self.inputs, inputs), lower=True).T

    def weights(self, kernel: Kernel) -> np.ndarray:  # noqa: D102, ARG002
        return np.ones(len(self.rows))

    def pull_back_features(
        self, kernel: Kernel, inputs: Inputs, adjoint: np.ndarray, features: np.ndarray
    ) -> np.ndarray:
        r"""Return the gradient through F' = L^-1 K_Zf and L L' = K_ZZ, by hand.

        A slope E in F is a slope C = L'^-1 E' in K_Zf, and -C F in L. Through the factorisation (Murray, 2016), with
        Phi the lower triangle with its diagonal halved, that is L'^-1 Phi(-E'F) L^-1 in K_ZZ, made symmetric.
        """
        factor = self._factor(kernel)
        in_cross = solve_triangular(factor, adjoint.T, lower=True, trans="T")
        phi = np.tril(-(adjoint.T @ features))
        phi[np.diag_indices_from(phi)] /= 2
        half = solve_triangular(factor, phi, lower=True, trans="T")
        in_own = solve_triangular(factor, half.T, lower=True, trans="T")
        in_own = (in_own + in_own.T) / 2
        in_own[np.diag_indices_from(in_own)] += _JITTER * np.trace(in_own) / len(in_own)
        across = kernel.pull_back(self.inputs, inputs, in_cross)
        return across + kernel.pull_back(self.inputs, self.inputs, in_own)

    def pull_back_weights(self, kernel: Kernel, adjoint: np.ndarray) -> np.ndarray:  # noqa: D102, ARG002
        return np.zeros(len(parameters.pack(kernel)))

    def _factor(self, kernel: Kernel) -> np.ndarray:
        """Return L."""
        K = kernel.cross(self.inputs, self.inputs)
        K[np.diag_indices_from(K)] += _JITTER * K.diagonal().mean()
        try:
            return np.linalg.cholesky(K)
        except np.linalg.LinAlgError as error:
            raise NumericalError(
                "The covariance of the inducing vertices cannot be factorised. Likely causes: hyperparameters at the "
                "end of their range, or inducing vertices that are nearly copies of one another. Use fewer of them, or "
                "spectral features."
            ) from error


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

    def __init__(self, num_features: int) -> None:
        self.num_features = _checks.count("num_features", num_features)

    def check(self, kernel: Kernel) -> None:  # noqa: D102
        if not isinstance(kernel.basis, EigenSpectrum):
            raise ValueError(
                f"Spectral features need a kernel on one spectrum, with eigenvectors. Got {type(kernel).__name__} with "
                "features of several kinds or none. Use inducing vertices."
            )
        if self.num_features > kernel.basis.rank:
            raise ValueError(
                f"`num_features` must be at most the rank of the spectrum, {kernel.basis.rank}. "
                f"Got {self.num_features}."
            )

    def features(self, kernel: Kernel, inputs: Inputs) -> np.ndarray:  # noqa: D102
        return kernel.features(inputs)[:, : self.num_features]

    def weights(self, kernel: Kernel) -> np.ndarray:  # noqa: D102
        weights, remainder = kernel.structure(None)
        return weights[: self.num_features] + remainder

    def pull_back_features(
        self, kernel: Kernel, inputs: Inputs, adjoint: np.ndarray, features: np.ndarray
    ) -> np.ndarray:
        """Return zeros: no hyperparameter touches an eigenvector."""
        del inputs, adjoint, features
        return np.zeros(len(parameters.pack(kernel)))

    def pull_back_weights(self, kernel: Kernel, adjoint: np.ndarray) -> np.ndarray:  # noqa: D102
        slopes = Structure(np.zeros(kernel.rank or 0), np.asarray(adjoint.sum()))
        slopes.weights[: self.num_features] = adjoint
        return kernel.pull_back_structure(slopes, None)


class Projection(Kernel):
    """Q = F W F', what inducing variables explain of a kernel."""

    def __init__(self, kernel: Kernel, inducing: Inducing) -> None:
        self.kernel = kernel
        self.inducing = inducing

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
    def features_move(self) -> bool:  # noqa: D102
        return True

    @property
    def level_variance(self) -> Number:  # noqa: D102
        return self.kernel.level_variance

    def own_shares(self, rows: np.ndarray) -> np.ndarray:  # noqa: D102
        return self.kernel.own_shares(rows)

    def varying_variance(self) -> float:  # noqa: D102
        return self.kernel.varying_variance()

    def inputs(self, rows: np.ndarray) -> Inputs:  # noqa: D102
        return self.kernel.inputs(rows)

    def features(self, inputs: Inputs) -> np.ndarray:  # noqa: D102
        return self.inducing.features(self.kernel, inputs)

    def structure(self, inputs: Inputs) -> Structure:  # noqa: D102, ARG002
        return Structure(self.inducing.weights(self.kernel), np.zeros(()))

    def cross(self, left: Inputs, right: Inputs) -> np.ndarray:  # noqa: D102
        return (self.features(left) * self.weights()) @ self.features(right).T

    def variances(self, inputs: Inputs) -> np.ndarray:  # noqa: D102
        return self.features(inputs) ** 2 @ self.weights()

    def unexplained(self, inputs: Inputs) -> np.ndarray:
        """Return the diagonal of K - Q, which rounding must not take below zero, shape (n,)."""
        return self.inducing.project(self.kernel, inputs).unexplained

    def pull_back(self, left: Inputs, right: Inputs, adjoint: np.ndarray) -> np.ndarray:
        """Return the gradient through the features of either side, which hyperparameters may move, and the weights."""
        F, G, W = self.features(left), self.features(right), self.weights()
        of_left = self.inducing.pull_back_features(self.kernel, left, adjoint @ (G * W), F)
        of_right = self.inducing.pull_back_features(self.kernel, right, adjoint.T @ (F * W), G)
        of_weights = self.inducing.pull_back_weights(self.kernel, ((adjoint.T @ F) * G).sum(axis=0))
        return of_left + of_right + of_weights

    def pull_back_variances(self, inputs: Inputs, adjoint: np.ndarray) -> np.ndarray:  # noqa: D102
        F, W = self.features(inputs), self.weights()
        of_features = self.inducing.pull_back_features(self.kernel, inputs, 2 * adjoint[:, None] * F * W, F)
        return of_features + self.inducing.pull_back_weights(self.kernel, adjoint @ F**2)

    def prior_draws(self, rows: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
        """Draw the inducing variables, and what they explain."""
        root = np.sqrt(self.weights())[:, None]
        return self.features(self.inputs(rows)) @ (root * rng.standard_normal((len(root), size)))

    def scaled(self, factor: float) -> Self:  # noqa: D102
        return parameters.with_value(self, ("kernel",), self.kernel.scaled(factor))
