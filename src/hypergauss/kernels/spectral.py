r"""Spectral kernels: K = variance * phi(Delta) / mean diagonal, for a filter phi of the Laplacian's eigenvalues.

With Delta known as U diag(l) U' plus a rest on the complement of U where phi takes the value b,

    phi(Delta) = b I + U diag(phi(l) - b) U',

exactly if the spectrum is exact. If it is truncated, b is the middle of phi's range over the rest.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, NamedTuple, Self

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from hypergauss.kernels.base import Kernel, scale_field
from hypergauss.kernels.polynomial import filter_expansion
from hypergauss.spectrum import Spectrum, chebyshev

#: Error of the polynomial behind a prior draw, relative to its filter's largest value.
_DRAW_TOLERANCE = 1e-9


class Vertices(NamedTuple):
    """Inputs of a spectral kernel: vertex indices and their rows of U."""

    index: Any  # (n,)
    vectors: Any  # (n, r)


class Density(NamedTuple):
    """phi at the known eigenvalues, its range over the rest, and the factor that turns phi into the kernel."""

    known: Float[Array, " r"]
    rest: tuple[Float[Array, ""], Float[Array, ""]]
    scale: Float[Array, ""]

    @property
    def background(self) -> Float[Array, ""]:
        """B, the value that stands for phi on the rest."""
        return (self.rest[0] + self.rest[1]) / 2


class SpectralKernel(Kernel):
    """A filter of the Laplacian's spectrum, the hypergraph's own covariance.

    ``normalise`` scales the kernel so that the mean prior variance over all vertices is ``variance``, as Borovitskiy
    et al. (2021) do; without it the kernel is ``variance`` times the filter as the paper writes it.
    """

    spectrum: eqx.AbstractVar[Spectrum]
    normalise: eqx.AbstractVar[bool]
    fixed: eqx.AbstractVar[tuple[str, ...]]
    variance: eqx.AbstractVar[Array]

    @abstractmethod
    def filter(self, eigenvalues: Float[Array, " k"]) -> Float[Array, " k"]:
        """Return phi >= 0 at the given eigenvalues."""

    def filter_range(self, low: Any, high: Any) -> tuple[Float[Array, ""], Float[Array, ""]]:
        """Return bounds of phi over [low, high]; a decreasing filter has them at the ends."""
        ends = self.filter(jnp.stack([jnp.asarray(low), jnp.asarray(high)]))
        return ends[1], ends[0]

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
        if spectrum.density is not None:
            range_ = self.filter_range(spectrum.rest[0], spectrum.rest[1])
            mean = spectrum.density.mean(lambda nodes: self.filter(jnp.asarray(nodes))) if self.normalise else 1.0
            return Density(jnp.zeros(0), range_, self.variance / mean)
        known = self.filter(jnp.asarray(spectrum.eigenvalues))
        rest = self.filter_range(spectrum.rest[0], spectrum.rest[1])
        scale = self.variance
        if self.normalise:
            n_rest = spectrum.num_vertices - spectrum.rank
            mean = (known.sum() + n_rest * (rest[0] + rest[1]) / 2) / spectrum.num_vertices
            scale = scale / mean
        return Density(known, rest, scale)

    def mean_above(self, edge: Any) -> Float[Array, ""]:
        """Return the mean of the filter over all eigenvalues above an edge; its value at the upper end if none is."""
        spectrum = self.spectrum
        if spectrum.density is not None:
            nodes, weights = jnp.ravel(spectrum.density.nodes), jnp.ravel(spectrum.density.weights)
        else:
            rest = spectrum.num_vertices - spectrum.rank
            nodes = jnp.append(spectrum.eigenvalues, jnp.mean(jnp.asarray(spectrum.rest)))
            weights = jnp.append(jnp.ones(spectrum.rank), float(rest))
        weights = weights * (nodes > edge)
        total = weights.sum()
        upper = self.filter(jnp.asarray([spectrum.upper]))[0]
        return jnp.where(total > 0, weights @ self.filter(nodes) / jnp.where(total > 0, total, 1.0), upper)

    @property
    def num_vertices(self) -> int:  # noqa: D102
        return self.spectrum.num_vertices

    @property
    def rank(self) -> int | None:  # noqa: D102
        return None if self.spectrum.is_matrix_free else self.spectrum.rank

    @property
    def basis(self) -> object:  # noqa: D102
        return self.spectrum

    @property
    def has_eigenvectors(self) -> bool:  # noqa: D102
        return not self.spectrum.is_matrix_free

    def mean_variance(self) -> float:  # noqa: D102
        if self.normalise:
            return float(self.variance)
        density = self.spectrum.density
        return super().mean_variance() if density is None else float(self.variance * density.mean(self.filter))

    @property
    def has_uniform_remainder(self) -> bool:  # noqa: D102
        return True

    @property
    def has_positive_weights(self) -> bool:
        """Whether the filter decreases, so that the background is its least value."""
        return True

    def inputs(self, rows: np.ndarray) -> Vertices:  # noqa: D102
        self._check_eigenvectors()
        return Vertices(rows, self.spectrum.vertex_vectors[rows])

    def features(self, inputs: Vertices) -> Any:  # noqa: D102
        return inputs.vectors

    def weights(self) -> Float[Array, " r"]:  # noqa: D102
        self._check_eigenvectors()
        density = self.density()
        return density.scale * (density.known - density.background)

    def remainder(self, inputs: Vertices) -> Float[Array, ""]:  # noqa: D102, ARG002
        self._check_eigenvectors()
        density = self.density()
        return density.scale * density.background

    def cross(self, left: Vertices, right: Vertices) -> Float[Array, "n m"]:  # noqa: D102
        same = jnp.asarray(left.index)[:, None] == jnp.asarray(right.index)[None, :]
        return (left.vectors * self.weights()) @ right.vectors.T + self.remainder(left) * same

    def variances(self, inputs: Vertices) -> Float[Array, " n"]:  # noqa: D102
        return jnp.asarray(inputs.vectors) ** 2 @ self.weights() + self.remainder(inputs)

    def scaled(self, factor: float) -> Self:  # noqa: D102
        return scale_field(self, factor)

    def prior_draws(self, rows: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
        """Draw f = sqrt(b) z + U ((sqrt(phi) - sqrt(b)) U'z), z white noise on all vertices: no N x N matrix.

        Without eigenvectors, f = p(Delta) z with a polynomial p that meets sqrt(phi).
        """
        density = _density(self)
        if self.spectrum.is_matrix_free:
            operator = self.spectrum.source.multiplier()
            root = filter_expansion(self, _DRAW_TOLERANCE, root=True)
            white = operator.white_noise(size, rng)
            return float(jnp.sqrt(density.scale)) * operator.array(chebyshev.apply(operator, root, white), rows)
        scale, known, background = (np.asarray(part) for part in (density.scale, density.known, density.background))
        root, rest_root = np.sqrt(scale * known), np.sqrt(scale * background)
        U = self.spectrum.vertex_vectors
        z = rng.standard_normal((self.num_vertices, size))
        return rest_root * z[rows] + U[rows] @ ((root - rest_root)[:, None] * (U.T @ z))

    def _check_eigenvectors(self) -> None:
        if self.spectrum.is_matrix_free:
            raise ValueError(
                f"A covariance between single vertices needs eigenvectors. Got a kernel on {self.spectrum}. Condition "
                "with `solver='iterative'`, or make the spectrum with `Spectrum.of`."
            )

    def error_bound(self) -> float:
        r"""Return a bound on ``|K - K_exact|``, the operator norm of what a truncated spectrum gets wrong.

        A matrix-free spectrum leaves out nothing, so it is 0 there; but its normalisation is an estimate, whose
        relative error is that of ``spectrum.density``.

        Without normalisation it is half of phi's range over the rest, times the variance. With it, the mean diagonal
        m is also uncertain, by e = (half range)(N - r)/N, and
        ``|K/m - K'/m'| <= (|K - K'| + |K'| e / m') / (m' - e)``.
        """
        spectrum, density = self.spectrum, _density(self)
        if spectrum.is_exact:
            return 0.0
        # The bound is attained; the margin is for the rounding of the last digits.
        half = float(density.rest[1] - density.rest[0]) / 2 * (1 + 1e-9)
        if not self.normalise:
            return float(self.variance) * half
        mean = float(self.variance / density.scale)
        slack = half * (1 - spectrum.rank / spectrum.num_vertices)
        if slack >= mean:
            return float("inf")
        largest = max(float(jnp.max(density.known, initial=0.0)), float(density.background))
        return float(self.variance) * (half + largest * slack / mean) / (mean - slack)


@eqx.filter_jit
def _density(kernel: SpectralKernel) -> Density:
    return kernel.density()


def check_spectrum(spectrum: Any) -> Spectrum:
    """Return the spectrum, or say how to make one."""
    if not isinstance(spectrum, Spectrum):
        raise TypeError(
            f"`spectrum` must be a Spectrum. Got {type(spectrum).__name__}. Make one with `Spectrum.of(H)`."
        )
    return spectrum
