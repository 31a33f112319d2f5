"""What is known, frozen: hypergraphs and graphs on named vertices."""

from hypergauss.hypergraph.graph import Graph
from hypergauss.hypergraph.hypergraph import Hypergraph

__all__ = ["Graph", "Hypergraph"]
