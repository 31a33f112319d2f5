r"""Many classes, one latent function each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import scipy.fft
from scipy.special import erfc, softmax

from hypergauss import _checks
from hypergauss.likelihoods.base import Classification, Expectation
from hypergauss.likelihoods.quadrature import hermite, row_blocks
from hypergauss.parameters import Number, gather, positive

#: Distance of the lattice's points: errors of E log S are below 1e-7, of its slopes below 1e-6, whatever the spread,
#: by comparison with a lattice eight times as fine (`tests/likelihoods/test_categorical.py`).
_SPACING = 0.4
#: The largest logarithm whose exponential is a number; exp(-exp(u)) is 0 long before.
_LARGEST = 700.0
#: How far a lattice reaches: to where exp(-exp(u)) is 1 or 0 to rounding, and this many standard deviations beyond.
_LEFT, _RIGHT, _DEVIATIONS = 24.0, 3.6, 9.0
#: How far a probability in a product is kept from 0 and 1, so that a certain answer still has a gradient; GPflow's.
_SQUASH = 1e-6
#: The density of a standard normal variable at 0, as far as probabilities are squashed.
_DENSITY = (1 - 2 * _SQUASH) / np.sqrt(2 * np.pi)
#: Phi(x) = erfc(-x / sqrt(2)) / 2.
_MINUS_ROOT_HALF = -np.sqrt(0.5)
#: Variances of latents from here on are told from 0.
_LEAST_VARIANCE = 1e-10


class LatentForEachClass(Classification):
    """Classes that compete: only differences between their latents matter."""

    @property
    def num_latents(self) -> int:  # noqa: D102
        return self.num_classes

    @property
    def is_shift_invariant(self) -> bool:  # noqa: D102
        return True


class Softmax(LatentForEachClass):
    r"""p(y = c | f) = exp(f_c) / sum over j of exp(f_j).

    Expectations under independent Gaussians are reduced to one dimension. For positive S,
    log S = integral over t of (exp(-t) - exp(-t S)) / t. With S = sum of exp(f_j) and u = log t,

        E log S = integral du ( exp(-e^u) - product over j of L_j(u) ),    L_j(u) = E exp(-exp(u + f_j)),

    and E softmax_c, its slope in mean_c, is the integral of -L_c' times the other L_j; the slope in variance_c is half
    the integral of L_c' times the derivative of the product of the others, since L_j obeys the heat equation. L_j is
    exp(-exp(u + mean_j)) blurred by a Gaussian: on a lattice of points u, which the trapezoidal rule sums, blurring is
    a factor exp(-variance w^2 / 2) of each cosine. One lattice serves both integrals, at two exponentials a point.
    """

    def __init__(self, num_classes: int) -> None:
        self.num_classes = _checks.count("num_classes", num_classes, least=2)

    @property
    def is_log_concave(self) -> bool:  # noqa: D102
        return True

    def log_density(self, latents: np.ndarray, y: np.ndarray) -> np.ndarray:  # noqa: D102
        relative = latents - latents.max(axis=1, keepdims=True)
        return relative[_is_own(latents, y)] - np.log(np.exp(relative).sum(axis=1))

    def expected_log_density(self, mean: np.ndarray, variance: np.ndarray, y: np.ndarray) -> np.ndarray:  # noqa: D102
        return self.expectation(mean, variance, y).value

    def expectation(self, mean: np.ndarray, variance: np.ndarray, y: np.ndarray) -> Expectation:  # noqa: D102
        found = _expected_log_sum(mean, variance)
        own = _is_own(mean, y)
        return Expectation(mean[own] - found.value, own - found.in_mean, -found.in_variance)

    def probabilities(self, mean: np.ndarray, variance: np.ndarray) -> np.ndarray:  # noqa: D102
        raw = np.maximum(_expected_log_sum(mean, variance).in_mean, 0.0)
        return raw / raw.sum(axis=1, keepdims=True)

    def slope(self, latents: np.ndarray, y: np.ndarray) -> np.ndarray:  # noqa: D102
        return _is_own(latents, y) - softmax(latents, axis=1)

    def curvature(self, latents: np.ndarray, y: np.ndarray) -> np.ndarray:  # noqa: D102, ARG002
        p = softmax(latents, axis=1)
        return p[:, :, None] * (np.eye(self.num_classes) - p[:, None, :])

    def curvature_slope(self, latents: np.ndarray, y: np.ndarray, weights: np.ndarray) -> np.ndarray:  # noqa: ARG002
        """Return the gradient of the sum of weights_l p_l (1 - p_l): dp_l / df_m = p_l ([l = m] - p_m)."""
        p = softmax(latents, axis=1)
        by_class = weights * (1 - 2 * p) * p
        return by_class - p * by_class.sum(axis=1, keepdims=True)


class RobustMax(LatentForEachClass):
    r"""p(y = c | f) = 1 - epsilon if f_c is the largest, epsilon / (C - 1) otherwise (Hernandez-Lobato et al., 2011).

    The paper's likelihood. Under independent Gaussians, the probability that f_c is the largest is
    E product over j != c of Phi((f_c - mean_j) / std_j), a one-dimensional expectation over f_c.

    Parameters
    ----------
    num_classes : int
        C, at least two.
    epsilon : float, default 1e-3
        The share of labels that are wrong whatever the latents say, learned unless ``fixed`` names it.
    fixed : sequence of str
        ``("epsilon",)`` keeps epsilon, as the paper does.
    """

    epsilon: np.ndarray = positive(1e-6, 0.5)

    def __init__(self, num_classes: int, epsilon: float = 1e-3, *, fixed: str | Sequence[str] = ()) -> None:
        self.num_classes = _checks.count("num_classes", num_classes, least=2)
        self.epsilon = np.asarray(_checks.positive("epsilon", epsilon))
        self.fixed = self.check_fixed(fixed)

    @property
    def has_mode(self) -> bool:  # noqa: D102
        return False

    def log_density(self, latents: np.ndarray, y: np.ndarray) -> np.ndarray:  # noqa: D102
        gain, miss = self._logs()
        return np.where(np.argmax(latents, axis=1) == y.astype(int), gain + miss, miss)

    def expected_log_density(self, mean: np.ndarray, variance: np.ndarray, y: np.ndarray) -> np.ndarray:  # noqa: D102
        gain, miss = self._logs()
        return gain * _largest(mean, variance, y) + miss

    def expectation(self, mean: np.ndarray, variance: np.ndarray, y: np.ndarray) -> Expectation:  # noqa: D102
        gain, miss = self._logs()
        largest, slopes = _largest_with_slopes(mean, variance, y)
        return Expectation(gain * largest + miss, *(gain * slopes))

    def pull_back(self, mean: np.ndarray, variance: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the gradient by hand: hits gain -1 / (1 - epsilon), misses 1 / epsilon."""
        hits = float(_largest(mean, variance, y).sum())
        return gather(self, {"epsilon": -hits / (1 - self.epsilon) + (len(y) - hits) / self.epsilon})

    def probabilities(self, mean: np.ndarray, variance: np.ndarray) -> np.ndarray:  # noqa: D102
        largest = np.empty((len(mean), self.num_classes))
        for rows in row_blocks(len(mean)):
            for label in range(self.num_classes):
                of_label = np.full(len(mean[rows]), label)
                largest[rows, label] = _largest(mean[rows], variance[rows], of_label)
        largest = largest / largest.sum(axis=1, keepdims=True)
        return largest * (1 - self.epsilon) + (1 - largest) * self.epsilon / (self.num_classes - 1)

    def _logs(self) -> tuple[Number, Number]:
        """Return what a hit gains over a miss, and the log density of a miss."""
        miss = np.log(self.epsilon / (self.num_classes - 1))
        return np.log1p(-self.epsilon) - miss, miss


