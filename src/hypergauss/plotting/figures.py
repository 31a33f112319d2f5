"""Pictures: each function draws on a given Axes (or a new one) and returns it. Colours suit the colour-blind."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.patheffects import withStroke
from scipy.stats import norm

from hypergauss._checks import Labels, Values
from hypergauss.kernels import SpectralKernel, Standardised
from hypergauss.learning.size_exponent import Profile
from hypergauss.metrics import Reliability

#: Okabe and Ito (2008): told apart by all common forms of colour vision.
BLUE, ORANGE, GREEN, RED, PURPLE, SKY, YELLOW, GREY = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#D55E00",
    "#CC79A7",
    "#56B4E9",
    "#F0E442",
    "#7F7F7F",
)


def predicted_against_observed(
    y: Values, mean: Values, std: Values, *, level: float = 0.9, ax: Axes | None = None
) -> Axes:
    """Draw predictions with their central intervals against what was observed; those that miss stand out."""
    ax = new_axes(ax)
    y, mean, std = (np.asarray(values, dtype=float) for values in (y, mean, std))
    half = norm.ppf(0.5 + level / 2) * std
    inside = np.abs(y - mean) <= half
    for which, colour, label in ((inside, BLUE, "covers"), (~inside, RED, "misses")):
        share = f"{level:.0%} interval {label} the observation ({which.mean():.0%})"
        ax.errorbar(
            y[which],
            mean[which],
            half[which],
            fmt="o",
            ms=4,
            color=colour,
            ecolor=colour,
            alpha=0.65,
            lw=0.8,
            label=share,
        )
    ends = [min(y.min(), mean.min()), max(y.max(), mean.max())]
    ax.plot(ends, ends, color=GREY, lw=1, zorder=0)
    ax.set(xlabel="observed", ylabel="predicted")
    ax.legend(frameon=False, fontsize="small", loc="upper left")
    return ax


def reliability_diagram(
    reliability: Reliability, *, ax: Axes | None = None, label: str | None = None, counts: bool = True
) -> Axes:
    """Draw accuracy against confidence, bin by bin: honest probabilities lie on the diagonal.

    Points below it are overconfident. A point's area grows with the vertices in its bin, whose number stands beside
    it; the dotted lines are the gaps that the calibration error averages. Draw again on the same Axes with another
    ``label`` to compare classifiers: each takes the next colour. ``counts=False`` leaves the numbers out.
    """
    ax = new_axes(ax)
    if not ax.has_data():
        ax.plot([0, 1], [0, 1], color=GREY, lw=1, zorder=0)
        ax.set(xlabel="confidence: probability of the predicted class", ylabel="accuracy", aspect="equal")
        ax.set(xlim=(0, 1.05), ylim=(-0.08, 1.08))
        ax.set_prop_cycle(color=[BLUE, RED, GREEN, PURPLE, ORANGE])
    held = reliability.counts > 0
    confidence, accuracy, numbers = reliability.confidence[held], reliability.accuracy[held], reliability.counts[held]
    (line,) = ax.plot(confidence, accuracy, lw=1, alpha=0.5)
    colour = line.get_color()
    ax.vlines(confidence, confidence, accuracy, color=colour, lw=1.2, ls=":")
    error = f"calibration error {reliability.calibration_error():.3f}"
    ax.scatter(
        confidence,
        accuracy,
        s=20 + 160 * numbers / numbers.max(),
        color=colour,
        edgecolor="white",
        zorder=3,
        label=error if label is None else f"{label}: {error}",
    )
    for x, y, count in zip(confidence, accuracy, numbers, strict=True) if counts else ():
        # On the side away from the diagonal, clear of the dotted line.
        side = 1 if y > x else -1
        ax.annotate(
            f"{count:,}",
            (x, y),
            xytext=(0, side * 8),
            textcoords="offset points",
            ha="center",
            va="bottom" if side > 0 else "top",
            color=colour,
            fontsize="x-small",
            path_effects=[withStroke(linewidth=2.5, foreground="white")],  # legible over another classifier's lines
        )
    ax.legend(frameon=False, fontsize="small", loc="lower right", markerscale=0.6)
    return ax


def spectrum_and_filter(kernel: SpectralKernel | Standardised, *, ax: Axes | None = None) -> Axes:
    """Draw the filter a spectral kernel has learned, over marks at the hypergraph's eigenvalues.

    Of a standardised kernel the trivial eigenvalue is left out, as it is from the kernel.
    """
    ax = new_axes(ax)
    part = kernel.part if isinstance(kernel, Standardised) else kernel
    spectrum = part.eigenspectrum
    grid, eigenvalues = np.linspace(0.0, spectrum.upper, 200)[:-1], spectrum.eigenvalues
    if isinstance(kernel, Standardised):
        eigenvalues = eigenvalues[eigenvalues > 1e-9]
        grid = grid[grid >= eigenvalues.min(initial=spectrum.upper)]
    curve, marks = (part.filter(points) for points in (grid, eigenvalues))
    top = curve.max(initial=float(marks.max(initial=0.0))) or 1.0
    ax.semilogy(grid, curve / top, color=BLUE, lw=1.5, label="filter")
    ax.semilogy(eigenvalues, marks / top, "|", color=RED, ms=9, label=f"{len(eigenvalues)} eigenvalues")
    ax.set(xlabel="eigenvalue of the Laplacian", ylabel="prior variance, relative", xlim=(0, spectrum.upper))
    ax.legend(frameon=False, fontsize="small")
    return ax


def size_exponent_profile(profile: Profile, *, ax: Axes | None = None) -> Axes:
    """Draw log evidence and prior at every size exponent that a search tried, relative to Zhou's Laplacian at 0."""
    ax = new_axes(ax)
    at_zero = profile.objectives[np.flatnonzero(profile.exponents == 0.0)[0]]
    ax.plot(profile.exponents, profile.objectives - at_zero, "o-", color=BLUE, ms=4, lw=1)
    ax.axvline(profile.size_exponent, color=RED, lw=1, ls="--", label=f"chosen: {profile.size_exponent:g}")
    ax.set(xlabel="size exponent a", ylabel="log evidence and prior, above a = 0")
    ax.legend(frameon=False, fontsize="small")
    return ax


