r"""The multinomial probit: the label is the class whose latent, with standard normal noise added, is the largest.

With independent f_j ~ N(m_j, v_j), s_j^2 = 1 + v_j and the noisy latent t of class c as the variable,

    Z_c = p(y = c) = integral of N(t | m_c, s_c^2) * product over j != c of Phi((t - m_j) / s_j) dt,

whose integrand is log-concave: one top, found by Newton's steps, around which a few Gauss-Hermite nodes suffice.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.special import log_ndtr

from hypergauss import _checks
from hypergauss.likelihoods.base import Tilted
from hypergauss.likelihoods.categorical import LatentForEachClass
from hypergauss.likelihoods.orthants import hazard, log_orthant
from hypergauss.likelihoods.quadrature import row_blocks

_LOG_ROOT_2PI = 0.5 * np.log(2 * np.pi)
#: Nodes around the top of the integrand: log Z is right to 1e-9 for spreads of 0.1 to 10, its slopes to 1e-8.
_NODES = 20
#: Newton's steps to the top end here: nodes need to stand about it, not on it.
_NEAR_TOP, _MOST_STEPS = 1e-2, 30
#: Nodes over the range where the largest latent lies, for all classes of a vertex at once.
_SHARED_NODES, _DEVIATIONS = 96, 7.0


class _Integrand(NamedTuple):
    """The integrand at its nodes: t (n, q), arguments of the others' Phi (n, C - 1, q), and weights (n, q)."""

    t: np.ndarray
    z: np.ndarray
    weights: np.ndarray
    log_z: np.ndarray


