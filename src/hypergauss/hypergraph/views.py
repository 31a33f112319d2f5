"""How a hypergraph shows: its memberships as a table, itself as text and in a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import scipy.sparse as sp

from hypergauss import _checks
from hypergauss._views import html_table

if TYPE_CHECKING:
    from hypergauss.hypergraph.hypergraph import Hypergraph

#: How many names a notebook lists of each side.
_LISTED = 4


def membership_frame(H: Hypergraph, vertex: str, edge: str, weight: str) -> pd.DataFrame:
    """Return one row a membership, hyperedge by hyperedge, each in the order of its vertices."""
    _checks.different_columns([vertex, edge, weight])
    matrix = H.incidence.tocoo()
    order = np.lexsort((matrix.row, matrix.col))
    return pd.DataFrame(
        {vertex: H.vertices[matrix.row[order]], edge: H.edges[matrix.col[order]], weight: matrix.data[order]}
    )


def as_text(H: Hypergraph) -> str:
    """Return what it counts."""
    return (
        f"Hypergraph({_plural(H.num_vertices, 'vertex', 'vertices')}, "
        f"{_plural(H.num_edges, 'hyperedge', 'hyperedges')}, "
        f"{_plural(H.num_incidences, 'incidence', 'incidences')})"
    )


def as_html(H: Hypergraph) -> str:
    """Return a table of what it counts, its first and largest parts, and what no model looks at."""
    sizes, degrees = np.diff(sp.csc_array(H.incidence).indptr), np.diff(H.incidence.indptr)
    rows = {
        "vertices": f"{H.num_vertices:,}",
        "hyperedges": f"{H.num_edges:,}",
        "incidences": f"{H.num_incidences:,}",
        "isolated vertices": f"{len(H.isolated_vertices):,}",
        "hyperedge sizes": _spread(sizes),
        "hyperedges of a vertex": _spread(degrees),
        "first vertices": _listed(H.vertices),
        "first hyperedges": _listed(H.edges),
        "largest hyperedges": _listed(H.edges[np.argsort(-sizes, kind="stable")]),
    }
    ignored = H.attributes.ignored()
    if ignored:
        rows["no model looks at"] = "; ".join(ignored)
    return html_table("Hypergraph", rows)


def _spread(counts: np.ndarray) -> str:
    return f"{counts.min():,} to {counts.max():,}, median {np.median(counts):g}" if len(counts) else "-"


def _listed(names: pd.Index) -> str:
    return ", ".join(str(name) for name in names[:_LISTED]) + (", ..." if len(names) > _LISTED else "")


def _plural(n: int, one: str, many: str) -> str:
    return f"{n:,} {one if n == 1 else many}"
