"""Learning the size exponent a of hyperedge weights w(e) |e|^a: a one-dimensional search, a decomposition a value."""

from __future__ import annotations

from typing import Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from hypergauss.exceptions import NumericalError

#: The search stays within this interval and stops at this step: averages over the lattice need no finer one.
LOWEST, HIGHEST, FINEST_STEP = -3.0, 5.0, 0.5

#: The prior of the exponent: normal, half-way between Zhou's hypergraph and the clique graph, and as wide as needed for
#: either to be nothing special.
PRIOR_MEAN, PRIOR_SPREAD = 0.5, 1.0

#: An exponent whose objective will be this much lower than the best is not worth more evaluations.
CLEARLY_WORSE = 4.0


def log_prior(exponent: float) -> float:
    """Return the log density of an exponent under its prior."""
    z = (exponent - PRIOR_MEAN) / PRIOR_SPREAD
    return -0.5 * (z**2 + float(np.log(2 * np.pi * PRIOR_SPREAD**2)))


class Reached(Protocol):
    """What was learned at an exponent."""

    @property
    def objective(self) -> float: ...  # noqa: D102


Outcome = TypeVar("Outcome", bound=Reached)


class Profile(NamedTuple, Generic[Outcome]):
    """The search's outcome: the chosen exponent, what was learned there, and the objective at every value tried.

    ``objectives`` include the exponent's own log prior, and ``outcomes`` are what was learned at each value.
    """

    size_exponent: float
    best: Outcome
    exponents: np.ndarray
    objectives: np.ndarray
    outcomes: tuple[Outcome, ...] = ()


class LearnAt(Protocol[Outcome]):
    """Learns everything else at a given exponent."""

    def __call__(self, exponent: float, previous: Outcome | None, *, worthless_below: float) -> Outcome:
        """Return an outcome with an ``objective``, from a previous outcome if that is not None.

        One that cannot be expected to reach ``worthless_below`` may be given up on the way.
        """


def search(learn_at: LearnAt[Outcome]) -> Profile[Outcome]:
    """Return the exponent of highest objective plus log prior on a lattice of halves.

    Starting from {0, 1}, the bracket moves by whole steps until its middle is best, then halves its step. The lattice
    makes the same values come up again in other folds of a cross-validation, where their decompositions are cached.
    Evaluations are spent where they matter: each value starts from the best so far, and is given up once it is clearly
    not the best.

    Parameters
    ----------
    learn_at : callable
        Learns everything else at a given exponent, starting from the best outcome so far.
    """
    tried: dict[float, Outcome] = {}
    best = 0.0

    def height(exponent: float) -> float:
        return tried[exponent].objective + log_prior(exponent)

    def visit(exponent: float) -> None:
        nonlocal best
        if exponent in tried or not LOWEST <= exponent <= HIGHEST:
            return
        worthless = height(best) - log_prior(exponent) - CLEARLY_WORSE
        outcome = _learn(learn_at, exponent, tried.get(best), worthless)
        if outcome is None:
            return
        tried[exponent] = outcome
        if height(exponent) > height(best):
            best = exponent

    step = 1.0
    tried[0.0] = learn_at(0.0, None, worthless_below=-np.inf)
    visit(step)
    while step >= FINEST_STEP:
        centre = best
        visit(centre - step)
        visit(centre + step)
        if best == centre:
            step /= 2
    order = sorted(tried)
    heights = np.array([height(a) for a in order])
    return Profile(best, tried[best], np.array(order), heights, tuple(tried[a] for a in order))


def _learn(learn_at: LearnAt[Outcome], exponent: float, previous: Outcome | None, worthless: float) -> Outcome | None:
    """Learn from the best outcome so far; where that cannot be evaluated afresh; and else not at all."""
    for start in (previous, None):
        try:
            return learn_at(exponent, start, worthless_below=worthless)
        except NumericalError:
            continue
    return None
