r"""How the log evidence curves: the average information, from a solve for each hyperparameter.

With q_j = (dC / d theta_j) alpha, alpha = C^-1 (z - mean),

    I_ij = q_i' C^-1 q_j / 2

is the mean of the observed and the expected information, but for terms in second derivatives of C that vanish on
average (Gilmour, Thompson and Cullis, 1995). The traces of both cancel, so that no probe is needed. Next to theta the
loss s' I s / 2 is that of a change of C by sum of s_j dC_j. Further off C(theta + s) - C(theta) is not linear in s, but
it is known; so the loss is taken in terms of

    b_j = r_j' (C(theta + s) - C(theta)) alpha,    r_j = C^-1 q_j,    loss = b' I^-1 b / 8,

which is s' I s / 2 to second order. What of the change lies outside the span of the dC_j is left out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg
from jaxtyping import Array, Float

from hypergauss.solvers.iterative.covariance import Coefficients, Forms
from hypergauss.solvers.iterative.system import System
from hypergauss.learning.trust_region import LocalModel

#: Relative residual of its systems: a curvature that is a few percent off leads to the same top.
_SOLVED = 0.1
#: Eigenvalues of the information are at least this share of the largest.
_LEAST_SHARE = 1e-10


class Numbers(NamedTuple):
    """All that hyperparameters set: K's numbers, the noise of n sites, and the mean; or their derivatives."""

    kernel: Coefficients
    noise: Float[Array, " n"]
    mean: Float[Array, " L"]


class Curvature(NamedTuple):
    """What b and I are made of; every array but the last has a first axis for the p hyperparameters."""

    kernel: Forms
    noise: np.ndarray  # (p, n)
    mean: np.ndarray  # (p, L)
    half_inverse: np.ndarray  # R with R R' = I^-1, shape (p, p)

    def loss(self, here: Numbers, there: Numbers) -> Float[Array, ""]:
        """Return b' I^-1 b / 8 for the move from one point to another."""
        moved = jax.tree.map(lambda new, old: new - old, there, here)
        by_kernel = jax.vmap(moved.kernel.meet)(self.kernel)
        b = by_kernel + self.noise @ moved.noise + self.mean @ moved.mean
        return ((b @ self.half_inverse) ** 2).sum() / 8

    @classmethod
    def of(cls, system: System, alpha: Any, tangents: Numbers, rows: np.ndarray) -> Self:
        """Solve for the derivatives of C, each array of ``tangents`` with a first axis for these, times alpha.

        A hyperparameter of the mean has information of its own, m_i' C^-1 m_j with m_j its derivative: it counts twice,
        since I halves it. What it has in common with others is zero on average, and of no matter here.
        """
        operator, covariance = system.operator, system.covariance
        outputs = alpha.shape[1]
        images = covariance.derivatives(tangents.kernel, alpha)
        for j, (noise, mean) in enumerate(zip(np.asarray(tangents.noise), np.asarray(tangents.mean), strict=True)):
            if noise.any():
                images[j] = images[j] + _scattered(operator, rows, noise) * alpha
            if mean.any():
                images[j] = images[j] + np.sqrt(2.0) * mean
        Q = operator.settle(system.root * operator.concatenate(images))
        solved = operator.settle(system.solve(Q, tolerance=_SOLVED).x)
        products = operator.fetch(Q.T @ solved).reshape(len(images), outputs, len(images), outputs)
        information = 0.5 * np.einsum("ilkl->ik", products)
        solved = operator.settle(system.root * solved)
        parts = [solved[:, start : start + outputs] for start in range(0, solved.shape[1], outputs)]
        forms = [covariance.forms(part, alpha) for part in parts]
        return cls(
            jax.tree.map(lambda *leaves: np.stack(leaves), *forms),
            np.stack([operator.array(part * alpha, rows).sum(axis=1) for part in parts]),
            np.sqrt(2.0) * np.stack([operator.fetch(part.sum(axis=0)) for part in parts]),
            _half_inverse(information),
        )


class Setting(Protocol):
    """An objective with all but its hyperparameters set, as a tree that can be compiled."""

    def linear(self, theta: Array) -> Array:
        """Return a function with the objective's gradient, linear in what `numbers` gives."""

    def numbers(self, theta: Array) -> list[Numbers]:
        """Return what each of several Gaussian fields depends on."""


def local_model(
    theta: np.ndarray, value: float, setting: Setting, curvatures: Callable[[list[Numbers]], list[Curvature]]
) -> LocalModel:
    """Return an objective around a point: its linear function less the loss of each field.

    Parameters
    ----------
    theta, value : array and float
        The point, and the objective there.
    setting : Setting
        The objective's parts.
    curvatures : callable
        Derivatives of each field's numbers -> its curvature.
    """
    here, tangents = _tangents(jnp.asarray(theta), setting)
    losses = curvatures(tangents)
    level, gradient = _linear(jnp.asarray(theta), setting)

    def gain(there: np.ndarray) -> tuple[float, np.ndarray]:
        height, slope = _height(jnp.asarray(there), setting, losses, here)
        return float(height - level), np.asarray(slope)

    return LocalModel(value, np.asarray(gradient), gain)


@eqx.filter_jit
def _linear(theta: Array, setting: Setting) -> tuple[Array, Array]:
    return jax.value_and_grad(setting.linear)(theta)


@eqx.filter_jit
def _tangents(theta: Array, setting: Setting) -> tuple[list[Numbers], list[Numbers]]:
    """Return the numbers, and their derivatives in each coordinate as the first axis."""
    by_last = jax.jacfwd(setting.numbers)(theta)
    return setting.numbers(theta), jax.tree.map(lambda leaf: jnp.moveaxis(leaf, -1, 0), by_last)


@eqx.filter_jit
def _height(theta: Array, setting: Setting, curvatures: list[Curvature], here: list[Numbers]) -> tuple[Array, Array]:
    def height(theta: Array) -> Array:
        fields = zip(curvatures, here, setting.numbers(theta), strict=True)
        return setting.linear(theta) - sum(curvature.loss(old, new) for curvature, old, new in fields)

    return jax.value_and_grad(height)(theta)


def _half_inverse(information: np.ndarray) -> np.ndarray:
    values, vectors = scipy.linalg.eigh((information + information.T) / 2)
    return vectors / np.sqrt(np.maximum(values, max(_LEAST_SHARE * values[-1], np.finfo(float).tiny)))


def _scattered(operator: Any, rows: np.ndarray, numbers: np.ndarray) -> Any:
    whole = np.zeros((operator.size, 1))
    whole[rows, 0] = numbers
    return operator.vector(whole)
