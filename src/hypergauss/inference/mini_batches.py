r"""Mini-batches: stochastic natural gradients for the inducing variables, Adam for the hyperparameters.

Each latent is f = mean + F c + g with c ~ N(0, W) (`solvers.projection`), and q(c) is the prior times
exp(shift'c - c' P c / 2). A batch B of the n observations, with the sites that its marginals ask for
(`likelihood_sites`), moves q by

    P     <- (1 - rho) P     + rho n/|B| F_B' diag(precision) F_B,
    shift <- (1 - rho) shift + rho n/|B| F_B' (site shift - precision * mean),

and gives an unbiased estimate of the bound, sum of E log p(y | f) - KL(q(c) | prior). An evaluation costs
O(|B| J^2 + J^3), however large n is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from hypergauss import formula_checks, parameters
from hypergauss.inference.latent_model import LatentModel
from hypergauss.inference.variational import likelihood_sites
from hypergauss.kernels.base import Inputs
from hypergauss.learning.adam import Adam
from hypergauss.learning.priors import Matched, log_prior_and_gradient
from hypergauss.solvers.projection import Inducing, Projected
from hypergauss.solvers.sites import NaturalSites

#: Length of natural-gradient steps in the first pass; pass t takes it times t^-_FADING, so that the noise dies out.
#: A batch of everything has no noise, and keeps the length.
_FIRST_STEP, _FADING = 0.5, 0.6
#: Of Adam, in the coordinates that learning moves (mostly logarithms).
_LEARNING_RATE = 0.03
#: Rows whose features are held at once when all observations are passed over.
_CHUNK = 8192


class Coefficients(NamedTuple):
    """What the data say of the inducing variables of each latent: natural parameters, shape (L, J) and (L, J, J)."""

    shift: np.ndarray
    precision: np.ndarray

    def towards(self, other: Coefficients, step: float) -> Coefficients:
        """Return the mixture (1 - step) self + step other."""
        return Coefficients(*((1 - step) * old + step * new for old, new in zip(self, other, strict=True)))


class Batch(NamedTuple):
    """Gathered inputs of b observations, what was observed (b,), and how many observations each stands for."""

    inputs: Inputs
    y: np.ndarray
    weight: float


class InBatches(NamedTuple):
    """The outcome: the learned model, sites of every observation, the bound, and its estimate after each pass."""

    model: LatentModel
    sites: NaturalSites
    elbo: float
    trace: np.ndarray


def learn_in_batches(
    model: LatentModel,
    rows: np.ndarray,
    y: np.ndarray,
    inducing: Inducing,
    *,
    batch_size: int,
    n_passes: int,
    learn: bool = True,
    priors: Matched = (),
    seed: int = 0,
    report: Callable[[str], None] | None = None,
) -> InBatches:
    """Learn q and the hyperparameters together, a batch at a time.

    Parameters
    ----------
    model : LatentModel
        Where to start.
    rows, y : arrays, shape (n,)
        Observed vertices by index, and what was observed.
    inducing : Inducing
        The inducing variables.
    batch_size, n_passes : int
        Observations in a batch, and how often all are passed over.
    learn : bool
        Whether hyperparameters move; q always does.
    priors : Matched
        On hyperparameters (`match_priors`).
    seed : int
        For the order of the observations.
    report : callable, optional
        Called with a line of text after each pass.
    """
    inducing.check(model.kernel)
    formula_checks.check_own_formulas(model)
    rng = np.random.default_rng(seed)
    n, size = len(rows), min(batch_size, len(rows))
    targets = np.asarray(y, dtype=np.float64)
    limits = parameters.bounds(model).T
    adam = Adam(_LEARNING_RATE)
    L, J = model.likelihood.num_latents, len(inducing.weights(model.kernel))
    q = Coefficients(np.zeros((L, J)), np.zeros((L, J, J)))
    trace = []
    for number in range(1, n_passes + 1):
        rho = _FIRST_STEP * (number**-_FADING if size < n else 1.0)
        estimates = []
        for part in np.array_split(rng.permutation(n), max(n // size, 1)):
            batch = Batch(model.kernel.inputs(rows[part]), targets[part], n / len(part))
            projected = inducing.project(model.kernel, batch.inputs)
            q = q.towards(_batch_coefficients(model, projected, batch, q), rho)
            marginals = Marginals.of(model, projected, q)
            prior, in_prior = log_prior_and_gradient(model, priors)
            estimates.append(_estimate(model, batch, marginals) + prior)
            if learn:
                gradient = _gradient(model, inducing, batch, projected, marginals) + in_prior
                if np.isfinite(gradient).all():
                    theta = parameters.pack(model) + adam.step(gradient / n)
                    model = parameters.unpack(model, np.clip(theta, *limits))
        trace.append(float(np.mean(estimates)))
        if report is not None:
            report(f"bound {trace[-1]:,.2f} after {number} passes")
    sites, elbo = _pass_over(model, rows, targets, inducing, q)
    return InBatches(model, sites, elbo, np.array(trace))


class Marginals(NamedTuple):
    """Q(c) and what it says of f at the b vertices of a batch.

    Attributes
    ----------
    mean, variance : arrays, shape (b, L)
        Of f, what the inducing variables leave unexplained included.
    centre, covariance : arrays, shape (L, J) and (L, J, J)
        Of c: mu = S shift and S = (W^-1 + P)^-1.
    q : Coefficients
        The shift and P that they come from.
    divergence : float
        KL(q(c) | prior), summed over latents.
    """

    mean: np.ndarray
    variance: np.ndarray
    centre: np.ndarray
    covariance: np.ndarray
    q: Coefficients
    divergence: float

    @classmethod
    def of(cls, model: LatentModel, projected: Projected, q: Coefficients) -> Marginals:
        """Compute them: with R = W^1/2 and M = I + R P R, S = R M^-1 R, and nothing divides by a weight."""
        F, root = projected.features, np.sqrt(projected.weights)
        eye = np.eye(len(root))
        factors = np.linalg.cholesky(eye + root[:, None] * q.precision * root)
        inverses = np.stack([solve_triangular(factor, eye, lower=True) for factor in factors])
        halves = inverses * root
        covariance = halves.swapaxes(1, 2) @ halves
        white = (inverses.swapaxes(1, 2) @ (halves @ q.shift[:, :, None]))[:, :, 0]  # M^-1 R shift
        log_det = 2 * np.log(np.diagonal(factors, axis1=1, axis2=2)).sum()
        divergence = ((inverses**2).sum() + (white**2).sum() - white.size + log_det) / 2
        variance = ((F @ halves.swapaxes(1, 2)) ** 2).sum(axis=2).T + projected.unexplained[:, None]
        return cls(model.mean + F @ (root * white).T, variance, root * white, covariance, q, float(divergence))


def _batch_coefficients(model: LatentModel, projected: Projected, batch: Batch, q: Coefficients) -> Coefficients:
    """Return where a full natural-gradient step goes to."""
    F, marginals = projected.features, Marginals.of(model, projected, q)
    sites = likelihood_sites(model.likelihood, marginals.mean, marginals.variance, batch.y)
    # A batch's negative precisions, scaled up, could make q improper.
    precision = np.maximum(sites.precision, 0.0)
    shift = sites.shift - sites.precision * marginals.mean + precision * (marginals.mean - model.mean)
    squares = np.stack([(F * column[:, None]).T @ F for column in precision.T])
    return Coefficients(batch.weight * (shift.T @ F), batch.weight * squares)


def _estimate(model: LatentModel, batch: Batch, marginals: Marginals) -> float:
    """Return the batch's estimate of the bound."""
    expected = model.likelihood.expected_log_density(marginals.mean, marginals.variance, batch.y)
    return float(batch.weight * expected.sum() - marginals.divergence)


