r"""Draws of hyperparameters where the function integrates out: from p(theta | y), by its height alone.

With a Gaussian likelihood the log evidence is exact, and h(theta) = log p(y | theta) + log p(theta), with its gradient,
is all that is needed. Around a mode c with a covariance R R' near the posterior's, theta = c + R z is roughly standard
normal in z. There Hamiltonian Monte Carlo (Neal, 2011) draws a momentum, follows it some leapfrog steps uphill and down
along the gradient, and accepts where that leads with the probability that makes up for the error of the steps:
distant draws, exact whatever R is. R comes from the curvature at the mode; a first run of the chains, which is thrown
away, then puts c and R where the posterior really is, and sets the size of steps.

A coordinate with a range [a, b] is drawn as u, theta = a + (b - a) / (1 + exp(-u)), which knows no end: its height is
h plus log |d theta / d u|, smooth everywhere, also where the posterior is highest at the end of the range. All that is
said of theta above is done with u.

Several modes k, one for each size exponent, are visited by Metropolis steps that keep z: u moves from c_k + R z to
c_l + R z, which changes no volume, and is accepted with probability min(1, exp(h_l - h_k)).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hypergauss import _checks
from hypergauss.exceptions import NumericalError, SamplingWarning
from hypergauss.inference.mcmc.ranges import Ranges

if TYPE_CHECKING:
    from arviz import InferenceData

#: Steps in whitened coordinates to begin with, the most of a trajectory, and the share of them to be accepted.
_STEP, _LEAPS, _ACCEPTANCE = 0.3, 8, 0.75
#: Draws for each coordinate from which a covariance can be told.
_ENOUGH = 5
#: The R-hat above which chains disagree.
_DISAGREE = 1.05

#: From coordinates to objective plus log prior, minus infinity where there is none, and its gradient.
Height = Callable[[np.ndarray], tuple[float, np.ndarray]]


@dataclass(frozen=True, eq=False)
class HyperparameterDraws:
    """Draws from the posterior of hyperparameters, the function integrated out.

    Attributes
    ----------
    coordinates : array, shape (chains, draws, p)
        On the scale on which they are learned: logarithms of positive ones.
    hyperparameters : dict of name to array, shape (chains, draws, ...)
        In their own units; with ``size_exponent`` where it was learned.
    log_posterior : array, shape (chains, draws)
        Log evidence plus log prior of the scaled target, up to a constant.
    """

    coordinates: np.ndarray
    hyperparameters: dict[str, np.ndarray]
    log_posterior: np.ndarray

    def inference_data(self) -> InferenceData:
        """Return the draws as ArviZ's ``InferenceData``, for `arviz.summary`, `arviz.ess` and plots."""
        arviz = _checks.optional("arviz", "mcmc")
        return arviz.from_dict(posterior=self.hyperparameters, sample_stats={"lp": self.log_posterior})


class Drawn(NamedTuple):
    """Coordinates, shape (chains, draws, p), the number of the mode of each, and its height, shape (chains, draws)."""

    coordinates: np.ndarray
    modes: np.ndarray
    heights: np.ndarray


class _State(NamedTuple):
    """A point: its mode, z, u, theta and h there, and the height in u with its gradient in z."""

    mode: int
    z: np.ndarray
    u: np.ndarray
    theta: np.ndarray
    log_posterior: float
    height: float
    gradient: np.ndarray


