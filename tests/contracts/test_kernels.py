"""Laws that every kernel obeys."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hypergauss import Hypergraph, Spectrum, parameters
from hypergauss.kernels import Bernstein, Diffusion, Matern, Standardised, Walk
from hypergauss.kernels.base import Structure
from tests import oracles
from tests.contracts.cases import FEATURELESS, KERNELS, RISING
from tests.hypergraphs import SHAPES, hypergraphs, random_hypergraph, relabelled

every_kernel = pytest.mark.parametrize("make", KERNELS.values(), ids=KERNELS.keys())


@every_kernel
@given(hypergraphs(shapes=SHAPES[:2]))
def test_gram_is_finite_symmetric_positive_semidefinite_and_agrees_with_its_diagonal(make, H):
    kernel = make(H)
    K = np.asarray(kernel.gram())
    assert np.isfinite(K).all()
    assert np.allclose(K, K.T, atol=1e-12)
    assert np.linalg.eigvalsh(K).min() >= -1e-9 * np.abs(K).max()
    assert np.allclose(kernel.diagonal(), np.diag(K), rtol=1e-10, atol=1e-12)


@every_kernel
def test_blocks_of_the_gram_matrix_are_those_of_the_whole(make, hypergraph):
    kernel = make(hypergraph)
    K = np.asarray(kernel.gram())
    rows, columns = [3, 0, 3], [5, 3]
    assert np.allclose(kernel.gram(rows, columns), K[np.ix_(rows, columns)], atol=1e-13)
    assert np.allclose(kernel.gram(rows), K[rows], atol=1e-13)
    assert np.allclose(kernel.gram(columns=columns), K[:, columns], atol=1e-13)
    assert np.allclose(kernel.diagonal(rows), np.diag(K)[rows], atol=1e-13)
    assert kernel.gram([], columns).shape == (0, 2)


@every_kernel
def test_relabelling_vertices_permutes_the_gram_matrix(make, hypergraph, rng):
    order = rng.permutation(hypergraph.num_vertices)
    K = np.asarray(make(hypergraph).gram())
    assert np.allclose(make(relabelled(hypergraph, order)).gram(), K[np.ix_(order, order)], atol=1e-10)


@pytest.mark.parametrize("name", sorted(FEATURELESS))
def test_kernels_without_features_say_so(name, hypergraph):
    assert KERNELS[name](hypergraph).rank is None


@pytest.mark.parametrize("name", sorted(KERNELS.keys() - FEATURELESS))
def test_features_weights_and_remainder_rebuild_the_gram_matrix(name, hypergraph):
    kernel = KERNELS[name](hypergraph)
    inputs = kernel.inputs(np.arange(kernel.num_vertices))
    F = np.asarray(kernel.features(inputs))
    remainder = np.broadcast_to(kernel.remainder(inputs), len(F))
    assert F.shape == (kernel.num_vertices, kernel.rank)
    assert np.allclose(F * kernel.weights() @ F.T + np.diag(remainder), kernel.gram(), atol=1e-12)
    assert not kernel.has_uniform_remainder or np.allclose(kernel.remainder(None), remainder)


@every_kernel
def test_scaling_multiplies_the_gram_matrix(make, hypergraph):
    kernel = make(hypergraph)
    assert np.allclose((kernel * 2.5).gram(), 2.5 * kernel.gram(), rtol=1e-12)


@every_kernel
def test_gradients_match_central_differences(make, hypergraph, rng):
    kernel = make(hypergraph)
    probe = rng.standard_normal((kernel.num_vertices, kernel.num_vertices))
    everything, theta = kernel.inputs(np.arange(kernel.num_vertices)), parameters.pack(kernel)
    assert len(theta) > 0

    def of_gram(theta):
        return (parameters.unpack(kernel, theta).gram() * probe).sum()

    found = kernel.pull_back(everything, everything, probe)
    assert np.allclose(found, oracles.central_differences(of_gram, theta), rtol=1e-6, atol=1e-7)

    def of_diagonal(theta):
        return parameters.unpack(kernel, theta).diagonal() @ probe[0]

    found = kernel.pull_back_variances(everything, probe[0])
    assert np.allclose(found, oracles.central_differences(of_diagonal, theta), rtol=1e-6, atol=1e-7)


@every_kernel
def test_gradients_between_other_vertices_match_central_differences(make, hypergraph, rng):
    kernel = make(hypergraph)
    rows, columns = np.array([3, 0, 3]), np.array([5, 3])
    probe = rng.standard_normal((3, 2))

    def of_block(theta):
        return (parameters.unpack(kernel, theta).gram(rows, columns) * probe).sum()

    found = kernel.pull_back(kernel.inputs(rows), kernel.inputs(columns), probe)
    expected = oracles.central_differences(of_block, parameters.pack(kernel))
    assert np.allclose(found, expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", sorted(KERNELS.keys() - FEATURELESS))
def test_gradients_of_weights_and_remainder_match_central_differences(name, hypergraph, rng):
    kernel = KERNELS[name](hypergraph)
    inputs = kernel.inputs(np.arange(kernel.num_vertices))
    here = kernel.structure(inputs)
    slopes = Structure(*(rng.standard_normal(np.shape(part)) for part in here))

    def total(theta):
        moved = parameters.unpack(kernel, theta).structure(inputs)
        return sum(float(np.sum(slope * part)) for slope, part in zip(slopes, moved, strict=True))

    found = kernel.pull_back_structure(slopes, inputs)
    expected = oracles.central_differences(total, parameters.pack(kernel))
    assert np.allclose(found, expected, rtol=1e-6, atol=1e-7)


@every_kernel
def test_formulas_of_kernels_have_the_derivatives_that_complex_steps_find(make, hypergraph):
    make(hypergraph).check_formulas()


@every_kernel
def test_prior_draws_have_the_gram_matrix_as_covariance(make, hypergraph, rng):
    kernel = make(hypergraph)
    rows = np.array([4, 0, 2, 4])
    draws = kernel.prior_draws(rows, 20_000, rng)
    K = np.asarray(kernel.gram(rows, rows))
    assert np.allclose(draws[0], draws[3])  # one vertex has one value
    # The variance of an empirical covariance is (K_ii K_jj + K_ij^2) / size.
    spread = np.sqrt((np.outer(np.diag(K), np.diag(K)) + K**2) / draws.shape[1])
    off = np.abs(draws @ draws.T / draws.shape[1] - K)
    assert (off <= 4.5 * spread).all()


@every_kernel
def test_kernels_are_shared_by_copies_and_survive_pickling(make, hypergraph):
    kernel = make(hypergraph)
    assert copy.deepcopy(kernel) is kernel
    assert np.array_equal(pickle.loads(pickle.dumps(kernel)).gram(), kernel.gram())


TRUNCATED = {
    "matern": lambda S, normalise: Matern(S, 0.8, 2.0, variance=1.7, normalise=normalise),
    "diffusion": lambda S, normalise: Diffusion(S, 3.0, variance=0.6, normalise=normalise),
    "bernstein": lambda S, normalise: Bernstein(S, [0.2, 3.0, 0.1, 1.0, 0.05], normalise=normalise),
    "bernstein, rising": lambda S, normalise: Bernstein(S, RISING, normalise=normalise),
    "walk": lambda S, normalise: Walk(S, 1.7, variance=1.3, normalise=normalise),
    "standardised": lambda S, normalise: Standardised(Matern(S, 0.8, 2.0, normalise=normalise), level=0.4),
    "sum": lambda S, normalise: Matern(S, 1.5, 2.0, normalise=normalise) + Bernstein(S, RISING, normalise=normalise),
    "product": lambda S, normalise: Matern(S, 1.5, 2.0, normalise=normalise) * Diffusion(S, 1.0, normalise=normalise),
}


@pytest.mark.parametrize("normalise", [True, False])
@pytest.mark.parametrize("make", TRUNCATED.values(), ids=TRUNCATED.keys())
@given(H=hypergraphs(shapes=[(7, 6)]), rank=st.integers(1, 5))
def test_truncation_error_never_exceeds_its_bound(make, normalise, H, rank):
    spectrum = Spectrum.of(H, rank=rank)
    kernel = make(spectrum, normalise)
    error = np.linalg.norm(np.asarray(kernel.gram() - make(Spectrum.of(H), normalise).gram()), 2)
    assert error <= spectrum.error_bound(kernel) + 1e-9


@pytest.mark.parametrize("make", TRUNCATED.values(), ids=TRUNCATED.keys())
@pytest.mark.parametrize("laplacian", ["normalised", "unnormalised"])
def test_truncation_error_on_a_graph_never_exceeds_its_bound(make, laplacian):
    G = random_hypergraph(16, 9, seed=5, density=0.2).clique_expansion()
    exact = make(Spectrum.of(G, laplacian=laplacian), True).gram()
    for rank in (2, 7, 12):
        kernel = make(Spectrum.of(G, rank=rank, laplacian=laplacian), True)
        assert np.linalg.norm(np.asarray(kernel.gram() - exact), 2) <= kernel.error_bound() + 1e-9


def test_the_bound_is_attained_where_one_eigenvalue_is_left_at_an_end():
    H = Hypergraph.from_edges([["a", "b"], ["b", "c"], ["c", "d"], ["d", "e"]])
    kernel = Diffusion(Spectrum.of(H, rank=3), 2.0, normalise=False)
    exact = Diffusion(Spectrum.of(H), 2.0, normalise=False)
    error = np.linalg.norm(np.asarray(kernel.gram() - exact.gram()), 2)
    assert kernel.error_bound() == pytest.approx(error, rel=1e-6)


@every_kernel
def test_an_exact_spectrum_leaves_no_error(make, hypergraph):
    assert make(hypergraph).error_bound() == 0.0
