r"""Likelihood: how an observation arises from the latent functions at its vertex.

Inference asks three things of a likelihood: its log density; the expectation of that under independent Gaussians, with
slopes in their means and variances (`Likelihood.expectation`); and, for Laplace's method, its slope and curvature in
the latents. A likelihood of your own needs one formula: with one latent function `OneLatent.pointwise`, else
`Likelihood.log_density` and `Likelihood.expected_log_density`. All else follows by quadrature and complex steps.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple, Self

import numpy as np
from scipy.special import ndtr

from hypergauss import formula_checks, parameters
from hypergauss.likelihoods.quadrature import concave_nodes, expectation, gaussian_nodes, trapezoid
from hypergauss.parameters import Parametrised

_STEP = 1e-20
#: Points of the circle around a latent value by which Cauchy's formula gives derivatives up to the third, and radii to
#: try, since a formula may be singular nearby: until coefficients of high order are this share of those of low order.
_CIRCLE, _RADII, _ALIASED, _ROUNDING = 16, (0.1, 0.01, 0.001), 1e-10, 1e-14
#: A standard deviation below which a function is straight: E g'' is g'' at the mean, where quadrature is all rounding.
_NARROW = 1e-5
#: Latents at which a formula is tried, and the step of a difference of two values.
_PROBES, _DIFFERENCE = np.array([-0.7, 0.3, 1.4]), 1e-6


class Expectation(NamedTuple):
    """E log p(y | f), shape (n,), and its slopes in the means and variances of the latents, shape (n, L)."""

    value: np.ndarray
    in_mean: np.ndarray
    in_variance: np.ndarray


class Tilted(NamedTuple):
    """log E p(y | f) under independent Gaussians, shape (n,), its slopes in their means and its bends, shape (n, L).

    A bend is the second derivative in one mean.
    """

    log_z: np.ndarray
    in_mean: np.ndarray
    bend: np.ndarray


class Likelihood(Parametrised, ABC):
    """p(y | f), f the values of L latent functions at one vertex.

    All methods work on n vertices at once: latents have shape (n, L), observations shape (n,).
    """

    #: The formula that a likelihood of one's own writes.
    _formula: ClassVar[str] = "expected_log_density"

    @property
    @abstractmethod
    def num_latents(self) -> int:
        """L, the number of latent functions."""

    @property
    def is_shift_invariant(self) -> bool:
        """Whether adding one number to all latents of a vertex changes nothing."""
        return False

    @property
    def sets_level(self) -> bool:
        """Whether hyperparameters of its own do what a constant mean of the latents would."""
        return False

    @property
    def has_mode(self) -> bool:
        """Whether log p(y | f) has slopes that lead to a mode of the posterior and curvature there."""
        return True

    @property
    def is_log_concave(self) -> bool:
        """Whether log p(y | f) is concave in f, so that no site has a negative precision."""
        return False

    def __repr__(self) -> str:
        held = {name: value for name, value in parameters.fields(self).items() if name != "fixed"}
        shown = (f"{k}={parameters.brief(v) if isinstance(v, np.ndarray) else repr(v)}" for k, v in held.items())
        return f"{type(self).__name__}({', '.join(shown)})"

    @abstractmethod
    def log_density(self, latents: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return log p(y | f) at each vertex, shape (n,)."""

    @abstractmethod
    def expected_log_density(self, mean: np.ndarray, variance: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return E log p(y | f) for independent f_l ~ N(mean_l, variance_l), shape (n,)."""

    def expectation(self, mean: np.ndarray, variance: np.ndarray, y: np.ndarray) -> Expectation:
        """Return the same with its slopes: by complex steps, unless a likelihood knows better."""
        in_mean, in_variance = np.empty_like(mean), np.empty_like(variance)
        for latent in range(mean.shape[1]):
            step = np.zeros(mean.shape[1], dtype=np.complex128)
            step[latent] = 1j * _STEP
            in_mean[:, latent] = self.expected_log_density(mean + step, variance, y).imag / _STEP
            in_variance[:, latent] = self.expected_log_density(mean, variance + step, y).imag / _STEP
        return Expectation(self.expected_log_density(mean, variance, y), in_mean, in_variance)

    def pull_back(self, mean: np.ndarray, variance: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the gradient of the sum of E log p(y | f) in the likelihood's own coordinates, shape (p,)."""
        return parameters.pull_back(self, lambda own: own.expected_log_density(mean, variance, y), 1.0)

    # ------------------------------------------------ what expectation propagation asks for

    @property
    def can_propagate(self) -> bool:
        """Whether `tilted` is known, so that expectation propagation can be used."""
        return type(self).tilted is not Likelihood.tilted

    def tilted(self, mean: np.ndarray, variance: np.ndarray, y: np.ndarray) -> Tilted:  # noqa: ARG002
        """Return log E p(y | f) for independent f_l ~ N(mean_l, variance_l), and its derivatives in the means."""
        raise ValueError(
            f"Expectation propagation needs log E p(y | f), which {type(self).__name__} does not have. Write its "
            "`tilted`, or use `inference='variational'`."
        )

    def pull_back_tilted(self, mean: np.ndarray, variance: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the gradient of the sum of log E p(y | f) in the likelihood's own coordinates, shape (p,)."""
        return parameters.pull_back(self, lambda own: own.tilted(mean, variance, y).log_z, 1.0)

    def check_formulas(self) -> None:
        """Refuse a log density whose complex steps are not its derivatives, in hyperparameters or in latents."""
        # A label, a count and a measurement alike may be 1.
        y, shape = np.ones(len(_PROBES)), (len(_PROBES), self.num_latents)
        mean = _PROBES[:, None] * (1 + np.arange(self.num_latents)) / self.num_latents
        variance = np.broadcast_to(0.5 + _PROBES[:, None] ** 2, shape)
        formula_checks.check_derivatives(self, lambda own: own.expected_log_density(mean, variance, y), self._formula)
        found = self.expectation(mean, variance, y)
        for latent in range(self.num_latents):
            step = _DIFFERENCE * (np.arange(self.num_latents) == latent)
            ahead, behind = (self.expected_log_density(mean + sign * step, variance, y) for sign in (1, -1))
            difference = (ahead - behind) / (2 * _DIFFERENCE)
            formula = f"`{self._formula}` of {type(self).__name__}"
            formula_checks.check_slope(found.in_mean[:, latent], difference, formula, "latent")

    # ------------------------------------------------ what Laplace's method asks for

    def slope(self, latents: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the gradient of log p(y | f) in the latents, shape (n, L)."""
        raise NotImplementedError(self._no_curvature())

    def curvature(self, latents: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return W, minus the second derivatives of log p(y | f), shape (n, L, L)."""
        raise NotImplementedError(self._no_curvature())

    def curvature_slope(self, latents: np.ndarray, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return the gradient in the latents of the sum over l of weights_l W_ll, shape (n, L)."""
        raise NotImplementedError(self._no_curvature())

    def _no_curvature(self) -> str:
        return (
            f"Laplace's approximation needs the derivatives of {type(self).__name__}. Write its `slope`, `curvature` "
            "and `curvature_slope`, or use variational inference."
        )


class OneLatent(Likelihood):
    """A likelihood of a single latent function; expectations are one-dimensional quadrature.

    Examples
    --------
    >>> import numpy as np
    >>> class Laplacian(OneLatent):  # errors with heavier tails than a Gaussian's, smooth at zero
    ...     scale = parameters.positive()
    ...
    ...     def __init__(self, scale=1.0):
    ...         self.scale = scale
    ...
    ...     def pointwise(self, latent, y):
    ...         return -np.sqrt(1 + ((y - latent) / self.scale) ** 2) - np.log(self.scale)
    >>> found = Laplacian().expectation(np.zeros((1, 1)), np.ones((1, 1)), np.array([2.0]))
    >>> found.value.round(3), found.in_mean.ravel().round(3)
    (array([-2.306]), array([0.811]))
    """

    _formula: ClassVar[str] = "pointwise"

    @property
    def num_latents(self) -> int:  # noqa: D102
        return 1

    @abstractmethod
    def pointwise(self, latent: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return log p(y | f) for latents with any further axes: a formula that takes complex latents too."""

    def derivatives(self, latent: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the first three derivatives of `pointwise` in the latent, by Cauchy's formula on a small circle."""
        found, is_right = self._on_circle(latent, y, _RADII[0])
        for radius in _RADII[1:]:
            if is_right.all():
                break
            smaller, is_now_right = self._on_circle(latent, y, radius)
            found, is_right = np.where(is_right, found, smaller), is_right | is_now_right
        return self.with_slope(latent, y)[1], found[0], found[1]

    def _on_circle(self, latent: np.ndarray, y: np.ndarray, radius: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the second and third derivatives by one circle, and whether the formula is analytic well beyond it.

        The coefficients c_k radius^k of Taylor's series are those of Fourier's on the circle, with c_(k + 16) added to
        c_k: c_15 and c_14, which stand where an analytic function has none, tell how much that is.
        """
        around = np.exp(2j * np.pi * np.arange(_CIRCLE) / _CIRCLE)
        c = np.fft.fft(self.pointwise(latent[..., None] + radius * around, y[..., None])) / _CIRCLE
        size = np.abs(c)
        is_right = size[..., -2:].max(axis=-1) <= _ALIASED * size[..., 1:4].max(axis=-1) + _ROUNDING * size[..., 0]
        return np.stack([2 * c[..., 2].real / radius**2, 6 * c[..., 3].real / radius**3]), is_right

    def log_density(self, latents: np.ndarray, y: np.ndarray) -> np.ndarray:  # noqa: D102
        return self.pointwise(latents[:, 0], y)

    def expected_log_density(self, mean: np.ndarray, variance: np.ndarray, y: np.ndarray) -> np.ndarray:  # noqa: D102
        return expectation(lambda f: self.pointwise(f, y[:, None]), mean[:, 0], variance[:, 0])

    def expectation(self, mean: np.ndarray, variance: np.ndarray, y: np.ndarray) -> Expectation:
        """Return E g and its slopes E g' and E g'' / 2 = E z g' / (2 std), from values g and slopes g' at the nodes."""
        z, weights = trapezoid()
        f = gaussian_nodes(mean[:, 0], variance[:, 0], z)
        value, slope = self.with_slope(f, y[:, None])
        std = np.sqrt(variance[:, 0])
        in_variance = slope @ (z * weights) / (2 * np.maximum(std, _NARROW))
        narrow = std < _NARROW
        if narrow.any():
            in_variance[narrow] = self.derivatives(mean[narrow, 0], y[narrow])[1] / 2
        return Expectation(value @ weights, (slope @ weights)[:, None], in_variance[:, None])

    def tilted(self, mean: np.ndarray, variance: np.ndarray, y: np.ndarray) -> Tilted:
        """Return log Z = log E p by quadrature, under p at nodes z: Z' = Z E z / std, Z'' = Z E(z^2 - 1) / variance.

        Nodes are where likelihood times Gaussian is, if that is log-concave; else they are the Gaussian's, and narrow
        densities need a `tilted` of their own.
        """
        z, p, log_scale = self._tilted_nodes(mean[:, 0], np.sqrt(variance[:, 0]), y)
        std, total = np.sqrt(variance[:, 0]), p.sum(axis=1)
        slope = (p * z).sum(axis=1) / (total * std)
        # Around the mean of z, where squares of what is far out would cost digits.
        centre = ((p * z).sum(axis=1) / total)[:, None]
        bend = ((p * (z - centre) ** 2).sum(axis=1) / total - 1) / std**2
        return Tilted(np.log(total) + log_scale, slope[:, None], bend[:, None])

    def pull_back_tilted(self, mean: np.ndarray, variance: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the gradient as the mean of that of log p under the tilted density, whose nodes have no part in it."""
        if not parameters.slots(self):
            return np.zeros(0)
        std = np.sqrt(variance[:, 0])
        z, p, _ = self._tilted_nodes(mean[:, 0], std, y)
        f = mean + std[:, None] * z
        shares = p / p.sum(axis=1, keepdims=True)
        return parameters.pull_back(self, lambda own: own.pointwise(f, y[:, None]), shares)

    def _tilted_nodes(
        self, mean: np.ndarray, std: np.ndarray, y: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return nodes z, likelihood times weights there up to a factor for each row, and the factors' logarithms."""
        if self.is_log_concave:
            z, spacing = concave_nodes(
                lambda t: self.pointwise(mean + std * t, y) - t**2 / 2,
                lambda t: std * self.with_slope(mean + std * t, y)[1] - t,
                len(y),
            )
            log_p = self.pointwise(mean[:, None] + std[:, None] * z, y[:, None]) - z**2 / 2
            log_p = log_p + np.log(spacing / np.sqrt(2 * np.pi))
        else:
            nodes, weights = trapezoid()
            z = np.broadcast_to(nodes, (len(y), len(nodes)))
            log_p = self.pointwise(mean[:, None] + std[:, None] * z, y[:, None]) + np.log(weights)
        top = log_p.max(axis=1, keepdims=True)
        return z, np.exp(log_p - top), top[:, 0]

    def with_slope(self, latent: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return `pointwise` and its first derivative in the latent, by one complex step."""
        both = self.pointwise(latent + 1j * _STEP, y)
        return both.real, both.imag / _STEP

    def slope(self, latents: np.ndarray, y: np.ndarray) -> np.ndarray:  # noqa: D102
        return self.derivatives(latents[:, 0], y)[0][:, None]

    def curvature(self, latents: np.ndarray, y: np.ndarray) -> np.ndarray:  # noqa: D102
        return -self.derivatives(latents[:, 0], y)[1][:, None, None]

    def curvature_slope(self, latents: np.ndarray, y: np.ndarray, weights: np.ndarray) -> np.ndarray:  # noqa: D102
        return -weights * self.derivatives(latents[:, 0], y)[2][:, None]


class Classification(Likelihood):
    """A likelihood of class labels 0, 1, ..., C - 1."""

    num_classes: int

    @abstractmethod
    def probabilities(self, mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
        """Return E p(y = c | f) for every class, shape (n, C), rows summing to one."""


def as_classification(likelihood: Likelihood) -> Classification:
    """Return the likelihood if it is one of class labels, else explain."""
    if not isinstance(likelihood, Classification):
        raise TypeError(
            f"Class probabilities need a likelihood of class labels. Got {type(likelihood).__name__}. "
            "Use `conditionals` for the latent functions."
        )
    return likelihood


class Moments(NamedTuple):
    """Mean and variance of a new observation at each vertex, shape (n,)."""

    mean: np.ndarray
    variance: np.ndarray


class Measurement(Likelihood):
    """A likelihood of numbers: measurements or counts."""

    @property
    def is_discrete(self) -> bool:
        """Whether observations are whole numbers, 0 the least."""
        return False

    def rescaled(self, scale: float) -> Self | None:  # noqa: ARG002
        """Return the likelihood of c + scale * y around c + scale * f; None where it is not of errors around f."""
        return None

    @abstractmethod
    def moments(self, mean: np.ndarray, variance: np.ndarray) -> Moments:
        """Return E y and Var y = E Var(y | f) + Var E(y | f) for independent f_l ~ N(mean_l, variance_l)."""

    def cumulative(self, mean: np.ndarray, variance: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return P(observation <= y) for independent f_l ~ N(mean_l, variance_l), shape (n,).

        That of a normal distribution with the same moments, unless a likelihood knows better.
        """
        centre, spread = self.moments(mean, variance)
        return ndtr((y - centre) / np.sqrt(spread))
