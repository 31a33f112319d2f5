"""Small hypergraphs drawn: hyperedges as shaded regions, as the other side of a bipartite graph, or as cliques."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.patches import Polygon
from scipy.sparse.csgraph import minimum_spanning_tree, shortest_path
from scipy.spatial import ConvexHull
from scipy.spatial.distance import pdist, squareform

from hypergauss._checks import Values
from hypergauss.hypergraph import Hypergraph
from hypergauss.hypergraph.names import Name
from hypergauss.kernels import Kernel
from hypergauss.plotting.figures import BLUE, GREEN, GREY, ORANGE, PURPLE, RED, SKY, new_axes
from hypergauss.plotting.labels import write_names

_COLOURS = (BLUE, ORANGE, GREEN, PURPLE, RED, SKY)
#: Vertices beyond which no drawing can be read.
_MOST = 200
#: Vertices beyond which regions would cover those who are no members: hyperedges are ribbons then.
_REGIONS = 30
#: Rounds of stress majorisation, which moves little after them.
_ROUNDS = 200
_CIRCLE = np.column_stack([np.cos(np.linspace(0, 2 * np.pi, 24)), np.sin(np.linspace(0, 2 * np.pi, 24))])


def layout(H: Hypergraph) -> np.ndarray:
    """Return places for the vertices, shape (N, 2), such that distances follow those in the bipartite graph.

    Stress majorisation (de Leeuw, 1977) of shortest paths through hyperedges, from classical scaling. Parts that are
    not connected lie a step more apart than half the longest path.
    """
    _check_small(H)
    adjacency = H.star_expansion().adjacency.copy()
    adjacency.data[:] = 0.5  # half a step into a hyperedge, half a step out
    distances = shortest_path(adjacency, directed=False)
    finite = distances[np.isfinite(distances)]
    distances[~np.isfinite(distances)] = finite.max(initial=1.0) / 2 + 1.0
    n = len(distances)
    centring = np.eye(n) - 1.0 / n
    values, vectors = np.linalg.eigh(-centring @ distances**2 @ centring / 2)
    X = vectors[:, :-3:-1] * np.sqrt(np.maximum(values[:-3:-1], 1e-3))
    X = X + 1e-3 * np.random.default_rng(0).standard_normal(X.shape)  # twins must not lie on one another
    weights = 1.0 / np.maximum(distances, 0.25) ** 2
    np.fill_diagonal(weights, 0.0)
    laplacian = np.diag(weights.sum(axis=1)) - weights
    inverse = np.linalg.pinv(laplacian)
    for _ in range(_ROUNDS):
        apart = np.linalg.norm(X[:, None] - X[None], axis=2)
        B = -weights * distances / np.maximum(apart, 1e-9)
        np.fill_diagonal(B, 0.0)
        np.fill_diagonal(B, -B.sum(axis=1))
        X = inverse @ (B @ X)
    return X[: H.num_vertices]


def draw_hypergraph(
    H: Hypergraph,
    *,
    positions: np.ndarray | None = None,
    values: Values | None = None,
    sizes: Values | None = None,
    labels: bool = True,
    cmap: str = "viridis",
    ax: Axes | None = None,
) -> Axes:
    """Draw hyperedges as shaded regions around their vertices.

    Of more than 30 vertices, hyperedges are ribbons along the shortest tree that joins their members, which pass by
    those who are none. Names stand where they overlap neither each other nor the dots.

    Parameters
    ----------
    H : Hypergraph
        Of at most 200 vertices.
    positions : array, shape (N, 2), optional
        Places of the vertices; `layout` finds them.
    values : array, shape (N,), optional
        Numbers to colour the vertices by, such as a posterior mean; a scale is drawn beside them.
    sizes : array, shape (N,), optional
        Positive numbers, such as standard deviations: the larger, the larger the vertex.
    labels : bool
        Write the names.
    cmap : str
        Colours for the values.
    """
    _check_small(H)
    is_crowded = H.num_vertices > _REGIONS
    ax = new_axes(ax, size=(9, 7) if is_crowded else (5, 4))
    X = layout(H) if positions is None else np.asarray(positions, dtype=float)
    unit = _unit(X)
    columns = H.incidence.tocsc()
    order = np.argsort(-np.diff(columns.indptr), kind="stable")  # large ones first, so that small ones lie on top
    for rank, edge in enumerate(order):
        rows = columns.indices[columns.indptr[edge] : columns.indptr[edge + 1]]
        if len(rows):
            colour = _COLOURS[edge % len(_COLOURS)]
            if is_crowded:
                _ribbon(X[rows], colour, ax)
            else:
                _region(X[rows], unit * (0.34 + 0.05 * (rank % 4)), colour, ax)
    dots = _dots(X, values, sizes, cmap, ax)
    _framed(X, unit, ax)
    if labels:
        _names(H, X, dots, ax)
    return ax


def draw_bipartite(H: Hypergraph, *, ax: Axes | None = None) -> Axes:
    """Draw vertices on the left, hyperedges on the right, and a line for each membership."""
    _check_small(H)
    ax = new_axes(ax)
    left = np.column_stack([np.zeros(H.num_vertices), _heights(H.num_vertices)])
    right = np.column_stack([np.ones(H.num_edges), _heights(H.num_edges)])
    matrix = H.incidence.tocoo()
    for v, e in zip(matrix.row, matrix.col, strict=True):
        ax.plot([0, 1], [left[v, 1], right[e, 1]], color=_COLOURS[e % len(_COLOURS)], lw=1.2, alpha=0.7, zorder=1)
    ax.scatter(left[:, 0], left[:, 1], s=70, color="0.2", edgecolor="white", zorder=3)
    for e, (x, y) in enumerate(right):
        ax.scatter(x, y, s=90, marker="s", color=_COLOURS[e % len(_COLOURS)], edgecolor="white", zorder=3)
    for name, (x, y) in zip(H.vertices, left, strict=True):
        ax.text(x - 0.06, y, str(name), ha="right", va="center", fontsize="small")
    for name, (x, y) in zip(H.edges, right, strict=True):
        ax.text(x + 0.06, y, str(name), ha="left", va="center", fontsize="small")
    ax.set(xlim=(-0.5, 1.5), ylim=(-0.12, 1.12))
    ax.axis("off")
    return ax


def draw_clique_expansion(
    H: Hypergraph, *, weighted: bool = True, positions: np.ndarray | None = None, ax: Axes | None = None
) -> Axes:
    """Draw the graph that joins vertices sharing a hyperedge, as wide as their weight (paper, Appendix A.2)."""
    _check_small(H)
    ax = new_axes(ax)
    X = layout(H) if positions is None else np.asarray(positions, dtype=float)
    links = H.clique_expansion(weighted=weighted).adjacency.tocoo()
    upper = links.row < links.col
    pairs, weights = np.stack([links.row[upper], links.col[upper]], axis=1), links.data[upper]
    lines = LineCollection(list(X[pairs]), linewidths=3.5 * weights / weights.max(initial=1.0), colors=GREY)
    ax.add_collection(lines)
    dots = _dots(X, None, None, "viridis", ax)
    _framed(X, _unit(X), ax)
    _names(H, X, dots, ax)
    return ax


def kernel_from_vertex(
    H: Hypergraph, kernel: Kernel, vertex: Name, *, positions: np.ndarray | None = None, ax: Axes | None = None
) -> Axes:
    """Draw a hypergraph coloured by each vertex's prior correlation with one of them, which a ring marks."""
    row = int(H.vertex_rows([vertex], argument="vertex")[0])
    K = np.asarray(kernel.gram(np.array([row]), np.arange(H.num_vertices)))[0]
    spread = np.sqrt(np.asarray(kernel.diagonal()))
    X = layout(H) if positions is None else np.asarray(positions, dtype=float)
    ax = draw_hypergraph(H, positions=X, values=K / (spread * spread[row]), cmap="magma", ax=ax)
    ax.scatter(X[row, 0], X[row, 1], s=260, facecolor="none", edgecolor=RED, lw=2, zorder=4)
    return ax


