r"""A kernel on many features of a vertex, such as its words: their principal components, and how steeply they count.

Let Z hold the features, one row of unit length a vertex, less the mean row, and Z = U diag(s) V'. A linear model with
equal prior variances has the covariance Z Z' = U diag(s^2) U': it believes that what is to be learned may lie along any
feature, rare or common. With many features that is far too rough a function, and probabilities from it are timid.

    K = variance * U diag(w) U',    w_k = N s_k^(2 steps) / sum over j of s_j^(2 steps),

has the mean prior variance ``variance`` for any number of ``steps``. One step is the linear model. Vertices and
features are a bipartite graph, and (Z Z')^steps follows it from vertices to features and back so many times: more steps
leave more to the components that many features share, which is what topics and styles are. The number is learned.

No array of vertices by features is made: U comes from products with the features, which may be sparse.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from hypergauss import _checks, parameters
from hypergauss._checks import Matrix, Values
from hypergauss.hypergraph.frozen import freeze
from hypergauss.kernels.base import Inputs, Kernel, Slopes, Structure
from hypergauss.parameters import positive

#: Components whose share of the squares is below this are rounding.
_NOTHING = 1e-12
#: Vectors beyond those wanted, and products, of a search for leading ones; it begins at random, the same each time.
_OVERSAMPLED, _PASSES = 20, 6


class Components(Kernel):
    r"""k = variance * U diag(w) U', w in proportion to s^(2 steps), of principal components U diag(s).

    Parameters
    ----------
    vectors : array, shape (N, r)
        U, orthonormal columns.
    squares : array, shape (r,)
        s^2, what each component explains; positive.
    steps : float, default 1.0
        How steeply components count; 1 is the linear model.
    variance : float, default 1.0
        The mean prior variance.
    fixed : sequence of str
        May name "steps" and "variance".

    Examples
    --------
    >>> words = [[1.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 1.0]]
    >>> print(Components.of(words, steps=2.0).gram().round(2))
    [[ 0.71  0.72 -0.95 -0.47]
     [ 0.72  1.29 -1.06 -0.95]
     [-0.95 -1.06  1.29  0.72]
     [-0.47 -0.95  0.72  0.71]]
    """

    steps: np.ndarray = positive(0.05, 50.0)
    variance: np.ndarray = positive()

    def __init__(
        self,
        vectors: Values,
        squares: Values,
        steps: float = 1.0,
        *,
        variance: float = 1.0,
        fixed: str | Sequence[str] = (),
    ) -> None:
        self.vectors = freeze(np.array(_checks.finite_array("vectors", vectors, missing="Pass eigenvectors.")))
        self.squares = freeze(np.array(_checks.finite_array("squares", squares, missing="Pass eigenvalues.")))
        if self.vectors.ndim != 2 or self.squares.shape != self.vectors.shape[1:] or (self.squares <= 0).any():
            raise ValueError(
                "`squares` must be positive, one for each column of `vectors`. Got shapes "
                f"{self.squares.shape} and {self.vectors.shape}. Make both with `Components.of(features)`."
            )
        self.steps = np.asarray(_checks.positive("steps", steps))
        self.variance = np.asarray(_checks.positive("variance", variance))
        self.fixed = self.check_fixed(fixed)

    @classmethod
    def of(cls, features: Matrix, *, most: int = 300, **options: Any) -> Self:
        """Return the kernel of features, shape (N, p), sparse or not: rows of unit length, centred, leading components.

        Parameters
        ----------
        features : array or sparse matrix, shape (N, p)
            One row a vertex. A row of zeros stays one.
        most : int
            The number of components at most.
        **options
            Of the kernel.
        """
        vectors, squares = principal_components(unit_rows(features), most)
        if not len(squares):
            raise ValueError(
                "Features must tell vertices apart. Got rows that are all alike. Leave `covariates` out, or pass "
                "others."
            )
        return cls(vectors, squares, **options)

    @property
    def num_vertices(self) -> int:  # noqa: D102
        return int(self.vectors.shape[0])

    @property
    def rank(self) -> int:  # noqa: D102
        return int(self.vectors.shape[1])

    @property
    def has_uniform_remainder(self) -> bool:  # noqa: D102
        return True

    @property
    def basis(self) -> object:  # noqa: D102
        return self.vectors

    def inputs(self, rows: np.ndarray) -> np.ndarray:  # noqa: D102
        return self.vectors[rows]

    def features(self, inputs: np.ndarray) -> np.ndarray:  # noqa: D102
        return inputs

    def structure(self, inputs: Inputs) -> Structure:  # noqa: D102, ARG002
        return Structure(self.variance * self.num_vertices * self._shares(), np.zeros(()))

    def cross(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:  # noqa: D102
        return (left * self.weights()) @ right.T

    def variances(self, inputs: np.ndarray) -> np.ndarray:  # noqa: D102
        return inputs**2 @ self.weights()

    def same_vertex(self, left: np.ndarray, right: np.ndarray) -> float:  # noqa: D102, ARG002
        return 0.0

    def mean_variance(self) -> float:
        """Return ``variance``: columns of U have length 1."""
        return float(self.variance)

    def pull_back_structure(self, adjoint: Slopes | Structure, inputs: Inputs) -> np.ndarray:  # noqa: ARG002
        """Return the gradient: d w_k / d steps = w_k (log s_k^2 - the mean of these under the shares of w)."""
        shares, logs = self._shares(), np.log(self.squares)
        along = self.num_vertices * shares * adjoint.weights
        in_steps = self.variance * (along @ (logs - shares @ logs))
        return parameters.gather(self, {"steps": in_steps, "variance": along.sum()})

    def prior_draws(self, rows: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
        """Draw coefficients of the components."""
        roots = np.sqrt(self.weights())
        return self.vectors[rows] @ (roots[:, None] * rng.standard_normal((len(roots), size)))

    def _shares(self) -> np.ndarray:
        powers = (self.squares / self.squares.max()) ** self.steps
        return powers / powers.sum()


def unit_rows(features: Matrix) -> Any:
    """Return rows of unit length, sparse where they were; a row of zeros stays one."""
    if sp.issparse(features):
        matrix = sp.csr_array(features, dtype=np.float64)
        lengths = np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel())
        return sp.csr_array(sp.diags_array(1.0 / np.where(lengths > 0, lengths, 1.0)) @ matrix)
    array = np.asarray(features, dtype=np.float64)
    lengths = np.sqrt(np.einsum("ij,ij->i", array, array))
    return array / np.where(lengths > 0, lengths, 1.0)[:, None]


def principal_components(rows: Any, most: int, *, centred: bool = True) -> tuple[np.ndarray, np.ndarray]:
    r"""Return U (N, r) and s^2 (r,) of the leading components, largest first, from products with the rows alone.

    With mean row m, (Z - 1 m')'(Z - 1 m') = Z'Z - N m m'. Few features: the eigenvectors of that matrix. Many: those of
    a subspace that products turn towards the leading ones (Halko, Martinsson and Tropp, 2011).
    """
    N, p = rows.shape
    mean = np.asarray(rows.mean(axis=0)).ravel() if centred else np.zeros(p)

    def times(V: np.ndarray) -> np.ndarray:
        return rows @ V - mean @ V

    def back(U: np.ndarray) -> np.ndarray:
        return rows.T @ U - np.outer(mean, U.sum(axis=0))

    if p <= 4 * (most + _OVERSAMPLED) or p <= 2000:
        inner = rows.T @ rows
        inner = (inner.toarray() if sp.issparse(inner) else inner) - N * np.outer(mean, mean)
        V = np.linalg.eigh(inner)[1][:, ::-1][:, : min(N, most)]
    else:
        V = np.random.default_rng(0).standard_normal((p, min(most + _OVERSAMPLED, N, p)))
        for _ in range(_PASSES):
            V = np.linalg.qr(back(np.linalg.qr(times(V))[0]))[0]
    U, s, _ = np.linalg.svd(times(V), full_matrices=False)
    kept = (s**2 > _NOTHING * max(float((s**2).sum()), np.finfo(float).tiny)) & (np.arange(len(s)) < most)
    return _oriented(U[:, kept]), s[kept] ** 2


def _oriented(U: np.ndarray) -> np.ndarray:
    """Return vectors with their largest entry positive: signs are LAPACK's, and files should not depend on it."""
    if not U.size:
        return U
    largest = U[np.abs(U).argmax(axis=0), np.arange(U.shape[1])]
    return U * np.where(largest < 0, -1.0, 1.0)
