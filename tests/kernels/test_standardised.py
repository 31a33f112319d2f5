"""The standardised kernel: what is taken out, what stays, and the scale that vertices are put on before."""

import numpy as np
import pytest

from hypergauss import Hypergraph, Spectrum, parameters
from hypergauss.kernels import Bernstein, Diffusion, Matern, ShapedWalk, SquaredExponential, Standardised, Walk
from tests import oracles
from tests.hypergraphs import random_hypergraph

FILTERS = {
    "walk": lambda S: Walk(S, 1.3),
    "shaped walk": lambda S: ShapedWalk(S, 1.3, [2.0, 0.6]),
    "matern": lambda S: Matern(S, 1.5, 3.0),
    "bernstein": lambda S: Bernstein(S, [0.9, 1.0, 0.2]),
}
every_filter = pytest.mark.parametrize("make", FILTERS.values(), ids=FILTERS)

CONNECTED = random_hypergraph(20, 25, seed=3, awkward=False)
PARTS = Hypergraph.from_edges(
    [["a", "b", "c"], ["c", "d"], ["e", "f", "g", "h"], ["h", "i"], ["f", "i"]], vertices=list("abcdefghij")
)
WEIGHTED = Hypergraph.from_incidence(
    CONNECTED.incidence.multiply(np.linspace(0.5, 2.0, CONNECTED.num_edges)).tocsr(), weights=CONNECTED.weights
)


def standardised_by_hand(laplacian, phi, memberships, individuality, evenness):
    """Return T (phi(L) less the trivial direction) T + diag(o) from a dense eigendecomposition.

    The trivial direction keeps what all directions have that no hyperedge speaks of, phi(1).
    """
    values, vectors = np.linalg.eigh(laplacian)
    null = vectors[:, np.abs(values) < 1e-9]
    constant = null @ (null.T @ np.ones(len(laplacian)))
    constant /= np.linalg.norm(constant)
    whole = (vectors * phi(np.maximum(values, 0.0))) @ vectors.T
    K = whole - np.ptp(phi(np.array([0.0, 1.0]))) * np.outer(constant, constant)
    v, t, c = np.diag(K), np.diag(whole), memberships / np.median(memberships[memberships > 0])
    is_told = v > 1e-12
    q = np.where(is_told, np.minimum(1.0, c * (1 + individuality) / (c + individuality)), 0.0)
    evened = v * np.where(is_told, t, 1.0) ** -evenness
    mean = evened[c >= 1].mean()
    T = np.sqrt(q * np.where(is_told, t, 1.0) ** -evenness / mean)
    own = (1 - q) / (1 - q + q * np.maximum(1.0, evened / mean))
    return T[:, None] * K * T + np.diag(own)


@every_filter
@pytest.mark.parametrize("evenness", [1.0, 0.4, 0.0])
@pytest.mark.parametrize("H", [CONNECTED, PARTS], ids=["one component", "several, and an isolated vertex"])
def test_it_is_what_dense_matrices_make_of_the_formula(make, H, evenness):
    kernel = Standardised(make(Spectrum.of(H)), 0.4, evenness=evenness)
    counts = np.diff(H.incidence.indptr).astype(float)
    by_hand = standardised_by_hand(oracles.zhou_laplacian(H), kernel.part.filter, counts, 0.4, evenness)
    assert np.allclose(kernel.gram(), by_hand, atol=1e-9)
    assert np.allclose(kernel.diagonal(), np.diag(by_hand), atol=1e-9)


SPECTRA = {
    "a hypergraph": lambda: Spectrum.of(CONNECTED),
    "several components": lambda: Spectrum.of(PARTS),
    "weighted memberships": lambda: Spectrum.of(WEIGHTED),
    "by size": lambda: Spectrum.of(CONNECTED, size_exponent=1.5),
    "its dual": lambda: Spectrum.of(CONNECTED).dual(),
    "the dual of several components": lambda: Spectrum.of(PARTS).dual(),
    "a graph": lambda: Spectrum.of(CONNECTED.clique_expansion()),
    "a graph by D - W": lambda: Spectrum.of(CONNECTED.clique_expansion(), laplacian="unnormalised"),
    "truncated": lambda: Spectrum.of(CONNECTED, rank=5),
    "a truncated graph": lambda: Spectrum.of(CONNECTED.clique_expansion(), rank=5),
    "awkward": lambda: Spectrum.of(random_hypergraph(12, 8, seed=1)),
}
every_spectrum = pytest.mark.parametrize("spectrum", SPECTRA.values(), ids=SPECTRA)


