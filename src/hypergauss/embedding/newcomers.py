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

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize

from hypergauss.embedding.latent_derivatives import LatentDerivatives
from hypergauss.embedding.model import MapModel
from hypergauss.embedding.prediction import Conditioned
from hypergauss.hypergraph import Hypergraph
from hypergauss.spectrum import EigenSpectrum, normalised_rows

#: Anchors tried as a place to start from, and starts that are followed, for each newcomer.
_CANDIDATES, _FOLLOWED = 24, 3
#: Newcomers placed at once.
_CHUNK = 64
#: Singular values under this carry no weight, and dividing by them would carry only rounding errors.
_LEAST_SINGULAR_VALUE = 1e-6


def newcomer_vectors(H: Hypergraph, spectrum: EigenSpectrum, rows: np.ndarray) -> np.ndarray:
    """Return the rows a V / s that stand for new vertices with memberships ``rows``, shape (n, r)."""
    assert spectrum.edge_vectors is not None
    assert spectrum.singular_values is not None
    a = normalised_rows(H, sp.csr_array(rows), float(spectrum.size_exponent))
    s = spectrum.singular_values
    safe = np.where(s > _LEAST_SINGULAR_VALUE, s, np.inf)
    return a @ (spectrum.edge_vectors / safe)


class Newcomers(NamedTuple):
    """What is known of new vertices: n rows each."""

    values: np.ndarray  # (n, m), 0 where unknown
    known: np.ndarray  # (n, m), 1 or 0
    smooth: np.ndarray  # (n, A), K_VV with the anchors
    own: np.ndarray  # (n,), K_VV of each newcomer with itself, nugget included

    def chunks(self) -> Iterator[slice]:
        """Yield slices of a few newcomers at a time."""
        for start in range(0, len(self.values), _CHUNK):
            yield slice(start, start + _CHUNK)

    def at(self, rows: slice) -> Newcomers:
        """Return some of them."""
        return Newcomers(*(leaf[rows] for leaf in self))


class Placed(NamedTuple):
    """Coordinates u of new vertices, (n, Q), and their Laplace covariances, (n, Q, Q)."""

    coordinates: np.ndarray
    covariances: np.ndarray


class Scene(NamedTuple):
    """The known vertices as newcomers see them."""

    model: MapModel
    conditioned: Conditioned

    @property
    def anchors(self) -> np.ndarray:
        """Coordinates u of the anchors, (A, Q)."""
        return self.model.coordinates[self.conditioned.anchors]

    @property
    def has_pattern(self) -> np.ndarray:
        """1 where a column has a pattern of known entries, (m, P)."""
        return np.eye(len(self.conditioned.reduction))[self.conditioned.pattern_of]


def place(scene: Scene, newcomers: Newcomers) -> Placed:
    """Find the coordinates of new vertices, each from the best of its most related anchors."""
    coordinates = np.concatenate([_place(scene, newcomers.at(rows)) for rows in newcomers.chunks()])
    return Placed(coordinates, spreads(scene, newcomers, coordinates))


def spreads(scene: Scene, newcomers: Newcomers, coordinates: np.ndarray) -> np.ndarray:
    """Return the Laplace covariance of each vertex's coordinates given all others, (n, Q, Q)."""
    hessians = np.concatenate(
        [LogDensities(coordinates[rows], scene, newcomers.at(rows)).hessians() for rows in newcomers.chunks()]
    )
    prior = float(scene.model.latent_lengthscale) ** 2
    values, vectors = np.linalg.eigh(-hessians - prior * np.eye(hessians.shape[-1]))
    weights = 1.0 / (np.maximum(values, 0.0) + prior)
    return np.einsum("nqk,nk,nrk->nqr", vectors, weights, vectors)


def _place(scene: Scene, newcomers: Newcomers) -> np.ndarray:
    n, A = newcomers.smooth.shape
    anchors = scene.anchors
    related = np.argsort(-newcomers.smooth, axis=1)[:, : min(_CANDIDATES, A)]
    candidates = np.concatenate([anchors[related], np.zeros((n, 1, anchors.shape[1]))], axis=1)
    scores = np.stack([LogDensities(c, scene, newcomers).values for c in candidates.swapaxes(0, 1)])
    best = np.argsort(-scores, axis=0)[:_FOLLOWED]  # (starts, n)
    ends = [_ascend(scene, newcomers, candidates[np.arange(n), order]) for order in best]
    reached = np.stack([LogDensities(end, scene, newcomers).values for end in ends])
    return np.stack(ends)[reached.argmax(axis=0), np.arange(n)]


def _ascend(scene: Scene, newcomers: Newcomers, start: np.ndarray) -> np.ndarray:
    """Climb from one start for each newcomer; their objectives add up, and share nothing."""
    scale = 1.0 / max(float(np.sum(newcomers.known)), 1.0)

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        here = LogDensities(flat.reshape(start.shape), scene, newcomers)
        return -scale * float(here.values.sum()), -scale * here.gradients().ravel()

    result = minimize(loss, start.ravel(), jac=True, method="L-BFGS-B", options={"ftol": 1e-12, "gtol": 1e-8})
    return result.x.reshape(start.shape)


