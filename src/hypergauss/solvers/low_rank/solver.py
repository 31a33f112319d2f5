r"""The low-rank solver: Woodbury's identity in the r features of a structured kernel. O(n r^2), no n x n matrix.

With K + Sigma = F W F' + D, W = diag(weights) and D = diag(remainder + site variance), all follows from the r x r

    G = F' D^-1 F,    P = (I + G W)^-1,    C = W P = (W^-1 + G)^-1                           (`capacitance`)

by  log det(K + Sigma) = log det D + log det(I + G W),
    (K + Sigma)^-1 = D^-1 - D^-1 F C F' D^-1.

Under sites of precision b the same holds with D^-1 = diag(h), h = b / (1 + remainder b), and nothing divides by b.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import numpy as np

from hypergauss.kernels import Kernel
from hypergauss.kernels.base import Slopes, Structure
from hypergauss.solvers.base import (
    Evidence,
    ExactSolver,
    Marginals,
    Posterior,
    Prior,
)
from hypergauss.solvers.low_rank.capacitance import Capacitance, capacitance, root_of
from hypergauss.solvers.low_rank.feature_space import (
    ReductionInFeatures,
    condition_in_features,
    marginals_in_features,
    relative_sites,
)
from hypergauss.solvers.low_rank.posterior import LowRankPosterior, Shelf, check_rank
from hypergauss.solvers.reduction import Reduction
from hypergauss.solvers.sites import NaturalSites, Sites

#: Features that are fewer than this share of the sites make an n x n inverse sooner than a factor of it does.
_FEW = 0.5


class LowRankSolver(ExactSolver):
    r"""Systems in feature space.

    A number with slope (a a' - R) / 2 in K, where a = (K + Sigma)^-1 (y - mean) and R = (K + Sigma)^-1 (times the
    number of outputs), has with beta = F' a

        slope in weights    (beta^2 - diag(P G)) / 2,
        slope in remainder  (a^2 - diag R) / 2,         diag R = 1 / d - diag(F C F') / d^2,
        slope in features   (a beta' - D^-1 F (I - C G)) W = a beta' W - D^-1 F C.
    """

    name: ClassVar[str] = "low-rank"

    def __init__(self, kernel: Kernel, rows: np.ndarray) -> None:
        super().__init__(kernel, rows)
        check_rank(kernel)
        #: Whether hyperparameters move the features, so that slopes in them are asked for.
        self.features_move = kernel.features_move
        self.inputs = kernel.inputs(rows)
        self._reduced: _Reduced | None = None
        self._shelf = Shelf()

    def features(self, kernel: Kernel) -> tuple[np.ndarray, Structure]:
        """Return F at the sites, and what hyperparameters set beside it."""
        return kernel.features_and_structure(self.inputs)

    def unexplained(self, kernel: Kernel) -> np.ndarray | float:  # noqa: ARG002
        """Return what an approximation leaves out of the prior variances at the sites, shape (n,); here nothing."""
        return 0.0

    def to_kernel(self, kernel: Kernel, slopes: Slopes, in_unexplained: np.ndarray) -> np.ndarray:  # noqa: ARG002
        """Return the gradient in the kernel's coordinates, shape (p,)."""
        remainder = np.asarray(slopes.remainder.sum()) if kernel.has_uniform_remainder else slopes.remainder
        return kernel.pull_back_structure(slopes._replace(remainder=remainder), self.inputs)

    def evidence(self, kernel: Kernel, mean: np.ndarray, sites: Sites) -> Evidence:  # noqa: D102
        F, structure = self.features(kernel)
        if self._is_uniform(structure, sites):
            return self._uniform_evidence(kernel, mean, sites, F, structure)
        found = _Measured.of(F, structure, mean, sites)
        outputs, variance = found.alpha.shape[1], sites.variance
        beta = found.system.residual(found.b, found.x)
        slopes = self._slopes(
            found.system, found.system.spread(F), structure.weights, 1 / found.d, found.alpha, beta, outputs
        )
        unexplained = self.unexplained(kernel)
        in_variance = slopes.remainder + outputs * unexplained / (2 * variance**2)
        in_kernel = self.to_kernel(kernel, slopes, -outputs / (2 * variance))
        value = found.log_density + sites.log_offset - self._penalty(unexplained, sites)
        return Evidence(float(value), in_kernel, found.alpha.sum(axis=0), in_variance)

    def log_evidence(self, kernel: Kernel, mean: np.ndarray, sites: Sites) -> float:  # noqa: D102
        F, structure = self.features(kernel)
        if self._is_uniform(structure, sites):
            return self._uniform_evidence(kernel, mean, sites, F, structure).value
        found = _Measured.of(F, structure, mean, sites)
        return float(found.log_density + sites.log_offset - self._penalty(self.unexplained(kernel), sites))

    def _is_uniform(self, structure: Structure, sites: Sites) -> bool:
        """Return whether D is one number, whatever the hyperparameters."""
        is_uniform = np.ndim(structure.remainder) == 0 and not self.features_move
        return is_uniform and bool((sites.variance == sites.variance[0]).all())

    def _penalty(self, unexplained: np.ndarray | float, sites: Sites) -> float:
        """Return what a sparse approximation is charged for leaving something out (Titsias, 2009)."""
        return float(sites.mean.shape[1] * (unexplained / sites.variance).sum() / 2) if self.features_move else 0.0

    def _uniform_evidence(
        self, kernel: Kernel, mean: np.ndarray, sites: Sites, F: np.ndarray, structure: Structure
    ) -> Evidence:
        """Return the evidence where D is one number d: the data enter only through F'F, F'y and y'y, reduced once.

        Each evaluation then costs O(r^3), however many vertices are observed.
        """
        if self._reduced is None or self._reduced.y is not sites.mean:
            self._reduced = _Reduced.of(F, sites.mean)
        data, weights, d = self._reduced, structure.weights, float(structure.remainder + sites.variance[0])
        n, outputs = data.y.shape
        along = data.along - data.sums[:, None] * mean  # F'(y - mean)
        squares = data.squares - 2 * mean @ data.totals + n * (mean**2).sum()
        # W / d stands with F'F as W does with F'F / d: what is known of the data stays as it is.
        system = capacitance(data.gram, weights / d)
        x = system.times(along)
        beta = system.residual(along, x)
        reduced = system.reduced_diagonal()
        quadratic = (squares - (along * x).sum()) / d
        log_det = system.log_det + n * np.log(2 * np.pi * d)
        in_weights = ((beta**2).sum(axis=1) / d**2 - outputs * reduced / d) / 2
        # Sums over sites of a^2 and of the diagonal of (K + Sigma)^-1; tr(C G) is the sum of w (P G)_ii.
        alphas = (squares - 2 * (along * x).sum() + (x * (data.gram @ x)).sum()) / d**2
        trace = n / d - (weights / d * reduced).sum() / d
        each = (alphas - outputs * trace) / 2 / n
        slopes = Slopes(in_weights, np.full(n, each))
        in_mean = (data.totals - n * mean - data.sums @ x) / d
        value = -0.5 * (quadratic + outputs * log_det) + sites.log_offset
        return Evidence(float(value), self.to_kernel(kernel, slopes, slopes.remainder), in_mean, slopes.remainder)

    def marginals(self, kernel: Kernel, mean: np.ndarray, sites: NaturalSites) -> Marginals:  # noqa: D102
        F, structure = self.features(kernel)
        unexplained = np.reshape(self.unexplained(kernel), (-1, 1)) if self.features_move else 0.0
        return marginals_in_features(F, structure, mean, sites)._replace(unexplained=unexplained)

    def pull_back(  # noqa: D102
        self, kernel: Kernel, mean: np.ndarray, sites: NaturalSites, in_unexplained: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        F, structure = self.features(kernel)
        n, rank = F.shape
        total = Slopes(np.zeros(rank), np.zeros(n), np.zeros_like(F) if self.features_move else None)
        in_mean = np.zeros(len(mean))
        for latent, (relative, b) in enumerate(relative_sites(mean, sites)):
            found = condition_in_features(F, structure, relative, b)
            alpha = (relative - b * found.centred)[:, None]
            own = self._slopes(found.system, found.spread, structure.weights, found.h, alpha, F.T @ alpha, 1)
            total = Slopes(*(None if a is None else a + b for a, b in zip(total, own, strict=True)))  # type: ignore[arg-type]
            in_mean[latent] = alpha.sum()
        return self.to_kernel(kernel, total, in_unexplained), in_mean

    def _slopes(
        self,
        system: Capacitance,
        spread: tuple[np.ndarray, np.ndarray],
        weights: np.ndarray,
        h: np.ndarray,
        alpha: np.ndarray,
        beta: np.ndarray,
        outputs: int,
    ) -> Slopes:
        """Return slopes in what K is made of, from F C and diag(F C F'), a (n, L), F'a (r, L), and D^-1 = diag(h)."""
        in_weights = ((beta**2).sum(axis=1) - outputs * system.reduced_diagonal()) / 2
        FC, diagonal = spread
        own = h - h**2 * diagonal
        in_remainder = ((alpha**2).sum(axis=1) - outputs * own) / 2
        if not self.features_move:
            return Slopes(in_weights, in_remainder)
        in_features = alpha @ (weights[:, None] * beta).T - (outputs * h)[:, None] * FC
        return Slopes(in_weights, in_remainder, in_features)

    def multiply(self, kernel: Kernel, vectors: np.ndarray) -> np.ndarray:  # noqa: D102
        F, (weights, remainder) = self.features(kernel)
        return F @ (weights[:, None] * (F.T @ vectors)) + np.reshape(remainder, (-1, 1)) * vectors

    def reduction(self, kernel: Kernel) -> Reduction:  # noqa: D102
        F, structure = self.features(kernel)
        root = root_of(structure.weights)
        if root is None or len(root) > _FEW * len(F):
            return super().reduction(kernel)
        return ReductionInFeatures(F * root, np.broadcast_to(structure.remainder, len(F)))

    def pull_back_product(self, kernel: Kernel, left: np.ndarray, right: np.ndarray) -> np.ndarray:  # noqa: D102
        F, (weights, _) = self.features(kernel)
        along_left, along_right = F.T @ left, F.T @ right
        in_features = None
        if self.features_move:
            in_features = (left @ along_right.T + right @ along_left.T) * weights
        slopes = Slopes((along_left * along_right).sum(axis=1), (left * right).sum(axis=1), in_features)
        return self.to_kernel(kernel, slopes, np.zeros(len(F)))

    def posterior(self, prior: Prior, sites: Sites) -> LowRankPosterior:  # noqa: D102
        return LowRankPosterior(prior, sites, self._shelf)

    def resumed(self, prior: Prior, sites: Sites, before: Posterior, moved: np.ndarray) -> Posterior:
        """Return the posterior; where few sites are new and the kernel is the same one, by an update of low rank."""
        if type(before) is LowRankPosterior and before.prior.kernel is prior.kernel:
            return LowRankPosterior(prior, sites, self._shelf, before)
        return super().resumed(prior, sites, before, moved)


class _Measured(NamedTuple):
    """The system of K + Sigma solved for measurements less their mean."""

    d: np.ndarray  # (n,), the diagonal D
    system: Capacitance
    b: np.ndarray  # F' D^-1 (y - mean), (r, L)
    x: np.ndarray  # C b, (r, L)
    alpha: np.ndarray  # (K + Sigma)^-1 (y - mean), (n, L)
    log_density: float

    @classmethod
    def of(cls, F: np.ndarray, structure: Structure, mean: np.ndarray, sites: Sites) -> _Measured:
        """Solve it."""
        targets = sites.mean - mean
        d = structure.remainder + sites.variance
        scaled = F / d[:, None]
        b = scaled.T @ targets
        system = capacitance(scaled.T @ F, structure.weights)
        x = system.times(b)
        alpha = (targets - F @ x) / d[:, None]
        quadratic = (targets**2 / d[:, None]).sum() - (b * x).sum()
        log_det = system.log_det + np.log(2 * np.pi * d).sum()
        return cls(d, system, b, x, alpha, -0.5 * float(quadratic + targets.shape[1] * log_det))


class _Reduced(NamedTuple):
    """Measurements y reduced to what a uniform D leaves to know of them."""

    y: np.ndarray
    gram: np.ndarray  # F'F, (r, r)
    along: np.ndarray  # F'y, (r, L)
    sums: np.ndarray  # F'1, (r,)
    squares: float  # of y, summed over outputs
    totals: np.ndarray  # 1'y, (L,)

    @classmethod
    def of(cls, F: np.ndarray, y: np.ndarray) -> _Reduced:
        return cls(y, F.T @ F, F.T @ y, F.sum(axis=0), float((y**2).sum()), y.sum(axis=0))
