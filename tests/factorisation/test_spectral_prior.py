"""The spectral priors are those of `kernels`, and their conditionals those that brute force gives."""

import numpy as np
import pytest
from scipy.special import gammaln

from hypergauss import Hypergraph, Spectrum
from hypergauss.factorisation.kernel_columns import full_columns, inducing_features, sparse_columns
from hypergauss.factorisation.ratings import tabulate
from hypergauss.factorisation.sides import levels, stack_relations
from hypergauss.factorisation.spectral_prior import RATE, SHAPE, Hyperparameters, Modes, Side, draw_expansion
from hypergauss.kernels import Diffusion, Matern
from tests.factorisation.problems import GRID, make_problem, random_ratings
from tests.hypergraphs import random_hypergraph


def covariance(columns, num_vertices, column=0):
    """Return rho^2 I + B B' of one column, by applying B to every unit vector."""
    height, width = columns.shape
    basis = np.zeros((height, num_vertices))
    for place in range(height):
        unit = np.zeros((height, width))
        unit[place] = 1.0
        basis[place] = columns.factors(unit)[:, column]
    return columns.rough[column] ** 2 * np.eye(num_vertices) + basis.T @ basis


@pytest.mark.parametrize("point", range(3))
def test_the_filters_are_those_of_the_matern_kernel(point):
    modes = make_problem()[0].sides[0].modes
    phi = Matern(Spectrum.of(random_hypergraph(6, 5, seed=3)), GRID.nu[point], GRID.lengthscale[point]).filter
    values = np.append(phi(modes.eigenvalues), phi(modes.rest).mean())
    expected = values * len(modes.vectors) / (modes.multiplicity @ values)
    assert np.allclose(modes.filters(np.array([point]))[:, 0], expected, rtol=1e-12)


@pytest.mark.parametrize("inference", ["gibbs", "map"])
def test_the_middle_stands_for_what_a_truncated_spectrum_leaves_out(inference):
    """Then the mean variance is what it is said to be."""
    table = tabulate(*random_ratings(30, 20, 0.3, seed=0), bounds=None)
    spectrum = Spectrum.of(table.hypergraph(), 5)
    if inference == "map":
        kernel = Matern(spectrum, 1.5, 3.0, variance=0.7)
        found = covariance(full_columns(kernel, 1, float), 30)
        assert np.allclose(found, kernel.gram(), atol=1e-12)
    else:
        side = Side(
            Modes.of(spectrum, levels(table.hypergraph())[0], GRID, float), stack_relations(table.users, {}, float)
        )
        hyper = Hyperparameters(
            np.array([0]), np.array([0.7]), np.full(1, 1e-300), np.zeros(0), np.ones(1), np.ones(1, int)
        )
        found = covariance(side.columns(hyper), 30)
    assert np.isclose(found.diagonal().mean(), 0.7)


def test_full_columns_have_the_covariance_of_their_kernel(hypergraph):
    kernel = Matern(Spectrum.of(hypergraph), 1.5, 3.0, variance=0.7)
    found = covariance(full_columns(kernel, 2, float), hypergraph.num_vertices, column=1)
    assert np.allclose(found, kernel.gram(), atol=1e-12)


def test_full_columns_serve_graphs_too(hypergraph):
    kernel = Diffusion(Spectrum.of(hypergraph.clique_expansion(), laplacian="unnormalised"), 0.3)
    found = covariance(full_columns(kernel, 1, float), hypergraph.num_vertices)
    assert np.allclose(found, kernel.gram(), atol=1e-10)


def test_with_all_vertices_inducing_the_features_give_the_whole_kernel(hypergraph):
    kernel = Matern(Spectrum.of(hypergraph), 1.5, 3.0)
    features = inducing_features(kernel, np.arange(hypergraph.num_vertices))
    assert np.allclose(features @ features.T, kernel.gram(), atol=1e-7)
    few = covariance(sparse_columns(kernel, np.array([0, 3]), 1, float), hypergraph.num_vertices)
    assert np.linalg.matrix_rank(few, tol=1e-9) == 2
    assert np.allclose(few[np.ix_([0, 3], [0, 3])], np.asarray(kernel.gram())[np.ix_([0, 3], [0, 3])], atol=1e-7)


def test_levels_are_the_eigenvectors_of_eigenvalue_zero():
    H = Hypergraph.from_edges([["a", "b"], ["b", "c"], ["x", "y"]], vertices=["a", "b", "c", "x", "y", "lone"])
    E = levels(H)[0].toarray()
    assert E.shape == (6, 2)
    assert np.allclose(Spectrum.of(H).laplacian() @ E, 0.0, atol=1e-12)
    assert np.isclose((E**2).sum(), 6)


