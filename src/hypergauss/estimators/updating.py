r"""Conditioning anew after growth: the same hyperparameters, and weights of them, on more vertices or observations.

Each posterior that is averaged is conditioned again on its kernel's grown spectrum, from where it stood: sites begin
where they had settled, and solvers that iterate at the earlier mean. Where it ends does not depend on where it began.

On request values of the hyperparameters are weighed anew: with y what was known and y' what is known now,

    p(theta_k | y')  in proportion to  p(theta_k | y) p(y' | theta_k) / p(y | theta_k),

by log evidences that conditioning finds in any case. Or they move first, all by the same offset in the coordinates of
learning, to where steps on the evidence of the heaviest lead (`learning.following`): then theta_k + offset is a draw
of the proposal that has moved along, and its weight grows by the priors' ratio too.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hypergauss import parameters
from hypergauss.estimators.averaging import heaviest_of
from hypergauss.estimators.growth import Growth
from hypergauss.estimators.latent_task import LatentTask, kind_of
from hypergauss.estimators.tasks import How
from hypergauss.estimators.uncertainty import HyperparameterPosterior
from hypergauss.inference.coupled_propagation import CoupledPropagation
from hypergauss.inference.latent_model import LatentModel
from hypergauss.inference.latents import GaussianLatents
from hypergauss.inference.mixtures import MixedLatents, MixedPosterior, components, heaviest
from hypergauss.inference.site_objective import SiteObjective
from hypergauss.kernels import Kernel
from hypergauss.learning.curvature import curvature_at
from hypergauss.learning.following import ENOUGH, followed
from hypergauss.learning.objective import Objective
from hypergauss.learning.priors import LogNormal, log_prior, match_priors
from hypergauss.learning.search import Penalised
from hypergauss.solvers.base import Posterior, Prior, Solver
from hypergauss.solvers.choose import Choice, solver_for
from hypergauss.solvers.sites import NaturalSites, Observations

#: Solvers that "auto" chooses again for another number of observations.
_EXACT = ("dense", "low-rank")
#: The share of its precision that a site keeps at least where others have lost theirs.
_LEAST_KEPT = 0.3
#: The share of the lightest values that are left out before the others move: without them predictions of newcomers on
#: six streams were as near to those of fitting anew.
_DISPENSABLE = 0.2
#: Sites settle to so much of the gain that a step of the hyperparameters is taken for.
_TENTH = 0.1
#: Nothing is learned.
HELD = How("auto", None, {}, {}, False, 1, 0, 0, None)


class Labelled(NamedTuple):
    """Latent functions given all labels, the approximate log evidence of the heaviest component, and its model.

    ``gain`` is what its hyperparameters have gained in log prior, where they moved.
    """

    posterior: GaussianLatents | MixedLatents
    log_evidence: float
    model: LatentModel
    gain: float = 0.0


class Moving:
    """How values of the hyperparameters move together: as far as the first of them finds that it should.

    Parameters
    ----------
    how : How
        With the priors.
    covariance : array, shape (p, p), or None
        Of the coordinates, given what was known before; found where it is None.
    """

    def __init__(self, how: How, covariance: np.ndarray | None) -> None:
        self.how, self.covariance = how, covariance
        self.offset: np.ndarray | None = None
        self._priors: dict[str, LogNormal] = {}

    def uncertainty(self, model: LatentModel) -> HyperparameterPosterior:
        """Return how far hyperparameters may be from a mode that has moved: the spread stays."""
        assert self.covariance is not None, "found before anything moves"
        return HyperparameterPosterior.of_covariance(model, self.covariance, self._priors)

    def moved(self, task: LatentTask, objective: SiteObjective, model: LatentModel) -> tuple[LatentModel, float]:
        """Return a model elsewhere, and what its hyperparameters have gained in log prior."""
        theta, limits = parameters.pack(model), parameters.bounds(model)
        priors = self._priors = task.priors_for(model)
        if self.offset is None:
            objective.tolerance = _TENTH * ENOUGH / objective.num_observations
            assert self.covariance is not None, "found before anything moves"
            self.offset = followed(Penalised(objective, model, priors), theta, self.covariance, limits) - theta
        there = self.at_offset(model)
        matched = match_priors(model, priors)
        return there, log_prior(there, matched) - log_prior(model, matched)

    def at_offset(self, model: LatentModel) -> LatentModel:
        """Return a model moved by the offset, within the ranges of its coordinates."""
        assert self.offset is not None, "the heaviest component comes first"
        limits = parameters.bounds(model)
        return parameters.unpack(model, np.clip(parameters.pack(model) + self.offset, limits[:, 0], limits[:, 1]))


def measured_again(
    posterior: Posterior | MixedPosterior,
    growth: Growth,
    before: Observations,
    now: Observations,
    *,
    asked: Choice,
    reweigh: bool,
) -> Posterior | MixedPosterior:
    """Return the posterior given measurements on the grown vertices.

    Parameters
    ----------
    posterior : Posterior or MixedPosterior
        Given those before.
    growth : Growth
        Of the vertices.
    before, now : Observations
        On the old vertices, and on the new ones.
    asked : str or Iterative
        The estimator's solver.
    reweigh : bool
        Whether hyperparameters are weighed anew.
    """
    found = []
    for _, part in components(posterior):
        prior, _, solver, inducing = part.conditioned_on()
        noise = 0.0 if before.known_variance is not None else float(part.sites.variance[0] * before.counts[0])
        kernel = growth.kernel(prior.kernel)
        prepared = _solver(growth, kernel, now.rows, solver, inducing, asked)
        found.append(prepared.resumed(Prior(kernel, prior.mean), now.sites(noise), part, growth.moved))
    if isinstance(posterior, MixedPosterior):
        weights = posterior.weights
        if reweigh:
            evidences = (np.array([part.log_evidence for part in parts]) for parts in (found, posterior.components))
            kept, weights = _weighed_anew(weights, *evidences)
            found = [found[at] for at in kept]
        return MixedPosterior(tuple(found), weights, found[0].log_evidence)
    return found[0]


def labelled_again(
    posterior: GaussianLatents | MixedLatents,
    growth: Growth,
    rows: np.ndarray,
    codes: np.ndarray,
    *,
    inference: str,
    asked: Choice,
    reweigh: bool,
    moving: Moving | None = None,
) -> Labelled:
    """Return the latent functions given labels on the grown vertices.

    Parameters
    ----------
    posterior : GaussianLatents or MixedLatents
        Given the labels before.
    growth : Growth
        Of the vertices.
    rows, codes : arrays, shape (n,)
        All labelled vertices by index, those from before first and in their order, and their classes.
    inference : {"ep", "variational", "laplace", "one-hot"}
        How the posterior was found.
    asked : str or Iterative
        The estimator's solver.
    reweigh : bool
        Whether hyperparameters are weighed anew.
    moving : Moving, optional
        Moves them before that.
    """
    if moving is not None:
        if isinstance(posterior, MixedLatents):
            posterior = _without_lightest(posterior)
        if moving.covariance is None:
            moving.covariance = _covariance_before(heaviest(posterior), codes, inference, moving.how)
    found, ahead = [], None
    for _, part in components(posterior):
        settled, ahead = _settled(part, growth, rows, codes, inference, asked, ahead, moving)
        found.append(settled)
    if isinstance(posterior, MixedLatents):
        weights, evidences = posterior.weights, np.array([each.log_evidence for each in found])
        if reweigh:
            if posterior.log_evidences is None:
                raise ValueError(
                    "A model must know the log evidences of what it averages to be weighed anew. Got one from a file "
                    "of an earlier version. Fit again, or update with `reweigh=False`."
                )
            gains = np.array([each.gain for each in found])
            kept, weights = _weighed_anew(weights, evidences + gains, posterior.log_evidences)
            found, evidences = [found[at] for at in kept], evidences[kept]
        parts = tuple(each.posterior for each in found)
        return found[0]._replace(posterior=MixedLatents(parts, weights, evidences))
    return found[0]


def _weighed_anew(weights: np.ndarray, now: np.ndarray, before: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return which values to keep, the heaviest first, and their weights, from log evidences now and before."""
    logs = np.log(weights) + now - before
    return heaviest_of(np.exp(logs - logs.max()))


