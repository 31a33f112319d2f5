"""Names beside dots that overlap neither each other nor the dots."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patheffects import withStroke
from matplotlib.text import Annotation

#: How far from its dot, in points, a name may stand, and in how many directions it is tried there.
_RINGS = ((0.0, 8), (5.0, 16), (11.0, 16), (19.0, 24), (29.0, 24), (41.0, 32), (55.0, 32))
#: Points of air around a name.
_AIR = 0.6


def write_names(names: Sequence[str], X: np.ndarray, ax: Axes, *, dots: np.ndarray, size: float) -> list[Annotation]:
    """Write a name beside each place, where nothing else stands; farther ones get a line to their dot.

    The view must be final: places are found in points of the page. Those in a crowd choose first. Names for which no
    place is left within an inch or so are left out, and a line in the corner says how many.

    Parameters
    ----------
    names : sequence of N str
        What to write.
    X : array, shape (N, 2)
        The places, in the units of the axes.
    ax : Axes
        Where to.
    dots : array, shape (N,)
        Radii of the dots, in points.
    size : float
        Of the letters, in points.
    """
    figure = ax.get_figure(root=True)
    if figure is None or not len(names):
        return []
    figure.draw_without_rendering()  # layouts are settled when something is drawn
    points = 72.0 / figure.dpi
    places = ax.transData.transform(X) * points
    frame = ax.get_window_extent().bounds
    low = np.array(frame[:2]) * points
    high = low + np.array(frame[2:]) * points
    texts = [
        ax.annotate(n, x, (0, 0), textcoords="offset points", ha="center", va="center")
        for n, x in zip(names, X, strict=True)
    ]
    for text in texts:
        text.set(fontsize=size, zorder=5, path_effects=[withStroke(linewidth=2.0, foreground="white")])
    extents = [text.get_window_extent() for text in texts]
    halves = np.array([[box.width, box.height] for box in extents]) * points / 2 + _AIR
    taken = np.stack([places - dots[:, None], places + dots[:, None]], axis=1)  # boxes: (low, high) corners
    apart = np.linalg.norm(places[:, None] - places[None], axis=2)
    crowd = (apart < 4 * size).sum(axis=1)
    without = 0
    for at in np.argsort(-crowd, kind="stable"):
        found = _free(places[at], halves[at], dots[at], taken, low, high)
        if found is None:
            texts[at].remove()
            without += 1
            continue
        offset, is_far = found
        texts[at].set_position(tuple(offset))
        centre = places[at] + offset
        taken = np.concatenate([taken, [[centre - halves[at], centre + halves[at]]]])
        if is_far:
            _lead(texts[at], offset, halves[at], ax)
    if without:
        note = f"{without} name{'s' if without > 1 else ''} without a place: draw larger"
        ax.text(0.99, 0.01, note, transform=ax.transAxes, ha="right", va="bottom", fontsize=7, color="0.35")
    return [text for text in texts if text.axes is not None]


def _free(
    place: np.ndarray, half: np.ndarray, dot: float, taken: np.ndarray, low: np.ndarray, high: np.ndarray
) -> tuple[np.ndarray, bool] | None:
    """Return the nearest offset at which a box meets none that is taken, and whether it is away from its dot."""
    for number, (distance, directions) in enumerate(_RINGS):
        angles = np.pi / 2 + 2 * np.pi * np.arange(directions) / directions  # above first, where people look
        way = np.column_stack([np.cos(angles), np.sin(angles)])
        # A box touches its dot where its side does: as far out as it is wide in that direction.
        reach = np.minimum(half[0] / np.maximum(np.abs(way[:, 0]), 1e-9), half[1] / np.maximum(np.abs(way[:, 1]), 1e-9))
        offsets = way * (reach + dot + _AIR + distance)[:, None]
        centres = place + offsets
        first, last = centres - half, centres + half
        meets = ((first[:, None] < taken[None, :, 1]) & (last[:, None] > taken[None, :, 0])).all(axis=2).any(axis=1)
        inside = ((first >= low) & (last <= high)).all(axis=1)
        free = np.flatnonzero(inside & ~meets)
        if len(free):
            return offsets[free[0]], number > 1
    return None


def _lead(text: Annotation, offset: np.ndarray, half: np.ndarray, ax: Axes) -> None:
    """Draw a thin line from a dot to its name."""
    side = offset - np.clip(offset, -half, half)  # where the box of the name begins
    ax.annotate(
        "", text.xy, tuple(side), textcoords="offset points", arrowprops={"arrowstyle": "-", "color": "0.45", "lw": 0.5}
    )
