"""Prior variances of every vertex by products: exact for few, within the stated error for many."""

import numpy as np
import pytest

from hypergauss import Hypergraph, Spectrum
from hypergauss.exceptions import ConvergenceError
from hypergauss.kernels import Matern, Standardised
from hypergauss.operators import LocalLaplacian
from hypergauss.spectrum import normalised_incidence
from hypergauss.spectrum.local_density import trivial_direction
from tests.solvers.markov.problems import decomposed, hypergraph

FILTERS = pytest.mark.parametrize(("nu", "lengthscale"), [(1, 3.0), (2, 3.0), (3, 5.0)])


@pytest.mark.parametrize("size", [200, 2_000])
def test_the_direction_taken_out_is_the_one_of_the_eigenvectors(size):
    H, spectrum = decomposed(size)
    expected = spectrum.trivial
    assert np.allclose(Spectrum.matrix_free(H).trivial, expected, atol=1e-12)
    # Without degrees, as of an operator that is only multiplied with.
    assert np.allclose(trivial_direction(LocalLaplacian.of_incidence(normalised_incidence(H))), expected, atol=1e-10)


def test_without_hyperedges_nothing_is_taken_out():
    lonely = Hypergraph.from_edges([], vertices=list("abc"))
    assert not Spectrum.matrix_free(lonely).trivial.any()


def test_a_long_chain_whose_components_are_not_known_is_refused_with_a_way_out(monkeypatch):
    monkeypatch.setattr("hypergauss.spectrum.local_density._MOST_PRODUCTS", 5)
    chain = Hypergraph.from_edges([[i, i + 1] for i in range(300)] + [[0, 1, 2]])
    with pytest.raises(ConvergenceError, match="whose components are known"):
        trivial_direction(LocalLaplacian.of_incidence(normalised_incidence(chain)))


@FILTERS
def test_of_few_vertices_scales_are_those_of_the_eigenvectors(nu, lengthscale):
    H, spectrum = decomposed(400)
    exact, free = (Standardised(Matern(s, nu, lengthscale), 0.5) for s in (spectrum, Spectrum.matrix_free(H)))
    wanted, found = exact.as_field(exact.inputs(np.arange(400))), free.as_field(None)
    assert np.allclose(found.scale, wanted.scale, rtol=1e-6)
    assert np.allclose(found.own, wanted.own, rtol=1e-10)
    assert free.scale_error() < 1e-5


@FILTERS
def test_of_many_vertices_they_are_within_the_stated_error(nu, lengthscale):
    H, spectrum = decomposed(2_000)
    exact, free = (Standardised(Matern(s, nu, lengthscale), 0.5) for s in (spectrum, Spectrum.matrix_free(H)))
    wanted, found = exact.as_field(exact.inputs(np.arange(2_000))).scale, free.as_field(None).scale
    known = wanted > 0
    # A scale is a root of an inverse variance, so it is off by half as much.
    off = np.sqrt(np.mean((found[known] / wanted[known] - 1) ** 2))
    assert free.scale_error() < 0.2
    assert 0.2 * free.scale_error() < off < 0.75 * free.scale_error()


@pytest.mark.parametrize("laplacian", [None, "bolla", "rodriguez"])
def test_memberships_are_known_by_products_too(laplacian):
    H = hypergraph(100)
    wanted, found = (make(H, laplacian=laplacian) for make in (Spectrum.of, Spectrum.matrix_free))
    assert np.allclose(found.relative_memberships, wanted.relative_memberships)
    assert np.allclose(found.relative_activities, wanted.relative_activities)
