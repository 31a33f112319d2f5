"""How a hypergraph shows."""

from __future__ import annotations

from html import escape

import numpy as np
import pandas as pd
import scipy.sparse as sp


def plural(n: int, one: str, many: str) -> str:
    """Return a number with the word for what it counts."""
    return f"{n:,} {one if n == 1 else many}"


def html_table(incidence: sp.csr_array, vertices: pd.Index, edges: pd.Index) -> str:
    """Return what a notebook shows: sizes, and the first names."""
    sizes = np.diff(sp.csc_array(incidence).indptr)
    rows = {
        "vertices": f"{len(vertices):,}",
        "hyperedges": f"{len(edges):,}",
        "incidences": f"{incidence.nnz:,}",
        "isolated vertices": f"{np.count_nonzero(np.diff(incidence.indptr) == 0):,}",
        "hyperedge sizes": f"{sizes.min():,} to {sizes.max():,}, median {np.median(sizes):g}" if len(sizes) else "-",
        "first vertices": ", ".join(str(v) for v in vertices[:4]),
        "first hyperedges": ", ".join(str(e) for e in edges[:4]),
    }
    body = "".join(f"<tr><th style='text-align:left'>{k}</th><td>{escape(v)}</td></tr>" for k, v in rows.items())
    return f"<table><caption>Hypergraph</caption><tbody>{body}</tbody></table>"
