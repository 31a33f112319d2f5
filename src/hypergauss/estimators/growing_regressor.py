"""A regressor that takes in new vertices, hyperedges and measurements, and predicts vertices that are new."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, Self

import numpy as np

from hypergauss.estimators.grown_relations import Relations
from hypergauss.estimators.growth import Growth
from hypergauss.estimators.updating import measured_again
from hypergauss.estimators.vertices import VertexEstimator, in_order_of, nothing_given
from hypergauss.hypergraph.names import as_list
from hypergauss.solvers.sites import Observations, check_observations


class Predictions(NamedTuple):
    """Predicted mean and standard deviation, each of shape (m,) or (m, L)."""

    mean: np.ndarray
    std: np.ndarray


class GrowingRegressor(VertexEstimator):
    """What a fitted regressor can do when more becomes known."""

    observations_: Observations
    noise_variance_: float | None
    log_marginal_likelihood_: float
    _flat: bool

    def update(
        self,
        H: Relations | None = None,
        X: Iterable[Any] | None = None,
        y: Any = None,
        *,
        noise_variance: Any = None,
        covariates: Any = None,
    ) -> Self:
        """Take in more vertices, hyperedges or measurements, hyperparameters held: nothing is learned again.

        All values of the hyperparameters that predictions are averaged over stay, with their weights. The answer is
        that of conditioning anew on the grown hypergraph and all measurements; ``log_marginal_likelihood_`` is then
        that of the heaviest of these values, and NaN with the iterative solver, which would estimate it.

        Parameters
        ----------
        H : Hypergraph, Graph, or dict of name to either, optional
            What has grown, with all vertices that the model knows, in any order (`Hypergraph.with_edges`,
            `Hypergraph.with_members`). Of several relations those that have grown, by name.
        X, y : arrays, shape (n,), and (n,) or (n, L), optional
            Further measurements, as for `fit`; of a vertex that was measured before, one more.
        noise_variance : array, shape (n,), optional
            Of each of these, where it was given to `fit`.
        covariates : array of shape (N, p) or DataFrame, optional
            Of all vertices, where there are new ones that the model's own table does not have.

        Examples
        --------
        >>> from hypergauss import Hypergraph, HypergraphGPRegressor
        >>> H = Hypergraph.from_edges({"x": ["a", "b", "c"], "y": ["c", "d"], "z": ["d", "e", "f"]})
        >>> model = HypergraphGPRegressor(H, learn=False).fit(["a", "b", "f"], [1.0, 1.2, 3.0])
        >>> model.update(H.with_edges({"w": ["f", "g"]}), ["e"], [2.8]).predict(["d", "g"]).round(2)
        array([2.8 , 2.81])
        """
        growth, parameters_now = self._growth(H, covariates)
        before = self._known("observations_")
        now = before._replace(rows=growth.moved[before.rows])
        if X is not None or y is not None:
            now = now.joined(self._further(growth, X, y, noise_variance))
        elif H is None and covariates is None:
            raise nothing_given()
        posterior = measured_again(self.posterior_, growth, before, now, self.solver)
        self._keep_grown(growth, parameters_now, posterior)
        self.observations_ = now
        self.log_marginal_likelihood_ = np.nan if posterior.is_by_products else posterior.log_evidence
        return self

    def _further(self, growth: Growth, X: Iterable[Any] | None, y: Any, noise_variance: Any) -> Observations:
        """Return measurements that are to be taken in, checked to be of the kind that there is."""
        if X is None or y is None:
            raise ValueError(
                f"`X` and `y` go together. Got `{'y' if X is None else 'X'}` alone. Pass both, or neither."
            )
        names = as_list(X)
        y, noise_variance = (
            in_order_of(X, names, values, argument=argument)
            for values, argument in ((y, "y"), (noise_variance, "noise_variance"))
        )
        further = check_observations(growth.new.rows(names), y, noise_variance)
        if (self.noise_variance_ is None) != (further.known_variance is not None):
            rule = "was given to `fit`, and is needed" if noise_variance is None else "was learned, and cannot be given"
            raise ValueError(f"The noise of each measurement {rule} here too. Give `noise_variance` as `fit` had it.")
        outputs = self.observations_.mean.shape[1]
        if further.mean.shape[1] != outputs:
            raise ValueError(f"`y` must have {outputs} outputs, as in `fit`. Got {further.mean.shape[1]}.")
        return further

    def predict_new(
        self,
        memberships: Any,
        return_std: bool = False,
        *,
        include_noise: bool = True,
        covariates: Any = None,
    ) -> np.ndarray | Predictions:
        """Predict vertices that are new, from their memberships; the model stays as it is.

        The prediction is the one after `update` with these vertices, all of them together: hyperedges that they join
        are larger by that, as they will be.

        Parameters
        ----------
        memberships : dict of vertex to hyperedges, or Hypergraph
            For each new vertex the hyperedges that it joins, by name, or a dict ``{hyperedge: number}``; a Hypergraph
            has the new vertices, and some of the hyperedges. With several relations, a dict of these by relation.
        return_std, include_noise
            As for `predict`.
        covariates : array of shape (N + m, p) or DataFrame, optional
            Of all vertices, the new ones last, if the model has covariates.

        Returns
        -------
        array of shape (m,) or (m, L), or a pair of them, in the order of the memberships

        Examples
        --------
        >>> from hypergauss import Hypergraph, HypergraphGPRegressor
        >>> H = Hypergraph.from_edges({"x": ["a", "b", "c"], "y": ["c", "d"], "z": ["d", "e", "f"]})
        >>> model = HypergraphGPRegressor(H, learn=False).fit(["a", "b", "f"], [1.0, 1.2, 3.0])
        >>> model.predict_new({"g": ["y", "z"], "h": ["x"]}).round(2)
        array([2.35, 1.13])
        """
        growth, rows = self._with_newcomers(memberships, covariates)
        before = self._known("observations_")
        now = before._replace(rows=growth.moved[before.rows])
        posterior = measured_again(self.posterior_, growth, before, now, self.solver)
        return self._predicted(posterior, rows, return_std, include_noise)

    def _predicted(
        self, posterior: Any, rows: np.ndarray, return_std: bool, include_noise: bool
    ) -> np.ndarray | Predictions:
        mean = self._shaped(posterior.mean(rows))
        if not return_std:
            return mean
        variance = posterior.variance(rows)
        if include_noise and self.noise_variance_ is not None:
            variance = variance + self.noise_variance_
        std = np.sqrt(variance)
        return Predictions(mean, std if self._flat else np.broadcast_to(std[:, None], mean.shape).copy())

    def _shaped(self, columns: np.ndarray) -> np.ndarray:
        return columns[:, 0] if self._flat else columns
