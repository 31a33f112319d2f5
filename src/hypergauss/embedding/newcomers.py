r"""New vertices: where they stand among known ones, given their memberships, with nothing learned again.

**The hypergraph kernel.** A vertex enters Zhou's Laplacian by its row of the normalised incidence A = U diag(s) V', and
U = A V / s. A new vertex with memberships r has the row a = d^-1/2 r diag(w)^1/2 D_e^-1/2, d = r w, with the
hyperedge sizes D_e of the known vertices, and so the row a V / s of U. The kernel stays b I plus low rank,

    k(a, a') = b [same vertex] + (a V / s) diag(weights) (a' V / s)',

which is positive semidefinite on old and new vertices together, and for an old vertex is what it was.

**The coordinates** maximise the log density of the new memberships given all known ones, times the prior:

    sum over j of log N(r_j | m_j(u), s_j^2(u)) - l^2 |u|^2 / 2.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse as sp
from jaxtyping import Array, Float
from scipy.optimize import minimize

from hypergauss.embedding.prediction import Conditioned
from hypergauss.hypergraph import Hypergraph
from hypergauss.kernels import Kernel
from hypergauss.spectrum import Spectrum, normalised_rows

#: Anchors tried as a place to start from, and starts that are followed, for each newcomer.
_CANDIDATES, _FOLLOWED = 24, 3
#: Newcomers placed at once.
_CHUNK = 64
#: Singular values under this carry no weight, and dividing by them would carry only rounding errors.
_LEAST_SINGULAR_VALUE = 1e-6


def newcomer_vectors(H: Hypergraph, spectrum: Spectrum, rows: np.ndarray) -> np.ndarray:
    """Return the rows a V / s that stand for new vertices with memberships ``rows``, shape (n, r)."""
    assert spectrum.edge_vectors is not None
    assert spectrum.singular_values is not None
    a = normalised_rows(H, sp.csr_array(rows), float(spectrum.size_exponent))
    s = spectrum.singular_values
    safe = np.where(s > _LEAST_SINGULAR_VALUE, s, np.inf)
    return a @ (spectrum.edge_vectors / safe)


class Scene(NamedTuple):
    """The known vertices as newcomers see them."""

    latent: Kernel
    anchors: Any  # coordinates u, (A, Q)
    variance: Any
    noise_variance: Any
    latent_lengthscale: Any
    weights: Any  # (A, m)
    reduction: Any  # (P, A, A)
    pattern_of: Any  # (m,)


class Newcomers(NamedTuple):
    """What is known of new vertices: n rows each."""

    values: Any  # (n, m), 0 where unknown
    known: Any  # (n, m), 1 or 0
    smooth: Any  # (n, A), K_VV with the anchors
    own: Any  # (n,), K_VV of each newcomer with itself, nugget included


class Placed(NamedTuple):
    """Coordinates u of new vertices, (n, Q), and their Laplace covariances, (n, Q, Q)."""

    coordinates: np.ndarray
    covariances: np.ndarray


def scene_of(model: Any, conditioned: Conditioned) -> Scene:
    """Gather what newcomers need of a fitted model."""
    return Scene(
        model.latent,
        model.coordinates[conditioned.anchors],
        model.variance,
        model.noise_variance,
        model.latent_lengthscale,
        jnp.asarray(conditioned.weights),
        jnp.asarray(conditioned.reduction),
        jnp.asarray(conditioned.pattern_of),
    )


def place(scene: Scene, newcomers: Newcomers) -> Placed:
    """Find the coordinates of new vertices, each from the best of its most related anchors."""
    parts = [
        _place(scene, Newcomers(*(np.asarray(leaf)[start : start + _CHUNK] for leaf in newcomers)))
        for start in range(0, len(newcomers.values), _CHUNK)
    ]
    return Placed(*(np.concatenate(leaves) for leaves in zip(*parts, strict=True)))


def spreads(scene: Scene, newcomers: Newcomers, coordinates: np.ndarray) -> np.ndarray:
    """Return the Laplace covariance of each vertex's coordinates given all others, (n, Q, Q)."""
    hessians = -np.asarray(_hessians(jnp.asarray(coordinates), scene, newcomers))
    prior = float(scene.latent_lengthscale) ** 2
    values, vectors = np.linalg.eigh(hessians - prior * np.eye(hessians.shape[-1]))
    weights = 1.0 / (np.maximum(values, 0.0) + prior)
    return np.einsum("nqk,nk,nrk->nqr", vectors, weights, vectors)


