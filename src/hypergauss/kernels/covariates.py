"""Kernels on what is known of each vertex besides the hypergraph: columns of numbers, one row a vertex."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from hypergauss import _checks
from hypergauss.hypergraph.frozen import freeze
from hypergauss.kernels.base import Kernel, scale_field
from hypergauss.parameters import as_array, check_fixed, positive


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

    covariates: np.ndarray
    fixed: tuple[str, ...] = eqx.field(static=True)
    lengthscale: Array = positive(1e-3, 1e4)
    variance: Array = positive()

    def __init__(
        self,
        covariates: Any,
        lengthscale: float | Sequence[float] | np.ndarray | Array = 1.0,
        *,
        variance: float = 1.0,
        fixed: Sequence[str] = (),
    ) -> None:
        self.covariates = check_covariates(covariates)
        self.lengthscale = _shared_or_by_column("lengthscale", lengthscale, self.covariates.shape[1])
        self.variance = as_array(_checks.positive("variance", variance))
        self.fixed = check_fixed(fixed, ("lengthscale", "variance"))

    @property
    def num_vertices(self) -> int:  # noqa: D102
        return int(self.covariates.shape[0])

    def inputs(self, rows: np.ndarray) -> np.ndarray:
        """Return rows relative to the column means: distances are the same, and keep their digits far from zero."""
        return self.covariates[rows] - self.covariates.mean(axis=0)

    def cross(self, left: Any, right: Any) -> Float[Array, "n m"]:  # noqa: D102
        x, z = left / self.lengthscale, right / self.lengthscale
        # |x - z|^2 through one matrix product; rounding may take it a hair below zero.
        squares = (x**2).sum(1)[:, None] + (z**2).sum(1)[None, :] - 2 * x @ z.T
        return self.variance * jnp.exp(-jnp.maximum(squares, 0.0) / 2)

    def variances(self, inputs: Any) -> Float[Array, " n"]:  # noqa: D102
        return jnp.full(inputs.shape[0], self.variance)

    def scaled(self, factor: float) -> Self:  # noqa: D102
        return scale_field(self, factor)


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

    covariates: np.ndarray
    fixed: tuple[str, ...] = eqx.field(static=True)
    variance: Array = positive()

    def __init__(
        self,
        covariates: Any,
        variance: float | Sequence[float] | np.ndarray | Array = 1.0,
        *,
        fixed: Sequence[str] = (),
    ) -> None:
        self.covariates = check_covariates(covariates)
        self.variance = _shared_or_by_column("variance", variance, self.covariates.shape[1])
        self.fixed = check_fixed(fixed, ("variance",))

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
    def has_positive_weights(self) -> bool:  # noqa: D102
        return True

    def inputs(self, rows: np.ndarray) -> np.ndarray:  # noqa: D102
        return self.covariates[rows]

    def features(self, inputs: Any) -> Any:  # noqa: D102
        return inputs

    def weights(self) -> Float[Array, " r"]:  # noqa: D102
        return jnp.broadcast_to(self.variance, (self.covariates.shape[1],))

    def remainder(self, inputs: Any) -> Float[Array, ""]:  # noqa: D102, ARG002
        return jnp.zeros(())

    def cross(self, left: Any, right: Any) -> Float[Array, "n m"]:  # noqa: D102
        return (left * self.weights()) @ right.T

    def variances(self, inputs: Any) -> Float[Array, " n"]:  # noqa: D102
        return jnp.asarray(inputs) ** 2 @ self.weights()

    def scaled(self, factor: float) -> Self:  # noqa: D102
        return scale_field(self, factor)

    def prior_draws(self, rows: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
        """Draw coefficients, then f = X w."""
        roots = np.sqrt(np.asarray(self.weights()))
        return self.covariates[rows] @ (roots[:, None] * rng.standard_normal((len(roots), size)))


def check_covariates(covariates: Any) -> np.ndarray:
    """Return covariates as a frozen float array of shape (N, p)."""
    if hasattr(covariates, "toarray"):  # SciPy's sparse matrices
        covariates = covariates.toarray()
    array = _checks.finite_array("covariates", covariates, missing="Fill in missing covariates first.")
    array = array[:, None] if array.ndim == 1 else array
    if array.ndim != 2 or array.shape[1] == 0:
        raise ValueError(f"`covariates` must have one row a vertex and at least one column. Got shape {array.shape}.")
    return freeze(np.array(array))


def _shared_or_by_column(name: str, value: Any, columns: int) -> Array:
    """Return one positive number, or one for each column."""
    array = _checks.finite_array(name, value, missing="Pass positive numbers.")
    if array.shape not in {(), (columns,)} or (array <= 0).any():
        raise ValueError(f"`{name}` must be one positive number, or one for each of {columns} columns. Got {value!r}.")
    return as_array(array)
