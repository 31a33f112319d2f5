"""Polynomials of a Laplacian: what their bound promises holds, and costs no more than it must."""

import math

import numpy as np
import pytest

from hypergauss import Spectrum
from hypergauss.exceptions import NumericalError
from hypergauss.kernels import Bernstein, Diffusion, Matern
from hypergauss.kernels.polynomial import filter_expansion
from hypergauss.operators import LocalLaplacian
from hypergauss.spectrum import chebyshev, graph_laplacian
from tests import oracles
from tests.hypergraphs import hypergraph_of_sizes

H = hypergraph_of_sizes(60, [2, 3, 4, 8] * 10, seed=0)
SPECTRA = {
    "hypergraph": Spectrum.of(H),
    "graph": Spectrum.of(H.clique_expansion()),
    "unnormalised graph": Spectrum.of(H.clique_expansion(), laplacian="unnormalised"),
}
HYPERGRAPH = SPECTRA["hypergraph"]
GRID = np.linspace(0.0, 1.0, 2048)
FILTERS = {
    **{
        f"matern {nu} {length}": Matern(HYPERGRAPH, nu, length)
        for nu, length in ((1.5, 5.0), (5, 4), (20, 6), (20, 12), (0.5, 30))
    },
    "matern in the limit": Matern(HYPERGRAPH, math.inf, 6.0),
    "matern unnormalised": Matern(HYPERGRAPH, 1.5, 5.0, normalise=False),
    "diffusion": Diffusion(HYPERGRAPH, 20.0),
    "bernstein": Bernstein(HYPERGRAPH, [0.05, 0.1, 3.0, 0.4, 2.0]),
}
TOLERANCES = [1e-2, 1e-6, 1e-11]
every_filter = pytest.mark.parametrize("kernel", FILTERS.values(), ids=FILTERS.keys())


def filter_of(kernel, *, root):
    return lambda x: np.asarray(kernel.filter(x)) ** (0.5 if root else 1.0)


def least_degree(phi, wanted, most):
    """Return the lowest degree whose truncated Chebyshev series meets a filter on the grid."""
    coefficients = chebyshev.chebyshev_coefficients(phi(chebyshev.nodes(2048, 1.0)))
    for degree in range(most + 1):
        p = chebyshev.Expansion(coefficients[: degree + 1], 1.0, 0.0)
        if np.abs(p(GRID) - phi(GRID)).max() <= wanted:
            return degree
    return most


@every_filter
@pytest.mark.parametrize("root", [False, True], ids=["filter", "root"])
@pytest.mark.parametrize("tolerance", TOLERANCES)
def test_the_bound_holds_and_meets_the_tolerance_without_waste(kernel, root, tolerance):
    phi = filter_of(kernel, root=root)
    expansion = filter_expansion(kernel, tolerance, root=root)
    height = phi(GRID).max()
    error = np.abs(expansion(GRID) - phi(GRID)).max()
    assert error <= expansion.bound * (1 + 1e-6) + 1e-14 * height
    assert expansion.bound <= tolerance * height * (1 + 1e-9)
    assert expansion.degree <= 2 * least_degree(phi, tolerance * height, expansion.degree) + 4


@pytest.mark.parametrize("spectrum", SPECTRA.values(), ids=SPECTRA.keys())
@pytest.mark.parametrize("root", [False, True], ids=["filter", "root"])
def test_the_operator_norm_of_what_a_polynomial_misses_is_within_the_bound(spectrum, root):
    operator = spectrum.source.multiplier()
    for kernel in (Matern(spectrum, 1.5, 5.0), Matern(spectrum, 20, 3.0), Diffusion(spectrum, 2.0)):
        phi = filter_of(kernel, root=root)
        expansion = filter_expansion(kernel, 1e-5, root=root)
        exact = oracles.filtered(spectrum.laplacian(), lambda x, phi=phi: phi(np.clip(x, 0.0, spectrum.upper)))
        found = chebyshev.apply(operator, expansion, np.eye(60))
        norm = np.linalg.norm(found - exact, 2)
        assert expansion.upper == spectrum.upper
        assert 0 < norm <= expansion.bound + 1e-12
        assert expansion.bound <= 1e-5 * phi(spectrum.upper * GRID).max() * (1 + 1e-9)


