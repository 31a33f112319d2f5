"""Where to begin: what the spectral measure of the measurements says of each field, before any system is solved."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hypergauss import parameters
from hypergauss.learning.priors import Matched
from hypergauss.learning.search import top_of
from hypergauss.solvers.base import GaussianModel
from hypergauss.solvers.sites import Observations
from hypergauss.solvers.spectral_evidence import SpectralEvidence
from hypergauss.spectrum import MatrixFreeSpectrum

#: Lengthscales, relative to a model's own, from which the likelihood of a spectral measure is climbed.
_LENGTHSCALES = (1.0, 4.0, 16.0)
#: The least noise variance to begin with, as a share of the measurements' variance: a spectral measure hardly tells
#: noise from what unmeasured vertices leave, and next to none is a place that the evidence is slow to leave.
_LEAST_NOISE = 0.1


def by_outlook(
    models: Sequence[GaussianModel], observations: Observations, priors: Sequence[Matched]
) -> list[GaussianModel]:
    """Return models that differ in nu at the tops of their spectral likelihoods, the highest first.

    That likelihood (`SpectralEvidence.of_some`) is no evidence, but compares fields of one spectrum, and its top is a
    few steps from the evidence's. Models are returned as they are where it does not apply: where noise differs between
    vertices, or eigenvectors are known.

    Parameters
    ----------
    models : sequence of GaussianModel
        Of one spectrum, at the hyperparameters to begin with.
    observations : Observations
        What was measured.
    priors : sequence of Matched
        Of each model.
    """
    # Of a sum no one spectrum tells all.
    spectrum = getattr(models[0].kernel, "spectrum", None)
    if not (isinstance(spectrum, MatrixFreeSpectrum) and observations.is_uniform):
        return list(models)
    spectral = SpectralEvidence.of_some(spectrum.source.multiplier(), observations, spectrum.density)
    tops = []
    for model, matched in zip(models, priors, strict=True):
        scales = [factor * model.kernel.lengthscale for factor in _LENGTHSCALES]  # type: ignore[attr-defined]
        starts = [parameters.with_value(model, ("kernel", "lengthscale"), np.asarray(scale)) for scale in scales]
        tops.append(top_of(spectral, starts, matched))
    order = np.argsort([-top.value for top in tops], kind="stable")
    found = [parameters.unpack(models[place], tops[place].theta) for place in order]
    least = _LEAST_NOISE * float(observations.mean.var(axis=0).mean())
    noises = [np.asarray(max(float(model.noise_variance), least)) for model in found]
    pairs = zip(found, noises, strict=True)
    return [parameters.with_value(model, ("noise_variance",), noise) for model, noise in pairs]
