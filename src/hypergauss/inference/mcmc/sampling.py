r"""Markov chain Monte Carlo: latents and hyperparameters drawn together by elliptical slice sampling.

A model in whitened coordinates u (hyperparameters) and z (latents) is a likelihood of independent standard normals.
An elliptical slice step (Murray, Adams and MacKay, 2010) from x draws nu ~ N(0, I) and a level below the likelihood
of x, and shrinks a bracket of angles until

    x' = x cos(a) + nu sin(a)

lies above the level. It leaves the posterior as it is, has nothing to tune and asks for no gradient, so that it serves
every likelihood. One sweep is a step on u given z, where the latents f = m + L(theta) z move along with theta, and
several on z given u.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from math import cos, pi, sin
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
import pandas as pd

from hypergauss import _checks
from hypergauss.exceptions import NumericalError, SamplingWarning
from hypergauss.inference.latent_model import LatentModel
from hypergauss.inference.mcmc.draws import Draws
from hypergauss.inference.mcmc.whitened import Hyperprior, Point, WhitenedModel
from hypergauss.learning.priors import LogNormal
from hypergauss.likelihoods import Classification

#: Each sweep factorises a few n x n covariances, a second or two at this n.
_MOST_VERTICES = 2000


class _Valued(Protocol):
    """Anything with a log-likelihood."""

    @property
    def value(self) -> float: ...


Found = TypeVar("Found", bound=_Valued)


class Turned(NamedTuple):
    """Latents on an ellipse: the angle, f - m there, and its log-likelihood."""

    angle: float
    away: np.ndarray
    value: float


class Record(NamedTuple):
    """What is kept of a draw: u, the latents f and log p(y | f) of each observation."""

    u: np.ndarray
    latents: np.ndarray
    log_densities: np.ndarray


def sample_posterior(
    model: LatentModel,
    rows: np.ndarray,
    y: np.ndarray,
    *,
    priors: Mapping[str, LogNormal] | None = None,
    chains: int = 4,
    draws: int = 1000,
    warm_up: int = 200,
    thin: int = 10,
    latent_steps: int = 5,
    seed: int = 0,
    report: Callable[[str], None] | None = None,
) -> Draws:
    """Draw from p(f, theta | y), exact up to Monte Carlo error: the standard to hold approximations against.

    Chains start at draws of the prior. Read R-hat and effective sample sizes from
    ``arviz.summary(draws.inference_data())`` before using the draws; if R-hat exceeds 1.01, raise ``thin``.
    Covariances are dense, O(n^3) a step: meant for hundreds of observed vertices, at most 2,000.

    Parameters
    ----------
    model : LatentModel
        Kernel, likelihood and constant means. What their ``fixed`` names is not drawn.
    rows : array of int, shape (m,)
        The vertex of each observation, by index.
    y : array, shape (m,)
        The observations; labels 0, 1, ..., C - 1 for classes.
    priors : dict of name to LogNormal, optional
        Names as `parameters.values` lists them, or their last part. Without one, a positive hyperparameter is
        log-normal with its current value as median and spread 1; one that may be negative is normal around its
        current value with standard deviation 2.
    chains, draws : int
        How many chains, and how many draws to keep of each.
    warm_up : int
        How many draws to throw away at the start of each chain, thinned as the others.
    thin : int
        Sweeps for each draw.
    latent_steps : int
        Steps on the latents in each sweep.
    seed : int
        Of the pseudo-random numbers; the same seed gives the same draws.
    report : callable, optional
        Called with a line of text after each draw. An interrupt (Ctrl-C) takes effect there; draws kept so far are
        returned, with a warning.

    Examples
    --------
    >>> import numpy as np
    >>> from hypergauss import Hypergraph, Spectrum, kernels, likelihoods
    >>> from hypergauss.inference.latent_model import LatentModel
    >>> H = Hypergraph.from_edges([["a", "b"], ["b", "c"]])
    >>> model = LatentModel(kernels.Matern(Spectrum.of(H)), likelihoods.Bernoulli(), np.zeros(1))
    >>> drawn = sample_posterior(model, np.array([0]), np.array([1]), chains=2, draws=50, warm_up=20, thin=1)
    >>> drawn.latents.shape, sorted(drawn.hyperparameters)
    ((2, 50, 1, 1), ['lengthscale', 'mean', 'nu', 'variance'])
    """
    for name, value in {"chains": chains, "draws": draws, "thin": thin, "latent_steps": latent_steps}.items():
        _checks.count(name, value)
    _checks.count("warm_up", warm_up, least=0)
    vertices, whitened = _check_problem(model, rows, y, priors)
    generators = np.random.default_rng(seed).spawn(chains)
    points = [_start(whitened, len(vertices), rng) for rng in generators]
    kept: list[list[Record]] = []
    total = warm_up + draws
    try:
        for number in range(total):
            points = [_draw(whitened, *of, thin, latent_steps) for of in zip(points, generators, strict=True)]
            if number >= warm_up:
                kept.append([Record(p.u, p.latents, whitened.log_densities(p.model, p.latents)) for p in points])
            if report is not None:
                report(f"{number + 1:,} of {total:,} draws in each chain, the first {warm_up:,} to warm up")
    except KeyboardInterrupt:
        if not kept:
            raise
        warnings.warn(
            f"Interrupted: {len(kept):,} of {draws:,} draws in each chain are returned.", SamplingWarning, stacklevel=2
        )
    found = Record(*(np.stack([[getattr(r, of) for r in draw] for draw in kept], axis=1) for of in Record._fields))
    return Draws(vertices, found.latents, found.log_densities, found.u, whitened)


def _check_problem(
    model: LatentModel, rows: np.ndarray, y: np.ndarray, priors: Mapping[str, LogNormal] | None
) -> tuple[np.ndarray, WhitenedModel]:
    """Return the observed vertices, each once, and the model with its observations."""
    checked = model.kernel.check_rows("rows", rows)
    targets = _checks.finite_array("y", y, missing="Leave unobserved vertices out: they are what is predicted.")
    if targets.ndim != 1 or len(targets) == 0:
        raise ValueError(f"`y` must have shape (m,), one entry or more. Got shape {targets.shape}.")
    _checks.same_length("rows", len(checked), "y", len(targets))
    if isinstance(model.likelihood, Classification):
        bad = targets[~np.isin(targets, np.arange(model.likelihood.num_classes))]
        if len(bad):
            raise ValueError(
                f"`y` must hold labels 0..{model.likelihood.num_classes - 1}. Got {bad[0]:g}"
                f"{_checks.others(len(bad) - 1)}. Number the classes from 0."
            )
    position, vertices = pd.factorize(checked)
    if len(vertices) > _MOST_VERTICES:
        raise ValueError(
            f"Sampling factorises dense covariances, of at most {_MOST_VERTICES:,} observed vertices. "
            f"Got {len(vertices):,}. Observe fewer, or use variational inference."
        )
    inputs = model.kernel.inputs(vertices)
    return vertices, WhitenedModel(Hyperprior.of(model, priors), inputs, position, targets)


def _start(whitened: WhitenedModel, num_vertices: int, rng: np.random.Generator) -> Point:
    """Draw from the prior, as far as its hyperparameters can be evaluated, else at the model's own."""
    hyperprior = whitened.hyperprior
    u = rng.standard_normal(hyperprior.num_coordinates)
    z = rng.standard_normal((num_vertices, hyperprior.template.likelihood.num_latents))
    for coordinates in (u, np.zeros_like(u)):
        with np.errstate(all="ignore"):
            point = whitened.point(coordinates, z)
        if np.isfinite(point.value):
            return point
    raise NumericalError(
        "The likelihood is not finite at the model's hyperparameters. Likely causes: hyperparameters outside their "
        "range, or observations that the likelihood cannot produce."
    )


