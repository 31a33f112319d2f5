"""Pages of 435, 8,124 and 100,000 vertices in Chromium: how soon they open, and how soon a hover is answered.

Planted hypergraphs of these sizes, since what a browser does depends on how much a page holds. A page is open when its
script has run and what it drew is on the screen; a hover is answered when the tip shows and the frame after it is
drawn. Each page is opened in a browser that has just opened an empty one, and the middle of several times is kept.
"""

from __future__ import annotations

import shutil
import statistics
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import hypergauss as hg
from hypergauss.datasets import make_planted_hypergraph

#: Vertices, hyperedges, observed vertices, and the seconds in which a page must open.
SIZES = ((435, 48, 300, 1.0), (8_124, 116, 406, 2.0), (100_000, 2_000, 1_000, 3.0))
#: Memberships of a vertex, on average: as many as there are attributes in votes and in mushrooms.
MEMBERSHIPS = 16
#: Milliseconds within which a hover must be answered.
HOVER = 50.0
_OPENINGS, _HOVERS = 5, 20
_FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
_PAINTED = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())))"
_ANSWER = """([x, y]) => new Promise((done) => {
    const map = document.getElementById("map"), box = map.getBoundingClientRect(), start = performance.now();
    map.dispatchEvent(new PointerEvent("pointermove", { clientX: box.left + x, clientY: box.top + y, bubbles: true }));
    const own = performance.now() - start;
    requestAnimationFrame(() => setTimeout(() => done([performance.now() - start, own]), 0)); })"""


class Timing(NamedTuple):
    """Of one page: vertices, bytes, seconds until it is written and open, milliseconds of hovers.

    A hover has two: until the frame after it is drawn, which waits for the machine, and in the page's own script.
    """

    vertices: int
    size: int
    written: float
    opened: list[float]
    hovers: list[tuple[float, float]]
    limit: float

    def line(self) -> str:
        """Return a line of the outcome."""
        middle = statistics.median(self.opened)
        (hover, _), (most, own) = np.quantile(self.hovers, [0.5, 0.95], axis=0)
        is_met = middle < self.limit and most < HOVER
        return (
            f"{self.vertices:>8,} {self.size / 1e6:8.2f} {self.written:9.1f} {middle:9.2f} {max(self.opened):7.2f} "
            f"{self.limit:6.0f} {hover:10.1f} {most:8.1f} {HOVER:6.0f} {own:7.1f}   {'met' if is_met else 'missed'}"
        )


HEADER = "vertices       MB  written s   open s    most  limit   hover ms      95%  limit  script"


def write_page(path: Path, vertices: int, edges: int, observed: int) -> float:
    """Write the page of a planted hypergraph, its vertices shuffled; return the seconds that took."""
    made = make_planted_hypergraph(vertices, edges, 8, mean_extra=MEMBERSHIPS * vertices / edges, random_state=0)
    rows = np.random.default_rng(0).permutation(vertices)[:observed]
    labels = np.where(made.signal > 0, "above", "below")[rows]
    spectrum = hg.Spectrum.of(made.hypergraph, rank=min(100, edges))
    model = hg.HypergraphGPClassifier(made.hypergraph, hg.kernels.Diffusion(spectrum, beta=5.0), learn=False)
    names = made.hypergraph.vertices[rows]
    model.fit(names, labels)
    start = time.perf_counter()
    hg.write_report(model, path, dict(zip(names, labels, strict=True)), title=f"{vertices:,} vertices")
    return time.perf_counter() - start


def timings(folder: Path) -> list[Timing]:
    """Return the timings of each size."""
    from playwright.sync_api import sync_playwright

    found = []
    with sync_playwright() as running:
        browser = running.chromium.launch(executable_path=shutil.which("chromium"), args=_FLAGS)
        for vertices, edges, observed, limit in SIZES:
            path = folder / f"{vertices}.html"
            written = write_page(path, vertices, edges, observed)
            opened: list[float] = []
            hovers: list[tuple[float, float]] = []
            for _ in range(_OPENINGS):
                page = browser.new_page(viewport={"width": 1280, "height": 900})
                page.goto("about:blank")
                start = time.perf_counter()
                page.goto(path.as_uri())
                page.evaluate(_PAINTED)
                opened.append(time.perf_counter() - start)
                hovers += _hovers(page)
                page.close()
            found.append(Timing(vertices, path.stat().st_size, written, opened, hovers, limit))
        browser.close()
    return found


def _hovers(page: Any) -> list[tuple[float, float]]:
    box = page.locator("#map").bounding_box()
    places = np.random.default_rng(0).uniform(0.05, 0.95, (_HOVERS, 2)) * [box["width"], box["height"]]
    return [tuple(page.evaluate(_ANSWER, place.tolist())) for place in places]
