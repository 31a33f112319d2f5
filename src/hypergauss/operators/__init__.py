"""Laplacians as products with blocks of vectors: on this machine's cores, an accelerator, or many machines."""

from hypergauss.operators.accelerated import JaxLaplacian
from hypergauss.operators.base import LaplacianOperator
from hypergauss.operators.local import LocalLaplacian, local_order
from hypergauss.operators.sharded import ShardedLaplacian
from hypergauss.operators.threaded import ThreadedMatrix

__all__ = [
    "JaxLaplacian",
    "LaplacianOperator",
    "LocalLaplacian",
    "ShardedLaplacian",
    "ThreadedMatrix",
    "local_order",
]
