"""Chains as a file, from which the very same draws follow."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import BadZipFile

import numpy as np

from hypergauss.factorisation import gibbs
from hypergauss.factorisation.grades import Cuts
from hypergauss.factorisation.moods import Days, Moods
from hypergauss.factorisation.noise import Precisions
from hypergauss.factorisation.predictive import Kept, as_kept
from hypergauss.factorisation.ratings import Ratings
from hypergauss.factorisation.spectral_prior import Hyperparameters
from hypergauss.hypergraph import Hypergraph
from hypergauss.io.files import written_whole

#: Version of the file's layout, and of what makes up a fingerprint.
_FORMAT = 7


class Schedule(NamedTuple):
    """How long to run: chains, sweeps thrown away at first, draws kept of each chain, and sweeps for each draw.

    Where chains may stop early, they are compared after every ``block`` draws; ``draws`` are the most.
    """

    chains: int
    warm_up: int
    draws: int
    thin: int
    block: int | None = None

    @property
    def sweeps(self) -> int:
        """Of each chain in all, at most."""
        return self.warm_up + self.draws * self.thin

    def is_compared(self, done: int) -> bool:
        """Return whether chains are compared after so many sweeps."""
        kept, left = divmod(done - self.warm_up, self.thin)
        return self.block is not None and kept > 0 and left == 0 and kept % self.block == 0


class Chain:
    """One chain: its state, its generator and what it has kept, a record of arrays for each draw."""

    def __init__(self, state: gibbs.State, rng: np.random.Generator, kept: list[dict[str, np.ndarray]]) -> None:
        self.state, self.rng, self.kept = state, rng, kept


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

    def write(self, schedule: Schedule, done: int, chains: list[Chain]) -> None:
        """Write all that the rest of the run depends on; an interrupt leaves the file before or after, whole."""
        arrays: dict[str, np.ndarray] = {}
        for number, chain in enumerate(chains):
            arrays |= {f"{number}/state/{name}": value for name, value in _flat(chain.state).items()}
            kept = as_kept(chain.kept)._asdict() if chain.kept else {}
            arrays |= {f"{number}/kept/{name}": array for name, array in kept.items()}
        about = {
            "format": _FORMAT,
            "fingerprint": self.fingerprint,
            "done": done,
            "kept": len(chains[0].kept),
            "warm_up": schedule.warm_up,
            "thin": schedule.thin,
            "generators": [chain.rng.bit_generator.state for chain in chains],
        }
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with written_whole(self.path) as file:
            np.savez(file, **arrays, about=np.array(json.dumps(about)))  # type: ignore[arg-type]

    def read(self, problem: gibbs.Problem, schedule: Schedule) -> tuple[int, list[Chain]] | None:
        """Return sweeps done and chains as they were, or None if there is no file yet."""
        if not self.path.exists():
            return None
        try:
            with self.path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
                arrays = dict(archive)
            about = json.loads(str(arrays.pop("about")))
            if about["format"] != _FORMAT:
                raise ValueError(f"its format is {about['format']}, that of this version {_FORMAT}")
        except (BadZipFile, OSError, EOFError, KeyError, TypeError, ValueError, zlib.error) as error:
            raise ValueError(
                f"The checkpoint {self.path} cannot be read: {error}. It was cut short, changed, or written by another "
                "version; move it away to start anew."
            ) from error
        if self.fingerprint != about["fingerprint"]:
            raise ValueError(
                f"The checkpoint {self.path} must belong to the same ratings and settings, `random_state` among them. "
                "It belongs to others: name another file, or move this one away. Only `draws` may grow."
            )
        _check_length(schedule, about, self.path)
        chains = []
        for number, generator in enumerate(about["generators"]):
            rng = np.random.Generator(np.random.PCG64())
            rng.bit_generator.state = generator
            state = _state(_under(arrays, f"{number}/state/"))
            kept = _under(arrays, f"{number}/kept/")
            records = [{name: kept[name][row] for name in Kept._fields} for row in range(about["kept"])]
            chains.append(Chain(state, rng, records))
        _check_shapes(problem, chains, self.path)
        return int(about["done"]), chains


def fingerprint(
    table: Ratings, relations: tuple[Mapping[str, Hypergraph], ...], days: Days | None, settings: str
) -> str:
    """Return a digest by which a checkpoint of the same ratings, relations, days and settings is known."""
    digest = hashlib.sha256(settings.encode())
    for array in (table.user, table.item, table.values):
        _add(digest, array)
    if days is not None:
        _add(digest, days.place)
    for side in relations:
        digest.update(json.dumps([*map(repr, side)]).encode())
        for hypergraph in side.values():
            for names in (hypergraph.vertices, hypergraph.edges):
                digest.update(json.dumps([*map(repr, names)]).encode())
            R = hypergraph.incidence
            for array in (R.indptr, R.indices, R.data, hypergraph.weights):
                _add(digest, array)
    return digest.hexdigest()


def _add(digest: hashlib._Hash, array: np.ndarray) -> None:
    # With its type: whole numbers of 32 and of 64 bits may have the same bytes and another meaning.
    digest.update(f"{array.dtype.str}{array.shape}".encode())
    digest.update(np.ascontiguousarray(array).tobytes())


def _under(arrays: Mapping[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def _check_length(schedule: Schedule, about: Mapping[str, Any], path: Path) -> None:
    """Refuse a checkpoint of another start, or of more draws than are asked for."""
    found = {"chains": len(about["generators"]), "warm_up": about["warm_up"], "thin": about["thin"]}
    for name, value in found.items():
        if getattr(schedule, name) != value:
            raise ValueError(
                f"The checkpoint {path} must have been begun with the same `{name}`. It has {value:,}, and got "
                f"{getattr(schedule, name):,}. Only `draws` may grow: set it back, or name another file."
            )
    if about["kept"] > schedule.draws:
        raise ValueError(
            f"The checkpoint {path} must not hold more draws than are asked for. It holds {about['kept']:,} of each "
            f"chain, and got draws={schedule.draws:,}. Ask for as many or more, or name another file."
        )


def _check_shapes(problem: gibbs.Problem, chains: list[Chain], path: Path) -> None:
    expected = [(side.num_coordinates, problem.n_factors + 1) for side in problem.sides]
    for chain in chains:
        if [x.shape for x in chain.state.coordinates] != expected:
            raise ValueError(
                f"The checkpoint {path} must hold factors of shapes {expected}. Move it away to start anew."
            )


def _flat(state: gibbs.State) -> dict[str, np.ndarray]:
    flat = {"mean": np.asarray(state.mean), "precision": np.asarray(state.precision)}
    for side, x, hyper, noise in zip(("users", "items"), state.coordinates, state.hyper, state.noise, strict=True):
        flat[side] = x
        flat |= {f"{side}.noise.{name}": np.asarray(value) for name, value in noise._asdict().items()}
        flat |= {f"{side}.{name}": value for name, value in hyper._asdict().items()}
    flat |= {f"moods.{name}": np.asarray(value) for name, value in state.moods._asdict().items()}
    if state.cuts is not None:
        flat |= {f"cuts.{name}": value for name, value in state.cuts._asdict().items()}
    return flat


def _state(flat: Mapping[str, np.ndarray]) -> gibbs.State:
    users, items = (
        Hyperparameters(*(flat[f"{side}.{name}"] for name in Hyperparameters._fields)) for side in ("users", "items")
    )
    cuts = Cuts(flat["cuts.latent"], flat["cuts.thresholds"]) if "cuts.latent" in flat else None
    of_users, of_items = (
        Precisions(flat[f"{side}.noise.each"], float(flat[f"{side}.noise.shape"])) for side in ("users", "items")
    )
    return gibbs.State(
        (flat["users"], flat["items"]),
        (users, items),
        float(flat["mean"]),
        float(flat["precision"]),
        cuts,
        (of_users, of_items),
        Moods(flat["moods.each"], float(flat["moods.variance"])),
    )
