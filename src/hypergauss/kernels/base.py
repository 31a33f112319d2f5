"""Kernel: a covariance between the vertices of one hypergraph.

A kernel works on *inputs*, arrays gathered once for some vertices (`Kernel.inputs`), so that everything after is a
function of the hyperparameters alone. Many kernels have more structure than a matrix of covariances:

    K = F diag(weights) F' + diag(remainder),

with features F (n x r) that no hyperparameter touches. Then ``rank`` is r, inference costs O(n r^2), not O(n^3), and
hyperparameters reach it only through two small arrays (`Structure`).

A solver hands back slopes in covariances, or in these arrays; `pull_back` and its kin turn them into a gradient.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self, TypeAlias

import numpy as np

from hypergauss import _checks, formula_checks, parameters
from hypergauss._views import html_table
from hypergauss.parameters import Number, Parametrised

if TYPE_CHECKING:
    from hypergauss.kernels.composition import Product, Sum

#: What a kernel gathers of some vertices, arrays of a kind of its own; what hyperparameters do not touch.
Inputs: TypeAlias = Any
#: Added to a covariance, relative to its largest variance, before a prior draw's Cholesky factorisation.
_JITTER = 1e-10
#: Vertices whose covariances show whether a formula has the derivatives it should have.
_FEW = 8


class Structure(NamedTuple):
    """What hyperparameters set of K = F diag(weights) F' + diag(remainder): arrays (r,), and () or (n,)."""

    weights: np.ndarray
    remainder: np.ndarray


class Slopes(NamedTuple):
    """Of a number in what makes K = F W F' + diag(remainder): weights (r,), remainder (n,), features (n, r) or None."""

    weights: np.ndarray
    remainder: np.ndarray
    features: np.ndarray | None = None