class _LogSum(NamedTuple):
    """E log of the sum of exp(f_j), shape (n,), and its slopes in means and variances, shape (n, C)."""

    value: np.ndarray
    in_mean: np.ndarray
    in_variance: np.ndarray


def _expected_log_sum(mean: np.ndarray, variance: np.ndarray) -> _LogSum:
    """Return E log S, rows of like spread on one lattice."""
    found = _LogSum(np.empty(len(mean)), np.empty_like(mean), np.empty_like(mean))
    for rows, spread in _of_like_spread(variance):
        for whole, part in zip(found, _on_lattice(mean[rows], variance[rows], spread), strict=True):
            whole[rows] = part
    return found


def _of_like_spread(variance: np.ndarray) -> Iterator[tuple[np.ndarray, float]]:
    """Yield rows whose largest standard deviations differ by less than a factor of two, and that largest."""
    std = np.sqrt(variance.max(axis=1))
    octave = np.ceil(np.log2(np.maximum(std, 0.5)))
    for number in np.unique(octave):
        rows = np.flatnonzero(octave == number)
        for part in row_blocks(len(rows)):
            yield rows[part], float(std[rows[part]].max())


def _on_lattice(mean: np.ndarray, variance: np.ndarray, spread: float) -> _LogSum:
    """Return E log S with a lattice that reaches as far as Gaussians of this standard deviation ask for."""
    left, right = _LEFT + _DEVIATIONS * spread, _RIGHT + _DEVIATIONS * spread
    number = scipy.fft.next_fast_len(int(np.ceil((left + right) / _SPACING)), real=True)
    u = -left + _SPACING * np.arange(number)
    shift = mean.max(axis=1, keepdims=True)
    argument = np.exp(np.minimum(u + (mean - shift)[:, :, None], _LARGEST))  # (n, C, points)
    survival = np.exp(-argument)
    frequencies = np.pi * np.arange(number) / (number * _SPACING)
    blur = np.exp(-variance[:, :, None] * frequencies**2 / 2)

    def blurred(values: np.ndarray) -> np.ndarray:
        # Both ends are level, so mirroring there, as cosines do, changes nothing.
        return scipy.fft.idct(scipy.fft.dct(values, axis=2) * blur, axis=2)

    L = np.clip(blurred(survival), 0.0, 1.0)
    slope = np.minimum(blurred(-argument * survival), 0.0)
    alive = L > 1e-200
    ratio = np.where(alive, slope / np.where(alive, L, 1.0), 0.0)  # L' / L
    product = np.prod(L, axis=1)
    weighted = _SPACING * product[:, None, :] * ratio
    value = shift[:, 0] + _SPACING * (np.exp(-np.exp(np.minimum(u, _LARGEST))) - product).sum(axis=1)
    others = ratio.sum(axis=1, keepdims=True) - ratio
    return _LogSum(value, -weighted.sum(axis=2), np.einsum("nck,nck->nc", weighted, others) / 2)


