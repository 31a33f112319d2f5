"""MappedVertices: what a fitted map tells of vertices, of those that are new among them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, overload

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from hypergauss import parameters
from hypergauss._checks import Labels, Matrix
from hypergauss._views import html_table
from hypergauss.embedding.memberships import membership_rows
from hypergauss.embedding.model import MapModel, Vertices
from hypergauss.embedding.newcomers import Newcomers, Scene, newcomer_vectors, place
from hypergauss.estimators.domain import Standardiser
from hypergauss.estimators.grown_relations import NewMemberships
from hypergauss.hypergraph import Hypergraph
from hypergauss.kernels.covariates import check_covariates
from hypergauss.parameters import Number

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Placement(NamedTuple):
    """Coordinates of new vertices and their standard deviations, each of shape (n, Q)."""

    coordinates: np.ndarray
    std: np.ndarray


class MappedVertices(BaseEstimator):
    """A map that new vertices are placed on, and that scores memberships."""

    embedding_: np.ndarray
    hyperparameters_: dict[str, Number]
    solver_: str
    model_: MapModel
    _H: Hypergraph
    _edges: np.ndarray
    _anchors: Vertices
    _conditioned: Any
    _standardise: Standardiser | None

    def plot(self, classes: Labels | None = None, *, ax: Axes | None = None) -> Axes:
        """Draw the map with ellipses of uncertainty, coloured by class if classes are given, and return its Axes."""
        from hypergauss.plotting.tasks import plot_map  # with matplotlib, which estimators do without

        return plot_map(self, classes, ax)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        """Return what a notebook shows: the size of the map and what was learned, once there is one."""
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        if not hasattr(self, "embedding_"):
            return bundle
        n, dimensions = self.embedding_.shape
        rows = {"vertices": f"{n:,}", "dimensions": f"{dimensions}", "solver": self.solver_}
        rows |= {name.replace("_", " "): parameters.brief(value) for name, value in self.hyperparameters_.items()}
        return bundle | {"text/html": html_table(f"{type(self).__name__}, fitted", rows)}

    @overload
    def transform(
        self,
        memberships: NewMemberships | Matrix,
        *,
        covariates: Matrix | None = None,
        return_std: Literal[False] = False,
    ) -> np.ndarray: ...

    @overload
    def transform(
        self, memberships: NewMemberships | Matrix, *, covariates: Matrix | None = None, return_std: Literal[True]
    ) -> Placement: ...

    def transform(
        self, memberships: NewMemberships | Matrix, *, covariates: Matrix | None = None, return_std: bool = False
    ) -> np.ndarray | Placement:
        """Place new vertices among the known ones, given their memberships; nothing is learned again.

        Parameters
        ----------
        memberships : dict of vertex to hyperedges, Hypergraph, DataFrame, or array of shape (n, M)
            For each new vertex the hyperedges that it joins, as for `HypergraphGPRegressor.predict_new`. Or one row a
            new vertex, one column a hyperedge: by name (hyperedges not named have none of them), or in the order of the
            hypergraph fitted. NaN where a membership is unknown.
        covariates : array of shape (n, p)
            Of the new vertices, if the model has covariates.
        return_std : bool
            Also return the standard deviation of each coordinate, given the known vertices.

        Returns
        -------
        array of shape (n, Q), or a pair of them
        """
        check_is_fitted(self)
        rows = membership_rows(self._H, memberships)
        model = self.model_
        vertices = Vertices(self._newcomer_vectors(rows), self._newcomer_covariates(covariates, len(rows)))
        own = model.smooth_variances(vertices) + model.nugget(vertices)
        smooth = model.smooth(vertices, self._anchors)
        known = np.isfinite(rows)[:, self._edges]
        values = np.where(known, rows[:, self._edges], 0.0)
        placed = place(Scene(model, self._conditioned), Newcomers(values, known.astype(float), smooth, own))
        if not return_std:
            return placed.coordinates
        return Placement(placed.coordinates, np.sqrt(np.diagonal(placed.covariances, axis1=1, axis2=2)))

    def reconstruct(self) -> pd.DataFrame:
        """Return E[H_ve | all other known entries of hyperedge e] for each vertex v and hyperedge e.

        The higher, the more v belongs to e: it scores unknown memberships, and finds known ones that surprise. A
        hyperedge without known members scores 0 everywhere.

        Returns
        -------
        DataFrame, vertices x hyperedges
        """
        check_is_fitted(self)
        scores = np.zeros(self._H.incidence.shape)
        scores[:, self._edges] = self._conditioned.left_out
        return pd.DataFrame(scores, index=self._H.vertices, columns=pd.Index(self._H.edges, tupleize_cols=False))

    def _newcomer_vectors(self, rows: np.ndarray) -> np.ndarray:
        shares = self._H.edge_degrees / self._H.num_vertices
        return newcomer_vectors(self._H, self.model_.hypergraph.eigenspectrum, np.where(np.isnan(rows), shares, rows))

    def _newcomer_covariates(self, covariates: Matrix | None, n: int) -> np.ndarray | None:
        if (covariates is None) != (self._standardise is None):
            state = "has no covariates" if self._standardise is None else "has covariates"
            raise ValueError(f"`covariates` must be given if the model has them, and only then. This model {state}.")
        if self._standardise is None:
            return None
        array = check_covariates(covariates)
        if array.shape != (n, len(self._standardise.centre)):
            raise ValueError(
                f"`covariates` must have a row for each of the {n} new vertices and the "
                f"{len(self._standardise.centre)} columns fitted. Got shape {array.shape}."
            )
        return self._standardise(array)
