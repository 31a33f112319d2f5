"""Sites: Gaussian pseudo-observations of the latent function, one an observed vertex.

Regression's sites are its data. Every other likelihood moves its sites until they stand for it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

from hypergauss import _checks
from hypergauss._checks import Values

#: The smallest size of targets, and one over the largest: their squares can still be held, and sums of these.
_SMALLEST = 1e-150


class NaturalSites(NamedTuple):
    """exp(shift f - precision f^2 / 2) for n vertices and L latent functions, arrays of shape (n, L).

    A precision may be zero or negative, as those of likelihoods that are not log-concave can be.
    """

    shift: np.ndarray
    precision: np.ndarray

    @classmethod
    def empty(cls, num_sites: int, num_latents: int) -> NaturalSites:
        """Return sites that say nothing."""
        return cls(np.zeros((num_sites, num_latents)), np.zeros((num_sites, num_latents)))

    def towards(self, other: NaturalSites, step: float) -> NaturalSites:
        """Return the mixture (1 - step) self + step other."""
        return NaturalSites(*((1 - step) * old + step * new for old, new in zip(self, other, strict=True)))


class Sites(NamedTuple):
    """N(mean | f(rows), diag(variance)) for each of L outputs, times exp(log_offset).

    Attributes
    ----------
    rows : array of int, shape (n,)
        The observed vertices, each once.
    mean : array, shape (n, L)
        Pseudo-observations.
    variance : array, shape (n,)
        Their variances, the same for all outputs.
    log_offset : float
        What merging repeated observations of a vertex adds to the log evidence.
    """

    rows: np.ndarray
    mean: np.ndarray
    variance: np.ndarray
    log_offset: float = 0.0


class Observations(NamedTuple):
    """Measured vertices, several measurements of one vertex merged into one without loss.

    For measurements y_i of one vertex with variances v_i, the product of N(y_i | f, v_i) is N(y | f, v) times a
    constant, with 1/v = sum of 1/v_i and y = v * (sum of y_i / v_i).

    Attributes
    ----------
    rows : array of int, shape (n,)
        The observed vertices, each once, in the order in which they first came.
    mean : array, shape (n, L)
        The merged measurements.
    counts : array, shape (n,)
        How many measurements each stands for.
    scatter : array, shape (n,)
        The sum of squares of each vertex's measurements around their mean.
    known_variance, known_offset : arrays, shape (n,), or None
        Merged variance and log offset of each vertex if the noise is known.
    is_uniform : bool
        Whether each vertex was measured once, with noise of the same unknown variance.
    """

    rows: np.ndarray
    mean: np.ndarray
    counts: np.ndarray
    scatter: np.ndarray
    known_variance: np.ndarray | None
    known_offset: np.ndarray | None
    is_uniform: bool

    @classmethod
    def of(cls, rows: np.ndarray, targets: np.ndarray, noise_variance: np.ndarray | None = None) -> Observations:
        """Merge measurements.

        Parameters
        ----------
        rows : array of int, shape (m,)
            The vertex of each measurement.
        targets : array, shape (m, L)
            The measurements.
        noise_variance : array, shape (m,), optional
            The variance of each measurement's noise, if known.
        """
        unique, group, counts = _in_order(rows)
        precision = np.ones(len(rows)) if noise_variance is None else 1.0 / noise_variance
        total = np.bincount(group, precision, minlength=len(unique))
        mean = np.zeros((len(unique), targets.shape[1]))
        np.add.at(mean, group, precision[:, None] * targets)
        mean /= total[:, None]
        apart = precision * ((targets - mean[group]) ** 2).sum(axis=1)
        scatter = np.bincount(group, apart, minlength=len(unique))
        known_variance = known_offset = None
        if noise_variance is not None:
            known_variance = 1.0 / total
            outputs = targets.shape[1]
            logs = np.bincount(group, np.log(2 * np.pi * noise_variance), minlength=len(unique))
            known_offset = (outputs * (np.log(2 * np.pi * known_variance) - logs) - scatter) / 2
        return cls(
            unique,
            mean,
            counts.astype(float),
            scatter,
            known_variance,
            known_offset,
            noise_variance is None and len(unique) == len(rows),
        )

    @property
    def num_measurements(self) -> int:
        """The number of measurements before merging."""
        return int(self.counts.sum())

    def rescaled(self, centre: np.ndarray, scale: float) -> Observations:
        """Return the observations of (y - centre) / scale."""
        known, offset = self.known_variance, self.known_offset
        merged_away = self.counts - 1
        return Observations(
            self.rows,
            (self.mean - centre) / scale,
            self.counts,
            # Already relative to the noise where that is known.
            self.scatter / scale**2 if known is None else self.scatter,
            None if known is None else known / scale**2,
            None if offset is None else offset + merged_away * self.mean.shape[1] * np.log(scale),
            self.is_uniform,
        )

    def part(self, chosen: np.ndarray) -> Observations:
        """Return those of some vertices, given by their place among the n."""
        known, offset = self.known_variance, self.known_offset
        return Observations(
            self.rows[chosen],
            self.mean[chosen],
            self.counts[chosen],
            self.scatter[chosen],
            None if known is None else known[chosen],
            None if offset is None else offset[chosen],
            self.is_uniform,
        )

    def joined(self, further: Observations) -> Observations:
        r"""Return these and further ones, as if all had come at once; vertices with new ones keep their place.

        Of two means of one vertex, with variances v and v' relative to the noise or known, N(y | f, v) N(y' | f, v') is
        N(. | f, v v' / (v + v')) times N(y | y', v + v').
        """
        both = Observations.of(
            np.concatenate([self.rows, further.rows]),
            np.vstack([self.mean, further.mean]),
            np.concatenate([self._relative_variance, further._relative_variance]),
        )
        group = np.concatenate([np.arange(len(self.rows)), _positions(both.rows, further.rows)])
        counts, scatter = (
            np.bincount(group, np.concatenate(pair), minlength=len(both.rows))
            for pair in ((self.counts, further.counts), (self.scatter, further.scatter))
        )
        known = offset = None
        if self.known_offset is not None and further.known_offset is not None and both.known_offset is not None:
            known = both.known_variance
            offsets = np.concatenate([self.known_offset, further.known_offset])
            offset = both.known_offset + np.bincount(group, offsets, minlength=len(both.rows))
        is_uniform = self.is_uniform and further.is_uniform and len(both.rows) == len(group)
        return Observations(both.rows, both.mean, counts, scatter + both.scatter, known, offset, is_uniform)

    @property
    def _relative_variance(self) -> np.ndarray:
        """The variance of each mean, in units of the noise's where that is not known."""
        return 1.0 / self.counts if self.known_variance is None else self.known_variance

    def sites(self, noise_variance: float | np.ndarray) -> Sites:
        """Return the sites under a noise variance, ignored where the noise is known."""
        if self.known_variance is not None:
            return Sites(
                self.rows,
                self.mean,
                self.known_variance,
                0.0 if self.known_offset is None else float(self.known_offset.sum()),
            )
        noise, outputs = float(noise_variance), self.mean.shape[1]
        if self.is_uniform:
            return Sites(self.rows, self.mean, np.full(len(self.rows), noise))
        extra = self.counts.sum() - len(self.counts)
        offset = -outputs * (extra * np.log(2 * np.pi * noise) + np.log(self.counts).sum()) / 2
        return Sites(self.rows, self.mean, noise / self.counts, float(offset - self.scatter.sum() / (2 * noise)))

    def pull_back_noise(self, noise_variance: float | np.ndarray, in_variance: np.ndarray) -> float:
        """Return the slope in the noise variance from those in the sites' variances; the log offset has its own."""
        if self.known_variance is not None:
            return 0.0
        if self.is_uniform:
            return float(in_variance.sum())
        noise, outputs = float(noise_variance), self.mean.shape[1]
        extra = self.counts.sum() - len(self.counts)
        of_offset = -outputs * extra / (2 * noise) + self.scatter.sum() / (2 * noise**2)
        return float((in_variance / self.counts).sum() + of_offset)


