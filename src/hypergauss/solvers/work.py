"""What a fit has to do, and what its steps take: evaluations of the evidence, sweeps over sites, conditioning.

Seconds are of one quiet core, fitted to measurements (`python -m benchmarks.planning`). By them is chosen
how many observations hyperparameters are learned from: numbers, not clocks, so that every machine chooses alike.
"""

from __future__ import annotations

from typing import NamedTuple

#: What every evaluation takes, and for each feature: Python's own part, and the filter's.
_CALL, _CALL_A_FEATURE = 1.6e-3, 2.5e-6
#: A log evidence with gradient, dense: for each n^2 r, n^3 and n^2.
_DENSE = (6.5e-11, 2.5e-11, 2.5e-8)
#: A log evidence with gradient in features: for each n r^2, r^3 and r^2.
_LOW_RANK = (1.1e-10, 5.5e-11, 3e-8)
#: One latent given its sites, dense: for each n^3 and n^2; the covariances before it, for each n^2 r.
_DENSE_SWEEP, _COVARIANCES = (3e-11, 1.35e-8), 2.25e-11
#: One latent given its sites, in features: for each n r^2, r^3 and n r.
_LOW_RANK_SWEEP = (5.5e-11, 1.7e-11, 1.75e-8)
#: Coupled latents given the sites of their factors: for each latent's n^3 and n^2.
_COUPLED_SWEEP = (2.5e-10, 1.5e-8)
#: What a sweep takes besides: moments under the likelihood.
_MOMENTS = 2.5e-4

#: The time of all evaluations that learning may take before it looks at a part of the observations only, and the fewest
#: observations that such a part has.
_LEARNING, _LEAST_SITES = (
    2.5,
    {
        "gaussian": 400,
        "sites": 400,
        "variational": 400,
        "known": 400,
        "one-hot": 700,
        "coupled": 250,
    },
)
#: Points that a posterior is averaged over, at least so many or none, and the time that they may take.
_NUM_POINTS, _LEAST_POINTS, _AVERAGING = 20, 8, 5.0
#: The fewer measurements, the wider the spread that points must fill: up to as many more below this many.
_FEW_MEASUREMENTS, _TIMES_MORE = 80, 4
#: The time that conditioning coupled latents on all labels may take.
_COUPLED = 30.0
#: What coupled latents take of the times of their parts, since matrices of several are inverted at once. The times that
#: they may take were chosen before that, and have the same share: sizes stay.
_OF_COUPLED = 0.5
#: Folds that labels are dealt into, and labels that are enough to hold out: where they are many, of a few folds only.
FOLDS, _ENOUGH = 5, 800


class Counts(NamedTuple):
    """How often a default fit does what, as counted: evaluations with and without exponents, sweeps of each.

    ``to_settle`` are the sweeps of conditioning afresh.
    """

    with_search: int
    without: int
    sweeps: float
    to_settle: int


COUNTS = {
    "gaussian": Counts(110, 60, 0, 0),
    "sites": Counts(40, 30, 5.5, 12),
    "variational": Counts(60, 40, 8, 15),
    "known": Counts(60, 40, 1, 1),
    "one-hot": Counts(60, 40, 0, 1),
    "coupled": Counts(50, 40, 7, 14),
}


class Work(NamedTuple):
    """What is learned, and from how much.

    Attributes
    ----------
    num_sites : int
        Observed vertices.
    kind : {"gaussian", "sites", "coupled", "variational", "known", "one-hot"}
        Measurements, or labels by expectation propagation, by that with coupled latents, by the best bound, by sites
        that are known beforehand, or by those with one matrix for all classes.
    num_latents : int
        Latent functions of a vertex.
    learns, averages : bool
        Whether hyperparameters are learned, and averaged over.
    from_all : bool
        Whether they are learned from all observations however long it takes, as with inducing variables.
    num_classes : int
        Of labels that a Markov field may take as zeros and ones (`inference.one_hot_by_products`); 0 where it may not.
    """

    num_sites: int
    kind: str = "gaussian"
    num_latents: int = 1
    learns: bool = True
    averages: bool = True
    from_all: bool = False
    num_classes: int = 0

    def num_evaluations(self, *, searches: bool) -> int:
        """Return how often learning evaluates its objective, as a rule."""
        counts = COUNTS[self.kind]
        return 1 if not self.learns else counts.with_search if searches else counts.without

    @property
    def pace(self) -> float:
        """What it takes of the times of its parts, and may take of the times that are allowed."""
        return _OF_COUPLED if self.kind == "coupled" else 1.0


