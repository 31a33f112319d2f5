"""Maps of vertices: points coloured by class, shaded hulls, ellipses of uncertainty, and labels that do not overlap."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Ellipse, Polygon
from matplotlib.transforms import Bbox
from scipy.spatial import ConvexHull, QhullError
from scipy.stats import chi2

from hypergauss._checks import Labels, Values
from hypergauss.plotting.figures import BLUE, GREEN, GREY, ORANGE, PURPLE, RED, SKY, new_axes

#: A colour and a marker for each class: either alone tells classes apart. Okabe and Ito's colours, yellow left out.
STYLES = (
    (BLUE, "o"),
    (ORANGE, "s"),
    (GREEN, "^"),
    (RED, "D"),
    (PURPLE, "v"),
    (SKY, "p"),
    ("#000000", "X"),
    (GREY, "*"),
)
#: Directions in which a label may stand from its point, right first, and distances in points that are tried in turn.
_ANGLES = np.deg2rad([0, 180, 45, 135, -45, -135, 90, -90, 22, 158, -22, -158, 68, 112, -68, -112])
_DISTANCES = (5, 9, 14, 20, 28, 38, 50, 65, 82, 100)
#: Distance in points from which a line joins a label to its point.
_LEADER = 12
#: Width at which a label of several names breaks, in characters.
_LABEL_WIDTH = 26


def draw_map(
    coordinates: Values,
    classes: Labels,
    *,
    names: Mapping[int, str] | Sequence[str] | None = None,
    covariances: Values | None = None,
    level: float = 0.5,
    hulls: bool = True,
    markersize: float = 28,
    fontsize: float = 7,
    legend: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """Draw the first two coordinates of each vertex.

    Parameters
    ----------
    coordinates : array, shape (N, 2 or more)
        The map.
    classes : array, shape (N,)
        The class of each vertex, for its colour and marker; eight at most.
    names : sequence of str, or dict of row to name, optional
        Labels for all vertices, or some. Vertices in one place share a label; labels that find no room are left out.
    covariances : array, shape (N, 2, 2), optional
        Of each vertex's coordinates, drawn as the ellipse that holds the share ``level`` of the probability.
    hulls : bool
        Shade the convex hull of each class.
    """
    ax = new_axes(ax)
    X, y = np.asarray(coordinates, dtype=float)[:, :2], np.asarray(classes)
    kinds = np.unique(y)
    if len(kinds) > len(STYLES):
        raise ValueError(f"A map must have at most {len(STYLES)} classes to be told apart. Got {len(kinds)}.")
    for kind, (colour, marker) in zip(kinds, STYLES, strict=False):
        mine = y == kind
        if hulls:
            _shade(X[mine], colour, ax)
        if covariances is not None:
            for centre, covariance in zip(X[mine], np.asarray(covariances)[mine], strict=True):
                ax.add_patch(_ellipse(centre, covariance[:2, :2], level, colour))
        ax.scatter(
            X[mine, 0],
            X[mine, 1],
            s=markersize,
            color=colour,
            marker=marker,
            lw=0.4,
            ec="white",
            zorder=3,
            label=str(kind),
        )
    ax.set(xticks=[], yticks=[])
    ax.set_aspect("equal", adjustable="datalim")  # maps side by side keep one frame
    ax.margins(0.08)
    for side in ax.spines.values():
        side.set_color("0.8")
    if legend:
        ax.legend(frameon=False, fontsize="small", loc="best")
    if names is not None:
        place_labels(X, names if isinstance(names, Mapping) else dict(enumerate(names)), fontsize=fontsize, ax=ax)
    return ax


def place_labels(coordinates: np.ndarray, names: Mapping[int, str], *, fontsize: float, ax: Axes) -> list[str]:
    """Write names beside their points so that none covers a point or another name; return those without room.

    Greedy, in the order of the crowd around each point: every label takes the nearest free place among a fan of
    directions and distances, and a thin line leads to it if it is far.
    """
    figure = ax.figure
    figure.canvas.draw()  # a layout engine moves axes when drawing, and labels are placed in pixels
    renderer = figure.canvas.get_renderer()  # type: ignore[attr-defined]
    pixels = figure.dpi / 72
    points = ax.transData.transform(coordinates)
    obstacles = [Bbox.from_bounds(px - 3 * pixels, py - 3 * pixels, 6 * pixels, 6 * pixels) for px, py in points]
    legend = ax.get_legend()
    if legend is not None:
        obstacles.append(legend.get_window_extent(renderer))
    frame = ax.get_window_extent(renderer)
    left_out = []
    for row, name in _crowded_last(points, _by_place(points, names)):
        text = ax.annotate(
            name,
            coordinates[row],
            (0, 0),
            textcoords="offset points",
            fontsize=fontsize,
            ha="center",
            va="center",
            zorder=4,
            linespacing=1.05,
            color="0.15",
        )
        box = text.get_window_extent(renderer)
        place = _free_place(points[row], box.width, box.height, pixels, obstacles, frame)
        if place is None:
            text.remove()
            left_out.append(name)
            continue
        centre, distance = place
        text.set_position(tuple((centre - points[row]) / pixels))
        half = np.array([box.width, box.height]) / 2
        obstacles.append(Bbox([centre - half, centre + half]).padded(pixels))
        if distance >= _LEADER:
            ends = ax.transData.inverted().transform([points[row], centre])
            ax.plot(*ends.T, color="0.6", lw=0.5, zorder=1)
            text.set_bbox({"boxstyle": "square,pad=0.05", "fc": "white", "ec": "none", "alpha": 0.75})
    return left_out


def _free_place(
    point: np.ndarray, width: float, height: float, pixels: float, obstacles: Iterable[Bbox], frame: Bbox
) -> tuple[np.ndarray, float] | None:
    """Return the centre of the nearest place where a box of this size meets nothing, and its distance in points."""
    taken = np.array([box.extents for box in obstacles])
    half = np.array([width, height]) / 2
    for distance in _DISTANCES:
        for angle in _ANGLES:
            direction = np.array([np.cos(angle), np.sin(angle)])
            centre = point + direction * (distance * pixels + np.abs(direction) * half)
            low, high = centre - half, centre + half
            if (low < frame.min).any() or (high > frame.max).any():
                continue
            apart = (taken[:, 2:] <= low).any(axis=1) | (taken[:, :2] >= high).any(axis=1)
            if apart.all():
                return centre, distance
    return None


def _by_place(points: np.ndarray, names: Mapping[int, str]) -> list[tuple[int, str]]:
    """Return one label a place, of all the names of the vertices there (to a tenth of a pixel)."""
    rows = sorted(names, key=lambda row: (tuple(points[row].round(1)), row))
    shared = [list(group) for _, group in groupby(rows, key=lambda row: tuple(points[row].round(1)))]
    return [(group[0], _wrapped([names[row] for row in group])) for group in shared]


def _wrapped(names: Sequence[str]) -> str:
    """Join names with commas in lines of moderate length, never inside a name."""
    lines = [""]
    for position, name in enumerate(names):
        word = name + ("," if position < len(names) - 1 else "")
        if lines[-1] and len(lines[-1]) + len(word) > _LABEL_WIDTH:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return "\n".join(lines)


def _crowded_last(points: np.ndarray, labels: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """Order labels: large ones first, since they need most room, then those with close neighbours."""
    rows = np.array([row for row, _ in labels])
    squares = ((points[rows][:, None] - points[None]) ** 2).sum(axis=2)
    crowd = np.exp(-squares / 50.0**2).sum(axis=1)
    return [labels[i] for i in sorted(range(len(labels)), key=lambda i: (-labels[i][1].count("\n"), crowd[i]))]


def _shade(X: np.ndarray, colour: str, ax: Axes) -> None:
    """Shade the convex hull of points; two points, or points in line, make a line."""
    style = {"fc": colour, "ec": colour, "alpha": 0.15, "lw": 1.2, "zorder": 1}
    try:
        corners = X[ConvexHull(X).vertices]
    except (QhullError, ValueError):  # fewer than three points, or all on one line
        direction = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[2][0]
        along = (X - X.mean(axis=0)) @ direction
        corners = X[[along.argmin(), along.argmax()]]
    ax.add_patch(Polygon(corners, closed=True, **style))


def _ellipse(centre: np.ndarray, covariance: np.ndarray, level: float, colour: str) -> Ellipse:
    """Return the ellipse around a centre that holds a share of a two-dimensional normal distribution."""
    values, vectors = np.linalg.eigh(covariance)
    radii = np.sqrt(chi2.ppf(level, 2) * np.maximum(values, 0.0))
    angle = float(np.degrees(np.arctan2(vectors[1, 1], vectors[0, 1])))
    ellipse = Ellipse((float(centre[0]), float(centre[1])), 2 * radii[1], 2 * radii[0], angle=angle, lw=0.6)
    ellipse.set_facecolor((colour, 0.05))
    ellipse.set_edgecolor((colour, 0.5))
    return ellipse