def _without_lightest(posterior: MixedLatents) -> MixedLatents:
    """Return what is averaged without the values that are not worth moving."""
    kept, weights = heaviest_of(posterior.weights, _DISPENSABLE)
    parts = tuple(posterior.components[at] for at in kept)
    evidences = posterior.log_evidences
    return MixedLatents(parts, weights, None if evidences is None else evidences[kept])


def _settled(
    latents: GaussianLatents,
    growth: Growth,
    rows: np.ndarray,
    codes: np.ndarray,
    inference: str,
    asked: Choice,
    ahead: NaturalSites | None,
    moving: Moving | None,
) -> tuple[Any, NaturalSites]:
    """Return latents whose sites have settled again, and how far the sites have moved.

    Sites at other hyperparameters move much alike: those of one component go ahead as those of the last one went.
    """
    prior, _, solver, inducing = latents.posteriors[0].conditioned_on()
    kernel = growth.kernel(prior.kernel)
    prepared = _solver(growth, kernel, rows, solver, inducing, asked)
    how, gain = HELD if moving is None else moving.how, 0.0
    task, model, start = _task(latents, kernel, rows, codes, inference, how)
    objective = task.objective(prepared, model, start if ahead is None else _moved(start, ahead))
    is_exact = isinstance(objective, SiteObjective)
    if moving is not None:
        model, gain = moving.moved(task, _with_slopes(objective, prepared), model)
    if isinstance(objective, SiteObjective):
        objective.tolerance = objective.tight
    sites, *_, value = objective.settle(model)  # type: ignore[attr-defined]
    log_evidence = float(value) if is_exact else float("nan")
    found = Labelled(task.conditioned(model, sites, prepared, objective), log_evidence, model, gain)
    return found, NaturalSites(*(there - here for there, here in zip(sites, start, strict=True)))


