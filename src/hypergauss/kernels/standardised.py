r"""The standardised kernel: a filter of the spectrum, scaled so that vertices are comparable, and centred.

A filter phi of a Laplacian gives its largest weight to the eigenvalue 0, where the function sits that is "a constant,
times the square root of the degree". Scaled to comparable variances it is the constant, or nearly so, and says nothing
of how vertices are related. Write U for the eigenvectors without its direction u, W = phi(l) - b for the weights above
the background b, w for that of the eigenvalue 0, and

    v = diag(U W U') + b,    t = v + w u^2,    m = mean of v t^-evenness over typical vertices,
    T^2 = q t^-evenness / m,    q = min(1, c (1 + individuality) / (c + individuality)),

with c the number of memberships of each vertex, relative to what is typical: the median. Then

    K = variance * ( T (U W U' + b I) T + diag(o) ),    o = (1 - q) / (1 - q + q max(1, v t^-evenness / m)) .

t is what the filter gives a vertex with the trivial direction and v what it does without: it is t that tells on which
scale a vertex is, and v what is left to be said of it on that scale. With an evenness of 1 the variance of a vertex is
v / t, relative to its mean over vertices of as many memberships as are typical, or more; with 0, vertices keep the
variances that the filter gives them. The share q is what its memberships say of a vertex, and o is its own: nothing for
a vertex with as many memberships as is typical, all for an isolated one. If a vertex were the sum of its memberships,
and some were not known, q would be c, the limit of a large individuality; near 0, a single membership says all there is
to say. Of few memberships v / t is larger, as fewer are averaged, and o is smaller by as much.

The level that was taken out has a prior of its own, N(0, level + relative_level * variance), added to K as a constant:
it is integrated out exactly, and predictions do not depend on how it is divided between mean and kernel. So has what
the root of the number of memberships says by itself, h = (c / mean c)^1/2 less its mean: variance * activity * h h' is
added too.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from hypergauss import _checks, parameters
from hypergauss.kernels.base import Kernel, Slopes, Structure
from hypergauss.kernels.spectral import SpectralKernel
from hypergauss.kernels.standard_parts import (
    FieldScale,
    Parts,
    StandardVertices,
    Typical,
    parts_of,
)
from hypergauss.kernels.standard_truncation import truncation_bound
from hypergauss.parameters import Number, bounded, positive
from hypergauss.spectrum import EigenSpectrum, LocalDensity, Spectrum


class Standardised(Kernel):
    r"""A spectral kernel, centred and scaled: K = variance (T (U W U' + b I) T + diag(o)) + a level's.

    Parameters
    ----------
    part : SpectralKernel
        The filter. Its variance is that of a typical vertex. On a matrix-free spectrum a Matern of whole nu, for the
        Markov solver: vertices are then scaled by variances from probes (`scale_error`).
    individuality : float, default 1.0
        How much of a vertex with fewer memberships than is typical is its own.
    evenness : float, default 1.0
        From 0, vertices on the scale that the filter gives them, to 1, on a common one: a correlation, then centred.
    level : float, default 0.0
        Prior variance of the level, the same for all vertices.
    relative_level : float, default 0.0
        What is added to that, as a share of the variance of a typical vertex.
    activity : float, default 0.0
        How much the number of memberships says by itself, relative to the variance; at 0 it is not learned either.
    fixed : sequence of str
        May name "individuality", "evenness" and "activity".

    Examples
    --------
    >>> from hypergauss import Hypergraph, Spectrum
    >>> from hypergauss.kernels import Walk
    >>> H = Hypergraph.from_edges([["a", "b", "c"], ["c", "d"], ["d", "e"]], vertices=list("abcdef"))
    >>> print(Standardised(Walk(Spectrum.of(H)), individuality=0.1).gram().round(2))
    [[ 1.15  1.15  0.41 -0.97 -1.05  0.  ]
     [ 1.15  1.15  0.41 -0.97 -1.05  0.  ]
     [ 0.41  0.41  0.42 -0.34 -0.74  0.  ]
     [-0.97 -0.97 -0.34  0.82  0.88  0.  ]
     [-1.05 -1.05 -0.74  0.88  1.46  0.  ]
     [ 0.    0.    0.    0.    0.    1.  ]]
    """

    individuality: np.ndarray = positive(1e-4, 1e3)
    evenness: np.ndarray = bounded(0.0, 1.0)
    activity: np.ndarray = positive(1e-4, 1e3)

    def __init__(
        self,
        part: SpectralKernel,
        individuality: float = 1.0,
        *,
        evenness: float = 1.0,
        level: float = 0.0,
        relative_level: float = 0.0,
        activity: float = 0.0,
        fixed: str | Sequence[str] = (),
    ) -> None:
        if not isinstance(part, SpectralKernel):
            raise TypeError(f"`part` must be a filter of a spectrum. Got {type(part).__name__}. Try `Walk(spectrum)`.")
        self.part = part
        self.level = 0.0 if level == 0 else _checks.positive("level", level)
        self.relative_level = 0.0 if relative_level == 0 else _checks.positive("relative_level", relative_level)
        self.individuality = np.asarray(_checks.positive("individuality", individuality))
        self.evenness = np.asarray(_checks.real("evenness", evenness))
        if not 0 <= self.evenness <= 1:
            raise ValueError(f"`evenness` must lie between 0 and 1. Got {evenness}.")
        self.activity = np.asarray(0.0 if activity == 0 else _checks.positive("activity", activity))
        named = (fixed,) if isinstance(fixed, str) else tuple(fixed)
        silent = ("activity",) if self.activity == 0 and "activity" not in named else ()
        self.fixed = self.check_fixed((*named, *silent))

    @property
    def spectrum(self) -> Spectrum:
        """The spectrum that is filtered."""
        return self.part.spectrum

    @property
    def num_vertices(self) -> int:  # noqa: D102
        return self.part.num_vertices

    @property
    def rank(self) -> int | None:  # noqa: D102
        return self.part.eigenspectrum.rank + self._num_own if self.has_eigenvectors else None

    @property
    def has_eigenvectors(self) -> bool:  # noqa: D102
        return self.part.has_eigenvectors

    @property
    def _num_own(self) -> int:
        """The features besides those of the filter: of the level, and of activity."""
        return self.has_level + self.has_activity

    @property
    def has_level(self) -> bool:
        """Whether there is a level."""
        return self.level > 0 or self.relative_level > 0

    @property
    def level_variance(self) -> Number:  # noqa: D102
        return self.level + self.relative_level * self.variance

    @property
    def has_activity(self) -> bool:
        """Whether the number of memberships says something by itself."""
        return bool(np.real(self.activity) > 0)

    @property
    def features_move(self) -> bool:
        """True: the scale of a vertex depends on the filter."""
        return True

    @property
    def variance(self) -> np.ndarray:
        """The prior variance of a typical vertex."""
        return self.part.variance

    def scaled(self, factor: float) -> Standardised:  # noqa: D102
        scaled = parameters.with_value(self, ("part",), self.part.scaled(factor))
        return parameters.with_value(scaled, ("level",), float(factor * self.level))

    def varying_variance(self) -> float:
        """Return the variance of a typical vertex, level and activity aside."""
        return float(self.variance)

    def own_shares(self, rows: np.ndarray) -> np.ndarray:
        """Return 1 - q at some vertices, shape (n,)."""
        if not self.has_eigenvectors:
            return 1.0 - self._estimated_parts().share[rows]
        return 1.0 - self._parts(self.inputs(rows)).share

    def mean_variance(self) -> float:
        """Return the mean prior variance of all vertices; without eigenvectors from estimates, as their scales are."""
        if self.has_eigenvectors:
            return super().mean_variance()
        return float(self._variances(self._estimated_parts(), self.spectrum.relative_activities).mean())

    def inputs(self, rows: np.ndarray) -> StandardVertices:  # noqa: D102
        spectrum = self.part.eigenspectrum
        return StandardVertices(
            rows,
            spectrum.centred_vectors(rows),
            spectrum.relative_memberships[rows],
            spectrum.trivial_shares(rows),
            spectrum.relative_activities[rows],
        )

    def features(self, inputs: StandardVertices) -> np.ndarray:
        """Return T U, a column of ones for the level, and h, shape (n, r)."""
        return self._features(inputs, self._parts(inputs))

    def structure(self, inputs: StandardVertices) -> Structure:
        """Return the weights, and variance (T^2 b + o)."""
        return self._structure(self._parts(inputs))

    def weights(self) -> np.ndarray:  # noqa: D102
        known, background = self.part.values_on_spectrum()
        return self._weights(known - background)

    def features_and_structure(self, inputs: StandardVertices) -> tuple[np.ndarray, Structure]:  # noqa: D102
        found = self._parts(inputs)
        return self._features(inputs, found), self._structure(found)

    def scale(self, rows: np.ndarray) -> np.ndarray:
        """Return T at some vertices, shape (n,)."""
        if not self.has_eigenvectors:
            return self._estimated_parts().scale[rows]
        return self._parts(self.inputs(rows)).scale

    def as_field(self, inputs: StandardVertices | None) -> FieldScale:
        """Return what makes f = T g + e of a field g that has the filter's covariance, centred, at every vertex.

        Without eigenvectors variances are those of `MatrixFreeSpectrum.local_density`, which are estimates.

        Parameters
        ----------
        inputs : StandardVertices or None
            Of all vertices, in order; None without eigenvectors.
        """
        found = self._estimated_parts() if inputs is None else self._parts(inputs)
        return FieldScale(found.scale, self.variance * found.own)

    def variances_at_ends(self) -> tuple[Number, Number]:
        """Return the variance of g along an eigenvector of eigenvalue 0, and along the direction that is taken out."""
        first = self.part.filter(np.zeros(1))[0]
        known = self.has_eigenvectors
        last = self.part.values_on_spectrum()[1] if known else self.part.filter(np.array([self.spectrum.upper]))[0]
        return self.variance * first, self.variance * last

    def own_features(self) -> np.ndarray:
        """Return a column of ones if there is a level, and h if there is activity, at every vertex, shape (N, 0-2)."""
        columns = self._own_features(self.spectrum.relative_activities)
        return np.column_stack(columns) if columns else np.zeros((self.num_vertices, 0))

    def own_weights(self) -> np.ndarray:
        """Return the prior variances of their coefficients, shape (0-2,)."""
        return np.array([self.level_variance] * self.has_level + [self.variance * self.activity] * self.has_activity)

    @property
    def is_scaled_by_probes(self) -> bool:
        """Whether vertices are scaled by estimates of variances: without eigenvectors, unless vertices are few."""
        if isinstance(self.spectrum, EigenSpectrum):
            return False
        return bool(self.spectrum.local_density.n_random > 0)  # type: ignore[attr-defined]

    def scale_error(self) -> float:
        """Return the relative standard error of the variances that vertices are scaled by, typically: 0 if exact."""
        if isinstance(self.spectrum, EigenSpectrum):
            return 0.0
        local: LocalDensity = self.spectrum.local_density  # type: ignore[attr-defined]
        relative = local.standard_error(self.part.filter) / local.diagonal(self.part.filter)
        return float(np.sqrt((relative[self.spectrum.typical_vertices] ** 2).mean()))

    def _structure(self, found: Parts) -> Structure:
        return Structure(self._weights(found.weights), self.variance * _own(found))

    def _weights(self, weights: np.ndarray) -> np.ndarray:
        return np.append(self.variance * weights, self.own_weights())

    def _features(self, inputs: StandardVertices, found: Parts) -> np.ndarray:
        own = self._own_features(inputs.activity)
        return np.column_stack([found.scale[:, None] * inputs.vectors, *own])

    def _own_features(self, activity: np.ndarray) -> list[np.ndarray]:
        return [np.ones(len(activity))] * self.has_level + [activity] * self.has_activity

    def cross(self, left: StandardVertices, right: StandardVertices) -> np.ndarray:  # noqa: D102
        F, (weights, remainder) = self.features_and_structure(left)
        G = F if left is right else self.features(right)
        return (F * weights) @ G.T + remainder[:, None] * self.same_vertex(left, right)

    def variances(self, inputs: StandardVertices) -> np.ndarray:  # noqa: D102
        return self._variances(self._parts(inputs), inputs.activity)

    def _variances(self, found: Parts, activity: np.ndarray) -> np.ndarray:
        told = found.scale**2 * found.centred
        return self.variance * (told + found.own + self.activity * activity**2) + self.level_variance

    def same_vertex(self, left: StandardVertices, right: StandardVertices) -> np.ndarray:  # noqa: D102
        return left.index[:, None] == right.index[None, :]

    def pull_back_variances(self, inputs: StandardVertices, adjoint: np.ndarray) -> np.ndarray:
        """Return the gradient by way of features and structure, of whose squares and remainder variances are made."""
        F, (weights, _) = self.features_and_structure(inputs)
        slopes = Slopes(adjoint @ F**2, adjoint, 2 * adjoint[:, None] * F * weights)
        return self.pull_back_structure(slopes, inputs)

    def pull_back_structure(self, adjoint: Slopes | Structure, inputs: StandardVertices) -> np.ndarray:
        r"""Return the gradient from slopes in weights, remainder and features, by way of phi, q and evenness.

        With s the slope in log T^2 and p that in log(v t^-evenness / m), by way of o: that in t is
        -evenness (s + p) / t, in v p / v, in m -(sum of s + p) / m, in log q s besides the one by way of o.
        """
        found, variance, even, spectrum = self._parts(inputs), self.variance, self.evenness, self.part.eigenspectrum
        of_features = getattr(adjoint, "features", None)
        rank = spectrum.rank
        of_weights = adjoint.weights[:rank]
        s = variance * adjoint.remainder * found.scale**2 * found.background
        if of_features is not None:
            s = s + np.einsum("nr,nr->n", of_features[:, :rank], inputs.vectors) * found.scale / 2
        of_own = variance * adjoint.remainder * found.own
        excess = np.maximum(found.ratio, 1.0)
        total = 1 - found.share + found.share * excess
        p = -of_own * np.where(found.ratio > 1, found.share * found.ratio / total, 0.0)
        in_t = -even * (s + p) * found.inverse
        in_v = p / np.where(p != 0, found.centred, 1.0)
        typical = found.typical.slopes(even, *self.typical_squares)
        in_mean = -(s + p).sum() / found.typical.mean
        in_weights = variance * of_weights + (in_t + in_v) @ inputs.vectors**2 + in_mean * typical.in_weights
        in_weights[:1] += in_t @ inputs.trivial + in_mean * typical.in_trivial
        in_background = variance * (adjoint.remainder @ found.scale**2) + (in_t + in_v).sum()
        in_background = in_background + in_mean * typical.in_background - in_weights.sum()
        in_variance = of_weights @ found.weights + adjoint.remainder @ _own(found)
        # Below 1, log q has slope 1 / (1 + individuality) - 1 / (c + individuality); o has -excess / total^2 in q.
        in_log_share = s - variance * adjoint.remainder * found.share * excess / total**2
        slope = 1 / (1 + self.individuality) - 1 / (inputs.memberships + self.individuality)
        in_individuality = (in_log_share * np.where(found.share < 1, slope, 0.0)).sum()
        if self.has_level:
            in_variance = in_variance + self.relative_level * adjoint.weights[rank]
        in_activity = np.zeros(())
        if self.has_activity:
            in_variance = in_variance + self.activity * adjoint.weights[-1]
            in_activity = variance * adjoint.weights[-1]
        in_part = self.part.pull_back_filter(in_weights, in_background, in_variance)
        in_evenness = -(s + p) @ found.log_whole + in_mean * typical.in_evenness
        own = {"part": in_part, "individuality": in_individuality, "evenness": in_evenness, "activity": in_activity}
        return parameters.gather(self, own)

    def prior_draws(self, rows: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
        """Draw F W^1/2 z + remainder^1/2 z' where no weight is negative, else from the covariances."""
        distinct, back = np.unique(rows, return_inverse=True)
        F, (weights, remainder) = self.features_and_structure(self.inputs(distinct))
        if weights.min(initial=0.0) < 0:
            return super().prior_draws(rows, size, rng)
        along = F @ (np.sqrt(weights)[:, None] * rng.standard_normal((len(weights), size)))
        return (along + np.sqrt(remainder)[:, None] * rng.standard_normal((len(distinct), size)))[back]

    def error_bound(self) -> float:
        """Return a bound on ``|K - K_exact|`` where the spectrum is truncated, in the operator norm."""
        if self.spectrum.is_exact:
            return 0.0
        low, high = self.part.filter_range(*self.spectrum.rest)
        error = float(high - low) / 2 * (1 + 1e-9)  # half of phi's range over what is cut off
        found = self._parts(self.inputs(np.arange(self.num_vertices)))
        return float(self.variance) * truncation_bound(found, self.evenness, self.typical_squares[1], error)

    @cached_property
    def _recent(self) -> list[tuple[weakref.ref[np.ndarray], Parts]]:
        """The vertices that parts were asked of last, and the parts: an evidence and its slopes ask for the same."""
        return []

    def _parts(self, inputs: StandardVertices) -> Parts:
        if not self._recent or self._recent[0][0]() is not inputs.vectors:
            self._recent[:] = [(weakref.ref(inputs.vectors), self._parts_of(inputs))]
        return self._recent[0][1]

    def _parts_of(self, inputs: StandardVertices) -> Parts:
        known, background = self.part.values_on_spectrum()
        weights = known - background
        v = inputs.vectors**2 @ weights + background
        return parts_of(self, inputs.memberships, inputs.trivial, weights, background, v, self._typical)

    @cached_property
    def _typical(self) -> Typical:
        known, background = self.part.values_on_spectrum()
        weights, (squares, trivial) = known - background, self.typical_squares
        v = squares @ weights + background
        return Typical.of(self.evenness, weights, v, v + trivial * weights[:1].sum())

    def _estimated_parts(self) -> Parts:
        """Return the parts of all vertices, of a filter that falls, without eigenvectors."""
        spectrum, phi = self.spectrum, self.part.filter
        ends = phi(np.array([0.0, spectrum.upper]))
        weights, background = ends[:1] - ends[1], ends[1]
        trivial, rows = spectrum.trivial**2, spectrum.typical_vertices
        v = spectrum.local_density.diagonal(phi) + background * trivial  # type: ignore[attr-defined]
        typical = Typical.of(self.evenness, weights, v[rows], (v + trivial * weights)[rows])
        return parts_of(self, spectrum.relative_memberships, trivial, weights, background, v, typical)

    @property
    def typical_squares(self) -> tuple[np.ndarray, np.ndarray]:
        """The squares of U, shape (m, r), and of u, shape (m,), at vertices of as many memberships as are typical."""
        return self.part.eigenspectrum.typical_squares


def _own(found: Parts) -> np.ndarray:
    """Return T^2 b + o, the variance that is a vertex's own, as a share of the whole."""
    return found.scale**2 * found.background + found.own
