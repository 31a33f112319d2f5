"""Chains run side by side: progress, interrupts, and checkpoints from which the very same draws follow."""

from __future__ import annotations

import json
import os
import warnings
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import BadZipFile

import numpy as np

from hypergauss import _checks
from hypergauss.exceptions import SamplingWarning
from hypergauss.factorisation import gibbs
from hypergauss.factorisation.draws import Kept, as_kept
from hypergauss.factorisation.spectral_prior import Hyperparameters
from hypergauss.factorisation.ordinal import Cuts

_FORMAT = 1


class Schedule(NamedTuple):
    """How long to run: chains, sweeps thrown away at first, draws kept of each chain, and sweeps for each draw."""

    chains: int
    warm_up: int
    draws: int
    thin: int

    @property
    def sweeps(self) -> int:
        """Of each chain in all."""
        return self.warm_up + self.draws * self.thin


class Checkpoint(NamedTuple):
    """Where to write the chains, how often, and what they belong to.

    Attributes
    ----------
    path : Path
        An npz file.
    every : int
        Sweeps between writing.
    fingerprint : str
        Of data and settings: a checkpoint of others is refused.
    """

    path: Path
    every: int
    fingerprint: str


class Chain:
    """One chain: its state, its generator and what it has kept."""

    def __init__(self, state: gibbs.State, rng: np.random.Generator, kept: list[dict[str, Any]]) -> None:
        self.state, self.rng, self.kept = state, rng, kept


def sample(
    problem: gibbs.Problem,
    schedule: Schedule,
    seed: np.random.SeedSequence,
    *,
    n_jobs: int,
    checkpoint: Checkpoint | None,
    report: Callable[[int, int], None] | None,
) -> list[Kept]:
    """Run all chains, or go on with those of a checkpoint, and return what each has kept.

    An interrupt (Ctrl-C) ends the run; draws made so far are returned, with a warning, and written to the checkpoint.
    """
    done, chains = _resume(problem, schedule, checkpoint) or _begin(problem, schedule, seed)
    try:
        with ThreadPoolExecutor(n_jobs) as pool:
            for number in range(done, schedule.sweeps):
                keep = number >= schedule.warm_up and (number - schedule.warm_up + 1) % schedule.thin == 0
                stepped = list(pool.map(lambda chain: _advance(problem, chain), chains))
                for chain, state in zip(chains, stepped, strict=True):
                    chain.state = state
                    if keep:
                        chain.kept.append(_record(problem, state))
                done = number + 1
                if checkpoint is not None and (done % checkpoint.every == 0 or done == schedule.sweeps):
                    write(checkpoint, schedule, done, chains)
                if report is not None:
                    report(done, schedule.sweeps)
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


def _advance(problem: gibbs.Problem, chain: Chain) -> gibbs.State:
    return gibbs.sweep(problem, chain.state, chain.rng)


def _begin(problem: gibbs.Problem, schedule: Schedule, seed: np.random.SeedSequence) -> tuple[int, list[Chain]]:
    chains = []
    for child in seed.spawn(schedule.chains):
        rng = np.random.Generator(np.random.PCG64(child))
        chains.append(Chain(gibbs.start(problem, rng), rng, []))
    return 0, chains


def _record(problem: gibbs.Problem, state: gibbs.State) -> dict[str, Any]:
    """Return what is kept of a state."""
    users, items = problem.factors(state)
    grids = [side.modes.grid for side in problem.sides]
    return {
        "users": users.astype(np.float32),
        "items": items.astype(np.float32),
        "lone_users": problem.sides[0].lone_variances(state.hyper[0]),
        "lone_items": problem.sides[1].lone_variances(state.hyper[1]),
        "mean": np.float64(state.mean),
        "noise_variance": np.float64(1.0 / state.precision),
        "thresholds": np.zeros(0) if state.cuts is None else state.cuts.thresholds,
        "nu": np.stack([grid.nu[hyper.point] for grid, hyper in zip(grids, state.hyper, strict=True)]),
        "lengthscale": np.stack([grid.lengthscale[h.point] for grid, h in zip(grids, state.hyper, strict=True)]),
        "variance": np.stack([hyper.expansion**2 * hyper.variance for hyper in state.hyper]),
        "user_weights": state.hyper[0].weights,
        "item_weights": state.hyper[1].weights,
    }


