"""Domain: one set of named vertices and the relations known on it."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from hypergauss import _checks
from hypergauss._checks import Matrix
from hypergauss.exceptions import DataWarning
from hypergauss.hypergraph import Graph, Hypergraph
from hypergauss.hypergraph.names import Name, locate_vertices, plain, unique_index
from hypergauss.kernels.covariates import check_covariates

#: The name by which covariates stand beside relations.
COVARIATES = "covariates"
#: And the name of what is smoothed over them.
SMOOTHED = "smoothed covariates"


class Domain(NamedTuple):
    """The vertices of a model, and each relation on them, aligned to one order."""

    vertices: pd.Index
    relations: dict[str, Hypergraph | Graph]

    @classmethod
    def of(cls, H: Hypergraph | Graph | Mapping[str, Hypergraph | Graph]) -> Domain:
        """Align one hypergraph or graph, or several by name; a vertex unknown to a relation is isolated in it."""
        relations = dict(H) if isinstance(H, Mapping) else {"hypergraph": H}
        if not relations:
            raise ValueError("`H` must hold at least one relation. Got an empty dict.")
        for name, relation in relations.items():
            if not isinstance(relation, Hypergraph | Graph):
                kind = f"{type(relation).__module__}.{type(relation).__name__}".removeprefix("builtins.")
                raise TypeError(
                    f"`H` must be a Hypergraph, a Graph, or a dict of them. Got {kind} for {name!r}. Build one with "
                    "`Hypergraph.from_edges`, `from_incidence` or `from_table`, or bring it in with `from_networkx`, "
                    "`from_xgi` or `from_hypernetx`."
                )
        names = [str(name) for name in relations]
        if len(set(names)) < len(names) or {COVARIATES, SMOOTHED} & set(names):
            raise ValueError(
                f"Relations must have different names, and {COVARIATES!r} and {SMOOTHED!r} are taken. "
                f"Got {list(relations)}."
            )
        vertices = next(iter(relations.values())).vertices
        for relation in relations.values():
            if not relation.vertices.equals(vertices):
                vertices = vertices.union(relation.vertices, sort=False)
        aligned: dict[str, Hypergraph | Graph] = {}
        for name, relation in relations.items():
            if not relation.vertices.equals(vertices):
                if isinstance(relation, Graph):
                    raise ValueError(
                        f"The graph {name!r} must have the same vertices, in the same order, as the others."
                    )
                relation = relation.with_vertices(vertices)
            aligned[str(name)] = relation
        if len(vertices) == 0:
            raise ValueError("The hypergraph must have at least one vertex. Got none.")
        return cls(vertices, aligned)

    def warn_of_ignored(self) -> None:
        """Say what is known of the relations, such as directions or times, that no model looks at."""
        for name, relation in self.relations.items():
            ignored = relation.attributes.ignored() if isinstance(relation, Hypergraph) else []
            if ignored:
                warnings.warn(
                    f"The model ignores the {', the '.join(ignored)} of {name!r}: it sees who is in what, and how "
                    "strongly. Where they matter, take a `subhypergraph` for each time, or a relation for each part.",
                    DataWarning,
                    stacklevel=4,  # who called `fit`
                )

    def rows(self, names: Iterable[Name], *, argument: str = "vertices") -> np.ndarray:
        """Return the position of each named vertex."""
        return locate_vertices(self.vertices, names, argument=argument)

    def table(self, covariates: Matrix) -> np.ndarray:
        """Return covariates with one row a vertex, in the order of the vertices, each column standardised.

        A DataFrame is matched by its index; an array must have the vertices' order already. A column that is the same
        for all vertices is refused.
        """
        array = self.aligned(covariates)
        same = np.flatnonzero((array == array[0]).all(axis=0))
        if len(array) > 1 and len(same):
            names = covariates.columns if isinstance(covariates, pd.DataFrame) else range(array.shape[1])
            raise ValueError(
                "Each column of `covariates` must tell some vertices apart. "
                f"Column {plain(names[same[0]])!r}{_checks.others(len(same) - 1)} is {array[0, same[0]]:g} for all of "
                "them. Leave it out."
            )
        return Standardiser.of(array)(array)

    def aligned(self, covariates: Matrix) -> np.ndarray:
        """Return covariates with one row a vertex, in the order of the vertices."""
        if isinstance(covariates, pd.DataFrame | pd.Series):
            covariates = self.rows_of(covariates)
        array = check_covariates(covariates)
        self.check_rows(array.shape)
        return array

    def rows_of(self, frame: Any) -> Any:
        """Return the rows of a table in the order of the vertices, which its index names."""
        found = unique_index(frame.index, of="covariates").get_indexer(self.vertices)
        if (found < 0).any():
            absent = self.vertices[found < 0]
            raise ValueError(
                f"`covariates` must have a row for every vertex. {absent[0]!r} and {len(absent) - 1:,} others have "
                "none. Name the rows by vertex, or pass an array in the order of `H.vertices`."
            )
        return frame.iloc[found]

    def check_rows(self, shape: tuple[int, ...]) -> None:
        """Refuse covariates of another number of rows than there are vertices."""
        if shape[0] != len(self.vertices):
            raise ValueError(
                f"`covariates` must have one row for each of the {len(self.vertices):,} vertices. Got shape {shape}. "
                "Pass a DataFrame indexed by vertex, whose other rows are passed over."
            )


class Standardiser(NamedTuple):
    """The map that takes each column of a table to mean 0 and variance 1; a constant column to 0."""

    centre: np.ndarray
    spread: np.ndarray

    @classmethod
    def of(cls, array: np.ndarray) -> Standardiser:
        """Learn the map from the rows of a table."""
        spread = array.std(axis=0)
        return cls(array.mean(axis=0), np.where(spread > 0, spread, 1.0))

    def __call__(self, array: np.ndarray) -> np.ndarray:
        """Apply it to rows of the same columns."""
        return (array - self.centre) / self.spread
