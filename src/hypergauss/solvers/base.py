"""What solvers share: the one interface, and the posterior that conditioning returns, whatever the solver.

A solver is prepared once, with what no hyperparameter touches: the kernel's inputs at the observed vertices. Then it is
asked, at one value of the hyperparameters after another, for

- the log evidence of measurements, with its gradient (`Solver.evidence`): what regression learns by;
- marginals under sites, with the slopes of log Z (`Solver.marginals`): what every other likelihood moves its sites by;
- the posterior (`Solver.posterior`): what predictions are made from.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp

from hypergauss import parameters
from hypergauss.kernels import Kernel
from hypergauss.learning.objective import Objective
from hypergauss.parameters import Parametrised, bounded, positive
from hypergauss.solvers.reduction import Reduction
from hypergauss.solvers.sites import NaturalSites, Observations, Sites


class Prior(NamedTuple):
    """A Gaussian process prior: a kernel and a constant mean for each of L outputs."""

    kernel: Kernel
    mean: np.ndarray


class GaussianModel(Parametrised):
    """y = mean + f(vertex) + noise: a kernel, a noise variance, and a constant mean for each of L outputs."""

    noise_variance: np.ndarray = positive(1e-6, 1e4)
    # A bound, since a nearly constant eigenvector of large variance can offset any mean.
    mean: np.ndarray = bounded(-1e3, 1e3)

    def __init__(self, kernel: Kernel, noise_variance: Any, mean: Any, fixed: tuple[str, ...] = ()) -> None:
        self.kernel = kernel
        self.noise_variance = noise_variance
        self.mean = mean
        self.fixed = self.check_fixed(fixed)

    def prior(self) -> Prior:
        """Return the prior of the latent function."""
        return Prior(self.kernel, self.mean)

    def rescaled(self, centre: np.ndarray, scale: float) -> GaussianModel:
        """Return the model of centre + scale * y."""
        mean = np.asarray(centre) + scale * self.mean
        return GaussianModel(self.kernel.scaled(scale**2), self.noise_variance * scale**2, mean, self.fixed)


class Evidence(NamedTuple):
    """The log density of measurements, and its slopes.

    Attributes
    ----------
    value : float
        log N(y | mean, K + Sigma), summed over outputs; a bound on it if the solver is an approximation.
    in_kernel : array, shape (p,)
        Gradient in the kernel's coordinates.
    in_mean : array, shape (L,)
        Slope in each output's mean.
    in_variance : array, shape (n,)
        Slope in each site's variance.
    """

    value: float
    in_kernel: np.ndarray
    in_mean: np.ndarray
    in_variance: np.ndarray


class Marginals(NamedTuple):
    """Posterior mean and variance of each latent at each site, shape (n, L), and log Z summed over latents.

    ``is_proper`` is false where negative precisions outweigh the prior: prior times sites is no distribution then,
    though its formal variances may all be positive. ``unexplained`` is prior variance that a sparse approximation
    leaves out of what the sites see, shape (n, 1). ``smooth`` multiplies x, shape (n, L), by each latent's S.
    """

    mean: np.ndarray
    variance: np.ndarray
    log_partition: float
    is_proper: bool = True
    unexplained: np.ndarray | float = 0.0
    smooth: Callable[[np.ndarray], np.ndarray] | None = None

    @classmethod
    def improper(cls, sites: NaturalSites) -> Marginals:
        """Return those of sites that outweigh the prior: none."""
        nothing = np.full_like(sites.shift, np.nan)
        return cls(nothing, nothing, -np.inf, is_proper=False)

    @property
    def total_variance(self) -> np.ndarray:
        """The variance of the latents themselves."""
        return self.variance + self.unexplained


class Solver(ABC):
    """Systems of one kernel, at any of its hyperparameters, and Gaussian sites at some vertices.

    Parameters
    ----------
    kernel : Kernel
        At any hyperparameters.
    rows : array of int, shape (n,)
        The vertices that have sites, each once.
    """

    name: ClassVar[str]
    #: Whether values and gradients are estimates, and marginals come from draws.
    is_estimated: ClassVar[bool] = False

    def __init__(self, kernel: Kernel, rows: np.ndarray) -> None:
        self.rows = rows
        self.num_vertices = kernel.num_vertices

    @abstractmethod
    def objective(self, observations: Observations) -> Objective:
        """Return the log evidence of measurements at the sites as a function of a `GaussianModel`."""

    @abstractmethod
    def posterior(self, prior: Prior, sites: Sites) -> Posterior:
        """Return the prior given sites at the solver's vertices."""

    def resumed(self, prior: Prior, sites: Sites, before: Posterior, moved: np.ndarray) -> Posterior:  # noqa: ARG002
        """Return the same posterior, from one before growth: a place to start from for a solver that iterates.

        Parameters
        ----------
        prior, sites
            As for `posterior`.
        before : Posterior
            An earlier one, on some of the vertices and given some of the sites.
        moved : array of int
            Where each of its vertices stands now.
        """
        return self.posterior(prior, sites)


