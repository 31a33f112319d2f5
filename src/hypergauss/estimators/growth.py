r"""Growth: from the vertices and relations of a fitted model to those of a larger one, hyperparameters held.

A hyperparameter is a number that says nothing of the hypergraph: a lengthscale, a number of steps, a variance, the size
exponent. What a kernel makes of the hypergraph, eigenvectors, the trivial direction, the scale of each vertex and how
many memberships are typical, is made anew of the grown one. So a grown kernel is the same kernel on the spectrum of the
grown relation, wherever in a sum or product it stands.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hypergauss import parameters
from hypergauss.estimators.domain import COVARIATES, Domain
from hypergauss.hypergraph import Graph, Hypergraph
from hypergauss.hypergraph.frozen import freeze
from hypergauss.kernels import Kernel, Product, SpectralKernel, Standardised, Sum
from hypergauss.operators import LocalLaplacian
from hypergauss.solvers.projection import Inducing, InducingVertices
from hypergauss.spectrum import (
    EigenSpectrum,
    FactoredLaplacian,
    MatrixFreeSpectrum,
    Spectrum,
    cached_spectrum,
    graph_laplacian,
    zhou_laplacian,
)
from hypergauss.spectrum.cache import is_kept
from hypergauss.spectrum.laplacians import GraphLaplacian, MatrixFreeLaplacian, SparseMatrix, ZhouLaplacian

Relation = Hypergraph | Graph


class Growth:
    """What becomes of vertices, spectra and kernels.

    Parameters
    ----------
    old, new : Domain
        Before and after.
    covariates : array, shape (N, p), optional
        Of all vertices of the new one, standardised, if they are others than before.
    """

    def __init__(self, old: Domain, new: Domain, covariates: np.ndarray | None = None) -> None:
        self.old, self.new = old, new
        self.covariates = covariates
        #: Where each vertex that was there stands now.
        self.moved = new.vertices.get_indexer(old.vertices)
        self.keeps_vertices = old.vertices.equals(new.vertices)
        pairs = zip(old.relations.values(), new.relations.values(), strict=True)
        #: Whether only observations are new, and every kernel stays the very same.
        self.is_nothing = self.keeps_vertices and covariates is None and all(_is_unchanged(*pair) for pair in pairs)
        self._spectra: dict[tuple[Any, ...], Spectrum] = {}
        self._origins: dict[int, tuple[Spectrum, list[str]]] = {}

    def kernel(self, kernel: Kernel, label: str | None = None) -> Kernel:
        """Return the same kernel on the grown vertices; a label tells which relation it is of, where sums have them."""
        if self.is_nothing:
            return kernel
        if isinstance(kernel, Standardised):
            return parameters.with_value(kernel, ("part",), self.kernel(kernel.part, label))
        if isinstance(kernel, SpectralKernel):
            return parameters.with_value(kernel, ("spectrum",), self.spectrum(kernel.spectrum, label))
        if isinstance(kernel, Sum):
            pairs = zip(kernel.terms, kernel.labels, strict=True)
            return parameters.with_value(kernel, ("terms",), tuple(self.kernel(*pair) for pair in pairs))
        if isinstance(kernel, Product):
            pairs = zip(kernel.factors, kernel.labels, strict=True)
            return parameters.with_value(kernel, ("factors",), tuple(self.kernel(*pair) for pair in pairs))
        if label == COVARIATES and self.covariates is not None:
            return parameters.with_value(kernel, ("covariates",), freeze(self.covariates))
        if not self.keeps_vertices:
            raise ValueError(
                f"A kernel must follow the hypergraph to grow with it. Got {type(kernel).__name__}, given as an "
                "object, which has nothing on new vertices. Make it on the grown hypergraph, and fit again."
            )
        return kernel

    def spectrum(self, spectrum: Spectrum, label: str | None = None) -> Spectrum:
        """Return the spectrum of the relation that a spectrum is of, as it is now: decomposed once for all kernels."""
        name = self._origin(spectrum, label)
        relation = self.new.relations[name]
        if _is_unchanged(self.old.relations[name], relation):
            return spectrum
        is_weighted = isinstance(relation, Hypergraph)
        exponent = float(spectrum.size_exponent) if is_weighted else None
        rank = None if not isinstance(spectrum, EigenSpectrum) or spectrum.is_exact else spectrum.rank
        kind = None if is_weighted else _kind(spectrum, self.old.relations[name])
        key = (name, exponent, rank, kind, spectrum.is_matrix_free)
        if key not in self._spectra:
            if spectrum.is_matrix_free:
                little = self._little_grown(spectrum, relation, exponent)
                found: Spectrum = little or Spectrum.matrix_free(relation, exponent, laplacian=kind)
            elif kind == "unnormalised":
                found = Spectrum.of(relation, rank, exponent, laplacian=kind)
            else:
                found = cached_spectrum(relation, rank, exponent)
            self._spectra[key] = found
        return self._spectra[key]

    def _little_grown(self, spectrum: Spectrum, relation: Relation, exponent: float | None) -> Spectrum | None:
        """Return a spectrum that keeps its estimated density, where growth is small enough for that."""
        if not (isinstance(spectrum, MatrixFreeSpectrum) and isinstance(relation, Hypergraph)):
            return None
        return spectrum.grown(zhou_laplacian(relation, exponent or 0.0), self.moved)

    def inducing(self, inducing: Inducing | None, kernel: Kernel) -> Inducing | None:
        """Return the same inducing variables for a grown kernel."""
        if isinstance(inducing, InducingVertices):
            return InducingVertices.of(kernel, self.moved[inducing.rows])
        return inducing

    def _origin(self, spectrum: Spectrum, label: str | None) -> str:
        """Return the name of the relation that a spectrum is of."""
        if id(spectrum) not in self._origins:
            # With the spectrum, so that no other one takes its place in memory.
            self._origins[id(spectrum)] = (spectrum, [n for n, r in self.old.relations.items() if _is_of(spectrum, r)])
        names = self._origins[id(spectrum)][1]
        if label in names:
            return label
        if not names:
            raise ValueError(
                "A kernel must be on the hypergraph of the model, by Zhou's Laplacian, or on its graph to grow with "
                "it. Got one on another with the same vertices, or by another Laplacian. Make it on the grown one, and "
                "fit again."
            )
        return names[0]


def _is_unchanged(old: Relation, new: Relation) -> bool:
    return new is old or (isinstance(new, Hypergraph) and isinstance(old, Hypergraph) and new.equals(old))


def _is_of(spectrum: Spectrum, relation: Relation) -> bool:
    """Tell whether a spectrum is a relation's: by the matrix itself, or, where that is known by products, by size."""
    if is_kept(relation, spectrum):
        return True
    if isinstance(spectrum.source, ZhouLaplacian):
        return isinstance(relation, Hypergraph) and _same(
            spectrum.source.incidence, zhou_laplacian(relation, float(spectrum.size_exponent)).incidence
        )
    if isinstance(spectrum.source, FactoredLaplacian):
        return False
    if _matrix(spectrum) is not None:
        return isinstance(relation, Graph) and _kind(spectrum, relation) is not None
    return spectrum.num_vertices == relation.num_vertices


def _kind(spectrum: Spectrum, relation: Relation) -> str | None:
    """Return which Laplacian of a graph a spectrum is of."""
    assert isinstance(relation, Graph)
    own = _matrix(spectrum)
    if own is None:
        return None
    kinds = {"normalised": True, "unnormalised": False}
    laplacians = {name: graph_laplacian(relation, normalised=flag).matrix for name, flag in kinds.items()}
    return next((name for name, matrix in laplacians.items() if _same(own, matrix)), None)


def _matrix(spectrum: Spectrum) -> SparseMatrix | None:
    """Return the matrix that a spectrum is of, where it is held as one and not by an incidence."""
    source = spectrum.source
    if isinstance(source, GraphLaplacian):
        return source.matrix
    products = source.products if isinstance(source, MatrixFreeLaplacian) else None
    is_matrix = isinstance(products, LocalLaplacian) and not products.has_incidence
    return SparseMatrix.of(products.parts[0][0]) if is_matrix else None  # type: ignore[union-attr]


def _same(left: SparseMatrix, right: SparseMatrix) -> bool:
    return left.shape == right.shape and all(np.array_equal(a, b) for a, b in zip(left[:3], right[:3], strict=True))
