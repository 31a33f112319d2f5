"""The filters: Matern, diffusion, and a learned polynomial in Bernstein's form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammaln, xlogy
from jaxtyping import Array, Float

from hypergauss import _checks
from hypergauss.kernels.spectral import SpectralKernel, check_spectrum
from hypergauss.parameters import as_array, check_fixed, positive, reciprocal
from hypergauss.spectrum import Spectrum


class Matern(SpectralKernel):
    r"""Matern kernel, phi(l) = (2 nu / lengthscale^2 + l)^-nu (paper, equation 8).

    It is computed as exp(-nu log1p(lengthscale^2 l / (2 nu))), which differs by a constant factor, never overflows,
    and becomes the diffusion kernel exp(-lengthscale^2 l / 2) as nu grows: ``nu=math.inf`` is that limit, and
    learning moves 1/nu so that it can be reached.

    Parameters
    ----------
    spectrum : Spectrum
        Of the hypergraph; ``spectrum.dual()`` for a kernel on hyperedges.
    nu : float, default 1.5
        Smoothness.
    lengthscale : float, default 5.0
        How far correlation reaches.
    variance : float, default 1.0
        Mean prior variance.
    normalise : bool, default True
        False for the paper's unnormalised form, variance * (2 nu / lengthscale^2 + Delta)^-nu.
    fixed : sequence of str
        Hyperparameters that learning leaves alone, from "nu", "lengthscale", "variance".

    Examples
    --------
    >>> from hypergauss import Hypergraph, Spectrum
    >>> H = Hypergraph.from_edges([["a", "b"], ["b", "c"]])
    >>> print(Matern(Spectrum.of(H)).gram().round(3))
    [[0.807 0.914 0.579]
     [0.914 1.386 0.914]
     [0.579 0.914 0.807]]
    """

    spectrum: Spectrum
    normalise: bool = eqx.field(static=True)
    fixed: tuple[str, ...] = eqx.field(static=True)
    inverse_nu: Array = reciprocal("nu", 0.0, 20.0)
    lengthscale: Array = positive(1e-3, 1e3)
    variance: Array = positive()

    def __init__(
        self,
        spectrum: Spectrum,
        nu: float = 1.5,
        lengthscale: float = 5.0,
        *,
        variance: float = 1.0,
        normalise: bool = True,
        fixed: Sequence[str] = (),
    ) -> None:
        self.spectrum = check_spectrum(spectrum)
        self.inverse_nu = as_array(1.0 / _checks.positive("nu", nu, allow_infinite=normalise))
        self.lengthscale = as_array(_checks.positive("lengthscale", lengthscale))
        self.variance = as_array(_checks.positive("variance", variance))
        self.normalise = normalise
        names = check_fixed(fixed, ("nu", "lengthscale", "variance"))
        self.fixed = tuple("inverse_nu" if name == "nu" else name for name in names)

    @property
    def nu(self) -> Float[Array, ""]:
        """The smoothness, infinite for the diffusion kernel."""
        return 1.0 / self.inverse_nu

    def filter(self, eigenvalues: Float[Array, " k"]) -> Float[Array, " k"]:  # noqa: D102
        phi = jnp.exp(-_log1p_ratio(self.lengthscale**2 * eigenvalues / 2, self.inverse_nu))
        return phi if self.normalise else phi * self._paper_factor()

    def _paper_factor(self) -> Float[Array, ""]:
        """Return (2 nu / lengthscale^2)^-nu, what the paper's form has at the eigenvalue 0."""
        return jnp.exp(-jnp.log(2 / (self.inverse_nu * self.lengthscale**2)) / self.inverse_nu)

    def ellipse_bound(self, left: np.ndarray) -> np.ndarray:
        """Return phi at ``left``: its modulus is largest next to its one singularity, at -2 nu / lengthscale^2."""
        t, half = float(self.inverse_nu), float(self.lengthscale) ** 2 / 2
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            log_phi = -half * left if t == 0 else np.where(t * half * left > -1, -np.log1p(t * half * left) / t, np.inf)
            phi = np.exp(log_phi)
        return phi if self.normalise else phi * float(self._paper_factor())


class Diffusion(SpectralKernel):
    """Diffusion kernel, phi(l) = exp(-beta l) (paper, equation 18; Kondor and Lafferty, 2002).

    Parameters
    ----------
    spectrum : Spectrum
        Of the hypergraph.
    beta : float, default 0.01
        Bandwidth: how long heat has spread.
    variance, normalise, fixed
        As for `Matern`.
    """

    spectrum: Spectrum
    normalise: bool = eqx.field(static=True)
    fixed: tuple[str, ...] = eqx.field(static=True)
    beta: Array = positive(1e-6, 1e4)
    variance: Array = positive()

    def __init__(
        self,
        spectrum: Spectrum,
        beta: float = 0.01,
        *,
        variance: float = 1.0,
        normalise: bool = True,
        fixed: Sequence[str] = (),
    ) -> None:
        self.spectrum = check_spectrum(spectrum)
        self.beta = as_array(_checks.positive("beta", beta))
        self.variance = as_array(_checks.positive("variance", variance))
        self.normalise = normalise
        self.fixed = check_fixed(fixed, ("beta", "variance"))

    def filter(self, eigenvalues: Float[Array, " k"]) -> Float[Array, " k"]:  # noqa: D102
        return jnp.exp(-self.beta * eigenvalues)

    def ellipse_bound(self, left: np.ndarray) -> np.ndarray:
        """Return phi at ``left``, where its modulus is largest."""
        with np.errstate(over="ignore"):
            return np.exp(-float(self.beta) * left)


