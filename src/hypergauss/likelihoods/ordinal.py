"""Classes in an order, one latent function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import log_ndtr
from jaxtyping import Array, Float
from scipy.special import ndtri

from hypergauss import _checks
from hypergauss.likelihoods.base import Classification, OneLatent
from hypergauss.parameters import as_array, bounded, check_fixed, positive

#: Terms of the tail's asymptotic series: with JAX's own three, values jump by 1e-11 where the series takes over.
_SERIES_ORDER = 8
#: Thresholds closer than this cost the second derivative its digits far out in the tails.
_SMALLEST_GAP = 1e-3


class OrderedProbit(OneLatent, Classification):
    r"""p(y <= c | f) = Phi(b_c - f): grades cut from f plus standard normal noise by thresholds b_0 < ... < b_{C-2}.

    Under f ~ N(mean, variance), P(y <= c) = Phi((b_c - mean) / sqrt(1 + variance)) in closed form.

    Learning moves the first threshold and the logarithms of the gaps between thresholds, so that they keep their order.
    The noise has variance 1 since the kernel's variance already sets the scale. A constant mean of f and a common shift
    of the thresholds are the same thing: keep one of them fixed, for instance the mean at 0.

    Parameters
    ----------
    num_classes : int
        C, at least 2.
    thresholds : array of shape (C - 1,), optional
        Increasing. As a rule those that make all classes equally probable under f ~ N(0, 1).
    fixed : sequence of str
        Hyperparameters that learning leaves alone, from "first_threshold", "gaps".

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> grades = OrderedProbit(3, [-1.0, 1.0])
    >>> print(grades.probabilities(jnp.array([[0.5]]), jnp.array([[1.0]])).round(3))
    [[0.144 0.494 0.362]]
    """

    num_classes: int = eqx.field(static=True)
    fixed: tuple[str, ...] = eqx.field(static=True)
    first_threshold: Array = bounded(-1e2, 1e2)
    gaps: Array = positive(_SMALLEST_GAP, 1e2)

    def __init__(self, num_classes: int, thresholds: Any = None, *, fixed: Sequence[str] = ()) -> None:
        self.num_classes = _checks.count("num_classes", num_classes, least=2)
        cuts = _check_thresholds(thresholds, self.num_classes)
        self.first_threshold = as_array(cuts[0])
        self.gaps = as_array(np.diff(cuts))
        self.fixed = check_fixed(fixed, ("first_threshold", "gaps"))

    @classmethod
    def from_labels(cls, y: Any, num_classes: int | None = None, *, fixed: Sequence[str] = ()) -> Self:
        """Return the likelihood whose thresholds give each class its share of the labels under f ~ N(0, 1).

        Parameters
        ----------
        y : array of int, shape (n,)
            Labels 0, 1, ..., C - 1. Each class counts half a label more, so that none is empty.
        num_classes : int, optional
            C, as a rule the largest label plus one.
        fixed : sequence of str
            As for the class.
        """
        labels = _check_labels(y, num_classes)
        counts = np.bincount(labels, minlength=num_classes or 2) + 0.5
        return cls(len(counts), _thresholds(counts / counts.sum()), fixed=fixed)

    @property
    def thresholds(self) -> Float[Array, " C-1"]:
        """The b_c, increasing."""
        return self.first_threshold + jnp.concatenate([jnp.zeros(1), jnp.cumsum(self.gaps)])

    @property
    def is_log_concave(self) -> bool:  # noqa: D102
        return True

    @property
    def sets_level(self) -> bool:  # noqa: D102
        return True

    def pointwise(self, latent: Float[Array, "n ..."], y: Float[Array, "n ..."]) -> Float[Array, "n ..."]:  # noqa: D102
        ends = self._ends()
        label = y.astype(int)
        return _log_probability_between(ends[label] - latent, ends[label + 1] - latent)

    def probabilities(self, mean: Float[Array, "n 1"], variance: Float[Array, "n 1"]) -> Float[Array, "n C"]:  # noqa: D102
        z = (self._ends() - mean) / jnp.sqrt(1 + variance)
        return jnp.exp(_log_probability_between(z[:, :-1], z[:, 1:]))

    def _ends(self) -> Float[Array, " C+1"]:
        """Return the ends of the classes' intervals."""
        return jnp.concatenate([jnp.array([-jnp.inf]), self.thresholds, jnp.array([jnp.inf])])


def _log_probability_between(low: Array, high: Array) -> Array:
    """Return log(Phi(high) - Phi(low)) for low < high, of which one may be infinite."""
    # Mirrored to the left tail, where Phi is small and its logarithm keeps all digits; -inf is then always `low`.
    mirrored = low + high > 0
    low, high = jnp.where(mirrored, -high, low), jnp.where(mirrored, -low, high)
    is_open = jnp.isinf(low)
    log_high = log_ndtr(high, _SERIES_ORDER)
    # What stands in at -inf is finite, so that the branch not taken has finite derivatives too.
    log_ratio = jnp.where(is_open, -1.0, log_ndtr(jnp.where(is_open, 0.0, low), _SERIES_ORDER) - log_high)
    return log_high + jnp.where(is_open, 0.0, jnp.log(-jnp.expm1(log_ratio)))


def _thresholds(shares: np.ndarray) -> np.ndarray:
    """Return the b_c for which classes have these shares under f ~ N(0, 1): f plus noise has variance 2."""
    return np.sqrt(2.0) * ndtri(np.cumsum(shares)[:-1])


def _check_thresholds(thresholds: Any, num_classes: int) -> np.ndarray:
    if thresholds is None:
        return _thresholds(np.full(num_classes, 1 / num_classes))
    cuts = _checks.finite_array("thresholds", thresholds, missing="Pass one number between each class and the next.")
    if cuts.shape != (num_classes - 1,):
        raise ValueError(
            f"`thresholds` must be one number less than there are classes ({num_classes}). Got shape {cuts.shape}."
        )
    if (np.diff(cuts) <= 0).any():
        raise ValueError(f"`thresholds` must increase. Got {cuts}. Sort them and leave out repeated ones.")
    return cuts


def _check_labels(y: Any, num_classes: int | None) -> np.ndarray:
    labels = np.asarray(y)
    limit = np.inf if num_classes is None else _checks.count("num_classes", num_classes, least=2)
    if labels.ndim != 1 or labels.dtype.kind not in "iu" or len(labels) == 0:
        raise ValueError(
            f"`y` must be a list of whole numbers, at least one. Got shape {labels.shape} of {labels.dtype}. "
            "Number the classes in their order, from 0."
        )
    if labels.min() < 0 or labels.max() >= limit:
        raise ValueError(
            f"`y` must hold labels from 0{'' if num_classes is None else f' to {num_classes - 1}'}. "
            f"Got {labels.min()} to {labels.max()}. Number the classes in their order, from 0."
        )
    return labels
