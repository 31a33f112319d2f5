"""The filters: Matern, diffusion, and a learned polynomial in Bernstein's form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.special import comb, log1p

from hypergauss import _checks
from hypergauss.kernels.spectral import SpectralKernel
from hypergauss.parameters import Coordinate, Number, positive, reciprocal
from hypergauss.spectrum import Spectrum
from hypergauss.spectrum.spectrum import cosines

#: Up to nu = 30, (2 nu / lengthscale^2)^-nu lies within 1e-240 and 1e140, whatever lengthscale learning may try.
_LEAST_INVERSE_NU = 1 / 30
#: Where log(1 + u) / u and its slope are series, whose next term would be below rounding.
_SMALL = 1e-3

#: What stands for a step at the largest eigenvalue: 0, but for a logarithm.
_LEAST_STEP = 1e-300


def matern(eigenvalues: np.ndarray, inverse_nu: Number, lengthscale: Number) -> np.ndarray:
    """Return phi = exp(-nu log1p(lengthscale^2 l / (2 nu))); an inverse_nu of 0 is the diffusion kernel."""
    return np.exp(-_log1p_ratio(lengthscale**2 * eigenvalues / 2, inverse_nu))


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

    inverse_nu: np.ndarray = reciprocal("nu", 0.0, 20.0)
    lengthscale: np.ndarray = positive(1e-3, 1e3)

    def __init__(
        self,
        spectrum: Spectrum,
        nu: float = 1.5,
        lengthscale: float = 5.0,
        *,
        variance: float = 1.0,
        normalise: bool = True,
        fixed: str | Sequence[str] = (),
    ) -> None:
        super().__init__(spectrum, variance=variance, normalise=normalise, fixed=fixed)
        self.inverse_nu = np.asarray(1.0 / _checks.positive("nu", nu, allow_infinite=normalise))
        self.lengthscale = np.asarray(_checks.positive("lengthscale", lengthscale))

    @property
    def nu(self) -> float:
        """The smoothness, infinite for the diffusion kernel."""
        return 1.0 / float(self.inverse_nu) if self.inverse_nu else float("inf")

    def coordinate(self, field: str) -> Coordinate:
        """Return the declared coordinate; the paper's unnormalised form has to leave nu = infinity out."""
        found = super().coordinate(field)
        return found if self.normalise or field != "inverse_nu" else replace(found, lower=_LEAST_INVERSE_NU)

    def filter(self, eigenvalues: np.ndarray) -> np.ndarray:  # noqa: D102
        phi = matern(eigenvalues, self.inverse_nu, self.lengthscale)
        return phi if self.normalise else phi * self._paper_factor()

    def _paper_factor(self) -> Number:
        """Return (2 nu / lengthscale^2)^-nu, what the paper's form has at the eigenvalue 0."""
        return np.exp(-np.log(2 / (self.inverse_nu * self.lengthscale**2)) / self.inverse_nu)

    def log_slopes(self, eigenvalues: np.ndarray) -> dict[str, np.ndarray]:
        """Return those of log phi = -log1p(x / nu) nu, x = lengthscale^2 l / 2, in 1/nu and the lengthscale."""
        t, lengthscale = self.inverse_nu, self.lengthscale
        x = lengthscale**2 * eigenvalues / 2
        in_t, in_lengthscale = -_log1p_ratio_slope(x, t), -2 * x / (1 + t * x) / lengthscale
        if not self.normalise:  # the logarithm of the paper's factor is -log(2 / (t lengthscale^2)) / t
            in_t += (np.log(2 / (t * lengthscale**2)) + 1) / t**2
            in_lengthscale += 2 / (t * lengthscale)
        return {"inverse_nu": in_t, "lengthscale": in_lengthscale}

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

    beta: np.ndarray = positive(1e-6, 1e4)

    def __init__(
        self,
        spectrum: Spectrum,
        beta: float = 0.01,
        *,
        variance: float = 1.0,
        normalise: bool = True,
        fixed: str | Sequence[str] = (),
    ) -> None:
        super().__init__(spectrum, variance=variance, normalise=normalise, fixed=fixed)
        self.beta = np.asarray(_checks.positive("beta", beta))

    def filter(self, eigenvalues: np.ndarray) -> np.ndarray:  # noqa: D102
        return np.exp(-self.beta * eigenvalues)

    def log_slopes(self, eigenvalues: np.ndarray) -> dict[str, np.ndarray]:  # noqa: D102
        return {"beta": -eigenvalues}

    def ellipse_bound(self, left: np.ndarray) -> np.ndarray:
        """Return phi at ``left``, where its modulus is largest."""
        with np.errstate(over="ignore"):
            return np.exp(-float(self.beta) * left)


