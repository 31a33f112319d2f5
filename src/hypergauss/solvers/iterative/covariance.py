r"""A kernel as products: K = sum of f o phi(Delta) (f o .) over its spectral parts, plus F diag(w) F'.

A kernel's tree is opened up once into terms without hyperparameters (which Laplacian, which features); at each value of
the hyperparameters the filters become Chebyshev expansions. A bilinear form x' K y depends on hyperparameters only
through a few numbers,

    x' K y = sum over terms and k of c_k(theta) (f o x)' t_k(Delta) (f o y) + sum over j of w_j(theta) (F'x)_j (F'y)_j,

so that one pass over the Laplacian gives its derivatives in all of them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from hypergauss.kernels import Kernel, Product, SpectralKernel, Sum
from hypergauss.kernels.polynomial import filter_expansion
from hypergauss.operators import LaplacianOperator
from hypergauss.spectrum import chebyshev

#: The least background, as a share of the filter's mean.
_LEAST_BACKGROUND = 1e-3
#: Numbers of moments come in multiples of this, so that few shapes are compiled.
_MOMENTS = 32


class Path(NamedTuple):
    """The way from a kernel to one of its parts."""

    steps: tuple[tuple[str, int], ...] = ()

    def of(self, kernel: Kernel) -> Any:
        """Follow it."""
        node: Any = kernel
        for name, position in self.steps:
            node = getattr(node, name)[position]
        return node

    def then(self, name: str, position: int) -> Path:
        """Return a longer way."""
        return Path((*self.steps, (name, position)))


class SpectralTerm(NamedTuple):
    """phi(Delta), or with features sum over j of w_j f_j o phi(Delta) (f_j o .)."""

    path: Path
    operator: LaplacianOperator
    features: Any = None
    weights_path: Path | None = None

    def factors(self, kernel: Kernel) -> list[tuple[float, Any]]:
        """Return (w_j, f_j), or one factor of None."""
        if self.weights_path is None:
            return [(1.0, None)]
        weights = np.asarray(self.weights_path.of(kernel).weights())
        return [(float(w), self.features[:, j : j + 1]) for j, w in enumerate(weights)]


class FeatureTerm(NamedTuple):
    """F diag(w) F' + remainder."""

    path: Path
    features: Any


class Forms(NamedTuple):
    """What bilinear forms x' K y, summed over columns, need: moments of each spectral term, products of features."""

    spectral: tuple[np.ndarray, ...]  # each (factors, moments)
    features: tuple[tuple[np.ndarray, np.ndarray], ...]  # each (r,) and ()

    def plus(self, other: Forms, factor: float) -> Forms:
        """Add forms, padding moments to a common number."""
        spectral = tuple(_pad_sum(a, factor * b) for a, b in zip(self.spectral, other.spectral, strict=True))
        features = tuple(
            (a[0] + factor * b[0], a[1] + factor * b[1]) for a, b in zip(self.features, other.features, strict=True)
        )
        return Forms(spectral, features)


class Coefficients(NamedTuple):
    """The numbers of a kernel that meet those of `Forms`, shaped as they are: x' K y is the sum of the products."""

    spectral: tuple[Array, ...]
    features: tuple[tuple[Array, Array], ...]

    def meet(self, forms: Forms) -> Float[Array, ""]:
        """Return x' K y."""
        pairs = zip(jax.tree.leaves(self), jax.tree.leaves(forms), strict=True)
        return sum(((ours * theirs).sum() for ours, theirs in pairs), jnp.zeros(()))


