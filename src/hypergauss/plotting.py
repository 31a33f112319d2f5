"""Pictures: each function draws on a given Axes (or a new one) and returns it. Colours suit the colour-blind."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from scipy.stats import norm

from hypergauss.inference.size_exponent import Profile
from hypergauss.kernels import SpectralKernel

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


def predicted_against_observed(y: Any, mean: Any, std: Any, *, level: float = 0.9, ax: Axes | None = None) -> Axes:
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


def spectrum_and_filter(kernel: SpectralKernel, *, ax: Axes | None = None) -> Axes:
    """Draw the filter a spectral kernel has learned, over marks at the hypergraph's eigenvalues."""
    ax = new_axes(ax)
    spectrum = kernel.spectrum
    grid = np.linspace(0.0, spectrum.upper, 200)
    curve, marks = (np.asarray(kernel.filter(jnp.asarray(points))) for points in (grid, spectrum.eigenvalues))
    top = curve.max()
    ax.semilogy(grid, curve / top, color=BLUE, lw=1.5, label="filter")
    ax.semilogy(spectrum.eigenvalues, marks / top, "|", color=RED, ms=9, label=f"{spectrum.rank} eigenvalues")
    ax.set(xlabel="eigenvalue of the Laplacian", ylabel="prior variance, relative", xlim=(0, spectrum.upper))
    ax.legend(frameon=False, fontsize="small")
    return ax


def size_exponent_profile(profile: Profile, *, ax: Axes | None = None) -> Axes:
    """Draw the log evidence at every size exponent that a search tried, relative to Zhou's Laplacian at 0."""
    ax = new_axes(ax)
    at_zero = profile.objectives[np.flatnonzero(profile.exponents == 0.0)[0]]
    ax.plot(profile.exponents, profile.objectives - at_zero, "o-", color=BLUE, ms=4, lw=1)
    ax.axvline(profile.size_exponent, color=RED, lw=1, ls="--", label=f"chosen: {profile.size_exponent:g}")
    ax.set(xlabel="size exponent a", ylabel="log evidence above a = 0")
    ax.legend(frameon=False, fontsize="small")
    return ax


def new_axes(ax: Axes | None) -> Axes:
    """Return the given Axes, or those of a new figure."""
    return plt.subplots(figsize=(5, 4), layout="constrained")[1] if ax is None else ax
