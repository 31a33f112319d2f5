"""HypergraphGPRegressor: Gaussian process regression on the vertices of a hypergraph, the scikit-learn way."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import Any, Literal, Self, overload

import numpy as np
import pandas as pd
from sklearn.base import RegressorMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from hypergauss import _checks
from hypergauss.estimators.blueprint import Blueprint
from hypergauss.estimators.defaults import default_priors
from hypergauss.estimators.explanation import Explanation, explain
from hypergauss.estimators.fitting import Fitted, fit
from hypergauss.estimators.growing_regressor import GrowingRegressor, Predictions
from hypergauss.estimators.progress import progress
from hypergauss.estimators.settings import Idle, check_flags, refuse_idle
from hypergauss.estimators.tasks import GaussianTask
from hypergauss.estimators.vertices import in_order_of, report_plan, warn_unless_converged
from hypergauss.exceptions import LearningWarning
from hypergauss.hypergraph import Graph, Hypergraph
from hypergauss.hypergraph.names import as_list
from hypergauss.inference.mixtures import components
from hypergauss.kernels import Kernel
from hypergauss.learning.priors import LogNormal
from hypergauss.solvers.choose import Choice
from hypergauss.solvers.sites import Observations, check_observations
from hypergauss.solvers.work import Work


class HypergraphGPRegressor(RegressorMixin, GrowingRegressor):
    r"""Exact Gaussian process regression on vertices: y = mean + f(vertex) + noise, f ~ GP(0, kernel).

    With nothing set, the kernel is a filter of the hypergraph's spectrum, centred, with comparable variances for
    all vertices and a level of its own (`kernels.Standardised`), and predictions are averaged over its hyperparameters.

    Parameters
    ----------
    H : Hypergraph, Graph, or dict of name to either
        What relates the vertices. Several relations are added, each with a weight that is learned.
    kernel : {"auto", "walk", "matern", "diffusion", "bernstein"} or Kernel, default "auto"
        Which filter. "auto" (or None) is steps of the random walk with a smooth shape that the evidence decides on
        (`kernels.ShapedWalk`); "walk" has no shape. A filter that is named is centred and scaled, its hyperparameters
        have broad priors, and its size exponent may be learned. A Kernel is taken as it is, without any of that:
        ``Matern(Spectrum.of(H))`` is the paper's. The iterative solver, `SpectralFeatures`, and problems where one
        evaluation takes more than some 3e9 operations, n min(n, rank)^2, have the filter as it is: Matern for "auto".
    covariates : array of shape (N, p), DataFrame indexed by vertex, or Kernel, optional
        What else is known of each vertex. Columns are standardised and enter through a squared exponential kernel with
        one lengthscale; pass a kernel, such as ``SquaredExponential(X, lengthscale=[...])``, for one a column.
    combine : {"sum", "product"}, default "sum"
        How covariates join the hypergraph: effects that add up, or similarity that both must confirm.
    size_exponent : "auto", "learn" or float, default "auto"
        The a in hyperedge weights ``w(e) |e|^a``. "auto" learns it where that takes seconds, else keeps 0 (Zhou);
        "learn" insists. Its prior is normal around 0.5 with spread 1; values are tried on a lattice of halves, and
        predictions are averaged over those that the data leave probable.
    rank : int, optional
        Truncate the spectrum to this many eigenvectors; exact if not given.
    noise_variance : float, default 0.1
        Where learning starts, as a share of the target's variance.
    learn : bool, default True
        Learn hyperparameters by the evidence, or take ``kernel`` and ``noise_variance`` as they are, in the target's
        own units. Where the evidence of all measurements takes long to evaluate, a named kernel is learned from a part
        of them (``solver_plan_`` tells), and predictions are from all.
    integrate : bool, default True
        Average predictions over hyperparameters, by importance sampling around their mode, in place of taking the mode
        for known. Where that would cost too much, with the iterative solver, and with a given kernel, the mode is used
        all the same.
    priors : dict of name to LogNormal, optional
        Priors on hyperparameters, by name, such as ``{"steps": LogNormal(3.0, 0.5)}``. Those that are not named have
        broad default ones (`estimators.defaults`), except in a given kernel, which has none. Like ``fixed`` variances
        of a given kernel, they refer to the scaled target: a variance of 1 is that of the target
        (``scale_target=False`` for its own units).
    scale_target : bool, default True
        Centre the target and, before learning, divide by its standard deviation (one for all outputs, which share the
        kernel); starting variances are shares of its square. Everything reported is in the target's own units.
    solver : {"auto", "dense", "low-rank", "iterative"} or Iterative
        The first two are exact by eigenvectors, the third needs none and is exact to a tolerance
        (`hypergauss.Iterative` sets it). "auto" takes the cheaper by predicted time and memory (``solver_plan_``). The
        iterative solver follows one start, falls back to an exact one with a warning where it does not converge and
        memory allows, and gives standard deviations of many vertices at once from draws.
    inducing : int, iterable of vertex names, or SpectralFeatures, optional
        Sparse inference by the collapsed bound, which then takes the place of the log evidence: how many inducing
        vertices to select (`select_inducing_vertices`), which ones, or how many leading eigenvectors instead.
    n_starts : int, default 1
        Starts that learning follows.
    max_iterations : int, default 200
        Of L-BFGS, for each start.
    random_state : int, RandomState or None
        For the random starts.
    verbose : bool, default False
        Show progress.

    Attributes
    ----------
    kernel_ : Kernel
        At the mode of its hyperparameters, in the target's units.
    noise_variance_ : float or None
        Learned noise variance, averaged where the posterior is; None if the noise of each vertex was given.
    mean_ : float or array of shape (L,)
        The constant that f is added to. A kernel that is named has a level with a prior around the mean of the
        measurements, which is this, and the level is part of f; with a given kernel, the learned mean.
    log_marginal_likelihood_ : float
        Log evidence of the targets, in their own units, at the mode.
    hyperparameters_ : dict
        All hyperparameters that were free to be learned, by name, at their mode.
    size_exponent_ : float, dict by relation, or None
        The most probable exponent (None with a graph or a given kernel).
    size_exponent_profile_ : Profile, dict of them, or None
        Every exponent tried and its objective, its own log prior included.
    relation_weights_ : dict or None
        With several relations or covariates added: each one's share of the prior variance.
    solver_ : str
        The solver used.
    solver_plan_ : str or None
        What it and its alternative were predicted to take, and what was learned from a part of the measurements; None
        with a given kernel.
    n_iter_ : int
        Iterations of L-BFGS.
    posterior_ : Posterior or MixedPosterior
        The process given the measurements, in the target's units, averaged over hyperparameters unless
        ``integrate=False``; vertices are indices of ``vertices_``. ``predict``, ``sample``, ``explain`` and
        ``leave_one_out`` are this posterior's.
    vertices_ : Index
        The names of all vertices.
    observations_ : Observations
        The measurements, those of one vertex merged; vertices are indices of ``vertices_``.

    Examples
    --------
    >>> from hypergauss import Hypergraph, HypergraphGPRegressor
    >>> H = Hypergraph.from_edges([["a", "b", "c"], ["c", "d"], ["d", "e", "f"]])
    >>> model = HypergraphGPRegressor(H, learn=False).fit(["a", "b", "f"], [1.0, 1.2, 3.0])
    >>> model.predict(["c", "e"]).round(2)
    array([1.24, 2.94])
    """

    def __init__(
        self,
        H: Hypergraph | Graph | Mapping[str, Hypergraph | Graph],
        kernel: str | Kernel | None = None,
        covariates: Any = None,
        *,
        combine: str = "sum",
        size_exponent: float | str = "auto",
        rank: int | None = None,
        noise_variance: float = 0.1,
        learn: bool = True,
        integrate: bool = True,
        priors: Mapping[str, LogNormal] | None = None,
        scale_target: bool = True,
        solver: Choice = "auto",
        inducing: Any = None,
        n_starts: int = 1,
        max_iterations: int = 200,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.H = H
        self.kernel = kernel
        self.covariates = covariates
        self.combine = combine
        self.size_exponent = size_exponent
        self.rank = rank
        self.noise_variance = noise_variance
        self.learn = learn
        self.integrate = integrate
        self.priors = priors
        self.scale_target = scale_target
        self.solver = solver
        self.inducing = inducing
        self.n_starts = n_starts
        self.max_iterations = max_iterations
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Iterable[Any], y: Any, *, noise_variance: Any = None) -> Self:
        """Learn from measured vertices.

        Parameters
        ----------
        X : array of vertex names, shape (n,)
            The measured vertices. One measured twice is one vertex with two measurements.
        y : array, shape (n,) or (n, L)
            Measurements; several outputs share the kernel and the noise. A Series whose index names the vertices may
            have them in another order.
        noise_variance : array, shape (n,), optional
            The variance of each measurement's noise, if known; it is then not learned.
        """
        start_noise = _checks.positive("noise_variance", self.noise_variance)
        check_flags(self, "scale_target")
        refuse_idle(
            self,
            [
                Idle(
                    ("noise_variance",),
                    lambda _: noise_variance is not None,
                    "the noise of each measurement is given to `fit`",
                )
            ],
        )
        names = as_list(X)
        blueprint = self._blueprint(Work(len(names), learns=len(names) > 1), searches=len(names) > 1)
        rows = blueprint.domain.rows(names)
        y = in_order_of(X, names, y, argument="y")
        noise_variance = in_order_of(X, names, noise_variance, argument="noise_variance")
        measured = check_observations(rows, y, noise_variance)
        self._warn_of_little_to_learn_from(blueprint, measured)
        centre, scale = self._centre_and_scale(measured)
        with progress(self.verbose) as report:
            report_plan(report, blueprint)
            learns = self.learn and measured.num_measurements > 1
            unit = 1.0 if self.scale_target else float(np.var(measured.mean)) or 1.0
            how = self._how(blueprint.domain, report, learns=learns, default_priors=default_priors(unit))
            task = GaussianTask(measured, centre, scale, noise_variance=start_noise, how=how)
            fitted = fit(blueprint, task)
        warn_unless_converged(fitted.learned, self.max_iterations)
        self._keep(blueprint, fitted)
        model = fitted.model
        self._flat = np.asarray(y).ndim == 1
        self.observations_ = measured
        self.noise_variance_ = None if measured.known_variance is not None else _noise(task, fitted)
        self.mean_ = float(model.mean[0]) if self._flat else model.mean
        self.log_marginal_likelihood_ = self.posterior_.log_evidence
        self.learning_trace_ = fitted.learned.trace
        return self

    @overload
    def predict(self, X: Iterable[Any], return_std: Literal[False] = False) -> np.ndarray: ...

    @overload
    def predict(self, X: Iterable[Any], return_std: Literal[True], *, include_noise: bool = True) -> Predictions: ...

    def predict(
        self, X: Iterable[Any], return_std: bool = False, *, include_noise: bool = True
    ) -> np.ndarray | Predictions:
        """Predict named vertices.

        Parameters
        ----------
        X : array of vertex names, shape (m,)
            Measured or not.
        return_std : bool
            Return (mean, std) instead of the mean alone.
        include_noise : bool
            Whether std is that of a new measurement, the default, or of the function f without noise. Where the
            noise of each measurement was given, that of a new one is not known, and std is that of f.

        Returns
        -------
        array of shape (m,) or (m, L), or a pair of them
        """
        return self._predicted(self.posterior_, self._rows(X), return_std, include_noise)

    def predict_covariance(self, X: Iterable[Any]) -> np.ndarray:
        """Return the joint posterior covariance of f at named vertices, shape (m, m)."""
        return self.posterior_.covariance(self._rows(X))

    def sample(self, X: Iterable[Any], n: int = 1, random_state: Any = None) -> np.ndarray:
        """Return n joint draws of f at named vertices, shape (n, m) or (n, m, L)."""
        count = _checks.count("n", n)
        rows = self._rows(X)
        rng = np.random.default_rng(check_random_state(random_state).randint(2**31))
        draws = self.posterior_.sample(rows, count, rng)
        return draws[:, :, 0] if self._flat else draws

    def explain(self, vertex: Any, *, output: int = 0) -> Explanation:
        """Return how much each observed vertex, and each hyperedge of this vertex, contributes to its predicted mean.

        Contributions of either kind add up to the prediction.

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
        predicted mean of 'c': 1.239, from 1.733 without observations
          observed vertices (3 in all)
            -0.2798  'a'
            -0.2035  'b'
            -0.01075  'f'
          hyperedges (2 in all)
            -0.7009  'x'
            -0.06191  'y'
          +0.2688  level
        """
        row = int(self._rows([vertex])[0])
        number = _checks.count("output", output, least=0, most=len(self.posterior_.prior.mean) - 1)
        return explain(
            [(weight, part, number) for weight, part in components(self.posterior_)],
            row,
            vertices=self.vertices_,
            H=self.H,
            of="predicted mean",
            with_values=True,
        )

    def leave_one_out(self) -> pd.DataFrame:
        """Return the prediction of each measured vertex from all others, in closed form, in the order of `fit`.

        Columns ``mean`` and ``std`` (noise included), and with several outputs ``mean_0``, ``mean_1``, ...; indexed by
        vertex name.
        """
        check_is_fitted(self)
        left_out = self.posterior_.leave_one_out()
        names = self.vertices_[self.posterior_.sites.rows]
        columns = ["mean"] if self._flat else [f"mean_{j}" for j in range(left_out.mean.shape[1])]
        table = pd.DataFrame(left_out.mean, index=names, columns=columns)
        return table.assign(std=np.sqrt(left_out.variance))

    def _centre_and_scale(self, measured: Observations) -> tuple[np.ndarray, float]:
        """Return each output's mean and the common standard deviation; 0 and 1 where they are not wanted.

        A mean that is to be learned is learned relative to the data's, also without scaling.
        """
        if not (self.scale_target or self.learn):
            return np.zeros(measured.mean.shape[1]), 1.0
        largest = np.abs(measured.mean).max() or 1.0
        shares = measured.mean / largest  # squares of what is at most one do not overflow
        centre = shares.mean(axis=0)
        spread = float(np.sqrt(((shares - centre) ** 2).mean()))
        # Without learning, hyperparameters are taken in the target's own units.
        scale = spread * float(largest) if self.scale_target and self.learn and spread > 1e-12 else 1.0
        return centre * largest, scale

    def _warn_of_little_to_learn_from(self, blueprint: Blueprint, measured: Observations) -> None:
        reasons = []
        if self.learn and measured.num_measurements == 1:
            reasons.append("there is one measurement only: hyperparameters keep their starting values")
        elif self.learn and np.ptp(measured.mean, axis=0).max() == 0:
            reasons.append("all measurements are equal: the noise and the variance shrink towards zero")
        for name, relation in blueprint.domain.relations.items():
            if isinstance(relation, Hypergraph) and relation.num_incidences == 0:
                reasons.append(f"{name!r} has no hyperedge with members: it says nothing about any vertex")
        for reason in reasons:
            warnings.warn(
                f"Predictions will be little more than the mean, since {reason}.",
                LearningWarning,
                stacklevel=3,
            )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def _noise(task: GaussianTask, fitted: Fitted) -> float:
    """Return the noise variance, averaged where the posterior is."""
    if fitted.averaged is None:
        return float(fitted.model.noise_variance)
    return float(sum(w * task.reported(point.learned.model).noise_variance for w, point in fitted.averaged.points))
