"""A regressor that takes in new vertices, hyperedges and measurements, and predicts vertices that are new."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from hypergauss import _checks
from hypergauss.estimators.grown_relations import Relations, newcomers_rows
from hypergauss.estimators.growth import Growth
from hypergauss.estimators.measured import MeasuredVertices, Predictions
from hypergauss.estimators.measurements import check_once_each, further_values
from hypergauss.estimators.updating import Labelled, labelled_again, measured_again
from hypergauss.estimators.vertices import half_given, in_order_of, nothing_given
from hypergauss.hypergraph import Hypergraph
from hypergauss.hypergraph.names import as_list, plain
from hypergauss.inference.mixtures import components
from hypergauss.likelihoods.transforms import TRANSFORMS
from hypergauss.solvers.base import Posterior
from hypergauss.solvers.sites import Observations, check_observations


class GrowingRegressor(MeasuredVertices):
    """What a fitted regressor can do when more becomes known."""

    observations_: Observations | None
    draws_: Any
    _log_slope: float

    @cached_property
    def log_marginal_likelihood_(self) -> float:
        """The log evidence; where it is an estimate, it is made when first read."""
        return self.posterior_.log_evidence + self._log_slope

    def _keep_log_evidence(self, log_slope: float, known: float | None = None) -> None:
        """Make that of a new posterior public: at once if it is known, or need not be estimated."""
        self.__dict__.pop("log_marginal_likelihood_", None)  # of an earlier one
        self._log_slope = log_slope
        if known is not None:
            self.__dict__["log_marginal_likelihood_"] = known
        elif not self.posterior_.is_by_products:
            _ = self.log_marginal_likelihood_

    def update(
        self,
        H: Relations | None = None,
        X: Iterable[Any] | None = None,
        y: Any = None,
        *,
        noise_variance: Any = None,
        covariates: Any = None,
        reweigh: bool = False,
    ) -> Self:
        """Take in more vertices, hyperedges or measurements, hyperparameters held: nothing is learned again.

        All values of the hyperparameters that predictions are averaged over stay, with their weights. The answer is
        that of conditioning anew on the grown hypergraph and all measurements; ``log_marginal_likelihood_`` is then
        that of the heaviest of these values, and through another likelihood than normal noise NaN where it is only
        estimated. Models by draws are to be fitted again.

        Parameters
        ----------
        H : Hypergraph, Graph, or dict of name to either, optional
            What has grown, with all vertices that the model knows, in any order (`Hypergraph.with_edges`,
            `Hypergraph.with_members`). Of several relations those that have grown, by name.
        X, y : arrays, shape (n,), and (n,) or (n, L), optional
            Further measurements, as for `fit`; with normal noise of a vertex that was measured before, one more.
        noise_variance : array, shape (n,), optional
            Of each of these, where it was given to `fit`.
        covariates : array of shape (N, p) or DataFrame, optional
            Of all vertices, where there are new ones that the model's own table does not have.
        reweigh : bool
            Give the values of the hyperparameters the weights that all data give them, and leave out those that no
            longer matter, so that what has been seen since counts too, and later updates are quicker. None is added:
            when one weighs nearly all, it is time to fit again.

        Examples
        --------
        >>> from hypergauss import Hypergraph, HypergraphGPRegressor
        >>> H = Hypergraph.from_edges({"x": ["a", "b", "c"], "y": ["c", "d"], "z": ["d", "e", "f"]})
        >>> model = HypergraphGPRegressor(H, learn=False).fit(["a", "b", "f"], [1.0, 1.2, 3.0])
        >>> model.update(H.with_edges({"w": ["f", "g"]}), ["e"], [2.8]).predict(["d", "g"]).round(2)
        array([2.34, 2.78])
        """
        _checks.flag("reweigh", reweigh)
        growth, parameters_now = self._growth(H, covariates)
        self._check_can_grow()
        before = self._known("observations_")
        now, log_slope = before._replace(rows=growth.moved[before.rows]), self._log_slope
        if X is not None or y is not None:
            further, slope = self._further(growth, X, y, noise_variance)
            now, log_slope = now.joined(further), log_slope + slope
        elif H is None and covariates is None:
            raise nothing_given()
        if self._is_through_likelihood:
            found = self._settled_again(growth, now, reweigh=reweigh)
            self._keep_grown(growth, parameters_now, found.posterior)
            self._keep_log_evidence(0.0, found.log_evidence)
        else:
            posterior = measured_again(self.posterior_, growth, before, now, asked=self.solver, reweigh=reweigh)
            self._keep_grown(growth, parameters_now, posterior)
            self._keep_log_evidence(log_slope)
        self.observations_ = now
        return self

    def _settled_again(self, growth: Growth, now: Observations, *, reweigh: bool) -> Labelled:
        """Return the latent function given all that was observed, through the likelihood that it is seen through."""
        first = components(self.posterior_)[0][1].posteriors[0]
        known = growth.moved[first.sites.rows]
        rows = np.concatenate([known, now.rows[~np.isin(now.rows, known)]])
        order = np.argsort(now.rows)
        y = now.mean[order[np.searchsorted(now.rows, rows, sorter=order)], 0]
        is_exact = self.posterior_.likelihood.is_log_concave and not first.is_by_products
        return labelled_again(
            self.posterior_,
            growth,
            rows,
            y,
            inference="ep" if is_exact else "variational",
            asked=self.solver,
            reweigh=reweigh,
        )

    def _check_can_grow(self) -> None:
        if self.draws_ is not None:
            raise ValueError(
                "A regressor must be averaged in closed form to be updated. Got one by draws, which are of what was "
                "known then. Fit again, or with `inference='auto'`."
            )

    def _further(
        self, growth: Growth, X: Iterable[Any] | None, y: Any, noise_variance: Any
    ) -> tuple[Observations, float]:
        """Return measurements to be taken in, of the kind and on the scale that there is, and its log slope there."""
        if X is None or y is None:
            raise half_given(X)
        names = as_list(X)
        y, noise_variance = (
            in_order_of(X, names, values, argument=argument)
            for values, argument in ((y, "y"), (noise_variance, "noise_variance"))
        )
        rows = growth.new.rows(names)
        if self._is_through_likelihood:
            return self._further_through_likelihood(growth, names, rows, y, noise_variance), 0.0
        further = check_observations(rows, y, noise_variance)
        if (self.noise_variance_ is None) != (further.known_variance is not None):
            rule = "was given to `fit`, and is needed" if noise_variance is None else "was learned, and cannot be given"
            raise ValueError(f"The noise of each measurement {rule} here too. Give `noise_variance` as `fit` had it.")
        outputs = self._known("observations_").mean.shape[1]
        if further.mean.shape[1] != outputs:
            raise ValueError(f"`y` must have {outputs} outputs, as in `fit`. Got {further.mean.shape[1]}.")
        transform, values = TRANSFORMS[self.transform_], np.asarray(y, dtype=np.float64)
        if transform.name != "none":
            further = check_observations(rows, transform.forward(values))
        return further, float(transform.log_slope(values).sum())

    def _further_through_likelihood(
        self, growth: Growth, names: Any, rows: np.ndarray, y: Any, noise_variance: Any
    ) -> Observations:
        """Return counts, levels or numbers to be taken in, each of a vertex that has none yet."""
        if noise_variance is not None:
            raise ValueError(
                "The `noise_variance` of each measurement goes with normal noise. Got another `likelihood`. Leave it "
                "out."
            )
        check_once_each(names, rows)
        before = self._known("observations_")
        again = np.flatnonzero(np.isin(rows, growth.moved[before.rows]))
        if len(again):
            raise ValueError(
                "Vertices must be observed once each with this likelihood. Got one more observation of "
                f"{plain(names[again[0]])!r}{_checks.others(len(again) - 1)}. Leave it out, or use "
                "`likelihood='gaussian'`."
            )
        values = further_values(self.posterior_.likelihood, y, self.levels_)
        _checks.same_length("vertices", len(rows), "y", len(values))
        return Observations.of(rows, values[:, None])

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
        array([2.63, 1.11])
        """
        check_is_fitted(self)
        self._check_can_grow()
        if covariates is None and isinstance(self.H, Hypergraph) and isinstance(self.posterior_, Posterior):
            rows = newcomers_rows(self.H, memberships)
            found = self.posterior_.of_new_vertices(rows, self.H.weights)
            if found is not None:
                return self._predicted(
                    lambda: found.mean, lambda: (found.mean, found.variance), return_std, include_noise
                )
        grown, names = self._with_newcomers(memberships, covariates)
        if return_std:
            return grown.predict(names, True, include_noise=include_noise)
        return grown.predict(names)
