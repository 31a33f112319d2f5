r"""Spectral kernels: K = variance * phi(Delta) / mean diagonal, for a filter phi of the Laplacian's eigenvalues.

With Delta known as U diag(l) U' plus a rest on the complement of U where phi takes the value b,

    phi(Delta) = b I + U diag(phi(l) - b) U',

exactly if the spectrum is exact. If it is truncated, b is the middle of phi's range over the rest.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from hypergauss import _checks, parameters
from hypergauss.exceptions import NumericalError
from hypergauss.kernels.base import Kernel, Slopes, Structure
from hypergauss.kernels.polynomial import filter_expansion
from hypergauss.parameters import Number, positive
from hypergauss.spectrum import EigenSpectrum, Spectrum, chebyshev

#: Error of the polynomial behind a prior draw, relative to its filter's largest value.
_DRAW_TOLERANCE = 1e-9
#: A filter may be so far below 0, relative to its largest value, by rounding.
_ROUNDING = 1e-8


class Vertices(NamedTuple):
    """Inputs of a spectral kernel: vertex indices and their rows of U."""

    index: np.ndarray  # type: ignore[assignment]  # (n,)
    vectors: np.ndarray  # (n, r)


class Density(NamedTuple):
    """phi at the known eigenvalues (or those that stand for them), its range over the rest, and the kernel's scale."""

    known: np.ndarray
    rest: tuple[Any, Any]
    scale: Any

    @property
    def background(self) -> Number:
        """B, the value that stands for phi on the rest."""
        return (self.rest[0] + self.rest[1]) / 2


