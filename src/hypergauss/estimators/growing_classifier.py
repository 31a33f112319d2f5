"""A classifier that takes in new vertices, hyperedges and labels, and predicts vertices that are new."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

import numpy as np
import pandas as pd

from hypergauss import _checks, parameters
from hypergauss.estimators.defaults import default_class_priors
from hypergauss.estimators.features import are_many
from hypergauss.estimators.grown_relations import Relations
from hypergauss.estimators.growth import Growth
from hypergauss.estimators.labelled import LabelledVertices
from hypergauss.estimators.labels import with_further
from hypergauss.estimators.latent_task import MEASURED, resolved
from hypergauss.estimators.updating import HELD, Labelled, Moving, labelled_again
from hypergauss.estimators.vertices import nothing_given
from hypergauss.inference.calibration import temperature_of
from hypergauss.inference.latent_model import LatentModel
from hypergauss.inference.latents import SampledLatents
from hypergauss.inference.mixtures import components
from hypergauss.inference.one_hot import OneHotLatents
from hypergauss.inference.shares import shares_of
from hypergauss.kernels import Kernel, Sum
from hypergauss.learning.priors import check_priors
from hypergauss.likelihoods import OrderedProbit


class GrowingClassifier(LabelledVertices):
    """What a fitted classifier can do when more becomes known."""

    likelihood: Any
    inference: str
    batch_size: int | None
    calibrate: bool | str
    labels_: pd.Series
    elbo_: float

    def update(
        self,
        H: Relations | None = None,
        X: Iterable[Any] | None = None,
        y: Any = None,
        *,
        covariates: Any = None,
        reweigh: bool = False,
        relearn: bool = False,
    ) -> Self:
        """Take in more vertices, hyperedges or labels, hyperparameters held: as a rule nothing is learned again.

        As for `HypergraphGPRegressor.update`. Where inference has one answer, as expectation propagation with a probit
        has, it is that of all labels at once; ``elbo_`` is then that of the heaviest of the hyperparameters' values.

        Parameters
        ----------
        H : Hypergraph, Graph, or dict of name to either, optional
            What has grown, with all vertices that the model knows.
        X, y : arrays, shape (n,), optional
            Further labels, of the classes that there are. One that is known already says nothing new.
        covariates : array of shape (N, p) or DataFrame, optional
            Of all vertices, where there are new ones that the model's own table does not have.
        reweigh : bool
            As for `HypergraphGPRegressor.update`; and ``temperature_`` is found anew, from all labels.
        relearn : bool
            Let hyperparameters follow what has been seen: a step or two on the log evidence of all labels move their
            values, all by as much, before these are weighed anew as with ``reweigh``. It is nearer to fitting again
            than that is, in a tenth to a twentieth of the time. The size exponents of hyperedges' weights are those
            that there are.

        Examples
        --------
        >>> from hypergauss import Hypergraph, HypergraphGPClassifier
        >>> H = Hypergraph.from_edges({"x": ["a", "b", "c"], "y": ["c", "d"], "z": ["d", "e", "f"]})
        >>> model = HypergraphGPClassifier(H, learn=False).fit(["a", "b", "f"], ["left", "left", "right"])
        >>> model.update(H.with_edges({"w": ["f", "g"]}), ["e"], ["right"]).predict(["d", "g"]).tolist()
        ['right', 'right']
        """
        _checks.flag("reweigh", reweigh)
        if _checks.flag("relearn", relearn) and not self.learn:
            raise ValueError(
                "`relearn=True` moves hyperparameters that were learned. Got a model of `learn=False`. Leave it out."
            )
        growth, parameters_now = self._growth(H, covariates)
        labels = self._known("labels_")
        if X is not None or y is not None:
            labels = with_further(labels, X, y, self.classes_)
        elif H is None and covariates is None:
            raise nothing_given()
        codes = _checks.positions(labels.to_numpy(), self.classes_)
        moving = self._moving() if relearn else None
        reweigh = reweigh or relearn
        found, inference = self._labelled(growth, labels, codes, reweigh=reweigh, moving=moving)
        self._keep_grown(growth, parameters_now, found.posterior)
        if moving is not None:
            self._follow(moving, found.model)
        self.labels_, self.elbo_ = labels, found.log_evidence
        self.shares_ = self._shares(codes)
        if reweigh:
            self.temperature_ = self._temperature(codes, inference)
        return self

    def predict_proba_new(self, memberships: Any, *, covariates: Any = None) -> np.ndarray:
        """Return class probabilities of vertices that are new, from their memberships; the model stays as it is.

        Those after `update` with these vertices, all of them together.

        Parameters
        ----------
        memberships : dict of vertex to hyperedges, or Hypergraph
            As for `HypergraphGPRegressor.predict_new`.
        covariates : array of shape (N + m, p) or DataFrame, optional
            Of all vertices, the new ones last, if the model has covariates.

        Returns
        -------
        array of shape (m, C), in the order of the memberships and of ``classes_``
        """
        grown, names = self._with_newcomers(memberships, covariates)
        return grown.predict_proba(names)

    def predict_new(self, memberships: Any, *, covariates: Any = None) -> np.ndarray:
        """Return the most probable class of vertices that are new, shape (m,); as for `predict_proba_new`.

        Examples
        --------
        >>> from hypergauss import Hypergraph, HypergraphGPClassifier
        >>> H = Hypergraph.from_edges({"x": ["a", "b", "c"], "y": ["c", "d"], "z": ["d", "e", "f"]})
        >>> model = HypergraphGPClassifier(H, learn=False).fit(["a", "b", "f"], ["left", "left", "right"])
        >>> model.predict_new({"g": ["y", "z"], "h": ["x"]}).tolist()
        ['right', 'left']
        """
        most_probable = self.predict_proba_new(memberships, covariates=covariates).argmax(axis=1)
        return self.classes_[most_probable]

    def _moving(self) -> Moving:
        """Return how values of the hyperparameters move: under the priors of `fit`, by the spread that it found."""
        is_given = isinstance(self.kernel, Kernel)
        priors, defaults = check_priors(self.priors), {} if is_given else default_class_priors()
        known = self.hyperparameter_posterior_
        return Moving(
            HELD._replace(priors=priors, default_priors=defaults), None if known is None else known.covariance
        )

    def _follow(self, moving: Moving, model: LatentModel) -> None:
        """Move the estimates of the hyperparameters by as much as all of their values, of which a model has one."""
        estimated = parameters.with_shown(
            parameters.with_value(model, ("kernel",), self.kernel_), self.hyperparameters_
        )
        there = moving.at_offset(estimated)
        self.kernel_, self.hyperparameters_ = there.kernel, parameters.values(there)
        self.hyperparameter_posterior_ = moving.uncertainty(there)
        self.relation_weights_ = there.kernel.shares() if isinstance(there.kernel, Sum) else None

    def _labelled(
        self, growth: Growth, labels: pd.Series, codes: np.ndarray, *, reweigh: bool, moving: Moving | None
    ) -> tuple[Labelled, str]:
        """Return the latent functions given labels, those from before first, and how they were inferred."""
        if isinstance(self.posterior_, SampledLatents) or self.batch_size is not None:
            way = "draws" if self.batch_size is None else "mini-batches"
            raise ValueError(f"A model must be conditioned on its labels to be updated. Got one by {way}. Fit again.")
        latents = components(self.posterior_)[0][1]
        is_by_products = latents.posteriors[0].is_by_products
        likelihood = self.posterior_.likelihood
        is_one_hot = isinstance(latents, OneHotLatents) and is_by_products
        if not is_one_hot and self._are_measurements:
            raise ValueError(
                "A model must settle its labels to be updated. Got one by labels as measurements ('dirichlet' or "
                "'one-hot', usual for many features). Fit again: that takes seconds."
            )
        usual = resolved(self.inference, likelihood, is_variational=is_by_products)
        inference = "one-hot" if is_one_hot else usual
        rows = growth.new.rows(labels.index)
        found = labelled_again(
            self.posterior_,
            growth,
            rows,
            codes,
            inference=inference,
            asked=self.solver,
            reweigh=reweigh,
            moving=moving,
        )
        return found, inference

    def _shares(self, codes: np.ndarray) -> np.ndarray | None:
        """Return the shares of the classes where the model goes by them."""
        goes_by_them = any(getattr(latents, "own", None) is not None for _, latents in components(self.posterior_))
        return shares_of(codes, len(self.classes_)) if goes_by_them else None

    def _temperature(self, codes: np.ndarray, inference: str) -> float:
        """Return what probabilities are calibrated by: labels held out from each other, or 1 where nothing is."""
        posterior = self.posterior_
        if isinstance(posterior, SampledLatents):
            if self.calibrate is True:
                raise ValueError(
                    "`calibrate=True` takes sites out again, and draws have none. Got `inference='mcmc'`. Leave one of "
                    "the two out."
                )
            return 1.0
        is_coupled = any(latents.coupling is not None for _, latents in components(posterior))
        has_many = are_many(self.covariates) and not is_coupled
        # The default prior is one for all, and most classes are clearer than it expects.
        is_default = inference == "ep" and not isinstance(self.kernel, Kernel) and not self._is_ordinal
        are_timid = inference in MEASURED or (self.learn and (is_default or has_many))
        wanted = self.calibrate is True or (self.calibrate == "auto" and are_timid)
        by_evidence = is_coupled or (self.learn and inference == "ep" and not has_many)
        return temperature_of(posterior, codes, by_evidence=by_evidence, shares=self.shares_) if wanted else 1.0

    @property
    def _is_ordinal(self) -> bool:
        return self.likelihood == "ordinal" or isinstance(self.likelihood, OrderedProbit)

    @property
    def _are_measurements(self) -> bool:
        """Whether labels were taken as measurements, by an exact solver."""
        return self.inference in MEASURED or (self.inference == "auto" and are_many(self.covariates))
