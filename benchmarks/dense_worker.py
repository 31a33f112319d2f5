"""Contender: dense code in scikit-learn's style. ``python -m benchmarks.dense_worker PROBLEM LAPLACIAN``.

NumPy and SciPy alone: the eigenvectors of the dense Laplacian, the n x n covariance and its Cholesky factor at every
evaluation, the gradient by hand, L-BFGS in the logarithms of the hyperparameters.
"""

from __future__ import annotations

import sys

import numpy as np
import scipy.linalg
from scipy.optimize import minimize

from benchmarks.contest import START, contend, spectral_weights
from benchmarks.problem import Problem

problem = Problem.load(sys.argv[1])
laplacian = np.load(sys.argv[2])
BOUNDS = [(np.log(1e-5), np.log(1e5))] * 4


def decompose() -> tuple[np.ndarray, np.ndarray]:
    """Return the eigenvalues and the observed vertices' rows of the eigenvectors."""
    eigenvalues, vectors = scipy.linalg.eigh(laplacian)
    return np.maximum(eigenvalues, 0.0), vectors[problem.rows]


def loss(theta: np.ndarray, eigenvalues: np.ndarray, U: np.ndarray) -> tuple[float, np.ndarray]:
    """Return minus the log evidence and its gradient in log nu, lengthscale, variance and noise variance."""
    nu, lengthscale, variance, noise = np.exp(theta)
    y = problem.targets
    s = spectral_weights(eigenvalues, nu, lengthscale, variance)
    K = (U * s) @ U.T
    K[np.diag_indices_from(K)] += noise
    factor = scipy.linalg.cho_factor(K, lower=True, check_finite=False)
    alpha = scipy.linalg.cho_solve(factor, y, check_finite=False)
    value = y @ alpha / 2 + np.log(np.diagonal(factor[0])).sum() + len(y) * np.log(2 * np.pi) / 2
    # d value = tr(G dK), and K depends on the kernel's hyperparameters through s alone.
    G = (scipy.linalg.cho_solve(factor, np.eye(len(y)), check_finite=False) - np.outer(alpha, alpha)) / 2
    by_log_s = ((G @ U) * U).sum(axis=0) * s
    a = lengthscale**2 * eigenvalues / (2 * nu)
    log_phi_by = (nu * (a / (1 + a) - np.log1p(a)), -2 * nu * a / (1 + a))  # log nu, log lengthscale
    shape = [by_log_s @ (d - (s @ d) / s.sum()) for d in log_phi_by]
    return value, np.array([*shape, by_log_s.sum(), noise * np.trace(G)])


def fit() -> dict[str, float]:
    result = minimize(loss, first, args=decompose(), jac=True, method="L-BFGS-B", bounds=BOUNDS)
    return dict(zip(START, np.exp(result.x).tolist(), strict=True))


if __name__ == "__main__":
    first = np.log(list(START.values()))
    parts = decompose()
    contend(fit, lambda: loss(first, *parts))
