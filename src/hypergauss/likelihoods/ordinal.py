"""Classes in an order, one latent function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np
from scipy.special import log_ndtr, ndtri

from hypergauss import _checks
from hypergauss._checks import Labels, Values
from hypergauss.likelihoods.base import Classification, OneLatent, Tilted
from hypergauss.likelihoods.quadrature import gaussian_nodes, trapezoid
from hypergauss.parameters import bounded, gather, positive

_LOG_ROOT_2PI = 0.5 * np.log(2 * np.pi)
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
    >>> import numpy as np
    >>> grades = OrderedProbit(3, [-1.0, 1.0])
    >>> print(grades.probabilities(np.array([[0.5]]), np.array([[1.0]])).round(3))
    [[0.144 0.494 0.362]]
    """

    first_threshold: np.ndarray = bounded(-1e2, 1e2)
    gaps: np.ndarray = positive(_SMALLEST_GAP, 1e2)

    def __init__(self, num_classes: int, thresholds: Values | None = None, *, fixed: str | Sequence[str] = ()) -> None:
        self.num_classes = _checks.count("num_classes", num_classes, least=2)
        cuts = _check_thresholds(thresholds, self.num_classes)
        self.first_threshold = cuts[0]
        self.gaps = np.diff(cuts)
        self.fixed = self.check_fixed(fixed)

    @classmethod
    def from_labels(cls, y: Labels, num_classes: int | None = None, *, fixed: str | Sequence[str] = ()) -> Self:
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
    def thresholds(self) -> np.ndarray:
        """The b_c, increasing, shape (C - 1,)."""
        return self.first_threshold + np.concatenate([[0.0], np.cumsum(self.gaps)])

    @property
    def is_log_concave(self) -> bool:  # noqa: D102
        return True

    @property
    def sets_level(self) -> bool:  # noqa: D102
        return True

    def pointwise(self, latent: np.ndarray, y: np.ndarray) -> np.ndarray:  # noqa: D102
        return log_probability_between(*self._interval(latent, y))

    def with_slope(self, latent: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:  # noqa: D102
        low, high = self._interval(latent, y)
        value = log_probability_between(low, high)
        return value, _edge(low, value) - _edge(high, value)

    def derivatives(self, latent: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return those of log p, p = Phi(h) - Phi(l): with r = phi / p at either end and g = r_l - r_h, r' = r (x - g).

        An end that is infinite has r = 0, whatever x is.
        """
        return _derivatives(*self._interval(latent, y))[1:]

    def tilted(self, mean: np.ndarray, variance: np.ndarray, y: np.ndarray) -> Tilted:
        """Return log Z in closed form: noise and latent together have the variance 1 + v."""
        s = np.sqrt(1 + variance[:, 0])
        low, high = self._interval(mean[:, 0], y)
        value, first, second, _ = _derivatives(low / s, high / s)
        return Tilted(value, (first / s)[:, None], (second / s**2)[:, None])

    def pull_back_tilted(self, mean: np.ndarray, variance: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the gradient by hand, as that of the expectation."""
        s = np.sqrt(1 + variance[:, 0])
        low, high = (end / s for end in self._interval(mean[:, 0], y))
        value = log_probability_between(low, high)
        return self._pull_back_ends(_edge(low, value) / s, _edge(high, value) / s, y)

    def pull_back(self, mean: np.ndarray, variance: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the gradient by hand: a threshold is the upper end of one class and the lower end of the next."""
        z, weights = trapezoid()
        low, high = self._interval(gaussian_nodes(mean[:, 0], variance[:, 0], z), y[:, None])
        value = log_probability_between(low, high)
        return self._pull_back_ends(_edge(low, value) @ weights, _edge(high, value) @ weights, y)

    def _pull_back_ends(self, of_low: np.ndarray, of_high: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the gradient from slopes in the upper, and less those in the lower end of each label's interval."""
        label = y.astype(int)
        ends = np.zeros(self.num_classes + 1)
        np.add.at(ends, label + 1, of_high)
        np.add.at(ends, label, -of_low)
        of_thresholds = ends[1:-1]
        above = np.cumsum(of_thresholds[::-1])[::-1]
        return gather(self, {"first_threshold": above[0], "gaps": above[1:]})

    def probabilities(self, mean: np.ndarray, variance: np.ndarray) -> np.ndarray:  # noqa: D102
        z = (self._ends() - mean) / np.sqrt(1 + variance)
        return np.exp(log_probability_between(z[:, :-1], z[:, 1:]))

    def _ends(self) -> np.ndarray:
        """Return the ends of the classes' intervals, shape (C + 1,)."""
        return np.concatenate([[-np.inf], self.thresholds, [np.inf]])

    def _interval(self, latent: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the ends of each label's interval less the latent."""
        ends, label = self._ends(), y.astype(int)
        return ends[label] - latent, ends[label + 1] - latent


def log_probability_between(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return log(Phi(high) - Phi(low)) for low < high, of which one may be infinite."""
    # Mirrored to the left tail, where Phi is small and its logarithm keeps all digits; -inf is then always `low`.
    mirrored = low + high > 0
    low, high = np.where(mirrored, -high, low), np.where(mirrored, -low, high)
    log_high = log_ndtr(high)
    return log_high + np.log(-np.expm1(np.minimum(log_ndtr(low) - log_high, -1e-300)))


def derivatives_between(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the first two derivatives of log(Phi(high - x) - Phi(low - x)) at x = 0."""
    return _derivatives(low, high)[1:3]


def _derivatives(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return log(Phi(high) - Phi(low)) and its first three derivatives in what is subtracted from both ends."""
    value = log_probability_between(low, high)
    r_low, r_high = _edge(low, value), _edge(high, value)
    first = r_low - r_high
    from_low, from_high = (np.where(np.isinf(end), 0.0, end) - first for end in (low, high))
    second = r_low * from_low - r_high * from_high
    third = r_low * (from_low**2 - 1 - second) - r_high * (from_high**2 - 1 - second)
    return value, first, second, third


def _edge(end: np.ndarray, log_probability: np.ndarray) -> np.ndarray:
    """Return phi(end) / probability, 0 at infinity."""
    return np.exp(-(end**2) / 2 - _LOG_ROOT_2PI - log_probability)


def _thresholds(shares: np.ndarray) -> np.ndarray:
    """Return the b_c for which classes have these shares under f ~ N(0, 1): f plus noise has variance 2."""
    return np.sqrt(2.0) * ndtri(np.cumsum(shares)[:-1])


def _check_thresholds(thresholds: Values | None, num_classes: int) -> np.ndarray:
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


def _check_labels(y: Labels, num_classes: int | None) -> np.ndarray:
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
