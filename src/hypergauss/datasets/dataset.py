"""What every loader returns."""

from __future__ import annotations

from typing import NamedTuple

import pandas as pd
import scipy.sparse as sp

from hypergauss._views import html_table
from hypergauss.hypergraph import Hypergraph


class Dataset(NamedTuple):
    """A hypergraph, a target for its vertices, and the table both came from.

    Attributes
    ----------
    hypergraph : Hypergraph
        Who took part in what.
    target : Series indexed by vertex
        Values or labels; NaN where unknown.
    table : DataFrame indexed by vertex
        All attributes as published.
    description : str
        What it is and whom to credit.
    features : SciPy CSR array, shape (N, p), or None
        Numbers known of each vertex, where they are too many for a table.
    """

    hypergraph: Hypergraph
    target: pd.Series
    table: pd.DataFrame
    description: str
    features: sp.csr_array | None = None

    def _repr_html_(self) -> str:
        known = self.target.notna().sum()
        rows = {"about": self.description, "target": f"{self.target.name}, known of {known:,}"}
        rows |= {"columns of table": ", ".join(map(str, self.table.columns))}
        return html_table("Dataset", rows) + self.hypergraph._repr_html_()