def learning_trace(trace: Values, *, label: str | None = None, ax: Axes | None = None) -> Axes:
    """Draw an objective after each iteration of learning, such as ``elbo_trace_`` or ``learning_trace_``."""
    ax = new_axes(ax)
    values = np.asarray(trace, dtype=float)
    ax.plot(np.arange(len(values)), values, lw=1.5, marker="o", ms=3, label=label)
    ax.set(xlabel="iteration", ylabel="objective")
    if label is not None:
        ax.legend(frameon=False, fontsize="small", loc="lower right")
    return ax


def posterior_intervals(
    names: Labels,
    mean: Values,
    std: Values,
    *,
    observed: Values | None = None,
    level: float = 0.9,
    ax: Axes | None = None,
) -> Axes:
    """Draw a mean and a central interval for each vertex, lowest first; crosses are observations (NaN where none)."""
    ax = new_axes(ax)
    mean, std = np.asarray(mean, dtype=float), np.asarray(std, dtype=float)
    order = np.argsort(mean)
    half = norm.ppf(0.5 + level / 2) * std
    at = np.arange(len(mean))
    ax.errorbar(mean[order], at, xerr=half[order], fmt="o", ms=4, color=BLUE, lw=1.2, label=f"{level:.0%} interval")
    if observed is not None:
        ax.plot(np.asarray(observed, dtype=float)[order], at, "x", color=RED, ms=6, label="observed")
    ax.set_yticks(at, [str(np.asarray(names, dtype=object)[i]) for i in order], fontsize="small")
    ax.legend(frameon=False, fontsize="small", loc="lower right")
    return ax


def new_axes(ax: Axes | None, *, size: tuple[float, float] = (5, 4)) -> Axes:
    """Return the given Axes, or those of a new figure of some size in inches."""
    return plt.subplots(figsize=size, layout="constrained")[1] if ax is None else ax
