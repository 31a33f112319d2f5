r"""The sparse solver: inducing variables stand for the latent function, and sites see only what they explain."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from hypergauss.kernels import Kernel
from hypergauss.kernels.base import Slopes, Structure
from hypergauss.solvers.base import ConditionedOn, LeaveOneOut, Prior
from hypergauss.solvers.low_rank import LowRankPosterior, LowRankSolver
from hypergauss.solvers.projection import Inducing, Projected, Projection
from hypergauss.solvers.sites import Sites


class SparseSolver(LowRankSolver):
    r"""Systems of f = F c + g with inducing variables c, where sites see F c, and g keeps its prior variance.

    The evidence is Titsias' bound, log N(y | mean, Q + Sigma) - sum of Var g / (2 site variance): the best that
    inducing variables allow, q(c) having been integrated out. Under sites, q(c) = prior times sites is the family of
    Titsias (2009) and Hensman et al. (2015), at its best q.
    """

    name: ClassVar[str] = "sparse"

    def __init__(self, kernel: Kernel, rows: np.ndarray, inducing: Inducing) -> None:
        inducing.check(kernel)
        super().__init__(Projection(kernel, inducing), rows)
        self.inducing = inducing
        self._latest: tuple[Kernel | None, Projected | None] = (None, None)

    def _projected(self, kernel: Kernel) -> Projected:
        """Return what the kernel is projected to, remembered while sites move at one value of the hyperparameters."""
        if self._latest[0] is not kernel or self._latest[1] is None:
            self._latest = (kernel, self.inducing.project(kernel, self.inputs))
        return self._latest[1]  # type: ignore[return-value]

    def features(self, kernel: Kernel) -> tuple[np.ndarray, Structure]:  # noqa: D102
        projected = self._projected(kernel)
        return projected.features, Structure(projected.weights, np.zeros(()))

    def unexplained(self, kernel: Kernel) -> np.ndarray:  # noqa: D102
        return self._projected(kernel).unexplained

    def to_kernel(self, kernel: Kernel, slopes: Slopes, in_unexplained: np.ndarray) -> np.ndarray:  # noqa: D102
        assert slopes.features is not None
        return self.inducing.pull_back(kernel, self.inputs, slopes.features, slopes.weights, in_unexplained)

    def posterior(self, prior: Prior, sites: Sites) -> SparsePosterior:  # noqa: D102
        return SparsePosterior(prior, sites, self.inducing)


class SparsePosterior(LowRankPosterior):
    """The posterior under inducing variables: that of Q, plus the prior's unexplained part, which no site changes.

    Its ``log_evidence`` is the collapsed bound on it.
    """

    solver: ClassVar[str] = "sparse"

    def __init__(self, prior: Prior, sites: Sites, inducing: Inducing) -> None:
        inducing.check(prior.kernel)
        self.projection = Projection(prior.kernel, inducing)
        super().__init__(Prior(self.projection, prior.mean), sites)
        outputs = sites.mean.shape[1]
        self.log_evidence -= outputs * float((self._unexplained(sites.rows) / sites.variance).sum()) / 2

    def conditioned_on(self) -> ConditionedOn:  # noqa: D102
        prior = Prior(self.projection.kernel, self.prior.mean)
        return ConditionedOn(prior, self.sites, "auto", self.projection.inducing)

    def variance(self, rows: np.ndarray) -> np.ndarray:  # noqa: D102
        return super().variance(rows) + self._unexplained(rows)

    def covariance(self, rows: np.ndarray) -> np.ndarray:  # noqa: D102
        return super().covariance(rows) + self._rest(rows)

    def sample(self, rows: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
        """Return joint draws, those of Q plus independent draws of the unexplained part."""
        explained = super().sample(rows, size, rng)
        distinct, back = np.unique(rows, return_inverse=True)
        values, vectors = np.linalg.eigh(self._rest(distinct))
        z = rng.standard_normal((len(distinct), size * explained.shape[2]))
        rest = (vectors * np.sqrt(np.maximum(values, 0.0))) @ z
        return explained + rest.reshape(len(distinct), size, -1).swapaxes(0, 1)[:, back]

    def leave_one_out(self) -> LeaveOneOut:  # noqa: D102
        seen = super().leave_one_out()
        return seen._replace(variance=seen.variance + self._unexplained(self.sites.rows))

    def _unexplained(self, rows: np.ndarray) -> np.ndarray:
        """Return the diagonal of K - Q at some vertices."""
        return self.projection.unexplained(self.projection.inputs(rows))

    def _rest(self, rows: np.ndarray) -> np.ndarray:
        """Return K - Q between some vertices."""
        return self.projection.kernel.gram(rows, rows) - self.projection.gram(rows, rows)
