"""Explanation: what a prediction is made of, by observed vertex and by hyperedge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from hypergauss._views import html_bars, html_table, signed
from hypergauss.estimators.domain import Domain
from hypergauss.estimators.edge_names import edge_names
from hypergauss.estimators.grown_relations import Relation, Relations
from hypergauss.hypergraph.names import Name, plain
from hypergauss.solvers.base import Posterior
from hypergauss.solvers.contributions import Part, edge_parts

#: How many of each kind are shown as text.
_SHOWN = 5
#: And in a notebook.
_LISTED = 10


@dataclass(frozen=True)
class Explanation:
    """A prediction taken apart in two ways, each of which adds up to it.

    ``prediction = mean + vertices.contribution.sum()``, and
    ``prediction = mean + edges.contribution.sum() + sum of rest``.

    Attributes
    ----------
    vertex : name
        Whose prediction it is.
    of : str
        What is explained: the predicted mean, or by how much the latent function of a class exceeds the others.
    prediction : float
        Its value.
    mean : float
        What would be predicted without any observation; of classes, with what their shares among the labels say of a
        vertex with few memberships.
    vertices : DataFrame indexed by observed vertex
        ``weight``, how much of the vertex's observation goes into the prediction (regression only), ``value``, the
        observation, and ``contribution``, weight times how far the value is from the mean; largest first.
    edges : DataFrame with columns relation, edge, contribution
        What each hyperedge of the vertex contributes; largest first. A kernel with a spectrum of another hypergraph
        than ``H`` speaks through hyperedges that have no name here: they are numbered, as "hyperedge 3 of the kernel".
    rest : dict of name to float
        What does not come through hyperedges: the vertex's own observation, covariates, graphs.
    begun : str
        What `mean` is, in words.
    """

    vertex: Name
    of: str
    prediction: float
    mean: float
    vertices: pd.DataFrame
    edges: pd.DataFrame
    rest: Mapping[str, float]
    begun: str = "without observations"

    def _repr_html_(self) -> str:
        head = {self.of: f"{self.prediction:.4g}", self.begun: f"{self.mean:.4g}"}
        edges = [*zip(map(str, self.edges["edge"]), self.edges["contribution"], strict=True)][:_LISTED]
        vertices = [*zip(map(str, self.vertices.index), self.vertices["contribution"], strict=True)][:_LISTED]
        rest = [(f"({name})", value) for name, value in self.rest.items()]
        return (
            html_table(f"{self.vertex}", head)
            + html_bars(f"by hyperedge, {len(self.edges):,} in all", [*edges, *rest])
            + html_bars(f"by observed vertex, {len(self.vertices):,} in all", vertices)
        )

    def __str__(self) -> str:
        lines = [f"{self.of} of {self.vertex!r}: {self.prediction:.4g}, from {self.mean:.4g} {self.begun}"]
        rest = [(f"({name})", value) for name, value in self.rest.items()]
        for title, names, contributions, more in (
            ("hyperedge", self.edges["edge"].tolist(), self.edges["contribution"].to_numpy(), rest),
            ("observed vertex", list(self.vertices.index), self.vertices["contribution"].to_numpy(), []),
        ):
            lines.append(f"  by {title}, {len(names):,} in all")
            shown = [*zip(map(repr, names[:_SHOWN]), contributions[:_SHOWN], strict=True)]
            if len(names) > _SHOWN:
                shown.append((f"the {len(names) - _SHOWN:,} others together", contributions[_SHOWN:].sum()))
            lines += _aligned([*shown, *more])
        return "\n".join(lines)


def _aligned(rows: Sequence[tuple[str, float]]) -> list[str]:
    """Return lines of numbers, below one another, and their names."""
    numbers = signed([value for _, value in rows])
    width = max(map(len, numbers), default=0)
    return [f"    {number:>{width}}  {name}" for number, (name, _) in zip(numbers, rows, strict=True)]


def explain(
    posteriors: Sequence[tuple[float, Posterior, int]],
    row: int,
    *,
    vertices: pd.Index,
    H: Relations,
    of: str,
    with_values: bool = False,
) -> Explanation:
    """Take apart a weighted sum of posterior means at one vertex.

    Parameters
    ----------
    posteriors : sequence of (factor, posterior, output)
        The sum: factors times the means of these outputs.
    row : int
        The vertex.
    vertices, H : Index, and Hypergraph, Graph or dict of them
        For names.
    of : str
        What is explained.
    with_values : bool
        Show observations and their weights, which are averages too where several posteriors are; those have the same
        observations.
    """
    at = np.array([row])
    observed = posteriors[0][1].sites.rows
    by_vertex, shares, mean, prediction = np.zeros(len(observed)), np.zeros(len(observed)), 0.0, 0.0
    parts: list[tuple[float, int, Part]] = []
    for factor, posterior, output in posteriors:
        weights = posterior.observation_weights(at)[0]
        prior = float(posterior.prior.mean[output])
        values = posterior.sites.mean[:, output]
        by_vertex += factor * weights * (values - prior)
        shares += factor * weights
        mean += factor * prior
        prediction += factor * float(posterior.mean(at)[0, output])
        found = edge_parts(posterior, row)
        outputs = posterior.sites.mean.shape[1]
        each = len(found) // outputs
        parts += [(factor, *numbered) for numbered in enumerate(found[output * each : (output + 1) * each])]
    table: dict[str, Any] = {"value": values, "weight": shares} if with_values else {}
    table["contribution"] = by_vertex
    names = pd.Index(vertices[observed], name="vertex", tupleize_cols=False)
    order = np.argsort(-np.abs(by_vertex), kind="stable")
    edges, rest = _by_edge(parts, Domain.of(H).relations)
    return Explanation(
        plain(vertices[row]), of, prediction, mean, pd.DataFrame(table, index=names).iloc[order], edges, rest
    )


def _by_edge(
    parts: Sequence[tuple[float, int, Part]], relations: Mapping[str, Relation]
) -> tuple[pd.DataFrame, dict[str, float]]:
    """Return a table of hyperedges, and what is left by part.

    Parts have a factor and a number: the same part of a kernel at several hyperparameters, among them size exponents,
    has one number, and what it tells is added.
    """
    totals: dict[tuple[str, int, int], float] = {}
    rest: dict[str, float] = {}
    names: dict[tuple[str, int], Sequence[Name]] = {}
    for factor, number, part in parts:
        home = (part.label, number)
        if part.spectrum is not None and home not in names:
            names[home] = edge_names(part.label, part.spectrum, relations)
        for edge, value in zip(part.edges.tolist(), part.values.tolist(), strict=True):
            totals[*home, edge] = totals.get((*home, edge), 0.0) + factor * value
        left = part.label if part.spectrum is None else "its own observation"
        rest[left] = rest.get(left, 0.0) + factor * part.rest
    edges = np.fromiter((names[label, home][edge] for label, home, edge in totals), dtype=object, count=len(totals))
    frame = pd.DataFrame(
        {"relation": [label for label, *_ in totals], "edge": edges, "contribution": list(totals.values())}
    )
    order = np.argsort(-frame["contribution"].abs().to_numpy(), kind="stable")
    return frame.iloc[order].reset_index(drop=True), {name: value for name, value in rest.items() if value != 0.0}