@every_spectrum
@every_filter
def test_where_all_is_even_vertices_have_the_same_variance_before_they_are_centred(spectrum, make):
    S = spectrum()
    kernel = Standardised(make(S).scaled(1.8), 0.3)
    U, (known, background) = S.vertex_vectors, kernel.part.values_on_spectrum()
    t = (U * (known - background) * U).sum(axis=1) + background
    usual = S.relative_memberships >= 1
    whole = (kernel.scale(np.arange(S.num_vertices)) ** 2 * t)[usual]
    assert np.allclose(whole, whole[0], rtol=1e-10)


@every_spectrum
@every_filter
def test_the_diagonal_is_that_of_the_gram_matrix(spectrum, make):
    for level in (0.0, 0.7):
        kernel = Standardised(make(spectrum()).scaled(1.8), 0.3, level=level)
        assert np.allclose(np.diag(kernel.gram()), kernel.diagonal(), atol=1e-10)


def test_where_the_trivial_direction_has_all_the_weight_it_is_scaled_to_a_constant():
    spectrum = Spectrum.of(CONNECTED)
    scale = Standardised(Diffusion(spectrum, 60.0)).scale(np.arange(20))
    trivial = (scale * np.sqrt(CONNECTED.vertex_degrees))[spectrum.relative_memberships >= 1]
    assert np.ptp(trivial) < 1e-6 * trivial.mean()


@every_spectrum
def test_the_constant_is_removed_and_nothing_else_of_the_null_space(spectrum):
    """Before scaling: U W U' has no part along what is nearest to a constant at eigenvalue 0, and all of the rest."""
    S = spectrum()
    centred = S.centred_vectors(np.arange(S.num_vertices))
    U = S.vertex_vectors
    null = U[:, S.eigenvalues < 1e-9]
    constant = null @ null.sum(axis=0)
    constant /= np.linalg.norm(constant)
    assert np.abs(constant @ centred).max() < 1e-10
    lost = U @ U.T - centred @ U.T
    assert np.allclose(lost, np.outer(constant, constant), atol=1e-9)


def test_on_a_connected_hypergraph_the_trivial_direction_is_the_root_of_the_degree():
    centred = Spectrum.of(CONNECTED).centred_vectors(np.arange(20))
    assert np.abs(np.sqrt(CONNECTED.vertex_degrees) @ centred).max() < 1e-10


def test_levels_of_components_stay_relative_to_one_another():
    K = Standardised(Diffusion(Spectrum.of(PARTS), 50.0), 1e-3).gram()  # nothing but levels is left
    K = K / np.sqrt(np.outer(np.diag(K), np.diag(K)))
    one, other = np.arange(4), np.arange(4, 9)
    assert K[np.ix_(one, one)].min() > 0.9
    assert K[np.ix_(other, other)].min() > 0.9
    assert K[np.ix_(one, other)].max() < -0.9


def test_the_level_is_a_constant_with_a_variance_of_its_own():
    part = Walk(Spectrum.of(PARTS))
    plain, levelled = Standardised(part).gram(), Standardised(part, level=0.7).gram()
    assert np.allclose(levelled - plain, 0.7, atol=1e-12)
    assert Standardised(part, level=0.7).rank == Standardised(part).rank + 1


def test_a_relative_level_follows_the_variance():
    part = Walk(Spectrum.of(PARTS), variance=3.0)
    plain, levelled = (Standardised(part, level=0.7, relative_level=r) for r in (0.0, 0.5))
    assert np.allclose(levelled.gram() - plain.gram(), 1.5, atol=1e-12)
    assert np.allclose(levelled.diagonal(), np.diag(levelled.gram()))
    assert levelled.level_variance == 2.2
    assert levelled.scaled(2.0).level_variance == 4.4
    assert (levelled + levelled).level_variance == 4.4
    assert (levelled * levelled).level_variance == 0.0