class Bernstein(SpectralKernel):
    r"""Learned filter, phi(l) = sum over k of c_k C(d, k) x^k (1 - x)^(d - k), where x = l / (largest eigenvalue).

    With c_k > 0 it can approach any positive filter: low-pass as the Matern, band-pass, or high-pass for signals that
    differ between the members of a hyperedge.

    Parameters
    ----------
    spectrum : Spectrum
        Of the hypergraph.
    coefficients : int or sequence of float, default 8
        The c_k > 0, roughly the filter's values at k/d; or the degree d, starting from exp(-4 k/d).
    variance, normalise, fixed
        As for `Matern`; ``fixed`` may name "coefficients".
    """

    spectrum: Spectrum
    normalise: bool = eqx.field(static=True)
    fixed: tuple[str, ...] = eqx.field(static=True)
    coefficients: Array = positive(1e-8, 1e8)
    variance: Array = positive()

    def __init__(
        self,
        spectrum: Spectrum,
        coefficients: int | Sequence[float] | Array | np.ndarray = 8,
        *,
        variance: float = 1.0,
        normalise: bool = True,
        fixed: Sequence[str] = (),
    ) -> None:
        self.spectrum = check_spectrum(spectrum)
        if isinstance(coefficients, int):
            degree = _checks.count("coefficients", coefficients, most=64, why="the degree of a Bernstein filter")
            coefficients = np.exp(-4 * np.arange(degree + 1) / degree)
        array = _checks.finite_array("coefficients", coefficients, missing="Pass positive numbers.")
        if array.ndim != 1 or len(array) < 2 or (array <= 0).any():
            raise ValueError(f"`coefficients` must be at least two positive numbers. Got {array}.")
        self.coefficients = as_array(array)
        self.variance = as_array(_checks.positive("variance", variance))
        self.normalise = normalise
        self.fixed = check_fixed(fixed, ("coefficients", "variance"))

    @property
    def has_positive_weights(self) -> bool:  # noqa: D102
        return False

    def filter(self, eigenvalues: Float[Array, " k"]) -> Float[Array, " k"]:  # noqa: D102
        x = self._position(eigenvalues)[..., None]
        degree = self.coefficients.shape[0] - 1
        k = jnp.arange(degree + 1)
        log_choose = gammaln(degree + 1.0) - gammaln(k + 1.0) - gammaln(degree - k + 1.0)
        return jnp.exp(log_choose + xlogy(k, x) + xlogy(degree - k, 1 - x)) @ self.coefficients

    def root_ellipse_bound(self, left: np.ndarray) -> None:  # noqa: ARG002
        """Return None: the root branches at the filter's complex zeros, which move with its coefficients."""
        return

    def _position(self, eigenvalues: Float[Array, " k"]) -> Float[Array, " k"]:
        """Return eigenvalues as shares of the largest possible one, which is 0 for a graph without edges."""
        return jnp.clip(eigenvalues / (self.spectrum.upper or 1.0), 0.0, 1.0)

    def filter_range(self, low: Any, high: Any) -> tuple[Float[Array, ""], Float[Array, ""]]:
        """Bound phi by the coefficients of its restriction to [low, high], whose hull contains the curve."""
        left, right = self._position(jnp.stack([jnp.asarray(low), jnp.asarray(high)]))
        hull = _restrict(self.coefficients, left, right)
        return hull.min(), hull.max()


def _restrict(coefficients: Float[Array, " k"], left: Any, right: Any) -> Float[Array, " k"]:
    """Return the Bernstein coefficients on [left, right], by de Casteljau's subdivision of [0, 1]."""
    # The blossom of the polynomial, with j arguments at `right` and the others at `left`, is coefficient j. All of them
    # at once, and the steps in a loop: written out, they make a program that takes seconds to compile.
    degree = coefficients.shape[0] - 1
    number = jnp.arange(degree + 1)[:, None]

    def step(values: Array, at: Array) -> tuple[Array, None]:
        argument = jnp.where(number > at, right, left)
        # The last column is of no use after a step, and takes no part in those to its left.
        return (1 - argument) * values + argument * jnp.roll(values, -1, axis=1), None

    values = jnp.broadcast_to(coefficients, (degree + 1, degree + 1))
    return jax.lax.scan(step, values, jnp.arange(degree))[0][:, 0]


def _log1p_ratio(x: Float[Array, " k"], t: Float[Array, ""]) -> Float[Array, " k"]:
    """Return log(1 + t x) / t, continued to x at t = 0, with exact derivatives there."""
    small = t * x < 1e-5
    safe = jnp.where(small, 1.0, t)
    series = x * (1 - t * x / 2 + (t * x) ** 2 / 3)
    return jnp.where(small, series, jnp.log1p(safe * x) / safe)
