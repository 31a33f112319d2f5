"""The log posterior of coordinates and hyperparameters: exact, or bounded from below through inducing vertices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy.linalg

from hypergauss import parameters
from hypergauss.embedding.covariances import Covariances, Slopes
from hypergauss.embedding.memberships import Memberships, Pattern
from hypergauss.embedding.model import MapModel, Vertices
from hypergauss.learning.objective import Objective
from hypergauss.solvers.cholesky import cholesky, inverse_of_factor, lower_inverse, symmetric

#: Added to the covariance of inducing vertices, relative to its mean variance.
JITTER = 1e-8

_LOG_2PI = float(np.log(2 * np.pi))


class LogPosterior(Objective[MapModel]):
    """log p(H | X) + log p(X, l) of a map model, or with inducing vertices a lower bound on it.

    Parameters
    ----------
    model : MapModel
        Its shapes, and the values of what is not learned.
    memberships : Memberships
        The data.
    vertices : Vertices
        Of all N rows.
    inducing : array of int, optional
        Inducing vertices; without them the posterior is exact, at O(N^3) for each pattern of known entries.
    """

    def __init__(
        self,
        model: MapModel,
        memberships: Memberships,
        vertices: Vertices,
        inducing: np.ndarray | None = None,
    ) -> None:
        kernels = [kernel for kernel in (model.hypergraph, model.covariates) if kernel is not None]
        learned = any(parameters.slots(kernel) for kernel in kernels)
        self._anchors = np.arange(len(model.coordinates)) if inducing is None else inducing
        # Made once, if nothing in it is learned.
        self._table = None if learned else model.tabulate(vertices, self._anchors)
        self._vertices = vertices
        self._patterns = memberships.by_pattern()
        self._log_likelihood = log_likelihood if inducing is None else log_likelihood_bound
        self._size = memberships.num_known

    @property
    def num_observations(self) -> int:  # noqa: D102
        return self._size

    def value_and_gradient(self, model: MapModel) -> tuple[float, np.ndarray]:  # noqa: D102
        table = model.tabulate(self._vertices, self._anchors) if self._table is None else self._table
        covariances = Covariances(model, table, self._anchors)
        value, slopes = self._log_likelihood(covariances, self._patterns)
        gradients = covariances.pull_back(slopes)
        if self._table is None:
            in_table = covariances.pull_back_table(slopes)
            gradients |= model.pull_back_table(self._vertices, self._anchors, in_table)
        for field, slope in model.log_prior_slopes().items():
            gradients[field] = gradients.get(field, 0.0) + slope
        return value + model.log_prior(), parameters.gather(model, gradients)


# ---------------------------------------------------------------- exact


def log_likelihood(covariances: Covariances, patterns: Sequence[Pattern]) -> tuple[float, Slopes]:
    """Return log p(H | X), a normal density for each column, and its slopes.

    Of m columns with root root' = Y Y', log N(Y | 0, C) has the slope (a a' - m C^-1) / 2 in C, a = C^-1 root; patterns
    add up.
    """
    C = covariances.matrix()
    total, inverses, solutions = 0.0, np.zeros_like(C), []
    for known, root, columns in patterns:
        block = slice(None) if len(known) == len(C) else np.ix_(known, known)
        factor = cholesky(C[block])
        solution = np.zeros((len(C), root.shape[1]))
        solution[known] = scipy.linalg.cho_solve((factor, True), root, check_finite=False)
        log_det = 2 * np.log(np.diagonal(factor)).sum()
        total -= 0.5 * ((root * solution[known]).sum() + columns * (log_det + len(known) * _LOG_2PI))
        inverses[block] += columns * lower_inverse(factor)
        solutions.append(solution)
    weights = np.hstack(solutions)
    slope = (weights @ weights.T - symmetric(inverses)) / 2
    return float(total), Slopes(slope, np.zeros(len(C)), np.diagonal(slope).copy())


# ---------------------------------------------------------------- bounded from below


class _BoundSlopes(NamedTuple):
    """The slopes of one pattern's bound in W at the known vertices, (J, n), in K's diagonal and in t, (n,) both."""

    whitened: np.ndarray
    shared: np.ndarray
    own: np.ndarray


def log_likelihood_bound(covariances: Covariances, patterns: Sequence[Pattern]) -> tuple[float, Slopes]:
    r"""Return a lower bound on log p(H | X) (Titsias, 2009), and its slopes.

    With Q = K_fu K_uu^-1 K_uf for the covariances without nugget, and t the nugget plus the noise of each vertex,

        log p(Y) >= sum over columns of log N(y | 0, Q + diag(t)) - tr((K - Q) / t) / 2.

    It sees K_uu = L L' and K_uf only in Q = W'W, W = L^-1 K_uf. So a slope E in W is G = L'^-1 E in K_uf and, as E W'
    is symmetric then, -G K_fu K_uu^-1 / 2 in K_uu.
    """
    cross, inducing = covariances.cross, covariances.anchors
    factor = inducing_factor(cross[inducing])
    whitened = scipy.linalg.solve_triangular(factor, cross.T, lower=True, check_finite=False)
    total, in_whitened = 0.0, np.zeros_like(whitened)
    slopes = Slopes(np.zeros_like(cross), np.zeros(len(cross)), np.zeros(len(cross)))
    for pattern in patterns:
        known = pattern.known
        value, found = _bound(pattern, whitened[:, known], covariances.shared[known], covariances.own[known])
        total += value
        in_whitened[:, known] += found.whitened
        slopes.shared[known] += found.shared
        slopes.own[known] += found.own
    in_cross, solved = (
        scipy.linalg.solve_triangular(factor, part, lower=True, trans="T", check_finite=False)
        for part in (in_whitened, whitened)
    )
    in_own = -in_cross @ solved.T / 2
    in_own = (in_own + in_own.T) / 2
    in_own.flat[:: len(in_own) + 1] += JITTER * np.trace(in_own) / len(in_own)
    slopes.cross[:] = in_cross.T
    slopes.cross[inducing] += in_own
    return total, slopes


def inducing_factor(within: np.ndarray) -> np.ndarray:
    """Return L, the lower factor of K_uu with a little on its diagonal."""
    K = (within + within.T) / 2
    K.flat[:: len(K) + 1] += JITTER * np.trace(within) / len(within)
    return cholesky(K)


def _bound(pattern: Pattern, W: np.ndarray, shared: np.ndarray, t: np.ndarray) -> tuple[float, _BoundSlopes]:
    r"""Return the bound of one pattern's m columns Y, root root' = Y Y', and its slopes.

    With B = I + W T W', T = diag(1/t), and c = B^-1 W T root, it is -1/2 times

        |root / sqrt(t)|^2 - c' B c + m (log det B + sum of log 2 pi t + sum of (shared - diag W'W) / t).

    Its slope in B is M = -(c c' + m B^-1) / 2, and from there in W and in 1/t.
    """
    root, m = pattern.root, pattern.columns
    precision = 1.0 / t
    scaled = W * precision
    B = scaled @ W.T
    B.flat[:: len(B) + 1] += 1.0
    factor = cholesky(B)
    projected = scaled @ root
    c = scipy.linalg.cho_solve((factor, True), projected, check_finite=False)
    log_det = 2 * np.log(np.diagonal(factor)).sum() + np.log(t).sum() + len(t) * _LOG_2PI
    squares, left_out = (root**2).sum(axis=1), shared - (W**2).sum(axis=0)
    square = precision @ squares - (projected * c).sum()
    value = -0.5 * (square + m * (log_det + precision @ left_out))
    in_B = -(c @ c.T + m * inverse_of_factor(factor)) / 2
    across = in_B @ W
    in_whitened = c @ (root * precision[:, None]).T + (2 * across + m * W) * precision
    in_precision = (root * (W.T @ c)).sum(axis=1) + (W * across).sum(axis=0) - (squares + m * left_out) / 2
    in_own = -in_precision * precision**2 - m * precision / 2
    return float(value), _BoundSlopes(in_whitened, -m * precision / 2, in_own)
