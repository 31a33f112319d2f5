"""New vertices predicted by what they change around them, held against dense systems of the grown hypergraph."""

import gc
import weakref

import numpy as np
import pytest
import scipy.sparse as sp

import hypergauss as hg
from hypergauss import Hypergraph, Spectrum, kernels
from hypergauss.datasets import make_planted_hypergraph
from hypergauss.exceptions import ConvergenceError
from hypergauss.solvers import Prior, Sites, solver_for
from hypergauss.solvers.markov import newcomers
from hypergauss.solvers.markov.field import Field
from hypergauss.spectrum import zhou_laplacian
from tests.hypergraphs import random_hypergraph


def posterior_of(H, nu=2, lengthscale=3.0, outputs=1, **options):
    kernel = kernels.Matern(Spectrum.matrix_free(H, n_probes=4), nu=float(nu), lengthscale=lengthscale)
    rng = np.random.default_rng(0)
    rows = np.sort(rng.permutation(H.num_vertices)[: H.num_vertices // 3])
    sites = Sites(rows, rng.standard_normal((len(rows), outputs)), rng.uniform(0.05, 2.0, len(rows)))
    options = {"tolerance": 1e-7} | options
    return solver_for(kernel, rows, hg.Markov(**options)).posterior(Prior(kernel, np.arange(outputs) - 0.3), sites)


def rows_of(H, members):
    """Return the rows of new vertices, each a dict of hyperedge to number."""
    rows = [np.zeros(H.num_edges) for _ in members]
    for row, own in zip(rows, members, strict=True):
        for edge, number in own.items():
            row[H.edges.get_loc(edge)] = number
    return sp.csr_array(np.array(rows))


def expected(posterior, H, members):
    """Return means and variances of the new vertices by (Q + W)^-1 on the grown hypergraph."""
    names = [("new", j) for j in range(len(members))]
    grown = H.with_vertices([*H.vertices, *names])
    for name, own in zip(names, members, strict=True):
        grown = grown.with_members({edge: {name: number} for edge, number in own.items()})
    field, N = Field.of(posterior.prior.kernel), H.num_vertices
    Q = np.linalg.matrix_power(np.eye(len(grown)) + zhou_laplacian(grown).dense() / field.c, field.nu) / field.s
    w, targets = np.zeros(len(grown)), np.zeros((len(grown), len(posterior.prior.mean)))
    w[posterior.sites.rows] = 1 / posterior.sites.variance
    targets[posterior.sites.rows] = posterior.sites.mean - posterior.prior.mean
    S = np.linalg.inv(Q + np.diag(w))
    return posterior.prior.mean + (S @ (w[:, None] * targets))[N:], np.diag(S)[N:]


def check(posterior, H, members, atol=1e-6):
    found = posterior.of_new_vertices(rows_of(H, members), H.weights)
    mean, variance = expected(posterior, H, members)
    sd = np.sqrt(variance)
    assert np.abs((found.mean - mean) / sd[:, None]).max() < atol
    assert np.abs(np.sqrt(found.variance) / sd - 1).max() < atol
    return found


def strip(length, width):
    """Return hyperedges of ``width`` neighbours along a line: hops reach little further."""
    return Hypergraph.from_edges([list(range(j, j + width)) for j in range(length)])


PLANTED = make_planted_hypergraph(600, 500, random_state=1).hypergraph
TWO = Hypergraph.from_edges(
    [[("a", v) for v in range(j, j + 3)] for j in range(300)] + [[("b", v) for v in range(j, j + 3)] for j in range(12)]
)
BROAD = make_planted_hypergraph(20_000, 20_000, random_state=1).hypergraph
CASES = {
    "weighted memberships, isolated vertices, empty hyperedges": random_hypergraph(400, 300, seed=2, density=0.01),
    "planted": PLANTED,
    "strip": strip(800, 3),
    "two components": TWO,
}


@pytest.mark.parametrize("nu", [1, 2, 3])
@pytest.mark.parametrize("H", CASES.values(), ids=CASES)
def test_a_new_vertex_is_predicted_as_by_conditioning_on_the_grown_hypergraph(H, nu):
    rng = np.random.default_rng(nu)
    posterior = posterior_of(H, nu)
    for _ in range(3):
        chosen = rng.choice(H.num_edges, 4, replace=False)
        check(posterior, H, [dict(zip(H.edges[chosen], rng.uniform(0.3, 2.0, 4), strict=True))])


@pytest.mark.parametrize("share", [0.0, 1.0], ids=["on all vertices", "on the vertices around"])
def test_parts_and_the_whole_lead_to_the_same(share, monkeypatch):
    monkeypatch.setattr(newcomers, "MOST_SOLVED", share)
    monkeypatch.setattr(newcomers, "_MOST_LOOKED_AT", share)
    for nu in (1, 2, 3):
        check(posterior_of(PLANTED, nu), PLANTED, [{PLANTED.edges[j]: 1.0 for j in (3, 50, 400)}])


def test_several_newcomers_are_there_together_and_outputs_share_a_system():
    H = CASES["strip"]
    posterior = posterior_of(H, outputs=3)
    check(posterior, H, [{100: 1.0, 101: 2.0}, {101: 1.0, 700: 1.0}, {}])


def test_newcomers_without_members_to_meet():
    H = CASES["weighted memberships, isolated vertices, empty hyperedges"]
    empty = H.edges[np.flatnonzero(H.edge_degrees == 0)]
    assert len(empty)
    check(posterior_of(H), H, [{}])
    check(posterior_of(H), H, [{empty[0]: 1.5}])


@pytest.mark.parametrize("lengthscale", [1.0, 10.0, 40.0])
def test_a_field_that_reaches_far_is_followed_as_far(lengthscale):
    H = strip(1000, 4)
    check(posterior_of(H, lengthscale=lengthscale), H, [{480: 1.0, 482: 1.0}])


def test_errors_are_within_the_tolerance_that_is_asked_for():
    H = CASES["planted"]
    posterior = posterior_of(H, tolerance=1e-10)
    check(posterior, H, [{H.edges[j]: 1.0 for j in (9, 77, 123)}], atol=1e-9)


@pytest.mark.parametrize("lengthscale", [5.0, 20.0])
def test_errors_are_within_the_default_tolerance_where_a_smooth_signal_is_hardly_pinned(lengthscale):
    H = make_planted_hypergraph(900, 130, random_state=3).hypergraph
    for nu in (1, 2):
        posterior = posterior_of(H, nu, lengthscale, tolerance=1e-6)
        for seed in range(3):
            chosen = np.random.default_rng(seed).choice(H.num_edges, 4, replace=False)
            check(posterior, H, [dict.fromkeys(H.edges[chosen], 1.0)])


def test_nothing_is_multiplied_that_was_not_asked_for():
    H = strip(4000, 4)
    posterior = posterior_of(H, lengthscale=2.0)
    posterior.mean(np.arange(2))
    before = posterior.num_products
    for members in ({2000: 1.0}, {100: 1.0, 101: 1.0}):
        found = posterior.of_new_vertices(rows_of(H, [members]), H.weights)
        assert "mean" not in vars(found)
        assert "variance" not in vars(found)
        assert np.isfinite([*found.mean[0], *found.variance]).all()
    assert posterior.num_products - before == 2  # of the mean that is known, once for all newcomers


def test_products_of_a_mean_where_everything_is_near():
    posterior = posterior_of(BROAD, tolerance=1e-6)
    posterior.of_new_vertices(rows_of(BROAD, [{0: 1.0}]), BROAD.weights)
    before = posterior.num_products
    found = posterior.of_new_vertices(rows_of(BROAD, [dict.fromkeys(range(5), 1.0)]), BROAD.weights)
    assert np.isfinite(found.mean).all()
    of_mean = posterior.num_products - before
    assert 0 < of_mean <= 16
    assert np.isfinite(found.variance).all()
    assert posterior.num_products - before <= of_mean + 16


def test_a_system_that_does_not_settle_says_so(monkeypatch):
    monkeypatch.setattr(newcomers, "MOST_SOLVED", 0.0)
    posterior = posterior_of(PLANTED)
    posterior.mean(np.arange(1))
    rows = rows_of(PLANTED, [{PLANTED.edges[0]: 1.0}])
    few = newcomers.Newcomers(posterior._ground, rows, PLANTED.weights, hg.Markov(max_iterations=2))
    with pytest.raises(ConvergenceError, match="did not settle within 2 steps"):
        _ = few.mean


def test_what_depends_on_sizes_has_no_shorter_way():
    kernel = kernels.Matern(Spectrum.matrix_free(PLANTED, 0.5, n_probes=4), nu=2.0)
    sites = Sites(np.arange(5), np.ones((5, 1)), np.ones(5))
    posterior = solver_for(kernel, sites.rows, "markov").posterior(Prior(kernel, np.zeros(1)), sites)
    assert posterior.of_new_vertices(rows_of(PLANTED, [{PLANTED.edges[0]: 1.0}]), PLANTED.weights) is None


def test_memory_is_free_once_a_prediction_is_done_with():
    posterior = posterior_of(PLANTED)
    gc.disable()
    try:
        found = posterior.of_new_vertices(rows_of(PLANTED, [{PLANTED.edges[0]: 1.0}]), PLANTED.weights)
        assert np.isfinite(found.mean).all()
        search = weakref.ref(found._search)
        del found
        assert search() is None
    finally:
        gc.enable()
