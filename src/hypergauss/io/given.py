"""What is written or handed over must be a hypergraph of ours."""

from __future__ import annotations

from hypergauss.hypergraph import Hypergraph


def check_hypergraph(H: object) -> None:
    """Refuse anything else, before a file or another library's object is begun."""
    if not isinstance(H, Hypergraph):
        raise TypeError(
            f"`H` must be a Hypergraph. Got {type(H).__name__}. Build one with `Hypergraph.from_edges`, "
            "`from_incidence` or `from_table`."
        )
