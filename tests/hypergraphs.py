"""Hypergraphs to test with: drawn by Hypothesis, or random from a seed."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from hypergauss import Hypergraph

#: Wide, tall and square.
SHAPES = ((6, 4), (4, 7), (8, 8))


@st.composite
def hypergraphs(draw, shapes=SHAPES):
    """Draw a hypergraph with any of: weights, edge-dependent incidence, isolated, empty, singleton, repeated."""
    N, M = draw(st.sampled_from(shapes))
    incidence = draw(arrays(bool, (N, M))).astype(float)
    if draw(st.booleans(), label="edge-dependent incidence"):
        incidence *= draw(arrays(float, (N, M), elements=st.sampled_from([0.25, 1.0, 1.5, 4.0])))
    weights = np.ones(M)
    if draw(st.booleans(), label="weights"):
        weights = draw(arrays(float, M, elements=st.sampled_from([0.1, 1.0, 2.0, 7.0])))
    return Hypergraph.from_incidence(
        _with_awkward_parts(
            incidence,
            repeated=draw(st.booleans(), label="repeated"),
            singleton=draw(st.booleans(), label="singleton"),
            isolated=draw(st.booleans(), label="isolated"),
            empty=draw(st.booleans(), label="empty"),
        ),
        vertices=[f"v{i}" for i in range(N)],
        edges=[f"e{j}" for j in range(M)],
        weights=weights,
    )


def random_hypergraph(N, M, *, seed, density=0.35, awkward=True):
    """Return a random hypergraph with weights and edge-dependent incidence, and all awkward parts if wanted."""
    rng = np.random.default_rng(seed)
    incidence = (rng.random((N, M)) < density) * rng.uniform(0.5, 2.0, (N, M))
    if awkward:
        incidence = _with_awkward_parts(incidence, repeated=True, singleton=True, isolated=True, empty=True)
    return Hypergraph.from_incidence(incidence, vertices=[f"v{i}" for i in range(N)], weights=rng.uniform(0.5, 3.0, M))


def hypergraph_of_sizes(num_vertices, sizes, *, seed):
    """Return an unweighted hypergraph whose hyperedges have the given sizes, members drawn uniformly."""
    rng = np.random.default_rng(seed)
    members = [rng.choice(num_vertices, size, replace=False) for size in sizes]
    return Hypergraph.from_edges(members, vertices=range(num_vertices))


def relabelled(H, order):
    """Return the hypergraph with its vertices in another order."""
    return H.subhypergraph(vertices=H.vertices[order])


def _with_awkward_parts(incidence, *, repeated, singleton, isolated, empty):
    if repeated:
        incidence[:, -1] = incidence[:, -2]
    if singleton:
        incidence[:, 1] = 0.0
        incidence[2, 1] = 1.0
    if isolated:
        incidence[0] = 0.0
    if empty:
        incidence[:, 0] = 0.0
    return incidence