def test_a_vertex_is_its_own_as_far_as_its_memberships_are_not_reliable():
    kernel = Standardised(Walk(Spectrum.of(PARTS), variance=3.0), 2.0)
    rows, memberships = np.arange(kernel.num_vertices), kernel.spectrum.relative_memberships
    q = np.minimum(1.0, 3 * memberships / (memberships + 2))
    own = kernel.own_shares(rows)
    assert np.allclose(own, 1 - q)
    assert own[-1] == 1.0  # isolated
    # Beside another kernel, of which nothing is a vertex's own, as a share of the variance of both.
    other = SquaredExponential(rows[:, None].astype(float), variance=1.0)
    assert np.allclose((kernel + other).own_shares(rows), 0.75 * own)


def test_the_number_of_memberships_speaks_by_itself_in_one_direction_only():
    part, counts = Walk(Spectrum.of(PARTS), variance=1.7), np.diff(PARTS.incidence.indptr)
    h = np.sqrt(counts / counts.mean())
    h = h - h.mean()
    plain, active = (Standardised(part, activity=activity, level=0.4).gram() for activity in (0.0, 0.3))
    assert np.allclose(active - plain, 1.7 * 0.3 * np.outer(h, h), atol=1e-12)


def test_where_all_have_as_many_memberships_their_number_says_nothing():
    ring = Hypergraph.from_edges([[i, (i + 1) % 6] for i in range(6)])
    part = Walk(Spectrum.of(ring))
    assert np.allclose(Standardised(part, activity=5.0).gram(), Standardised(part).gram(), atol=1e-12)


def test_how_the_level_is_divided_between_mean_and_kernel_does_not_matter():
    """A constant prior mean shifts predictions only by how much the level's own prior holds on to it."""
    K = Standardised(Walk(Spectrum.of(CONNECTED)), level=1e8).gram()
    rows, y = np.arange(10), np.sin(np.arange(10.0))[:, None]
    found = [oracles.posterior(K, rows, y, 0.1, np.array([mean]))[0] for mean in (0.0, 5.0)]
    assert np.allclose(*found, atol=1e-5)


@every_spectrum
def test_where_nothing_is_evened_variances_are_the_filters_own(spectrum):
    """For vertices with as many memberships as is typical: relative to their mean, as U W U' has them."""
    S = spectrum()
    kernel = Standardised(Matern(S, 1.5, 3.0, variance=1.8), 0.3, evenness=0.0)
    vectors, (known, background) = S.centred_vectors(np.arange(S.num_vertices)), kernel.part.values_on_spectrum()
    v = vectors**2 @ (known - background) + background
    usual = S.relative_memberships >= 1
    assert np.allclose(
        kernel.diagonal()[usual],
        1.8 * v[usual] / v[usual].mean(),
        atol=1e-10,
    )


@pytest.mark.parametrize("individuality", [0.01, 0.5, 100.0])
def test_what_is_a_vertexs_own_falls_with_its_memberships(individuality):
    H = Hypergraph.from_edges([list("abcd"), list("bcde"), list("cdef"), list("cd")], vertices=list("abcdefg"))
    kernel = Standardised(Walk(Spectrum.of(H)), individuality)
    remainder = kernel.remainder(kernel.inputs(np.arange(7)))
    c = np.array([1, 2, 4, 4, 2, 1, 0]) / 2
    q = np.minimum(1.0, c * (1 + individuality) / (c + individuality))
    told = kernel.diagonal() - remainder
    excess = np.maximum(1.0, told / np.maximum(q, 1e-300))
    assert np.allclose(remainder, (1 - q) / (1 - q + q * excess), atol=1e-10)
    assert remainder[-1] == pytest.approx(1.0)  # isolated
    assert np.allclose(remainder[1:5], 0.0, atol=1e-10)  # as many as is typical, or more


def test_the_usual_variance_is_that_of_vertices_with_as_many_memberships_as_are_usual():
    for S in (Spectrum.of(CONNECTED), Spectrum.of(WEIGHTED), Spectrum.of(PARTS)):
        variances = Standardised(Walk(S, variance=1.7)).diagonal()
        assert variances[S.relative_memberships >= 1].mean() == pytest.approx(1.7)


