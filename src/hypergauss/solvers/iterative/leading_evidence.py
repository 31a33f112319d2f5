r"""Where to begin: the log evidence of the leading eigenvectors and a constant background, in closed form.

With K ~ b I + Q D Q' (`spectrum.leading`) and one noise variance s, C = d I + Q_t D Q_t' at the n sites, d = s + b, and

    log det C = n log d + log det(I + D^1/2 G D^1/2 / d),    G = Q_t' Q_t,

need only G, Q_t' y, Q_t' 1 and sums. Noise and background come only as the sum d, so nothing tells them apart: a
log-normal prior on the share of background does.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
import scipy.linalg
from scipy.optimize import minimize

from hypergauss import parameters
from hypergauss.learning.priors import Matched, log_prior_and_gradient
from hypergauss.solvers.base import GaussianModel
from hypergauss.solvers.iterative.numbers import Deflated, deflated
from hypergauss.solvers.iterative.system import Workspace
from hypergauss.solvers.iterative.terms import Terms
from hypergauss.solvers.sites import Observations

#: The share of background in d that is expected, and the spread of its logarithm.
_SHARE, _SPREAD = 0.03, 1.0
#: The loss, for each site, where it cannot be evaluated.
_FAILED = 1e10


class LeadingEvidence(NamedTuple):
    """The log evidence of a Gaussian model whose kernel is taken for its leading eigenvectors and a background."""

    terms: Terms
    ritz_values: np.ndarray
    gram: np.ndarray  # G, shape (k, k)
    along: np.ndarray  # Q_t' [y, 1], shape (k, L + 1)
    products: np.ndarray  # [y, 1]' [y, 1], shape (L + 1, L + 1)

    @classmethod
    def of(cls, workspace: Workspace, observations: Observations) -> Self | None:
        """Gather the sums, or return None where they are not enough.

        That is where sites have noise of their own, where there are no eigenvectors, or where no term of the kernel is
        a plain filter of the Laplacian that these belong to.
        """
        workspace.find_subspace()
        subspace = workspace.subspace
        if subspace is None or not observations.is_uniform or not workspace.terms.plain:
            return None
        Q = workspace.operator.array(subspace.vectors, observations.rows).astype(np.float64)
        data = np.hstack([observations.mean, np.ones((len(observations.rows), 1))])
        return cls(workspace.terms, subspace.values, Q.T @ Q, Q.T @ data, data.T @ data)

    def highest(self, start: GaussianModel, priors: Matched) -> np.ndarray:
        """Return the coordinates at the top of log evidence plus log prior, found from a start."""
        size = self.products[-1, -1]

        def loss(theta: np.ndarray) -> tuple[float, np.ndarray]:
            model = parameters.unpack(start, theta)
            try:
                with np.errstate(all="ignore"):
                    value, gradient = self.value_and_gradient(model)
            except scipy.linalg.LinAlgError:
                value, gradient = np.nan, np.zeros_like(theta)
            prior, in_prior = log_prior_and_gradient(model, priors)
            value, gradient = value + prior, gradient + in_prior
            if not (np.isfinite(value) and np.isfinite(gradient).all()):  # beyond what the arithmetic can carry
                return _FAILED, np.zeros_like(theta)
            return -value / size, -gradient / size

        # The prior on the share is a few nats of many thousand: the search must not end before it is felt.
        tight = {"ftol": 1e-14, "gtol": 1e-9}
        limits, first = parameters.bounds(start), parameters.pack(start)
        return minimize(loss, first, jac=True, method="L-BFGS-B", bounds=limits, options=tight).x

    def value_and_gradient(self, model: GaussianModel) -> tuple[float, np.ndarray]:
        r"""Return the log evidence plus the log prior of the share, and the gradient in the model's coordinates.

        With r = y - mean, M = I + D^1/2 G D^1/2 / d and S = D^1/2 M^-1 D^1/2 / d,

            C^-1 r = (r - Q S Q'r) / d,    Q'C^-1 Q = (G - G S G) / d,    tr C^-1 = (n - tr S G) / d,

        and the slopes in d and D_j are those of C: dC = I and Q_j Q_j'.
        """
        background, gains = deflated(self.terms, model.kernel, self.ritz_values)
        d = float(model.noise_variance + background)
        n, outputs, G = self.products[-1, -1], len(model.mean), self.gram
        centring = np.vstack([np.eye(outputs), -model.mean])  # [y, 1] times this is y - mean
        along = self.along @ centring
        root = np.sqrt(gains)
        inner = np.eye(len(root)) + root[:, None] * G * root / d
        factor = scipy.linalg.cho_factor(inner, lower=True, check_finite=False)
        S = root[:, None] * scipy.linalg.cho_solve(factor, np.diag(root), check_finite=False) / d
        inside = S @ along
        squares = np.trace(centring.T @ self.products @ centring)
        quadratic = (squares - (along * inside).sum()) / d
        log_det = n * np.log(d) + 2 * np.log(np.diagonal(factor[0])).sum()
        z = np.log(background / d / _SHARE) / _SPREAD
        value = -0.5 * (quadratic + outputs * (log_det + n * np.log(2 * np.pi)) + z**2)

        weighted = (along - G @ inside) / d  # Q'C^-1 r
        norm = (squares - 2 * (along * inside).sum() + (inside * (G @ inside)).sum()) / d**2  # |C^-1 r|^2
        in_d = 0.5 * (norm - outputs * (n - (S * G).sum()) / d)
        in_gains = 0.5 * ((weighted**2).sum(axis=1) - outputs * (np.diagonal(G) - ((G @ S) * G).sum(axis=1)) / d)
        in_mean = (self.products[-1] @ centring - self.along[:, -1] @ inside) / d  # 1'C^-1 r
        of_share = -z / _SPREAD
        slopes = Deflated(in_d + of_share * (1 / background - 1 / d), in_gains)
        in_kernel = parameters.pull_back(
            model.kernel, lambda kernel: deflated(self.terms, kernel, self.ritz_values), slopes
        )
        gradients = {"kernel": in_kernel, "noise_variance": in_d - of_share / d, "mean": in_mean}
        return float(value), parameters.gather(model, gradients)