class ExactSolver(Solver):
    """A solver whose values are exact, or an exact bound, and so are their gradients."""

    @abstractmethod
    def evidence(self, kernel: Kernel, mean: np.ndarray, sites: Sites) -> Evidence:
        """Return the log density of sites, and its slopes."""

    def log_evidence(self, kernel: Kernel, mean: np.ndarray, sites: Sites) -> float:
        """Return the log density of sites alone; a solver for which that is less work says how."""
        return self.evidence(kernel, mean, sites).value

    @abstractmethod
    def marginals(self, kernel: Kernel, mean: np.ndarray, sites: NaturalSites) -> Marginals:
        r"""Return marginals under the kernel, the same for all latents, and a constant mean for each.

        With B the diagonal of precisions, S = (K^-1 + B)^-1, and shift' = shift - B mean relative to the prior mean,

            log Z = sum of (shift mean - precision mean^2 / 2) + shift'' S shift' / 2 - log det(I + K B) / 2

        is the log of the integral of the prior times the sites.
        """

    @abstractmethod
    def pull_back(
        self, kernel: Kernel, mean: np.ndarray, sites: NaturalSites, in_unexplained: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the gradient of log Z, sites held, in the kernel's coordinates, shape (p,), and in the means, (L,).

        ``in_unexplained``, shape (n,), are slopes of something else in `Marginals.unexplained`, which are added.
        """

    @abstractmethod
    def multiply(self, kernel: Kernel, vectors: np.ndarray) -> np.ndarray:
        """Return K times vectors, shape (n, m), K between the sites."""

    def reduction(self, kernel: Kernel) -> Reduction:
        """Return what makes (K + A^-1)^-1 for several diagonal A at once, K between the sites."""
        return Reduction(self.multiply(kernel, np.eye(len(self.rows))))

    @abstractmethod
    def pull_back_product(self, kernel: Kernel, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Return the gradient of the sum of ``left`` times K ``right``, shape (p,), for arrays of shape (n, m)."""

    def objective(self, observations: Observations) -> EvidenceObjective:  # noqa: D102
        if not np.array_equal(observations.rows, self.rows):
            raise ValueError(
                f"`observations` must be at the solver's {len(self.rows):,} vertices, in their order. Got others, or "
                "others first. Prepare the solver with `solver_for(kernel, observations.rows)`."
            )
        return EvidenceObjective(self, observations)


class EvidenceObjective(Objective[GaussianModel]):
    """The log evidence of observations, as a function of a Gaussian model."""

    def __init__(self, solver: ExactSolver, observations: Observations) -> None:
        self.solver, self.observations = solver, observations

    @property
    def num_observations(self) -> int:  # noqa: D102
        return int(self.observations.mean.size)

    def value_and_gradient(self, model: GaussianModel) -> tuple[float, np.ndarray]:  # noqa: D102
        sites = self.observations.sites(model.noise_variance)
        found = self.solver.evidence(model.kernel, model.mean, sites)
        in_noise = self.observations.pull_back_noise(model.noise_variance, found.in_variance)
        gradient = {"kernel": found.in_kernel, "noise_variance": in_noise, "mean": found.in_mean}
        return found.value, parameters.gather(model, gradient)

    def value(self, model: GaussianModel) -> float:  # noqa: D102
        return self.solver.log_evidence(model.kernel, model.mean, self.observations.sites(model.noise_variance))


class LeaveOneOut(NamedTuple):
    """Predictions of each observation from all others: mean (n, L), and variance (n,) including its noise."""

    mean: np.ndarray
    variance: np.ndarray


class ConditionedOn(NamedTuple):
    """What a posterior is made of: prior and sites, the solver or its settings, and inducing variables if any."""

    prior: Prior
    sites: Sites
    solver: Any
    inducing: Any = None


class NewVertices(Protocol):
    """What a posterior says of vertices that its hypergraph does not have; each is found when it is asked for."""

    @property
    def mean(self) -> np.ndarray: ...  # noqa: D102
    @property
    def variance(self) -> np.ndarray: ...  # noqa: D102


class Posterior(ABC):
    """The Gaussian process given its sites. Vertices are indices; variances are those of the latent function.

    Attributes
    ----------
    log_evidence : float
        The log density of the sites under the prior.
    solver : str
        Which solver made it.
    is_by_products : bool
        Whether means are products with the Laplacian itself, whatever eigenvectors a kernel may have too.
    """

    solver: ClassVar[str]
    is_by_products: ClassVar[bool] = False
    log_evidence: float

    def __init__(self, prior: Prior, sites: Sites) -> None:
        self.prior = prior
        self.sites = sites
        #: For each vertex its position among the sites, or -1.
        self.position = np.full(prior.kernel.num_vertices, -1)
        self.position[sites.rows] = np.arange(len(sites.rows))

    def of_new_vertices(
        self,
        memberships: sp.csr_array,  # noqa: ARG002
        edge_weights: np.ndarray,  # noqa: ARG002
    ) -> NewVertices | None:
        """Return means, shape (m, L), and variances, (m,), of vertices that join hyperedges of the prior's hypergraph.

        Those of conditioning on the grown hypergraph; None where there is no shorter way than that.

        Parameters
        ----------
        memberships : csr array, shape (m, M)
            r(v, e) > 0 of the new vertices.
        edge_weights : array, shape (M,)
            w(e) of all hyperedges.
        """
        return None

    def conditioned_on(self) -> ConditionedOn:
        """Return what `choose.condition` makes the same posterior of."""
        return ConditionedOn(self.prior, self.sites, self.solver)

    @abstractmethod
    def _smooth(self, rows: np.ndarray, residual: np.ndarray) -> np.ndarray:
        """Return K_*t (K_tt + Sigma)^-1 residual, shape (m, S), for residuals of shape (n, S)."""

    @abstractmethod
    def variance(self, rows: np.ndarray) -> np.ndarray:
        """Return the posterior variance at each vertex, shape (m,), the same for all outputs."""

    @abstractmethod
    def covariance(self, rows: np.ndarray) -> np.ndarray:
        """Return the joint posterior covariance, shape (m, m)."""

    @abstractmethod
    def leave_one_out(self) -> LeaveOneOut:
        """Return the prediction of each site's observation from all other sites, in closed form."""

    def observation_weights(self, rows: np.ndarray) -> np.ndarray:
        """Return K_*t (K_tt + Sigma)^-1, shape (m, n): how much of each site goes into the mean at each vertex."""
        return self._smooth(rows, np.eye(len(self.sites.rows)))

    def dual_weights(self) -> np.ndarray:
        """Return (K_tt + Sigma)^-1 (z - mean), shape (n, L): the mean elsewhere is K_*t times this.

        In general from Sigma (K_tt + Sigma)^-1 r = r - K_tt (K_tt + Sigma)^-1 r.
        """
        targets = self.sites.mean - self.prior.mean
        return (targets - self._smooth(self.sites.rows, targets)) / self.sites.variance[:, None]

    def mean(self, rows: np.ndarray) -> np.ndarray:
        """Return the posterior mean at each vertex, shape (m, L)."""
        return self.prior.mean + self._smooth(rows, self.sites.mean - self.prior.mean)

    def moments(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the posterior mean, shape (m, L), and variance, shape (m,), at each vertex."""
        return self.mean(rows), self.variance(rows)

    def moments_and_weights(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return `moments` and `observation_weights`, which have much in common."""
        return *self.moments(rows), self.observation_weights(rows)

    def sample(self, rows: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
        """Return joint draws, shape (size, m, L), by correcting draws of the prior (Matheron's rule).

        f + K_*t (K_tt + Sigma)^-1 (z - f_t - noise) has exactly the posterior's mean and covariance.
        """
        targets = self.sites.mean - self.prior.mean
        n, outputs = targets.shape
        if (self.sites.variance < 0).any():
            return self._sample_by_covariance(rows, size, rng)
        draws = self.prior.kernel.prior_draws(np.concatenate([rows, self.sites.rows]), size * outputs, rng)
        at_rows, at_sites = draws[: len(rows)], draws[len(rows) :]
        noise = np.sqrt(self.sites.variance)[:, None] * rng.standard_normal((n, size * outputs))
        corrected = at_rows + self._smooth(rows, np.tile(targets, size) - at_sites - noise)
        return self.prior.mean + corrected.reshape(len(rows), size, outputs).swapaxes(0, 1)

    def _sample_by_covariance(self, rows: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
        """Return joint draws from the covariance itself: there is no noise of negative variance to be drawn."""
        distinct, back = np.unique(rows, return_inverse=True)
        values, vectors = np.linalg.eigh(self.covariance(distinct))
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        mean = self.mean(distinct)
        z = rng.standard_normal((len(distinct), size * mean.shape[1]))
        return (mean[None] + (root @ z).reshape(len(distinct), size, -1).swapaxes(0, 1))[:, back]


def leave_one_out(sites: Sites, alpha: np.ndarray, precision: np.ndarray) -> LeaveOneOut:
    """Return z - alpha / q and 1 / q, where q is the diagonal of (K + Sigma)^-1 and alpha = (K + Sigma)^-1 z."""
    return LeaveOneOut(sites.mean - alpha / precision[:, None], 1.0 / precision)
