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

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, Self

import numpy as np
import scipy.linalg

from hypergauss import parameters
from hypergauss.learning.trust_region import LocalModel
from hypergauss.operators import Block
from hypergauss.parameters import Model, Parametrised
from hypergauss.solvers.iterative.numbers import Layout
from hypergauss.solvers.iterative.system import System

#: Relative residual of its systems: a curvature that is a few percent off leads to the same top.
_SOLVED = 0.1
#: Eigenvalues of the information are at least this share of the largest.
_LEAST_SHARE = 1e-10


class Numbers:
    """All that a model's hyperparameters set, as one vector: its kernel's numbers, then fields of its own.

    Parameters
    ----------
    layout : Layout
        Of the kernel's numbers.
    fields : str
        Hyperparameters of the model itself that belong to it.
    """

    def __init__(self, layout: Layout, *fields: str) -> None:
        self.layout, self.fields = layout, fields

    def of(self, model: Parametrised) -> np.ndarray:
        """Return the numbers at a model's hyperparameters, shape (Q,)."""
        own = [np.ravel(getattr(model, field)) for field in self.fields]
        return np.concatenate([self.layout.numbers(model.kernel), *own])  # type: ignore[attr-defined]

    def tangents(self, model: Parametrised) -> np.ndarray:
        """Return their derivatives in each coordinate of the model, shape (p, Q)."""
        is_kernels = [slot.path[0] == "kernel" for slot in parameters.slots(model) for _ in range(slot.size)]
        of_kernel = np.zeros((len(is_kernels), self.layout.size))
        of_kernel[np.array(is_kernels, dtype=bool)] = self.layout.tangents(model.kernel)  # type: ignore[attr-defined]
        own = [
            parameters.gather(model, {field: unit.reshape(np.shape(getattr(model, field)))})
            for field in self.fields
            for unit in np.eye(np.size(getattr(model, field)))
        ]
        return np.column_stack([of_kernel, *own])


class AnyNumbers(Protocol):
    """All that a model's hyperparameters set, as one vector, and its derivatives."""

    def of(self, model: Parametrised) -> np.ndarray:
        """Return the numbers at a model's hyperparameters, shape (Q,)."""

    def tangents(self, model: Parametrised) -> np.ndarray:
        """Return their derivatives in each coordinate of the model, shape (p, Q)."""


class Information(NamedTuple):
    """What b and I are made of: the slopes of b, a first axis for the p hyperparameters, and I.

    Attributes
    ----------
    kernel : array, shape (p, q)
        In the kernel's numbers.
    noise : array, shape (p,)
        In the noise variance.
    mean : array, shape (p, L)
        In the mean of each output.
    half_inverse : array, shape (p, p)
        R with R R' = I^-1.
    """

    kernel: np.ndarray
    noise: np.ndarray
    mean: np.ndarray
    half_inverse: np.ndarray

    @classmethod
    def of(
        cls,
        system: System,
        alpha: Block,
        layout: Layout,
        *,
        kernel: np.ndarray,
        mean: np.ndarray,
        noise: np.ndarray | None = None,
        unit_noise: Block | None = None,
    ) -> Self:
        """Solve for the derivatives of C times alpha.

        A hyperparameter of the mean has information of its own, m_i' C^-1 m_j with m_j its derivative: it counts twice,
        since I halves it. What it has in common with others is zero on average, and of no matter here.

        Parameters
        ----------
        system : System
            For C.
        alpha : block, shape (N, L)
            Of the targets.
        layout : Layout
            Of the kernel's numbers.
        kernel, mean, noise : arrays, shape (p, q), (p, L) and (p,)
            Derivatives of the kernel's numbers, the means and the noise variance in each hyperparameter.
        unit_noise : block, shape (N, 1), optional
            The derivative of the sites' variances in the noise variance, if they have one.
        """
        operator, covariance, outputs = system.operator, system.covariance, alpha.shape[1]
        images = covariance.derivatives(layout, kernel, alpha)
        for j, by_output in enumerate(mean):
            if noise is not None and noise[j] != 0:
                images[j] = images[j] + (noise[j] * unit_noise) * alpha
            if by_output.any():
                images[j] = images[j] + np.sqrt(2.0) * by_output
        Q = operator.settle(system.root * operator.concatenate(images))
        solved = operator.settle(system.solve(Q, tolerance=_SOLVED).x)
        products = operator.fetch(Q.T @ solved).reshape(len(images), outputs, len(images), outputs)
        information = 0.5 * np.einsum("ilkl->ik", products)
        solved = operator.settle(system.root * solved)
        parts = [solved[:, start : start + outputs] for start in range(0, solved.shape[1], outputs)]
        of_noise = np.zeros(len(parts))
        if unit_noise is not None:
            of_noise = np.array([operator.fetch((unit_noise * part * alpha).sum()) for part in parts])
        return cls(
            np.stack([layout.slopes(covariance.forms(part, alpha)) for part in parts]),
            of_noise,
            np.sqrt(2.0) * np.stack([operator.fetch(part.sum(axis=0)) for part in parts]),
            half_inverse(information),
        )


class Loss(NamedTuple):
    """b' I^-1 b / 8 as a function of how the numbers of a model have changed: b = slopes times the change."""

    slopes: np.ndarray  # (p, Q)
    half_inverse: np.ndarray  # (p, p)

    def at(self, change: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the loss, and its slopes in the numbers, shape (Q,)."""
        whitened = (self.slopes @ change) @ self.half_inverse
        return float(whitened @ whitened) / 8, (self.half_inverse @ whitened) @ self.slopes / 4


def local_model(
    model: Model,
    value: float,
    numbers: AnyNumbers,
    slopes: np.ndarray,
    losses: Sequence[Loss],
    beyond: Callable[[Model], tuple[float, np.ndarray]],
) -> LocalModel:
    """Return an objective around a model: what is linear in its numbers, less the loss of each field.

    Parameters
    ----------
    model : GaussianModel or LatentModel
        The point.
    value : float
        The objective there.
    numbers : AnyNumbers
        What the model's Gaussian fields depend on.
    slopes : array, shape (Q,)
        Of the objective in these.
    losses : sequence of Loss
        Of each Gaussian field.
    beyond : callable
        What else of the objective hyperparameters reach: from a model to a value, and the gradient in its coordinates.
    """
    here, level = numbers.of(model), beyond(model)[0]

    def gain(theta: np.ndarray) -> tuple[float, np.ndarray]:
        there = parameters.unpack(model, theta)
        change = numbers.of(there) - here
        lost = [loss.at(change) for loss in losses]
        more, gradient = beyond(there)
        height = float(slopes @ change) - sum(loss for loss, _ in lost) + more - level
        steepness = slopes - sum(by_number for _, by_number in lost)
        return height, numbers.tangents(there) @ steepness + gradient

    return LocalModel(value, gain(parameters.pack(model))[1], gain)


def half_inverse(information: np.ndarray) -> np.ndarray:
    """Return R with R R' = I^-1, directions of next to no information bounded."""
    values, vectors = scipy.linalg.eigh((information + information.T) / 2)
    return vectors / np.sqrt(np.maximum(values, max(_LEAST_SHARE * values[-1], np.finfo(float).tiny)))
