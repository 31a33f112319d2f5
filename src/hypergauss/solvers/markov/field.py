r"""The prior as a Markov field: its precision, a polynomial of the Laplacian, and how hyperparameters reach it.

A Matern kernel of whole nu has, with c = 2 nu / lengthscale^2 and s its largest eigenvalue,

    K = s (c / (c + Delta))^nu,    Q = K^-1 = ((c + Delta) / c)^nu / s,

so that Q multiplies a vector by nu sparse products, without a polynomial that approximates. In log c and log s,

    dQ / dlog s = -Q,    dQ / dlog c = -nu ((c + Delta) / c)^(nu - 1) (Delta / c) / s,
    log det Q = N (nu mean of log1p(l / c) - log s),    the mean over all eigenvalues l.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from scipy.special import comb

from hypergauss import parameters
from hypergauss.kernels import Kernel, Matern, SpectralKernel, Standardised, Sum
from hypergauss.operators import Block, LaplacianOperator
from hypergauss.parameters import Parametrised
from hypergauss.spectrum import MatrixFreeSpectrum, Spectrum

#: Smoothnesses that learning compares; up to the largest the field is taken without being asked for.
SMOOTHNESSES = (2, 1, 3)
#: What c is added to where steps are taken in its logarithm: an eigenvalue below which directions are few.
_LOW = 0.05
#: What `Field.lift` chooses from, at how many numbers it looks, and by how much more than the best it takes.
_LIFTS, _LIFTED_AT, _NEARLY_BEST = np.append(0.0, np.geomspace(0.5, 64.0, 29)), 65, 1.1
#: Residuals that D^-1 alone reaches as soon, and up to which nu.
_FEW_DIGITS, _FEW_STEPS = 1e-2, 2
#: The largest eigenvalue that a normalised Laplacian can have.
_OF_WALKS = 2.0
#: How far a nu may be from a whole number that it was meant to be.
_ROUNDING = 1e-9


class Field(NamedTuple):
    """Q at given hyperparameters: whole nu, c and s, on a spectrum."""

    nu: int
    c: float
    s: float
    spectrum: Spectrum

    @classmethod
    def of(cls, kernel: Kernel) -> Self:
        """Return the field of a kernel, which is one (see `check_kernel`)."""
        assert isinstance(kernel, Matern)
        log_c, log_s = (float(number) for number in log_numbers(kernel))
        return cls(round(kernel.nu), float(np.exp(log_c)), float(np.exp(log_s)), kernel.spectrum)

    @property
    def condition(self) -> float:
        """The largest eigenvalue of Q relative to the smallest."""
        return (1.0 + self.spectrum.upper / self.c) ** self.nu

    def product(self, operator: LaplacianOperator, X: Block) -> Block:
        """Return Q X for an inside block."""
        return self.powers(operator, operator.affine(X, 1.0 / (self.c * self.s), 1.0 / self.s), self.nu - 1)

    def powers(self, operator: LaplacianOperator, X: Block, count: int) -> Block:
        """Return M^count X for an inside block, M = (c + Delta) / c, so that Q = M^nu / s."""
        for _ in range(count):
            X = operator.affine(X, 1.0 / self.c, 1.0)
        return X

    def in_adjacency(self) -> np.ndarray:
        """Return p_0, ..., p_nu with Q = sum of p_j (I - Delta)^j: binom(nu, j) (1 + 1 / c)^(nu - j) (-1 / c)^j / s."""
        j = np.arange(self.nu + 1)
        return comb(self.nu, j) * (1.0 + 1.0 / self.c) ** (self.nu - j) * (-1.0 / self.c) ** j / self.s

    def in_log_c(self, operator: LaplacianOperator, X: Block) -> Block:
        """Return (dQ / dlog c) X for an inside block."""
        return self.powers(operator, operator.affine(X, -self.nu / (self.c * self.s), 0.0), self.nu - 1)

    def forms(self, operator: LaplacianOperator, X: Block, Y: Block) -> tuple[float, float]:
        """Return x' (dQ / dlog c) y and x' (dQ / dlog s) y of inside blocks, each summed over the columns.

        With M = (c + Delta) / c, (Delta / c) M^(nu - 1) = M^nu - M^(nu - 1): one chain of products serves both.
        """
        before = self.powers(operator, Y, self.nu - 1)
        after = self.powers(operator, before, 1)
        below, above = operator.fetch([operator.dot(X, before), operator.dot(X, after)]).sum(axis=1)
        return -self.nu * float(above - below) / self.s, -float(above) / self.s

    def mean_eigenvalue(self) -> float:
        """Return the mean eigenvalue of Q, over a diagonal of which conjugate gradients hardly need to know more."""
        return self._mean((1.0 + self._nodes / self.c) ** self.nu) / self.s

    def lift(self, share: float, tolerance: float = 0.0) -> float:
        r"""Return b of the preconditioner D^-1 + b q D^-1 (I - Delta / u) D^-1, D = q + W, u the largest eigenvalue.

        Conjugate gradients take the longest for what is smooth and small where W is large. Were W infinite there, walks
        would end there, a share 1 - ``share`` of their steps, and eigenvalues of Delta begin at that share of their
        mean l. So b makes, with the fewest passes over the incidences,

            (1 + x / c)^nu (1 + b (1 - x / u)),    (1 - share) l <= x <= u,

        even: there are some sqrt(its largest by its smallest) steps of nu products and, unless b = 0, another one. Of
        all b that are nearly as good it is the smallest; and b = 0 for Laplacians that are no walk's, and where the
        relative residual that systems are solved to leaves but a handful of steps.
        """
        upper = self.spectrum.upper
        if upper > _OF_WALKS or (tolerance >= _FEW_DIGITS and self.nu <= _FEW_STEPS):
            return 0.0
        x = np.linspace(self._first(share), upper, _LIFTED_AT)
        shapes = (1.0 + x / self.c) ** self.nu * (1.0 + np.outer(_LIFTS, 1.0 - x / upper))
        steps = np.sqrt(shapes.max(axis=1) / shapes.min(axis=1))
        passes = steps * (self.nu + (_LIFTS > 0))
        return float(_LIFTS[np.argmax(passes <= _NEARLY_BEST * passes.min())])

    def least(self, share: float) -> float:
        """Return the smallest eigenvalue that D^-1 B is expected to have, by where those of Delta begin in `lift`."""
        return (1.0 + self._first(share) / self.c) ** self.nu / (self.s * self.mean_eigenvalue())

    def _first(self, share: float) -> float:
        return min((1.0 - share) * self._mean(self._nodes), self.spectrum.upper)

    def log_det(self) -> tuple[float, float]:
        """Return log det Q and its standard error, from the density of eigenvalues."""
        spectrum, N = self.spectrum, self.spectrum.num_vertices
        value = N * (self.nu * self._mean(np.log1p(self._nodes / self.c)) - np.log(self.s))
        error = 0.0
        if isinstance(spectrum, MatrixFreeSpectrum):
            error = self.nu * N * spectrum.density.standard_error(lambda nodes: np.log1p(nodes / self.c))
        return float(value), float(np.nan_to_num(error))

    def log_det_in_log_c(self) -> float:
        """Return the slope of log det Q in log c."""
        return -self.nu * self.spectrum.num_vertices * self._mean(self._nodes / (self.c + self._nodes))

    @property
    def _nodes(self) -> np.ndarray:
        return np.append(self.spectrum.nodes, np.mean(self.spectrum.rest))

    def _mean(self, values: np.ndarray) -> float:
        return float(np.append(self.spectrum.node_weights, self.spectrum.rest_share) @ values)


def log_numbers(kernel: Matern) -> np.ndarray:
    """Return log c and log s, shape (2,); complex where a hyperparameter is, as in a complex step."""
    log_c = np.log(2.0 / (kernel.inverse_nu * kernel.lengthscale**2))
    return np.array([log_c, np.log(kernel.density().scale * kernel.filter(np.zeros(1))[0])])


def step_numbers(kernel: Matern) -> np.ndarray:
    """Return log(c + l) and log(s c^nu), shape (2,), in which the log evidence is nearly quadratic.

    As c falls below the eigenvalues that matter, K becomes s c^nu Delta^-nu, and c itself says no more: what rises
    without end in the lengthscale, along a ridge, ends here.
    """
    log_c, log_s = log_numbers(kernel)
    return np.array([np.log(np.exp(log_c) + _LOW), log_s + log_c / kernel.inverse_nu])


def step_jacobian(kernel: Matern) -> np.ndarray:
    """Return the derivatives of log c and log s (rows) in the `step_numbers` (columns), shape (2, 2)."""
    c, nu = float(np.exp(log_numbers(kernel)[0])), kernel.nu
    stretch = (c + _LOW) / c
    return np.array([[stretch, 0.0], [-nu * stretch, 1.0]])


class FieldNumbers:
    """All that a model's hyperparameters set, as one vector: `step_numbers`, log(noise + rest) if any, and means.

    Where noise is small beside what else measurements vary by, the log evidence is quadratic in the noise variance
    itself, and where it is large in its logarithm: ``rest`` is the rest of a measurement's variance.

    Parameters
    ----------
    has_noise : bool
        Whether a noise variance of the model is among them.
    rest : float
        Added to it before the logarithm is taken.
    """

    def __init__(self, *, has_noise: bool, rest: float = 0.0) -> None:
        self.has_noise, self.rest = has_noise, rest

    def of(self, model: Parametrised) -> np.ndarray:
        """Return the numbers at a model's hyperparameters, shape (Q,)."""
        noise = [np.log(model.noise_variance + self.rest)] if self.has_noise else []  # type: ignore[attr-defined]
        return np.concatenate([step_numbers(model.kernel), np.ravel(noise), model.mean])  # type: ignore[attr-defined]

    def tangents(self, model: Parametrised) -> np.ndarray:
        """Return their derivatives in each coordinate of the model, shape (p, Q)."""
        is_kernels = [slot.path[0] == "kernel" for slot in parameters.slots(model) for _ in range(slot.size)]
        of_kernel = np.zeros((len(is_kernels), 2))
        inside = parameters.tangents(model.kernel, step_numbers)  # type: ignore[attr-defined]
        of_kernel[np.array(is_kernels, dtype=bool)] = np.array(inside).reshape(-1, 2)
        own = []
        if self.has_noise:
            slope = 1.0 / (model.noise_variance + self.rest)  # type: ignore[attr-defined]
            own.append(parameters.gather(model, {"noise_variance": slope}))
        size = np.size(model.mean)  # type: ignore[attr-defined]
        own += [parameters.gather(model, {"mean": unit}) for unit in np.eye(size)]
        return np.column_stack([of_kernel, *own])


