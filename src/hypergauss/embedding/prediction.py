r"""What a fitted latent model says of an incidence entry: predictions at known and at new vertices.

With anchors (all vertices, or the inducing ones) and c a place's covariances with them, nugget aside, column j has

    mean m_j = c' w_j,    variance s^2 = v k(u, u) K_VV + sigma^2 - c' R c,

where, for C the covariance of the known entries of that column, w_j = C^-1 h_j and R = C^-1 if every vertex is an
anchor, and w_j = S^-1 K_uf (h_j / t) and R = K_uu^-1 - S^-1, S = K_uu + K_uf diag(1/t) K_fu, if inducing vertices are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hypergauss.embedding.covariances import Covariances
from hypergauss.embedding.memberships import Memberships
from hypergauss.embedding.objectives import inducing_factor
from hypergauss.solvers.cholesky import cholesky, inverse_of_factor


class Conditioned(NamedTuple):
    """A latent model conditioned on the memberships.

    Attributes
    ----------
    anchors : array of int, shape (A,)
        The vertices that carry what is known.
    weights : array, shape (A, m)
        The w_j.
    reduction : array, shape (P, A, A)
        R for each pattern of known entries.
    pattern_of : array of int, shape (m,)
        The pattern of each column.
    left_out : array, shape (N, m)
        E[entry | all other known entries of its column], for known and unknown entries alike.
    """

    anchors: np.ndarray
    weights: np.ndarray
    reduction: np.ndarray
    pattern_of: np.ndarray
    left_out: np.ndarray


def condition_exactly(covariances: Covariances, data: Memberships) -> Conditioned:
    """Condition on all vertices, by a factor of C for each pattern."""
    N = len(data.values)
    C = covariances.matrix()
    weights, left_out = np.zeros_like(data.values), np.zeros_like(data.values)
    reduction = np.zeros((len(data.patterns), N, N))
    for p, known in enumerate(data.patterns):
        columns = data.pattern_of == p
        inverse = inverse_of_factor(cholesky(C[np.ix_(known, known)]))
        reduction[p][np.ix_(known, known)] = inverse
        h = data.values[np.ix_(known, columns)]
        alpha = inverse @ h
        weights[np.ix_(known, columns)] = alpha
        # Leaving one entry out of a normal vector: h - alpha / diag(C^-1) (Rasmussen and Williams, equation 5.12).
        left_out[np.ix_(known, columns)] = h - alpha / np.diagonal(inverse)[:, None]
        left_out[np.ix_(~known, columns)] = C[np.ix_(~known, known)] @ alpha
    return Conditioned(covariances.anchors, weights, reduction, data.pattern_of, left_out)


def condition_on_inducing(covariances: Covariances, data: Memberships) -> Conditioned:
    """Condition on inducing vertices, whose entries are all that predictions see of the data."""
    t, K_fu, inducing = covariances.own, covariances.cross, covariances.anchors
    factor = inducing_factor(K_fu[inducing])
    K_uu, prior = factor @ factor.T, inverse_of_factor(factor)
    weights = np.zeros((len(inducing), data.values.shape[1]))
    left_out = np.zeros_like(data.values)
    reduction = np.zeros((len(data.patterns), len(inducing), len(inducing)))
    for p, known in enumerate(data.patterns):
        columns = data.pattern_of == p
        K, h = K_fu[known], data.values[np.ix_(known, columns)]
        posterior = inverse_of_factor(cholesky(K_uu + (K / t[known, None]).T @ K))
        reduction[p] = prior - posterior
        w = posterior @ (K.T @ (h / t[known, None]))
        weights[:, columns] = w
        # (Q + diag(t))^-1 by Woodbury, its products with h and its diagonal.
        alpha = (h - K @ w) / t[known, None]
        precision = 1 / t[known] - ((K @ posterior) * K).sum(axis=1) / t[known] ** 2
        left_out[np.ix_(known, columns)] = h - alpha / precision[:, None]
        left_out[np.ix_(~known, columns)] = K_fu[~known] @ w
    return Conditioned(inducing, weights, reduction, data.pattern_of, left_out)
