"""Laplacians as products with blocks of vectors: on this machine's cores, an accelerator, or many machines."""

from hypergauss.operators.accelerated import JaxLaplacian
from hypergauss.operators.base import Block, LaplacianOperator
from hypergauss.operators.blocks import COLUMNS_AT_ONCE, column_slices, scattered
from hypergauss.operators.local import LocalLaplacian, local_order
from hypergauss.operators.sharded import ShardedLaplacian
from hypergauss.operators.threaded import ThreadedMatrix

__all__ = [
    "COLUMNS_AT_ONCE",
    "Block",
    "JaxLaplacian",
    "LaplacianOperator",
    "LocalLaplacian",
    "ShardedLaplacian",
    "ThreadedMatrix",
    "column_slices",
    "local_order",
    "scattered",
]
