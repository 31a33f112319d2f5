"""The way in and out: HIF and tables as files, XGI, HyperNetX, NetworkX and PyTorch Geometric as objects."""

from hypergauss.io.hif import read_hif, write_hif
from hypergauss.io.hyperedge_index import HyperedgeIndex, from_hyperedge_index, to_hyperedge_index
from hypergauss.io.hypernetx import from_hypernetx, to_hypernetx
from hypergauss.io.lists import read_lists
from hypergauss.io.networkx import from_networkx, to_networkx
from hypergauss.io.tables import read_table, write_table
from hypergauss.io.xgi import from_xgi, to_xgi

__all__ = [
    "HyperedgeIndex",
    "from_hyperedge_index",
    "from_hypernetx",
    "from_networkx",
    "from_xgi",
    "read_hif",
    "read_lists",
    "read_table",
    "to_hyperedge_index",
    "to_hypernetx",
    "to_networkx",
    "to_xgi",
    "write_hif",
    "write_table",
]
