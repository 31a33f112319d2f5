"""Our kernels inside other packages of Gaussian processes: GPJax, GPyTorch and scikit-learn.

Vertices are numbers there, as in ``kernel.gram``: `Hypergraph.vertex_rows` gives them for names.
"""

from hypergauss.interop.gpjax import to_gpjax
from hypergauss.interop.gpytorch import to_gpytorch
from hypergauss.interop.sklearn import to_sklearn

__all__ = ["to_gpjax", "to_gpytorch", "to_sklearn"]