class Skeleton(NamedTuple):
    """Where a kernel's terms are and how far their eigenvalues reach: all that its derivatives need.

    Hashable, so that it can be part of what is compiled.
    """

    spectral: tuple[tuple[Path, Path | None, float, bool], ...]  # way, way to weights, upper, on the first Laplacian
    features: tuple[Path, ...]
    size: int

    def coefficients(self, kernel: Kernel, lengths: tuple[int, ...]) -> Coefficients:
        """Return the numbers that K is linear in, as differentiable functions of the kernel's hyperparameters.

        ``lengths`` are the numbers of moments of each spectral term.
        """
        spectral = []
        for (path, weights_path, upper, _), length in zip(self.spectral, lengths, strict=True):
            part = path.of(kernel)
            values = part.density().scale * part.filter(jnp.asarray(chebyshev.nodes(2 * length, upper)))
            by_moment = chebyshev.coefficient_matrix(length - 1, 2 * length) @ values
            weights = jnp.ones(1) if weights_path is None else weights_path.of(kernel).weights()
            spectral.append(weights[:, None] * by_moment)
        parts = [path.of(kernel) for path in self.features]
        return Coefficients(tuple(spectral), tuple((part.weights(), part.remainder(None)) for part in parts))

    def bilinear(self, kernel: Kernel, forms: Forms) -> Float[Array, ""]:
        """Return the sum of x' K y from its forms."""
        return self.coefficients(kernel, tuple(moments.shape[-1] for moments in forms.spectral)).meet(forms)

    def deflated(self, kernel: Kernel, eigenvalues: Array) -> tuple[Float[Array, ""], Float[Array, " k"]]:
        """Return what a preconditioner takes K for: b, and D, K's filter at eigenvalues of the first Laplacian less b.

        Only plain terms on that Laplacian count; features and other relations are left to the iteration. b is the
        filter's mean over all larger eigenvalues, and not far below that over all, since eigenvectors are not exact.
        """
        background, filtered = jnp.zeros(()), jnp.zeros(len(eigenvalues))
        edge = jnp.max(jnp.asarray(eigenvalues), initial=-1.0)
        for path, weights_path, _, is_first in self.spectral:
            if not is_first or weights_path is not None:
                continue
            part = path.of(kernel)
            scale = part.density().scale
            filtered = filtered + scale * part.filter(jnp.asarray(eigenvalues))
            rest = jnp.maximum(part.mean_above(edge), _LEAST_BACKGROUND * part.mean_above(-1.0))
            background = background + scale * rest
        return background, jnp.maximum(filtered - background, 0.0)


class Structure:
    """The terms of a kernel: what stays the same while its hyperparameters change."""

    def __init__(self, kernel: Kernel) -> None:
        self._operators: dict[int, LaplacianOperator] = {}
        self.spectral: list[SpectralTerm] = []
        self.features: list[FeatureTerm] = []
        self._open(kernel, Path())
        if not self.spectral:
            raise ValueError(
                f"The iterative solver needs a kernel with a hypergraph in it. Got {kernel!r}. Use `solver='low-rank'`."
            )
        vector = self.operator.vector
        self.spectral = [t if t.features is None else t._replace(features=vector(t.features)) for t in self.spectral]
        self.features = [term._replace(features=vector(term.features)) for term in self.features]

    @property
    def operators(self) -> list[LaplacianOperator]:
        """Each Laplacian once."""
        return list(self._operators.values())

    @property
    def operator(self) -> LaplacianOperator:
        """The first term's Laplacian, whose vectors all work is done with."""
        return self.spectral[0].operator

    def _open(self, kernel: Kernel, path: Path) -> None:
        if isinstance(kernel, SpectralKernel):
            self.spectral.append(SpectralTerm(path, self._operator(kernel)))
        elif isinstance(kernel, Sum):
            for position, term in enumerate(kernel.terms):
                self._open(term, path.then("terms", position))
        elif isinstance(kernel, Product):
            self._open_product(kernel, path)
        elif kernel.rank is not None and kernel.has_uniform_remainder:
            self.features.append(FeatureTerm(path, _all_features(kernel)))
        else:
            raise ValueError(_no_features(kernel))

    def _open_product(self, kernel: Product, path: Path) -> None:
        order = (0, 1) if isinstance(kernel.factors[0], SpectralKernel) else (1, 0)
        spectral, other = (kernel.factors[position] for position in order)
        if not isinstance(spectral, SpectralKernel):
            raise ValueError(
                "The iterative solver multiplies a hypergraph's kernel by one with few features. Got a product of "
                f"{type(kernel.factors[0]).__name__} and {type(kernel.factors[1]).__name__}."
            )
        if isinstance(other, SpectralKernel) or other.rank is None or not other.has_uniform_remainder:
            raise ValueError(_no_features(other))
        if float(other.remainder(None)) != 0.0:
            # A remainder would meet the diagonal of phi(Delta), which products do not give.
            raise ValueError(
                "The iterative solver multiplies a hypergraph's kernel by one that features tell in full, such as "
                f"`Linear`. Got {other!r}. Multiply term by term and add the products, or use `solver='low-rank'`."
            )
        self.spectral.append(
            SpectralTerm(
                path.then("factors", order[0]),
                self._operator(spectral),
                _all_features(other),
                path.then("factors", order[1]),
            )
        )

    def _operator(self, kernel: SpectralKernel) -> LaplacianOperator:
        """Return a spectrum's Laplacian as products, made once for all kernels on it."""
        key = id(kernel.spectrum)
        if key not in self._operators:
            self._operators[key] = kernel.spectrum.source.multiplier()
        return self._operators[key]

    def in_single(self) -> Structure:
        """Return the same terms with products in single precision."""
        singles = {id(operator): operator.in_single() for operator in self._operators.values()}
        copy = object.__new__(Structure)
        copy._operators = {key: singles[id(operator)] for key, operator in self._operators.items()}
        copy.spectral = [term._replace(operator=singles[id(term.operator)]) for term in self.spectral]
        copy.features = self.features
        return copy

    @property
    def skeleton(self) -> Skeleton:
        """What its derivatives need, without its data."""
        return Skeleton(
            tuple(
                (t.path, t.weights_path, t.operator.upper or 1.0, t.operator is self.operator) for t in self.spectral
            ),
            tuple(term.path for term in self.features),
            self.operator.size,
        )


