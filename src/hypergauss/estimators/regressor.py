"""HypergraphGPRegressor: Gaussian process regression on the vertices of a hypergraph, the scikit-learn way."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Self

import numpy as np
from sklearn.utils import Tags

from hypergauss import _checks
from hypergauss._checks import Labels, Matrix, Seed, Values
from hypergauss._progress import progress
from hypergauss.estimators.blueprint import Blueprint
from hypergauss.estimators.defaults import default_priors, priors_around
from hypergauss.estimators.fitting import Fitted, fit
from hypergauss.estimators.growing_regressor import GrowingRegressor
from hypergauss.estimators.inducing import InducingChoice
from hypergauss.estimators.measurements import (
    MeasurementTask,
    centre_and_scale,
    check_likelihood,
    check_once_each,
    check_transform,
    is_gaussian,
    kind_of_work,
    measurement_rules,
    scales_to_try,
    target_of,
)
from hypergauss.estimators.settings import check_flags, refuse_idle
from hypergauss.estimators.tasks import GaussianTask
from hypergauss.estimators.vertices import in_order_of
from hypergauss.hypergraph import Graph, Hypergraph
from hypergauss.hypergraph.names import Name, as_list
from hypergauss.kernels import Kernel
from hypergauss.learning.priors import LogNormal
from hypergauss.likelihoods import Likelihood
from hypergauss.solvers.choose import Choice, is_by_products
from hypergauss.solvers.sites import Observations, check_observations
from hypergauss.solvers.work import Work
from hypergauss.spectrum.given import LaplacianMatrix


class HypergraphGPRegressor(GrowingRegressor):
    r"""Gaussian process regression on vertices: y = mean + f(vertex) + noise, f ~ GP(0, kernel), exact.

    Or log y, or y through another likelihood: errors of heavy tails, counts, ordered levels.

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
    covariates : array or sparse matrix of shape (N, p), DataFrame indexed by vertex, or Kernel, optional
        What else is known of each vertex. Columns are standardised and enter through a squared exponential kernel with
        one lengthscale; pass a kernel, such as ``SquaredExponential(X, lengthscale=[...])``, for one a column. A sparse
        matrix, or more than 100 columns, are features such as words: they enter as they are and smoothed over the
        relations, each through their principal components (`kernels.Components`).
    combine : {"sum", "product"}, default "sum"
        How covariates join the hypergraph: effects that add up, or similarity that both must confirm.
    size_exponent : "auto", "learn" or float, default "auto"
        The a in hyperedge weights ``w(e) |e|^a``. "auto" learns it where that takes seconds, else keeps 0 (Zhou);
        "learn" insists. Its prior is normal around 0.5 with spread 1; values are tried on a lattice of halves, and
        predictions are averaged over those that the data leave probable.
    rank : int, optional
        Truncate the spectrum to this many eigenvectors; exact if not given.
    laplacian : str, or matrix or operator of shape (N, N), optional
        Which Laplacian a named kernel filters: "zhou" (the default), "bolla", "rodriguez", "carletti", "chung", or one
        of your own, as `Spectrum.of` has them.
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
    inference : {"auto", "mcmc"}, default "auto"
        "mcmc" draws the hyperparameters, size exponents among them, from their posterior (`inference.mcmc.evidence`; a
        minute for hundreds of measurements), and mixes the exact posteriors of the function at 100 of the draws: the
        standard to hold averages against. Of a given kernel, positive hyperparameters without a name in ``priors`` are
        log-normal around its values with spread 1.
    priors : dict of name to LogNormal, optional
        Priors on hyperparameters, by name, such as ``{"steps": LogNormal(3.0, 0.5)}``. Those that are not named have
        broad default ones (`estimators.defaults`), except in a given kernel, which has none. Like ``fixed`` variances
        of a given kernel, they refer to the scaled target: a variance of 1 is that of the target
        (``scale_target=False`` for its own units).
    scale_target : bool, default True
        Centre the target and, before learning, divide by its standard deviation (one for all outputs, which share the
        kernel); starting variances are shares of its square. Everything reported is in the target's own units.
    likelihood : {"gaussian", "student-t", "poisson", "ordinal"} or Likelihood, default "gaussian"
        How a measurement arises from f. "gaussian": normal noise. "student-t": errors with four degrees of freedom,
        among which some are far off. "poisson": counts 0, 1, 2, ... with the rate exp(f). "ordinal": levels in an order
        (numbers, or an ordered `pandas.Categorical`) that thresholds cut f into. Or a `OneLatent` that is a
        `Measurement`, at values to start from, in the target's units. Posteriors are exact for "gaussian", by
        expectation propagation for log-concave likelihoods, by the best variational bound for others ("student-t") and
        with solvers by products; hyperparameters, those of the likelihood among them, are learned and averaged alike.
        All but "gaussian" take one output, and each vertex once.
    transform : {"none", "log", "auto"}, default "none"
        The scale that normal noise is on. "log" is for positive, skewed targets such as prices: log y = f + noise,
        predictions and intervals are of y, and no interval reaches below zero. "auto" fits both where all targets are
        positive, and keeps the one of larger evidence of y itself, the Jacobian -sum log y included. It is not the
        default since it takes two fits, and since a mean, an R^2 or an explanation on another scale should not come
        unasked.
    solver : {"auto", "dense", "low-rank", "iterative", "markov"}, Iterative or Markov
        The first two are exact by eigenvectors, the third needs none and is exact to a tolerance
        (`hypergauss.Iterative` sets it), and so is the fourth, with far fewer products, for a Matern kernel whose nu
        is chosen from 1, 2 and 3 by the evidence (`hypergauss.Markov` sets it). "auto" takes the cheaper by predicted
        time and memory (``solver_plan_``). The last two follow one start, fall back to an exact solver with a warning
        where they do not converge and memory allows, and give standard deviations of many vertices at once from draws.
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
        Learned noise variance, averaged where the posterior is, on the scale of ``transform_``; None if the noise of
        each vertex was given, and with another likelihood.
    likelihood_ : Likelihood or None
        With what was learned of it; None if the noise of each vertex was given.
    levels_ : array or None
        The levels in their order, with "ordinal".
    transform_ : {"none", "log"}
        The scale that was learned on.
    transform_evidence_ : dict of name to float, or None
        With "auto", the log evidence of the targets by each scale.
    mean_ : float or array of shape (L,)
        The constant that f is added to. A kernel that is named has a level with a prior around the mean of the
        measurements, which is this, and the level is part of f; with a given kernel, the learned mean.
    log_marginal_likelihood_ : float
        Log evidence of the targets, in their own units and on their own scale, at the mode: exact with normal noise,
        else the approximation of expectation propagation or the variational bound. Where it is an estimate it is made
        when read.
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
    draws_ : HyperparameterDraws or None
        With "mcmc": ``draws_.hyperparameters`` by name, shape (chains, draws, ...); ``draws_.inference_data()`` is in
        ArviZ's form.
    hyperparameter_covariance_ : DataFrame or None
        Of hyperparameters on the scale on which they are learned (logarithms of positive ones); `summary` shows
        standard errors and intervals. None where there is no averaging.
    posterior_ : Posterior or MixedPosterior; GaussianLatents or MixedLatents with another likelihood
        The process given the measurements, in the target's units (of its logarithm with "log"), averaged over
        hyperparameters unless ``integrate=False``; vertices are indices of ``vertices_``. ``predict``, ``sample``,
        ``explain`` and ``leave_one_out`` are this posterior's.
    vertices_ : Index
        The names of all vertices.
    observations_ : Observations
        The measurements on the scale of ``transform_``, those of one vertex merged; vertices are indices of
        ``vertices_``. With another likelihood than "gaussian" what was observed, levels by their number.

    Examples
    --------
    >>> from hypergauss import Hypergraph, HypergraphGPRegressor
    >>> H = Hypergraph.from_edges([["a", "b", "c"], ["c", "d"], ["d", "e", "f"]])
    >>> model = HypergraphGPRegressor(H, learn=False).fit(["a", "b", "f"], [1.0, 1.2, 3.0])
    >>> model.predict(["c", "e"]).round(2)
    array([1.38, 2.94])
    """

    def __init__(
        self,
        H: Hypergraph | Graph | Mapping[str, Hypergraph | Graph],
        kernel: str | Kernel | None = None,
        covariates: Matrix | Kernel | None = None,
        *,
        combine: str = "sum",
        size_exponent: float | str = "auto",
        rank: int | None = None,
        laplacian: str | LaplacianMatrix | None = None,
        noise_variance: float = 0.1,
        learn: bool = True,
        integrate: bool = True,
        inference: str = "auto",
        priors: Mapping[str, LogNormal] | None = None,
        scale_target: bool = True,
        likelihood: str | Likelihood = "gaussian",
        transform: str | None = "none",
        solver: Choice = "auto",
        inducing: InducingChoice | None = None,
        n_starts: int = 1,
        max_iterations: int = 200,
        random_state: Seed = None,
        verbose: bool = False,
    ) -> None:
        self.H = H
        self.kernel = kernel
        self.covariates = covariates
        self.combine = combine
        self.size_exponent = size_exponent
        self.rank = rank
        self.laplacian = laplacian
        self.noise_variance = noise_variance
        self.learn = learn
        self.integrate = integrate
        self.inference = inference
        self.priors = priors
        self.scale_target = scale_target
        self.likelihood = likelihood
        self.transform = transform
        self.solver = solver
        self.inducing = inducing
        self.n_starts = n_starts
        self.max_iterations = max_iterations
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Iterable[Name], y: Values | Labels, *, noise_variance: Values | None = None) -> Self:
        """Learn from measured vertices.

        Parameters
        ----------
        X : array of vertex names, shape (n,)
            The measured vertices. One measured twice is one vertex with two measurements.
        y : array, shape (n,) or (n, L)
            Measurements, counts or levels, as the likelihood has them; several outputs share the kernel and the noise.
            A Series whose index names the vertices may have them in another order.
        noise_variance : array, shape (n,), optional
            The variance of each measurement's noise, if known; it is then not learned.
        """
        # Check.
        draws = self._check_inference()
        _checks.positive("noise_variance", self.noise_variance)
        check_flags(self, "scale_target")
        likelihood, transform = check_likelihood(self.likelihood), check_transform(self.transform)
        refuse_idle(self, measurement_rules(likelihood, knows_noise=noise_variance is not None))
        names = as_list(X)
        # Plan: what the kernel is made from, which solver, and what is searched for.
        work = Work(len(names), kind_of_work(likelihood), learns=len(names) > 1)
        blueprint = self._blueprint(work, searches=len(names) > 1, needs_eigenvectors=draws)
        rows = blueprint.domain.rows(names)
        y = in_order_of(X, names, y, argument="y")
        with progress(self.verbose) as report:
            # Build: a task for each scale that the target may be on.
            if is_gaussian(likelihood):
                noise_variance = in_order_of(X, names, noise_variance, argument="noise_variance")
                tasks = self._with_normal_noise(blueprint, rows, y, noise_variance, transform, report, draws=draws)
            else:
                check_once_each(names, rows)
                tasks = {"none": self._through(likelihood, blueprint, rows, y, report)}
            # Learn, and condition on the data.
            found = {scale: fit(blueprint, task) for scale, task in tasks.items()}
        self.transform_, self.transform_evidence_ = next(iter(tasks)), None
        if transform == "auto":  # else an estimate of the evidence is not made before it is asked for
            heights = {scale: one.posterior.log_evidence + tasks[scale].log_slope for scale, one in found.items()}
            self.transform_, self.transform_evidence_ = max(heights, key=heights.__getitem__), heights
        task, fitted = tasks[self.transform_], found[self.transform_]
        little = self._reasons_for_little(task, len(names))
        self._keep(blueprint, fitted, little, then="Predictions will be little more than the mean")
        self._keep_target(task, fitted, is_flat=np.asarray(y).ndim == 1)
        self.learning_trace_, self.draws_ = fitted.learned.trace, fitted.draws
        return self

    def _check_inference(self) -> bool:
        """Return whether hyperparameters are drawn, after checks that they can be."""
        if _checks.one_of("inference", self.inference, ("auto", "mcmc")) == "auto":
            return False
        if not is_gaussian(check_likelihood(self.likelihood)):
            raise ValueError(
                "`inference='mcmc'` needs the log evidence in closed form, as normal noise has it. Got another "
                "`likelihood`. Use `inference='auto'`."
            )
        if not self.learn:
            raise ValueError(
                "`inference='mcmc'` draws hyperparameters. Got `learn=False`. Name those to hold in the kernel's "
                "`fixed`."
            )
        if self.inducing is not None:
            raise ValueError("`inference='mcmc'` draws by the evidence itself. Got `inducing`. Leave it out.")
        if is_by_products(self.solver):
            raise ValueError(
                "`inference='mcmc'` compares log evidences, which a solver by products only estimates. Use "
                "`solver='auto'`."
            )
        return True

    def _with_normal_noise(
        self,
        blueprint: Blueprint,
        rows: np.ndarray,
        y: Values | Labels,
        noise_variance: Values | None,
        transform: str,
        report: Callable[[str], None] | None,
        *,
        draws: bool,
    ) -> dict[str, Any]:
        """Return what is to be learned of measurements with normal noise, by the scale that these are on."""
        measured = check_observations(rows, y, noise_variance)
        values = np.asarray(y, dtype=np.float64)
        tasks = {}
        for scale in scales_to_try(transform, values):
            on_scale = measured if scale.name == "none" else check_observations(rows, scale.forward(values))
            centre, spread = centre_and_scale(on_scale.mean, **self._units())
            unit = 1.0 if self.scale_target else float(np.var(on_scale.mean)) or 1.0
            how = self._how(blueprint.domain, report, learns=len(rows) > 1, default_priors=default_priors(unit))
            task = GaussianTask(
                on_scale, centre, spread, noise_variance=float(self.noise_variance), how=how, draws=draws
            )
            task.log_slope = float(scale.log_slope(values).sum())
            if draws and isinstance(self.kernel, Kernel):
                around = priors_around(task.model(self.kernel), how.priors)
                task.how = how._replace(priors={**around, **how.priors})
            tasks[scale.name] = task
        return tasks

    def _through(
        self,
        likelihood: str | Likelihood,
        blueprint: Blueprint,
        rows: np.ndarray,
        y: Values | Labels,
        report: Callable[[str], None] | None,
    ) -> MeasurementTask:
        """Return what is to be learned through a likelihood other than normal noise of one variance."""
        target = target_of(likelihood, y, noise_variance=self.noise_variance, **self._units())
        _checks.same_length("vertices", len(rows), "y", len(target.y))
        inference = "variational" if blueprint.is_iterative(self.solver) else target.inference
        how = self._how(blueprint.domain, report, learns=len(rows) > 1, default_priors=target.priors)
        return MeasurementTask(target, rows, inference=inference, how=how)

    def _keep_target(self, task: GaussianTask | MeasurementTask, fitted: Fitted, *, is_flat: bool) -> None:
        """Make public what is known of the target in its own units."""
        if isinstance(task, GaussianTask):
            self.levels_, self.observations_, self.noise_variance_ = None, task.measured, _noise(task, fitted)
            self._keep_log_evidence(task.log_slope)
        else:
            self.levels_, self.noise_variance_ = task.target.levels, None
            self.observations_ = Observations.of(task.rows, task.target.y[:, None])
            self._keep_log_evidence(0.0, fitted.learned.log_evidence + task.log_slope)
        self._flat = is_flat or not isinstance(task, GaussianTask)
        self.mean_ = float(fitted.model.mean[0]) if self._flat else fitted.model.mean

    def _units(self) -> dict[str, bool]:
        """Return whether a target is divided by its spread, and centred.

        Without learning, hyperparameters are taken in the target's own units. A mean that is to be learned is learned
        relative to the data's, also without scaling.
        """
        return {"scales": self.scale_target and self.learn, "centres": self.scale_target or self.learn}

    def _reasons_for_little(self, task: GaussianTask | MeasurementTask, count: int) -> list[str]:
        """Return why there is little to learn from so many measurements, if so."""
        if not self.learn:
            return []
        if count == 1:
            return ["there is one measurement only: hyperparameters keep their starting values"]
        if len(task.rows) == 1:
            return ["only one vertex was measured"]
        if np.ptp(task.measured.mean if isinstance(task, GaussianTask) else task.y, axis=0).max() == 0:
            return ["all measurements are equal: the noise and the variance shrink towards zero"]
        return []

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def _noise(task: GaussianTask, fitted: Fitted) -> float | None:
    """Return the noise variance, averaged where the posterior is; None where that of each measurement was given."""
    if task.measured.known_variance is not None:
        return None
    if fitted.averaged is None:
        return float(fitted.model.noise_variance)
    return float(sum(w * task.reported(point.learned.model).noise_variance for w, point in fitted.averaged.points))