def is_field(kernel: Kernel, *, learns: bool = False) -> bool:
    """Return whether a kernel is one field as it is, and if asked for one that can be learned."""
    return _objection(kernel, learns=learns) is None


def is_made_of_parts(kernel: Kernel) -> bool:
    """Return whether a kernel is to be opened up: it is a sum, or standardised."""
    return isinstance(kernel, Sum | Standardised)


def needs_fields(kernel: Kernel) -> bool:
    """Return whether this solver alone is for a kernel: without eigenvectors, centred or scaled."""
    terms = kernel.terms if isinstance(kernel, Sum) else (kernel,)
    return any(isinstance(term, Standardised) and not term.has_eigenvectors for term in terms)


def check_kernel(kernel: Kernel, *, learns: bool = False, parts: bool = False) -> None:
    """Refuse a kernel whose precision is no polynomial of one Laplacian, or if asked no sum of such and of features."""
    terms = kernel.terms if parts and isinstance(kernel, Sum) else (kernel,)
    objections = [_objection(term, learns=learns, parts=parts) for term in terms]
    if parts and not any(isinstance(term, Matern | Standardised) for term in terms):
        objections.append(f"{_RULE} Got {kernel!r}. Use `solver='low-rank'`.")
    for objection in objections:
        if objection is not None:
            raise ValueError(objection)


