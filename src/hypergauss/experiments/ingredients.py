"""The default model with one of its ingredients taken out, to see what each adds.

Everything else stays: priors, the search of the size exponent, learning, averaging.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hypergauss.estimators import HypergraphGPClassifier, HypergraphGPRegressor
from hypergauss.estimators.blueprint import ACTIVITY, LEVEL, RELATIVE_LEVEL, Blueprint
from hypergauss.hypergraph import Hypergraph
from hypergauss.kernels import Kernel, ShapedWalk, Standardised
from hypergauss.kernels.standard_parts import StandardVertices
from hypergauss.solvers.work import Work
from hypergauss.spectrum import EigenSpectrum, Spectrum

#: (spectrum, whether the filter's shape is kept, share of its variance that the level has besides) -> kernel.
Build = Callable[[Spectrum, bool, float], Kernel]
Model = HypergraphGPClassifier | HypergraphGPRegressor
#: Eigenvalues up to this are 0 but for rounding.
_ZERO = 1e-9
#: So few memberships make a vertex its own that none does.
_NO_INDIVIDUALITY = 1e-4


class Uncentred(Standardised):
    """The standardised kernel with the trivial direction left in."""

    def inputs(self, rows: np.ndarray) -> StandardVertices:  # noqa: D102
        spectrum = self.part.eigenspectrum
        found = super().inputs(rows)
        return found._replace(vectors=spectrum.vertex_vectors[rows], trivial=np.zeros(len(rows)))

    @property
    def typical_squares(self) -> tuple[np.ndarray, np.ndarray]:  # noqa: D102
        spectrum = self.part.eigenspectrum
        rows = spectrum.typical_vertices
        return spectrum.vertex_vectors[rows] ** 2, np.zeros(len(rows))


def _shaped(spectrum: Spectrum, stiff: bool, relative_level: float = 0.0) -> ShapedWalk:  # noqa: ARG001
    """Return the filter alone, whose level is a mean that is learned."""
    return ShapedWalk(spectrum, fixed=("shape",) if stiff else ())


def _uncentred(spectrum: Spectrum, stiff: bool, relative_level: float) -> Kernel:
    return Uncentred(
        _shaped(spectrum, stiff), level=LEVEL, relative_level=relative_level, activity=ACTIVITY, fixed=("evenness",)
    )


def _unscaled(spectrum: Spectrum, stiff: bool, relative_level: float) -> Kernel:  # noqa: ARG001
    """Return the filter of the spectrum without its trivial eigenvectors: variances are as degrees have them."""
    assert isinstance(spectrum, EigenSpectrum)
    kept = spectrum.eigenvalues > _ZERO
    s = None if spectrum.singular_values is None else spectrum.singular_values[kept]
    vectors = np.ascontiguousarray(spectrum.vertex_vectors[:, kept])
    without = EigenSpectrum(
        spectrum.eigenvalues[kept], s, vectors, spectrum.rest, spectrum.source, spectrum.size_exponent
    )
    return _shaped(without, stiff)


def _without_individuality(spectrum: Spectrum, stiff: bool, relative_level: float) -> Kernel:
    fixed = ("evenness", "individuality")
    return Standardised(
        _shaped(spectrum, stiff),
        _NO_INDIVIDUALITY,
        level=LEVEL,
        relative_level=relative_level,
        activity=ACTIVITY,
        fixed=fixed,
    )


def _without_activity(spectrum: Spectrum, stiff: bool, relative_level: float) -> Kernel:
    return Standardised(_shaped(spectrum, stiff), level=LEVEL, relative_level=relative_level, fixed=("evenness",))


_BUILDS: dict[str, Build] = {
    "not centred": _uncentred,
    "not scaled": _unscaled,
    "neither centred nor scaled": _shaped,
    "no individuality": _without_individuality,
    "no activity": _without_activity,
}
_SETTINGS: dict[str, dict[str, Any]] = {
    "filter: walk without a shape": {"kernel": "walk"},
    "filter: Matern": {"kernel": "matern"},
    "filter: Bernstein": {"kernel": "bernstein"},
    "size exponent kept at 0": {"size_exponent": 0.0},
    "hyperparameters not averaged": {"integrate": False},
}
DEFAULT = "default"
VARIATIONAL, UNCALIBRATED = "variational in place of propagation", "not calibrated"


class _RebuiltClassifier(HypergraphGPClassifier):
    """A classifier whose kernel is built by another function."""

    build: Build

    def _blueprint(self, work: Work, **options: Any) -> Blueprint:
        return _rebuilt(super()._blueprint(work, **options), self.build, RELATIVE_LEVEL)


class _RebuiltRegressor(HypergraphGPRegressor):
    """A regressor whose kernel is built by another function."""

    build: Build

    def _blueprint(self, work: Work, **options: Any) -> Blueprint:
        return _rebuilt(super()._blueprint(work, **options), self.build, 0.0)


def _rebuilt(blueprint: Blueprint, build: Build, relative_level: float) -> Blueprint:
    (name,) = blueprint.exponents
    return blueprint._replace(build=lambda spectra, stiff: build(spectra[name], stiff, relative_level))


def _with_build(H: Hypergraph, build: Build, *, classifies: bool) -> Model:
    model = (_RebuiltClassifier if classifies else _RebuiltRegressor)(H, random_state=0)
    model.build = build
    return model


def variants(H: Hypergraph, *, classifies: bool, num_classes: int = 2) -> dict[str, Model]:
    """Return the default, and it without each of its ingredients, by the name that it has in the table."""
    kind = HypergraphGPClassifier if classifies else HypergraphGPRegressor
    found: dict[str, Model] = {DEFAULT: kind(H, random_state=0)}
    found |= {name: _with_build(H, build, classifies=classifies) for name, build in _BUILDS.items()}
    found |= {name: kind(H, random_state=0, **options) for name, options in _SETTINGS.items()}
    if classifies:
        # The probit of many classes has no bound: the softmax stands in for it there.
        likelihood = "probit" if num_classes == 2 else "softmax"
        found[UNCALIBRATED] = HypergraphGPClassifier(H, calibrate=False, random_state=0)
        found[VARIATIONAL] = HypergraphGPClassifier(H, likelihood=likelihood, inference="variational", random_state=0)
    return found
