"""A classifier that takes in new vertices, hyperedges and labels, and predicts vertices that are new."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

import numpy as np
import pandas as pd

from hypergauss import _checks
from hypergauss.estimators.features import are_many
from hypergauss.estimators.grown_relations import Relations
from hypergauss.estimators.growth import Growth
from hypergauss.estimators.labelled import LabelledVertices
from hypergauss.estimators.labels import with_further
from hypergauss.estimators.latent_task import resolved
from hypergauss.estimators.updating import Labelled, labelled_again
from hypergauss.estimators.vertices import nothing_given
from hypergauss.inference.latents import SampledLatents
from hypergauss.inference.mixtures import components
from hypergauss.inference.one_hot import OneHotLatents


class GrowingClassifier(LabelledVertices):
    """What a fitted classifier can do when more becomes known."""

    inference: str
    batch_size: int | None
    labels_: pd.Series
    elbo_: float

    def update(
        self, H: Relations | None = None, X: Iterable[Any] | None = None, y: Any = None, *, covariates: Any = None
    ) -> Self:
        """Take in more vertices, hyperedges or labels, hyperparameters held: nothing is learned again.

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

        Examples
        --------
        >>> from hypergauss import Hypergraph, HypergraphGPClassifier
        >>> H = Hypergraph.from_edges({"x": ["a", "b", "c"], "y": ["c", "d"], "z": ["d", "e", "f"]})
        >>> model = HypergraphGPClassifier(H, learn=False).fit(["a", "b", "f"], ["left", "left", "right"])
        >>> model.update(H.with_edges({"w": ["f", "g"]}), ["e"], ["right"]).predict(["d", "g"]).tolist()
        ['right', 'right']
        """
        growth, parameters_now = self._growth(H, covariates)
        labels = self._known("labels_")
        if X is not None or y is not None:
            labels = with_further(labels, X, y, self.classes_)
        elif H is None and covariates is None:
            raise nothing_given()
        found = self._labelled(growth, labels)
        self._keep_grown(growth, parameters_now, found.posterior)
        self.labels_, self.elbo_ = labels, found.log_evidence
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

    def _labelled(self, growth: Growth, labels: pd.Series) -> Labelled:
        """Return the latent functions given labels, those from before first."""
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
        return labelled_again(
            self.posterior_,
            growth,
            growth.new.rows(labels.index),
            _checks.positions(labels.to_numpy(), self.classes_),
            inference="one-hot" if is_one_hot else usual,
            asked=self.solver,
        )

    @property
    def _are_measurements(self) -> bool:
        """Whether labels were taken as measurements, by an exact solver."""
        return self.inference in ("dirichlet", "one-hot") or (self.inference == "auto" and are_many(self.covariates))