NOTHING_LEFT = {
    "one vertex": Hypergraph.from_edges([["a"]]),
    "one hyperedge of all": Hypergraph.from_edges([list("abcd")]),
    "no hyperedge": Hypergraph.from_edges([], vertices=list("abc")),
    "hyperedges without members": Hypergraph.from_edges([[], []], vertices=list("abc")),
    "an edge of all, as a graph": Hypergraph.from_edges([list("abc")]).clique_expansion(),
    "a graph without edges": Hypergraph.from_edges([], vertices=list("abc")).clique_expansion(),
}


@every_filter
@pytest.mark.parametrize("H", NOTHING_LEFT.values(), ids=NOTHING_LEFT)
def test_where_centring_leaves_nothing_vertices_are_on_their_own_and_nothing_is_nan(make, H):
    for level, evenness in ((0.0, 1.0), (0.5, 0.3)):
        kernel = Standardised(make(Spectrum.of(H)), level=level, evenness=evenness)
        K, everything = kernel.gram(), kernel.inputs(np.arange(kernel.num_vertices))
        assert np.allclose(K, np.eye(len(K)) + level, atol=1e-9)
        probe = np.random.default_rng(0).standard_normal(K.shape)
        assert np.isfinite(kernel.pull_back(everything, everything, probe)).all()


def test_only_a_filter_can_be_standardised():
    with pytest.raises(TypeError, match=r"must be a filter of a spectrum\. Got Standardised"):
        Standardised(Standardised(Walk(Spectrum.of(PARTS))))
    with pytest.raises(ValueError, match="`individuality` must be positive"):
        Standardised(Walk(Spectrum.of(PARTS)), 0.0)
    with pytest.raises(ValueError, match=r"`evenness` must lie between 0 and 1. Got 1.2"):
        Standardised(Walk(Spectrum.of(PARTS)), evenness=1.2)
    with pytest.raises(ValueError, match="`level` must be positive"):
        Standardised(Walk(Spectrum.of(PARTS)), level=-1.0)


def test_a_step_of_the_walk_is_the_linear_model_on_memberships():
    A = Spectrum.of(CONNECTED).source.incidence.scipy().toarray()
    assert np.allclose(Walk(Spectrum.of(CONNECTED), 1.0, normalise=False).gram(), A @ A.T, atol=1e-10)
    assert np.allclose(Walk(Spectrum.of(CONNECTED), 3.0, normalise=False).gram(), np.linalg.matrix_power(A @ A.T, 3))


def test_a_shape_of_ones_is_the_walk_itself():
    S = Spectrum.of(CONNECTED)
    assert np.allclose(ShapedWalk(S, 1.7).gram(), Walk(S, 1.7).gram(), atol=1e-14)


def test_log_deviations_of_a_shape_are_its_cosines():
    S, shape = Spectrum.of(CONNECTED), np.array([2.0, 0.5, 1.7])
    inner = S.eigenvalues[S.eigenvalues > 1e-9]
    s = np.sqrt(1 - inner)
    x = (s - s.min()) / (s.max() - s.min())
    expected = sum(np.log(c) / j * np.cos(np.pi * j * x) for j, c in enumerate(shape, 1))
    found = np.log(ShapedWalk(S, 1.2, shape).filter(inner) / Walk(S, 1.2).filter(inner))
    assert np.allclose(found, expected, atol=1e-10)


@pytest.mark.parametrize("level", [0.0, 1.0])
def test_slopes_of_a_gram_matrix_are_those_of_covariances_between_equal_vertices(level):
    kernel = Standardised(ShapedWalk(Spectrum.of(random_hypergraph(30, 20, seed=0))), level=level)
    one, other = kernel.inputs(np.arange(12)), kernel.inputs(np.arange(12))
    adjoint = np.random.default_rng(0).normal(size=(12, 12))  # not symmetric
    assert np.allclose(kernel.pull_back(one, one, adjoint), kernel.pull_back(one, other, adjoint), rtol=1e-10)
    expected = parameters.pull_back(kernel, lambda moved: moved.cross(one, one), adjoint)
    assert np.allclose(kernel.pull_back(one, one, adjoint), expected, rtol=1e-8)
