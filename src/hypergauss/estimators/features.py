"""Many features of vertices, such as words: their own, and those of whom they take part with, as kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from hypergauss import _checks
from hypergauss._checks import Matrix
from hypergauss.estimators.domain import COVARIATES, SMOOTHED, Domain
from hypergauss.hypergraph.walk import where_walks_stop
from hypergauss.kernels import Components, Kernel, UnitRows
from hypergauss.kernels.components import principal_components, unit_rows

#: More columns than this are features of which each says little; up to this many, measurements that each say something.
MANY = 100
#: Directions that features are known by before they are smoothed, and components of each kernel.
_DIRECTIONS, _COMPONENTS = 500, 250
#: The same beside a Markov field, which meets every component in every system. Of 3,000 vertices with 2,000 words that
#: were simulated 50 components told as much of classes as 250, in a fifth of the time, and 20 a little less.
_FEW_DIRECTIONS, _FEW_COMPONENTS = 200, 50
#: Where a walk stops before each step, and how steeply components count before it is learned. Of five restarts and four
#: numbers of steps tried on splits of Cora that no study reports.
_RESTART, _STEPS = 0.4, 2.0
#: Numbers of smoothed features, vertices by columns, that are held as they are; more are known by leading directions.
_MOST_NUMBERS = 5e7


def are_many(covariates: Any) -> bool:
    """Return whether covariates are many features: a sparse matrix, or more columns than measurements have."""
    if covariates is None or isinstance(covariates, Kernel):
        return False
    if sp.issparse(covariates) or _is_sparse_frame(covariates):
        return True
    shape = getattr(covariates, "shape", np.shape(covariates))
    return len(shape) == 2 and shape[1] > MANY


def feature_kernels(
    domain: Domain,
    covariates: Matrix,
    fixed: tuple[str, ...] = (),
    *,
    by_angles: bool = False,
    beside_field: bool = False,
) -> dict[str, Kernel]:
    r"""Return a kernel of features as they are, and one of features smoothed over the relations.

    With X rows of unit length, the smoothed ones are (`where_walks_stop`)

        sum over k of restart (1 - restart)^k P^k X,

    once more of unit length. By their angles (`UnitRows`), for as many labels as a dense solver serves; or by principal
    components (`Components`), from which a kernel of low rank is made, X then in its leading directions, of lower rank
    beside a Markov field. Each has its variance and its angle or steps, which are learned.
    """
    X = unit_rows(_aligned(domain, covariates))
    relations = list(domain.relations.values())
    if by_angles and X.shape[0] * X.shape[1] <= _MOST_NUMBERS:
        _check_told_apart(X)
        dense = X.toarray() if sp.issparse(X) else X
        smoothed = where_walks_stop(relations, dense, _RESTART)
        return {COVARIATES: UnitRows(X, fixed=fixed), SMOOTHED: UnitRows(smoothed, fixed=fixed)}
    known_by, most = (_FEW_DIRECTIONS, _FEW_COMPONENTS) if beside_field else (_DIRECTIONS, _COMPONENTS)
    directions, squares = principal_components(X, known_by, centred=False)
    if not len(squares):
        _check_told_apart(X)
    Z = directions * np.sqrt(squares)
    parts = {COVARIATES: X if by_angles else Z, SMOOTHED: where_walks_stop(relations, Z, _RESTART)}
    if by_angles:
        return {name: UnitRows(part, fixed=fixed) for name, part in parts.items()}
    return {name: Components.of(part, most=most, steps=_STEPS, fixed=fixed) for name, part in parts.items()}


def _check_told_apart(X: Any) -> None:
    """Refuse rows that are all alike."""
    lowest, highest = (np.asarray(each.toarray() if sp.issparse(each) else each) for each in (X.min(0), X.max(0)))
    if not highest.any() and not lowest.any():
        raise ValueError(
            "`covariates` must tell vertices apart. Got nothing but zeros. Leave them out, or pass others."
        )
    if np.allclose(lowest, highest, rtol=1e-12, atol=0.0):
        raise ValueError(
            "`covariates` must tell vertices apart. Got rows that are all alike. Leave them out, or pass others."
        )


def _aligned(domain: Domain, covariates: Matrix) -> Any:
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


def _is_sparse_frame(covariates: object) -> bool:
    return (
        isinstance(covariates, pd.DataFrame)
        and len(covariates.columns) > 0
        and all(isinstance(dtype, pd.SparseDtype) for dtype in covariates.dtypes)
    )