def _gradient(
    model: LatentModel, inducing: Inducing, batch: Batch, projected: Projected, marginals: Marginals
) -> np.ndarray:
    r"""Return the gradient of `_estimate` in the hyperparameters, q's natural parameters held, shape (p,).

    With slopes g and h in the means and variances of f, the expected log density has slopes F'g in mu and
    G = F' diag(h) F in S, and g mu' + 2 diag(h) F S in F. As KL = shift'mu - tr P (S + mu mu') / 2 - log Z, where
    B = W^-1 S = I - P S gives dS = B' dW B, dmu = B' dW B shift, and 2 d log Z = tr dW (B shift shift' B' - B P),
    the slope in W is the diagonal of

        B (F'g - shift + P mu) shift' B' + B (G + P / 2) B' + (B shift shift' B' - B P) / 2.
    """
    F = projected.features
    found = model.likelihood.expectation(marginals.mean, marginals.variance, batch.y)
    g, h = batch.weight * found.in_mean, batch.weight * found.in_variance
    in_features, in_weights = g @ marginals.centre, np.zeros(F.shape[1])
    for latent, (mu, S, shift, P) in enumerate(zip(marginals.centre, marginals.covariance, *marginals.q, strict=True)):
        slope = h[:, latent, None] * F
        in_features += 2 * slope @ S
        B = np.eye(len(P)) - P @ S
        seen = B @ shift
        in_weights += (B @ (F.T @ g[:, latent] - shift + P @ mu)) * seen + ((B @ (F.T @ slope + P / 2)) * B).sum(axis=1)
        in_weights += (seen**2 - (B * P).sum(axis=1)) / 2
    in_kernel = inducing.pull_back(model.kernel, batch.inputs, in_features, in_weights, h.sum(axis=1))
    in_likelihood = batch.weight * model.likelihood.pull_back(marginals.mean, marginals.variance, batch.y)
    return parameters.gather(model, {"kernel": in_kernel, "likelihood": in_likelihood, "mean": g.sum(axis=0)})


def _pass_over(
    model: LatentModel, rows: np.ndarray, y: np.ndarray, inducing: Inducing, q: Coefficients
) -> tuple[NaturalSites, float]:
    """Return every observation's site under q, and the bound itself."""
    parts, expected, divergence = [], 0.0, 0.0
    for start in range(0, len(rows), _CHUNK):
        part = slice(start, start + _CHUNK)
        projected = inducing.project(model.kernel, model.kernel.inputs(rows[part]))
        mean, variance, *_, divergence = Marginals.of(model, projected, q)
        parts.append(likelihood_sites(model.likelihood, mean, variance, y[part]))
        expected += float(model.likelihood.expected_log_density(mean, variance, y[part]).sum())
    return NaturalSites(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True))), expected - divergence
