"""What a standardised kernel makes of vertices: scales and shares, by the formulas of `standardised`."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

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
    background: Any  # b
    share: np.ndarray  # q, (n,)
    scale: np.ndarray  # T, (n,)
    centred: np.ndarray  # v, (n,)
    inverse: np.ndarray  # 1 / t, (n,), 0 where nothing is known
    mean: Any  # of v over typical vertices
    whole_mean: Any  # of t over them
    log_ratio: np.ndarray  # log(t / mean t), (n,), 0 where nothing is known


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
    background: Any,
    v: np.ndarray,
    means: tuple[Any, Any],
) -> Parts:
    """Return the parts from variances v without the trivial direction, and means of these and of its squares."""
    individuality, evenness = kernel.individuality, kernel.evenness
    t = v + trivial * weights[:1].sum()
    mean, of_trivial = means
    mean = mean if mean != 0 else 1.0  # nothing is left that could be scaled
    whole_mean = mean + of_trivial * weights[:1].sum()
    least = max(_NOTHING * np.real(weights).max(initial=0.0), _LEAST)
    is_known = np.minimum(np.real(v), np.real(t)) > least
    inverse = np.divide(1.0, t, out=np.zeros_like(t), where=is_known)
    log_ratio = np.log(np.where(is_known, t / whole_mean, 1.0))
    c, k = memberships, individuality
    share = np.where(c < 1, c * (1 + k) / (c + k), 1.0) * is_known
    scale = np.sqrt(share / mean * np.exp(-evenness * log_ratio))
    return Parts(weights, background, share, scale, v, inverse, mean, whole_mean, log_ratio)
