r"""The terms of a kernel: what stays the same while its hyperparameters change.

    K = sum of f o phi(Delta) (f o .) over its spectral parts, plus F diag(w) F'

A kernel's tree is opened up once into terms without hyperparameters: which Laplacian, which features.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hypergauss.kernels import Kernel, Product, SpectralKernel, Standardised, Sum
from hypergauss.operators import Block, LaplacianOperator

#: The way from a kernel to one of its parts, by names of fields and positions in them.
Path = tuple[str | int, ...]


class SpectralTerm(NamedTuple):
    """phi(Delta), or with features sum over j of w_j f_j o phi(Delta) (f_j o .)."""

    path: Path
    operator: LaplacianOperator
    features: Block | None = None
    weights_path: Path | None = None

    @property
    def num_factors(self) -> int:
        """How many f_j there are, or 1."""
        return 1 if self.features is None else self.features.shape[1]

    def filter_of(self, kernel: Kernel) -> SpectralKernel:
        """Return the part of a kernel that has phi."""
        return _part(kernel, self.path)  # type: ignore[return-value]

    def weights(self, kernel: Kernel) -> np.ndarray:
        """Return w, shape (factors,): one without features."""
        return np.ones(1) if self.weights_path is None else _part(kernel, self.weights_path).weights()

    def factors(self, kernel: Kernel) -> list[tuple[float, Block | None]]:
        """Return (w_j, f_j), f_j a block of one column, or one factor of None."""
        if self.features is None:
            return [(1.0, None)]
        return [(float(w), self.features[:, j : j + 1]) for j, w in enumerate(self.weights(kernel))]


class FeatureTerm(NamedTuple):
    """F diag(w) F' + remainder."""

    path: Path
    features: Block

    def weights(self, kernel: Kernel) -> np.ndarray:
        """Return w, shape (r,)."""
        return _part(kernel, self.path).weights()

    def remainder(self, kernel: Kernel) -> np.ndarray:
        """Return the remainder, one number for all vertices."""
        return _part(kernel, self.path).remainder(None)


class Terms:
    """A kernel's terms; all work is done with the vectors of the first one's Laplacian."""

    def __init__(self, kernel: Kernel) -> None:
        self._operators: dict[int, LaplacianOperator] = {}  # by their spectrum
        self.spectral: list[SpectralTerm] = []
        self.features: list[FeatureTerm] = []
        self._open(kernel, ())
        if not self.spectral:
            raise ValueError(
                f"The iterative solver needs a kernel with a hypergraph in it. Got {kernel!r}. Use `solver='low-rank'`."
            )
        vector = self.operator.vector
        self.spectral = [t if t.features is None else t._replace(features=vector(t.features)) for t in self.spectral]
        self.features = [term._replace(features=vector(term.features)) for term in self.features]

    @property
    def operators(self) -> list[LaplacianOperator]:
        """Each Laplacian once."""
        return list(self._operators.values())

    @property
    def operator(self) -> LaplacianOperator:
        """The first term's Laplacian."""
        return self.spectral[0].operator

    @property
    def plain(self) -> list[SpectralTerm]:
        """The filters of the first Laplacian that nothing is multiplied to."""
        return [term for term in self.spectral if term.operator is self.operator and term.features is None]

    def in_single(self) -> Terms:
        """Return the same terms with products in single precision."""
        singles = {id(operator): operator.in_single() for operator in self._operators.values()}
        copy = object.__new__(Terms)
        copy._operators = {key: singles[id(operator)] for key, operator in self._operators.items()}
        copy.spectral = [term._replace(operator=singles[id(term.operator)]) for term in self.spectral]
        copy.features = self.features
        return copy

    def _open(self, kernel: Kernel, path: Path) -> None:
        if isinstance(kernel, SpectralKernel):
            self.spectral.append(SpectralTerm(path, self._operator(kernel)))
        elif isinstance(kernel, Sum):
            for position, term in enumerate(kernel.terms):
                self._open(term, (*path, "terms", position))
        elif isinstance(kernel, Product):
            self._open_product(kernel, path)
        elif kernel.rank is not None and kernel.has_uniform_remainder:
            self.features.append(FeatureTerm(path, _all_features(kernel)))
        else:
            raise ValueError(_no_features(kernel))

    def _open_product(self, kernel: Product, path: Path) -> None:
        order = (0, 1) if isinstance(kernel.factors[0], SpectralKernel) else (1, 0)
        spectral, other = (kernel.factors[position] for position in order)
        if not isinstance(spectral, SpectralKernel):
            raise ValueError(
                "The iterative solver multiplies a hypergraph's kernel by one with few features. Got a product of "
                f"{type(kernel.factors[0]).__name__} and {type(kernel.factors[1]).__name__}."
            )
        if isinstance(other, SpectralKernel) or other.rank is None or not other.has_uniform_remainder:
            raise ValueError(_no_features(other))
        if float(other.remainder(None)) != 0.0:
            # A remainder would meet the diagonal of phi(Delta), which products do not give.
            raise ValueError(
                "The iterative solver multiplies a hypergraph's kernel by one that features tell in full, such as "
                f"`Linear`. Got {other!r}. Multiply term by term and add the products, or use `solver='low-rank'`."
            )
        own, others = ((*path, "factors", position) for position in order)
        self.spectral.append(SpectralTerm(own, self._operator(spectral), _all_features(other), others))

    def _operator(self, kernel: SpectralKernel) -> LaplacianOperator:
        """Return a spectrum's Laplacian as products, made once for all kernels on it."""
        key = id(kernel.spectrum)
        if key not in self._operators:
            self._operators[key] = kernel.spectrum.source.multiplier()
        return self._operators[key]


def _part(kernel: Kernel, path: Path) -> Kernel:
    """Return the part of a kernel at the end of a path."""
    node = kernel
    for step in path:
        node = node[step] if isinstance(step, int) else getattr(node, step)  # type: ignore[index]
    return node


def _all_features(kernel: Kernel) -> np.ndarray:
    return kernel.features(kernel.inputs(np.arange(kernel.num_vertices)))


def _no_features(kernel: Kernel) -> str:
    if isinstance(kernel, Standardised):
        return (
            "The iterative solver takes filters as they are, neither centred nor scaled. Got Standardised. Use "
            "`solver='markov'` with a Matern kernel of whole nu in it, or a spectrum of `Spectrum.of`."
        )
    return (
        f"The iterative solver takes covariates through features. Got {type(kernel).__name__}, which has none. Use "
        "`Linear` on columns of your own (such as random Fourier features), or `solver='dense'`."
    )
