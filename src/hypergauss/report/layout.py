"""Where each vertex lies on the page's map: each connected part in a rectangle of its own, neighbours together."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from hypergauss.estimators.domain import Domain
from hypergauss.hypergraph import Graph, Hypergraph
from hypergauss.report.neighbours import placed
from hypergauss.spectrum import zhou_laplacian
from hypergauss.spectrum.coordinates import spectral_coordinates
from hypergauss.spectrum.leading import leading_subspace

#: Eigenvectors in which neighbours are looked for.
_DIMENSIONS = 8
#: Parts larger than this have eigenvectors, and of those the largest few; others are drawn as discs.
_SMALL, _FEW = 8, 40
#: Beyond so many vertices, eigenvectors of a part are approximate.
_LARGE = 20_000
#: The share of its rectangle that a part leaves empty on each side, and the shape of the whole, width by height.
_MARGIN, _SHAPE = 0.1, 1.5
#: A part's share of the map grows with its size to this power, so that small ones can be seen.
_GROWTH = 0.75
#: Vertices that no hyperedge joins to others take this share of the map at most.
_ALONE = 0.15
_GOLDEN = np.pi * (3 - np.sqrt(5))


class Map(NamedTuple):
    """Places in [0, 1], shape (N,) each, and a sentence about what they are."""

    x: np.ndarray
    y: np.ndarray
    text: str


def vertex_map(domain: Domain) -> Map:
    """Lay out the vertices of all relations together."""
    joint = _joint(domain)
    _, labels = connected_components(sp.block_array([[None, joint], [joint.T, None]], format="csr"), directed=False)
    part_of = pd.factorize(labels[: joint.shape[0]])[0]
    counts = np.bincount(part_of)
    alone = np.flatnonzero(counts[part_of] == 1)
    members = np.split(np.argsort(part_of, kind="stable"), np.cumsum(counts)[:-1])
    parts = [members[part] for part in np.argsort(-counts, kind="stable") if counts[part] > 1]
    groups = parts + ([alone] if len(alone) else [])
    rng = np.random.default_rng(0)
    x, y = np.empty(len(part_of)), np.empty(len(part_of))
    for number, (group, (left, bottom, width, height)) in enumerate(zip(groups, _rooms(parts, alone), strict=True)):
        is_placed = number < min(len(parts), _FEW) and len(group) > _SMALL
        own = _unit(_part(joint, group, rng)) if is_placed else 0.5 + _sunflower(len(group)) / 2
        margin = _MARGIN if len(groups) > 1 else 0.0
        x[group] = (left + width * (margin + (1 - 2 * margin) * own[:, 0])) / _SHAPE
        y[group] = bottom + height * (margin + (1 - 2 * margin) * own[:, 1])
    return Map(x, y, _sentence(len(parts), len(alone)))


def _rooms(parts: list[np.ndarray], alone: np.ndarray) -> list[tuple[float, float, float, float]]:
    """Return a rectangle for each part, and one below for all that are alone."""
    areas = np.array([len(part) for part in parts], dtype=float) ** _GROWTH
    lonely = min(len(alone) ** _GROWTH, _ALONE / (1 - _ALONE) * areas.sum()) if len(parts) else 1.0
    share = lonely / (lonely + areas.sum()) if len(alone) else 0.0
    rooms = _boxes(areas, (0.0, share, _SHAPE, 1.0 - share))
    return rooms + ([(0.0, 0.0, _SHAPE, share)] if len(alone) else [])


def _sentence(parts: int, alone: int) -> str:
    text = "A map of neighbours: vertices that a random walk along hyperedges joins closely lie together. Directions"
    text += " and distances between far groups mean nothing."
    if parts > 1:
        text += f" The {parts:,} separate parts of the hypergraph each have a place of their own."
    if alone:
        text += f" {'One vertex that is' if alone == 1 else f'{alone:,} vertices that are'} in no hyperedge with others"
        text += f" {'lies' if alone == 1 else 'lie'} apart."
    return text


def _joint(domain: Domain) -> sp.csr_array:
    """Return the incidence of all relations side by side; a graph's links are hyperedges of two."""
    return sp.csr_array(sp.hstack([_incidence(relation) for relation in domain.relations.values()]))


def _incidence(relation: Hypergraph | Graph) -> sp.csr_array:
    if isinstance(relation, Hypergraph):
        return sp.csr_array(relation.incidence @ sp.diags_array(np.sqrt(relation.weights)))
    links = sp.coo_array(sp.triu(relation.adjacency, k=1))
    m = links.nnz
    ends = np.concatenate([links.row, links.col]), np.tile(np.arange(m), 2)
    return sp.csr_array((np.tile(np.sqrt(links.data), 2), ends), shape=(relation.num_vertices, m))


def _part(joint: sp.csr_array, group: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return places of one connected part, shape (n, 2)."""
    own = sp.csc_array(joint[group])
    own = own[:, np.diff(own.indptr) > 0]
    H = Hypergraph.from_incidence(sp.csr_array(own))
    values, vectors = _coordinates(H)
    degree = np.sqrt(H.vertex_degrees)
    # Coordinates of the random walk after a step: what fades at once says little of who is near.
    points = vectors / degree[:, None] * (1.0 - values)
    return placed(points, rng)


def _coordinates(H: Hypergraph) -> tuple[np.ndarray, np.ndarray]:
    """Return the smallest eigenvalues without the trivial one, and eigenvectors: of a large part, as heat finds them.

    For a map they need not be exact.
    """
    if H.num_vertices <= _LARGE:
        return spectral_coordinates(H, min(_DIMENSIONS, H.num_vertices - 1))
    operator = zhou_laplacian(H).multiplier()
    found = leading_subspace(operator.in_single(), _DIMENSIONS + 1, np.random.default_rng(0))
    values, vectors = found.values, operator.array(found.vectors).astype(float)
    return values[1:], vectors[:, 1:]


def _sunflower(n: int) -> np.ndarray:
    """Return n places that fill the unit disc evenly."""
    number = np.arange(n)
    radius = np.sqrt((number + 0.5) / n)
    return np.column_stack([radius * np.cos(number * _GOLDEN), radius * np.sin(number * _GOLDEN)])


def _unit(places: np.ndarray) -> np.ndarray:
    """Return places in [0, 1]; half of each coordinate is its rank, so that a group far out does not take the map."""
    return np.column_stack([(_share(column) + _share(pd.Series(column).rank().to_numpy())) / 2 for column in places.T])


def _share(values: np.ndarray) -> np.ndarray:
    low, high = values.min(), values.max()
    return (values - low) / (high - low) if high > low else np.full(len(values), 0.5)


def _boxes(areas: np.ndarray, box: tuple[float, float, float, float]) -> list[tuple[float, float, float, float]]:
    """Divide a rectangle (left, bottom, width, height) by areas, largest first: halves of like area, side by side."""
    if len(areas) <= 1:
        return [box] * len(areas)
    left, bottom, width, height = box
    total = np.cumsum(areas)
    cut = int(np.clip(np.searchsorted(total, total[-1] / 2) + 1, 1, len(areas) - 1))
    share = float(total[cut - 1] / total[-1])
    if width >= height:
        first: Any = (left, bottom, width * share, height)
        rest: Any = (left + width * share, bottom, width * (1 - share), height)
    else:
        first = (left, bottom + height * (1 - share), width, height * share)
        rest = (left, bottom, width, height * (1 - share))
    return _boxes(areas[:cut], first) + _boxes(areas[cut:], rest)
