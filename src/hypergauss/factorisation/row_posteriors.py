r"""One row of factors given its ratings, under all draws at once: S small Gaussian regressions.

Given the other side's rows (c_j, w_j) of a draw, a row x = (b, u) with prior N(m, diag p) meets the features
z_j = (1, w_j), and n ratings say y_j = z_j . x + noise of precision t_j. With R = diag(sqrt p),

    C = R (I + R Z' T Z R)^-1 R,        mean = m + C Z' T (y - Z m),

in which nothing is divided by a variance. The mean is linear in the y_j (`explanation`).

For grades, known to lie between two thresholds, expectation propagation finds y_j and t_j: site j is what makes mean
and variance of z_j . x those of the exact likelihood times all other sites. The integrals are in closed form, and the
likelihood is log-concave, so that sites settle in some steps.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hypergauss.exceptions import NumericalError
from hypergauss.factorisation.row_priors import RowPrior
from hypergauss.likelihoods.ordinal import derivatives_between

#: Steps of expectation propagation at most, and the change of a site's mean, in standard deviations, that is enough.
_MOST_STEPS, _ENOUGH = 60, 1e-3
#: Steps after which sites, which all move at once, go but half of the way to their new values: they may swing.
_PATIENCE = 10
#: Least precision of a site; the most that a grade can say is what its latent value, noise and all, would.
_LEAST_PRECISION = 1e-10


class Sites(NamedTuple):
    """Ratings as measurements under each draw: features z (S, n, K), values y and precisions t (S, n)."""

    z: np.ndarray
    y: np.ndarray
    t: np.ndarray


class RowPosterior(NamedTuple):
    """Mean (S, K) and covariance (S, K, K) of a row under each draw."""

    mean: np.ndarray
    covariance: np.ndarray

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        """Draw a row under each draw, shape (S, K); columns without variance stay at their mean."""
        values, vectors = np.linalg.eigh(self.covariance)
        white = np.sqrt(np.maximum(values, 0.0)) * rng.standard_normal(self.mean.shape)
        return self.mean + np.einsum("skl,sl->sk", vectors, white)


def condition(prior: RowPrior, sites: Sites) -> RowPosterior:
    """Return the posterior of a row given measurements."""
    covariance = _covariance(prior, sites)
    residual = sites.t * (sites.y - np.einsum("snk,sk->sn", sites.z, prior.mean))
    linear = np.einsum("snk,sn->sk", sites.z, residual)
    return RowPosterior(prior.mean + np.einsum("skl,sl->sk", covariance, linear), covariance)


def propagate(
    prior: RowPrior, z: np.ndarray, offset: np.ndarray, low: np.ndarray, high: np.ndarray, noise: np.ndarray
) -> Sites:
    """Return the sites of grades whose latent values, offset + z . x + noise of a variance, lie between limits.

    All but z have shape (S, n).
    """
    start = np.full(offset.shape, _LEAST_PRECISION)
    sites = Sites(z, np.einsum("snk,sk->sn", z, prior.mean), start)
    if z.shape[1] == 0:
        return sites
    for step in range(_MOST_STEPS):
        share = 1.0 if step < _PATIENCE else 0.5
        posterior = condition(prior, sites)
        mean = np.einsum("snk,sk->sn", z, posterior.mean)
        variance = np.maximum(np.einsum("snk,snk->sn", z @ posterior.covariance, z), 1e-12)
        # The cavity: all that is known of z . x but for the site itself.
        cavity_variance = 1.0 / np.maximum(1.0 / variance - sites.t, 1e-10 / variance)
        cavity_mean = cavity_variance * (mean / variance - sites.t * sites.y)
        s = np.sqrt(noise + cavity_variance)
        at = offset + cavity_mean
        first, second = derivatives_between((low - at) / s, (high - at) / s)
        first, second = first / s, np.minimum(second / s**2, -_LEAST_PRECISION)
        t = np.clip(-second / (1.0 + second * cavity_variance), _LEAST_PRECISION, 1.0 / noise)
        y = cavity_mean - first / second
        shift = np.abs(y - sites.y) * np.sqrt(t) + np.abs(t - sites.t)
        natural = sites.t * sites.y + share * (t * y - sites.t * sites.y)
        t = sites.t + share * (t - sites.t)
        sites = Sites(z, natural / t, t)
        if shift.max() < _ENOUGH:
            return sites
    if shift.max() > 0.05:
        raise NumericalError(
            f"Expectation propagation of a newcomer's grades did not settle in {_MOST_STEPS} steps. A likely cause: "
            "thresholds of some draws that are all but equal. Draw more, or fit with likelihood='gaussian'."
        )
    return sites


def _covariance(prior: RowPrior, sites: Sites) -> np.ndarray:
    root = np.sqrt(prior.variance)
    scaled = sites.z * root[:, None, :]
    precision = np.eye(root.shape[1]) + np.matmul((scaled * sites.t[:, :, None]).transpose(0, 2, 1), scaled)
    return root[:, :, None] * np.linalg.inv(precision) * root[:, None, :]
