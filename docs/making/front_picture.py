"""The pictures of the front page: what is known, what follows from it, and how sure that is, by a fitted model.

One drawing each, so that they stand side by side on a desk and below one another on a phone, for light and dark.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import Normalize

import hypergauss as hg

#: Who signed which bill; two camps, with Eva and Noe between them.
BILLS = {
    "schools": ["Ana", "Luis", "Rosa", "Eva"],
    "roads": ["Luis", "Rosa", "Ivo"],
    "clinics": ["Ana", "Ivo"],
    "harbour": ["Juan", "Mara", "Noe"],
    "taxes": ["Juan", "Paz", "Mara"],
    "courts": ["Eva", "Noe"],
}
KNOWN = {"Ana": -2.0, "Ivo": -1.6, "Juan": 1.5, "Paz": 2.0}
PLACES = {"Ana": (0.9, 2.6), "Luis": (0.8, 1.5), "Rosa": (1.1, 0.4), "Ivo": (0, 1.6), "Eva": (1.9, 1.8)}
PLACES |= {"Noe": (2.7, 1.1), "Juan": (3.5, 2.3), "Mara": (3.6, 0.7), "Paz": (4.4, 1.6)}
#: Ink, faint ink and paper of the two schemes.
SCHEMES = {"light": ("#1c1e21", "#6b7280", "#ffffff"), "dark": ("#e6e6e6", "#9ca3af", "#131416")}
_SPAN = Normalize(-2.2, 2.2)
_COLOURS = "coolwarm"


def fitted():
    """Return the hypergraph, and mean and standard deviation of every vertex."""
    H = hg.Hypergraph.from_edges(BILLS)
    kernel = hg.kernels.Matern(hg.Spectrum.of(H), nu=1.5, lengthscale=4.0, variance=3.0)
    model = hg.HypergraphGPRegressor(H, kernel, learn=False, noise_variance=0.01, scale_target=False)
    model.fit(list(KNOWN), list(KNOWN.values()))
    return H, *model.predict(H.vertices, return_std=True)


def draw_people(ax, H, values, scheme):
    """Draw who signed what, coloured by values, blank where there are none."""
    ink, faint, paper = SCHEMES[scheme]
    places = np.array([PLACES[name] for name in H.vertices])
    hg.drawing.draw_hypergraph(H, positions=places, labels=False, ax=ax)
    for dots in [*ax.collections]:
        dots.remove()  # in their place, larger ones with names inside reach
    has = ~np.isnan(values)
    ax.scatter(*places[~has].T, s=230, color=paper, edgecolor=faint, linestyle="--", zorder=5)
    ax.scatter(*places[has].T, s=230, c=values[has], cmap=_COLOURS, norm=_SPAN, edgecolor=ink, zorder=5)
    for name, place in zip(H.vertices, places, strict=True):
        ax.annotate(name, place, (0, -20), textcoords="offset points", ha="center", zorder=6)


def draw_intervals(ax, H, mean, std, scheme):
    """Draw a mean and a 90% interval for everybody, lowest first."""
    ink, faint, _ = SCHEMES[scheme]
    order = np.argsort(mean)
    rows = np.arange(len(order))
    ax.errorbar(mean[order], rows, xerr=1.645 * std[order], fmt="none", ecolor=faint, elinewidth=2)
    ax.scatter(mean[order], rows, s=80, c=mean[order], cmap=_COLOURS, norm=_SPAN, edgecolor=ink, zorder=3)
    ax.set_yticks(rows, [H.vertices[i] for i in order])
    ax.tick_params(length=0)
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)


def parts(scheme):
    """Return the three drawings by name: each takes the axes that it goes to."""
    H, mean, std = fitted()
    known = np.array([KNOWN.get(name, np.nan) for name in H.vertices])
    return {
        "known": lambda ax: draw_people(ax, H, known, scheme),
        "predicted": lambda ax: draw_people(ax, H, mean, scheme),
        "intervals": lambda ax: draw_intervals(ax, H, mean, std, scheme),
    }


def style(scheme):
    """Return matplotlib's settings for a scheme."""
    ink, faint, paper = SCHEMES[scheme]
    inks = {"text.color": ink, "xtick.color": ink, "ytick.color": ink, "axes.edgecolor": faint}
    return inks | {"axes.facecolor": paper, "figure.facecolor": paper, "font.size": 11, "svg.hashsalt": "front"}


def write(folder):
    """Write ``front-known-light.svg`` and its five companions."""
    for scheme in SCHEMES:
        with plt.rc_context(style(scheme)):
            for name, draw in parts(scheme).items():
                figure, ax = plt.subplots(figsize=(4.4, 3.1), layout="constrained")
                draw(ax)
                figure.savefig(folder / f"front-{name}-{scheme}.svg", metadata={"Date": None})
                plt.close(figure)


def write_side_by_side(path):
    """Write the three drawings as one picture on white, with what each of them shows above it."""
    titles = {
        "known": "Known: who signed which bill,\nand where four of them stand",
        "predicted": "Predicted:\nwhere the others stand",
        "intervals": "Honest: 90% intervals,\nlong where little is known",
    }
    with plt.rc_context(style("light")):
        figure = plt.figure(figsize=(13, 3.8), layout="constrained")
        for part, (name, draw) in zip(figure.subfigures(1, 3), parts("light").items(), strict=True):
            draw(part.subplots())
            part.suptitle(titles[name], fontsize=13)
        figure.savefig(path, dpi=110, metadata={"Software": None})
        plt.close(figure)
