"""The learned filter as a curve: how much of the prior variance each eigenvalue of the hypergraph has."""

from __future__ import annotations

from typing import Any

import numpy as np

from hypergauss.estimators import VertexModel
from hypergauss.inference.latents import SampledLatents
from hypergauss.inference.mixtures import components
from hypergauss.kernels import Kernel, Product, SpectralKernel, Standardised, Sum
from hypergauss.report.numbers import rounded
from hypergauss.spectrum import EigenSpectrum

#: Points of a curve, marks of eigenvalues, and the ends of the band of curves that are averaged over.
_POINTS, _MARKS, _ENDS = 81, 60, (0.05, 0.95)
#: Smaller shares of the largest variance are drawn as this.
_NOTHING = 1e-9


def filter_curves(model: VertexModel) -> list[dict[str, Any]]:
    """Return a curve for each filter of the model's kernel, with a band where it is averaged over hyperparameters."""
    if isinstance(model.posterior_, SampledLatents):
        found = [(1.0, model.kernel_)]
    else:
        found = [(weight, _kernel(part)) for weight, part in components(model.posterior_)]
    weights = np.array([weight for weight, _ in found])
    named = [_filters(kernel) for _, kernel in found]
    return [
        _curve(label, weights, [filters[number][1] for filters in named]) for number, (label, _) in enumerate(named[0])
    ]


def _kernel(part: Any) -> Kernel:
    return (part.posteriors[0] if hasattr(part, "posteriors") else part).prior.kernel


def _filters(kernel: Kernel) -> list[tuple[str, SpectralKernel | Standardised]]:
    if isinstance(kernel, Sum | Product):
        parts = kernel.terms if isinstance(kernel, Sum) else kernel.factors
        both = zip(kernel.labels, parts, strict=True)
        return [(label, part) for label, part in both if isinstance(part, SpectralKernel | Standardised)]
    return [("", kernel)] if isinstance(kernel, SpectralKernel | Standardised) else []


def _curve(label: str, weights: np.ndarray, kernels: list[SpectralKernel | Standardised]) -> dict[str, Any]:
    """Return phi of the heaviest kernel, and the band in which those of most weight lie, as powers of ten.

    Each is relative to its largest value at an eigenvalue: only there does a filter act. A standardised kernel leaves
    the trivial eigenvalue out, and so does the curve.
    """
    spectrum = kernels[0].spectrum
    eigenvalues = np.sort(spectrum.nodes)
    least = 0.0
    if isinstance(kernels[0], Standardised):
        eigenvalues = eigenvalues[eigenvalues > 1e-9]
        least = float(eigenvalues.min(initial=spectrum.upper))
    grid = np.linspace(least, spectrum.upper, _POINTS)
    marks = eigenvalues[np.unique(np.linspace(0, len(eigenvalues) - 1, min(_MARKS, len(eigenvalues))).astype(int))]
    curves = np.stack([_relative(kernel, grid, eigenvalues) for kernel in kernels])
    order = np.argsort(curves, axis=0)
    total = np.cumsum(weights[order], axis=0) / weights.sum()
    ends = [np.take_along_axis(curves, order, 0)[(total >= end).argmax(axis=0), np.arange(_POINTS)] for end in _ENDS]
    return {
        "label": label,
        "upper": float(spectrum.upper),
        "x": rounded(grid),
        "y": rounded(curves[0]),
        "band": [rounded(end) for end in ends] if len(kernels) > 1 else None,
        "eigenvalues": rounded(marks) if isinstance(spectrum, EigenSpectrum) else [],
        "at": rounded(_relative(kernels[0], marks, eigenvalues)) if isinstance(spectrum, EigenSpectrum) else [],
    }


def _relative(kernel: SpectralKernel | Standardised, points: np.ndarray, eigenvalues: np.ndarray) -> np.ndarray:
    """Return the logarithm to base 10 of phi over its largest value at an eigenvalue, no less than that of nothing."""
    part = kernel.part if isinstance(kernel, Standardised) else kernel
    top = float(np.max(part.filter(eigenvalues), initial=0.0)) or 1.0
    return np.log10(np.maximum(np.asarray(part.filter(points), dtype=float) / top, _NOTHING))
