r"""Sparse inference: the evidence's collapsed bound, and the posterior under inducing variables."""

from __future__ import annotations

from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from hypergauss.solvers.low_rank import GeneralEvidence, LowRankPosterior
from hypergauss.solvers.base import LeaveOneOut, Prior
from hypergauss.solvers.projection import Inducing, Projection
from hypergauss.solvers.sites import Observations, Sites
from hypergauss.kernels import Kernel


class CollapsedBound(eqx.Module):
    r"""Titsias' bound on the log evidence: log N(y | mean, Q + Sigma) - sum of Var g / (2 site variance).

    It is the best bound that inducing variables allow, q having been integrated out.
    """

    evidence: GeneralEvidence
    inducing: Inducing

    @classmethod
    def of(cls, kernel: Kernel, observations: Observations, inducing: Inducing) -> CollapsedBound:
        """Gather the kernel's inputs at the observed vertices."""
        return cls(GeneralEvidence.of(kernel, observations), inducing)

    def __call__(self, kernel: Kernel, noise_variance: Array, mean: Array) -> Float[Array, ""]:
        """Return the bound."""
        projected = self.inducing.project(kernel)
        variance = jnp.asarray(self.evidence.observations.sites(noise_variance).variance)
        penalty = (projected.unexplained(self.evidence.inputs) / variance).sum() * mean.shape[0] / 2
        return self.evidence(projected, noise_variance, mean) - penalty


class SparsePosterior(LowRankPosterior):
    """The posterior under inducing variables: that of Q, plus the prior's unexplained part, which no site changes.

    Its ``log_evidence`` is the collapsed bound on it.
    """

    solver: ClassVar[str] = "sparse"

    def __init__(self, prior: Prior, sites: Sites, inducing: Inducing) -> None:
        inducing.check(prior.kernel)
        self._projection = inducing.project(prior.kernel)
        super().__init__(Prior(self._projection, prior.mean), sites)
        variance, outputs = np.asarray(sites.variance), np.shape(sites.mean)[1]
        self.log_evidence -= outputs * float((self._unexplained(sites.rows) / variance).sum()) / 2

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
        return np.asarray(_unexplained(self._projection, self._projection.inputs(rows)))

    def _rest(self, rows: np.ndarray) -> np.ndarray:
        """Return K - Q between some vertices."""
        return np.asarray(self._projection.kernel.gram(rows, rows) - self._projection.gram(rows, rows))


@eqx.filter_jit
def _unexplained(projection: Projection, inputs: Any) -> Float[Array, " n"]:
    return projection.unexplained(inputs)
