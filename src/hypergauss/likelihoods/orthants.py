r"""Factors Phi(h) of normal variables: the sites that match them, and the expectation of their product.

With h ~ N(m, v), s^2 = 1 + v, z = m / s and r = phi / Phi, E Phi(h) = Phi(z), whose logarithm has the slopes

    g = r / s,    g' = -r (z + r) / s^2

in m. The site exp(nu h - a h^2 / 2) with a = -g' / (1 + v g'), nu = (g - m g') / (1 + v g') leaves h the same mean
and variance as Phi does. For jointly normal h_j expectation propagation (`inference.propagation`) gives every factor a
site under what the others leave: with S the covariance now, a change of site j by (d nu, d a) is

    S <- S - (d a / (1 + d a v)) S_j S_j',    m <- m + S_j (d nu - d a m_j) / (1 + d a v),    v = S_jj,
    log Z <- log Z + (d nu^2 v + (2 d nu - d a m_j) m_j) / (2 (1 + d a v)) - log(1 + d a v) / 2,

so that a sweep over all factors needs no factorisation, and each factor knows of those before it.
"""

from __future__ import annotations

import numpy as np
from scipy.special import erfcx, log_ndtr

#: Sweeps over the factors, and the change of the logarithm that ends them: what is left is a thousandth of that.
_MOST_SWEEPS, _SETTLED = 12, 1e-3
#: The share of its precision that a cavity keeps at least.
_LEAST_CAVITY = 1e-9


def hazard(z: np.ndarray) -> np.ndarray:
    """Return phi(z) / Phi(z), to all digits also where both are next to nothing."""
    return np.sqrt(2 / np.pi) / erfcx(-np.sqrt(0.5) * z)


def matched_sites(
    mean: np.ndarray, variance: np.ndarray, offset: np.ndarray | float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Return shift and precision of the sites that match Phi(h + offset) under h ~ N(mean, variance), elementwise."""
    s2 = 1.0 + variance
    s = np.sqrt(s2)
    z = (mean + offset) / s
    r = hazard(z)
    slope, bend = r / s, -r * (z + r) / s2
    share = 1.0 + variance * bend
    return (slope - mean * bend) / share, -bend / share


def log_mass(mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Return log E Phi(h) for h ~ N(mean, variance), elementwise."""
    return log_ndtr(mean / np.sqrt(1.0 + variance))


def log_orthant(mean: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """Return log E of the product of Phi(h_j) for h ~ N(mean, covariance), shapes (m, J) and (m, J, J).

    By expectation propagation. A row that has settled is left alone.
    """
    # Rows come last in memory: each step is over all of them.
    m, S = mean.T.copy(), covariance.transpose(1, 2, 0).copy()
    nu, a, log_z = np.zeros_like(m), np.zeros_like(m), np.zeros(len(mean))
    value, left = np.full(len(mean), np.inf), np.arange(len(mean))
    for _ in range(_MOST_SWEEPS):
        log_z += _sweep(m, S, nu, a)
        last = value[left]
        value[left] = log_z + _log_ratio(m, np.einsum("jjm->jm", S), nu, a)
        moving = ~(np.abs(value[left] - last) < _SETTLED)
        if not moving.any():
            break
        left, m, S, nu, a, log_z = (each.compress(moving, axis=-1) for each in (left, m, S, nu, a, log_z))
    return value


def _sweep(m: np.ndarray, S: np.ndarray, nu: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Replace one site after another, of all rows, by those that match their cavities; return what log Z gains.

    Everything is changed in place.
    """
    mean, v, by, more = (np.empty_like(m) for _ in range(4))
    for j in range(len(m)):
        mean[j], v[j], column = m[j], S[j, j], S[j].copy()
        shift, precision = matched_sites(*_cavity(mean[j], v[j], nu[j], a[j])[:2])
        by[j], more[j] = shift - nu[j], precision - a[j]
        nu[j], a[j] = shift, precision
        left = 1.0 + more[j] * v[j]
        m += column * ((by[j] - more[j] * mean[j]) / left)
        S -= (column * (more[j] / left))[:, None] * column
    left = 1.0 + more * v
    return (((by**2 * v + (2 * by - more * mean) * mean) / left - np.log(left)) / 2).sum(axis=0)


def _cavity(m: np.ndarray, v: np.ndarray, nu: np.ndarray, a: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return mean and variance of h without its own site, and the share of its precision that is left."""
    left = np.maximum(1.0 - v * a, _LEAST_CAVITY)
    return (m - v * nu) / left, v / left, left


def _log_ratio(m: np.ndarray, v: np.ndarray, nu: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Return the sum of the logarithms of what factors have of their cavities, over what sites have."""
    mean, variance, left = _cavity(m, v, nu, a)
    of_sites = (np.log(left) + (2 * m * nu - a * m**2 - v * nu**2) / left) / 2
    return (log_mass(mean, variance) - of_sites).sum(axis=0)