def _place(scene: Scene, newcomers: Newcomers) -> tuple[np.ndarray, np.ndarray]:
    n, A = newcomers.smooth.shape
    Q = scene.anchors.shape[1]
    related = np.argsort(-np.asarray(newcomers.smooth), axis=1)[:, : min(_CANDIDATES, A)]
    candidates = np.concatenate([np.asarray(scene.anchors)[related], np.zeros((n, 1, Q))], axis=1)
    scores = np.stack([np.asarray(_log_densities(jnp.asarray(c), scene, newcomers)) for c in candidates.swapaxes(0, 1)])
    best = np.argsort(-scores, axis=0)[:_FOLLOWED]  # (starts, n)
    ends = [_ascend(scene, newcomers, candidates[np.arange(n), order]) for order in best]
    reached = np.stack([np.asarray(_log_densities(jnp.asarray(end), scene, newcomers)) for end in ends])
    coordinates = np.stack(ends)[reached.argmax(axis=0), np.arange(n)]
    return coordinates, spreads(scene, newcomers, coordinates)


def _ascend(scene: Scene, newcomers: Newcomers, start: np.ndarray) -> np.ndarray:
    """Climb from one start for each newcomer; their objectives add up, and share nothing."""
    scale = 1.0 / max(float(np.sum(newcomers.known)), 1.0)

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = _total(jnp.asarray(flat.reshape(start.shape)), scene, newcomers)
        return -scale * float(value), -scale * np.asarray(gradient).ravel()

    result = minimize(loss, start.ravel(), jac=True, method="L-BFGS-B", options={"ftol": 1e-12, "gtol": 1e-8})
    return result.x.reshape(start.shape)


def _log_density(u: Float[Array, " Q"], scene: Scene, one: Newcomers) -> Float[Array, ""]:
    """Return the log density of one newcomer's memberships and coordinates."""
    c = scene.variance * scene.latent.cross(u[None], scene.anchors)[0] * one.smooth
    prior = scene.variance * scene.latent.variances(u[None])[0] * one.own + scene.noise_variance
    explained = jnp.einsum("a,pab,b->p", c, scene.reduction, c)
    # What is left is at least the noise, but for rounding.
    variance = jnp.maximum(prior - explained, scene.noise_variance)[scene.pattern_of]
    z = (one.values - c @ scene.weights) ** 2 / variance
    likelihood = -0.5 * (one.known * (z + jnp.log(2 * jnp.pi * variance))).sum()
    return likelihood - 0.5 * scene.latent_lengthscale**2 * (u**2).sum()


_by_newcomer = Newcomers(0, 0, 0, 0)


@eqx.filter_jit
def _log_densities(U: Array, scene: Scene, newcomers: Newcomers) -> Array:
    return jax.vmap(_log_density, (0, None, _by_newcomer))(U, scene, newcomers)


@eqx.filter_jit
def _total(U: Array, scene: Scene, newcomers: Newcomers) -> tuple[Array, Array]:
    return jax.value_and_grad(lambda U: _log_densities(U, scene, newcomers).sum())(U)


@eqx.filter_jit
def _hessians(U: Array, scene: Scene, newcomers: Newcomers) -> Array:
    return jax.vmap(jax.hessian(_log_density), (0, None, _by_newcomer))(U, scene, newcomers)
