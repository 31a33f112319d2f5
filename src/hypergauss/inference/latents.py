"""Latent functions given their observations: independent Gaussians, or draws."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dtrtrs

from hypergauss.inference.latent_model import LatentModel
from hypergauss.inference.mcmc.draws import Draws
from hypergauss.inference.shares import level_for
from hypergauss.likelihoods import Likelihood, as_classification
from hypergauss.likelihoods.multinomial_probit import coupled_probabilities
from hypergauss.likelihoods.quadrature import row_blocks
from hypergauss.solvers.base import Posterior, Prior, Solver
from hypergauss.solvers.choose import condition
from hypergauss.solvers.sites import NaturalSites, Sites

#: Precision below which a site says nothing.
_NO_PRECISION = 1e-12
#: The share of a vertex's precision that others keep at least when its own site is left out.
_LEAST_LEFT = 1e-6
#: Draws whose conditionals are averaged in predictions, of each chain.
_PREDICTIVE_DRAWS = 100


class GaussianLatents(NamedTuple):
    """The latent functions under a Gaussian approximation: independent posteriors, one each, or coupled ones.

    ``coupling`` is Cholesky's factor of the M by which sites of several latents at once couple them
    (`inference.coupled_propagation`), None if they do not. ``own`` is how far the mean of what is a vertex's own lies
    from the level, (L,), where it follows the shares of the classes (`inference.shares`).
    """

    posteriors: tuple[Posterior, ...]
    likelihood: Likelihood
    coupling: np.ndarray | None = None
    own: np.ndarray | None = None

    @classmethod
    def of(
        cls,
        model: LatentModel,
        sites: NaturalSites,
        solver: Solver,
        coupling: np.ndarray | None = None,
        *,
        unit: float = 1.0,
    ) -> GaussianLatents:
        """Condition each latent function, in units of some size, on its sites at the solver's vertices."""
        least = _NO_PRECISION / unit**2
        posteriors = []
        for latent, mean in enumerate(model.mean):
            precision = sites.precision[:, latent]
            precision = np.where(np.abs(precision) < least, least, precision)
            found = Sites(solver.rows, (sites.shift[:, latent] / precision)[:, None], 1 / precision)
            posteriors.append(solver.posterior(Prior(model.kernel, np.array([mean])), found))
        return cls(tuple(posteriors), model.likelihood, coupling)

    @property
    def solver(self) -> str:
        """Which solver made them."""
        return self.posteriors[0].solver

    def with_shares(self, shares: np.ndarray) -> GaussianLatents:
        """Return the same, what is a vertex's own being as the classes' shares have it."""
        kernel = self.posteriors[0].prior.kernel
        level = [each.prior.mean[0] + kernel.level_variance * each.dual_weights().sum() for each in self.posteriors]
        own = level_for(as_classification(self.likelihood), shares, kernel.varying_variance()) - np.array(level)
        return self._replace(own=own - own.mean() if len(own) > 1 else own)

    def from_own(self, rows: np.ndarray) -> np.ndarray:
        """Return what a vertex's own adds to the mean of each latent, shape (m, L)."""
        if self.own is None:
            return np.zeros((len(rows), len(self.posteriors)))
        return self.posteriors[0].prior.kernel.own_shares(rows)[:, None] * self.own

    def conditionals(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and variance of each latent at vertices given by index, shape (m, L)."""
        mean = np.hstack([posterior.mean(rows) for posterior in self.posteriors]) + self.from_own(rows)
        variance = np.stack([posterior.variance(rows) for posterior in self.posteriors], axis=1)
        if self.coupling is not None:
            variance = variance + np.einsum("cki,cki->ic", *[self._shared(rows)] * 2)
        return mean, variance

    def probabilities(self, rows: np.ndarray) -> np.ndarray:
        """Return the probability of each class at vertices given by index, shape (m, C)."""
        if self.coupling is None:
            return as_classification(self.likelihood).probabilities(*self.conditionals(rows))
        found = [self._coupled_probabilities(rows[part]) for part in row_blocks(len(rows))]
        return np.concatenate(found) if found else np.zeros((0, len(self.posteriors)))

    def left_out_probabilities(self) -> np.ndarray:
        r"""Return the probability of each class at each observed vertex, its own site left out, shape (n, C).

        With mean m, covariance S, and the site exp(s'f - f' P f / 2) of a vertex, the others say of its latents

            V = (S^-1 - P)^-1,    mean V (S^-1 m - s),

        the cavity of expectation propagation: other sites stay where they are. P is diagonal, or with a coupling
        diag(a) - a a' / sum(a); separate sites that lead to the same means then hold s + a u, and s sums to 0.
        """
        rows = self.posteriors[0].sites.rows
        precision = np.stack([1 / each.sites.variance for each in self.posteriors], axis=1)  # (n, L)
        shift = precision * np.hstack([each.sites.mean for each in self.posteriors])
        if self.coupling is None:
            mean, variance = self.conditionals(rows)
            own = self.from_own(rows)
            # The same with S taken out, which is 0 for a vertex that is the level alone. Variances that are estimates
            # may leave a site more than there is: the others say a little at least.
            left = np.maximum(1 - variance * precision, _LEAST_LEFT)
            return as_classification(self.likelihood).probabilities(
                (mean - own - variance * shift) / left + own, variance / left
            )
        blocks = row_blocks(len(rows))
        found = [self._left_out_coupled(rows[part], precision[part], shift[part]) for part in blocks]
        return np.concatenate(found) if found else np.zeros((0, len(self.posteriors)))

    def _left_out_coupled(self, rows: np.ndarray, precision: np.ndarray, shift: np.ndarray) -> np.ndarray:
        mean, covariance = self._coupled_moments(rows)
        own = self.from_own(rows)
        total = precision.sum(axis=1, keepdims=True)
        shift = shift - precision * (shift.sum(axis=1, keepdims=True) / total)
        site = np.einsum("ic,cd->icd", precision, np.eye(precision.shape[1]))
        site = site - precision[:, :, None] * precision[:, None, :] / total[:, :, None]
        # V = (I - S P)^-1 S, and V (S^-1 m - s) = (I - S P)^-1 (m - S s).
        system = np.eye(site.shape[1]) - covariance @ site
        right = np.concatenate([(mean - own)[:, :, None] - covariance @ shift[:, :, None], covariance], axis=2)
        solved = np.linalg.solve(system, right)
        left = solved[:, :, 1:]
        return coupled_probabilities(solved[:, :, 0] + own, (left + left.transpose(0, 2, 1)) / 2)

    def sample(self, rows: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
        """Return joint draws, shape (size, m, L)."""
        draws = np.concatenate([posterior.sample(rows, size, rng) for posterior in self.posteriors], axis=2)
        draws = draws + self.from_own(rows)
        if self.coupling is None:
            return draws
        z = rng.standard_normal((size, len(self.coupling)))
        return draws + np.einsum("cki,sk->sic", self._shared(rows), z)

    def _shared(self, rows: np.ndarray) -> np.ndarray:
        """Return L^-1 E_c K at vertices for each latent, shape (C, n, m): its square is what latents have in common."""
        return self._shared_by([posterior.observation_weights(rows) for posterior in self.posteriors])

    def _shared_by(self, weights: Sequence[np.ndarray]) -> np.ndarray:
        """Return the same from the transposes of E_c K."""
        assert self.coupling is not None
        return np.stack([dtrtrs(self.coupling, each.T, lower=1)[0] for each in weights])

    def _coupled_probabilities(self, rows: np.ndarray) -> np.ndarray:
        return coupled_probabilities(*self._coupled_moments(rows))

    def _coupled_moments(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return mean, shape (m, C), and covariance, (m, C, C), of each vertex's latents."""
        means, variances, weights = zip(*(each.moments_and_weights(rows) for each in self.posteriors), strict=True)
        shared = self._shared_by(weights)
        covariance = np.matmul(shared.transpose(2, 0, 1), shared.transpose(2, 1, 0))
        classes = np.arange(len(self.posteriors))
        covariance[:, classes, classes] += np.stack(variances, axis=1)
        return np.hstack(means) + self.from_own(rows), covariance


class SampledLatents(NamedTuple):
    """The latent functions by Markov chain Monte Carlo: a mixture of Gaussians, one for each draw."""

    draws: Draws

    @property
    def solver(self) -> str:
        """How covariances are factorised."""
        return "dense"

    def probabilities(self, rows: np.ndarray) -> np.ndarray:
        """Return the probability of each class, shape (m, C), averaged over draws."""
        every = max(1, self.draws.latents.shape[1] // _PREDICTIVE_DRAWS)
        return self.draws.probabilities(rows, every=every)

    def sample(self, rows: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
        """Return joint draws, shape (size, m, L): for draws of the chains, what their latents say elsewhere."""
        chains, kept = self.draws.latents.shape[:2]
        sampled = []
        for chain, draw in zip(rng.integers(chains, size=size), rng.integers(kept, size=size), strict=True):
            model = self.draws.model(chain, draw)
            noise = np.full(len(self.draws.rows), 1e-10 * float(model.kernel.diagonal(self.draws.rows).max()))
            latents = [
                condition(
                    Prior(model.kernel, model.mean[latent : latent + 1]),
                    Sites(self.draws.rows, self.draws.latents[chain, draw, :, latent : latent + 1], noise),
                    "dense",
                ).sample(rows, 1, rng)
                for latent in range(self.draws.latents.shape[3])
            ]
            sampled.append(np.concatenate(latents, axis=2))
        return np.concatenate(sampled)
