"""The ``hyperedge_index`` of PyTorch Geometric <-> Hypergraph: two rows of numbers, vertex above hyperedge."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hypergauss import _checks
from hypergauss._checks import Values
from hypergauss.hypergraph import Hypergraph
from hypergauss.io.given import check_hypergraph


class HyperedgeIndex(NamedTuple):
    """What PyTorch Geometric's `HypergraphConv` takes, as NumPy arrays (`torch.from_numpy` makes tensors of them).

    Attributes
    ----------
    hyperedge_index : array of int64, shape (2, number of incidences)
        Vertices and hyperedges by number, sorted by hyperedge.
    hyperedge_weight : array, shape (M,)
        w(e).
    incidence_weight : array, shape (number of incidences,)
        r(v, e).
    """

    hyperedge_index: np.ndarray
    hyperedge_weight: np.ndarray
    incidence_weight: np.ndarray


def from_hyperedge_index(
    hyperedge_index: Values,
    *,
    num_vertices: int | None = None,
    num_edges: int | None = None,
    weights: Values | None = None,
) -> Hypergraph:
    """Return the hypergraph of a ``hyperedge_index``, an array or tensor of shape (2, number of incidences).

    Parameters
    ----------
    hyperedge_index : array or tensor of whole numbers
        Row 0 holds vertices, row 1 hyperedges, both from 0.
    num_vertices, num_edges : int, optional
        How many there are, for those without incidence at the end; one more than the largest number if not given.
    weights : array or tensor of shape (M,), optional
        w(e).

    Examples
    --------
    >>> from_hyperedge_index([[0, 1, 2, 1], [0, 0, 0, 1]], num_vertices=4)
    Hypergraph(4 vertices, 2 hyperedges, 4 incidences)
    """
    index = np.asarray(hyperedge_index)
    if index.size == 0 and index.ndim == 2 and index.shape[0] == 2:
        index = index.astype(np.int64)
    if index.ndim != 2 or index.shape[0] != 2 or index.dtype.kind not in "iu":
        raise ValueError(
            f"`hyperedge_index` must be whole numbers of shape (2, incidences). Got {index.dtype}, shape {index.shape}."
        )
    if index.size and index.min() < 0:
        raise ValueError(f"`hyperedge_index` must count from 0. Got {index.min()}.")
    sizes = []
    for name, given, row in (("num_vertices", num_vertices, index[0]), ("num_edges", num_edges, index[1])):
        least = int(row.max(initial=-1)) + 1
        sizes.append(least if given is None else _checks.count(name, given, least=least))
    return Hypergraph.from_table(
        {"vertex": index[0], "edge": index[1]},
        vertex="vertex",
        edge="edge",
        vertices=range(sizes[0]),
        edges=range(sizes[1]),
        weights=None if weights is None else np.asarray(weights, dtype=float),
    )


def to_hyperedge_index(H: Hypergraph) -> HyperedgeIndex:
    """Return vertices and hyperedges by their positions in ``H.vertices`` and ``H.edges``, and both kinds of weights.

    Examples
    --------
    >>> to_hyperedge_index(Hypergraph.from_edges([["a", "b"], ["b"]])).hyperedge_index
    array([[0, 1, 1],
           [0, 0, 1]])
    """
    check_hypergraph(H)
    matrix = H.incidence.tocoo()
    order = np.lexsort((matrix.row, matrix.col))
    pairs = np.stack([matrix.row[order], matrix.col[order]]).astype(np.int64)
    return HyperedgeIndex(pairs, H.weights.copy(), matrix.data[order])