def write(checkpoint: Checkpoint, schedule: Schedule, done: int, chains: list[Chain]) -> None:
    """Write everything that the rest of the run depends on; an interrupt leaves the file before or after, whole."""
    arrays: dict[str, Any] = {}
    generators = []
    for number, chain in enumerate(chains):
        generators.append(chain.rng.bit_generator.state)
        arrays |= {f"{number}/state/{name}": value for name, value in _flat(chain.state).items()}
        arrays |= {f"{number}/kept/{name}": array for name, array in _stacked(chain.kept).items()}
    about = {
        "format": _FORMAT,
        "fingerprint": checkpoint.fingerprint,
        "done": done,
        "kept": len(chains[0].kept),
        "warm_up": schedule.warm_up,
        "thin": schedule.thin,
        "generators": generators,
    }
    partial = checkpoint.path.with_name(checkpoint.path.name + ".part")
    partial.parent.mkdir(parents=True, exist_ok=True)
    with partial.open("wb") as file:
        np.savez(file, about=np.array(json.dumps(about)), **arrays)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(checkpoint.path)


def _resume(
    problem: gibbs.Problem, schedule: Schedule, checkpoint: Checkpoint | None
) -> tuple[int, list[Chain]] | None:
    """Return sweeps done and chains as they were, or None if there is no checkpoint."""
    if checkpoint is None or not checkpoint.path.exists():
        return None
    try:
        with checkpoint.path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            arrays = dict(archive)
        about = json.loads(str(arrays.pop("about")))
        if about["format"] != _FORMAT:
            raise ValueError(f"its format is {about['format']}, not {_FORMAT}")
    except (BadZipFile, OSError, EOFError, KeyError, TypeError, ValueError, zlib.error) as error:
        raise ValueError(
            f"The checkpoint {checkpoint.path} cannot be read: {error}. It was cut short or changed; move it away to "
            "start anew."
        ) from error
    wanted = (checkpoint.fingerprint, schedule.warm_up, schedule.thin, schedule.chains)
    found = (about["fingerprint"], about["warm_up"], about["thin"], len(about["generators"]))
    if wanted != found:
        raise ValueError(
            f"The checkpoint {checkpoint.path} must belong to the same ratings and settings. It belongs to others: "
            "name another file, or move this one away. Only `draws` may grow."
        )
    chains = []
    for number, generator in enumerate(about["generators"]):
        rng = np.random.Generator(np.random.PCG64())
        rng.bit_generator.state = generator
        prefix = f"{number}/state/"
        state = _state({name.removeprefix(prefix): a for name, a in arrays.items() if name.startswith(prefix)})
        kept = [{name: arrays[f"{number}/kept/{name}"][row] for name in Kept._fields} for row in range(about["kept"])]
        chains.append(Chain(state, rng, kept))
    _check_shapes(problem, chains, checkpoint.path)
    return int(about["done"]), chains


def _check_shapes(problem: gibbs.Problem, chains: list[Chain], path: Path) -> None:
    expected = [(side.num_coordinates, problem.n_factors + 1) for side in problem.sides]
    for chain in chains:
        if [x.shape for x in chain.state.coordinates] != expected:
            raise ValueError(
                f"The checkpoint {path} must hold factors of shapes {expected}. Move it away to start anew."
            )


def _flat(state: gibbs.State) -> dict[str, Any]:
    flat: dict[str, Any] = {"mean": state.mean, "precision": state.precision}
    for side, x, hyper in zip(("users", "items"), state.coordinates, state.hyper, strict=True):
        flat[side] = x
        flat |= {f"{side}.{name}": value for name, value in hyper._asdict().items()}
    if state.cuts is not None:
        flat |= {f"cuts.{name}": value for name, value in state.cuts._asdict().items()}
    return flat


def _state(flat: dict[str, np.ndarray]) -> gibbs.State:
    users, items = (
        Hyperparameters(*(flat[f"{side}.{name}"] for name in Hyperparameters._fields)) for side in ("users", "items")
    )
    cuts = Cuts(flat["cuts.latent"], flat["cuts.thresholds"]) if "cuts.latent" in flat else None
    return gibbs.State(
        (flat["users"], flat["items"]), (users, items), float(flat["mean"]), float(flat["precision"]), cuts
    )


def _stacked(kept: list[dict[str, Any]]) -> dict[str, np.ndarray]:
    return as_kept(kept)._asdict() if kept else {}


def check_schedule(chains: Any, warm_up: Any, draws: Any, thin: Any) -> Schedule:
    """Check the numbers of a run."""
    return Schedule(
        _checks.count("chains", chains),
        _checks.count("warm_up", warm_up, least=0),
        _checks.count("draws", draws),
        _checks.count("thin", thin),
    )
