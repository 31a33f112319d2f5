"""Chains run side by side: progress, interrupts, and what each of them keeps."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from hypergauss import _checks
from hypergauss.exceptions import SamplingWarning
from hypergauss.factorisation import gibbs
from hypergauss.factorisation.checkpoints import Chain, Checkpoint, Schedule
from hypergauss.factorisation.double_precision import carried
from hypergauss.factorisation.predictive import Kept, as_kept
from hypergauss.factorisation.row_priors import smooth_part

#: Chains agree if no R-hat is larger, and are compared after so many draws.
MOST_RHAT, BLOCK = 1.05, 25


def sample(
    problem: gibbs.Problem,
    schedule: Schedule,
    seed: np.random.SeedSequence,
    *,
    n_jobs: int,
    checkpoint: Checkpoint | None,
    report: Callable[[int, int], None] | None,
    disagreement: Callable[[list[Kept]], float],
) -> list[Kept]:
    """Run all chains, or go on with those of a checkpoint, and return what each has kept.

    Where the schedule has blocks, the run ends as soon as the disagreement of what is kept, the worst R-hat, is at most
    `MOST_RHAT`; a warning says so if it never is.

    An interrupt (Ctrl-C) ends the run; draws made so far are returned, with a warning, and written to the checkpoint.
    """
    resumed = None if checkpoint is None else checkpoint.read(problem, schedule)
    done, chains = resumed or _begin(problem, schedule, seed)
    try:
        with ThreadPoolExecutor(n_jobs) as pool:
            for number in range(done, schedule.sweeps):
                if schedule.is_compared(number) and disagreement(_kept(chains)) <= MOST_RHAT:
                    break
                keep = number >= schedule.warm_up and (number - schedule.warm_up + 1) % schedule.thin == 0
                stepped = list(pool.map(lambda chain: _advance(problem, chain), chains))
                for chain, state in zip(chains, stepped, strict=True):
                    chain.state = state
                    if keep:
                        chain.kept.append(_record(problem, state))
                done = number + 1
                if checkpoint is not None and (done % checkpoint.every == 0 or done == schedule.sweeps):
                    checkpoint.write(schedule, done, chains)
                if report is not None:
                    report(done, schedule.sweeps)
            else:
                _check_agreement(schedule, disagreement, chains)
    except KeyboardInterrupt:
        if not chains[0].kept:
            raise
        warnings.warn(
            f"Interrupted: {len(chains[0].kept):,} of {schedule.draws:,} draws in each chain are used"
            + (f"; {checkpoint.path} holds the last checkpoint." if checkpoint is not None else "."),
            SamplingWarning,
            stacklevel=3,
        )
    return [as_kept(chain.kept[: schedule.draws]) for chain in chains]


def _kept(chains: list[Chain]) -> list[Kept]:
    return [as_kept(chain.kept) for chain in chains]


def _check_agreement(schedule: Schedule, disagreement: Callable[[list[Kept]], float], chains: list[Chain]) -> None:
    """Warn if chains that could have stopped early disagree at the end."""
    if schedule.block is None:
        return
    worst = disagreement(_kept(chains))
    if worst > MOST_RHAT:
        warnings.warn(
            f"The {schedule.chains} chains disagree after {schedule.draws:,} draws each: the worst R-hat is "
            f"{worst:.3f}, more than {MOST_RHAT:g}. Let them run on (`max_draws`), or see by `inference_data()` on "
            "what they disagree.",
            SamplingWarning,
            stacklevel=4,
        )


def _advance(problem: gibbs.Problem, chain: Chain) -> gibbs.State:
    return carried(gibbs.sweep, problem, chain.state, chain.rng)


def _begin(problem: gibbs.Problem, schedule: Schedule, seed: np.random.SeedSequence) -> tuple[int, list[Chain]]:
    chains = []
    for child in seed.spawn(schedule.chains):
        rng = np.random.Generator(np.random.PCG64(child))
        chains.append(Chain(gibbs.start(problem, rng), rng, []))
    return 0, chains


def _record(problem: gibbs.Problem, state: gibbs.State) -> dict[str, np.ndarray]:
    """Return what is kept of a state."""
    users, items = problem.factors(state)
    parts = zip(problem.sides, state.coordinates, state.hyper, strict=True)
    of_users, of_items = (smooth_part(side, x, hyper) for side, x, hyper in parts)
    is_drawn = np.isin(np.arange(users.shape[1]), problem.free)
    grids = [side.modes.grid for side in problem.sides]
    return {
        "users": users.astype(np.float32),
        "items": items.astype(np.float32),
        "lone_users": is_drawn * problem.sides[0].lone_variances(state.hyper[0]),
        "lone_items": is_drawn * problem.sides[1].lone_variances(state.hyper[1]),
        "mean": np.asarray(state.mean),
        "noise_variance": np.asarray(1.0 / state.precision),
        "thresholds": np.zeros(0) if state.cuts is None else state.cuts.thresholds,
        "nu": np.stack([grid.nu[hyper.point] for grid, hyper in zip(grids, state.hyper, strict=True)]),
        "lengthscale": np.stack([grid.lengthscale[h.point] for grid, h in zip(grids, state.hyper, strict=True)]),
        "variance": np.stack([hyper.expansion**2 * hyper.variance for hyper in state.hyper]),
        "user_weights": state.hyper[0].weights,
        "item_weights": state.hyper[1].weights,
        "user_smooth": of_users.weights,
        "item_smooth": of_items.weights,
        "user_slack": is_drawn * of_users.slack,
        "item_slack": is_drawn * of_items.slack,
        "user_noise": (1.0 / state.noise[0].each).astype(np.float32),
        "item_noise": (1.0 / state.noise[1].each).astype(np.float32),
        "lone_noise": np.array([noise.lone_variance for noise in state.noise]),
        "moods": state.moods.each.astype(np.float32),
        "mood_variance": np.asarray(state.moods.variance),
    }


def check_schedule(chains: int, warm_up: int, draws: int | str, thin: int, max_draws: int) -> Schedule:
    """Check the numbers of a run."""
    automatic = isinstance(draws, str)
    if isinstance(draws, str):
        _checks.one_of("draws", draws, ("auto",))
    most = _checks.count("max_draws", max_draws)
    return Schedule(
        _checks.count("chains", chains),
        _checks.count("warm_up", warm_up, least=0),
        most if automatic else _checks.count("draws", draws),
        _checks.count("thin", thin),
        BLOCK if automatic else None,
    )
