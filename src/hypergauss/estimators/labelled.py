"""LabelledVertices: what a fitted classifier says of vertices."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import check_random_state

from hypergauss import _checks
from hypergauss._checks import Labels, Seed
from hypergauss.estimators.explanation import Explanation, explain
from hypergauss.estimators.labels import check_labels
from hypergauss.estimators.vertices import VertexEstimator, in_order_of
from hypergauss.hypergraph.names import Name, as_list
from hypergauss.inference.calibration import tempered
from hypergauss.inference.latents import GaussianLatents, SampledLatents
from hypergauss.inference.mixtures import MixedLatents, components
from hypergauss.likelihoods import OrderedProbit
from hypergauss.solvers.threads import threads_for


class LabelledVertices(ClassifierMixin, VertexEstimator):
    """Probabilities of classes, from a posterior of latent functions."""

    posterior_: GaussianLatents | MixedLatents | SampledLatents
    classes_: np.ndarray
    temperature_: float
    shares_: np.ndarray | None

    def predict_proba(self, X: Iterable[Name]) -> np.ndarray:
        """Return the probability of each class for named vertices, shape (m, C), in the order of ``classes_``."""
        rows = self._rows(X)
        with threads_for(max(len(rows), len(self.vertices_))):
            return tempered(self.posterior_.probabilities(rows), self.temperature_, self.shares_)

    def predict(self, X: Iterable[Name]) -> np.ndarray:
        """Return the most probable class of named vertices, shape (m,)."""
        most_probable = self.predict_proba(X).argmax(axis=1)  # first, as it says so of an unfitted model
        return self.classes_[most_probable]

    def score(self, X: Iterable[Name], y: Labels, sample_weight: Any = None) -> float:
        """Return the share of named vertices, shape (m,), whose most probable class is their label."""
        names = as_list(X)
        labels = check_labels(in_order_of(X, names, y, argument="y"))
        _checks.same_length("vertices", len(names), "y", len(labels))
        predicted = self.predict_proba(names).argmax(axis=1)
        return float(np.average(predicted == _checks.positions(labels, self.classes_), weights=sample_weight))

    def explain(self, vertex: Name, *, label: Name | None = None) -> Explanation:
        """Return how much each labelled vertex, and each hyperedge of this vertex, speaks for a class.

        What is taken apart is the latent function of the class less the mean of the others', under the Gaussian
        approximation; with one latent function, that function, turned so that more of it speaks for the class (for the
        higher classes, if they are ordered). Contributions add up to it.

        Parameters
        ----------
        vertex : name
            Labelled or not.
        label : class, optional
            The predicted one if not given.
        """
        row = int(self._rows([vertex])[0])
        chosen = self.predict([vertex])[0] if label is None else label
        column = np.flatnonzero([known == chosen for known in self.classes_])
        if len(column) == 0:
            raise ValueError(f"`label` must be one of the classes {self.classes_.tolist()}. Got {label!r}.")
        if isinstance(self.posterior_, SampledLatents):
            raise ValueError("Draws have no weights of observations. Fit with `inference='variational'` to explain.")
        num_latents = len(self.posterior_.posteriors)
        if num_latents == 1:
            is_ordered = isinstance(self.posterior_.likelihood, OrderedProbit)
            factors = [1.0 if column[0] == 1 or is_ordered else -1.0]
            of = "latent function" if is_ordered else f"latent function for {chosen!s}"
        else:
            others = num_latents - 1
            factors = [1.0 if latent == column[0] else -1.0 / others for latent in range(num_latents)]
            of = f"latent margin for {chosen!s}"
        parts = [
            (weight * factor, posterior, 0)
            for weight, latents in components(self.posterior_)
            for factor, posterior in zip(factors, latents.posteriors, strict=True)
        ]
        found = explain(parts, row, vertices=self.vertices_, H=self.H, of=of)
        owns = (
            w * float(np.dot(factors, each.from_own(np.array([row]))[0])) for w, each in components(self.posterior_)
        )
        own = sum(owns)  # what a vertex with few memberships has of the classes' shares, which no single label tells
        begun = f"without observations, {own:+.3g} by the classes' shares" if own else found.begun
        return replace(found, prediction=found.prediction + own, mean=found.mean + own, begun=begun)

    def sample(self, X: Iterable[Name], n: int = 1, random_state: Seed = None) -> np.ndarray:
        """Return n joint draws of the latent functions at named vertices, shape (n, m, L)."""
        count = _checks.count("n", n)
        rows = self._rows(X)
        rng = np.random.default_rng(check_random_state(random_state).randint(2**31))
        return self.posterior_.sample(rows, count, rng)