class SpectralKernel(Kernel):
    """A filter of the Laplacian's spectrum, the hypergraph's own covariance.

    ``normalise`` scales the kernel so that the mean prior variance over all vertices is ``variance``, as Borovitskiy
    et al. (2021) do; without it the kernel is ``variance`` times the filter as the paper writes it.

    A filter of your own is a subclass that declares its hyperparameters and writes `filter` in NumPy; derivatives are
    taken of the formula. One that does not fall with the eigenvalue also says what range it has (`filter_range`) where
    the spectrum may be truncated.

    Examples
    --------
    >>> import numpy as np
    >>> from hypergauss import Hypergraph, Spectrum
    >>> class Cauchy(SpectralKernel):
    ...     width = positive(1e-3, 1e3)
    ...
    ...     def __init__(self, spectrum, width=0.1, **options):
    ...         super().__init__(spectrum, **options)
    ...         self.width = width
    ...
    ...     def filter(self, eigenvalues):
    ...         return 1 / (1 + (eigenvalues / self.width) ** 2)
    >>> H = Hypergraph.from_edges([["a", "b"], ["b", "c"]])
    >>> print(Cauchy(Spectrum.of(H), variance=2.0).gram().round(2))
    [[1.56 2.   1.33]
     [2.   2.89 2.  ]
     [1.33 2.   1.56]]
    """

    variance: np.ndarray = positive()
    _formula: ClassVar[str] = "filter"

    def __init__(
        self, spectrum: Spectrum, *, variance: float = 1.0, normalise: bool = True, fixed: str | Sequence[str] = ()
    ) -> None:
        self.spectrum = check_spectrum(spectrum)
        self.normalise = bool(normalise)
        self.variance = np.asarray(_checks.positive("variance", variance))
        self.fixed = self.check_fixed(fixed)

    def __init_subclass__(cls, **options: Any) -> None:
        """Let a subclass that writes another filter have that filter's derivatives, not those of its base."""
        super().__init_subclass__(**options)
        if {"filter", "filter_range"} & set(vars(cls)) and "log_slopes" not in vars(cls):
            cls.log_slopes = SpectralKernel.log_slopes  # type: ignore[method-assign]

    @abstractmethod
    def filter(self, eigenvalues: np.ndarray) -> np.ndarray:
        """Return phi >= 0 at the given eigenvalues."""

    def filter_range(self, low: float, high: float) -> tuple[Number, Number]:
        """Return bounds of phi over [low, high]; a decreasing filter has them at the ends."""
        ends = self.filter(np.array([low, high]))
        return ends[1], ends[0]

    def log_slopes(self, eigenvalues: np.ndarray) -> dict[str, np.ndarray] | None:  # noqa: ARG002
        """Return the derivative of log phi in each hyperparameter of a decreasing filter, by field, at eigenvalues.

        None, the rule, leaves derivatives to complex steps of `filter`.
        """
        return None

    def ellipse_bound(self, left: np.ndarray) -> np.ndarray | None:  # noqa: ARG002
        """Return the largest modulus of phi over ellipses with foci 0 and the largest eigenvalue.

        ``left`` < 0 is where each ellipse reaches down to; infinite where phi is singular within. None if that is not
        known of a filter: degrees of polynomials are then measured, not proved.
        """
        return None

    def root_ellipse_bound(self, left: np.ndarray) -> np.ndarray | None:
        """Return the same for the square root of phi, which must not vanish within the ellipse either."""
        bound = self.ellipse_bound(left)
        return None if bound is None else np.sqrt(bound)

    def density(self) -> Density:
        """Return the filter's values on the spectrum and the normalisation."""
        spectrum = self.spectrum
        known = self.filter(spectrum.nodes)
        rest: tuple[Any, Any] = self.filter_range(spectrum.rest[0], spectrum.rest[1])
        self._check_values(np.real(np.append(known, rest)))
        if not self.normalise:
            return Density(known, rest, self.variance)
        mean = spectrum.node_weights @ known + spectrum.rest_share * (rest[0] + rest[1]) / 2
        # A filter that is 0 on the whole spectrum, as a walk's without any hyperedge, leaves nothing to be normalised.
        return Density(known, rest, self.variance / mean if np.real(mean) > 0 else 0.0 * self.variance)

    def _check_values(self, phi: np.ndarray) -> None:
        """Refuse values that are no variances; rounding may leave a filter that ends at 0 a little below."""
        largest = np.abs(phi).max(initial=0.0)
        if not np.isfinite(largest):
            raise NumericalError(
                f"The filter of {self!r} must be finite on the spectrum. Got {largest}. Choose hyperparameters further "
                "from the ends of their range, or leave `normalise` at True."
            )
        if phi.min(initial=0.0) < -_ROUNDING * largest:
            raise NumericalError(
                f"The filter of {self!r} must not be negative on the spectrum: its values are variances. Got "
                f"{phi.min():.3g}. Write one that is not, such as its square."
            )

    def values_on_spectrum(self) -> tuple[np.ndarray, Number]:
        """Return phi at the known eigenvalues, shape (r,), and the background b that stands for it on the rest."""
        return self._on_spectrum

    @cached_property
    def _on_spectrum(self) -> tuple[np.ndarray, Number]:
        low, high = self.spectrum.rest
        values = self._everywhere
        lowest, highest = (values[-1], values[-1]) if low == high else self.filter_range(low, high)
        return values[:-2], (lowest + highest) / 2

    @cached_property
    def _everywhere(self) -> np.ndarray:
        """Phi at the known eigenvalues and at both ends of the rest's range."""
        return self.filter(self.spectrum.nodes_and_rest)

    def pull_back_filter(self, in_known: np.ndarray, in_background: Number, in_variance: Number) -> np.ndarray:
        """Return the gradient of a number with these slopes in `values_on_spectrum` and in the variance."""
        in_log_phi = self.log_slopes(self.spectrum.nodes_and_rest)
        if in_log_phi is None:
            slopes = (in_known, in_background)
            of_filter = parameters.pull_back(self, lambda kernel: kernel.values_on_spectrum(), slopes)
            return of_filter + parameters.gather(self, {"variance": in_variance})
        both = np.append(in_known, np.full(2, in_background / 2)) * self._everywhere
        of_formula = {field: both @ slope for field, slope in in_log_phi.items()}
        return parameters.gather(self, {**of_formula, "variance": in_variance})

    def mean_above(self, edge: float) -> Number:
        """Return the mean of the filter over all eigenvalues above an edge; its value at the upper end if none is."""
        spectrum = self.spectrum
        nodes = np.append(spectrum.nodes, np.mean(spectrum.rest))
        weights = np.append(spectrum.node_weights, spectrum.rest_share) * (nodes > edge)
        total = weights.sum()
        return weights @ self.filter(nodes) / total if total > 0 else self.filter(np.array([spectrum.upper]))[0]

    @property
    def num_vertices(self) -> int:  # noqa: D102
        return self.spectrum.num_vertices

    @property
    def rank(self) -> int | None:  # noqa: D102
        return self.spectrum.rank if isinstance(self.spectrum, EigenSpectrum) else None

    @property
    def basis(self) -> object:  # noqa: D102
        return self.spectrum

    @property
    def has_eigenvectors(self) -> bool:  # noqa: D102
        return isinstance(self.spectrum, EigenSpectrum)

    @property
    def has_uniform_remainder(self) -> bool:  # noqa: D102
        return True

    def mean_variance(self) -> float:  # noqa: D102
        if self.normalise:
            return float(self.variance)
        spectrum, density = self.spectrum, self.density()
        return float(self.variance * (spectrum.node_weights @ density.known + spectrum.rest_share * density.background))

    def inputs(self, rows: np.ndarray) -> Vertices:  # noqa: D102
        return Vertices(rows, self.eigenspectrum.vertex_vectors[rows])

    def features(self, inputs: Vertices) -> np.ndarray:  # noqa: D102
        return inputs.vectors

    def structure(self, inputs: Vertices | None) -> Structure:  # noqa: D102, ARG002
        assert self.eigenspectrum is self.spectrum  # refused without: nodes of a density are no features
        known, rest, scale = self.density()
        background = (rest[0] + rest[1]) / 2
        return Structure(scale * (known - background), np.asarray(scale * background))

    def pull_back_structure(self, adjoint: Slopes | Structure, inputs: Vertices | None) -> np.ndarray:  # noqa: ARG002
        """Return the gradient by way of phi, from weights = s (phi - b) and remainder = s b.

        s is the variance, divided by the mean of phi over all eigenvalues if the kernel is normalised.
        """
        known, rest, scale = self.density()
        background = (rest[0] + rest[1]) / 2
        in_scale = adjoint.weights @ (known - background) + adjoint.remainder * background
        in_known = scale * adjoint.weights
        in_background = scale * (adjoint.remainder - adjoint.weights.sum())
        in_log_scale = in_scale * scale
        if self.normalise:
            in_mean = in_log_scale * scale / self.variance
            in_known -= in_mean * self.spectrum.node_weights
            in_background -= in_mean * self.spectrum.rest_share
        return self.pull_back_filter(in_known, in_background, in_log_scale / self.variance)

    def cross(self, left: Vertices, right: Vertices) -> np.ndarray:  # noqa: D102
        weights, remainder = self.structure(left)
        return (left.vectors * weights) @ right.vectors.T + remainder * self.same_vertex(left, right)

    def variances(self, inputs: Vertices) -> np.ndarray:  # noqa: D102
        weights, remainder = self.structure(inputs)
        return inputs.vectors**2 @ weights + remainder

    def same_vertex(self, left: Vertices, right: Vertices) -> np.ndarray:  # noqa: D102
        return left.index[:, None] == right.index[None, :]

    def prior_draws(self, rows: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
        """Draw f = sqrt(b) z + U ((sqrt(phi) - sqrt(b)) U'z), z white noise on all vertices: no N x N matrix.

        Without eigenvectors, f = p(Delta) z with a polynomial p that meets sqrt(phi).
        """
        density = self.density()
        if not isinstance(self.spectrum, EigenSpectrum):
            operator = self.spectrum.source.multiplier()
            root = filter_expansion(self, _DRAW_TOLERANCE, root=True)
            white = operator.white_noise(size, rng)
            return float(np.sqrt(density.scale)) * operator.array(chebyshev.apply(operator, root, white), rows)
        root, rest_root = np.sqrt(density.scale * density.known), np.sqrt(density.scale * density.background)
        U = self.spectrum.vertex_vectors
        z = rng.standard_normal((self.num_vertices, size))
        return rest_root * z[rows] + U[rows] @ ((root - rest_root)[:, None] * (U.T @ z))

    @property
    def eigenspectrum(self) -> EigenSpectrum:
        """The spectrum, if it has eigenvectors; else a sentence."""
        if not isinstance(self.spectrum, EigenSpectrum):
            raise ValueError(
                f"A covariance between single vertices needs eigenvectors. Got a kernel on {self.spectrum}. Condition "
                "with `solver='iterative'` or 'markov', or make the spectrum with `Spectrum.of`."
            )
        return self.spectrum

    def error_bound(self) -> float:
        r"""Return a bound on ``|K - K_exact|``, the operator norm of what a truncated spectrum gets wrong.

        A matrix-free spectrum leaves out nothing, so it is 0 there; but its normalisation is an estimate, whose
        relative error is that of ``spectrum.density``.

        Without normalisation it is half of phi's range over the rest, times the variance. With it, the mean diagonal
        m is also uncertain, by e = (half range)(N - r)/N, and
        ``|K/m - K'/m'| <= (|K - K'| + |K'| e / m') / (m' - e)``.
        """
        spectrum, density = self.spectrum, self.density()
        if spectrum.is_exact:
            return 0.0
        # The bound is attained; the margin is for the rounding of the last digits.
        half = float(density.rest[1] - density.rest[0]) / 2 * (1 + 1e-9)
        if not self.normalise:
            return float(self.variance) * half
        mean = float(self.variance / density.scale)
        slack = half * spectrum.rest_share
        if slack >= mean:
            return float("inf")
        largest = max(float(np.max(density.known, initial=0.0)), float(density.background))
        return float(self.variance) * (half + largest * slack / mean) / (mean - slack)


def check_spectrum(spectrum: object) -> Spectrum:
    """Return the spectrum, or say how to make one."""
    if not isinstance(spectrum, Spectrum):
        raise TypeError(
            f"`spectrum` must be a Spectrum. Got {type(spectrum).__name__}. Make one with `Spectrum.of(H)`."
        )
    return spectrum