class Kernel(Parametrised, ABC):
    """A symmetric positive semidefinite function of two vertices."""

    @property
    @abstractmethod
    def num_vertices(self) -> int:
        """N, the number of vertices it is defined on."""

    @abstractmethod
    def inputs(self, rows: np.ndarray) -> Inputs:
        """Gather the arrays that evaluation at these vertices needs."""

    @abstractmethod
    def cross(self, left: Inputs, right: Inputs) -> np.ndarray:
        """Return the covariances between two sets of inputs, shape (n, m)."""

    @abstractmethod
    def variances(self, inputs: Inputs) -> np.ndarray:
        """Return the prior variance of each input, shape (n,)."""

    def scaled(self, factor: float) -> Self:
        """Return the kernel times a positive number: as a rule, with another ``variance``."""
        return parameters.with_value(self, ("variance",), np.asarray(self.variance * factor))  # type: ignore[attr-defined]

    #: The formula that a kernel of one's own writes.
    _formula: ClassVar[str] = "cross"

    # ------------------------------------------------ structure; a kernel without it keeps these defaults

    @property
    def rank(self) -> int | None:
        """The number r of features, or None for a kernel without low-rank structure."""
        return None

    @property
    def has_eigenvectors(self) -> bool:
        """Whether covariances between single vertices can be computed; not on a matrix-free spectrum."""
        return True

    @property
    def basis(self) -> object:
        """What the features are made of: kernels with the same basis object share their features."""
        return self

    @property
    def has_uniform_remainder(self) -> bool:
        """Whether the remainder is one number for all vertices."""
        return False

    @property
    def features_move(self) -> bool:
        """Whether hyperparameters reach F too; as a rule they do not."""
        return False

    def features(self, inputs: Inputs) -> np.ndarray:
        """Return F, shape (n, r)."""
        raise NotImplementedError(f"{type(self).__name__} has no features")

    def features_and_structure(self, inputs: Inputs) -> tuple[np.ndarray, Structure]:
        """Return F, and weights and remainder."""
        return self.features(inputs), self.structure(inputs)

    def structure(self, inputs: Inputs) -> Structure:
        """Return weights and remainder; where the remainder is uniform, inputs may be None."""
        raise NotImplementedError(f"{type(self).__name__} has no features")

    def weights(self) -> np.ndarray:
        """Return the weight of each feature, shape (r,)."""
        return self.structure(None).weights

    def remainder(self, inputs: Inputs) -> np.ndarray:
        """Return what F diag(weights) F' leaves on the diagonal: shape (n,), or () if uniform."""
        return self.structure(inputs).remainder

    # ------------------------------------------------ from slopes to a gradient in the coordinates of `parameters`

    def pull_back(self, left: Inputs, right: Inputs, adjoint: np.ndarray) -> np.ndarray:
        """Return the gradient of a number with slopes ``adjoint``, shape (n, m), in ``cross(left, right)``."""
        if self.rank is None or not (self.has_uniform_remainder or self.features_move):
            return parameters.pull_back(self, lambda kernel: kernel.cross(left, right), adjoint)
        F = self.features(left)
        if left is right and self.features_move:
            # Both sides move alike: with S = A + A', slopes in F are S F W, and one product serves for all.
            along = (adjoint + adjoint.T) @ F
            shared = (adjoint * self.same_vertex(left, right)).sum(axis=1)
            slopes = Slopes((along * F).sum(axis=0) / 2, shared, along * self.weights())
            return self.pull_back_structure(slopes, left)
        G = F if left is right else self.features(right)
        along = adjoint.T @ F
        in_weights, shared = (along * G).sum(axis=0), adjoint * self.same_vertex(left, right)
        if not self.features_move:
            return self.pull_back_structure(Structure(in_weights, np.asarray(shared.sum())), None)
        weights = self.weights()
        of_left = Slopes(in_weights, shared.sum(axis=1), (adjoint @ G) * weights)
        of_right = Slopes(np.zeros_like(in_weights), np.zeros(len(G)), along * weights)
        return self.pull_back_structure(of_left, left) + self.pull_back_structure(of_right, right)

    def pull_back_variances(self, inputs: Inputs, adjoint: np.ndarray) -> np.ndarray:
        """Return the gradient of a number with slopes ``adjoint``, shape (n,), in ``variances(inputs)``."""
        if self.rank is None or not self.has_uniform_remainder:
            return parameters.pull_back(self, lambda kernel: kernel.variances(inputs), adjoint)
        slopes = Structure(adjoint @ self.features(inputs) ** 2, np.asarray(adjoint.sum()))
        return self.pull_back_structure(slopes, None)

    def pull_back_structure(self, adjoint: Slopes | Structure, inputs: Inputs) -> np.ndarray:
        """Return the gradient of a number with slopes ``adjoint`` in structure, and in features where those move."""
        return parameters.pull_back(self, lambda kernel: kernel.structure(inputs), adjoint[:2])

    def same_vertex(self, left: Inputs, right: Inputs) -> np.ndarray | float:
        """Return 1 where two inputs are one vertex, which shares its remainder, shape (n, m); 0 without a remainder."""
        raise NotImplementedError(f"{type(self).__name__} has no remainder")

    def check_formulas(self) -> None:
        """Refuse a covariance whose complex steps are not its derivatives."""
        few = np.arange(min(self.num_vertices, _FEW))
        if self.rank is not None or not self.has_eigenvectors:
            inputs = None if self.has_uniform_remainder else self.inputs(few)
            formula_checks.check_derivatives(self, lambda kernel: tuple(kernel.structure(inputs)), self._formula)
        else:
            inputs = self.inputs(few)
            formula_checks.check_derivatives(self, lambda kernel: kernel.cross(inputs, inputs), self._formula)

    # ------------------------------------------------ what users call

    def gram(self, rows: Iterable[int] | None = None, columns: Iterable[int] | None = None) -> np.ndarray:
        """Return the covariance matrix between vertices given by index; all of them if not given."""
        left = self.inputs(self.check_rows("rows", rows))
        right = left if columns is None and rows is None else self.inputs(self.check_rows("columns", columns))
        return self.cross(left, right)

    def diagonal(self, rows: Iterable[int] | None = None) -> np.ndarray:
        """Return the prior variances of vertices given by index; all of them if not given."""
        return self.variances(self.inputs(self.check_rows("rows", rows)))

    def mean_variance(self) -> float:
        """Return the mean prior variance over all vertices."""
        return float(np.mean(self.diagonal()))

    def varying_variance(self) -> float:
        """Return the same without a level that all vertices share, which tells none from another."""
        return self.mean_variance()

    @property
    def level_variance(self) -> Number:
        """The prior variance of a level that all vertices share; 0 where there is none."""
        return 0.0

    def own_shares(self, rows: np.ndarray) -> np.ndarray:
        """Return which share of a vertex's variance is its own, told by no membership, shape (n,)."""
        return np.zeros(len(rows))

    def prior_draws(self, rows: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
        """Return joint draws of the zero-mean prior at some vertices, shape (n, size)."""
        distinct, back = np.unique(rows, return_inverse=True)  # a vertex named twice has one value
        covariance = self.gram(distinct, distinct)
        covariance[np.diag_indices_from(covariance)] += _JITTER * covariance.diagonal().max(initial=0.0)
        return (np.linalg.cholesky(covariance) @ rng.standard_normal((len(distinct), size)))[back]

    def error_bound(self) -> float:
        """Return a bound on the operator-norm error that a truncated spectrum leaves; 0 if none is truncated."""
        return 0.0

    def check_rows(self, argument: str, rows: Iterable[int] | None) -> np.ndarray:
        """Return vertex indices as an array, refusing those out of range."""
        if rows is None:
            return np.arange(self.num_vertices)
        array = rows if isinstance(rows, np.ndarray) else np.asarray(list(rows))
        if array.ndim != 1 or (len(array) and array.dtype.kind not in "iu"):
            raise TypeError(
                f"`{argument}` must be a 1-D array of vertex indices. Got {array.dtype}, shape {array.shape}."
            )
        bad = array[(array < 0) | (array >= self.num_vertices)]
        if len(bad):
            raise ValueError(
                f"`{argument}` must lie in 0..{self.num_vertices - 1}. Got {bad[0]}{_checks.others(len(bad) - 1)}. "
                "Names become indices with `H.vertex_rows(names)`."
            )
        return array.astype(np.int64)

    def __add__(self, other: Kernel) -> Sum:
        from hypergauss.kernels.composition import Sum  # it is made of kernels itself

        return Sum.of(self, other) if isinstance(other, Kernel) else NotImplemented

    def __mul__(self, other: Kernel | float) -> Product | Self:
        from hypergauss.kernels.composition import Product

        if isinstance(other, Kernel):
            return Product(self, other)
        return self.scaled(_checks.positive("factor", other))

    def __rmul__(self, other: float) -> Self:
        return self.scaled(_checks.positive("factor", other))

    def _repr_html_(self) -> str:
        found = parameters.values(self, free_only=False)
        return html_table(type(self).__name__, {name: parameters.brief(value) for name, value in found.items()})

    def __repr__(self) -> str:
        found = parameters.values(self, free_only=False)
        return (
            f"{type(self).__name__}({', '.join(f'{name}={parameters.brief(value)}' for name, value in found.items())})"
        )
