"""HypergraphGPClassifier: calibrated class probabilities on the vertices of a hypergraph, the scikit-learn way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Self

import numpy as np
import pandas as pd

from hypergauss import _checks, parameters
from hypergauss._checks import Labels, Matrix, Seed
from hypergauss._progress import progress
from hypergauss.estimators.blueprint import RELATIVE_LEVEL
from hypergauss.estimators.defaults import default_class_priors
from hypergauss.estimators.domain import Domain
from hypergauss.estimators.features import are_many
from hypergauss.estimators.fitting import fit
from hypergauss.estimators.growing_classifier import GrowingClassifier
from hypergauss.estimators.inducing import InducingChoice
from hypergauss.estimators.labels import check_labels, make_likelihood, numbered, once_each
from hypergauss.estimators.latent_task import INFERENCES, MEASURED, LatentTask, kind_of, resolved
from hypergauss.estimators.uncertainty import HyperparameterPosterior, entry_names
from hypergauss.estimators.vertices import in_order_of
from hypergauss.hypergraph import Graph, Hypergraph
from hypergauss.hypergraph.names import Name, as_list
from hypergauss.inference.latents import SampledLatents
from hypergauss.inference.mcmc import Draws
from hypergauss.kernels import Kernel
from hypergauss.learning.priors import LogNormal
from hypergauss.likelihoods import Classification, MultinomialProbit, OrderedProbit, RobustMax, Softmax
from hypergauss.solvers.choose import Choice, dense_is_affordable
from hypergauss.solvers.work import Work, coupled_is_affordable
from hypergauss.spectrum.given import LaplacianMatrix


class HypergraphGPClassifier(GrowingClassifier):
    r"""Gaussian process classification of vertices, by expectation propagation unless asked otherwise.

    Each class has a latent function f_c ~ GP(mean_c, kernel), or two classes have one; the label is drawn from them by
    the likelihood. The posterior is approximated by a Gaussian, hyperparameters are learned by the approximate log
    evidence that it gives, and probabilities are averaged over them.

    Parameters
    ----------
    H : Hypergraph, Graph, or dict of name to either
        What relates the vertices.
    kernel : {"auto", "walk", "matern", "diffusion", "bernstein"} or Kernel, default "auto"
        As for `HypergraphGPRegressor`. A kernel must have the vertices of ``H`` in their order; it may come from
        another hypergraph on them.
    covariates : array or sparse matrix of shape (N, p), DataFrame indexed by vertex, or Kernel, optional
        What else is known of each vertex; as for `HypergraphGPRegressor`, except that many features of many labels in
        more than two classes enter by the angles between them (`kernels.UnitRows`), as far as a dense solver serves.
    likelihood : {"auto", "probit", "softmax", "robust-max", "ordinal", "logit"} or Classification, default "auto"
        How labels arise from latent functions. "probit": the class of the largest, each with normal noise of its own
        (for two classes, the sign of one); it is what "auto" takes, except for many classes where inference is not
        "ep" or "mcmc", which have "softmax". "softmax" and, for two classes, "logit": softer borders between classes.
        "robust-max": the class of the largest, but for a share epsilon of labels, learned, that are wrong. "ordinal":
        one latent function and ordered classes (numbers, or an ordered `pandas.Categorical`).
    inference : {"auto", "ep", "variational", "laplace", "dirichlet", "one-hot", "mcmc"}, default "auto"
        "ep", expectation propagation (`inference.propagation`; of many classes `inference.coupled_propagation`), which
        "auto" takes where likelihood and solver have it; "variational", the best Gaussian by the evidence lower bound,
        which it takes elsewhere; "laplace", a Gaussian at the mode (not with "robust-max", whose log density is flat,
        and "probit" of many classes); or draws of latents and hyperparameters by elliptical slice sampling
        ("mcmc", `inference.mcmc`; minutes), the standard to hold the others against. "dirichlet", labels as Gaussian
        measurements of the latents under softmax (`inference.dirichlet`), all in closed form and calibrated. "one-hot",
        labels as zeros and ones, hyperparameters by labels that are held out (`inference.one_hot`). "auto" takes these
        two for more than two classes and many labels where covariates are many features: "one-hot" for as many labels
        as a dense solver serves in a minute, "dirichlet" with kernels of low rank beyond. With the Markov solver, the
        usual one where eigenvectors do not fit, "auto" takes "one-hot" for any number of classes, with labels held out
        in folds (`inference.one_hot_by_products`): probabilities are a tempered softmax of the latents' means, and what
        the posterior variance would say of a vertex far from all labels is left out. "variational" has it, and takes
        far longer. Sampling starts from the kernel as given: priors without a name in ``priors`` are centred at its
        values, and "auto" keeps the size exponent at 0.
    inducing : int, iterable of vertex names, or SpectralFeatures, optional
        Sparse inference: how many inducing vertices to select (`select_inducing_vertices`), which ones, or how many
        leading eigenvectors to use in their place.
    batch_size : int, optional
        With ``inducing``: learn from mini-batches of this many labels, by ``max_iterations`` passes over all of them.
        For more labels than fit in memory at once with their inducing variables.
    combine : {"sum", "product"}, default "sum"
        How covariates join the hypergraph.
    size_exponent : "auto", "learn" or float, default "auto"
        The a in hyperedge weights ``w(e) |e|^a``; as for `HypergraphGPRegressor`.
    rank : int, optional
        Truncate the spectrum to this many eigenvectors.
    laplacian : str, or matrix or operator of shape (N, N), optional
        As for `HypergraphGPRegressor`.
    learn : bool, default True
        Learn hyperparameters by the approximate log evidence, or keep those of the kernel. Many labels: from a part of
        them, as the regressor.
    integrate : bool, default True
        Average probabilities over hyperparameters, as for `HypergraphGPRegressor`; not with ``batch_size``, and not
        with "mcmc", which draws them.
    calibrate : "auto" or bool, default "auto"
        Whether probabilities p are calibrated: in proportion to pi (p / pi)^(1 / ``temperature_``), pi the ``shares_``
        (or the same for all classes), with a temperature that labels choose, each held out from the others
        (`inference.calibration`). "auto" does so where models are timid: with "dirichlet" and "one-hot",
        with covariates that are many features, and by expectation propagation, unless a kernel is given or nothing is
        learned.
    priors : dict of name to LogNormal, optional
        Priors on hyperparameters, by name; others have broad default ones, unless a kernel is given.
    solver : {"auto", "dense", "low-rank", "iterative", "markov"}, Iterative or Markov
        As for the regressor; with the iterative solver, posteriors are found by ``inference="variational"``, and the
        bound is an estimate; with the Markov solver so or by "one-hot".
    n_starts : int, default 1
        Starts that learning follows.
    max_iterations : int, default 100
        Of L-BFGS, for each start; passes over the labels with ``batch_size``.
    random_state : int, RandomState or None
        For the random starts.
    verbose : bool, default False
        Show progress.

    Attributes
    ----------
    classes_ : array
        The class labels: in the order of their categories where ``y`` is an ordered `pandas.Categorical`, else sorted.
    kernel_ : Kernel
        At the mode of its hyperparameters; at their posterior medians with "mcmc".
    elbo_ : float
        The log evidence of the labels at the mode of the hyperparameters, as inference has it: the approximation of
        "ep" (no bound) or of "laplace", the evidence lower bound with "variational", the log density of labels as
        measurements with "dirichlet" and that of held-out labels with "one-hot", which compare with no other, NaN with
        "mcmc".
    elbo_trace_ : array
        The objective of the labels that were learned from, log priors included, after each iteration; its estimate in
        each pass with ``batch_size``.
    draws_ : Draws or None
        With "mcmc"; ``draws_.inference_data()`` is in ArviZ's form.
    posterior_ : GaussianLatents, MixedLatents or SampledLatents
        The latent functions given the labels, averaged over hyperparameters unless ``integrate=False``; vertices are
        indices of ``vertices_``.
    temperature_ : float
        T of the calibration; 1 where there is none. Below 1, the model alone was timid, above, too sure.
    shares_ : array of C or None
        About what is predicted of a vertex of which nothing is known, (n_c + 1) / (n + C), and what the calibration
        leaves as it is (`inference.shares`); None where the model does not go by it: kernels without a level, ordered
        classes, "robust-max", "dirichlet", "one-hot" and draws.
    vertices_ : Index
        The names of all vertices.
    labels_ : Series
        The label of each labelled vertex, by name.
    hyperparameters_, hyperparameter_covariance_, size_exponent_, size_exponent_profile_, relation_weights_
        As for `HypergraphGPRegressor`.
    solver_, n_iter_
        As for `HypergraphGPRegressor`.

    Examples
    --------
    >>> from hypergauss import Hypergraph, HypergraphGPClassifier
    >>> H = Hypergraph.from_edges([["a", "b", "c"], ["c", "d"], ["d", "e", "f"]])
    >>> model = HypergraphGPClassifier(H, learn=False).fit(["a", "b", "f"], ["left", "left", "right"])
    >>> model.predict(["c", "e"]).tolist()
    ['left', 'right']
    """

    def __init__(
        self,
        H: Hypergraph | Graph | Mapping[str, Hypergraph | Graph],
        kernel: str | Kernel | None = None,
        covariates: Matrix | Kernel | None = None,
        *,
        likelihood: str | Classification = "auto",
        inference: str = "auto",
        inducing: InducingChoice | None = None,
        batch_size: int | None = None,
        combine: str = "sum",
        size_exponent: float | str = "auto",
        rank: int | None = None,
        laplacian: str | LaplacianMatrix | None = None,
        learn: bool = True,
        integrate: bool = True,
        calibrate: bool | str = "auto",
        priors: Mapping[str, LogNormal] | None = None,
        solver: Choice = "auto",
        n_starts: int = 1,
        max_iterations: int = 100,
        random_state: Seed = None,
        verbose: bool = False,
    ) -> None:
        self.H = H
        self.kernel = kernel
        self.covariates = covariates
        self.likelihood = likelihood
        self.inference = inference
        self.inducing = inducing
        self.batch_size = batch_size
        self.combine = combine
        self.size_exponent = size_exponent
        self.rank = rank
        self.laplacian = laplacian
        self.learn = learn
        self.integrate = integrate
        self.calibrate = calibrate
        self.priors = priors
        self.solver = solver
        self.n_starts = n_starts
        self.max_iterations = max_iterations
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Iterable[Name], y: Labels) -> Self:
        """Learn from labelled vertices.

        Parameters
        ----------
        X : array of vertex names, shape (n,)
            The labelled vertices. One given twice with the same label counts once.
        y : array of labels, shape (n,)
            Text, whole numbers or anything hashable. A Series whose index names the vertices may have them in another
            order.
        """
        _checks.one_of("inference", self.inference, ("auto", *INFERENCES))
        if self.calibrate != "auto":
            _checks.flag("calibrate", self.calibrate)
        names = as_list(X)
        given = in_order_of(X, names, y, argument="y")
        labels = check_labels(given)
        _checks.same_length("vertices", len(names), "y", len(labels))
        batch_size = self._check_inference()
        codes, classes = numbered(labels, given, is_ordinal=self._is_ordinal)
        learns_at_once = self.inference != "mcmc" and batch_size is None
        is_variational = self.inference == "variational" or batch_size is not None
        # Coupled latents need the covariances between all labelled vertices, class by class.
        is_coupled = self.inducing is None and coupled_is_affordable(len(names), len(classes))
        likelihood, inference = self._way(classes, codes, is_variational=is_variational, is_coupled=is_coupled)
        if inference == "dirichlet" and self._are_told_by_angles(len(names), len(classes)):
            inference = "one-hot"
        blueprint = self._blueprint(
            Work(
                len(names),
                kind_of(likelihood, inference),
                likelihood.num_latents,
                learns=learns_at_once,
                num_classes=len(classes) if self._may_be_one_hot else 0,
            ),
            searches=learns_at_once,
            needs_eigenvectors=self.inference not in ("auto", "variational"),
            relative_level=_relative_level(likelihood, inference),
        )
        if blueprint.is_iterative(self.solver):
            likelihood, inference = self._way_by_products(classes, codes, is_field=blueprint.is_markov)
        rows, codes = once_each(blueprint.domain.rows(names), codes, names)
        with progress(self.verbose) as report:
            learns = self.inference != "mcmc"
            how = self._how(blueprint.domain, report, learns=learns, default_priors=default_class_priors())
            if self.inference == "laplace":
                self._check_slopes(likelihood)
            task = LatentTask(likelihood, rows, codes, inference=inference, batch_size=batch_size, how=how)
            fitted = fit(blueprint, task)
        self._keep(blueprint, fitted, then="Probabilities will be little more than the shares of the classes")
        self.classes_ = classes
        self.shares_ = self._shares(codes)
        self.temperature_ = self._temperature(codes, inference)
        self.labels_ = pd.Series(classes[codes], index=self.vertices_[rows])
        self.elbo_ = fitted.learned.log_evidence
        self.elbo_trace_ = fitted.learned.trace
        self.draws_ = self.posterior_.draws if isinstance(self.posterior_, SampledLatents) else None
        if self.draws_ is not None:
            model = self.draws_.median_model()
            self.kernel_, self.hyperparameters_ = model.kernel, parameters.values(model)
            self.hyperparameter_posterior_ = self._of_draws(self.draws_)
        return self

    def _of_draws(self, draws: Draws) -> HyperparameterPosterior | None:
        """Return the spread of hyperparameters that were drawn, on the scale of their priors."""
        hyperprior = draws.whitened.hyperprior
        if not hyperprior.num_coordinates:
            return None
        flat = draws.coordinates.reshape(-1, hyperprior.num_coordinates)
        values = np.column_stack([np.reshape(each, (len(flat), -1)) for each in draws.hyperparameters.values()])
        return HyperparameterPosterior.of_draws(
            entry_names(hyperprior.template),
            hyperprior.centre + hyperprior.spread * flat,
            values,
            hyperprior.spread**2,
        )

    def _way(
        self, classes: np.ndarray, codes: np.ndarray, *, is_variational: bool, is_coupled: bool
    ) -> tuple[Classification, str]:
        """Return likelihood and inference: as asked for, or as usual where latents can be coupled or cannot."""
        # The probit for many classes has neither an expectation for variational inference nor a mode at hand.
        is_known = self.inference in MEASURED
        has_probit = is_coupled and not is_variational and not is_known and self.inference != "laplace"
        usual = "probit" if has_probit else "softmax"
        as_counts = is_known or (
            self.inference == "auto" and are_many(self.covariates) and len(classes) > 2 and not has_probit
        )
        asked = "softmax" if as_counts and self.likelihood == "auto" else self.likelihood
        likelihood = make_likelihood(asked, list(classes), codes, usual=usual)
        if self.inducing is not None and isinstance(likelihood, MultinomialProbit):
            raise ValueError(
                "`inducing` variables need a likelihood with expectations. Got 'probit' for more than two classes. "
                "Leave `likelihood` out, or use 'softmax'."
            )
        if as_counts and not is_variational and self.likelihood == "auto":
            return likelihood, self.inference if is_known else "dirichlet"
        return likelihood, resolved(self.inference, likelihood, is_variational=is_variational)

    def _way_by_products(self, classes: np.ndarray, codes: np.ndarray, *, is_field: bool) -> tuple[Classification, str]:
        """Return likelihood and inference by products: of a Markov field zeros and ones, if that is left to us."""
        if is_field and self._may_be_one_hot:
            return Softmax(len(classes)), "one-hot"
        return self._way(classes, codes, is_variational=True, is_coupled=False)

    @property
    def _may_be_one_hot(self) -> bool:
        return self.inference in ("auto", "one-hot") and self.likelihood in ("auto", "softmax")

    def _are_told_by_angles(self, num_labels: int, num_classes: int) -> bool:
        """Return whether features are compared one by one, as they say most, where a dense solver serves the labels."""
        is_open = self.inference == "auto" and self.inducing is None and self.solver in ("auto", "dense")
        if not (is_open and are_many(self.covariates) and not isinstance(self.kernel, Kernel)):
            return False
        work = Work(num_labels, "one-hot", num_classes, learns=self.learn)
        return dense_is_affordable(Domain.of(self.H).relations, work, self.rank)

    def _check_inference(self) -> int | None:
        """Check that the ways to infer that were asked for go together, and return the size of mini-batches."""
        if self.inference == "mcmc":
            if not self.learn:
                raise ValueError(
                    "`inference='mcmc'` draws hyperparameters along with the latents. Got `learn=False`. "
                    "Name what to hold in the kernel's `fixed`."
                )
            if self.inducing is not None:
                raise ValueError("`inference='mcmc'` samples the full model. Got `inducing`. Leave it out.")
            if self.size_exponent == "learn":
                raise ValueError("`inference='mcmc'` cannot learn the size exponent. Give a number.")
        if self.batch_size is None:
            return None
        if self.inducing is None or self.inference not in ("auto", "variational") or not self.learn:
            raise ValueError(
                "`batch_size` is for `learn=True` with `inference='variational'` and `inducing` variables. Set "
                "`inducing`, or leave `batch_size` out."
            )
        if self.size_exponent == "learn":
            raise ValueError("Mini-batches give no bound to learn the size exponent by. Give a number.")
        return _checks.count("batch_size", self.batch_size)

    def _check_slopes(self, likelihood: Classification) -> None:
        """Refuse a likelihood without slopes by the name that it was asked for."""
        if not likelihood.has_mode:
            raise ValueError(
                f"`inference='laplace'` needs a likelihood with slopes. Got `likelihood={self.likelihood!r}` for "
                f"{likelihood.num_classes} classes, which has none. Choose 'softmax', or for two classes 'logit' or "
                "'probit', or leave `inference` out."
            )


def _relative_level(likelihood: Classification, inference: str) -> float:
    """Return what the level of a class has of its function's variance, where labels have a noise of one.

    Labels as measurements are around one, thresholds are levels of their own, and robust-max has no noise to go by.
    """
    is_around_one = inference in MEASURED or isinstance(likelihood, OrderedProbit | RobustMax)
    return 0.0 if is_around_one else RELATIVE_LEVEL
