r"""What a fitted latent model says of an incidence entry: predictions at known and at new vertices.

With anchors (all vertices, or the inducing ones) and c a place's covariances with them, nugget aside, column j has

    mean m_j = c' w_j,    variance s^2 = v k(u, u) K_VV + sigma^2 - c' R c,

where, for C the covariance of the known entries of that column, w_j = C^-1 h_j and R = C^-1 if every vertex is an
anchor, and w_j = S^-1 K_uf (h_j / t) and R = K_uu^-1 - S^-1, S = K_uu + K_uf diag(1/t) K_fu, if inducing vertices are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg

from hypergauss.embedding.memberships import Memberships
from hypergauss.embedding.model import LatentModel
from hypergauss.embedding.objectives import JITTER, Table, covariance, own_variance
from hypergauss.exceptions import NumericalError


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


def condition_exactly(model: LatentModel, table: Table, data: Memberships) -> Conditioned:
    """Condition on all vertices, by a factor of C for each pattern."""
    N = len(data.values)
    C = np.asarray(covariance(model, table))
    weights, left_out = np.zeros_like(data.values), np.zeros_like(data.values)
    reduction = np.zeros((len(data.patterns), N, N))
    for p, known in enumerate(data.patterns):
        columns = data.pattern_of == p
        inverse = _inverse(C[np.ix_(known, known)])
        reduction[p][np.ix_(known, known)] = inverse
        h = data.values[np.ix_(known, columns)]
        alpha = inverse @ h
        weights[np.ix_(known, columns)] = alpha
        # Leaving one entry out of a normal vector: h - alpha / diag(C^-1) (Rasmussen and Williams, equation 5.12).
        left_out[np.ix_(known, columns)] = h - alpha / np.diagonal(inverse)[:, None]
        left_out[np.ix_(~known, columns)] = C[np.ix_(~known, known)] @ alpha
    return Conditioned(np.arange(N), weights, reduction, data.pattern_of, left_out)


def condition_on_inducing(model: LatentModel, table: Table, data: Memberships, inducing: np.ndarray) -> Conditioned:
    """Condition on inducing vertices, whose entries are all that predictions see of the data."""
    t = np.asarray(own_variance(model, table))
    K_fu = np.asarray(
        model.variance * model.latent.cross(model.coordinates, model.coordinates[inducing]) * table.smooth
    )
    K_uu = K_fu[inducing] + JITTER * np.trace(K_fu[inducing]) / len(inducing) * np.eye(len(inducing))
    prior = _inverse(K_uu)
    weights = np.zeros((len(inducing), data.values.shape[1]))
    left_out = np.zeros_like(data.values)
    reduction = np.zeros((len(data.patterns), len(inducing), len(inducing)))
    for p, known in enumerate(data.patterns):
        columns = data.pattern_of == p
        K, h = K_fu[known], data.values[np.ix_(known, columns)]
        posterior = _inverse(K_uu + (K / t[known, None]).T @ K)
        reduction[p] = prior - posterior
        w = posterior @ (K.T @ (h / t[known, None]))
        weights[:, columns] = w
        # (Q + diag(t))^-1 by Woodbury, its products with h and its diagonal.
        alpha = (h - K @ w) / t[known, None]
        precision = 1 / t[known] - ((K @ posterior) * K).sum(axis=1) / t[known] ** 2
        left_out[np.ix_(known, columns)] = h - alpha / precision[:, None]
        left_out[np.ix_(~known, columns)] = K_fu[~known] @ w
    return Conditioned(inducing, weights, reduction, data.pattern_of, left_out)


def _inverse(matrix: np.ndarray) -> np.ndarray:
    """Return the inverse of a covariance matrix."""
    try:
        factor = scipy.linalg.cho_factor((matrix + matrix.T) / 2, lower=True)
    except np.linalg.LinAlgError as error:
        raise NumericalError(
            f"The covariance of {len(matrix)} memberships is not positive definite. Likely cause: a nearly singular "
            "hypergraph kernel with hardly any noise; fix a smaller `nu` or `lengthscale`."
        ) from error
    return scipy.linalg.cho_solve(factor, np.eye(len(matrix)))