def _draw(whitened: WhitenedModel, point: Point, rng: np.random.Generator, thin: int, latent_steps: int) -> Point:
    """Return a chain's next draw, some sweeps after the last."""
    with np.errstate(all="ignore"):  # whatever is not a number is refused
        for _ in range(thin):
            if point.u.size:
                point = _move_hyperparameters(whitened, point, rng)
            point = _move_latents(whitened, point, rng, latent_steps)
    return point


def _move_hyperparameters(whitened: WhitenedModel, point: Point, rng: np.random.Generator) -> Point:
    """Take one step on u, z held: the latents f = m + L(theta) z move along."""
    other = rng.standard_normal(point.u.shape)
    return elliptical_slice(
        point.value,
        lambda angle: whitened.point(point.u * cos(angle) + other * sin(angle), point.z, near=point),
        rng,
    )


def _move_latents(whitened: WhitenedModel, point: Point, rng: np.random.Generator, steps: int) -> Point:
    """Take some steps on z, u held. L z is linear in z, so that a step needs one product with L, whatever it tries."""
    model, z, value = point.model, point.z, point.value
    away = point.latents - model.mean
    for other in rng.standard_normal((steps, *z.shape)):
        ends = away, point.root @ other

        def at(angle: float, ends: tuple[np.ndarray, np.ndarray] = ends) -> Turned:
            there = ends[0] * cos(angle) + ends[1] * sin(angle)
            return Turned(angle, there, whitened.log_likelihood(model, model.mean + there))

        angle, away, value = elliptical_slice(value, at, rng)
        z = z * cos(angle) + other * sin(angle)
    return point._replace(z=z, latents=model.mean + away, value=value)


def elliptical_slice(value: float, at: Callable[[float], Found], rng: np.random.Generator) -> Found:
    """Return where an elliptical slice step leads to.

    Parameters
    ----------
    value : float
        The log-likelihood where the step begins, at the angle 0.
    at : callable
        From an angle to the point there on the ellipse through that beginning and an independent draw of the prior.
    rng : Generator
        For the level and the angles.
    """
    level = value - rng.standard_exponential()
    angle = 2 * pi * rng.random()
    low, high = angle - 2 * pi, angle
    while (found := at(angle)).value < level:
        low, high = (angle, high) if angle < 0 else (low, angle)
        angle = low + (high - low) * rng.random()
    return found