class LogDensities:
    r"""The log density of each newcomer's memberships and coordinates, and its derivatives in the coordinates.

    Column j has the mean m = c'w_j and the variance s^2 = v k(u, u) K_VV + sigma^2 - c' R c, where c(u) are covariances
    with the anchors. Derivatives go by way of m, s^2 and c: with dc_q = dc/du_q,

        dm_q = dc_q' w,    d(s^2)_q = v K_VV dk(u, u)_q - 2 dc_q' R c,
        d2(s^2)_qr = v K_VV d2k(u, u)_qr - 2 d2c_qr' R c - 2 dc_q' R dc_r.

    Parameters
    ----------
    coordinates : array, shape (n, Q)
        Where the newcomers are thought to stand.
    scene : Scene
        The known vertices.
    newcomers : Newcomers
        What is known of them.
    """

    def __init__(self, coordinates: np.ndarray, scene: Scene, newcomers: Newcomers) -> None:
        self._u, self._new, self._anchors = coordinates, newcomers, scene.anchors
        self._model, (_, self._weights, self._reduction, self._pattern_of, _) = scene
        self._has_pattern = scene.has_pattern
        model = self._model
        self._derivatives = LatentDerivatives.of(model.latent)
        self._latent = model.latent.cross(coordinates, self._anchors)
        c = model.variance * self._latent * newcomers.smooth
        self._reduced = c @ self._reduction  # R c, (P, n, A)
        prior = model.variance * model.latent.variances(coordinates) * newcomers.own + model.noise_variance
        left = prior[:, None] - np.einsum("pna,na->np", self._reduced, c)
        # What is left is at least the noise, but for rounding.
        self._is_free = left > model.noise_variance
        self._variance = np.maximum(left, model.noise_variance)[:, self._pattern_of]  # (n, m)
        self._residual = newcomers.values - c @ self._weights

    @property
    def values(self) -> np.ndarray:
        """The log densities, shape (n,)."""
        z = self._residual**2 / self._variance
        likelihood = -0.5 * (self._new.known * (z + np.log(2 * np.pi * self._variance))).sum(axis=1)
        return likelihood - 0.5 * self._model.latent_lengthscale**2 * (self._u**2).sum(axis=1)

    def gradients(self) -> np.ndarray:
        """Return the gradient of each in its coordinates, shape (n, Q)."""
        in_latent = self._model.variance * self._in_c * self._new.smooth
        gradient = self._derivatives.pull_back(self._u, self._anchors, in_latent, self._latent)
        gradient += self._in_own[:, None] * self._derivatives.variances_first(self._u)
        return gradient - self._model.latent_lengthscale**2 * self._u

    def hessians(self) -> np.ndarray:
        """Return the second derivatives of each in its coordinates, shape (n, Q, Q)."""
        u, known, V, residual = self._u, self._new.known, self._variance, self._residual
        scale = self._model.variance * self._new.smooth
        first = np.moveaxis(scale * self._derivatives.first(u, self._anchors), 0, 1)  # dc, (n, Q, A)
        second = scale * self._derivatives.second(u, self._anchors)  # (Q, Q, n, A)
        of_mean = first @ self._weights  # (n, Q, m)
        own = (self._model.variance * self._new.own)[:, None] * self._derivatives.variances_first(u)
        explained = np.einsum("nqa,pna->nqp", first, self._reduced)
        of_variance = ((own[:, :, None] - 2 * explained) * self._is_free[:, None, :])[:, :, self._pattern_of]
        hessian = np.einsum("na,qrna->nqr", self._in_c, second)
        hessian += self._in_own[:, None, None] * self._derivatives.variances_second(u)
        for in_variance, reduction in zip(self._in_variance.T, self._reduction, strict=True):
            hessian -= 2 * in_variance[:, None, None] * (first @ reduction @ first.swapaxes(1, 2))
        mixed = _products(-known * residual / V**2, of_mean, of_variance)
        hessian += mixed + mixed.swapaxes(1, 2)
        hessian += _products(-known / V, of_mean, of_mean)
        hessian += _products(known * (0.5 / V**2 - residual**2 / V**3), of_variance, of_variance)
        return hessian - self._model.latent_lengthscale**2 * np.eye(u.shape[1])

    @cached_property
    def _in_variance(self) -> np.ndarray:
        """The slope in the variance of each pattern, (n, P); none where the noise alone is left."""
        by_column = -0.5 * self._new.known * (1 - self._residual**2 / self._variance) / self._variance
        return (by_column @ self._has_pattern) * self._is_free

    @cached_property
    def _in_c(self) -> np.ndarray:
        """The slope in c, (n, A)."""
        through_means = (self._new.known * self._residual / self._variance) @ self._weights.T
        return through_means - 2 * np.einsum("np,pna->na", self._in_variance, self._reduced)

    @property
    def _in_own(self) -> np.ndarray:
        """The slope in k(u, u), (n,)."""
        return self._model.variance * self._new.own * self._in_variance.sum(axis=1)


def _products(weights: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the sums over columns of weights left_q right_r, (n, Q, Q), of arrays (n, m) and (n, Q, m)."""
    return (weights[:, None, :] * left) @ right.swapaxes(1, 2)
