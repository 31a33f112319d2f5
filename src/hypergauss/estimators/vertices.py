"""VertexEstimator: what all estimators on named vertices share."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from hypergauss.estimators.blueprint import Blueprint
from hypergauss.estimators.domain import Domain
from hypergauss.exceptions import LearningWarning
from hypergauss.inference import Learned
from hypergauss.solvers.choose import Solver
from hypergauss.kernels import Kernel


class VertexEstimator(BaseEstimator):
    """An estimator whose X is an array of vertex names. Subclasses set ``_vertices`` when they are fitted."""

    H: Any
    kernel: str | Kernel | None
    covariates: Any
    combine: str
    rank: int | None
    learn: bool
    size_exponent: float | str
    solver: Solver
    inducing: Any
    _vertices: pd.Index

    def _blueprint(self, num_sites: int, *, searches: bool = True, needs_eigenvectors: bool = False) -> Blueprint:
        """Check what the kernel is made from, and settle what is to be learned; size exponents only if it searches."""
        return Blueprint.of(
            self.H,
            kernel=self.kernel,
            covariates=self.covariates,
            combine=self.combine,
            size_exponent=self._size_exponent_to_use(searches and self.learn),
            rank=self.rank,
            num_sites=num_sites,
            solver=self.solver,
            needs_eigenvectors=needs_eigenvectors or self.inducing is not None,
        )

    def _size_exponent_to_use(self, searches: bool) -> float | str:
        """Return "auto" as 0 where none is searched for; a given kernel keeps its own."""
        keep = searches or isinstance(self.kernel, Kernel) or self.size_exponent != "auto"
        return self.size_exponent if keep else 0.0

    def _rows(self, X: Iterable[Any]) -> np.ndarray:
        check_is_fitted(self)
        return Domain(self._vertices, {}).rows(X)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.one_d_array = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


def warn_unless_converged(learned: Learned, max_iterations: int) -> None:
    """Say so if learning was cut short."""
    if not learned.converged:
        remedy = f"Raise `max_iterations` above {max_iterations}, or guide" if learned.is_exhausted else "Guide"
        warnings.warn(
            f"Learning stopped before it converged ({learned.message.strip(' :')}). {remedy} the hyperparameters with "
            "`priors`.",
            LearningWarning,
            stacklevel=3,
        )


def report_plan(report: Callable[[str], None] | None, blueprint: Blueprint) -> None:
    """Say which solver was chosen, and why, where progress is shown."""
    if report is not None and blueprint.plan is not None:
        Console(stderr=True).print(str(blueprint.plan), highlight=False)


def one_or_all(by_relation: dict[str, Any]) -> Any:
    """Return the only entry, all of several, or None of none."""
    if len(by_relation) == 1:
        return next(iter(by_relation.values()))
    return by_relation or None
