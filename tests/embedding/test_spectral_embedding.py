import numpy as np
import pytest
from sklearn.base import clone

from hypergauss import Graph, Hypergraph, SpectralEmbedding
from hypergauss.datasets import load_zoo, make_planted_hypergraph
from hypergauss.spectrum import graph_laplacian, zhou_laplacian
from tests import oracles
from tests.hypergraphs import random_hypergraph


def test_coordinates_are_the_laplacians_smallest_eigenvectors_but_the_trivial_one():
    H = load_zoo().hypergraph
    model = SpectralEmbedding(n_components=4).fit(H)
    values, _ = np.linalg.eigh(oracles.zhou_laplacian(H))
    assert np.allclose(model.eigenvalues_, values[1:5], atol=1e-10)
    delta = oracles.zhou_laplacian(H)
    assert np.allclose(delta @ model.embedding_, model.embedding_ * model.eigenvalues_, atol=1e-8)
    assert np.allclose(model.embedding_.T @ model.embedding_, np.eye(4), atol=1e-10)
    assert np.allclose(np.sqrt(H.vertex_degrees) @ model.embedding_, 0.0, atol=1e-8)


def test_the_sparse_solver_finds_the_same():
    H = make_planted_hypergraph(600, 400, 3, random_state=0).hypergraph
    model = SpectralEmbedding(n_components=3).fit(H)
    laplacian = oracles_laplacian(H)
    values, vectors = np.linalg.eigh(laplacian)
    trivial = np.sqrt(H.vertex_degrees) / np.linalg.norm(np.sqrt(H.vertex_degrees))
    values, vectors = np.linalg.eigh(laplacian + np.outer(trivial, trivial))
    assert np.allclose(model.eigenvalues_, values[:3], atol=1e-8)
    projector = vectors[:, :3] @ vectors[:, :3].T
    assert np.allclose(projector @ model.embedding_, model.embedding_, atol=1e-5)


def oracles_laplacian(H):
    """Zhou's Laplacian with matrix products, for a size at which loops would take minutes."""
    R = H.incidence.toarray()
    with np.errstate(divide="ignore"):
        left, right = (np.where(d > 0, 1 / np.sqrt(d), 0.0) for d in (R @ H.weights, R.sum(axis=0)))
    A = left[:, None] * R * right * np.sqrt(H.weights)
    return np.eye(len(R)) - A @ A.T


def test_parts_without_connection_lie_apart():
    H = Hypergraph.from_edges([["a", "b", "c"], ["d", "e"]])
    model = SpectralEmbedding(n_components=1).fit(H)
    assert model.eigenvalues_[0] == pytest.approx(0.0, abs=1e-12)
    signs = np.sign(model.embedding_[:, 0])
    assert signs[0] == signs[1] == signs[2] != signs[3] == signs[4]


EMPTY = Hypergraph.from_incidence(np.zeros((4, 2)))
CASES = {"awkward": random_hypergraph(12, 8, seed=1), "empty": EMPTY, "graph": load_zoo().hypergraph.clique_expansion()}


@pytest.mark.parametrize("H", CASES.values(), ids=CASES)
def test_whatever_is_embedded_has_orthonormal_eigenvectors_of_the_smallest_eigenvalues(H):
    model = SpectralEmbedding(n_components=3).fit(H)
    laplacian = (graph_laplacian(H) if isinstance(H, Graph) else zhou_laplacian(H)).dense()
    X, values = model.embedding_, model.eigenvalues_
    assert np.allclose(laplacian @ X, X * values, atol=1e-8)
    assert np.allclose(X.T @ X, np.eye(3), atol=1e-8)
    trivial = 0 if H.vertex_degrees.any() else None  # without degrees there is none to leave out
    expected = np.linalg.eigvalsh(laplacian) if trivial is None else np.delete(np.linalg.eigvalsh(laplacian), trivial)
    assert np.allclose(values, expected[:3], atol=1e-8)


def test_parameters_can_be_set_and_cloned():
    model = SpectralEmbedding().set_params(n_components=3)
    assert clone(model).get_params() == {"n_components": 3}


@pytest.mark.parametrize(
    ("n_components", "H", "error", "message"),
    [
        (
            3,
            Hypergraph.from_edges([["a", "b", "c"]]),
            ValueError,
            "between 1 and 2 .the hypergraph has 3 vertices.. Got 3",
        ),
        (0, Hypergraph.from_edges([["a", "b", "c"]]), ValueError, "between 1 and 2"),
        (1, Hypergraph.from_edges([["a"]]), ValueError, "at least two vertices. Got 1"),
        (2, np.ones((3, 3)), TypeError, "must be a Hypergraph or a Graph. Got ndarray"),
    ],
)
def test_what_cannot_be_embedded_is_explained(n_components, H, error, message):
    with pytest.raises(error, match=message):
        SpectralEmbedding(n_components).fit(H)
