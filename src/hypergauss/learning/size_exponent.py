"""Learning the size exponent a of hyperedge weights w(e) |e|^a: a one-dimensional search, a decomposition a value."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

from hypergauss.exceptions import NumericalError

#: The search stays within this interval and stops at this step.
LOWEST, HIGHEST, FINEST_STEP = -2.0, 4.0, 0.0625

#: The gain in log evidence for which 0 is left: maximising over the exponent finds smaller ones by chance.
NEEDED_GAIN = 2.0

#: Steps are halved no further once a parabola through the bracket promises less than this.
WORTHWHILE_GAIN = 0.05

#: An exponent whose objective will be this much lower than the best is not worth more evaluations.
CLEARLY_WORSE = 3.0

#: How many values are tried at most, as a rule: three to bracket, two for each of four halvings.
NUM_TRIALS = 11


class Profile(NamedTuple):
    """The search's outcome: the chosen exponent, what was learned there, and the objective at every value tried."""

    size_exponent: float
    best: Any
    exponents: np.ndarray
    objectives: np.ndarray


class LearnAt(Protocol):
    """Learns everything else at a given exponent."""

    def __call__(self, exponent: float, previous: Any, *, worthless_below: float) -> Any:
        """Return an outcome with an ``objective``, from a previous outcome if that is not None.

        One that cannot be expected to reach ``worthless_below`` may be given up on the way.
        """


def search(learn_at: LearnAt, *, needed: float = NEEDED_GAIN) -> Profile:
    """Return the exponent of highest objective, by halving steps on a lattice, or 0 if that is nearly as good.

    Starting from {0, 1}, the bracket moves by whole steps until its middle is best, then halves its step, at most
    four times, for as long as a parabola through the bracket promises a gain. The lattice makes the same values come
    up again in other folds of a cross-validation, where their decompositions are cached. Evaluations are spent where
    they matter: each value starts from the best so far, and is given up once it is clearly not the best.

    Parameters
    ----------
    learn_at : callable
        Learns everything else at a given exponent, starting from the best outcome so far.
    needed : float
        By how much the objective must exceed that at 0 (Zhou's Laplacian) for another exponent to be chosen.
    """
    tried: dict[float, Any] = {}
    best = 0.0

    def visit(exponent: float) -> None:
        nonlocal best
        if exponent in tried or not LOWEST <= exponent <= HIGHEST:
            return
        outcome = _learn(learn_at, exponent, tried.get(best))
        if outcome is None:
            return
        tried[exponent] = outcome
        if outcome.objective > tried[best].objective:
            best = exponent

    step = 1.0
    tried[0.0] = learn_at(0.0, None, worthless_below=-np.inf)
    visit(step)
    while step >= FINEST_STEP:
        centre = best
        visit(centre - step)
        visit(centre + step)
        if best == centre:
            left, right = (tried.get(centre + side * step) for side in (-1, 1))
            if left is not None and right is not None and _promised(left, tried[centre], right) < WORTHWHILE_GAIN:
                break
            step /= 2
    if best != 0.0 and tried[best].objective - tried[0.0].objective > needed:
        # Another top of the other hyperparameters, found on the way, must not count as a gain of the exponent's.
        again = _learn(learn_at, 0.0, tried[best])
        if again is not None and again.objective > tried[0.0].objective:
            tried[0.0] = again
    if tried[best].objective - tried[0.0].objective <= needed:
        best = 0.0
    order = sorted(tried)
    return Profile(best, tried[best], np.array(order), np.array([tried[a].objective for a in order]))


def _learn(learn_at: LearnAt, exponent: float, previous: Any) -> Any:
    """Learn from the best outcome so far; where that cannot be evaluated afresh; and else not at all."""
    worthless = previous.objective - CLEARLY_WORSE
    for start in (previous, None):
        try:
            return learn_at(exponent, start, worthless_below=worthless)
        except NumericalError:
            continue
    return None


def _promised(left: Any, centre: Any, right: Any) -> float:
    """Return by how much the top of the parabola through three equally spaced values exceeds the middle one."""
    slope = right.objective - left.objective
    bend = 2 * centre.objective - left.objective - right.objective
    return slope**2 / (8 * bend) if bend > 0 else 0.0


def search_cost(longer_side: int, rank: int, num_sites: int, system: int) -> float:
    """Return a rough number of floating-point operations of one search.

    Parameters
    ----------
    longer_side, rank : int
        Of the incidence matrix.
    num_sites : int
        Observed vertices.
    system : int
        Rows of the matrix that an evaluation of the evidence factorises.
    """
    decomposition = 10.0 * rank**2 * longer_side
    features = 2.0 * num_sites * rank**2
    one_evaluation = 3.0 * system**3
    return NUM_TRIALS * (decomposition + features + 40 * one_evaluation)
