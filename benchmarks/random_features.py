r"""Graph random features, written from their papers, for comparison (Choromanski, 2023; Reid et al., 2024).

A kernel phi(Delta) = sum over k of a_k (A A')^k is estimated as Psi Psi', Psi = sum over k of f_k (A A')^k with
(f * f)_k = a_k, each row of Psi by random walks from its vertex: a walk that has reached v after k steps adds its load
times f_k to entry v. A step chooses a hyperedge of the vertex, then a member of it (Zhou's walk), so that a load is
multiplied by sqrt(d_u / d_v) / (1 - p), p the chance to stop before each step. The posterior mean follows by conjugate
gradients on Psi_t Psi_t' + noise.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, cg

from hypergauss import Hypergraph


def root_coefficients(nu: float, lengthscale: float, number: int) -> np.ndarray:
    """Return f_k of the Matern filter: the powers of m in (1 + b (1 - m))^(-nu / 2), b = lengthscale^2 / (2 nu)."""
    b = lengthscale**2 / (2 * nu)
    k = np.arange(1, number)
    ratios = (nu / 2 + k - 1) / k * b / (1 + b)
    return (1 + b) ** (-nu / 2) * np.concatenate([[1.0], np.cumprod(ratios)])


def features(
    H: Hypergraph, coefficients: np.ndarray, walks: int, stop: float, rng: np.random.Generator
) -> sp.csr_array:
    """Return Psi, sparse, from a number of walks a vertex; all walks of all vertices take each step together."""
    R = H.incidence
    T = sp.csr_array(R.T)
    degrees = np.diff(R.indptr).astype(float)
    root = np.sqrt(degrees)
    start = np.tile(np.arange(H.num_vertices), walks)
    here, load = start.copy(), np.ones(len(start))
    parts = []
    for coefficient in coefficients:
        entries = (coefficient * load / walks, (start, here))
        parts.append(sp.csr_array(sp.coo_array(entries, shape=(H.num_vertices, H.num_vertices))))
        going = (rng.random(len(here)) >= stop) & (degrees[here] > 0)
        start, here, load = start[going], here[going], load[going]
        if not len(here):
            break
        edge = R.indices[R.indptr[here] + (rng.random(len(here)) * degrees[here]).astype(int)]
        sizes = np.diff(T.indptr)[edge]
        there = T.indices[T.indptr[edge] + (rng.random(len(here)) * sizes).astype(int)]
        load = load * root[here] / (root[there] * (1 - stop))
        here = there
    return sp.csr_array(sum(parts[1:], parts[0]))


def posterior_mean(psi: sp.csr_array, rows: np.ndarray, y: np.ndarray, scale: float, noise: float) -> np.ndarray:
    """Return the posterior mean everywhere under scale Psi Psi' + noise."""
    at_rows = psi[rows]
    system = LinearOperator((len(rows), len(rows)), matvec=lambda x: scale * (at_rows @ (at_rows.T @ x)) + noise * x)
    alpha, _ = cg(system, y, rtol=1e-8, maxiter=2000)
    return scale * (psi @ (at_rows.T @ alpha))
