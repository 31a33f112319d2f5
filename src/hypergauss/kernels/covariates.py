"""Kernels on what is known of each vertex besides the hypergraph: columns of numbers, one row a vertex."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hypergauss import _checks
from hypergauss._checks import Matrix, Values
from hypergauss.hypergraph.frozen import freeze
from hypergauss.kernels.base import Inputs, Kernel, Structure
from hypergauss.parameters import gather, positive


class SquaredExponential(Kernel):
    r"""k(x, x') = variance * exp(-1/2 sum over j of ((x_j - x'_j) / lengthscale_j)^2).

    Parameters
    ----------
    covariates : array, shape (N, p)
        One row a vertex, in the order of the hypergraph's vertices.
    lengthscale : float or array of shape (p,), default 1.0
        One for each column, or one shared by all.
    variance : float, default 1.0
        Prior variance.
    fixed : sequence of str
        Hyperparameters that learning leaves alone, from "lengthscale", "variance".
    """

    lengthscale: np.ndarray = positive(1e-3, 1e4)
    variance: np.ndarray = positive()

    def __init__(
        self,
        covariates: Matrix,
        lengthscale: float | Sequence[float] | np.ndarray = 1.0,
        *,
        variance: float = 1.0,
        fixed: str | Sequence[str] = (),
    ) -> None:
        self.covariates = check_covariates(covariates)
        self.lengthscale = _shared_or_by_column("lengthscale", lengthscale, self.covariates.shape[1])
        self.variance = np.asarray(_checks.positive("variance", variance))
        self.fixed = self.check_fixed(fixed)

    @property
    def num_vertices(self) -> int:  # noqa: D102
        return int(self.covariates.shape[0])

    def inputs(self, rows: np.ndarray) -> np.ndarray:
        """Return rows relative to the column means: distances are the same, and keep their digits far from zero."""
        return self.covariates[rows] - self.covariates.mean(axis=0)

    def cross(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:  # noqa: D102
        return self.variance * np.exp(-_squares(left / self.lengthscale, right / self.lengthscale) / 2)

    def variances(self, inputs: np.ndarray) -> np.ndarray:  # noqa: D102
        return np.full(len(inputs), self.variance)

    def pull_back(self, left: np.ndarray, right: np.ndarray, adjoint: np.ndarray) -> np.ndarray:
        """Return the gradient by hand: with S = adjoint o K, that in lengthscale_j is the sum of S o d_j^2 / l_j^3.

        d_j^2 are squared distances in column j, and (x - z)^2 = x^2 - 2 x z + z^2 makes three products of them.
        """
        slopes = adjoint * self.cross(left, right)
        by_column = (
            slopes.sum(axis=1) @ left**2 + slopes.sum(axis=0) @ right**2 - 2 * ((slopes @ right) * left).sum(axis=0)
        )
        of_lengthscale = by_column / self.lengthscale**3
        if self.lengthscale.ndim == 0:
            of_lengthscale = of_lengthscale.sum()
        return gather(self, {"lengthscale": of_lengthscale, "variance": slopes.sum() / self.variance})


class Linear(Kernel):
    r"""k(x, x') = sum over j of variance_j x_j x'_j: the prior of a linear model, of rank p.

    Parameters
    ----------
    covariates : array, shape (N, p)
        One row a vertex.
    variance : float or array of shape (p,), default 1.0
        Prior variance of the coefficients, one for each column or one shared by all.
    fixed : sequence of str
        May name "variance".
    """

    variance: np.ndarray = positive()

    def __init__(
        self,
        covariates: Matrix,
        variance: float | Sequence[float] | np.ndarray = 1.0,
        *,
        fixed: str | Sequence[str] = (),
    ) -> None:
        self.covariates = check_covariates(covariates)
        self.variance = _shared_or_by_column("variance", variance, self.covariates.shape[1])
        self.fixed = self.check_fixed(fixed)

    @property
    def num_vertices(self) -> int:  # noqa: D102
        return int(self.covariates.shape[0])

    @property
    def rank(self) -> int:  # noqa: D102
        return int(self.covariates.shape[1])

    @property
    def has_uniform_remainder(self) -> bool:  # noqa: D102
        return True

    @property
    def basis(self) -> object:  # noqa: D102
        return self.covariates

    def inputs(self, rows: np.ndarray) -> np.ndarray:  # noqa: D102
        return self.covariates[rows]

    def features(self, inputs: np.ndarray) -> np.ndarray:  # noqa: D102
        return inputs

    def structure(self, inputs: Inputs) -> Structure:  # noqa: D102, ARG002
        return Structure(np.broadcast_to(self.variance, (self.covariates.shape[1],)), np.zeros(()))

    def cross(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:  # noqa: D102
        return (left * self.variance) @ right.T

    def variances(self, inputs: np.ndarray) -> np.ndarray:  # noqa: D102
        return inputs**2 @ self.weights()

    def same_vertex(self, left: np.ndarray, right: np.ndarray) -> float:  # noqa: D102, ARG002
        return 0.0

    def prior_draws(self, rows: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
        """Draw coefficients, then f = X w."""
        roots = np.sqrt(self.weights())
        return self.covariates[rows] @ (roots[:, None] * rng.standard_normal((len(roots), size)))


def check_covariates(covariates: Matrix) -> np.ndarray:
    """Return covariates as a frozen float array of shape (N, p)."""
    if hasattr(covariates, "toarray"):  # SciPy's sparse matrices
        covariates = covariates.toarray()
    array = _checks.finite_array("covariates", covariates, missing="Fill in missing covariates first.")
    array = array[:, None] if array.ndim == 1 else array
    if array.ndim != 2 or array.shape[1] == 0:
        raise ValueError(f"`covariates` must have one row a vertex and at least one column. Got shape {array.shape}.")
    return freeze(np.array(array))


def _shared_or_by_column(name: str, value: Values, columns: int) -> np.ndarray:
    """Return one positive number, or one for each column."""
    array = _checks.finite_array(name, value, missing="Pass positive numbers.")
    if array.shape not in {(), (columns,)} or (array <= 0).any():
        raise ValueError(f"`{name}` must be one positive number, or one for each of {columns} columns. Got {value!r}.")
    return array


def _squares(x: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Return |x - z|^2 between all pairs through one matrix product; rounding may take it a hair below zero."""
    squares = (x**2).sum(axis=1)[:, None] + (z**2).sum(axis=1)[None, :] - 2 * x @ z.T
    # Complex numbers have no order: a derivative is taken of the square as it is.
    return squares if np.iscomplexobj(squares) else np.maximum(squares, 0.0)