class System(NamedTuple):
    """What evaluations work with: n sites, r features, and whether covariances are dense."""

    n: float
    r: float
    is_dense: bool

    @classmethod
    def of(cls, num_sites: int, rank: int, solver: str) -> System:
        """Return the system that a solver works with; "auto" takes features where they are fewer than sites."""
        is_dense = rank >= num_sites if solver == "auto" else solver == "dense"
        return cls(float(num_sites), float(rank), is_dense)

    def evidence(self) -> float:
        """Return the seconds of a log evidence with gradient, or of a gradient at settled sites."""
        n, r, call = self.n, self.r, _CALL + _CALL_A_FEATURE * self.r
        if self.is_dense:
            return call + _DENSE[0] * n**2 * r + _DENSE[1] * n**3 + _DENSE[2] * n**2
        return call + _LOW_RANK[0] * n * r**2 + _LOW_RANK[1] * r**3 + _LOW_RANK[2] * r**2

    def sweep(self, kind: str, num_latents: int) -> float:
        """Return the seconds of moving all sites once."""
        n, r = self.n, self.r
        if kind == "coupled":
            each = _COUPLED_SWEEP[0] * n**3 + _COUPLED_SWEEP[1] * n**2
        elif self.is_dense:
            each = _DENSE_SWEEP[0] * n**3 + _DENSE_SWEEP[1] * n**2
        else:
            each = _LOW_RANK_SWEEP[0] * n * r**2 + _LOW_RANK_SWEEP[1] * r**3 + _LOW_RANK_SWEEP[2] * n * r
        return num_latents * (_MOMENTS + each)

    def evaluation(self, work: Work) -> float:
        """Return the seconds of one evaluation with gradient while learning."""
        if work.kind == "gaussian":
            return self.evidence()
        if work.kind == "one-hot":
            return 2 * self.evidence()  # slopes of held-out labels take one more product of matrices
        latents = 1 if work.kind == "coupled" else work.num_latents
        swept = COUNTS[work.kind].sweeps * self.sweep(work.kind, work.num_latents)
        return work.pace * (swept + self._covariances(work.kind) + latents * self.evidence())

    def conditioning(self, work: Work) -> float:
        """Return the seconds of conditioning afresh at known hyperparameters."""
        if work.kind == "gaussian":
            return self.evidence() / 2
        swept = COUNTS[work.kind].to_settle * self.sweep(work.kind, work.num_latents)
        return work.pace * (swept + self._covariances(work.kind) + work.num_latents * self.evidence() / 2)

    def _covariances(self, kind: str) -> float:
        return _COVARIANCES * self.n**2 * self.r if self.is_dense or kind == "coupled" else 0.0


def learning_size(work: Work, rank: int, solver: str = "auto") -> int:
    """Return how many observations to learn from: all, or as many as some seconds of evaluations allow.

    A few hyperparameters are known well enough from some hundreds of observations; predictions are from all of them.
    Where a part is to be taken it has two significant digits.
    """
    least = _LEAST_SITES[work.kind]
    if not work.learns or work.from_all or work.num_sites <= least:
        return work.num_sites
    allowed = _LEARNING * work.pace / work.num_evaluations(searches=True)

    def takes(size: int) -> float:
        return System.of(size, rank, solver).evaluation(work)

    if takes(work.num_sites) <= allowed:
        return work.num_sites
    low, high = least, work.num_sites
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if takes(middle) <= allowed else (low, middle)
    digit = 10 ** (len(str(low)) - 2)
    return max(least, low // digit * digit)


def num_points(work: Work, rank: int, num_vertices: int, solver: str = "auto") -> int:
    """Return how many hyperparameters to average over: as many as some seconds allow, or none.

    Each is evaluated on what was learned from, conditioned on all observations, and asked for all vertices.
    """
    if not (work.learns and work.averages) or work.kind == "one-hot":
        return 0
    size = learning_size(work, rank, solver)
    whole = System.of(work.num_sites, rank, solver)
    each = System.of(size, rank, solver).evaluation(work)
    if size < work.num_sites:
        each += whole.conditioning(work)
    each += work.pace * work.num_latents * _COVARIANCES * num_vertices * float(rank) * min(whole.n, whole.r)
    most = _NUM_POINTS
    if work.kind == "gaussian":
        most = round(most * min(max(_FEW_MEASUREMENTS / work.num_sites, 1), _TIMES_MORE))
    count = min(most, int(_AVERAGING * work.pace / each))
    return count if count >= _LEAST_POINTS else 0


def coupled_is_affordable(num_sites: int, num_classes: int) -> bool:
    """Return whether the coupled latents of so many labels and classes can be conditioned on all of them."""
    work = Work(num_sites, "coupled", num_classes)
    return System.of(num_sites, num_sites, "dense").conditioning(work) <= work.pace * _COUPLED


def num_held_out_folds(num_labels: int) -> int:
    """Return how many of the folds are held out in turn."""
    return min(FOLDS, max(1, -(-_ENOUGH * FOLDS // max(num_labels, 1))))