class Walk(SpectralKernel):
    r"""Steps of the random walk, phi(l) = (1 - l / u)^steps, u the largest eigenvalue possible: 1 for a hypergraph.

    A A' = I - Delta is one step of the walk that goes from a vertex to one of its hyperedges and on to one of their
    members, made symmetric. One step is the linear model on memberships (Bayesian ridge regression on the normalised
    incidence matrix); many steps, like diffusion, leave the smoothest directions only; less than one step weighs rare
    hyperedges as much as common ones. Nothing is left to the complement of the eigenvectors, phi(u) = 0.

    Parameters
    ----------
    spectrum : Spectrum
        Of the hypergraph.
    steps : float, default 2.0
        How far influence reaches; need not be whole.
    variance, normalise, fixed
        As for `Matern`.

    Examples
    --------
    >>> from hypergauss import Hypergraph, Spectrum
    >>> H = Hypergraph.from_edges([["a", "b"], ["b", "c"]])
    >>> print(Walk(Spectrum.of(H), steps=1.0).gram([0], [0, 1]).round(2))
    [[1.   0.71]]
    """

    steps: np.ndarray = positive(0.05, 50.0)

    def __init__(
        self,
        spectrum: Spectrum,
        steps: float = 2.0,
        *,
        variance: float = 1.0,
        normalise: bool = True,
        fixed: str | Sequence[str] = (),
    ) -> None:
        super().__init__(spectrum, variance=variance, normalise=normalise, fixed=fixed)
        self.steps = np.asarray(_checks.positive("steps", steps))

    def filter(self, eigenvalues: np.ndarray) -> np.ndarray:  # noqa: D102
        return np.exp(self.steps * self._log_step(eigenvalues))

    def log_slopes(self, eigenvalues: np.ndarray) -> dict[str, np.ndarray] | None:  # noqa: D102
        return {"steps": self._log_step(eigenvalues)}

    def root_ellipse_bound(self, left: np.ndarray) -> None:  # noqa: ARG002
        """Return None: it branches at the largest eigenvalue, so degrees of polynomials are measured."""
        return

    def _log_step(self, eigenvalues: np.ndarray) -> np.ndarray:
        """Return log(1 - l / u), with a least value in place of minus infinity."""
        return np.log(np.maximum(1.0 - eigenvalues / (self.spectrum.upper or 1.0), _LEAST_STEP))


