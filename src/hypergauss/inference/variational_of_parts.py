r"""Likelihoods at any size, of a prior of several parts: fields that are centred, scaled or added, and features.

As `MarkovVariational`, with B in place of Q + W. What a vertex has of its own, e ~ N(0, R), is in the latent function
that its likelihood sees. With h, rho = R W and W = (R + Sigma)^-1 as in `solvers.markov.joint_posterior`,

    marginal mean = rho r + (1 - rho) E h,    marginal variance = (1 - rho)^2 var h + (1 - rho) R,

r the pseudo-observations less the prior mean, and what the Gaussian integral needs is

    log det(I + K Sigma^-1) = log det(I + K_h W) + sum over sites of log(1 + R / Sigma).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np

from hypergauss import parameters
from hypergauss.inference.latent_model import LatentModel
from hypergauss.inference.variational_by_products import Found, VariationalByProducts, relative_targets
from hypergauss.operators import scattered
from hypergauss.parameters import Parametrised
from hypergauss.solvers.iterative.information import Loss, half_inverse
from hypergauss.solvers.markov.field import check_kernel
from hypergauss.solvers.markov.joint import JointNoise, JointSystem
from hypergauss.solvers.markov.joint_evidence import JointTerms, joint_information, joint_terms
from hypergauss.solvers.markov.solver import JointSolver
from hypergauss.solvers.sites import NaturalSites, Sites

#: Relative residual of the systems behind marginals: a map that converges to a percent needs no less.
_SOLVED = 3e-3
#: The precision of a site that says nothing: next to none.
_NO_PRECISION = 1e-12


class JointVariational(VariationalByProducts):
    """The bound by the Markov solver for a kernel of several parts; parameters are those of `VariationalByProducts`."""

    def __init__(
        self, solver: JointSolver, model: LatentModel, y: np.ndarray, start: NaturalSites | None = None
    ) -> None:
        super().__init__(solver, model, y, start)
        self.solver = solver

    def _surroundings(self, model: LatentModel, found: Sequence[Found]) -> tuple[_Coordinates, np.ndarray, list[Loss]]:
        found = cast(Sequence[JointTerms], found)
        check_kernel(model.kernel, learns=True, parts=True)
        arrays, latents = self.solver.workspace.parts.arrays, np.eye(len(found))
        in_kernel = sum(parameters.pull_back(model.kernel, arrays, terms.slopes) for terms in found)
        in_mean = np.array([float(self.operator.fetch(terms.alpha.sum())) for terms in found])
        losses = []
        for unit, terms in zip(latents, found, strict=True):
            curvature = joint_information(model, terms, parameters.gather(model, {"mean": unit})[None])
            losses.append(Loss(2.0 * curvature, half_inverse(curvature)))
        return _Coordinates(), parameters.gather(model, {"kernel": in_kernel, "mean": in_mean}), losses

    def _noise(self, model: LatentModel) -> JointNoise:
        return self._system(model, self.sites, 0).noise(self._num_draws, self.options.generator(4))

    def _conditioned(
        self, model: LatentModel, sites: NaturalSites, latent: int, noise: JointNoise
    ) -> tuple[np.ndarray, np.ndarray]:
        system = self._system(model, sites, latent)
        relative = relative_targets(model, sites, latent)
        # Draws are of the same noise for all latents, whose precisions are much alike at first: one starts the next.
        start = self._solved.get(latent, self._solved.get(latent - 1))
        found = system.mean_and_draws(scattered(self.operator, self.rows, relative), noise, start)
        self._solved[latent] = found.solved
        at_rows, own = self.operator.array(found.h, self.rows), system.arrays.own[self.rows]
        share = own / (_variance(sites, latent) + own)
        mean = share * relative + (1.0 - share) * at_rows[:, 0]
        return mean, (1.0 - share) ** 2 * (at_rows[:, 1:] ** 2).mean(axis=1) + (1.0 - share) * own

    def _terms(self, model: LatentModel, sites: NaturalSites, latent: int) -> JointTerms:
        variance, relative = _variance(sites, latent), relative_targets(model, sites, latent)
        targets = scattered(self.operator, self.rows, relative)
        at_sites = Sites(self.rows, relative[:, None], variance)
        found = joint_terms(self.solver.workspace, model.kernel, at_sites, targets)
        of_own = float(np.log1p(found.system.arrays.own[self.rows] / variance).sum())
        return found._replace(log_det=found.log_det._replace(value=found.log_det.value + of_own))

    def _system(self, model: LatentModel, sites: NaturalSites, latent: int) -> JointSystem:
        return JointSystem(self.solver.workspace, model.kernel, self.rows, _variance(sites, latent), _SOLVED)


class _Coordinates:
    """A model's coordinates as its numbers: what hyperparameters set of several parts is arrays of all vertices."""

    def of(self, model: Parametrised) -> np.ndarray:
        """Return the coordinates, shape (p,)."""
        return parameters.pack(model)

    def tangents(self, model: Parametrised) -> np.ndarray:
        """Return their derivatives in each other, shape (p, p)."""
        return np.eye(len(parameters.pack(model)))


def _variance(sites: NaturalSites, latent: int) -> np.ndarray:
    return 1.0 / np.maximum(sites.precision[:, latent], _NO_PRECISION)
