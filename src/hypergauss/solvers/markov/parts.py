r"""A kernel as Markov fields, what a vertex has of its own, and features.

    f = sum over k of T_k g_k + e + F b,    g_k ~ N(0, Q_k^-1),  e ~ N(0, R),  b ~ N(0, V),

T_k, R and V diagonal. `Matern` is a field with T = 1, `Standardised` one that is centred and scaled, with an own part
and up to two features, `Linear` is features alone; `Sum` adds all of them. A kernel's tree is opened up once; what
hyperparameters set are the arrays of `Arrays`, whose derivatives are those of formulas.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hypergauss.kernels import Kernel, Matern, Standardised, Sum
from hypergauss.operators import Block, LaplacianOperator
from hypergauss.solvers.markov.field import Field, check_kernel, log_numbers, shape_of

#: The place of a kernel among the terms of a sum, or that it is the kernel itself.
Place = int | None


class Arrays(NamedTuple):
    """What hyperparameters set, all fields' arrays in their order.

    Attributes
    ----------
    fields : tuple of arrays, shape (3,)
        log c, log s, and log of the variance along the direction that is taken out; the last is log s of a plain field.
    scales : tuple of arrays, shape (N,)
        T_k.
    own : array, shape (N,)
        R.
    weights : array, shape (p,)
        V.
    """

    fields: tuple[np.ndarray, ...]
    scales: tuple[np.ndarray, ...]
    own: np.ndarray
    weights: np.ndarray

    def plus(self, other: Arrays) -> Arrays:
        """Return the sums of each, as of slopes."""
        fields, scales = (
            tuple(a + b for a, b in zip(mine, theirs, strict=True))
            for mine, theirs in ((self.fields, other.fields), (self.scales, other.scales))
        )
        return Arrays(fields, scales, self.own + other.own, self.weights + other.weights)


class FieldTerm(NamedTuple):
    """One field of a kernel: where it stands, its Laplacian, and what does not move of its scale."""

    place: Place
    operator: LaplacianOperator
    inputs: Any  # of a standardised kernel with eigenvectors
    direction: Block | None  # u, (N, 1), of a field that is centred

    def kernel_of(self, kernel: Kernel) -> Matern | Standardised:
        """Return the part of a kernel that this is."""
        return _at(kernel, self.place)  # type: ignore[return-value]

    def numbers(self, kernel: Kernel) -> np.ndarray:
        """Return log c, log s and log of the variance along u, shape (3,); complex where a hyperparameter is."""
        own = self.kernel_of(kernel)
        if isinstance(own, Matern):
            log_c, log_s = log_numbers(own)
            return np.array([log_c, log_s, log_s])
        part: Any = own.part
        log_c = np.log(2.0 / (part.inverse_nu * part.lengthscale**2))
        return np.array([log_c, *np.log(np.array(own.variances_at_ends()))])

    def field(self, kernel: Kernel) -> Field:
        """Return Q, the direction that is taken out aside."""
        matern = shape_of(self.kernel_of(kernel))
        log_c, log_s = (float(number) for number in self.numbers(kernel)[:2])
        return Field(round(matern.nu), float(np.exp(log_c)), float(np.exp(log_s)), matern.spectrum)


class Parts:
    """A kernel, opened up.

    Parameters
    ----------
    kernel : Kernel
        At any hyperparameters.
    """

    def __init__(self, kernel: Kernel) -> None:
        check_kernel(kernel, parts=True)
        self.num_vertices = kernel.num_vertices
        self.fields: list[FieldTerm] = []
        operators: dict[int, LaplacianOperator] = {}
        columns = []
        self._featured: list[Place] = []
        terms = list(enumerate(kernel.terms)) if isinstance(kernel, Sum) else [(None, kernel)]
        for place, term in terms:
            if isinstance(term, Matern | Standardised):
                key = id(term.spectrum)
                operator = operators.setdefault(key, term.spectrum.source.multiplier())
                self.fields.append(self._field(place, term, operator))
            else:
                columns.append(term.features(term.inputs(np.arange(self.num_vertices))))
                self._featured.append(place)
            if isinstance(term, Standardised):
                columns.append(term.own_features())
                self._featured.append(place)
        #: F, shape (N, p).
        self.features = np.column_stack(columns) if columns else np.zeros((self.num_vertices, 0))
        #: Each Laplacian once.
        self.operators = list(operators.values())

    def _field(self, place: Place, term: Matern | Standardised, operator: LaplacianOperator) -> FieldTerm:
        if isinstance(term, Matern):
            return FieldTerm(place, operator, None, None)
        inputs = term.inputs(np.arange(self.num_vertices)) if term.has_eigenvectors else None
        return FieldTerm(place, operator, inputs, operator.vector(term.spectrum.trivial[:, None]))

    def arrays(self, kernel: Kernel) -> Arrays:
        """Return what hyperparameters set; complex where one is."""
        scales, own = [], np.zeros(self.num_vertices)
        for term in self.fields:
            part = term.kernel_of(kernel)
            if isinstance(part, Matern):
                scales.append(np.ones(self.num_vertices))
            else:
                found = part.as_field(term.inputs)
                scales.append(found.scale)
                own = own + found.own
        return Arrays(tuple(term.numbers(kernel) for term in self.fields), tuple(scales), own, self.weights(kernel))

    def weights(self, kernel: Kernel) -> np.ndarray:
        """Return V, shape (p,)."""
        found = [np.zeros(0)]
        for place in self._featured:
            part = _at(kernel, place)
            found.append(part.own_weights() if isinstance(part, Standardised) else part.weights())
        return np.concatenate(found)


def _at(kernel: Kernel, place: Place) -> Kernel:
    return kernel if place is None else kernel.terms[place]  # type: ignore[attr-defined]
