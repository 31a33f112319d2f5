"""Many features of vertices, such as words: their own, and those of whom they take part with, as kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from hypergauss import _checks
from hypergauss.estimators.domain import COVARIATES, SMOOTHED, Domain
from hypergauss.hypergraph.walk import where_walks_stop
from hypergauss.kernels import Components, Kernel
from hypergauss.kernels.components import principal_components, unit_rows

#: More columns than this are features of which each says little; up to this many, measurements that each say something.
MANY = 100
#: Directions that features are known by before they are smoothed, and components of each kernel.
_DIRECTIONS, _COMPONENTS = 500, 250
#: Where a walk stops before each step, and how steeply components count before it is learned. Of five restarts and four
#: numbers of steps tried on splits of Cora that no study reports.
_RESTART, _STEPS = 0.4, 2.0


def are_many(covariates: Any) -> bool:
    """Return whether covariates are many features: a sparse matrix, or more columns than measurements have."""
    if covariates is None or isinstance(covariates, Kernel):
        return False
    if sp.issparse(covariates) or _is_sparse_frame(covariates):
        return True
    shape = getattr(covariates, "shape", np.shape(covariates))
    return len(shape) == 2 and shape[1] > MANY


def feature_kernels(domain: Domain, covariates: Any, fixed: tuple[str, ...] = ()) -> dict[str, Kernel]:
    r"""Return a kernel of features as they are, and one of features smoothed over the relations.

    With X rows of unit length, in their leading directions X ~ Z V', the smoothed ones are (`where_walks_stop`)

        sum over k of restart (1 - restart)^k P^k Z,

    once more of unit length. Each has its variance and its steps (`Components`), which the evidence learns.
    """
    X = unit_rows(_aligned(domain, covariates))
    directions, squares = principal_components(X, _DIRECTIONS, centred=False)
    if not len(squares):
        raise ValueError(
            "`covariates` must tell vertices apart. Got nothing but zeros. Leave them out, or pass others."
        )
    Z = directions * np.sqrt(squares)
    relations = list(domain.relations.values())
    parts = {COVARIATES: Z, SMOOTHED: where_walks_stop(relations, Z, _RESTART)}
    return {name: Components.of(part, most=_COMPONENTS, steps=_STEPS, fixed=fixed) for name, part in parts.items()}


def _aligned(domain: Domain, covariates: Any) -> Any:
    """Return features with one row a vertex, sparse where they were."""
    if _is_sparse_frame(covariates):
        frame = domain.rows_of(covariates)
        return _finite(sp.csr_array(frame.sparse.to_coo()), domain)
    if sp.issparse(covariates):
        return _finite(sp.csr_array(covariates), domain)
    return domain.aligned(covariates)


def _finite(matrix: sp.csr_array, domain: Domain) -> sp.csr_array:
    """Return a sparse matrix of numbers, one row a vertex."""
    domain.check_rows(matrix.shape)
    if matrix.dtype.kind not in "biuf":
        raise TypeError(f"`covariates` must hold numbers. Got {matrix.dtype}.")
    _checks.finite_array("covariates", matrix.data, missing="Fill in missing covariates first.")
    return sp.csr_array(matrix, dtype=np.float64)


def _is_sparse_frame(covariates: Any) -> bool:
    return (
        isinstance(covariates, pd.DataFrame)
        and len(covariates.columns) > 0
        and all(isinstance(dtype, pd.SparseDtype) for dtype in covariates.dtypes)
    )
