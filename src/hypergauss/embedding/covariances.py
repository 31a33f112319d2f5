"""The covariances of a map's memberships: what a likelihood is made of, and the way back from its slopes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hypergauss import parameters
from hypergauss.embedding.latent_derivatives import LatentDerivatives
from hypergauss.embedding.model import MapModel, Table


class Slopes(NamedTuple):
    """The slopes of a number in `Covariances`: arrays of the same names and shapes."""

    cross: np.ndarray
    shared: np.ndarray
    own: np.ndarray


class Covariances:
    r"""C of N vertices and A anchors in three parts, without forming what is not asked for.

    Attributes
    ----------
    anchors : array of int, shape (A,)
        All vertices in order, or the inducing ones.
    cross : array, shape (N, A)
        v K_XX * K_VV with the anchors, without nugget and noise.
    shared : array, shape (N,)
        Its diagonal.
    own : array, shape (N,)
        The nugget of C plus the noise: the variance of each vertex that no other shares.
    """

    def __init__(self, model: MapModel, table: Table, anchors: np.ndarray) -> None:
        self.model, self.table, self.anchors = model, table, anchors
        u = model.coordinates
        self._latent = model.latent.cross(u, u[anchors])
        self._latent_variances = model.latent.variances(u)
        self.cross = model.variance * self._latent * table.smooth
        self.shared = model.variance * self._latent_variances * table.smooth_variances
        self.own = model.variance * self._latent_variances * table.nugget + model.noise_variance

    def matrix(self) -> np.ndarray:
        """Return C = v K_XX * K_VV + sigma^2 I, if all vertices are anchors, shape (N, N)."""
        C = self.cross.copy()
        C.flat[:: len(C) + 1] += self.own
        return C

    def pull_back(self, slopes: Slopes) -> dict[str, Any]:
        """Return slopes in the model's own hyperparameters, and the gradient in those of the latent kernel."""
        model, table = self.model, self.table
        signal = slopes.shared @ self.shared + slopes.own @ (self.own - model.noise_variance)
        in_latent = model.variance * slopes.cross * table.smooth
        in_variances = model.variance * (slopes.shared * table.smooth_variances + slopes.own * table.nugget)
        found = {
            "coordinates": self._in_coordinates(in_latent, in_variances),
            "variance": ((slopes.cross * self.cross).sum() + signal) / model.variance,
            "noise_variance": slopes.own.sum(),
        }
        if parameters.slots(model.latent):
            u = model.coordinates
            found["latent"] = model.latent.pull_back(u, u[self.anchors], in_latent)
            found["latent"] += model.latent.pull_back_variances(u, in_variances)
        return found

    def pull_back_table(self, slopes: Slopes) -> Table:
        """Return slopes in the covariances of K_VV."""
        v, k = self.model.variance, self._latent_variances
        return Table(v * slopes.cross * self._latent, v * k * slopes.shared, v * k * slopes.own)

    def _in_coordinates(self, in_latent: np.ndarray, in_variances: np.ndarray) -> np.ndarray:
        """Return the slope in u, (N, Q): a vertex moves its row, as an anchor its column too, and its variance."""
        u, anchors = self.model.coordinates, self.anchors
        derivatives = LatentDerivatives.of(self.model.latent)
        of_variances = in_variances[:, None] * derivatives.variances_first(u)
        if len(anchors) == len(u):  # K_XX is symmetric
            return of_variances + derivatives.pull_back(u, u, in_latent + in_latent.T, self._latent)
        found = of_variances + derivatives.pull_back(u, u[anchors], in_latent, self._latent)
        found[anchors] += derivatives.pull_back(u[anchors], u, in_latent.T, self._latent.T)
        return found