class Covariance:
    """K at given hyperparameters, to a relative tolerance of its largest eigenvalue.

    Parameters
    ----------
    structure : Structure
        The kernel's terms.
    kernel : Kernel
        At the hyperparameters wanted.
    tolerance : float
        Error of each filter relative to its largest value.
    """

    def __init__(self, structure: Structure, kernel: Kernel, tolerance: float) -> None:
        self.structure, self.kernel, self.tolerance = structure, kernel, tolerance
        self._parts = [term.path.of(kernel) for term in structure.spectral]
        self._scales = [float(_density_scale(part)) for part in self._parts]
        self._expansions = [filter_expansion(part, tolerance) for part in self._parts]

    @property
    def operator(self) -> LaplacianOperator:
        """Whose vectors this multiplies."""
        return self.structure.operator

    @property
    def degree(self) -> int:
        """Products with a Laplacian that one product with K takes."""
        return sum(
            expansion.degree * len(term.factors(self.kernel))
            for expansion, term in zip(self._expansions, self.structure.spectral, strict=True)
        )

    @property
    def error_bound(self) -> float:
        """A bound on the operator-norm error of K that the polynomials leave, without features."""
        return sum(scale * expansion.bound for scale, expansion in zip(self._scales, self._expansions, strict=True))

    def largest(self) -> float:
        """Return a bound on K's largest eigenvalue."""
        total = 0.0
        for scale, expansion, term in zip(self._scales, self._expansions, self.structure.spectral, strict=True):
            grid = np.linspace(0.0, expansion.upper, 513)
            height = scale * (float(np.abs(expansion(grid)).max()) + expansion.bound)
            total += height * sum(
                abs(w) * (1.0 if f is None else float(self.operator.fetch((f**2).max())))
                for w, f in term.factors(self.kernel)
            )
        for feature_term in self.structure.features:
            part = feature_term.path.of(self.kernel)
            squares = self.operator.fetch((feature_term.features**2).sum(axis=0))
            total += float(np.abs(np.asarray(part.weights())) @ squares) + float(part.remainder(None))
        return total

    def __matmul__(self, X: Any) -> Any:
        """Return K X."""
        total = None
        for term, scale, expansion in zip(self.structure.spectral, self._scales, self._expansions, strict=True):
            for weight, f in term.factors(self.kernel):
                scaled = expansion._replace(coefficients=scale * weight * expansion.coefficients)
                image = chebyshev.apply(term.operator, scaled, X if f is None else f * X)
                image = image if f is None else f * image
                total = image if total is None else total + image
        for feature_term in self.structure.features:
            part = feature_term.path.of(self.kernel)
            F = feature_term.features
            total = total + F @ (np.asarray(part.weights())[:, None] * (F.T @ X)) + float(part.remainder(None)) * X
        return total

    def draws(self, size: int, rng: np.random.Generator) -> Any:
        """Return draws of the prior at every vertex, shape (N, size), by the square roots of the filters."""
        operator = self.operator
        total = None
        for term, part, scale in zip(self.structure.spectral, self._parts, self._scales, strict=True):
            root = filter_expansion(part, self.tolerance, root=True)
            for weight, f in term.factors(self.kernel):
                scaled = root._replace(coefficients=np.sqrt(scale * weight) * root.coefficients)
                white = operator.white_noise(size, rng)
                image = chebyshev.apply(term.operator, scaled, white)
                image = image if f is None else f * image
                total = image if total is None else total + image
        for feature_term in self.structure.features:
            part = feature_term.path.of(self.kernel)
            white = rng.standard_normal((feature_term.features.shape[1], size))
            total = total + feature_term.features @ (np.sqrt(np.asarray(part.weights()))[:, None] * white)
            rest = float(part.remainder(None))
            total = total if rest == 0 else total + np.sqrt(rest) * operator.white_noise(size, rng)
        return operator.settle(total)

    @property
    def lengths(self) -> tuple[int, ...]:
        """How many moments each spectral term has in `forms`."""
        return tuple(-(-(expansion.degree + 1) // _MOMENTS) * _MOMENTS for expansion in self._expansions)

    def derivatives(self, tangents: Coefficients, X: Any) -> list[Any]:
        """Return dK X for some directions, from the derivatives of K's numbers, each with a first axis for these."""
        totals = [X * 0.0] * len(jax.tree.leaves(tangents)[0])
        terms = zip(self.structure.spectral, self._expansions, tangents.spectral, strict=True)
        for term, expansion, by_direction in terms:
            for j, (_, f) in enumerate(term.factors(self.kernel)):
                wanted = np.asarray(by_direction[:, j, : expansion.degree + 1])
                images = chebyshev.apply_all(term.operator, wanted, X if f is None else f * X)
                totals = [t + (i if f is None else f * i) for t, i in zip(totals, images, strict=True)]
        for feature_term, (weights, rest) in zip(self.structure.features, tangents.features, strict=True):
            F = feature_term.features
            along = F.T @ X
            totals = [
                t + F @ (np.asarray(w)[:, None] * along) + float(r) * X
                for t, w, r in zip(totals, weights, rest, strict=True)
            ]
        return totals

    def forms(self, X: Any, Y: Any) -> Forms:
        """Return what x' K y, summed over columns, needs at these hyperparameters and next to them."""
        spectral = []
        for term, expansion, length in zip(self.structure.spectral, self._expansions, self.lengths, strict=True):
            rows = []
            for _, f in term.factors(self.kernel):
                left, right = (X, Y) if f is None else (f * X, f * Y)
                found = chebyshev.moments(term.operator, left, right, expansion.degree).sum(axis=1)
                rows.append(np.pad(found, (0, length - len(found))))
            spectral.append(np.array(rows))
        features = []
        for feature_term in self.structure.features:
            F = feature_term.features
            products = (self.operator.fetch(F.T @ X) * self.operator.fetch(F.T @ Y)).sum(axis=1)
            features.append((products, np.asarray(self.operator.fetch(self.operator.dot(X, Y)).sum())))
        return Forms(tuple(spectral), tuple(features))


@eqx.filter_jit
def _density_scale(kernel: SpectralKernel) -> Array:
    return kernel.density().scale


def _all_features(kernel: Kernel) -> Any:
    return np.asarray(kernel.features(kernel.inputs(np.arange(kernel.num_vertices))))


def _no_features(kernel: Kernel) -> str:
    return (
        f"The iterative solver takes covariates through features. Got {type(kernel).__name__}, which has none. Use "
        "`Linear` on columns of your own (such as random Fourier features), or `solver='dense'`."
    )


def _pad_sum(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    length = max(a.shape[1], b.shape[1])
    return sum(np.pad(array, ((0, 0), (0, length - array.shape[1]))) for array in (a, b))  # type: ignore[return-value]