def shape_of(kernel: Kernel) -> Matern:
    """Return the filter of a field, whether it is centred and scaled or not."""
    return kernel.part if isinstance(kernel, Standardised) else kernel  # type: ignore[return-value]


_CURE = "`solver='iterative'`, or `Matern(spectrum, nu=2)`"
_RULE = "The Markov solver needs a Matern kernel of a hypergraph with a whole nu."


def _objection(kernel: Kernel, *, learns: bool, parts: bool = False) -> str | None:
    if parts and kernel.rank is not None and kernel.has_uniform_remainder and not isinstance(kernel, SpectralKernel):
        return None if float(kernel.remainder(None)) == 0.0 else f"{_RULE} Got a remainder in {kernel!r}."
    own = shape_of(kernel) if parts and type(kernel) is Standardised else kernel
    if type(own) is not Matern:
        is_inside = isinstance(kernel, Standardised)  # which the iterative solver does not take
        cure = "`Matern(spectrum, nu=2)` in it, or a spectrum of `Spectrum.of`" if is_inside else _CURE
        return f"{_RULE} Got {type(own).__name__}. Use {cure}."
    if not np.isfinite(own.nu) or own.nu < 1 - _ROUNDING or abs(own.nu - round(own.nu)) > _ROUNDING:
        return f"{_RULE} Got nu = {own.nu:.4g}. Give nu = 1, 2 or 3, or use `solver='iterative'`."
    if not own.spectrum.is_exact:
        return f"{_RULE} Got a truncated spectrum. Make it with `Spectrum.matrix_free`, or with all of its rank."
    if learns and "nu" not in own.fixed and "inverse_nu" not in own.fixed:
        return (
            "The Markov solver learns at a whole nu, which stays as it is. Got a kernel whose nu is free. Give it with "
            "`fixed=('nu',)`, or name the kernel ('auto', 'matern'), and nu is chosen from 1, 2 and 3 by the evidence."
        )
    return None
