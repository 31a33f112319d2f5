"""What can be asked of the iterative solver."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from hypergauss import _checks

#: Sites' precisions times the kernel's largest eigenvalue may amplify rounding by this much before it is felt.
_LEAST_TOLERANCE = 1e-10

#: Without a number, probes of all vertices together, and the fewest of them.
_PROBED_VERTICES, _FEWEST_PROBES = 500_000, 8
#: Sites times vertices up to which a system is factorised where its log determinant is wanted.
_FACTORISED_ENTRIES = 10_000_000


class Iterative(NamedTuple):
    """Settings of the iterative solver; pass one as ``solver`` in place of its name.

    Attributes
    ----------
    tolerance : float
        Relative error asked of posterior means: systems are solved to a relative residual ten times smaller, with
        polynomials for the kernel as exact as that takes.
    n_samples : int
        Pathwise draws behind standard deviations, whose own relative error is about (2 n_samples)^-1/2.
    sample_tolerance : float
        Relative residual of the draws' systems, far below their Monte Carlo error.
    n_probes : int, optional
        Random vectors behind the log determinant. If there are no more sites than that, nothing is random: the system
        is multiplied out and factorised. If not given, 8 for large hypergraphs and more for small ones, and sites are
        few if there are ten million pairs of a site and a vertex or less.
    learning_tolerance : float
        Relative residual of the targets' system while hyperparameters are learned.
    probe_tolerance : float
        Relative residual of the probes' systems; the log determinant is exact to its square.
    n_deflated : int
        Leading eigenvectors in the preconditioner, found only when plain conjugate gradients are slow.
    max_iterations : int
        Of conjugate gradients, before it gives up.
    seed : int
        For probes, draws and the preconditioner.
    """

    tolerance: float = 1e-6
    n_samples: int = 64
    sample_tolerance: float = 1e-2
    n_probes: int | None = None
    learning_tolerance: float = 1e-4
    probe_tolerance: float = 1e-2
    n_deflated: int = 64
    max_iterations: int = 1000
    seed: int = 0

    def checked(self) -> Iterative:
        """Return the settings if each is possible."""
        check_settings(self)
        _checks.count("n_deflated", self.n_deflated, least=0)
        return self

    def probes_for(self, num_vertices: int) -> int:
        """Return how many probes to use."""
        if self.n_probes is not None:
            return self.n_probes
        return max(_PROBED_VERTICES // max(num_vertices, 1), _FEWEST_PROBES)

    def factorises(self, num_sites: int, num_vertices: int) -> bool:
        """Return whether sites are so few that the log determinant is not left to chance."""
        if self.n_probes is not None:
            return num_sites <= self.n_probes
        return num_sites * num_vertices <= _FACTORISED_ENTRIES

    def generator(self, purpose: int) -> np.random.Generator:
        """Return random numbers of their own for each purpose, the same each time."""
        return np.random.default_rng([self.seed, purpose])


class Shared(Protocol):
    """The settings that solvers by products have in common."""

    @property
    def n_samples(self) -> int: ...  # noqa: D102
    @property
    def n_probes(self) -> int | None: ...  # noqa: D102
    @property
    def max_iterations(self) -> int: ...  # noqa: D102


def check_settings(settings: Shared) -> None:
    """Refuse a tolerance or a number of draws, probes or iterations that is not possible."""
    for name in ("tolerance", "sample_tolerance", "learning_tolerance", "probe_tolerance"):
        value = _checks.positive(name, getattr(settings, name))
        if not _LEAST_TOLERANCE <= value < 1:
            raise ValueError(
                f"`{name}` must lie between {_LEAST_TOLERANCE:g}, below which double precision cannot tell a "
                f"residual from rounding, and 1. Got {value:g}."
            )
    _checks.count("n_samples", settings.n_samples, least=2)
    _checks.count("max_iterations", settings.max_iterations)
    if settings.n_probes is not None:
        _checks.count("n_probes", settings.n_probes, least=2)