def _check_small(H: Hypergraph) -> None:
    if H.num_vertices > _MOST or H.num_vertices == 0:
        raise ValueError(
            f"A drawing is for 1 to {_MOST} vertices. Got {H.num_vertices:,}. Take a `subhypergraph`, or draw a map: "
            "`maps.draw_map(SpectralEmbedding().fit_transform(H), classes)`."
        )


def _unit(X: np.ndarray) -> float:
    """Return a length that suits the drawing: the median distance to the nearest neighbour, within bounds."""
    if len(X) < 2:
        return 1.0
    apart = np.linalg.norm(X[:, None] - X[None], axis=2)
    np.fill_diagonal(apart, np.inf)
    return float(np.clip(np.median(apart.min(axis=1)), 0.05 * np.ptp(X) + 1e-9, 0.3 * np.ptp(X) + 1e-9))


def _region(points: np.ndarray, radius: float, colour: str, ax: Axes) -> None:
    """Shade the convex hull of circles around some points."""
    cloud = (points[:, None] + radius * _CIRCLE[None]).reshape(-1, 2)
    corners = cloud[ConvexHull(cloud).vertices]
    ax.add_patch(Polygon(corners, closed=True, fc=(colour, 0.16), ec=(colour, 0.75), lw=1.3, zorder=1))


def _ribbon(points: np.ndarray, colour: str, ax: Axes) -> None:
    """Draw a band along the shortest tree through some points, and a disc on each of them."""
    tree = minimum_spanning_tree(squareform(pdist(points)) + 1e-12).tocoo()
    segments = points[np.stack([tree.row, tree.col], axis=1)]
    ax.add_collection(
        LineCollection(list(segments), linewidths=4.5, colors=[(colour, 0.4)], capstyle="round", zorder=1)
    )
    ax.plot(*points.T, "o", ms=11, mfc=(colour, 0.3), mec="none", zorder=1)


def _dots(X: np.ndarray, values: Values | None, sizes: Values | None, cmap: str, ax: Axes) -> np.ndarray:
    """Draw the vertices, and return their radii in points."""
    full = 1.0 if len(X) <= _REGIONS else 0.4
    area = full * (
        np.full(len(X), 70.0) if sizes is None else 30 + 260 * np.asarray(sizes, dtype=float) / np.max(sizes)
    )
    style: Mapping[str, Any] = {"color": "0.2"} if values is None else {"c": np.asarray(values), "cmap": cmap}
    dots = ax.scatter(X[:, 0], X[:, 1], s=area, edgecolor="white", lw=0.8, zorder=3, **style)
    if values is not None:
        ax.figure.colorbar(dots, ax=ax, shrink=0.75, pad=0.02)
    return np.sqrt(area) / 2


def _names(H: Hypergraph, X: np.ndarray, dots: np.ndarray, ax: Axes) -> None:
    letters = 9.0 if len(X) <= _REGIONS else 7.0 if len(X) <= _MOST // 2 else 6.0
    write_names([str(name) for name in H.vertices], X, ax, dots=dots, size=letters)


def _framed(X: np.ndarray, unit: float, ax: Axes) -> None:
    low, high = X.min(axis=0) - 0.8 * unit, X.max(axis=0) + 0.8 * unit
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), aspect="equal")
    ax.axis("off")


def _heights(n: int) -> np.ndarray:
    return np.linspace(1, 0, n) if n > 1 else np.full(n, 0.5)
