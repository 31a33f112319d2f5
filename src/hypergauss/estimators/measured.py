"""MeasuredVertices: what a fitted regressor says of vertices, on the scale of the data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, NamedTuple, overload

import numpy as np
import pandas as pd
from sklearn.base import RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from hypergauss import _checks
from hypergauss._checks import Labels, Seed, Values
from hypergauss.estimators.explanation import Explanation, explain
from hypergauss.estimators.measurements import is_ordinal
from hypergauss.estimators.vertices import VertexEstimator, in_order_of
from hypergauss.hypergraph.names import Name, as_list
from hypergauss.inference.latents import GaussianLatents
from hypergauss.inference.mixtures import MixedLatents, MixedPosterior, components
from hypergauss.inference.predictive import (
    LevelPrediction,
    LikelihoodPrediction,
    NormalPrediction,
    Part,
    Prediction,
    level_numbers,
)
from hypergauss.inference.propagation import LEAST_CAVITY
from hypergauss.likelihoods import Gaussian, Likelihood
from hypergauss.likelihoods.transforms import TRANSFORMS
from hypergauss.solvers.base import Posterior
from hypergauss.solvers.threads import threads_for


class Predictions(NamedTuple):
    """Predicted mean and standard deviation, each of shape (m,) or (m, L)."""

    mean: np.ndarray
    std: np.ndarray


class MeasuredVertices(RegressorMixin, VertexEstimator):
    """Predictions of measurements, counts or levels, from a posterior of one function a target."""

    likelihood: str | Likelihood
    posterior_: Any
    noise_variance_: float | None
    transform_: str
    levels_: np.ndarray | None
    _flat: bool

    @overload
    def predict(self, X: Iterable[Name], return_std: Literal[False] = False) -> np.ndarray: ...

    @overload
    def predict(self, X: Iterable[Name], return_std: Literal[True], *, include_noise: bool = True) -> Predictions: ...

    def predict(
        self, X: Iterable[Name], return_std: bool = False, *, include_noise: bool = True
    ) -> np.ndarray | Predictions:
        """Predict named vertices: the mean of a new measurement, on the scale of the data.

        That is a rate for counts, the expected level for levels, and with ``transform="log"`` the mean of a log-normal
        variable, exp(m + v / 2); the median, exp(m), is ``predict_quantiles(X, [0.5])``.

        Parameters
        ----------
        X : array of vertex names, shape (m,)
            Measured or not.
        return_std : bool
            Return (mean, std) instead of the mean alone.
        include_noise : bool
            Whether std is that of a new measurement, the default, or of what is expected of one given the function f:
            f itself with normal noise, the rate of counts. Where the noise of each measurement was given, that of a
            new one is not known, and std is that of f.

        Returns
        -------
        array of shape (m,) or (m, L), or a pair of them
        """
        rows = self._rows(X)
        with threads_for(max(len(rows), len(self.vertices_))):
            if self._is_through_likelihood:
                return self._told(self._prediction(rows).moments(include_noise=include_noise), return_std)
            posterior = self.posterior_
            return self._predicted(
                lambda: posterior.mean(rows), lambda: posterior.moments(rows), return_std, include_noise
            )

    def _predicted(
        self,
        mean: Callable[[], np.ndarray],
        moments: Callable[[], tuple[np.ndarray, np.ndarray]],
        return_std: bool,
        include_noise: bool,
    ) -> np.ndarray | Predictions:
        """Return what `predict` does from the mean of f where no variance is needed, else from both."""
        if not return_std and self.transform_ == "none":
            return self._shaped(mean())
        return self._told(self._normal(*moments()).moments(include_noise=include_noise), return_std)

    def _told(self, moments: tuple[np.ndarray, np.ndarray], return_std: bool) -> np.ndarray | Predictions:
        mean, variance = moments
        if not return_std:
            return self._shaped(mean)
        return Predictions(self._shaped(mean), self._shaped(np.sqrt(variance)))

    def predict_quantiles(
        self, X: Iterable[Name], probabilities: Sequence[float] = (0.05, 0.5, 0.95), *, include_noise: bool = True
    ) -> np.ndarray:
        """Return quantiles of a new measurement: for each probability the least value that is not exceeded with it.

        Those of counts are whole numbers and those of levels are levels, so that an interval between two holds at least
        what it promises; with ``transform="log"`` they are positive.

        Parameters
        ----------
        X : array of vertex names, shape (m,)
            Measured or not.
        probabilities : sequence of q numbers between 0 and 1
            As a rule the ends of a 90% interval and, between them, the median.
        include_noise : bool
            Whether of a new measurement, or of what is expected of one given f, as `predict` has it.

        Returns
        -------
        array of shape (m, q) or (m, L, q)

        Examples
        --------
        >>> from hypergauss import Hypergraph, HypergraphGPRegressor
        >>> H = Hypergraph.from_edges([["a", "b", "c"], ["c", "d"], ["d", "e", "f"]])
        >>> model = HypergraphGPRegressor(H, likelihood="poisson", learn=False).fit(["a", "b", "f"], [2, 3, 9])
        >>> model.predict_quantiles(["c"])
        array([[ 0.,  3., 12.]])
        """
        wanted = _checks.finite_array("probabilities", probabilities, missing="Leave it out.")
        if wanted.ndim != 1 or not ((wanted > 0) & (wanted < 1)).all():
            raise ValueError(f"`probabilities` must be a list of numbers between 0 and 1. Got {probabilities}.")
        found = self._prediction(self._rows(X)).quantiles(wanted, include_noise=include_noise)
        return found[:, 0] if self._flat and found.ndim == 3 else found

    def log_density(self, X: Iterable[Name], y: Values | Labels) -> np.ndarray:
        """Return the log density of new measurements, the log probability of counts and levels.

        On the scale of the data, whatever scale was learned on: densities of one target by several models compare.

        Parameters
        ----------
        X : array of vertex names, shape (m,)
            Each with a measurement.
        y : array, shape (m,) or (m, L)
            The measurements.

        Returns
        -------
        array of the shape of y
        """
        names = as_list(X)
        rows = self._rows(names)
        given = in_order_of(X, names, y, argument="y")
        if self.levels_ is not None:
            at = _checks.positions(given, self.levels_)
            found = self._prediction(rows).log_density(np.maximum(at, 0))
            return np.where(at < 0, -np.inf, found)
        values = _checks.finite_array("y", given, missing="Leave unmeasured vertices out.")
        _checks.same_length("vertices", len(rows), "y", len(values))
        prediction = self._prediction(rows)
        if self._is_through_likelihood or not self._flat:
            return prediction.log_density(values)
        return prediction.log_density(values[:, None])[:, 0]

    def score(self, X: Iterable[Name], y: Values | Labels, sample_weight: Any = None) -> float:
        """Return R^2 of the predicted means; levels that are no numbers count from 0."""
        check_is_fitted(self)
        names = as_list(X)
        given = in_order_of(X, names, y, argument="y")
        if self.levels_ is not None:
            given = level_numbers(self.levels_)[_checks.positions(given, self.levels_)]
        return float(super().score(names, given, sample_weight))

    @available_if(lambda self: is_ordinal(self.likelihood))
    def predict_proba(self, X: Iterable[Name]) -> np.ndarray:
        """Return the probability of each level, shape (m, C), in the order of ``levels_``; of ordinal models only."""
        prediction = self._prediction(self._rows(X))
        assert isinstance(prediction, LevelPrediction)
        return prediction.probabilities

    def predict_covariance(self, X: Iterable[Name]) -> np.ndarray:
        """Return the joint posterior covariance of f at named vertices, shape (m, m)."""
        rows = self._rows(X)
        return self._function.covariance(rows)

    def explain(self, vertex: Name, *, output: int = 0) -> Explanation:
        """Return how much each observed vertex, and each hyperedge of this vertex, contributes to its predicted mean.

        Contributions of either kind add up to the prediction: the mean, on the scale that was learned on; with another
        likelihood than "gaussian", the latent function.

        Parameters
        ----------
        vertex : name
            Observed or not.
        output : int, default 0
            Which of several outputs.

        Examples
        --------
        >>> from hypergauss import Hypergraph, HypergraphGPRegressor
        >>> H = Hypergraph.from_edges({"x": ["a", "b", "c"], "y": ["c", "d"], "z": ["d", "e", "f"]})
        >>> model = HypergraphGPRegressor(H, learn=False).fit(["a", "b", "f"], [1.0, 1.2, 3.0])
        >>> print(model.explain("c"))
        predicted mean of 'c': 1.385, from 1.733 without observations
          by hyperedge, 2 in all
            -0.560  'x'
            -0.055  'y'
            +0.267  (level)
            -0.000  (activity)
          by observed vertex, 3 in all
            -0.253  'a'
            -0.184  'b'
            +0.088  'f'
        """
        row = int(self._rows([vertex])[0])
        function = self._function
        number = _checks.count("output", output, least=0, most=len(function.prior.mean) - 1)
        of = {"none": "predicted mean", "log": "predicted mean of the logarithm"}[self.transform_]
        return explain(
            [(weight, part, number) for weight, part in components(function)],
            row,
            vertices=self.vertices_,
            H=self.H,
            of="latent function" if self._is_through_likelihood else of,
            with_values=not self._is_through_likelihood,
        )

    def sample(self, X: Iterable[Name], n: int = 1, random_state: Seed = None) -> np.ndarray:
        """Return n joint draws of f at named vertices, shape (n, m) or (n, m, L).

        f is on the scale that was learned on: the logarithm of a rate for counts, with ``transform="log"`` that of a
        measurement without its noise.
        """
        count = _checks.count("n", n)
        rows = self._rows(X)
        rng = np.random.default_rng(check_random_state(random_state).randint(2**31))
        draws = self.posterior_.sample(rows, count, rng)
        return draws[:, :, 0] if self._flat else draws

    def leave_one_out(self) -> pd.DataFrame:
        """Return the prediction of each measured vertex from all others, in the order of `fit`.

        Columns ``mean`` and ``std`` (noise included), and with several outputs ``mean_0``, ``mean_1``, ...; indexed by
        vertex name. In closed form with normal noise; else by taking each vertex's own site out of the approximation.
        """
        check_is_fitted(self)
        names = self.vertices_[self._function.sites.rows]
        mean, variance = self._left_out().moments()
        std = np.sqrt(variance)
        if self._flat:
            return pd.DataFrame({"mean": self._shaped(mean), "std": self._shaped(std)}, index=names)
        outputs = range(mean.shape[1])
        # On the scale that is learned on, outputs share one standard deviation.
        stds = {"std": std[:, 0]} if self.transform_ == "none" else {f"std_{j}": std[:, j] for j in outputs}
        return pd.DataFrame({f"mean_{j}": mean[:, j] for j in outputs} | stds, index=names)

    @property
    def likelihood_(self) -> Likelihood | None:
        """The likelihood that was learned, at the mode; None where the noise of each measurement was given."""
        check_is_fitted(self)
        if isinstance(self.posterior_, GaussianLatents | MixedLatents):
            return self.posterior_.likelihood
        return None if self.noise_variance_ is None else Gaussian(self.noise_variance_)

    # ------------------------------------------------ what these are made of

    @property
    def _is_through_likelihood(self) -> bool:
        return isinstance(self.posterior_, GaussianLatents | MixedLatents)

    @property
    def _function(self) -> Posterior | MixedPosterior:
        """The posterior of f, whatever it is seen through."""
        if isinstance(self.posterior_, GaussianLatents):
            return self.posterior_.posteriors[0]
        if isinstance(self.posterior_, MixedLatents):
            parts = tuple(part.posteriors[0] for part in self.posterior_.components)
            return MixedPosterior(parts, self.posterior_.weights, np.nan)
        return self.posterior_

    def _prediction(self, rows: np.ndarray) -> Prediction:
        posterior = self.posterior_
        if self._is_through_likelihood:
            return self._from_parts(
                [Part(weight, part.likelihood, *part.conditionals(rows)) for weight, part in components(posterior)]
            )
        return self._normal(*posterior.moments(rows))

    def _normal(self, mean: np.ndarray, variance: np.ndarray) -> NormalPrediction:
        noise = 0.0 if self.noise_variance_ is None else self.noise_variance_
        return NormalPrediction(mean, variance[:, None], noise, TRANSFORMS[self.transform_])

    def _left_out(self) -> Prediction:
        """What all others say of each measured vertex, in the order of sites; of a measurement like its own."""
        if self._is_through_likelihood:
            return self._from_parts(_without_own_site(self.posterior_))
        left_out = self.posterior_.leave_one_out()
        return NormalPrediction(left_out.mean, left_out.variance[:, None], 0.0, TRANSFORMS[self.transform_])

    def _from_parts(self, parts: Sequence[Part]) -> Prediction:
        return LikelihoodPrediction(parts) if self.levels_ is None else LevelPrediction(parts, self.levels_)

    def _shaped(self, columns: np.ndarray) -> np.ndarray:
        return columns[:, 0] if self._flat and columns.ndim == 2 else columns


def _without_own_site(posterior: GaussianLatents | MixedLatents) -> list[Part]:
    r"""Return f at each observed vertex from the others: its marginal N(m, v) less its site, of variance t and mean y.

    With left = 1 - v / t: variance v / left, mean (m - v y / t) / left.
    """
    parts = []
    for weight, part in components(posterior):
        sites = part.posteriors[0].sites
        mean, variance = part.conditionals(sites.rows)
        share = variance / sites.variance[:, None]
        left = np.maximum(1.0 - share, LEAST_CAVITY)
        parts.append(Part(weight, part.likelihood, (mean - share * sites.mean) / left, variance / left))
    return parts
