"""A kernel inside scikit-learn's `GaussianProcessRegressor` and `GaussianProcessClassifier`."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Hyperparameter
from sklearn.gaussian_process.kernels import Kernel as SklearnKernel

from hypergauss import parameters
from hypergauss._checks import Values
from hypergauss.interop.gathering import as_vertices, check_kernel
from hypergauss.kernels import Kernel


def to_sklearn(kernel: Kernel) -> HypergraphKernel:
    """Return the kernel as scikit-learn's Gaussian processes take it; X is one column of vertex numbers.

    Its free hyperparameters are learned there with exact gradients, in the coordinates in which hypergauss learns them.
    Sums and products with scikit-learn's kernels work as usual: add a ``WhiteKernel`` for noise. After fitting,
    ``gp.kernel_.kernel`` (or ``gp.kernel_.k1.kernel``) is our kernel with what was learned.

    Examples
    --------
    >>> from sklearn.gaussian_process import GaussianProcessRegressor
    >>> from hypergauss import Hypergraph, Spectrum, kernels
    >>> H = Hypergraph.from_edges([["a", "b", "c"], ["c", "d"]])
    >>> kernel = to_sklearn(kernels.Matern(Spectrum.of(H)))
    >>> gp = GaussianProcessRegressor(kernel, alpha=0.1, optimizer=None).fit(H.vertex_rows(["a"])[:, None], [1.0])
    >>> gp.predict(H.vertex_rows(["b", "d"])[:, None]).round(3)
    array([0.764, 0.617])
    """
    return HypergraphKernel(check_kernel(kernel))


class HypergraphKernel(SklearnKernel):
    """A kernel of hypergauss, seen from scikit-learn.

    Parameters
    ----------
    kernel : Kernel
        On the vertices of a hypergraph.
    """

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel

    @property
    def hyperparameters(self) -> list[Hyperparameter]:
        """The free hyperparameters, by name."""
        limits = self.bounds
        found, start = [], 0
        for slot in parameters.slots(self.kernel):
            found.append(Hyperparameter(slot.name, "numeric", np.exp(limits[start : start + slot.size]), slot.size))
            start += slot.size
        return found

    @property
    def theta(self) -> np.ndarray:
        """The coordinates of the free hyperparameters."""
        return parameters.pack(self.kernel)

    @theta.setter
    def theta(self, theta: np.ndarray) -> None:
        self.kernel = parameters.unpack(self.kernel, np.asarray(theta, dtype=float))

    @property
    def n_dims(self) -> int:
        """The number of coordinates."""
        return len(self.theta)

    @property
    def bounds(self) -> np.ndarray:
        """The range of each coordinate, shape (p, 2)."""
        return parameters.bounds(self.kernel)

    def __call__(self, X: Values, Y: Values | None = None, eval_gradient: bool = False) -> Any:
        """Return the covariances, and their gradient in theta if asked for."""
        rows = as_vertices(X, self.kernel.num_vertices)
        columns = rows if Y is None else as_vertices(Y, self.kernel.num_vertices)
        left, right = self.kernel.inputs(rows), self.kernel.inputs(columns)
        K = self.kernel.cross(left, right)
        if not eval_gradient:
            return K
        gradient = np.zeros((*K.shape, self.n_dims))
        for j, tangent in enumerate(parameters.tangents(self.kernel, lambda kernel: kernel.cross(left, right))):
            gradient[:, :, j] = tangent
        return K, gradient

    def diag(self, X: Values) -> np.ndarray:
        """Return the prior variances."""
        return self.kernel.diagonal(as_vertices(X, self.kernel.num_vertices))

    def is_stationary(self) -> bool:
        """Return False: vertices have no distance."""
        return False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, HypergraphKernel) and self.kernel is other.kernel

    def __hash__(self) -> int:
        return id(self.kernel)

    def __repr__(self) -> str:
        return repr(self.kernel)
