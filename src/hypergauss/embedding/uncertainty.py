r"""Uncertainty of the coordinates: the Laplace approximation at the optimum, from the exact second derivatives.

A coordinate u_aq moves only row and column a of C, dC = e_a d' + d e_a', d_b = v K_VV[a, b] dk(u_a, u_b)/du_aq. With
P = C^-1, S = P Y Y' P and the slope G = dL/dC = (S - m P) / 2, the log likelihood L has the second derivatives

    d2L / du_aq du_br = sum over ij of G_ij d2C_ij - tr(P dC_br S dC_aq) + (m/2) tr(P dC_br P dC_aq),

each trace a sum of four products of entries of P, S, D_q P, D_q S, D_q P D_r' and D_q S D_r' (D_q has the rows d of all
vertices): O(Q^2 N^3) for all of them, as much as a few evaluations of L itself.

Turning or shifting the whole map changes no distance. These directions are taken out: what is left is the
uncertainty of a vertex's place *relative to the others*.
"""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import scipy.linalg

from hypergauss.embedding.covariances import Covariances
from hypergauss.embedding.latent_derivatives import LatentDerivatives
from hypergauss.embedding.memberships import Memberships
from hypergauss.embedding.prediction import Conditioned


def coordinate_covariances(covariances: Covariances, data: Memberships, conditioned: Conditioned) -> np.ndarray:
    """Return the covariance of each vertex's coordinates u, all other coordinates integrated out, (N, Q, Q)."""
    model = covariances.model
    N, Q = model.coordinates.shape
    precision = -log_likelihood_hessian(covariances, data, conditioned)
    prior = float(model.latent_lengthscale) ** 2  # u = x / l, x standard normal
    return _relative_covariances(precision, model.coordinates, prior).reshape(N, Q, Q)


def log_likelihood_hessian(covariances: Covariances, data: Memberships, conditioned: Conditioned) -> np.ndarray:
    """Return the second derivatives of log p(H | X) over the coordinates u, vertex by vertex, (N Q, N Q)."""
    model, table = covariances.model, covariances.table
    u = model.coordinates
    N, Q = u.shape
    # The nugget counts too where the latent variance depends on the place, as that of a linear kernel does.
    K_VV = model.variance * (table.smooth + np.diag(table.nugget))
    derivatives = LatentDerivatives.of(model.latent)
    first, second, across = (of(u, u) * K_VV for of in (derivatives.first, derivatives.second, derivatives.across))
    hessian = np.zeros((Q, Q, N, N))
    slope = np.zeros((N, N))
    for p in range(len(data.patterns)):
        columns = data.pattern_of == p
        P, alpha, m = conditioned.reduction[p], conditioned.weights[:, columns], columns.sum()
        S = alpha @ alpha.T
        slope += (S - m * P) / 2
        DP, DS = first @ P, first @ S  # (Q, N, N)
        for q, r in product(range(Q), repeat=2):
            DPD, DSD = DP[q] @ first[r].T, DS[q] @ first[r].T
            hessian[q, r] -= DP[q] * DS[r].T + DS[q] * DP[r].T + P * DSD + S * DPD
            hessian[q, r] += m * (DP[q] * DP[r].T + P * DPD)
    hessian += 2 * slope * across
    hessian[:, :, np.arange(N), np.arange(N)] += 2 * (slope * second).sum(axis=-1)
    return hessian.transpose(2, 0, 3, 1).reshape(N * Q, N * Q)


def _relative_covariances(precision: np.ndarray, U: np.ndarray, prior: float) -> np.ndarray:
    """Return each vertex's block of the inverse of (precision + prior I) on maps that neither turn nor shift."""
    N, Q = U.shape
    turns = [np.zeros((N, Q)) for _ in range(Q * (Q - 1) // 2)]
    for turn, (q, r) in zip(turns, combinations(range(Q), 2), strict=True):
        turn[:, q], turn[:, r] = U[:, r], -U[:, q]
    shifts = [np.tile(unit, (N, 1)) for unit in np.eye(Q)]
    basis = scipy.linalg.orth(np.column_stack([move.ravel() for move in (*turns, *shifts)]))
    values, vectors = scipy.linalg.eigh(_project_out(basis, precision))
    # At a maximum no direction is less sure than under the prior; rounding, and an early stop, may say otherwise.
    weights = 1.0 / (np.maximum(values, 0.0) + prior)
    vectors -= basis @ (basis.T @ vectors)
    blocks = vectors.reshape(N, Q, -1)
    return np.einsum("aqk,ark->aqr", blocks * weights, blocks)


def _project_out(basis: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """Return (I - B B') M (I - B B')."""
    half = matrix - basis @ (basis.T @ matrix)
    full = half - (half @ basis) @ basis.T
    return (full + full.T) / 2