def test_a_block_is_multiplied_as_its_columns_are():
    operator, X = HYPERGRAPH.source.multiplier(), np.random.default_rng(0).standard_normal((60, 5))
    expansion = filter_expansion(Matern(HYPERGRAPH), 1e-8)
    together = chebyshev.apply(operator, expansion, X)
    assert operator.num_products == 5 * expansion.degree
    alone = np.hstack([chebyshev.apply(operator, expansion, X[:, [j]]) for j in range(5)])
    assert np.allclose(together, alone, atol=1e-13)


@pytest.mark.parametrize("degree", [0, 1, 2])
def test_short_expansions_are_applied_as_written(degree):
    operator, X = HYPERGRAPH.source.multiplier(), np.random.default_rng(0).standard_normal((60, 2))
    coefficients = np.array([0.3, -0.7, 0.2])[: degree + 1]
    found = chebyshev.apply(operator, chebyshev.Expansion(coefficients, 1.0, 0.0), X)
    shifted = 2 * HYPERGRAPH.laplacian() - np.eye(60)
    powers = [np.eye(60), shifted, 2 * shifted @ shifted - np.eye(60)]
    assert np.allclose(found, sum(c * t for c, t in zip(coefficients, powers, strict=False)) @ X, atol=1e-12)


@pytest.mark.parametrize("spectrum", SPECTRA.values(), ids=SPECTRA.keys())
def test_moments_are_bilinear_forms_of_the_polynomials(spectrum):
    rng = np.random.default_rng(1)
    X, Y = rng.standard_normal((2, 60, 3))
    found = chebyshev.moments(spectrum.source.multiplier(), X, Y, 7)
    for k in range(8):
        one = np.eye(8)[k]
        t = oracles.filtered(spectrum.laplacian(), chebyshev.Expansion(one, spectrum.upper, 0.0))
        assert np.allclose(found[k], np.einsum("ij,ij->j", X, t @ Y), atol=1e-9)


def test_coefficients_are_a_linear_map_of_values():
    values = np.random.default_rng(0).standard_normal(20)
    found = chebyshev.coefficient_matrix(7, 20) @ values
    assert np.allclose(found, chebyshev.chebyshev_coefficients(values)[:8], atol=1e-14)
    p = chebyshev.Expansion(chebyshev.chebyshev_coefficients(values), 3.0, 0.0)
    assert np.allclose(p(chebyshev.nodes(20, 3.0)), values, atol=1e-12)


@pytest.mark.filterwarnings("ignore:divide by zero")
@pytest.mark.parametrize(
    "phi",
    [
        lambda x: 1 / np.abs(x - 0.5),
        lambda x: 1 / (x - 0.3),
        lambda x: np.abs(x - 0.3),
        lambda x: (x > 0.4).astype(float),
        lambda x: np.log(x),
    ],
    ids=["singular at a point that is looked at", "singular elsewhere", "kink", "jump", "singular at an end"],
)
def test_a_filter_that_is_not_smooth_is_refused(phi):
    with pytest.raises(NumericalError, match="Likely cause"):
        chebyshev.expand(phi, 1.0, 1e-6)


def test_a_filter_too_steep_for_any_polynomial_is_refused():
    with pytest.raises(NumericalError, match="No polynomial of degree 4,096 or less"):
        filter_expansion(Matern(HYPERGRAPH, 0.5, 900.0), 1e-12)


def test_a_narrow_bump_is_not_overlooked():
    expansion = chebyshev.expand(lambda x: 1 + np.exp(-((x - 0.412) ** 2) / 2e-4), 1.0, 1e-6)
    assert expansion.degree > 100
    assert expansion(np.array([0.412]))[0] == pytest.approx(2.0, abs=1e-5)


def test_a_graph_without_edges_has_an_expansion():
    empty = graph_laplacian(hypergraph_of_sizes(5, [], seed=0).clique_expansion(), normalised=False)
    operator = empty.multiplier()
    assert operator.upper == 0.0
    expansion = chebyshev.expand(lambda x: np.exp(-x), operator.upper, 1e-8, lambda left: np.exp(-left))
    X = np.ones((5, 1))
    assert np.allclose(chebyshev.apply(operator, expansion, X), X, atol=1e-8)
    assert np.allclose(chebyshev.moments(operator, X, X, 3).ravel(), [5.0, -5.0, 5.0, -5.0])


def test_a_filter_that_is_zero_costs_nothing():
    expansion = chebyshev.expand(np.zeros_like, 1.0, 1e-6)
    assert expansion.degree == 0
    X = np.ones((60, 1))
    operator = LocalLaplacian.of_incidence(HYPERGRAPH.source.incidence.scipy())
    assert np.array_equal(chebyshev.apply(operator, expansion, X), 0 * X)