def sample_hyperparameters(
    heights: Sequence[Height],
    centres: np.ndarray,
    covariance: np.ndarray,
    limits: np.ndarray,
    *,
    chains: int = 4,
    draws: int = 300,
    warm_up: int = 100,
    thin: int = 1,
    most_times: int = 4,
    seed: int = 0,
    report: Callable[[str], None] | None = None,
) -> Drawn:
    """Draw from the posterior of hyperparameters around one mode or several.

    Parameters
    ----------
    heights : sequence of callable
        h of each mode and its gradient, from coordinates (p,); log priors of the modes themselves included.
    centres : array, shape (k, p)
        The modes.
    covariance : array, shape (p, p)
        Near the posterior's around each of them, of full rank.
    limits : array, shape (p, 2)
        The range of each coordinate.
    chains, draws, warm_up, thin : int
        Chains, draws kept of each, draws thrown away at its start (from which c and R are found, and half as many
        again), and trajectories for each draw.
    most_times : int
        Chains that disagree after so many draws go on, up to so many times as long; then there is a warning.
    seed : int
        Of the pseudo-random numbers.
    report : callable, optional
        Called with a line of text after each draw.

    Examples
    --------
    >>> wide = np.array([[-9.0, 9.0]])
    >>> normal = lambda x: (-8 * x[0] ** 2, -16 * x)
    >>> found = sample_hyperparameters([normal], np.zeros((1, 1)), np.eye(1), wide, draws=500)
    >>> bool(abs(found.coordinates.std() - 0.25) < 0.02)
    True
    """
    generators = np.random.default_rng(seed).spawn(chains)
    problem = _Problem.around(heights, centres, covariance, Ranges(limits))
    steps = _STEP
    pilots = []
    for rng in generators:
        pilot, steps = problem.chain(problem.start(rng), rng, warm_up, thin, steps, report, adapts=True)
        pilots.append(pilot)
    problem = problem.adapted([state for pilot in pilots for state in pilot[len(pilot) // 3 :]])
    chains_so_far: list[list[_State]] = []
    sizes = []
    for pilot, rng in zip(pilots, generators, strict=True):
        last = problem.at(pilot[-1]) if pilot else problem.start(rng)
        again, own = problem.chain(last, rng, warm_up // 2, thin, steps, report, adapts=True)
        chains_so_far.append([again[-1] if again else last])
        sizes.append(own)
    for _ in range(most_times):
        for chain, rng, own in zip(chains_so_far, generators, sizes, strict=True):
            chain += problem.chain(chain[-1], rng, draws, thin, own, report)[0]
        found = _drawn([chain[1:] for chain in chains_so_far])  # the first is where warming up ended
        worst = max((split_r_hat(column) for column in np.moveaxis(found.coordinates, -1, 0)), default=1.0)
        if worst <= _DISAGREE:
            break
    if worst > _DISAGREE:
        warnings.warn(
            f"The chains disagree (R-hat {worst:.2f}): hyperparameters are not drawn well. Likely cause: data that "
            "leave several explanations apart from one another; narrow them with `priors`.",
            SamplingWarning,
            stacklevel=2,
        )
    return found


def _drawn(chains: Sequence[Sequence[_State]]) -> Drawn:
    return Drawn(
        np.array([[state.theta for state in chain] for chain in chains]),
        np.array([[state.mode for state in chain] for chain in chains]),
        np.array([[state.log_posterior for state in chain] for chain in chains]),
    )


class _Problem:
    """Heights in whitened coordinates z, u = c + R z around each of some centres c."""

    def __init__(self, heights: Sequence[Height], centres: np.ndarray, covariance: np.ndarray, ranges: Ranges) -> None:
        self.heights, self.centres, self.covariance, self.ranges = heights, centres, covariance, ranges
        self.root = np.linalg.cholesky(covariance)

    @classmethod
    def around(cls, heights: Sequence[Height], modes: np.ndarray, covariance: np.ndarray, ranges: Ranges) -> _Problem:
        """Return the problem for modes and a covariance of theta."""
        centres = ranges.free(modes)
        slope = ranges.slope(centres.mean(axis=0))
        return cls(heights, centres, covariance / np.outer(slope, slope), ranges)

    def state(self, mode: int, z: np.ndarray) -> _State:
        """Return the point of a mode at z."""
        u = self.centres[mode] + self.root @ z
        theta = self.ranges.inside(u)
        value, gradient = self.heights[mode](theta)
        in_u = self.ranges.slope(u) * gradient + self.ranges.log_volume_slope(u)
        return _State(mode, z, u, theta, value, value + self.ranges.log_volume(u), self.root.T @ in_u)

    def at(self, state: _State) -> _State:
        """Return the point of the same coordinates, though centre and root may be others."""
        return self.state(state.mode, np.linalg.solve(self.root, state.u - self.centres[state.mode]))

    def start(self, rng: np.random.Generator) -> _State:
        """Return a point away from a mode where there is one, else a mode."""
        modes, z = rng.permutation(len(self.heights)), rng.standard_normal(len(self.root))
        for mode in modes.tolist():
            for scale in (1.0, 0.0):
                state = self.state(mode, scale * z)
                if np.isfinite(state.height):
                    return state
        raise NumericalError(
            "The log evidence is not finite at the mode. Likely causes: targets of a very different size from the "
            "kernel's variance, or starting values at the edge of their range."
        )

    def adapted(self, states: Sequence[_State]) -> _Problem:
        """Return the same with centres and covariance of draws, as far as they are enough to tell."""
        size = len(self.root)
        if len(states) < _ENOUGH * size:
            return self
        away = np.stack([state.u - self.centres[state.mode] for state in states])
        # A few draws' worth of the first covariance keeps it well-conditioned.
        share = size / (len(states) + size)
        covariance = (1 - share) * np.atleast_2d(np.cov(away.T)) + share * self.covariance
        return _Problem(self.heights, self.centres + away.mean(axis=0), covariance, self.ranges)

    def chain(
        self,
        state: _State,
        rng: np.random.Generator,
        draws: int,
        thin: int,
        step: float,
        report: Callable[[str], None] | None,
        *,
        adapts: bool = False,
    ) -> tuple[list[_State], float]:
        """Return some draws of one chain after a point, and the size of steps, which may adapt.

        What is returned of steps that adapt is their geometric mean, the earlier half left out, since each of them
        follows its own luck (Nesterov's averaging in Hoffman and Gelman, 2014).
        """
        kept, steps = [], []
        for number in range(draws):
            for _ in range(thin):
                state, accepted = self.turn(state, step, rng)
                if adapts:  # towards the acceptance that costs least a distant draw (Beskos et al., 2013)
                    step *= float(np.exp((accepted - _ACCEPTANCE) / np.sqrt(number + 4)))
                    steps.append(step)
            state = self.move(state, rng)
            kept.append(state)
            if report is not None:
                report(f"{number + 1:,} of {draws:,} draws of a chain")
        return kept, float(np.exp(np.mean(np.log(steps[len(steps) // 2 :])))) if steps else step

    def turn(self, state: _State, step: float, rng: np.random.Generator) -> tuple[_State, float]:
        """Follow a trajectory within a mode; return where it led to, and the probability of accepting that."""
        momentum = rng.standard_normal(state.z.shape)
        energy = state.height - momentum @ momentum / 2
        size, count = step * rng.uniform(0.7, 1.3), int(rng.integers(_LEAPS // 2, _LEAPS + 1))
        there, p = state, momentum
        for _ in range(count):
            p = p + size / 2 * there.gradient
            there = self.state(state.mode, there.z + size * p)
            if not np.isfinite(there.height):
                return state, 0.0
            p = p + size / 2 * there.gradient
        gain = float(there.height - p @ p / 2 - energy)
        is_taken = -rng.standard_exponential() < gain
        return (there if is_taken else state), float(np.exp(min(gain, 0.0)))

    def move(self, state: _State, rng: np.random.Generator) -> _State:
        """Offer another mode, at the same place relative to it."""
        if len(self.heights) == 1:
            return state
        mode = int(rng.integers(len(self.heights) - 1))
        there = self.state(mode + (mode >= state.mode), state.z)
        return there if -rng.standard_exponential() < there.height - state.height else state


def split_r_hat(draws: np.ndarray) -> float:
    """Return R-hat of draws of one number, shape (chains, draws), each chain split in two: 1 where they agree."""
    half = draws.shape[1] // 2
    if half < 2:
        return 1.0
    parts = np.concatenate([draws[:, :half], draws[:, -half:]])
    within = parts.var(axis=1, ddof=1).mean()
    between = half * parts.mean(axis=1).var(ddof=1)
    return float(np.sqrt(((half - 1) / half * within + between / half) / within)) if within > 0 else 1.0
