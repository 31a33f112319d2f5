r"""Expectation propagation for the multinomial probit, with the latents of a vertex coupled.

The label of vertex i is y when its noisy latent t_i ~ N(f_y(i), 1) exceeds all others' (`MultinomialProbit`), so that

    p(y | f) = integral of N(t | f_y, 1) * product over j != y of Phi(t - f_j) dt.

Each Phi(h_j), h_j = t - f_j, is a factor of one variable, and has a site exp(nu_j h - a_j h^2 / 2) of its own; t is
integrated out exactly. With a_y = 1 for the noise, beta = sum of a, and N = sum of nu, the latents of a vertex see

    exp( -f' (diag(a) - a a' / beta) f / 2 + (N a / beta - nu)' f + N^2 / (2 beta) ) / beta^1/2,

which knows nothing of what they have in common, as it should (Riihimaki, Jylanki and Vehtari, 2013, whose inner loop
is not needed when all factors are moved at once). Sites of each latent alone would spread that common part over all
latents as if it were doubt.

With A_c = diag(a_c), E_c = (K + A_c^-1)^-1 and M = sum of E_c, the latents at the sites have, from
s_c = N a_c / beta - nu_c, the means K alpha_c and covariances

    u = M^-1 sum of E_c K s_c,    alpha_c = (I - E_c K) (s_c + A_c u),
    S_cd = [c = d] (K - K E_c K) + K E_c M^-1 E_d K,

and

    log Z = ( sum of N^2 / beta + sum of s_c' K alpha_c - sum of log det(I + A_c K) - log det M ) / 2.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import numpy as np
from scipy.linalg.blas import dtrmm
from scipy.linalg.lapack import dtrtri

from hypergauss import parameters
from hypergauss.inference.latent_model import LatentModel
from hypergauss.inference.mixing import Mixing, Settling
from hypergauss.inference.propagation import LEAST_CAVITY, LEAST_GAIN, MOST_STEPS, mixed
from hypergauss.inference.site_objective import Settled, SiteObjective
from hypergauss.likelihoods.orthants import hazard, log_mass, matched_sites
from hypergauss.solvers.base import ExactSolver, Marginals
from hypergauss.solvers.reduction import Reduction, lower_factor
from hypergauss.solvers.sites import NaturalSites

#: Precisions stay away from zero by as much as nothing can be told from.
_LEAST_PRECISION = 1e-30


class _Coupled(NamedTuple):
    """Latents given the sites of their factors."""

    alpha: np.ndarray  # (C, n)
    mean: np.ndarray  # (C, n), relative to the prior mean
    E: np.ndarray  # (C, n, n)
    factor: np.ndarray  # Cholesky's of M, lower
    covariance: np.ndarray  # (n, C, C), of each vertex's latents
    effective: np.ndarray  # s_c + A_c u, (C, n): shifts of separate sites that lead to the same means
    log_partition: float


class CoupledPropagation(SiteObjective):
    """The log evidence of labels under a `MultinomialProbit`. Its sites are those of factors, shape (n, C)."""

    loose: ClassVar[float] = 1e-5
    tight: ClassVar[float] = 1e-9

    def __init__(self, solver: ExactSolver, y: np.ndarray, num_latents: int, start: NaturalSites | None = None) -> None:
        self._own = np.asarray(y).astype(int)[:, None] == np.arange(num_latents)  # (n, C)
        if start is None:
            start = NaturalSites(np.zeros(self._own.shape), self._own.astype(np.float64))
        super().__init__(solver, y, num_latents, start)
        self._room = np.empty((2, num_latents, len(self.y), len(self.y)))
        #: Where the latest evaluation ended, which its gradient begins with.
        self._latest: tuple[LatentModel, NaturalSites, _Coupled] | None = None

    @property
    def least_gain(self) -> float:  # noqa: D102
        return LEAST_GAIN

    def settle(self, model: LatentModel) -> Settled:  # noqa: D102
        reduction = self.solver.reduction(model.kernel)
        offset = self._offset(model)
        sites, mixing, settling = self.sites, Mixing(6), Settling(self.tolerance * len(self.y))
        for _ in range(MOST_STEPS):
            here = _condition(reduction, sites, self._room)
            self._latest = (model, sites, here)
            factors = _factors(here, sites)
            gained = log_mass(factors.mean + offset, factors.variance) - factors.log_mass
            total = here.log_partition + float(gained[~self._own].sum())
            if settling.has_at(total) or not np.isfinite(total):
                break
            moved = matched_sites(factors.mean, factors.variance, offset)
            target = NaturalSites(
                *(np.where(self._own, kept, new) for kept, new in zip(self.sites, moved, strict=True))
            )
            sites = mixed(mixing, sites, target)
        return Settled(sites, _marginals(here, model.mean), total if np.isfinite(total) else -np.inf)

    def gradient(self, model: LatentModel, found: Settled) -> np.ndarray:  # noqa: D102
        here = self._given(model, found.sites)
        inner = np.matmul(dtrtri(here.factor, lower=1)[0], here.E)
        # R_cc = E_c - E_c M^-1 E_c; the slope in K is the sum of (alpha alpha' - R) / 2.
        R = here.E.sum(axis=0) - np.tensordot(inner, inner, axes=((0, 1), (0, 1)))
        in_gram = (here.alpha.T @ here.alpha - R) / 2
        in_kernel = self.solver.pull_back_product(model.kernel, in_gram, np.eye(len(self.y)))
        factors = _factors(here, found.sites)
        s = np.sqrt(1.0 + factors.variance)
        slope = hazard((factors.mean + self._offset(model)) / s) / s * ~self._own
        in_mean = (self._own * slope.sum(axis=1, keepdims=True)).sum(axis=0) - slope.sum(axis=0)
        return parameters.gather(model, {"kernel": in_kernel, "likelihood": np.zeros(0), "mean": in_mean})

    def separate(self, model: LatentModel, sites: NaturalSites) -> tuple[NaturalSites, np.ndarray]:
        """Return sites of each latent alone that lead to the same means, and Cholesky's factor of M.

        Conditioned on these, latent c has covariance K - K E_c K, to which all add K E_c M^-1 E_d K.
        """
        here = self._given(model, sites)
        shift = here.effective.T + sites.precision * model.mean
        return NaturalSites(shift, sites.precision), here.factor

    @staticmethod
    def joined(separate: NaturalSites, mean: np.ndarray, y: np.ndarray) -> NaturalSites:
        """Return the factors' sites that `separate` made these of.

        The shifts relative to the prior means are s_c + a_c u. The s_c of a vertex add up to 0, which gives u; the nu
        of its own class is 0 and its a is 1, which gives N = beta s_y, and nu_c = N a_c / beta - s_c.
        """
        a = separate.precision
        effective, beta = separate.shift - a * mean, a.sum(axis=1, keepdims=True)
        s = effective - a * effective.sum(axis=1, keepdims=True) / beta
        own = np.asarray(y).astype(int)[:, None] == np.arange(a.shape[1])
        return NaturalSites(np.where(own, 0.0, a * s[own][:, None] - s), np.where(own, 1.0, a))

    def _given(self, model: LatentModel, sites: NaturalSites) -> _Coupled:
        """Return the latents given sites, as they stand if the latest evaluation ended there."""
        if self._latest is not None and self._latest[0] is model and self._latest[1] is sites:
            return self._latest[2]
        return _condition(self.solver.reduction(model.kernel), sites, self._room)

    def _offset(self, model: LatentModel) -> np.ndarray:
        """Return by how much the prior means move each h, shape (n, C)."""
        return (self._own @ model.mean)[:, None] - model.mean


class _Factors(NamedTuple):
    """Cavities of the factors' variables h, relative to the prior means, and logs of their mass with sites, (n, C)."""

    mean: np.ndarray
    variance: np.ndarray
    log_mass: np.ndarray