@pytest.mark.parametrize("size_exponent", [-1.0, 0.0, 0.7])
def test_levels_of_both_sides_are_those_of_the_spectrum_and_of_its_dual(size_exponent):
    edges = [["a", "b", "c"], ["b", "c"], ["c", "d"], ["x", "y"], ["y", "z", "w"]]
    H = Hypergraph.from_edges(edges, vertices=[*"abcdxyzw", "lone"], weights=[1.0, 2.0, 0.5, 3.0, 1.0])
    spectrum = Spectrum.of(H, size_exponent=size_exponent)
    for part, E in zip((spectrum, spectrum.dual()), levels(H, size_exponent), strict=True):
        assert E.shape[1] == 2
        assert np.allclose(part.laplacian() @ E.toarray(), 0.0, atol=1e-12)
        assert np.isclose((E.toarray() ** 2).sum(), E.shape[0])


def test_columns_of_a_side_have_mean_variance_v_besides_their_levels():
    problem, _ = make_problem()
    side = problem.sides[1]
    tiny = np.array([1e-12, 1e-12])
    hyper = Hyperparameters(np.array([0, 1]), np.array([2.0, 0.5]), tiny, np.zeros(0), np.ones(2), np.arange(2))
    for column, variance in enumerate(hyper.variance):
        found = covariance(side.columns(hyper), side.num_vertices, column)
        assert np.isclose(found.diagonal().mean(), variance)


def test_filters_are_drawn_with_the_probabilities_that_brute_force_gives(rng):
    problem, _ = make_problem(12, 9, share=0.5)
    side = problem.sides[0]
    n = side.num_vertices
    hyper = side.start(3, 1.0).of(np.array([1, 2]))  # two columns of one block
    x = np.concatenate([rng.standard_normal((n, 2)) * [1.0, 0.3], np.zeros((side.num_levels, 2))])
    log_p = []
    for point in range(3):
        here = hyper._replace(point=np.full(2, point), level_variance=np.full(2, 1e-300))
        K = covariance(side.columns(here), n)
        square = np.trace(x[:n].T @ np.linalg.solve(K, x[:n]))
        evidence = gammaln(SHAPE + n) - (SHAPE + n) * np.log(RATE + square / 2)  # v integrated out
        log_p.append(GRID.log_weights[point] - np.linalg.slogdet(K)[1] + evidence)
    expected = np.exp(log_p - np.logaddexp.reduce(log_p))
    drawn = np.array([side.draw(hyper, side.portrait(x), rng).point for _ in range(4000)])
    assert np.array_equal(drawn[:, 0], drawn[:, 1])
    shares = np.bincount(drawn[:, 0], minlength=3) / 4000
    assert np.all(np.abs(shares - expected) < 4 * np.sqrt(expected * (1 - expected) / 4000) + 1e-9)


def test_the_expansion_is_drawn_from_its_normal_conditional(rng):
    n, block = 6, np.array([0, 1, 1])
    factors, linear = rng.standard_normal((n, 3)), rng.standard_normal((n, 3))
    roots = rng.standard_normal((n, 3, 4))
    gram = roots @ roots.transpose(0, 2, 1)
    alike = np.ones(3)
    hyper = Hyperparameters(np.zeros(3, int), alike, alike, np.zeros(0), np.array([2.0, -0.5, -0.5]), block)
    xi = factors / hyper.expansion
    P, m = np.eye(2), np.zeros(2)
    for i in range(n):
        design = np.stack([xi[i] * (block == 0), xi[i] * (block == 1)], axis=1)
        P += design.T @ gram[i] @ design
        m += design.T @ linear[i]
    draws = np.array([draw_expansion(hyper, factors, gram.transpose(1, 2, 0), linear, rng) for _ in range(8000)])
    assert np.array_equal(draws[:, 1], draws[:, 2])
    draws = draws[:, :2]
    C = np.linalg.inv(P)
    assert np.all(np.abs(draws.mean(axis=0) - C @ m) < 5 * np.sqrt(C.diagonal() / 8000))
    assert np.allclose(np.cov(draws.T), C, atol=6 * np.abs(C).max() / np.sqrt(8000))


def test_a_pair_that_hangs_by_a_thread_does_not_take_the_variance():
    """Two vertices tied to one another by ten hyperedges, and to all others by a single one."""
    rng = np.random.default_rng(0)
    edges = [rng.choice(40, size=6, replace=False).tolist() for _ in range(60)]
    H = Hypergraph.from_edges([*edges, *([[40, 41]] * 10), [0, 40]], vertices=range(42))
    spectrum = Spectrum.of(H)
    modes = Modes.of(spectrum, levels(H)[0], GRID, float)
    assert spectrum.eigenvalues[1] < spectrum.eigenvalues[2] / 2
    assert modes.eigenvalues[1] == modes.eigenvalues[0] == spectrum.eigenvalues[2]
    assert np.array_equal(modes.eigenvalues[2:], spectrum.eigenvalues[2:])