class MultinomialProbit(LatentForEachClass):
    """The class of the largest of C latents, each with standard normal noise of its own.

    Inferred by expectation propagation or by sampling.

    Parameters
    ----------
    num_classes : int
        C.

    Examples
    --------
    >>> import numpy as np
    >>> MultinomialProbit(3).probabilities(np.array([[2.0, 0.0, 0.0]]), np.ones((1, 3))).round(3)
    array([[0.745, 0.127, 0.127]])
    """

    def __init__(self, num_classes: int) -> None:
        self.num_classes = _checks.count("num_classes", num_classes, least=2)

    @property
    def is_log_concave(self) -> bool:  # noqa: D102
        return True

    @property
    def has_mode(self) -> bool:  # noqa: D102
        return False

    def log_density(self, latents: np.ndarray, y: np.ndarray) -> np.ndarray:  # noqa: D102
        return _integrand(latents, np.ones_like(latents), y).log_z

    def expected_log_density(self, mean: np.ndarray, variance: np.ndarray, y: np.ndarray) -> np.ndarray:  # noqa: D102, ARG002
        raise ValueError(
            "The multinomial probit has no expectation that variational inference could use. Use `inference='ep'` or "
            "'mcmc', or the likelihood 'softmax'."
        )

    def tilted(self, mean: np.ndarray, variance: np.ndarray, y: np.ndarray) -> Tilted:
        r"""Return log Z and its derivatives in the means.

        With r = phi / Phi and expectations E under the integrand, d log Z / d m_j = -E r_j / s_j and
        Z'' / Z = -E z_j r_j / s_j^2 for the others; (t - m_c) / s_c^2 and its square do it for the label's own.
        """
        s2 = 1.0 + variance
        label, others = _sides(mean.shape, y)
        found = _integrand(mean, s2, y)
        ratio = hazard(found.z)
        in_mean, bend = np.empty_like(mean), np.empty_like(mean)
        of_others = s2[others].reshape(len(mean), -1)
        weighted = np.einsum("njq,nq->nj", ratio, found.weights)
        in_mean[others] = (-weighted / np.sqrt(of_others)).ravel()
        bend[others] = (-np.einsum("njq,njq,nq->nj", found.z, ratio, found.weights) / of_others).ravel()
        away = (found.t - mean[label][:, None]) / s2[label][:, None]
        in_mean[label] = (found.weights * away).sum(axis=1)
        bend[label] = (found.weights * away**2).sum(axis=1) - 1.0 / s2[label]
        return Tilted(found.log_z, in_mean, bend - in_mean**2)

    def probabilities(self, mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
        """Return Z_c for all classes from nodes that they share: the trapezoidal rule over where the largest lies."""
        found = np.empty_like(mean)
        steps = np.linspace(0.0, 1.0, _SHARED_NODES)
        for rows in row_blocks(len(mean)):
            m, s = mean[rows], np.sqrt(1.0 + variance[rows])
            low, high = (m - _DEVIATIONS * s).max(axis=1), (m + _DEVIATIONS * s).max(axis=1)
            t = low[:, None] + (high - low)[:, None] * steps
            z = (t[:, None, :] - m[:, :, None]) / s[:, :, None]
            log_below = log_ndtr(z)
            # All others below, and this one there.
            log_each = log_below.sum(axis=1, keepdims=True) - log_below - z**2 / 2 - np.log(s)[:, :, None]
            found[rows] = np.exp(log_each).sum(axis=2)
        return found / found.sum(axis=1, keepdims=True)


def _integrand(mean: np.ndarray, s2: np.ndarray, y: np.ndarray) -> _Integrand:
    """Return the integrand of Z for each vertex's label, at nodes around its top."""
    n = len(mean)
    label, others = _sides(mean.shape, y)
    m, v = mean[label], s2[label]
    below, s = mean[others].reshape(n, -1), np.sqrt(s2[others]).reshape(n, -1)
    t = np.maximum(m, below.max(axis=1))  # the top lies between here and the label's own mean, or near
    for _ in range(_MOST_STEPS):
        z = (t[:, None] - below) / s
        ratio = hazard(z) / s
        slope = (ratio).sum(axis=1) - (t - m) / v
        bend = (ratio * (z / s + ratio)).sum(axis=1) + 1.0 / v
        step = slope / bend
        t = t + step
        if (np.abs(step) * np.sqrt(bend) < _NEAR_TOP).all():
            break
    width = 1.0 / np.sqrt(bend)
    nodes, log_weights = _hermite()
    t = t[:, None] + width[:, None] * nodes
    z = (t[:, None, :] - below[:, :, None]) / s[:, :, None]
    log_f = log_ndtr(z).sum(axis=1) - (t - m[:, None]) ** 2 / (2 * v[:, None]) + log_weights
    top = log_f.max(axis=1)
    weights = np.exp(log_f - top[:, None])
    total = weights.sum(axis=1)
    log_z = np.log(total) + top + np.log(width) - np.log(v) / 2
    return _Integrand(t, z, weights / total[:, None], log_z)


@lru_cache
def _hermite() -> tuple[np.ndarray, np.ndarray]:
    """Return nodes, and the logarithms of weights for an integrand whose own Gaussian is divided out."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    return nodes, np.log(weights) + nodes**2 / 2 - _LOG_ROOT_2PI


def _sides(shape: tuple[int, ...], y: np.ndarray) -> tuple[tuple[np.ndarray, np.ndarray], np.ndarray]:
    """Return where the labels' entries are, and a mask of all others'."""
    label = (np.arange(shape[0]), y.astype(int))
    others = np.ones(shape, dtype=bool)
    others[label] = False
    return label, others


def coupled_probabilities(mean: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    r"""Return the probability of each class where latents are jointly normal, shape (m, C), for covariances (m, C, C).

    Class c is the label if all h_j = f_c + noise - f_j, j != c, exceed noise of their own: E of a product of Phi(h_j),
    found by expectation propagation in these C - 1 variables.
    """
    classes = mean.shape[1]
    own = np.arange(classes)[:, None]
    others = np.array([np.delete(np.arange(classes), c) for c in range(classes)])  # (C, C - 1)
    between = covariance[:, own, others]
    m = mean[:, :, None] - mean[:, others]
    V = covariance[:, others[:, :, None], others[:, None, :]] - between[:, :, None, :] - between[:, :, :, None]
    V += np.diagonal(covariance, axis1=1, axis2=2)[:, :, None, None] + 1.0
    found = log_orthant(m.reshape(-1, classes - 1), V.reshape(-1, classes - 1, classes - 1)).reshape(mean.shape)
    found = np.exp(found - found.max(axis=1, keepdims=True))
    return found / found.sum(axis=1, keepdims=True)
