"""What a standardised kernel makes of vertices: scales and shares, by the formulas of `standardised`."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from hypergauss.parameters import Number

#: The share of the largest weight below which a vertex has no part in what is filtered but by rounding.
_NOTHING = 1e-200
#: The least variance that has an inverse.
_LEAST = 1e-300


class StandardVertices(NamedTuple):
    """Inputs of a standardised kernel: vertex indices, their rows of the centred U, memberships, u^2, and h."""

    index: np.ndarray  # type: ignore[assignment]  # (n,)
    vectors: np.ndarray  # (n, r)
    memberships: np.ndarray  # (n,), relative to what is typical
    trivial: np.ndarray  # u^2, (n,)
    activity: np.ndarray  # h, (n,)


class Parts(NamedTuple):
    """What hyperparameters make of the spectrum and of some vertices."""

    weights: np.ndarray  # W, (r,)
    background: Number  # b
    share: np.ndarray  # q, (n,)
    scale: np.ndarray  # T, (n,)
    centred: np.ndarray  # v, (n,)
    inverse: np.ndarray  # 1 / t, (n,), 0 where nothing is known
    log_whole: np.ndarray  # log t, (n,), 0 where nothing is known
    ratio: np.ndarray  # v t^-evenness / m, (n,), 0 where nothing is known
    own: np.ndarray  # o, (n,)
    typical: Typical


class Typical(NamedTuple):
    """What is known of m typical vertices, by which all are scaled."""

    v: np.ndarray  # (m,)
    evened: np.ndarray  # t^-evenness, (m,), 0 where nothing is known
    inverse: np.ndarray  # 1 / t, (m,), 0 where nothing is known
    log_whole: np.ndarray  # log t, (m,), 0 where nothing is known
    mean: Number  # the mean of v t^-evenness; 1 where nothing is left that could be scaled

    @classmethod
    def of(cls, evenness: Number, weights: np.ndarray, v: np.ndarray, t: np.ndarray) -> Typical:
        """Return it from v and t."""
        is_known, inverse, log_whole = _told(weights, v, t)
        evened = np.where(is_known, np.exp(-evenness * log_whole), 0.0)
        mean = (v * evened).mean()
        return cls(v, evened, inverse, log_whole, mean if mean != 0 else 1.0)

    def slopes(self, evenness: Number, squares: np.ndarray, trivial: np.ndarray) -> MeanSlopes:
        """Return the slopes of the mean, given the squares of U and of u; zero where it is none."""
        in_v = self.evened / len(self.v)
        in_t = -evenness * self.v * in_v * self.inverse
        return MeanSlopes(
            (in_v + in_t) @ squares, in_t @ trivial, (in_v + in_t).sum(), -(self.v * in_v) @ self.log_whole
        )


class MeanSlopes(NamedTuple):
    """Slopes of m, the mean of v t^-evenness over typical vertices."""

    in_weights: np.ndarray  # (r,)
    in_trivial: Number  # in the weight of the trivial direction
    in_background: Number
    in_evenness: Number


class FieldScale(NamedTuple):
    """F = T g + e: T and the variance of e at every vertex, shape (N,) each."""

    scale: np.ndarray
    own: np.ndarray


class Standardising(Protocol):
    """The hyperparameters that set scales and shares."""

    @property
    def individuality(self) -> np.ndarray: ...  # noqa: D102
    @property
    def evenness(self) -> np.ndarray: ...  # noqa: D102


def parts_of(
    kernel: Standardising,
    memberships: np.ndarray,
    trivial: np.ndarray,
    weights: np.ndarray,
    background: Number,
    v: np.ndarray,
    typical: Typical,
) -> Parts:
    """Return the parts from variances v without the trivial direction, and what is typical."""
    t = v + trivial * weights[:1].sum()
    is_known, inverse, log_whole = _told(weights, v, t)
    c, k = memberships, kernel.individuality
    share = np.where(c < 1, c * (1 + k) / (c + k), 1.0) * is_known
    evened = np.exp(-kernel.evenness * log_whole) / typical.mean
    ratio = np.where(is_known, v * evened, 0.0)
    own = left_to_itself(share, ratio)
    return Parts(weights, background, share, np.sqrt(share * evened), v, inverse, log_whole, ratio, own, typical)


def left_to_itself(share: np.ndarray, ratio: np.ndarray) -> np.ndarray:
    """Return o: the share 1 - q of what would be a vertex's variance, q ratio + 1 - q, where that is more than one."""
    own = 1.0 - share
    return own / (own + share * np.where(np.real(ratio) > 1, ratio, 1.0))


def _told(weights: np.ndarray, v: np.ndarray, t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return of which vertices anything is filtered, 1 / t and log t there, 0 elsewhere."""
    least = max(_NOTHING * np.real(weights).max(initial=0.0), _LEAST)
    is_known = np.minimum(np.real(v), np.real(t)) > least
    whole = np.where(is_known, t, 1.0)
    return is_known, np.where(is_known, 1 / whole, 0.0), np.log(whole)