class ShapedWalk(Walk):
    r"""Steps of the random walk, and a smooth deviation from them: a filter between stiff and free.

    With x in [0, 1] the position of sqrt(1 - l / u) between its smallest and its largest value on the spectrum, the
    trivial one aside,

        log phi(l) = steps * log(1 - l / u) + sum over j of log(shape_j) / j * cos(pi j x).

    A shape of ones is `Walk` itself; others give it plateaus, steps and bands. Under a prior around one the evidence
    decides how much of that freedom is used.

    Parameters
    ----------
    spectrum : Spectrum
        Of the hypergraph.
    steps : float, default 2.0
        As for `Walk`.
    shape : int or sequence of float, default 6
        Positive numbers, or how many, starting from ones.
    variance, normalise, fixed
        As for `Matern`; ``fixed`` may name "shape".
    """

    shape: np.ndarray = positive(1e-4, 1e4)

    def __init__(
        self,
        spectrum: Spectrum,
        steps: float = 2.0,
        shape: int | Sequence[float] | np.ndarray = 6,
        *,
        variance: float = 1.0,
        normalise: bool = True,
        fixed: str | Sequence[str] = (),
    ) -> None:
        if isinstance(shape, int):
            shape = np.ones(_checks.count("shape", shape, most=64, why="cosines of a filter"))
        array = _checks.finite_array("shape", shape, missing="Pass positive numbers.")
        if array.ndim != 1 or not len(array) or (array <= 0).any():
            raise ValueError(f"`shape` must be at least one positive number. Got {array}.")
        super().__init__(spectrum, steps, variance=variance, normalise=normalise, fixed=fixed)
        self.shape = array

    def filter(self, eigenvalues: np.ndarray) -> np.ndarray:  # noqa: D102
        return np.exp(self.steps * self._log_step(eigenvalues) + self._waves(eigenvalues) @ np.log(self.shape))

    def filter_range(self, low: float, high: float) -> tuple[Number, Number]:
        """Return bounds of phi over [low, high] from those of the walk and of each cosine."""
        ends = Walk.filter(self, np.array([low, high]))
        if low == high:
            both = self.filter(np.array([low]))[0]
            return both, both
        swing = (np.abs(np.log(np.real(self.shape))) / np.arange(1, len(self.shape) + 1)).sum()
        return ends[1] * np.exp(-swing), ends[0] * np.exp(swing)

    def log_slopes(self, eigenvalues: np.ndarray) -> dict[str, np.ndarray] | None:
        """Return those of log phi; None on a truncated spectrum, where the background is no value of phi."""
        if not self.spectrum.is_exact:
            return None
        return {"steps": self._log_step(eigenvalues), "shape": self._waves(eigenvalues) / self.shape}

    def _waves(self, eigenvalues: np.ndarray) -> np.ndarray:
        """Return cos(pi j x) / j, shape (..., m); on the whole spectrum, which learning asks for, it is kept there."""
        if eigenvalues is self.spectrum.nodes_and_rest:
            return self.spectrum.cosines(len(self.shape))
        return cosines(self.spectrum.position(eigenvalues), len(self.shape))


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

    coefficients: np.ndarray = positive(1e-8, 1e8)

    def __init__(
        self,
        spectrum: Spectrum,
        coefficients: int | Sequence[float] | np.ndarray = 8,
        *,
        variance: float = 1.0,
        normalise: bool = True,
        fixed: str | Sequence[str] = (),
    ) -> None:
        super().__init__(spectrum, variance=variance, normalise=normalise, fixed=fixed)
        if isinstance(coefficients, int):
            degree = _checks.count("coefficients", coefficients, most=64, why="the degree of a Bernstein filter")
            coefficients = np.exp(-4 * np.arange(degree + 1) / degree)
        array = _checks.finite_array("coefficients", coefficients, missing="Pass positive numbers.")
        if array.ndim != 1 or len(array) < 2 or (array <= 0).any():
            raise ValueError(f"`coefficients` must be at least two positive numbers. Got {array}.")
        self.coefficients = array

    def filter(self, eigenvalues: np.ndarray) -> np.ndarray:  # noqa: D102
        x = self._position(eigenvalues)[..., None]
        degree = len(self.coefficients) - 1
        k = np.arange(degree + 1)
        return (comb(degree, k) * x**k * (1 - x) ** (degree - k)) @ self.coefficients

    def root_ellipse_bound(self, left: np.ndarray) -> None:  # noqa: ARG002
        """Return None: the root branches at the filter's complex zeros, which move with its coefficients."""
        return

    def _position(self, eigenvalues: np.ndarray) -> np.ndarray:
        """Return eigenvalues as shares of the largest possible one, which is 0 for a graph without edges."""
        return np.clip(eigenvalues / (self.spectrum.upper or 1.0), 0.0, 1.0)

    def filter_range(self, low: float, high: float) -> tuple[Number, Number]:
        """Bound phi by the coefficients of its restriction to [low, high], whose hull contains the curve."""
        left, right = self._position(np.array([low, high]))
        hull = _restrict(self.coefficients, left, right)
        return hull[np.argmin(hull.real)], hull[np.argmax(hull.real)]


def _restrict(coefficients: np.ndarray, left: float, right: float) -> np.ndarray:
    """Return the Bernstein coefficients on [left, right], by de Casteljau's subdivision of [0, 1]."""
    # The blossom of the polynomial, with j arguments at `right` and the others at `left`, is coefficient j.
    degree = len(coefficients) - 1
    number = np.arange(degree + 1)[:, None]
    values = np.broadcast_to(coefficients, (degree + 1, degree + 1))
    for step in range(degree):
        argument = np.where(number > step, right, left)
        values = (1 - argument) * values[:, :-1] + argument * values[:, 1:]
    return values[:, 0]


def _log1p_ratio_slope(x: np.ndarray, t: Number) -> np.ndarray:
    """Return the derivative of log(1 + t x) / t in t, continued to -x^2 / 2 at t = 0."""
    u = t * x
    small = u < _SMALL
    safe = np.where(small, 1.0, u)
    series = u * (2 / 3 - u * (3 / 4 - u * (4 / 5 - u * (5 / 6)))) - 1 / 2
    return x**2 * np.where(small, series, (1 / (1 + safe) - np.log1p(safe) / safe) / safe)


def _log1p_ratio(x: np.ndarray, t: Number) -> np.ndarray:
    """Return log(1 + t x) / t, continued to x at t = 0, with exact derivatives there and on the way."""
    u = t * x
    if np.isrealobj(u):
        return x * np.divide(np.log1p(u), u, out=np.ones_like(u), where=u != 0)
    small = u.real < _SMALL
    safe = np.where(small, 1.0, t)
    series = x * (1 - u * (1 / 2 - u * (1 / 3 - u * (1 / 4 - u * (1 / 5 - u / 6)))))
    # SciPy's logarithm keeps the digits of complex numbers near 1, which NumPy's loses.
    return np.where(small, series, log1p(safe * x) / safe)
