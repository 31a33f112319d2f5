"""The log posterior of coordinates and hyperparameters: exact, or bounded from below through inducing vertices."""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Float

from hypergauss import parameters
from hypergauss.embedding.memberships import Memberships, Patterns
from hypergauss.embedding.model import LatentModel, Vertices
from hypergauss.solvers.dense import log_normal_of_gram
from hypergauss.learning.search import Objective
from hypergauss.learning.priors import Matched, log_prior

#: Added to the covariance of inducing vertices, relative to its mean variance.
JITTER = 1e-8

_LOG_2PI = float(np.log(2 * np.pi))


class Table(NamedTuple):
    """K_VV between all N vertices and A anchors (all vertices, or the inducing ones), its nugget kept apart."""

    smooth: Float[Array, "N A"]
    smooth_variances: Float[Array, " N"]
    nugget: Float[Array, " N"]


@eqx.filter_jit
def tabulate(model: LatentModel, vertices: Vertices, anchors: np.ndarray) -> Table:
    """Evaluate the vertex covariances at a model's hyperparameters."""
    chosen = jax.tree.map(lambda leaf: leaf[anchors], vertices)
    return Table(model.smooth(vertices, chosen), model.smooth_variances(vertices), model.nugget(vertices))


class _Data(eqx.Module):
    """All that an objective needs besides the model; the table is there if nothing in it is learned."""

    groups: tuple[Patterns, ...]
    vertices: Any  # Vertices, or None
    table: Table | None
    anchors: np.ndarray

    def tabulated(self, model: LatentModel) -> Table:
        if self.table is not None:
            return self.table
        return tabulate(model, self.vertices, self.anchors)


class LogPosterior(Objective):
    """log p(H | X) + log p(X, l) of a latent model, or with inducing vertices a lower bound on it.

    Parameters
    ----------
    model : LatentModel
        Its shapes, and the values of what is not learned.
    memberships : Memberships
        The data.
    vertices : Vertices
        Of all N rows.
    inducing : array of int, optional
        Inducing vertices; without them the posterior is exact, at O(N^3) for each pattern of known entries.
    """

    def __init__(
        self,
        model: LatentModel,
        memberships: Memberships,
        vertices: Vertices,
        inducing: np.ndarray | None = None,
    ) -> None:
        kernels = [kernel for kernel in (model.hypergraph, model.covariates) if kernel is not None]
        learned = any(parameters.slots(kernel) for kernel in kernels)
        anchors = np.arange(len(model.coordinates)) if inducing is None else inducing
        table = None if learned else tabulate(model, vertices, anchors)
        groups = memberships.grouped()
        self._data = jax.tree.map(jnp.asarray, _Data(groups, None if table else vertices, table, anchors))
        # Without the spectrum, another hypergraph of the same size does not compile again.
        self._template = eqx.tree_at(lambda m: m.hypergraph, model, None) if table else model
        self._evaluate = _dense if inducing is None else _sparse
        self._size = memberships.num_known

    @property
    def num_observations(self) -> int:  # noqa: D102
        return self._size

    def value_and_gradient(self, theta: np.ndarray, priors: Matched) -> tuple[float, np.ndarray]:  # noqa: D102
        value, gradient = self._evaluate(jnp.asarray(theta), self._template, self._data, priors)
        return float(value), np.asarray(gradient)


@eqx.filter_jit
def own_variance(model: LatentModel, table: Table) -> Float[Array, " N"]:
    """Return the nugget of C plus the noise: the variance of each vertex that no other shares."""
    return model.variance * model.latent.variances(model.coordinates) * table.nugget + model.noise_variance


@eqx.filter_jit
def covariance(model: LatentModel, table: Table) -> Float[Array, "N N"]:
    """Return C = v K_XX * K_VV + sigma^2 I."""
    latent = model.latent.cross(model.coordinates, model.coordinates)
    return model.variance * latent * table.smooth + jnp.diag(own_variance(model, table))


