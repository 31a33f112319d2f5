"""What can be asked of the Markov solver."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hypergauss.solvers.iterative.options import check_settings

#: Without a number, probes of all vertices together, and the fewest of them: in the sums over many vertices that traces
#: are, probes average themselves.
_PROBED_VERTICES, _FEWEST_PROBES = 200_000, 2


class Markov(NamedTuple):
    """Settings of the Markov solver; pass one as ``solver`` in place of its name.

    Attributes
    ----------
    tolerance : float
        Relative error asked of posterior means: systems are solved to a relative residual ten times smaller.
    n_samples : int
        Exact draws behind standard deviations, whose own relative error is (2 n_samples)^-1/2 at most.
    sample_tolerance : float
        Relative residual of the draws' systems, far below their Monte Carlo error.
    n_probes : int, optional
        Random vectors behind the log determinant; 2 for large hypergraphs if not given, and more for small ones. With
        as many as there are vertices nothing is random.
    learning_tolerance : float
        Relative residual of the targets' system while hyperparameters are learned.
    probe_tolerance : float
        Relative residual of the probes' systems; the log determinant is exact to its square.
    max_iterations : int
        Of conjugate gradients, before it gives up.
    seed : int
        For probes and draws.
    """

    tolerance: float = 1e-6
    n_samples: int = 64
    sample_tolerance: float = 1e-2
    n_probes: int | None = None
    learning_tolerance: float = 1e-4
    probe_tolerance: float = 1e-2
    max_iterations: int = 1000
    seed: int = 0

    def checked(self) -> Markov:
        """Return the settings if each is possible."""
        check_settings(self)
        return self

    def probes_for(self, num_vertices: int) -> int:
        """Return how many probes to use."""
        most = max(_PROBED_VERTICES // max(num_vertices, 1), _FEWEST_PROBES)
        return most if self.n_probes is None else self.n_probes

    def generator(self, purpose: int) -> np.random.Generator:
        """Return random numbers of their own for each purpose, the same each time."""
        return np.random.default_rng([self.seed, purpose])