def _condition(reduction: Reduction, sites: NaturalSites, room: np.ndarray) -> _Coupled:
    """Return the latents given the factors' sites, made in ``room``, shape (2, C, n, n), where E stays.

    With v_c = A_c^-1 s_c, I - E_c K = E_c A_c^-1 gives M u = -(sum of E_c v_c), since the s_c of a vertex add up to 0,
    and alpha_c = E_c (v_c + u).
    """
    # (C, n), class by class in memory too, as all that is made of them will be.
    nu, a = np.ascontiguousarray(sites.shift.T), np.maximum(sites.precision.T, _LEAST_PRECISION, order="C")
    K, (E, P) = reduction.K, room
    diagonal, classes = np.arange(len(K)), np.arange(len(a))
    log_dets = reduction.into(E, a, P)
    M = lower_factor(E.sum(axis=0))
    log_dets += 2 * float(np.log(M.diagonal()).sum())
    inverse = dtrtri(M, lower=1)[0]
    total, beta = nu.sum(axis=0), a.sum(axis=0)
    s = total * a / beta - nu
    v = s / a
    u = -(inverse @ np.matmul(E, v[:, :, None]).sum(axis=0)[:, 0]) @ inverse
    alpha = np.matmul(E, (v + u)[:, :, None])[:, :, 0]
    mean = alpha @ K
    # L^-1 E_c K, transposed: what the latents of vertex i have in common are products of the rows P[:, i].
    np.divide(E, -a[:, :, None], out=P)
    P[:, diagonal, diagonal] += 1.0
    dtrmm(1.0, inverse, P.reshape(-1, len(K)).T, lower=1, overwrite_b=1)
    covariance = np.matmul(P.transpose(1, 0, 2), P.transpose(1, 2, 0))
    covariance[:, classes, classes] += np.einsum("cki,ki->ic", E, K) / a.T
    log_z = float((total**2 / beta).sum() + (s * mean).sum() - log_dets) / 2
    return _Coupled(alpha, mean, E, M, covariance, s + a * u, log_z)


def _factors(here: _Coupled, sites: NaturalSites) -> _Factors:
    """Return the cavities of h_j = t - f_j, with t given f normal around (a'f + N) / beta with variance 1 / beta."""
    a, nu = sites.precision, sites.shift
    beta = a.sum(axis=1, keepdims=True)
    share = a / beta
    mean = (share * here.mean.T).sum(axis=1, keepdims=True) + nu.sum(axis=1, keepdims=True) / beta - here.mean.T
    across = np.einsum("nc,ncd->nd", share, here.covariance)
    each = np.diagonal(here.covariance, axis1=1, axis2=2)
    variance = 1 / beta + (share * across).sum(axis=1, keepdims=True) - 2 * across + each
    left = np.maximum(1.0 - variance * a, LEAST_CAVITY)
    cavity_variance = variance / left
    cavity_mean = (mean - variance * nu) / left
    of_sites = np.log(left) / 2 + (mean**2 / variance - cavity_mean**2 / cavity_variance) / 2
    return _Factors(cavity_mean, cavity_variance, of_sites)


def _marginals(here: _Coupled, prior_mean: np.ndarray) -> Marginals:
    variance = np.diagonal(here.covariance, axis1=1, axis2=2)
    return Marginals(prior_mean + here.mean.T, variance, here.log_partition)
