r"""The low-rank solver: Woodbury's identity in the r features of a structured kernel. O(n r^2), no n x n matrix.

With K + Sigma = F W F' + D, W = diag(weights) and D = diag(remainder + site variance), all follows from the r x r

    G = F' D^-1 F,    P = (I + G W)^-1,    C = W P = (W^-1 + G)^-1                           (`capacitance`)

by  log det(K + Sigma) = log det D + log det(I + G W),
    (K + Sigma)^-1 = D^-1 - D^-1 F C F' D^-1.

Under sites of precision b the same holds with D^-1 = diag(h), h = b / (1 + remainder b), and nothing divides by b.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from hypergauss.kernels import Kernel
from hypergauss.kernels.base import Slopes, Structure
from hypergauss.solvers.base import (
    Evidence,
    ExactSolver,
    LeaveOneOut,
    Marginals,
    Posterior,
    Prior,
    leave_one_out,
    relative_sites,
)
from hypergauss.solvers.capacitance import Capacitance, capacitance
from hypergauss.solvers.cholesky import cholesky
from hypergauss.solvers.feature_space import condition_in_features, marginals_in_features
from hypergauss.solvers.sites import NaturalSites, Sites

#: Rows of features gathered at once, to keep memory at what the spectrum itself takes.
_CHUNK = 8192
#: Entries of features that are kept for the next to ask.
_SHELVED = 500_000
#: Sites that may be new, as a share of the features, for an update of low rank to pay; the rounding of a precision.
_FEW_OF, _SAME = 0.25, 1e-12


class LowRankSolver(ExactSolver):
    r"""Systems in feature space.

    A number with slope (a a' - R) / 2 in K, where a = (K + Sigma)^-1 (y - mean) and R = (K + Sigma)^-1 (times the
    number of outputs), has with beta = F' a

        slope in weights    (beta^2 - diag(P G)) / 2,
        slope in remainder  (a^2 - diag R) / 2,         diag R = 1 / d - diag(F C F') / d^2,
        slope in features   (a beta' - D^-1 F (I - C G)) W.
    """

    name: ClassVar[str] = "low-rank"

    def __init__(self, kernel: Kernel, rows: np.ndarray) -> None:
        super().__init__(kernel, rows)
        check_rank(kernel)
        #: Whether hyperparameters move the features, so that slopes in them are asked for.
        self.features_move = kernel.features_move
        self.inputs = kernel.inputs(rows)
        self._reduced: _Reduced | None = None
        self._shelf = _Shelf()

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
        slopes = self._slopes(found.system, F, structure.weights, 1 / found.d, found.alpha, beta, outputs)
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
            own = self._slopes(found.system, F, structure.weights, found.h, alpha, F.T @ alpha, 1)
            total = Slopes(*(None if a is None else a + b for a, b in zip(total, own, strict=True)))  # type: ignore[arg-type]
            in_mean[latent] = alpha.sum()
        return self.to_kernel(kernel, total, in_unexplained), in_mean

    def _slopes(
        self,
        system: Capacitance,
        F: np.ndarray,
        weights: np.ndarray,
        h: np.ndarray,
        alpha: np.ndarray,
        beta: np.ndarray,
        outputs: int,
    ) -> Slopes:
        """Return slopes in what K is made of, from a (n, L) and F'a (r, L), and D^-1 = diag(h)."""
        in_weights = ((beta**2).sum(axis=1) - outputs * system.reduced_diagonal()) / 2
        own = h - h**2 * system.spread(F)[0]
        in_remainder = ((alpha**2).sum(axis=1) - outputs * own) / 2
        if not self.features_move:
            return Slopes(in_weights, in_remainder)
        hF = h[:, None] * F
        solved = hF - hF @ system.times(F.T @ hF)  # (K + Sigma)^-1 F
        return Slopes(in_weights, in_remainder, (alpha @ beta.T - outputs * solved) * weights)

    def multiply(self, kernel: Kernel, vectors: np.ndarray) -> np.ndarray:  # noqa: D102
        F, (weights, remainder) = self.features(kernel)
        return F @ (weights[:, None] * (F.T @ vectors)) + np.reshape(remainder, (-1, 1)) * vectors

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


class LowRankPosterior(Posterior):
    r"""Conditioning in feature space.

    Write f = F c + g with coefficients c ~ N(0, W) and g ~ N(0, remainder) of each vertex's own. Given the sites, c has
    mean C b and covariance C, with b = F' D^-1 z. At an observed vertex g takes up the share
    rho = remainder / (remainder + site variance) of what F c leaves unexplained.
    """

    solver: ClassVar[str] = "low-rank"

    def __init__(
        self, prior: Prior, sites: Sites, shelf: _Shelf | None = None, before: LowRankPosterior | None = None
    ) -> None:
        super().__init__(prior, sites)
        check_rank(prior.kernel)
        self._shelf = _Shelf() if shelf is None else shelf
        # Where it is one number for all vertices it is known once and for all.
        self._uniform = prior.kernel.remainder(None) if prior.kernel.has_uniform_remainder else None
        self._d = self._remainder(sites.rows) + sites.variance
        updated = None if before is None else self._updated(before)
        self._coefficient_covariance, self._log_det = self._anew() if updated is None else updated
        targets = sites.mean - prior.mean
        b = self._project(targets)
        # Sites of a likelihood that is not log-concave may have negative variances; then this is no evidence.
        log_det = self._log_det + np.log(2 * np.pi * np.abs(self._d)).sum()
        quadratic = (targets**2 / self._d[:, None]).sum() - (b * (self._coefficient_covariance @ b)).sum()
        self.log_evidence = float(-0.5 * (quadratic + targets.shape[1] * log_det) + sites.log_offset)

    def _anew(self) -> tuple[np.ndarray, float]:
        """Return C = (W^-1 + F' D^-1 F)^-1, and log det(I + W F' D^-1 F)."""
        rank = len(self.prior.kernel.weights())
        G = np.zeros((rank, rank))
        for part, F, _ in self._chunks(self.sites.rows):
            G += (F / self._d[part, None]).T @ F
        system = capacitance(G, self.prior.kernel.weights())
        return system.matrix(), system.log_det

    def _updated(self, before: LowRankPosterior) -> tuple[np.ndarray, float] | None:
        r"""Return the same from an earlier C, where the precisions D^-1 of k sites have grown by e > 0; None if many.

        With F_k their features, C - C F_k' (diag(1/e) + F_k C F_k')^-1 F_k C, and the determinant grows by
        det(I + e^1/2 F_k C F_k' e^1/2): O(k r^2) in place of O(n r^2 + r^3).
        """
        at = before.position[self.sites.rows]
        if (at >= 0).sum() < len(before.sites.rows):
            return None
        gain = 1.0 / self._d - np.where(at >= 0, 1.0 / before._d[at], 0.0)
        changed = np.flatnonzero(np.abs(gain) > _SAME / np.abs(self._d))
        C = before._coefficient_covariance
        if len(changed) > _FEW_OF * len(C) or (gain[changed] <= 0).any():
            return None
        scaled = np.sqrt(gain[changed])[:, None] * self._features(self.sites.rows[changed])
        along = scaled @ C
        factor = cholesky(np.eye(len(changed)) + along @ scaled.T)
        half = solve_triangular(factor, along, lower=True, check_finite=False)
        return C - half.T @ half, before._log_det + 2 * float(np.log(np.diagonal(factor)).sum())

    def _smooth(self, rows: np.ndarray, residual: np.ndarray) -> np.ndarray:
        coefficients = self._coefficient_covariance @ self._project(residual)
        result = np.empty((len(rows), residual.shape[1]))
        for part, F, _ in self._chunks(rows):
            result[part] = F @ coefficients
        seen, share = self._share(rows)
        result[seen] += share[seen, None] * (residual[self.position[rows[seen]]] - result[seen])
        return result

    def observation_weights(self, rows: np.ndarray) -> np.ndarray:
        """Return F_* C F' D^-1, and at an observed vertex the share rho of what that leaves of its own site."""
        result = np.empty((len(rows), len(self.sites.rows)))
        thinned = self._features(rows) @ self._coefficient_covariance
        for part, F, _ in self._chunks(self.sites.rows):
            result[:, part] = thinned @ F.T / self._d[part]
        seen, share = self._share(rows)
        result[seen] *= (1 - share[seen])[:, None]
        result[seen, self.position[rows[seen]]] += share[seen]
        return result

    def dual_weights(self) -> np.ndarray:  # noqa: D102
        targets = self.sites.mean - self.prior.mean
        coefficients = self._coefficient_covariance @ self._project(targets)
        fitted = np.empty_like(targets)
        for part, F, _ in self._chunks(self.sites.rows):
            fitted[part] = F @ coefficients
        return (targets - fitted) / self._d[:, None]

    def variance(self, rows: np.ndarray) -> np.ndarray:  # noqa: D102
        result = self._of_coefficients(rows)
        _, share = self._share(rows)
        # remainder * site variance / d = (1 - share) * remainder; an unobserved vertex keeps all of it.
        return np.maximum((1 - share) ** 2 * result + (1 - share) * self._remainder(rows), 0.0)

    def covariance(self, rows: np.ndarray) -> np.ndarray:  # noqa: D102
        F = self._features(rows)
        _, share = self._share(rows)
        thinned = (1 - share)[:, None] * F
        own = (1 - share) * self._remainder(rows)
        # A vertex asked for twice is one vertex: its own part is shared.
        return thinned @ self._coefficient_covariance @ thinned.T + np.where(rows[:, None] == rows, own, 0.0)

    def leave_one_out(self) -> LeaveOneOut:  # noqa: D102
        leverage = self._of_coefficients(self.sites.rows)
        return leave_one_out(self.sites, self.prior, self.dual_weights(), (1 - leverage / self._d) / self._d)

    def _of_coefficients(self, rows: np.ndarray) -> np.ndarray:
        """Return the variance of F c at each vertex."""
        result = np.empty(len(rows))
        for part, F, _ in self._chunks(rows):
            result[part] = ((F @ self._coefficient_covariance) * F).sum(axis=1)
        return result

    def _project(self, residual: np.ndarray) -> np.ndarray:
        """Return F' D^-1 residual."""
        total = np.zeros((len(self._coefficient_covariance), residual.shape[1]))
        for part, F, _ in self._chunks(self.sites.rows):
            total += F.T @ (residual[part] / self._d[part, None])
        return total

    def _remainder(self, rows: np.ndarray) -> np.ndarray:
        if self._uniform is not None:
            return np.broadcast_to(self._uniform, len(rows))
        return np.concatenate([np.zeros(0), *(remainder for _, _, remainder in self._chunks(rows))])

    def _features(self, rows: np.ndarray) -> np.ndarray:
        return np.concatenate([F for _, F, _ in self._chunks(rows)]) if len(rows) > _CHUNK else self._at(rows)[0]

    def _chunks(self, rows: np.ndarray) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
        """Yield which rows, their features, and their remainders, a block at a time."""
        if len(rows) <= _CHUNK:
            yield slice(0, len(rows)), *self._at(rows)
            return
        for start in range(0, len(rows), _CHUNK):
            part = slice(start, start + _CHUNK)
            yield part, *_features_at(self.prior.kernel, rows[part])

    def _at(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self._shelf.features(self.prior.kernel, rows)

    def _share(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return which rows are observed, and rho at each row, 0 if it is not."""
        position = self.position[rows]
        seen = position >= 0
        share = np.zeros(len(rows))
        d = self._d[position[seen]]
        share[seen] = 1 - self.sites.variance[position[seen]] / d
        return seen, share


def check_rank(kernel: Kernel) -> int:
    """Return the number of features, or say which solver serves a kernel without."""
    if kernel.rank is None:
        raise ValueError(
            f"The low-rank solver needs a kernel with features. Got {type(kernel).__name__}, which has none. "
            "Use `solver='dense'`."
        )
    return kernel.rank


def _features_at(kernel: Kernel, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return F and the remainder of each vertex, shapes (n, r) and (n,)."""
    F, (_, remainder) = kernel.features_and_structure(kernel.inputs(rows))
    return F, np.broadcast_to(remainder, len(rows))


class _Shelf:
    """Features lately asked for: those at the sites, and at the vertices that every latent is predicted at.

    Latents share a kernel, and each asks for the features of the same vertices several times.
    """

    def __init__(self) -> None:
        self._held: list[tuple[Kernel, np.ndarray, tuple[np.ndarray, np.ndarray]]] = []

    def features(self, kernel: Kernel, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return `_features_at` of a kernel, which never changes, and rows, which a caller may change."""
        for of, at, found in self._held:
            if of is kernel and np.array_equal(at, rows):
                return found
        found = _features_at(kernel, rows)
        if found[0].size > _SHELVED:
            return found
        self._held = [*self._held[-1:], (kernel, rows.copy(), found)]
        return found