def masked(C: Float[Array, "N N"], known: Float[Array, " N"]) -> Float[Array, "N N"]:
    """Return C on the known vertices, and the identity, which adds nothing, on the others."""
    return C * known[:, None] * known[None, :] + jnp.diag(1.0 - known)


@eqx.filter_jit
def _dense(theta: Array, template: LatentModel, data: _Data, priors: Matched) -> tuple[Array, Array]:
    """Return the log posterior and its gradient: first the slope over C, then back to what C is made of.

    So nothing but one N x N slope is kept, however many patterns there are.
    """

    def prepare(theta: Array) -> tuple[Array, Array]:
        model = parameters.unpack(template, theta)
        return covariance(model, data.tabulated(model)), model.log_prior() + log_prior(model, priors)

    def add(total: tuple[Array, Array], pattern: Patterns) -> tuple[tuple[Array, Array], None]:
        def likelihood(C: Array) -> Array:
            absent = (1.0 - pattern.known).sum()
            density = log_normal_of_gram(masked(C, pattern.known), pattern.root, pattern.columns)
            return density + 0.5 * pattern.columns * absent * _LOG_2PI

        return jax.tree.map(jnp.add, total, jax.value_and_grad(likelihood)(C)), None

    (C, prior), pull_back = jax.vjp(prepare, theta)
    total = (jnp.zeros(()), jnp.zeros_like(C))
    for group in data.groups:
        total, _ = jax.lax.scan(add, total, group)
    value, slope = total
    return value + prior, pull_back((slope, jnp.ones(())))[0]


@eqx.filter_jit
def _sparse(theta: Array, template: LatentModel, data: _Data, priors: Matched) -> tuple[Array, Array]:
    """Return a lower bound on the log posterior (Titsias, 2009), and its gradient.

    With Q = K_fu K_uu^-1 K_uf for the covariances without nugget, and t the nugget plus the noise of each vertex,

        log p(Y) >= sum over columns of log N(y | 0, Q + diag(t)) - tr((K - Q) / t) / 2.
    """

    def bound(theta: Array) -> Array:
        model = parameters.unpack(template, theta)
        table = data.tabulated(model)
        t = own_variance(model, table)
        whitened, variances = whiten(model, table, data.anchors)

        def of_pattern(pattern: Patterns) -> Array:
            precision = pattern.known / t
            B = jnp.eye(len(data.anchors)) + (whitened * precision) @ whitened.T
            factor = jnp.linalg.cholesky(B)
            projected = solve_triangular(factor, (whitened * precision) @ pattern.root, lower=True)
            log_det = 2 * jnp.log(jnp.diagonal(factor)).sum() + (pattern.known * (jnp.log(t) + _LOG_2PI)).sum()
            square = (precision[:, None] * pattern.root**2).sum() - (projected**2).sum()
            left_out = (precision * (variances - (whitened**2).sum(axis=0))).sum()
            return -0.5 * (square + pattern.columns * (log_det + left_out))

        likelihood = sum(jax.lax.map(jax.checkpoint(of_pattern), group).sum() for group in data.groups)
        return likelihood + model.log_prior() + log_prior(model, priors)

    return jax.value_and_grad(bound)(theta)


def whiten(
    model: LatentModel, table: Table, inducing: np.ndarray | Array
) -> tuple[Float[Array, "J N"], Float[Array, " N"]]:
    """Return W = L^-1 K_uf with L L' = K_uu, so that W'W = Q, and the diagonal of K (both without nugget)."""
    cross = model.variance * model.latent.cross(model.coordinates, model.coordinates[inducing]) * table.smooth
    within = cross[inducing]
    ridge = JITTER * jnp.trace(within) / len(inducing)
    factor = jnp.linalg.cholesky((within + within.T) / 2 + ridge * jnp.eye(len(inducing)))
    variances = model.variance * model.latent.variances(model.coordinates) * table.smooth_variances
    return solve_triangular(factor, cross.T, lower=True), variances
