r"""Latents given their sites, in the features of K = F W F' + diag(rho): what sites are moved by.

With h = b / (1 + rho b) for precisions b, M = I + R F' diag(h) F R, R = W^1/2, and M = L L',

    S = (K^-1 + B)^-1 = k T'T k + diag(k rho),    T = L^-1 R F',    k = 1 / (1 + rho b),
    (K + B^-1)^-1 = diag(h) - h T'T h,            det(I + B K) = det(M) / product of k.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from scipy.linalg.blas import dtrsm
from scipy.linalg.lapack import dtrtrs

from hypergauss.exceptions import NumericalError
from hypergauss.kernels.base import Structure
from hypergauss.solvers.base import Marginals
from hypergauss.solvers.low_rank.capacitance import Capacitance, capacitance, root_of
from hypergauss.solvers.reduction import Reduction, lower_factor
from hypergauss.solvers.sites import NaturalSites


class LatentInFeatures(NamedTuple):
    """One latent given its sites, relative to its prior mean, and what it was found by.

    Attributes
    ----------
    centred : array, shape (n,)
        S r, the posterior mean less the prior mean, for shifts r relative to the prior mean.
    variance : array, shape (n,)
        The diagonal of S.
    log_partition : float
        r' S r / 2 - log det(I + K B) / 2.
    smooth : callable
        x -> S x.
    system : Capacitance
        Whose C it is.
    h : array, shape (n,)
        As above.
    spread : pair of arrays
        F C, and the diagonal of F C F'.
    """

    centred: np.ndarray
    variance: np.ndarray
    log_partition: float
    smooth: Callable[[np.ndarray], np.ndarray]
    system: Capacitance
    h: np.ndarray
    spread: tuple[np.ndarray, np.ndarray]


def relative_sites(mean: np.ndarray, sites: NaturalSites) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield each latent's shifts relative to its prior mean, and its precisions, shape (n,) each."""
    for m, shift, precision in zip(mean, sites.shift.T, sites.precision.T, strict=True):
        yield shift - precision * m, precision


def condition_in_features(
    F: np.ndarray, structure: Structure, relative: np.ndarray, precision: np.ndarray
) -> LatentInFeatures:
    """Condition one latent on sites exp(relative f - precision f^2 / 2), whatever the signs of the weights."""
    rho = structure.remainder
    keep = _kept(rho, precision)
    h = precision * keep
    system = capacitance((F.T * h) @ F, structure.weights)
    FC, diagonal = system.spread(F)
    own = keep * rho

    def smooth(x: np.ndarray) -> np.ndarray:
        return keep * (FC @ (F.T @ (keep * x))) + own * x

    centred = smooth(relative)
    log_det = system.log_det - float(np.log(keep).sum())
    log_z = (float(relative @ centred) - log_det) / 2
    return LatentInFeatures(centred, keep**2 * diagonal + own, log_z, smooth, system, h, (FC, diagonal))


def marginals_in_features(F: np.ndarray, structure: Structure, mean: np.ndarray, sites: NaturalSites) -> Marginals:
    """Return the marginals of all latents; improper where prior times sites is no distribution."""
    try:
        root = root_of(structure.weights)
        if root is not None:
            return _all_at_once(F, structure.remainder, root, mean, sites)
        found = [condition_in_features(F, structure, *site) for site in relative_sites(mean, sites)]
    except NumericalError:
        return Marginals.improper(sites)
    return _gathered(found, mean, sites)


def _gathered(latents: Sequence[LatentInFeatures], mean: np.ndarray, sites: NaturalSites) -> Marginals:
    """Return the marginals of latents that were conditioned one by one."""
    # What no system is needed for: the sites' own values at the prior mean.
    own = (sites.shift * mean - sites.precision * mean**2 / 2).sum()
    log_z = float(own + sum(latent.log_partition for latent in latents))
    return Marginals(
        mean + np.stack([latent.centred for latent in latents], axis=1),
        np.stack([latent.variance for latent in latents], axis=1),
        log_z,
        bool(np.isfinite(log_z)),
        smooth=lambda x: np.stack([latent.smooth(column) for latent, column in zip(latents, x.T, strict=True)], 1),
    )


def _all_at_once(F: np.ndarray, rho: np.ndarray, root: np.ndarray, mean: np.ndarray, sites: NaturalSites) -> Marginals:
    """Return the marginals where no weight is negative: one pass over all latents, but for their triangular solves."""
    shift, precision = sites.shift.T, sites.precision.T  # (L, n)
    keep = _kept(rho, precision)
    scaled = F * root
    M = np.matmul(scaled.T * (precision * keep)[:, None, :], scaled)
    M[:, np.arange(len(root)), np.arange(len(root))] += 1.0
    try:
        factors = np.linalg.cholesky(M)
    except np.linalg.LinAlgError as error:
        raise NumericalError("Negative precisions of sites outweigh the prior.") from error
    # A lower factor by rows is an upper one by columns, as LAPACK reads it without a copy.
    T = np.stack([dtrtrs(factor.T, scaled.T, lower=0, trans=1)[0] for factor in factors])  # (L, r, n)
    own = keep * rho

    def smooth(x: np.ndarray) -> np.ndarray:
        x = x.T
        inside = np.matmul(T, (keep * x)[:, :, None])
        return (keep * np.matmul(T.transpose(0, 2, 1), inside)[:, :, 0] + own * x).T

    relative = (shift - precision * mean[:, None]).T
    centred = smooth(relative)
    variance = keep**2 * np.einsum("lrn,lrn->ln", T, T) + own
    log_det = 2 * np.log(np.diagonal(factors, axis1=1, axis2=2)).sum() - np.log(keep).sum()
    at_mean = (sites.shift * mean - sites.precision * mean**2 / 2).sum()
    log_z = float(at_mean + ((relative * centred).sum() - log_det) / 2)
    return Marginals(mean + centred, variance.T, log_z, bool(np.isfinite(log_z)), smooth=smooth)


class ReductionInFeatures(Reduction):
    """The same inverses from F R, shape (n, r), and rho."""

    def __init__(self, scaled: np.ndarray, rho: np.ndarray) -> None:
        K = scaled @ scaled.T
        K.flat[:: len(K) + 1] += rho
        super().__init__(K)
        self._scaled, self._rho = scaled, rho

    def into(self, E: np.ndarray, precision: np.ndarray, room: np.ndarray) -> float:  # noqa: D102, ARG002
        (n, r), scaled = self._scaled.shape, self._scaled
        keep = 1 / (1 + self._rho * precision)
        h = precision * keep
        T = np.multiply(scaled.T, h[:, None, :], order="C")  # (C, r, n)
        M = np.matmul(T, scaled)
        M[:, np.arange(r), np.arange(r)] += 1.0
        for system, each in zip(M, T, strict=True):
            dtrsm(1.0, lower_factor(system), each.T, side=1, lower=1, trans_a=1, overwrite_b=1)
        np.matmul(T.transpose(0, 2, 1), T, out=E)
        np.negative(E, out=E)
        E[:, np.arange(n), np.arange(n)] += h
        return 2 * float(np.log(M[:, np.arange(r), np.arange(r)]).sum()) - float(np.log(keep).sum())


def _kept(rho: np.ndarray, precision: np.ndarray) -> np.ndarray:
    """Return k, the share of the remainder's variance that sites leave."""
    keep = 1 / (1 + rho * precision)
    if not keep.min() > 0:
        raise NumericalError("Negative precisions of sites outweigh the prior.")
    return keep