def _in_order(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return each row once, in the order in which it first came, which of these each row is, and how often it came."""
    group, unique = pd.factorize(rows)
    return unique, group, np.bincount(group, minlength=len(unique))


def _positions(index: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return where each value stands in an index of different ones."""
    order = np.argsort(index)
    return order[np.searchsorted(index, values, sorter=order)]


def _check_size(targets: np.ndarray) -> None:
    """Refuse targets whose squares, by which variances are measured, are infinite or zero."""
    largest = float(np.abs(targets).max(initial=0.0))
    if largest and not _SMALLEST <= largest <= 1 / _SMALLEST:
        raise ValueError(
            f"`y` must have squares that a number can hold: its largest entry must lie between {_SMALLEST:g} and "
            f"{1 / _SMALLEST:g} in size. Got {largest:g}. Divide `y` by {largest:.0e}, and multiply what is predicted."
        )


def check_observations(rows: np.ndarray, targets: Values | None, noise_variance: Values | None = None) -> Observations:
    """Check targets (finite, one row a vertex) and known noise (positive), and merge them."""
    if targets is None:
        raise ValueError("Learning requires y to be passed, but the target y is None.")
    array = _checks.finite_array("y", targets, missing="Leave unmeasured vertices out: they are what is predicted.")
    array = array[:, None] if array.ndim == 1 else array
    if array.ndim != 2 or array.shape[1] == 0:
        raise ValueError(f"`y` must have shape (n,) or (n, outputs). Got {np.shape(targets)}.")
    _checks.same_length("vertices", len(rows), "y", len(array))
    _check_size(array)
    if len(rows) == 0:
        raise ValueError("`vertices` must name at least one observed vertex. Got none.")
    if noise_variance is None:
        return Observations.of(rows, array)
    known = _checks.non_negative_array("noise_variance", noise_variance)
    _checks.same_length("vertices", len(rows), "noise_variance", len(known))
    if (known <= 0).any():
        raise ValueError(
            "`noise_variance` must be positive. Got 0. Give exact measurements a variance that is small but not zero."
        )
    return Observations.of(rows, array, known)