def _largest(mean: np.ndarray, variance: np.ndarray, label: np.ndarray) -> np.ndarray:
    """Return the probability that the latent of each vertex's label is its largest, by quadrature over that latent."""
    at = _own_first(mean, label)
    lines = _lines(mean.take(at), _spread(variance.take(at)))
    return _below(lines @ _line_nodes()).prod(axis=0) @ hermite()[1]


def _spread(variance: np.ndarray) -> np.ndarray:
    return np.sqrt(np.maximum(variance, _LEAST_VARIANCE))


@lru_cache
def _line_nodes() -> np.ndarray:
    """Return 1 and z at nodes of the first class's latent, (2, q): a line a + b z is (a, b) times these."""
    z, _ = hermite()
    return np.array([np.ones_like(z), z])


def _lines(mean: np.ndarray, std: np.ndarray) -> np.ndarray:
    """Return how far, in its own std, each other class is below mean + std z of the first: (a, b), (C - 1, n, 2)."""
    lines = np.empty((*mean[1:].shape, 2))
    np.subtract(mean[0], mean[1:], out=lines[..., 0])
    lines[..., 1] = std[0]
    lines /= std[1:, :, None]
    return lines


def _below(x: np.ndarray) -> np.ndarray:
    """Return Phi, kept away from 0 and 1."""
    below = erfc(x * _MINUS_ROOT_HALF)
    below *= 0.5 - _SQUASH
    below += _SQUASH
    return below


def _largest_with_slopes(mean: np.ndarray, variance: np.ndarray, label: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the probability that `_largest` has, and its slopes in means and variances, (2, n, C)."""
    at, nodes = _own_first(mean, label), _line_nodes()
    std = _spread(variance.take(at))
    lines = _lines(mean.take(at), std)
    x = lines @ nodes
    below = _below(x)
    product = below.prod(axis=0) * hermite()[1]
    # What moving the label's latent up, or another mean down, adds at each node, but for a share of each other's std.
    falls = np.exp(x * x * -0.5)
    falls /= below
    falls *= product
    moments = falls @ nodes.T  # sums of falls and of falls z, and with lines of falls x
    moments *= _DENSITY / std[1:, :, None]
    slopes = np.empty((2, *std.shape))  # in means, and in variances
    slopes[:, 0] = moments.sum(axis=0).T
    slopes[0, 1:] = -moments[..., 0]
    slopes[1, 1:] = -(moments * lines).sum(axis=2)
    slopes[1] /= 2 * std
    found = np.empty((2, *mean.shape))
    found.reshape(2, -1)[:, at] = slopes
    return product.sum(axis=1), found


def _own_first(values: np.ndarray, label: np.ndarray) -> np.ndarray:
    """Return where, in a flat array (n, C), the class of each vertex's label is, then the others, shape (C, n)."""
    n, num_classes = values.shape
    classes = (label.astype(int) + np.arange(num_classes)[:, None]) % num_classes
    return classes + num_classes * np.arange(n)


def _is_own(values: np.ndarray, label: np.ndarray) -> np.ndarray:
    """Return which of the classes, the columns of an array, each vertex's label is, shape (n, C)."""
    return np.arange(values.shape[1]) == label.astype(int)[:, None]