def _covariance_before(latents: GaussianLatents, codes: np.ndarray, inference: str, how: How) -> np.ndarray:
    """Return the covariance of the hyperparameters' coordinates around where they are, given labels from before."""
    prior, sites, solver, inducing = latents.posteriors[0].conditioned_on()
    prepared = solver_for(prior.kernel, sites.rows, solver, inducing)
    task, model, start = _task(latents, prior.kernel, sites.rows, codes[: len(sites.rows)], inference, how)
    objective = _with_slopes(task.objective(prepared, model, start), prepared)
    evaluate = Penalised(objective, model, task.priors_for(model))
    found = curvature_at(evaluate, parameters.pack(model), parameters.bounds(model), widest=task.widest)
    return found.standard_covariance()


def _task(
    latents: GaussianLatents, kernel: Kernel, rows: np.ndarray, codes: np.ndarray, inference: str, how: How
) -> tuple[LatentTask, LatentModel, NaturalSites]:
    """Return what is to be settled, at the hyperparameters that there are, and the sites to begin with."""
    mean = np.concatenate([part.prior.mean for part in latents.posteriors])
    task = LatentTask(latents.likelihood, rows, codes, inference=inference, batch_size=None, how=how)
    model = parameters.with_value(task.model(kernel), ("mean",), mean)
    return task, model, _start(latents, mean, codes, kind_of(latents.likelihood, inference))


def _with_slopes(objective: Objective, solver: Solver) -> SiteObjective:
    """Return an objective whose slopes are exact, or refuse it."""
    if not isinstance(objective, SiteObjective):
        raise ValueError(
            "Hyperparameters move by exact slopes of the evidence, and this solver estimates it. Got `relearn=True` "
            f"with the {solver.name} solver. Leave it out, or fit again."
        )
    return objective


def _moved(sites: NaturalSites, by: NaturalSites) -> NaturalSites:
    """Return sites elsewhere, with precisions that keep a part of what they are at least."""
    precision = np.maximum(sites.precision + by.precision, _LEAST_KEPT * sites.precision)
    return NaturalSites(sites.shift + by.shift, precision)


def _start(latents: GaussianLatents, mean: np.ndarray, codes: np.ndarray, kind: str) -> NaturalSites:
    """Return the sites that had settled, and as many more as there are new labels, which say nothing yet."""
    given = [part.sites for part in latents.posteriors]
    precision = np.stack([1.0 / sites.variance for sites in given], axis=1)
    settled = NaturalSites(np.hstack([sites.mean for sites in given]) * precision, precision)
    known, further = codes[: len(precision)], codes[len(precision) :]
    empty = NaturalSites.empty(len(further), len(given))
    if kind == "coupled":
        settled = CoupledPropagation.joined(settled, mean, known)
        own = further[:, None] == np.arange(len(given))
        empty = NaturalSites(empty.shift, own.astype(np.float64))
    return NaturalSites(*(np.vstack(pair) for pair in zip(settled, empty, strict=True)))


def _solver(growth: Growth, kernel: Any, rows: np.ndarray, used: Choice, inducing: Any, asked: Choice) -> Solver:
    """Return the solver that was used, or what "auto" takes for another number of observations."""
    chosen = "auto" if asked == "auto" and used in _EXACT else used
    return solver_for(kernel, rows, chosen, growth.inducing(inducing, kernel))
